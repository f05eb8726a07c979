/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daily series of one service: per day, the share of every method that matters, and how sure it
 * is. Months of it are small, so what days drift and since when something grew can be told long
 * after the profiles are gone. In memory here; series_format.h makes bytes of it. No I/O.
 *
 * In: a day's figures. Out: the days, borrowed. The caller owns the series.
 */
#ifndef JBPF_SERIES_SERIES_H
#define JBPF_SERIES_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

#define SERIES_DAYS_MAX	 400	     /* older ones are dropped */
#define SERIES_BYTES_MAX (64u << 20) /* the same, where names are long and many */
#define SERIES_ROWS_MAX	 4096	     /* of a day */
#define SERIES_NAME_MAX	 512	     /* bytes; longer names have no rows */
#define SERIES_LABEL_MAX 255	     /* bytes of key, JVM version and image */

/* Whose row it is. Both kinds reach disk: enum diff_kind and enum frame_kind. */
struct series_item {
	const char *name; /* NUL-terminated; lives as long as the series */
	size_t name_len;
	uint8_t item_kind;
	uint8_t frame_kind;
};

struct series_row {
	uint32_t item;
	float value;	/* log of the share of the day's samples */
	float variance; /* of `value`, from the blocks of the day */
};
/* For qsort(): by item. */
int series_compare_rows(const void *a, const void *b);

struct series_day {
	uint32_t day; /* of the local date, since 1970-01-01 */
	uint32_t length_s;
	uint64_t start_unix_s;
	uint64_t recorded_s; /* of it; 0 = nothing was recorded */
	uint64_t cpu_ms;     /* CPU time behind the samples */
	uint64_t samples;
	uint64_t lost_samples; /* on top of them */
	uint64_t frames;       /* all frames, times samples */
	uint64_t unknown_frames;
	uint64_t truncated_samples;
	uint32_t blocks;
	uint32_t frequency_hz;	 /* of most blocks; 0 = not known of one */
	bool is_judged;		 /* a comparison ended with this day: its changes were told then */
	float told_p_max;	 /* of a change that was told then, at most; 0 = not known */
	uint32_t left_out;	 /* rows that found no room here */
	const char *jvm_version; /* "" = not known; at most SERIES_LABEL_MAX bytes, as is image */
	const char *image;
	const struct series_row *rows; /* in ascending order of item */
	size_t row_cnt;
};

struct series;

/* NULL only when memory is short. */
struct series *series__new(void);
void series__free(struct series *series); /* NULL is fine */

/* The number of an item, made when new. 0, -ENOMEM, or -EINVAL: no name, or too long a one. */
__must_check int series__item_id(struct series *series, uint8_t item_kind, uint8_t frame_kind,
				 const char *name, size_t name_len, uint32_t *id_out);
/* `id` is below series__item_count(). */
struct series_item series__item(const struct series *series, uint32_t id);
uint32_t series__item_count(const struct series *series);

/*
 * Copies a day in; one with the same number is replaced. Drops the oldest days when they are too
 * many. 0, -ENOMEM, or -EINVAL: rows out of order, unknown items, values that are no logarithm of
 * a share, negative variances, labels or rows over their limits.
 */
__must_check int series__put(struct series *series, const struct series_day *day);

/* In order of time; valid until the next series__put(). */
const struct series_day *series__days(const struct series *series, size_t *cnt_out);
/* NULL when there is none. */
const struct series_day *series__find(const struct series *series, uint32_t day);

#endif
