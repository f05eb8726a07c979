// SPDX-License-Identifier: Apache-2.0
/* Which changes count as moved: rows made by hand, one class, one caller, one callee. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "user/diff/diff_verdict.h"
#include "user/util/cleanup.h"

enum {
	FIRST,
	SECOND,
	CLASS,
	PACKAGE,
	CALLER,
	FIRST_PLACE,
	SECOND_PLACE,
	FIRST_TOTAL,
	CALLEE,
	CALLEE_TOTAL,
	CALLEE_PLACE,
	ITEMS
};

static const struct diff_item items[ITEMS] = {
	[FIRST] = { DIFF_KIND_METHOD_SELF, CLASS, FIRST_TOTAL, DIFF_NONE },
	[SECOND] = { DIFF_KIND_METHOD_SELF, CLASS, DIFF_NONE, DIFF_NONE },
	[CLASS] = { DIFF_KIND_CLASS_SELF, PACKAGE, DIFF_NONE, DIFF_NONE },
	[PACKAGE] = { DIFF_KIND_PACKAGE_SELF, DIFF_NONE, DIFF_NONE, DIFF_NONE },
	[CALLER] = { DIFF_KIND_PATH, DIFF_NONE, DIFF_NONE, DIFF_NONE },
	[FIRST_PLACE] = { DIFF_KIND_PATH, DIFF_NONE, FIRST_TOTAL, CALLER },
	[SECOND_PLACE] = { DIFF_KIND_PATH, DIFF_NONE, DIFF_NONE, CALLER },
	[FIRST_TOTAL] = { DIFF_KIND_METHOD_TOTAL, DIFF_NONE, DIFF_NONE, DIFF_NONE },
	[CALLEE] = { DIFF_KIND_METHOD_SELF, DIFF_NONE, CALLEE_TOTAL, DIFF_NONE },
	[CALLEE_TOTAL] = { DIFF_KIND_METHOD_TOTAL, DIFF_NONE, DIFF_NONE, DIFF_NONE },
	[CALLEE_PLACE] = { DIFF_KIND_PATH, DIFF_NONE, CALLEE_TOTAL, FIRST_PLACE },
};

struct change {
	double points;
	double half; /* of the interval */
	double q;
};

/* Verdict of FIRST with these changes. */
static enum diff_verdict verdict_of_first(const struct change changes[ITEMS], uint32_t *partner)
{
	struct diff_options options = diff_options_default();
	struct diff_row rows[ITEMS];
	struct diff_case diff = {
		.items = items, .item_cnt = ITEMS, .options = &options, .rows = rows
	};

	for (int i = 0; i < ITEMS; i++)
		rows[i] = (struct diff_row){
			.points = { changes[i].points, changes[i].points - changes[i].half,
				    changes[i].points + changes[i].half },
			.change = { changes[i].points, 0, 0 },
			.q = changes[i].q,
			.is_tested = true,
			.verdict = changes[i].points > 0 ? DIFF_VERDICT_UP : DIFF_VERDICT_DOWN,
			.moved_with = DIFF_NONE,
		};
	assert_int_equal(diff_moved_mark(&diff), 0);
	*partner = rows[FIRST].moved_with;
	return rows[FIRST].verdict;
}

static void what_the_roof_holds_together_is_moved(void **state)
{
	static const struct {
		struct change changes[ITEMS];
		enum diff_verdict verdict;
		uint32_t partner;
	} rows[] = {
		/* the class is as it was */
		{ { [FIRST] = { 0.02, 0.001, 0.01 },
		    [SECOND] = { -0.02, 0.001, 0.01 },
		    [CLASS] = { 0.0005, 0.002, 1 },
		    [PACKAGE] = { 0.01, 0.002, 0.01 } },
		  DIFF_VERDICT_MOVED,
		  SECOND },
		/* ... or might be anything */
		{ { [FIRST] = { 0.02, 0.001, 0.01 },
		    [SECOND] = { -0.02, 0.001, 0.01 },
		    [CLASS] = { 0.0005, 0.03, 1 },
		    [PACKAGE] = { 0.0005, 0.05, 1 } },
		  DIFF_VERDICT_UP,
		  DIFF_NONE },
		/* ... or grew too */
		{ { [FIRST] = { 0.02, 0.001, 0.01 },
		    [SECOND] = { -0.01, 0.001, 0.01 },
		    [CLASS] = { 0.01, 0.002, 0.01 },
		    [PACKAGE] = { 0.01, 0.002, 0.01 } },
		  DIFF_VERDICT_UP,
		  DIFF_NONE },
		/* the class grew, the package did not */
		{ { [FIRST] = { 0.02, 0.001, 0.01 },
		    [SECOND] = { -0.01, 0.001, 0.01 },
		    [CLASS] = { 0.01, 0.002, 0.01 },
		    [PACKAGE] = { 0.0, 0.002, 1 } },
		  DIFF_VERDICT_MOVED,
		  SECOND },
		/* nobody surely shrank */
		{ { [FIRST] = { 0.02, 0.001, 0.01 },
		    [SECOND] = { -0.02, 0.03, 0.5 },
		    [CLASS] = { 0.0, 0.002, 1 },
		    [PACKAGE] = { 0.0, 0.002, 1 } },
		  DIFF_VERDICT_UP,
		  DIFF_NONE },
		/* another one under the same caller shrank */
		{ { [FIRST] = { 0.02, 0.001, 0.01 },
		    [CLASS] = { 0.02, 0.001, 0.01 },
		    [PACKAGE] = { 0.02, 0.001, 0.01 },
		    [CALLER] = { 0.0, 0.002, 1 },
		    [FIRST_PLACE] = { 0.02, 0.001, 0.01 },
		    [SECOND_PLACE] = { -0.02, 0.001, 0.01 } },
		  DIFF_VERDICT_MOVED,
		  SECOND_PLACE },
		/* what it calls shrank by as much: the compiler draws that line */
		{ { [FIRST] = { 0.02, 0.001, 0.01 },
		    [CLASS] = { 0.02, 0.001, 0.01 },
		    [PACKAGE] = { 0.02, 0.001, 0.01 },
		    [CALLEE] = { -0.0205, 0.001, 0.01 } },
		  DIFF_VERDICT_MOVED,
		  CALLEE },
		/* ... by less: the difference is a change */
		{ { [FIRST] = { 0.02, 0.001, 0.01 },
		    [CLASS] = { 0.02, 0.001, 0.01 },
		    [PACKAGE] = { 0.02, 0.001, 0.01 },
		    [CALLEE] = { -0.01, 0.001, 0.01 } },
		  DIFF_VERDICT_UP,
		  DIFF_NONE },
		/* ... or by nobody knows how much */
		{ { [FIRST] = { 0.02, 0.019, 0.01 },
		    [CLASS] = { 0.02, 0.001, 0.01 },
		    [PACKAGE] = { 0.02, 0.001, 0.01 },
		    [CALLEE] = { -0.02, 0.019, 0.01 } },
		  DIFF_VERDICT_UP,
		  DIFF_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct change changes[ITEMS];
		uint32_t partner = 0;

		for (int item = 0; item < ITEMS; item++) {
			changes[item] = rows[i].changes[item];
			if (changes[item].q == 0) /* not mentioned: nothing was found */
				changes[item] = (struct change){ 0, 0.001, 1 };
		}
		assert_int_equal(verdict_of_first(changes, &partner), rows[i].verdict);
		assert_int_equal(partner, rows[i].partner);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_roof_holds_together_is_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
