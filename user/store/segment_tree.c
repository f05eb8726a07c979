// SPDX-License-Identifier: Apache-2.0
/*
 * Names of hour files and the walk over their tree. A name counts only when writing the hour it
 * stands for gives the same name again, so 31 February, "7.zst" or "13-01.zst" are foreign.
 */
#include "user/store/segment_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/parse.h"

#define DAY_PATH_LEN   10 /* "2026/11/21" */
#define MONTH_PATH_LEN 7
#define YEAR_PATH_LEN  4
#define LEVEL_CNT      3 /* of directories: year, month, day */
#define SEGMENT_SUFFIX ".zst"
#define YEAR_MAX_S     253402300800ull /* year 10000 */

void segment_list_release(struct segment_list *list)
{
	free(list->files);
	*list = (struct segment_list){ NULL, 0, 0 };
}

uint64_t segment_hour(uint64_t unix_ns)
{
	uint64_t unix_s = unix_ns / CLOCK_NS_PER_S;

	return unix_s - unix_s % SEGMENT_HOUR_S;
}

void segment_path(const struct segment_file *file, char path[static SEGMENT_PATH_BYTES])
{
	time_t hour = (time_t)file->hour_unix_s;
	struct tm tm = { 0 };
	size_t len;

	gmtime_r(&hour, &tm);
	len = strftime(path, SEGMENT_PATH_BYTES, "%Y/%m/%d/%H", &tm);
	if (file->index)
		snprintf(path + len, SEGMENT_PATH_BYTES - len, "-%u%s", file->index,
			 SEGMENT_SUFFIX);
	else
		snprintf(path + len, SEGMENT_PATH_BYTES - len, "%s", SEGMENT_SUFFIX);
}

int segment_file_compare(const void *a, const void *b)
{
	const struct segment_file *left = a, *right = b;
	int order =
		(left->hour_unix_s > right->hour_unix_s) - (left->hour_unix_s < right->hour_unix_s);

	return order ? order : (left->index > right->index) - (left->index < right->index);
}

/* Path as the walk found it -> file; false when it is not the path of a segment. */
static bool segment_path_parse(const char *path, struct segment_file *out)
{
	static const size_t at[] = { 0, 5, 8, 11 }; /* year, month, day, hour */
	static const size_t lens[] = { 4, 2, 2, 2 };
	char again[SEGMENT_PATH_BYTES];
	uint64_t parts[ARRAY_SIZE(at)];
	uint64_t index = 0;
	const char *rest;
	struct tm tm = { 0 };
	time_t hour;

	if (strlen(path) < DAY_PATH_LEN + strlen("/HH") || strlen(path) >= SEGMENT_PATH_BYTES)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		if (parse_u64_n(path + at[i], lens[i], 10, &parts[i]))
			return false;
	}
	rest = path + DAY_PATH_LEN + strlen("/HH");
	if (*rest == '-') {
		size_t digits = strspn(rest + 1, "0123456789");

		if (parse_u64_n(rest + 1, digits, 10, &index) || index > SEGMENT_INDEX_MAX)
			return false;
	}
	if (parts[0] < 1970 || parts[1] < 1)
		return false;
	tm.tm_year = (int)parts[0] - 1900;
	tm.tm_mon = (int)parts[1] - 1;
	tm.tm_mday = (int)parts[2];
	tm.tm_hour = (int)parts[3];
	hour = timegm(&tm);
	if (hour < 0)
		return false;
	*out = (struct segment_file){ .hour_unix_s = (uint64_t)hour, .index = (uint32_t)index };
	segment_path(out, again);
	return strcmp(again, path) == 0;
}

static int segment_list_add(struct segment_list *list, const struct segment_file *file)
{
	if (list->cnt == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 64;
		struct segment_file *files = reallocarray(list->files, cap, sizeof(*files));

		if (!files)
			return -ENOMEM;
		list->files = files;
		list->cap = cap;
	}
	list->files[list->cnt++] = *file;
	return 0;
}

struct tree_walk {
	int tree_fd;
	char from[SEGMENT_PATH_BYTES];	/* path of the first hour wanted */
	char until[SEGMENT_PATH_BYTES]; /* path of the first hour not wanted any more */
	uint64_t from_s;
	uint64_t until_s;
	struct segment_list *out;
};

/* Can a directory hold wanted hours? Its name is the first part of their paths. */
static bool is_within(const struct tree_walk *walk, const char *path, size_t len)
{
	return strncmp(path, walk->from, len) >= 0 && strncmp(path, walk->until, len) <= 0;
}

static int tree_walk_dir(const struct tree_walk *walk, const char *path, int level);

static int tree_walk_entry(const struct tree_walk *walk, const char *parent, const char *name,
			   int level)
{
	static const size_t lens[LEVEL_CNT] = { YEAR_PATH_LEN, MONTH_PATH_LEN, DAY_PATH_LEN };
	char path[SEGMENT_PATH_BYTES];
	struct segment_file file;
	int len = snprintf(path, sizeof(path), "%s%s%s", parent, *parent ? "/" : "", name);

	if (len < 0 || (size_t)len >= sizeof(path))
		return 0;
	if (level < LEVEL_CNT) {
		if ((size_t)len != lens[level] || strspn(name, "0123456789") != strlen(name) ||
		    !is_within(walk, path, (size_t)len))
			return 0;
		return tree_walk_dir(walk, path, level + 1);
	}
	if (!segment_path_parse(path, &file) || file.hour_unix_s < walk->from_s ||
	    file.hour_unix_s >= walk->until_s)
		return 0;
	return segment_list_add(walk->out, &file);
}

/* Recursion is as deep as the tree: LEVEL_CNT. */
static int tree_walk_dir(const struct tree_walk *walk, const char *path, int level)
{
	__cleanup_fd int fd = openat(walk->tree_fd, *path ? path : ".",
				     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	__cleanup_dir DIR *dir = NULL;
	struct dirent *entry;
	int err = 0;

	/* Deleted meanwhile, or not a directory: nothing of ours. */
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -errno;
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	fd = -1;
	while (!err && (errno = 0, entry = readdir(dir)))
		err = tree_walk_entry(walk, path, entry->d_name, level);
	return err ? err : -errno;
}

int segment_tree_list(int tree_fd, uint64_t from_s, uint64_t until_s, struct segment_list *out)
{
	struct segment_list list = { NULL, 0, 0 };
	struct tree_walk walk = { .tree_fd = tree_fd, .from_s = from_s, .out = &list };
	int err;

	walk.until_s = until_s < YEAR_MAX_S ? until_s : YEAR_MAX_S;
	if (from_s >= walk.until_s)
		return 0;
	segment_path(&(struct segment_file){ .hour_unix_s = from_s }, walk.from);
	segment_path(&(struct segment_file){ .hour_unix_s = walk.until_s - 1 }, walk.until);
	err = tree_walk_dir(&walk, "", 0);
	if (err) {
		segment_list_release(&list);
		return err;
	}
	if (list.cnt)
		qsort(list.files, list.cnt, sizeof(*list.files), segment_file_compare);
	*out = list;
	return 0;
}

/* Path of the directory at `level` (0 = the tree itself) above an hour. */
static void level_path(uint64_t hour_unix_s, int level, char path[static SEGMENT_PATH_BYTES])
{
	static const size_t lens[] = { 0, YEAR_PATH_LEN, MONTH_PATH_LEN, DAY_PATH_LEN };

	segment_path(&(struct segment_file){ .hour_unix_s = hour_unix_s }, path);
	if (level == 0)
		strcpy(path, "."); /* fits: SEGMENT_PATH_BYTES */
	else
		path[lens[level]] = '\0';
}

static int sync_dir(int tree_fd, const char *path)
{
	__cleanup_fd int fd = openat(tree_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return fsync(fd) ? -errno : 0;
}

int segment_tree_make_day(int tree_fd, uint64_t hour_unix_s)
{
	char path[SEGMENT_PATH_BYTES], parent[SEGMENT_PATH_BYTES];

	for (int level = 1; level <= LEVEL_CNT; level++) {
		int err;

		level_path(hour_unix_s, level, path);
		if (mkdirat(tree_fd, path, SEGMENT_TREE_DIR_MODE)) {
			if (errno == EEXIST)
				continue;
			return -errno;
		}
		level_path(hour_unix_s, level - 1, parent);
		err = sync_dir(tree_fd, parent);
		if (err)
			return err;
	}
	return 0;
}

int segment_tree_sync_day(int tree_fd, uint64_t hour_unix_s)
{
	char path[SEGMENT_PATH_BYTES];

	level_path(hour_unix_s, LEVEL_CNT, path);
	return sync_dir(tree_fd, path);
}

int segment_tree_delete(int tree_fd, const struct segment_file *file)
{
	char path[SEGMENT_PATH_BYTES];

	segment_path(file, path);
	if (unlinkat(tree_fd, path, 0) && errno != ENOENT)
		return -errno;
	for (int level = LEVEL_CNT; level > 0; level--) {
		level_path(file->hour_unix_s, level, path);
		/* Other hours or somebody else's files keep the directory. */
		if (unlinkat(tree_fd, path, AT_REMOVEDIR))
			break;
	}
	return 0;
}
