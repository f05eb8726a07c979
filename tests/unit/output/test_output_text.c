// SPDX-License-Identifier: Apache-2.0
/* The writers whose output is text: folded, top, JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tests/unit/output_profiles.h"
#include "user/output/escape.h"
#include "user/output/info.h"
#include "user/util/cleanup.h"
#include "user/util/parse.h"
#include "user/util/utf8.h"

static void check_folded(const char *in, const char *expected)
{
	struct profile *profile = profile_of(in);
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	assert_int_equal(output_folded(profile, &out), 0);
	assert_string_equal(strbuf_str(&out), expected);
	profile__free(profile);
}

static void folded_is_sorted_and_merged(void **state)
{
	(void)state;
	check_folded("", "");
	check_folded("b;c 1\na;b_[j] 2\nb;c 3\n", "a;b_[j] 2\nb;c 4\n");
}

/* What flamegraph.pl, speedscope or Pyroscope would take for something else. */
static void folded_repairs_what_tools_misread(void **state)
{
	(void)state;
	check_folded("java;worker 12 5\n", "java;worker_12 5\n");
	check_folded("worker 12;x 5\n", "worker_12;x 5\n");
	check_folded("# hz;x 49\n", "_ hz;x 49\n");
	check_folded("java;#x 49\n", "java;#x 49\n");
	check_folded("java;a\x1b[31m 1\n", "java;a_[31m 1\n");
	check_folded("java;;a 1\n", "java;[unknown];a 1\n");
	check_folded("java;\xff 1\n", "java;? 1\n");
	check_folded("java;\xc3\xa9 1\n", "java;\xc3\xa9 1\n");
	/* Equal once repaired: one line. */
	check_folded("a;x\x01 1\na;x\x02 2\na;x_ 4\n", "a;x_ 7\n");
}

static void folded_cuts_lines_that_readers_refuse(void **state)
{
	struct profile *profile = profile__new();
	struct strbuf stack __cleanup_strbuf = STRBUF_INIT;
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;
	static const char end[] = ";[truncated] 9\n";

	(void)state;
	for (int i = 0; i < 70 * 1024 / 8; i++)
		strbuf_puts(&stack, i ? ";f234567" : "a");
	assert_int_equal(profile__add(profile, stack.data, stack.len, 9), 0);
	assert_int_equal(output_folded(profile, &out), 0);
	assert_true(out.len < 61 * 1024 && out.len > 59 * 1024);
	assert_string_equal(out.data + out.len - strlen(end), end);
	profile__free(profile);
}

/* `stack count` and nothing else, whatever the names are. */
static void folded_lines_have_one_shape(void **state)
{
	struct profile *profile = profile_hostile();
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;
	size_t line_cnt = 0;

	(void)state;
	assert_int_equal(output_folded(profile, &out), 0);
	for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n")) {
		char *blank = strrchr(line, ' ');

		assert_non_null(blank);
		assert_true(blank > line && line[0] != '#');
		assert_true(strspn(blank + 1, "0123456789") == strlen(blank + 1));
		line_cnt++;
	}
	assert_int_equal(line_cnt, profile__stack_count(profile));
	profile__free(profile);
}

static void top_is_a_table_with_its_circumstances(void **state)
{
	struct profile *profile = profile_of("java;r_[j];r_[j];x_[k] 3\njava;r_[j] 5\njava;y 2\n");
	struct output_info info = output_profiles_info;
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	info.title = "java in shop";
	info.subtitle = "";
	assert_int_equal(output_top(profile, &info, TREE_ORDER_SELF, 3, &out), 0);
	assert_string_equal(strbuf_str(&out),
			    "java in shop\n"
			    "2026-11-21T13:20:00Z to 2026-11-21T13:30:00Z (10m)\n"
			    "10 samples, 0.10 CPU seconds at 100 Hz, 2 processes\n"
			    "unknown frames 2.00 %, truncated stacks 10.00 %, lost samples 7\n"
			    "\n"
			    " SELF%   SELF  TOTAL%  TOTAL  METHOD\n"
			    " 50.00      5   80.00      8  r  [jit]\n"
			    " 30.00      3   30.00      3  x_[k]\n"
			    " 20.00      2   20.00      2  y\n"
			    "1 more method not shown\n");
	profile__free(profile);
}

static void top_fits_the_terminal_that_it_is_for(void **state)
{
	struct profile *profile = profile_of("java;com.acme.shop.checkout.Cart.total_[j] 3\n"
					     "java;a_kernel_function_of_many_words_[k] 2\n");
	struct output_info info = output_profiles_info;
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	info.columns = 60;
	assert_int_equal(output_top(profile, &info, TREE_ORDER_SELF, 2, &out), 0);
	assert_string_equal(strstr(strbuf_str(&out), " SELF%"),
			    " SELF%   SELF  TOTAL%  TOTAL  METHOD\n"
			    " 60.00      3   60.00      3  com.acm\u2026kout.Cart.total  [jit]\n"
			    " 40.00      2   40.00      2  a_kernel\u2026ion_of_many_words_[k]\n"
			    "1 more method not shown\n");
	profile__free(profile);
}

/* What people read can be typed again, whichever of the two hours it was. */
static void local_times_are_read_again(void **state)
{
	static const struct {
		const char *zone;
		uint64_t unix_s;
		const char *text;
	} rows[] = {
		{ "UTC0", 1795266000, "2026-11-21T13:00:00Z" },
		{ "CET-1CEST,M3.5.0,M10.5.0/3", 1795266000, "2026-11-21 14:00:00 CET" },
		{ "CET-1CEST,M3.5.0,M10.5.0/3", 1792888200, "2026-10-25 02:30:00 CEST" },
		{ "CET-1CEST,M3.5.0,M10.5.0/3", 1792891800, "2026-10-25 02:30:00 CET" },
		{ "<-03>3", 1795266000, "2026-11-21 10:00:00 -03:00" },
		{ "<+0545>-5:45", 1795266000, "2026-11-21 18:45:00 +05:45" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct strbuf out __cleanup_strbuf = STRBUF_INIT;
		uint64_t ns = 0;

		setenv("TZ", rows[i].zone, 1);
		tzset();
		info_append_local_time(&out, rows[i].unix_s * 1000000000);
		assert_string_equal(strbuf_str(&out), rows[i].text);
		assert_int_equal(parse_time_ns(strbuf_str(&out), 0, &ns), 0);
		assert_int_equal(ns, rows[i].unix_s * 1000000000);
	}
	setenv("TZ", "UTC0", 1);
	tzset();
}

static void top_of_nothing_is_a_header(void **state)
{
	struct profile *profile = profile__new();
	struct output_info info = { .title = "", .subtitle = NULL };
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	assert_int_equal(output_top(profile, &info, TREE_ORDER_SELF, 0, &out), 0);
	assert_string_equal(strbuf_str(&out),
			    "0 samples\n"
			    "unknown frames 0.00 %, truncated stacks 0.00 %, lost samples 0\n\n"
			    " SELF%   SELF  TOTAL%  TOTAL  METHOD\n");
	profile__free(profile);
}

static void assert_no_control_but_newline(const struct strbuf *text)
{
	for (size_t at = 0; at < text->len;) {
		uint32_t code;

		at += utf8_next(text->data + at, text->len - at, &code);
		assert_true(code != UTF8_BAD_BYTE);
		assert_true(code == '\n' || !utf8_is_deceptive(code));
	}
}

static void top_never_speaks_to_the_terminal(void **state)
{
	struct profile *profile = profile_hostile();
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	assert_int_equal(output_top(profile, &output_profiles_info, TREE_ORDER_SELF, 0, &out), 0);
	assert_no_control_but_newline(&out);
	assert_non_null(strstr(out.data, "pod=a_[2Jb\n"));
	profile__free(profile);
}

static void json_says_everything_once(void **state)
{
	struct profile *profile = profile_of("java;r_[j];x_[k] 3\njava;[unknown] 2\n");
	struct output_info info = output_profiles_info;
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	info.subtitle = NULL;
	assert_int_equal(output_json(profile, &info, &out), 0);
	assert_string_equal(
		strbuf_str(&out),
		"{\"format\":\"jbpf-profile\",\"version\":1,"
		"\"title\":\"java in \\u003cshop\\u003e \\u0026 \\\"co\\\"\",\"subtitle\":\"\","
		"\"since\":\"2026-11-21T13:20:00Z\",\"until\":\"2026-11-21T13:30:00Z\","
		"\"samples\":5,\"event\":\"cpu\",\"unit\":\"nanoseconds\",\"period\":10000000,"
		"\"frequency_hz\":100,\"cpu_seconds\":0.050,\"streams\":2,"
		"\"frames\":50,\"unknown_frames\":1,\"truncated_samples\":1,\"jit_frames\":40,"
		"\"unknown_jit_frames\":2,\"ambiguous_frames\":3,\"inlined_frames\":4,"
		"\"interpreted_frames\":5,\"jit_leaf_samples\":6,\"repaired_samples\":7,"
		"\"unrepaired_samples\":8,\"lost_samples\":7,\"truncated_by\":{\"max_depth\":1},"
		"\"stacks\":[\n"
		"{\"count\":2,\"frames\":[{\"name\":\"java\",\"kind\":\"native\"},"
		"{\"name\":\"[unknown]\",\"kind\":\"native\"}]},\n"
		"{\"count\":3,\"frames\":[{\"name\":\"java\",\"kind\":\"native\"},"
		"{\"name\":\"r\",\"kind\":\"jit\"},{\"name\":\"x\",\"kind\":\"kernel\"}]}\n"
		"],\"lines\":[],\"lines_left_out\":0}\n");
	profile__free(profile);
}

/* What is shorter than a window is asked for by fractions of a second. */
static void short_ranges_have_fractions_and_are_read_again(void **state)
{
	static const struct {
		uint64_t since_ns, until_ns; /* behind 13:00:20 */
		const char *text;
		const char *since, *until;
	} rows[] = {
		{ 240000000, 300000000, "2026-11-21T13:00:20.24Z to 2026-11-21T13:00:20.3Z (60ms)",
		  "2026-11-21T13:00:20.24Z", "2026-11-21T13:00:20.3Z" },
		{ 0, 999600000, "2026-11-21T13:00:20Z to 2026-11-21T13:00:20.999Z (1s)",
		  "2026-11-21T13:00:20Z", "2026-11-21T13:00:20.9996Z" },
		{ 123456789, 2123456789,
		  "2026-11-21T13:00:20.123Z to 2026-11-21T13:00:22.123Z (2s)",
		  "2026-11-21T13:00:20.123456789Z", "2026-11-21T13:00:22.123456789Z" },
		{ 100000, 400000, "2026-11-21T13:00:20.0001Z to 2026-11-21T13:00:20.0004Z (300us)",
		  "2026-11-21T13:00:20.0001Z", "2026-11-21T13:00:20.0004Z" },
		{ 123456789, 60123456789, "2026-11-21T13:00:20Z to 2026-11-21T13:01:20Z (1m)", NULL,
		  NULL },
	};
	const uint64_t second_ns = 1795266020000000000; /* 2026-11-21T13:00:20Z */
	struct profile *profile = profile_of("a 1\n");

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct output_info info = { .since_unix_ns = second_ns + rows[i].since_ns,
					    .until_unix_ns = second_ns + rows[i].until_ns };
		__cleanup_strbuf struct strbuf out = STRBUF_INIT, wanted = STRBUF_INIT;
		uint64_t read_ns;

		info_append_range(&out, &info);
		assert_string_equal(strbuf_str(&out), rows[i].text);
		if (!rows[i].since)
			continue;
		strbuf_clear(&out);
		assert_int_equal(output_json(profile, &info, &out), 0);
		strbuf_printf(&wanted, "\"since\":\"%s\",\"until\":\"%s\",", rows[i].since,
			      rows[i].until);
		assert_non_null(strstr(strbuf_str(&out), strbuf_str(&wanted)));
		assert_int_equal(parse_time_ns(rows[i].since, 0, &read_ns), 0);
		assert_int_equal(read_ns, info.since_unix_ns);
		assert_int_equal(parse_time_ns(rows[i].until, 0, &read_ns), 0);
		assert_int_equal(read_ns, info.until_unix_ns);
	}
	profile__free(profile);
}

/* 60 Hz are no whole nanoseconds; all writers round. */
static void json_has_the_period_of_the_other_formats(void **state)
{
	static const struct {
		struct output_info info;
		const char *period;
	} rows[] = {
		{ { .frequency_hz = 60 }, "\"period\":16666667,\"frequency_hz\":60," },
		{ { .frequency_hz = 99 }, "\"period\":10101010,\"frequency_hz\":99," },
		{ { .frequency_hz = 0 }, "\"period\":null,\"frequency_hz\":null," },
		{ { .event = EVENT_PAGE_FAULTS, .period = 64 }, "\"period\":64," },
		{ { .event = EVENT_PAGE_FAULTS }, "\"period\":null," },
	};
	struct profile *profile = profile_of("a 1\n");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;

		assert_int_equal(output_json(profile, &rows[i].info, &out), 0);
		if (!strstr(strbuf_str(&out), rows[i].period))
			fail_msg("row %zu: %s", i, strbuf_str(&out));
	}
	profile__free(profile);
}

static void json_lists_the_threads_of_each_stack(void **state)
{
	struct profile *profile = profile_of(PROFILE_OF_THREADS);
	struct output_info info = output_profiles_info;
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	info.has_threads = true;
	assert_int_equal(output_json(profile, &info, &out), 0);
	assert_non_null(strstr(strbuf_str(&out), "\"samples\":15,"));
	assert_string_equal(
		strstr(strbuf_str(&out), "\"stacks\":"),
		"\"stacks\":[\n"
		"{\"count\":5,\"frames\":[{\"name\":\"java\",\"kind\":\"native\"},"
		"{\"name\":\"a\",\"kind\":\"jit\"}],\"threads\":[{\"name\":\"main\",\"count\":2},"
		"{\"name\":\"pool-#\",\"count\":3}]},\n"
		"{\"count\":5,\"frames\":[{\"name\":\"java\",\"kind\":\"native\"},"
		"{\"name\":\"b\",\"kind\":\"native\"}],"
		"\"threads\":[{\"name\":\"GC Thread##\",\"count\":5}]},\n"
		"{\"count\":5,\"frames\":[{\"name\":\"java\",\"kind\":\"native\"},"
		"{\"name\":\"b\",\"kind\":\"native\"},{\"name\":\"c\",\"kind\":\"native\"}],"
		"\"threads\":[{\"name\":\"main\",\"count\":4}]}\n"
		"],\"lines\":[],\"lines_left_out\":0}\n");
	profile__free(profile);
}

static struct source_lines *some_lines(void)
{
	static const char text[] = "shop.Cart.add_[j];Cart.java:42 3\n"
				   "<b>_[i];T\xe2\x80\xaex.java:7 5\n"
				   "[other lines] 1\n";
	struct source_lines *lines = source_lines__new(0);
	size_t bad_cnt = 0;

	assert_non_null(lines);
	assert_int_equal(source_lines__add_text(lines, text, strlen(text), &bad_cnt), 0);
	assert_int_equal(bad_cnt, 0);
	return lines;
}

static void json_has_source_lines_hottest_first(void **state)
{
	struct profile *profile = profile_of("java;r_[j] 20\n");
	struct output_info info = output_profiles_info;
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	info.lines = some_lines();
	assert_int_equal(output_json(profile, &info, &out), 0);
	assert_non_null(strstr(
		out.data, "],\"lines\":[\n"
			  "{\"name\":\"\\u003cb\\u003e\",\"kind\":\"inlined\","
			  "\"file\":\"T_x.java\",\"line\":7,\"samples\":5},\n"
			  "{\"name\":\"shop.Cart.add\",\"kind\":\"jit\",\"file\":\"Cart.java\","
			  "\"line\":42,\"samples\":3}\n"
			  "],\"lines_left_out\":1}\n"));
	source_lines__free(info.lines);
	profile__free(profile);
}

static void lines_are_a_table_with_their_rest(void **state)
{
	struct profile *profile = profile_of("java;r_[j] 20\n");
	struct output_info info = output_profiles_info;
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	info.title = "java in shop";
	info.subtitle = "";
	info.lines = some_lines();
	assert_int_equal(output_lines(profile, &info, 0, &out), 0);
	assert_string_equal(
		strbuf_str(&out),
		"java in shop\n"
		"2026-11-21T13:20:00Z to 2026-11-21T13:30:00Z (10m)\n"
		"20 samples, 0.20 CPU seconds at 100 Hz, 2 processes\n"
		"unknown frames 2.00 %, truncated stacks 5.00 %, lost samples 7\n"
		"\n"
		" SELF%  SELF  LINE          METHOD\n"
		" 25.00     5  T_x.java:7    <b>  [inlined]\n"
		" 15.00     3  Cart.java:42  shop.Cart.add  [jit]\n"
		"60.00 % of the samples have no line: native code, the kernel, and Java "
		"whose line is not known\n");
	strbuf_clear(&out);
	assert_int_equal(output_lines(profile, &info, 1, &out), 0);
	assert_non_null(strstr(out.data, "\n1 more line not shown\n"));
	source_lines__free(info.lines);
	profile__free(profile);
}

/* What windows know of frames they know of all threads. */
static void what_is_known_of_whole_processes_is_told_as_such(void **state)
{
	const struct output_info info = {
		.is_part = true, .counts = { .samples = 10, .frames = 100, .unknown_frames = 5 }
	};
	__cleanup_strbuf struct strbuf line = STRBUF_INIT;

	(void)state;
	info_append_losses(&line, &info, 2);
	assert_string_equal(line.data, "unknown frames 5.00 %, truncated stacks 0.00 % (whole "
				       "processes), lost samples 0");
}

static void a_line_is_one_row_whichever_tier_ran_it(void **state)
{
	struct profile *profile = profile_of("java;r_[j] 20\n");
	struct output_info info = { .title = "", .lines = source_lines__new(0) };
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	assert_int_equal(source_lines__add(info.lines, "a.B.c", FRAME_KIND_INLINED, "B.java", 3, 3),
			 0);
	assert_int_equal(source_lines__add(info.lines, "a.B.d", FRAME_KIND_JIT, "B.java", 3, 5), 0);
	assert_int_equal(source_lines__add(info.lines, "a.B.c", FRAME_KIND_JIT, "B.java", 3, 9), 0);
	assert_int_equal(source_lines__add(info.lines, "a.B.c", FRAME_KIND_JIT, "B.java", 0, 1), 0);
	assert_int_equal(output_lines(profile, &info, 0, &out), 0);
	assert_non_null(strstr(out.data,
			       " 60.00    12  B.java:3          a.B.c  [jit 75 %, inlined 25 %]\n"
			       " 25.00     5  B.java:3          a.B.d  [jit]\n"
			       "  5.00     1  B.java (no line)  a.B.c  [jit]\n"));
	source_lines__free(info.lines);
	profile__free(profile);
}

static void lines_of_nothing_are_a_header(void **state)
{
	struct profile *profile = profile__new();
	struct output_info info = { .title = "", .lines = source_lines__new(0) };
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	assert_int_equal(output_lines(profile, &info, 0, &out), 0);
	assert_string_equal(strbuf_str(&out),
			    "0 samples\n"
			    "unknown frames 0.00 %, truncated stacks 0.00 %, lost samples 0\n\n"
			    " SELF%  SELF  LINE  METHOD\n");
	source_lines__free(info.lines);
	profile__free(profile);
}

static void json_of_mixed_rates_has_no_seconds(void **state)
{
	struct profile *profile = profile__new();
	struct output_info info = output_profiles_info;
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	info.frequency_hz = 0;
	assert_int_equal(output_json(profile, &info, &out), 0);
	assert_non_null(strstr(out.data, "\"frequency_hz\":null,\"cpu_seconds\":null,"));
	assert_non_null(strstr(out.data, "\"stacks\":[\n],\"lines\":[],"));
	profile__free(profile);
}

static void json_is_inert_inside_markup(void **state)
{
	struct profile *profile = profile_hostile();
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	assert_int_equal(output_json(profile, &output_profiles_info, &out), 0);
	assert_null(strpbrk(out.data, "<>&"));
	assert_null(strstr(out.data, "\xe2\x80\xa8"));
	profile__free(profile);
}

static void deep_and_wide_profiles_are_written(void **state)
{
	struct profile *deep = profile_deep(1024);
	struct profile *wide = profile_wide(100000);
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	assert_int_equal(output_json(deep, &output_profiles_info, &out), 0);
	assert_non_null(strstr(out.data, "{\"name\":\"f1023\",\"kind\":\"native\"}]}\n],"));
	strbuf_clear(&out);
	assert_int_equal(output_top(wide, &output_profiles_info, TREE_ORDER_SELF, 1, &out), 0);
	/* java, run, 7 A, 1000 B, 100,000 leaves; one is shown. */
	assert_non_null(strstr(out.data, "\n101008 more methods not shown\n"));
	profile__free(deep);
	profile__free(wide);
}

/* Faults are no time: the number of them is told, with what a sample stands for. */
static void other_events_are_told_in_their_own_unit(void **state)
{
	struct profile *profile = profile__new();
	__cleanup_strbuf struct strbuf line = STRBUF_INIT, json = STRBUF_INIT, mixed = STRBUF_INIT;
	struct output_info info = { .title = "Page faults of java" };
	struct window window = { .event = EVENT_PAGE_FAULTS,
				 .period_unit = EVENT_UNIT_EVENTS,
				 .period = 64,
				 .counts.samples = 3 };

	(void)state;
	info_add_window(&info, &window);
	assert_int_equal(profile__add_folded(profile, "java;a 3\n", 9, NULL), 0);
	info_append_samples(&line, &info, 3);
	assert_string_equal(line.data, "3 samples, about 192 page faults, one sample for 64");
	assert_int_equal(output_json(profile, &info, &json), 0);
	assert_non_null(strstr(json.data, "\"event\":\"page-faults\",\"unit\":\"faults\","
					  "\"period\":64,\"frequency_hz\":null,"
					  "\"cpu_seconds\":null,"));
	window.period = 16;
	info_add_window(&info, &window);
	info_append_samples(&mixed, &info, 6);
	assert_string_equal(mixed.data, "6 samples");
	profile__free(profile);
}

/* What is measured has no number of samples: what was lost is told in its unit, too. */
static void measured_events_are_told_in_their_unit(void **state)
{
	static const struct {
		enum event event;
		uint64_t period, lost;
		const char *amount, *samples, *losses;
	} rows[] = {
		{ EVENT_SCHED, 1000, 2000, "1.250 seconds of waiting",
		  "1.250 seconds of waiting, in microseconds",
		  "unknown frames 0.00 %, truncated stacks 0.00 %, lost 0.002 seconds" },
		{ EVENT_ALLOC, 1024, 512, "1220.7 MiB of allocation",
		  "1220.7 MiB of allocation, in KiB",
		  "unknown frames 0.00 %, truncated stacks 0.00 %, lost 0.5 MiB" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf line = STRBUF_INIT;
		struct output_info info = { .event = rows[i].event, .lost_samples = rows[i].lost };
		const struct window window = { .event = rows[i].event,
					       .period = rows[i].period,
					       .counts.samples = 1250000 };

		info_add_window(&info, &window);
		info_append_amount(&line, &info, 1250000);
		assert_string_equal(line.data, rows[i].amount);
		strbuf_clear(&line);
		info_append_samples(&line, &info, 1250000);
		assert_string_equal(line.data, rows[i].samples);
		strbuf_clear(&line);
		info_append_losses(&line, &info, 1250000);
		assert_string_equal(line.data, rows[i].losses);
	}
}

/* Most of all waiting is for work; what is not shown of it is told, the most first. */
static void what_is_not_shown_is_told_as_time(void **state)
{
	static const struct {
		enum event event;
		uint64_t period, hidden[WAITING_PLACE_CNT];
		const char *text;
	} rows[] = {
		{ EVENT_OFF_CPU,
		  100000000,
		  { 0 },
		  "3 samples, 0.30 seconds of waiting, one sample for 100 ms" },
		{ EVENT_OFF_CPU,
		  100000000,
		  { [WAITING_POOL] = 75, [WAITING_IDLE] = 150 },
		  "3 samples, 0.30 seconds of waiting, one sample for 100 ms, not shown without --idle: "
		  "22.50 seconds of threads that wait for work (idle threads 15.00, pool queues 7.50)" },
		{ EVENT_SCHED,
		  1000,
		  { [WAITING_SELECTOR] = 2500000 },
		  "0.000 seconds of waiting, in microseconds, not shown without --idle: 2.50 seconds of "
		  "threads that wait for work (selectors and acceptors 2.50)" },
		{ EVENT_WALL,
		  0,
		  { [WAITING_IDLE] = 1500000 },
		  "0.00 seconds of wall-clock time, counts are microseconds, not shown without --idle: 1.50 "
		  "seconds of threads that wait for work (idle threads 1.50)" },
		/* Samples that stand for different times. */
		{ EVENT_OFF_CPU,
		  0,
		  { [WAITING_JVM] = 2, [WAITING_REFERENCE] = 2 },
		  "3 samples, not shown without --idle: 4 samples of threads that wait for work "
		  "(reference and cleaner threads 2, threads of the JVM 2)" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf line = STRBUF_INIT;
		struct output_info info = { .event = rows[i].event, .period = rows[i].period };

		memcpy(info.hidden_samples, rows[i].hidden, sizeof(info.hidden_samples));
		info_append_samples(&line, &info, 3);
		assert_string_equal(strbuf_str(&line), rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_shown_is_told_as_time),
		cmocka_unit_test(folded_is_sorted_and_merged),
		cmocka_unit_test(folded_repairs_what_tools_misread),
		cmocka_unit_test(folded_cuts_lines_that_readers_refuse),
		cmocka_unit_test(folded_lines_have_one_shape),
		cmocka_unit_test(top_is_a_table_with_its_circumstances),
		cmocka_unit_test(top_fits_the_terminal_that_it_is_for),
		cmocka_unit_test(local_times_are_read_again),
		cmocka_unit_test(top_of_nothing_is_a_header),
		cmocka_unit_test(top_never_speaks_to_the_terminal),
		cmocka_unit_test(json_says_everything_once),
		cmocka_unit_test(short_ranges_have_fractions_and_are_read_again),
		cmocka_unit_test(json_has_the_period_of_the_other_formats),
		cmocka_unit_test(json_lists_the_threads_of_each_stack),
		cmocka_unit_test(json_has_source_lines_hottest_first),
		cmocka_unit_test(lines_are_a_table_with_their_rest),
		cmocka_unit_test(a_line_is_one_row_whichever_tier_ran_it),
		cmocka_unit_test(what_is_known_of_whole_processes_is_told_as_such),
		cmocka_unit_test(lines_of_nothing_are_a_header),
		cmocka_unit_test(json_of_mixed_rates_has_no_seconds),
		cmocka_unit_test(json_is_inert_inside_markup),
		cmocka_unit_test(deep_and_wide_profiles_are_written),
		cmocka_unit_test(other_events_are_told_in_their_own_unit),
		cmocka_unit_test(measured_events_are_told_in_their_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
