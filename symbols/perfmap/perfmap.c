// SPDX-License-Identifier: Apache-2.0
/*
 * Perf map text -> table of ranges. Three steps: lines are parsed into records that still point
 * into the text; records are radix-sorted by start; a sweep over starts and ends settles overlaps
 * in favour of the later line. The sweep keeps the lines that cover the present address in a heap,
 * so that hostile maps (every line overlaps every other) cost O(n log n) too.
 *
 * The line number never needs a field of its own: the offset of a line's name in the text grows
 * with it.
 */
#include "symbols/perfmap/perfmap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/perfmap/perfmap_internal.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/lines.h"
#include "user/util/strbuf.h"
#include "user/util/vec.h"

#define PERFMAP_BYTES_PER_LINE 64 /* first guess, for the size of the record array */
#define PERFMAP_PAGE_BYTES     4096
#define RADIX_BITS	       11
#define RADIX_SIZE	       (1u << RADIX_BITS)
#define NAME_NOT_COPIED	       UINT32_MAX

/* One accepted line. */
struct perfmap_line {
	uint64_t start;
	uint64_t end;
	uint32_t name_offset; /* in the text; also the line's rank */
	uint32_t name_len;
};

struct perfmap_builder {
	const char *text;
	size_t text_len;
	struct perfmap_line *lines;
	size_t line_cnt;
	size_t line_cap;
	struct perfmap *map;
	size_t range_cap;
};

/* ---- text -> lines ---- */

#define H(digit, value) [digit] = (value) + 1
/* Value of a hex digit plus one; 0 for every other byte. */
static const uint8_t hex_digit[256] = {
	H('0', 0),  H('1', 1),	H('2', 2),  H('3', 3),	H('4', 4),  H('5', 5),
	H('6', 6),  H('7', 7),	H('8', 8),  H('9', 9),	H('a', 10), H('b', 11),
	H('c', 12), H('d', 13), H('e', 14), H('f', 15), H('A', 10), H('B', 11),
	H('C', 12), H('D', 13), H('E', 14), H('F', 15),
};
#undef H

/* Reads "[0x]HEX" at `at`. Position behind it, or NULL: no digit, or more than 64 bits. */
static const char *hex_parse(const char *at, const char *end, uint64_t *out)
{
	uint64_t value = 0;
	const char *first;

	if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		at += 2;
	first = at;
	for (; at < end; at++) {
		unsigned int digit = hex_digit[(uint8_t)*at];

		if (!digit)
			break;
		if (value >> 60)
			return NULL;
		value = value << 4 | (digit - 1);
	}
	if (at == first)
		return NULL;
	*out = value;
	return at;
}

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	return at;
}

/* [at, end) is a line without its newline. False: not "START SIZE NAME". */
static bool line_parse(const char *text, const char *at, const char *end, struct perfmap_line *out)
{
	uint64_t start, size;
	const char *next;

	if (end > at && end[-1] == '\r')
		end--;
	at = hex_parse(skip_blanks(at, end), end, &start);
	if (!at)
		return false;
	next = skip_blanks(at, end);
	if (next == at)
		return false;
	at = hex_parse(next, end, &size);
	if (!at)
		return false;
	next = skip_blanks(at, end);
	if (next == at || next == end || end - next > (ptrdiff_t)PERFMAP_MAX_NAME_BYTES)
		return false;
	/* Names are C strings from here on: one with a NUL would be another name, or none. */
	if (memchr(next, '\0', (size_t)(end - next)))
		return false;
	out->start = start;
	if (__builtin_add_overflow(start, size, &out->end))
		return false;
	out->name_offset = (uint32_t)(next - text);
	out->name_len = (uint32_t)(end - next);
	return true;
}

/* The doubled one, or the first, and at most what there may be in all. */
static size_t next_cap(size_t cap, size_t first)
{
	cap = vec_next_cap(cap, cap + 1, first, SIZE_MAX);
	return cap && cap < PERFMAP_MAX_ENTRIES ? cap : PERFMAP_MAX_ENTRIES;
}

static int lines_reserve(struct perfmap_builder *builder)
{
	size_t cap;

	if (builder->line_cnt < builder->line_cap)
		return 0;
	if (builder->line_cnt >= PERFMAP_MAX_ENTRIES)
		return -E2BIG;
	cap = next_cap(builder->line_cap, builder->text_len / PERFMAP_BYTES_PER_LINE + 1);
	if (vec_resize(builder->lines, cap))
		return -ENOMEM;
	builder->line_cap = cap;
	return 0;
}

static int lines_read(struct perfmap_builder *builder, struct perfmap_stats *stats)
{
	struct lines lines = lines_init(builder->text, builder->text_len);
	struct line line;

	while (lines_next(&lines, &line) && line.is_whole) {
		int err = lines_reserve(builder);

		if (err)
			return err;
		stats->line_cnt++;
		if (line_parse(builder->text, line.at, line.at + line.len,
			       &builder->lines[builder->line_cnt]))
			builder->line_cnt++;
		else
			stats->rejected_cnt++;
	}
	return 0;
}

/* ---- sort ---- */

static bool lines_are_sorted(const struct perfmap_line *lines, size_t cnt)
{
	for (size_t i = 1; i < cnt; i++) {
		if (lines[i].start < lines[i - 1].start)
			return false;
	}
	return true;
}

/* One stable counting pass over the digit at `shift`. */
static void radix_pass(const struct perfmap_line *from, struct perfmap_line *to, size_t cnt,
		       unsigned int shift)
{
	uint32_t positions[RADIX_SIZE] = { 0 };
	uint32_t sum = 0;

	for (size_t i = 0; i < cnt; i++)
		positions[from[i].start >> shift & (RADIX_SIZE - 1)]++;
	for (size_t digit = 0; digit < RADIX_SIZE; digit++) {
		uint32_t in_digit = positions[digit];

		positions[digit] = sum;
		sum += in_digit;
	}
	for (size_t i = 0; i < cnt; i++)
		to[positions[from[i].start >> shift & (RADIX_SIZE - 1)]++] = from[i];
}

/* By start; lines with equal starts stay in the order of the text. */
static int lines_sort(struct perfmap_builder *builder)
{
	size_t cnt = builder->line_cnt;
	__cleanup_free struct perfmap_line *spare = NULL;
	uint64_t differing = 0;

	if (lines_are_sorted(builder->lines, cnt))
		return 0;
	spare = reallocarray(NULL, cnt, sizeof(*spare));
	if (!spare)
		return -ENOMEM;
	for (size_t i = 1; i < cnt; i++)
		differing |= builder->lines[i].start ^ builder->lines[0].start;
	for (unsigned int shift = 0; shift < 64; shift += RADIX_BITS) {
		struct perfmap_line *sorted = spare;

		if (!(differing >> shift & (RADIX_SIZE - 1)))
			continue;
		radix_pass(builder->lines, sorted, cnt, shift);
		spare = builder->lines;
		builder->lines = sorted;
	}
	builder->line_cap = cnt;
	return 0;
}

/* Size 0 reaches to the next start; behind the last start to the end of its page. */
static void lines_close_open_ends(struct perfmap_line *lines, size_t cnt)
{
	uint64_t next_start = 0;
	bool has_next = false;

	for (size_t i = cnt; i-- > 0;) {
		struct perfmap_line *line = &lines[i];

		if (i + 1 < cnt && lines[i + 1].start != line->start) {
			next_start = lines[i + 1].start;
			has_next = true;
		}
		if (line->end != line->start)
			continue;
		line->end = has_next ? next_start : (line->start | (PERFMAP_PAGE_BYTES - 1)) + 1;
		if (line->end == 0) /* the last page of the address space */
			line->end = UINT64_MAX;
	}
}

/* ---- settle overlaps ---- */

/* Max-heap of line indexes, the latest line of the text on top. */
struct line_heap {
	const struct perfmap_line *lines;
	uint32_t *items;
	size_t cnt;
};

static bool heap_is_later(const struct line_heap *heap, uint32_t a, uint32_t b)
{
	return heap->lines[a].name_offset > heap->lines[b].name_offset;
}

static void heap_push(struct line_heap *heap, uint32_t item)
{
	size_t at = heap->cnt++;

	while (at > 0) {
		size_t parent = (at - 1) / 2;

		if (!heap_is_later(heap, item, heap->items[parent]))
			break;
		heap->items[at] = heap->items[parent];
		at = parent;
	}
	heap->items[at] = item;
}

static void heap_pop(struct line_heap *heap)
{
	uint32_t item = heap->items[--heap->cnt];
	size_t at = 0;

	for (;;) {
		size_t child = at * 2 + 1;

		if (child >= heap->cnt)
			break;
		if (child + 1 < heap->cnt &&
		    heap_is_later(heap, heap->items[child + 1], heap->items[child]))
			child++;
		if (!heap_is_later(heap, heap->items[child], item))
			break;
		heap->items[at] = heap->items[child];
		at = child;
	}
	heap->items[at] = item;
}

static int ranges_reserve(struct perfmap_builder *builder)
{
	struct perfmap *map = builder->map;
	size_t cap;

	if (map->range_cnt < builder->range_cap)
		return 0;
	if (map->range_cnt >= PERFMAP_MAX_ENTRIES)
		return -E2BIG;
	cap = next_cap(builder->range_cap, builder->line_cnt);
	if (vec_resize(map->starts, cap) || vec_resize(map->ranges, cap))
		return -ENOMEM;
	builder->range_cap = cap;
	return 0;
}

static int ranges_add(struct perfmap_builder *builder, uint64_t start, uint64_t end, uint32_t line)
{
	struct perfmap *map = builder->map;
	int err = ranges_reserve(builder);

	if (err)
		return err;
	map->starts[map->range_cnt] = start;
	map->ranges[map->range_cnt] = (struct perfmap_range){
		.end = end,
		.name_offset = line,
		.name_len = builder->lines[line].name_len,
	};
	map->range_cnt++;
	return 0;
}

/*
 * Walks over all starts and ends in ascending order. Lines that ended leave the heap only when
 * they reach its top, so each is pushed and popped once.
 */
static int lines_sweep(struct perfmap_builder *builder, struct line_heap *heap)
{
	const struct perfmap_line *lines = builder->lines;
	size_t cnt = builder->line_cnt;
	uint32_t winner = 0; /* line that covers [since, here), if has_winner */
	bool has_winner = false;
	uint64_t since = 0;

	for (size_t next = 0; next < cnt || heap->cnt;) {
		uint64_t here = next < cnt ? lines[next].start : UINT64_MAX;

		if (heap->cnt && lines[heap->items[0]].end < here)
			here = lines[heap->items[0]].end;
		for (; next < cnt && lines[next].start == here; next++)
			heap_push(heap, (uint32_t)next);
		while (heap->cnt && lines[heap->items[0]].end <= here)
			heap_pop(heap);
		if (has_winner && heap->cnt && heap->items[0] == winner)
			continue;
		if (has_winner) {
			int err = ranges_add(builder, since, here, winner);

			if (err)
				return err;
		}
		has_winner = heap->cnt > 0;
		winner = has_winner ? heap->items[0] : 0;
		since = here;
	}
	return 0;
}

static int lines_settle(struct perfmap_builder *builder)
{
	__cleanup_free uint32_t *items = reallocarray(NULL, builder->line_cnt, sizeof(*items));
	struct line_heap heap = { .lines = builder->lines, .items = items };

	if (!items)
		return -ENOMEM;
	return lines_sweep(builder, &heap);
}

/* ---- names ---- */

/*
 * Moves the names that are used into memory of their own: once per line, however many ranges it
 * was split into, so the copy is never larger than the text.
 */
static int names_copy(struct perfmap_builder *builder)
{
	struct perfmap *map = builder->map;
	__cleanup_free uint32_t *copied = reallocarray(NULL, builder->line_cnt, sizeof(*copied));
	size_t total = 0;

	if (!copied)
		return -ENOMEM;
	memset(copied, 0xff, builder->line_cnt * sizeof(*copied));
	for (size_t i = 0; i < map->range_cnt; i++) {
		uint32_t line = map->ranges[i].name_offset;

		if (copied[line] != NAME_NOT_COPIED)
			continue;
		copied[line] = (uint32_t)total;
		total += map->ranges[i].name_len;
	}
	map->names = malloc(total);
	if (!map->names)
		return -ENOMEM;
	map->name_bytes = total;
	for (size_t i = 0; i < map->range_cnt; i++) {
		struct perfmap_range *range = &map->ranges[i];
		const struct perfmap_line *line = &builder->lines[range->name_offset];

		range->name_offset = copied[range->name_offset];
		memcpy(map->names + range->name_offset, builder->text + line->name_offset,
		       line->name_len);
	}
	return 0;
}

static void ranges_shrink(struct perfmap *map)
{
	uint64_t *starts = reallocarray(map->starts, map->range_cnt, sizeof(*starts));
	struct perfmap_range *ranges = reallocarray(map->ranges, map->range_cnt, sizeof(*ranges));

	/* Shrinking cannot really fail; if it does, the larger block is as good. */
	if (starts)
		map->starts = starts;
	if (ranges)
		map->ranges = ranges;
}

static int perfmap_build(struct perfmap_builder *builder, struct perfmap_stats *stats)
{
	int err = lines_read(builder, stats);

	if (err || builder->line_cnt == 0)
		return err;
	err = lines_sort(builder);
	if (err)
		return err;
	lines_close_open_ends(builder->lines, builder->line_cnt);
	err = lines_settle(builder);
	if (err)
		return err;
	if (builder->map->range_cnt == 0) /* a lone line at the very last address */
		return 0;
	err = names_copy(builder);
	if (err)
		return err;
	ranges_shrink(builder->map);
	stats->entry_cnt = builder->map->range_cnt;
	return 0;
}

int perfmap__parse(const char *text, size_t len, struct perfmap **out, struct perfmap_stats *stats)
{
	struct perfmap_stats counted = { 0 };
	struct perfmap_builder builder = {
		.text = text,
		.text_len = len > PERFMAP_MAX_BYTES ? PERFMAP_MAX_BYTES : len,
	};
	int err;

	builder.map = calloc(1, sizeof(*builder.map));
	if (!builder.map)
		return -ENOMEM;
	counted.text_bytes = builder.text_len;
	err = perfmap_build(&builder, &counted);
	if (!err && perfmap__bytes(builder.map) > PERFMAP_MAX_TABLE_BYTES)
		err = -E2BIG;
	free(builder.lines);
	if (err) {
		perfmap__free(builder.map);
		return err;
	}
	*out = builder.map;
	*stats = counted;
	return 0;
}

int perfmap_read(int fd, uint64_t size, struct perfmap **out, struct perfmap_stats *stats)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int err = size > PERFMAP_MAX_BYTES ? -EFBIG : strbuf_reserve(&text, (size_t)size + 1);

	if (!err)
		err = fs_read_fd(fd, PERFMAP_MAX_BYTES, &text);
	if (err == -ENOMEM || err == -EFBIG)
		return err;
	if (err)
		return -EIO;
	return perfmap__parse(strbuf_str(&text), text.len, out, stats);
}

void perfmap__free(struct perfmap *map)
{
	if (!map)
		return;
	free(map->starts);
	free(map->ranges);
	free(map->names);
	free(map);
}

int perfmap__lookup(const struct perfmap *map, uint64_t address, struct perfmap_symbol *out)
{
	const uint64_t *base = map->starts;
	const struct perfmap_range *range;
	size_t cnt = map->range_cnt;

	if (cnt == 0 || address < base[0])
		return -ENOENT;
	/* The last start <= address; written so that the compiler needs no branch inside. */
	while (cnt > 1) {
		size_t half = cnt / 2;

		base = base[half] <= address ? base + half : base;
		cnt -= half;
	}
	range = &map->ranges[base - map->starts];
	if (address >= range->end)
		return -ENOENT;
	*out = (struct perfmap_symbol){
		.start = *base,
		.end = range->end,
		.name = map->names + range->name_offset,
		.name_len = range->name_len,
	};
	return 0;
}

int perfmap__each(const struct perfmap *map, perfmap_fn fn, void *ctx)
{
	int err = 0;

	for (size_t i = 0; i < map->range_cnt && !err; i++) {
		const struct perfmap_range *range = &map->ranges[i];
		struct perfmap_symbol symbol = {
			.start = map->starts[i],
			.end = range->end,
			.name = map->names + range->name_offset,
			.name_len = range->name_len,
		};

		err = fn(ctx, &symbol);
	}
	return err;
}

size_t perfmap__bytes(const struct perfmap *map)
{
	return sizeof(*map) + map->range_cnt * (sizeof(*map->starts) + sizeof(*map->ranges)) +
	       map->name_bytes;
}
