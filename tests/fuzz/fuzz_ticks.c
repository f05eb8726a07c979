// SPDX-License-Identifier: Apache-2.0
/*
 * Codes of the moments of stacks, of any bytes: refused, or in order and of lines that there are, and
 * read again from a code made of them; windows that are cut by them hold what the code says. See
 * tests/fuzz/fuzz_leaf_repair.c for how to run it.
 *
 * Input: length of the code (1 byte), of the code of threads (1 byte), where the time begins and how long it
 * is (1 byte each, in units of 64 ms), these codes, the text.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/must.h"
#include "user/model/folded_line.h"
#include "user/model/thread_counts.h"
#include "user/model/ticks.h"
#include "user/store/window_cut.h"
#include "user/util/lines.h"

#define START_NS 1795262400000000000ull
#define STEP_NS	 (64 * TICK_MS_NS)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* How many there are, and how many of them in the range of milliseconds. */
static size_t read_all(const uint8_t *code, size_t len, uint64_t since_ms, uint64_t until_ms,
		       size_t *inside)
{
	struct tick *all = calloc(len + 1, sizeof(*all));
	struct strbuf again = STRBUF_INIT;
	struct ticks_reader reader;
	size_t cnt = 0;

	must(all != NULL);
	*inside = 0;
	if (ticks_reader_open(&reader, code, len) == 0) {
		uint32_t line_cnt = (uint32_t)reader.line_cnt;

		for (; ticks_next(&reader, &all[cnt]); cnt++) {
			must(cnt < len && all[cnt].line < line_cnt && all[cnt].ms <= TICKS_MAX_MS);
			must(!cnt || all[cnt].ms >= all[cnt - 1].ms);
			*inside += all[cnt].ms >= since_ms && all[cnt].ms < until_ms;
		}
		must(ticks_encode(all, cnt, line_cnt, &again) == 0 && again.len <= len);
		must(ticks_reader_open(&reader, (const uint8_t *)again.data, again.len) == 0);
		for (size_t i = 0; i < cnt; i++) {
			struct tick tick;

			must(ticks_next(&reader, &tick) && ticks_compare(&tick, &all[i]) == 0);
		}
	}
	strbuf_release(&again);
	free(all);
	return cnt;
}

/* Counts of the text, each above 0. */
static uint64_t text_samples(const struct strbuf *text)
{
	struct lines lines = lines_init(text->data, text->len);
	struct line line;
	uint64_t sum = 0;

	while (lines_next(&lines, &line)) {
		uint64_t count;
		size_t stack_len;

		must(line.is_whole && folded_line_split(line.at, line.len, &stack_len, &count));
		must(count > 0);
		sum += count;
	}
	return sum;
}

static void cut(const struct window *window, const char *text, size_t len, uint64_t since_ms,
		uint64_t until_ms)
{
	struct window_cut cut = { .counts = NULL };
	struct thread_reader threads = { .names = NULL };
	size_t inside, cnt;
	int err = window_cut(&cut, window, text, len, START_NS + since_ms * TICK_MS_NS,
			     START_NS + until_ms * TICK_MS_NS);

	must(err == 0 || err == -ENODATA);
	if (!err) {
		cnt = read_all(window->ticks, (size_t)window->ticks_len, since_ms, until_ms,
			       &inside);
		must(cut.timed_samples == cnt && cut.window.counts.samples == inside);
		must(text_samples(&cut.text) == inside);
		must(thread_reader_open(&threads, cut.window.threads,
					(size_t)cut.window.threads_len) == 0);
		thread_reader_release(&threads);
	}
	window_cut_release(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct window window = { .start_unix_ns = START_NS, .duration_ns = 3600000 * TICK_MS_NS };
	size_t ticks_len, threads_len, inside;
	uint64_t since_ms, until_ms;

	if (len < 4)
		return 0;
	ticks_len = data[0] < len - 4 ? data[0] : len - 4;
	threads_len = data[1] < len - 4 - ticks_len ? data[1] : len - 4 - ticks_len;
	since_ms = data[2] * STEP_NS / TICK_MS_NS;
	until_ms = since_ms + data[3] * STEP_NS / TICK_MS_NS;
	window.ticks = data + 4;
	window.ticks_len = ticks_len;
	window.threads = data + 4 + ticks_len;
	window.threads_len = threads_len;
	data += 4 + ticks_len + threads_len;
	len -= 4 + ticks_len + threads_len;
	(void)read_all(window.ticks, ticks_len, since_ms, until_ms, &inside);
	cut(&window, (const char *)data, len, since_ms, until_ms);
	cut(&window, (const char *)data, len, 0, TICKS_MAX_MS + 1);
	return 0;
}
