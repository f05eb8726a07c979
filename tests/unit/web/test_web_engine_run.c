// SPDX-License-Identifier: Apache-2.0
/* Questions on their way to the process that reaches the engine: no others than those of the page arrive. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/web/web_engine_run.h"

static const struct web_source here = { .from = "clickhouse://h/here" };
static const struct web_source there = { .from = "clickhouse://h/there" };

static void must_be(const struct web_query *query, int index, const char *argument)
{
	assert_true(index < query->argument_cnt);
	assert_string_equal(query->arguments[index], argument);
}

static void a_question_arrives_as_it_was_and_asks_the_own_engine(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct web_query query, taken;
	char why[256];

	(void)state;
	assert_int_equal(web_query_begin(&query, WEB_ENDPOINT_PROFILE, &here), 0);
	assert_int_equal(web_query_add(&query, "service", "a=b --from=c", why, sizeof(why)), 0);
	assert_int_equal(web_query_add(&query, "comm", "", why, sizeof(why)), 0);
	assert_int_equal(web_query_add(&query, "format", "svg", why, sizeof(why)), 0);
	web_engine_put_question(&query, &bytes);
	assert_int_equal(web_engine_take_question(bytes.data, bytes.len, &there, &taken), 0);
	assert_int_equal(taken.endpoint, WEB_ENDPOINT_PROFILE);
	assert_int_equal(taken.argument_cnt, 5);
	must_be(&taken, 0, "jbpf-dump");
	must_be(&taken, 1, "--from=clickhouse://h/there");
	must_be(&taken, 2, "--format=svg");
	must_be(&taken, 3, "--service=a=b --from=c");
	must_be(&taken, 4, "--comm=");
	assert_null(taken.arguments[5]);
	web_query_release(&query);
	web_query_release(&taken);
}

static void a_question_without_parameters_is_one(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct web_query query, taken;

	(void)state;
	assert_int_equal(web_query_begin(&query, WEB_ENDPOINT_INFO, &here), 0);
	web_engine_put_question(&query, &bytes);
	assert_int_equal(web_engine_take_question(bytes.data, bytes.len, &there, &taken), 0);
	assert_int_equal(taken.argument_cnt, 2);
	web_query_release(&query);
	web_query_release(&taken);
}

static void what_is_no_question_of_the_page_is_refused(void **state)
{
	static const struct {
		uint32_t endpoint;
		const char *parameters; /* with the NUL behind them */
		size_t len;
	} rows[] = {
#define ROW(endpoint, parameters) { endpoint, parameters, sizeof(parameters) }
		ROW(WEB_ENDPOINT_PROFILE, "--from=clickhouse://evil/x"),
		ROW(WEB_ENDPOINT_PROFILE, "--store=/etc"),
		ROW(WEB_ENDPOINT_PROFILE, "--output=/tmp/x"),
		ROW(WEB_ENDPOINT_PROFILE, "--format=none"),
		ROW(WEB_ENDPOINT_PROFILE, "--since=@1\0--output=/tmp/x"),
		ROW(WEB_ENDPOINT_PROFILE, "service=a"),
		ROW(WEB_ENDPOINT_PROFILE, "--service"),
		ROW(WEB_ENDPOINT_PROFILE, ""),
		ROW(WEB_ENDPOINT_INFO, "--since=@1"),
		ROW(WEB_ENDPOINT_NONE, "--since=@1"),
		ROW(WEB_ENDPOINT_RUNNING, "--since=@1"),
		ROW(UINT32_MAX, "--since=@1"),
		/* Its end is missing. */
		{ WEB_ENDPOINT_PROFILE, "--since=@1", strlen("--since=@1") },
#undef ROW
	};
	struct web_query taken;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;

		strbuf_append(&bytes, &rows[i].endpoint, sizeof(rows[i].endpoint));
		strbuf_append(&bytes, rows[i].parameters, rows[i].len);
		if (web_engine_take_question(bytes.data, bytes.len, &there, &taken) != -EBADMSG)
			fail_msg("row %zu is taken", i);
		assert_int_equal(taken.argument_cnt, 0);
	}
	assert_int_equal(web_engine_take_question("abc", 3, &there, &taken), -EBADMSG);
}

static void parameters_without_end_are_refused(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	const uint32_t endpoint = WEB_ENDPOINT_PROFILE;
	static const char parameter[] = "--service=a";
	struct web_query taken;

	(void)state;
	strbuf_append(&bytes, &endpoint, sizeof(endpoint));
	for (int i = 0; i <= WEB_QUERY_ARGUMENTS_MAX; i++)
		strbuf_append(&bytes, parameter, sizeof(parameter));
	assert_int_equal(web_engine_take_question(bytes.data, bytes.len, &there, &taken), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_question_arrives_as_it_was_and_asks_the_own_engine),
		cmocka_unit_test(a_question_without_parameters_is_one),
		cmocka_unit_test(what_is_no_question_of_the_page_is_refused),
		cmocka_unit_test(parameters_without_end_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
