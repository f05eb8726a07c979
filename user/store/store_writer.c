// SPDX-License-Identifier: Apache-2.0
/*
 * The writing side of the store: windows are compressed and encoded as they come, kept in memory
 * until the commit, and go to the hour file they belong to in one write. The hour is that of the
 * window's start, so a clock that steps back opens an earlier file again, or one beside it. Each
 * event has files of its own, and what waits for them; the tree of EVENT_CPU is there in any case,
 * for the lock.
 */
#include "user/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "user/store/format/crc32c.h"
#include "user/model/thread_counts.h"
#include "user/model/ticks.h"
#include "user/store/format/format.h"
#include "user/store/retention.h"
#include "user/store/segment/segment_tree.h"
#include "user/store/segment/segment_writer.h"
#include "user/store/store_reserve.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/lines.h"
#include "user/util/log.h"
#include "user/util/strbuf.h"
#include "user/util/vec.h"

#define STORE_LEVEL_DEFAULT 6
#define STORE_LOCK_PATH	    "../.lock" /* v1/.lock, from the tree v1/cpu */

#define RESERVE_BYTES	    (64ull << 20)
#define RESERVE_SHARE	    16	       /* of keep_bytes at most */
#define RESERVE_PIECE_BYTES (1u << 20) /* given back at least, for a window that does not fit */
/* Somebody else may be faster than the window's second and third try. */
#define RESERVE_TRIES	3
#define RESERVE_FILL_NS (300 * CLOCK_NS_PER_S)

#define MIB (1024.0 * 1024.0)

#define RETAIN_MAX_HOURS  24 /* of history, for keep_bytes, in one go */
#define RETAIN_WARN_NS	  (3600 * CLOCK_NS_PER_S)
#define PENDING_FIRST	  16
#define OVER_BUDGET_BYTES 160 /* of a label that says what was mended */
_Static_assert(STORE_TEXT_MAX_BYTES == FORMAT_TEXT_MAX_BYTES, "what is promised in store.h");

/* One window in the buffer. */
struct pending {
	uint64_t hour_unix_s;
	uint64_t samples;
	size_t record_offset;
	size_t end;
};

/* What goes to the files of one event. */
struct tree {
	int fd;				/* -1 = none yet, and nothing was added */
	struct segment_writer *segment; /* NULL until the first commit */
	/* A file whose state on disk is not known: the hour goes on behind this index. */
	uint64_t abandoned_hour_unix_s;
	uint32_t abandoned_index;
	struct strbuf buf;
	struct pending *pending;
	size_t pending_cnt;
	size_t pending_cap;
};

struct store_writer {
	struct store_writer_options options;
	int store_fd; /* the directory of all trees, v1 */
	struct tree trees[EVENT_CNT];
	int lock_fd;
	ZSTD_CCtx *encoder;
	struct store_reserve reserve;
	uint64_t reserve_tried_ns; /* CLOCK_BOOTTIME of the last try to fill it */
	bool is_reserve_used;	   /* and said */
	bool is_open;		   /* what is needed may go at opening, less of it later */
	bool is_clock_off;
	uint64_t clock_warned_ns; /* CLOCK_BOOTTIME; 0 = not yet */
};

/* ---- opening ---- */

/* The tree of EVENT_CPU is made, others are opened if they are there. */
static int trees_open(struct store_writer *writer, const char *dir)
{
	char path[PATH_MAX];
	int err = segment_tree_path(dir, EVENT_CPU, path);

	if (!err)
		err = fs_mkdir_all(path, SEGMENT_TREE_DIR_MODE);
	if (err)
		return err;
	for (int i = 0; i < EVENT_CNT; i++) {
		int fd = segment_tree_open(dir, (enum event)i);

		if (fd < 0 && (fd != -ENOENT || i == EVENT_CPU))
			return fd;
		writer->trees[i].fd = fd < 0 ? -1 : fd;
	}
	writer->store_fd =
		openat(writer->trees[EVENT_CPU].fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return writer->store_fd < 0 ? -errno : 0;
}

/* The tree of an event that has none yet. Its parent was found safe when the store was opened. */
static int tree_make(struct store_writer *writer, enum event event)
{
	struct tree *tree = &writer->trees[event];
	int fd;

	if (tree->fd >= 0)
		return 0;
	if (mkdirat(writer->store_fd, event_name(event), SEGMENT_TREE_DIR_MODE) && errno != EEXIST)
		return -errno;
	fd = openat(writer->store_fd, event_name(event),
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fsync(writer->store_fd)) {
		int err = -errno;

		close(fd);
		return err;
	}
	tree->fd = fd;
	return 0;
}

/* Nothing is written where others may put links, or what they have put there. */
static int dir_refuse(const char *dir)
{
	char why[PATH_MAX];
	int err = store_dir_check(dir, why, sizeof(why));

	return err == -EPERM ? -EUCLEAN : err;
}

static int lock_take(struct store_writer *writer)
{
	writer->lock_fd = openat(writer->trees[EVENT_CPU].fd, STORE_LOCK_PATH,
				 O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, SEGMENT_TREE_FILE_MODE);
	if (writer->lock_fd < 0)
		return -errno;
	return flock(writer->lock_fd, LOCK_EX | LOCK_NB) ? -errno : 0;
}

static int encoder_make(struct store_writer *writer)
{
	int level = writer->options.compression_level;

	return format_encoder_open(level ? level : STORE_LEVEL_DEFAULT, 0, &writer->encoder);
}

/* What the options say of the reserve and of what is kept; without it there is a writer all the same. */
static void limits_begin(struct store_writer *writer)
{
	int err = store_reserve_open(writer->trees[EVENT_CPU].fd, writer->options.reserve_bytes,
				     &writer->reserve);

	if (err)
		pr_warn("store: there is no reserve for a full disk: %s\n", errstr(err));
	writer->is_open = false;
	err = store_writer__retain(writer, clock_unix_ns());
	if (err)
		pr_warn("store: delete old hours: %s, the disk may fill up\n", errstr(err));
	writer->is_open = true;
}

int store_writer__open(const char *dir, const struct store_writer_options *options,
		       struct store_writer **out)
{
	struct store_writer *writer = calloc(1, sizeof(*writer));
	int err;

	if (!writer)
		return -ENOMEM;
	writer->options = *options;
	for (int i = 0; i < EVENT_CNT; i++)
		writer->trees[i].fd = -1;
	writer->store_fd = -1;
	writer->lock_fd = -1;
	writer->reserve.fd = -1;
	err = dir_refuse(dir);
	if (!err)
		err = trees_open(writer, dir);
	/* Those that were made just now, too: a link in the place of one is another directory. */
	if (!err)
		err = dir_refuse(dir);
	if (!err)
		err = lock_take(writer);
	if (!err)
		err = encoder_make(writer);
	if (err) {
		store_writer__free(writer);
		return err;
	}
	limits_begin(writer);
	*out = writer;
	return 0;
}

void store_writer__change(struct store_writer *writer, const struct store_writer_options *options)
{
	writer->options = *options;
	store_reserve_close(&writer->reserve);
	limits_begin(writer);
}

static void tree_release(struct tree *tree)
{
	segment_writer__free(tree->segment);
	if (tree->fd >= 0)
		close(tree->fd);
	strbuf_release(&tree->buf);
	free(tree->pending);
}

void store_writer__free(struct store_writer *writer)
{
	if (!writer)
		return;
	for (int i = 0; i < EVENT_CNT; i++)
		tree_release(&writer->trees[i]);
	store_reserve_close(&writer->reserve);
	ZSTD_freeCCtx(writer->encoder);
	if (writer->store_fd >= 0)
		close(writer->store_fd);
	if (writer->lock_fd >= 0) {
		/* A child that was forked just now may not have closed its copy yet. */
		(void)flock(writer->lock_fd, LOCK_UN);
		close(writer->lock_fd);
	}
	free(writer);
}

/* Once, and once an hour while it lasts. */
static void warn_of_clock(struct store_writer *writer, uint64_t now_unix_ns,
			  const struct retention_outcome *outcome)
{
	uint64_t now_boot_ns = clock_boot_ns(), now_s = now_unix_ns / CLOCK_NS_PER_S;
	uint64_t newest_s = outcome->newest_unix_s;

	writer->is_clock_off = outcome->is_clock_off;
	if (!outcome->is_clock_off ||
	    (writer->clock_warned_ns && now_boot_ns - writer->clock_warned_ns < RETAIN_WARN_NS))
		return;
	writer->clock_warned_ns = now_boot_ns;
	pr_warn("store: the clock is %.1f days %s the newest stored hour: nothing is deleted by age until it is within a day of it, or a day was stored at this time; check the clock\n",
		(double)(now_s > newest_s ? now_s - newest_s : newest_s - now_s) / SEGMENT_DAY_S,
		now_s > newest_s ? "ahead of" : "behind");
}

static void fill_reserve(struct store_writer *writer)
{
	writer->reserve_tried_ns = clock_boot_ns();
	if (!store_reserve_fill(&writer->reserve) || !writer->is_reserve_used)
		return;
	writer->is_reserve_used = false;
	pr_info("store: the disk has room again: %llu MiB are put by\n",
		(unsigned long long)writer->reserve.bytes >> 20);
}

static void retention_trees(const struct store_writer *writer,
			    struct retention_tree out[static EVENT_CNT])
{
	for (int i = 0; i < EVENT_CNT; i++) {
		const struct tree *tree = &writer->trees[i];

		out[i] = (struct retention_tree){
			.tree_fd = tree->fd,
			.current = tree->segment ? segment_writer__file(tree->segment) : NULL,
		};
	}
}

int store_writer__retain(struct store_writer *writer, uint64_t now_unix_ns)
{
	struct retention_tree trees[EVENT_CNT];
	const struct retention_limits limits = {
		.keep_age_ns = writer->options.keep_age_ns,
		.keep_bytes = writer->options.keep_bytes,
		.max_hours = writer->is_open ? RETAIN_MAX_HOURS : 0,
	};
	struct retention_outcome outcome;
	int err;

	fill_reserve(writer);
	if (!limits.keep_age_ns && !limits.keep_bytes)
		return 0;
	retention_trees(writer, trees);
	err = retention_apply(trees, EVENT_CNT, &limits, now_unix_ns, &outcome);
	warn_of_clock(writer, now_unix_ns, &outcome);
	return err;
}

uint64_t store_reserve_bytes(uint64_t keep_bytes)
{
	uint64_t share = keep_bytes / RESERVE_SHARE;

	return keep_bytes && share < RESERVE_BYTES ? share : RESERVE_BYTES;
}

int store_writer__usage(const struct store_writer *writer, struct store_usage *out)
{
	struct retention_tree trees[EVENT_CNT];
	int err;

	retention_trees(writer, trees);
	err = retention_usage(trees, EVENT_CNT, out);
	if (err)
		return err;
	out->reserve_bytes = writer->reserve.bytes;
	out->reserve_target_bytes = writer->options.reserve_bytes;
	out->is_clock_off = writer->is_clock_off;
	return 0;
}

void store_writer__problem(const struct store_writer *writer, char *out, size_t out_len)
{
	uint64_t target_bytes = writer->options.reserve_bytes, bytes = writer->reserve.bytes;
	int len = 0;

	*out = '\0';
	if (writer->is_clock_off)
		len = snprintf(
			out, out_len,
			"the clock is more than a day off what is stored: nothing is deleted by age; check the clock");
	if (bytes < target_bytes && (size_t)len < out_len)
		(void)snprintf(
			out + len, out_len - (size_t)len,
			"%s%.1f of the %.1f MiB for a full disk are put by: they were used, or there was no room; free space",
			len ? "; " : "", (double)bytes / MIB, (double)target_bytes / MIB);
}

/* ---- adding ---- */

static int add_data_frame(struct store_writer *writer, struct strbuf *buf, const char *text,
			  size_t len, struct format_commit *commit)
{
	size_t start = buf->len;
	int err = format_compress(writer->encoder, text, len, buf, &commit->data_len);

	if (err)
		return err;
	commit->data_crc = crc32c(buf->data + start, commit->data_len);
	commit->text_len = len;
	return 0;
}

typedef int (*encode_fn)(uint32_t len, const void *frame, size_t frame_len, struct strbuf *out);

/* A record that goes in front of the data frame: packed bytes, and what `encode` writes around them. */
static int add_record(struct store_writer *writer, struct strbuf *buf, const void *bytes,
		      size_t len, encode_fn encode, uint32_t *record_len, uint32_t *record_crc)
{
	__cleanup_strbuf struct strbuf frame = STRBUF_INIT;
	size_t start = buf->len;
	uint32_t frame_len;
	int err = format_compress(writer->encoder, bytes, len, &frame, &frame_len);

	if (!err)
		err = encode((uint32_t)len, frame.data, frame_len, buf);
	if (err)
		return err;
	*record_len = (uint32_t)(buf->len - start);
	*record_crc = crc32c(buf->data + start, *record_len);
	return 0;
}

/* Readers would take it for damage. 0 or -ENOMEM; *out: it may be written. */
static int check_threads(const struct window *window, bool *out)
{
	struct thread_reader reader = { .names = NULL };
	int err = -EINVAL;

	if (window->threads_len <= FORMAT_LINES_MAX_BYTES)
		err = thread_reader_open(&reader, window->threads, (size_t)window->threads_len);
	thread_reader_release(&reader);
	*out = !err && window->threads_len;
	return err == -ENOMEM ? err : 0;
}

/* May it be written: is it of this text? Readers would take it for damage. */
static bool check_ticks(const struct store_writer *writer, const struct window *window,
			const char *text, size_t len)
{
	struct lines lines = lines_init(text, len);
	struct ticks_reader reader;
	struct line line;

	if (!window->ticks_len || !writer->options.keeps_ticks ||
	    window->ticks_len > FORMAT_LINES_MAX_BYTES ||
	    ticks_reader_open(&reader, window->ticks, (size_t)window->ticks_len))
		return false;
	while (reader.line_cnt && lines_next(&lines, &line))
		reader.line_cnt--;
	return !reader.line_cnt && !lines_next(&lines, &line);
}

/* One line too many or too few would change counts of others: the texts are concatenated. */
static bool is_text(const char *text, size_t len)
{
	return len == 0 || (text[len - 1] == '\n' && !memchr(text, '\0', len));
}

/* What a reader could not find, or not take, is mended in a copy; `note` gets what was done. */
static void mend(struct window *window, char note[static OVER_BUDGET_BYTES])
{
	size_t len = 0;

	if (window->duration_ns > STORE_WINDOW_MAX_NS) {
		len = (size_t)snprintf(note, OVER_BUDGET_BYTES,
				       "the window lasted %.1f hours and counts as one",
				       (double)window->duration_ns / (double)STORE_WINDOW_MAX_NS);
		window->duration_ns = STORE_WINDOW_MAX_NS;
	}
	if (window->lines_len && (window->lines_len > FORMAT_LINES_MAX_BYTES ||
				  !is_text(window->lines, (size_t)window->lines_len))) {
		(void)snprintf(note + len, OVER_BUDGET_BYTES - len,
			       "%ssource lines are left out (%llu bytes)", len ? "; " : "",
			       (unsigned long long)window->lines_len);
		window->lines = NULL;
		window->lines_len = 0;
	}
	if (*note && !window->labels[WINDOW_LABEL_OVER_BUDGET])
		window->labels[WINDOW_LABEL_OVER_BUDGET] = note;
}

/* Ticks, threads, lines, data frame and record, to the end of the buffer. */
static int add_unit(struct store_writer *writer, struct strbuf *buf, const struct window *window,
		    const char *text, size_t len, size_t *record_offset)
{
	struct format_commit commit = {
		.window = *window,
		.cells = window->cells,
		.cells_len = window->cells_len,
	};
	bool has_threads;
	int err = check_threads(window, &has_threads);

	if (!err && check_ticks(writer, window, text, len))
		err = add_record(writer, buf, window->ticks, (size_t)window->ticks_len,
				 format_encode_ticks, &commit.ticks_len, &commit.ticks_crc);
	if (!err && has_threads)
		err = add_record(writer, buf, window->threads, (size_t)window->threads_len,
				 format_encode_threads, &commit.threads_len, &commit.threads_crc);
	if (!err && window->lines_len)
		err = add_record(writer, buf, window->lines, (size_t)window->lines_len,
				 format_encode_lines, &commit.lines_len, &commit.lines_crc);
	if (!err && len)
		err = add_data_frame(writer, buf, text, len, &commit);
	*record_offset = buf->len;
	return err ? err : format_encode_commit(&commit, buf);
}

int store_writer__add(struct store_writer *writer, const struct window *window, const char *text,
		      size_t len)
{
	char note[OVER_BUDGET_BYTES] = "";
	struct window mended = *window;
	struct strbuf_mark start;
	struct tree *tree;
	size_t record_offset;
	int err;

	if (len > STORE_TEXT_MAX_BYTES)
		return -E2BIG;
	if (!is_text(text, len) || window->event >= EVENT_CNT)
		return -EINVAL;
	tree = &writer->trees[window->event];
	start = strbuf_mark(&tree->buf);
	mend(&mended, note);
	err = vec_room(tree->pending, tree->pending_cnt, tree->pending_cap, PENDING_FIRST);
	if (!err)
		err = add_unit(writer, &tree->buf, &mended, text, len, &record_offset);
	if (err) {
		strbuf_rollback(&tree->buf, start);
		return err;
	}
	tree->pending[tree->pending_cnt++] = (struct pending){
		.hour_unix_s = segment_hour(window->start_unix_ns),
		.samples = window->pid ? window->counts.samples : 0, /* the host's are theirs */
		.record_offset = record_offset,
		.end = tree->buf.len,
	};
	return 0;
}

/* ---- committing ---- */

static void segment_abandon(struct tree *tree)
{
	const struct segment_file *file;

	if (!tree->segment)
		return;
	if (!segment_writer__is_usable(tree->segment)) {
		file = segment_writer__file(tree->segment);
		tree->abandoned_hour_unix_s = file->hour_unix_s;
		tree->abandoned_index = file->index + 1;
	}
	segment_writer__free(tree->segment);
	tree->segment = NULL;
}

/* The file for the hour: the present one, or another. Old hours go when a new one begins. */
static int segment_for_hour(struct store_writer *writer, struct tree *tree, uint64_t hour_unix_s)
{
	uint32_t min_index = 0;
	int err;

	if (tree->segment && segment_writer__is_usable(tree->segment) &&
	    segment_writer__file(tree->segment)->hour_unix_s == hour_unix_s)
		return 0;
	segment_abandon(tree);
	if (tree->abandoned_hour_unix_s == hour_unix_s)
		min_index = tree->abandoned_index;
	err = tree_make(writer, (enum event)(tree - writer->trees));
	if (!err)
		err = segment_writer__open(tree->fd, hour_unix_s, min_index, &tree->segment);
	if (err)
		return err;
	err = store_writer__retain(writer, hour_unix_s * CLOCK_NS_PER_S);
	if (err)
		pr_warn("store: delete old hours: %s, the disk may fill up\n", errstr(err));
	return 0;
}

/* Windows [first, last) of one hour. */
static int write_run(struct store_writer *writer, struct tree *tree, size_t first, size_t last)
{
	size_t start = first ? tree->pending[first - 1].end : 0;
	uint8_t *bytes = (uint8_t *)tree->buf.data;
	uint64_t sequence;
	int err = segment_for_hour(writer, tree, tree->pending[first].hour_unix_s);

	if (err)
		return err;
	sequence = segment_writer__next_sequence(tree->segment);
	for (size_t i = first; i < last; i++) {
		const struct pending *pending = &tree->pending[i];

		format_seal_commit(bytes + pending->record_offset,
				   pending->end - pending->record_offset,
				   segment_writer__id(tree->segment), sequence++);
	}
	return segment_writer__append(tree->segment, bytes + start,
				      tree->pending[last - 1].end - start, last - first);
}

static bool is_disk_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT;
}

/* false when there is nothing left of it. */
static bool take_from_reserve(struct store_writer *writer, uint64_t bytes)
{
	uint64_t piece = 2 * bytes > RESERVE_PIECE_BYTES ? 2 * bytes : RESERVE_PIECE_BYTES;

	if (store_reserve_lacks_inodes(&writer->reserve, bytes)) {
		pr_warn_limited(
			"store: the file system has room, but no inode for another file (df -i): windows are lost until files are deleted\n");
		return false;
	}
	if (!store_reserve_release(&writer->reserve, piece))
		return false;
	if (!writer->is_reserve_used)
		pr_warn("store: the disk is full: windows are written from the reserve, %llu MiB are left of it; free space\n",
			(unsigned long long)writer->reserve.bytes >> 20);
	writer->is_reserve_used = true;
	return true;
}

/* History is never deleted for a full disk: who fills it would take that room, too. */
static int write_run_somehow(struct store_writer *writer, struct tree *tree, size_t first,
			     size_t last)
{
	uint64_t bytes = tree->pending[last - 1].end - (first ? tree->pending[first - 1].end : 0);
	int err = write_run(writer, tree, first, last);

	for (int i = 0; i < RESERVE_TRIES && is_disk_full(err); i++) {
		if (!take_from_reserve(writer, bytes))
			return err;
		err = write_run(writer, tree, first, last);
	}
	return err;
}

/* Adds to *lost. 0 or the first -errno. */
static int tree_commit(struct store_writer *writer, struct tree *tree, uint64_t *lost)
{
	int err = 0;

	for (size_t first = 0, last; first < tree->pending_cnt; first = last) {
		uint64_t samples = 0;
		int run_err;

		for (last = first; last < tree->pending_cnt; last++) {
			if (tree->pending[last].hour_unix_s != tree->pending[first].hour_unix_s)
				break;
			samples += tree->pending[last].samples;
		}
		run_err = write_run_somehow(writer, tree, first, last);
		if (!run_err)
			continue;
		*lost += samples;
		if (!err)
			err = run_err;
	}
	tree->pending_cnt = 0;
	strbuf_clear(&tree->buf);
	return err;
}

int store_writer__commit(struct store_writer *writer, uint64_t *lost_samples)
{
	uint64_t lost = 0;
	int err = 0;

	for (int i = 0; i < EVENT_CNT; i++) {
		int tree_err = tree_commit(writer, &writer->trees[i], &lost);

		err = err ? err : tree_err;
	}
	if (!err && clock_boot_ns() - writer->reserve_tried_ns >= RESERVE_FILL_NS)
		fill_reserve(writer);
	if (lost_samples)
		*lost_samples = lost;
	return err;
}
