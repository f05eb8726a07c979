// SPDX-License-Identifier: Apache-2.0
/*
 * Names of hour and day files and the walk over their tree. A name counts only when writing the
 * hour or day it stands for gives the same name again, so 31 February, "7.zst" or "13-01.zst" are
 * foreign.
 */
#include "user/store/segment/segment_tree.h"

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
#include "user/util/log.h"
#include "user/util/parse.h"
#include "user/util/vec.h"

#define DAY_PATH_LEN   10 /* "2026/11/21" */
#define MONTH_PATH_LEN 7
#define YEAR_PATH_LEN  4
#define LEVEL_CNT      3 /* of directories: year, month, day */
#define SEGMENT_SUFFIX ".zst"
#define DAMAGED_SUFFIX ".damaged"
#define YEAR_MAX_S     253402300800ull /* year 10000 */

void segment_list_release(struct segment_list *list)
{
	free(list->files);
	*list = (struct segment_list){ NULL, 0, 0 };
}

void segment_tree_dir(enum event event, char dir[static SEGMENT_TREE_BYTES])
{
	(void)snprintf(dir, SEGMENT_TREE_BYTES, "v1/%s", event_name(event));
}

void segment_store_path(enum event event, const struct segment_file *file,
			char path[static SEGMENT_STORE_PATH_BYTES])
{
	char file_path[SEGMENT_PATH_BYTES];

	segment_path(file, file_path);
	(void)snprintf(path, SEGMENT_STORE_PATH_BYTES, "v1/%s/%s", event_name(event), file_path);
}

int segment_tree_path(const char *store_dir, enum event event, char path[static PATH_MAX])
{
	int len = snprintf(path, PATH_MAX, "%s/v1/%s", store_dir, event_name(event));

	return len < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int segment_tree_open(const char *store_dir, enum event event)
{
	char path[PATH_MAX];
	int fd, err = segment_tree_path(store_dir, event, path);

	if (err)
		return err;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	return fd;
}

uint64_t segment_hour(uint64_t unix_ns)
{
	uint64_t unix_s = unix_ns / CLOCK_NS_PER_S;

	return unix_s - unix_s % SEGMENT_HOUR_S;
}

uint64_t segment_day(uint64_t unix_s)
{
	return unix_s - unix_s % SEGMENT_DAY_S;
}

uint64_t segment_file_end(const struct segment_file *file)
{
	return file->hour_unix_s + (file->is_day ? SEGMENT_DAY_S : SEGMENT_HOUR_S);
}

void segment_path(const struct segment_file *file, char path[static SEGMENT_PATH_BYTES])
{
	time_t hour = (time_t)file->hour_unix_s;
	struct tm tm = { 0 };
	size_t len;

	gmtime_r(&hour, &tm);
	len = strftime(path, SEGMENT_PATH_BYTES, file->is_day ? "%Y/%m/%d" : "%Y/%m/%d/%H", &tm);
	if (file->index)
		len += (size_t)snprintf(path + len, SEGMENT_PATH_BYTES - len, "-%u", file->index);
	snprintf(path + len, SEGMENT_PATH_BYTES - len, "%s%s", SEGMENT_SUFFIX,
		 file->is_damaged ? DAMAGED_SUFFIX : "");
}

int segment_file_compare(const void *a, const void *b)
{
	const struct segment_file *left = a, *right = b;
	int order =
		(left->hour_unix_s > right->hour_unix_s) - (left->hour_unix_s < right->hour_unix_s);

	if (order)
		return order;
	if (left->is_day != right->is_day)
		return left->is_day ? -1 : 1;
	if (left->is_damaged != right->is_damaged)
		return left->is_damaged ? 1 : -1;
	return (left->index > right->index) - (left->index < right->index);
}

/* "-7" of "10-7.zst"; true when there is none. */
static bool index_parse(const char *text, uint32_t *out)
{
	uint64_t index = 0;

	*out = 0;
	if (*text != '-')
		return true;
	if (parse_u64_n(text + 1, strspn(text + 1, "0123456789"), 10, &index) ||
	    index > SEGMENT_INDEX_MAX)
		return false;
	*out = (uint32_t)index;
	return true;
}

static bool has_suffix(const char *path, const char *suffix)
{
	size_t len = strlen(path), suffix_len = strlen(suffix);

	return len >= suffix_len && strcmp(path + len - suffix_len, suffix) == 0;
}

/* Path as the walk found it -> file; false when it is not the path of a segment. */
static bool segment_path_parse(const char *path, bool is_day, struct segment_file *out)
{
	static const size_t at[] = { 0, 5, 8, 11 }; /* year, month, day, hour */
	static const size_t lens[] = { 4, 2, 2, 2 };
	size_t cnt = is_day ? LEVEL_CNT : LEVEL_CNT + 1;
	struct segment_file file = {
		.is_day = is_day,
		.is_damaged = has_suffix(path, DAMAGED_SUFFIX),
	};
	uint64_t parts[ARRAY_SIZE(at)] = { 0 };
	char again[SEGMENT_PATH_BYTES];
	struct tm tm = { 0 };
	time_t start;

	if (strlen(path) < at[cnt - 1] + lens[cnt - 1] || strlen(path) >= SEGMENT_PATH_BYTES)
		return false;
	for (size_t i = 0; i < cnt; i++) {
		if (parse_u64_n(path + at[i], lens[i], 10, &parts[i]))
			return false;
	}
	if ((!is_day || file.is_damaged) &&
	    !index_parse(path + at[cnt - 1] + lens[cnt - 1], &file.index))
		return false;
	if (parts[0] < 1970 || parts[1] < 1)
		return false;
	tm.tm_year = (int)parts[0] - 1900;
	tm.tm_mon = (int)parts[1] - 1;
	tm.tm_mday = (int)parts[2];
	tm.tm_hour = (int)parts[3];
	start = timegm(&tm);
	if (start < 0)
		return false;
	file.hour_unix_s = (uint64_t)start;
	segment_path(&file, again);
	if (strcmp(again, path) != 0)
		return false;
	*out = file;
	return true;
}

static int segment_list_add(struct segment_list *list, const struct segment_file *file)
{
	if (vec_room(list->files, list->cnt, list->cap, 64))
		return -ENOMEM;
	list->files[list->cnt++] = *file;
	return 0;
}

struct tree_walk {
	int tree_fd;
	char from[SEGMENT_PATH_BYTES];	/* path of the first hour wanted */
	char until[SEGMENT_PATH_BYTES]; /* path of the first hour not wanted any more */
	uint64_t from_s;
	uint64_t until_s;
	bool wants_damaged;
	struct segment_list *out;
};

/* Can a directory hold wanted hours? Its name is the first part of their paths. */
static bool is_within(const struct tree_walk *walk, const char *path, size_t len)
{
	return strncmp(path, walk->from, len) >= 0 && strncmp(path, walk->until, len) <= 0;
}

static bool file_is_wanted(const struct tree_walk *walk, const struct segment_file *file)
{
	if (file->hour_unix_s >= walk->until_s || (file->is_damaged && !walk->wants_damaged))
		return false;
	return file->hour_unix_s >= walk->from_s ||
	       (file->is_day && segment_file_end(file) > walk->from_s);
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
	if (level < LEVEL_CNT && (size_t)len == lens[level] &&
	    strspn(name, "0123456789") == strlen(name))
		return is_within(walk, path, (size_t)len) ? tree_walk_dir(walk, path, level + 1) :
							    0;
	if (level < LEVEL_CNT - 1 || !segment_path_parse(path, level < LEVEL_CNT, &file) ||
	    !file_is_wanted(walk, &file))
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

	/* A store that was moved to a larger disk by parts. */
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		pr_warn_limited(
			"store: '%s' is no directory (a symbolic link is not followed): what is behind it is not read; mount it there instead\n",
			path);
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

/* walk->from_s and until_s are set. */
static int tree_list(struct tree_walk *walk, struct segment_list *out)
{
	struct segment_list list = { NULL, 0, 0 };
	int err;

	if (walk->until_s > YEAR_MAX_S)
		walk->until_s = YEAR_MAX_S;
	if (walk->from_s >= walk->until_s)
		return 0;
	segment_path(&(struct segment_file){ .hour_unix_s = walk->from_s }, walk->from);
	segment_path(&(struct segment_file){ .hour_unix_s = walk->until_s - 1 }, walk->until);
	walk->out = &list;
	err = tree_walk_dir(walk, "", 0);
	if (err) {
		segment_list_release(&list);
		return err;
	}
	if (list.cnt)
		qsort(list.files, list.cnt, sizeof(*list.files), segment_file_compare);
	*out = list;
	return 0;
}

int segment_tree_list(int tree_fd, uint64_t from_s, uint64_t until_s, struct segment_list *out)
{
	struct tree_walk walk = { .tree_fd = tree_fd, .from_s = from_s, .until_s = until_s };

	return tree_list(&walk, out);
}

int segment_tree_list_all(int tree_fd, struct segment_list *out)
{
	struct tree_walk walk = { .tree_fd = tree_fd,
				  .until_s = UINT64_MAX,
				  .wants_damaged = true };

	return tree_list(&walk, out);
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

/* How many directories a file is deep in the tree. */
static int file_level(const struct segment_file *file)
{
	return file->is_day ? LEVEL_CNT - 1 : LEVEL_CNT;
}

int segment_tree_sync_parent(int tree_fd, const struct segment_file *file)
{
	char path[SEGMENT_PATH_BYTES];

	level_path(file->hour_unix_s, file_level(file), path);
	return sync_dir(tree_fd, path);
}

int segment_tree_delete(int tree_fd, const struct segment_file *file)
{
	char path[SEGMENT_PATH_BYTES];

	segment_path(file, path);
	if (unlinkat(tree_fd, path, 0) && errno != ENOENT)
		return -errno;
	for (int level = file_level(file); level > 0; level--) {
		level_path(file->hour_unix_s, level, path);
		/* Other hours or somebody else's files keep the directory. */
		if (unlinkat(tree_fd, path, AT_REMOVEDIR))
			break;
	}
	return 0;
}

static bool is_same_file(int tree_fd, const char *path, const char *other_path)
{
	struct stat st, other;

	return fstatat(tree_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstatat(tree_fd, other_path, &other, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_dev == other.st_dev && st.st_ino == other.st_ino;
}

int segment_tree_keep_damaged(int tree_fd, const struct segment_file *file,
			      struct segment_file *kept)
{
	struct segment_file copy = *file;
	char path[SEGMENT_PATH_BYTES], copy_path[SEGMENT_PATH_BYTES];

	segment_path(file, path);
	for (copy.is_damaged = true; copy.index <= SEGMENT_INDEX_MAX; copy.index++) {
		segment_path(&copy, copy_path);
		if (linkat(tree_fd, path, tree_fd, copy_path, 0) && errno != EEXIST)
			return -errno;
		/*
		 * The file's own second name, made just now or by an attempt that was killed; else
		 * another file's.
		 */
		if (is_same_file(tree_fd, path, copy_path)) {
			*kept = copy;
			return 0;
		}
	}
	return -EEXIST;
}
