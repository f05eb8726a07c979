// SPDX-License-Identifier: Apache-2.0
/* Alarms grouped by the method that the change comes from; see compare_alarms.h. */
#include "user/compare/compare_alarms.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "user/output/escape.h"
#include "user/util/cleanup.h"

/* The METHOD_TOTAL of a METHOD_x. */
static uint32_t method_of(const struct diff_item *items, uint32_t item)
{
	return items[item].kind == DIFF_KIND_METHOD_SELF ? items[item].method : item;
}

/* The method that an alarm comes from; its own when nothing deeper explains it. */
static uint32_t cause_of(const struct diff_item *items, const struct diff_result *result,
			 uint32_t item)
{
	uint32_t origin = result->rows[item].origin;

	if (origin == DIFF_NONE || items[origin].method == DIFF_NONE)
		return method_of(items, item);
	return items[origin].method;
}

/* What a method does itself says more than what it does with all it calls; then the larger change. */
static bool tells_more(const struct diff_item *items, const struct diff_result *result,
		       uint32_t item, const struct compare_alarm *than)
{
	bool is_cause = method_of(items, item) == than->origin;
	bool was_cause = method_of(items, than->item) == than->origin;
	bool is_self = items[item].kind == DIFF_KIND_METHOD_SELF;
	bool was_self = items[than->item].kind == DIFF_KIND_METHOD_SELF;

	if (is_cause != was_cause)
		return is_cause;
	if (is_self != was_self)
		return is_self;
	return result->rows[item].points.value > result->rows[than->item].points.value;
}

static int alarm_order(const void *a, const void *b, void *ctx)
{
	const struct diff_result *result = ctx;
	const struct compare_alarm *left = a;
	const struct compare_alarm *right = b;
	double change_left = result->rows[left->item].points.value;
	double change_right = result->rows[right->item].points.value;

	if (change_left != change_right)
		return change_left < change_right ? 1 : -1;
	return (left->item > right->item) - (left->item < right->item);
}

int compare_alarms_list(const struct diff_result *result, const struct diff_catalog *catalog,
			struct compare_alarm **out, size_t *cnt_out)
{
	uint32_t item_cnt = 0;
	const struct diff_item *items = diff_catalog__items(catalog, &item_cnt);
	__cleanup_free uint32_t *place = calloc((size_t)result->row_cnt + 1, sizeof(*place));
	__cleanup_free struct compare_alarm *alarms =
		calloc((size_t)result->summary.alarm_cnt + 1, sizeof(*alarms));
	size_t cnt = 0;

	if (!place || !alarms)
		return -ENOMEM;
	for (uint32_t i = 0; i < result->row_cnt && i < item_cnt; i++) {
		uint32_t cause;

		if (!result->rows[i].is_alarm || cnt > result->summary.alarm_cnt)
			continue;
		cause = cause_of(items, result, i);
		if (!place[cause]) {
			place[cause] = (uint32_t)++cnt;
			alarms[cnt - 1] = (struct compare_alarm){ .item = i, .origin = cause };
		} else if (tells_more(items, result, i, &alarms[place[cause] - 1])) {
			alarms[place[cause] - 1].item = i;
		}
		/* A caller counts once, by its total. */
		if (items[i].kind == DIFF_KIND_METHOD_TOTAL && i != cause)
			alarms[place[cause] - 1].caller_cnt++;
	}
	/* An alarm that stands for a group is not counted again as one of its callers. */
	for (size_t i = 0; i < cnt; i++)
		if (method_of(items, alarms[i].item) != alarms[i].origin && alarms[i].caller_cnt)
			alarms[i].caller_cnt--;
	qsort_r(alarms, cnt, sizeof(*alarms), alarm_order, (void *)result);
	*out = take_ptr(alarms);
	*cnt_out = cnt;
	return 0;
}

bool compare_alarms_has_new(const struct diff_result *result, const struct diff_catalog *catalog,
			    const struct diff_options *options)
{
	uint32_t item_cnt = 0;
	const struct diff_item *items = diff_catalog__items(catalog, &item_cnt);

	for (uint32_t i = 0; i < result->row_cnt && i < item_cnt; i++)
		if ((items[i].kind == DIFF_KIND_METHOD_SELF ||
		     items[i].kind == DIFF_KIND_METHOD_TOTAL) &&
		    result->rows[i].verdict == DIFF_VERDICT_NEW &&
		    result->rows[i].q <= options->q_alarm)
			return true;
	return false;
}

int compare_alarms_text(const struct diff_result *result, const struct diff_catalog *catalog,
			const struct compare_alarm *alarm, struct strbuf *out)
{
	const struct diff_row *row = &result->rows[alarm->item];
	struct diff_catalog_name name = diff_catalog__name(catalog, alarm->item);
	struct diff_catalog_name origin = diff_catalog__name(catalog, alarm->origin);
	uint32_t item_cnt = 0;
	const struct diff_item *items = diff_catalog__items(catalog, &item_cnt);

	escape_terminal(out, name.text, name.len);
	strbuf_printf(
		out,
		" %+.1f %% (95 %% interval %+.1f to %+.1f), %.2f %% -> %.2f %% of the whole, q %.2g",
		100 * diff_relative(row->change.value), 100 * diff_relative(row->change.low),
		100 * diff_relative(row->change.high), 100 * row->share_a,
		/* After that agrees with the change: as if the median method had kept its share. */
		100 * (row->share_a + row->points.value), row->q);
	if (method_of(items, alarm->item) != alarm->origin) {
		strbuf_puts(out, ", from ");
		escape_terminal(out, origin.text, origin.len);
	}
	if (alarm->caller_cnt)
		strbuf_printf(out, ", seen in %" PRIu32 " %s", alarm->caller_cnt,
			      alarm->caller_cnt == 1 ? "caller" : "callers");
	return strbuf_error(out);
}

const char *compare_alarms_obstacle(const struct diff_summary *summary,
				    const struct diff_options *options)
{
	static const char *const gates[DIFF_GATE_CNT] = {
		[DIFF_GATE_EVENT] = "the sides count different events",
		[DIFF_GATE_BLOCKS] = "too little was recorded on a side",
		[DIFF_GATE_FREQUENCY] = "the sampling rate of a side is not known",
		[DIFF_GATE_LOST_A] = "too many samples were lost before",
		[DIFF_GATE_LOST_B] = "too many samples were lost after",
		[DIFF_GATE_UNKNOWN] = "the sides differ in frames without names",
		[DIFF_GATE_TRUNCATED] = "the sides differ in truncated stacks",
		[DIFF_GATE_UNKNOWN_LEVEL] = "too many frames have no names",
		[DIFF_GATE_OTHER_STACKS] = "too many samples are of stacks beyond the heaviest",
		[DIFF_GATE_TIME_OF_DAY] =
			("the sides are of different times of day, and earlier days "
			 "of the same times are too few"),
	};

	for (int i = 0; i < DIFF_GATE_CNT; i++)
		if (!summary->gates[i].passed)
			return gates[i];
	if (summary->mode != DIFF_MODE_STATISTICAL)
		return "too little was recorded";
	if (summary->calibration == DIFF_CALIBRATION_HISTORY ||
	    (options->alarm_without_history && summary->calibration == DIFF_CALIBRATION_PAIR))
		return "";
	if (options->alarm_without_history)
		return "too few methods have enough samples to learn from how much they vary";
	return "too few earlier days of the same hours are in the store to tell how much methods "
	       "drift by themselves";
}
