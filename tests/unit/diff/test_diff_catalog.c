// SPDX-License-Identifier: Apache-2.0
/* Stacks become items: one method is one item however it was compiled, and counts once per stack. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/diff/diff_catalog.h"
#include "user/util/cleanup.h"
#include "user/util/strbuf.h"

#define SECOND 1000000000ull

struct world {
	struct diff_catalog *catalog;
	struct diff_side *side;
};

static struct world world_of(const char *const *stacks, size_t cnt)
{
	struct world world = { diff_catalog__new(), diff_side__new(1) };
	struct diff_block block = { .length_ns = SECOND };

	assert_non_null(world.catalog);
	for (size_t i = 0; i < cnt; i++)
		assert_int_equal(diff_catalog__add(world.catalog, world.side, stacks[i],
						   strlen(stacks[i]), 1u << (4 * i)),
				 0);
	assert_int_equal(diff_side__close_block(world.side, &block), 0);
	return world;
}

static void world_end(struct world *world)
{
	diff_catalog__free(world->catalog);
	diff_side__free(world->side);
}

static uint32_t count_of(const struct world *world, uint32_t item)
{
	size_t cnt = 0;
	const struct diff_count *counts = diff_side__counts(world->side, 0, &cnt);

	for (size_t i = 0; i < cnt; i++)
		if (counts[i].item == item)
			return counts[i].count;
	return 0;
}

/* Count of an item by name; fails when there is no such item and a count is expected. */
static uint32_t count_named(const struct world *world, enum diff_kind item_kind,
			    enum frame_kind kind, const char *name)
{
	uint32_t item = diff_catalog__find(world->catalog, item_kind, kind, name, strlen(name));

	return item == DIFF_NONE ? 0 : count_of(world, item);
}

static uint32_t java(const struct world *world, enum diff_kind item_kind, const char *name)
{
	return count_named(world, item_kind, FRAME_KIND_JIT, name);
}

static void a_method_is_one_item_however_compiled(void **state)
{
	static const char *const stacks[] = {
		"java;a.B.run_[j];a.B.work_[j]",
		"java;a.B.run_[0];a.B.work_[1]",
		"java;a.B.run_[1];a.B.work_[i];a.C.leaf_[i]",
	};
	struct world world = world_of(stacks, ARRAY_SIZE(stacks));

	(void)state;
	assert_int_equal(java(&world, DIFF_KIND_METHOD_TOTAL, "a.B.run"), 0x111);
	assert_int_equal(java(&world, DIFF_KIND_METHOD_TOTAL, "a.B.work"), 0x111);
	assert_int_equal(java(&world, DIFF_KIND_METHOD_SELF, "a.B.work"), 0x011);
	assert_int_equal(java(&world, DIFF_KIND_METHOD_SELF, "a.C.leaf"), 0x100);
	assert_int_equal(java(&world, DIFF_KIND_METHOD_SELF, "a.B.run"), 0);
	assert_int_equal(java(&world, DIFF_KIND_CLASS_TOTAL, "a.B"), 0x111);
	assert_int_equal(java(&world, DIFF_KIND_CLASS_SELF, "a.B"), 0x011);
	assert_int_equal(java(&world, DIFF_KIND_PACKAGE_TOTAL, "a"), 0x111);
	assert_int_equal(java(&world, DIFF_KIND_PACKAGE_SELF, "a"), 0x111);
	world_end(&world);
}

static void kinds_of_code_stay_apart(void **state)
{
	static const char *const stacks[] = { "java;read_[k]", "java;read", "java;read_[j]" };
	struct world world = world_of(stacks, ARRAY_SIZE(stacks));

	(void)state;
	assert_int_equal(count_named(&world, DIFF_KIND_METHOD_SELF, FRAME_KIND_KERNEL, "read"),
			 0x001);
	assert_int_equal(count_named(&world, DIFF_KIND_METHOD_SELF, FRAME_KIND_NATIVE, "read"),
			 0x010);
	assert_int_equal(count_named(&world, DIFF_KIND_METHOD_SELF, FRAME_KIND_C1, "read"), 0x100);
	assert_int_equal(java(&world, DIFF_KIND_PACKAGE_SELF, "[kernel]"), 0x001);
	world_end(&world);
}

static void recursion_counts_once_but_has_places(void **state)
{
	static const char *const stacks[] = {
		"java;a.B.f_[j];a.B.f_[j];a.B.g_[j];a.B.f_[i]",
		"java;a.B.f_[j]",
	};
	struct world world = world_of(stacks, ARRAY_SIZE(stacks));
	uint32_t cnt = 0;
	const struct diff_item *items = diff_catalog__items(world.catalog, &cnt);
	uint32_t total = diff_catalog__find(world.catalog, DIFF_KIND_METHOD_TOTAL, FRAME_KIND_JIT,
					    "a.B.f", 5);
	uint32_t places = 0;

	(void)state;
	assert_int_equal(count_of(&world, total), 0x11);
	assert_int_equal(java(&world, DIFF_KIND_METHOD_SELF, "a.B.f"), 0x11);
	assert_int_equal(java(&world, DIFF_KIND_CLASS_TOTAL, "a.B"), 0x11);
	for (uint32_t i = 0; i < cnt; i++)
		places += items[i].kind == DIFF_KIND_PATH && items[i].method == total;
	assert_int_equal(places, 3);
	world_end(&world);
}

static void items_are_linked_and_named(void **state)
{
	static const char *const stacks[] = { "java;start_thread;a.b.C$D.run_[j];e.F.g_[i]" };
	static const struct {
		enum diff_kind kind;
		const char *name;
		const char *group; /* NULL = none */
		const char *parent;
	} rows[] = {
		{ DIFF_KIND_METHOD_TOTAL, "start_thread", NULL, NULL },
		{ DIFF_KIND_METHOD_TOTAL, "a.b.C$D.run", "a.b.C$D", NULL },
		{ DIFF_KIND_CLASS_TOTAL, "a.b.C$D", "a.b", NULL },
		{ DIFF_KIND_PACKAGE_TOTAL, "a.b", NULL, NULL },
		{ DIFF_KIND_METHOD_SELF, "e.F.g", "e.F", NULL },
		{ DIFF_KIND_CLASS_SELF, "e.F", "e", NULL },
		{ DIFF_KIND_PATH, "java", NULL, NULL },
		{ DIFF_KIND_PATH, "start_thread", NULL, "java" },
		{ DIFF_KIND_PATH, "a.b.C$D.run", NULL, "start_thread" },
		{ DIFF_KIND_PATH, "e.F.g", NULL, "a.b.C$D.run" },
	};
	struct world world = world_of(stacks, ARRAY_SIZE(stacks));
	uint32_t cnt = 0;
	const struct diff_item *items = diff_catalog__items(world.catalog, &cnt);

	(void)state;
	for (size_t r = 0; r < ARRAY_SIZE(rows); r++) {
		uint32_t found = 0;

		for (uint32_t i = 0; i < cnt; i++) {
			struct diff_catalog_name name = diff_catalog__name(world.catalog, i);

			assert_int_equal(strlen(name.text), name.len);
			assert_int_equal(count_of(&world, i), 1);
			if (items[i].kind != rows[r].kind || strcmp(name.text, rows[r].name))
				continue;
			found++;
			assert_int_equal(items[i].group != DIFF_NONE, rows[r].group != NULL);
			assert_int_equal(items[i].parent != DIFF_NONE, rows[r].parent != NULL);
			if (rows[r].group)
				assert_string_equal(
					diff_catalog__name(world.catalog, items[i].group).text,
					rows[r].group);
			if (rows[r].parent)
				assert_string_equal(
					diff_catalog__name(world.catalog, items[i].parent).text,
					rows[r].parent);
		}
		assert_int_equal(found, 1);
	}
	world_end(&world);
}

static void odd_stacks_are_counted_as_far_as_they_go(void **state)
{
	static const char *const stacks[] = { "",   ";",	  "java",
					      ";;", "java;;_[j]", "java;._[j];.a_[j];a._[j]" };
	struct world world = world_of(stacks, ARRAY_SIZE(stacks));
	uint32_t cnt = 0;

	(void)state;
	diff_catalog__items(world.catalog, &cnt);
	for (uint32_t i = 0; i < cnt; i++)
		diff_catalog__name(world.catalog, i);
	assert_int_equal(diff_catalog__find(world.catalog, DIFF_KIND_PATH, FRAME_KIND_JIT, "java",
					    4),
			 DIFF_NONE);
	assert_int_equal(diff_catalog__find(world.catalog, DIFF_KIND_NONE, FRAME_KIND_JIT, "java",
					    4),
			 DIFF_NONE);
	assert_int_equal(diff_catalog__find(world.catalog, DIFF_KIND_METHOD_SELF, FRAME_KIND_JIT,
					    "no.such", 7),
			 DIFF_NONE);
	world_end(&world);
	diff_catalog__free(NULL);
}

static void very_deep_stacks_keep_their_methods(void **state)
{
	struct world world = { diff_catalog__new(), diff_side__new(1) };
	struct diff_block block = { .length_ns = SECOND };
	__cleanup_strbuf struct strbuf stack = STRBUF_INIT;
	uint32_t places = 0;
	uint32_t cnt = 0;

	(void)state;
	strbuf_puts(&stack, "java");
	for (int i = 0; i < 3000; i++)
		strbuf_printf(&stack, ";a.B.f%d_[j]", i);
	assert_int_equal(diff_catalog__add(world.catalog, world.side, stack.data, stack.len, 2), 0);
	assert_int_equal(diff_side__close_block(world.side, &block), 0);
	assert_int_equal(java(&world, DIFF_KIND_METHOD_TOTAL, "a.B.f2999"), 2);
	assert_int_equal(java(&world, DIFF_KIND_METHOD_SELF, "a.B.f2999"), 2);

	const struct diff_item *items = diff_catalog__items(world.catalog, &cnt);

	for (uint32_t i = 0; i < cnt; i++)
		places += items[i].kind == DIFF_KIND_PATH;
	assert_int_equal(places, 1 + DIFF_CATALOG_DEPTH_MAX);
	world_end(&world);
}

/* A day of stacks, 15 % slower in one method on the second one. */
static struct diff_side *count_day(struct diff_catalog *catalog, uint32_t day, uint32_t slow)
{
	struct diff_side *side = diff_side__new(1);

	for (uint32_t b = 0; b < 96; b++) {
		struct diff_block block = {
			.start_unix_ns = (day * 86400ull + b * 900) * SECOND,
			.length_ns = 900 * SECOND,
			.time_of_day_s = b * 900,
			.frequency_hz = 49,
		};

		for (uint32_t m = 0; m < 40; m++) {
			char stack[96];
			uint32_t count = 400 + (b * 7 + m * 13 + day * 5) % 41;

			count += m == 7 ? count * slow / 100 : 0;
			snprintf(stack, sizeof(stack), "java;a.Main.run_[%c];a.C%u.m%u_[j]",
				 b % 2 ? 'j' : '0', m / 4, m);
			assert_int_equal(
				diff_catalog__add(catalog, side, stack, strlen(stack), count), 0);
			block.samples += count;
		}
		assert_int_equal(diff_side__close_block(side, &block), 0);
	}
	return side;
}

static void days_of_stacks_are_compared(void **state)
{
	struct diff_catalog *catalog = diff_catalog__new();
	struct diff_options options = diff_options_default();
	struct diff_side *a = count_day(catalog, 0, 0);
	struct diff_side *b = count_day(catalog, 1, 15);
	struct diff_input input = { .a = a, .b = b };
	struct diff_result *result = NULL;
	uint32_t slow =
		diff_catalog__find(catalog, DIFF_KIND_METHOD_SELF, FRAME_KIND_JIT, "a.C1.m7", 7);

	(void)state;
	input.items = diff_catalog__items(catalog, &input.item_cnt);
	assert_int_equal(diff_run(&input, &options, &result), 0);
	assert_int_equal(result->summary.mode, DIFF_MODE_STATISTICAL);
	assert_int_equal(result->rows[slow].verdict, DIFF_VERDICT_UP);
	assert_string_equal(diff_catalog__name(catalog, result->rows[slow].origin).text, "a.C1.m7");
	for (uint32_t i = 0; i < input.item_cnt; i++)
		if (input.items[i].kind == DIFF_KIND_METHOD_SELF && i != slow)
			assert_true(result->rows[i].verdict == DIFF_VERDICT_SAME ||
				    result->rows[i].verdict == DIFF_VERDICT_UNRESOLVED);
	diff_result__free(result);
	diff_side__free(a);
	diff_side__free(b);
	diff_catalog__free(catalog);
}

static void a_learned_stack_counts_as_an_added_one(void **state)
{
	static const char *const stacks[] = { "java;a.B.c_[j];a.B.d_[j]", "java;a.B.c_[j]",
					      "java;a.B$$Lambda$1/17.c_[j]",
					      "java;a.B$$Lambda$2/18.c_[j]" };
	struct world world = world_of(stacks, 4);
	struct diff_block block = { .start_unix_ns = SECOND, .length_ns = SECOND };
	uint32_t numbers[4];
	uint32_t again = 0;
	size_t cnt_added, cnt_learned;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(diff_catalog__learn(world.catalog, stacks[i], strlen(stacks[i]),
						     &numbers[i]),
				 0);
		assert_int_equal(numbers[i], i);
	}
	assert_int_equal(diff_catalog__learn(world.catalog, stacks[1], strlen(stacks[1]), &again),
			 0);
	assert_int_equal(again, 1);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(diff_catalog__count(world.catalog, world.side, i, 1u << (4 * i)),
				 0);
	assert_int_equal(diff_side__close_block(world.side, &block), 0);

	const struct diff_count *added = diff_side__counts(world.side, 0, &cnt_added);
	const struct diff_count *learned = diff_side__counts(world.side, 1, &cnt_learned);

	assert_int_equal(cnt_added, cnt_learned);
	assert_memory_equal(added, learned, cnt_added * sizeof(*added));
	/* Both lambdas are one method, whatever number they got. */
	assert_int_equal(count_named(&world, DIFF_KIND_METHOD_SELF, FRAME_KIND_JIT,
				     "a.B$$Lambda.c"),
			 0x1100);
	world_end(&world);
}

/* Places, methods, classes and packages, each with what it is linked to. */
static void of_what_is_cut_the_heavy_stays_and_is_the_same(void **state)
{
	static const char *const heavy[] = { "java;a.B.run_[j];c.D.leaf_[j]", "java;a.B.run_[0]",
					     "sh" };
	struct diff_block first = { .length_ns = SECOND };
	struct diff_block second = { .start_unix_ns = SECOND, .length_ns = SECOND };
	struct world world = { diff_catalog__new(), diff_side__new(1) };
	uint32_t before = 0, after = 0;
	const struct diff_item *items;
	char stack[64];

	(void)state;
	for (int i = 0; i < 100; i++) {
		(void)snprintf(stack, sizeof(stack), "java;a.B.run_[j];x%d.Y.light_[j]", i);
		assert_int_equal(
			diff_catalog__add(world.catalog, world.side, stack, strlen(stack), 2), 0);
		assert_int_equal(diff_catalog__add(world.catalog, world.side, heavy[i % 3],
						   strlen(heavy[i % 3]), 1),
				 0);
		if (i == 49)
			assert_int_equal(diff_side__close_block(world.side, &first), 0);
	}
	assert_int_equal(diff_side__close_block(world.side, &second), 0);
	(void)diff_catalog__items(world.catalog, &before);
	assert_int_equal(diff_catalog__cut(world.catalog, &world.side, 1, 5), 0);
	items = diff_catalog__items(world.catalog, &after);
	assert_true(before >= 400);
	/* a.B and c.D: two methods each, one of them by itself also; classes, packages; four places. */
	assert_int_equal(after, 4 + 4 + 4 + 4);
	/* Of the first block: 17 and 17 of 50, and all the light ones below a.B.run. */
	assert_int_equal(java(&world, DIFF_KIND_METHOD_TOTAL, "a.B.run"), 17 + 17 + 100);
	assert_int_equal(java(&world, DIFF_KIND_METHOD_SELF, "c.D.leaf"), 17);
	assert_int_equal(java(&world, DIFF_KIND_PACKAGE_TOTAL, "a"), 17 + 17 + 100);
	assert_int_equal(diff_catalog__find(world.catalog, DIFF_KIND_PACKAGE_TOTAL, FRAME_KIND_JIT,
					    "x7", 2),
			 DIFF_NONE);
	for (uint32_t i = 0; i < after; i++) {
		struct diff_catalog_name name = diff_catalog__name(world.catalog, i);

		assert_int_equal(name.text[0] == 'x', 0);
		if (items[i].kind != DIFF_KIND_PATH || items[i].method == DIFF_NONE)
			continue;
		assert_true(items[i].parent < i);
		assert_int_equal(items[items[i].method].kind, DIFF_KIND_METHOD_TOTAL);
	}
	/* It goes on: a stack that was there before has the places that were kept. */
	assert_int_equal(
		diff_catalog__add(world.catalog, world.side, heavy[0], strlen(heavy[0]), 1), 0);
	(void)diff_catalog__items(world.catalog, &before);
	assert_int_equal(before, after);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_method_is_one_item_however_compiled),
		cmocka_unit_test(kinds_of_code_stay_apart),
		cmocka_unit_test(recursion_counts_once_but_has_places),
		cmocka_unit_test(items_are_linked_and_named),
		cmocka_unit_test(odd_stacks_are_counted_as_far_as_they_go),
		cmocka_unit_test(very_deep_stacks_keep_their_methods),
		cmocka_unit_test(days_of_stacks_are_compared),
		cmocka_unit_test(a_learned_stack_counts_as_an_added_one),
		cmocka_unit_test(of_what_is_cut_the_heavy_stays_and_is_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
