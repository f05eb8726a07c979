// SPDX-License-Identifier: Apache-2.0
/*
 * Retention by age and by size. The tree is listed anew each time: once an hour that costs
 * nothing, and there is no second truth about which files exist.
 */
#include "user/store/retention.h"

#include <errno.h>
#include <fcntl.h>
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

static uint64_t hours_of(const struct segment_file *file)
{
	return file->is_day ? SEGMENT_DAY_S / SEGMENT_HOUR_S : 1;
}

/* Is it another hour than that of the file before it? Hours have several files now and then. */
static bool is_next_hour(const struct segment_list *list, size_t index)
{
	return index == 0 || list->files[index - 1].hour_unix_s != list->files[index].hour_unix_s ||
	       list->files[index - 1].is_day != list->files[index].is_day;
}

/*
 * How many hours of history a file proves; `next_s` is when the one after it begins. A day with a gap
 * behind it may have been made of a single hour, of a clock that jumped on from there.
 */
static uint64_t sure_hours(const struct segment_file *file, uint64_t next_s)
{
	return next_s <= segment_file_end(file) + SEGMENT_DAY_S ? hours_of(file) : 1;
}

uint64_t retention_reference_s(const struct segment_list *list)
{
	const struct segment_file *newest = &list->files[list->cnt - 1];
	/* Of a day nobody knows here how far it goes: its first hour is sure. */
	uint64_t newest_s = newest->hour_unix_s + SEGMENT_HOUR_S;
	uint64_t day_s = segment_file_end(&list->files[0]);
	uint64_t hours = 0, next_s = UINT64_MAX;

	for (size_t i = list->cnt; i-- > 0 && hours < SEGMENT_DAY_S / SEGMENT_HOUR_S;) {
		if (!is_next_hour(list, i))
			continue;
		hours += sure_hours(&list->files[i], next_s);
		day_s = segment_file_end(&list->files[i]);
		next_s = list->files[i].hour_unix_s;
	}
	return newest_s < day_s + SEGMENT_DAY_S ? newest_s : day_s + SEGMENT_DAY_S;
}

/* Of the files but `current`; 0 = there is no other one. */
static uint64_t newest_other_s(const struct segment_list *list, const struct segment_file *current)
{
	for (size_t i = list->cnt; i-- > 0;) {
		if (!is_current(&list->files[i], current))
			return segment_file_end(&list->files[i]);
	}
	return 0;
}

static bool is_far(uint64_t a_s, uint64_t b_s)
{
	return (a_s > b_s ? a_s - b_s : b_s - a_s) > RETENTION_CLOCK_MAX_S;
}

struct retention {
	int tree_fd;
	const struct retention_limits *limits;
	const struct segment_file *current;
	const struct segment_list *list;
	uint64_t reference_s;
	bool is_paused;
	uint64_t total; /* bytes of what is left */
	uint64_t hours; /* that went for keep_bytes */
};

static bool is_too_old(const struct retention *retention, const struct segment_file *file)
{
	uint64_t end_s = segment_file_end(file);

	/* Counted from its last sample: an hour or day goes when all of it is too old. */
	return retention->limits->keep_age_ns && !retention->is_paused &&
	       retention->reference_s > end_s &&
	       retention->reference_s - end_s > retention->limits->keep_age_ns / CLOCK_NS_PER_S;
}

static bool is_too_much(const struct retention *retention)
{
	return retention->limits->keep_bytes && retention->total > retention->limits->keep_bytes;
}

/* May the file, the oldest that is left, go for the sake of bytes? */
static bool may_go(struct retention *retention, size_t index)
{
	uint32_t max_hours = retention->limits->max_hours;
	uint64_t hours = hours_of(&retention->list->files[index]);

	if (!is_too_much(retention))
		return false;
	if (!is_next_hour(retention->list, index))
		return true;
	if (max_hours && retention->hours && retention->hours + hours > max_hours)
		return false;
	retention->hours += hours;
	return true;
}

/* 0 or the first -errno. */
static int retention_delete(struct retention *retention, const uint64_t *bytes)
{
	bool is_done = false; /* no more for the sake of bytes */
	int err = 0;

	for (size_t i = 0; i < retention->list->cnt; i++) {
		const struct segment_file *file = &retention->list->files[i];
		int delete_err;

		if (is_current(file, retention->current))
			continue;
		if (!is_too_old(retention, file)) {
			is_done = is_done || !may_go(retention, i);
			if (is_done)
				continue;
		}
		delete_err = segment_tree_delete(retention->tree_fd, file);
		if (!delete_err)
			retention->total -= bytes[i];
		else if (!err)
			err = delete_err;
	}
	return err;
}

int retention_apply(int tree_fd, const struct retention_limits *limits, uint64_t now_unix_ns,
		    const struct segment_file *current, struct retention_outcome *out)
{
	__cleanup_segment_list struct segment_list list = { NULL, 0, 0 };
	__cleanup_free uint64_t *bytes = NULL;
	struct retention retention = { .tree_fd = tree_fd, .limits = limits, .current = current };
	uint64_t now_s = now_unix_ns / CLOCK_NS_PER_S;
	int err = segment_tree_list_all(tree_fd, &list);

	*out = (struct retention_outcome){ .is_clock_off = false };
	if (err || list.cnt == 0)
		return err;
	bytes = calloc(list.cnt, sizeof(*bytes));
	if (!bytes)
		return -ENOMEM;
	for (size_t i = 0; i < list.cnt; i++) {
		bytes[i] = file_bytes(tree_fd, &list.files[i]);
		retention.total += bytes[i];
	}
	retention.list = &list;
	retention.reference_s = retention_reference_s(&list);
	out->newest_unix_s = newest_other_s(&list, current);
	retention.is_paused = out->newest_unix_s && is_far(now_s, out->newest_unix_s) &&
			      is_far(now_s, retention.reference_s);
	out->is_clock_off = retention.is_paused && limits->keep_age_ns;
	err = retention_delete(&retention, bytes);
	out->is_over = is_too_much(&retention);
	return err;
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
