// SPDX-License-Identifier: Apache-2.0
/*
 * See line_set.h. What a text had of the set is kept as small numbers: id, thread (number of its
 * name + 1, 0 = not known), count. A line that several threads have stands there as often, one
 * behind the other.
 */
#include "user/store/compact/line_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/folded_line.h"
#include "user/model/thread_counts.h"
#include "user/util/cleanup.h"
#include "user/util/lines.h"
#include "user/util/saturate.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

/* Which thread has most of a line, as well as one pass can tell: by majority vote. */
struct home {
	uint32_t thread;
	uint64_t lead;
};

struct line_set {
	struct strtab *lines;
	struct strtab *threads;
	struct home *homes; /* by id */
	size_t home_cap;
	struct strbuf spans; /* of all texts */
	size_t bytes;	     /* of the lines without counts */
	uint32_t *numbers;   /* by id, when sealed */
	uint32_t *ids;	     /* by number */
	uint64_t *counts;    /* by number: samples of the rows put */
};

struct line_set *line_set__new(void)
{
	struct line_set *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	set->lines = strtab__new();
	set->threads = strtab__new();
	if (!set->lines || !set->threads) {
		line_set__free(set);
		return NULL;
	}
	return set;
}

void line_set__free(struct line_set *set)
{
	if (!set)
		return;
	strtab__free(set->lines);
	strtab__free(set->threads);
	free(set->homes);
	strbuf_release(&set->spans);
	free(set->numbers);
	free(set->ids);
	free(set->counts);
	free(set);
}

size_t line_set__bytes(const struct line_set *set)
{
	return set->bytes + (size_t)strtab__count(set->lines) * (FOLDED_COUNT_MAX_DIGITS + 2);
}

size_t line_set__span_bytes(const struct line_set *set)
{
	return set->spans.len + strtab__bytes(set->threads);
}

/* ---- collecting ---- */

static int vote_home(struct line_set *set, uint32_t id, uint32_t thread, uint64_t count)
{
	size_t before = set->home_cap;
	struct home *home;

	if (vec_room(set->homes, id, set->home_cap, 1024))
		return -ENOMEM;
	if (set->home_cap > before)
		memset(set->homes + before, 0, (set->home_cap - before) * sizeof(*set->homes));
	home = &set->homes[id];
	if (home->thread == thread) {
		home->lead = add_saturated(home->lead, count);
	} else if (home->lead >= count) {
		home->lead -= count;
	} else {
		home->thread = thread;
		home->lead = count - home->lead;
	}
	return 0;
}

/* One thread's part of a line. */
static int add_part(struct line_set *set, uint32_t id, const struct thread_part *part)
{
	uint32_t thread = 0;

	if (part->name && strtab__intern(set->threads, part->name, part->len, &thread))
		return -ENOMEM;
	thread += part->name != NULL;
	varint_put(&set->spans, id);
	varint_put(&set->spans, thread);
	varint_put(&set->spans, part->count);
	return vote_home(set, id, thread, part->count);
}

static int add_line(struct line_set *set, const char *stack, size_t len, uint64_t count,
		    struct thread_reader *threads)
{
	uint32_t before = strtab__count(set->lines);
	struct thread_part part = { .count = count };
	uint32_t id;
	int err = strtab__intern(set->lines, stack, len, &id);

	if (err)
		return -ENOMEM; /* a text has no line of 4 GiB, a unit not as many lines */
	if (id == before)
		set->bytes += len;
	/* A line without samples still is a line. */
	do {
		(void)thread_reader_next(threads, &part);
		err = add_part(set, id, &part);
	} while (!err && threads->left);
	return err;
}

static int add_lines(struct line_set *set, const char *text, size_t len,
		     struct thread_reader *threads)
{
	struct lines lines = lines_init(text, len);
	struct line line;
	int err = 0;

	while (!err && lines_next(&lines, &line)) {
		size_t stack_len;
		uint64_t count;

		/* Names are C strings to those who draw them. */
		if (!folded_line_split(line.at, line.len, &stack_len, &count) ||
		    memchr(line.at, '\0', stack_len))
			continue;
		thread_reader_line(threads, count);
		err = add_line(set, line.at, stack_len, count, threads);
	}
	return err;
}

int line_set__add(struct line_set *set, const char *text, size_t len, const uint8_t *threads,
		  size_t threads_len, struct line_span *out)
{
	__cleanup_thread_reader struct thread_reader reader = { .names = NULL };
	struct strbuf_mark start = strbuf_mark(&set->spans);
	int err = thread_reader_open(&reader, threads, threads_len);

	if (err != -ENOMEM)
		err = add_lines(set, text, len, &reader);
	err = strbuf_settle(&set->spans, start, err);
	if (!err)
		*out = (struct line_span){ .offset = start.len, .len = set->spans.len - start.len };
	return err;
}

/* ---- numbers ---- */

static int compare_lines(const void *left, const void *right, void *ctx)
{
	const struct strtab *lines = ctx;
	size_t len_a, len_b;
	const char *a = strtab__get(lines, *(const uint32_t *)left, &len_a);
	const char *b = strtab__get(lines, *(const uint32_t *)right, &len_b);

	return bytes_compare(a, len_a, b, len_b);
}

int line_set__seal(struct line_set *set)
{
	uint32_t cnt = strtab__count(set->lines);

	set->numbers = reallocarray(NULL, cnt + 1ul, sizeof(*set->numbers));
	set->ids = reallocarray(NULL, cnt + 1ul, sizeof(*set->ids));
	set->counts = calloc(cnt + 1ul, sizeof(*set->counts));
	if (!set->numbers || !set->ids || !set->counts)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt; i++)
		set->ids[i] = i;
	qsort_r(set->ids, cnt, sizeof(*set->ids), compare_lines, set->lines);
	for (uint32_t i = 0; i < cnt; i++)
		set->numbers[set->ids[i]] = i;
	return 0;
}

/* ---- rows ---- */

static void put_entry(uint32_t line, uint64_t count, uint64_t before,
		      struct rows_entry_columns *out)
{
	varint_put(&out->lines, zigzag(line - before));
	varint_put(&out->counts, count);
}

/* The entries of some texts one after the other. One takes three bytes at least. */
static int load_entries(const struct line_set *set, const struct line_span *spans, size_t cnt,
			struct thread_entry **out, size_t *cnt_out)
{
	struct thread_entry *entries;
	size_t bytes = 0, entry_cnt = 0;

	for (size_t i = 0; i < cnt; i++)
		bytes += spans[i].len;
	entries = reallocarray(NULL, bytes / 3 + 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		struct varint_reader reader =
			varint_reader_init(strbuf_str(&set->spans) + spans[i].offset, spans[i].len);

		while (reader.at < reader.end) {
			uint32_t id = (uint32_t)varint_get(&reader);

			entries[entry_cnt].line = set->numbers[id];
			entries[entry_cnt].thread = (uint32_t)varint_get(&reader);
			entries[entry_cnt++].samples = varint_get(&reader);
		}
	}
	*out = entries;
	*cnt_out = entry_cnt;
	return 0;
}

/*
 * What other threads than its home have of a line goes to the parts. Returns its samples, and where
 * the next line begins.
 */
static size_t put_parts(const struct line_set *set, const struct thread_entry *entries,
			size_t first, size_t cnt, uint64_t *part_cnt, uint64_t *part_before,
			uint64_t *samples, struct rows_thread_columns *out)
{
	uint32_t line = entries[first].line;
	uint32_t home = set->homes[set->ids[line]].thread;
	size_t at = first;

	*samples = 0;
	for (; at < cnt && entries[at].line == line; at++) {
		*samples = add_saturated(*samples, entries[at].samples);
		if (entries[at].thread == home)
			continue;
		put_entry(line, entries[at].samples, *part_before, &out->parts);
		varint_put(&out->threads, entries[at].thread);
		*part_before = line;
		(*part_cnt)++;
	}
	return at;
}

static int columns_error(const struct rows_entry_columns *columns)
{
	int err = strbuf_error(&columns->cnts);

	if (!err)
		err = strbuf_error(&columns->lines);
	return err ? err : strbuf_error(&columns->counts);
}

int line_set__put_row(struct line_set *set, const struct line_span *spans, size_t cnt,
		      struct rows_entry_columns *out, struct rows_thread_columns *threads)
{
	__cleanup_free struct thread_entry *entries = NULL;
	uint64_t before = 0, part_before = 0, line_cnt = 0, part_cnt = 0, samples;
	size_t entry_cnt;
	int err = load_entries(set, spans, cnt, &entries, &entry_cnt);

	if (err)
		return err;
	/* Where threads are told, readers count on the order of lines. */
	if (cnt > 1 || strtab__count(set->threads))
		entry_cnt = thread_entries_merge(entries, entry_cnt);
	for (size_t i = 0, next; i < entry_cnt; i = next, line_cnt++) {
		uint32_t line = entries[i].line;
		uint64_t *sum = &set->counts[line];

		next = put_parts(set, entries, i, entry_cnt, &part_cnt, &part_before, &samples,
				 threads);
		*sum = add_saturated(*sum, samples);
		put_entry(line, samples, before, out);
		before = line;
	}
	varint_put(&out->cnts, line_cnt);
	varint_put(&threads->parts.cnts, part_cnt);
	err = columns_error(out);
	if (!err)
		err = columns_error(&threads->parts);
	return err ? err : strbuf_error(&threads->threads);
}

void line_set__put_threads(const struct line_set *set, struct rows_thread_columns *out)
{
	uint32_t cnt = strtab__count(set->lines);

	out->names = set->threads;
	for (uint32_t i = 0; i < cnt && strtab__count(set->threads); i++)
		varint_put(&out->homes, set->homes[set->ids[i]].thread);
}

int line_set__put_text(const struct line_set *set, struct strbuf *out, uint32_t *line_cnt_out)
{
	uint32_t cnt = strtab__count(set->lines);
	int err = strbuf_reserve(out, line_set__bytes(set));

	for (uint32_t i = 0; i < cnt && !err; i++) {
		size_t len;
		const char *line = strtab__get(set->lines, set->ids[i], &len);

		strbuf_append(out, line, len);
		strbuf_printf(out, " %llu\n", (unsigned long long)set->counts[i]);
	}
	*line_cnt_out = cnt;
	return err ? err : strbuf_error(out);
}
