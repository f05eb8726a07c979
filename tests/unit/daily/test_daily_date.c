// SPDX-License-Identifier: Apache-2.0
/*
 * Local days, also where midnight comes twice or not at all. The rules of the time zones are given as POSIX
 * has them: a host may have no table of zones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "user/daily/daily_date.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define NOON_S 1704110400u /* 2024-01-01 12:00 UTC */
#define DAY_S  86400u
#define DAYS   732u			    /* two years */
#define HAVANA "CST5CDT,M3.2.0/0,M11.1.0/1" /* November: from 1:00 back to 0:00 */
#define SANTIAGO \
	"<-04>4<-03>,M9.1.6/24,M4.1.6/24" /* September: there is no 0:00; April: back from it */

static void at_zone(const char *zone)
{
	assert_int_equal(setenv("TZ", zone, 1), 0);
	tzset();
}

static struct daily_date date_at(uint64_t unix_s, uint32_t back)
{
	struct daily_date date;

	assert_int_equal(daily_date_before(unix_s * CLOCK_NS_PER_S, back, &date), 0);
	return date;
}

static void assert_same(const struct daily_date *a, const struct daily_date *b)
{
	assert_int_equal(a->number, b->number);
	assert_string_equal(a->text, b->text);
	assert_int_equal(a->since_unix_ns, b->since_unix_ns);
	assert_int_equal(a->until_unix_ns, b->until_unix_ns);
}

static const char *const zones[] = {
	HAVANA,
	SANTIAGO,
	"CET-1CEST,M3.5.0,M10.5.0/3",
	"UTC0",
	"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
};

/* The C library tries first what was right the last time, so the order of questions matters to it. */
static void each_day_begins_when_the_one_before_ends(void **state)
{
	(void)state;
	for (size_t z = 0; z < ARRAY_SIZE(zones); z++) {
		struct daily_date forwards[DAYS];

		at_zone(zones[z]);
		for (uint32_t d = 0; d < DAYS; d++)
			forwards[d] = date_at(NOON_S + d * DAY_S, 0);
		for (uint32_t d = DAYS; d-- > 0;) {
			struct daily_date far = date_at(NOON_S + (DAYS - 1) * DAY_S, DAYS - 1 - d);
			struct daily_date date = date_at(NOON_S + d * DAY_S, 0);

			assert_same(&date, &forwards[d]);
			assert_same(&date, &far);
			if (d && date.since_unix_ns != forwards[d - 1].until_unix_ns)
				fail_msg("%s, %s: begins %lld s after the day before ends",
					 zones[z], date.text,
					 (long long)((int64_t)(date.since_unix_ns -
							       forwards[d - 1].until_unix_ns) /
						     (int64_t)CLOCK_NS_PER_S));
		}
	}
}

static void
a_midnight_that_comes_twice_is_the_first_and_one_that_does_not_come_is_after_it(void **state)
{
	static const struct {
		const char *zone;
		const char *text;
		uint64_t since_s;
		uint32_t hours;
	} rows[] = {
		{ HAVANA, "2024-11-03", 1730606400, 25 },   /* 0:00 CDT, 4:00 UTC */
		{ HAVANA, "2024-03-10", 1710046800, 23 },   /* 1:00 CDT, 5:00 UTC */
		{ SANTIAGO, "2024-09-08", 1725768000, 23 }, /* 1:00, 4:00 UTC */
		{ SANTIAGO, "2024-04-06", 1712372400, 25 }, /* 0:00, 3:00 UTC */
		{ "CET-1CEST,M3.5.0,M10.5.0/3", "2024-10-27", 1729980000, 25 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct daily_date date;

		at_zone(rows[i].zone);
		date = date_at(rows[i].since_s + 12 * 3600, 0);
		assert_string_equal(date.text, rows[i].text);
		assert_int_equal(date.since_unix_ns / CLOCK_NS_PER_S, rows[i].since_s);
		assert_int_equal((date.until_unix_ns - date.since_unix_ns) / CLOCK_NS_PER_S,
				 rows[i].hours * 3600);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_day_begins_when_the_one_before_ends),
		cmocka_unit_test(
			a_midnight_that_comes_twice_is_the_first_and_one_that_does_not_come_is_after_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
