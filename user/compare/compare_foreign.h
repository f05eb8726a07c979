/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded files of any profiler (async-profiler, stackcollapse-perf.pl, jbpf dump) as the two sides
 * of a comparison. They have no times, so there is one block a side and nothing can be sure.
 */
#ifndef JBPF_COMPARE_COMPARE_FOREIGN_H
#define JBPF_COMPARE_COMPARE_FOREIGN_H

#include <stdint.h>

#include "user/util/attributes.h"
#include "user/compare/compare_load.h"
#include "user/compare/compare_notes.h"
#include "user/diff/diff_catalog.h"

/*
 * Reads both. What is wrong with a file is printed, one line each: damaged lines are skipped.
 * `before` and `after` are ended with compare_loaded_release(). 0 or -errno, said already.
 */
__must_check int compare_foreign_load(const char *path_before, const char *path_after,
				      struct diff_catalog *catalog, struct compare_notes *notes,
				      struct compare_loaded *before, struct compare_loaded *after);

#endif
