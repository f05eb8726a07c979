// SPDX-License-Identifier: Apache-2.0
/*
 * Perf map text: the grammar as producers write it, what is refused, who wins where lines overlap,
 * and a comparison of the sweep with the obvious slow way on random maps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>

#include "symbols/perfmap/perfmap.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/strbuf.h"

static struct perfmap *parsed(const char *text, size_t len, struct perfmap_stats *stats)
{
	struct perfmap *map = NULL;

	assert_int_equal(perfmap__parse(text, len, &map, stats), 0);
	assert_non_null(map);
	return map;
}

static void assert_name(const struct perfmap *map, uint64_t address, const char *expected)
{
	struct perfmap_symbol symbol;

	if (!expected) {
		assert_int_equal(perfmap__lookup(map, address, &symbol), -ENOENT);
		return;
	}
	assert_int_equal(perfmap__lookup(map, address, &symbol), 0);
	assert_int_equal(symbol.name_len, strlen(expected));
	assert_memory_equal(symbol.name, expected, symbol.name_len);
	assert_true(symbol.start <= address && address < symbol.end);
}

static void perfmap_reads_every_spelling_of_a_line(void **state)
{
	static const struct {
		const char *line;
		uint64_t start, end;
		const char *name;
	} rows[] = {
		{ "1000 10 foo", 0x1000, 0x1010, "foo" },
		{ "0x1000 0x10 foo", 0x1000, 0x1010, "foo" },
		{ "0X1aBc 0XF foo", 0x1abc, 0x1acb, "foo" },
		{ "0x0000000000001000 0x0000000000000010 int A.b(int, int)", 0x1000, 0x1010,
		  "int A.b(int, int)" },
		{ "00000000000000000000001000 10 foo", 0x1000, 0x1010, "foo" },
		{ "1000\t \t10 \t foo bar ", 0x1000, 0x1010, "foo bar " },
		{ "  1000 10 foo", 0x1000, 0x1010, "foo" },
		{ "1000 10 foo\r", 0x1000, 0x1010, "foo" },
		{ "1000 10 \xff\xfe;\x01", 0x1000, 0x1010, "\xff\xfe;\x01" },
		{ "1000 10 a", 0x1000, 0x1010, "a" }, /* perf drops names of 1 or 2 characters */
		{ "ffffffffffffff00 ff x", 0xffffffffffffff00, UINT64_MAX, "x" },
		{ "0 1 zero", 0, 1, "zero" },
		{ "1000 0 open", 0x1000, 0x2000, "open" },
		{ "fffffffffffffff0 0 open", 0xfffffffffffffff0, UINT64_MAX, "open" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct perfmap_stats stats;
		struct perfmap_symbol symbol;
		char text[256];
		int len = snprintf(text, sizeof(text), "%s\n", rows[i].line);
		struct perfmap *map = parsed(text, (size_t)len, &stats);

		assert_int_equal(stats.line_cnt, 1);
		assert_int_equal(stats.rejected_cnt, 0);
		assert_int_equal(stats.entry_cnt, 1);
		assert_int_equal(perfmap__lookup(map, rows[i].start, &symbol), 0);
		assert_int_equal(symbol.start, rows[i].start);
		assert_int_equal(symbol.end, rows[i].end);
		assert_name(map, rows[i].start, rows[i].name);
		assert_name(map, rows[i].end - 1, rows[i].name);
		assert_name(map, rows[i].end, NULL);
		if (rows[i].start)
			assert_name(map, rows[i].start - 1, NULL);
		perfmap__free(map);
	}
}

static void perfmap_rejects_bad_lines_one_by_one(void **state)
{
	static const char *const lines[] = {
		"",
		" ",
		"\r",
		"zz 10 foo",
		"1000",
		"1000 10",
		"1000 10 ",
		"1000 10 \t \r",
		"1000 zz foo",
		"1000foo 10 x",
		"1000 10foo",
		"-1000 10 foo",
		"0x 10 foo",
		"10000000000000000 10 sixteen-bytes-and-more",
		"1000 10000000000000000 foo",
		"fffffffffffffff0 11 wraps",
		"1000,10,foo",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct perfmap_stats stats;
		char text[256];
		int len = snprintf(text, sizeof(text), "2000 10 before\n%s\n3000 10 after\n",
				   lines[i]);
		struct perfmap *map = parsed(text, (size_t)len, &stats);

		assert_int_equal(stats.line_cnt, 3);
		assert_int_equal(stats.rejected_cnt, 1);
		assert_int_equal(stats.entry_cnt, 2);
		assert_name(map, 0x2000, "before");
		assert_name(map, 0x3000, "after");
		perfmap__free(map);
	}
}

static void perfmap_bounds_the_length_of_a_name(void **state)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct perfmap_stats stats;
	struct perfmap_symbol symbol;
	struct perfmap *map;

	(void)state;
	strbuf_puts(&text, "1000 10 ");
	for (int i = 0; i < 16384; i++)
		strbuf_putc(&text, 'a');
	strbuf_puts(&text, "\n2000 10 ");
	for (int i = 0; i < 16385; i++)
		strbuf_putc(&text, 'b');
	strbuf_puts(&text, "\n");
	map = parsed(text.data, text.len, &stats);
	assert_int_equal(stats.rejected_cnt, 1);
	assert_int_equal(perfmap__lookup(map, 0x1000, &symbol), 0);
	assert_int_equal(symbol.name_len, 16384);
	assert_name(map, 0x2000, NULL);
	perfmap__free(map);
}

/* A name that begins with a NUL would be an empty one to all that read C strings. */
static void perfmap_takes_no_name_that_holds_a_nul(void **state)
{
	static const char text[] =
		"1000 10 \0hidden\n2000 10 half\0hidden\n3000 10 end\0\n4000 10 good\n";
	struct perfmap_stats stats;
	struct perfmap *map = parsed(text, sizeof(text) - 1, &stats);

	(void)state;
	assert_int_equal(stats.line_cnt, 4);
	assert_int_equal(stats.rejected_cnt, 3);
	for (uint64_t address = 0x1000; address < 0x4000; address += 0x1000)
		assert_name(map, address, NULL);
	assert_name(map, 0x4000, "good");
	perfmap__free(map);
}

static void perfmap_of_nothing_answers_nothing(void **state)
{
	static const char *const texts[] = { "", "\n\n\n", "1000 10 cut off", "garbage\n",
					     "ffffffffffffffff 0 last\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct perfmap_stats stats;
		struct perfmap *map = parsed(texts[i], strlen(texts[i]), &stats);

		assert_int_equal(stats.entry_cnt, 0);
		assert_name(map, 0, NULL);
		assert_name(map, 0x1000, NULL);
		assert_name(map, UINT64_MAX, NULL);
		assert_true(perfmap__bytes(map) > 0);
		perfmap__free(map);
	}
	perfmap__free(NULL);
}

static void perfmap_drops_a_last_line_without_newline(void **state)
{
	static const char text[] = "1000 10 whole\n2000 10 hal";
	struct perfmap_stats stats;
	struct perfmap *map = parsed(text, strlen(text), &stats);

	(void)state;
	assert_int_equal(stats.line_cnt, 1);
	assert_int_equal(stats.rejected_cnt, 0);
	assert_int_equal(stats.text_bytes, strlen(text));
	assert_name(map, 0x1000, "whole");
	assert_name(map, 0x2000, NULL);
	perfmap__free(map);
}

struct probe_row {
	uint64_t address;
	const char *name;
};

static void assert_map(const char *text, size_t entry_cnt, const struct probe_row *rows)
{
	struct perfmap_stats stats;
	struct perfmap *map = parsed(text, strlen(text), &stats);

	assert_int_equal(stats.entry_cnt, entry_cnt);
	for (; rows->address; rows++)
		assert_name(map, rows->address, rows->name);
	perfmap__free(map);
}

static void perfmap_later_line_wins_over_earlier_one(void **state)
{
	(void)state;
	assert_map("1000 10 old\n1000 10 new\n", 1,
		   (struct probe_row[]){ { 0x1000, "new" }, { 0x100f, "new" }, { 0 } });
	assert_map("1000 100 outer\n1040 10 inner\n", 3,
		   (struct probe_row[]){ { 0x103f, "outer" },
					 { 0x1040, "inner" },
					 { 0x104f, "inner" },
					 { 0x1050, "outer" },
					 { 0x10ff, "outer" },
					 { 0x1100, NULL },
					 { 0 } });
	assert_map("1040 10 inner\n1000 100 outer\n", 1,
		   (struct probe_row[]){ { 0x1040, "outer" }, { 0x1000, "outer" }, { 0 } });
	assert_map("1000 20 left\n1010 20 right\n", 2,
		   (struct probe_row[]){
			   { 0x100f, "left" }, { 0x1010, "right" }, { 0x102f, "right" }, { 0 } });
	assert_map("1010 20 right\n1000 20 left\n", 2,
		   (struct probe_row[]){
			   { 0x101f, "left" }, { 0x1020, "right" }, { 0x102f, "right" }, { 0 } });
	/* The same start, the later one shorter: the rest of the earlier one stays. */
	assert_map("1000 20 long\n1000 10 short\n", 2,
		   (struct probe_row[]){ { 0x100f, "short" }, { 0x1010, "long" }, { 0 } });
}

static void perfmap_size_zero_reaches_to_the_next_start(void **state)
{
	(void)state;
	assert_map("1000 0 open\n1800 10 next\n", 2,
		   (struct probe_row[]){
			   { 0x17ff, "open" }, { 0x1800, "next" }, { 0x1810, NULL }, { 0 } });
	assert_map("1000 0 first\n1000 0 second\n1100 1 end\n", 2,
		   (struct probe_row[]){ { 0x1000, "second" }, { 0x10ff, "second" }, { 0 } });
	assert_map("1000 0 open\n1000 8 sized\n1100 1 end\n", 3,
		   (struct probe_row[]){ { 0x1007, "sized" }, { 0x1008, "open" }, { 0 } });
	assert_map("1234 0 last\n", 1,
		   (struct probe_row[]){ { 0x1fff, "last" }, { 0x2000, NULL }, { 0 } });
}

static void perfmap_sorts_starts_that_differ_in_any_digit(void **state)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct perfmap_stats stats;
	struct perfmap *map;

	(void)state;
	for (int bit = 63; bit >= 4; bit--)
		strbuf_printf(&text, "%llx 1 bit%d\n", 1ull << bit, bit);
	map = parsed(text.data, text.len, &stats);
	assert_int_equal(stats.entry_cnt, 60);
	for (int bit = 63; bit >= 4; bit--) {
		char name[16];

		snprintf(name, sizeof(name), "bit%d", bit);
		assert_name(map, 1ull << bit, name);
		assert_name(map, (1ull << bit) + 1, NULL);
	}
	perfmap__free(map);
}

#define RANDOM_SPACE 512

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

/* Sizes are never 0 here, so that painting line by line is the whole truth. */
static void compare_with_painting(uint64_t seed)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int painted[RANDOM_SPACE];
	struct perfmap_stats stats;
	struct perfmap *map;

	memset(painted, 0xff, sizeof(painted));
	for (int line = 0; line < 60; line++) {
		uint64_t start = next_random(&seed) % (RANDOM_SPACE - 64);
		uint64_t size = 1 + next_random(&seed) % 63;

		strbuf_printf(&text, "%llx %llx n%d\n", (unsigned long long)start,
			      (unsigned long long)size, line);
		for (uint64_t i = start; i < start + size; i++)
			painted[i] = line;
	}
	map = parsed(text.data, text.len, &stats);
	for (uint64_t i = 0; i < RANDOM_SPACE; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", painted[i]);
		assert_name(map, i, painted[i] < 0 ? NULL : name);
	}
	perfmap__free(map);
}

static void perfmap_settles_random_overlaps_like_painting_does(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++)
		compare_with_painting(seed);
}

static void perfmap_hostile_nesting_stays_small_and_right(void **state)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	const unsigned int cnt = 100000;
	struct perfmap_stats stats;
	struct perfmap *map;

	(void)state;
	for (unsigned int i = 0; i < cnt; i++)
		strbuf_printf(&text, "%x %x n%u\n", 1 + i, 2 * cnt - 2 * i, i);
	map = parsed(text.data, text.len, &stats);
	assert_int_equal(stats.entry_cnt, 2 * cnt - 1);
	assert_name(map, 1, "n0");
	assert_name(map, cnt, "n99999");
	assert_name(map, 2 * cnt, "n0");
	/* Names are stored once, however often their range was split. */
	assert_true(perfmap__bytes(map) < (2 * cnt) * 24 + text.len);
	perfmap__free(map);
}

static void perfmap_refuses_more_lines_than_it_may_hold(void **state)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct perfmap_stats stats = { .line_cnt = 77 };
	struct perfmap *map = NULL;

	(void)state;
	for (unsigned int i = 0; i < PERFMAP_MAX_ENTRIES; i++)
		strbuf_append(&text, "1 1 a\n", 6);
	assert_int_equal(perfmap__parse(text.data, text.len, &map, &stats), 0);
	assert_int_equal(stats.entry_cnt, 1);
	perfmap__free(map);
	map = NULL;
	stats.line_cnt = 77;
	strbuf_puts(&text, "1 1 a\n");
	assert_int_equal(perfmap__parse(text.data, text.len, &map, &stats), -E2BIG);
	assert_null(map);
	assert_int_equal(stats.line_cnt, 77);
}

static void perfmap_with_too_many_bytes_of_names_is_refused(void **state)
{
	static const size_t line_bytes = 16000, line_cnt = PERFMAP_MAX_TABLE_BYTES / 15000;
	char *text = malloc(line_cnt * line_bytes);
	struct perfmap_stats stats;
	struct perfmap *map = NULL;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', line_cnt * line_bytes);
	for (size_t i = 0; i < line_cnt; i++) {
		int len = sprintf(text + i * line_bytes, "%zx 10", (i + 1) * 0x100);

		text[i * line_bytes + (size_t)len] = ' ';
		text[(i + 1) * line_bytes - 1] = '\n';
	}
	assert_int_equal(perfmap__parse(text, line_cnt * line_bytes, &map, &stats), -E2BIG);
	assert_null(map);
	assert_int_equal(perfmap__parse(text, line_cnt / 2 * line_bytes, &map, &stats), 0);
	assert_int_equal(stats.entry_cnt, line_cnt / 2);
	perfmap__free(map);
	free(text);
}

static void perfmap_reads_maps_of_other_runtimes(void **state)
{
	static const struct {
		const char *path;
		size_t entry_cnt;
		uint64_t address;
		const char *name;
	} rows[] = {
		{ "hotspot17.map", 8, 0x7f9a50a0ac10, "int Work.mix(int, int)" },
		{ "hotspot17.map", 8, 0x7f9a5070a040, "Interpreter" },
		{ "node.map", 5, 0x1d2f3a404e0, "LazyCompile:*route /srv/app.js:40:9" },
		{ "node.map", 5, 0x1d2f3a40580, "LazyCompile:~fib /srv/app.js:3:13" },
		{ "dotnet.map", 3, 0x7f1a2c3d4e50, "void [App] App.Worker::Run(int32)[Tier0]" },
		{ "cpython.map", 2, 0x7f3a1c00000c,
		  "py::Worker.run.<locals>.<lambda>:/srv/my app.py" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf text = STRBUF_INIT;
		struct perfmap_stats stats;
		struct perfmap *map;
		char path[128];

		snprintf(path, sizeof(path), "tests/fixtures/perfmap/%s", rows[i].path);
		assert_int_equal(fs_read_file(AT_FDCWD, path, 1 << 20, &text), 0);
		map = parsed(text.data, text.len, &stats);
		assert_int_equal(stats.rejected_cnt, 0);
		assert_int_equal(stats.entry_cnt, rows[i].entry_cnt);
		assert_name(map, rows[i].address, rows[i].name);
		perfmap__free(map);
	}
}

static void perfmap_every_prefix_of_a_map_is_parsed(void **state)
{
	static const char text[] =
		"0x1000 0x10 java.lang.Object a.B.c(int)\r\n2000 0 x\n2000 8 yy\n";

	(void)state;
	for (size_t len = 0; len <= strlen(text); len++) {
		/* An exact copy, so that ASan sees a read past the end. */
		__cleanup_free char *copy = malloc(len ? len : 1);
		struct perfmap_stats stats;
		struct perfmap *map;

		assert_non_null(copy);
		memcpy(copy, text, len);
		map = parsed(copy, len, &stats);
		assert_int_equal(stats.rejected_cnt, 0);
		perfmap__free(map);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(perfmap_reads_every_spelling_of_a_line),
		cmocka_unit_test(perfmap_rejects_bad_lines_one_by_one),
		cmocka_unit_test(perfmap_bounds_the_length_of_a_name),
		cmocka_unit_test(perfmap_takes_no_name_that_holds_a_nul),
		cmocka_unit_test(perfmap_of_nothing_answers_nothing),
		cmocka_unit_test(perfmap_drops_a_last_line_without_newline),
		cmocka_unit_test(perfmap_later_line_wins_over_earlier_one),
		cmocka_unit_test(perfmap_size_zero_reaches_to_the_next_start),
		cmocka_unit_test(perfmap_sorts_starts_that_differ_in_any_digit),
		cmocka_unit_test(perfmap_settles_random_overlaps_like_painting_does),
		cmocka_unit_test(perfmap_hostile_nesting_stays_small_and_right),
		cmocka_unit_test(perfmap_refuses_more_lines_than_it_may_hold),
		cmocka_unit_test(perfmap_with_too_many_bytes_of_names_is_refused),
		cmocka_unit_test(perfmap_reads_maps_of_other_runtimes),
		cmocka_unit_test(perfmap_every_prefix_of_a_map_is_parsed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
