// SPDX-License-Identifier: Apache-2.0
/* One service's days from a store, which has windows of a JVM that was just started, into its series. */
#include "tests/unit/store_testing.h"
#include "user/cli/option_groups.h"
#include "user/daily/daily_series.h"
#include "user/daily/daily_service.h"
#include "user/store/series/series_file.h"
#include "user/util/cleanup.h"

#define OLD_SAMPLES   300
#define YOUNG_SAMPLES 200 /* enough for its stacks to be believed */
#define BOOT_NS	      (100000 * CLOCK_NS_PER_S)

/* All of its code is compiled, as far as a stack can tell. */
static const char stack[] = "java;a.B.run_[j];a.B.c_[j]";

static void add_jvm_of_rate(struct store_writer *writer, enum event event, uint64_t start_unix_ns,
			    uint32_t pid, uint64_t age_s, uint64_t samples, uint32_t frequency_hz)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	const struct window window = {
		.start_unix_ns = start_unix_ns,
		.duration_ns = WINDOW_NS,
		.start_boot_ns = BOOT_NS,
		.process_start_ns = BOOT_NS - age_s * CLOCK_NS_PER_S,
		.pid = pid,
		.is_jvm = 1,
		.event = event,
		.period_unit = event_unit(event),
		.period = event == EVENT_CPU ? CLOCK_NS_PER_S / frequency_hz :
					       event_default_period(event),
		.frequency_hz = event == EVENT_CPU ? frequency_hz : 0,
		.counts = { .samples = samples },
		.labels = { [WINDOW_LABEL_COMM] = "java", [WINDOW_LABEL_SERVICE] = "shop" },
	};

	strbuf_printf(&text, "%s %u\n", stack, (unsigned int)samples);
	assert_int_equal(store_writer__add(writer, &window, text.data, text.len), 0);
}

static void add_jvm(struct store_writer *writer, enum event event, uint64_t start_unix_ns,
		    uint32_t pid, uint64_t age_s, uint64_t samples)
{
	add_jvm_of_rate(writer, event, start_unix_ns, pid, age_s, samples, 99);
}

static void fill(const struct test_store *store, enum event event)
{
	struct store_writer *writer = test_writer(store);

	add_jvm(writer, event, TEST_NS, 11, 5000, OLD_SAMPLES);
	add_jvm(writer, event, TEST_NS, 12, 1, YOUNG_SAMPLES);
	test_commit(writer);
	store_writer__free(writer);
}

struct told {
	uint64_t samples; /* of the day, in the series that the job writes */
	bool is_judged;
	float told_p_max;
	enum daily_state state;
};

/* The job of the day of TEST_NS. */
static struct told run_day(const struct test_store *store, enum event event,
			   uint64_t samples_before, uint64_t samples_after)
{
	const struct diff_options statistics = diff_options_default();
	const struct option_stores stores = { .cnt = 1 };
	const struct daily_service service = {
		.key = "service=shop",
		.title = "service shop",
		.name = "shop",
		.file = "shop",
		.selection = { .service = "shop" },
		.samples_before = samples_before,
		.samples_after = samples_after,
	};
	struct cmd_store_damage damage = { 0 };
	struct daily_dir dir;
	struct daily_job job = {
		.stores = &stores,
		.damage = &damage,
		.dir = &dir,
		.statistics = &statistics,
		.now_unix_ns = TEST_NS + 24 * HOUR_NS,
		.store_first_unix_ns = TEST_NS - 24 * HOUR_NS,
		.days = 1,
		.event = event,
	};
	struct series_file_state state = { 0 };
	struct series *series = NULL;
	struct daily_outcome outcome;
	const struct series_day *day;
	struct told told;
	char path[256];

	assert_int_equal(daily_dir_open(test_path(store, "pages", path), DAILY_DIR_SERIES, &dir),
			 0);
	assert_int_equal(daily_date_before(job.now_unix_ns, 1, &job.after_last), 0);
	assert_int_equal(daily_date_before(job.now_unix_ns, 2, &job.before_last), 0);
	job.after_first = job.after_last;
	job.before_first = job.before_last;
	assert_int_equal(daily_dir_begin(&dir, job.after_last.text), 0);
	assert_int_equal(store_source__open(store->dir, event, &job.reader), 0);
	assert_int_equal(daily_service_run(&job, &service, &outcome), 0);
	assert_int_equal(
		series_file_read(dir.series_fd, "shop.series", service.key, &series, &state), 0);
	day = series__find(series, job.after_last.number);
	assert_non_null(day);
	told = (struct told){ day->samples, day->is_judged, day->told_p_max, outcome.state };
	series__free(series);
	store_source__free(job.reader);
	daily_outcome_release(&outcome);
	daily_dir_close(&dir);
	return told;
}

/* As without --days: of CPU time the stacks say whether it warms up, of other events its age alone. */
static void whether_a_jvm_warms_up_is_judged_by_the_event(void **state)
{
	static const struct {
		enum event event;
		uint64_t samples;
	} rows[] = {
		{ EVENT_CPU, OLD_SAMPLES + YOUNG_SAMPLES },
		{ EVENT_PAGE_FAULTS, OLD_SAMPLES },
		{ EVENT_OFF_CPU, OLD_SAMPLES },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct test_store store;
		struct told told;

		test_store_make(&store);
		fill(&store, rows[i].event);
		told = run_day(&store, rows[i].event, 0, rows[i].samples);
		assert_int_equal(told.state, DAILY_STATE_NOT_COMPARED);
		assert_int_equal(told.samples, rows[i].samples);
		test_store_remove(&store);
	}
}

/* Nothing was said of its changes then: they are to be told on a day after. */
static void a_day_that_was_not_compared_is_none_whose_changes_were_told(void **state)
{
	static const struct {
		uint64_t samples_before, samples_after;
		bool is_judged;
	} rows[] = {
		{ DAILY_SAMPLES_MIN - 1, DAILY_SAMPLES_MIN, false },
		{ DAILY_SAMPLES_MIN, DAILY_SAMPLES_MIN - 1, false },
		{ DAILY_SAMPLES_MIN, DAILY_SAMPLES_MIN, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct test_store store;
		struct store_writer *writer;
		struct told told;

		test_store_make(&store);
		writer = test_writer(&store);
		add_jvm(writer, EVENT_CPU, TEST_NS - 24 * HOUR_NS, 11, 5000,
			rows[i].samples_before);
		test_commit(writer);
		add_jvm(writer, EVENT_CPU, TEST_NS, 11, 5000, rows[i].samples_after);
		test_commit(writer);
		store_writer__free(writer);
		told = run_day(&store, EVENT_CPU, rows[i].samples_before, rows[i].samples_after);
		assert_int_equal(told.samples, rows[i].samples_after);
		assert_int_equal(told.is_judged, rows[i].is_judged);
		/* By how much it told is known, also where nothing was. */
		assert_true((told.told_p_max > 0) == told.is_judged);
		test_store_remove(&store);
	}
}

/* A block's counts are of its lowest rate: 300 samples at 99 a second are 148.48 at 49. */
static void samples_of_another_rate_count_by_their_time(void **state)
{
	__cleanup_strbuf struct strbuf page = STRBUF_INIT;
	struct test_store store;
	struct store_writer *writer;
	struct told told;

	(void)state;
	test_store_make(&store);
	writer = test_writer(&store);
	for (uint64_t day = 0; day < 2; day++) {
		uint64_t start = TEST_NS - 24 * HOUR_NS * (1 - day);

		add_jvm(writer, EVENT_CPU, start, 11, 5000, DAILY_SAMPLES_MIN);
		test_commit(writer);
		add_jvm_of_rate(writer, EVENT_CPU, start + WINDOW_NS, 11, 5010, 7 + day, 49);
		test_commit(writer);
	}
	store_writer__free(writer);
	told = run_day(&store, EVENT_CPU, DAILY_SAMPLES_MIN, DAILY_SAMPLES_MIN);
	assert_int_equal(told.samples, DAILY_SAMPLES_MIN * 49 / 99 + 8);
	test_read(&store, "pages/2026-11-21/shop.json", &page);
	assert_null(strstr(strbuf_str(&page), "left out"));
	test_store_remove(&store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whether_a_jvm_warms_up_is_judged_by_the_event),
		cmocka_unit_test(a_day_that_was_not_compared_is_none_whose_changes_were_told),
		cmocka_unit_test(samples_of_another_rate_count_by_their_time),
	};

	assert_int_equal(setenv("TZ", "UTC", 1), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
