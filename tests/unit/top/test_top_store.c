// SPDX-License-Identifier: Apache-2.0
/* What jbpf top takes from a store as time goes on, and as it goes back. */
#include "tests/unit/store_testing.h"

#include <time.h>

#include "user/top/top_source.h"

#define NOW_NS (TEST_NS + HOUR_NS / 2)
#define STEPS  5 /* a second each: in two of them a window is taken */

static const struct selection everything = { 0 };
static uint64_t unix_ns, boot_ns = HOUR_NS;

/* In place of libc's. */
int clock_gettime(clockid_t id, struct timespec *out)
{
	uint64_t ns = id == CLOCK_REALTIME ? unix_ns : boot_ns;

	*out = (struct timespec){ .tv_sec = (time_t)(ns / CLOCK_NS_PER_S),
				  .tv_nsec = (long)(ns % CLOCK_NS_PER_S) };
	return 0;
}

/* One stream, and its host record. */
static void write_window(const struct test_store *store, uint64_t end_ns, uint64_t samples)
{
	struct store_writer *writer = test_writer(store);
	struct window window = {
		.start_unix_ns = end_ns - WINDOW_NS,
		.duration_ns = WINDOW_NS,
		.pid = 7,
		.frequency_hz = 99,
		.cpu_cnt = 2,
		.counts.samples = samples,
		.labels = { [WINDOW_LABEL_COMM] = "java", [WINDOW_LABEL_CONTAINER] = "shop" },
	};
	char text[64];
	int len = snprintf(text, sizeof(text), "java;a %u\n", (unsigned int)samples);

	assert_int_equal(store_writer__add(writer, &window, text, (size_t)len), 0);
	window.pid = 0;
	memset(window.labels, 0, sizeof(window.labels));
	assert_int_equal(store_writer__add(writer, &window, "", 0), 0);
	test_commit(writer);
	store_writer__free(writer);
}

struct top {
	struct top_source *source;
	struct top_model *model;
};

static struct top open_top(const struct test_store *store)
{
	struct top top = { .model = top_model__new(&everything, TOP_SPAN_LIVE) };

	assert_non_null(top.model);
	assert_int_equal(top_store__open(store->dir, EVENT_CPU, false, &top.source), 0);
	return top;
}

static void close_top(struct top *top)
{
	top_source_free(top->source);
	top_model__free(top->model);
}

/* What is shown when all was taken: samples of the only row that there is. */
static void assert_shown(struct top *top, uint64_t end_ns, uint64_t samples)
{
	struct top_rows rows;

	for (int i = 0; i < STEPS; i++) {
		assert_int_equal(top->source->ops->step(top->source, EVENT_CPU, top->model), 0);
		unix_ns += CLOCK_NS_PER_S;
		boot_ns += CLOCK_NS_PER_S;
	}
	assert_true(top->source->is_idle);
	assert_int_equal(top_model__rows(top->model, EVENT_CPU, &rows), 0);
	assert_int_equal(rows.cnt, 1);
	assert_true(rows.host.end_unix_ns == end_ns);
	assert_int_equal(rows.items[0].samples, samples);
	top_rows_release(&rows);
}

/* The newest ones are of a clock that was hours ahead, as one without a battery is at boot. */
static void windows_of_the_future_do_not_hide_those_of_now(void **state)
{
	struct test_store store;
	struct top top;

	(void)state;
	test_store_make(&store);
	write_window(&store, NOW_NS + 5 * HOUR_NS, 1000);
	write_window(&store, NOW_NS + 5 * HOUR_NS + WINDOW_NS, 1000);
	write_window(&store, NOW_NS, 70);
	unix_ns = NOW_NS;
	top = open_top(&store);
	assert_shown(&top, NOW_NS, 70);
	write_window(&store, NOW_NS + WINDOW_NS, 80);
	unix_ns = NOW_NS + WINDOW_NS;
	assert_shown(&top, NOW_NS + WINDOW_NS, 80);
	close_top(&top);
	test_store_remove(&store);
}

static void windows_behind_a_clock_that_is_set_back_are_taken(void **state)
{
	const uint64_t back_ns = NOW_NS - HOUR_NS / 4;
	struct test_store store;
	struct top top;

	(void)state;
	test_store_make(&store);
	/* A future one when the clock is back, and not yet shown again. */
	write_window(&store, back_ns + 3 * WINDOW_NS, 1000);
	write_window(&store, NOW_NS, 1000);
	unix_ns = NOW_NS;
	top = open_top(&store);
	assert_shown(&top, NOW_NS, 1000);
	for (uint64_t i = 0; i < 2; i++) {
		unix_ns = back_ns + i * WINDOW_NS;
		write_window(&store, unix_ns, 70 + i);
		assert_shown(&top, back_ns + i * WINDOW_NS, 70 + i);
	}
	close_top(&top);
	test_store_remove(&store);
}

/* However old it is: a store may be one that nobody writes to any more. */
static void an_old_store_is_shown_as_it_was(void **state)
{
	struct test_store store;
	struct top top;

	(void)state;
	test_store_make(&store);
	write_window(&store, NOW_NS, 70);
	unix_ns = NOW_NS + 48 * HOUR_NS;
	top = open_top(&store);
	assert_shown(&top, NOW_NS, 70);
	close_top(&top);
	test_store_remove(&store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_of_the_future_do_not_hide_those_of_now),
		cmocka_unit_test(windows_behind_a_clock_that_is_set_back_are_taken),
		cmocka_unit_test(an_old_store_is_shown_as_it_was),
	};

	return cmocka_run_group_tests_name("top_store", tests, NULL, NULL);
}
