/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of merged segments share: windows with random content in every field, the same
 * windows written as commit records or merged, and a collector that keeps all that a reader hands
 * out.
 */
#ifndef JBPF_TESTS_MERGED_TESTING_H
#define JBPF_TESTS_MERGED_TESTING_H

#include "tests/unit/store_testing.h"

#include <errno.h>

#include "user/model/cells.h"
#include "user/model/folded_line.h"
#include "user/model/select.h"
#include "user/model/thread_counts.h"
#include "user/model/ticks.h"
#include "user/store/compact/merged_writer.h"
#include "user/util/cleanup.h"
#include "user/util/lines.h"

/* ---- random windows ---- */

struct random_windows {
	uint64_t state;
	uint32_t stream_cnt;
	uint32_t stack_cnt;
	char labels[64][24]; /* texts that windows borrow */
};

struct random_window {
	struct window window;
	struct strbuf text;
	struct strbuf lines;
	struct strbuf cells;
	struct strbuf threads;
	struct strbuf ticks;
};

static inline uint64_t random_next(struct random_windows *random)
{
	/* xorshift64* */
	random->state ^= random->state >> 12;
	random->state ^= random->state << 25;
	random->state ^= random->state >> 27;
	return random->state * 0x2545f4914f6cdd1dull;
}

static inline uint64_t random_below(struct random_windows *random, uint64_t limit)
{
	return random_next(random) % limit;
}

/* Small, large, and the largest. */
static inline uint64_t random_u64(struct random_windows *random)
{
	switch (random_below(random, 4)) {
	case 0:
		return 0;
	case 1:
		return random_below(random, 1000);
	case 2:
		return random_next(random);
	default:
		return UINT64_MAX - random_below(random, 2);
	}
}

static inline void random_init(struct random_windows *random, uint64_t seed, uint32_t stream_cnt,
			       uint32_t stack_cnt)
{
	memset(random, 0, sizeof(*random));
	random->state = seed * 0x9e3779b97f4a7c15ull + 1;
	random->stream_cnt = stream_cnt;
	random->stack_cnt = stack_cnt;
	for (int i = 0; i < 64; i++)
		snprintf(random->labels[i], sizeof(random->labels[i]), "%s-%d",
			 i % 5 ? "label" : "\xc3\xa4", i / 2);
	random->labels[7][0] = '\0';
}

static inline void random_text(struct random_windows *random, const char *frame, bool has_rest,
			       struct strbuf *out)
{
	strbuf_clear(out);
	for (uint32_t i = 0; i < random->stack_cnt; i++) {
		uint64_t count = random_below(random, 50) ? random_below(random, 9) + 1 :
							    random_next(random) >> 20;

		if (random_below(random, 3) == 0)
			strbuf_printf(out, "%s%05u;x %llu\n", frame, i, (unsigned long long)count);
	}
	/* As source lines end, out of order. */
	if (has_rest)
		strbuf_puts(out, "[other lines] 7\n");
}

static inline void random_fields(struct random_windows *random, struct window *window)
{
	for (size_t i = 0; i < ARRAY_SIZE(window_fields); i++) {
		const struct window_field *field = &window_fields[i];

		if (field->kind == WINDOW_FIELD_COUNT || field->kind == WINDOW_FIELD_STATE)
			(void)window_number_set(window, field->offset, field->bytes,
						random_u64(random));
	}
	window->start_boot_ns = random_u64(random);
	for (int i = 0; i < STACK_END_CNT; i++)
		window->counts.ends[i] = random_u64(random);
	for (int i = 0; i < WINDOW_LOSS_CNT; i++)
		window->lost[i] = random_below(random, 3) ? 0 : random_u64(random);
}

/* A stream's identity follows from its number; some labels change on the way. */
static inline void random_stream(struct random_windows *random, uint32_t stream,
				 struct window *window)
{
	if (stream == 0) {
		window->cpu_cnt = 8; /* a host record */
		return;
	}
	window->pid = 1000 + stream / 2;
	window->ns_pid = stream % 3;
	window->process_start_ns = stream * 77777777ull;
	window->cgroup_id = UINT64_MAX - stream;
	window->exec_id = stream % 2;
	window->frequency_hz = stream % 4 ? 99 : 49;
	window->cpu_cnt = stream;
	snprintf((char *)window->boot_id, sizeof(window->boot_id), "boot %u", stream / 3);
	for (int i = 0; i < WINDOW_LABEL_CNT; i++) {
		if ((stream + (uint32_t)i) % 4)
			window->labels[i] = random->labels[(stream * 5 + (uint32_t)i) % 64];
	}
	if (random_below(random, 20) == 0)
		window->labels[WINDOW_LABEL_JIT_PROBLEM] = random->labels[9];
}

static inline void random_cells(struct random_windows *random, struct strbuf *out)
{
	struct cell cells[64];
	uint32_t index = 0;
	size_t cnt = random_below(random, ARRAY_SIZE(cells));

	strbuf_clear(out);
	for (size_t i = 0; i < cnt; i++) {
		index += (uint32_t)random_below(random, 9);
		cells[i] = (struct cell){ index++, (uint32_t)random_below(random, 3) + 1 };
	}
	assert_int_equal(cells_encode(cells, cnt, out), 0);
}

/* Of each line of the text: mostly one thread, sometimes several, sometimes one that is not known. */
static inline void random_threads(struct random_windows *random, const struct strbuf *text,
				  struct strbuf *out)
{
	struct thread_counts *counts = thread_counts__new(0);
	struct lines lines = lines_init(strbuf_str(text), text->len);
	struct line line;
	uint32_t number = 0;

	assert_non_null(counts);
	for (; lines_next(&lines, &line); number++) {
		uint64_t count, part;
		size_t len;

		assert_true(folded_line_split(line.at, line.len, &len, &count));
		for (; count; count -= part) {
			uint64_t thread = random_below(random, 4) ? number % 5 :
								    random_below(random, 40);
			const char *name = thread % 7 ? random->labels[thread] : NULL;

			part = random_below(random, 3) ? count : random_below(random, count) + 1;
			assert_int_equal(thread_counts__add(counts, number, name,
							    name ? strlen(name) : 0, part),
					 0);
		}
	}
	strbuf_clear(out);
	assert_int_equal(thread_counts__encode(counts, NULL, out), 0);
	thread_counts__free(counts);
}

/* Of some of the text's lines, each as often as it may be. */
static inline void random_ticks(struct random_windows *random, const struct strbuf *text,
				struct strbuf *out)
{
	struct lines lines = lines_init(strbuf_str(text), text->len);
	struct tick ticks[64];
	struct line line;
	uint32_t line_cnt = 0;
	size_t cnt = 0;

	for (; lines_next(&lines, &line); line_cnt++)
		if (cnt < ARRAY_SIZE(ticks) && random_below(random, 3))
			ticks[cnt++] =
				(struct tick){ (uint32_t)random_below(random, 10000), line_cnt };
	qsort(ticks, cnt, sizeof(ticks[0]), ticks_compare);
	strbuf_clear(out);
	assert_int_equal(ticks_encode(ticks, cnt, line_cnt, out), 0);
}

/* Window `number` of a run: streams take turns, time goes on with small steps. */
static inline void random_window(struct random_windows *random, uint32_t number,
				 struct random_window *out)
{
	struct window *window = &out->window;
	uint32_t stream = number % random->stream_cnt;

	memset(window, 0, sizeof(*window));
	window->start_unix_ns =
		TEST_NS + number / random->stream_cnt * WINDOW_NS + random_below(random, 1000);
	window->duration_ns = WINDOW_NS - random_below(random, 1000);
	random_fields(random, window);
	random_stream(random, stream, window);
	strbuf_clear(&out->text);
	strbuf_clear(&out->lines);
	strbuf_clear(&out->cells);
	if (stream && random_below(random, 5))
		random_text(random, "java;pkg.Work_", false, &out->text);
	if (stream && random_below(random, 3))
		random_text(random, "Work_[j];Work.java:", true, &out->lines);
	if (stream && random_below(random, 3))
		random_cells(random, &out->cells);
	strbuf_clear(&out->threads);
	if (out->text.len && random_below(random, 4))
		random_threads(random, &out->text, &out->threads);
	strbuf_clear(&out->ticks);
	if (out->text.len && random_below(random, 4))
		random_ticks(random, &out->text, &out->ticks);
	window->ticks = out->ticks.len ? (const uint8_t *)out->ticks.data : NULL;
	window->ticks_len = out->ticks.len;
	window->threads = out->threads.len ? (const uint8_t *)out->threads.data : NULL;
	window->threads_len = out->threads.len;
	window->lines = out->lines.data;
	window->lines_len = out->lines.len;
	window->cells = out->cells.len ? (const uint8_t *)out->cells.data : NULL;
	window->cells_len = (uint32_t)out->cells.len;
}

static inline void random_window_release(struct random_window *window)
{
	strbuf_release(&window->text);
	strbuf_release(&window->lines);
	strbuf_release(&window->cells);
	strbuf_release(&window->threads);
	strbuf_release(&window->ticks);
}

/* ---- merged files ---- */

static inline struct merged_writer *merged_begin(const struct test_store *store, const char *name,
						 const struct merged_options *options,
						 const uint8_t (*ids)[FORMAT_ID_BYTES],
						 size_t id_cnt, int *fd)
{
	struct merged_writer *writer;
	char path[256];

	test_write(store, name, "", 0);
	*fd = open(test_path(store, name, path), O_WRONLY | O_TRUNC);
	assert_true(*fd >= 0);
	assert_int_equal(merged_writer__open(*fd, options, ids, id_cnt, &writer), 0);
	return writer;
}

static inline void merged_end(struct merged_writer *writer, int fd)
{
	assert_int_equal(merged_writer__finish(writer), 0);
	merged_writer__free(writer);
	close(fd);
}

/* ---- what a reader hands out, as text that compares ---- */

struct gathered {
	struct strbuf *windows;
	size_t cnt;
	size_t cap;
	size_t damage_cnt;
	char damages[32][160];
	bool (*want)(const struct window *window); /* NULL = all */
	size_t asked_cnt;
};

static inline void gathered_release(struct gathered *gathered)
{
	for (size_t i = 0; i < gathered->cnt; i++)
		strbuf_release(&gathered->windows[i]);
	free(gathered->windows);
	memset(gathered, 0, sizeof(*gathered));
}

static inline int compare_parts(const void *left, const void *right)
{
	return strcmp(left, right);
}

/* The threads of each line by name: two codes may say the same in another order. */
static inline void gather_threads(const struct window *window, const char *text, size_t len,
				  struct strbuf *out)
{
	__cleanup_thread_reader struct thread_reader reader = { .names = NULL };
	struct lines lines = lines_init(text, len);
	struct line line;

	assert_int_equal(!window->threads, !window->threads_len);
	assert_int_equal(thread_reader_open(&reader, window->threads, (size_t)window->threads_len),
			 0);
	while (lines_next(&lines, &line)) {
		char parts[64][64];
		struct thread_part part;
		size_t stack_len, cnt = 0;
		uint64_t count;

		assert_true(folded_line_split(line.at, line.len, &stack_len, &count));
		thread_reader_line(&reader, count);
		while (thread_reader_next(&reader, &part)) {
			assert_true(cnt < 64);
			snprintf(parts[cnt++], 64, "%s %llu", part.name ? part.name : "-",
				 (unsigned long long)part.count);
		}
		qsort(parts, cnt, sizeof(parts[0]), compare_parts);
		for (size_t i = 0; i < cnt; i++)
			strbuf_printf(out, "%s%c", parts[i], i + 1 < cnt ? ',' : '\n');
	}
}

/* All bytes of the window but pointers and padding, then what they point to. */
static inline void gather_bytes(const struct window *window, const char *text, size_t len,
				struct strbuf *out)
{
	struct window fixed = *window;

	_Static_assert(offsetof(struct window, counts) ==
			       offsetof(struct window, exec_id) + 2 * sizeof(uint32_t),
		       "padding behind exec_id");
	memset((char *)&fixed + offsetof(struct window, exec_id) + sizeof(uint32_t), 0,
	       sizeof(uint32_t));
	memset((char *)&fixed + offsetof(struct window, lines), 0,
	       sizeof(fixed) - offsetof(struct window, lines));
	strbuf_append(out, &fixed, sizeof(fixed));
	for (int i = 0; i < WINDOW_LABEL_CNT; i++)
		strbuf_printf(out, "%s=%s\n", window_label_name(i),
			      window->labels[i] ? window->labels[i] : "(none)");
	strbuf_printf(out, "text %zu\n", len);
	strbuf_append(out, text, len);
	strbuf_printf(out, "lines %zu\n", (size_t)window->lines_len);
	if (window->lines_len)
		strbuf_append(out, window->lines, window->lines_len);
	strbuf_printf(out, "cells %u\n", window->cells_len);
	if (window->cells_len)
		strbuf_append(out, window->cells, window->cells_len);
	gather_threads(window, text, len, out);
	strbuf_printf(out, "ticks %zu\n", (size_t)window->ticks_len);
	if (window->ticks_len)
		strbuf_append(out, window->ticks, (size_t)window->ticks_len);
}

static inline int gather_window(void *ctx, const struct window *window, const char *text,
				size_t len)
{
	struct gathered *gathered = ctx;

	if (gathered->cnt == gathered->cap) {
		gathered->cap = gathered->cap ? gathered->cap * 2 : 256;
		gathered->windows =
			reallocarray(gathered->windows, gathered->cap, sizeof(*gathered->windows));
		assert_non_null(gathered->windows);
	}
	gathered->windows[gathered->cnt] = (struct strbuf)STRBUF_INIT;
	gather_bytes(window, text, len, &gathered->windows[gathered->cnt++]);
	return 0;
}

static inline bool gather_want(void *ctx, const struct window *window)
{
	struct gathered *gathered = ctx;

	assert_null(window->lines);
	assert_null(window->cells);
	assert_null(window->threads);
	assert_null(window->ticks);
	gathered->asked_cnt++;
	return !gathered->want || gathered->want(window);
}

static inline void gather_damage(void *ctx, const struct store_damage *damage)
{
	struct gathered *gathered = ctx;

	if (gathered->damage_cnt < ARRAY_SIZE(gathered->damages))
		snprintf(gathered->damages[gathered->damage_cnt], 160, "%s %llu+%llu %s",
			 damage->path, (unsigned long long)damage->offset,
			 (unsigned long long)damage->bytes, damage->what);
	gathered->damage_cnt++;
}

static inline int compare_gathered(const void *left, const void *right)
{
	const struct strbuf *a = left, *b = right;
	int order = memcmp(a->data, b->data, a->len < b->len ? a->len : b->len);

	return order ? order : (a->len > b->len) - (a->len < b->len);
}

struct gather_how {
	uint64_t since_ns;
	uint64_t until_ns; /* 0 = all */
	uint64_t merge_ns;
	bool has_no_lines;
	bool has_no_cells; /* nor threads and ticks: a unit may come as a whole then */
	const struct selection *selection;
	bool (*want)(const struct window *window);
};

/* Everything, sorted. */
static inline void gather(const struct test_store *store, const struct gather_how *how,
			  struct gathered *out)
{
	const struct store_visitor visitor = {
		.ctx = out,
		.wants_lines = !how->has_no_lines,
		.wants_cells = !how->has_no_cells,
		.wants_threads = !how->has_no_cells,
		.wants_ticks = !how->has_no_cells,
		.merge_ns = how->merge_ns,
		.selection = how->selection,
		.want = gather_want,
		.window = gather_window,
		.damage = gather_damage,
	};
	struct store_reader *reader;

	memset(out, 0, sizeof(*out));
	out->want = how->want;
	assert_int_equal(store_reader__open(store->dir, &reader), 0);
	assert_int_equal(store_reader__visit(reader, how->since_ns,
					     how->until_ns ? how->until_ns : UINT64_MAX, &visitor),
			 0);
	store_reader__free(reader);
	if (out->cnt)
		qsort(out->windows, out->cnt, sizeof(*out->windows), compare_gathered);
}

static inline void assert_gathered_equal(const struct gathered *a, const struct gathered *b)
{
	assert_int_equal(a->cnt, b->cnt);
	for (size_t i = 0; i < a->cnt; i++) {
		assert_int_equal(a->windows[i].len, b->windows[i].len);
		assert_memory_equal(a->windows[i].data, b->windows[i].data, a->windows[i].len);
	}
}

#endif
