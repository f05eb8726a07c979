// SPDX-License-Identifier: Apache-2.0
/* The states of a life: every transition, what it does, and what each state says about samples. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "symbols/jit/jit_state.h"
#include "user/util/cleanup.h"

#define S	       (1000ull * 1000 * 1000)
#define UNREAD	       JIT_STATE_UNREAD
#define PROMPT	       JIT_STATE_PROMPT
#define LATE	       JIT_STATE_LATE
#define DOUBTFUL       JIT_STATE_DOUBTFUL
#define DISPROVED      JIT_STATE_DISPROVED
#define PROMPT_GONE    JIT_STATE_PROMPT_GONE
#define LATE_GONE      JIT_STATE_LATE_GONE
#define DOUBTFUL_GONE  JIT_STATE_DOUBTFUL_GONE
#define DISPROVED_GONE JIT_STATE_DISPROVED_GONE
#define GONE_STATES    4
#define NEVER	       UNREAD

/* By event; the states in the order of the enum. */
static const enum jit_state after[JIT_EVENT_CNT][JIT_STATE_CNT - GONE_STATES] = {
	/*			    UNREAD  PROMPT	 LATE	    DOUBTFUL	   DISPROVED */
	[JIT_EVENT_READ_PROMPT] = { PROMPT, NEVER, NEVER, NEVER, NEVER },
	[JIT_EVENT_READ_LATE] = { LATE, NEVER, NEVER, NEVER, NEVER },
	[JIT_EVENT_SEEN] = { NEVER, PROMPT, LATE, DOUBTFUL, DISPROVED },
	[JIT_EVENT_UNWATCHED] = { NEVER, LATE, NEVER, NEVER, NEVER },
	[JIT_EVENT_MISTAKEN] = { NEVER, DOUBTFUL, DOUBTFUL, DOUBTFUL, NEVER },
	[JIT_EVENT_UNLOADED] = { NEVER, DISPROVED, DISPROVED, NEVER, NEVER },
	[JIT_EVENT_LOST] = { NEVER, PROMPT_GONE, LATE_GONE, DOUBTFUL_GONE, DISPROVED_GONE },
};

static struct jit_life life_in(enum jit_state state)
{
	return (struct jit_life){
		.born_after_ns = 1,
		.first_seen_ns = 10 * S,
		.alive_ns = 9 * S,
		.sure_from_ns = 2,
		.proved_from_ns = UINT64_MAX,
		.gone_ns = state >= PROMPT_GONE ? 12 * S : 0,
		.state = state,
	};
}

static void each_event_leads_where_the_table_says(void **state)
{
	(void)state;
	for (int event = 0; event < JIT_EVENT_CNT; event++)
		for (int from = 0; from < JIT_STATE_CNT; from++) {
			enum jit_state wanted =
				from < JIT_STATE_CNT - GONE_STATES ? after[event][from] : NEVER;

			assert_int_equal(jit_state_after((enum jit_state)from,
							 (enum jit_event)event),
					 wanted);
		}
}

static void an_event_that_cannot_happen_changes_nothing(void **state)
{
	(void)state;
	for (int event = 0; event < JIT_EVENT_CNT; event++)
		for (int from = 0; from < JIT_STATE_CNT; from++) {
			struct jit_life life = life_in((enum jit_state)from), before;
			enum jit_state next =
				jit_state_after((enum jit_state)from, (enum jit_event)event);

			memcpy(&before, &life, sizeof(life));
			assert_int_equal(jit_life_event(&life, (enum jit_event)event, 11 * S),
					 next != NEVER);
			if (next == NEVER)
				assert_memory_equal(&life, &before, sizeof(life));
			else
				assert_int_equal(life.state, next);
		}
}

static void nothing_happens_to_what_is_gone(void **state)
{
	(void)state;
	for (int event = 0; event < JIT_EVENT_CNT; event++)
		for (int from = PROMPT_GONE; from < JIT_STATE_CNT; from++) {
			struct jit_life life = life_in((enum jit_state)from);

			assert_false(jit_life_event(&life, (enum jit_event)event, 20 * S));
			assert_int_equal(life.gone_ns, 12 * S);
		}
}

/* The times that an event sets; all others stay. */
static void check_times(enum jit_event event, const struct jit_life *wanted)
{
	for (int from = UNREAD + 1; from < PROMPT_GONE; from++) {
		struct jit_life life = life_in((enum jit_state)from);

		if (!jit_life_event(&life, event, 11 * S))
			continue;
		assert_int_equal(life.born_after_ns, wanted->born_after_ns);
		assert_int_equal(life.first_seen_ns, wanted->first_seen_ns);
		assert_int_equal(life.alive_ns, wanted->alive_ns);
		assert_int_equal(life.gone_ns, wanted->gone_ns);
		assert_int_equal(life.sure_from_ns, wanted->sure_from_ns);
		assert_int_equal(life.proved_from_ns, wanted->proved_from_ns);
	}
}

static void each_event_sets_its_times_only(void **state)
{
	struct jit_life seen = life_in(PROMPT), unwatched = seen, mistaken = seen, unloaded = seen,
			lost = seen;

	(void)state;
	seen.alive_ns = 11 * S;
	check_times(JIT_EVENT_SEEN, &seen);
	unwatched.sure_from_ns = 10 * S;
	check_times(JIT_EVENT_UNWATCHED, &unwatched);
	mistaken.first_seen_ns = mistaken.sure_from_ns = 11 * S;
	check_times(JIT_EVENT_MISTAKEN, &mistaken);
	unloaded.proved_from_ns = unloaded.sure_from_ns = 11 * S;
	check_times(JIT_EVENT_UNLOADED, &unloaded);
	lost.gone_ns = 11 * S;
	check_times(JIT_EVENT_LOST, &lost);
}

static void a_life_begins_by_how_it_was_read(void **state)
{
	static const struct {
		enum jit_vm_mode mode;
		bool is_restless;
		enum jit_state state;
		uint64_t sure_from_ns;
	} cases[] = {
		{ JIT_VM_PREFETCH, false, PROMPT, 0 },
		{ JIT_VM_PREFETCH, true, PROMPT, 6 * S },
		{ JIT_VM_PREFETCH_LATE, false, LATE, 6 * S },
		{ JIT_VM_PREFETCH_LATE, true, LATE, 6 * S },
		{ JIT_VM_RESOLVE, false, LATE, 6 * S },
		{ JIT_VM_RESOLVE, true, LATE, 6 * S },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		/* Whatever was there before. */
		struct jit_life life = life_in(DISPROVED_GONE);

		jit_life_begin(&life, cases[i].mode, cases[i].is_restless, 5 * S, 6 * S);
		assert_int_equal(life.state, cases[i].state);
		assert_int_equal(life.was_restless, cases[i].is_restless);
		assert_int_equal(life.sure_from_ns, cases[i].sure_from_ns);
		assert_int_equal(life.alive_ns, 5 * S);
		assert_int_equal(life.first_seen_ns, 6 * S);
		assert_int_equal(life.gone_ns, 0);
		assert_int_equal(life.born_after_ns, 0);
		assert_int_equal(life.proved_from_ns, UINT64_MAX);
	}
}

static void evidence_outlives_the_end(void **state)
{
	(void)state;
	for (int from = PROMPT; from < PROMPT_GONE; from++) {
		struct jit_life life = life_in((enum jit_state)from);

		assert_false(jit_life_is_gone(&life));
		assert_int_equal(jit_life_evidence(&life), from);
		assert_true(jit_life_event(&life, JIT_EVENT_LOST, 12 * S));
		assert_true(jit_life_is_gone(&life));
		assert_int_equal(jit_life_evidence(&life), from);
	}
}

static void what_follows_is_dated_by_what_was_there(void **state)
{
	struct jit_life before = life_in(PROMPT), life = life_in(PROMPT);

	(void)state;
	assert_true(jit_life_event(&before, JIT_EVENT_LOST, 12 * S));
	jit_life_prove(&life, 1 * S);
	assert_int_equal(life.proved_from_ns, 1 * S);
	jit_life_follows(&life, &before);
	assert_int_equal(life.born_after_ns, 9 * S);
	assert_int_equal(life.sure_from_ns, 12 * S);
	/* Another one, though no class was unloaded: that number proves nothing. */
	assert_int_equal(life.proved_from_ns, UINT64_MAX);
	jit_life_sure_from(&life, 3 * S);
	assert_int_equal(life.sure_from_ns, 12 * S);
}

/* Samples of [since, until]; first read at 10 s. */
struct credible_case {
	enum jit_state state;
	bool was_restless;
	uint64_t since, until;
	bool is_credible;
};

static void each_state_vouches_for_older_samples_in_its_own_way(void **state)
{
	static const struct credible_case cases[] = {
		/* All samples are younger: any state will do. */
		{ PROMPT, false, 10 * S, 20 * S, true },
		{ LATE, false, 10 * S, 20 * S, true },
		{ DOUBTFUL, false, 10 * S, 20 * S, true },
		{ DISPROVED, false, 10 * S, 20 * S, true },
		/* They go on after the first reading. */
		{ PROMPT, false, 8 * S, 20 * S, true },
		{ LATE, false, 8 * S, 20 * S, true },
		{ DOUBTFUL, false, 8 * S, 20 * S, false },
		{ DISPROVED, false, 8 * S, 20 * S, false },
		/* They end before it, soon enough for a prompt reading only. */
		{ PROMPT, false, 5 * S, 6 * S, true },
		{ LATE, false, 5 * S, 6 * S, false },
		{ DOUBTFUL, false, 5 * S, 6 * S, false },
		{ DISPROVED, false, 5 * S, 6 * S, false },
		/* Too long before it. */
		{ PROMPT, false, 1 * S, 2 * S, false },
		/* A restless JVM: the first sample must be moments old. */
		{ PROMPT, true, 9 * S, 20 * S, false },
		{ PROMPT, true, 10 * S - S / 10, 20 * S, true },
		{ LATE, true, 9 * S, 20 * S, false },
		{ LATE, true, 10 * S - S / 10, 20 * S, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct credible_case *wanted = &cases[i];
		struct jit_life life = life_in(wanted->state);
		struct jit_span span = { wanted->since, wanted->until };

		life.born_after_ns = 0;
		life.was_restless = wanted->was_restless;
		assert_int_equal(jit_life_is_credible(&life, &span, true, 0), wanted->is_credible);
	}
}

static void what_is_gone_is_credible_in_a_calm_jvm_only(void **state)
{
	struct jit_span span = { 10 * S, 20 * S };
	struct jit_life life = life_in(PROMPT_GONE);

	(void)state;
	assert_true(jit_life_is_credible(&life, &span, false, 0));
	assert_false(jit_life_is_credible(&life, &span, false, 9 * S + 1));
	life.was_restless = true;
	assert_false(jit_life_is_credible(&life, &span, false, 0));
	/* It was seen after all samples. */
	life.alive_ns = 20 * S;
	assert_true(jit_life_is_credible(&life, &span, false, 30 * S));
}

static void a_life_is_possible_between_its_neighbours(void **state)
{
	struct jit_life life = life_in(LATE_GONE);
	struct jit_span span = { 11 * S, 13 * S }, after_it = { 12 * S, 13 * S },
			before_it = { 0, 1 };

	(void)state;
	assert_true(jit_life_is_possible(&life, &span));
	assert_false(jit_life_is_possible(&life, &after_it));
	assert_false(jit_life_is_possible(&life, &before_it));
	life = life_in(LATE);
	assert_true(jit_life_is_possible(&life, &after_it));
}

static void a_life_is_certain_from_its_first_reading_to_its_last(void **state)
{
	struct jit_life life = life_in(LATE);
	struct jit_span span = { 10 * S, 20 * S }, older = { 9 * S, 20 * S };

	(void)state;
	assert_true(jit_life_is_certain(&life, &span, true));
	assert_false(jit_life_is_certain(&life, &span, false));
	assert_false(jit_life_is_certain(&life, &older, true));
	jit_life_prove(&life, 9 * S);
	assert_true(jit_life_is_certain(&life, &older, true));
	life.alive_ns = 20 * S;
	assert_true(jit_life_is_certain(&life, &older, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_event_leads_where_the_table_says),
		cmocka_unit_test(an_event_that_cannot_happen_changes_nothing),
		cmocka_unit_test(nothing_happens_to_what_is_gone),
		cmocka_unit_test(each_event_sets_its_times_only),
		cmocka_unit_test(a_life_begins_by_how_it_was_read),
		cmocka_unit_test(evidence_outlives_the_end),
		cmocka_unit_test(what_follows_is_dated_by_what_was_there),
		cmocka_unit_test(each_state_vouches_for_older_samples_in_its_own_way),
		cmocka_unit_test(what_is_gone_is_credible_in_a_calm_jvm_only),
		cmocka_unit_test(a_life_is_possible_between_its_neighbours),
		cmocka_unit_test(a_life_is_certain_from_its_first_reading_to_its_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
