// SPDX-License-Identifier: Apache-2.0
/* Questions to ClickHouse. What a real server answers to them is in tests/e2e/test_from_clickhouse.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "user/source/clickhouse_select.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

static const struct clickhouse_select some = {
	.event = EVENT_OFF_CPU,
	.since_unix_ns = 1700000000ull * CLOCK_NS_PER_S,
	.until_unix_ns = 1700003600ull * CLOCK_NS_PER_S,
	.begin_unix_s = 1699999200,
	.end_unix_s = 1700002800,
};

static void assert_has(const struct strbuf *sql, const char *part)
{
	if (!strstr(strbuf_str(sql), part))
		fail_msg("no '%s' in: %s", part, strbuf_str(sql));
}

static void windows_that_reach_into_the_range_are_asked_for(void **state)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;

	(void)state;
	clickhouse_select_hours(&some, &sql);
	assert_has(&sql,
		   "event = 5 AND ts >= toDateTime(1699996340) AND ts <= toDateTime(1700003600)");
	assert_has(&sql, "start_ns < 1700003600000000000 AND "
			 "start_ns + duration_ns > 1700000000000000000");
	assert_has(&sql, "jbpf_windows FINAL");
	strbuf_clear(&sql);
	clickhouse_select_windows(&some, &sql);
	assert_has(&sql, "AND ts >= toDateTime(1699999200) AND ts < toDateTime(1700002800)");
	assert_has(&sql, " ORDER BY ts, service, stream");
}

/* What tells where windows are that reach over the ends of the range. */
static void hours_come_with_what_reaches_over_the_ends(void **state)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;

	(void)state;
	clickhouse_select_hours(&some, &sql);
	assert_has(&sql, "maxIf(toUnixTimestamp(ts), start_ns < 1700000000000000000)");
	assert_has(&sql,
		   "minIf(toUnixTimestamp(ts), start_ns + duration_ns > 1700003600000000000)");
}

static void versions_and_order_are_left_to_the_server_only_where_they_matter(void **state)
{
	struct clickhouse_select select = some;
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;

	(void)state;
	select.is_once = select.is_unordered = true;
	clickhouse_select_windows(&select, &sql);
	clickhouse_select_samples(&select, &sql);
	clickhouse_select_sums(&select, &sql);
	clickhouse_select_rows(&some, &sql);
	assert_null(strstr(strbuf_str(&sql), "FINAL"));
	assert_has(&sql, "ts < toDateTime(1700002800)SELECT");
}

/* The reader of the answer has the last word: what is sent may be more, and never less. */
static void windows_that_cannot_match_are_not_asked_for(void **state)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;
	struct clickhouse_select select = some;
	struct selection selection = { .service = "it's", .host = "web-*", .pod = "a", .pid = 7 };

	(void)state;
	select.selection = &selection;
	assert_int_equal(selection_add(&selection, SELECT_BY_POD, "b"), 0);
	assert_int_equal(selection_add(&selection, SELECT_BY_COMM, "!java"), 0);
	clickhouse_select_windows(&select, &sql);
	assert_has(&sql, " AND pid IN (0, 7)");
	assert_has(&sql, " AND (pid = 0 OR label_service IN ('it\\'s'))");
	assert_has(&sql, " AND service IN ('', 'it\\'s')");
	assert_has(&sql, " AND (pid = 0 OR pod IN ('a','b') OR pod_uid IN ('a','b'))");
	assert_null(strstr(strbuf_str(&sql), "host IN"));
	assert_null(strstr(strbuf_str(&sql), "comm IN"));
	strbuf_clear(&sql);
	selection = (struct selection){ .service = "", .container = "0123abcd" };
	clickhouse_select_hours(&select, &sql);
	assert_has(&sql, " AND (pid = 0 OR label_service IN (''))");
	assert_null(strstr(strbuf_str(&sql), "AND service IN"));
	assert_null(strstr(strbuf_str(&sql), "container IN"));
	strbuf_clear(&sql);
	selection = (struct selection){ .host = "web-1" };
	clickhouse_select_hours(&select, &sql);
	assert_has(&sql, " AND (host IN ('web-1'))");
}

static void all_of_time_is_within_what_a_server_can_say(void **state)
{
	struct clickhouse_select all = { .event = EVENT_CPU, .until_unix_ns = UINT64_MAX };
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;

	(void)state;
	clickhouse_select_hours(&all, &sql);
	assert_has(&sql, "ts >= toDateTime(0) AND ts <= toDateTime(4294963695)");
	assert_has(&sql, "start_ns < 18446744073709551615");
}

static void texts_that_are_not_wanted_do_not_travel(void **state)
{
	struct clickhouse_select select = some;
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;

	(void)state;
	select.wants_cells = true;
	clickhouse_select_windows(&select, &sql);
	assert_has(&sql, "SELECT service, ts, stream, start_ns, ");
	assert_has(&sql, ", '', cells, '' FROM ");
	strbuf_clear(&sql);
	select.wants_lines = select.wants_threads = true;
	clickhouse_select_windows(&select, &sql);
	assert_has(&sql, ", lines, cells, threads FROM ");
}

static void samples_are_those_of_the_services_and_streams(void **state)
{
	struct clickhouse_select select = some;
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;

	(void)state;
	clickhouse_select_samples(&select, &sql);
	assert_null(strstr(sql.data, " IN "));
	strbuf_clear(&sql);
	select.services = "'a','b'";
	select.streams = "1,2";
	clickhouse_select_samples(&select, &sql);
	assert_has(&sql, "jbpf_samples FINAL WHERE event = 5 AND ");
	assert_has(&sql, " AND service IN ('a','b') AND stream IN (1,2) ORDER BY");
	strbuf_clear(&sql);
	clickhouse_select_stacks(&select, &sql);
	assert_has(&sql, "WHERE service IN ('a','b') AND (service, hash) IN (SELECT ");
	assert_has(&sql, "FROM jbpf_samples WHERE");
	assert_has(&sql, "stream IN (1,2))");
	strbuf_clear(&sql);
	select.hashes = "3,4";
	clickhouse_select_stacks(&select, &sql);
	assert_string_equal(strbuf_str(&sql), "SELECT service, hash, stack FROM jbpf_stacks WHERE "
					      "service IN ('a','b') AND hash IN (3,4)");
	select.hashes = NULL;
	strbuf_clear(&sql);
	select.cluster_database = "d";
	clickhouse_select_stacks(&select, &sql);
	assert_has(&sql, "FROM jbpf_stacks WHERE");
	assert_has(&sql, "(SELECT service, hash FROM d.jbpf_samples_local WHERE");
	strbuf_clear(&sql);
	select.begin_unix_s = 1700000040;
	select.end_unix_s = 1700000101;
	clickhouse_select_samples(&select, &sql);
	assert_has(&sql, "AND ts >= toDateTime(1700000040) AND ts <= toDateTime(1700000100) AND");
	/* By the server's own hours, which may begin at half of one. */
	assert_has(&sql, "AND toStartOfHour(ts) >= toStartOfHour(toDateTime(1700000040))");
	assert_has(&sql, "AND toStartOfHour(ts) <= toStartOfHour(toDateTime(1700000100))");
}

static void sums_are_of_services_or_of_classes_of_streams(void **state)
{
	struct clickhouse_select select = some;
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;

	(void)state;
	clickhouse_select_sums(&select, &sql);
	assert_has(&sql,
		   "SELECT service, '', hash, sum(n) FROM jbpf_samples FINAL WHERE event = 5");
	assert_has(&sql, " GROUP BY service, hash ORDER BY service");
	strbuf_clear(&sql);
	select.streams = "7,8";
	select.class_streams = "[7,8]";
	select.class_numbers = "[0,1]";
	clickhouse_select_sums(&select, &sql);
	assert_has(&sql,
		   "SELECT '', transform(stream, [7,8], [0,1], toUInt64(4294967295)) AS class,");
	assert_has(&sql, "stream IN (7,8) GROUP BY class, hash ORDER BY class");
}

static void times_are_of_samples(void **state)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;

	(void)state;
	clickhouse_select_times(EVENT_CPU, &sql);
	assert_has(&sql, "WHERE event = 0 AND pid != 0 AND samples != 0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_that_reach_into_the_range_are_asked_for),
		cmocka_unit_test(hours_come_with_what_reaches_over_the_ends),
		cmocka_unit_test(versions_and_order_are_left_to_the_server_only_where_they_matter),
		cmocka_unit_test(windows_that_cannot_match_are_not_asked_for),
		cmocka_unit_test(all_of_time_is_within_what_a_server_can_say),
		cmocka_unit_test(texts_that_are_not_wanted_do_not_travel),
		cmocka_unit_test(samples_are_those_of_the_services_and_streams),
		cmocka_unit_test(sums_are_of_services_or_of_classes_of_streams),
		cmocka_unit_test(times_are_of_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
