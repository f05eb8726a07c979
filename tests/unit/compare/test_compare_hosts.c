// SPDX-License-Identifier: Apache-2.0
/*
 * Hosts of one service set against each other: each gets its own side, what they differ by is no change, and
 * what one of them has alone is. The long form is tests/diff/check_fleet.c; seeds are fixed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/diff_fleet.h"

#define SECOND	   1000000000ull
#define START_S	   1700000400ull
#define MINUTES	   15
#define LINE	   "java;a.B.run_[j];a.B.work_[j] 7\n"
#define FLEETS	   3
#define BLOCKS_MIN 8
#define REPLICAS   3 /* of each side */
#define ROLL_OUTS  5

/* ---- reading ---- */

static int visit_hosts(void *ctx, uint64_t since_unix_ns, uint64_t until_unix_ns,
		       const struct store_visitor *visitor)
{
	(void)ctx;
	(void)since_unix_ns;
	(void)until_unix_ns;
	for (uint64_t i = 0; i < MINUTES * 3; i++) {
		char name[16];
		struct window window = { .pid = 40,
					 .start_unix_ns = (START_S + 60 * (i / 3)) * SECOND,
					 .duration_ns = 10 * SECOND,
					 .frequency_hz = 99,
					 .counts.samples = 7 };

		(void)snprintf(name, sizeof(name), "web-%u", (unsigned int)(i % 3));
		window.labels[WINDOW_LABEL_HOST] = name;
		if (visitor->want(visitor->ctx, &window))
			assert_int_equal(visitor->window(visitor->ctx, &window, LINE, strlen(LINE)),
					 0);
	}
	return 0;
}

static void give_minutes(const struct store_visitor *visitor, struct window *window)
{
	window->duration_ns = 10 * SECOND;
	window->frequency_hz = 99;
	window->counts.samples = 7;
	for (uint64_t i = 0; i < MINUTES; i++) {
		window->start_unix_ns = (START_S + 60 * i) * SECOND;
		if (visitor->want(visitor->ctx, window))
			assert_int_equal(visitor->window(visitor->ctx, window, LINE, strlen(LINE)),
					 0);
	}
}

static int visit_replicas(void *ctx, uint64_t since_unix_ns, uint64_t until_unix_ns,
			  const struct store_visitor *visitor)
{
	(void)ctx;
	(void)since_unix_ns;
	(void)until_unix_ns;
	for (uint32_t pid = 1; pid <= COMPARE_REPLICAS_MAX + 6; pid++) {
		struct window other = { .pid = pid, .labels = { [WINDOW_LABEL_IMAGE] = "other" } };

		give_minutes(visitor, &other);
	}
	for (uint32_t i = 0; i < REPLICAS; i++) {
		const char container[] = { (char)('a' + i), '\0' };
		struct window replica = { .pid = 1000 + i,
					  .labels = { [WINDOW_LABEL_CONTAINER_ID] = container,
						      [WINDOW_LABEL_IMAGE] = "shop:1" } };

		give_minutes(visitor, &replica);
	}
	return 0;
}

static void free_nothing(void *ctx)
{
	(void)ctx;
}

static void each_host_has_a_side_of_its_own(void **state)
{
	static const struct store_source_ops ops = { .visit = visit_hosts, .free = free_nothing };
	const struct selection selection = { 0 };
	static const char *const two[SELECT_BY_CNT] = { [SELECT_BY_HOST] = "web-[12]" };
	const struct compare_load what = {
		.selection = &selection,
		.event = EVENT_CPU,
		.labels = two,
		.since_unix_ns = START_S * SECOND,
		.until_unix_ns = (START_S + 60 * MINUTES) * SECOND,
		.block_ns = 60 * SECOND,
	};
	struct diff_catalog *catalog = diff_catalog__new();
	struct cmd_store_damage damage = { 0 };
	struct store_source *source;
	struct compare_hosts hosts;
	size_t with_blocks = 0;
	uint32_t item_cnt;

	(void)state;
	assert_non_null(catalog);
	assert_int_equal(store_source__new(&ops, NULL, "hosts", &source), 0);
	assert_int_equal(compare_hosts_load(source, &what, COMPARE_HOSTS_BY_HOST, catalog, &damage,
					    &hosts),
			 0);
	assert_int_equal(hosts.cnt, 3);
	for (size_t i = 0; i < hosts.cnt; i++) {
		const struct diff_side *side = hosts.items[i].loaded.side;

		if (!diff_side__block_count(side))
			continue;
		with_blocks++;
		assert_int_equal(diff_side__block_count(side), MINUTES);
		assert_int_equal(diff_side__block(side, 3)->samples, 7);
	}
	assert_int_equal(with_blocks, 2);
	(void)diff_catalog__items(catalog, &item_cnt);
	assert_int_equal(compare_hosts_measure(item_cnt, 8, &hosts), 0);
	assert_int_equal(diff_side__block(hosts.sum, 0)->samples, 14);
	compare_hosts_release(&hosts);
	store_source__free(source);
	diff_catalog__free(catalog);
}

/* A host runs more than the service, and only so many replicas have a place. */
static void replicas_that_are_not_of_the_side_take_no_place(void **state)
{
	static const struct store_source_ops ops = { .visit = visit_replicas,
						     .free = free_nothing };
	const struct selection selection = { 0 };
	static const char *const shop[SELECT_BY_CNT] = { [SELECT_BY_IMAGE] = "shop:1" };
	const struct compare_load what = {
		.selection = &selection,
		.event = EVENT_CPU,
		.labels = shop,
		.since_unix_ns = START_S * SECOND,
		.until_unix_ns = (START_S + 60 * MINUTES) * SECOND,
		.block_ns = 60 * SECOND,
	};
	struct diff_catalog *catalog = diff_catalog__new();
	struct cmd_store_damage damage = { 0 };
	struct store_source *source;
	struct compare_hosts replicas;

	(void)state;
	assert_non_null(catalog);
	assert_int_equal(store_source__new(&ops, NULL, "replicas", &source), 0);
	assert_int_equal(compare_hosts_load(source, &what, COMPARE_HOSTS_BY_REPLICA, catalog,
					    &damage, &replicas),
			 0);
	assert_int_equal(replicas.cnt, REPLICAS);
	for (size_t i = 0; i < replicas.cnt; i++)
		assert_int_equal(diff_side__block_count(replicas.items[i].loaded.side), MINUTES);
	compare_hosts_release(&replicas);
	store_source__free(source);
	diff_catalog__free(catalog);
}

static void what_a_host_lost_that_was_not_asked_for_is_not_of_the_side(void **state)
{
	const struct selection selection = { .host = "web-1" };
	const struct compare_load what = {
		.selection = &selection,
		.since_unix_ns = START_S * SECOND,
		.until_unix_ns = (START_S + 60) * SECOND,
		.block_ns = 60 * SECOND,
	};
	struct window window = { .pid = 40,
				 .start_unix_ns = START_S * SECOND,
				 .duration_ns = 10 * SECOND,
				 .frequency_hz = 99,
				 .counts.samples = 7,
				 .labels = { [WINDOW_LABEL_HOST] = "web-1" } };
	struct diff_catalog *catalog = diff_catalog__new();
	struct compare_loader *loader;
	struct compare_loaded loaded;

	(void)state;
	assert_int_equal(compare_loader__new(&what, catalog, &loader), 0);
	assert_true(compare_loader__want(loader, &window));
	assert_int_equal(compare_loader__add(loader, &window, LINE, strlen(LINE)), 0);
	window.pid = 0;
	window.lost[WINDOW_LOSS_COUNTS_FULL] = 2;
	assert_false(compare_loader__want(loader, &window));
	window.lost[WINDOW_LOSS_COUNTS_FULL] = 90;
	window.labels[WINDOW_LABEL_HOST] = "web-2";
	assert_false(compare_loader__want(loader, &window));
	assert_int_equal(compare_loader__finish(loader, &loaded), 0);
	assert_int_equal(diff_side__block(loaded.side, 0)->lost_samples, 2);
	compare_loaded_release(&loaded);
	compare_loader__free(loader);
	diff_catalog__free(catalog);
}

/* As where one of two hosts keeps them, or since yesterday. */
static void methods_have_no_parameters_whoever_keeps_them(void **state)
{
	static const char lines[] =
		"java;a.B.c(int)_[j] 2\njava;a.B.c_[j] 3\njava;a.B.c(long)_[0] 4\n";
	const struct selection all = { 0 };
	const struct compare_load what = {
		.selection = &all,
		.since_unix_ns = START_S * SECOND,
		.until_unix_ns = (START_S + 60) * SECOND,
		.block_ns = 60 * SECOND,
	};
	const struct window window = { .pid = 40,
				       .start_unix_ns = START_S * SECOND,
				       .duration_ns = 10 * SECOND,
				       .counts.samples = 9 };
	struct diff_catalog *catalog = diff_catalog__new();
	struct compare_loader *loader;
	struct compare_loaded loaded;
	const struct diff_count *counts;
	size_t cnt, found = 0;
	uint32_t item;

	(void)state;
	assert_int_equal(compare_loader__new(&what, catalog, &loader), 0);
	assert_true(compare_loader__want(loader, &window));
	assert_int_equal(compare_loader__add(loader, &window, lines, strlen(lines)), 0);
	assert_int_equal(compare_loader__finish(loader, &loaded), 0);
	item = diff_catalog__find(catalog, DIFF_KIND_METHOD_SELF, FRAME_KIND_JIT, "a.B.c", 5);
	counts = diff_side__counts(loaded.side, 0, &cnt);
	for (size_t i = 0; i < cnt; i++)
		found += counts[i].item == item ? counts[i].count : 0;
	assert_int_equal(found, 9);
	compare_loaded_release(&loaded);
	compare_loader__free(loader);
	diff_catalog__free(catalog);
}

static void add_stream(struct streams *streams, const char *host, uint32_t pid)
{
	struct window window = { .pid = pid, .counts.samples = 1 };

	window.labels[WINDOW_LABEL_HOST] = host;
	assert_int_equal(streams_add(streams, &window), 0);
}

static void add_replica(struct streams *streams, uint32_t pid, const char *container)
{
	struct window window = { .pid = pid, .counts.samples = 1 };

	window.labels[WINDOW_LABEL_HOST] = "a";
	window.labels[WINDOW_LABEL_CONTAINER_ID] = container;
	assert_int_equal(streams_add(streams, &window), 0);
}

static void hosts_on_both_sides_and_few_hosts_calibrate_nothing(void **state)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	struct streams before = { 0 }, after = { 0 };
	double averaging = 1;

	(void)state;
	add_stream(&after, "canary", 1);
	for (uint32_t i = 0; i < 3; i++)
		add_stream(&before, names[i], i + 1);
	assert_int_equal(compare_hosts_averaging(&before, &after, &averaging), 0);
	assert_true(averaging == 0);
	add_stream(&before, "d", 4);
	add_stream(&before, "d", 5); /* two streams of one host */
	assert_int_equal(compare_hosts_averaging(&before, &after, &averaging), 0);
	assert_true(fabs(averaging - (1.0 / 4 + 1) / (1 + 1.0 / 3)) < 1e-9);
	add_stream(&after, "d", 6);
	assert_int_equal(compare_hosts_averaging(&before, &after, &averaging), 0);
	assert_true(averaging == 0);
	streams_release(&before);
	streams_release(&after);
}

static void replicas_are_containers_and_processes_outside_of_any(void **state)
{
	struct streams before = { 0 }, after = { 0 };
	size_t sets = 9;

	(void)state;
	for (uint32_t pid = 1; pid <= 3; pid++)
		add_replica(&before, pid,
			    pid < 3 ? "0123" : ""); /* two of one container, one of none */
	assert_int_equal(compare_replicas_sets_max(&before, &after, &sets), 0);
	assert_int_equal(sets, 1); /* of two replicas */
	for (uint32_t pid = 4; pid <= 6; pid++)
		add_replica(&after, pid, "");
	assert_int_equal(compare_replicas_sets_max(&before, &after, &sets), 0);
	assert_int_equal(sets, 1 + 3);
	streams_release(&before);
	streams_release(&after);
}

/* ---- what they differ by ---- */

static void one_host_with_a_tenth_more_is_found_and_no_other(void **state)
{
	static struct sim sim;
	const struct sim_config config = {
		.cores = 4, .frequency_hz = 99, .day_drift = 0.01, .seed = 51
	};
	struct sim_effect effect;

	(void)state;
	sim_init(&sim, &config);
	effect = (struct sim_effect){ sim_method_of_share(&sim, 0.10), 1.1, 0, SIM_BLOCKS };
	for (int i = 0; i < FLEETS; i++) {
		struct diff_result *result;
		struct fleet fleet;
		unsigned int hit = 0;

		fleet_make(&sim, &fleet, &effect);
		result = fleet_canary(&sim, &fleet);
		assert_int_equal(result->summary.calibration, DIFF_CALIBRATION_HISTORY);
		assert_int_equal(result->summary.history_kind, DIFF_HISTORY_HOSTS);
		assert_int_equal(result->summary.history_pairs, FLEET_HOSTS - 1);
		assert_true(result->rows[effect.method].is_alarm);
		diff_result__free(result);
		assert_int_equal(fleet_outliers(&sim, &fleet, &effect, &hit), 0);
		assert_int_equal(hit, 1);
		fleet_release(&fleet);
	}
}

/* A fleet runs other services, too: what is not judged takes no part of the rates. */
static void rates_of_error_are_shared_by_the_hosts_that_are_judged(void **state)
{
	enum { JUDGED = 8, ALL = 100 };
	const struct diff_options usual = diff_options_default();
	const struct diff_block block = { .length_ns = 60 * SECOND, .frequency_hz = 99 };
	struct diff_options options = usual;
	struct compare_hosts hosts = { .cnt = ALL };

	(void)state;
	hosts.items = calloc(ALL, sizeof(*hosts.items));
	assert_non_null(hosts.items);
	for (size_t i = 0; i < ALL; i++) {
		hosts.items[i].loaded.side = diff_side__new(COMPARE_LOAD_EVENT_CPU);
		assert_non_null(hosts.items[i].loaded.side);
		if (i % 10 == 3 && i / 10 < JUDGED)
			assert_int_equal(diff_side__close_block(hosts.items[i].loaded.side, &block),
					 0);
	}
	compare_hosts_share_errors(&hosts, &options);
	assert_true(fabs(options.q_alarm * JUDGED - usual.q_alarm) < 1e-12);
	assert_true(fabs(options.q_shown * JUDGED - usual.q_shown) < 1e-12);
	compare_hosts_release(&hosts);
	/* Nobody to share with. */
	hosts = (struct compare_hosts){ 0 };
	options = usual;
	compare_hosts_share_errors(&hosts, &options);
	assert_true(options.q_alarm == usual.q_alarm);
}

/* Nothing that these two sides show tells that from a change; the other hosts do. */
static void hosts_that_differ_much_are_no_change(void **state)
{
	static struct sim sim;
	const struct sim_config config = {
		.cores = 4, .frequency_hz = 99, .day_drift = 0.05, .drift_spread = 1, .seed = 52
	};

	(void)state;
	sim_init(&sim, &config);
	for (int i = 0; i < FLEETS; i++) {
		struct diff_result *result;
		struct fleet fleet;

		fleet_make(&sim, &fleet, NULL);
		result = fleet_canary(&sim, &fleet);
		assert_int_equal(result->summary.alarm_cnt, 0);
		diff_result__free(result);
		assert_int_equal(fleet_outliers(&sim, &fleet, NULL, NULL), 0);
		fleet_release(&fleet);
	}
}

/* ---- replicas ---- */

static void make_replicas(struct sim *sim, const struct sim_effect *effect, size_t blocks_min,
			  struct compare_hosts *out)
{
	*out = (struct compare_hosts){ .cnt = REPLICAS };
	out->items = calloc(REPLICAS, sizeof(*out->items));
	assert_non_null(out->items);
	for (size_t i = 0; i < REPLICAS; i++) {
		out->items[i].loaded.side =
			sim_short(sim, SIM_SHORT_FIRST * SIM_BLOCK_S, effect, effect != NULL);
		assert_non_null(out->items[i].loaded.side);
	}
	assert_int_equal(compare_hosts_measure(SIM_ITEMS, blocks_min, out), 0);
}

/* A deployment: alarms are wanted, and there are no earlier days. */
static struct diff_result *compare_replicas(struct sim *sim, const struct sim_effect *effect,
					    bool by_replicas)
{
	struct diff_options options = diff_options_default();
	struct diff_history history;
	struct compare_hosts before, after;
	struct diff_result *result = NULL;

	options.alarm_without_history = true;
	make_replicas(sim, NULL, BLOCKS_MIN, &before);
	make_replicas(sim, effect, BLOCKS_MIN, &after);
	assert_int_equal(compare_replicas_history(&before, &after, &history), 0);
	assert_int_equal(history.set_cnt, 2 * REPLICAS);
	/* One against two others varies 3/2 times as much as one alone, three against three 2/3 times. */
	assert_true(fabs(history.averaging - (2.0 / 3) / (3.0 / 2)) < 1e-9);

	const struct diff_input input = { .items = sim->items,
					  .item_cnt = SIM_ITEMS,
					  .a = before.sum,
					  .b = after.sum,
					  .history = by_replicas ? &history : NULL };

	assert_int_equal(diff_run(&input, &options, &result), 0);
	compare_hosts_release(&before);
	compare_hosts_release(&after);
	return result;
}

/* Each JVM compiled some methods better and some worse; seeds are fixed. */
static void what_one_jvm_compiled_otherwise_is_no_change(void **state)
{
	static struct sim sim;
	const struct sim_config config = {
		.cores = 4, .frequency_hz = 99, .day_drift = 0.05, .drift_spread = 1, .seed = 53
	};
	unsigned int guessed = 0;

	(void)state;
	sim_init(&sim, &config);
	for (int i = 0; i < ROLL_OUTS; i++) {
		struct diff_result *result = compare_replicas(&sim, NULL, true);

		assert_int_equal(result->summary.history_kind, DIFF_HISTORY_REPLICAS);
		assert_int_equal(result->summary.alarm_cnt, 0);
		diff_result__free(result);
		result = compare_replicas(&sim, NULL, false);
		guessed += result->summary.alarm_cnt > 0;
		diff_result__free(result);
	}
	assert_true(guessed > 0); /* or this shows nothing */
}

/* Earlier days are asked then. */
static void replicas_that_all_lived_too_short_calibrate_nothing(void **state)
{
	static struct sim sim;
	const struct sim_config config = { .cores = 4, .frequency_hz = 99, .seed = 55 };

	(void)state;
	sim_init(&sim, &config);
	for (int short_side = 0; short_side < 2; short_side++) {
		struct compare_hosts before, after;
		struct diff_history history;

		make_replicas(&sim, NULL, short_side == 0 ? SIZE_MAX : BLOCKS_MIN, &before);
		make_replicas(&sim, NULL, short_side == 1 ? SIZE_MAX : BLOCKS_MIN, &after);
		assert_int_equal(compare_replicas_history(&before, &after, &history), 0);
		assert_int_equal(history.set_cnt, 0);
		compare_hosts_release(&before);
		compare_hosts_release(&after);
	}
}

static void a_quarter_more_is_found_beside_what_jvms_differ_by(void **state)
{
	static struct sim sim;
	const struct sim_config config = {
		.cores = 4, .frequency_hz = 99, .day_drift = 0.03, .seed = 54
	};
	struct sim_effect effect;

	(void)state;
	sim_init(&sim, &config);
	effect = (struct sim_effect){ sim_method_of_share(&sim, 0.10), 1.25, 0, SIM_BLOCKS };
	for (int i = 0; i < ROLL_OUTS; i++) {
		struct diff_result *result = compare_replicas(&sim, &effect, true);

		assert_true(result->rows[effect.method].is_alarm);
		diff_result__free(result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_host_has_a_side_of_its_own),
		cmocka_unit_test(replicas_that_are_not_of_the_side_take_no_place),
		cmocka_unit_test(what_a_host_lost_that_was_not_asked_for_is_not_of_the_side),
		cmocka_unit_test(methods_have_no_parameters_whoever_keeps_them),
		cmocka_unit_test(hosts_on_both_sides_and_few_hosts_calibrate_nothing),
		cmocka_unit_test(replicas_are_containers_and_processes_outside_of_any),
		cmocka_unit_test(one_host_with_a_tenth_more_is_found_and_no_other),
		cmocka_unit_test(rates_of_error_are_shared_by_the_hosts_that_are_judged),
		cmocka_unit_test(hosts_that_differ_much_are_no_change),
		cmocka_unit_test(what_one_jvm_compiled_otherwise_is_no_change),
		cmocka_unit_test(replicas_that_all_lived_too_short_calibrate_nothing),
		cmocka_unit_test(a_quarter_more_is_found_beside_what_jvms_differ_by),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
