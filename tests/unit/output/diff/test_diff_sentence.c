// SPDX-License-Identifier: Apache-2.0
/* What the one sentence says of a comparison, and that it says nothing where nothing is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/diff_scene.h"
#include "user/output/diff/diff_sentence.h"

static struct scene *scene_new(enum scene_kind kind)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	scene->quiet_cnt = 40;
	scene_make(scene, kind);
	scene->output.title = "CPU of service shop";
	return scene;
}

static void scene_end(struct scene *scene)
{
	scene_release(scene);
	free(scene);
}

static void assert_says(const struct scene *scene, const char *const *parts)
{
	struct strbuf out = STRBUF_INIT;

	diff_sentence(&scene->output, &out);
	assert_int_equal(strbuf_error(&out), 0);
	assert_int_equal(out.data[out.len - 1], '.');
	for (; *parts; parts++)
		if (!strstr(out.data, *parts))
			fail_msg("'%s' is not in: %s", *parts, out.data);
	strbuf_release(&out);
}

/* Nothing was found but what `keep` lets stand. */
static void keep_verdict(struct scene *scene, enum diff_verdict verdict)
{
	for (uint32_t i = 0; i < scene->result->row_cnt; i++)
		if (scene->result->rows[i].verdict != verdict)
			scene->result->rows[i].verdict = DIFF_VERDICT_SAME;
}

static struct diff_row *row_of(struct scene *scene, enum diff_kind kind, const char *name)
{
	uint32_t item = scene_item(scene, kind, FRAME_KIND_JIT, name);

	assert_int_not_equal(item, DIFF_NONE);
	return &scene->result->rows[item];
}

static void the_method_behind_the_change_is_named(void **state)
{
	static const char *const parts[] = {
		"service shop got slower: it needs 2.6 % more CPU for "
		"the same work, mostly com.example.shop.Tax.compute (+",
		" %).", NULL
	};
	struct scene *scene = scene_new(SCENE_HISTORY);

	(void)state;
	keep_verdict(scene, DIFF_VERDICT_UP);
	row_of(scene, DIFF_KIND_METHOD_SELF, "com.example.shop.Tax.compute")->points.value = 0.026;
	assert_says(scene, parts);
	assert_true(diff_sentence_says_more(&scene->output));
	scene_end(scene);
}

static void less_is_faster_and_what_needs_more_is_named_behind(void **state)
{
	static const char *const parts[] = { "service shop got faster: it needs ", " less CPU",
					     "mostly com.example.search.Index.lookup (-",
					     " and 2 other methods; more in ", NULL };
	struct scene *scene = scene_new(SCENE_HISTORY);

	(void)state;
	row_of(scene, DIFF_KIND_METHOD_SELF, "com.example.shop.Tax.compute")->points.value = 0.001;
	row_of(scene, DIFF_KIND_METHOD_SELF, "com.example.shop.Audit.encode")->points.value = 0.001;
	assert_says(scene, parts);
	assert_false(diff_sentence_says_more(&scene->output));
	scene_end(scene);
}

static void what_adds_up_to_nothing_is_neither_slower_nor_faster(void **state)
{
	static const char *const parts[] = {
		"service shop needs about as much CPU for the same work: more in "
		"com.example.shop.Tax.compute (+",
		"; less in com.example.search.Index.lookup (-", NULL
	};
	struct scene *scene = scene_new(SCENE_HISTORY);

	(void)state;
	keep_verdict(scene, DIFF_VERDICT_CNT);
	for (int i = 0; i < 2; i++) {
		struct diff_row *row = row_of(scene, DIFF_KIND_METHOD_SELF,
					      i ? "com.example.search.Index.lookup" :
						  "com.example.shop.Tax.compute");

		row->verdict = i ? DIFF_VERDICT_DOWN : DIFF_VERDICT_UP;
		row->points.value = i ? -0.0197 : 0.02;
	}
	assert_says(scene, parts);
	assert_false(diff_sentence_says_more(&scene->output));
	scene_end(scene);
}

/* Many small callees, none of which is sure by itself; callers of callers are not added up. */
static void without_a_sure_method_the_surest_caller_is_named(void **state)
{
	static const char *const parts[] = {
		"got slower: it needs 5.0 % more CPU",
		"mostly com.example.shop.CartController.add (+50.0 %).", NULL
	};
	struct scene *scene = scene_new(SCENE_HISTORY);
	static const char *const callers[] = { "com.example.shop.CartController.add",
					       "org.apache.tomcat.SocketProcessor.run" };

	(void)state;
	keep_verdict(scene, DIFF_VERDICT_CNT);
	for (size_t i = 0; i < 2; i++) {
		struct diff_row *row = row_of(scene, DIFF_KIND_METHOD_TOTAL, callers[i]);
		double points = i ? 0.04 : 0.05;

		row->verdict = DIFF_VERDICT_UP;
		row->change.value = log(1.5);
		row->points = (struct diff_interval){ points, points - 0.01, points + 0.01 };
	}
	assert_says(scene, parts);
	assert_true(diff_sentence_says_more(&scene->output));
	scene_end(scene);
}

static void quiet_and_moved_work_is_no_change(void **state)
{
	static const char *const quiet[] = { "service shop: no method changed by more than chance",
					     NULL };
	static const char *const moved[] = { "service shop: work moved between methods", NULL };
	struct scene *scene = scene_new(SCENE_HISTORY);

	(void)state;
	keep_verdict(scene, DIFF_VERDICT_MOVED);
	assert_says(scene, moved);
	assert_false(diff_sentence_says_more(&scene->output));
	keep_verdict(scene, DIFF_VERDICT_CNT);
	assert_says(scene, quiet);
	assert_false(diff_sentence_says_more(&scene->output));
	scene_end(scene);
}

static void what_is_not_judged_is_not_told(void **state)
{
	static const char *const parts[] = { "service shop: too little is known", NULL };
	static const char *const nameless[] = { "What was compared: too little is known", NULL };
	struct scene *scene = scene_new(SCENE_SHORT);

	(void)state;
	assert_says(scene, parts);
	assert_false(diff_sentence_says_more(&scene->output));
	scene->output.title = "";
	assert_says(scene, nameless);
	scene_end(scene);
}

static void waiting_is_not_slower_but_more(void **state)
{
	static const char *const parts[] = { "service shop has ",
					     " page faults for the same work, ", NULL };
	struct scene *scene = scene_new(SCENE_HISTORY);

	(void)state;
	scene->output.event = EVENT_PAGE_FAULTS;
	scene->output.title = "service shop";
	assert_says(scene, parts);
	scene_end(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_method_behind_the_change_is_named),
		cmocka_unit_test(less_is_faster_and_what_needs_more_is_named_behind),
		cmocka_unit_test(what_adds_up_to_nothing_is_neither_slower_nor_faster),
		cmocka_unit_test(without_a_sure_method_the_surest_caller_is_named),
		cmocka_unit_test(quiet_and_moved_work_is_no_change),
		cmocka_unit_test(what_is_not_judged_is_not_told),
		cmocka_unit_test(waiting_is_not_slower_but_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
