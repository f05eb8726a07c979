// SPDX-License-Identifier: Apache-2.0
/*
 * The writing side of the store: windows are compressed and encoded as they come, kept in memory
 * until the commit, and go to the hour file they belong to in one write. The hour is that of the
 * window's start, so a clock that steps back opens an earlier file again, or one beside it.
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
#include "user/store/format/format.h"
#include "user/store/retention.h"
#include "user/store/segment/segment_tree.h"
#include "user/store/segment/segment_writer.h"
#include "user/store/store_reserve.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/log.h"
#include "user/util/strbuf.h"

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
#define OVER_BUDGET_BYTES 160 /* of a label that says what was mended */
_Static_assert(STORE_TEXT_MAX_BYTES == FORMAT_TEXT_MAX_BYTES, "what is promised in store.h");

/* One window in the buffer. */
struct pending {
	uint64_t hour_unix_s;
	uint64_t samples;
	size_t record_offset;
	size_t end;
};

struct store_writer {
	struct store_writer_options options;
	int tree_fd;
	int lock_fd;
	ZSTD_CCtx *encoder;
	struct store_reserve reserve;
	uint64_t reserve_tried_ns; /* CLOCK_BOOTTIME of the last try to fill it */
	bool is_reserve_used;	   /* and said */
	bool is_open;		   /* what is needed may go at opening, less of it later */
	bool is_clock_off;
	uint64_t clock_warned_ns;	/* CLOCK_BOOTTIME; 0 = not yet */
	struct segment_writer *segment; /* NULL until the first commit */
	/* A file whose state on disk is not known: the hour goes on behind this index. */
	uint64_t abandoned_hour_unix_s;
	uint32_t abandoned_index;
	struct strbuf buf;
	struct pending *pending;
	size_t pending_cnt;
	size_t pending_cap;
};

/* ---- opening ---- */

static int tree_open(const char *dir, int *fd_out)
{
	char path[PATH_MAX];
	int fd, err = segment_tree_path(dir, path);

	if (!err)
		err = fs_mkdir_all(path, SEGMENT_TREE_DIR_MODE);
	if (err)
		return err;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*fd_out = fd;
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
	writer->lock_fd = openat(writer->tree_fd, STORE_LOCK_PATH,
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
	int err = store_reserve_open(writer->tree_fd, writer->options.reserve_bytes,
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
	writer->tree_fd = -1;
	writer->lock_fd = -1;
	writer->reserve.fd = -1;
	err = dir_refuse(dir);
	if (!err)
		err = tree_open(dir, &writer->tree_fd);
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

void store_writer__free(struct store_writer *writer)
{
	if (!writer)
		return;
	segment_writer__free(writer->segment);
	store_reserve_close(&writer->reserve);
	ZSTD_freeCCtx(writer->encoder);
	if (writer->tree_fd >= 0)
		close(writer->tree_fd);
	if (writer->lock_fd >= 0) {
		/* A child that was forked just now may not have closed its copy yet. */
		(void)flock(writer->lock_fd, LOCK_UN);
		close(writer->lock_fd);
	}
	strbuf_release(&writer->buf);
	free(writer->pending);
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

int store_writer__retain(struct store_writer *writer, uint64_t now_unix_ns)
{
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
	err = retention_apply(writer->tree_fd, &limits, now_unix_ns,
			      writer->segment ? segment_writer__file(writer->segment) : NULL,
			      &outcome);
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
	int err = retention_usage(writer->tree_fd, out);

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

static int add_data_frame(struct store_writer *writer, const char *text, size_t len,
			  struct format_commit *commit)
{
	size_t start = writer->buf.len;
	int err = format_compress(writer->encoder, text, len, &writer->buf, &commit->data_len);

	if (err)
		return err;
	commit->data_crc = crc32c(writer->buf.data + start, commit->data_len);
	commit->text_len = len;
	return 0;
}

/* The record that goes in front of the data frame. */
static int add_lines(struct store_writer *writer, const struct window *window,
		     struct format_commit *commit)
{
	__cleanup_strbuf struct strbuf frame = STRBUF_INIT;
	size_t start = writer->buf.len;
	uint32_t frame_len;
	int err = format_compress(writer->encoder, window->lines, (size_t)window->lines_len, &frame,
				  &frame_len);

	if (!err)
		err = format_encode_lines((uint32_t)window->lines_len, frame.data, frame_len,
					  &writer->buf);
	if (err)
		return err;
	commit->lines_len = (uint32_t)(writer->buf.len - start);
	commit->lines_crc = crc32c(writer->buf.data + start, commit->lines_len);
	return 0;
}

static int pending_reserve(struct store_writer *writer)
{
	size_t cap = writer->pending_cap ? writer->pending_cap * 2 : 16;
	struct pending *pending;

	if (writer->pending_cnt < writer->pending_cap)
		return 0;
	pending = reallocarray(writer->pending, cap, sizeof(*pending));
	if (!pending)
		return -ENOMEM;
	writer->pending = pending;
	writer->pending_cap = cap;
	return 0;
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

/* Lines, data frame and record, to the end of the buffer. */
static int add_unit(struct store_writer *writer, const struct window *window, const char *text,
		    size_t len, size_t *record_offset)
{
	struct format_commit commit = {
		.window = *window,
		.cells = window->cells,
		.cells_len = window->cells_len,
	};
	int err = 0;

	if (window->lines_len)
		err = add_lines(writer, window, &commit);
	if (!err && len)
		err = add_data_frame(writer, text, len, &commit);
	*record_offset = writer->buf.len;
	return err ? err : format_encode_commit(&commit, &writer->buf);
}

int store_writer__add(struct store_writer *writer, const struct window *window, const char *text,
		      size_t len)
{
	char note[OVER_BUDGET_BYTES] = "";
	struct window mended = *window;
	size_t start = writer->buf.len;
	size_t record_offset;
	int err;

	if (len > STORE_TEXT_MAX_BYTES)
		return -E2BIG;
	if (!is_text(text, len))
		return -EINVAL;
	mend(&mended, note);
	err = pending_reserve(writer);
	if (!err)
		err = add_unit(writer, &mended, text, len, &record_offset);
	if (err) {
		strbuf_truncate(&writer->buf, start);
		return err;
	}
	writer->pending[writer->pending_cnt++] = (struct pending){
		.hour_unix_s = segment_hour(window->start_unix_ns),
		.samples = window->pid ? window->counts.samples : 0, /* the host's are theirs */
		.record_offset = record_offset,
		.end = writer->buf.len,
	};
	return 0;
}

/* ---- committing ---- */

static void segment_abandon(struct store_writer *writer)
{
	const struct segment_file *file;

	if (!writer->segment)
		return;
	if (!segment_writer__is_usable(writer->segment)) {
		file = segment_writer__file(writer->segment);
		writer->abandoned_hour_unix_s = file->hour_unix_s;
		writer->abandoned_index = file->index + 1;
	}
	segment_writer__free(writer->segment);
	writer->segment = NULL;
}

/* The file for the hour: the present one, or another. Old hours go when a new one begins. */
static int segment_for_hour(struct store_writer *writer, uint64_t hour_unix_s)
{
	uint32_t min_index = 0;
	int err;

	if (writer->segment && segment_writer__is_usable(writer->segment) &&
	    segment_writer__file(writer->segment)->hour_unix_s == hour_unix_s)
		return 0;
	segment_abandon(writer);
	if (writer->abandoned_hour_unix_s == hour_unix_s)
		min_index = writer->abandoned_index;
	err = segment_writer__open(writer->tree_fd, hour_unix_s, min_index, &writer->segment);
	if (err)
		return err;
	err = store_writer__retain(writer, hour_unix_s * CLOCK_NS_PER_S);
	if (err)
		pr_warn("store: delete old hours: %s, the disk may fill up\n", errstr(err));
	return 0;
}

/* Windows [first, last) of one hour. */
static int write_run(struct store_writer *writer, size_t first, size_t last)
{
	size_t start = first ? writer->pending[first - 1].end : 0;
	uint8_t *bytes = (uint8_t *)writer->buf.data;
	uint64_t sequence;
	int err = segment_for_hour(writer, writer->pending[first].hour_unix_s);

	if (err)
		return err;
	sequence = segment_writer__next_sequence(writer->segment);
	for (size_t i = first; i < last; i++) {
		const struct pending *pending = &writer->pending[i];

		format_seal_commit(bytes + pending->record_offset,
				   pending->end - pending->record_offset,
				   segment_writer__id(writer->segment), sequence++);
	}
	return segment_writer__append(writer->segment, bytes + start,
				      writer->pending[last - 1].end - start, last - first);
}

static bool is_disk_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT;
}

/* false when there is nothing left of it. */
static bool take_from_reserve(struct store_writer *writer, uint64_t bytes)
{
	uint64_t piece = 2 * bytes > RESERVE_PIECE_BYTES ? 2 * bytes : RESERVE_PIECE_BYTES;

	if (!store_reserve_release(&writer->reserve, piece))
		return false;
	if (!writer->is_reserve_used)
		pr_warn("store: the disk is full: windows are written from the reserve, %llu MiB are left of it; free space\n",
			(unsigned long long)writer->reserve.bytes >> 20);
	writer->is_reserve_used = true;
	return true;
}

/* History is never deleted for a full disk: who fills it would take that room, too. */
static int write_run_somehow(struct store_writer *writer, size_t first, size_t last)
{
	uint64_t bytes =
		writer->pending[last - 1].end - (first ? writer->pending[first - 1].end : 0);
	int err = write_run(writer, first, last);

	for (int i = 0; i < RESERVE_TRIES && is_disk_full(err); i++) {
		if (!take_from_reserve(writer, bytes))
			return err;
		err = write_run(writer, first, last);
	}
	return err;
}

int store_writer__commit(struct store_writer *writer, uint64_t *lost_samples)
{
	uint64_t lost = 0;
	int err = 0;

	for (size_t first = 0, last; first < writer->pending_cnt; first = last) {
		uint64_t samples = 0;
		int run_err;

		for (last = first; last < writer->pending_cnt; last++) {
			if (writer->pending[last].hour_unix_s != writer->pending[first].hour_unix_s)
				break;
			samples += writer->pending[last].samples;
		}
		run_err = write_run_somehow(writer, first, last);
		if (!run_err)
			continue;
		lost += samples;
		if (!err)
			err = run_err;
	}
	writer->pending_cnt = 0;
	strbuf_clear(&writer->buf);
	if (!err && clock_boot_ns() - writer->reserve_tried_ns >= RESERVE_FILL_NS)
		fill_reserve(writer);
	if (lost_samples)
		*lost_samples = lost;
	return err;
}
