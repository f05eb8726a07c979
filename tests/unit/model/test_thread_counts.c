// SPDX-License-Identifier: Apache-2.0
/*
 * Threads of a window's lines: what is encoded is what is read, in whatever order it came; bytes that
 * are no code are refused whatever they look like; a reader never says more samples than a line has.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "user/model/thread_counts.h"
#include "user/util/cleanup.h"

struct sample {
	uint32_t line;
	const char *name;
	uint64_t samples;
};

static void encode(const struct sample *samples, size_t cnt, size_t max_names,
		   const uint32_t *place, struct strbuf *out)
{
	struct thread_counts *counts = thread_counts__new(max_names);

	assert_non_null(counts);
	for (size_t i = 0; i < cnt; i++)
		assert_int_equal(thread_counts__add(counts, samples[i].line, samples[i].name,
						    samples[i].name ? strlen(samples[i].name) : 0,
						    samples[i].samples),
				 0);
	assert_int_equal(thread_counts__encode(counts, place, out), 0);
	thread_counts__free(counts);
}

/* "name:count name:count|..." of lines with these totals. */
static const char *read_all(const struct strbuf *code, const uint64_t *totals, size_t cnt)
{
	static char text[1024];
	__cleanup_thread_reader struct thread_reader reader = { .names = NULL };
	struct thread_part part;
	size_t len = 0;

	assert_int_equal(thread_reader_open(&reader, (const uint8_t *)strbuf_str(code), code->len),
			 0);
	text[0] = '\0';
	for (size_t i = 0; i < cnt; i++) {
		uint64_t sum = 0;

		thread_reader_line(&reader, totals[i]);
		if (i)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "|");
		for (const char *blank = ""; thread_reader_next(&reader, &part); blank = " ") {
			assert_true(!part.name || strlen(part.name) == part.len);
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s:%llu", blank,
						part.name ? part.name : "-",
						(unsigned long long)part.count);
			sum += part.count;
		}
		assert_int_equal(sum, totals[i]);
	}
	return text;
}

#define TOTALS(...)                          \
	((const uint64_t[]){ __VA_ARGS__ }), \
		sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t)

static void every_sample_comes_back_under_its_name(void **state)
{
	static const struct sample samples[] = {
		{ 2, "main", 5 }, { 0, "GC Thread##", 1 }, { 0, "main", 3 }, { 1, "main", 2 },
		{ 2, "b", 2 },	  { 2, "GC Thread##", 1 }, { 0, "main", 1 },
	};
	__cleanup_strbuf struct strbuf code = STRBUF_INIT;

	(void)state;
	encode(samples, ARRAY_SIZE(samples), 0, NULL, &code);
	assert_string_equal(read_all(&code, TOTALS(5, 2, 8)),
			    "GC Thread##:1 main:4|main:2|GC Thread##:1 b:2 main:5");
}

static void a_line_of_one_thread_takes_one_byte(void **state)
{
	static const struct sample samples[] = { { 0, "a", 1 }, { 1, "a", 900 }, { 2, "a", 7 } };
	__cleanup_strbuf struct strbuf code = STRBUF_INIT;

	(void)state;
	encode(samples, ARRAY_SIZE(samples), 0, NULL, &code);
	assert_int_equal(code.len, sizeof("\1\1a\0\3\1\1\1\0") - 1);
	assert_memory_equal(code.data, "\1\1a\0\3\1\1\1\0", code.len);
}

static void lines_get_their_place_before_they_are_written(void **state)
{
	static const struct sample samples[] = { { 0, "a", 1 }, { 1, "b", 2 }, { 2, "c", 3 } };
	static const uint32_t place[] = { 2, 0, 1 };
	__cleanup_strbuf struct strbuf code = STRBUF_INIT;

	(void)state;
	encode(samples, ARRAY_SIZE(samples), 0, place, &code);
	assert_string_equal(read_all(&code, TOTALS(2, 3, 1)), "b:2|c:3|a:1");
}

static void what_is_not_known_is_nobodys(void **state)
{
	static const struct sample unknown[] = { { 0, NULL, 4 }, { 1, NULL, 5 } };
	static const struct sample some[] = { { 0, NULL, 4 }, { 0, "a", 5 }, { 1, NULL, 1 } };
	__cleanup_strbuf struct strbuf code = STRBUF_INIT;

	(void)state;
	encode(unknown, ARRAY_SIZE(unknown), 0, NULL, &code);
	assert_int_equal(code.len, 0);
	assert_string_equal(read_all(&code, TOTALS(4, 5)), "-:4|-:5");
	encode(some, ARRAY_SIZE(some), 0, NULL, &code);
	assert_string_equal(read_all(&code, TOTALS(9, 1, 3)), "-:4 a:5|-:1|-:3");
}

static void too_many_names_become_one(void **state)
{
	struct thread_counts *counts = thread_counts__new(2);
	__cleanup_strbuf struct strbuf code = STRBUF_INIT;
	char name[16];

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "t%u", i % 100);
		assert_int_equal(thread_counts__add(counts, 0, name, strlen(name), 1), 0);
	}
	assert_int_equal(thread_counts__encode(counts, NULL, &code), 0);
	thread_counts__free(counts);
	assert_string_equal(read_all(&code, TOTALS(1000)), "t0:10 t1:10 [other threads]:980");
}

static void names_that_readers_would_refuse_are_refused(void **state)
{
	struct thread_counts *counts = thread_counts__new(0);
	char name[THREAD_NAME_BYTES + 1];

	(void)state;
	memset(name, 'n', sizeof(name));
	assert_int_equal(thread_counts__add(counts, 0, name, sizeof(name), 1), -EINVAL);
	assert_int_equal(thread_counts__add(counts, 0, name, sizeof(name) - 1, 1), 0);
	assert_int_equal(thread_counts__add(counts, 0, "a\0b", 3, 1), -EINVAL);
	thread_counts__free(counts);
}

static void a_gatherer_that_was_cleared_names_nobody_it_had_before(void **state)
{
	struct thread_counts *counts = thread_counts__new(0);
	__cleanup_strbuf struct strbuf code = STRBUF_INIT;

	(void)state;
	assert_int_equal(thread_counts__add(counts, 0, "before", 6, 1), 0);
	thread_counts__clear(counts);
	assert_int_equal(thread_counts__add(counts, 7, "a", 1, 1), 0);
	assert_int_equal(thread_counts__encode(counts, NULL, &code), 0);
	assert_int_equal(code.len, sizeof("\1\1a\0\1\1\0") - 1);
	thread_counts__free(counts);
}

static void broken_code_is_refused(void **state)
{
#define CODE(bytes)                      \
	{                                \
		bytes, sizeof(bytes) - 1 \
	}
	static const struct {
		const char *bytes;
		size_t len;
	} rows[] = {
		CODE("\1"),			       /* no name */
		CODE("\xff\xff\xff\xff\x0f"),	       /* names without end */
		CODE("\1\1ab\1\1\0"),		       /* a name without its NUL */
		CODE("\1\2a\0\0\1\1\0"),	       /* a NUL within */
		CODE("\1\1a\0\2\1\0"),		       /* a line without its home */
		CODE("\1\1a\0\1\2\0"),		       /* a thread that has no name */
		CODE("\1\1a\0\1\1"),		       /* nothing behind the homes */
		CODE("\1\1a\0\1\1\1\1\1\1"),	       /* a part of a line that is not there */
		CODE("\1\1a\0\1\1\1\0\2\1"),	       /* a part of a thread that is not there */
		CODE("\1\1a\0\1\1\1\0\1"),	       /* a part without its samples */
		CODE("\1\1a\0\1\1\0\0"),	       /* something behind the end */
		CODE("\1\1a\0\xff\xff\xff\xff\1\1\0"), /* lines without end */
	};
	__cleanup_thread_reader struct thread_reader reader = { .names = NULL };
	struct thread_part part;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (thread_reader_open(&reader, (const uint8_t *)rows[i].bytes, rows[i].len) !=
		    -EINVAL)
			fail_msg("row %zu", i);
		thread_reader_line(&reader, 3);
		assert_true(thread_reader_next(&reader, &part));
		assert_null(part.name);
		assert_false(thread_reader_next(&reader, &part));
	}
}

/* Written by somebody else, for another text. */
static void a_line_gives_no_more_than_it_has(void **state)
{
	static const char bytes[] = "\2\1a\0\1b\0\2\1\1\2\0\2\7\1\2\3";
	struct strbuf code = { .data = (char *)(uintptr_t)bytes, .len = sizeof(bytes) - 1 };

	(void)state;
	assert_string_equal(read_all(&code, TOTALS(9, 9)), "b:7 a:2|b:3 a:6");
	assert_string_equal(read_all(&code, TOTALS(2, 9)), "b:2|b:3 a:6");
	assert_string_equal(read_all(&code, TOTALS(0, 0, 1)), "||-:1");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_sample_comes_back_under_its_name),
		cmocka_unit_test(a_line_of_one_thread_takes_one_byte),
		cmocka_unit_test(lines_get_their_place_before_they_are_written),
		cmocka_unit_test(what_is_not_known_is_nobodys),
		cmocka_unit_test(too_many_names_become_one),
		cmocka_unit_test(names_that_readers_would_refuse_are_refused),
		cmocka_unit_test(a_gatherer_that_was_cleared_names_nobody_it_had_before),
		cmocka_unit_test(broken_code_is_refused),
		cmocka_unit_test(a_line_gives_no_more_than_it_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
