// SPDX-License-Identifier: Apache-2.0
/* Whose stacks are cut in which file; see compact_cut.h. */
#include "user/store/compact/compact_cut.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "user/model/folded_line.h"
#include "user/store/segment/segment_reader.h"
#include "user/store/store.h"
#include "user/util/cleanup.h"
#include "user/util/lines.h"

#define WEIGHTS_MAX 4096 /* containers of a file; what comes later is no large part of it */
#define STANDS_OUT  4	 /* times as many bytes an hour as the file in the middle */

static const char *key_text(const struct window *window)
{
	const char *id = window_label(window, WINDOW_LABEL_CONTAINER_ID);

	return *id ? id : window_label(window, WINDOW_LABEL_CGROUP);
}

uint64_t compact_cut_key(const struct window *window)
{
	const char *text = key_text(window);

	return *text ? XXH3_64bits(text, strlen(text)) : 0;
}

/* ---- who has the most ---- */

struct weight {
	uint64_t key;
	uint64_t bytes;
};

struct weights {
	struct weight items[WEIGHTS_MAX];
	size_t cnt;
	uint64_t total;
	struct weight heaviest;
	struct strbuf *name; /* of that */
	bool (*should_stop)(void *ctx);
	void *stop_ctx;
};

static struct weight *weight_of(struct weights *weights, uint64_t key)
{
	for (size_t i = 0; i < weights->cnt; i++) {
		if (weights->items[i].key == key)
			return &weights->items[i];
	}
	if (weights->cnt == WEIGHTS_MAX)
		return NULL;
	weights->items[weights->cnt] = (struct weight){ .key = key };
	return &weights->items[weights->cnt++];
}

static bool note_cut(void *ctx, const struct window *window)
{
	bool *was_cut = ctx;

	*was_cut = *was_cut || store_window_is_cut(window);
	return false;
}

int compact_cut_was_cut(struct segment_reader *reader, int fd, bool *was_cut)
{
	const struct segment_visitor visitor = {
		.ctx = was_cut,
		.merge_ns = UINT64_MAX,
		.want = note_cut,
	};

	*was_cut = false;
	return segment_reader__walk(reader, fd, &visitor);
}

static bool want_all(void *ctx, const struct window *window)
{
	(void)ctx;
	return window->pid != 0;
}

static int weigh_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct weights *weights = ctx;
	struct weight *weight = weight_of(weights, compact_cut_key(window));

	(void)text;
	weights->total += len + window->lines_len + window->threads_len;
	/* Cutting it again would win nothing. */
	if (weight && !store_window_is_cut(window)) {
		weight->bytes += len + window->lines_len + window->threads_len;
		if (weight->bytes > weights->heaviest.bytes) {
			if (weight->key != weights->heaviest.key) {
				strbuf_clear(weights->name);
				strbuf_puts(weights->name, key_text(window));
				if (strbuf_error(weights->name))
					return -ENOMEM;
			}
			weights->heaviest = *weight;
		}
	}
	return weights->should_stop && weights->should_stop(weights->stop_ctx) ? -ECANCELED : 0;
}

int compact_cut_find(struct segment_reader *reader, const struct compact_source *source,
		     bool (*should_stop)(void *ctx), void *stop_ctx, uint64_t *key,
		     struct strbuf *name)
{
	__cleanup_free struct weights *weights = calloc(1, sizeof(*weights));
	const struct segment_visitor visitor = {
		.ctx = weights,
		.wants_lines = true,
		.wants_threads = true,
		/*
		 * Every stream once: the size of a file depends on its distinct stacks, not on how
		 * often they occur.
		 */
		.merge_ns = UINT64_MAX,
		.want = want_all,
		.window = weigh_window,
	};
	int err;

	*key = 0;
	if (!weights)
		return -ENOMEM;
	weights->name = name;
	weights->should_stop = should_stop;
	weights->stop_ctx = stop_ctx;
	err = segment_reader__walk(reader, source->fd, &visitor);
	if (!err && weights->cnt > 1 && weights->heaviest.bytes > weights->total / 2)
		*key = weights->heaviest.key;
	return err;
}

/* ---- which files ---- */

struct density {
	uint64_t bytes_per_hour;
	size_t index;
};

static int larger_first(const void *a, const void *b)
{
	const struct density *left = a, *right = b;

	if (left->bytes_per_hour != right->bytes_per_hour)
		return left->bytes_per_hour < right->bytes_per_hour ? 1 : -1;
	return (left->index > right->index) - (left->index < right->index);
}

size_t compact_cut_order(const struct segment_file *files, const uint64_t *bytes, size_t cnt,
			 size_t *order)
{
	__cleanup_free struct density *densities = calloc(cnt + 1, sizeof(*densities));
	size_t out = 0;

	if (!densities)
		return 0; /* then nothing is cut this time */
	for (size_t i = 0; i < cnt; i++)
		densities[i] = (struct density){
			.bytes_per_hour = bytes[i] / (files[i].is_day ? 24 : 1),
			.index = i,
		};
	qsort(densities, cnt, sizeof(*densities), larger_first);
	while (out < cnt &&
	       densities[out].bytes_per_hour > STANDS_OUT * densities[cnt / 2].bytes_per_hour) {
		order[out] = densities[out].index;
		out++;
	}
	return out;
}

/* ---- the text ---- */

/* A stack of the text, by its process and its leaf. */
struct cut_line {
	const char *comm, *leaf;
	size_t comm_len, leaf_len;
	uint64_t count;
};

static bool line_parse(const char *text, size_t len, struct cut_line *out)
{
	const char *first, *last;
	size_t stack_len;
	uint64_t count;

	if (!folded_line_split(text, len, &stack_len, &count))
		return false;
	first = memchr(text, ';', stack_len);
	last = memrchr(text, ';', stack_len);
	*out = (struct cut_line){ .comm = text, .comm_len = stack_len, .count = count };
	if (first) {
		out->comm_len = (size_t)(first - text);
		out->leaf = last;
		out->leaf_len = (size_t)(text + stack_len - last);
	}
	return true;
}

static int line_compare(const void *a, const void *b)
{
	const struct cut_line *left = a, *right = b;
	int order = bytes_compare(left->comm, left->comm_len, right->comm, right->comm_len);

	return order ? order :
		       bytes_compare(left->leaf, left->leaf_len, right->leaf, right->leaf_len);
}

static void put_line(const struct cut_line *line, struct strbuf *out)
{
	strbuf_append(out, line->comm, line->comm_len);
	strbuf_append(out, line->leaf, line->leaf_len);
	strbuf_printf(out, " %" PRIu64 "\n", line->count);
}

static size_t count_lines(const char *text, size_t len)
{
	struct lines lines = lines_init(text, len);
	struct line line;
	size_t cnt = 0;

	while (lines_next(&lines, &line))
		cnt++;
	return cnt;
}

int compact_cut_text(const char *text, size_t len, struct strbuf *out)
{
	__cleanup_free struct cut_line *lines = calloc(count_lines(text, len) + 1, sizeof(*lines));
	struct lines rest = lines_init(text, len);
	struct line line;
	size_t cnt = 0;

	strbuf_clear(out);
	if (!lines)
		return -ENOMEM;
	while (lines_next(&rest, &line) && line.is_whole)
		cnt += line_parse(line.at, line.len, &lines[cnt]);
	qsort(lines, cnt, sizeof(*lines), line_compare);
	for (size_t i = 0; i < cnt; i++) {
		if (i + 1 < cnt && line_compare(&lines[i], &lines[i + 1]) == 0)
			lines[i + 1].count += lines[i].count;
		else
			put_line(&lines[i], out);
	}
	return strbuf_error(out);
}
