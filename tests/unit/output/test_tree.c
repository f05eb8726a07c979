// SPDX-License-Identifier: Apache-2.0
/* The call tree: shape, sums, order, pruning, methods. Trees are compared as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/output_profiles.h"
#include "user/output/tree.h"

static struct tree tree_of(struct profile *profile)
{
	struct tree tree = { 0 };

	assert_int_equal(tree_build(profile, &tree), 0);
	profile__free(profile);
	return tree;
}

/* A node a line: blanks for depth, name, kind, self / total. */
static void tree_text(const struct tree *tree, struct strbuf *out)
{
	for (size_t i = 0; i < tree->node_cnt; i++) {
		const struct tree_node *node = &tree->nodes[i];
		const struct tree_frame *frame = &tree->frames[node->frame];

		strbuf_printf(out, "%*s%.*s %d %lu/%lu\n", (int)node->depth, "",
			      (int)frame->name_len, frame->name, (int)frame->kind,
			      (unsigned long)node->self, (unsigned long)node->total);
	}
}

/* Sums, parents and depths of any tree. */
static void check_tree(const struct tree *tree)
{
	uint64_t *sums = calloc(tree->node_cnt, sizeof(*sums));

	assert_non_null(sums);
	for (size_t i = tree->node_cnt; i-- > 0;) {
		const struct tree_node *node = &tree->nodes[i];

		assert_true(node->frame < tree->frame_cnt);
		assert_int_equal(node->total, node->self + sums[i]);
		if (i == 0)
			break;
		assert_true(node->parent < i);
		assert_int_equal(node->depth, tree->nodes[node->parent].depth + 1);
		assert_true(node->depth <= tree->nodes[i - 1].depth + 1);
		sums[node->parent] += node->total;
	}
	free(sums);
}

static void check_tree_of(const char *folded, const char *expected)
{
	struct strbuf text __cleanup_strbuf = STRBUF_INIT;
	struct tree tree = tree_of(profile_of(folded));

	check_tree(&tree);
	tree_text(&tree, &text);
	assert_string_equal(strbuf_str(&text), expected);
	tree_release(&tree);
}

static void trees_share_beginnings_and_sum_up(void **state)
{
	(void)state;
	check_tree_of("", "all 7 0/0\n");
	check_tree_of("java 3\n", "all 7 0/3\n java 7 3/3\n");
	check_tree_of("java;a_[j];b_[i] 2\njava;a_[j];c 3\njava;a_[j] 4\n",
		      "all 7 0/9\n java 7 0/9\n  a 2 4/9\n   b 5 2/2\n   c 0 3/3\n");
	check_tree_of(
		"x;a_[k] 1\nx;a_[1] 2\nx;a_[0] 4\nx;a 8\nx;[unknown] 16\nx;[unknown]_[k] 32\n",
		"all 7 0/63\n x 7 0/63\n  [unknown] 1 32/32\n  [unknown] 6 16/16\n"
		"  a 0 8/8\n  a 1 1/1\n  a 3 2/2\n  a 4 4/4\n");
	/* Known, and nobody's code. */
	check_tree_of("x;[disk sleep] 1\nx;[waiting for a CPU] 2\n",
		      "all 7 0/3\n x 7 0/3\n  [disk sleep] 9 1/1\n  [waiting for a CPU] 9 2/2\n");
}

/* '-' and ' ' sort before ';', so equal first frames are not neighbours in the text. */
static void siblings_are_merged_though_their_lines_lie_apart(void **state)
{
	(void)state;
	check_tree_of("a 1\na b;x 2\na-c;x 4\na;x 8\na;y 16\n",
		      "all 7 0/31\n a 7 1/25\n  x 0 8/8\n  y 0 16/16\n a b 7 0/2\n  x 0 2/2\n"
		      " a-c 7 0/4\n  x 0 4/4\n");
	check_tree_of("p;ab;x 1\np;a;bx 2\n", "all 7 0/3\n p 7 0/3\n  a 0 0/2\n   bx 0 2/2\n"
					      "  ab 0 0/1\n   x 0 1/1\n");
}

static void a_process_may_be_called_all(void **state)
{
	(void)state;
	check_tree_of("all;all 2\n", "all 7 0/2\n all 7 0/2\n  all 0 2/2\n");
}

static void deep_and_wide_trees_hold(void **state)
{
	struct tree tree = tree_of(profile_deep(1024));

	(void)state;
	check_tree(&tree);
	assert_int_equal(tree.node_cnt, 1026);
	assert_int_equal(tree.nodes[1025].depth, 1025);
	tree_release(&tree);

	/* 100,000 stacks of one sample on average 5.5; leaves are all distinct. */
	tree = tree_of(profile_wide(100000));
	check_tree(&tree);
	assert_int_equal(tree.nodes[0].total, 550000);
	assert_int_equal(tree.node_cnt, 3 + 7 + 7000 + 100000);
	tree_release(&tree);
}

static void counts_saturate(void **state)
{
	struct tree tree =
		tree_of(profile_of("a;b 18446744073709551615\na;c 18446744073709551615\n"));

	(void)state;
	assert_true(tree.nodes[0].total == UINT64_MAX);
	tree_release(&tree);
}

static void hostile_names_stay_apart(void **state)
{
	struct tree tree = tree_of(profile_hostile());
	static const char *const names[] = { HOSTILE_NAMES };

	(void)state;
	check_tree(&tree);
	assert_int_equal(tree.node_cnt, 1 + 3 * sizeof(names) / sizeof(names[0]));
	tree_release(&tree);
}

static void pruning_keeps_the_heaviest_and_the_sums(void **state)
{
	struct strbuf text __cleanup_strbuf = STRBUF_INIT;
	struct tree tree = tree_of(profile_of("p;a 50\np;b;c 5\np;b;d 20\np;e 1\np;f;g 2\nq 3\n"));

	(void)state;
	/* Kept: all 81, p 78, a 50, b 25, d 20. */
	assert_int_equal(tree_prune(&tree, 5), 0);
	check_tree(&tree);
	tree_text(&tree, &text);
	assert_string_equal(strbuf_str(&text),
			    "all 7 0/81\n p 7 0/78\n  a 0 50/50\n  b 0 0/25\n   d 0 20/20\n"
			    "   hidden 8 5/5\n  hidden 8 3/3\n hidden 8 3/3\n");
	assert_int_equal(tree.nodes[5].hidden_cnt, 1);
	assert_int_equal(tree.nodes[6].hidden_cnt, 3);
	tree_release(&tree);
}

static void pruning_among_equals_keeps_parents_before_children(void **state)
{
	(void)state;
	for (size_t node_max = 1; node_max <= 12; node_max++) {
		struct tree tree = tree_of(profile_of("p;a;b;c 1\np;d;e;f 1\nq;r;s 1\n"));
		size_t real_cnt = 0;

		assert_int_equal(tree_prune(&tree, node_max), 0);
		check_tree(&tree);
		assert_int_equal(tree.nodes[0].total, 3);
		for (size_t i = 0; i < tree.node_cnt; i++)
			real_cnt += tree.frames[tree.nodes[i].frame].kind != TREE_KIND_HIDDEN;
		assert_int_equal(real_cnt, node_max < 11 ? node_max : 11);
		tree_release(&tree);
	}
}

static void pruning_counts_every_lost_node(void **state)
{
	struct tree tree = tree_of(profile_wide(100000));
	size_t node_cnt = tree.node_cnt;
	size_t hidden_cnt = 0;
	size_t kept_cnt = 0;

	(void)state;
	assert_int_equal(tree_prune(&tree, 2000), 0);
	check_tree(&tree);
	for (size_t i = 0; i < tree.node_cnt; i++) {
		if (tree.frames[tree.nodes[i].frame].kind == TREE_KIND_HIDDEN)
			hidden_cnt += tree.nodes[i].hidden_cnt;
		else
			kept_cnt++;
	}
	assert_int_equal(kept_cnt, 2000);
	assert_int_equal(kept_cnt + hidden_cnt, node_cnt);
	assert_int_equal(tree.nodes[0].total, 550000);
	tree_release(&tree);
}

static void a_recursive_method_counts_once_per_stack(void **state)
{
	struct tree tree = tree_of(profile_of("p;r;r;x;r 3\np;r;y 4\np;z;r 5\n"));
	struct tree_method *methods = NULL;
	size_t cnt = 0;

	(void)state;
	assert_int_equal(tree_methods(&tree, &methods, &cnt), 0);
	/* r 8/12, y 4/4, then p 0/12, z 0/5, x 0/3. */
	static const struct {
		const char *name;
		uint64_t self;
		uint64_t total;
	} expected[] = {
		{ "r", 8, 12 }, { "y", 4, 4 }, { "p", 0, 12 }, { "z", 0, 5 }, { "x", 0, 3 }
	};

	assert_int_equal(cnt, 5);
	for (size_t i = 0; i < cnt; i++) {
		assert_string_equal(tree.frames[methods[i].frame].name, expected[i].name);
		assert_int_equal(methods[i].self, expected[i].self);
		assert_int_equal(methods[i].total, expected[i].total);
	}
	free(methods);
	tree_release(&tree);
}

static void a_method_is_one_whatever_its_tier(void **state)
{
	/* r calls itself across tiers; the native and the kernel's r are others. */
	struct tree tree = tree_of(
		profile_of("p;r_[j];r_[i];x 3\np;r_[0] 4\np;r_[1];r_[j] 5\np;r 6\np;r_[k] 7\n"));
	struct tree_method *methods = NULL;
	size_t cnt;

	(void)state;
	assert_int_equal(tree_methods_merged(&tree, TREE_ORDER_TOTAL, &methods, &cnt), 0);
	assert_int_equal(cnt, 5);
	assert_string_equal(tree.frames[methods[0].frame].name, "p");
	assert_int_equal(methods[0].tiers[FRAME_KIND_JIT], 0);
	assert_true(tree_kind_is_java(tree.frames[methods[1].frame].kind));
	assert_int_equal(methods[1].self, 9);
	assert_int_equal(methods[1].total, 12);
	assert_int_equal(methods[1].tiers[FRAME_KIND_JIT], 3);
	assert_int_equal(methods[1].tiers[FRAME_KIND_INLINED], 0);
	assert_int_equal(methods[1].tiers[FRAME_KIND_INTERPRETED], 4);
	assert_int_equal(methods[1].tiers[FRAME_KIND_C1], 5);
	assert_int_equal(tree.frames[methods[2].frame].kind, TREE_KIND_KERNEL);
	assert_int_equal(tree.frames[methods[3].frame].kind, TREE_KIND_NATIVE);
	free(methods);
	tree_release(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_share_beginnings_and_sum_up),
		cmocka_unit_test(siblings_are_merged_though_their_lines_lie_apart),
		cmocka_unit_test(a_process_may_be_called_all),
		cmocka_unit_test(deep_and_wide_trees_hold),
		cmocka_unit_test(counts_saturate),
		cmocka_unit_test(hostile_names_stay_apart),
		cmocka_unit_test(pruning_keeps_the_heaviest_and_the_sums),
		cmocka_unit_test(pruning_among_equals_keeps_parents_before_children),
		cmocka_unit_test(pruning_counts_every_lost_node),
		cmocka_unit_test(a_recursive_method_counts_once_per_stack),
		cmocka_unit_test(a_method_is_one_whatever_its_tier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
