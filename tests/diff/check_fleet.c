// SPDX-License-Identifier: Apache-2.0
/*
 * One host against the others of its fleet, in a quarter of an hour: how often a method that needs a tenth more
 * there is found, and how often the diff speaks when nothing changed. Part of make check-diff.
 *
 * Usage: check_fleet [RUNS]      simulated fleets for each figure, default 100
 * Last line: "N passed, N failed"
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/diff_fleet.h"
#include "user/util/parse.h"

#define RUNS_DEFAULT 100u

static const struct {
	const char *name;
	struct sim_config config;
	bool is_found; /* the tenth has to be, nearly always */
} models[] = {
	{ "no noise", { .cores = 1, .frequency_hz = 99 }, true },
	{ "minutes 5 %", { .cores = 1, .frequency_hz = 99, .window_noise = 0.05 }, false },
	{ "hosts differ 1 %, 4 cores",
	  { .cores = 4, .frequency_hz = 99, .day_drift = 0.01 },
	  true },
	{ "hosts differ 3 %, unlike, 4 cores",
	  { .cores = 4, .frequency_hz = 99, .day_drift = 0.03, .drift_spread = 0.5 },
	  false },
	{ "hosts differ 5 %, very unlike, 4 c.",
	  { .cores = 4, .frequency_hz = 99, .day_drift = 0.05, .drift_spread = 1 },
	  false },
	{ "minutes 15 %, memory, hosts 2 %",
	  { .cores = 1,
	    .frequency_hz = 99,
	    .window_noise = 0.15,
	    .window_memory = 0.8,
	    .day_drift = 0.02 },
	  false },
};

struct tally {
	unsigned int quiet_alarms, quiet_verdicts, quiet_outliers;
	unsigned int found, alarms, outliers, others;
	double detectable; /* sum */
};

static void run_fleet(struct sim *sim, const struct sim_effect *effect, struct tally *tally)
{
	struct fleet fleet;
	struct diff_result *result;

	fleet_make(sim, &fleet, NULL);
	result = fleet_canary(sim, &fleet);
	tally->quiet_alarms += result->summary.alarm_cnt > 0;
	tally->quiet_verdicts += fleet_verdicts(result) > 0;
	diff_result__free(result);
	tally->quiet_outliers += fleet_outliers(sim, &fleet, NULL, NULL) > 0;
	fleet_release(&fleet);

	unsigned int hit = 0;

	fleet_make(sim, &fleet, effect);
	result = fleet_canary(sim, &fleet);
	tally->found += result->rows[effect->method].verdict == DIFF_VERDICT_UP;
	tally->alarms += result->rows[effect->method].is_alarm;
	tally->detectable += result->rows[effect->method].detectable;
	diff_result__free(result);
	tally->others += fleet_outliers(sim, &fleet, effect, &hit) > 0;
	tally->outliers += hit;
	fleet_release(&fleet);
}

int main(int argc, char **argv)
{
	uint64_t runs = RUNS_DEFAULT;
	unsigned int passed = 0, failed = 0;

	if (argc > 2 || (argc == 2 && (parse_u64(argv[1], &runs) || !runs || runs > 10000))) {
		fprintf(stderr, "usage: check_fleet [RUNS]\n");
		return 2;
	}
	printf("\n%u hosts for a quarter of an hour, %u fleets; planted on one: +10 %% of a tenth\n",
	       FLEET_HOSTS, (unsigned int)runs);
	printf("%-36s quiet: alarm  verdict  outlier   could see   found   alarm  outlier  "
	       "another\n",
	       "noise");
	for (size_t m = 0; m < sizeof(models) / sizeof(models[0]); m++) {
		struct sim *sim = calloc(1, sizeof(*sim));
		struct sim_config config = models[m].config;
		struct tally tally = { 0 };
		struct sim_effect effect;
		double n = (double)runs;

		if (!sim)
			return 1;
		config.seed = 9000 + m;
		sim_init(sim, &config);
		effect = (struct sim_effect){ sim_method_of_share(sim, 0.10), 1.1, 0, SIM_BLOCKS };
		for (uint64_t i = 0; i < runs; i++)
			run_fleet(sim, &effect, &tally);
		printf("%-36s %12u  %7u  %7u   %7.1f %%  %5.0f %%  %5.0f %%  %5.0f %%  %7u\n",
		       models[m].name, tally.quiet_alarms, tally.quiet_verdicts,
		       tally.quiet_outliers, 100 * tally.detectable / n, 100 * tally.found / n,
		       100 * tally.alarms / n, 100 * tally.outliers / n, tally.others);
		fflush(stdout);

		bool is_right = tally.quiet_alarms <= 0.05 * n + 2 &&
				tally.quiet_outliers <= 0.05 * n + 2 &&
				(!models[m].is_found || tally.alarms >= 0.9 * n);

		passed += is_right;
		failed += !is_right;
		free(sim);
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed ? 1 : 0;
}
