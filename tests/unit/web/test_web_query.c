// SPDX-License-Identifier: Apache-2.0
/* Parameters of a request become the arguments of a command, and only those that read. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/web/web_query.h"

static const struct web_source some = { .store = "/s" }, spaced = { .store = "/a b" };
static struct web_query query;
static char why[256];

static int add(const char *key, const char *value)
{
	why[0] = '\0';
	return web_query_add(&query, key, value, why, sizeof(why));
}

static void must_be(int index, const char *argument)
{
	assert_true(index < query.argument_cnt);
	assert_string_equal(query.arguments[index], argument);
	assert_null(query.arguments[query.argument_cnt]);
}

static void paths_are_known_as_a_whole(void **state)
{
	(void)state;
	assert_int_equal(web_query_endpoint("/api/v1/info"), WEB_ENDPOINT_INFO);
	assert_int_equal(web_query_endpoint("/api/v1/timeline"), WEB_ENDPOINT_TIMELINE);
	assert_int_equal(web_query_endpoint("/api/v1/profile"), WEB_ENDPOINT_PROFILE);
	assert_int_equal(web_query_endpoint("/api/v1/diff"), WEB_ENDPOINT_DIFF);
	assert_int_equal(web_query_endpoint("/api/v1/profile/"), WEB_ENDPOINT_NONE);
	assert_int_equal(web_query_endpoint("/api/v1"), WEB_ENDPOINT_NONE);
	assert_int_equal(web_query_endpoint(""), WEB_ENDPOINT_NONE);
}

static void parameters_become_arguments(void **state)
{
	(void)state;
	assert_int_equal(web_query_begin(&query, WEB_ENDPOINT_PROFILE, &spaced), 0);
	must_be(0, "jbpf-dump");
	must_be(1, "--store=/a b");
	must_be(2, "--format=html");
	assert_int_equal(add("since", "@1"), 0);
	assert_int_equal(add("container", "--output=/etc/passwd"), 0);
	must_be(3, "--since=@1");
	/* One argument, whatever is in it. */
	must_be(4, "--container=--output=/etc/passwd");
	assert_int_equal(add("token", "secret"), 0);
	assert_int_equal(query.argument_cnt, 5);
	web_query_release(&query);
	assert_int_equal(query.argument_cnt, 0);
}

static void what_writes_or_reads_elsewhere_is_no_parameter(void **state)
{
	static const char *const keys[] = { "output",	  "store", "o",	     "help",  "version",
					    "output-dir", "days",  "list",   "from",  "fail-on",
					    "",		  "Since", "since=", "before" };

	(void)state;
	assert_int_equal(web_query_begin(&query, WEB_ENDPOINT_PROFILE, &some), 0);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		assert_int_equal(add(keys[i], "1"), -EINVAL);
		assert_non_null(strstr(why, "no parameter"));
	}
	assert_int_equal(query.argument_cnt, 3);
	web_query_release(&query);
	assert_int_equal(web_query_begin(&query, WEB_ENDPOINT_INFO, &some), 0);
	assert_int_equal(add("since", "1h"), -EINVAL);
	assert_int_equal(add("format", "json"), -EINVAL);
	web_query_release(&query);
}

static void the_format_says_what_the_answer_is(void **state)
{
	(void)state;
	assert_int_equal(web_query_begin(&query, WEB_ENDPOINT_PROFILE, &some), 0);
	assert_string_equal(query.media->media_type, "text/html; charset=utf-8");
	assert_int_equal(add("format", "pprof"), 0);
	assert_int_equal(add("download", "1"), 0);
	must_be(2, "--format=pprof");
	assert_string_equal(query.media->suffix, "pb.gz");
	assert_true(query.is_download);
	assert_int_equal(add("format", "exe"), -EINVAL);
	web_query_release(&query);
	assert_int_equal(web_query_begin(&query, WEB_ENDPOINT_DIFF, &some), 0);
	assert_int_equal(add("format", "pprof"), -EINVAL);
	assert_int_equal(add("before", "@1..@2"), 0);
	web_query_release(&query);
	assert_int_equal(web_query_begin(&query, WEB_ENDPOINT_TIMELINE, &some), 0);
	assert_string_equal(query.media->media_type, "application/json");
	assert_int_equal(add("format", "json"), -EINVAL);
	web_query_release(&query);
}

static void there_is_an_end_to_parameters_and_values(void **state)
{
	char value[WEB_QUERY_VALUE_MAX + 2];
	int cnt = 0;

	(void)state;
	memset(value, 'x', sizeof(value));
	value[WEB_QUERY_VALUE_MAX + 1] = '\0';
	assert_int_equal(web_query_begin(&query, WEB_ENDPOINT_TIMELINE, &some), 0);
	assert_int_equal(add("comm", value), -EINVAL);
	value[WEB_QUERY_VALUE_MAX] = '\0';
	assert_int_equal(add("comm", value), 0);
	while (!add("comm", "x"))
		cnt++;
	assert_int_equal(cnt, WEB_QUERY_ARGUMENTS_MAX - 3);
	assert_non_null(strstr(why, "more than"));
	web_query_release(&query);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_known_as_a_whole),
		cmocka_unit_test(parameters_become_arguments),
		cmocka_unit_test(what_writes_or_reads_elsewhere_is_no_parameter),
		cmocka_unit_test(the_format_says_what_the_answer_is),
		cmocka_unit_test(there_is_an_end_to_parameters_and_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
