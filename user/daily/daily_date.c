// SPDX-License-Identifier: Apache-2.0
/* Local days; see daily_date.h. */
#include "user/daily/daily_date.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define SECONDS_PER_DAY 86400

/* The day `ahead` days after the one in `tm`, 0:00. The calendar's arithmetic is timegm's. 0 or -ERANGE. */
static int move_day(const struct tm *tm, int ahead, struct tm *out, time_t *number_out)
{
	struct tm day = {
		.tm_year = tm->tm_year,
		.tm_mon = tm->tm_mon,
		.tm_mday = tm->tm_mday + ahead,
	};
	time_t at = timegm(&day);

	if (at < 0)
		return -ERANGE;
	*out = day;
	*number_out = at / SECONDS_PER_DAY;
	return 0;
}

/* Do local clocks show this day then, and 0:00? */
struct shown {
	bool is_day;
	bool is_midnight;
};

static struct shown shown_at(const struct tm *day, time_t at)
{
	struct shown shown = { false };
	struct tm tm;

	if (!localtime_r(&at, &tm))
		return shown;
	shown.is_day = tm.tm_year == day->tm_year && tm.tm_mon == day->tm_mon &&
		       tm.tm_mday == day->tm_mday;
	shown.is_midnight = shown.is_day && !tm.tm_hour && !tm.tm_min && !tm.tm_sec;
	return shown;
}

static time_t read_clock(const struct tm *day, int is_dst)
{
	struct tm tm = *day;

	tm.tm_isdst = is_dst;
	return mktime(&tm);
}

/*
 * Midnight of the day: where clocks show it twice, the first; where they skip it, the first moment after. Left
 * alone to choose, mktime() takes the one that is like what it was asked before. Midnight in standard time is where
 * the clocks were when they skipped it for summer.
 */
static int midnight(const struct tm *day, uint64_t *unix_ns_out)
{
	time_t times[] = { read_clock(day, 1), read_clock(day, 0) };
	time_t at = -1;

	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		if (shown_at(day, times[i]).is_midnight && (at < 0 || times[i] < at))
			at = times[i];
	if (at < 0)
		at = shown_at(day, times[1]).is_day ? times[1] : read_clock(day, -1);
	if (at < 0)
		return -ERANGE;
	*unix_ns_out = (uint64_t)at * CLOCK_NS_PER_S;
	return 0;
}

int daily_date_before(uint64_t unix_ns, uint32_t back, struct daily_date *out)
{
	time_t now = (time_t)(unix_ns / CLOCK_NS_PER_S);
	struct daily_date date = { 0 };
	struct tm today, day, next;
	time_t number, next_number;
	int err;

	if (!localtime_r(&now, &today) || back > INT32_MAX / 2)
		return -ERANGE;
	err = move_day(&today, -(int)back, &day, &number);
	if (!err)
		err = move_day(&today, 1 - (int)back, &next, &next_number);
	if (!err)
		err = midnight(&day, &date.since_unix_ns);
	if (!err)
		err = midnight(&next, &date.until_unix_ns);
	if (err)
		return err;
	date.number = (uint32_t)number;
	daily_date_text(date.number, date.text);
	*out = date;
	return 0;
}

void daily_date_text(uint32_t number, char out[static DAILY_DATE_BYTES])
{
	time_t at = (time_t)number * SECONDS_PER_DAY;
	struct tm tm;

	if (!gmtime_r(&at, &tm) || strftime(out, DAILY_DATE_BYTES, "%Y-%m-%d", &tm) == 0)
		strcpy(out, "?");
}
