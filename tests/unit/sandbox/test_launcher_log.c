// SPDX-License-Identifier: Apache-2.0
/* What the launcher's children say on stderr, and how it reaches that of the sampler. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/sandbox/launcher.h"

/* It keeps the rights of the test. */
static int not_confined(void *ctx)
{
	(void)ctx;
	return 0;
}

static struct launcher *launcher_make(void)
{
	static const struct launcher_options options = { .confine = not_confined };
	struct launcher *launcher;

	assert_int_equal(launcher__open(&options, &launcher), 0);
	return launcher;
}

/* Says what its descriptors are, and something on each. */
static int streams_check(const struct launcher_child *child)
{
	struct stat streams[3], null;
	bool is_silent = stat("/dev/null", &null) == 0;
	char byte;

	for (int fd = 0; fd < 3; fd++)
		is_silent = is_silent && fstat(fd, &streams[fd]) == 0;
	is_silent = is_silent && streams[0].st_rdev == null.st_rdev &&
		    streams[1].st_rdev == null.st_rdev && S_ISFIFO(streams[2].st_mode);
	byte = is_silent ? 'y' : 'n';
	(void)!write(1, "out\n", 4);
	(void)!write(2, "err\n", 4);
	return send(child->socket_fd, &byte, 1, MSG_NOSIGNAL) == 1 ? 0 : 1;
}

/* So that one that hangs for ever keeps nobody waiting who waits for the caller's. */
static void children_have_no_stream_of_the_callers_and_are_heard_all_the_same(void **state)
{
	struct launcher_options options = { .confine = not_confined,
					    .programs = { [LAUNCHER_NAMER] = streams_check } };
	int ends[2], socket_fd, stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100);
	struct launcher *launcher;
	char byte, text[16] = "";

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(launcher__open(&options, &launcher), 0);
	assert_int_equal(launcher__start(launcher, LAUNCHER_NAMER, NULL, &socket_fd, NULL), 0);
	assert_int_equal(recv(socket_fd, &byte, 1, 0), 1);
	assert_int_equal(byte, 'y');
	assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	launcher__relay(launcher);
	assert_int_equal(dup2(stderr_fd, STDERR_FILENO), STDERR_FILENO);
	assert_int_equal(read(ends[0], text, sizeof(text)), 4);
	assert_memory_equal(text, "err\n", 4);
	close(socket_fd);
	close(stderr_fd);
	close(ends[0]);
	close(ends[1]);
	launcher__free(launcher);
}

/*
 * stderr is the pipe itself here: what is read is there again at once, as of one that writes on and on.
 */
static void one_who_writes_without_end_keeps_the_sampler_only_for_a_moment(void **state)
{
	struct launcher *launcher = launcher_make();
	int writing_fd, stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100);
	char path[64], text[16] = "";

	(void)state;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", launcher__log_fd(launcher));
	writing_fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(writing_fd >= 0);
	assert_int_equal(write(writing_fd, "word\n", 5), 5);
	assert_int_equal(dup2(writing_fd, STDERR_FILENO), STDERR_FILENO);
	(void)alarm(60);
	launcher__relay(launcher);
	(void)alarm(0);
	assert_int_equal(dup2(stderr_fd, STDERR_FILENO), STDERR_FILENO);
	assert_int_equal(read(launcher__log_fd(launcher), text, sizeof(text)), 5);
	assert_string_equal(text, "word\n");
	close(writing_fd);
	close(stderr_fd);
	launcher__free(launcher);
}

static void all_that_a_pipe_holds_is_passed_on_at_the_end(void **state)
{
	struct launcher *launcher = launcher_make();
	int writing_fd, file_fd, stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100);
	size_t written = 0;
	char path[64];
	ssize_t len;

	(void)state;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", launcher__log_fd(launcher));
	writing_fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(writing_fd >= 0);
	while ((len = write(writing_fd, "a line that is told\n", 20)) > 0)
		written += (size_t)len;
	close(writing_fd);
	file_fd = memfd_create("stderr", MFD_CLOEXEC);
	assert_true(file_fd >= 0);
	assert_int_equal(dup2(file_fd, STDERR_FILENO), STDERR_FILENO);
	launcher__free(launcher);
	assert_int_equal(dup2(stderr_fd, STDERR_FILENO), STDERR_FILENO);
	assert_int_equal(lseek(file_fd, 0, SEEK_END), written);
	close(file_fd);
	close(stderr_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_have_no_stream_of_the_callers_and_are_heard_all_the_same),
		cmocka_unit_test(one_who_writes_without_end_keeps_the_sampler_only_for_a_moment),
		cmocka_unit_test(all_that_a_pipe_holds_is_passed_on_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
