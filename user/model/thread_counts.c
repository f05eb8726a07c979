// SPDX-License-Identifier: Apache-2.0
/* See thread_counts.h. Threads are numbers here: that of the name + 1, and 0 for one that is not known. */
#include "user/model/thread_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/util/parse.h"
#include "user/util/saturate.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

#define NAME_BYTES 32 /* what the table takes of memory for a name, beside its text */

struct thread_counts {
	struct strtab *names;
	size_t name_bytes;
	size_t max_names;
	struct thread_entry *entries;
	size_t cnt;
	size_t cap;
};

size_t thread_name_fold(const char *name, size_t len, char *out)
{
	size_t used = 0;

	for (size_t i = 0; i < len; i++) {
		if (!parse_is_digit(name[i]))
			out[used++] = name[i];
		else if (i + 1 == len || !parse_is_digit(name[i + 1]))
			out[used++] = '#';
	}
	out[used] = '\0';
	return used;
}

struct thread_counts *thread_counts__new(size_t max_names)
{
	struct thread_counts *counts = calloc(1, sizeof(*counts));

	if (!counts)
		return NULL;
	counts->max_names = max_names ? max_names : UINT32_MAX;
	counts->names = strtab__new();
	if (!counts->names) {
		free(counts);
		return NULL;
	}
	return counts;
}

void thread_counts__free(struct thread_counts *counts)
{
	if (!counts)
		return;
	strtab__free(counts->names);
	free(counts->entries);
	free(counts);
}

void thread_counts__clear(struct thread_counts *counts)
{
	counts->cnt = 0;
}

/* ---- gathering ---- */

static int intern(struct thread_counts *counts, const char *name, size_t len, uint32_t *out)
{
	uint32_t id = strtab__find(counts->names, name, len), cnt = strtab__count(counts->names);
	int err = 0;

	if (id == STRTAB_NONE && cnt >= counts->max_names) {
		name = THREAD_NAME_OTHERS;
		len = strlen(THREAD_NAME_OTHERS);
	}
	if (id == STRTAB_NONE)
		err = strtab__intern(counts->names, name, len, &id);
	if (!err && strtab__count(counts->names) > cnt)
		counts->name_bytes += len + NAME_BYTES;
	*out = id + 1;
	return err ? -ENOMEM : 0;
}

int thread_counts__add(struct thread_counts *counts, uint32_t line, const char *name, size_t len,
		       uint64_t samples)
{
	struct thread_entry entry = { .line = line, .samples = samples };
	int err = 0;

	if (name && (len > THREAD_NAME_BYTES || memchr(name, '\0', len)))
		return -EINVAL;
	if (name)
		err = intern(counts, name, len, &entry.thread);
	if (!err)
		err = vec_room(counts->entries, counts->cnt, counts->cap, 64);
	if (!err)
		counts->entries[counts->cnt++] = entry;
	return err;
}

size_t thread_counts__bytes(const struct thread_counts *counts)
{
	return counts->cnt * sizeof(*counts->entries) + counts->name_bytes;
}

static int compare_entries(const void *left, const void *right)
{
	const struct thread_entry *a = left, *b = right;

	if (a->line != b->line)
		return a->line > b->line ? 1 : -1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

size_t thread_entries_merge(struct thread_entry *entries, size_t cnt)
{
	size_t kept = 0;

	if (cnt)
		qsort(entries, cnt, sizeof(*entries), compare_entries);
	for (size_t i = 0; i < cnt; i++) {
		if (kept && compare_entries(&entries[kept - 1], &entries[i]) == 0)
			entries[kept - 1].samples =
				add_saturated(entries[kept - 1].samples, entries[i].samples);
		else
			entries[kept++] = entries[i];
	}
	return kept;
}

/* ---- the code ---- */

/* Those of one line, from `first` on: which has most of it, and where the next line begins. */
static size_t line_end(const struct thread_counts *counts, size_t first, size_t *home)
{
	size_t at = first;

	*home = first;
	for (; at < counts->cnt && counts->entries[at].line == counts->entries[first].line; at++) {
		if (counts->entries[at].samples > counts->entries[*home].samples)
			*home = at;
	}
	return at;
}

/* What is put together of a code. Names are numbered in order of first use. */
struct code {
	uint32_t *numbers; /* by thread; 0 = not used yet, or not known */
	uint32_t name_cnt;
	uint64_t line_cnt;
	uint64_t part_cnt;
	struct strbuf names, homes, parts;
};

static void code_release(struct code *code)
{
	free(code->numbers);
	strbuf_release(&code->names);
	strbuf_release(&code->homes);
	strbuf_release(&code->parts);
}

static void put_thread(const struct thread_counts *counts, uint32_t thread, struct code *code,
		       struct strbuf *out)
{
	size_t len;
	const char *name;

	if (thread && !code->numbers[thread]) {
		code->numbers[thread] = ++code->name_cnt;
		name = strtab__get(counts->names, thread - 1, &len);
		varint_put(&code->names, len);
		strbuf_append(&code->names, name, len + 1);
	}
	varint_put(out, code->numbers[thread]);
}

static void put_lines(const struct thread_counts *counts, struct code *code)
{
	uint64_t before = 0;
	size_t home;

	for (size_t first = 0, end; first < counts->cnt; first = end, code->line_cnt++) {
		end = line_end(counts, first, &home);
		put_thread(counts, counts->entries[home].thread, code, &code->homes);
		for (size_t i = first; i < end; i++) {
			if (i == home || !counts->entries[i].samples)
				continue;
			varint_put(&code->parts, code->line_cnt - before);
			put_thread(counts, counts->entries[i].thread, code, &code->parts);
			varint_put(&code->parts, counts->entries[i].samples);
			before = code->line_cnt;
			code->part_cnt++;
		}
	}
}

static void put_code(const struct code *code, struct strbuf *out)
{
	varint_put(out, code->name_cnt);
	strbuf_add(out, &code->names);
	varint_put(out, code->line_cnt);
	strbuf_add(out, &code->homes);
	varint_put(out, code->part_cnt);
	strbuf_add(out, &code->parts);
}

int thread_counts__encode(struct thread_counts *counts, const uint32_t *place, struct strbuf *out)
{
	struct code code = { .numbers = calloc(strtab__count(counts->names) + 1ul,
					       sizeof(*code.numbers)) };
	struct strbuf_mark start = strbuf_mark(out);
	int err = code.numbers ? 0 : -ENOMEM;

	for (size_t i = 0; place && i < counts->cnt; i++)
		counts->entries[i].line = place[counts->entries[i].line];
	counts->cnt = thread_entries_merge(counts->entries, counts->cnt);
	if (!err)
		put_lines(counts, &code);
	if (!err && code.name_cnt)
		put_code(&code, out);
	code_release(&code);
	return strbuf_settle(out, start, err);
}

/* ---- reading ---- */

void thread_reader_release(struct thread_reader *reader)
{
	free(reader->names);
	free(reader->lens);
	*reader = (struct thread_reader){ .names = NULL };
}

static int read_names(struct thread_reader *reader, struct varint_reader *code)
{
	uint64_t cnt = varint_get(code);

	/* Each takes two bytes at least. */
	if (code->failed || cnt > (size_t)(code->end - code->at) / 2)
		return -EINVAL;
	reader->names = calloc((size_t)cnt + 1, sizeof(*reader->names));
	reader->lens = calloc((size_t)cnt + 1, sizeof(*reader->lens));
	if (!reader->names || !reader->lens)
		return -ENOMEM;
	reader->name_cnt = (size_t)cnt;
	for (size_t i = 0; i < cnt; i++) {
		uint64_t len = varint_get(code);
		const char *name = len <= THREAD_NAME_BYTES ?
					   (const char *)varint_reader_take(code, len + 1) :
					   NULL;

		if (!name || name[len] || strlen(name) != len)
			return -EINVAL;
		reader->names[i] = name;
		reader->lens[i] = (size_t)len;
	}
	return 0;
}

/* Steps over `cnt` numbers, which are threads. */
static bool skip_threads(const struct thread_reader *reader, struct varint_reader *code,
			 uint64_t cnt)
{
	for (uint64_t i = 0; i < cnt && !code->failed; i++) {
		if (varint_get(code) > reader->name_cnt)
			return false;
	}
	return !code->failed;
}

/* All that stands there is looked at once, so that nothing can fail later. */
static bool is_whole(struct thread_reader *reader, struct varint_reader code)
{
	uint64_t line = 0;

	for (uint64_t i = 0; i < reader->part_cnt && !code.failed; i++) {
		uint64_t skip = varint_get(&code);

		if (skip >= reader->line_cnt - line || !skip_threads(reader, &code, 1))
			return false;
		line += skip;
		(void)varint_get(&code);
	}
	return !code.failed && code.at == code.end;
}

int thread_reader_open(struct thread_reader *reader, const uint8_t *bytes, size_t len)
{
	struct varint_reader code = varint_reader_init(bytes, len);
	int err;

	thread_reader_release(reader);
	if (!len)
		return 0;
	err = read_names(reader, &code);
	reader->line_cnt = varint_get(&code);
	reader->homes = code;
	if (!err && !skip_threads(reader, &code, reader->line_cnt))
		err = -EINVAL;
	reader->part_cnt = varint_get(&code);
	if (!err && !is_whole(reader, code))
		err = -EINVAL;
	if (err) {
		thread_reader_release(reader);
		return err;
	}
	reader->parts = code;
	reader->line = UINT64_MAX; /* before the first */
	if (reader->part_cnt)
		reader->part_line = varint_get(&reader->parts);
	return 0;
}

static uint64_t take_part(struct thread_reader *reader, uint64_t *thread)
{
	uint64_t samples;

	*thread = varint_get(&reader->parts);
	samples = varint_get(&reader->parts);
	if (--reader->part_cnt)
		reader->part_line += varint_get(&reader->parts);
	return samples;
}

static bool has_part(const struct thread_reader *reader)
{
	return reader->part_cnt && reader->part_line == reader->line;
}

void thread_reader_line(struct thread_reader *reader, uint64_t samples)
{
	uint64_t thread;

	while (has_part(reader))
		(void)take_part(reader, &thread);
	reader->line++;
	reader->left = samples;
	reader->home = 0;
	if (reader->line_cnt) {
		reader->line_cnt--;
		reader->home = varint_get(&reader->homes);
	}
}

bool thread_reader_next(struct thread_reader *reader, struct thread_part *out)
{
	uint64_t thread = reader->home, samples = reader->left;

	if (!reader->left)
		return false;
	if (has_part(reader)) {
		samples = take_part(reader, &thread);
		if (samples > reader->left)
			samples = reader->left;
	}
	reader->left -= samples;
	*out = (struct thread_part){ .count = samples };
	if (thread) {
		out->name = reader->names[thread - 1];
		out->len = reader->lens[thread - 1];
	}
	return true;
}
