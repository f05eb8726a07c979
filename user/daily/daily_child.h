/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One service of the daily job in a process of its own. What is in a service's profile is up to the
 * service: one with a million different stacks takes more memory than there is. That process has
 * limits, of memory and time, and whatever its end is, it is that service's: the others are judged.
 *
 * All services of a run together have a limit, too: what comes when it is used up is not begun, and said to be so.
 *
 * In: the job, whose reader is closed, and a service. Out: its outcome, and its files.
 */
#ifndef JBPF_DAILY_CHILD_H
#define JBPF_DAILY_CHILD_H

#include "user/daily/daily_report.h"
#include "user/daily/daily_service.h"
#include "user/daily/daily_services.h"
#include "user/util/attributes.h"

/*
 * A different stack takes 800 bytes where all its names are new: the 100,000 that are kept of each of two
 * days take 160 MB. It is below MemoryMax= of the unit, so that what is too much is an error here and
 * not a kill.
 */
#define DAILY_CHILD_BYTES (3ull << 29)
#define DAILY_CHILD_S	  600 /* a tenth of that is long on a slow disk */

/*
 * Of the whole run. The unit's TimeoutStartSec= would end it without a page, and is longer. Outcomes are
 * kept until the end: a thousand of them are a few MB, unless somebody wants them to be more.
 */
#define DAILY_RUN_S	   6600
#define DAILY_OUTCOMES_MAX (128u << 20)

/* What is left of that. */
struct daily_budget {
	uint64_t end_ns; /* CLOCK_MONOTONIC */
	size_t outcome_bytes;
};

/*
 * Compares it. 0, also when that failed, which *out then says; -ENOMEM: this process has no memory
 * left. *out is to be released in any case.
 */
__must_check int daily_child_run(const struct daily_job *job, const struct daily_service *service,
				 struct daily_budget *budget, struct daily_outcome *out);

#endif
