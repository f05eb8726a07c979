// SPDX-License-Identifier: Apache-2.0
/* A store that is nearly full takes from the container that made an hour large, and from nobody else. */
#include "tests/unit/store_testing.h"

#include <errno.h>

#include "user/store/compact/compact_cut.h"
#include "user/util/cleanup.h"

static void text_keeps_process_leaf_and_samples(void **state)
{
	static const struct {
		const char *text, *cut;
	} rows[] = {
		{ "", "" },
		{ "java 3\n", "java 3\n" },
		{ "java;a 3\n", "java;a 3\n" },
		{ "java;a;b;c 3\njava;a;c 4\njava;b 1\n", "java;b 1\njava;c 7\n" },
		{ "b;x 1\na;z;x 2\na;y;x 3\nb;x;w 4\n", "a;x 5\nb;w 4\nb;x 1\n" },
		{ "java;name with 9;leaf with 8 7\n", "java;leaf with 8 7\n" },
		{ "no count\njava;a x\n1\n;;; 5\n", "; 5\n" },
	};
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(compact_cut_text(rows[i].text, strlen(rows[i].text), &out), 0);
		assert_string_equal(strbuf_str(&out), rows[i].cut);
	}
}

static void only_files_that_stand_out_are_looked_at(void **state)
{
	static const struct segment_file files[] = {
		{ .hour_unix_s = 0, .is_day = true },
		{ .hour_unix_s = 1 },
		{ .hour_unix_s = 2 },
		{ .hour_unix_s = 3 },
		{ .hour_unix_s = 4 },
	};
	static const uint64_t even[] = { 24 * 100, 100, 100, 399, 80 };
	static const uint64_t uneven[] = { 24 * 900, 100, 500, 100, 100 };
	size_t order[ARRAY_SIZE(files)];

	(void)state;
	assert_int_equal(compact_cut_order(files, even, ARRAY_SIZE(files), order), 0);
	assert_int_equal(compact_cut_order(files, uneven, ARRAY_SIZE(files), order), 2);
	assert_int_equal(order[0], 0);
	assert_int_equal(order[1], 2);
	assert_int_equal(compact_cut_order(files, even, 0, order), 0);
}

/* ---- a whole store ---- */

#define HOURS	    8
#define LOUD_HOUR   5
#define LOUD_STACKS 4000

static void add_leaves(struct store_writer *writer, unsigned hour, const char *container,
		       unsigned cnt, unsigned leaf_cnt)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct window window = {
		.start_unix_ns = TEST_NS + hour * HOUR_NS,
		.duration_ns = WINDOW_NS,
		.pid = 1000 + hour,
		.cgroup_id = (uint64_t)container[0],
		.counts.samples = cnt,
		.labels = { [WINDOW_LABEL_COMM] = "java", [WINDOW_LABEL_CONTAINER_ID] = container },
	};

	for (unsigned i = 0; i < cnt; i++)
		strbuf_printf(&text, "java;run_%08x;%08x_%u;leaf_%u 1\n", i * 2654435761u,
			      i * 40503u, hour, i % leaf_cnt * 2654435761u);
	assert_int_equal(store_writer__add(writer, &window, text.data, text.len), 0);
}

static void add_stacks(struct store_writer *writer, unsigned hour, const char *container,
		       unsigned cnt)
{
	add_leaves(writer, hour, container, cnt, 3);
}

static void fill_hours(const struct test_store *store)
{
	struct store_writer *writer = test_writer(store);

	for (unsigned hour = 0; hour < HOURS; hour++) {
		add_stacks(writer, hour, "shop", 60);
		add_stacks(writer, hour, "web", 40);
		if (hour == LOUD_HOUR)
			add_stacks(writer, hour, "loud", LOUD_STACKS);
		test_commit(writer);
	}
	store_writer__free(writer);
}

/* What is stored: by container, and the text of all but the loud one. */
struct stored {
	uint64_t samples;
	uint64_t loud_samples;
	size_t loud_bytes;
	char loud_label[128];
	struct strbuf others;
};

static int take_stored(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct stored *stored = ctx;

	stored->samples += window->counts.samples;
	if (strcmp(window_label(window, WINDOW_LABEL_CONTAINER_ID), "loud") != 0) {
		strbuf_append(&stored->others, text, len);
		return strbuf_error(&stored->others);
	}
	stored->loud_samples += window->counts.samples;
	stored->loud_bytes += len;
	(void)snprintf(stored->loud_label, sizeof(stored->loud_label), "%s",
		       window_label(window, WINDOW_LABEL_OVER_BUDGET));
	return 0;
}

static struct stored read_stored(const struct test_store *store)
{
	struct stored stored = { .others = STRBUF_INIT };
	const struct store_visitor visitor = { .ctx = &stored, .window = take_stored };
	struct store_reader *reader;

	assert_int_equal(store_reader__open(store->dir, &reader), 0);
	assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 0);
	store_reader__free(reader);
	return stored;
}

static uint64_t used_bytes(const struct test_store *store)
{
	struct store_writer *writer = test_writer(store);
	struct store_usage usage;

	assert_int_equal(store_writer__usage(writer, &usage), 0);
	store_writer__free(writer);
	return usage.bytes;
}

static struct store_compaction_stats compact(const struct test_store *store, uint64_t keep_bytes)
{
	const struct store_compaction how = {
		.now_unix_ns = TEST_NS + 100 * HOUR_NS,
		.keep_bytes = keep_bytes,
	};
	struct store_compaction_stats stats;

	assert_int_equal(store_compact(store->dir, &how, &stats), 0);
	return stats;
}

static void who_writes_much_pays_with_its_own_history(void **state)
{
	struct store_compaction_stats stats;
	struct stored before, after;
	struct test_store store;
	uint64_t bytes;

	(void)state;
	test_store_make(&store);
	fill_hours(&store);
	(void)compact(&store, 0);
	before = read_stored(&store);
	bytes = used_bytes(&store);
	/* There is room: nothing is cut. */
	stats = compact(&store, 2 * bytes);
	assert_int_equal(stats.cut, 0);
	assert_int_equal(used_bytes(&store), bytes);
	/* There is none. */
	stats = compact(&store, bytes);
	assert_int_equal(stats.cut, 1);
	assert_true(used_bytes(&store) < bytes / 2);
	after = read_stored(&store);
	assert_int_equal(after.samples, before.samples);
	assert_int_equal(after.loud_samples, LOUD_STACKS);
	assert_true(after.loud_bytes < 100);
	assert_non_null(strstr(after.loud_label, "cut"));
	assert_int_equal(after.others.len, before.others.len);
	assert_memory_equal(after.others.data, before.others.data, before.others.len);
	/* What is left stands out no more: the next hours are retention's. */
	bytes = used_bytes(&store);
	stats = compact(&store, bytes);
	assert_int_equal(stats.cut, 0);
	strbuf_release(&before.others);
	strbuf_release(&after.others);
	test_store_remove(&store);
}

/* What is left of eight hours after the cut stands out still; the ninth has its turn in the next hour. */
static void hours_that_cannot_become_smaller_are_cut_once_and_stand_in_nobodys_way(void **state)
{
	const unsigned hours = 20, stubborn = 8;
	struct store_writer *writer;
	struct stored stored;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	writer = test_writer(&store);
	for (unsigned hour = 0; hour < hours; hour++) {
		add_stacks(writer, hour, "shop", 20);
		if (hour < stubborn)
			add_leaves(writer, hour, "loud", LOUD_STACKS, LOUD_STACKS);
		else if (hour == stubborn)
			add_stacks(writer, hour, "loud", LOUD_STACKS / 4);
		test_commit(writer);
	}
	store_writer__free(writer);
	assert_int_equal(compact(&store, 1).cut, stubborn);
	assert_int_equal(compact(&store, 1).cut, 1);
	assert_int_equal(compact(&store, 1).cut, 0);
	stored = read_stored(&store);
	assert_int_equal(stored.loud_samples, stubborn * LOUD_STACKS + LOUD_STACKS / 4);
	strbuf_release(&stored.others);
	/* What comes into one of them later is looked at, too. */
	writer = test_writer(&store);
	add_stacks(writer, 0, "other", 4 * LOUD_STACKS);
	test_commit(writer);
	store_writer__free(writer);
	assert_int_equal(compact(&store, 1).cut, 1);
	assert_int_equal(compact(&store, 1).cut, 0);
	test_store_remove(&store);
}

static void days_are_cut_as_hours_are(void **state)
{
	const struct store_compaction how = {
		.now_unix_ns = TEST_NS + 400 * 24 * HOUR_NS,
		.is_clock_sure = true,
		.keep_bytes = 1,
	};
	struct store_compaction_stats stats;
	struct store_writer *writer;
	struct stored stored;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	writer = test_writer(&store);
	for (unsigned day = 0; day < 5; day++) {
		add_stacks(writer, day * 24, "shop", 60);
		add_stacks(writer, day * 24, "loud", day == 1 ? LOUD_STACKS : 10);
		test_commit(writer);
	}
	store_writer__free(writer);
	assert_int_equal(store_compact(store.dir, &how, &stats), 0);
	assert_int_equal(stats.cut, 1);
	assert_int_equal(stats.left, 0);
	stored = read_stored(&store);
	assert_int_equal(stored.loud_samples, LOUD_STACKS + 40);
	assert_true(stored.loud_bytes < 5000);
	strbuf_release(&stored.others);
	test_store_remove(&store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_keeps_process_leaf_and_samples),
		cmocka_unit_test(only_files_that_stand_out_are_looked_at),
		cmocka_unit_test(who_writes_much_pays_with_its_own_history),
		cmocka_unit_test(
			hours_that_cannot_become_smaller_are_cut_once_and_stand_in_nobodys_way),
		cmocka_unit_test(days_are_cut_as_hours_are),
	};

	return cmocka_run_group_tests_name("store_cut", tests, NULL, NULL);
}
