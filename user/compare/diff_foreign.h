/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded files of any profiler (async-profiler, stackcollapse-perf.pl, jbpf dump) as the two sides
 * of a comparison. They have no times, so there is one block a side and nothing can be sure.
 */
#ifndef JBPF_COMPARE_DIFF_FOREIGN_H
#define JBPF_COMPARE_DIFF_FOREIGN_H

#include <stdint.h>

#include "user/util/attributes.h"
#include "user/compare/diff_load.h"
#include "user/compare/diff_notes.h"
#include "user/diff/diff_catalog.h"

/*
 * Reads both. What is wrong with a file is printed, one line each: damaged lines are skipped.
 * `before` and `after` are ended with diff_loaded_release(). 0 or -errno, said already.
 */
__must_check int diff_foreign_load(const char *path_before, const char *path_after,
				   struct diff_catalog *catalog, struct diff_notes *notes,
				   struct diff_loaded *before, struct diff_loaded *after);

#endif
