// SPDX-License-Identifier: Apache-2.0
/* Local days; see daily_date.h. */
#include "user/daily/daily_date.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "user/util/clock.h"

#define SECONDS_PER_DAY 86400

/* Midnight of the day `ahead` days after the one in `tm`; where clocks skip it, the first moment after. */
static int midnight(const struct tm *tm, int ahead, struct tm *out, uint64_t *unix_ns_out)
{
	struct tm day = {
		.tm_year = tm->tm_year,
		.tm_mon = tm->tm_mon,
		.tm_mday = tm->tm_mday + ahead,
		.tm_isdst = -1,
	};
	time_t at = mktime(&day);

	if (at < 0)
		return -ERANGE;
	*out = day;
	*unix_ns_out = (uint64_t)at * CLOCK_NS_PER_S;
	return 0;
}

int daily_date_before(uint64_t unix_ns, uint32_t back, struct daily_date *out)
{
	time_t now = (time_t)(unix_ns / CLOCK_NS_PER_S);
	struct daily_date date = { 0 };
	struct tm today, day, next, utc;
	time_t number;
	int err;

	if (!localtime_r(&now, &today) || back > INT32_MAX / 2)
		return -ERANGE;
	err = midnight(&today, -(int)back, &day, &date.since_unix_ns);
	if (!err)
		err = midnight(&today, 1 - (int)back, &next, &date.until_unix_ns);
	if (err)
		return err;
	/* The calendar's arithmetic is timegm's. */
	utc = (struct tm){ .tm_year = day.tm_year, .tm_mon = day.tm_mon, .tm_mday = day.tm_mday };
	number = timegm(&utc) / SECONDS_PER_DAY;
	if (number < 0)
		return -ERANGE;
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
