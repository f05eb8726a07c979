/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The merged call tree of a comparison: the items of kind DIFF_KIND_PATH in the shape of a struct
 * tree, so that its order and its pruning are those of the other pictures. Node 0 stands for all.
 */
#ifndef JBPF_DIFF_DIFF_PATHS_H
#define JBPF_DIFF_DIFF_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/output/diff/diff_output.h"
#include "user/output/tree.h"

enum { DIFF_PATHS_BEFORE = 0, DIFF_PATHS_AFTER = 1, DIFF_PATHS_SIDES = 2 };

struct diff_paths_sum {
	uint64_t samples[DIFF_PATHS_SIDES];
	double share[DIFF_PATHS_SIDES];
};

/* Zero-initialise; end with diff_paths_release(). */
struct diff_paths {
	struct tree tree; /* a frame per place; `self` and `total` are weights, not samples */
	uint32_t *items;  /* by frame: the PATH; DIFF_NONE for the root and hidden frames */
	struct diff_paths_sum *totals; /* by node, with what is below it */
	struct diff_paths_sum *selfs;  /* by node */
};

/*
 * All places, siblings by name. Names are borrowed from the catalog. 0 or -ENOMEM; `out` is
 * untouched then.
 */
__must_check int diff_paths_make(const struct diff_output *diff, struct diff_paths *out);

/*
 * Keeps the `node_max` places that matter most: those with a change that was found and what leads to
 * them, then the heaviest. What a node loses becomes one child of kind TREE_KIND_HIDDEN, its last.
 * 0 or -ENOMEM; the paths can only be released then.
 */
__must_check int diff_paths_prune(struct diff_paths *paths, size_t node_max);

void diff_paths_release(struct diff_paths *paths);

/* How pictures tell a frame of a comparison apart. */
enum tree_kind diff_paths_kind(const struct diff_catalog_name *name, bool is_process);

/* The item of a node, or DIFF_NONE. */
static inline uint32_t diff_paths_item(const struct diff_paths *paths, size_t node)
{
	return paths->items[paths->tree.nodes[node].frame];
}

#endif
