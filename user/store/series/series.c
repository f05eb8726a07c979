// SPDX-License-Identifier: Apache-2.0
/* The daily series in memory; see series.h. A day's rows and labels are one allocation each. */
#include "user/store/series/series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

#define KEY_BYTES     2 /* kind of item, kind of frame; the name follows */
#define DAY_BYTES     96
#define ROW_BYTES     12
#define ROUND_OFF_MAX 1e-3f /* a share of 1 may come out a little larger */

struct series {
	struct strtab *items;
	struct series_day *days;
	size_t *day_bytes; /* by day: what it takes, every name counted */
	size_t day_cnt;
	size_t day_cap;
	size_t bytes; /* sum of day_bytes */
};

struct series *series__new(void)
{
	struct series *series = calloc(1, sizeof(*series));

	if (!series)
		return NULL;
	series->items = strtab__new();
	if (!series->items) {
		free(series);
		return NULL;
	}
	return series;
}

static void day_release(struct series_day *day)
{
	free((void *)day->rows);
	free((void *)day->jvm_version);
	free((void *)day->image);
}

void series__free(struct series *series)
{
	if (!series)
		return;
	for (size_t i = 0; i < series->day_cnt; i++)
		day_release(&series->days[i]);
	free(series->days);
	free(series->day_bytes);
	strtab__free(series->items);
	free(series);
}

int series__item_id(struct series *series, uint8_t item_kind, uint8_t frame_kind, const char *name,
		    size_t name_len, uint32_t *id_out)
{
	uint8_t key[KEY_BYTES + SERIES_NAME_MAX];

	if (name_len == 0 || name_len > SERIES_NAME_MAX || memchr(name, '\0', name_len))
		return -EINVAL;
	key[0] = item_kind;
	key[1] = frame_kind;
	memcpy(key + KEY_BYTES, name, name_len);
	return strtab__intern(series->items, key, KEY_BYTES + name_len, id_out);
}

struct series_item series__item(const struct series *series, uint32_t id)
{
	size_t len = 0;
	const char *key = strtab__get(series->items, id, &len);

	return (struct series_item){
		.name = key + KEY_BYTES,
		.name_len = len - KEY_BYTES,
		.item_kind = (uint8_t)key[0],
		.frame_kind = (uint8_t)key[1],
	};
}

uint32_t series__item_count(const struct series *series)
{
	return strtab__count(series->items);
}

static bool is_sound(const struct series *series, const struct series_day *day)
{
	if (day->row_cnt > SERIES_ROWS_MAX || strlen(day->jvm_version) > SERIES_LABEL_MAX ||
	    strlen(day->image) > SERIES_LABEL_MAX || !(day->told_p_max >= 0) || day->told_p_max > 1)
		return false;
	for (size_t i = 0; i < day->row_cnt; i++) {
		const struct series_row *row = &day->rows[i];

		if (row->item >= series__item_count(series) ||
		    (i && row->item <= day->rows[i - 1].item))
			return false;
		if (!isfinite(row->value) || row->value > ROUND_OFF_MAX ||
		    !isfinite(row->variance) || row->variance < 0)
			return false;
	}
	return true;
}

static size_t count_bytes(const struct series *series, const struct series_day *day)
{
	size_t bytes = DAY_BYTES + strlen(day->jvm_version) + strlen(day->image);

	for (size_t i = 0; i < day->row_cnt; i++)
		bytes += ROW_BYTES + KEY_BYTES + 2 +
			 series__item(series, day->rows[i].item).name_len;
	return bytes;
}

/* Where the day is, or would be. */
static size_t day_place(const struct series *series, uint32_t day)
{
	size_t low = 0;
	size_t high = series->day_cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (series->days[middle].day < day)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int reserve_day(struct series *series)
{
	size_t cap;

	if (series->day_cnt < series->day_cap)
		return 0;
	cap = vec_next_cap(series->day_cap, series->day_cnt + 1, 32, SIZE_MAX);
	if (!cap || vec_resize(series->days, cap) || vec_resize(series->day_bytes, cap))
		return -ENOMEM;
	series->day_cap = cap;
	return 0;
}

static void drop_days(struct series *series, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		series->bytes -= series->day_bytes[i];
		day_release(&series->days[i]);
	}
	series->day_cnt -= cnt;
	memmove(series->days, series->days + cnt, series->day_cnt * sizeof(*series->days));
	memmove(series->day_bytes, series->day_bytes + cnt,
		series->day_cnt * sizeof(*series->day_bytes));
}

static int day_copy(const struct series_day *day, struct series_day *out)
{
	struct series_row *rows = reallocarray(NULL, day->row_cnt + 1, sizeof(*rows));
	struct series_day copy = *day;

	copy.rows = rows;
	copy.jvm_version = strdup(day->jvm_version);
	copy.image = strdup(day->image);
	if (!rows || !copy.jvm_version || !copy.image) {
		day_release(&copy);
		return -ENOMEM;
	}
	if (day->row_cnt)
		memcpy(rows, day->rows, day->row_cnt * sizeof(*rows));
	*out = copy;
	return 0;
}

int series__put(struct series *series, const struct series_day *day)
{
	struct series_day copy;
	size_t excess = 0;
	size_t left;
	size_t at;
	int err;

	if (!is_sound(series, day))
		return -EINVAL;
	err = reserve_day(series);
	if (!err)
		err = day_copy(day, &copy);
	if (err)
		return err;
	at = day_place(series, day->day);
	if (at < series->day_cnt && series->days[at].day == day->day) {
		series->bytes -= series->day_bytes[at];
		day_release(&series->days[at]);
	} else {
		size_t behind = series->day_cnt++ - at;

		memmove(&series->days[at + 1], &series->days[at], behind * sizeof(*series->days));
		memmove(&series->day_bytes[at + 1], &series->day_bytes[at],
			behind * sizeof(*series->day_bytes));
	}
	series->days[at] = copy;
	series->day_bytes[at] = count_bytes(series, &copy);
	series->bytes += series->day_bytes[at];

	left = series->bytes;
	while (series->day_cnt - excess > SERIES_DAYS_MAX || left > SERIES_BYTES_MAX)
		left -= series->day_bytes[excess++];
	drop_days(series, excess);
	return 0;
}

const struct series_day *series__days(const struct series *series, size_t *cnt_out)
{
	*cnt_out = series->day_cnt;
	return series->days;
}

const struct series_day *series__find(const struct series *series, uint32_t day)
{
	size_t at = day_place(series, day);

	return at < series->day_cnt && series->days[at].day == day ? &series->days[at] : NULL;
}
