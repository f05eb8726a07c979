/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of the BPF map `code_ranges`: where JVMs keep their JIT code. Programs ignore an entry
 * that is not of the very run of a program they look at, so one too many costs a slot, no more.
 */
#ifndef JBPF_COLLECT_PROBE_RANGES_H
#define JBPF_COLLECT_PROBE_RANGES_H

#include <linux/types.h>
#include <stdint.h>

#include "bpf/jbpf.h"

/* 0; -EINVAL: no ranges of user memory; -ENOSPC: too many processes; -errno. */
int probe_ranges_set(int map_fd, uint32_t pid, const struct jbpf_code_range *range);

/* Deletes what `notice` made nobody's. */
void probe_ranges_expire(int map_fd, const struct jbpf_notice *notice);

#endif
