// SPDX-License-Identifier: Apache-2.0
/* Sums that survive merging; see compact_digest.h. */
#include "user/store/compact/compact_digest.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "user/model/cells.h"
#include "user/model/folded_line.h"
#include "user/model/thread_counts.h"
#include "user/model/ticks.h"
#include "user/util/cleanup.h"
#include "user/util/lines.h"

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return XXH3_64bits_withSeed(&value, sizeof(value), hash);
}

uint64_t compact_stream_hash(const struct window *window)
{
	uint64_t hash = mix(window->pid, window->process_start_ns);

	return mix(mix(hash, window->exec_id), window->cgroup_id);
}

/* Sum of hash times count over the lines; their counts are added to *samples. */
static uint64_t text_digest(const char *text, size_t len, uint64_t seed, uint64_t *samples)
{
	struct lines lines = lines_init(text, len);
	struct line line;
	uint64_t sum = 0;

	while (lines_next(&lines, &line) && line.is_whole) {
		size_t text_len;
		uint64_t count;

		/* All readers of folded text accept and refuse lines by this rule. */
		if (!folded_line_split(line.at, line.len, &text_len, &count) ||
		    memchr(line.at, '\0', text_len))
			continue;
		sum += XXH3_64bits_withSeed(line.at, text_len, seed) * count;
		*samples += count;
	}
	return sum;
}

static uint64_t line_digest(struct thread_reader *threads, uint64_t line_hash, uint64_t count)
{
	struct thread_part part;
	uint64_t sum = 0;

	thread_reader_line(threads, count);
	while (thread_reader_next(threads, &part)) {
		if (part.name)
			sum += XXH3_64bits_withSeed(part.name, part.len, line_hash) * part.count;
	}
	return sum;
}

/* The same of each thread's part of the lines. Those that are not known have none. 0 or -ENOMEM. */
static int threads_digest(const struct window *window, const char *text, size_t len, uint64_t seed,
			  uint64_t *out)
{
	__cleanup_thread_reader struct thread_reader threads = { .names = NULL };
	struct lines lines = lines_init(text, len);
	struct line line;

	if (!window->threads_len)
		return 0;
	if (thread_reader_open(&threads, window->threads, (size_t)window->threads_len) == -ENOMEM)
		return -ENOMEM;
	while (lines_next(&lines, &line) && line.is_whole) {
		size_t text_len;
		uint64_t count;

		if (folded_line_split(line.at, line.len, &text_len, &count) &&
		    !memchr(line.at, '\0', text_len))
			*out += line_digest(&threads, XXH3_64bits_withSeed(line.at, text_len, seed),
					    count);
	}
	return 0;
}

static uint64_t cells_digest(const struct window *window, uint64_t seed)
{
	struct cells_reader reader = cells_reader_init(window->cells, window->cells_len);
	uint64_t first = cell_of(window->start_unix_ns);
	struct cell cell;
	uint64_t sum = 0;

	while (cells_next(&reader, &cell))
		sum += mix(seed, first + cell.index) * cell.count;
	return sum;
}

/* Of each tick, what its line is and when it was. 0, or -ENOMEM. */
static int ticks_digest(const struct window *window, const char *text, size_t len, uint64_t seed,
			uint64_t *out)
{
	uint64_t first = window->start_unix_ns / TICK_MS_NS;
	struct lines lines = lines_init(text, len);
	struct ticks_reader reader;
	struct tick tick;
	struct line line;

	if (!window->ticks_len ||
	    ticks_reader_open(&reader, window->ticks, (size_t)window->ticks_len) ||
	    reader.line_cnt > len)
		return 0;

	__cleanup_free uint64_t *hashes = calloc(reader.line_cnt + 1, sizeof(*hashes));

	if (!hashes)
		return -ENOMEM;
	for (uint64_t i = 0; i < reader.line_cnt && lines_next(&lines, &line); i++) {
		size_t text_len;
		uint64_t count;

		if (folded_line_split(line.at, line.len, &text_len, &count))
			hashes[i] = XXH3_64bits_withSeed(line.at, text_len, seed);
	}
	while (ticks_next(&reader, &tick))
		*out += mix(hashes[tick.line], first + tick.ms);
	return 0;
}

static uint64_t counts_digest(const struct window *window, uint64_t seed)
{
	uint64_t values[WINDOW_COUNT_CNT];
	uint64_t sum = 0;
	uint64_t place = 0;

	memcpy(values, &window->counts, sizeof(values));
	for (size_t i = 0; i < WINDOW_COUNT_CNT; i++)
		sum += mix(seed, place++) * values[i];
	for (size_t i = 0; i < WINDOW_LOSS_CNT; i++)
		sum += mix(seed, place++) * window->lost[i];
	return sum;
}

static uint64_t labels_hash(const struct window *window, uint64_t seed)
{
	for (int i = 0; i < WINDOW_LABEL_CNT; i++) {
		const char *label = window->labels[i];

		seed = label ? XXH3_64bits_withSeed(label, strlen(label), seed) : mix(seed, 0);
	}
	return seed;
}

int compact_digest_add(struct compact_digest *digest, const struct window *window, const char *text,
		       size_t len, uint64_t slot_ns)
{
	uint64_t stream = compact_stream_hash(window);
	uint64_t window_cnt = window->window_cnt ? window->window_cnt : 1;
	uint64_t slot = slot_ns ? window->start_unix_ns / slot_ns : window->start_unix_ns;
	uint64_t line_samples = 0;

	digest->windows += window_cnt;
	/* The host's own record counts those of all processes again. */
	if (window->pid)
		digest->samples += window->counts.samples;
	digest->recorded_ns += window_recorded_ns(window);
	digest->stacks += text_digest(text, len, stream, &digest->text_samples);
	if (window->lines)
		digest->lines += text_digest(window->lines, (size_t)window->lines_len, stream,
					     &line_samples);
	if (window->cells)
		digest->cells += cells_digest(window, stream);
	digest->counts += counts_digest(window, stream);
	digest->labels +=
		labels_hash(window, mix(mix(mix(stream, slot), window->event), window->period)) *
		window_cnt;
	if (ticks_digest(window, text, len, stream, &digest->ticks))
		return -ENOMEM;
	return threads_digest(window, text, len, stream, &digest->threads);
}

bool compact_digest_equal(const struct compact_digest *a, const struct compact_digest *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}
