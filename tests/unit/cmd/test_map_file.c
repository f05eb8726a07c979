// SPDX-License-Identifier: Apache-2.0
/*
 * A map goes to its name or nowhere: nothing is followed, nothing half-written stays. Files of
 * other users need root to make: tests/e2e/test_maps.py.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/cmd/map_file.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"

#define NAME "perf-42.map"
#define TEXT "10 8 shop.Cart.add\n"

struct folder {
	char path[64];
	int fd;
};

static void folder_make(struct folder *folder)
{
	strcpy(folder->path, "/tmp/jbpf-map-test.XXXXXX");
	assert_non_null(mkdtemp(folder->path));
	folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder->fd >= 0);
}

/* Removes it with its files; how many there were. */
static size_t folder_remove(struct folder *folder)
{
	DIR *dir = fdopendir(folder->fd);
	size_t cnt = 0;

	assert_non_null(dir);
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		if (entry->d_name[0] == '.' && strncmp(entry->d_name, ".jbpf", 5) != 0)
			continue;
		if (unlinkat(folder->fd, entry->d_name, 0))
			assert_int_equal(unlinkat(folder->fd, entry->d_name, AT_REMOVEDIR), 0);
		cnt++;
	}
	closedir(dir);
	assert_int_equal(rmdir(folder->path), 0);
	return cnt;
}

static void assert_text(int dir_fd, const char *name, const char *expected)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	assert_int_equal(fs_read_file(dir_fd, name, 1 << 20, &text), 0);
	assert_string_equal(strbuf_str(&text), expected);
}

static void put(int dir_fd, const char *name, const char *text)
{
	__cleanup_fd int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, text, strlen(text)), 0);
}

static void new_map_is_readable_by_all_whatever_the_umask(void **state)
{
	struct folder folder;
	struct stat st;

	(void)state;
	folder_make(&folder);
	struct map_file file = { .dir_fd = folder.fd, .name = NAME };
	mode_t before = umask(077);

	assert_null(map_file_obstacle(&file));
	assert_int_equal(map_file_write(&file, TEXT, strlen(TEXT)), 0);
	umask(before);
	assert_text(folder.fd, NAME, TEXT);
	assert_int_equal(fstatat(folder.fd, NAME, &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0644);
	assert_int_equal(folder_remove(&folder), 1);
}

static void own_map_is_replaced_by_another_file(void **state)
{
	struct folder folder;
	struct stat old, new;

	(void)state;
	folder_make(&folder);
	struct map_file file = { .dir_fd = folder.fd, .name = NAME };

	put(folder.fd, NAME, "a longer text that was there before\n");
	put(folder.fd, "beside", "x");
	assert_int_equal(fstatat(folder.fd, NAME, &old, 0), 0);
	assert_int_equal(linkat(folder.fd, NAME, folder.fd, "hard link", 0), 0);
	assert_int_equal(map_file_write(&file, "", 0), 0);
	assert_text(folder.fd, NAME, "");
	assert_int_equal(fstatat(folder.fd, NAME, &new, 0), 0);
	assert_true(old.st_ino != new.st_ino);
	assert_text(folder.fd, "hard link", "a longer text that was there before\n");
	assert_int_equal(folder_remove(&folder), 3);
}

static void make_taken(int dir_fd, int kind)
{
	switch (kind) {
	case 0:
		assert_int_equal(symlinkat("victim", dir_fd, NAME), 0);
		break;
	case 1:
		assert_int_equal(symlinkat("nowhere", dir_fd, NAME), 0);
		break;
	case 2:
		assert_int_equal(mkfifoat(dir_fd, NAME, 0666), 0);
		break;
	default:
		assert_int_equal(mknodat(dir_fd, NAME, S_IFSOCK | 0666, 0), 0);
	}
}

static void what_is_no_regular_file_stays_unless_forced(void **state)
{
	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		struct folder folder;
		struct stat before, after;

		folder_make(&folder);
		struct map_file file = { .dir_fd = folder.fd, .name = NAME };

		put(folder.fd, "victim", "precious");
		make_taken(folder.fd, kind);
		assert_int_equal(fstatat(folder.fd, NAME, &before, AT_SYMLINK_NOFOLLOW), 0);
		assert_non_null(map_file_obstacle(&file));
		assert_int_equal(map_file_write(&file, TEXT, strlen(TEXT)), -EEXIST);
		assert_int_equal(fstatat(folder.fd, NAME, &after, AT_SYMLINK_NOFOLLOW), 0);
		assert_int_equal(before.st_ino, after.st_ino);

		file.is_forced = true;
		assert_null(map_file_obstacle(&file));
		assert_int_equal(map_file_write(&file, TEXT, strlen(TEXT)), 0);
		assert_int_equal(fstatat(folder.fd, NAME, &after, AT_SYMLINK_NOFOLLOW), 0);
		assert_true(S_ISREG(after.st_mode));
		assert_text(folder.fd, NAME, TEXT);
		assert_text(folder.fd, "victim", "precious");
		assert_int_equal(folder_remove(&folder), 2);
	}
}

static void directory_is_never_replaced(void **state)
{
	struct folder folder;

	(void)state;
	folder_make(&folder);
	struct map_file file = { .dir_fd = folder.fd, .name = NAME, .is_forced = true };

	assert_int_equal(mkdirat(folder.fd, NAME, 0755), 0);
	assert_non_null(map_file_obstacle(&file));
	assert_int_equal(map_file_write(&file, TEXT, strlen(TEXT)), -EEXIST);
	assert_int_equal(folder_remove(&folder), 1);
}

static void write_that_fails_leaves_what_was_there_and_nothing_else(void **state)
{
	struct rlimit before, small = { .rlim_cur = 4, .rlim_max = RLIM_INFINITY };
	struct folder folder;

	(void)state;
	folder_make(&folder);
	struct map_file file = { .dir_fd = folder.fd, .name = NAME };

	put(folder.fd, NAME, "old");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small.rlim_max = before.rlim_max;
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);

	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	int err = map_file_write(&file, TEXT, strlen(TEXT));

	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	(void)signal(SIGXFSZ, handler);
	assert_int_equal(err, -EFBIG);
	assert_text(folder.fd, NAME, "old");
	assert_int_equal(folder_remove(&folder), 1);
}

static void directory_that_is_gone_is_an_error(void **state)
{
	struct folder folder;

	(void)state;
	folder_make(&folder);
	struct map_file file = { .dir_fd = folder.fd, .name = NAME };

	assert_int_equal(rmdir(folder.path), 0);
	assert_int_equal(map_file_write(&file, TEXT, strlen(TEXT)), -ENOENT);
	close(folder.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_map_is_readable_by_all_whatever_the_umask),
		cmocka_unit_test(own_map_is_replaced_by_another_file),
		cmocka_unit_test(what_is_no_regular_file_stays_unless_forced),
		cmocka_unit_test(directory_is_never_replaced),
		cmocka_unit_test(write_that_fails_leaves_what_was_there_and_nothing_else),
		cmocka_unit_test(directory_that_is_gone_is_an_error),
	};

	return cmocka_run_group_tests_name("cmd_map_file", tests, NULL, NULL);
}
