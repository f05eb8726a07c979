/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Empties a count map that no program writes to any more, or looks at one that is in use. Two ways with one result: in batches
 * (2.5 ms for 10 000 keys), or key by key where the kernel refuses batches.
 */
#ifndef JBPF_PROBE_COUNT_MAP_H
#define JBPF_PROBE_COUNT_MAP_H

#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "bpf/jbpf.h"

#define COUNT_MAP_MAX_ENTRIES 262144 /* 211 CPUs at 99 Hz and windows of 10 s */

/* Entries for a sampling rate: one for each sample and a quarter to spare, a multiple of 4096. */
uint32_t count_map_entries(uint32_t frequency_hz, size_t cpu_cnt, uint64_t window_ns);

/* A map, or -errno. Preallocated: programs of perf events need it so on 5.10. */
__must_check int count_map_create(const char *name, uint32_t entries);

/*
 * Moves all entries to `keys` and `values`, which have room for `max`, the map's size. 0 or
 * -errno; on error, what was taken so far is in the arrays and `cnt_out` is set nevertheless.
 */
__must_check int count_map_drain(int map_fd, struct jbpf_key *keys, struct jbpf_value *values,
				 uint32_t max, uint32_t *cnt_out);
/* The slow way, which count_map_drain() takes by itself when it must. */
__must_check int count_map_drain_each(int map_fd, struct jbpf_key *keys, struct jbpf_value *values,
				      uint32_t max, uint32_t *cnt_out);

/*
 * Copies all entries of a map that programs may write to meanwhile; each comes once at most. As above,
 * but there is one way only: -errno where the kernel refuses batches.
 */
__must_check int count_map_copy(int map_fd, struct jbpf_key *keys, struct jbpf_value *values,
				uint32_t max, uint32_t *cnt_out);

/* Deletes these stacks from `seen`, whether they are in it or not. */
void count_map_forget(int map_fd, const uint64_t *hashes, size_t cnt);

#endif
