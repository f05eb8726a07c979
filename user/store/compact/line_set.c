// SPDX-License-Identifier: Apache-2.0
/* See line_set.h. What a text had of the set is kept as pairs of small numbers: id, count. */
#include "user/store/compact/line_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/folded_line.h"
#include "user/util/cleanup.h"
#include "user/util/lines.h"
#include "user/util/saturate.h"
#include "user/util/strtab.h"

struct line_set {
	struct strtab *lines;
	struct strbuf spans; /* pairs of all texts */
	size_t bytes;	     /* of the lines without counts */
	uint32_t *numbers;   /* by id, when sealed */
	uint32_t *ids;	     /* by number */
	uint64_t *counts;    /* by number: samples of the rows put */
};

struct entry {
	uint32_t line;
	uint64_t count;
};

struct line_set *line_set__new(void)
{
	struct line_set *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	set->lines = strtab__new();
	if (!set->lines) {
		free(set);
		return NULL;
	}
	return set;
}

void line_set__free(struct line_set *set)
{
	if (!set)
		return;
	strtab__free(set->lines);
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
	return set->spans.len;
}

/* ---- collecting ---- */

static int add_line(struct line_set *set, const char *stack, size_t len, uint64_t count)
{
	uint32_t before = strtab__count(set->lines);
	uint32_t id;
	int err = strtab__intern(set->lines, stack, len, &id);

	if (err)
		return -ENOMEM; /* a text has no line of 4 GiB, a unit not as many lines */
	if (id == before)
		set->bytes += len;
	err = varint_put(&set->spans, id);
	return err ? err : varint_put(&set->spans, count);
}

int line_set__add(struct line_set *set, const char *text, size_t len, struct line_span *out)
{
	struct lines lines = lines_init(text, len);
	size_t start = set->spans.len;
	struct line line;
	int err = 0;

	while (!err && lines_next(&lines, &line)) {
		size_t stack_len;
		uint64_t count;

		/* Names are C strings to those who draw them. */
		if (folded_line_split(line.at, line.len, &stack_len, &count) &&
		    !memchr(line.at, '\0', stack_len))
			err = add_line(set, line.at, stack_len, count);
	}
	if (err) {
		if (set->spans.len > start)
			strbuf_truncate(&set->spans, start);
		return err;
	}
	*out = (struct line_span){ .offset = start, .len = set->spans.len - start };
	return 0;
}

/* ---- numbers ---- */

static int compare_lines(const void *left, const void *right, void *ctx)
{
	const struct strtab *lines = ctx;
	size_t len_a, len_b;
	const char *a = strtab__get(lines, *(const uint32_t *)left, &len_a);
	const char *b = strtab__get(lines, *(const uint32_t *)right, &len_b);
	int order = memcmp(a, b, len_a < len_b ? len_a : len_b);

	return order ? order : (len_a > len_b) - (len_a < len_b);
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

static int put_entry(const struct entry *entry, uint64_t before, struct rows_entry_columns *out)
{
	int err = varint_put(&out->lines, zigzag(entry->line - before));

	return err ? err : varint_put(&out->counts, entry->count);
}

static int compare_entries(const void *left, const void *right)
{
	uint32_t a = ((const struct entry *)left)->line, b = ((const struct entry *)right)->line;

	return (a > b) - (a < b);
}

/* Equal lines become one; in order of lines. Returns how many are left. */
static size_t merge_entries(struct entry *entries, size_t cnt)
{
	size_t kept = 0;

	qsort(entries, cnt, sizeof(*entries), compare_entries);
	for (size_t i = 0; i < cnt; i++) {
		if (kept && entries[kept - 1].line == entries[i].line)
			entries[kept - 1].count =
				add_saturated(entries[kept - 1].count, entries[i].count);
		else
			entries[kept++] = entries[i];
	}
	return kept;
}

/* The entries of some texts one after the other. A pair takes two bytes at least. */
static int load_entries(const struct line_set *set, const struct line_span *spans, size_t cnt,
			struct entry **out, size_t *cnt_out)
{
	struct entry *entries;
	size_t bytes = 0, entry_cnt = 0;

	for (size_t i = 0; i < cnt; i++)
		bytes += spans[i].len;
	entries = reallocarray(NULL, bytes / 2 + 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		struct varint_reader reader =
			varint_reader_init(strbuf_str(&set->spans) + spans[i].offset, spans[i].len);

		while (reader.at < reader.end) {
			uint32_t id = (uint32_t)varint_get(&reader);

			entries[entry_cnt].line = set->numbers[id];
			entries[entry_cnt++].count = varint_get(&reader);
		}
	}
	*out = entries;
	*cnt_out = entry_cnt;
	return 0;
}

int line_set__put_row(struct line_set *set, const struct line_span *spans, size_t cnt,
		      struct rows_entry_columns *out)
{
	__cleanup_free struct entry *entries = NULL;
	uint64_t before = 0;
	size_t entry_cnt;
	int err = load_entries(set, spans, cnt, &entries, &entry_cnt);

	if (err)
		return err;
	if (cnt > 1)
		entry_cnt = merge_entries(entries, entry_cnt);
	err = varint_put(&out->cnts, entry_cnt);
	for (size_t i = 0; i < entry_cnt && !err; i++) {
		uint64_t *sum = &set->counts[entries[i].line];

		*sum = add_saturated(*sum, entries[i].count);
		err = put_entry(&entries[i], before, out);
		before = entries[i].line;
	}
	return err;
}

int line_set__put_text(const struct line_set *set, struct strbuf *out, uint32_t *line_cnt_out)
{
	uint32_t cnt = strtab__count(set->lines);
	int err = strbuf_reserve(out, line_set__bytes(set));

	for (uint32_t i = 0; i < cnt && !err; i++) {
		size_t len;
		const char *line = strtab__get(set->lines, set->ids[i], &len);

		err = strbuf_append(out, line, len);
		if (!err)
			err = strbuf_printf(out, " %llu\n", (unsigned long long)set->counts[i]);
	}
	*line_cnt_out = cnt;
	return err;
}
