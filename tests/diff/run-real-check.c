// SPDX-License-Identifier: Apache-2.0
/*
 * Evaluates the recording that run-real makes: how often the diff speaks when nothing changed (200
 * random splits of the quiet blocks into halves), and what it finds of 5 % and 1 % more in one method
 * (200 random choices of blocks of each kind). Blocks are the program's phases of 10 seconds; they are
 * dated as if they were 15 minutes long, the k-th of one side at the hour of the k-th of the other.
 * Usage: run-real-check STORE      exit code 1: alarms without a change in more than 5 % of the splits
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/diff/diff.h"
#include "user/diff/diff_catalog.h"
#include "user/model/profile.h"
#include "user/store/store.h"
#include "user/store/store_source.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define PHASE_NS     (10 * CLOCK_NS_PER_S) /* as in run-real.java */
#define PHASES	     4
#define SLOTS_MAX    4096
#define DRAWS	     200
#define ALARMS_MAX   17
#define PLANTED_SIZE 0.9 /* of the slots of each kind that a draw takes */
#define BLOCK_S	     900
#define TARGET	     "RunReal.target"
#define NOT_MINE     -1

struct slot {
	uint64_t number; /* since 1970 */
	struct profile *profile;
	uint64_t recorded_ns;
	uint32_t frequency_hz;
	struct window_counts counts;
};

struct recording {
	struct slot slots[SLOTS_MAX];
	size_t cnt;
	size_t straddling;
	struct diff_catalog *catalog;
	uint64_t state; /* of the random numbers */
};

/* ---- reading ---- */

static struct slot *slot_of(struct recording *recording, uint64_t number)
{
	for (size_t i = recording->cnt; i > 0; i--)
		if (recording->slots[i - 1].number == number)
			return &recording->slots[i - 1];
	if (recording->cnt == SLOTS_MAX)
		return NULL;

	struct slot *slot = &recording->slots[recording->cnt];

	slot->profile = profile__new();
	if (!slot->profile)
		return NULL;
	slot->number = number;
	recording->cnt++;
	return slot;
}

static int take_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct recording *recording = ctx;
	uint64_t number = window->start_unix_ns / PHASE_NS;

	if (!window->pid)
		return 0;
	/* The window holds some of two phases. */
	if ((window->start_unix_ns + window->duration_ns) / PHASE_NS != number) {
		recording->straddling++;
		return 0;
	}

	struct slot *slot = slot_of(recording, number);

	if (!slot)
		return -ENOMEM;
	slot->recorded_ns += window->duration_ns;
	slot->frequency_hz = window->frequency_hz;
	window_counts_add(&slot->counts, &window->counts);
	return profile__add_folded(slot->profile, text, len, NULL);
}

static int read_store(const char *dir, struct recording *recording)
{
	const struct store_visitor visitor = { .ctx = recording, .window = take_window };
	struct store_source *reader;
	int err = store_source__open(dir, EVENT_CPU, &reader);

	if (err)
		return err;
	recording->catalog = diff_catalog__new();
	err = recording->catalog ? store_source__visit(reader, 0, UINT64_MAX, &visitor) : -ENOMEM;
	store_source__free(reader);
	return err;
}

/* ---- sides ---- */

static uint64_t next_random(struct recording *recording)
{
	uint64_t x = recording->state += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static int compare_sizes(const void *a, const void *b)
{
	size_t left = *(const size_t *)a;
	size_t right = *(const size_t *)b;

	return (left > right) - (left < right);
}

/* Slots of up to two phases. */
static size_t list_slots(const struct recording *recording, int phase, int other, size_t *out)
{
	size_t cnt = 0;

	for (size_t i = 0; i < recording->cnt; i++) {
		int at = (int)(recording->slots[i].number % PHASES);

		if (at == phase || at == other)
			out[cnt++] = i;
	}
	return cnt;
}

static void shuffle(struct recording *recording, size_t *list, size_t cnt)
{
	for (size_t i = cnt; i > 1; i--) {
		size_t at = next_random(recording) % i;
		size_t swap = list[i - 1];

		list[i - 1] = list[at];
		list[at] = swap;
	}
}

static int add_block(struct recording *recording, const struct slot *slot, uint64_t start_s,
		     struct diff_side *side)
{
	struct diff_block block = {
		.start_unix_ns = start_s * CLOCK_NS_PER_S,
		.length_ns = slot->recorded_ns,
		.time_of_day_s = start_s % 86400,
		.frequency_hz = slot->frequency_hz,
		.samples = profile__sample_count(slot->profile),
		.frames = slot->counts.frames,
		.unknown_frames = slot->counts.unknown_frames,
		.truncated_samples = slot->counts.truncated_samples,
	};
	int err = 0;

	for (size_t i = 0; !err && i < profile__stack_count(slot->profile); i++) {
		struct profile_stack stack = profile__stack(slot->profile, i);

		err = diff_catalog__add(recording->catalog, side, stack.text, stack.len,
					stack.count);
	}
	return err ? err : diff_side__close_block(side, &block);
}

/* Days of the slots in `list`: neighbours are at the same hour of different days. */
static struct diff_side *make_side(struct recording *recording, size_t *list, size_t cnt,
				   uint64_t first_day, uint64_t days)
{
	struct diff_side *side = diff_side__new(1);
	int err = side ? 0 : -ENOMEM;

	qsort(list, cnt, sizeof(*list), compare_sizes);
	for (uint64_t day = 0; day < days; day++)
		for (size_t i = day; !err && i < cnt; i += days)
			err = add_block(recording, &recording->slots[list[i]],
					(first_day + day) * 86400 + i / days * BLOCK_S, side);
	if (!err)
		return side;
	diff_side__free(side);
	return NULL;
}

static struct diff_result *compare(struct recording *recording, size_t *before, size_t before_cnt,
				   size_t *after, size_t after_cnt,
				   const struct diff_options *options)
{
	uint64_t days = before_cnt / after_cnt;
	struct diff_side *a = make_side(recording, before, days * after_cnt, 0, days);
	struct diff_side *b = make_side(recording, after, after_cnt, days, 1);
	struct diff_result *result = NULL;
	struct diff_input input = { .a = a, .b = b };

	input.items = diff_catalog__items(recording->catalog, &input.item_cnt);
	if (a && b && diff_run(&input, options, &result))
		result = NULL;
	diff_side__free(a);
	diff_side__free(b);
	return result;
}

/* ---- nothing changed ---- */

struct quiet {
	unsigned int draws;
	unsigned int alarm_draws;
	unsigned int verdict_draws; /* when every change matters */
	unsigned long tested;
	unsigned long below_5;
};

static int split_once(struct recording *recording, size_t *list, size_t cnt, struct quiet *quiet)
{
	struct diff_options options = diff_options_default();
	size_t half = cnt / 2;

	if (half < options.blocks_min)
		return -ENODATA;
	options.alarm_without_history = true;
	for (int pass = 0; pass < 2; pass++) {
		struct diff_result *result =
			compare(recording, list, half, list + half, half, &options);

		if (!result)
			return -ENOMEM;
		if (pass == 0) {
			quiet->alarm_draws += result->summary.alarm_cnt > 0;
		} else {
			quiet->verdict_draws +=
				result->summary.families[DIFF_KIND_METHOD_SELF].found_cnt > 0;
			for (uint32_t i = 0; i < result->row_cnt; i++) {
				const struct diff_row *row = &result->rows[i];
				uint32_t item_cnt;
				const struct diff_item *items =
					diff_catalog__items(recording->catalog, &item_cnt);

				if (items[i].kind != DIFF_KIND_METHOD_SELF || !row->is_tested)
					continue;
				quiet->tested++;
				quiet->below_5 += row->p_any < 0.05;
			}
		}
		diff_result__free(result);
		options.relevant_points = 0;
		options.relevant_relative = 0;
	}
	quiet->draws++;
	return 0;
}

static int check_quiet(struct recording *recording, struct quiet *quiet)
{
	static size_t list[SLOTS_MAX];
	size_t cnt = list_slots(recording, 0, 2, list);
	int err = 0;

	for (int i = 0; !err && i < DRAWS; i++) {
		shuffle(recording, list, cnt);
		err = split_once(recording, list, cnt, quiet);
	}
	if (err)
		return err;
	printf("nothing changed, %u splits of %zu quiet blocks into halves:\n"
	       "  p < 0.05 in %.1f %% of %lu tests of methods\n"
	       "  splits with an alarm (calibrated by the pair): %u\n"
	       "  splits with a verdict when every change matters: %u\n",
	       quiet->draws, cnt, 100.0 * (double)quiet->below_5 / (double)quiet->tested,
	       quiet->tested, quiet->alarm_draws, quiet->verdict_draws);
	return 0;
}

/* ---- planted in code ---- */

struct planted {
	unsigned int draws;
	unsigned int verdicts[DIFF_VERDICT_CNT];
	unsigned int alarms;
	unsigned int others;  /* draws in which another method got a verdict */
	unsigned int covered; /* intervals that hold the truth */
	double change;	      /* sums */
	double detectable;
};

static int plant_once(struct recording *recording, size_t *quiet, size_t quiet_cnt, size_t *more,
		      size_t more_cnt, double truth, struct planted *planted)
{
	struct diff_options options = diff_options_default();
	uint32_t target = diff_catalog__find(recording->catalog, DIFF_KIND_METHOD_SELF,
					     FRAME_KIND_JIT, TARGET, strlen(TARGET));
	struct diff_result *result;
	const struct diff_row *row;

	size_t changed = (size_t)((double)more_cnt * PLANTED_SIZE);

	if (changed < options.blocks_min || quiet_cnt < changed)
		return -ENODATA;
	options.alarm_without_history = true;
	shuffle(recording, quiet, quiet_cnt);
	shuffle(recording, more, more_cnt);
	result = compare(recording, quiet, (size_t)((double)quiet_cnt * PLANTED_SIZE), more,
			 changed, &options);
	if (!result || target == DIFF_NONE) {
		diff_result__free(result);
		return -EINVAL;
	}
	row = &result->rows[target];
	planted->draws++;
	planted->verdicts[row->verdict]++;
	planted->alarms += row->is_alarm;
	planted->covered += row->change.low <= truth && truth <= row->change.high;
	planted->change += row->change.value;
	planted->detectable += row->detectable;
	planted->others += result->summary.families[DIFF_KIND_METHOD_SELF].found_cnt >
			   (row->verdict == DIFF_VERDICT_UP || row->verdict == DIFF_VERDICT_DOWN);
	diff_result__free(result);
	return 0;
}

static int check_planted(struct recording *recording, int phase, double more)
{
	static size_t quiet[SLOTS_MAX], changed[SLOTS_MAX];
	size_t quiet_cnt = list_slots(recording, 0, 2, quiet);
	size_t changed_cnt = list_slots(recording, phase, NOT_MINE, changed);
	struct planted planted = { 0 };
	int err = 0;

	for (int i = 0; !err && i < DRAWS; i++)
		err = plant_once(recording, quiet, quiet_cnt, changed, changed_cnt, log1p(more),
				 &planted);
	if (err)
		return err;
	printf("%+.0f %% in %s, %u draws of %.0f %% of %zu quiet and %zu changed blocks:\n"
	       "  measured %+.2f %%, could see %.2f %%, interval held the truth in %.1f %%\n"
	       "  up %u, unresolved %u, same %u, other %u; alarms %u; draws in which another method got a verdict: %u\n",
	       100 * more, TARGET, planted.draws, 100 * PLANTED_SIZE, quiet_cnt, changed_cnt,
	       100 * expm1(planted.change / planted.draws),
	       100 * planted.detectable / planted.draws, 100.0 * planted.covered / planted.draws,
	       planted.verdicts[DIFF_VERDICT_UP], planted.verdicts[DIFF_VERDICT_UNRESOLVED],
	       planted.verdicts[DIFF_VERDICT_SAME],
	       planted.draws - planted.verdicts[DIFF_VERDICT_UP] -
		       planted.verdicts[DIFF_VERDICT_UNRESOLVED] -
		       planted.verdicts[DIFF_VERDICT_SAME],
	       planted.alarms, planted.others);
	return 0;
}

int main(int argc, char **argv)
{
	static struct recording recording = { .state = 1 };
	struct quiet quiet = { 0 };
	uint64_t samples = 0;
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: run-real-check STORE\n");
		return 2;
	}
	err = read_store(argv[1], &recording);
	for (size_t i = 0; i < recording.cnt; i++)
		samples += profile__sample_count(recording.slots[i].profile);
	printf("%zu blocks of 10 s, %" PRIu64 " samples; %zu windows left out between blocks\n",
	       recording.cnt, samples, recording.straddling);
	if (!err)
		err = check_quiet(&recording, &quiet);
	if (!err)
		err = check_planted(&recording, 3, 0.05);
	if (!err)
		err = check_planted(&recording, 1, 0.01);
	if (err)
		fprintf(stderr, "run-real-check: %s\n",
			err == -ENODATA ? "too little was recorded, 8 minutes are the least" :
					  strerror(-err));
	for (size_t i = 0; i < recording.cnt; i++)
		profile__free(recording.slots[i].profile);
	diff_catalog__free(recording.catalog);
	return err || quiet.alarm_draws > ALARMS_MAX;
}
