/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated program of diff_sim.h as the daily job meets it: stacks with names, a catalog per run,
 * a series that grows by a day at a time.
 */
#ifndef JBPF_TESTS_DAILY_SIM_H
#define JBPF_TESTS_DAILY_SIM_H

#include <stdio.h>

#include "tests/unit/diff_sim.h"
#include "user/daily/daily_series.h"
#include "user/daily/daily_verdict.h"

#define DAYS_SIM_FIRST 20000u
#define DAYS_SIM_STACK 1024

struct days_sim {
	struct sim sim;
	struct series *series;
	struct diff_catalog *catalog; /* of the last two days, or older */
	struct diff_side *before;
	struct diff_side *after;
	uint32_t day; /* of `after` */
};

static inline void days_sim_release(struct days_sim *days)
{
	diff_side__free(days->before);
	diff_side__free(days->after);
	diff_catalog__free(days->catalog);
	series__free(days->series);
}

static inline int days_sim_init(struct days_sim *days, const struct sim_config *config)
{
	*days = (struct days_sim){ .day = DAYS_SIM_FIRST - 1 };
	sim_init(&days->sim, config);
	days->series = series__new();
	days->catalog = diff_catalog__new();
	return days->series && days->catalog ? 0 : -1;
}

static inline size_t days_sim_name(uint32_t method, char *out, size_t len)
{
	return (size_t)snprintf(out, len, "com.p%u.C%u.m%u", method / SIM_PACKAGE,
				method / SIM_CLASS, method);
}

/* "java;caller;...;method", compiled. */
static inline size_t days_sim_stack(uint32_t method, char out[DAYS_SIM_STACK])
{
	uint32_t caller = sim_caller(method);
	size_t len = caller == DIFF_NONE ? (size_t)snprintf(out, DAYS_SIM_STACK, "java") :
					   days_sim_stack(caller, out);
	char name[64];

	days_sim_name(method, name, sizeof(name));
	return len + (size_t)snprintf(out + len, DAYS_SIM_STACK - len, ";%s_[j]", name);
}

/* The same day under the catalog's numbers. */
static inline struct diff_side *days_sim_translate(struct days_sim *days,
						   const struct diff_side *from)
{
	struct diff_side *to = diff_side__new(1);
	int err = to ? 0 : -1;

	for (size_t b = 0; !err && b < diff_side__block_count(from); b++) {
		size_t cnt = 0;
		const struct diff_count *counts = diff_side__counts(from, b, &cnt);

		for (size_t i = 0; !err && i < cnt; i++) {
			char stack[DAYS_SIM_STACK];

			if (counts[i].item >= SIM_METHODS || !counts[i].count)
				continue;
			err = diff_catalog__add(days->catalog, to, stack,
						days_sim_stack(counts[i].item, stack),
						counts[i].count);
		}
		if (!err)
			err = diff_side__close_block(to, diff_side__block(from, b));
	}
	if (err) {
		diff_side__free(to);
		return NULL;
	}
	return to;
}

/* One more day: into the series, and as the after side. */
static inline int days_sim_next(struct days_sim *days, const struct sim_effect *effects,
				size_t effect_cnt)
{
	struct diff_side *raw = sim_day(&days->sim, effects, effect_cnt);
	struct diff_side *side = raw ? days_sim_translate(days, raw) : NULL;
	struct daily_date date = { .number = ++days->day,
				   .since_unix_ns = days->day * 86400000000000ull,
				   .until_unix_ns = (days->day + 1) * 86400000000000ull };
	struct daily_measure measure = {
		.date = &date, .before = days->after, .side = side, .catalog = days->catalog
	};

	diff_side__free(raw);
	if (!side)
		return -1;
	diff_side__free(days->before);
	days->before = days->after;
	days->after = side;
	return daily_series_put(days->series, &measure);
}

/* What the job says about the last day, and keeps of it. */
static inline int days_sim_judge(struct days_sim *days, struct daily_outcome *out)
{
	const struct diff_options statistics = diff_options_default();
	const struct daily_verdict verdict = {
		.statistics = &statistics,
		.series = days->series,
		.catalog = days->catalog,
		.before = days->before,
		.after = days->after,
		.before_day = days->day - 1,
		.last_day = days->day,
	};
	struct diff_result *result = NULL;
	int err;

	*out = (struct daily_outcome){ 0 };
	err = daily_verdict_find(&verdict, out, &result);
	diff_result__free(result);
	return err ? err : daily_series_set_judged(days->series, days->day, out->told_p_max);
}

#endif
