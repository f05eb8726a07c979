// SPDX-License-Identifier: Apache-2.0
/* The last days of a method: which are known, and that the picture holds what they say. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/daily/daily_spark.h"
#include "user/diff/diff.h"
#include "user/model/frame_kind.h"
#include "user/util/cleanup.h"

#define LAST 20000u

static void put(struct series *series, uint32_t day, double self, double total)
{
	struct series_row rows[2] = { { .value = (float)log(self) },
				      { .value = (float)log(total) } };
	struct series_day at = { .day = day,
				 .length_s = 86400,
				 .jvm_version = "",
				 .image = "",
				 .rows = rows,
				 .row_cnt = 2 };

	assert_int_equal(series__item_id(series, DIFF_KIND_METHOD_SELF, FRAME_KIND_JIT, "a.B.c", 5,
					 &rows[0].item),
			 0);
	assert_int_equal(series__item_id(series, DIFF_KIND_METHOD_TOTAL, FRAME_KIND_JIT, "a.B.c", 5,
					 &rows[1].item),
			 0);
	assert_int_equal(series__put(series, &at), 0);
}

static void each_day_is_in_its_place(void **state)
{
	struct series *series = series__new();
	double shares[DAILY_SPARK_DAYS];

	(void)state;
	assert_non_null(series);
	put(series, LAST - DAILY_SPARK_DAYS, 0.9, 0.9); /* too long ago */
	put(series, LAST - DAILY_SPARK_DAYS + 1, 0.1, 0.3);
	put(series, LAST, 0.2, 0.4);
	daily_spark_read(series, LAST, "a.B.c", true, shares);
	assert_true(fabs(shares[0] - 0.1) < 1e-6);
	assert_true(fabs(shares[DAILY_SPARK_DAYS - 1] - 0.2) < 1e-6);
	for (int i = 1; i < DAILY_SPARK_DAYS - 1; i++)
		assert_true(isnan(shares[i]));
	daily_spark_read(series, LAST, "a.B.c", false, shares);
	assert_true(fabs(shares[0] - 0.3) < 1e-6);
	daily_spark_read(series, LAST, "a.B.other", true, shares);
	assert_true(isnan(shares[0]));
	daily_spark_read(series, 3, "a.B.c", true, shares); /* before the first day there is */
	assert_true(isnan(shares[0]));
	series__free(series);
}

static void days_that_are_missing_are_gaps(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	double shares[DAILY_SPARK_DAYS];

	(void)state;
	for (int i = 0; i < DAILY_SPARK_DAYS; i++)
		shares[i] = i == 10 ? NAN : i < 20 ? 0.04 : 0.05;
	daily_spark_svg(shares, &out);
	assert_int_equal(strbuf_error(&out), 0);
	assert_non_null(strstr(out.data, "<title>29 days: 4.00 % to 5.00 %, now 5.00 %</title>"));
	assert_non_null(strstr(strstr(out.data, "d=\"M") + 4, "M")); /* begun again after the gap */
	assert_null(strstr(out.data, "nan"));
	assert_non_null(strstr(out.data, "cx=\"117.0\" cy=\"3.0\""));
}

static void one_day_is_no_picture(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	double shares[DAILY_SPARK_DAYS];

	(void)state;
	for (int i = 0; i < DAILY_SPARK_DAYS; i++)
		shares[i] = i ? NAN : 0.04;
	daily_spark_svg(shares, &out);
	assert_int_equal(out.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_day_is_in_its_place),
		cmocka_unit_test(days_that_are_missing_are_gaps),
		cmocka_unit_test(one_day_is_no_picture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
