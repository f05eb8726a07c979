// SPDX-License-Identifier: Apache-2.0
/* Gates are data: what was compared, against which limit. Words for them belong to the reports. */
#include "user/diff/diff_gates.h"

#include <math.h>

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static struct diff_gate_result at_most(double a, double b, double value, double limit)
{
	return (struct diff_gate_result){
		.passed = value <= limit, .a = a, .b = b, .limit = limit
	};
}

/* The frequency of all blocks that are compared; 0 when one is not known. */
static uint32_t side_frequency(const struct diff_side *side, const struct diff_plan_side *plan)
{
	uint32_t frequency = 0;

	for (size_t i = 0; i < diff_side__block_count(side); i++) {
		if (plan->cluster_of[i] == DIFF_NONE)
			continue;
		frequency = diff_side__block(side, i)->frequency_hz;
		if (!frequency)
			return 0;
	}
	return frequency;
}

static struct diff_gate_result time_of_day(const struct diff_input *input,
					   const struct diff_options *options,
					   const struct diff_plan *plan, bool has_blocks)
{
	bool has_pairs = input->history && input->history->kind == DIFF_HISTORY_PAIRS &&
			 input->history->set_cnt >= options->history_min;

	return (struct diff_gate_result){
		.passed = plan->is_paired || has_pairs || !has_blocks ||
			  plan->span_s <= options->near_s,
		.a = plan->is_paired ? plan->cluster_cnt : 0,
		.b = has_pairs ? (double)input->history->set_cnt : 0,
		.limit = NAN,
	};
}

void diff_gates_check(const struct diff_input *input, const struct diff_options *options,
		      const struct diff_plan *plan, struct diff_gate_result out[DIFF_GATE_CNT])
{
	const struct diff_plan_side *a = &plan->sides[DIFF_PLAN_A];
	const struct diff_plan_side *b = &plan->sides[DIFF_PLAN_B];
	uint32_t event_a = diff_side__event(input->a);
	uint32_t event_b = diff_side__event(input->b);
	uint32_t frequency_a = side_frequency(input->a, a);
	uint32_t frequency_b = side_frequency(input->b, b);
	double lost_a = share(a->lost, a->lost + a->raw_samples);
	double lost_b = share(b->lost, b->lost + b->raw_samples);
	double unknown_a = share(a->unknown_frames, a->frames);
	double unknown_b = share(b->unknown_frames, b->frames);
	double truncated_a = share(a->truncated, a->raw_samples);
	double truncated_b = share(b->truncated, b->raw_samples);
	double others_a = share(a->other_stacks, a->raw_samples);
	double others_b = share(b->other_stacks, b->raw_samples);

	out[DIFF_GATE_EVENT] = (struct diff_gate_result){
		.passed = event_a == event_b, .a = event_a, .b = event_b, .limit = NAN
	};
	out[DIFF_GATE_BLOCKS] = (struct diff_gate_result){
		.passed = a->block_cnt >= options->blocks_min &&
			  b->block_cnt >= options->blocks_min && a->raw_samples > 0 &&
			  b->raw_samples > 0,
		.a = a->block_cnt,
		.b = b->block_cnt,
		.limit = options->blocks_min,
	};
	out[DIFF_GATE_FREQUENCY] = (struct diff_gate_result){
		.passed = frequency_a && frequency_b,
		.a = frequency_a ? frequency_a : NAN,
		.b = frequency_b ? frequency_b : NAN,
		.limit = NAN,
	};
	out[DIFF_GATE_LOST_A] = at_most(lost_a, lost_b, lost_a, options->lost_max);
	out[DIFF_GATE_LOST_B] = at_most(lost_a, lost_b, lost_b, options->lost_max);
	out[DIFF_GATE_UNKNOWN] =
		at_most(unknown_a, unknown_b, fabs(unknown_a - unknown_b), options->gap_max);
	out[DIFF_GATE_TRUNCATED] = at_most(truncated_a, truncated_b,
					   fabs(truncated_a - truncated_b), options->gap_max);
	out[DIFF_GATE_UNKNOWN_LEVEL] =
		at_most(unknown_a, unknown_b, fmax(unknown_a, unknown_b), options->unknown_max);
	/* Like samples that are lost: not known of which method they are. */
	out[DIFF_GATE_OTHER_STACKS] =
		at_most(others_a, others_b, fmax(others_a, others_b), options->lost_max);
	out[DIFF_GATE_TIME_OF_DAY] =
		time_of_day(input, options, plan, out[DIFF_GATE_BLOCKS].passed);
}

bool diff_gates_force_descriptive(const struct diff_gate_result gates[DIFF_GATE_CNT])
{
	return !gates[DIFF_GATE_BLOCKS].passed || !gates[DIFF_GATE_UNKNOWN_LEVEL].passed;
}
