// SPDX-License-Identifier: Apache-2.0
/* The text of the metrics, against the rules of the exposition format and against METRICS.md. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "user/serve/metrics.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"

static void render(const struct metrics *metrics, struct strbuf *out)
{
	strbuf_clear(out);
	assert_int_equal(metrics_render(metrics, out), 0);
}

static const struct metrics empty = { .version = "1" };

/* All fields at their largest, and labels that need escaping. */
static struct metrics largest(void)
{
	struct metrics metrics;

	memset(&metrics, 0xff, sizeof(metrics));
	metrics.version = "a\"b\\c\nd";
	for (size_t i = 0; i < METRICS_STATES_MAX; i++) {
		metrics.jvm_sources[i].name = NULL;
		metrics.jvm_frame_pointers[i].name = NULL;
		metrics.jvm_attaches[i].name = NULL;
	}
	metrics.jvm_sources[3].name = "vmstructs";
	memset(metrics.end_buckets, 0, sizeof(metrics.end_buckets));
	return metrics;
}

static bool is_name(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!(islower((unsigned char)text[i]) || text[i] == '_' ||
		      (i && isdigit((unsigned char)text[i]))))
			return false;
	}
	return len > 0;
}

/* Name, at most one label in quotes, a number that is not negative. */
static void check_sample(const char *line, const char *family)
{
	size_t len = strcspn(line, "{ ");
	const char *at = line + len;
	char *end;

	assert_true(is_name(line, len));
	assert_memory_equal(line, family, strlen(family));
	if (*at == '{') {
		at += 1 + strcspn(at + 1, "=");
		assert_memory_equal(at, "=\"", 2);
		for (at += 2; *at != '"'; at++) {
			if (*at == '\\') {
				at++;
				assert_non_null(strchr("\\\"n", *at));
			}
			assert_true(*at && *at != '\n');
		}
		at++;
		assert_int_equal(*at++, '}');
	}
	assert_int_equal(*at, ' ');
	assert_true(isdigit((unsigned char)at[1]));
	(void)strtod(at + 1, &end);
	assert_int_equal(*end, '\n');
}

/* HELP, TYPE, samples; each family once, and its name says what it is. */
static void check_text(const char *text)
{
	char name[128] = "", type[32];

	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		if (strncmp(line, "# HELP ", 7) == 0) {
			char again[160];

			assert_int_equal(sscanf(line, "# HELP %127s", name), 1);
			assert_true(is_name(name, strlen(name)));
			snprintf(again, sizeof(again), "# HELP %s ", name);
			assert_null(strstr(line + 1, again));
			line = strchr(line, '\n') + 1;
			snprintf(again, sizeof(again), "# TYPE %s ", name);
			assert_memory_equal(line, again, strlen(again));
			assert_int_equal(sscanf(line + strlen(again), "%31s", type), 1);
			assert_true((strcmp(type, "counter") == 0) ==
				    (strstr(name, "_total") != NULL));
			continue;
		}
		check_sample(line, name);
	}
}

static void the_text_keeps_the_rules_of_its_format(void **state)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct metrics metrics = largest();

	(void)state;
	render(&empty, &text);
	check_text(strbuf_str(&text));
	render(&metrics, &text);
	check_text(strbuf_str(&text));
	assert_non_null(strstr(text.data, "jbpf_build_info{version=\"a\\\"b\\\\c\\nd\"} 1\n"));
	assert_non_null(strstr(text.data, "jbpf_samples_total 18446744073709551615\n"));
	assert_non_null(strstr(text.data, "process_cpu_seconds_total 18446744073.709551615\n"));
	assert_non_null(strstr(text.data, "jbpf_window_jvms{source=\"vmstructs\"} "));
}

/* Names in the first column of the document's table. */
static size_t documented(const char *document, char names[][64], size_t max)
{
	size_t cnt = 0;

	for (const char *at = document; (at = strstr(at, "\n| `")); at++) {
		size_t len = strcspn(at + 4, "`");

		assert_true(cnt < max && len < 64);
		snprintf(names[cnt++], 64, "%.*s", (int)len, at + 4);
	}
	return cnt;
}

static void the_document_and_the_text_have_the_same_metrics(void **state)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT, document = STRBUF_INIT;
	char names[128][64];
	size_t cnt, family_cnt = 0;

	(void)state;
	render(&empty, &text);
	assert_int_equal(fs_read_file(AT_FDCWD, "user/serve/METRICS.md", 1 << 20, &document), 0);
	cnt = documented(strbuf_str(&document), names, ARRAY_SIZE(names));
	for (size_t i = 0; i < cnt; i++) {
		char help[96];

		snprintf(help, sizeof(help), "# HELP %s ", names[i]);
		if (!strstr(text.data, help))
			fail_msg("'%s' is documented and is not there", names[i]);
	}
	for (const char *at = text.data; (at = strstr(at, "# HELP ")); at++)
		family_cnt++;
	assert_int_equal(cnt, family_cnt);
}

static void times_to_end_a_window_fall_into_their_buckets(void **state)
{
	static const struct {
		uint64_t took_ns;
		const char *line;
	} rows[] = {
		{ 0, "_bucket{le=\"0.01\"} 1\n" },
		{ 10 * CLOCK_NS_PER_MS, "_bucket{le=\"0.01\"} 2\n" },
		{ 10 * CLOCK_NS_PER_MS + 1, "_bucket{le=\"0.05\"} 3\n" },
		{ 2 * CLOCK_NS_PER_S, "_bucket{le=\"2.50\"} 4\n" },
		{ 11 * CLOCK_NS_PER_S, "_bucket{le=\"+Inf\"} 5\n" },
	};
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct metrics metrics = empty;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		metrics_note_end(&metrics, rows[i].took_ns);
		render(&metrics, &text);
		if (!strstr(text.data, rows[i].line))
			fail_msg("%s in %s", rows[i].line, text.data);
	}
	assert_non_null(strstr(text.data, "_bucket{le=\"10.00\"} 4\n"));
	assert_non_null(strstr(text.data, "_count 5\n"));
	assert_non_null(strstr(text.data, "_sum 13.020000001\n"));
	assert_true(metrics.last_end_ns == 11 * CLOCK_NS_PER_S);
}

/* Samples that were left out on request are no loss. */
static void who_opted_out_is_not_lost(void **state)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct metrics metrics = empty;

	(void)state;
	metrics.lost[WINDOW_LOSS_OPTED_OUT] = 7;
	metrics.lost[WINDOW_LOSS_UNDECIDED] = 3;
	metrics.lost[WINDOW_LOSS_GIVEN_UP] = 5;
	render(&metrics, &text);
	assert_non_null(strstr(text.data, "jbpf_opted_out_samples_total 7\n"));
	assert_non_null(strstr(text.data, "jbpf_lost_total{reason=\"undecided\"} 3\n"));
	assert_non_null(strstr(text.data, "jbpf_lost_total{reason=\"given_up\"} 5\n"));
	assert_null(strstr(text.data, "reason=\"opted_out\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_keeps_the_rules_of_its_format),
		cmocka_unit_test(the_document_and_the_text_have_the_same_metrics),
		cmocka_unit_test(times_to_end_a_window_fall_into_their_buckets),
		cmocka_unit_test(who_opted_out_is_not_lost),
	};

	return cmocka_run_group_tests_name("serve_metrics", tests, NULL, NULL);
}
