// SPDX-License-Identifier: Apache-2.0
/*
 * What the alarms of the daily job are worth: simulated services, day after day through the same code
 * as in life from stacks on (catalog, series, history, comparison, change points). How often is there
 * an alarm when nothing changed, and how soon when something did? Minutes of CPU: make check-diff.
 *
 * Usage: check_days [SERVICES]      default 40; five days of each are judged
 * Last line: "N passed, N failed"
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/daily_sim.h"
#include "user/util/cleanup.h"
#include "user/util/parse.h"

#define SERVICES_DEFAULT 40u
#define SERVICES_MIN	 4u
#define QUIET_DAYS	 15 /* before the first one that is judged: the series speaks after 14 */
#define JUDGED_DAYS	 5
#define CREEP_DAYS	 30
#define CREEP_FIRST	 15
#define CREEP_LAST	 24

static unsigned int passed;
static unsigned int failed;

static const struct {
	const char *name;
	struct sim_config config;
} models[] = {
	{ "counting only", { .cores = 1, .frequency_hz = 49 } },
	{ "minutes 15 %, days 2 %, unequal",
	  { .cores = 1,
	    .frequency_hz = 49,
	    .window_noise = 0.15,
	    .window_memory = 0.8,
	    .day_drift = 0.02,
	    .drift_spread = 0.5 } },
	{ "packages move as one: 5 %, 3 %",
	  { .cores = 1,
	    .frequency_hz = 49,
	    .window_noise = 0.10,
	    .window_memory = 0.8,
	    .day_drift = 0.01,
	    .shared_noise = 0.05,
	    .shared_drift = 0.03 } },
};

static void check(bool is_right, const char *what)
{
	passed += is_right;
	failed += !is_right;
	if (!is_right)
		printf("FAILED %s\n", what);
}

static void die(const char *what)
{
	fprintf(stderr, "check_days: %s failed\n", what);
	exit(1);
}

/* The largest count that 5 % may show in `trials`: 17 of 200. */
static double at_most_5_percent(double trials)
{
	return floor(0.05 * trials + 2.33 * sqrt(0.05 * 0.95 * trials));
}

static struct days_sim *service_new(int model, uint64_t seed)
{
	struct days_sim *days = calloc(1, sizeof(*days));
	struct sim_config config = models[model].config;

	config.seed = seed;
	if (!days || days_sim_init(days, &config))
		die("memory");
	return days;
}

static void service_free(struct days_sim *days)
{
	days_sim_release(days);
	free(days);
}

static void next(struct days_sim *days, const struct sim_effect *effect)
{
	if (days_sim_next(days, effect, effect ? 1 : 0))
		die("simulation");
}

/* Alarms against the day before, and of the series. */
struct alarms {
	bool has_regression;
	bool has_change;
	bool names_method;
	const struct daily_alarm *change; /* of the method that was asked for */
};

static struct alarms judge(struct days_sim *days, const char *method, struct daily_outcome *outcome)
{
	struct alarms alarms = { .change = NULL };

	if (days_sim_judge(days, outcome))
		die("comparison");
	for (size_t i = 0; i < outcome->alarm_cnt; i++) {
		const struct daily_alarm *at = &outcome->alarms[i];
		bool is_it = strcmp(at->method, method) == 0;

		if (at->kind == DAILY_ALARM_REGRESSION) {
			alarms.has_regression = true;
			alarms.names_method = alarms.names_method || is_it;
		} else {
			alarms.has_change = true;
			alarms.change = is_it && at->is_self ? at : alarms.change;
		}
	}
	return alarms;
}

/* Five days of each service, and one more on which a method of 12 % grew by a third. */
static void check_model(int model, unsigned int services)
{
	unsigned int days = 0, regressions = 0, changes = 0, either = 0, found = 0;

	for (unsigned int s = 0; s < services; s++) {
		struct days_sim *service = service_new(model, 100 + s + 1000 * (uint64_t)model);
		uint32_t method = sim_method_of_share(&service->sim, 0.1);
		const struct sim_effect effect = { method, 1.33, 0, SIM_BLOCKS };
		struct daily_outcome outcome;
		struct alarms alarms;
		char name[64];

		days_sim_name(method, name, sizeof(name));
		for (int i = 0; i < QUIET_DAYS; i++)
			next(service, NULL);
		for (int i = 0; i < JUDGED_DAYS; i++) {
			next(service, NULL);
			alarms = judge(service, name, &outcome);
			days++;
			regressions += alarms.has_regression;
			changes += alarms.has_change;
			either += alarms.has_regression || alarms.has_change;
			daily_outcome_release(&outcome);
		}
		next(service, &effect);
		found += judge(service, name, &outcome).names_method;
		daily_outcome_release(&outcome);
		service_free(service);
	}
	printf("%-34s %4u of %u  (%u, %u)      %u of %u\n", models[model].name, either, days,
	       regressions, changes, found, services);
	fflush(stdout);
	check(either <= at_most_5_percent(days), "alarms on more than 5 % of quiet days");
	check(found >= 0.8 * services, "a third more of a large method found on too few days");
}

/* 1 % a day over 10 of 30 days; no two days in a row differ by what a comparison could see. */
static void check_creep(unsigned int services)
{
	const int model = 0;
	unsigned int dated = 0, spoke = 0, twice = 0;
	double off = 0;

	for (unsigned int s = 0; s < services; s++) {
		struct days_sim *service = service_new(model, 9000 + s);
		uint32_t method = sim_method_of_share(&service->sim, 0.1);
		unsigned int alarm_days = 0;
		char name[64];

		days_sim_name(method, name, sizeof(name));
		for (int d = 0; d < CREEP_DAYS; d++) {
			double part = d < CREEP_FIRST ? 0 :
				      d > CREEP_LAST  ? CREEP_LAST - CREEP_FIRST + 1 :
							d - CREEP_FIRST + 1;
			const struct sim_effect effect = { method, pow(1.01, part), 0, SIM_BLOCKS };
			struct daily_outcome outcome;
			struct alarms alarms;

			next(service, &effect);
			if (d < QUIET_DAYS)
				continue;
			alarms = judge(service, name, &outcome);
			if (alarms.change) {
				double from = (double)alarms.change->first_day - DAYS_SIM_FIRST;

				alarm_days++;
				off += fabs(from - CREEP_FIRST);
				dated += alarm_days == 1 && fabs(from - CREEP_FIRST) <= 2;
			}
			daily_outcome_release(&outcome);
		}
		spoke += alarm_days > 0;
		twice += alarm_days > 1;
		service_free(service);
	}
	printf("\nCreep of 1 %% a day over 10 of 30 days: an alarm for %u of %u services, more than one "
	       "for %u, dated within 2 days for %u, off by %.1f days on average\n",
	       spoke, services, twice, dated, spoke ? off / spoke : 0);
	check(spoke >= 0.9 * services, "creep was seen for too few services");
	check(dated >= 0.8 * services, "creep was dated wrongly for too many services");
}

int main(int argc, char **argv)
{
	unsigned int services = SERVICES_DEFAULT;

	if (argc > 2 || (argc == 2 && parse_u32_range(argv[1], SERVICES_MIN, 100000, &services))) {
		fprintf(stderr, "Usage: check_days [SERVICES]     at least %u\n", SERVICES_MIN);
		return 2;
	}
	printf("The daily job, %u services with %u methods\n", services, SIM_METHODS);
	printf("%-34s quiet days with an alarm     days with +33 %% of a\n", "");
	printf("%-34s (against yesterday, series)  method of 12 %% found\n", "noise");
	for (size_t m = 0; m < ARRAY_SIZE(models); m++)
		check_model((int)m, services);
	check_creep(services / 2);
	printf("%u passed, %u failed\n", passed, failed);
	return failed ? 1 : 0;
}
