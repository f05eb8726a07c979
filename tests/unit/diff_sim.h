/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated program for tests of the diff: methods with Zipf shares in a call tree, classes and
 * packages; a daily rhythm of load; each method's rate noisy from minute to minute with memory, and
 * drifting from day to day. Everything follows from the seed.
 *
 * Items: SELF of method m = m; then as many TOTAL; as many PATH (each method has one place in the
 * tree); then classes and packages, by self and by total.
 */
#ifndef JBPF_TESTS_DIFF_SIM_H
#define JBPF_TESTS_DIFF_SIM_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "user/diff/diff.h"

#define SIM_METHODS	  300u
#define SIM_CLASS	  6u  /* methods in a class */
#define SIM_PACKAGE	  60u /* methods in a package */
#define SIM_CLASSES	  (SIM_METHODS / SIM_CLASS)
#define SIM_PACKAGES	  (SIM_METHODS / SIM_PACKAGE)
#define SIM_TOTAL	  SIM_METHODS
#define SIM_PATH	  (2 * SIM_METHODS)
#define SIM_CLASS_SELF	  (3 * SIM_METHODS)
#define SIM_CLASS_TOTAL	  (SIM_CLASS_SELF + SIM_CLASSES)
#define SIM_PACKAGE_SELF  (SIM_CLASS_TOTAL + SIM_CLASSES)
#define SIM_PACKAGE_TOTAL (SIM_PACKAGE_SELF + SIM_PACKAGES)
#define SIM_ITEMS	  (SIM_PACKAGE_TOTAL + SIM_PACKAGES)
#define SIM_BLOCKS	  96u /* a day */
#define SIM_MINUTES	  15
#define SIM_BLOCK_S	  900u
#define SIM_CALLEES	  4u /* of each method, in the call tree */

struct sim_config {
	double cores;	       /* busy on average */
	double window_noise;   /* sd of a method's log rate from minute to minute */
	double window_memory;  /* lag-1 correlation of it */
	double day_drift;      /* sd of a method's log rate from day to day */
	double drift_spread;   /* sd of the log of that sd between methods */
	double shared_noise;   /* the same for all methods of a package, from block to block */
	double shared_drift;   /* ... and from day to day */
	uint32_t frequency_hz; /* 49 */
	uint64_t seed;
};

/* A change of one method in blocks first .. last - 1 of a day: some samples twice or not at all. */
struct sim_effect {
	uint32_t method;
	double factor; /* 1.05 = +5 %; up to 2 */
	uint32_t first_block;
	uint32_t last_block;
};

struct sim {
	struct sim_config config;
	uint64_t state[4];
	double share[SIM_METHODS];
	double noise[SIM_METHODS]; /* standardised */
	double shared[SIM_PACKAGES];
	double drift_scale[SIM_METHODS];
	uint32_t day;
	double load;			  /* factor on everything, 1 */
	uint32_t counted_as[SIM_METHODS]; /* itself; another one after a renaming */
	struct diff_item items[SIM_ITEMS];
};

static inline uint64_t sim_u64(struct sim *sim)
{
	/* xoshiro256++ (Blackman and Vigna) */
	uint64_t *s = sim->state;
	uint64_t sum = s[0] + s[3];
	uint64_t result = ((sum << 23) | (sum >> 41)) + s[0];
	uint64_t shifted = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= shifted;
	s[3] = (s[3] << 45) | (s[3] >> 19);
	return result;
}

/* In (0, 1). */
static inline double sim_uniform(struct sim *sim)
{
	return ((double)(sim_u64(sim) >> 11) + 0.5) * 0x1p-53;
}

/* Marsaglia's polar method; the second value is thrown away. */
static inline double sim_normal(struct sim *sim)
{
	for (;;) {
		double u = 2 * sim_uniform(sim) - 1;
		double v = 2 * sim_uniform(sim) - 1;
		double s = u * u + v * v;

		if (s < 1 && s > 0)
			return u * sqrt(-2 * log(s) / s);
	}
}

static inline double sim_gamma(struct sim *sim, double shape)
{
	/* Marsaglia and Tsang, shape >= 1. */
	double d = shape - 1.0 / 3;
	double c = 1 / sqrt(9 * d);

	for (;;) {
		double x = sim_normal(sim);
		double v = 1 + c * x;

		if (v <= 0)
			continue;
		v = v * v * v;
		if (log(sim_uniform(sim)) < 0.5 * x * x + d - d * v + d * log(v))
			return d * v;
	}
}

static inline uint64_t sim_binomial(struct sim *sim, uint64_t trials, double chance)
{
	uint64_t hits = 0;

	/* Gaps between hits are geometric. */
	if (chance <= 0)
		return 0;
	if (chance >= 1)
		return trials;
	for (double at = 0;;) {
		at += floor(log(sim_uniform(sim)) / log1p(-chance)) + 1;
		if (at > (double)trials)
			return hits;
		hits++;
	}
}

/* Exact: a large mean is cut in two at a gamma-distributed event time (Ahrens and Dieter). */
static inline uint64_t sim_poisson(struct sim *sim, double mean)
{
	uint64_t count = 0;

	while (mean > 16) {
		uint64_t events = (uint64_t)(mean * 7 / 8);
		double time = sim_gamma(sim, (double)events);

		if (time > mean)
			return count + sim_binomial(sim, events - 1, mean / time);
		count += events;
		mean -= time;
	}

	double limit = exp(-mean);

	for (double product = sim_uniform(sim); product > limit; product *= sim_uniform(sim))
		count++;
	return count;
}

static inline uint32_t sim_caller(uint32_t method)
{
	return method ? (method - 1) / SIM_CALLEES : DIFF_NONE;
}

static inline void sim_make_items(struct sim *sim)
{
	for (uint32_t m = 0; m < SIM_METHODS; m++) {
		uint32_t caller = sim_caller(m);

		sim->items[m] = (struct diff_item){ DIFF_KIND_METHOD_SELF,
						    SIM_CLASS_SELF + m / SIM_CLASS, SIM_TOTAL + m,
						    DIFF_NONE };
		sim->items[SIM_TOTAL + m] = (struct diff_item){ DIFF_KIND_METHOD_TOTAL,
								SIM_CLASS_TOTAL + m / SIM_CLASS,
								DIFF_NONE, DIFF_NONE };
		sim->items[SIM_PATH + m] =
			(struct diff_item){ DIFF_KIND_PATH, DIFF_NONE, SIM_TOTAL + m,
					    caller == DIFF_NONE ? DIFF_NONE : SIM_PATH + caller };
	}
	for (uint32_t c = 0; c < SIM_CLASSES; c++) {
		uint32_t package = c * SIM_CLASS / SIM_PACKAGE;

		sim->items[SIM_CLASS_SELF + c] = (struct diff_item){ DIFF_KIND_CLASS_SELF,
								     SIM_PACKAGE_SELF + package,
								     DIFF_NONE, DIFF_NONE };
		sim->items[SIM_CLASS_TOTAL + c] = (struct diff_item){ DIFF_KIND_CLASS_TOTAL,
								      SIM_PACKAGE_TOTAL + package,
								      DIFF_NONE, DIFF_NONE };
	}
	for (uint32_t p = 0; p < SIM_PACKAGES; p++) {
		sim->items[SIM_PACKAGE_SELF + p] = (struct diff_item){ DIFF_KIND_PACKAGE_SELF,
								       DIFF_NONE, DIFF_NONE,
								       DIFF_NONE };
		sim->items[SIM_PACKAGE_TOTAL + p] = (struct diff_item){ DIFF_KIND_PACKAGE_TOTAL,
									DIFF_NONE, DIFF_NONE,
									DIFF_NONE };
	}
}

/* Shares: Zipf, dealt out so that large and small methods are mixed in the tree. */
static inline void sim_init(struct sim *sim, const struct sim_config *config)
{
	uint64_t seed = config->seed;
	double sum = 0;

	*sim = (struct sim){ .config = *config, .load = 1 };
	for (int i = 0; i < 4; i++) {
		/* splitmix64 */
		uint64_t z = seed += 0x9e3779b97f4a7c15u;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		sim->state[i] = z ^ (z >> 31);
	}
	for (uint32_t m = 0; m < SIM_METHODS; m++) {
		uint32_t rank = m * 7 % SIM_METHODS; /* 7 and 300 have no common divisor */

		sim->share[m] = 1 / pow(rank + 1.0, 0.9);
		sum += sim->share[m];
	}
	for (uint32_t m = 0; m < SIM_METHODS; m++) {
		sim->share[m] /= sum;
		sim->counted_as[m] = m;
		sim->noise[m] = sim_normal(sim);
		sim->drift_scale[m] =
			config->day_drift * exp(config->drift_spread * sim_normal(sim));
	}
	sim_make_items(sim);
}

/* The method whose share is nearest to `share`. */
static inline uint32_t sim_method_of_share(const struct sim *sim, double share)
{
	uint32_t best = 0;

	for (uint32_t m = 1; m < SIM_METHODS; m++)
		if (fabs(log(sim->share[m] / share)) < fabs(log(sim->share[best] / share)))
			best = m;
	return best;
}

/* Counts `count` samples whose leaf is `method` for everything that contains them. */
static inline int sim_count(struct diff_side *side, uint32_t method, uint64_t count)
{
	uint64_t classes = 0;
	uint64_t packages = 0;
	int err = diff_side__add(side, method, count);

	err |= diff_side__add(side, SIM_CLASS_SELF + method / SIM_CLASS, count);
	err |= diff_side__add(side, SIM_PACKAGE_SELF + method / SIM_PACKAGE, count);
	for (uint32_t m = method; m != DIFF_NONE; m = sim_caller(m)) {
		err |= diff_side__add(side, SIM_TOTAL + m, count);
		err |= diff_side__add(side, SIM_PATH + m, count);
		if (!(classes >> m / SIM_CLASS & 1))
			err |= diff_side__add(side, SIM_CLASS_TOTAL + m / SIM_CLASS, count);
		if (!(packages >> m / SIM_PACKAGE & 1))
			err |= diff_side__add(side, SIM_PACKAGE_TOTAL + m / SIM_PACKAGE, count);
		classes |= 1ull << m / SIM_CLASS;
		packages |= 1ull << m / SIM_PACKAGE;
	}
	return err;
}

/* Mean rates of one block relative to the shares; moves the noise on by its minutes. */
static inline void sim_block_rates(struct sim *sim, const double *drift, int minutes, double *rates)
{
	double sd = sim->config.window_noise;
	double memory = sim->config.window_memory;
	double fresh = sqrt(1 - memory * memory);

	for (uint32_t m = 0; m < SIM_METHODS; m++) {
		double sum = sd > 0 ? 0 : minutes;

		for (int i = 0; sd > 0 && i < minutes; i++) {
			sim->noise[m] = memory * sim->noise[m] + fresh * sim_normal(sim);
			sum += exp(sd * sim->noise[m] - 0.5 * sd * sd);
		}
		rates[m] = drift[m] * sim->share[m] * sum / minutes;
	}
	for (uint32_t p = 0; sim->config.shared_noise > 0 && p < SIM_PACKAGES; p++) {
		sim->shared[p] = 0.5 * sim->shared[p] + sqrt(0.75) * sim_normal(sim);
		for (uint32_t m = p * SIM_PACKAGE; m < (p + 1) * SIM_PACKAGE; m++)
			rates[m] *= exp(sim->config.shared_noise * sim->shared[p]);
	}
}

static inline uint64_t sim_draw(struct sim *sim, double mean, uint32_t method, uint32_t block,
				const struct sim_effect *effects, size_t effect_cnt)
{
	uint64_t count = sim_poisson(sim, mean);

	for (size_t e = 0; e < effect_cnt; e++) {
		const struct sim_effect *at = &effects[e];

		if (at->method != method || block < at->first_block || block >= at->last_block)
			continue;
		if (at->factor >= 1)
			count += sim_binomial(sim, count, at->factor - 1);
		else
			count = sim_binomial(sim, count, at->factor);
	}
	return count;
}

/* One block of `minutes`, which begins `second` seconds after midnight. 0 or an error. */
static inline int sim_add_block(struct sim *sim, struct diff_side *side, uint64_t midnight_s,
				uint32_t second, int minutes, const double *drift,
				const struct sim_effect *effects, size_t effect_cnt)
{
	uint32_t number = second / SIM_BLOCK_S; /* of the quarter of an hour */
	uint64_t length_s = 60ull * (unsigned int)minutes;
	double swing = 1 + 0.5 * sin(2 * M_PI * number / SIM_BLOCKS);
	double samples =
		sim->load * swing * sim->config.cores * sim->config.frequency_hz * (double)length_s;
	struct diff_block block = {
		.start_unix_ns = (midnight_s + second) * 1000000000ull,
		.length_ns = length_s * 1000000000ull,
		.time_of_day_s = second,
		.frequency_hz = sim->config.frequency_hz,
	};
	double rates[SIM_METHODS];
	int err = 0;

	sim_block_rates(sim, drift, minutes, rates);
	for (uint32_t m = 0; m < SIM_METHODS; m++) {
		uint64_t count = sim_draw(sim, samples * rates[m], m, number, effects, effect_cnt);

		block.samples += count;
		err |= sim_count(side, sim->counted_as[m], count);
	}
	block.frames = block.samples * 10;
	return err ? err : diff_side__close_block(side, &block);
}

/* What a side drifts from the others, each method by itself and packages as one. */
static inline void sim_drift(struct sim *sim, double *drift)
{
	for (uint32_t m = 0; m < SIM_METHODS; m++)
		drift[m] = exp(sim->drift_scale[m] * sim_normal(sim));
	for (uint32_t p = 0; sim->config.shared_drift > 0 && p < SIM_PACKAGES; p++) {
		double factor = exp(sim->config.shared_drift * sim_normal(sim));

		for (uint32_t m = p * SIM_PACKAGE; m < (p + 1) * SIM_PACKAGE; m++)
			drift[m] *= factor;
	}
}

#define SIM_SHORT_MINUTES 15
#define SIM_SHORT_FIRST	  48u /* the quarter of an hour of a side that begins at noon */

/* A side of a quarter of an hour in blocks of a minute. NULL on failure. */
static inline struct diff_side *sim_short(struct sim *sim, uint32_t second,
					  const struct sim_effect *effects, size_t effect_cnt)
{
	struct diff_side *side = diff_side__new(1);
	double drift[SIM_METHODS];
	uint64_t midnight_s = 1800000000ull / 86400 * 86400;
	int err = side ? 0 : -1;

	sim_drift(sim, drift);
	for (uint32_t i = 0; !err && i < SIM_SHORT_MINUTES; i++)
		err = sim_add_block(sim, side, midnight_s, second + 60 * i, 1, drift, effects,
				    effect_cnt);
	if (!err)
		return side;
	diff_side__free(side);
	return NULL;
}

/* Adds one more day to `side`. 0 or an error. */
static inline int sim_add_day(struct sim *sim, struct diff_side *side,
			      const struct sim_effect *effects, size_t effect_cnt)
{
	double drift[SIM_METHODS];
	uint64_t midnight_s = 1800000000ull / 86400 * 86400 + sim->day++ * 86400ull;
	int err = 0;

	sim_drift(sim, drift);
	for (uint32_t b = 0; !err && b < SIM_BLOCKS; b++)
		err = sim_add_block(sim, side, midnight_s, b * SIM_BLOCK_S, SIM_MINUTES, drift,
				    effects, effect_cnt);
	return err;
}

/* A row of days, and what the last of them say about drift. */
#define SIM_HISTORY 8

struct sim_series {
	struct sim *sim;
	struct diff_side *last; /* NULL at first */
	struct diff_history_set sets[SIM_HISTORY];
	size_t set_cnt;
};

static inline void sim_series_release(struct sim_series *series)
{
	diff_side__free(series->last);
	for (size_t i = 0; i < series->set_cnt; i++)
		free((void *)series->sets[i].rows);
	*series = (struct sim_series){ 0 };
}

/* Takes the day into the history and keeps it as the last; owns it from here on. */
static inline int sim_series_take(struct sim_series *series, struct diff_side *day)
{
	struct diff_history_row *rows = NULL;
	size_t cnt = 0;
	int err = diff_history_measure_day(series->last, day, SIM_ITEMS, 0.001, &rows, &cnt);

	if (err)
		return err;
	if (series->set_cnt == SIM_HISTORY) {
		free((void *)series->sets[0].rows);
		memmove(&series->sets[0], &series->sets[1],
			(SIM_HISTORY - 1) * sizeof(series->sets[0]));
		series->set_cnt--;
	}
	series->sets[series->set_cnt++] = (struct diff_history_set){ .rows = rows, .row_cnt = cnt };
	diff_side__free(series->last);
	series->last = day;
	return 0;
}

static inline struct diff_side *sim_day(struct sim *sim, const struct sim_effect *effects,
					size_t effect_cnt)
{
	struct diff_side *side = diff_side__new(1);

	if (!side || sim_add_day(sim, side, effects, effect_cnt)) {
		diff_side__free(side);
		return NULL;
	}
	return side;
}

/* Quiet days until the history is full. */
static inline int sim_series_start(struct sim_series *series, struct sim *sim)
{
	*series = (struct sim_series){ .sim = sim };
	for (int i = 0; i < SIM_HISTORY; i++) {
		struct diff_side *day = sim_day(sim, NULL, 0);
		int err = day ? sim_series_take(series, day) : -1;

		if (err)
			return err;
	}
	return 0;
}

/* Compares two days with the history, or without. NULL on failure. */
static inline struct diff_result *sim_compare(const struct sim *sim, const struct diff_side *a,
					      const struct diff_side *b,
					      const struct sim_series *series,
					      const struct diff_options *options)
{
	struct diff_history history = { .kind = DIFF_HISTORY_DAYS };
	struct diff_input input = { .items = sim->items, .item_cnt = SIM_ITEMS, .a = a, .b = b };
	struct diff_result *result = NULL;

	if (series) {
		history.sets = series->sets;
		history.set_cnt = series->set_cnt;
		input.history = &history;
	}
	return diff_run(&input, options, &result) ? NULL : result;
}

#endif
