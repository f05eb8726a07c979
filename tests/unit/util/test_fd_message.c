// SPDX-License-Identifier: Apache-2.0
/* Descriptors in messages: whose they are afterwards, and that none stays open unseen. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/util/fd_message.h"

static void sockets_make(int fds[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
}

static void sockets_close(const int fds[2])
{
	close(fds[0]);
	close(fds[1]);
}

static size_t open_fd_cnt(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t cnt = 0;

	assert_non_null(dir);
	while (readdir(dir))
		cnt++;
	closedir(dir);
	return cnt;
}

static void assert_same_file(int a, int b)
{
	struct stat left, right;

	assert_int_equal(fstat(a, &left), 0);
	assert_int_equal(fstat(b, &right), 0);
	assert_true(left.st_ino == right.st_ino && left.st_dev == right.st_dev);
}

static void descriptors_arrive_in_order_and_close_on_exec(void **state)
{
	int sockets[2], pipes[4], got[FD_MESSAGE_MAX_FDS];
	size_t before, len, cnt;
	char bytes[8];

	(void)state;
	before = open_fd_cnt();
	sockets_make(sockets);
	assert_true(pipe(pipes) == 0 && pipe(pipes + 2) == 0);
	assert_int_equal(fd_message_send(sockets[0], "hello", 5, pipes, 4), 0);
	assert_int_equal(
		fd_message_receive(sockets[1], 0, bytes, sizeof(bytes), &len, got, 4, &cnt), 0);
	assert_int_equal(len, 5);
	assert_memory_equal(bytes, "hello", 5);
	assert_int_equal(cnt, 4);
	for (int i = 0; i < 4; i++) {
		assert_same_file(got[i], pipes[i]);
		assert_true(fcntl(got[i], F_GETFD) & FD_CLOEXEC);
		close(got[i]);
		close(pipes[i]);
	}
	sockets_close(sockets);
	assert_int_equal(open_fd_cnt(), before);
}

static void a_message_without_descriptors_says_so(void **state)
{
	int sockets[2], got = 77;
	size_t len, cnt = 77;
	char byte;

	(void)state;
	sockets_make(sockets);
	assert_int_equal(fd_message_receive(sockets[1], MSG_DONTWAIT, &byte, 1, &len, &got, 1,
					    &cnt),
			 -EAGAIN);
	assert_int_equal(fd_message_send(sockets[0], "x", 1, NULL, 0), 0);
	assert_int_equal(fd_message_receive(sockets[1], 0, &byte, 1, &len, &got, 1, &cnt), 0);
	assert_int_equal(len, 1);
	assert_int_equal(cnt, 0);
	assert_int_equal(fd_message_send(sockets[0], "x", 1, NULL, 0), 0);
	assert_int_equal(fd_message_receive(sockets[1], 0, &byte, 1, &len, NULL, 0, NULL), 0);
	sockets_close(sockets);
}

/* Sends `sent` descriptors to one that takes up to `taken` of them. */
static void check_refused(size_t sent, size_t taken)
{
	int sockets[2], fds[FD_MESSAGE_MAX_FDS], got[FD_MESSAGE_MAX_FDS];
	size_t before, len, cnt = 0;
	char byte;

	sockets_make(sockets);
	for (size_t i = 0; i < sent; i++)
		fds[i] = sockets[0];
	before = open_fd_cnt();
	assert_int_equal(fd_message_send(sockets[0], "x", 1, fds, sent), 0);
	assert_int_equal(fd_message_receive(sockets[1], 0, &byte, 1, &len, got, taken, &cnt),
			 -EBADMSG);
	assert_int_equal(cnt, 0);
	assert_int_equal(open_fd_cnt(), before);
	/* The next message is not harmed. */
	assert_int_equal(fd_message_send(sockets[0], "y", 1, NULL, 0), 0);
	assert_int_equal(fd_message_receive(sockets[1], 0, &byte, 1, &len, got, taken, &cnt), 0);
	assert_int_equal(byte, 'y');
	sockets_close(sockets);
}

static void more_descriptors_than_wanted_are_refused_and_closed(void **state)
{
	(void)state;
	check_refused(1, 0);
	check_refused(2, 1);
	check_refused(4, 1);
	check_refused(4, 3);
}

/* By somebody who does not use our way of sending. */
static void send_raw(int socket_fd, const void *bytes, size_t len, size_t fd_cnt)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(16 * sizeof(int))];
	} control = { 0 };
	struct iovec part = { (void *)(uintptr_t)bytes, len };
	struct msghdr header = { .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = CMSG_SPACE(fd_cnt * sizeof(int)) };

	assert_true(fd_cnt <= 16);
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(fd_cnt * sizeof(int));
	for (size_t i = 0; i < fd_cnt; i++)
		memcpy(CMSG_DATA(&control.header) + i * sizeof(int), &socket_fd, sizeof(int));
	assert_int_equal(sendmsg(socket_fd, &header, 0), len);
}

static void more_descriptors_than_any_message_has_are_refused_and_closed(void **state)
{
	int sockets[2], got[FD_MESSAGE_MAX_FDS];
	size_t before, len, cnt = 0;
	char byte;

	(void)state;
	sockets_make(sockets);
	before = open_fd_cnt();
	for (size_t taken = 0; taken <= FD_MESSAGE_MAX_FDS; taken++) {
		send_raw(sockets[0], "x", 1, 16);
		assert_int_equal(fd_message_receive(sockets[1], 0, &byte, 1, &len, got, taken,
						    &cnt),
				 -EBADMSG);
		assert_int_equal(open_fd_cnt(), before);
	}
	assert_int_equal(fd_message_send(sockets[0], "x", 1, got, FD_MESSAGE_MAX_FDS + 1),
			 -EMSGSIZE);
	sockets_close(sockets);
}

static void a_longer_message_is_refused_and_its_descriptors_closed(void **state)
{
	int sockets[2], got[1];
	size_t before, len, cnt = 0;
	char bytes[4];

	(void)state;
	sockets_make(sockets);
	before = open_fd_cnt();
	assert_int_equal(fd_message_send(sockets[0], "12345", 5, sockets, 1), 0);
	assert_int_equal(fd_message_receive(sockets[1], 0, bytes, sizeof(bytes), &len, got, 1,
					    &cnt),
			 -EBADMSG);
	assert_int_equal(open_fd_cnt(), before);
	sockets_close(sockets);
}

/* It looks like the end, which it may be taken for; what it carries must not stay open. */
static void an_empty_message_leaves_no_descriptor_open(void **state)
{
	int sockets[2], got[4];
	size_t before, len, cnt = 0;
	char byte;

	(void)state;
	sockets_make(sockets);
	before = open_fd_cnt();
	send_raw(sockets[0], "", 0, 4);
	assert_int_equal(fd_message_receive(sockets[1], 0, &byte, 1, &len, got, 4, &cnt), -EPIPE);
	assert_int_equal(cnt, 0);
	assert_int_equal(open_fd_cnt(), before);
	sockets_close(sockets);
}

static void a_closed_end_is_an_end_for_both(void **state)
{
	int sockets[2];
	size_t len;
	char byte;

	(void)state;
	sockets_make(sockets);
	close(sockets[0]);
	assert_int_equal(fd_message_receive(sockets[1], 0, &byte, 1, &len, NULL, 0, NULL), -EPIPE);
	assert_int_equal(fd_message_send(sockets[1], "x", 1, NULL, 0), -EPIPE);
	close(sockets[1]);
	/* With something unread the kernel says ECONNRESET. */
	sockets_make(sockets);
	assert_int_equal(fd_message_send(sockets[1], "x", 1, NULL, 0), 0);
	close(sockets[0]);
	assert_int_equal(fd_message_receive(sockets[1], 0, &byte, 1, &len, NULL, 0, NULL), -EPIPE);
	close(sockets[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors_arrive_in_order_and_close_on_exec),
		cmocka_unit_test(a_message_without_descriptors_says_so),
		cmocka_unit_test(more_descriptors_than_wanted_are_refused_and_closed),
		cmocka_unit_test(more_descriptors_than_any_message_has_are_refused_and_closed),
		cmocka_unit_test(a_longer_message_is_refused_and_its_descriptors_closed),
		cmocka_unit_test(an_empty_message_leaves_no_descriptor_open),
		cmocka_unit_test(a_closed_end_is_an_end_for_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
