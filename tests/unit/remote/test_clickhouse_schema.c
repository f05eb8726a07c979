// SPDX-License-Identifier: Apache-2.0
/* Which words a server's version allows in the tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/remote/clickhouse_schema.h"
#include "user/remote/window_row.h"
#include "user/util/cleanup.h"

static const struct clickhouse_layout old_server = { .database = "d" };
static const struct clickhouse_layout new_server = { .is_modern = true, .database = "d" };
static const struct clickhouse_layout cluster = { .cluster = "fleet", .database = "d" };

static void old_servers_get_no_word_that_they_do_not_know(void **state)
{
	(void)state;
	for (int table = 0; table < CLICKHOUSE_TABLE_CNT; table++) {
		__cleanup_strbuf struct strbuf sql = STRBUF_INIT;

		clickhouse_schema_create(&sql, (enum clickhouse_table)table, &old_server);
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
	clickhouse_schema_create(&sql, CLICKHOUSE_TABLE_SAMPLES, &new_server);
	assert_non_null(strstr(sql.data, "CODEC(ZSTD(1))"));
	assert_non_null(strstr(sql.data, "TTL ts + INTERVAL 30 DAY"));
}

static void the_view_has_attributes_only_where_maps_are_known(void **state)
{
	__cleanup_strbuf struct strbuf old = STRBUF_INIT, modern = STRBUF_INIT;

	(void)state;
	clickhouse_schema_create_view(&old, &old_server);
	clickhouse_schema_create_view(&modern, &new_server);
	assert_int_equal(strbuf_error(&old) | strbuf_error(&modern), 0);
	assert_null(strstr(old.data, "map("));
	assert_null(strstr(old.data, "DateTime64"));
	assert_non_null(strstr(modern.data, ") AS ResourceAttributes"));
	assert_non_null(strstr(modern.data, ") AS ProfileAttributes"));
	assert_non_null(strstr(modern.data, " AS SampleAttributes"));
	assert_non_null(strstr(modern.data, "toDateTime64(ts, 9) AS Timestamp"));
}

static void a_cluster_has_tables_over_its_tables(void **state)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;

	(void)state;
	clickhouse_schema_create(&sql, CLICKHOUSE_TABLE_STACKS, &cluster);
	assert_non_null(strstr(sql.data, " jbpf_stacks_local ON CLUSTER 'fleet' ("));
	assert_non_null(strstr(sql.data,
			       "ENGINE = ReplicatedReplacingMergeTree("
			       "'/clickhouse/tables/fleet/{shard}/d/jbpf_stacks', '{replica}', "
			       "seen) PARTITION BY"));
	strbuf_clear(&sql);
	clickhouse_schema_create_distributed(&sql, CLICKHOUSE_TABLE_STACKS, &cluster);
	assert_string_equal(sql.data, "CREATE TABLE IF NOT EXISTS jbpf_stacks ON CLUSTER 'fleet' "
				      "AS d.jbpf_stacks_local ENGINE = Distributed('fleet', 'd', "
				      "'jbpf_stacks_local', cityHash64(service))");
	strbuf_clear(&sql);
	clickhouse_schema_create_view(&sql, &cluster);
	assert_non_null(strstr(sql.data, "otel_profiles ON CLUSTER 'fleet' AS SELECT"));
	assert_non_null(strstr(sql.data, "FROM d.jbpf_samples FINAL"));
}

/* All servers have the same one: whoever is asked knows the version. */
static void the_version_is_on_all_servers_of_a_cluster(void **state)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT, distributed = STRBUF_INIT;

	(void)state;
	clickhouse_schema_create(&sql, CLICKHOUSE_TABLE_SCHEMA, &cluster);
	assert_non_null(strstr(
		sql.data, "('/clickhouse/tables/fleet/all/d/jbpf_schema', '{shard}-{replica}')"));
	clickhouse_schema_create_distributed(&distributed, CLICKHOUSE_TABLE_SCHEMA, &cluster);
	clickhouse_schema_create_distributed(&distributed, CLICKHOUSE_TABLE_STACKS, &old_server);
	assert_int_equal(distributed.len, 0);
}

/* Behind the key come the numbers of struct window, behind these the labels. */
static void a_column_is_added_on_all_servers_with_the_type_it_is_made_with(void **state)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;
	size_t label = 0;

	(void)state;
	while (strcmp(window_row_column(label, "").name, "comm") != 0)
		label++;
	for (size_t i = 3; i < window_row_column_cnt(); i++) {
		struct window_row_column column = window_row_column(i, "String");
		__cleanup_strbuf struct strbuf add = STRBUF_INIT, create = STRBUF_INIT;
		char *definition;

		clickhouse_schema_add_column(&add, i, &old_server);
		clickhouse_schema_create(&create, CLICKHOUSE_TABLE_WINDOWS, &old_server);
		assert_int_equal(asprintf(&definition, "%s %s", column.name, column.type) < 0, 0);
		assert_string_equal(strstr(add.data, " ADD COLUMN ") + strlen(" ADD COLUMN "),
				    definition);
		assert_non_null(strstr(create.data, definition));
		free(definition);
	}
	clickhouse_schema_add_column(&sql, label, &cluster);
	assert_string_equal(sql.data, "ALTER TABLE jbpf_windows_local ON CLUSTER 'fleet' "
				      "ADD COLUMN comm String");
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
		cmocka_unit_test(a_cluster_has_tables_over_its_tables),
		cmocka_unit_test(the_version_is_on_all_servers_of_a_cluster),
		cmocka_unit_test(a_column_is_added_on_all_servers_with_the_type_it_is_made_with),
		cmocka_unit_test(servers_are_told_apart_by_major_and_minor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
