// SPDX-License-Identifier: Apache-2.0
/* See window_cut.h. */
#include "user/store/window_cut.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/folded_line.h"
#include "user/model/thread_counts.h"
#include "user/model/ticks.h"
#include "user/util/lines.h"
#include "user/util/vec.h"

#define COUNTS_FIRST 256

void window_cut_release(struct window_cut *cut)
{
	strbuf_release(&cut->text);
	strbuf_release(&cut->thread_code);
	thread_counts__free(cut->threads);
	free(cut->counts);
	*cut = (struct window_cut){ .counts = NULL };
}

bool window_cut_is_due(const struct window *window, uint64_t since_unix_ns, uint64_t until_unix_ns)
{
	return window_cut_is_range(since_unix_ns, until_unix_ns) &&
	       (window->start_unix_ns < since_unix_ns ||
		window_end_unix_ns(window) > until_unix_ns);
}

/* How often each line was sampled in the range. */
static int count_lines(struct window_cut *cut, struct ticks_reader *ticks, uint64_t start_unix_ns,
		       uint64_t since_unix_ns, uint64_t until_unix_ns)
{
	uint64_t first = start_unix_ns / TICK_MS_NS, since = since_unix_ns / TICK_MS_NS;
	uint64_t until = until_unix_ns / TICK_MS_NS + (until_unix_ns % TICK_MS_NS != 0);
	struct tick tick;

	if (vec_reserve(cut->counts, ticks->line_cnt + 1, cut->count_cap, COUNTS_FIRST))
		return -ENOMEM;
	memset(cut->counts, 0, (ticks->line_cnt + 1) * sizeof(*cut->counts));
	cut->timed_samples = 0;
	while (ticks_next(ticks, &tick)) {
		cut->timed_samples++;
		if (first + tick.ms >= since && first + tick.ms < until)
			cut->counts[tick.line]++;
	}
	return 0;
}

/* Whose the line's samples are, where all are of one thread. */
static int add_threads(struct window_cut *cut, struct thread_reader *reader, uint32_t line,
		       uint64_t samples, uint64_t count)
{
	struct thread_part part, other;
	bool is_known;

	thread_reader_line(reader, samples);
	is_known = thread_reader_next(reader, &part) && !thread_reader_next(reader, &other);
	if (!count)
		return 0;
	return thread_counts__add(cut->threads, line, is_known ? part.name : NULL,
				  is_known ? part.len : 0, count);
}

static int put_lines(struct window_cut *cut, const char *text, size_t len, uint64_t line_cnt,
		     struct thread_reader *reader)
{
	struct lines lines = lines_init(text, len);
	struct line line;
	uint32_t put_cnt = 0;
	uint64_t i = 0;

	for (; lines_next(&lines, &line); i++) {
		uint64_t samples, count;
		size_t stack_len;
		int err;

		/* Else they are not those of this text. */
		if (i >= line_cnt || !folded_line_split(line.at, line.len, &stack_len, &samples))
			return -ENODATA;
		count = cut->counts[i];
		if (count > samples)
			return -ENODATA;
		err = add_threads(cut, reader, put_cnt, samples, count);
		if (err)
			return err;
		if (!count)
			continue;
		strbuf_append(&cut->text, line.at, stack_len);
		strbuf_printf(&cut->text, " %" PRIu64 "\n", count);
		cut->window.counts.samples += count;
		put_cnt++;
	}
	return i < line_cnt ? -ENODATA : strbuf_error(&cut->text);
}

/* Only what is known of the part. */
static void begin_window(struct window_cut *cut, const struct window *window, uint64_t since,
			 uint64_t until)
{
	uint64_t end = window_end_unix_ns(window);

	cut->window = *window;
	if (window->start_unix_ns < since)
		cut->window.start_unix_ns = since;
	if (end > until)
		end = until;
	cut->window.duration_ns =
		end > cut->window.start_unix_ns ? end - cut->window.start_unix_ns : 0;
	cut->window.counts = (struct window_counts){ 0 };
	cut->window.lines = NULL;
	cut->window.lines_len = 0;
	cut->window.threads = NULL;
	cut->window.threads_len = 0;
	cut->window.cells = NULL;
	cut->window.cells_len = 0;
	cut->window.ticks = NULL;
	cut->window.ticks_len = 0;
}

int window_cut(struct window_cut *cut, const struct window *window, const char *text, size_t len,
	       uint64_t since_unix_ns, uint64_t until_unix_ns)
{
	__cleanup_thread_reader struct thread_reader threads = { .names = NULL };
	struct ticks_reader ticks;
	uint64_t line_cnt;
	int err;

	/* A line is four bytes at least. */
	if (!window->ticks_len ||
	    ticks_reader_open(&ticks, window->ticks, (size_t)window->ticks_len) ||
	    ticks.line_cnt > len / 4)
		return -ENODATA;
	/* A code of threads that is broken is none. */
	if (thread_reader_open(&threads, window->threads, (size_t)window->threads_len) == -ENOMEM)
		return -ENOMEM;
	if (!cut->threads)
		cut->threads = thread_counts__new(0);
	if (!cut->threads)
		return -ENOMEM;
	line_cnt = ticks.line_cnt;
	begin_window(cut, window, since_unix_ns, until_unix_ns);
	strbuf_clear(&cut->text);
	strbuf_clear(&cut->thread_code);
	thread_counts__clear(cut->threads);
	err = count_lines(cut, &ticks, window->start_unix_ns, since_unix_ns, until_unix_ns);
	if (!err)
		err = put_lines(cut, text, len, line_cnt, &threads);
	if (!err)
		err = thread_counts__encode(cut->threads, NULL, &cut->thread_code);
	if (!err && cut->thread_code.len) {
		cut->window.threads = (const uint8_t *)cut->thread_code.data;
		cut->window.threads_len = cut->thread_code.len;
	}
	return err;
}
