// SPDX-License-Identifier: Apache-2.0
/*
 * Which closed files become one: those of an hour, or, when it is old enough, those of a day. What
 * is there is seen in the tree each time; there is no list of what was done.
 *
 * Event by event: for each day of the tree the day is tried, and else each of its hours that is
 * over. A group, the files of one of these, takes turns until it is one file: open and lock its
 * files, drop what a crash left behind, look whether all can be read and understood, merge them
 * into a new file, which is read back and compared (compact_merge.c), give damaged sources a second
 * name, rename the new file into place, delete the sources. The new file names its sources, so
 * readers leave out those that a crash kept from being deleted. When the store is nearly full the
 * files that stand out are written once more, with the stacks of the container that has most of
 * them cut.
 *
 * What can go wrong with a group leaves its files as they are, is said, and does not keep the next
 * one from its turn; a full disk, short memory, or the wish to stop ends all. What one program
 * cannot read another may, so damage is kept, and files of a newer jbpf are not touched.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/store/compact/compact_cut.h"
#include "user/store/compact/compact_merge.h"
#include "user/store/compact/compact_output.h"
#include "user/store/compact/compact_sources.h"
#include "user/store/retention.h"
#include "user/store/segment/segment_reader.h"
#include "user/store/segment/segment_tree.h"
#include "user/store/store.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define COMPACT_LOCK_PATH "../.compact.lock" /* v1/.compact.lock, from any tree */
/* The last window of an hour ends and is written after the hour; a clock may be stepped a little. */
#define CLOSED_AFTER_S 180

#define CUT_FROM       9 /* of ten parts of keep_bytes: then the largest files are looked at */
#define CUT_FROM_PARTS 10
#define CUT_FILES_MAX  8 /* in one go: they are decoded several times */

struct compaction {
	const struct store_compaction *how;
	struct store_compaction_stats *stats;
	struct segment_reader *reader;
	enum event event;
	int tree_fd;
	uint64_t other_bytes; /* of the other events' files */
	uint64_t day_now_s;   /* the time by which days are old enough; not later than now */
	int first_err; /* of a group that is left as it is; the others are merged all the same */
};

/* Files that are to become one. */
struct group {
	struct segment_file target;
	uint64_t row_ns;
	bool is_cut; /* the merged file is written again, with the stacks of one container cut */
};

/* Errors that the next group would meet as well. */
static bool ends_all(int err)
{
	return err == -ECANCELED || err == -ENOSPC || err == -EDQUOT || err == -EROFS ||
	       err == -ENOMEM;
}

static uint64_t now_of(const struct compaction *compaction)
{
	return compaction->how->now_unix_ns / CLOCK_NS_PER_S;
}

static bool is_stopped(const struct compaction *compaction)
{
	const struct store_compaction *how = compaction->how;

	return how->should_stop && how->should_stop(how->ctx);
}

/*
 * The group's files as they are now, at most COMPACT_SOURCES_MAX; the others wait for another turn.
 */
static int group_list(const struct compaction *compaction, const struct group *group,
		      struct segment_list *out)
{
	const struct segment_file *target = &group->target;
	size_t kept = 0;
	int err = segment_tree_list(compaction->tree_fd, target->hour_unix_s,
				    segment_file_end(target), out);

	for (size_t i = 0; i < out->cnt && kept < COMPACT_SOURCES_MAX; i++) {
		if (target->is_day || !out->files[i].is_day)
			out->files[kept++] = out->files[i];
	}
	out->cnt = kept;
	return err;
}

/*
 * Can all be read, and by this version? What a newer jbpf wrote must not lose what this one does
 * not know.
 */
static int check_sources(const struct compaction *compaction, const struct compact_sources *sources)
{
	for (size_t i = 0; i < sources->cnt; i++) {
		struct segment_end end = { 0 };
		int err = segment_reader__verify(compaction->reader, sources->items[i].fd, &end);

		if (err)
			return err;
		if (end.is_unreadable)
			return -EIO;
		if (end.needs_newer)
			return -EPROTONOSUPPORT;
		if (is_stopped(compaction))
			return -ECANCELED;
	}
	return 0;
}

static bool is_done(const struct compact_sources *sources, const struct segment_file *target)
{
	return sources->cnt == 0 || (sources->cnt == 1 && sources->items[0].identity.is_merged &&
				     segment_file_compare(&sources->items[0].file, target) == 0);
}

/* Are the moments of its stacks to go? Days have none. */
static bool is_past_ticks(const struct compaction *compaction, const struct segment_file *target)
{
	uint64_t keep_ns = compaction->how->keep_ticks_ns;

	return target->is_day || !keep_ns ||
	       compaction->day_now_s > segment_file_end(target) + keep_ns / CLOCK_NS_PER_S;
}

/* A merged hour that is done but for that. */
static bool has_old_ticks(const struct compaction *compaction,
			  const struct compact_sources *sources, const struct segment_file *target)
{
	return sources->cnt == 1 && sources->items[0].identity.has_ticks &&
	       is_past_ticks(compaction, target);
}

static void count_file(struct store_compaction_stats *stats, const struct group *group,
		       const struct compact_sources *sources, int fd,
		       const struct compact_merge_result *result)
{
	struct stat st;

	if (group->target.is_day)
		stats->days++;
	else
		stats->hours++;
	stats->bytes_before += compact_sources_bytes(sources);
	if (fstat(fd, &st) == 0)
		stats->bytes_after += (uint64_t)st.st_size;
	stats->samples += result->digest.samples;
	stats->damaged += result->damaged;
}

static int group_replace(struct compaction *compaction, const struct group *group,
			 struct compact_sources *sources, uint64_t cut_key)
{
	const struct compact_merge merge = {
		.how = compaction->how,
		.reader = compaction->reader,
		.sources = sources,
		.cut_key = cut_key,
		.event = compaction->event,
		.row_ns = group->row_ns,
		.keeps_ticks = !group->row_ns && !is_past_ticks(compaction, &group->target),
	};
	bool drops_ticks = has_old_ticks(compaction, sources, &group->target);
	__cleanup_compact_output struct compact_output output = { .fd = -1 };
	struct compact_merge_result result;
	uint64_t kept = 0;
	int err = compact_output_open(compaction->tree_fd, &output);

	if (!err)
		err = compact_merge(&merge, output.fd, &result);
	if (!err)
		err = compact_sources_keep_damaged(compaction->tree_fd, sources, &kept);
	if (!err)
		err = compact_output_publish(&output, &group->target);
	if (err)
		return err;
	compaction->stats->kept += kept;
	compaction->stats->ticks_dropped += drops_ticks;
	count_file(compaction->stats, group, sources, output.fd, &result);
	return compact_sources_delete(compaction->tree_fd, sources, &group->target);
}

/* The merged file once more, when one container has most of it. */
static int group_cut(struct compaction *compaction, const struct group *group,
		     struct compact_sources *sources)
{
	__cleanup_strbuf struct strbuf name = STRBUF_INIT;
	const struct store_compaction *how = compaction->how;
	char path[SEGMENT_STORE_PATH_BYTES];
	uint64_t key;
	int err = check_sources(compaction, sources);

	if (!err)
		err = compact_cut_find(compaction->reader, &sources->items[0], how->should_stop,
				       how->ctx, &key, &name);
	if (err || !key)
		return err;
	err = group_replace(compaction, group, sources, key);
	if (err)
		return err;
	compaction->stats->cut++;
	segment_store_path(compaction->event, &group->target, path);
	pr_warn("store: nearly full: in '%s' the stacks of '%.120s' are cut to their leaf, most of that file was its own\n",
		path, strbuf_str(&name));
	return 0;
}

/* One turn. 0, 1: there is more of this group, or -errno. */
static int group_turn(struct compaction *compaction, const struct group *group)
{
	__cleanup_segment_list struct segment_list list = { NULL, 0, 0 };
	__cleanup_compact_sources struct compact_sources sources = { NULL, 0 };
	bool is_full;
	int err = group_list(compaction, group, &list);

	if (err)
		return err;
	/* A day file is a merged one by its name. */
	if (list.cnt == 0 || (list.cnt == 1 && list.files[0].is_day && !group->is_cut))
		return 0;
	is_full = list.cnt == COMPACT_SOURCES_MAX;
	err = compact_sources_open(compaction->tree_fd, compaction->reader, list.files, list.cnt,
				   &sources);
	if (!err)
		err = compact_sources_drop_leftovers(compaction->tree_fd, compaction->reader,
						     &sources);
	if (err)
		return err;
	if (!is_done(&sources, &group->target) ||
	    (!group->is_cut && has_old_ticks(compaction, &sources, &group->target))) {
		err = check_sources(compaction, &sources);
		if (!err)
			err = group_replace(compaction, group, &sources, 0);
	} else if (group->is_cut && sources.cnt) {
		return group_cut(compaction, group, &sources);
	}
	return err ? err : is_full;
}

/* 0: merged, or nothing to do; -EWOULDBLOCK: another time; else -errno. */
static int group_compact(struct compaction *compaction, const struct group *group)
{
	char path[SEGMENT_STORE_PATH_BYTES];
	int turn;

	do
		turn = is_stopped(compaction) ? -ECANCELED : group_turn(compaction, group);
	while (turn > 0);
	if (!turn || turn == -EWOULDBLOCK || ends_all(turn))
		return turn;
	segment_store_path(compaction->event, &group->target, path);
	if (turn == -EPROTONOSUPPORT)
		pr_debug("store: '%s': written by a newer jbpf, stays as it is\n", path);
	else
		pr_warn("store: '%s' is not merged: %s, its files stay as they are\n", path,
			turn == -EBADMSG ? "what was read back is not what was written" :
					   errstr(turn));
	compaction->stats->left++;
	if (!compaction->first_err && turn != -EPROTONOSUPPORT)
		compaction->first_err = turn;
	return turn;
}

static int hours_compact(struct compaction *compaction, const struct segment_list *list,
			 uint64_t day_unix_s)
{
	uint64_t now_s = now_of(compaction);
	uint64_t last_s = UINT64_MAX;

	for (size_t i = 0; i < list->cnt; i++) {
		struct group group = { .target.hour_unix_s = list->files[i].hour_unix_s };
		int err;

		if (list->files[i].is_day || group.target.hour_unix_s == last_s ||
		    segment_day(group.target.hour_unix_s) != day_unix_s ||
		    now_s < segment_file_end(&group.target) + CLOSED_AFTER_S)
			continue;
		last_s = group.target.hour_unix_s;
		err = group_compact(compaction, &group);
		if (ends_all(err))
			return err;
	}
	return 0;
}

static bool is_day_due(const struct compaction *compaction, uint64_t day_unix_s, uint64_t now_s)
{
	uint64_t age_ns = compaction->how->day_age_ns;

	return now_s >= day_unix_s + SEGMENT_DAY_S +
				(age_ns ? age_ns : STORE_DAY_FILE_AGE_NS) / CLOCK_NS_PER_S;
}

/* Would it be a day now if the clock were believed? */
static bool is_day_paused(const struct compaction *compaction, const struct segment_list *list,
			  uint64_t day_unix_s)
{
	uint64_t now_s = now_of(compaction);

	if (now_s - compaction->day_now_s <= RETENTION_CLOCK_MAX_S ||
	    !is_day_due(compaction, day_unix_s, now_s))
		return false;
	for (size_t i = 0; i < list->cnt; i++) {
		if (!list->files[i].is_day && segment_day(list->files[i].hour_unix_s) == day_unix_s)
			return true;
	}
	return false;
}

static int day_compact(struct compaction *compaction, const struct segment_list *list,
		       uint64_t day_unix_s)
{
	const struct group group = {
		.target = { .hour_unix_s = day_unix_s, .is_day = true },
		.row_ns = STORE_DAY_ROW_NS,
	};
	int err = -EWOULDBLOCK;

	if (is_day_due(compaction, day_unix_s, compaction->day_now_s))
		err = group_compact(compaction, &group);
	else if (is_day_paused(compaction, list, day_unix_s))
		compaction->stats->paused++;
	/* A day that cannot be one file yet has merged hours at least. */
	return err && !ends_all(err) ? hours_compact(compaction, list, day_unix_s) : err;
}

static uint64_t day_now(const struct compaction *compaction, const struct segment_list *list)
{
	uint64_t now_s = now_of(compaction), reference_s;

	if (compaction->how->is_clock_sure || list->cnt == 0)
		return now_s;
	reference_s = retention_reference_s(list);
	return reference_s < now_s ? reference_s : now_s;
}

/*
 * A host that is off now and then also reaches its days later: that is worth a message only if the
 * hour before this one is far away.
 */
static void report_paused(const struct compaction *compaction, const struct segment_list *list)
{
	uint64_t now_s = now_of(compaction), newest_s = 0;

	for (size_t i = 0; i < list->cnt; i++) {
		uint64_t end_s = segment_file_end(&list->files[i]);

		if (end_s + CLOSED_AFTER_S <= now_s && end_s > newest_s)
			newest_s = end_s;
	}
	if (!compaction->stats->paused || now_s - newest_s <= RETENTION_CLOCK_MAX_S)
		return;
	pr_warn("store: the clock is %.1f days ahead of the newest stored hour: %" PRIu64
		" days stay in hours until it is within a day of it, or a day was stored at this time; check the clock\n",
		(double)(now_s - newest_s) / SEGMENT_DAY_S, compaction->stats->paused);
}

static int compact_all(struct compaction *compaction)
{
	__cleanup_segment_list struct segment_list list = { NULL, 0, 0 };
	uint64_t last_s = UINT64_MAX;
	int err = segment_tree_list(compaction->tree_fd, 0, UINT64_MAX, &list);

	compaction->day_now_s = day_now(compaction, &list);
	for (size_t i = 0; i < list.cnt && !err; i++) {
		uint64_t day_s = segment_day(list.files[i].hour_unix_s);

		if (day_s == last_s)
			continue;
		last_s = day_s;
		err = day_compact(compaction, &list, day_s);
	}
	report_paused(compaction, &list);
	return err ? err : compaction->first_err;
}

/* ---- a store that is nearly full ---- */

static uint64_t cut_limit(const struct compaction *compaction)
{
	return compaction->how->keep_bytes / CUT_FROM_PARTS * CUT_FROM;
}

/* Bytes of the files, and all of them together. */
static uint64_t files_bytes(const struct compaction *compaction, const struct segment_list *list,
			    uint64_t *bytes)
{
	uint64_t total = 0;

	for (size_t i = 0; i < list->cnt; i++) {
		char path[SEGMENT_PATH_BYTES];
		struct stat st;

		segment_path(&list->files[i], path);
		bytes[i] = fstatat(compaction->tree_fd, path, &st, AT_SYMLINK_NOFOLLOW) ?
				   0 :
				   (uint64_t)st.st_size;
		total += bytes[i];
	}
	return total;
}

/* Only hours that are over, and what is the merged file of them. */
static bool may_be_cut(const struct compaction *compaction, const struct segment_file *file)
{
	return file->index == 0 && !file->is_damaged &&
	       now_of(compaction) >= segment_file_end(file) + CLOSED_AFTER_S;
}

static int cut_one(struct compaction *compaction, const struct segment_file *file)
{
	const struct group group = {
		.target = *file,
		.row_ns = file->is_day ? STORE_DAY_ROW_NS : 0,
		.is_cut = true,
	};
	int err = group_compact(compaction, &group);

	return ends_all(err) ? err : 0;
}

static bool was_cut(const struct compaction *compaction, const struct segment_file *file)
{
	char path[SEGMENT_PATH_BYTES];
	bool result;

	segment_path(file, path);

	__cleanup_fd int fd =
		openat(compaction->tree_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return fd >= 0 && compact_cut_was_cut(compaction->reader, fd, &result) == 0 && result;
}

/*
 * The files to try, in order: one that was cut before and still stands out mostly has little left
 * to gain, and comes behind all others. `order` is sorted again; returns how many are left in it.
 */
static size_t cut_before_last(const struct compaction *compaction, const struct segment_list *list,
			      size_t *order, size_t cnt)
{
	__cleanup_free size_t *later = calloc(cnt + 1, sizeof(*later));
	size_t first_cnt = 0, later_cnt = 0;

	for (size_t i = 0; i < cnt && later && !is_stopped(compaction); i++) {
		const struct segment_file *file = &list->files[order[i]];

		if (!may_be_cut(compaction, file))
			continue;
		if (was_cut(compaction, file))
			later[later_cnt++] = order[i];
		else
			order[first_cnt++] = order[i];
	}
	for (size_t i = 0; i < later_cnt; i++)
		order[first_cnt + i] = later[i];
	return first_cnt + later_cnt;
}

/* The files in `order`, until the store is small enough. 0 or -errno. */
static int cut_files(struct compaction *compaction, const struct segment_list *list,
		     const size_t *order, size_t cnt, uint64_t total)
{
	const struct store_compaction_stats *stats = compaction->stats;
	uint64_t limit = cut_limit(compaction);
	int err = 0;

	for (size_t i = 0; i < cnt && i < CUT_FILES_MAX && total > limit && !err; i++) {
		uint64_t before = stats->bytes_before, after = stats->bytes_after;

		err = cut_one(compaction, &list->files[order[i]]);
		total -= stats->bytes_before - before;
		total += stats->bytes_after - after;
	}
	return err;
}

/*
 * Before retention has to delete everybody's oldest hours: files that are unusually large are
 * written again without what made them large, if one container's stacks did.
 */
static int cut_heaviest(struct compaction *compaction)
{
	__cleanup_segment_list struct segment_list list = { NULL, 0, 0 };
	__cleanup_free uint64_t *bytes = NULL;
	__cleanup_free size_t *order = NULL;
	uint64_t total;
	size_t cnt;
	int err;

	if (!compaction->how->keep_bytes)
		return 0;
	err = segment_tree_list_all(compaction->tree_fd, &list);
	if (err || !list.cnt)
		return err;
	bytes = calloc(list.cnt, sizeof(*bytes));
	order = calloc(list.cnt, sizeof(*order));
	if (!bytes || !order)
		return -ENOMEM;
	total = compaction->other_bytes + files_bytes(compaction, &list, bytes);
	if (total <= cut_limit(compaction))
		return 0;
	cnt = compact_cut_order(list.files, bytes, list.cnt, order);
	cnt = cut_before_last(compaction, &list, order, cnt);
	return cut_files(compaction, &list, order, cnt, total);
}

static int event_compact(struct compaction *compaction)
{
	int err = compact_all(compaction);

	if (!ends_all(err)) {
		int cut_err = cut_heaviest(compaction);

		err = err ? err : cut_err;
	}
	return err;
}

/* Opens the trees that are there. 0, -ENOENT when none is, or -errno. */
static int trees_open(const char *dir, struct retention_tree trees[static EVENT_CNT])
{
	bool is_there = false;

	for (int i = 0; i < EVENT_CNT; i++) {
		trees[i].tree_fd = segment_tree_open(dir, (enum event)i);
		is_there |= trees[i].tree_fd >= 0;
		if (trees[i].tree_fd < 0 && trees[i].tree_fd != -ENOENT)
			return trees[i].tree_fd;
	}
	return is_there ? 0 : -ENOENT;
}

/* For all events; an error that ends everything ends the other events, too. */
static int events_compact(const struct retention_tree trees[static EVENT_CNT],
			  struct segment_reader *reader, const struct store_compaction *how,
			  struct store_compaction_stats *stats)
{
	int first_err = 0;

	for (int i = 0; i < EVENT_CNT && !ends_all(first_err); i++) {
		struct compaction compaction = {
			.how = how,
			.stats = stats,
			.reader = reader,
			.event = (enum event)i,
			.tree_fd = trees[i].tree_fd,
		};
		struct store_usage usage;
		int err = 0;

		if (trees[i].tree_fd < 0)
			continue;
		for (int j = 0; j < EVENT_CNT && !err; j++) {
			if (j == i || trees[j].tree_fd < 0)
				continue;
			err = retention_usage(&trees[j], 1, &usage);
			compaction.other_bytes += err ? 0 : usage.bytes;
		}
		if (!err)
			err = event_compact(&compaction);
		if (!first_err || ends_all(err))
			first_err = err;
	}
	return first_err;
}

/* The lock is any tree's: they have one parent. */
static int lock_take(const struct retention_tree trees[static EVENT_CNT], int *fd_out)
{
	int i = 0, fd;

	while (trees[i].tree_fd < 0)
		i++;
	fd = openat(trees[i].tree_fd, COMPACT_LOCK_PATH, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
		    SEGMENT_TREE_FILE_MODE);
	if (fd < 0)
		return -errno;
	*fd_out = fd;
	return flock(fd, LOCK_EX | LOCK_NB) ? -errno : 0;
}

int store_compact(const char *dir, const struct store_compaction *how,
		  struct store_compaction_stats *stats)
{
	struct retention_tree trees[EVENT_CNT];
	__cleanup_fd int lock_fd = -1;
	struct segment_reader *reader = NULL;
	char why[PATH_MAX];
	int err;

	*stats = (struct store_compaction_stats){ 0 };
	for (int i = 0; i < EVENT_CNT; i++)
		trees[i] = (struct retention_tree){ .tree_fd = -1 };
	err = trees_open(dir, trees);
	if (!err)
		err = store_dir_check(dir, why, sizeof(why));
	if (!err)
		err = lock_take(trees, &lock_fd);
	else if (err == -EPERM)
		err = -EUCLEAN;
	if (!err) {
		reader = segment_reader__new();
		err = reader ? events_compact(trees, reader, how, stats) : -ENOMEM;
	}
	segment_reader__free(reader);
	for (int i = 0; i < EVENT_CNT; i++)
		if (trees[i].tree_fd >= 0)
			close(trees[i].tree_fd);
	return err;
}
