/* SPDX-License-Identifier: Apache-2.0 */
/* How large maps, buffers and tables are made for a host: pure, from its CPUs and the sampling. */
#ifndef JBPF_PROBE_PROBE_SIZES_H
#define JBPF_PROBE_PROBE_SIZES_H

#include <stddef.h>
#include <stdint.h>

struct probe_sizes {
	uint32_t count_entries; /* of each of the two count maps */
	uint32_t event_entries; /* so many at most when one of another event than CPU time enters */
	uint32_t seen_entries;
	uint32_t known_entries;
	uint32_t stacks_bytes;	 /* of the ring buffer; a power of two */
	size_t table_soft_bytes; /* see struct stack_table_options */
	size_t table_max_bytes;
	size_t table_soft_cnt;
	uint64_t window_stack_bytes; /* new stacks of all accounts in a window */
};

struct probe_options;

/*
 * Other events have room of their own in the count maps: how often they happen nobody knows, and a
 * storm of them must not cost samples of CPU time.
 */
void probe_sizes(const struct probe_options *options, size_t cpu_cnt, struct probe_sizes *out);
/* Of these only count_entries. */
uint32_t probe_sizes_count_entries(const struct probe_options *options, size_t cpu_cnt);

#endif
