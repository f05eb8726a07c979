// SPDX-License-Identifier: Apache-2.0
/*
 * Numbers, durations, sizes and times as people write them. Each answer is held against one that is
 * worked out another way (128-bit arithmetic, days counted from the calendar's rules), and what is
 * refused leaves the output alone.
 *
 * Input: one line each; those of other kinds are refused by the functions they are not for.
 */
#include <time.h>

#include "tests/fuzz/fuzz.h"
#include "user/util/parse.h"

#define UNTOUCHED 0x5a5a5a5a5a5a5a5aull
#define NOW_NS	  1795267200123456789ull
#define NS	  1000000000ull

typedef unsigned __int128 wide;

/* Digits only, as a number that cannot overflow; false when there are none or too many. */
static bool wide_digits(const char *text, size_t len, wide *out)
{
	*out = 0;
	if (!len || len > 30)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*out = *out * 10 + (wide)(text[i] - '0');
	}
	return true;
}

struct unit {
	const char *name;
	uint64_t factor;
};

/* "90s": the number times its unit; false when it is not of that form. */
static bool wide_with_unit(const char *text, const struct unit *units, size_t cnt, wide *out)
{
	size_t digits = strspn(text, "0123456789");
	wide value;

	if (!wide_digits(text, digits, &value))
		return false;
	for (size_t i = 0; i < cnt; i++) {
		if (strcmp(text + digits, units[i].name) == 0) {
			*out = value * units[i].factor;
			return true;
		}
	}
	return false;
}

/* A result of a function that gives numbers of 64 bits. */
static void check(bool is_valid, wide wanted, int err, uint64_t value)
{
	if (err) {
		must(err == -EINVAL || err == -ERANGE);
		must(value == UNTOUCHED);
		must(!is_valid || wanted > UINT64_MAX);
	} else {
		must(is_valid && wanted == value);
	}
}

static void check_numbers(const char *text)
{
	uint64_t value = UNTOUCHED;
	size_t len = strlen(text);
	uint32_t narrow = 77;
	wide wanted = 0;
	bool is_valid;
	int err;

	/* Leading zeros could make it longer than the slow way takes. */
	if (len > 30)
		return;
	is_valid = wide_digits(text, len, &wanted);
	err = parse_u64(text, &value);
	check(is_valid, wanted, err, value);
	err = parse_u32_range(text, 10, 4000000000u, &narrow);
	must((err == 0) == (is_valid && wanted >= 10 && wanted <= 4000000000u));
	must(narrow == (err ? 77 : wanted));
	value = UNTOUCHED;
	err = parse_u64_n(text, len, 16, &value);
	if (!err && len) {
		char *rest;

		errno = 0;
		must(strtoull(text, &rest, 16) == value && !*rest && !errno);
	}
}

/* "1h30m": each unit once, the largest first. */
static bool wide_duration(const char *text, wide *out)
{
	static const struct unit units[] = { { "w", 604800 * NS }, { "d", 86400 * NS },
					     { "h", 3600 * NS },   { "m", 60 * NS },
					     { "s", NS },	   { "ms", 1000000 } };
	size_t from = 0;

	*out = 0;
	while (*text || !from) {
		size_t len = strspn(text, "0123456789");
		char part[32];
		wide value = 0;

		len += strcspn(text + len, "0123456789");
		memcpy(part, text, len);
		part[len] = '\0';
		do {
			if (from == 6)
				return false;
		} while (!wide_with_unit(part, &units[from++], 1, &value));
		*out += value;
		text += len;
	}
	return true;
}

static void check_units(const char *text)
{
	static const struct unit sizes[] = {
		{ "", 1 },	    { "K", 1 << 10 },	 { "M", 1 << 20 },
		{ "G", 1 << 30 },   { "T", 1ull << 40 }, { "KiB", 1 << 10 },
		{ "MiB", 1 << 20 }, { "GiB", 1 << 30 },	 { "TiB", 1ull << 40 },
	};
	uint64_t value = UNTOUCHED;
	wide wanted = 0;
	bool is_valid;
	int err;

	if (strlen(text) > 30)
		return;
	is_valid = wide_duration(text, &wanted);
	err = parse_duration_ns(text, &value);
	check(is_valid, wanted, err, value);
	value = UNTOUCHED;
	is_valid = wide_with_unit(text, sizes, 9, &wanted);
	err = parse_size_bytes(text, &value);
	check(is_valid, wanted, err, value);
}

/* ---- times ---- */

struct strict_time {
	int year, month, day, hour, minute, second;
	uint64_t fraction_ns;
	int offset_s;
};

/* Exactly `len` digits. */
static bool take_digits(const char **at, size_t len, int *out)
{
	wide value;

	if (strnlen(*at, len) < len || !wide_digits(*at, len, &value))
		return false;
	*at += len;
	*out = (int)value;
	return true;
}

static bool take(const char **at, char c)
{
	if (**at != c)
		return false;
	(*at)++;
	return true;
}

static bool take_fraction(const char **at, uint64_t *ns)
{
	uint64_t scale = NS;

	*ns = 0;
	if (**at < '0' || **at > '9')
		return false;
	for (; **at >= '0' && **at <= '9'; (*at)++) {
		scale /= 10;
		*ns += scale * (uint64_t)(**at - '0');
	}
	return true;
}

static bool take_zone(const char **at, int *offset_s)
{
	int sign = **at == '-' ? -1 : 1, hours, minutes = 0;

	*offset_s = 0;
	if (take(at, 'Z') || take(at, 'z'))
		return true;
	if ((!take(at, '+') && !take(at, '-')) || !take_digits(at, 2, &hours))
		return false;
	if (**at && ((void)take(at, ':'), !take_digits(at, 2, &minutes)))
		return false;
	*offset_s = sign * (hours * 3600 + minutes * 60);
	return hours <= 14 && minutes <= 59;
}

static bool read_strictly(const char *at, struct strict_time *out)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool is_leap;

	if (!take_digits(&at, 4, &out->year) || !take(&at, '-') ||
	    !take_digits(&at, 2, &out->month) || !take(&at, '-') || !take_digits(&at, 2, &out->day))
		return false;
	if ((!take(&at, 'T') && !take(&at, 't') && !take(&at, ' ')) ||
	    !take_digits(&at, 2, &out->hour) || !take(&at, ':') ||
	    !take_digits(&at, 2, &out->minute))
		return false;
	if (take(&at, ':') && !take_digits(&at, 2, &out->second))
		return false;
	if (take(&at, '.') && !take_fraction(&at, &out->fraction_ns))
		return false;
	if (*at && !take_zone(&at, &out->offset_s))
		return false;
	is_leap = (out->year % 4 == 0 && out->year % 100) || out->year % 400 == 0;
	return !*at && out->month >= 1 && out->month <= 12 && out->day >= 1 &&
	       out->day <= days[out->month - 1] + (out->month == 2 && is_leap) && out->hour < 24 &&
	       out->minute < 60 && out->second < 60;
}

/* Nanoseconds since 1970; may be negative. */
static __int128 count_ns(const struct strict_time *time)
{
	__int128 days = 0;

	for (int year = 1970; year < time->year; year++)
		days += 365 + ((year % 4 == 0 && year % 100) || year % 400 == 0);
	for (int year = time->year; year < 1970; year++)
		days -= 365 + ((year % 4 == 0 && year % 100) || year % 400 == 0);
	for (int month = 1; month < time->month; month++) {
		static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
		bool is_leap = (time->year % 4 == 0 && time->year % 100) || time->year % 400 == 0;

		days += lengths[month - 1] + (month == 2 && is_leap);
	}
	days += time->day - 1;
	return (((days * 24 + time->hour) * 60 + time->minute) * 60 + time->second -
		time->offset_s) *
		       (__int128)NS +
	       time->fraction_ns;
}

static void check_time(const char *text)
{
	struct strict_time strict = { 0 };
	uint64_t value = UNTOUCHED, back;
	int err = parse_time_ns(text, NOW_NS, &value);

	must(err == 0 || err == -EINVAL || err == -ERANGE);
	if (err)
		must(value == UNTOUCHED);
	if (parse_duration_ns(text, &back) == 0)
		must(!err && value == (back > NOW_NS ? 0 : NOW_NS - back));
	if (strcmp(text, "now") == 0)
		must(!err && value == NOW_NS);
	if (!read_strictly(text, &strict) || (text[16] == '.'))
		return;
	/* The zone of the test is UTC. */
	__int128 wanted = count_ns(&strict);

	if (wanted < 0 || wanted > UINT64_MAX)
		must(err || wanted > -(__int128)NS);
	else
		must(!err && value == wanted);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	must(setenv("TZ", "UTC0", 1) == 0);
	tzset();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_input input = { data, len };

	while (input.left) {
		char *text = fuzz_text(&input, '\n');

		check_numbers(text);
		check_units(text);
		check_time(text);
		free(text);
	}
	return 0;
}
