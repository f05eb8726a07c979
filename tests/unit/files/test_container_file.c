// SPDX-License-Identifier: Apache-2.0
/*
 * Opening files in a hostile root: a temporary directory stands for the container's root, and
 * beside it lies a file of "the host" that no path in the container may lead to.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "user/files/container_file.h"
#include "tests/unit/forking.h"
#include "tests/unit/remove_tree.h"
#include "user/files/opener.h"
#include "user/files/opener_child.h"
#include "user/util/account.h"

static char tree[64];
static int tree_fd; /* the host */
static struct opener *opener;
static int root_fd; /* the container, below it */

static void put_file(int dir_fd, const char *path, const char *text)
{
	int fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static int tree_make(void **state)
{
	(void)state;
	strcpy(tree, "/tmp/jbpf-container-XXXXXX");
	assert_non_null(mkdtemp(tree));
	tree_fd = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(tree_fd >= 0);
	assert_int_equal(mkdirat(tree_fd, "7", 0755), 0);
	assert_int_equal(mkdirat(tree_fd, "7/root", 0755), 0);
	assert_int_equal(mkdirat(tree_fd, "secret", 0755), 0);
	put_file(tree_fd, "secret/file", "host");
	root_fd = container_root_open(tree_fd, 7);
	assert_true(root_fd >= 0);
	assert_int_equal(mkdirat(root_fd, "tmp", 0755), 0);
	assert_int_equal(mkdirat(root_fd, "lib", 0755), 0);
	put_file(root_fd, "tmp/map", "container");
	put_file(root_fd, "lib/libx.so.1", "library");
	opener = opener__new(forking(opener_child_main));
	if (!opener)
		return -1;
	opener__charge(opener, account_of_host());
	return 0;
}

static int tree_remove(void **state)
{
	(void)state;
	opener__free(opener);
	close(root_fd);
	close(tree_fd);
	return remove_tree(tree);
}

static const struct container_file_rules anybody = { .owner = CONTAINER_FILE_ANY_OWNER };

/* Opens and reads; `expected` is the text, or NULL for the error `err`. */
static void check_fd(int fd, const char *expected, int err)
{
	char text[32] = "";

	if (!expected) {
		assert_int_equal(fd, err);
		return;
	}
	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	assert_string_equal(text, expected);
	close(fd);
}

static void check_file(const char *path, const char *expected, int err)
{
	check_fd(container_file_open(root_fd, path, &anybody, NULL), expected, err);
	check_fd(opener__file(opener, root_fd, path, &anybody, NULL, NULL), expected, err);
}

static void check_library(const char *path, const char *expected, int err)
{
	check_fd(container_library_open(root_fd, path, &anybody, NULL), expected, err);
	check_fd(opener__library(opener, root_fd, path, &anybody, NULL, NULL), expected, err);
}

static void container_root_of_nobody_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(container_root_open(tree_fd, 8), -ENOENT);
	put_file(tree_fd, "7/other", "");
	assert_int_equal(mkdirat(tree_fd, "9", 0755), 0);
	put_file(tree_fd, "9/root", "");
	assert_int_equal(container_root_open(tree_fd, 9), -ENOTDIR);
}

static void container_plain_file_is_opened(void **state)
{
	struct stat st;
	int fd = container_file_open(root_fd, "/tmp/map", &anybody, &st);

	(void)state;
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_size, 9);
	check_fd(fd, "container", 0);
	check_file("/tmp/none", NULL, -ENOENT);
	check_file("/none/map", NULL, -ENOENT);
	check_library("/lib/libx.so.1", "library", 0);
}

static void container_paths_that_name_no_file_are_refused(void **state)
{
	static const char *const paths[] = { "",	"/",	     "/tmp/", "/tmp/.", "/tmp/..",
					     "tmp/map", "/tmp/map/", "..",    "." };

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		check_file(paths[i], NULL, -EINVAL);
	check_library("lib/libx.so.1", NULL, -EINVAL);
	check_library("", NULL, -EINVAL);
	check_library("/lib", NULL, -EINVAL);
}

static void container_symlink_as_last_part_is_refused(void **state)
{
	char target[128];

	(void)state;
	snprintf(target, sizeof(target), "%s/secret/file", tree);
	assert_int_equal(symlinkat(target, root_fd, "tmp/absolute"), 0);
	assert_int_equal(symlinkat("map", root_fd, "tmp/relative"), 0);
	assert_int_equal(symlinkat("nowhere", root_fd, "tmp/dangling"), 0);
	check_file("/tmp/absolute", NULL, -ELOOP);
	check_file("/tmp/relative", NULL, -ELOOP);
	check_file("/tmp/dangling", NULL, -ELOOP);
}

static void container_symlinks_never_leave_the_root(void **state)
{
	char target[128];

	(void)state;
	snprintf(target, sizeof(target), "%s/secret", tree);
	assert_int_equal(symlinkat(target, root_fd, "out"), 0);
	assert_int_equal(symlinkat("../../../../../../../secret", root_fd, "up"), 0);
	assert_int_equal(symlinkat("/lib/libx.so.1", root_fd, "lib/libx.so"), 0);
	assert_int_equal(symlinkat("../../../../secret/file", root_fd, "lib/liby.so"), 0);
	assert_int_equal(symlinkat("/tmp", root_fd, "temp"), 0);
	check_file("/out/file", NULL, -ENOENT);
	check_file("/up/file", NULL, -ENOENT);
	check_file("/../../secret/file", NULL, -ENOENT);
	check_library("/lib/liby.so", NULL, -ENOENT);
	check_library("/../../../secret/file", NULL, -ENOENT);
	/* Inside they lead where they lead in the container. */
	check_file("/temp/map", "container", 0);
	check_library("/lib/libx.so", "library", 0);
}

static void container_symlink_loops_end(void **state)
{
	(void)state;
	assert_int_equal(symlinkat("loop2", root_fd, "loop1"), 0);
	assert_int_equal(symlinkat("loop1", root_fd, "loop2"), 0);
	check_file("/loop1/map", NULL, -ELOOP);
	check_library("/loop1", NULL, -ELOOP);
}

static void container_magic_links_are_not_followed(void **state)
{
	int host_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_true(host_fd >= 0);
	assert_int_equal(container_file_open(host_fd, "/proc/self/root/etc/passwd", &anybody, NULL),
			 -ELOOP);
	assert_int_equal(container_library_open(host_fd, "/proc/self/exe", &anybody, NULL), -ELOOP);
	close(host_fd);
}

static void container_only_regular_files_are_opened(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int host_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/7/root/tmp/socket", tree);
	assert_int_equal(bind(socket_fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(mkfifoat(root_fd, "tmp/fifo", 0644), 0);
	assert_int_equal(mkdirat(root_fd, "tmp/dir", 0755), 0);
	/* Opening this FIFO would block for ever: nobody writes to it. */
	check_file("/tmp/fifo", NULL, -EINVAL);
	check_file("/tmp/dir", NULL, -EINVAL);
	check_file("/tmp/socket", NULL, -EINVAL);
	check_library("/tmp/fifo", NULL, -EINVAL);
	assert_int_equal(container_file_open(host_fd, "/dev/zero", &anybody, NULL), -EINVAL);
	assert_int_equal(container_library_open(host_fd, "/dev/zero", &anybody, NULL), -EINVAL);
	close(socket_fd);
	close(host_fd);
}

static void container_owner_must_be_the_expected_one_or_root(void **state)
{
	struct container_file_rules mine = { .owner = geteuid() };
	struct container_file_rules other = { .owner = geteuid() + 1 };
	int host_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd;

	(void)state;
	check_fd(container_file_open(root_fd, "/tmp/map", &mine, NULL), "container", 0);
	if (geteuid() != 0) {
		assert_int_equal(container_file_open(root_fd, "/tmp/map", &other, NULL), -EPERM);
		assert_int_equal(container_library_open(root_fd, "/tmp/map", &other, NULL), -EPERM);
	} else {
		/* As root a file can be given away; the temporary one is root's, which is accepted. */
		check_fd(container_file_open(root_fd, "/tmp/map", &other, NULL), "container", 0);
		assert_int_equal(fchownat(root_fd, "tmp/map", 4711, 4711, 0), 0);
		assert_int_equal(container_file_open(root_fd, "/tmp/map", &other, NULL), -EPERM);
		other.owner = 4711;
		check_fd(container_file_open(root_fd, "/tmp/map", &other, NULL), "container", 0);
	}
	/* Root's file is fine whoever is expected. */
	other.owner = 4711;
	fd = container_file_open(host_fd, "/etc/passwd", &other, NULL);
	assert_true(fd >= 0);
	close(fd);
	close(host_fd);
}

static void container_file_past_the_cap_is_refused(void **state)
{
	struct container_file_rules rules = { .owner = CONTAINER_FILE_ANY_OWNER, .max_bytes = 9 };
	int fd = openat(root_fd, "tmp/sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	(void)state;
	check_fd(container_file_open(root_fd, "/tmp/map", &rules, NULL), "container", 0);
	rules.max_bytes = 8;
	assert_int_equal(container_file_open(root_fd, "/tmp/map", &rules, NULL), -EFBIG);
	assert_int_equal(ftruncate(fd, 2ll << 30), 0);
	close(fd);
	rules.max_bytes = 1u << 20;
	assert_int_equal(container_file_open(root_fd, "/tmp/sparse", &rules, NULL), -EFBIG);
}

static void container_stat_without_asking_says_what_fstat_says(void **state)
{
	int fd = container_path_open(root_fd, "/tmp/map");
	struct stat asked, cached;

	(void)state;
	assert_int_equal(fstat(fd, &asked), 0);
	assert_int_equal(container_file_stat(fd, &cached), 0);
	assert_int_equal(cached.st_dev, asked.st_dev);
	assert_int_equal(cached.st_ino, asked.st_ino);
	assert_int_equal(cached.st_mode, asked.st_mode);
	assert_int_equal(cached.st_uid, asked.st_uid);
	assert_int_equal(cached.st_size, asked.st_size);
	assert_memory_equal(&cached.st_mtim, &asked.st_mtim, sizeof(asked.st_mtim));
	assert_memory_equal(&cached.st_ctim, &asked.st_ctim, sizeof(asked.st_ctim));
	close(fd);
	assert_int_equal(container_file_stat(-1, &cached), -EBADF);
}

static void container_file_opened_by_the_process_for_that_is_the_same(void **state)
{
	struct opener_head head;
	struct stat st;
	int path_fd = opener__path(opener, root_fd, "/tmp/map");
	int fd = opener__reopen(opener, path_fd, &anybody, &st);

	(void)state;
	assert_int_equal(st.st_size, 9);
	check_fd(fd, "container", 0);
	close(path_fd);
	fd = opener__file(opener, root_fd, "/tmp/map", &anybody, NULL, &head);
	assert_int_equal(head.len, 9);
	assert_memory_equal(head.bytes, "container", 9);
	check_fd(fd, "container", 0); /* reading the head has not moved it */
	assert_int_equal(opener__path(opener, root_fd, "/none"), -ENOENT);
	assert_int_equal(opener__reopen(opener, -1, &anybody, NULL), -EBADF);
}

static void container_descriptors_are_closed_on_all_paths(void **state)
{
	int before, after;

	(void)state;
	check_file("/tmp/map", "container", 0); /* from here on the process is there */
	before = dup(root_fd);
	close(before);
	for (int i = 0; i < 3; i++) {
		(void)container_file_open(root_fd, "/tmp/fifo", &anybody, NULL);
		(void)container_file_open(root_fd, "/tmp/none", &anybody, NULL);
		(void)container_library_open(root_fd, "/lib", &anybody, NULL);
		check_file("/tmp/map", "container", 0);
	}
	after = dup(root_fd);
	assert_int_equal(after, before);
	close(after);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)
	const struct CMUnitTest tests[] = {
		TEST(container_root_of_nobody_is_an_error),
		TEST(container_plain_file_is_opened),
		TEST(container_paths_that_name_no_file_are_refused),
		TEST(container_symlink_as_last_part_is_refused),
		TEST(container_symlinks_never_leave_the_root),
		TEST(container_symlink_loops_end),
		TEST(container_magic_links_are_not_followed),
		TEST(container_only_regular_files_are_opened),
		TEST(container_owner_must_be_the_expected_one_or_root),
		TEST(container_file_past_the_cap_is_refused),
		TEST(container_stat_without_asking_says_what_fstat_says),
		TEST(container_file_opened_by_the_process_for_that_is_the_same),
		TEST(container_descriptors_are_closed_on_all_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
