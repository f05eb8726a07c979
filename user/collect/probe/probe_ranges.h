/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of the BPF map `code_ranges`: where JVMs keep their JIT code. Programs ignore an entry
 * that is not of the very run of a program they look at, so one too many costs a slot, no more. One
 * account has at most as many as are free: whoever makes thousands of processes look like JVMs
 * leaves room for those of others.
 */
#ifndef JBPF_PROBE_PROBE_RANGES_H
#define JBPF_PROBE_PROBE_RANGES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "bpf/jbpf.h"

/* Zeroed but for map_fd is empty. */
struct probe_ranges {
	int map_fd; /* `code_ranges`; borrowed */
	uint32_t cnt;
	struct probe_range_owner {
		uint64_t account_id;
		uint32_t pid;
	} owners[JBPF_CODE_RANGES_MAX];
	bool was_swept; /* in this window */
};

/*
 * 0; -EINVAL: no ranges of user memory; -EDQUOT: this account has as many as are left for all
 * others; -ENOSPC: too many processes; -errno.
 */
__must_check int probe_ranges_set(struct probe_ranges *ranges, uint32_t pid, uint64_t account_id,
				  const struct jbpf_code_range *range);

/* Deletes what `notice` made nobody's. */
void probe_ranges_expire(struct probe_ranges *ranges, const struct jbpf_notice *notice);

/* Looking for room costs some milliseconds, and is done once in a window. */
void probe_ranges_end_window(struct probe_ranges *ranges);

#endif
