// SPDX-License-Identifier: Apache-2.0
/* Numbers, durations, sizes and times as users and files write them; see parse.h. */
#include "user/util/parse.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_MS 1000000ull
#define NS_PER_S  1000000000ull

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
	static const char *const units[] = { "ms", "s", "m", "h", "d" };
	static const uint64_t factors[] = { NS_PER_MS, NS_PER_S, 60 * NS_PER_S, 3600 * NS_PER_S,
					    86400 * NS_PER_S };

	return parse_with_unit(text, units, factors, 5, ns_out);
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

/* "", "Z", "+02:00", "+0200", "-05". *has_zone tells whether one was there. */
static int parse_zone(const char *text, bool *has_zone, long *offset_s)
{
	int sign = *text == '-' ? -1 : 1;
	uint64_t hours, minutes = 0;
	size_t len = strlen(text);

	*has_zone = len > 0;
	*offset_s = 0;
	if (len == 0 || strcmp(text, "Z") == 0 || strcmp(text, "z") == 0)
		return 0;
	if ((*text != '+' && *text != '-') || len < 3 || parse_u64_n(text + 1, 2, 10, &hours))
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

static int parse_rfc3339_ns(const char *text, uint64_t *unix_ns_out)
{
	struct tm tm = { .tm_isdst = -1 };
	struct tm want;
	uint64_t fraction_ns = 0, ns;
	const char *rest;
	bool has_zone;
	long offset_s;
	time_t seconds;
	int err;

	rest = strptime(text, "%Y-%m-%d", &tm);
	if (!rest || (*rest != 'T' && *rest != 't' && *rest != ' '))
		return -EINVAL;
	rest = strptime(rest + 1, "%H:%M", &tm);
	if (!rest)
		return -EINVAL;
	if (*rest == ':') {
		rest = strptime(rest + 1, "%S", &tm);
		if (!rest)
			return -EINVAL;
		err = parse_fraction_ns(rest, &rest, &fraction_ns);
		if (err)
			return err;
	}
	err = parse_zone(rest, &has_zone, &offset_s);
	if (err)
		return err;
	want = tm;
	tm.tm_isdst = -1;
	seconds = has_zone ? timegm(&tm) : mktime(&tm);
	/* Both normalise: 31 February would silently become 3 March. */
	if (tm.tm_mday != want.tm_mday || tm.tm_mon != want.tm_mon)
		return -EINVAL;
	seconds -= offset_s;
	if (seconds < 0)
		return -EINVAL;
	if (__builtin_mul_overflow((uint64_t)seconds, NS_PER_S, &ns) ||
	    __builtin_add_overflow(ns, fraction_ns, &ns))
		return -EINVAL;
	*unix_ns_out = ns;
	return 0;
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
	if (parse_duration_ns(text, &back_ns) == 0) {
		*unix_ns_out = back_ns > now_unix_ns ? 0 : now_unix_ns - back_ns;
		return 0;
	}
	return parse_rfc3339_ns(text, unix_ns_out);
}
