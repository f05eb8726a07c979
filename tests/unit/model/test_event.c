// SPDX-License-Identifier: Apache-2.0
/* Names of events, and sets of them as the command line has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "user/model/event.h"
#include "user/util/cleanup.h"

static void every_event_is_found_by_its_name(void **state)
{
	(void)state;
	for (int i = 0; i < EVENT_CNT; i++) {
		const char *name = event_name((enum event)i);

		assert_int_equal(event_by_name(name, strlen(name)), i);
		assert_int_equal(event_by_name(name, strlen(name) - 1), EVENT_CNT);
	}
	assert_string_equal(event_name(EVENT_VIEW_END), "unknown");
	assert_int_equal(event_by_name("", 0), EVENT_CNT);
}

static void sets_are_names_with_commas(void **state)
{
	const struct {
		const char *text;
		int err;
		uint32_t events;
	} rows[] = {
		{ "cpu", 0, 1 },
		{ "cpu,page-faults", 0, 3 },
		{ "page-faults,cpu", 0, 3 },
		{ "cpu-migrations", 0, 16 },
		{ "", -EINVAL, 0 },
		{ "cpu,", -EINVAL, 0 },
		{ ",cpu", -EINVAL, 0 },
		{ "cpu,cpu", -EINVAL, 0 },
		{ "cpu page-faults", -EINVAL, 0 },
		{ "all", -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t events = 77;

		assert_int_equal(event_parse_set(rows[i].text, &events), rows[i].err);
		assert_int_equal(events, rows[i].err ? 77 : rows[i].events);
	}
}

static void names_of_all_fit(void **state)
{
	char names[EVENT_NAMES_MAX];

	(void)state;
	event_names(EVENT_BIT(EVENT_CPU) | EVENT_BIT(EVENT_PAGE_FAULTS), names);
	assert_string_equal(names, "cpu, page-faults");
	event_names(0, names);
	assert_string_equal(names, "");
	event_names(EVENT_BIT(EVENT_CNT) - 1, names);
	assert_true(strlen(names) < sizeof(names));
	assert_non_null(strstr(names, "cpu-migrations"));
}

static void samples_stand_for_their_period(void **state)
{
	(void)state;
	assert_int_equal(event_amount(3, 64), 192);
	assert_int_equal(event_amount(3, 0), 3);
	assert_true(event_amount(UINT64_MAX / 2, 3) == UINT64_MAX);
}

/* Who samples by a counter takes none of these, and who tells amounts has a word for each. */
static void each_event_has_one_way_to_be_sampled_and_one_unit(void **state)
{
	static const struct {
		enum event event;
		bool is_of_cpus, is_measured;
		const char *unit;
	} rows[] = {
		{ EVENT_CPU, true, false, "nanoseconds" },
		{ EVENT_PAGE_FAULTS, true, false, "count" },
		{ EVENT_OFF_CPU, false, false, "nanoseconds" },
		{ EVENT_SCHED, false, true, "nanoseconds" },
		{ EVENT_ALLOC, false, true, "bytes" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(event_is_of_cpus(rows[i].event), rows[i].is_of_cpus);
		assert_int_equal(event_is_measured(rows[i].event), rows[i].is_measured);
		assert_string_equal(event_value_unit(rows[i].event), rows[i].unit);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_is_found_by_its_name),
		cmocka_unit_test(sets_are_names_with_commas),
		cmocka_unit_test(names_of_all_fit),
		cmocka_unit_test(samples_stand_for_their_period),
		cmocka_unit_test(each_event_has_one_way_to_be_sampled_and_one_unit),
	};

	return cmocka_run_group_tests_name("event", tests, NULL, NULL);
}
