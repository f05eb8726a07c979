// SPDX-License-Identifier: Apache-2.0
/* The order of the steps of a comparison, and the parts of the result that need no statistics. */
#include "user/diff/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "user/diff/diff_between.h"
#include "user/diff/diff_counts.h"
#include "user/diff/diff_estimate.h"
#include "user/diff/diff_gates.h"
#include "user/diff/diff_math.h"
#include "user/diff/diff_plan.h"
#include "user/diff/diff_scale.h"
#include "user/diff/diff_verdict.h"
#include "user/diff/diff_within.h"
#include "user/util/cleanup.h"

/* What is made on the way; zero-initialise, end with work_release(). */
struct diff_work {
	struct diff_plan plan;
	struct diff_counts counts[DIFF_PLAN_SIDES];
	struct diff_estimate *estimates;
	struct diff_within *within;
	struct diff_between_item *between;
	struct diff_scale scale;
};

static void work_release(struct diff_work *work)
{
	diff_plan_release(&work->plan);
	for (int s = 0; s < DIFF_PLAN_SIDES; s++)
		diff_counts_release(&work->counts[s]);
	free(work->estimates);
	free(work->within);
	free(work->between);
}

struct diff_options diff_options_default(void)
{
	return (struct diff_options){
		.relevant_points = 0.0005,
		.relevant_relative = 0.01,
		.q_shown = 0.05,
		.q_alarm = 0.01,
		.testable_relative = 1,
		.prior_df = 4,
		.lost_max = 0.05,
		.gap_max = 0.01,
		.unknown_max = 0.5,
		.warm_up_s = 600,
		.blocks_min = 8,
		.history_min = 3,
		.near_s = 7200,
		.scale_samples_min = 200,
	};
}

double diff_relative(double log_ratio)
{
	return expm1(log_ratio);
}

const char *diff_verdict_name(enum diff_verdict verdict)
{
	static const char *const names[DIFF_VERDICT_CNT] = {
		[DIFF_VERDICT_UNRESOLVED] = "unresolved",
		[DIFF_VERDICT_SAME] = "same",
		[DIFF_VERDICT_UP] = "up",
		[DIFF_VERDICT_DOWN] = "down",
		[DIFF_VERDICT_MOVED] = "moved",
		[DIFF_VERDICT_TRANSIENT] = "transient",
		[DIFF_VERDICT_NEW] = "new",
		[DIFF_VERDICT_GONE] = "gone",
	};

	return (unsigned int)verdict < DIFF_VERDICT_CNT ? names[verdict] : "";
}

const char *diff_gate_name(enum diff_gate gate)
{
	static const char *const names[DIFF_GATE_CNT] = {
		[DIFF_GATE_EVENT] = "event",
		[DIFF_GATE_BLOCKS] = "blocks",
		[DIFF_GATE_FREQUENCY] = "frequency",
		[DIFF_GATE_LOST_A] = "lost_before",
		[DIFF_GATE_LOST_B] = "lost_after",
		[DIFF_GATE_UNKNOWN] = "unknown_gap",
		[DIFF_GATE_TRUNCATED] = "truncated_gap",
		[DIFF_GATE_UNKNOWN_LEVEL] = "unknown",
		[DIFF_GATE_TIME_OF_DAY] = "time_of_day",
		[DIFF_GATE_OTHER_STACKS] = "other_stacks",
	};

	return (unsigned int)gate < DIFF_GATE_CNT ? names[gate] : "";
}

/* A link is DIFF_NONE or an item; of one of two kinds, DIFF_KIND_NONE = any but PATH. */
static bool is_link(const struct diff_input *input, uint32_t link, enum diff_kind kind)
{
	if (link == DIFF_NONE)
		return true;
	return link < input->item_cnt && input->items[link].kind == kind;
}

static bool is_group(const struct diff_input *input, uint32_t item)
{
	uint32_t group = input->items[item].group;

	if (group == DIFF_NONE)
		return true;
	return group < input->item_cnt && group != item &&
	       input->items[group].kind >= DIFF_KIND_CLASS_SELF &&
	       input->items[group].kind <= DIFF_KIND_PACKAGE_TOTAL;
}

static int check_items(const struct diff_input *input)
{
	for (uint32_t i = 0; i < input->item_cnt; i++) {
		const struct diff_item *item = &input->items[i];
		bool has_method = item->kind == DIFF_KIND_METHOD_SELF ||
				  item->kind == DIFF_KIND_PATH;

		if ((unsigned int)item->kind >= DIFF_KIND_CNT || !is_group(input, i) ||
		    !is_link(input, has_method ? item->method : DIFF_NONE, DIFF_KIND_METHOD_TOTAL))
			return -EINVAL;
		if (item->kind == DIFF_KIND_PATH &&
		    (!is_link(input, item->parent, DIFF_KIND_PATH) ||
		     (item->parent != DIFF_NONE && item->parent >= i)))
			return -EINVAL;
	}
	return 0;
}

static bool is_within(double value, double low, double high)
{
	return value >= low && value <= high;
}

static int check_options(const struct diff_options *options)
{
	bool is_fine = is_within(options->relevant_points, 0, 1) &&
		       is_within(options->relevant_relative, 0, 100) &&
		       is_within(options->q_shown, 1e-12, 0.5) &&
		       is_within(options->q_alarm, 1e-12, 0.5) &&
		       is_within(options->testable_relative, 1e-6, 1e6) &&
		       is_within(options->prior_df, 0, 1e6) && is_within(options->lost_max, 0, 1) &&
		       is_within(options->gap_max, 0, 1) && is_within(options->unknown_max, 0, 1);

	return is_fine && options->blocks_min >= 3 && options->history_min >= 1 &&
			       options->scale_samples_min >= 1 ?
		       0 :
		       -EINVAL;
}

static void describe_row(const struct diff_plan *plan, const struct diff_estimate *at,
			 struct diff_row *row)
{
	const struct diff_plan_side *a = &plan->sides[DIFF_PLAN_A];
	const struct diff_plan_side *b = &plan->sides[DIFF_PLAN_B];
	const struct diff_interval unknown = { .value = NAN, .low = NAN, .high = NAN };

	*row = (struct diff_row){
		.samples_a = at->raw[DIFF_PLAN_A],
		.samples_b = at->raw[DIFF_PLAN_B],
		.share_a = at->share[DIFF_PLAN_A],
		.share_b = at->share[DIFF_PLAN_B],
		.cores_a = at->share[DIFF_PLAN_A] * a->cpu_total_s / a->second_total,
		.cores_b = at->share[DIFF_PLAN_B] * b->cpu_total_s / b->second_total,
		.change = unknown,
		.points = unknown,
		.error = NAN,
		.error_within = NAN,
		.df = NAN,
		.relevant = NAN,
		.p_any = NAN,
		.p = NAN,
		.q = NAN,
		.detectable = NAN,
		.moved_with = DIFF_NONE,
		.origin = DIFF_NONE,
	};
	row->points.value = row->share_b - row->share_a;
	if (row->samples_a && row->samples_b)
		row->change.value = log(row->share_b / row->share_a);
}

static void summarise(const struct diff_input *input, const struct diff_options *options,
		      const struct diff_plan *plan, struct diff_summary *out)
{
	const struct diff_plan_side *a = &plan->sides[DIFF_PLAN_A];
	const struct diff_plan_side *b = &plan->sides[DIFF_PLAN_B];
	const struct diff_interval unknown = { .value = NAN, .low = NAN, .high = NAN };

	*out = (struct diff_summary){
		.is_paired = plan->is_paired,
		.cluster_cnt = plan->cluster_cnt,
		.blocks_a = a->block_cnt,
		.blocks_b = b->block_cnt,
		.warm_up_a = diff_side__young_count(input->a),
		.warm_up_b = diff_side__young_count(input->b),
		.unpaired_a = a->unpaired_cnt,
		.unpaired_b = b->unpaired_cnt,
		.days_a = a->days,
		.days_b = b->days,
		.samples_a = a->sample_total,
		.samples_b = b->sample_total,
		.cores_a = a->cpu_total_s / a->second_total,
		.cores_b = b->cpu_total_s / b->second_total,
		.load = unknown,
		.composition = unknown,
		.scale = unknown,
	};
	diff_gates_check(input, options, plan, out->gates);
	out->gates_passed = true;
	for (int i = 0; i < DIFF_GATE_CNT; i++)
		out->gates_passed = out->gates_passed && out->gates[i].passed;
	out->mode = diff_gates_force_descriptive(out->gates) ? DIFF_MODE_DESCRIPTIVE :
							       DIFF_MODE_STATISTICAL;
}

/* Sum of squared shares of methods by themselves, over both sides. */
static double mixing(const struct diff_input *input, const struct diff_work *work)
{
	double sum = 0;

	for (uint32_t i = 0; i < input->item_cnt; i++) {
		double share = 0.5 * (work->estimates[i].share[DIFF_PLAN_A] +
				      work->estimates[i].share[DIFF_PLAN_B]);

		if (input->items[i].kind == DIFF_KIND_METHOD_SELF)
			sum += share * share;
	}
	return sum < 1 ? sum : 1;
}

/* Median of what methods by themselves vary more than counting explains. */
static int typical_extra(const struct diff_input *input, const struct diff_options *options,
			 const struct diff_work *work, double *out)
{
	__cleanup_free double *extra =
		reallocarray(NULL, (size_t)input->item_cnt + 1, sizeof(*extra));
	size_t cnt = 0;

	if (!extra)
		return -ENOMEM;
	for (uint32_t i = 0; i < input->item_cnt; i++)
		if (input->items[i].kind == DIFF_KIND_METHOD_SELF &&
		    work->estimates[i].raw[DIFF_PLAN_A] >= options->scale_samples_min &&
		    work->estimates[i].raw[DIFF_PLAN_B] >= options->scale_samples_min)
			extra[cnt++] = work->within[i].extra;
	*out = cnt ? diff_math_median(extra, cnt) : 0;
	return 0;
}

static int measure_variances(const struct diff_input *input, const struct diff_options *options,
			     struct diff_work *work, struct diff_summary *summary)
{
	const struct diff_plan_side *a = &work->plan.sides[DIFF_PLAN_A];
	const struct diff_plan_side *b = &work->plan.sides[DIFF_PLAN_B];
	double centre = work->scale.composition_error * work->scale.composition_error;
	double mix = mixing(input, work);
	struct diff_between between;
	double mix_noise = 0;

	for (uint32_t i = 0; i < input->item_cnt; i++)
		diff_estimate_against_rest(&work->estimates[i],
					   diff_estimate_pooled_share(&work->estimates[i],
								      &work->plan),
					   input->items[i].kind != DIFF_KIND_METHOD_SELF);

	int err = diff_within_moderate(input->items, input->item_cnt, &work->plan, work->estimates,
				       options->prior_df, work->within);

	if (!err)
		err = typical_extra(input, options, work, &mix_noise);
	if (err)
		return err;
	for (uint32_t i = 0; i < input->item_cnt; i++) {
		const struct diff_estimate *at = &work->estimates[i];
		double share = diff_estimate_pooled_share(at, &work->plan);
		/* What holds nearly everything does not scatter as a share; against the median method
		 * it does, as the mix does. */
		double held = share > 0.5 && input->items[i].kind != DIFF_KIND_METHOD_SELF ?
				      mix * mix_noise :
				      0;

		work->between[i] = (struct diff_between_item){
			.log_ratio = diff_estimate_log_ratio(at->x[DIFF_PLAN_A], a->sample_total,
							     at->x[DIFF_PLAN_B], b->sample_total) -
				     work->scale.composition.value,
			.within = work->within[i].variance + centre + held,
			.within_df = work->within[i].df,
			.share = share,
		};
	}

	const struct diff_between_sides sides = {
		.mixing = mix,
		.days_a = a->days,
		.days_b = b->days,
		.is_near = work->plan.span_s <= options->near_s,
	};

	err = diff_between_add(input->items, input->item_cnt, input->history, options, &sides,
			       work->between, &between);
	if (err)
		return err;
	summary->calibration = between.calibration;
	summary->history_pairs = between.history_pairs;
	summary->history_kind = input->history ? input->history->kind : DIFF_HISTORY_DAYS;
	for (int kind = 0; kind < DIFF_KIND_CNT; kind++)
		summary->families[kind] = between.families[kind];
	return 0;
}

static bool may_alarm(const struct diff_options *options, const struct diff_summary *summary)
{
	if (!summary->gates_passed)
		return false;
	return summary->calibration == DIFF_CALIBRATION_HISTORY ||
	       (options->alarm_without_history && summary->calibration == DIFF_CALIBRATION_PAIR);
}

static void raise_alarms(const struct diff_input *input, const struct diff_options *options,
			 struct diff_result *result)
{
	struct diff_summary *summary = &result->summary;

	if (!may_alarm(options, summary))
		return;
	for (uint32_t i = 0; i < input->item_cnt; i++) {
		enum diff_kind kind = input->items[i].kind;
		struct diff_row *row = &result->rows[i];

		if ((kind != DIFF_KIND_METHOD_SELF && kind != DIFF_KIND_METHOD_TOTAL) ||
		    row->verdict != DIFF_VERDICT_UP || !(row->q <= options->q_alarm))
			continue;
		row->is_alarm = true;
		summary->families[kind].alarm_cnt++;
		summary->alarm_cnt++;
	}
}

static int judge(const struct diff_input *input, const struct diff_options *options,
		 struct diff_work *work, struct diff_result *result)
{
	int err = diff_scale_measure(input->items, input->item_cnt, &work->plan, work->estimates,
				     options->scale_samples_min, &work->scale);

	if (!err)
		err = measure_variances(input, options, work, &result->summary);
	if (err)
		return err;
	result->summary.load = work->scale.load;
	result->summary.composition = work->scale.composition;
	result->summary.scale = work->scale.scale;
	result->summary.scale_methods = work->scale.methods;

	const struct diff_case diff = {
		.items = input->items,
		.item_cnt = input->item_cnt,
		.options = options,
		.plan = &work->plan,
		.estimates = work->estimates,
		.within = work->within,
		.between = work->between,
		.scale = &work->scale,
		.calibration = result->summary.calibration,
		.rows = result->rows,
		.families = result->summary.families,
	};

	err = diff_verdict_test(&diff);
	if (err)
		return err;
	diff_verdict_persist(&diff);
	err = diff_moved_mark(&diff);
	if (!err)
		err = diff_origin_find(&diff);
	if (!err)
		raise_alarms(input, options, result);
	return err;
}

static int run(const struct diff_input *input, const struct diff_options *options,
	       struct diff_work *work, struct diff_result *result)
{
	const struct diff_side *sides[DIFF_PLAN_SIDES] = { input->a, input->b };
	size_t room = (size_t)input->item_cnt + 1;
	int err = diff_plan_make(input->a, input->b, &work->plan);

	for (int s = 0; !err && s < DIFF_PLAN_SIDES; s++)
		err = diff_counts_make(sides[s], &work->plan.sides[s], input->item_cnt,
				       &work->counts[s]);
	if (err)
		return err;
	work->estimates = calloc(room, sizeof(*work->estimates));
	work->within = calloc(room, sizeof(*work->within));
	work->between = calloc(room, sizeof(*work->between));
	result->rows = calloc(room, sizeof(*result->rows));
	if (!work->estimates || !work->within || !work->between || !result->rows)
		return -ENOMEM;
	result->row_cnt = input->item_cnt;
	err = diff_estimate_items(&work->plan, work->counts, input->item_cnt, work->estimates);
	if (err)
		return err;
	for (uint32_t i = 0; i < input->item_cnt; i++)
		describe_row(&work->plan, &work->estimates[i], &result->rows[i]);
	summarise(input, options, &work->plan, &result->summary);
	return result->summary.mode == DIFF_MODE_STATISTICAL ? judge(input, options, work, result) :
							       0;
}

int diff_run(const struct diff_input *input, const struct diff_options *options,
	     struct diff_result **out)
{
	int err = check_options(options);

	if (!err)
		err = check_items(input);
	if (err)
		return err;

	struct diff_work work = { 0 };
	struct diff_result *result = calloc(1, sizeof(*result));

	if (!result)
		return -ENOMEM;
	err = run(input, options, &work, result);
	work_release(&work);
	if (err) {
		diff_result__free(result);
		return err;
	}
	*out = result;
	return 0;
}

void diff_result__free(struct diff_result *result)
{
	if (!result)
		return;
	free(result->rows);
	free(result);
}
