// SPDX-License-Identifier: Apache-2.0
/* Whole-file reads with caps, and writes that happen completely or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/remove_tree.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"

struct fixture {
	char dir[64];
	int fd;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	strcpy(fixture->dir, "/tmp/jbpf-fs-test.XXXXXX");
	if (!mkdtemp(fixture->dir))
		return -1;
	fixture->fd = open(fixture->dir, O_RDONLY | O_DIRECTORY);
	*state = fixture;
	return fixture->fd < 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	close(fixture->fd);
	(void)remove_tree(fixture->dir);
	free(fixture);
	return 0;
}

static void write_bytes(const struct fixture *fixture, const char *name, size_t len)
{
	int fd = openat(fixture->fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	__cleanup_free char *bytes = malloc(len + 1);

	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(i * 31);
	assert_int_equal(fs_write_all(fd, bytes, len), 0);
	close(fd);
}

static void files_are_read_whole_up_to_the_cap(void **state)
{
	static const struct {
		size_t len, max;
		int err;
	} rows[] = {
		{ 0, 0, 0 },
		{ 0, 10, 0 },
		{ 1, 0, -EFBIG },
		{ 10, 10, 0 },
		{ 11, 10, -EFBIG },
		{ 100000, 100000, 0 },
		{ 100000, 99999, -EFBIG },
		{ 100000, SIZE_MAX, 0 },
		{ 16384, 16384, 0 },
		{ 16384, 16383, -EFBIG },
		{ 16385, 16384, -EFBIG },
		{ 50000, 5, -EFBIG },
	};
	const struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;
		size_t expected = rows[i].len < rows[i].max ? rows[i].len : rows[i].max;

		write_bytes(fixture, "f", rows[i].len);
		strbuf_puts(&out, "head");
		assert_int_equal(fs_read_file(fixture->fd, "f", rows[i].max, &out), rows[i].err);
		assert_int_equal(out.len, 4 + expected);
		assert_memory_equal(out.data, "head", 4);
		for (size_t k = 0; k < expected; k++)
			assert_int_equal(out.data[4 + k], (char)(k * 31));
		assert_int_equal(out.data[out.len], '\0');
	}
}

static void bytes_at_a_place_end_with_the_file(void **state)
{
	const struct fixture *fixture = *state;
	char bytes[8] = "........";
	int fd;

	write_bytes(fixture, "ten", 10);
	fd = openat(fixture->fd, "ten", O_RDONLY);
	assert_int_equal(fs_read_at(fd, bytes, 4, 1), 4);
	assert_memory_equal(bytes, "\x1f\x3e\x5d\x7c....", 8);
	assert_int_equal(fs_read_at(fd, bytes, sizeof(bytes), 8), 2);
	assert_memory_equal(bytes, "\xf8\x17\x5d\x7c....", 8);
	assert_int_equal(fs_read_at(fd, bytes, sizeof(bytes), 11), 0);
	assert_int_equal(fs_read_at(fd, bytes, 0, 0), 0);
	assert_int_equal(fs_read_at(fd, bytes, 1, UINT64_MAX), -EINVAL);
	close(fd);
	assert_int_equal(fs_read_at(-1, bytes, 1, 0), -EBADF);
}

static void reading_what_is_not_there_says_so(void **state)
{
	const struct fixture *fixture = *state;
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	char name[PATH_MAX + 10];

	assert_int_equal(fs_read_file(fixture->fd, "missing", 10, &out), -ENOENT);
	assert_int_equal(fs_read_file(fixture->fd, ".", 10, &out), -EISDIR);
	assert_int_equal(fs_read_fd(-1, 10, &out), -EBADF);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(fs_read_filef(fixture->fd, 10, &out, "%s", name), -ENAMETOOLONG);
	write_bytes(fixture, "12", 3);
	assert_int_equal(fs_read_filef(fixture->fd, 10, &out, "%d", 12), 0);
	assert_int_equal(out.len, 3);
}

static size_t entry_count(const struct fixture *fixture)
{
	__cleanup_dir DIR *dir = opendir(fixture->dir);
	size_t cnt = 0;

	while (readdir(dir))
		cnt++;
	return cnt - 2;
}

static void atomic_write_replaces_and_leaves_nothing_else(void **state)
{
	const struct fixture *fixture = *state;
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct stat st;

	umask(0);
	assert_int_equal(fs_write_atomic(fixture->fd, "a", 0640, "one", 3), 0);
	assert_int_equal(fs_write_atomic(fixture->fd, "a", 0600, "second", 6), 0);
	assert_int_equal(fs_read_file(fixture->fd, "a", 100, &out), 0);
	assert_string_equal(out.data, "second");
	assert_int_equal(fstatat(fixture->fd, "a", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(entry_count(fixture), 1);
	assert_int_equal(fs_write_atomic(fixture->fd, "empty", 0600, "", 0), 0);
	assert_int_equal(entry_count(fixture), 2);
}

static void failed_atomic_write_keeps_the_old_file(void **state)
{
	const struct fixture *fixture = *state;
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct rlimit limit = { .rlim_cur = 5, .rlim_max = RLIM_INFINITY };
	int err;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(fs_write_atomic(fixture->fd, "a", 0640, "old", 3), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	err = fs_write_atomic(fixture->fd, "a", 0640, "0123456789", 10);
	limit.rlim_cur = RLIM_INFINITY;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(err, -EFBIG);
	assert_int_equal(fs_read_file(fixture->fd, "a", 100, &out), 0);
	assert_string_equal(out.data, "old");
	assert_int_equal(entry_count(fixture), 1);
	assert_int_equal(fs_write_atomic(fixture->fd, "no/dir", 0640, "x", 1), -ENOENT);
	/* Over a directory. */
	assert_int_equal(mkdirat(fixture->fd, "d", 0700), 0);
	assert_int_equal(fs_write_atomic(fixture->fd, "d", 0640, "x", 1), -EISDIR);
	assert_int_equal(entry_count(fixture), 2);
}

/* What a process of this id left, of another boot or in another container. */
static void atomic_write_takes_the_place_of_what_a_crash_left(void **state)
{
	const struct fixture *fixture = *state;
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	char temp[32];

	(void)snprintf(temp, sizeof(temp), "a.tmp%d", (int)getpid());
	write_bytes(fixture, temp, 100);
	assert_int_equal(fs_write_atomic(fixture->fd, "a", 0640, "new", 3), 0);
	assert_int_equal(fs_read_file(fixture->fd, "a", 100, &out), 0);
	assert_string_equal(out.data, "new");
	assert_int_equal(entry_count(fixture), 1);
	/* What leads elsewhere is replaced, and what it leads to stays. */
	(void)snprintf(temp, sizeof(temp), "b.tmp%d", (int)getpid());
	assert_int_equal(symlinkat("a", fixture->fd, temp), 0);
	assert_int_equal(fs_write_atomic(fixture->fd, "b", 0640, "longer", 6), 0);
	strbuf_clear(&out);
	assert_int_equal(fs_read_file(fixture->fd, "a", 100, &out), 0);
	assert_string_equal(out.data, "new");
	/* A directory is not ours. */
	assert_int_equal(mkdirat(fixture->fd, temp, 0700), 0);
	assert_int_equal(fs_write_atomic(fixture->fd, "b", 0640, "x", 1), -EEXIST);
}

/* Tried where there is root: it needs two users. */
static void atomic_write_leaves_what_another_user_put_where_all_may(void **state)
{
	const struct fixture *fixture = *state;
	__cleanup_fd int all = -1;
	char temp[32];

	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdirat(fixture->fd, "all", 0700), 0);
	assert_int_equal(fchmodat(fixture->fd, "all", 01777, 0), 0);
	all = openat(fixture->fd, "all", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(temp, sizeof(temp), "all/a.tmp%d", (int)getpid());
	write_bytes(fixture, temp, 1);
	assert_int_equal(seteuid(12345), 0);
	assert_int_equal(fs_write_atomic(all, "a", 0640, "x", 1), -EEXIST);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(faccessat(fixture->fd, temp, F_OK, 0), 0);
}

static void directories_are_made_as_deep_as_needed(void **state)
{
	const struct fixture *fixture = *state;
	char path[128];
	struct stat st;

	umask(0);
	snprintf(path, sizeof(path), "%s/a/b//c/", fixture->dir);
	assert_int_equal(fs_mkdir_all(path, 0750), 0);
	assert_int_equal(fs_mkdir_all(path, 0750), 0);
	assert_int_equal(fstatat(fixture->fd, "a/b/c", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	assert_int_equal(fs_mkdir_all("", 0750), -ENOENT);
	write_bytes(fixture, "file", 1);
	snprintf(path, sizeof(path), "%s/file/x", fixture->dir);
	assert_int_equal(fs_mkdir_all(path, 0750), -ENOTDIR);
}

static void fs_write_output_leaves_what_is_no_regular_file_as_it_is(void **state)
{
	struct fixture *fixture = *state;
	struct strbuf text = STRBUF_INIT;
	struct stat st;
	char bytes[8];
	int fifo;

	/* Renamed over, a device such as /dev/null would be gone for everybody. */
	assert_int_equal(mkfifoat(fixture->fd, "fifo", 0600), 0);
	fifo = openat(fixture->fd, "fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_int_equal(fs_write_output(fixture->fd, "fifo", 0640, "out", 3), 0);
	assert_int_equal(read(fifo, bytes, sizeof(bytes)), 3);
	assert_memory_equal(bytes, "out", 3);
	assert_int_equal(fstatat(fixture->fd, "fifo", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISFIFO(st.st_mode));
	close(fifo);

	/* /dev/stdout is a link. */
	assert_int_equal(fs_write_atomic(fixture->fd, "target", 0640, "old text", 8), 0);
	assert_int_equal(symlinkat("target", fixture->fd, "link"), 0);
	assert_int_equal(fs_write_output(fixture->fd, "link", 0640, "new", 3), 0);
	assert_int_equal(fstatat(fixture->fd, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(fs_read_file(fixture->fd, "target", 64, &text), 0);
	assert_string_equal(strbuf_str(&text), "new");
	strbuf_release(&text);

	assert_int_equal(mkdirat(fixture->fd, "folder", 0700), 0);
	assert_int_equal(fs_write_output(fixture->fd, "folder", 0640, "x", 1), -EISDIR);
}

/* What needs two users is tried where there is root; the rest everywhere. */
static void fs_write_output_follows_no_link_that_another_user_put_where_all_may(void **state)
{
	struct fixture *fixture = *state;
	struct strbuf text = STRBUF_INIT;

	assert_int_equal(mkdirat(fixture->fd, "all", 0700), 0);
	assert_int_equal(fchmodat(fixture->fd, "all", 01777, 0), 0);
	assert_int_equal(fs_write_atomic(fixture->fd, "target", 0640, "old", 3), 0);
	assert_int_equal(symlinkat("../target", fixture->fd, "all/own"), 0);
	assert_int_equal(fs_write_output(fixture->fd, "all/own", 0640, "new", 3), 0);
	if (geteuid() == 0) {
		assert_int_equal(symlinkat("../target", fixture->fd, "all/trap"), 0);
		assert_int_equal(
			fchownat(fixture->fd, "all/trap", 12345, 12345, AT_SYMLINK_NOFOLLOW), 0);
		assert_int_equal(fs_write_output(fixture->fd, "all/trap", 0640, "bad", 3), -EACCES);
		assert_int_equal(mkfifoat(fixture->fd, "all/fifo", 0666), 0);
		assert_int_equal(fchownat(fixture->fd, "all/fifo", 12345, 12345, 0), 0);
		assert_int_equal(fs_write_output(fixture->fd, "all/fifo", 0640, "bad", 3), -EACCES);
	}
	assert_int_equal(fs_read_file(fixture->fd, "target", 64, &text), 0);
	assert_string_equal(strbuf_str(&text), "new");
	strbuf_release(&text);
}

static void fs_write_output_writes_a_regular_file_whole_or_not_at_all(void **state)
{
	struct fixture *fixture = *state;
	struct stat before, after;

	assert_int_equal(fs_write_output(fixture->fd, "file", 0640, "one", 3), 0);
	assert_int_equal(fstatat(fixture->fd, "file", &before, 0), 0);
	assert_int_equal(fs_write_output(fixture->fd, "file", 0640, "second", 6), 0);
	assert_int_equal(fstatat(fixture->fd, "file", &after, 0), 0);
	assert_int_equal(after.st_size, 6);
	assert_int_not_equal(before.st_ino, after.st_ino); /* another file, renamed over */
}

static mode_t mode_of(const struct fixture *fixture, const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(fixture->fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
	return st.st_mode & 07777;
}

static void write_with_mode(const struct fixture *fixture, const char *name, mode_t mode)
{
	write_bytes(fixture, name, 1);
	assert_int_equal(fchmodat(fixture->fd, name, mode, 0), 0);
}

/* A profile names programs and methods: who has closed its file to others did so on purpose. */
static void fs_write_output_keeps_who_may_read_the_file(void **state)
{
	static const mode_t modes[] = { 0600, 0640, 0664, 0444, 0400 };
	struct fixture *fixture = *state;
	struct stat st;

	umask(022);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		write_with_mode(fixture, "file", modes[i]);
		assert_int_equal(fs_write_output(fixture->fd, "file", 0644, "new", 3), 0);
		assert_int_equal(mode_of(fixture, "file"), modes[i]);
		assert_int_equal(unlinkat(fixture->fd, "file", 0), 0);
	}
	assert_int_equal(fs_write_output(fixture->fd, "file", 0644, "new", 3), 0);
	assert_int_equal(mode_of(fixture, "file"), 0644);
	assert_int_equal(entry_count(fixture), 1);
	if (geteuid() != 0)
		return; /* the rest needs two users */
	assert_int_equal(fchownat(fixture->fd, "file", 12345, 23456, 0), 0);
	assert_int_equal(fs_write_output(fixture->fd, "file", 0644, "newer", 5), 0);
	assert_int_equal(fstatat(fixture->fd, "file", &st, 0), 0);
	assert_int_equal(st.st_uid, 12345);
	assert_int_equal(st.st_gid, 23456);
}

/* Tried where there is root. What a group might read that cannot be kept, no other one may. */
static void fs_write_output_of_a_stranger_gives_its_group_nothing(void **state)
{
	struct fixture *fixture = *state;

	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdirat(fixture->fd, "all", 0700), 0);
	assert_int_equal(fchmodat(fixture->fd, "all", 0777, 0), 0);
	assert_int_equal(fchmodat(fixture->fd, ".", 0755, 0), 0);
	write_with_mode(fixture, "all/file", 0660);
	assert_int_equal(fchownat(fixture->fd, "all", 12345, -1, 0), 0);
	assert_int_equal(fchownat(fixture->fd, "all/file", 12345, 0, 0), 0);
	assert_int_equal(setegid(12345), 0);
	assert_int_equal(seteuid(12345), 0);
	assert_int_equal(fs_write_output(fixture->fd, "all/file", 0644, "new", 3), 0);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(setegid(0), 0);
	assert_int_equal(mode_of(fixture, "all/file"), 0600);
}

/* It waits there for whoever has more rights, to get what he writes. */
static void fs_write_output_gives_nothing_to_who_put_a_file_where_all_may(void **state)
{
	struct fixture *fixture = *state;
	struct stat st;

	if (geteuid() != 0)
		skip();
	umask(022);
	assert_int_equal(mkdirat(fixture->fd, "all", 0700), 0);
	assert_int_equal(fchmodat(fixture->fd, "all", 01777, 0), 0);
	write_with_mode(fixture, "all/file", 0666);
	assert_int_equal(fchownat(fixture->fd, "all/file", 12345, 12345, 0), 0);
	assert_int_equal(fs_write_output(fixture->fd, "all/file", 0640, "new", 3), 0);
	assert_int_equal(fstatat(fixture->fd, "all/file", &st, 0), 0);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(st.st_mode & 07777, 0640);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(files_are_read_whole_up_to_the_cap, setup,
						teardown),
		cmocka_unit_test_setup_teardown(bytes_at_a_place_end_with_the_file, setup,
						teardown),
		cmocka_unit_test_setup_teardown(reading_what_is_not_there_says_so, setup, teardown),
		cmocka_unit_test_setup_teardown(atomic_write_replaces_and_leaves_nothing_else,
						setup, teardown),
		cmocka_unit_test_setup_teardown(failed_atomic_write_keeps_the_old_file, setup,
						teardown),
		cmocka_unit_test_setup_teardown(atomic_write_takes_the_place_of_what_a_crash_left,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			atomic_write_leaves_what_another_user_put_where_all_may, setup, teardown),
		cmocka_unit_test_setup_teardown(directories_are_made_as_deep_as_needed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			fs_write_output_leaves_what_is_no_regular_file_as_it_is, setup, teardown),
		cmocka_unit_test_setup_teardown(
			fs_write_output_follows_no_link_that_another_user_put_where_all_may, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			fs_write_output_writes_a_regular_file_whole_or_not_at_all, setup, teardown),
		cmocka_unit_test_setup_teardown(fs_write_output_keeps_who_may_read_the_file, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			fs_write_output_of_a_stranger_gives_its_group_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(
			fs_write_output_gives_nothing_to_who_put_a_file_where_all_may, setup,
			teardown),
	};

	return cmocka_run_group_tests_name("util_fs", tests, NULL, NULL);
}
