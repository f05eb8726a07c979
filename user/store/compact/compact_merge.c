// SPDX-License-Identifier: Apache-2.0
/*
 * A first pass over the sources, which decodes nothing, finds out which streams there are and how
 * busy they are; then one pass per unit decodes the streams of that unit only, so that memory is
 * bounded by a unit. The digest of what went in must equal that of what is read back.
 */
#include "user/store/compact/compact_merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/store/compact/compact_cut.h"
#include "user/store/compact/compact_notes.h"
#include "user/store/compact/compact_streams.h"
#include "user/store/compact/merged_writer.h"
#include "user/store/store.h"
#include "user/model/folded_line.h"
#include "user/model/ticks.h"
#include "user/util/lines.h"
#include "user/util/log.h"

/* 12 makes two percent less of it, for half as much CPU time and memory more. */
#define MERGE_LEVEL_DEFAULT 9
#define UNIT_MAX_BYTES	    (48u << 20) /* of distinct text; a stream may go on in the next unit */

struct merge_state {
	const struct compact_merge *merge;
	struct merged_writer *writer;
	struct compact_streams *streams;
	struct compact_notes *notes;
	struct compact_source *source; /* being read */
	uint32_t unit;		       /* being written */
	uint64_t window_cnt;	       /* that the first pass has seen */
	struct compact_digest digest;
	struct strbuf cut; /* text of the window that was cut last */
	int err;	   /* from where the walk cannot be ended */
};

static bool is_stopped(const struct compact_merge *merge)
{
	return merge->how->should_stop && merge->how->should_stop(merge->how->ctx);
}

static void take_note(void *ctx, const char *path, uint64_t offset, uint64_t bytes,
		      const char *what)
{
	struct merge_state *state = ctx;
	int err = compact_notes__add(state->notes, &state->source->file, path, offset, bytes, what);

	/*
	 * Without a path it is damage of the file itself, not damage that the file has a note of.
	 */
	if (!path) {
		state->source->is_damaged = true;
		if (!err && strcmp(what, SEGMENT_UNREADABLE) == 0)
			err = -EIO;
	}
	if (!state->err)
		state->err = err;
}

static int walk_sources(struct merge_state *state, const struct segment_visitor *visitor)
{
	struct compact_sources *sources = state->merge->sources;

	for (size_t i = 0; i < sources->cnt; i++) {
		int err;

		state->source = &sources->items[i];
		err = segment_reader__walk(state->merge->reader, state->source->fd, visitor);
		if (!err)
			err = state->err;
		if (!err && is_stopped(state->merge))
			err = -ECANCELED;
		if (err)
			return err;
	}
	return 0;
}

/* ---- first pass ---- */

static bool meet_window(void *ctx, const struct window *window)
{
	struct merge_state *state = ctx;

	state->window_cnt += window->window_cnt ? window->window_cnt : 1;
	if (!state->err)
		state->err = compact_streams__add(state->streams, window);
	return false;
}

static int meet_all(struct merge_state *state)
{
	const struct segment_visitor visitor = {
		.ctx = state,
		.checks_all = true,
		.want = meet_window,
		.damage = take_note,
	};

	return walk_sources(state, &visitor);
}

/* ---- units ---- */

static bool want_of_unit(void *ctx, const struct window *window)
{
	const struct merge_state *state = ctx;

	return compact_streams__unit(state->streams, window) == state->unit;
}

/*
 * Are the lines of the text numbered as they will be in the merged file: each a stack and a count, in order,
 * each stack once? Those of jbpfd's windows are.
 */
static bool keeps_numbers(const char *text, size_t len, uint64_t line_cnt)
{
	struct lines lines = lines_init(text, len);
	struct line line, before = { .at = NULL };

	for (; lines_next(&lines, &line); line_cnt--) {
		uint64_t count;

		if (!line_cnt || !line.is_whole ||
		    !folded_line_split(line.at, line.len, &line.len, &count) ||
		    memchr(line.at, '\0', line.len))
			return false;
		if (before.at) {
			size_t common = line.len < before.len ? line.len : before.len;
			int order = memcmp(before.at, line.at, common);

			if (order > 0 || (order == 0 && before.len >= line.len))
				return false;
		}
		before = line;
	}
	return line_cnt == 0;
}

static bool has_ticks(const struct window *window, const char *text, size_t len)
{
	struct ticks_reader reader;

	return window->ticks_len && window->ticks_len <= MERGED_TICKS_MAX_BYTES &&
	       ticks_reader_open(&reader, window->ticks, (size_t)window->ticks_len) == 0 &&
	       keeps_numbers(text, len, reader.line_cnt);
}

static int put_window(struct merge_state *state, const struct window *window, const char *text,
		      size_t len)
{
	int err = merged_writer__add(state->writer, window, text, len);

	if (err == -E2BIG) {
		err = merged_writer__end_unit(state->writer);
		if (!err)
			err = merged_writer__add(state->writer, window, text, len);
	}
	if (err)
		return err;
	err = compact_digest_add(&state->digest, window, text, len, state->merge->row_ns);
	if (err)
		return err;
	if (is_stopped(state->merge))
		return -ECANCELED;
	if (merged_writer__unit_bytes(state->writer) > UNIT_MAX_BYTES)
		return merged_writer__end_unit(state->writer);
	return 0;
}

static int add_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct merge_state *state = ctx;
	struct window cut = *window;
	int err;

	if (!has_ticks(window, text, len)) {
		cut.ticks = NULL;
		cut.ticks_len = 0;
	}
	if (!state->merge->cut_key || compact_cut_key(window) != state->merge->cut_key)
		return put_window(state, &cut, text, len);
	err = compact_cut_text(text, len, &state->cut);
	if (err)
		return err;
	cut.lines = NULL;
	cut.lines_len = 0;
	cut.threads = NULL;
	cut.threads_len = 0;
	cut.ticks = NULL;
	cut.ticks_len = 0;
	cut.labels[WINDOW_LABEL_OVER_BUDGET] = STORE_CUT_LABEL;
	return put_window(state, &cut, strbuf_str(&state->cut), state->cut.len);
}

static int write_units(struct merge_state *state)
{
	const struct segment_visitor visitor = {
		.ctx = state,
		.wants_lines = true,
		.wants_cells = true,
		.wants_threads = true,
		.wants_ticks = state->merge->keeps_ticks,
		.merge_ns = state->merge->row_ns,
		.want = want_of_unit,
		.window = add_window,
		.damage = take_note,
	};
	uint32_t unit_cnt = compact_streams__plan(state->streams);

	for (state->unit = 0; state->unit < unit_cnt; state->unit++) {
		int err = walk_sources(state, &visitor);

		if (!err)
			err = merged_writer__end_unit(state->writer);
		if (err)
			return err;
	}
	/* Windows whose text turned out damaged are noted; no other one may be missing. */
	if (state->digest.windows > state->window_cnt ||
	    (state->digest.windows < state->window_cnt && !compact_notes__count(state->notes)))
		return -EBADMSG;
	return 0;
}

/* ---- the whole file ---- */

static int open_writer(struct merge_state *state, int fd)
{
	const struct compact_sources *sources = state->merge->sources;
	int level = state->merge->how->compression_level;
	const struct merged_options options = {
		.row_ns = state->merge->row_ns,
		.compression_level = level ? level : MERGE_LEVEL_DEFAULT,
		.keeps_ticks = state->merge->keeps_ticks,
	};
	uint8_t ids[COMPACT_SOURCES_MAX][FORMAT_ID_BYTES];
	size_t cnt = 0;

	for (size_t i = 0; i < sources->cnt; i++) {
		if (sources->items[i].identity.has_id)
			memcpy(ids[cnt++], sources->items[i].identity.segment_id, FORMAT_ID_BYTES);
	}
	return merged_writer__open(fd, &options, (const uint8_t(*)[FORMAT_ID_BYTES])ids, cnt,
				   &state->writer);
}

static int write_all(struct merge_state *state, int fd)
{
	int err = meet_all(state);

	if (!err)
		err = open_writer(state, fd);
	if (!err)
		err = write_units(state);
	if (!err)
		err = compact_notes__write(state->notes, state->writer);
	if (!err)
		err = merged_writer__finish(state->writer);
	merged_writer__free(state->writer);
	state->writer = NULL;
	return err;
}

/* ---- reading back ---- */

struct read_back {
	const struct compact_merge *merge;
	struct compact_digest digest;
	bool has_damage;
};

static bool want_all(void *ctx, const struct window *window)
{
	(void)ctx;
	(void)window;
	return true;
}

static int sum_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct read_back *back = ctx;

	int err = compact_digest_add(&back->digest, window, text, len, back->merge->row_ns);

	if (err)
		return err;
	return is_stopped(back->merge) ? -ECANCELED : 0;
}

static void see_damage(void *ctx, const char *path, uint64_t offset, uint64_t bytes,
		       const char *what)
{
	struct read_back *back = ctx;

	(void)offset;
	(void)bytes;
	(void)what;
	/* With a path it is one of the notes. */
	if (!path)
		back->has_damage = true;
}

static int read_back(const struct compact_merge *merge, int fd,
		     const struct compact_digest *expected)
{
	struct read_back back = { .merge = merge };
	const struct segment_visitor visitor = {
		.ctx = &back,
		.wants_lines = true,
		.wants_cells = true,
		.wants_threads = true,
		.wants_ticks = true,
		.checks_all = true,
		.want = want_all,
		.window = sum_window,
		.damage = see_damage,
	};
	int err = segment_reader__walk(merge->reader, fd, &visitor);

	if (err)
		return err;
	return back.has_damage || !compact_digest_equal(&back.digest, expected) ? -EBADMSG : 0;
}

int compact_merge(const struct compact_merge *merge, int fd, struct compact_merge_result *out)
{
	struct merge_state state = {
		.merge = merge,
		.streams = compact_streams__new(),
		.notes = compact_notes__new(merge->event),
	};
	int err = state.streams && state.notes ? write_all(&state, fd) : -ENOMEM;

	if (!err)
		err = read_back(merge, fd, &state.digest);
	if (!err)
		*out = (struct compact_merge_result){
			.digest = state.digest,
			.damaged = compact_notes__new_count(state.notes),
		};
	compact_streams__free(state.streams);
	compact_notes__free(state.notes);
	strbuf_release(&state.cut);
	return err;
}
