// SPDX-License-Identifier: Apache-2.0
/*
 * Several events in one store: each has its own files, readers of one never see another's samples, and
 * all share one lock, one budget and one compaction.
 */
#include "tests/unit/store_testing.h"

#include <errno.h>

#include "user/store/retention.h"
#include "user/store/segment/segment_tree.h"
#include "user/util/cleanup.h"

#define FAULTS_HOUR "v1/page-faults/2026/11/21/12"

static struct window event_window(uint32_t number, enum event event)
{
	struct window window = number_to_window(number);

	window.event = event;
	window.period_unit = event_unit(event);
	window.period = event == EVENT_CPU ? CLOCK_NS_PER_S / 99 : event_default_period(event);
	window.frequency_hz = event == EVENT_CPU ? 99 : 0;
	return window;
}

static void add(struct store_writer *writer, uint32_t number, enum event event)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct window window = event_window(number, event);

	number_to_text(number, &text);
	assert_int_equal(store_writer__add(writer, &window, text.data, text.len), 0);
}

struct seen {
	enum event event;
	uint32_t windows;
	uint64_t samples;
};

static int see(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct seen *seen = ctx;

	(void)text;
	assert_int_equal(window->event, seen->event);
	assert_int_equal(window->period_unit, event_unit(seen->event));
	assert_int_equal(window_period(window), event_window(0, seen->event).period);
	assert_true(len > 0);
	seen->windows += window->window_cnt ? window->window_cnt : 1;
	seen->samples += window->counts.samples;
	return 0;
}

static struct seen read_event(const struct test_store *store, enum event event)
{
	struct seen seen = { .event = event };
	const struct store_visitor visitor = { .ctx = &seen, .window = see };
	struct store_reader *reader;

	assert_int_equal(store_reader__open_event(store->dir, event, &reader), 0);
	assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 0);
	store_reader__free(reader);
	return seen;
}

/* Both of each window, in turn, as a recorder hands them out. */
static void fill(const struct test_store *store, uint32_t cnt)
{
	struct store_writer *writer = test_writer(store);

	for (uint32_t i = 0; i < cnt; i++) {
		add(writer, i, EVENT_CPU);
		add(writer, i, EVENT_PAGE_FAULTS);
		add(writer, i + cnt, EVENT_CPU);
		test_commit(writer);
	}
	store_writer__free(writer);
}

static uint32_t stored_events(const char *dir)
{
	uint32_t events;

	assert_int_equal(store_events(dir, &events), 0);
	return events;
}

static void each_event_has_its_own_files(void **state)
{
	struct test_store store;

	(void)state;
	test_store_make(&store);
	fill(&store, 3);
	assert_true(test_exists(&store, TEST_FILE));
	assert_true(test_exists(&store, FAULTS_HOUR ".zst"));
	assert_int_equal(read_event(&store, EVENT_CPU).windows, 6);
	assert_int_equal(read_event(&store, EVENT_PAGE_FAULTS).windows, 3);
	assert_int_equal(read_event(&store, EVENT_PAGE_FAULTS).samples, 1 + 8 + 15);
	assert_int_equal(stored_events(store.dir),
			 EVENT_BIT(EVENT_CPU) | EVENT_BIT(EVENT_PAGE_FAULTS));
	test_store_remove(&store);
}

static void an_event_that_was_never_stored_has_no_tree(void **state)
{
	struct test_store store;
	struct store_reader *reader;

	(void)state;
	test_store_make(&store);
	test_fill(&store, 0, 2);
	assert_int_equal(stored_events(store.dir), EVENT_BIT(EVENT_CPU));
	assert_int_equal(store_reader__open_event(store.dir, EVENT_PAGE_FAULTS, &reader), -ENOENT);
	assert_false(test_exists(&store, "v1/page-faults"));
	assert_int_equal(stored_events("/nonexistent"), 0);
	test_store_remove(&store);
}

/* A jbpf that is older than the event, or a file of one that is newer. */
static void a_window_of_an_unknown_event_is_refused(void **state)
{
	struct window window = number_to_window(0);
	struct store_writer *writer;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	writer = test_writer(&store);
	window.event = EVENT_CNT;
	assert_int_equal(store_writer__add(writer, &window, "a 1\n", 4), -EINVAL);
	test_commit(writer);
	store_writer__free(writer);
	test_store_remove(&store);
}

static void a_tree_that_others_may_write_to_is_refused(void **state)
{
	const struct store_writer_options options = { .keeps_ticks = true };
	struct store_writer *writer;
	struct test_store store;
	char path[256], why[256];

	(void)state;
	test_store_make(&store);
	fill(&store, 1);
	assert_int_equal(chmod(test_path(&store, "v1/page-faults", path), 0777), 0);
	assert_int_equal(store_writer__open(store.dir, &options, &writer), -EUCLEAN);
	assert_int_equal(store_dir_check(store.dir, why, sizeof(why)), -EPERM);
	assert_non_null(strstr(why, "/v1/page-faults'"));
	test_store_remove(&store);
}

static void compaction_merges_all_events(void **state)
{
	const struct store_compaction how = {
		.now_unix_ns = TEST_NS + 2 * HOUR_NS,
		.is_clock_sure = true,
	};
	struct store_compaction_stats stats;
	struct seen cpu, faults, after;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	fill(&store, 5);
	cpu = read_event(&store, EVENT_CPU);
	faults = read_event(&store, EVENT_PAGE_FAULTS);
	assert_int_equal(store_compact(store.dir, &how, &stats), 0);
	assert_int_equal(stats.hours, 2);
	assert_int_equal(stats.left, 0);
	after = read_event(&store, EVENT_CPU);
	assert_memory_equal(&after, &cpu, sizeof(cpu));
	after = read_event(&store, EVENT_PAGE_FAULTS);
	assert_memory_equal(&after, &faults, sizeof(faults));
	/* Days, too. */
	struct store_compaction later = how;

	later.now_unix_ns += 30 * 24 * HOUR_NS;
	assert_int_equal(store_compact(store.dir, &later, &stats), 0);
	assert_int_equal(stats.days, 2);
	assert_true(test_exists(&store, "v1/page-faults/2026/11/21.zst"));
	after = read_event(&store, EVENT_PAGE_FAULTS);
	assert_memory_equal(&after, &faults, sizeof(faults));
	test_store_remove(&store);
}

/* ---- one event, two periods ---- */

/* What there is of one period. */
struct waits {
	uint64_t windows;
	uint64_t samples;
	uint64_t text_samples;
	uint64_t rows;
};

static int sum_waits(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct waits *waits = ctx;
	int number = window->period == 200 * CLOCK_NS_PER_MS;

	assert_int_equal(window->period, (1 + number) * 100 * CLOCK_NS_PER_MS);
	waits[number].windows += window->window_cnt ? window->window_cnt : 1;
	waits[number].samples += window->counts.samples;
	assert_true(len > 11 && memcmp(text, "java;waits ", 11) == 0);
	waits[number].text_samples += strtoull(text + 11, NULL, 10);
	waits[number].rows++;
	return 0;
}

static void assert_waits(const struct test_store *store, uint64_t rows)
{
	const struct waits expected[2] = { { 2, 10 + 12, 10 + 12, rows }, { 1, 11, 11, 1 } };
	struct waits waits[2] = { 0 };
	const struct store_visitor visitor = { .ctx = waits, .window = sum_waits };
	struct store_reader *reader;

	assert_int_equal(store_reader__open_event(store->dir, EVENT_OFF_CPU, &reader), 0);
	assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 0);
	store_reader__free(reader);
	assert_memory_equal(waits, expected, sizeof(waits));
}

/* Passes become fewer while there are many threads, and more again. */
static void fill_waits(const struct test_store *store)
{
	struct store_writer *writer = test_writer(store);

	for (uint32_t i = 0; i < 3; i++) {
		struct window window = event_window(i, EVENT_OFF_CPU);
		char text[32];

		window.pid = 7;
		window.period = (1 + i % 2) * 100 * CLOCK_NS_PER_MS;
		window.counts.samples = 10 + i;
		snprintf(text, sizeof(text), "java;waits %u\n", 10 + i);
		assert_int_equal(store_writer__add(writer, &window, text, strlen(text)), 0);
		test_commit(writer);
	}
	store_writer__free(writer);
}

static void windows_of_two_periods_stay_apart_in_a_day(void **state)
{
	const struct store_compaction soon = { .now_unix_ns = TEST_NS + 2 * HOUR_NS,
					       .is_clock_sure = true };
	const struct store_compaction later = { .now_unix_ns = TEST_NS + 30 * 24 * HOUR_NS,
						.is_clock_sure = true };

	(void)state;
	for (int has_merged_hour = 0; has_merged_hour < 2; has_merged_hour++) {
		struct store_compaction_stats stats;
		struct test_store store;

		test_store_make(&store);
		fill_waits(&store);
		if (has_merged_hour) {
			assert_int_equal(store_compact(store.dir, &soon, &stats), 0);
			assert_int_equal(stats.hours, 1);
		}
		assert_waits(&store, 2);
		assert_int_equal(store_compact(store.dir, &later, &stats), 0);
		assert_int_equal(stats.days, 1);
		assert_waits(&store, 1);
		test_store_remove(&store);
	}
}

/* ---- one budget ---- */

static const char *const cpu_hours[] = { "v1/cpu/2026/11/21/09.zst", "v1/cpu/2026/11/21/10.zst",
					 "v1/cpu/2026/11/21/11.zst", "v1/cpu/2026/11/21/12.zst" };
static const char *const fault_hours[] = {
	"v1/page-faults/2026/11/21/09.zst",
	"v1/page-faults/2026/11/21/10.zst",
	"v1/page-faults/2026/11/21/11.zst",
	"v1/page-faults/2026/11/21/12.zst",
};

/* Bits 0 to 3: hours of CPU time; 4 to 7: of page faults. */
static unsigned present(const struct test_store *store)
{
	unsigned bits = 0;

	for (size_t i = 0; i < ARRAY_SIZE(cpu_hours); i++) {
		bits |= (unsigned)test_exists(store, cpu_hours[i]) << i;
		bits |= (unsigned)test_exists(store, fault_hours[i]) << (i + 4);
	}
	return bits;
}

static unsigned left_of(uint64_t keep_bytes, size_t cpu_bytes, size_t fault_bytes)
{
	static const char bytes[100];
	const struct store_writer_options options = { .keep_bytes = keep_bytes };
	struct store_writer *writer;
	struct store_usage usage;
	struct test_store store;
	unsigned bits;

	test_store_make(&store);
	for (size_t i = 0; i < ARRAY_SIZE(cpu_hours); i++) {
		test_write(&store, cpu_hours[i], bytes, cpu_bytes);
		test_write(&store, fault_hours[i], bytes, fault_bytes);
	}
	assert_int_equal(store_writer__open(store.dir, &options, &writer), 0);
	assert_int_equal(store_writer__usage(writer, &usage), 0);
	store_writer__free(writer);
	assert_true(usage.bytes <= keep_bytes);
	bits = present(&store);
	assert_int_equal(usage.files, (size_t)__builtin_popcount(bits));
	test_store_remove(&store);
	return bits;
}

static void all_events_share_the_bytes(void **state)
{
	const struct {
		uint64_t keep_bytes;
		size_t cpu_bytes, fault_bytes;
		unsigned left;
	} rows[] = {
		{ 80, 10, 10, 0xff },
		/* Of the oldest hour the other event goes first, then CPU time. */
		{ 79, 10, 10, 0xef },
		{ 60, 10, 10, 0xee },
		{ 59, 10, 10, 0xce },
		/* Others that take more than half go alone: CPU time stays. */
		{ 100, 10, 90, 0x0f },
		{ 120, 10, 30, 0xcf },
		/* What is left when they are gone is not spared. */
		{ 30, 10, 90, 0x0e },
		/* Small ones are not pushed out by CPU time: both reach as far back. */
		{ 200, 90, 1, 0xcc },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned left = left_of(rows[i].keep_bytes, rows[i].cpu_bytes, rows[i].fault_bytes);

		if (left != rows[i].left)
			fail_msg("row %zu: %x", i, left);
	}
}

static void age_is_the_same_for_all(void **state)
{
	const struct store_writer_options options = { .keep_age_ns = HOUR_NS };
	struct store_writer *writer;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	for (size_t i = 0; i < ARRAY_SIZE(cpu_hours); i++)
		test_write(&store, cpu_hours[i], "0", 1);
	/* Page faults are no longer recorded: the present is that of CPU time. */
	test_write(&store, fault_hours[0], "0", 1);
	test_write(&store, fault_hours[1], "0", 1);
	assert_int_equal(store_writer__open(store.dir, &options, &writer), 0);
	/* As at opening, but by a clock that is believed. */
	assert_int_equal(store_writer__retain(writer, TEST_NS + HOUR_NS), 0);
	store_writer__free(writer);
	assert_int_equal(present(&store), 0x0c);
	test_store_remove(&store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_event_has_its_own_files),
		cmocka_unit_test(an_event_that_was_never_stored_has_no_tree),
		cmocka_unit_test(a_window_of_an_unknown_event_is_refused),
		cmocka_unit_test(a_tree_that_others_may_write_to_is_refused),
		cmocka_unit_test(compaction_merges_all_events),
		cmocka_unit_test(windows_of_two_periods_stay_apart_in_a_day),
		cmocka_unit_test(all_events_share_the_bytes),
		cmocka_unit_test(age_is_the_same_for_all),
	};

	return cmocka_run_group_tests_name("store_events", tests, NULL, NULL);
}
