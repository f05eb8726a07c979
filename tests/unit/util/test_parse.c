// SPDX-License-Identifier: Apache-2.0
/* Numbers, durations, sizes, times: the whole string or nothing. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "user/util/cleanup.h"
#include "user/util/parse.h"

#define UNTOUCHED 0x5555555555555555ull
#define S	  1000000000ull

static void numbers_are_digits_and_nothing_else(void **state)
{
	static const struct {
		const char *text;
		int base;
		int err;
		uint64_t value;
	} rows[] = {
		{ "0", 10, 0, 0 },
		{ "007", 10, 0, 7 },
		{ "18446744073709551615", 10, 0, UINT64_MAX },
		{ "18446744073709551616", 10, -ERANGE, 0 },
		{ "99999999999999999999999", 10, -ERANGE, 0 },
		{ "", 10, -EINVAL, 0 },
		{ " 1", 10, -EINVAL, 0 },
		{ "1 ", 10, -EINVAL, 0 },
		{ "+1", 10, -EINVAL, 0 },
		{ "-1", 10, -EINVAL, 0 },
		{ "1a", 10, -EINVAL, 0 },
		{ "0x10", 10, -EINVAL, 0 },
		{ "\xb2", 10, -EINVAL, 0 },
		{ "ff", 16, 0, 255 },
		{ "FF", 16, 0, 255 },
		{ "0xfF", 16, 0, 255 },
		{ "0X1", 16, 0, 1 },
		{ "0x", 16, -EINVAL, 0 },
		{ "x1", 16, -EINVAL, 0 },
		{ "0x0x1", 16, -EINVAL, 0 },
		{ "fg", 16, -EINVAL, 0 },
		{ "ffffffffffffffff", 16, 0, UINT64_MAX },
		{ "10000000000000000", 16, -ERANGE, 0 },
		{ "00000000000000000000001", 16, 0, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t value = UNTOUCHED;
		int err = parse_u64_n(rows[i].text, strlen(rows[i].text), rows[i].base, &value);

		if (err != rows[i].err || value != (err ? UNTOUCHED : rows[i].value))
			fail_msg("'%s'", rows[i].text);
	}
}

static void length_bounds_what_is_read(void **state)
{
	const char text[3] = { '1', '2', '3' }; /* not terminated */
	uint64_t value;

	(void)state;
	assert_int_equal(parse_u64_n(text, 3, 10, &value), 0);
	assert_int_equal(value, 123);
	assert_int_equal(parse_u64_n(text, 1, 10, &value), 0);
	assert_int_equal(value, 1);
	assert_int_equal(parse_u64_n(text, 0, 10, &value), -EINVAL);
}

static void ranges_are_inclusive(void **state)
{
	uint32_t value = 5;

	(void)state;
	assert_int_equal(parse_u32_range("1", 1, 10, &value), 0);
	assert_int_equal(value, 1);
	assert_int_equal(parse_u32_range("10", 1, 10, &value), 0);
	assert_int_equal(value, 10);
	assert_int_equal(parse_u32_range("0", 1, 10, &value), -ERANGE);
	assert_int_equal(parse_u32_range("11", 1, 10, &value), -ERANGE);
	assert_int_equal(parse_u32_range("4294967296", 0, UINT32_MAX, &value), -ERANGE);
	assert_int_equal(parse_u32_range("x", 1, 10, &value), -EINVAL);
	assert_int_equal(value, 10);
}

static void durations_need_a_unit(void **state)
{
	static const struct {
		const char *text;
		int err;
		uint64_t ns;
	} rows[] = {
		{ "250ms", 0, 250000000 },
		{ "0s", 0, 0 },
		{ "90s", 0, 90 * S },
		{ "15m", 0, 900 * S },
		{ "1h", 0, 3600 * S },
		{ "2d", 0, 172800 * S },
		{ "", -EINVAL, 0 },
		{ "90", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ "1 h", -EINVAL, 0 },
		{ "1H", -EINVAL, 0 },
		{ "1hour", -EINVAL, 0 },
		{ "1h30m", 0, 5400 * S },
		{ "1.5h", -EINVAL, 0 },
		{ "1w", 0, 604800 * S },
		{ "1w2d3h4m5s6ms", 0, 788645006000000 },
		{ "30m1h", -EINVAL, 0 },
		{ "1h1h", -EINVAL, 0 },
		{ "1h30", -EINVAL, 0 },
		{ "h30m", -EINVAL, 0 },
		{ "1h 30m", -EINVAL, 0 },
		{ "1msx", -EINVAL, 0 },
		{ "213503d24h", -ERANGE, 0 },
		{ "-1h", -EINVAL, 0 },
		{ "213503d", 0, 213503ull * 86400 * S },
		{ "213504d", -ERANGE, 0 },
		{ "99999999999999999999s", -ERANGE, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t ns = UNTOUCHED;
		int err = parse_duration_ns(rows[i].text, &ns);

		if (err != rows[i].err || ns != (err ? UNTOUCHED : rows[i].ns))
			fail_msg("'%s'", rows[i].text);
	}
}

static void sizes_are_powers_of_1024(void **state)
{
	static const struct {
		const char *text;
		int err;
		uint64_t bytes;
	} rows[] = {
		{ "1000", 0, 1000 },
		{ "64K", 0, 65536 },
		{ "512M", 0, 512ull << 20 },
		{ "5G", 0, 5ull << 30 },
		{ "1T", 0, 1ull << 40 },
		{ "1KiB", 0, 1024 },
		{ "2TiB", 0, 2ull << 40 },
		{ "", -EINVAL, 0 },
		{ "G", -EINVAL, 0 },
		{ "5g", -EINVAL, 0 },
		{ "5GB", -EINVAL, 0 },
		{ "5 G", -EINVAL, 0 },
		{ "1.5G", -EINVAL, 0 },
		{ "16777216T", -ERANGE, 0 },
		{ "16777215T", 0, 16777215ull << 40 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t bytes = UNTOUCHED;
		int err = parse_size_bytes(rows[i].text, &bytes);

		if (err != rows[i].err || bytes != (err ? UNTOUCHED : rows[i].bytes))
			fail_msg("'%s'", rows[i].text);
	}
}

#define NOW (1795266000ull * S) /* 2026-11-21T13:00:00Z */

static void times_are_durations_dates_or_epochs(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} rows[] = {
		{ "now", NOW },
		{ "1h", NOW - 3600 * S },
		{ "0s", NOW },
		{ "100000d", 0 }, /* before 1970 */
		{ "@0", 0 },
		{ "@1795266000", NOW },
		{ "@1795266000.25", NOW + S / 4 },
		{ "@1.000000001", S + 1 },
		{ "@1.0000000019", S + 1 },
		{ "2026-11-21T13:00:00Z", NOW },
		{ "2026-11-21t13:00:00z", NOW },
		{ "2026-11-21 13:00:00Z", NOW },
		{ "2026-11-21T13:00Z", NOW },
		{ "2026-11-21T13:00:00.5Z", NOW + S / 2 },
		{ "2026-11-21T15:00:00+02:00", NOW },
		{ "2026-11-21T15:00:00+0200", NOW },
		{ "2026-11-21T08:00:00-05", NOW },
		{ "2026-11-21T18:45:00+05:45", NOW },
		{ "2026-11-22T01:00:00+12:00", NOW },
		/* no zone: the test runs in UTC-3 */
		{ "2026-11-21T10:00:00", NOW },
		{ "2026-11-21 10:00", NOW },
		{ "2026-11-21 10:00:00 XYZ", NOW },
		{ "2026-11-21 13:00:00 UTC", NOW },
		{ "2026-11-21 10:00:00 -03", NOW },
		{ "2026-11-21", NOW - 10 * 3600 * S },
		{ "today", NOW - 10 * 3600 * S },
		{ "yesterday", NOW - 34 * 3600 * S },
		/* what lies ahead today was yesterday */
		{ "10:00", NOW },
		{ "9:30", NOW - 1800 * S },
		{ "09:59:59.5", NOW - S / 2 },
		{ "10:00:01", NOW - 86399 * S },
		{ "23:00", NOW - 11 * 3600 * S },
		{ "20 minutes ago", NOW - 1200 * S },
		{ "1 minute ago", NOW - 60 * S },
		{ "90 sec ago", NOW - 90 * S },
		{ "1 seconds ago", NOW - S },
		{ "5 min ago", NOW - 300 * S },
		{ "2 hours ago", NOW - 7200 * S },
		{ "1 day ago", NOW - 86400 * S },
		{ "3 weeks ago", NOW - 21 * 86400 * S },
		{ "1h30m ago", NOW - 5400 * S },
		{ "2024-02-29T00:00:00Z", 1709164800 * S },
		{ "1970-01-01T00:00:00Z", 0 },
	};

	(void)state;
	setenv("TZ", "XYZ3", 1);
	tzset();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t ns = UNTOUCHED;
		int err = parse_time_ns(rows[i].text, NOW, &ns);

		if (err || ns != rows[i].ns)
			fail_msg("'%s' gave %d and %llu", rows[i].text, err,
				 (unsigned long long)ns);
	}
}

static void what_is_no_time_is_refused(void **state)
{
	static const char *const rows[] = {
		"1969-12-31T23:59:59Z",
		"1970-01-01T00:00:00+01:00",
		"",
		"@",
		"@-1",
		"@1.",
		"@1.x",
		"@1s",
		"@ 1",
		"@18446744074",
		"@18446744073.709551616",
		"2554-07-21T23:34:33.709551616Z",
		"2026-11-21T13:00:00+02:",
		"NOW",
		"Yesterday",
		"yesterdays",
		"90",
		"-1h",
		"ago",
		" ago",
		"20 ago",
		"20 minutes",
		"20 minutes  ago",
		"20  minutes ago",
		"20 minutess ago",
		"20 m ago",
		"20 minutes ago ago",
		"20 minutes agone",
		"-20 minutes ago",
		"yesterday ago",
		"99999999999999 weeks ago",
		"1h30m0000000000000000000000000000000000000000000000000000000000s ago",
		"99999999999999999999h",
		"2026-11-21T",
		"2026-11-21T13",
		"2026-11-21T13:",
		"2026-11-21T13:00:",
		"2026-11-21X13:00:00Z",
		"2026-11-21T13:00:00.Z",
		"2026-11-21T13:00:00Zulu",
		"2026-11-21T13:00:00  Z",
		"2026-11-21T13:00:00 ",
		"2026-11-21T13:00:00 CET",
		"2026-11-21 Z",
		"24:00",
		"13",
		"13:",
		"13:00Z",
		" 13:00",
		"13:00 today",
		"2026-11-21T13:00:00+",
		"2026-11-21T13:00:00+2",
		"2026-11-21T13:00:00+02:0",
		"2026-11-21T13:00:00+02:60",
		"2026-11-21T13:00:00+15:00",
		"2026-11-21T13:00:00+02:00x",
		"2026-11-21T24:00:00Z",
		"2026-11-21T13:60:00Z",
		"2026-13-01T00:00:00Z",
		"2026-00-01T00:00:00Z",
		"2026-11-31T00:00:00Z",
		"2026-02-29T00:00:00Z",
		"2026-02-29T00:00:00",
		"21.11.2026 13:00",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t ns = UNTOUCHED;

		if (parse_time_ns(rows[i], NOW, &ns) != -EINVAL || ns != UNTOUCHED)
			fail_msg("'%s' gave %llu", rows[i], (unsigned long long)ns);
	}
}

static void local_times_follow_summer_time(void **state)
{
	uint64_t winter, summer;

	(void)state;
	/* Written out, so that no time zone data need be installed. */
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	assert_int_equal(parse_time_ns("2026-01-15T12:00:00", NOW, &winter), 0);
	assert_int_equal(winter, 1768474800 * S);
	assert_int_equal(parse_time_ns("2026-07-15T12:00:00", NOW, &summer), 0);
	assert_int_equal(summer, 1784109600 * S);
	assert_int_equal(parse_time_ns("2026-07-15 12:00:00 CEST", NOW, &summer), 0);
	assert_int_equal(summer, 1784109600 * S);
	/* That hour comes twice; its name tells which. */
	assert_int_equal(parse_time_ns("2026-10-25 02:30 CEST", NOW, &summer), 0);
	assert_int_equal(parse_time_ns("2026-10-25 02:30 CET", NOW, &winter), 0);
	assert_int_equal(summer, 1792888200 * S);
	assert_int_equal(winter, 1792891800 * S);
}

static void days_begin_at_midnight_whatever_their_length(void **state)
{
	const uint64_t monday_noon =
		1793012400 * S; /* 2026-10-26 12:00 CET, after 25 hours of Sunday */
	uint64_t ns;

	(void)state;
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	assert_int_equal(parse_time_ns("today", monday_noon, &ns), 0);
	assert_int_equal(ns, monday_noon - 12 * 3600 * S);
	assert_int_equal(parse_time_ns("yesterday", monday_noon, &ns), 0);
	assert_int_equal(ns, monday_noon - 37 * 3600 * S);
	assert_int_equal(parse_time_ns("13:00", monday_noon, &ns), 0);
	assert_int_equal(ns, monday_noon - 23 * 3600 * S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_digits_and_nothing_else),
		cmocka_unit_test(length_bounds_what_is_read),
		cmocka_unit_test(ranges_are_inclusive),
		cmocka_unit_test(durations_need_a_unit),
		cmocka_unit_test(sizes_are_powers_of_1024),
		cmocka_unit_test(times_are_durations_dates_or_epochs),
		cmocka_unit_test(what_is_no_time_is_refused),
		cmocka_unit_test(local_times_follow_summer_time),
		cmocka_unit_test(days_begin_at_midnight_whatever_their_length),
	};

	return cmocka_run_group_tests_name("util_parse", tests, NULL, NULL);
}
