/* SPDX-License-Identifier: Apache-2.0 */
/* Are the two sides comparable at all? Failed gates turn alarms off, two of them all tests. */
#ifndef JBPF_DIFF_GATES_H
#define JBPF_DIFF_GATES_H

#include <stdbool.h>

#include "user/diff/diff.h"
#include "user/diff/diff_plan.h"

void diff_gates_check(const struct diff_input *input, const struct diff_options *options,
		      const struct diff_plan *plan, struct diff_gate_result out[DIFF_GATE_CNT]);

/* Did a gate fail without which there is nothing to test? */
bool diff_gates_force_descriptive(const struct diff_gate_result gates[DIFF_GATE_CNT]);

#endif
