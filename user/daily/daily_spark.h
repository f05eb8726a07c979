/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A method's last days as a picture of the size of a word: was it a step, a creep, or one bad day?
 *
 * In: the series of a service. Out: shares by day, and an SVG of them. No I/O.
 */
#ifndef JBPF_DAILY_SPARK_H
#define JBPF_DAILY_SPARK_H

#include <stdbool.h>
#include <stdint.h>

#include "user/store/series/series.h"
#include "user/util/strbuf.h"

#define DAILY_SPARK_DAYS 30

/* Shares of all samples, the last one of `last_day`; NaN where the day or the method has none. */
void daily_spark_read(const struct series *series, uint32_t last_day, const char *method,
		      bool is_self, double out[DAILY_SPARK_DAYS]);

/* Appends an <svg>; nothing when fewer than two days are known. Errors are the buffer's. */
void daily_spark_svg(const double shares[DAILY_SPARK_DAYS], struct strbuf *out);

#endif
