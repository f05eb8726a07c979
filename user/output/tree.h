/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call tree of a profile: equal beginnings of stacks share nodes. Nodes lie in preorder, the
 * children of a node by name, so a picture of the same program looks the same tomorrow.
 */
#ifndef JBPF_OUTPUT_TREE_H
#define JBPF_OUTPUT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/model/profile.h"
#include "user/model/frame_kind.h"
#include "user/util/strtab.h"

/* What a reader tells apart: the kinds of code, and four that only the text knows. The values are
 * used in the HTML page. */
enum tree_kind {
	TREE_KIND_NATIVE = FRAME_KIND_NATIVE,
	TREE_KIND_KERNEL = FRAME_KIND_KERNEL,
	TREE_KIND_JIT = FRAME_KIND_JIT,
	TREE_KIND_C1 = FRAME_KIND_C1,
	TREE_KIND_INTERPRETED = FRAME_KIND_INTERPRETED,
	TREE_KIND_INLINED = FRAME_KIND_INLINED,
	TREE_KIND_UNKNOWN = 6, /* "[unknown]", "[libfoo.so]": a marker without a suffix */
	TREE_KIND_PROCESS = 7, /* the first frame of a stack */
	TREE_KIND_HIDDEN = 8,  /* stands for pruned nodes */
	TREE_KIND_WAIT = 9,    /* STACK_LINE_CPU_WAIT, STACK_LINE_DISK: no code runs */
	TREE_KIND_CNT,
};

struct tree_frame {
	const char *name; /* without the kind's suffix; lives as long as the tree */
	size_t name_len;
	enum tree_kind kind;
};

struct tree_node {
	uint32_t frame;	     /* index in frames */
	uint32_t parent;     /* index in nodes; 0 for the root, too */
	uint32_t depth;	     /* 0 = the root, which stands for all stacks */
	uint32_t hidden_cnt; /* nodes that a TREE_KIND_HIDDEN node stands for */
	uint32_t tiers;	     /* index in tiers, if there are any */
	uint64_t self;
	uint64_t total; /* self + the children's totals; saturates */
};

/* Zero-initialise; end with tree_release(). */
struct tree {
	struct tree_node *nodes; /* nodes[0] is the root */
	size_t node_cnt;
	struct tree_frame *frames; /* frames[0] is the root's, "all" */
	size_t frame_cnt;
	struct strtab *names; /* owns the frames' bytes */
	/* Of a tree of methods: by enum frame_kind, how much of a node's total which tier ran. Else NULL. */
	uint64_t (*tiers)[FRAME_KIND_CNT];
};

/* Sorts the profile. 0, -ENOMEM, or -E2BIG past 4 G nodes; `out` is untouched then. */
__must_check int tree_build(struct profile *profile, struct tree *out);
/*
 * The same with a node for each method below its caller, whichever tiers ran it: its kind is that of compiled
 * code, and its tiers are told beside it.
 */
__must_check int tree_build_methods(struct profile *profile, struct tree *out);

/*
 * Keeps the `node_max` (at least 1) heaviest nodes. What a node loses becomes one child of kind
 * TREE_KIND_HIDDEN, its last, so that sums stay right; these come on top of node_max. 0 or -ENOMEM
 * (the tree is unchanged).
 */
__must_check int tree_prune(struct tree *tree, size_t node_max);

void tree_release(struct tree *tree);

/* By name, then kind: <0, 0, >0. */
int tree_compare_frames(const struct tree_frame *a, const struct tree_frame *b);
/* The same of ids, for qsort_r(). */
int tree_compare_frame_ids(const void *left, const void *right, void *frames);

/* Of the deepest node. */
size_t tree_depth(const struct tree *tree);

/* Of a name without a suffix that is no stack's first frame. */
enum tree_kind tree_kind_of_native(const char *name, size_t len);
/* Is it Java, of whichever tier? */
bool tree_kind_is_java(enum tree_kind kind);

/*
 * Which frames are the same method: for each frame the index of the one that stands for all of
 * them. The tiers of a Java method are one; otherwise a frame is a method of its own. The caller
 * frees it; NULL when memory is short.
 */
uint32_t *tree_method_ids(const struct tree *tree);

/* Self and total of a frame, or of a method, in all its places. */
struct tree_method {
	uint32_t frame; /* that stands for it */
	uint64_t self;
	uint64_t total; /* a method that occurs several times in a stack counts once */
	uint64_t
		tiers[FRAME_KIND_CNT]; /* of Java: total, by the tier that is nearest to the root */
};

enum tree_order {
	TREE_ORDER_SELF = 0,
	TREE_ORDER_TOTAL = 1,
};

/* One entry per frame of a whole tree but the root's, by self, total (both descending), name. The
 * caller frees *out. 0 or -ENOMEM. */
__must_check int tree_methods(const struct tree *tree, struct tree_method **out, size_t *cnt_out);
/* The same with one entry per method, whichever tiers ran it: see tree_method_ids(). */
__must_check int tree_methods_merged(const struct tree *tree, enum tree_order order,
				     struct tree_method **out, size_t *cnt_out);

#endif
