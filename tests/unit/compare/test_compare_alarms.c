// SPDX-License-Identifier: Apache-2.0
/* One line per cause, and the reason when there can be no alarm at all. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/compare/compare_alarms.h"
#include "user/util/cleanup.h"

/* run calls a and b; a calls c. */
static const char *const stacks[] = { "java;p.A.run_[j];p.A.a_[j];p.A.c_[j]",
				      "java;p.A.run_[j];p.A.b\x1b_[j]" };

struct world {
	struct diff_catalog *catalog;
	struct diff_result result;
};

static void world_begin(struct world *world)
{
	struct diff_side *side = diff_side__new(1);

	world->catalog = diff_catalog__new();
	assert_non_null(side);
	assert_non_null(world->catalog);
	for (size_t i = 0; i < ARRAY_SIZE(stacks); i++)
		assert_int_equal(diff_catalog__add(world->catalog, side, stacks[i],
						   strlen(stacks[i]), 1),
				 0);
	diff_side__free(side);
	memset(&world->result, 0, sizeof(world->result));
	(void)diff_catalog__items(world->catalog, &world->result.row_cnt);
	world->result.rows = calloc(world->result.row_cnt, sizeof(*world->result.rows));
	assert_non_null(world->result.rows);
	for (uint32_t i = 0; i < world->result.row_cnt; i++)
		world->result.rows[i].origin = DIFF_NONE;
}

static void world_end(struct world *world)
{
	free(world->result.rows);
	diff_catalog__free(world->catalog);
}

static uint32_t method(const struct world *world, enum diff_kind kind, const char *name)
{
	uint32_t item =
		diff_catalog__find(world->catalog, kind, FRAME_KIND_JIT, name, strlen(name));

	assert_true(item != DIFF_NONE);
	return item;
}

/* Any place of that method. */
static uint32_t place(const struct world *world, const char *name)
{
	uint32_t total = method(world, DIFF_KIND_METHOD_TOTAL, name);
	uint32_t cnt = 0;
	const struct diff_item *items = diff_catalog__items(world->catalog, &cnt);

	for (uint32_t i = 0; i < cnt; i++)
		if (items[i].kind == DIFF_KIND_PATH && items[i].method == total)
			return i;
	fail();
	return 0;
}

static void what_is_new_must_be_as_sure_as_an_alarm(void **state)
{
	const struct diff_options options = diff_options_default();
	struct world world;
	struct diff_row *row;

	(void)state;
	world_begin(&world);
	row = &world.result.rows[method(&world, DIFF_KIND_METHOD_SELF, "p.A.c")];
	assert_false(compare_alarms_has_new(&world.result, world.catalog, &options));
	*row = (struct diff_row){ .verdict = DIFF_VERDICT_NEW, .q = options.q_alarm };
	assert_true(compare_alarms_has_new(&world.result, world.catalog, &options));
	row->q = options.q_shown;
	assert_false(compare_alarms_has_new(&world.result, world.catalog, &options));
	*row = (struct diff_row){ .verdict = DIFF_VERDICT_UP, .q = 1e-9 };
	assert_false(compare_alarms_has_new(&world.result, world.catalog, &options));
	world.result.rows[place(&world, "p.A.c")] =
		(struct diff_row){ .verdict = DIFF_VERDICT_NEW, .q = 1e-9 };
	assert_false(compare_alarms_has_new(&world.result, world.catalog, &options));
	world_end(&world);
}

static void raise_alarm(struct world *world, uint32_t item, uint32_t origin, double change)
{
	world->result.rows[item] = (struct diff_row){
		.share_a = 0.02,
		.share_b = 0.025,
		.change = { .value = log(1 + change), .low = log(1.1), .high = log(1.4) },
		.points = { .value = change / 10 },
		.q = 0.0004,
		.verdict = DIFF_VERDICT_UP,
		.is_alarm = true,
		.moved_with = DIFF_NONE,
		.origin = origin,
	};
	world->result.summary.alarm_cnt++;
}

static void check(struct world *world, size_t expected_cnt, const char *const *expected)
{
	__cleanup_free struct compare_alarm *alarms = NULL;
	size_t cnt = 99;

	assert_int_equal(compare_alarms_list(&world->result, world->catalog, &alarms, &cnt), 0);
	assert_int_equal(cnt, expected_cnt);
	for (size_t i = 0; i < cnt; i++) {
		__cleanup_strbuf struct strbuf text = STRBUF_INIT;

		assert_int_equal(
			compare_alarms_text(&world->result, world->catalog, &alarms[i], &text), 0);
		assert_string_equal(strbuf_str(&text), expected[i]);
	}
}

static void callers_of_a_cause_are_counted_not_named(void **state)
{
	struct world world;

	(void)state;
	world_begin(&world);

	uint32_t origin = place(&world, "p.A.c");

	raise_alarm(&world, method(&world, DIFF_KIND_METHOD_TOTAL, "p.A.run"), origin, 0.1);
	raise_alarm(&world, method(&world, DIFF_KIND_METHOD_TOTAL, "p.A.a"), origin, 0.2);
	raise_alarm(&world, method(&world, DIFF_KIND_METHOD_TOTAL, "p.A.c"), origin, 0.25);
	raise_alarm(&world, method(&world, DIFF_KIND_METHOD_SELF, "p.A.c"), origin, 0.25);
	check(&world, 1,
	      (const char *const[]){
		      "p.A.c +25.0 % (95 % interval +10.0 to +40.0), 2.00 % -> 4.50 % of the "
		      "whole, q 0.0004, seen in 2 callers" });
	world_end(&world);
}

static void a_cause_without_alarm_of_its_own_is_named_behind_its_caller(void **state)
{
	struct world world;

	(void)state;
	world_begin(&world);

	uint32_t origin = place(&world, "p.A.c");

	raise_alarm(&world, method(&world, DIFF_KIND_METHOD_TOTAL, "p.A.run"), origin, 0.1);
	raise_alarm(&world, method(&world, DIFF_KIND_METHOD_TOTAL, "p.A.a"), origin, 0.2);
	check(&world, 1,
	      (const char *const[]){
		      "p.A.a +20.0 % (95 % interval +10.0 to +40.0), 2.00 % -> 4.00 % of the "
		      "whole, q 0.0004, from p.A.c, seen in 1 caller" });
	world_end(&world);
}

static void two_causes_are_two_lines_the_larger_first(void **state)
{
	struct world world;

	(void)state;
	world_begin(&world);
	raise_alarm(&world, method(&world, DIFF_KIND_METHOD_SELF, "p.A.c"), place(&world, "p.A.c"),
		    0.1);
	raise_alarm(&world, method(&world, DIFF_KIND_METHOD_SELF, "p.A.b_"), DIFF_NONE, 0.3);
	check(&world, 2,
	      (const char *const[]){
		      "p.A.b_ +30.0 % (95 % interval +10.0 to +40.0), 2.00 % -> 5.00 % of the "
		      "whole, q 0.0004",
		      "p.A.c +10.0 % (95 % interval +10.0 to +40.0), 2.00 % -> 3.00 % of the "
		      "whole, q 0.0004" });
	world_end(&world);
}

static void without_alarms_there_is_nothing_to_say(void **state)
{
	struct world world;

	(void)state;
	world_begin(&world);
	check(&world, 0, NULL);
	world_end(&world);
}

static void what_stands_in_the_way_of_alarms_is_said(void **state)
{
	struct diff_options options = diff_options_default();
	struct diff_summary summary = { .mode = DIFF_MODE_STATISTICAL,
					.calibration = DIFF_CALIBRATION_HISTORY };

	(void)state;
	for (int i = 0; i < DIFF_GATE_CNT; i++)
		summary.gates[i].passed = true;
	assert_string_equal(compare_alarms_obstacle(&summary, &options), "");
	for (int i = 0; i < DIFF_GATE_CNT; i++) {
		summary.gates[i].passed = false;
		assert_true(strlen(compare_alarms_obstacle(&summary, &options)) > 20);
		summary.gates[i].passed = true;
	}
	summary.calibration = DIFF_CALIBRATION_NONE;
	assert_non_null(
		strstr(compare_alarms_obstacle(&summary, &options), "too few earlier days"));
	summary.calibration = DIFF_CALIBRATION_PAIR;
	assert_non_null(
		strstr(compare_alarms_obstacle(&summary, &options), "too few earlier days"));
	options.alarm_without_history = true;
	assert_string_equal(compare_alarms_obstacle(&summary, &options), "");
	/* Earlier days were not asked for. */
	summary.calibration = DIFF_CALIBRATION_NONE;
	assert_non_null(strstr(compare_alarms_obstacle(&summary, &options), "too few methods"));
	summary.mode = DIFF_MODE_DESCRIPTIVE;
	assert_string_not_equal(compare_alarms_obstacle(&summary, &options), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_new_must_be_as_sure_as_an_alarm),
		cmocka_unit_test(callers_of_a_cause_are_counted_not_named),
		cmocka_unit_test(a_cause_without_alarm_of_its_own_is_named_behind_its_caller),
		cmocka_unit_test(two_causes_are_two_lines_the_larger_first),
		cmocka_unit_test(without_alarms_there_is_nothing_to_say),
		cmocka_unit_test(what_stands_in_the_way_of_alarms_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
