// SPDX-License-Identifier: Apache-2.0
/* The socket beside a store: for whom it is, and what may lie in its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/socket.h>

#include "tests/unit/fake_tree.h"
#include "user/store/store_socket.h"
#include "user/util/cleanup.h"

static struct fake_tree tree;

static int setup(void **state)
{
	(void)state;
	fake_tree_make(&tree);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_tree_remove(&tree);
	return 0;
}

static void it_is_for_the_group_of_the_directory_whatever_the_umask_is(void **state)
{
	mode_t old = umask(0077);
	struct stat st;
	int fd;

	(void)state;
	/* By root, who may give it away; others stay with their own group. */
	if (geteuid() == 0)
		assert_int_equal(fchown(tree.fd, (uid_t)-1, 4242), 0);
	fd = store_socket_listen(tree.path);
	assert_true(fd >= 0);
	assert_int_equal(umask(old), 0077);
	assert_int_equal(fstatat(tree.fd, STORE_SOCKET_NAME, &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0660);
	if (geteuid() == 0)
		assert_int_equal(st.st_gid, 4242);
	close(fd);
}

static void who_connects_is_heard(void **state)
{
	__cleanup_fd int listen_fd = store_socket_listen(tree.path);
	__cleanup_fd int fd = store_socket_connect(tree.path);
	__cleanup_fd int other_fd = -1;
	char byte = 0;

	(void)state;
	assert_true(listen_fd >= 0 && fd >= 0);
	other_fd = accept(listen_fd, NULL, NULL);
	assert_true(other_fd >= 0);
	assert_int_equal(write(other_fd, "x", 1), 1);
	assert_int_equal(read(fd, &byte, 1), 1);
	assert_int_equal(byte, 'x');
}

static void without_a_jbpfd_it_says_so_at_once(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(store_socket_connect(tree.path), -ENOENT);
	fd = store_socket_listen(tree.path);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(store_socket_connect(tree.path), -ECONNREFUSED);
	store_socket_remove(tree.path);
	assert_int_equal(store_socket_connect(tree.path), -ENOENT);
}

static void when_too_many_wait_it_does_not_wait_with_them(void **state)
{
	__cleanup_fd int listen_fd = store_socket_listen(tree.path);
	int fds[100];
	size_t cnt = 0;
	int fd;

	(void)state;
	while (cnt < ARRAY_SIZE(fds) && (fd = store_socket_connect(tree.path)) >= 0)
		fds[cnt++] = fd;
	assert_true(listen_fd >= 0 && cnt > 0 && cnt < ARRAY_SIZE(fds));
	assert_int_equal(fd, -EAGAIN);
	while (cnt)
		close(fds[--cnt]);
}

static void what_a_killed_jbpfd_left_is_replaced(void **state)
{
	int fd;

	(void)state;
	for (int i = 0; i < 2; i++) {
		fd = store_socket_listen(tree.path);
		assert_true(fd >= 0);
		close(fd);
	}
}

static void what_is_no_socket_stays(void **state)
{
	(void)state;
	fake_tree_write(&tree, STORE_SOCKET_NAME, "notes");
	assert_int_equal(store_socket_listen(tree.path), -EEXIST);
	assert_int_equal(faccessat(tree.fd, STORE_SOCKET_NAME, F_OK, 0), 0);
	assert_int_equal(store_socket_connect(tree.path), -ECONNREFUSED);
}

static void a_path_of_any_length_will_do(void **state)
{
	char path[512];
	int len = snprintf(path, sizeof(path), "%s/", tree.path);
	__cleanup_fd int listen_fd = -1;
	__cleanup_fd int fd = -1;

	(void)state;
	memset(path + len, 'x', 200);
	path[len + 200] = '\0';
	assert_int_equal(mkdir(path, 0755), 0);
	listen_fd = store_socket_listen(path);
	fd = store_socket_connect(path);
	assert_true(listen_fd >= 0 && fd >= 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_is_for_the_group_of_the_directory_whatever_the_umask_is),
		TEST(who_connects_is_heard),
		TEST(without_a_jbpfd_it_says_so_at_once),
		TEST(when_too_many_wait_it_does_not_wait_with_them),
		TEST(what_a_killed_jbpfd_left_is_replaced),
		TEST(what_is_no_socket_stays),
		TEST(a_path_of_any_length_will_do),
	};

	return cmocka_run_group_tests_name("store_socket", tests, NULL, NULL);
}
