/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated fleet: hosts that run one program for a quarter of an hour, each with its own drift. */
#ifndef JBPF_TESTS_DIFF_FLEET_H
#define JBPF_TESTS_DIFF_FLEET_H

#include "tests/unit/diff_sim.h"
#include "user/compare/compare_hosts.h"

#define FLEET_HOSTS  40u
#define FLEET_CANARY (FLEET_HOSTS - 1) /* the host with the change */

struct fleet {
	struct compare_hosts all;
};

static inline void fleet_must(int err)
{
	if (err)
		abort();
}

static inline void fleet_make(struct sim *sim, struct fleet *out, const struct sim_effect *effect)
{
	*out = (struct fleet){ .all.cnt = FLEET_HOSTS };
	out->all.items = calloc(FLEET_HOSTS, sizeof(*out->all.items));
	fleet_must(!out->all.items);
	for (uint32_t i = 0; i < FLEET_HOSTS; i++) {
		struct diff_side *side = sim_short(sim, SIM_SHORT_FIRST * SIM_BLOCK_S, effect,
						   effect && i == FLEET_CANARY);

		fleet_must(!side);
		out->all.items[i].loaded.side = side;
	}
}

static inline void fleet_release(struct fleet *fleet)
{
	compare_hosts_release(&fleet->all);
}

/* The host with the change against a group of all others, as two groups of hosts are compared. */
static inline struct diff_result *fleet_canary(const struct sim *sim, const struct fleet *fleet)
{
	const struct diff_options options = diff_options_default();
	struct compare_hosts rest = { .cnt = FLEET_HOSTS - 1, .items = NULL };
	struct diff_result *result = NULL;

	rest.items = calloc(rest.cnt, sizeof(*rest.items));
	fleet_must(!rest.items);
	for (size_t i = 0; i < rest.cnt; i++)
		rest.items[i].loaded.side = fleet->all.items[i].loaded.side;
	fleet_must(compare_hosts_measure(SIM_ITEMS, options.blocks_min, &rest));

	struct diff_history history = compare_hosts_history(&rest, SIZE_MAX);
	struct diff_input input = { .items = sim->items,
				    .item_cnt = SIM_ITEMS,
				    .a = rest.sum,
				    .b = fleet->all.items[FLEET_CANARY].loaded.side,
				    .history = &history };

	fleet_must(diff_run(&input, &options, &result));
	for (size_t i = 0; i < rest.cnt; i++)
		rest.items[i].loaded.side = NULL;
	compare_hosts_release(&rest);
	return result;
}

/* How many methods have a verdict. */
static inline unsigned int fleet_verdicts(const struct diff_result *result)
{
	unsigned int cnt = 0;

	for (uint32_t m = 0; m < SIM_METHODS; m++)
		cnt += result->rows[m].verdict >= DIFF_VERDICT_UP;
	return cnt;
}

/*
 * Sets each host against the others: how many have a method of its own verdict, but for the one that was
 * planted; *hit: that one.
 */
static inline unsigned int fleet_outliers(const struct sim *sim, struct fleet *fleet,
					  const struct sim_effect *effect, unsigned int *hit)
{
	struct diff_options options = diff_options_default();
	unsigned int cnt = 0;

	compare_hosts_share_errors(&fleet->all, &options);
	fleet_must(compare_hosts_measure(SIM_ITEMS, options.blocks_min, &fleet->all));
	for (size_t i = 0; i < fleet->all.cnt; i++) {
		struct diff_result *result = NULL;
		bool is_planted = effect && i == FLEET_CANARY;
		bool has_other = false;

		fleet_must(compare_hosts_compare(&fleet->all, i, sim->items, SIM_ITEMS, &options,
						 &result));
		for (uint32_t m = 0; m < SIM_METHODS; m++) {
			bool is_found = result->rows[m].verdict >= DIFF_VERDICT_UP;

			if (is_planted && m == effect->method)
				*hit += is_found;
			else
				has_other |= is_found;
		}
		cnt += has_other;
		diff_result__free(result);
	}
	return cnt;
}

#endif
