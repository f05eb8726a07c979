/* SPDX-License-Identifier: Apache-2.0 */
/* What the counters of an object of BPF programs gain: enum jbpf_counter, over all CPUs. */
#ifndef JBPF_OFFCPU_COUNTER_SUM_H
#define JBPF_OFFCPU_COUNTER_SUM_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/jbpf_user.h"
#include "user/util/attributes.h"

/* Zero-initialise, then counter_sum_init(). */
struct counter_sum {
	uint64_t previous[JBPF_CNT_MAX];
	uint64_t (*per_cpu)[JBPF_COUNTER_SLOTS]; /* as the kernel hands them out */
	size_t possible_cpu_cnt;
};

/* 0 or -ENOMEM. */
__must_check int counter_sum_init(struct counter_sum *sum);
void counter_sum_release(struct counter_sum *sum);

/*
 * Adds what the map `counters` of an object gained since the last time to `gained`, JBPF_CNT_MAX
 * numbers. 0, or -errno: it comes the next time.
 */
__must_check int counter_sum_add(struct counter_sum *sum, int map_fd, uint64_t *gained);

#endif
