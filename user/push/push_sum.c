// SPDX-License-Identifier: Apache-2.0
/* See push_sum.h. Streams are found by their hash, which is what tells them apart at the server, too. */
#include "user/push/push_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/cells.h"
#include "user/model/folded_line.h"
#include "user/model/thread_counts.h"
#include "user/remote/clickhouse_schema.h"
#include "user/remote/window_row.h"
#include "user/store/format/rows_table.h"
#include "user/util/cleanup.h"
#include "user/util/lines.h"
#include "user/util/vec.h"

#define MINUTE_S	   60
#define FIRST_CAP	   256
#define STREAM_BYTES	   4096 /* of memory, about, beside its stacks */
#define PROCESS_NAME_BYTES 255	/* of a stack past the limit */

struct minute {
	uint32_t unix_s;
	uint32_t stack_cnt;
	uint32_t stream_cnt;
};

struct push_sum {
	struct push_stream **streams; /* in order of arrival, then sorted */
	size_t cnt, cap;
	struct push_stream **slots; /* by hash; at most half full */
	size_t slot_cap;
	struct minute *minutes;
	size_t minute_cnt, minute_cap;
	size_t max_bytes;
	size_t bytes; /* of what is in the streams, about */
	struct push_sum_stats stats;
};

static void stream_free(struct push_stream *stream)
{
	if (!stream)
		return;
	profile__free(stream->stacks);
	profile__free(stream->lines);
	thread_counts__free(stream->threads);
	cells_sum__free(stream->cells);
	strbuf_release(&stream->lines_text);
	strbuf_release(&stream->cells_code);
	strbuf_release(&stream->threads_code);
	strbuf_release(&stream->over_limit);
	free(stream->labels);
	free(stream);
}

struct push_sum *push_sum__new(size_t max_bytes)
{
	struct push_sum *sum = calloc(1, sizeof(*sum));

	if (sum)
		sum->max_bytes = max_bytes;
	return sum;
}

void push_sum__free(struct push_sum *sum)
{
	if (!sum)
		return;
	for (size_t i = 0; i < sum->cnt; i++)
		stream_free(sum->streams[i]);
	free(sum->streams);
	free(sum->slots);
	free(sum->minutes);
	free(sum);
}

size_t push_sum__count(const struct push_sum *sum)
{
	return sum->cnt;
}

const struct push_stream *push_sum__get(const struct push_sum *sum, size_t index)
{
	return sum->streams[index];
}

bool push_sum__is_full(const struct push_sum *sum)
{
	return sum->bytes + sum->cnt * STREAM_BYTES > sum->max_bytes;
}

const struct push_sum_stats *push_sum__stats(const struct push_sum *sum)
{
	return &sum->stats;
}

/* ---- finding ---- */

static struct push_stream **slot_of(const struct push_sum *sum, uint64_t hash, uint32_t minute)
{
	size_t at = (hash ^ minute / MINUTE_S) & (sum->slot_cap - 1);

	while (sum->slots[at] &&
	       (sum->slots[at]->stream != hash || sum->slots[at]->minute_unix_s != minute))
		at = (at + 1) & (sum->slot_cap - 1);
	return &sum->slots[at];
}

static int grow_slots(struct push_sum *sum)
{
	size_t cap = sum->slot_cap ? 2 * sum->slot_cap : FIRST_CAP;
	struct push_stream **slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(sum->slots);
	sum->slots = slots;
	sum->slot_cap = cap;
	for (size_t i = 0; i < sum->cnt; i++)
		*slot_of(sum, sum->streams[i]->stream, sum->streams[i]->minute_unix_s) =
			sum->streams[i];
	return 0;
}

/* Few minutes are summed at once. */
static struct minute *find_minute(struct push_sum *sum, uint32_t unix_s)
{
	for (size_t i = 0; i < sum->minute_cnt; i++) {
		if (sum->minutes[i].unix_s == unix_s)
			return &sum->minutes[i];
	}
	if (vec_room(sum->minutes, sum->minute_cnt, sum->minute_cap, 16))
		return NULL;
	sum->minutes[sum->minute_cnt] = (struct minute){ .unix_s = unix_s };
	return &sum->minutes[sum->minute_cnt++];
}

/* The labels of the store are borrowed: copies of all of them, in one piece. */
static int copy_labels(struct push_stream *stream)
{
	struct window *window = &stream->window;
	size_t bytes = 1;
	char *to;

	for (int i = 0; i < WINDOW_LABEL_CNT; i++)
		bytes += strlen(window_label(window, (enum window_label)i)) + 1;
	to = stream->labels = malloc(bytes);
	for (int i = 0; to && i < WINDOW_LABEL_CNT; i++) {
		size_t len;

		if (!window->labels[i])
			continue;
		len = strlen(window->labels[i]) + 1;
		memcpy(to, window->labels[i], len);
		window->labels[i] = to;
		to += len;
	}
	return stream->labels ? 0 : -ENOMEM;
}

static struct push_stream *new_stream(const struct window *window, uint64_t hash, uint32_t minute)
{
	struct push_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->stream = hash;
	stream->minute_unix_s = minute;
	stream->window = *window;
	stream->window.lines = NULL;
	stream->window.cells = stream->window.threads = NULL;
	stream->window.lines_len = stream->window.threads_len = 0;
	stream->window.cells_len = 0;
	stream->stacks = profile__new();
	stream->lines = profile__new();
	stream->threads = thread_counts__new(0);
	stream->cells = cells_sum__new();
	if (!copy_labels(stream) && stream->stacks && stream->lines && stream->threads &&
	    stream->cells)
		return stream;
	stream_free(stream);
	return NULL;
}

/* *out becomes NULL when the minute has too many. 0 or -ENOMEM. */
static int find_stream(struct push_sum *sum, const struct window *window, struct minute *minute,
		       struct push_stream **out)
{
	struct push_stream **slot;
	uint64_t hash;
	int err = window_row_stream(window, &hash);

	*out = NULL;
	if (!err && 2 * (sum->cnt + 1) > sum->slot_cap)
		err = grow_slots(sum);
	if (!err)
		err = vec_room(sum->streams, sum->cnt, sum->cap, FIRST_CAP);
	if (err)
		return err;
	slot = slot_of(sum, hash, minute->unix_s);
	if (*slot) {
		rows_merge_window(&(*slot)->window, window);
		*out = *slot;
		return 0;
	}
	if (minute->stream_cnt >= PUSH_STREAMS_PER_MINUTE)
		return 0;
	*slot = new_stream(window, hash, minute->unix_s);
	if (!*slot)
		return -ENOMEM;
	minute->stream_cnt++;
	sum->streams[sum->cnt++] = *out = *slot;
	return 0;
}

/* ---- adding ---- */

static bool has_room(const struct push_sum *sum)
{
	return sum->bytes <= sum->max_bytes;
}

static size_t bytes_of(const struct push_stream *stream)
{
	return profile__bytes(stream->stacks) + profile__bytes(stream->lines) +
	       thread_counts__bytes(stream->threads);
}

/* One stack of a stream for all that is past the limit, by the process of the first of it. */
static int name_over_limit(struct push_stream *stream, const struct line *line, size_t stack_len)
{
	const char *separator = memchr(line->at, ';', stack_len);
	size_t len = separator ? (size_t)(separator - line->at) : stack_len;

	if (stream->over_limit.len)
		return 0;
	strbuf_append(&stream->over_limit, line->at,
		      len < PROCESS_NAME_BYTES ? len : PROCESS_NAME_BYTES);
	strbuf_puts(&stream->over_limit, ";" PUSH_OVER_LIMIT_FRAME);
	return strbuf_error(&stream->over_limit);
}

static int add_stack(struct push_sum *sum, struct push_stream *stream, struct minute *minute,
		     const struct line *line, size_t stack_len, uint64_t count, uint32_t *number)
{
	size_t before = profile__stack_count(stream->stacks);
	int err;

	if (minute->stack_cnt < PUSH_STACKS_PER_MINUTE && has_room(sum)) {
		err = profile__add_numbered(stream->stacks, line->at, stack_len, count, number);
		minute->stack_cnt += profile__stack_count(stream->stacks) > before;
		return err;
	}
	err = profile__add_known(stream->stacks, line->at, stack_len, count, number);
	if (err != -ENOENT)
		return err;
	err = name_over_limit(stream, line, stack_len);
	if (err)
		return err;
	sum->stats.over_limit_samples += count;
	return profile__add_numbered(stream->stacks, stream->over_limit.data,
				     stream->over_limit.len, count, number);
}

/* Whose samples of the line they are. Past the limit that is not known. */
static int add_threads(const struct push_sum *sum, struct push_stream *stream,
		       struct thread_reader *reader, uint32_t number, uint64_t count)
{
	struct thread_part part;
	int err = 0;

	if (!has_room(sum))
		return thread_counts__add(stream->threads, number, NULL, 0, count);
	thread_reader_line(reader, count);
	while (!err && thread_reader_next(reader, &part))
		err = thread_counts__add(stream->threads, number, part.name, part.len, part.count);
	return err;
}

/* A stack of the text. */
static int add_line(struct push_sum *sum, struct push_stream *stream, struct minute *minute,
		    const struct line *line, struct thread_reader *reader)
{
	size_t stack_len, before = bytes_of(stream);
	uint64_t count;
	uint32_t number;
	int err;

	if (!folded_line_split(line->at, line->len, &stack_len, &count) || !count) {
		sum->stats.bad_lines++;
		return 0;
	}
	err = add_stack(sum, stream, minute, line, stack_len, count, &number);
	if (!err)
		err = add_threads(sum, stream, reader, number, count);
	sum->bytes += bytes_of(stream) - before;
	return err;
}

static int add_text(struct push_sum *sum, struct push_stream *stream, struct minute *minute,
		    const struct window *window, const char *text, size_t len)
{
	__cleanup_thread_reader struct thread_reader reader = { 0 };
	struct lines lines = lines_init(text, len);
	struct line line;
	int err = thread_reader_open(&reader, window->threads, window->threads_len);

	if (err == -EINVAL) {
		sum->stats.bad_lines++;
		err = thread_reader_open(&reader, NULL, 0);
	}
	while (!err && lines_next(&lines, &line))
		err = add_line(sum, stream, minute, &line, &reader);
	return err;
}

/* What is beside the stacks. Codes that cannot be read are left out and counted. */
static int add_rest(struct push_sum *sum, struct push_stream *stream, const struct window *window)
{
	size_t bad_lines = 0, before = bytes_of(stream);
	int err = 0;

	if (window->lines && !has_room(sum))
		sum->stats.over_limit_lines++;
	else if (window->lines)
		err = profile__add_folded(stream->lines, window->lines, window->lines_len,
					  &bad_lines);
	sum->bytes += bytes_of(stream) - before;
	sum->stats.bad_lines += bad_lines;
	if (err || !window->cells)
		return err;
	err = cells_sum__add(stream->cells, window->start_unix_ns, window->cells,
			     window->cells_len);
	if (err != -EINVAL)
		return err;
	sum->stats.bad_lines++;
	return 0;
}

int push_sum__add(struct push_sum *sum, const struct window *window, const char *text, size_t len)
{
	uint32_t unix_s = (uint32_t)(window->start_unix_ns / CLICKHOUSE_MINUTE_NS * MINUTE_S);
	struct minute *minute = find_minute(sum, unix_s);
	struct push_stream *stream;
	int err;

	if (!minute)
		return -ENOMEM;
	err = find_stream(sum, window, minute, &stream);
	if (err)
		return err;
	if (!stream) {
		sum->stats.dropped_windows++;
		sum->stats.dropped_samples += window->counts.samples;
		return 0;
	}
	err = add_text(sum, stream, minute, window, text, len);
	return err ? err : add_rest(sum, stream, window);
}

/* ---- the end ---- */

static int compare_streams(const void *left, const void *right)
{
	const struct push_stream *a = *(struct push_stream *const *)left;
	const struct push_stream *b = *(struct push_stream *const *)right;

	if (a->minute_unix_s != b->minute_unix_s)
		return (a->minute_unix_s > b->minute_unix_s) -
		       (a->minute_unix_s < b->minute_unix_s);
	return (a->stream > b->stream) - (a->stream < b->stream);
}

/* The code of threads counts lines by the order of their bytes. */
static int finish_threads(struct push_stream *stream)
{
	size_t cnt = profile__stack_count(stream->stacks);
	__cleanup_free uint32_t *place = calloc(cnt + 1, sizeof(*place));

	if (!place)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		place[profile__stack_number(stream->stacks, i)] = (uint32_t)i;
	return cnt ? thread_counts__encode(stream->threads, place, &stream->threads_code) : 0;
}

static int finish_stream(struct push_stream *stream)
{
	struct window *window = &stream->window;
	int err;

	profile__sort(stream->stacks);
	err = finish_threads(stream);
	if (!err && profile__stack_count(stream->lines))
		err = profile__to_folded(stream->lines, &stream->lines_text);
	if (!err)
		err = cells_sum__take(stream->cells, window->start_unix_ns, &stream->cells_code);
	/* No window of the store is so long; a row without cells says so. */
	if (err == -EINVAL)
		err = 0;
	if (err)
		return err;
	if (stream->lines_text.len)
		window->lines = stream->lines_text.data;
	window->lines_len = stream->lines_text.len;
	if (stream->threads_code.len)
		window->threads = (const uint8_t *)stream->threads_code.data;
	window->threads_len = stream->threads_code.len;
	if (stream->cells_code.len)
		window->cells = (const uint8_t *)stream->cells_code.data;
	window->cells_len = (uint32_t)stream->cells_code.len;
	return 0;
}

int push_sum__finish(struct push_sum *sum)
{
	if (sum->cnt)
		qsort(sum->streams, sum->cnt, sizeof(struct push_stream *), compare_streams);
	for (size_t i = 0; i < sum->cnt; i++) {
		int err = finish_stream(sum->streams[i]);

		if (err)
			return err;
	}
	return 0;
}
