/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One service of the daily job in a process of its own. What is in a service's profile is up to the
 * service: one with a million different stacks takes more memory than there is. That process has
 * limits, of memory and time, and whatever its end is, it is that service's: the others are judged.
 *
 * In: the job, whose reader is closed, and a service. Out: its outcome, and its files.
 */
#ifndef JBPF_DAILY_DIFF_DAYS_CHILD_H
#define JBPF_DAILY_DIFF_DAYS_CHILD_H

#include "user/daily/diff_days_report.h"
#include "user/daily/diff_days_service.h"
#include "user/daily/diff_days_services.h"
#include "user/util/attributes.h"

/*
 * A different stack takes 2 to 5 KB, by how many of its names are new, so these are 300,000 of them
 * and more; honest services have a tenth of that. It is below MemoryMax= of the unit, so that what
 * is too much is an error here and not a kill.
 */
#define DIFF_DAYS_CHILD_BYTES (3ull << 29)
#define DIFF_DAYS_CHILD_S     600 /* a tenth of that is long on a slow disk */

/*
 * Compares it. 0, also when that failed, which *out then says; -ENOMEM: this process has no memory
 * left. *out is to be released in any case.
 */
__must_check int diff_days_child_run(const struct diff_days_job *job,
				     const struct diff_days_service *service,
				     struct diff_days_outcome *out);

#endif
