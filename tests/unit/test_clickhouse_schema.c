// SPDX-License-Identifier: Apache-2.0
/* Which words a server's version allows in the tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "user/remote/clickhouse_schema.h"
#include "user/util/cleanup.h"

static void old_servers_get_no_word_that_they_do_not_know(void **state)
{
	(void)state;
	for (int table = 0; table < CLICKHOUSE_TABLE_CNT; table++) {
		__cleanup_strbuf struct strbuf sql = STRBUF_INIT;

		clickhouse_schema_create(&sql, (enum clickhouse_table)table, false);
		assert_int_equal(strbuf_error(&sql), 0);
		assert_non_null(strstr(sql.data, "ENGINE = ReplacingMergeTree"));
		assert_null(strstr(sql.data, "CODEC"));
		assert_null(strstr(sql.data, "TTL"));
		assert_null(strstr(sql.data, "LowCardinality"));
	}
}

static void new_servers_compress_better_and_forget(void **state)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;

	(void)state;
	clickhouse_schema_create(&sql, CLICKHOUSE_TABLE_SAMPLES, true);
	assert_non_null(strstr(sql.data, "CODEC(ZSTD(1))"));
	assert_non_null(strstr(sql.data, "TTL ts + INTERVAL 30 DAY"));
}

static void the_view_has_attributes_only_where_maps_are_known(void **state)
{
	__cleanup_strbuf struct strbuf old = STRBUF_INIT, modern = STRBUF_INIT;

	(void)state;
	clickhouse_schema_create_view(&old, false);
	clickhouse_schema_create_view(&modern, true);
	assert_int_equal(strbuf_error(&old) | strbuf_error(&modern), 0);
	assert_null(strstr(old.data, "map("));
	assert_null(strstr(old.data, "DateTime64"));
	assert_non_null(strstr(modern.data, ") AS ResourceAttributes"));
	assert_non_null(strstr(modern.data, ") AS ProfileAttributes"));
	assert_non_null(strstr(modern.data, " AS SampleAttributes"));
	assert_non_null(strstr(modern.data, "toDateTime64(ts, 9) AS Timestamp"));
}

static void servers_are_told_apart_by_major_and_minor(void **state)
{
	(void)state;
	assert_false(clickhouse_schema_is_modern("18.16.1"));
	assert_false(clickhouse_schema_is_modern("20.1.9"));
	assert_true(clickhouse_schema_is_modern("20.3.1"));
	assert_true(clickhouse_schema_is_modern("26.7.2.1"));
	assert_false(clickhouse_schema_is_modern("none"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_servers_get_no_word_that_they_do_not_know),
		cmocka_unit_test(new_servers_compress_better_and_forget),
		cmocka_unit_test(the_view_has_attributes_only_where_maps_are_known),
		cmocka_unit_test(servers_are_told_apart_by_major_and_minor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
