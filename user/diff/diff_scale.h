/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The change of the process as a whole, which is taken out of the items' changes: how much more CPU
 * it used (load), and how much the share of the median method moved because others grew or shrank
 * (composition). Their sum is the size factor s, in logarithms.
 */
#ifndef JBPF_DIFF_SCALE_H
#define JBPF_DIFF_SCALE_H

#include <stdint.h>

#include "user/util/attributes.h"
#include "user/diff/diff.h"
#include "user/diff/diff_estimate.h"
#include "user/diff/diff_plan.h"

struct diff_scale {
	struct diff_interval load;	  /* NaN when a frequency is not known */
	struct diff_interval composition; /* 0 when too few methods are large enough */
	struct diff_interval scale;
	double composition_error; /* standard error */
	uint32_t methods;	  /* behind the median; 0 = too few */
};

/* 0 or -ENOMEM. */
__must_check int diff_scale_measure(const struct diff_item *items, uint32_t item_cnt,
				    const struct diff_plan *plan,
				    const struct diff_estimate *estimates, uint32_t samples_min,
				    struct diff_scale *out);

#endif
