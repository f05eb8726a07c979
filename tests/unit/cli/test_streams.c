// SPDX-License-Identifier: Apache-2.0
/* Windows added up per stream, and the table and JSON that --list makes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "symbols/symbols.h"
#include "user/cmd/dump_list.h"
#include "user/cli/streams.h"
#include "user/cli/text_table.h"
#include "user/util/cleanup.h"
#include "user/util/strbuf.h"

#define S 1000000000ull

static const struct window java = {
	.start_unix_ns = 1700000000 * S,
	.duration_ns = 10 * S,
	.pid = 42,
	.ns_pid = 1,
	.process_start_ns = 5,
	.cgroup_id = 6,
	.counts.samples = 100,
	.counts.frames = 1000,
	.counts.unknown_frames = 125,
	.counts.truncated_samples = 7,
	.counts.ends = { [STACK_END_NO_RULE] = 5 },
	.counts.inlined_frames = 400,
	.counts.interpreted_frames = 50,
	.counts.jit_leaf_samples = 60,
	.counts.repaired_samples = 20,
	.counts.unrepaired_samples = 4,
	.jit_source = JIT_SOURCE_ATTACH,
	.labels = { [WINDOW_LABEL_COMM] = "java",
		    [WINDOW_LABEL_CONTAINER] = "shop-1",
		    [WINDOW_LABEL_POD] = "shop-5d8f7b9c4-x2x4z",
		    [WINDOW_LABEL_JVM_VERSION] = "17.0.15" },
};

static void streams_add_up_one_life_and_keep_its_last_state(void **state)
{
	struct streams streams = { 0 };
	struct window window = java;
	char comm[] = "java";

	(void)state;
	window.labels[WINDOW_LABEL_COMM] = comm;
	assert_int_equal(streams_add(&streams, &window), 0);
	window.start_unix_ns += 10 * S;
	window.jit_source = JIT_SOURCE_PERFMAP;
	strcpy(comm, "jvm"); /* labels are the store's: they must have been copied */
	assert_int_equal(streams_add(&streams, &window), 0);
	strcpy(comm, "xxx");
	/* an older one changes the counts, not the state */
	window.start_unix_ns -= 60 * S;
	window.jit_source = JIT_SOURCE_NONE;
	assert_int_equal(streams_add(&streams, &window), 0);

	assert_int_equal(streams.cnt, 1);
	assert_int_equal(streams.items[0].counts.samples, 300);
	assert_int_equal(streams.items[0].counts.frames, 3000);
	assert_int_equal(streams.items[0].counts.unknown_frames, 375);
	assert_int_equal(streams.items[0].counts.truncated_samples, 21);
	assert_int_equal(streams.items[0].counts.inlined_frames, 1200);
	assert_int_equal(streams.items[0].counts.interpreted_frames, 150);
	assert_int_equal(streams.items[0].counts.jit_leaf_samples, 180);
	assert_int_equal(streams.items[0].counts.repaired_samples, 60);
	assert_int_equal(streams.items[0].counts.unrepaired_samples, 12);
	assert_true(streams.items[0].first_unix_ns == java.start_unix_ns - 50 * S);
	assert_true(streams.items[0].last_unix_ns == java.start_unix_ns + 20 * S);
	assert_int_equal(streams.items[0].latest.jit_source, JIT_SOURCE_PERFMAP);
	assert_string_equal(streams.items[0].latest.labels[WINDOW_LABEL_COMM], "jvm");
	streams_release(&streams);
}

static void a_window_that_nobody_named_takes_nothing_away_of_what_is_known(void **state)
{
	struct streams streams = { 0 };
	struct window window = java;

	(void)state;
	assert_int_equal(streams_add(&streams, &window), 0);
	window.start_unix_ns += 10 * S;
	memset(window.labels, 0, sizeof(window.labels));
	window.labels[WINDOW_LABEL_COMM] = "java";
	window.labels[WINDOW_LABEL_OVER_BUDGET] = "it could not be named in time";
	window.jit_source = JIT_SOURCE_NONE;
	assert_int_equal(streams_add(&streams, &window), 0);

	assert_int_equal(streams.cnt, 1);
	assert_int_equal(streams.items[0].counts.samples, 200);
	assert_int_equal(streams.items[0].last_unix_ns, window_end_unix_ns(&window));
	assert_int_equal(streams.items[0].latest.jit_source, JIT_SOURCE_ATTACH);
	assert_string_equal(window_label(&streams.items[0].latest, WINDOW_LABEL_CONTAINER),
			    "shop-1");
	assert_string_equal(window_label(&streams.items[0].latest, WINDOW_LABEL_OVER_BUDGET),
			    "it could not be named in time");
	/* The next that is named says what is so. */
	window = java;
	window.start_unix_ns += 20 * S;
	window.labels[WINDOW_LABEL_CONTAINER] = "shop-2";
	assert_int_equal(streams_add(&streams, &window), 0);
	assert_string_equal(window_label(&streams.items[0].latest, WINDOW_LABEL_CONTAINER),
			    "shop-2");
	assert_string_equal(window_label(&streams.items[0].latest, WINDOW_LABEL_OVER_BUDGET), "");
	streams_release(&streams);
}

static void streams_tell_lives_apart(void **state)
{
	struct streams streams = { 0 };
	struct window window = java;

	(void)state;
	assert_int_equal(streams_add(&streams, &window), 0);
	window.process_start_ns++; /* the pid was given to another process */
	assert_int_equal(streams_add(&streams, &window), 0);
	window.exec_id++; /* another program */
	assert_int_equal(streams_add(&streams, &window), 0);
	window.cgroup_id++; /* moved */
	assert_int_equal(streams_add(&streams, &window), 0);
	window.boot_id[15] = 1; /* rebooted */
	assert_int_equal(streams_add(&streams, &window), 0);
	window.pid++;
	assert_int_equal(streams_add(&streams, &window), 0);
	assert_int_equal(streams.cnt, 6);
	streams_release(&streams);
}

static void streams_keep_host_records_apart(void **state)
{
	struct streams streams = { 0 };
	struct window host = { .counts.samples = 9, .lost = { [WINDOW_LOSS_STORE] = 3 } };

	(void)state;
	assert_int_equal(streams_add(&streams, &host), 0);
	assert_int_equal(streams_add(&streams, &host), 0);
	assert_int_equal(streams.cnt, 0);
	assert_int_equal(streams.host_samples, 18);
	assert_int_equal(streams.lost[WINDOW_LOSS_STORE], 6);
	streams_release(&streams);
}

static void streams_grow_and_sort(void **state)
{
	struct streams streams = { 0 };

	(void)state;
	for (uint32_t pid = 1000; pid > 0; pid--) {
		char name[16];
		struct window window = java;

		(void)snprintf(name, sizeof(name), "c-%u", pid % 10);
		window.pid = pid;
		window.labels[WINDOW_LABEL_CONTAINER] = name;
		assert_int_equal(streams_add(&streams, &window), 0);
	}
	streams_sort(&streams);
	assert_int_equal(streams.cnt, 1000);
	assert_int_equal(streams.items[0].latest.pid, 10);
	assert_int_equal(streams.items[1].latest.pid, 20);
	assert_int_equal(streams.items[999].latest.pid, 999);
	streams_release(&streams);
}

/* The same in all that is shown: they are added in either order. */
static void streams_that_look_alike_have_an_order(void **state)
{
	struct window others[] = { java, java, java, java };

	(void)state;
	others[0].process_start_ns++;
	others[1].exec_id++;
	others[2].cgroup_id++;
	others[3].boot_id[15]++;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		for (int turn = 0; turn < 2; turn++) {
			struct streams streams = { 0 };

			assert_int_equal(streams_add(&streams, turn ? &others[i] : &java), 0);
			assert_int_equal(streams_add(&streams, turn ? &java : &others[i]), 0);
			streams_sort(&streams);
			assert_int_equal(streams.cnt, 2);
			assert_true(window_is_same_stream(&streams.items[0].latest, &java));
			streams_release(&streams);
		}
	}
}

static void window_end_unix_ns_does_not_wrap(void **state)
{
	struct window window = { .start_unix_ns = UINT64_MAX - 5, .duration_ns = 10 };

	(void)state;
	assert_true(window_end_unix_ns(&window) == UINT64_MAX);
}

static const struct output_info info; /* nothing is known of how long was sampled */

static void fill(struct streams *streams)
{
	struct window plain = {
		.start_unix_ns = 1700000010 * S,
		.duration_ns = 10 * S,
		.pid = 7,
		.counts.samples = 3,
		.labels = { [WINDOW_LABEL_COMM] = "evil\033[2J" },
	};

	assert_int_equal(streams_add(streams, &java), 0);
	assert_int_equal(streams_add(streams, &plain), 0);
}

static void dump_list_is_a_table_with_inert_cells(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct streams streams = { 0 };

	(void)state;
	fill(&streams);
	assert_int_equal(dump_list_table(&streams, &info, DUMP_LIST_CONTAINERS, &out), 0);
	assert_string_equal(
		strbuf_str(&out),
		"CONTAINER  POD                   PID  COMM      JVM      SAMPLES  FIRST             "
		"    LAST                  UNKNOWN%  SYMBOLS\n"
		"shop-1     shop-5d8f7b9c4-x2x4z   42  java      17.0.15      100  "
		"2023-11-14T22:13:20Z  2023-11-14T22:13:30Z      12.5  attach\n"
		"-          -                       7  evil_[2J  -              3  "
		"2023-11-14T22:13:30Z  2023-11-14T22:13:40Z       0.0  -\n");
	streams_release(&streams);
}

/* Of a container two processes, and two of one name outside. */
static void fill_groups(struct streams *streams)
{
	struct window small = java, host = java;

	small.pid = 43;
	small.counts.samples = 1;
	host.labels[WINDOW_LABEL_CONTAINER] = NULL;
	host.labels[WINDOW_LABEL_POD] = NULL;
	host.labels[WINDOW_LABEL_COMM] = "cron";
	host.labels[WINDOW_LABEL_JVM_VERSION] = NULL;
	host.counts = (struct window_counts){ .samples = 150 };
	assert_int_equal(streams_add(streams, &small), 0);
	assert_int_equal(streams_add(streams, &java), 0);
	for (host.pid = 7; host.pid < 9; host.pid++)
		assert_int_equal(streams_add(streams, &host), 0);
}

static void dump_list_has_a_row_for_a_container_or_a_process(void **state)
{
	const struct output_info ten_seconds = { .event = EVENT_CPU,
						 .frequency_hz = 10,
						 .covered_ns = 10 * S };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct streams streams = { 0 };

	(void)state;
	fill_groups(&streams);
	assert_int_equal(dump_list_table(&streams, &ten_seconds, DUMP_LIST_CONTAINERS, &out), 0);
	assert_non_null(strstr(strbuf_str(&out), "PID  COMM     JVM      SAMPLES  CORES  FIRST"));
	assert_non_null(strstr(strbuf_str(&out), "\n-          -                       7  cron +1  "
						 "-            300   3.00  2023"));
	assert_non_null(strstr(strbuf_str(&out), "\nshop-1     shop-5d8f7b9c4-x2x4z   42  java +1  "
						 "17.0.15      101   1.01  2023"));
	strbuf_clear(&out);
	assert_int_equal(dump_list_table(&streams, &ten_seconds, DUMP_LIST_PROCESSES, &out), 0);
	assert_non_null(strstr(strbuf_str(&out), "   43  java  17.0.15        1   0.01  2023"));
	assert_non_null(strstr(strbuf_str(&out), "    8  cron  -            150   1.50  2023"));
	streams_release(&streams);
}

static void dump_list_keeps_hosts_apart(void **state)
{
	const struct output_info ten_seconds = { .event = EVENT_CPU,
						 .frequency_hz = 10,
						 .covered_ns = 10 * S };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct streams streams = { 0 };
	struct window window = java;

	(void)state;
	/* Between two of one host in samples is one of the other. */
	for (uint32_t i = 0; i < 4; i++) {
		window.pid = 42 + i;
		window.counts.samples = 100 - i;
		window.labels[WINDOW_LABEL_HOST] = i % 2 ? "beta" : "alpha";
		assert_int_equal(streams_add(&streams, &window), 0);
	}
	assert_int_equal(dump_list_table(&streams, &ten_seconds, DUMP_LIST_CONTAINERS, &out), 0);
	assert_non_null(strstr(strbuf_str(&out), "HOST   CONTAINER"));
	assert_non_null(strstr(strbuf_str(&out), "\nalpha  shop-1     shop-5d8f7b9c4-x2x4z   42  "
						 "java +1  17.0.15      198"));
	assert_non_null(strstr(strbuf_str(&out), "\nbeta   shop-1     shop-5d8f7b9c4-x2x4z   43  "
						 "java +1  17.0.15      196"));
	streams_release(&streams);
}

static void the_time_of_several_hosts_counts_once(void **state)
{
	struct window host = { .start_unix_ns = 100 * S, .duration_ns = 10 * S };
	struct streams streams = { 0 };

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(streams_add(&streams, &host), 0);
	assert_int_equal(streams.covered_ns, 10 * S);
	host.start_unix_ns = 110 * S;
	assert_int_equal(streams_add(&streams, &host), 0);
	assert_int_equal(streams.covered_ns, 20 * S);
	streams_release(&streams);

	/* Of one host, a gap is no recorded time. */
	streams = (struct streams){ 0 };
	host.start_unix_ns = 100 * S;
	assert_int_equal(streams_add(&streams, &host), 0);
	host.start_unix_ns = 500 * S;
	assert_int_equal(streams_add(&streams, &host), 0);
	assert_int_equal(streams.covered_ns, 20 * S);
	streams_release(&streams);
}

static void dump_list_names_jdks_as_people_do(void **state)
{
	static const struct {
		const char *label, *expected;
	} rows[] = {
		{ "25.432-b06", "8u432-b06" },
		{ "25.504-b01", "8u504-b01" },
		{ "25.0.3+9-2", "25.0.3+9-2" },
		{ "25-ea+36", "25-ea+36" },
		{ "25.-b1", "25.-b1" },
		{ "17.0.13+11-LTS", "17.0.13+11-LTS" },
		{ NULL, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct window window = {
			.labels = { [WINDOW_LABEL_JVM_VERSION] = rows[i].label },
		};
		char version[DUMP_LIST_VERSION_BYTES];

		dump_list_jdk_version(&window, version);
		assert_string_equal(version, rows[i].expected);
	}
}

static void dump_list_is_json(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	const struct dump_options options = {
		.selection = { .since_unix_ns = 1700000000 * S, .until_unix_ns = 1700003600 * S },
	};
	struct streams streams = { 0 };

	(void)state;
	fill(&streams);
	assert_int_equal(dump_list_json(&streams, &options, &out), 0);
	assert_string_equal(
		strbuf_str(&out),
		"{\"format\":\"jbpf-list\",\"version\":1,\"event\":\"cpu\",\"since\":\"2023-11-14T22:13:20Z\","
		"\"until\":\"2023-11-14T23:13:20Z\",\"streams\":[\n"
		"{\"pid\":42,\"ns_pid\":1,\"comm\":\"java\",\"pod\":\"shop-5d8f7b9c4-x2x4z\","
		"\"container\":\"shop-1\",\"jvm_version\":\"17.0.15\","
		"\"first\":\"2023-11-14T22:13:20Z\",\"last\":\"2023-11-14T22:13:30Z\","
		"\"samples\":100,\"frames\":1000,\"unknown_frames\":125,\"truncated_samples\":7,"
		"\"jit_frames\":0,\"unknown_jit_frames\":0,\"ambiguous_frames\":0,"
		"\"inlined_frames\":400,\"interpreted_frames\":50,\"jit_leaf_samples\":60,"
		"\"repaired_samples\":20,\"unrepaired_samples\":4,\"truncated_by\":{\"no_rule\":5},"
		"\"jit_source\":\"attach\"},\n"
		"{\"pid\":7,\"ns_pid\":0,\"comm\":\"evil_[2J\",\"first\":\"2023-11-14T22:13:30Z\","
		"\"last\":\"2023-11-14T22:13:40Z\",\"samples\":3,\"frames\":0,\"unknown_frames\":0,"
		"\"truncated_samples\":0,"
		"\"jit_frames\":0,\"unknown_jit_frames\":0,\"ambiguous_frames\":0,"
		"\"inlined_frames\":0,\"interpreted_frames\":0,\"jit_leaf_samples\":0,"
		"\"repaired_samples\":0,\"unrepaired_samples\":0,\"truncated_by\":{},\"jit_source\":\"\"}\n"
		"]}\n");
	streams_release(&streams);
}

static void dump_list_of_nothing_is_a_heading(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct streams streams = { 0 };

	(void)state;
	assert_int_equal(dump_list_table(&streams, &info, DUMP_LIST_CONTAINERS, &out), 0);
	assert_string_equal(strbuf_str(&out), "CONTAINER  POD  PID  COMM  JVM  SAMPLES  FIRST  "
					      "LAST  UNKNOWN%  SYMBOLS\n");
	streams_release(&streams);
}

static void text_table_counts_characters_and_keeps_notes_with_their_row(void **state)
{
	static const struct text_table_column columns[] = {
		{ .title = "A" },
		{ .title = "EMPTY", .is_optional = true },
		{ .title = "FULL", .is_optional = true },
		{ .title = "B", .is_number = true },
	};
	struct text_table table = { .columns = columns, .column_cnt = 4 };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	text_table_cell(&table, "häß");
	text_table_cell(&table, "");
	text_table_cell(&table, "");
	text_table_cellf(&table, "%d", 7);
	text_table_note(&table, "one\n");
	text_table_note(&table, "two");
	text_table_cell(&table, "");
	text_table_cell(&table, "");
	text_table_cell(&table, "x");
	text_table_cell(&table, "long");
	assert_int_equal(text_table_render(&table, &out), 0);
	assert_string_equal(strbuf_str(&out), "A    FULL     B\n"
					      "häß  -        7\n"
					      "    one_\n"
					      "    two\n"
					      "-    x     long\n");
	text_table_release(&table);
}

static void a_label_is_common_when_all_that_have_samples_have_it(void **state)
{
	struct streams streams = { 0 };
	struct window window = java;

	(void)state;
	assert_null(streams_common_label(&streams, WINDOW_LABEL_POD));
	assert_int_equal(streams_add(&streams, &window), 0);
	window.pid = 43;
	assert_int_equal(streams_add(&streams, &window), 0);
	window.pid = 44;
	window.labels[WINDOW_LABEL_JVM_VERSION] = "21";
	window.labels[WINDOW_LABEL_COMM] = NULL;
	assert_int_equal(streams_add(&streams, &window), 0);
	window.pid = 45;
	window.counts.samples = 0;
	window.labels[WINDOW_LABEL_POD] = "another";
	assert_int_equal(streams_add(&streams, &window), 0);
	assert_string_equal(streams_common_label(&streams, WINDOW_LABEL_POD),
			    "shop-5d8f7b9c4-x2x4z");
	assert_null(streams_common_label(&streams, WINDOW_LABEL_JVM_VERSION));
	assert_null(streams_common_label(&streams, WINDOW_LABEL_COMM));
	assert_null(streams_common_label(&streams, WINDOW_LABEL_IMAGE));
	streams_release(&streams);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_add_up_one_life_and_keep_its_last_state),
		cmocka_unit_test(a_window_that_nobody_named_takes_nothing_away_of_what_is_known),
		cmocka_unit_test(streams_tell_lives_apart),
		cmocka_unit_test(streams_keep_host_records_apart),
		cmocka_unit_test(streams_grow_and_sort),
		cmocka_unit_test(streams_that_look_alike_have_an_order),
		cmocka_unit_test(window_end_unix_ns_does_not_wrap),
		cmocka_unit_test(dump_list_is_a_table_with_inert_cells),
		cmocka_unit_test(dump_list_has_a_row_for_a_container_or_a_process),
		cmocka_unit_test(dump_list_keeps_hosts_apart),
		cmocka_unit_test(the_time_of_several_hosts_counts_once),
		cmocka_unit_test(dump_list_names_jdks_as_people_do),
		cmocka_unit_test(dump_list_is_json),
		cmocka_unit_test(dump_list_of_nothing_is_a_heading),
		cmocka_unit_test(text_table_counts_characters_and_keeps_notes_with_their_row),
		cmocka_unit_test(a_label_is_common_when_all_that_have_samples_have_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
