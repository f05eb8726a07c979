// SPDX-License-Identifier: Apache-2.0
/* Tiers of leaves and the compiler's stacks, counted; see compare_warm_up.h. */
#include "user/compare/compare_warm_up.h"

#include <stdint.h>
#include <string.h>

#include "user/model/folded_line.h"
#include "user/model/stack_text.h"
#include "user/util/lines.h"

/* The root of C1's and C2's threads, src/hotspot/share/compiler/compileBroker.cpp. */
#define COMPILER_ROOT	"CompileBroker::compiler_thread_loop"
#define EARLY_SHARE_MAX 0.10 /* of samples in Java code: interpreted, or compiled by C1 */
#define COMPILER_MAX	0.05 /* of all samples */

struct warm_up {
	double samples;
	double java;
	double early;
	double compiler;
};

static void add_stack(struct warm_up *signs, const char *stack, size_t len, uint64_t count)
{
	struct stack_frame leaf;

	signs->samples += (double)count;
	if (memmem(stack, len, COMPILER_ROOT, strlen(COMPILER_ROOT)))
		signs->compiler += (double)count;
	if (!stack_text_leaf(stack, len, &leaf))
		return;
	if (leaf.kind == FRAME_KIND_INTERPRETED || leaf.kind == FRAME_KIND_C1)
		signs->early += (double)count;
	if (leaf.kind != FRAME_KIND_NATIVE && leaf.kind != FRAME_KIND_KERNEL)
		signs->java += (double)count;
}

bool compare_warm_up_is_over(const char *text, size_t len)
{
	struct lines lines = lines_init(text, len);
	struct warm_up signs = { 0 };
	struct line line;

	while (lines_next(&lines, &line)) {
		size_t stack_len;
		uint64_t count;

		if (folded_line_split(line.at, line.len, &stack_len, &count))
			add_stack(&signs, line.at, stack_len, count);
	}
	return signs.java >= COMPARE_WARM_UP_JAVA_MIN &&
	       signs.early <= EARLY_SHARE_MAX * signs.java &&
	       signs.compiler <= COMPILER_MAX * signs.samples;
}
