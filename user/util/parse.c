// SPDX-License-Identifier: Apache-2.0
/* Numbers, durations, sizes and times as users and files write them; see parse.h. */
#include "user/util/parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/util/cleanup.h"

#define NS_PER_MS 1000000ull
#define NS_PER_S  1000000000ull

#define SPOKEN_MAX 64 /* bytes of a duration in front of "ago", with its NUL */

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

int parse_u64_n(const char *text, size_t len, int base, uint64_t *out)
{
	uint64_t value = 0;

	if (base == 16 && len > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		text += 2;
		len -= 2;
	}
	if (len == 0)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		int digit = digit_value(text[i]);

		if (digit >= base)
			return -EINVAL;
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return -ERANGE;
	}
	*out = value;
	return 0;
}

int parse_u64(const char *text, uint64_t *out)
{
	return parse_u64_n(text, strlen(text), 10, out);
}

int parse_u32_range(const char *text, uint32_t min, uint32_t max, uint32_t *out)
{
	uint64_t value;
	int err = parse_u64(text, &value);

	if (err)
		return err;
	if (value < min || value > max)
		return -ERANGE;
	*out = (uint32_t)value;
	return 0;
}

/* A number and one of the units. */
static int parse_with_unit(const char *text, const char *const *units, const uint64_t *factors,
			   size_t unit_cnt, uint64_t *out)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t value;
	int err = parse_u64_n(text, digits, 10, &value);

	if (err)
		return err;
	for (size_t i = 0; i < unit_cnt; i++) {
		if (strcmp(text + digits, units[i]) != 0)
			continue;
		if (__builtin_mul_overflow(value, factors[i], &value))
			return -ERANGE;
		*out = value;
		return 0;
	}
	return -EINVAL;
}

int parse_duration_ns(const char *text, uint64_t *ns_out)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = {
		{ "w", 7 * 86400 * NS_PER_S }, { "d", 86400 * NS_PER_S }, { "h", 3600 * NS_PER_S },
		{ "m", 60 * NS_PER_S },	       { "s", NS_PER_S },	  { "ms", NS_PER_MS }
	};
	uint64_t sum = 0;
	size_t next = 0; /* the largest unit that may still come: each once, in that order */

	do {
		size_t digits = strspn(text, "0123456789");
		size_t letters = strcspn(text + digits, "0123456789");
		uint64_t value;
		int err = parse_u64_n(text, digits, 10, &value);

		if (err)
			return err;
		text += digits;
		while (next < ARRAY_SIZE(units) && (strlen(units[next].unit) != letters ||
						    strncmp(text, units[next].unit, letters) != 0))
			next++;
		if (next == ARRAY_SIZE(units))
			return -EINVAL;
		if (__builtin_mul_overflow(value, units[next++].ns, &value) ||
		    __builtin_add_overflow(sum, value, &sum))
			return -ERANGE;
		text += letters;
	} while (*text);
	*ns_out = sum;
	return 0;
}

int parse_size_bytes(const char *text, uint64_t *bytes_out)
{
	static const char *const units[] = { "", "K", "M", "G", "T", "KiB", "MiB", "GiB", "TiB" };
	static const uint64_t factors[] = { 1,		1ull << 10, 1ull << 20,
					    1ull << 30, 1ull << 40, 1ull << 10,
					    1ull << 20, 1ull << 30, 1ull << 40 };

	return parse_with_unit(text, units, factors, 9, bytes_out);
}

/* ".25" -> nanoseconds; leaves *rest behind the digits. */
static int parse_fraction_ns(const char *text, const char **rest, uint64_t *ns_out)
{
	uint64_t scale = NS_PER_S / 10;
	uint64_t ns = 0;

	*rest = text;
	*ns_out = 0;
	if (*text != '.')
		return 0;
	text++;
	if (*text < '0' || *text > '9')
		return -EINVAL;
	for (; *text >= '0' && *text <= '9'; text++) {
		ns += (uint64_t)(*text - '0') * scale;
		scale /= 10;
	}
	*rest = text;
	*ns_out = ns;
	return 0;
}

static int parse_epoch_ns(const char *text, uint64_t *unix_ns_out)
{
	size_t digits = strspn(text, "0123456789");
	const char *rest;
	uint64_t seconds, fraction_ns;
	int err = parse_u64_n(text, digits, 10, &seconds);

	if (!err)
		err = parse_fraction_ns(text + digits, &rest, &fraction_ns);
	if (err)
		return err;
	if (*rest || __builtin_mul_overflow(seconds, NS_PER_S, &seconds) ||
	    __builtin_add_overflow(seconds, fraction_ns, &seconds))
		return -EINVAL;
	*unix_ns_out = seconds;
	return 0;
}

/* What stands behind a time. */
struct zone {
	bool is_local; /* the rest is then: */
	int is_dst;    /* as in struct tm: -1 = whichever it is */
	long offset_s; /* else */
};

/* "+02:00", "+0200", "-05" */
static int parse_offset(const char *text, long *offset_s)
{
	int sign = *text == '-' ? -1 : 1;
	uint64_t hours, minutes = 0;

	if ((*text != '+' && *text != '-') || strlen(text) < 3 ||
	    parse_u64_n(text + 1, 2, 10, &hours))
		return -EINVAL;
	text += 3;
	if (*text == ':' && text[1])
		text++;
	if (*text && (strlen(text) != 2 || parse_u64_n(text, 2, 10, &minutes)))
		return -EINVAL;
	if (hours > 14 || minutes > 59)
		return -EINVAL;
	*offset_s = sign * (long)(hours * 3600 + minutes * 60);
	return 0;
}

/*
 * "", "Z", "UTC", an offset, or one of the two names that the local zone has: others mean different
 * things in different countries. A blank may stand before it.
 */
static int parse_zone(const char *text, struct zone *out)
{
	*out = (struct zone){ .is_local = true, .is_dst = -1 };
	if (*text == '\0')
		return 0;
	if (*text == ' ')
		text++;
	if (strcmp(text, "Z") == 0 || strcmp(text, "z") == 0 || strcmp(text, "UTC") == 0) {
		out->is_local = false;
		return 0;
	}
	tzset();
	for (int i = 0; i < 2 && isalpha((unsigned char)*text); i++) {
		if (strcmp(text, tzname[i]) == 0) {
			out->is_dst = i;
			return 0;
		}
	}
	out->is_local = false;
	return parse_offset(text, &out->offset_s);
}

/* The parts, in their zone, as Unix ns. */
static int ns_of(const struct tm *parts, const struct zone *zone, uint64_t fraction_ns,
		 uint64_t *unix_ns_out)
{
	struct tm tm = *parts;
	uint64_t ns;
	time_t seconds;

	tm.tm_isdst = zone->is_dst;
	seconds = zone->is_local ? mktime(&tm) : timegm(&tm);
	/* Both normalise: 31 February would silently become 3 March. */
	if (tm.tm_mday != parts->tm_mday || tm.tm_mon != parts->tm_mon)
		return -EINVAL;
	if (!zone->is_local)
		seconds -= zone->offset_s;
	if (seconds < 0)
		return -EINVAL;
	if (__builtin_mul_overflow((uint64_t)seconds, NS_PER_S, &ns) ||
	    __builtin_add_overflow(ns, fraction_ns, &ns))
		return -EINVAL;
	*unix_ns_out = ns;
	return 0;
}

/* "13:00", "13:00:20.5"; leaves *rest behind it. */
static int parse_clock(const char *text, struct tm *tm, uint64_t *fraction_ns, const char **rest)
{
	*fraction_ns = 0;
	*rest = isdigit((unsigned char)*text) ? strptime(text, "%H:%M", tm) : NULL;
	if (!*rest)
		return -EINVAL;
	if (**rest != ':')
		return 0;
	*rest = strptime(*rest + 1, "%S", tm);
	return *rest ? parse_fraction_ns(*rest, rest, fraction_ns) : -EINVAL;
}

/* "2026-11-21": when it begins; or with a time and a zone behind it. */
static int parse_date_ns(const char *text, uint64_t *unix_ns_out)
{
	struct zone zone = { .is_local = true, .is_dst = -1 };
	struct tm tm = { 0 };
	uint64_t fraction_ns = 0;
	const char *rest = strptime(text, "%Y-%m-%d", &tm);
	int err;

	if (!rest)
		return -EINVAL;
	if (*rest) {
		if (*rest != 'T' && *rest != 't' && *rest != ' ')
			return -EINVAL;
		err = parse_clock(rest + 1, &tm, &fraction_ns, &rest);
		if (!err)
			err = parse_zone(rest, &zone);
		if (err)
			return err;
	}
	return ns_of(&tm, &zone, fraction_ns, unix_ns_out);
}

/* The date of a time, local, so many days earlier. */
static int day_of(uint64_t unix_ns, int days_back, struct tm *out)
{
	time_t seconds = (time_t)(unix_ns / NS_PER_S);
	struct tm tm;

	if (!localtime_r(&seconds, &tm))
		return -EINVAL;
	*out = (struct tm){ .tm_year = tm.tm_year,
			    .tm_mon = tm.tm_mon,
			    .tm_mday = tm.tm_mday - days_back,
			    .tm_hour = 12, /* mktime() finds that date, whatever its midnight is */
			    .tm_isdst = -1 };
	if (mktime(out) == -1)
		return -EINVAL;
	out->tm_hour = 0;
	return 0;
}

/* "13:00": when a clock here showed that last; "today", "yesterday": when the day began. */
static int parse_near_ns(const char *text, uint64_t now_unix_ns, uint64_t *unix_ns_out)
{
	const struct zone local = { .is_local = true, .is_dst = -1 };
	bool is_yesterday = strcmp(text, "yesterday") == 0;
	bool is_clock = !is_yesterday && strcmp(text, "today") != 0;
	struct tm day, clock = { 0 };
	uint64_t fraction_ns = 0, ns = 0;
	const char *rest = "";
	int err = is_clock ? parse_clock(text, &clock, &fraction_ns, &rest) : 0;

	if (err || *rest)
		return -EINVAL;
	for (int back = is_yesterday; back < 2; back++) {
		err = day_of(now_unix_ns, back, &day);
		if (err)
			return err;
		day.tm_hour = clock.tm_hour;
		day.tm_min = clock.tm_min;
		day.tm_sec = clock.tm_sec;
		err = ns_of(&day, &local, fraction_ns, &ns);
		if (err || ns <= now_unix_ns || !is_clock)
			break;
	}
	if (!err)
		*unix_ns_out = ns;
	return err;
}

/* "minute", "minutes". */
static bool is_unit(const char *word, size_t len, const char *unit)
{
	size_t unit_len = strlen(unit);

	if (len == unit_len + 1 && word[unit_len] == 's')
		len--;
	return len == unit_len && strncmp(word, unit, len) == 0;
}

/* "20 minutes", of `len` bytes. */
static int parse_spoken_ns(const char *text, size_t len, uint64_t *ns_out)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = {
		{ "week", 7 * 86400 * NS_PER_S },
		{ "day", 86400 * NS_PER_S },
		{ "hour", 3600 * NS_PER_S },
		{ "minute", 60 * NS_PER_S },
		{ "min", 60 * NS_PER_S },
		{ "second", NS_PER_S },
		{ "sec", NS_PER_S },
	};
	size_t digits = strspn(text, "0123456789");
	uint64_t value;
	int err = parse_u64_n(text, digits, 10, &value);

	if (err || len <= digits || text[digits] != ' ')
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (is_unit(text + digits + 1, len - digits - 1, units[i].unit))
			return __builtin_mul_overflow(value, units[i].ns, ns_out) ? -ERANGE : 0;
	return -EINVAL;
}

/* "20 minutes ago", "1h30m ago"; without the last word as other durations are written. */
static int parse_back_ns(const char *text, uint64_t *back_ns)
{
	const char *ago = strstr(text, " ago");
	char duration[SPOKEN_MAX];
	size_t len;

	if (!ago)
		return parse_duration_ns(text, back_ns);
	len = (size_t)(ago - text);
	if (strcmp(ago, " ago") != 0 || len >= sizeof(duration))
		return -EINVAL;
	if (parse_spoken_ns(text, len, back_ns) == 0)
		return 0;
	memcpy(duration, text, len);
	duration[len] = '\0';
	return parse_duration_ns(duration, back_ns);
}

int parse_time_ns(const char *text, uint64_t now_unix_ns, uint64_t *unix_ns_out)
{
	uint64_t back_ns;

	if (strcmp(text, "now") == 0) {
		*unix_ns_out = now_unix_ns;
		return 0;
	}
	if (*text == '@')
		return parse_epoch_ns(text + 1, unix_ns_out);
	if (parse_back_ns(text, &back_ns) == 0) {
		*unix_ns_out = back_ns > now_unix_ns ? 0 : now_unix_ns - back_ns;
		return 0;
	}
	if (parse_near_ns(text, now_unix_ns, unix_ns_out) == 0)
		return 0;
	return parse_date_ns(text, unix_ns_out);
}
