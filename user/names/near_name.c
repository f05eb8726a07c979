// SPDX-License-Identifier: Apache-2.0
/* See near_name.h. */
#include "user/names/near_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define NEAR_MAX_LEN	  64 /* longer names are near only when one contains the other */
#define NEAR_MIN_CONTAINS 3  /* letters: two of them are in too many names */

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static bool is_letter(const char *a, const char *b)
{
	return tolower((unsigned char)*a) == tolower((unsigned char)*b);
}

/* Single letters to change, insert, drop or swap: optimal string alignment, three rows of it. */
static uint32_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	uint32_t rows[3][NEAR_MAX_LEN + 1];

	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = (uint32_t)j;
	for (size_t i = 1; i <= a_len; i++) {
		uint32_t *row = rows[i % 3], *above = rows[(i + 2) % 3],
			 *above2 = rows[(i + 1) % 3];

		row[0] = (uint32_t)i;
		for (size_t j = 1; j <= b_len; j++) {
			uint32_t wrong = is_letter(&a[i - 1], &b[j - 1]) ? 0 : 1;

			row[j] = least(above[j - 1] + wrong, least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && is_letter(&a[i - 1], &b[j - 2]) &&
			    is_letter(&a[i - 2], &b[j - 1]))
				row[j] = least(row[j], above2[j - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

uint32_t near_name(const char *typed, const char *name)
{
	size_t typed_len = strlen(typed), name_len = strlen(name);
	uint32_t letters;

	if (!typed_len || !name_len)
		return NEAR_NAME_FAR;
	if (strcasecmp(typed, name) == 0)
		return 0;
	if ((typed_len >= NEAR_MIN_CONTAINS && strcasestr(name, typed)) ||
	    (name_len >= NEAR_MIN_CONTAINS && strcasestr(typed, name)))
		return 1;
	if (typed_len > NEAR_MAX_LEN || name_len > NEAR_MAX_LEN)
		return NEAR_NAME_FAR;
	letters = distance(typed, typed_len, name, name_len);
	return letters <= (typed_len + 2) / 4 ? 1 + letters : NEAR_NAME_FAR;
}

bool near_name_is_nearer(const char *typed, const char *name, uint32_t *least)
{
	uint32_t near = near_name(typed, name);

	if (near >= *least)
		return false;
	*least = near;
	return true;
}
