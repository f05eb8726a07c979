/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One comparison from the store, or of two files, to its result: sides, earlier days, statistics,
 * notes, and everything that the outputs want to know. Nothing is written.
 *
 *     load, then (when both sides have samples) run, then output or alarms, then release
 *
 * In: selections of two sides. Out: the result, with all that outputs and alarms borrow. The caller owns it.
 */
#ifndef JBPF_COMPARE_COMPARISON_H
#define JBPF_COMPARE_COMPARISON_H

#include <stdbool.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/cli/cmd_store.h"
#include "user/compare/compare_options.h"
#include "user/compare/compare_hosts.h"
#include "user/compare/compare_load.h"
#include "user/compare/compare_notes.h"
#include "user/compare/compare_past.h"
#include "user/diff/diff.h"
#include "user/output/diff/diff_output.h"
#include "user/store/store_source.h"
#include "user/util/strbuf.h"

/* Zero-initialise; end with comparison_release(). It may not be moved after comparison_run(). */
struct comparison {
	struct diff_options statistics;
	struct diff_catalog *catalog;
	struct compare_loaded before;
	struct compare_loaded after;
	struct compare_past past;
	struct compare_hosts hosts;    /* of groups: those of the side before, or its replicas */
	struct compare_hosts replicas; /* of groups: those of the side after */
	struct compare_notes notes;
	struct diff_result *result;
	struct cmd_store_damage damage;
	uint64_t block_ns;
	struct strbuf title;
	struct strbuf subtitle;
	struct strbuf name_before;
	struct strbuf name_after;
	struct diff_output output; /* set by run */
};

void comparison_release(struct comparison *compare);

/*
 * Reads both sides. `block_ns` 0 = as long as fits the sides (diff_side_block_length_ns()). 0 or
 * -errno. Sides without samples are fine here.
 */
__must_check int comparison_load(struct store_source *reader,
				 const struct diff_cmd_options *options, uint64_t block_ns,
				 struct comparison *compare);

/* Reads two files instead. 0 or -errno, said already. */
__must_check int comparison_load_files(const struct diff_cmd_options *options,
				       struct comparison *compare);

/*
 * Compares; reads earlier days, or the hosts of one side each by itself, from the store for it (`reader` NULL: from files, there are none).
 * 0 or -errno.
 */
__must_check int comparison_run(struct store_source *reader, const struct diff_cmd_options *options,
				struct comparison *compare);

#endif
