// SPDX-License-Identifier: Apache-2.0
/*
 * What the words of the diff are worth: how often it speaks when nothing changed, how often it
 * finds what was planted, how often its intervals hold the truth. Minutes of CPU: make check-diff.
 *
 * Usage: check_diff [PAIRS]      pairs of days for each figure, default 200
 * Last line: "N passed, N failed"
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/unit/diff_sim.h"
#include "user/diff/diff_math.h"
#include "user/diff/diff_series.h"
#include "user/util/cleanup.h"
#include "user/util/parse.h"

#define PAIRS_DEFAULT 200u
#define PAIRS_MIN     20u
#define PLANTED	      3

static unsigned int passed;
static unsigned int failed;

static void check(bool is_right, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void check(bool is_right, const char *format, ...)
{
	va_list arguments;

	passed += is_right;
	failed += !is_right;
	if (is_right)
		return;
	va_start(arguments, format);
	printf("FAILED ");
	vprintf(format, arguments);
	printf("\n");
	va_end(arguments);
}

static void die(const char *what)
{
	fprintf(stderr, "check_diff: %s failed\n", what);
	exit(1);
}

enum {
	MODEL_STILL = 0,
	MODEL_WINDOW = 1,
	MODEL_DRIFT = 2,
	MODEL_DRIFT_4 = 3,
	MODEL_UNEQUAL = 4,
	MODEL_SHARED = 5
};

static const struct {
	const char *name;
	struct sim_config config;
	bool is_equal; /* all methods drift alike, so one pair can tell how much */
} models[] = {
	[MODEL_STILL] = { "no noise", { .cores = 1, .frequency_hz = 49 }, true },
	[MODEL_WINDOW] = { "window noise 15 %, memory 0.8",
			   { .cores = 1,
			     .frequency_hz = 49,
			     .window_noise = 0.15,
			     .window_memory = 0.8 },
			   true },
	[MODEL_DRIFT] = { "... and 2 % day drift",
			  { .cores = 1,
			    .frequency_hz = 49,
			    .window_noise = 0.15,
			    .window_memory = 0.8,
			    .day_drift = 0.02 },
			  true },
	[MODEL_DRIFT_4] = { "... and 5 % day drift, 4 cores",
			    { .cores = 4,
			      .frequency_hz = 49,
			      .window_noise = 0.15,
			      .window_memory = 0.8,
			      .day_drift = 0.05 },
			    true },
	[MODEL_UNEQUAL] = { "... and 3 % day drift, unequal",
			    { .cores = 1,
			      .frequency_hz = 49,
			      .window_noise = 0.15,
			      .window_memory = 0.8,
			      .day_drift = 0.03,
			      .drift_spread = 0.5 },
			    false },
	[MODEL_SHARED] = { "packages move as one: 5 %, 3 %",
			   { .cores = 1,
			     .frequency_hz = 49,
			     .window_noise = 0.10,
			     .window_memory = 0.8,
			     .day_drift = 0.01,
			     .shared_noise = 0.05,
			     .shared_drift = 0.03 },
			   false },
};

/* The largest count that 5 % may show in `trials`: 17 of 200. */
static unsigned int at_most_5_percent(unsigned int trials)
{
	return (unsigned int)(0.05 * trials + 2.33 * sqrt(0.05 * 0.95 * trials));
}

struct world {
	struct sim sim;
	struct sim_series series;
};

static struct world *world_new(int model, uint64_t seed)
{
	struct world *world = calloc(1, sizeof(*world));
	struct sim_config config = models[model].config;

	config.seed = seed;
	if (!world)
		die("memory");
	sim_init(&world->sim, &config);
	if (sim_series_start(&world->series, &world->sim))
		die("history");
	return world;
}

static void world_free(struct world *world)
{
	sim_series_release(&world->series);
	free(world);
}

static struct diff_side *day(struct world *world, const struct sim_effect *effects, size_t cnt)
{
	struct diff_side *side = sim_day(&world->sim, effects, cnt);

	if (!side)
		die("simulation");
	return side;
}

static struct diff_result *compare(const struct world *world, const struct diff_side *a,
				   const struct diff_side *b, bool has_history,
				   const struct diff_options *options)
{
	struct diff_result *result =
		sim_compare(&world->sim, a, b, has_history ? &world->series : NULL, options);

	if (!result)
		die("diff_run");
	return result;
}

/* ---- nothing changed ---- */

struct quiet {
	unsigned long tested[DIFF_KIND_CNT];
	unsigned long below_5[DIFF_KIND_CNT]; /* p against no change at all */
	unsigned int alarm_pairs;
	unsigned int zero_pairs[DIFF_KIND_CNT]; /* with a verdict when everything matters */
};

static void quiet_pair(const struct world *world, const struct diff_side *a,
		       const struct diff_side *b, bool has_history, struct quiet *out)
{
	struct diff_options options = diff_options_default();
	struct diff_result *result;

	options.alarm_without_history = true;
	result = compare(world, a, b, has_history, &options);
	for (uint32_t i = 0; i < SIM_ITEMS; i++) {
		enum diff_kind kind = world->sim.items[i].kind;

		out->tested[kind] += result->rows[i].is_tested;
		out->below_5[kind] += result->rows[i].is_tested && result->rows[i].p_any < 0.05;
	}
	out->alarm_pairs += result->summary.alarm_cnt > 0;
	diff_result__free(result);
	options.relevant_points = 0;
	options.relevant_relative = 0;
	result = compare(world, a, b, has_history, &options);
	for (int kind = 0; kind < DIFF_KIND_CNT; kind++)
		out->zero_pairs[kind] += result->summary.families[kind].found_cnt > 0;
	diff_result__free(result);
}

static double rate(const struct quiet *quiet, enum diff_kind kind)
{
	return quiet->tested[kind] ? (double)quiet->below_5[kind] / (double)quiet->tested[kind] : 0;
}

static void quiet_report(int model, bool has_history, unsigned int pairs, const struct quiet *quiet)
{
	double self = rate(quiet, DIFF_KIND_METHOD_SELF);
	double total = rate(quiet, DIFF_KIND_METHOD_TOTAL);
	unsigned int most = at_most_5_percent(pairs);

	printf("%-32s %-8s %5.2f %% %5.2f %%   %3u        %3u          %3u\n", models[model].name,
	       has_history ? "history" : "pair", 100 * self, 100 * total, quiet->alarm_pairs,
	       quiet->zero_pairs[DIFF_KIND_METHOD_SELF], quiet->zero_pairs[DIFF_KIND_METHOD_TOTAL]);
	fflush(stdout);
	if (!has_history && !models[model].is_equal)
		return; /* one pair cannot know, hence no alarms without history */
	check(quiet->alarm_pairs <= most, "%u of %u pairs with an alarm", quiet->alarm_pairs,
	      pairs);
	check(quiet->zero_pairs[DIFF_KIND_METHOD_SELF] <= most, "%u of %u pairs with a verdict",
	      quiet->zero_pairs[DIFF_KIND_METHOD_SELF], pairs);
	check(self <= 0.065, "p < 0.05 in %.2f %%", 100 * self);
	check(total <= 0.065, "p < 0.05 in %.2f %% of methods with what they call", 100 * total);
	if (has_history && models[model].is_equal)
		check(self >= 0.03, "p < 0.05 in only %.2f %%", 100 * self);
}

/* Row after row of days: each pair is new, its history are the eight days before. */
static void check_quiet(int model, unsigned int pairs)
{
	struct world *world = world_new(model, 1000 + (uint64_t)model);
	struct quiet with = { 0 };
	struct quiet without = { 0 };

	for (unsigned int i = 0; i < pairs; i++) {
		struct diff_side *a = day(world, NULL, 0);
		struct diff_side *b = day(world, NULL, 0);

		quiet_pair(world, a, b, true, &with);
		quiet_pair(world, a, b, false, &without);
		if (sim_series_take(&world->series, a) || sim_series_take(&world->series, b))
			die("history");
	}
	quiet_report(model, true, pairs, &with);
	quiet_report(model, false, pairs, &without);
	world_free(world);
}

/* ---- something was planted ---- */

static const double planted_shares[PLANTED] = { 0.10, 0.02, 0.005 };

struct planted {
	unsigned int found; /* verdict UP */
	unsigned int same;  /* verdict SAME although it matters */
	unsigned int alarms;
	unsigned int covered; /* the interval holds the truth */
	double implied;	      /* sum of the power that the printed figure implies */
	double detectable;    /* sum */
	double share;
};

/* The chance of finding a log ratio, if `detectable` is found 4 times of 5. */
static double implied_power(const struct diff_row *row, double truth)
{
	double distance = (log1p(row->detectable) - truth) / row->error;

	return diff_math_t_tail(distance - diff_math_t_quantile(0.2, row->df), row->df);
}

static void planted_pair(struct world *world, double factor, bool has_history,
			 const uint32_t methods[PLANTED], struct planted out[PLANTED])
{
	struct diff_options options = diff_options_default();
	struct sim_effect effects[PLANTED];
	struct diff_result *result;
	struct diff_side *a;
	struct diff_side *b;

	for (int i = 0; i < PLANTED; i++)
		effects[i] = (struct sim_effect){ methods[i], factor, 0, SIM_BLOCKS };
	a = day(world, NULL, 0);
	b = day(world, effects, PLANTED);
	result = compare(world, a, b, has_history, &options);
	for (int i = 0; i < PLANTED; i++) {
		const struct diff_row *row = &result->rows[methods[i]];

		out[i].found += row->verdict == DIFF_VERDICT_UP;
		out[i].same += row->verdict == DIFF_VERDICT_SAME && log(factor) >= row->relevant;
		out[i].alarms += row->is_alarm;
		out[i].covered += row->change.low <= log(factor) && row->change.high >= log(factor);
		out[i].implied += implied_power(row, log(factor));
		out[i].detectable += row->detectable;
		out[i].share += row->share_a;
	}
	diff_result__free(result);
	diff_side__free(b);
	if (sim_series_take(&world->series, a))
		die("history");
}

/* Adds to *covered_out how many intervals held the truth. */
static void check_planted(int model, double factor, unsigned int pairs, unsigned int *covered_out)
{
	struct world *world =
		world_new(model, 5000 + (uint64_t)model + 10 * (uint64_t)lround(100 * factor));
	struct planted planted[PLANTED] = { 0 };
	uint32_t methods[PLANTED];
	double n = pairs;
	/* What chance alone may do to rates, in addition to what is allowed: coverage always, power
	 * when there are few pairs. */
	double coverage_slack = 2.33 * sqrt(0.93 * 0.07 / n);
	double slack = pairs < 100 ? 2 * sqrt(0.25 / n) : 0;

	for (int i = 0; i < PLANTED; i++)
		methods[i] = sim_method_of_share(&world->sim, planted_shares[i]);
	for (unsigned int i = 0; i < pairs; i++)
		planted_pair(world, factor, true, methods, planted);
	for (int i = 0; i < PLANTED; i++) {
		const struct planted *at = &planted[i];
		double power = at->found / n;
		double covered = at->covered / n;

		*covered_out += at->covered;

		printf("%-32s %+4.0f %%  %5.2f %%  %6.1f %%   %5.1f %%  %5.1f %%  %5.1f %%  %5.1f %%  %5.1f %%\n",
		       models[model].name, 100 * (factor - 1), 100 * at->share / n,
		       100 * at->detectable / n, 100 * at->implied / n, 100 * power,
		       100 * at->alarms / n, 100 * covered, 100 * at->same / n);
		fflush(stdout);
		check(fabs(power - at->implied / n) <= 0.10 + slack,
		      "found %.1f %%, implied %.1f %%", 100 * power, 100 * at->implied / n);
		check(covered >= 0.93 - coverage_slack, "interval holds the truth in %.1f %%",
		      100 * covered);
		/* 1 % is the edge of what matters: saying "same" there is an error of 2.5 %. */
		check(at->same / n <= 0.05 + slack / 2,
		      "a change that matters called same in %.1f %%", 100 * at->same / n);
	}
	world_free(world);
}

/* ---- a quarter of an hour ---- */

enum short_claim {
	SHORT_IS_QUIET = 0,    /* no alarm when nothing changed */
	SHORT_IS_FOUND = 1,    /* ... and what is planted is found */
	SHORT_IS_HOPELESS = 2, /* no pair of sides can tell this noise from a change */
};

static const struct {
	const char *name;
	struct sim_config config;
	enum short_claim claim;
} short_models[] = {
	{ "no noise", { .cores = 1, .frequency_hz = 49 }, SHORT_IS_FOUND },
	{ "minutes 5 %", { .cores = 1, .frequency_hz = 49, .window_noise = 0.05 }, SHORT_IS_QUIET },
	{ "minutes 15 %, memory 0.8",
	  { .cores = 1, .frequency_hz = 49, .window_noise = 0.15, .window_memory = 0.8 },
	  SHORT_IS_QUIET },
	{ "... and 4 cores",
	  { .cores = 4, .frequency_hz = 49, .window_noise = 0.15, .window_memory = 0.8 },
	  SHORT_IS_QUIET },
	{ "... and sides drift 2 %",
	  { .cores = 1,
	    .frequency_hz = 49,
	    .window_noise = 0.15,
	    .window_memory = 0.8,
	    .day_drift = 0.02 },
	  SHORT_IS_QUIET },
	{ "sides drift 3 %, unequal, 4 cores",
	  { .cores = 4,
	    .frequency_hz = 49,
	    .window_noise = 0.05,
	    .window_memory = 0.8,
	    .day_drift = 0.03,
	    .drift_spread = 0.5 },
	  SHORT_IS_QUIET },
	{ "sides drift 5 %, very unequal, 4 c.",
	  { .cores = 4,
	    .frequency_hz = 49,
	    .window_noise = 0.05,
	    .window_memory = 0.8,
	    .day_drift = 0.05,
	    .drift_spread = 1 },
	  SHORT_IS_HOPELESS },
};

struct quarter {
	unsigned int alarm_pairs; /* nothing changed */
	unsigned int found;	  /* +20 % of a method of a tenth */
	unsigned int alarms;
	unsigned int others; /* pairs in which another method has an alarm */
	double detectable;   /* sum */
};

static struct diff_result *compare_quarters(const struct sim *sim, const struct diff_side *a,
					    const struct diff_side *b)
{
	struct diff_options options = diff_options_default();
	struct diff_result *result;

	options.alarm_without_history = true;
	result = sim_compare(sim, a, b, NULL, &options);
	if (!result)
		die("diff_run");
	return result;
}

static void quarter_pair(struct sim *sim, uint32_t second_b, const struct sim_effect *effect,
			 struct quarter *out)
{
	struct diff_side *a = sim_short(sim, SIM_SHORT_FIRST * SIM_BLOCK_S, NULL, 0);
	struct diff_side *b = sim_short(sim, second_b, NULL, 0);
	struct diff_side *slower = sim_short(sim, second_b, effect, 1);
	struct diff_result *result;
	bool has_other = false;

	if (!a || !b || !slower)
		die("simulation");
	result = compare_quarters(sim, a, b);
	out->alarm_pairs += result->summary.alarm_cnt > 0;
	diff_result__free(result);
	result = compare_quarters(sim, a, slower);
	out->found += result->rows[effect->method].verdict == DIFF_VERDICT_UP;
	out->alarms += result->rows[effect->method].is_alarm;
	out->detectable += result->rows[effect->method].detectable;
	for (uint32_t m = 0; m < SIM_METHODS; m++)
		has_other |= m != effect->method && result->rows[m].is_alarm;
	out->others += has_other;
	diff_result__free(result);
	diff_side__free(a);
	diff_side__free(b);
	diff_side__free(slower);
}

/* Blocks of a minute, no history; both sides at the same time, or one after the other. */
static void check_quarters(size_t model, bool is_together, unsigned int pairs)
{
	uint32_t second_b = SIM_SHORT_FIRST * SIM_BLOCK_S + (is_together ? 0 : 1200);
	struct sim_config config = short_models[model].config;
	struct sim *sim = calloc(1, sizeof(*sim));
	struct quarter quarter = { 0 };
	struct sim_effect effect;

	if (!sim)
		die("memory");
	config.seed = 7000 + model;
	sim_init(sim, &config);
	effect = (struct sim_effect){ sim_method_of_share(sim, 0.10), 1.2, 0, SIM_BLOCKS };
	for (unsigned int i = 0; i < pairs; i++)
		quarter_pair(sim, second_b, &effect, &quarter);
	printf("%-34s %-8s  %3u        %5.1f %%  %5.1f %%  %5.1f %%   %3u\n",
	       short_models[model].name, is_together ? "together" : "after", quarter.alarm_pairs,
	       100 * quarter.detectable / pairs, 100.0 * quarter.found / pairs,
	       100.0 * quarter.alarms / pairs, quarter.others);
	fflush(stdout);
	check(short_models[model].claim == SHORT_IS_HOPELESS ||
		      quarter.alarm_pairs <= at_most_5_percent(pairs),
	      "%u of %u pairs with an alarm", quarter.alarm_pairs, pairs);
	if (short_models[model].claim == SHORT_IS_FOUND)
		check(quarter.found >= 0.9 * pairs && quarter.alarms >= 0.85 * pairs,
		      "+20 %% found in %u, an alarm in %u of %u", quarter.found, quarter.alarms,
		      pairs);
	free(sim);
}

/* ---- daily series ---- */

struct shape {
	const char *name;
	uint32_t days;
	uint32_t first; /* of the slope; days = none */
	uint32_t last;
	double height;
	double noise;
};

/* One row of days of a method; true when a change was dated within 4 days of its beginning. */
static bool series_is_dated(struct sim *dice, const struct shape *shape, size_t *cnt_out)
{
	struct diff_series_options options = diff_series_options_default();
	struct diff_series_day days[DIFF_SERIES_DAYS_MAX];
	__cleanup_free struct diff_change *changes = NULL;

	for (uint32_t i = 0; i < shape->days; i++) {
		double part = i < shape->first ?
				      0 :
			      i >= shape->last ?
				      1 :
				      (i - shape->first + 1.0) / (shape->last - shape->first + 1.0);

		days[i] = (struct diff_series_day){
			.day = i,
			.value = shape->height * part + shape->noise * sim_normal(dice),
			.variance = 1e-5,
		};
	}
	if (diff_series_changes(days, shape->days, &options, &changes, cnt_out))
		die("diff_series_changes");
	return *cnt_out == 1 && fabs((double)changes[0].first_day - shape->first) <= 4;
}

static void check_series(unsigned int pairs)
{
	static const struct shape shapes[] = {
		{ "60 days, 2 % noise, flat", 60, 60, 60, 0, 0.02 },
		{ "14 days, 2 % noise, flat", 14, 14, 14, 0, 0.02 },
		{ "30 days, 2 % noise, step of 8 % on day 20", 30, 20, 20, 0.08, 0.02 },
		{ "60 days, 2 % noise, step of 5 % on day 30", 60, 30, 30, 0.05, 0.02 },
		{ "60 days, 1 % noise, creep of 1 % a day from day 20 to 40", 60, 20, 40, 0.2,
		  0.01 },
	};
	struct sim *dice = calloc(1, sizeof(*dice));
	const struct sim_config config = { .seed = 99 };
	unsigned int rows = pairs * 5;

	if (!dice)
		die("memory");
	sim_init(dice, &config);
	for (size_t s = 0; s < ARRAY_SIZE(shapes); s++) {
		bool is_flat = shapes[s].first == shapes[s].days;
		unsigned int dated = 0;
		unsigned int spoke = 0;

		for (unsigned int i = 0; i < rows; i++) {
			size_t cnt = 0;

			dated += series_is_dated(dice, &shapes[s], &cnt);
			spoke += cnt > 0;
		}
		printf("%-58s a change in %5.2f %%, dated within 4 days in %5.2f %%\n",
		       shapes[s].name, 100.0 * spoke / rows, 100.0 * dated / rows);
		if (is_flat)
			check(spoke <= 0.005 * rows + 2, "a change in %u of %u", spoke, rows);
		else
			check(dated >= 0.85 * rows, "dated in %u of %u", dated, rows);
	}
	free(dice);
}

/* ---- time ---- */

#define LARGE_ITEMS 20000u

/* 20,000 items in every one of 192 blocks: denser than life. CPU time of diff_run(). */
static void check_time(void)
{
	struct sim *dice = calloc(1, sizeof(*dice));
	struct diff_item *items = calloc(LARGE_ITEMS, sizeof(*items));
	struct diff_side *sides[2] = { diff_side__new(1), diff_side__new(1) };
	const struct sim_config config = { .seed = 7 };
	struct diff_options options = diff_options_default();
	struct diff_result *result = NULL;
	int err = dice && items && sides[0] && sides[1] ? 0 : -ENOMEM;
	double best_ms = INFINITY;

	if (err)
		die("memory");
	sim_init(dice, &config);
	for (uint32_t i = 0; i < LARGE_ITEMS; i++)
		items[i] = (struct diff_item){ i < 5000	 ? DIFF_KIND_METHOD_SELF :
					       i < 10000 ? DIFF_KIND_METHOD_TOTAL :
							   DIFF_KIND_PATH,
					       DIFF_NONE, i < 5000 ? 5000 + i : DIFF_NONE,
					       i > 10000 ? 10000 + (i - 10001) / 2 : DIFF_NONE };
	for (uint32_t b = 0; !err && b < 2 * SIM_BLOCKS; b++) {
		struct diff_block block = {
			.start_unix_ns = b * 900000000000ull,
			.length_ns = 900000000000ull,
			.time_of_day_s = b % SIM_BLOCKS * SIM_BLOCK_S,
			.frequency_hz = 49,
			.samples = 100000,
		};

		for (uint32_t i = 0; i < LARGE_ITEMS; i++)
			err |= diff_side__add(sides[b / SIM_BLOCKS], i,
					      1 + sim_poisson(dice, 4 + 2000.0 / (1 + i % 5000)));
		err |= diff_side__close_block(sides[b / SIM_BLOCKS], &block);
	}
	for (int i = 0; !err && i < 5; i++) {
		struct diff_input input = { items, LARGE_ITEMS, sides[0], sides[1], NULL };
		clock_t start = clock();

		err = diff_run(&input, &options, &result);
		best_ms = fmin(best_ms, 1000.0 * (double)(clock() - start) / CLOCKS_PER_SEC);
		if (!err)
			diff_result__free(result);
	}
	if (err)
		die("comparison");
	printf("%u items in 192 blocks: %.0f ms\n", LARGE_ITEMS, best_ms);
	check(best_ms < 100, "%.0f ms", best_ms);
	diff_side__free(sides[0]);
	diff_side__free(sides[1]);
	free(items);
	free(dice);
}

int main(int argc, char **argv)
{
	static const double factors[] = { 1.01, 1.05, 1.20 };
	uint32_t pairs = PAIRS_DEFAULT;

	if (argc > 2 || (argc == 2 && parse_u32_range(argv[1], PAIRS_MIN, 100000, &pairs))) {
		fprintf(stderr, "Usage: check_diff [PAIRS]     at least %u\n", PAIRS_MIN);
		return 2;
	}
	printf("Nothing changed, %u pairs of days, %u methods\n", pairs, SIM_METHODS);
	printf("%-32s %-8s p < 0.05          pairs with  pairs with a verdict at margin 0\n", "",
	       "");
	printf("%-32s %-8s self    total     an alarm    self        total\n", "noise", "from");
	for (size_t m = 0; m < ARRAY_SIZE(models); m++)
		check_quiet((int)m, pairs);
	printf("\nPlanted, %u pairs of days, with history\n", pairs);
	printf("%-32s %6s  %7s  %8s   %7s  %7s  %7s  %7s  %7s\n", "noise", "change", "share",
	       "could see", "implied", "found", "alarms", "covered", "same");
	for (int m = MODEL_STILL; m <= MODEL_DRIFT; m++) {
		double all = PLANTED * ARRAY_SIZE(factors) * pairs;
		unsigned int covered = 0;

		for (size_t f = 0; f < ARRAY_SIZE(factors); f++)
			check_planted(m, factors[f], pairs, &covered);
		printf("%-32s intervals hold the truth in %.2f %%\n", models[m].name,
		       100 * covered / all);
		check(covered >= 0.93 * all, "intervals hold the truth in %.2f %%",
		      100 * covered / all);
	}
	printf("\nTwice a quarter of an hour, %u pairs, without history; planted: +20 %% of a tenth\n",
	       pairs);
	printf("%-34s %-8s  an alarm   could see  found    alarms    another's alarm\n", "noise",
	       "");
	for (size_t m = 0; m < ARRAY_SIZE(short_models); m++) {
		check_quarters(m, true, pairs);
		check_quarters(m, false, pairs);
	}
	printf("\nDaily series, %u each\n", pairs * 5);
	check_series(pairs);
	printf("\nTime\n");
	check_time();
	printf("%u passed, %u failed\n", passed, failed);
	return failed ? 1 : 0;
}
