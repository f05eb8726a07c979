// SPDX-License-Identifier: Apache-2.0
/*
 * Retention by age and by size. The tree is listed each time: once an hour that costs nothing, and
 * the tree alone says which files exist.
 */
#include "user/store/retention.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "user/store/store.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define HOUR_CHARS 32

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

static bool is_same_hour(const struct segment_file *a, const struct segment_file *b)
{
	return a->hour_unix_s == b->hour_unix_s && a->is_day == b->is_day;
}

/* Is it another hour than that of the file before it? Hours have several files now and then. */
static bool is_next_hour(const struct segment_list *list, size_t index)
{
	return index == 0 || !is_same_hour(&list->files[index - 1], &list->files[index]);
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
	/* How far a day file goes is not known here: only its first hour is certain. */
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

/* A file of any tree. */
struct item {
	struct segment_file file;
	uint64_t bytes;
	uint32_t tree; /* 0: that of EVENT_CPU */
	bool is_gone;
};

struct retention {
	const struct retention_tree *trees;
	const struct retention_limits *limits;
	struct item *items; /* oldest first, other events before EVENT_CPU */
	size_t cnt;
	uint64_t reference_s;
	uint64_t newest_other_s;
	bool is_paused;
	uint64_t total; /* bytes of what is left */
	uint64_t other; /* of these, of other events than EVENT_CPU */
	uint64_t hours; /* that went for keep_bytes */
	const struct item *last_gone;
	uint64_t gone_cnt; /* files that were deleted */
	uint64_t gone_bytes;
	uint64_t gone_first_s; /* hours that they were of */
	uint64_t gone_last_s;
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

static bool is_item_current(const struct retention *retention, const struct item *item)
{
	return is_current(&item->file, retention->trees[item->tree].current);
}

/* May the file, the oldest that is left, be deleted to save bytes? */
static bool may_go(struct retention *retention, const struct item *item)
{
	uint32_t max_hours = retention->limits->max_hours;
	uint64_t hours = hours_of(&item->file);

	if (retention->last_gone && is_same_hour(&retention->last_gone->file, &item->file))
		return true;
	if (max_hours && retention->hours && retention->hours + hours > max_hours)
		return false;
	retention->hours += hours;
	return true;
}

/* 0 or -errno; what cannot be deleted still counts. */
static int item_delete(struct retention *retention, struct item *item)
{
	int err = segment_tree_delete(retention->trees[item->tree].tree_fd, &item->file);

	item->is_gone = true; /* not tried again */
	if (err)
		return err;
	if (!retention->gone_cnt++)
		retention->gone_first_s = item->file.hour_unix_s;
	retention->gone_last_s = item->file.hour_unix_s;
	retention->gone_bytes += item->bytes;
	retention->total -= item->bytes;
	if (item->tree)
		retention->other -= item->bytes;
	return 0;
}

/*
 * The next file to delete to save bytes; NULL: none is left. Both places only move on: what was
 * passed is deleted, or stays.
 */
static struct item *next_of(struct retention *retention, size_t *any_at, size_t *other_at)
{
	bool is_other = retention->other > retention->limits->keep_bytes / 2;
	size_t *at = is_other ? other_at : any_at;

	for (; *at < retention->cnt; (*at)++) {
		struct item *item = &retention->items[*at];

		if (!item->is_gone && !is_item_current(retention, item) &&
		    (item->tree || !is_other))
			return item;
	}
	/* All that is left of the others is being written. */
	if (!is_other)
		return NULL;
	for (; *any_at < retention->cnt; (*any_at)++) {
		struct item *item = &retention->items[*any_at];

		if (!item->is_gone && !is_item_current(retention, item))
			return item;
	}
	return NULL;
}

/* 0 or the first -errno. */
static int retention_delete(struct retention *retention)
{
	size_t any_at = 0, other_at = 0;
	struct item *item;
	int err = 0;

	for (size_t i = 0; i < retention->cnt; i++) {
		int delete_err;

		item = &retention->items[i];
		if (is_item_current(retention, item) || !is_too_old(retention, &item->file))
			continue;
		delete_err = item_delete(retention, item);
		err = err ? err : delete_err;
	}
	while (is_too_much(retention) && (item = next_of(retention, &any_at, &other_at))) {
		int delete_err;

		if (!may_go(retention, item))
			break;
		delete_err = item_delete(retention, item);
		retention->last_gone = item;
		err = err ? err : delete_err;
	}
	return err;
}

static int compare_items(const void *a, const void *b)
{
	const struct item *left = a, *right = b;
	int order = (left->file.hour_unix_s > right->file.hour_unix_s) -
		    (left->file.hour_unix_s < right->file.hour_unix_s);

	if (!order)
		order = (left->tree == 0) - (right->tree == 0);
	if (!order)
		order = (left->tree > right->tree) - (left->tree < right->tree);
	return order ? order : segment_file_compare(&left->file, &right->file);
}

/* The files of a tree, to the others. 0, -ENOMEM or -errno. */
static int tree_add(struct retention *retention, uint32_t tree)
{
	__cleanup_segment_list struct segment_list list = { NULL, 0, 0 };
	const struct retention_tree *from = &retention->trees[tree];
	struct item *items;
	uint64_t reference_s, newest_s;
	int err = from->tree_fd >= 0 ? segment_tree_list_all(from->tree_fd, &list) : 0;

	if (err || list.cnt == 0)
		return err;
	items = reallocarray(retention->items, retention->cnt + list.cnt, sizeof(*items));
	if (!items)
		return -ENOMEM;
	retention->items = items;
	for (size_t i = 0; i < list.cnt; i++) {
		struct item item = {
			.file = list.files[i],
			.bytes = file_bytes(from->tree_fd, &list.files[i]),
			.tree = tree,
		};

		retention->total += item.bytes;
		retention->other += tree ? item.bytes : 0;
		items[retention->cnt++] = item;
	}
	reference_s = retention_reference_s(&list);
	newest_s = newest_other_s(&list, from->current);
	if (reference_s > retention->reference_s)
		retention->reference_s = reference_s;
	if (newest_s > retention->newest_other_s)
		retention->newest_other_s = newest_s;
	return 0;
}

static int retention_list(struct retention *retention, size_t tree_cnt)
{
	int err = 0;

	for (uint32_t i = 0; i < tree_cnt && !err; i++)
		err = tree_add(retention, i);
	if (!err && retention->cnt)
		qsort(retention->items, retention->cnt, sizeof(*retention->items), compare_items);
	return err;
}

static void print_hour(uint64_t hour_unix_s, char out[HOUR_CHARS])
{
	time_t time = (time_t)hour_unix_s;
	struct tm tm;

	if (!gmtime_r(&time, &tm) || !strftime(out, HOUR_CHARS, "%Y-%m-%dT%H:00Z", &tm))
		out[0] = '\0';
}

/* What is deleted is told, so that nobody wonders where it is. */
static void tell_gone(const struct retention *retention)
{
	char first[HOUR_CHARS], last[HOUR_CHARS];

	if (!retention->gone_cnt)
		return;
	print_hour(retention->gone_first_s, first);
	print_hour(retention->gone_last_s, last);
	pr_info("store: deleted %" PRIu64
		" file%s of the hours from %s to %s, %.1f MiB, as --keep-age and --keep-bytes say\n",
		retention->gone_cnt, retention->gone_cnt == 1 ? "" : "s", first, last,
		(double)retention->gone_bytes / (1 << 20));
}

int retention_apply(const struct retention_tree *trees, size_t tree_cnt,
		    const struct retention_limits *limits, uint64_t now_unix_ns,
		    struct retention_outcome *out)
{
	struct retention retention = { .trees = trees, .limits = limits };
	uint64_t now_s = now_unix_ns / CLOCK_NS_PER_S;
	int err = retention_list(&retention, tree_cnt);

	*out = (struct retention_outcome){ .is_clock_off = false };
	if (!err && retention.cnt) {
		out->newest_unix_s = retention.newest_other_s;
		retention.is_paused = out->newest_unix_s && is_far(now_s, out->newest_unix_s) &&
				      is_far(now_s, retention.reference_s);
		out->is_clock_off = retention.is_paused && limits->keep_age_ns;
		err = retention_delete(&retention);
		tell_gone(&retention);
		out->is_over = is_too_much(&retention);
	}
	free(retention.items);
	return err;
}

int retention_usage(const struct retention_tree *trees, size_t tree_cnt, struct store_usage *out)
{
	struct retention retention = { .trees = trees };
	int err = retention_list(&retention, tree_cnt);

	if (!err)
		*out = (struct store_usage){
			.files = retention.cnt,
			.bytes = retention.total,
			.oldest_unix_s = retention.cnt ? retention.items[0].file.hour_unix_s : 0,
		};
	free(retention.items);
	return err;
}
