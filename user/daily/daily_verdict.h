/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is said about a service's day: the comparison with its history, and the changes of the series,
 * as an outcome with alarms. No I/O, so that what its words are worth can be simulated.
 */
#ifndef JBPF_DAILY_VERDICT_H
#define JBPF_DAILY_VERDICT_H

#include <stdint.h>

#include "user/util/attributes.h"
#include "user/daily/daily_report.h"
#include "user/compare/compare_notes.h"
#include "user/diff/diff.h"
#include "user/diff/diff_catalog.h"
#include "user/store/series/series.h"

#define DAILY_ALARMS_MAX 500 /* of one service that are kept */
#define DAILY_KNOWN_MAX	 20

struct daily_verdict {
	const struct diff_options *statistics;
	const struct series *series; /* up to date */
	const struct diff_catalog *catalog;
	const struct diff_side *before;
	const struct diff_side *after;
	uint32_t before_day; /* the first day of `before`: history ends there */
	uint32_t last_day;   /* of `after` */
	enum event event;
};

/*
 * Compares and fills in the outcome's state, why, alarms, known changes and figures. The caller frees
 * *result_out. 0 or -ENOMEM.
 */
__must_check int daily_verdict_find(const struct daily_verdict *verdict, struct daily_outcome *out,
				    struct diff_result **result_out);

/* Adds what a reader of the service's page should know besides. 0 or -ENOMEM. */
__must_check int daily_verdict_notes(const struct daily_outcome *outcome,
				     struct compare_notes *notes);

#endif
