// SPDX-License-Identifier: Apache-2.0
/* See foreign_count.h. */
#include "user/compare/foreign_count.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include "user/util/parse.h"

#define EXPONENT_MAX 300 /* of doubles, about, which is what such text is printed from */

/* False: no room for one more. */
static bool push_digit(struct foreign_count *count, char c)
{
	uint64_t digit = (uint64_t)(c - '0');

	if (count->digits > (UINT64_MAX - digit) / 10)
		return false;
	count->digits = count->digits * 10 + digit;
	return true;
}

/* "12.50"; `*at` ends behind it. */
static int parse_digits(const char *text, size_t len, size_t *at, struct foreign_count *out)
{
	size_t digit_cnt = 0;
	bool is_full = false;

	for (; *at < len && parse_is_digit(text[*at]); (*at)++, digit_cnt++)
		if (!push_digit(out, text[*at]))
			return -EINVAL;
	if (*at < len && text[*at] == '.') {
		(*at)++;
		for (; *at < len && parse_is_digit(text[*at]); (*at)++, digit_cnt++) {
			is_full = is_full || !push_digit(out, text[*at]);
			out->place -= !is_full;
		}
	}
	return digit_cnt ? 0 : -EINVAL;
}

/* "e+06"; `*at` ends behind it. */
static int parse_exponent(const char *text, size_t len, size_t *at, int *out)
{
	bool is_negative = false;
	int exponent = 0;

	(*at)++;
	if (*at < len && (text[*at] == '-' || text[*at] == '+'))
		is_negative = text[(*at)++] == '-';
	if (*at == len)
		return -EINVAL;
	for (; *at < len && parse_is_digit(text[*at]); (*at)++) {
		exponent = exponent * 10 + (text[*at] - '0');
		if (exponent > EXPONENT_MAX)
			return -EINVAL;
	}
	*out += is_negative ? -exponent : exponent;
	return 0;
}

int foreign_count_parse(const char *text, size_t len, struct foreign_count *out)
{
	struct foreign_count count = { 0 };
	size_t at = 0;
	int err = parse_digits(text, len, &at, &count);

	if (!err && at < len && (text[at] == 'e' || text[at] == 'E'))
		err = parse_exponent(text, len, &at, &count.place);
	if (err || at < len)
		return -EINVAL;
	if (!count.digits)
		count.place = 0;
	for (; count.digits && count.digits % 10 == 0; count.place++)
		count.digits /= 10;
	*out = count;
	return 0;
}

long double foreign_count_value(const struct foreign_count *count)
{
	return (long double)count->digits * powl(10, count->place);
}

uint64_t foreign_count_at(const struct foreign_count *count, int place)
{
	uint64_t value = count->digits;
	int at = count->place;

	for (; at > place && value; at--) {
		if (value > UINT64_MAX / 10)
			return UINT64_MAX;
		value *= 10;
	}
	for (; at + 1 < place && value; at++)
		value /= 10;
	return at < place ? value / 10 + (value % 10 >= 5) : value;
}
