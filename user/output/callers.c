// SPDX-License-Identifier: Apache-2.0
/*
 * Who calls a method: the stacks from the method on, reversed, as a tree. The heaviest branches come
 * first; what has one caller only stands below it without another step to the right.
 */
#include "user/output/output.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/names/near_name.h"
#include "user/model/stack_text.h"
#include "user/output/escape.h"
#include "user/output/info.h"
#include "user/output/tree.h"
#include "user/util/cleanup.h"

#define SMALL_PART   100 /* branches below 1 / 100 of the whole are added up */
#define BRANCH	     "<- "
#define HINT_METHODS 5

/* ---- which methods ---- */

/* The pattern without the suffix of a tier, which names have in text: "a.B.c_[j]". */
static char *bare_pattern(const char *pattern)
{
	size_t len = strlen(pattern);

	for (int i = FRAME_KIND_KERNEL; i < FRAME_KIND_CNT; i++) {
		const char *suffix = frame_kind_suffix((enum frame_kind)i);
		size_t suffix_len = strlen(suffix);

		if (len > suffix_len && strcmp(pattern + len - suffix_len, suffix) == 0)
			return strndup(pattern, len - suffix_len);
	}
	return strdup(pattern);
}

static bool is_like(const char *pattern, const char *name)
{
	return strcmp(pattern, name) == 0 || fnmatch(pattern, name, 0) == 0;
}

/* A pattern without parameters is of all methods of the name. 1, 0 or -ENOMEM. */
static int is_asked_for(const char *pattern, const struct tree_frame *frame)
{
	size_t len = stack_text_method_len(frame->name, frame->name_len);
	__cleanup_free char *bare = NULL;

	if (is_like(pattern, frame->name))
		return 1;
	if (len == frame->name_len || !tree_kind_is_java(frame->kind))
		return 0;
	bare = strndup(frame->name, len);
	return bare ? is_like(pattern, bare) : -ENOMEM;
}

/* Which frames match, by index. NULL = out of memory. */
static bool *match_frames(const struct tree *tree, const char *pattern, bool *any_out)
{
	__cleanup_free char *bare = bare_pattern(pattern);
	bool *matches = calloc(tree->frame_cnt, sizeof(*matches));

	*any_out = false;
	if (!bare || !matches) {
		free(matches);
		return NULL;
	}
	for (size_t i = 1; i < tree->frame_cnt; i++) {
		int answer = is_asked_for(bare, &tree->frames[i]);

		if (answer < 0) {
			free(matches);
			return NULL;
		}
		matches[i] = answer;
		*any_out = *any_out || matches[i];
	}
	return matches;
}

/* "match" of "java.util.regex.Pattern.match", as long as that can be told. */
static const char *last_part(const char *name)
{
	const char *dot = memrchr(name, '.', stack_text_method_len(name, strlen(name)));

	return dot && dot[1] ? dot + 1 : name;
}

static uint32_t nearness(const char *pattern, const struct tree_frame *frame)
{
	uint32_t whole = near_name(pattern, frame->name);
	uint32_t part = near_name(last_part(pattern), last_part(frame->name));

	if (part != NEAR_NAME_FAR)
		part += 2; /* it counts less */
	return whole < part ? whole : part;
}

/* The nearest names; of equally near ones those with more samples. */
static int append_near(const struct tree *tree, const char *pattern, struct strbuf *out)
{
	__cleanup_free struct tree_method *methods = NULL;
	__cleanup_free uint32_t *near = NULL;
	size_t cnt;
	int err = tree_methods_merged(tree, TREE_ORDER_TOTAL, &methods, &cnt);

	near = err ? NULL : reallocarray(NULL, cnt + 1, sizeof(*near));
	if (!near)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		near[i] = nearness(pattern, &tree->frames[methods[i].frame]);
	for (size_t named = 0; named < HINT_METHODS; named++) {
		const struct tree_frame *frame;
		size_t best = cnt;

		for (size_t i = 0; i < cnt; i++) {
			if (near[i] != NEAR_NAME_FAR && (best == cnt || near[i] < near[best]))
				best = i;
		}
		if (best == cnt)
			break;
		near[best] = NEAR_NAME_FAR;
		frame = &tree->frames[methods[best].frame];
		strbuf_puts(out, named ? ", " : "");
		escape_terminal(out, frame->name, frame->name_len);
	}
	return strbuf_error(out);
}

/* ---- the tree of callers ---- */

static int append_frame(const struct tree *tree, uint32_t frame, struct strbuf *stack)
{
	const struct tree_frame *of = &tree->frames[frame];
	enum frame_kind kind = FRAME_KIND_NATIVE;

	if (tree_kind_is_java(of->kind))
		kind = FRAME_KIND_JIT; /* one method, whatever its tier */
	else if (of->kind == TREE_KIND_KERNEL)
		kind = FRAME_KIND_KERNEL;
	return stack_text_append(stack, of->name, kind);
}

/* "method;caller;its caller ...", up to the root. */
static int add_reversed(const struct tree *tree, uint32_t node, struct strbuf *stack,
			struct profile *out)
{
	uint64_t samples = tree->nodes[node].total;
	int err = 0;

	strbuf_clear(stack);
	for (; node && !err; node = tree->nodes[node].parent)
		err = append_frame(tree, tree->nodes[node].frame, stack);
	if (err && err != -E2BIG) /* of a stack that long the method's end is shown */
		return err;
	return profile__add(out, strbuf_str(stack), stack->len, samples);
}

static int reverse(const struct tree *tree, const bool *matches, struct profile *out)
{
	__cleanup_strbuf struct strbuf stack = STRBUF_INIT;
	size_t i = 1;

	while (i < tree->node_cnt) {
		uint32_t depth = tree->nodes[i].depth;
		int err;

		if (!matches[tree->nodes[i].frame]) {
			i++;
			continue;
		}
		err = add_reversed(tree, (uint32_t)i, &stack, out);
		if (err)
			return err;
		/* What it calls, itself among them, is in its total. */
		for (i++; i < tree->node_cnt && tree->nodes[i].depth > depth;)
			i++;
	}
	return 0;
}

/* ---- as text ---- */

/* A line that is still to come. */
struct pending {
	uint32_t node;	    /* 0 = the small branches of one place, added up */
	uint32_t small_cnt; /* of these */
	uint64_t samples;
	size_t indent;
	bool is_branch; /* or the only caller of the line above */
};

struct rendering {
	const struct output_info *info;
	const struct tree *tree;
	const uint32_t *ends;  /* by node: where the nodes below it end */
	struct pending *stack; /* the next line is its last */
	size_t cnt;
	int width; /* of a count */
	struct strbuf *out;
};

static int compare_pending(const void *left, const void *right)
{
	const struct pending *a = left, *b = right;

	if (a->samples != b->samples)
		return a->samples < b->samples ? -1 : 1;
	return (a->node < b->node) - (a->node > b->node); /* by name, once it is reversed */
}

/* Puts the callers of a line on the stack, the heaviest last. */
static void push_callers(struct rendering *rendering, const struct pending *line)
{
	const struct tree *tree = rendering->tree;
	const struct tree_node *node = &tree->nodes[line->node];
	uint64_t whole = tree->nodes[0].total;
	size_t first = rendering->cnt, indent = line->indent;
	struct pending small = { .is_branch = true };

	if (line->node)
		indent += strlen(BRANCH);
	for (uint32_t i = line->node + 1; i < rendering->ends[line->node]; i = rendering->ends[i]) {
		uint64_t samples = tree->nodes[i].total;

		if (samples < whole / SMALL_PART) {
			small.small_cnt++;
			small.samples += samples;
			continue;
		}
		rendering->stack[rendering->cnt++] = (struct pending){
			.node = i, .samples = samples, .indent = indent, .is_branch = true
		};
	}
	qsort(rendering->stack + first, rendering->cnt - first, sizeof(*rendering->stack),
	      compare_pending);
	if (line->node && rendering->cnt == first + 1 && !small.small_cnt && !node->self) {
		rendering->stack[first].is_branch = false;
		rendering->stack[first].indent = line->indent;
	}
	if (!small.small_cnt)
		return;
	small.indent = indent;
	memmove(rendering->stack + first + 1, rendering->stack + first,
		(rendering->cnt++ - first) * sizeof(small));
	rendering->stack[first] = small;
}

static void append_line(const struct rendering *rendering, const struct pending *line)
{
	const struct tree *tree = rendering->tree;
	const struct tree_frame *frame = &tree->frames[tree->nodes[line->node].frame];
	struct strbuf *out = rendering->out;
	const char *suffix =
		frame->kind == TREE_KIND_KERNEL ? frame_kind_suffix(FRAME_KIND_KERNEL) : "";
	bool is_method = line->node && tree->nodes[line->node].depth == 1;
	size_t before = out->len;

	strbuf_printf(out, "%6.2f  %*" PRIu64 "  %*s",
		      info_percent(line->samples, tree->nodes[0].total), rendering->width,
		      line->samples, (int)line->indent, "");
	if (!is_method)
		strbuf_puts(out, line->is_branch ? BRANCH : "   ");
	if (!line->node) {
		strbuf_printf(out, "%" PRIu32 " more, each below 1 %%\n", line->small_cnt);
		return;
	}
	escape_terminal_within(out, frame->name, frame->name_len,
			       info_name_columns(rendering->info,
						 out->len - before + strlen(suffix)));
	strbuf_printf(out, "%s\n", suffix);
}

/* NULL = out of memory. */
static uint32_t *find_ends(const struct tree *tree)
{
	uint32_t *ends = reallocarray(NULL, tree->node_cnt, sizeof(*ends));

	if (!ends)
		return NULL;
	for (size_t i = 0; i < tree->node_cnt; i++)
		ends[i] = (uint32_t)i + 1;
	for (size_t i = tree->node_cnt - 1; i > 0; i--) {
		uint32_t parent = tree->nodes[i].parent;

		if (ends[i] > ends[parent])
			ends[parent] = ends[i];
	}
	return ends;
}

static int render(const struct tree *tree, const struct output_info *info, struct strbuf *out)
{
	/* Each node waits at most once, and each place with small branches has at least one. */
	__cleanup_free struct pending *stack = reallocarray(NULL, tree->node_cnt, sizeof(*stack));
	__cleanup_free uint32_t *ends = find_ends(tree);
	struct rendering rendering = {
		.info = info, .tree = tree, .ends = ends, .stack = stack, .out = out
	};

	if (!stack || !ends)
		return -ENOMEM;
	rendering.width = snprintf(NULL, 0, "%" PRIu64, tree->nodes[0].total);
	if (rendering.width < (int)strlen("TOTAL"))
		rendering.width = (int)strlen("TOTAL");
	strbuf_printf(out, "SHARE%%  %*s  METHOD, AND ITS CALLERS\n", rendering.width, "TOTAL");
	push_callers(&rendering, &(struct pending){ 0 });
	while (rendering.cnt) {
		struct pending line = stack[--rendering.cnt];

		append_line(&rendering, &line);
		if (line.node)
			push_callers(&rendering, &line);
	}
	return strbuf_error(out);
}

static int callers_of(const struct tree *tree, const bool *matches, const struct output_info *info,
		      struct strbuf *out)
{
	struct profile *callers = profile__new();
	struct tree reversed = { 0 };
	int err = callers ? reverse(tree, matches, callers) : -ENOMEM;

	if (!err)
		err = tree_build(callers, &reversed);
	if (!err)
		err = render(&reversed, info, out);
	tree_release(&reversed);
	profile__free(callers);
	return err;
}

int output_callers(struct profile *profile, const struct output_info *info, const char *pattern,
		   struct strbuf *out)
{
	__cleanup_free bool *matches = NULL;
	struct tree tree = { 0 };
	bool any;
	int err = tree_build(profile, &tree);

	if (err)
		return err;
	matches = match_frames(&tree, pattern, &any);
	if (!matches) {
		err = -ENOMEM;
	} else if (!any) {
		err = append_near(&tree, pattern, out);
		err = err ? err : -ENOENT;
	} else {
		info_append_header(out, info, tree.nodes[0].total);
		err = callers_of(&tree, matches, info, out);
	}
	tree_release(&tree);
	return err;
}
