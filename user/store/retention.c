// SPDX-License-Identifier: Apache-2.0
/*
 * Retention by age and by size. The tree is listed anew each time: once an hour that costs
 * nothing, and there is no second truth about which files exist.
 */
#include "user/store/retention.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "user/store/store.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

static bool is_current(const struct segment_file *file, const struct segment_file *current)
{
	return current && segment_file_compare(file, current) == 0;
}

/* 0 for a file that is gone. */
static uint64_t file_bytes(int tree_fd, const struct segment_file *file)
{
	char path[SEGMENT_PATH_BYTES];
	struct stat st;

	segment_path(file, path);
	if (fstatat(tree_fd, path, &st, AT_SYMLINK_NOFOLLOW) || st.st_size < 0)
		return 0;
	return (uint64_t)st.st_size;
}

static bool is_too_old(const struct segment_file *file, const struct retention_limits *limits,
		       uint64_t now_unix_ns)
{
	uint64_t end_s = segment_file_end(file);
	uint64_t now_s = now_unix_ns / CLOCK_NS_PER_S;

	/* Counted from its last sample: an hour or day goes when all of it is too old. */
	return limits->keep_age_ns && now_s > end_s &&
	       now_s - end_s > limits->keep_age_ns / CLOCK_NS_PER_S;
}

int retention_apply(int tree_fd, const struct retention_limits *limits, uint64_t now_unix_ns,
		    const struct segment_file *current)
{
	__cleanup_segment_list struct segment_list list = { NULL, 0, 0 };
	__cleanup_free uint64_t *bytes = NULL;
	uint64_t total = 0;
	int err = segment_tree_list_all(tree_fd, &list);

	if (err || list.cnt == 0)
		return err;
	bytes = calloc(list.cnt, sizeof(*bytes));
	if (!bytes)
		return -ENOMEM;
	for (size_t i = 0; i < list.cnt; i++) {
		bytes[i] = file_bytes(tree_fd, &list.files[i]);
		total += bytes[i];
	}
	for (size_t i = 0; i < list.cnt; i++) {
		const struct segment_file *file = &list.files[i];
		int delete_err;

		if (is_current(file, current))
			continue;
		if (!is_too_old(file, limits, now_unix_ns) &&
		    (!limits->keep_bytes || total <= limits->keep_bytes))
			continue;
		delete_err = segment_tree_delete(tree_fd, file);
		if (!delete_err)
			total -= bytes[i];
		else if (!err)
			err = delete_err;
	}
	return err;
}

int retention_delete_oldest_hour(int tree_fd, const struct segment_file *current)
{
	__cleanup_segment_list struct segment_list list = { NULL, 0, 0 };
	const struct segment_file *victim = NULL;
	int err = segment_tree_list_all(tree_fd, &list);

	for (size_t i = 0; i < list.cnt && !err; i++) {
		const struct segment_file *file = &list.files[i];

		if (victim &&
		    (file->hour_unix_s != victim->hour_unix_s || file->is_day != victim->is_day))
			break;
		if (is_current(file, current))
			continue;
		victim = file;
		err = segment_tree_delete(tree_fd, file);
	}
	return err || victim ? err : -ENOENT;
}

int retention_usage(int tree_fd, struct store_usage *out)
{
	__cleanup_segment_list struct segment_list list = { NULL, 0, 0 };
	struct store_usage usage = { .files = 0 };
	int err = segment_tree_list_all(tree_fd, &list);

	if (err)
		return err;
	for (size_t i = 0; i < list.cnt; i++)
		usage.bytes += file_bytes(tree_fd, &list.files[i]);
	usage.files = list.cnt;
	usage.oldest_unix_s = list.cnt ? list.files[0].hour_unix_s : 0;
	*out = usage;
	return 0;
}
