/* SPDX-License-Identifier: Apache-2.0 */
/* How large maps, buffers and tables are made for a host: pure, from its CPUs and the sampling. */
#ifndef JBPF_PROBE_PROBE_SIZES_H
#define JBPF_PROBE_PROBE_SIZES_H

#include <stddef.h>
#include <stdint.h>

struct probe_sizes {
	uint32_t count_entries; /* of each of the two count maps */
	uint32_t seen_entries;
	uint32_t known_entries;
	uint32_t stacks_bytes;	 /* of the ring buffer; a power of two */
	size_t table_soft_bytes; /* see struct stack_table_options */
	size_t table_max_bytes;
	size_t table_soft_cnt;
	uint64_t window_stack_bytes; /* new stacks of all accounts in a window */
};

void probe_sizes(uint32_t frequency_hz, size_t cpu_cnt, uint64_t window_ns,
		 struct probe_sizes *out);

#endif
