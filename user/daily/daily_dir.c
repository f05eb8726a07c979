// SPDX-License-Identifier: Apache-2.0
/* The daily job's directory; see daily_dir.h. */
#include "user/daily/daily_dir.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "user/daily/daily_date.h"
#include "user/store/series/series_file.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/lines.h"
#include "user/util/vec.h"

#define DIR_MODE	0750
#define FILE_MODE	0640
#define LOCK_NAME	".lock"
#define LATEST		"latest"
#define LATEST_NEW	".latest.new"
#define TEMP_MARK	".tmp" /* of fs_write_atomic() */
#define SECONDS_PER_DAY 86400

static int open_dir(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int make_dir(int dir_fd, const char *name, int *fd_out)
{
	int fd;

	if (mkdirat(dir_fd, name, DIR_MODE) && errno != EEXIST)
		return -errno;
	fd = open_dir(dir_fd, name);
	if (fd < 0)
		return fd;
	*fd_out = fd;
	return 0;
}

int daily_dir_open(const char *path, const char *series, struct daily_dir *out)
{
	int err;

	*out = (struct daily_dir){
		.series = series, .fd = -1, .series_fd = -1, .lock_fd = -1, .day_fd = -1
	};
	err = fs_mkdir_all(path, DIR_MODE);
	if (err)
		return err;
	out->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (out->fd < 0)
		return -errno;
	out->lock_fd =
		openat(out->fd, LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	if (out->lock_fd < 0 || flock(out->lock_fd, LOCK_EX | LOCK_NB))
		return -errno;
	return make_dir(out->fd, series, &out->series_fd);
}

void daily_dir_close(struct daily_dir *dir)
{
	close_fd(&dir->day_fd);
	close_fd(&dir->series_fd);
	close_fd(&dir->lock_fd);
	close_fd(&dir->fd);
	strbuf_release(&dir->names);
	strbuf_release(&dir->old);
}

/* ---- names ---- */

/* Is it a name that the job gives? No slash, no dot in front. */
static bool is_name(const char *name, size_t len)
{
	if (len == 0 || len > DAILY_DIR_NAME_MAX || *name == '.')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-+@,", name[i]))
			return false;
	return true;
}

/* The next line of a list; false at the end. Lines that are no names of ours are skipped. */
static bool next_name(const char **list, char out[static DAILY_DIR_NAME_MAX + 1])
{
	while (**list) {
		size_t len = strcspn(*list, "\n");
		const char *name = *list;

		*list += len + ((*list)[len] == '\n');
		if (!is_name(name, len))
			continue;
		memcpy(out, name, len);
		out[len] = '\0';
		return true;
	}
	return false;
}

static bool has_name(const struct strbuf *list, const char *name)
{
	const char *at = strbuf_str(list);
	char line[DAILY_DIR_NAME_MAX + 1];

	while (next_name(&at, line))
		if (strcmp(line, name) == 0)
			return true;
	return false;
}

static int read_list(int day_fd, struct strbuf *out)
{
	__cleanup_fd int fd = openat(day_fd, DAILY_DIR_LIST,
				     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	err = fs_read_fd(fd, DAILY_DIR_LIST_MAX, out);
	return err == -EFBIG ? 0 : err;
}

static int write_list(int day_fd, const struct strbuf *names, const struct strbuf *more)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int err;

	strbuf_puts(&text, strbuf_str(names));
	if (more)
		strbuf_puts(&text, strbuf_str(more));
	err = strbuf_error(&text);
	return err ? err :
		     fs_write_atomic(day_fd, DAILY_DIR_LIST, FILE_MODE, strbuf_str(&text),
				     text.len);
}

/* ---- a day ---- */

int daily_dir_begin(struct daily_dir *dir, const char *date)
{
	int err;

	close_fd(&dir->day_fd);
	strbuf_clear(&dir->names);
	strbuf_clear(&dir->old);
	err = make_dir(dir->fd, date, &dir->day_fd);
	return err ? err : read_list(dir->day_fd, &dir->old);
}

/* Adds it to a list that lacks it; *is_new_out says whether that was so. */
static int add_name(struct strbuf *list, const char *name, bool *is_new_out)
{
	struct strbuf_mark before = strbuf_mark(list);

	if (!is_name(name, strlen(name)))
		return -EINVAL;
	*is_new_out = !has_name(list, name);
	if (*is_new_out)
		strbuf_printf(list, "%s\n", name);
	return strbuf_settle(list, before, 0);
}

int daily_dir_expect(struct daily_dir *dir, const char *name)
{
	bool is_new;

	return add_name(&dir->old, name, &is_new);
}

int daily_dir_keep(struct daily_dir *dir, const char *name)
{
	bool is_new;

	return add_name(&dir->names, name, &is_new);
}

int daily_dir_write(struct daily_dir *dir, const char *name, const struct strbuf *text)
{
	bool is_new = false;
	int err = add_name(&dir->names, name, &is_new);

	if (!err && is_new)
		err = write_list(dir->day_fd, &dir->names, &dir->old);
	return err ? err :
		     fs_write_atomic(dir->day_fd, name, FILE_MODE, strbuf_str(text), text->len);
}

static int point_latest(struct daily_dir *dir, const char *date)
{
	struct stat st;

	/* What somebody else put there stays. */
	if (fstatat(dir->fd, LATEST, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISLNK(st.st_mode))
		return 0;
	if (unlinkat(dir->fd, LATEST_NEW, 0) && errno != ENOENT)
		return -errno;
	if (symlinkat(date, dir->fd, LATEST_NEW) || renameat(dir->fd, LATEST_NEW, dir->fd, LATEST))
		return -errno;
	return 0;
}

int daily_dir_end(struct daily_dir *dir, const char *date)
{
	const char *at = strbuf_str(&dir->old);
	char name[DAILY_DIR_NAME_MAX + 1];
	int err = 0;

	while (next_name(&at, name))
		if (!has_name(&dir->names, name) && unlinkat(dir->day_fd, name, 0) &&
		    errno != ENOENT && !err)
			err = -errno;
	if (!err)
		err = write_list(dir->day_fd, &dir->names, NULL);
	return err ? err : point_latest(dir, date);
}

/* ---- retention ---- */

/* A listed file, or what a crash left of writing one. */
static bool is_ours(const struct strbuf *list, const char *name)
{
	const char *mark = strstr(name, TEMP_MARK);
	char stem[DAILY_DIR_NAME_MAX + 1];
	size_t len;

	if (strcmp(name, DAILY_DIR_LIST) == 0 || has_name(list, name))
		return true;
	for (; mark; mark = strstr(mark + 1, TEMP_MARK)) {
		const char *digits = mark + strlen(TEMP_MARK);

		len = (size_t)(mark - name);
		if (!*digits || digits[strspn(digits, "0123456789")] || len >= sizeof(stem))
			continue;
		memcpy(stem, name, len);
		stem[len] = '\0';
		if (strcmp(stem, DAILY_DIR_LIST) == 0 || has_name(list, stem))
			return true;
	}
	return false;
}

/* From the beginning; errno is set on NULL. */
static DIR *list_dir(int dir_fd)
{
	__cleanup_fd int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);

	if (!entries)
		return NULL;
	fd = -1;
	rewinddir(entries);
	return entries;
}

/* The list goes last: a crash in between leaves the rest deletable. */
static int delete_day(int root_fd, const char *date)
{
	__cleanup_strbuf struct strbuf list = STRBUF_INIT;
	__cleanup_dir DIR *entries = NULL;
	__cleanup_fd int fd = -1;
	const struct dirent *entry;
	int err;

	fd = open_dir(root_fd, date);
	if (fd < 0)
		return fd;
	err = read_list(fd, &list);
	if (err)
		return err;
	/* No list, not ours. */
	if (faccessat(fd, DAILY_DIR_LIST, F_OK, AT_SYMLINK_NOFOLLOW))
		return 0;
	entries = list_dir(fd);
	if (!entries)
		return -errno;
	while ((entry = readdir(entries)))
		if (strcmp(entry->d_name, DAILY_DIR_LIST) != 0 && is_ours(&list, entry->d_name) &&
		    unlinkat(fd, entry->d_name, 0) && !err)
			err = -errno;
	if (!err && unlinkat(fd, DAILY_DIR_LIST, 0))
		err = -errno;
	/* Somebody else's files keep the directory. */
	if (!err && unlinkat(root_fd, date, AT_REMOVEDIR) && errno != ENOTEMPTY && errno != EEXIST)
		err = -errno;
	return err;
}

/* "2026-11-21" and nothing else. */
static bool parse_date(const char *text, uint32_t *number_out)
{
	char again[DAILY_DATE_BYTES];
	struct tm tm = { 0 };
	const char *end = strptime(text, "%Y-%m-%d", &tm);
	time_t at;

	if (!end || *end)
		return false;
	at = timegm(&tm);
	if (at < 0 || at / SECONDS_PER_DAY > UINT32_MAX)
		return false;
	daily_date_text((uint32_t)(at / SECONDS_PER_DAY), again);
	if (strcmp(again, text) != 0)
		return false;
	*number_out = (uint32_t)(at / SECONDS_PER_DAY);
	return true;
}

static int forget_series(int series_fd, uint32_t last)
{
	__cleanup_dir DIR *entries = list_dir(series_fd);
	time_t oldest = ((time_t)last - DAILY_DIR_SERIES_DAYS) * SECONDS_PER_DAY;
	const struct dirent *entry;
	int err = 0;

	if (!entries)
		return -errno;
	while ((entry = readdir(entries))) {
		/* A suffix alone is no series. */
		struct text end = { entry->d_name + 1, strlen(entry->d_name) - 1 };
		struct stat st;

		if (!text_ends_with(end, TEXT(SERIES_FILE_SUFFIX)) &&
		    !text_ends_with(end, TEXT(SERIES_FILE_SUFFIX SERIES_FILE_DAMAGED_SUFFIX)))
			continue;
		if (fstatat(series_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode) || st.st_mtime >= oldest)
			continue;
		if (unlinkat(series_fd, entry->d_name, 0) && !err)
			err = -errno;
	}
	return err;
}

/* Whether the job wrote it: it has a list, and a page. */
static bool has_page(int root_fd, const char *date)
{
	__cleanup_fd int fd = open_dir(root_fd, date);

	return fd >= 0 && faccessat(fd, DAILY_DIR_LIST, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
	       faccessat(fd, "index.html", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int compare_newest(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;

	return (a < b) - (a > b);
}

int daily_dir_earlier(const struct daily_dir *dir, uint32_t last, uint32_t keep, uint32_t **out,
		      size_t *cnt_out)
{
	__cleanup_dir DIR *entries = list_dir(dir->fd);
	__cleanup_free uint32_t *days = NULL;
	const struct dirent *entry;
	size_t cnt = 0, cap = 0;

	if (!entries)
		return -errno;
	while ((entry = readdir(entries))) {
		uint32_t number;
		int err;

		if (!parse_date(entry->d_name, &number) || number >= last ||
		    number + keep <= last || !has_page(dir->fd, entry->d_name))
			continue;
		err = vec_room(days, cnt, cap, 32);
		if (err)
			return err;
		days[cnt++] = number;
	}
	if (cnt)
		qsort(days, cnt, sizeof(*days), compare_newest);
	*out = take_ptr(days);
	*cnt_out = cnt;
	return 0;
}

int daily_dir_retain(struct daily_dir *dir, uint32_t last, uint32_t keep)
{
	__cleanup_dir DIR *entries = list_dir(dir->fd);
	const struct dirent *entry;
	int err = 0;

	if (!entries)
		return -errno;
	while ((entry = readdir(entries))) {
		uint32_t number;
		int delete_err;

		if (!parse_date(entry->d_name, &number) || number + keep > last)
			continue;
		delete_err = delete_day(dir->fd, entry->d_name);
		if (delete_err && delete_err != -ENOTDIR && delete_err != -ELOOP && !err)
			err = delete_err;
	}
	int series_err = forget_series(dir->series_fd, last);

	return err ? err : series_err;
}
