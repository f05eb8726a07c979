/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daily job's work on one service: its series is brought up to date from the store, the days are
 * compared, and the pages written. Nothing of one service stays in memory for the next.
 */
#ifndef JBPF_DAILY_SERVICE_H
#define JBPF_DAILY_SERVICE_H

#include <stdint.h>

#include "user/util/attributes.h"
#include "user/cli/cmd_store.h"
#include "user/cli/option_groups.h"
#include "user/daily/daily_date.h"
#include "user/daily/daily_dir.h"
#include "user/daily/daily_report.h"
#include "user/daily/daily_services.h"
#include "user/diff/diff.h"
#include "user/store/store_source.h"

/* Different stacks of a side or day; many times as many fit into the memory of daily_child.h. */
#define DAILY_STACKS_MAX 100000

/*
 * Of more items than that (methods, classes, places in the tree) those with few samples on both sides
 * are forgotten before anything is computed, which takes many times the memory of counting.
 */
#define DAILY_ITEMS_MAX	       100000
#define DAILY_ITEM_SAMPLES_MIN 5

#define DAILY_FILL_MAX 30 /* days that are looked up in the store when the series lacks them */

/* What all services share. */
struct daily_job {
	const struct option_stores *stores;
	struct store_source *reader; /* NULL: not open; it has a thread, so a child opens its own */
	struct cmd_store_damage *damage;
	struct daily_dir *dir; /* its day was begun */
	const struct diff_options *statistics;
	uint64_t now_unix_ns;
	uint64_t store_first_unix_ns; /* when its samples begin */
	uint32_t days;		      /* on each side */
	enum event event;
	struct daily_date before_first;
	struct daily_date before_last;
	struct daily_date after_first;
	struct daily_date after_last;
};

/*
 * Does all of it, with an open reader. 0, also when the service could not be compared or its files not be written, which
 * *out then says; -ENOMEM; *out is to be released in any case.
 */
__must_check int daily_service_run(const struct daily_job *job, const struct daily_service *service,
				   struct daily_outcome *out);

#endif
