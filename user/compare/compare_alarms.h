/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alarms of a comparison in words, one line per cause: a method that needs more shows in all its
 * callers, too, and nobody wants to read that up the whole stack.
 */
#ifndef JBPF_COMPARE_COMPARE_ALARMS_H
#define JBPF_COMPARE_COMPARE_ALARMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/diff/diff.h"
#include "user/diff/diff_catalog.h"
#include "user/util/strbuf.h"

struct compare_alarm {
	uint32_t item;	     /* METHOD_x that tells most about the cause */
	uint32_t origin;     /* its method: a METHOD_TOTAL */
	uint32_t caller_cnt; /* other methods that changed for that reason alone */
};

/* Largest change first. The caller frees *out. 0 or -ENOMEM. */
__must_check int compare_alarms_list(const struct diff_result *result,
				     const struct diff_catalog *catalog, struct compare_alarm **out,
				     size_t *cnt_out);

/*
 * Is a method new as surely as an alarm needs to be? What was not there before never is an alarm: a feature needs
 * CPU. Where the whole needs more, a deployment got slower all the same.
 */
bool compare_alarms_has_new(const struct diff_result *result, const struct diff_catalog *catalog,
			    const struct diff_options *options);

/*
 * Appends one alarm, inert on terminals, without newline: "shop.Tax.of +21.3 % (95 % interval +15.0
 * to +27.9), 2.10 % -> 2.57 % of the whole, q 0.0004, seen in 3 callers".
 */
int compare_alarms_text(const struct diff_result *result, const struct diff_catalog *catalog,
			const struct compare_alarm *alarm, struct strbuf *out);

/* Why there can be no alarm, whatever changed; "" when there can. */
const char *compare_alarms_obstacle(const struct diff_summary *summary,
				    const struct diff_options *options);

#endif
