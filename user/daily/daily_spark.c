// SPDX-License-Identifier: Apache-2.0
/* Shares of the series as a line; see daily_spark.h. */
#include "user/daily/daily_spark.h"

#include <math.h>
#include <string.h>

#include "user/diff/diff.h"

#define WIDTH	 120.0
#define HEIGHT	 24.0
#define MARGIN	 3.0
#define SPAN_MIN 0.2 /* of the largest share: less than that is drawn as small as it is */

static double share_of(const struct series *series, const struct series_day *day,
		       const char *method, int kind)
{
	for (size_t i = 0; i < day->row_cnt; i++) {
		struct series_item item = series__item(series, day->rows[i].item);

		if (item.item_kind == kind && strcmp(item.name, method) == 0)
			return exp((double)day->rows[i].value);
	}
	return NAN;
}

void daily_spark_read(const struct series *series, uint32_t last_day, const char *method,
		      bool is_self, double out[DAILY_SPARK_DAYS])
{
	int kind = is_self ? DIFF_KIND_METHOD_SELF : DIFF_KIND_METHOD_TOTAL;

	for (uint32_t i = 0; i < DAILY_SPARK_DAYS; i++) {
		uint32_t back = DAILY_SPARK_DAYS - 1 - i;
		const struct series_day *day =
			last_day >= back ? series__find(series, last_day - back) : NULL;

		out[i] = day ? share_of(series, day, method, kind) : NAN;
	}
}

struct spark_range {
	double low;
	double high;
	int cnt;
	int last; /* the newest day that is known */
};

static struct spark_range range_of(const double shares[DAILY_SPARK_DAYS])
{
	struct spark_range range = { .low = INFINITY };

	for (int i = 0; i < DAILY_SPARK_DAYS; i++) {
		if (!isfinite(shares[i]))
			continue;
		range.low = fmin(range.low, shares[i]);
		range.high = fmax(range.high, shares[i]);
		range.cnt++;
		range.last = i;
	}
	return range;
}

static double x_of(int day)
{
	return MARGIN + (WIDTH - 2 * MARGIN) * day / (DAILY_SPARK_DAYS - 1);
}

static double y_of(const struct spark_range *range, double share)
{
	double span = fmax(range->high - range->low, SPAN_MIN * range->high);

	return HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * (share - range->low) / span;
}

void daily_spark_svg(const double shares[DAILY_SPARK_DAYS], struct strbuf *out)
{
	struct spark_range range = range_of(shares);
	bool is_open = false;

	if (range.cnt < 2 || !(range.high > 0))
		return;
	strbuf_printf(out,
		      " <svg class=\"spark\" role=\"img\" width=\"%.0f\" height=\"%.0f\"><title>%d "
		      "days: %.2f %% to %.2f %%, now %.2f %%</title><path d=\"",
		      WIDTH, HEIGHT, range.cnt, 100 * range.low, 100 * range.high,
		      100 * shares[range.last]);
	for (int i = 0; i < DAILY_SPARK_DAYS; i++) {
		bool is_known = isfinite(shares[i]);

		if (is_known)
			strbuf_printf(out, "%c%.1f %.1f", is_open ? 'L' : 'M', x_of(i),
				      y_of(&range, shares[i]));
		is_open = is_known;
	}
	strbuf_printf(out, "\"/><circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\"/></svg>", x_of(range.last),
		      y_of(&range, shares[range.last]));
}
