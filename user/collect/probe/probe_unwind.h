/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The maps of the walk by rules (bpf/jbpf_unwind.h): tables of files, and which files processes have
 * where. Who has which table, and for how long, is the caller's business.
 */
#ifndef JBPF_PROBE_PROBE_UNWIND_H
#define JBPF_PROBE_PROBE_UNWIND_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/collect/probe/probe_lives.h"
#include "user/util/attributes.h"
#include "bpf/jbpf_unwind.h"

struct bpf_map;
struct probe;

struct probe_unwind {
	int chunks_fd;	    /* `unwind_chunks`; borrowed */
	uint32_t chunk_max; /* entries it can have */
	uint32_t generation;
	struct probe_lives spaces;
};

/* Before the load, where the kernel allocates the maps at once: makes them smaller. 0 or -errno. */
__must_check int probe_unwind_shrink(struct bpf_map *chunks, struct bpf_map *spaces);

/* After it. `unwind` is zeroed. */
void probe_unwind_init(struct probe_unwind *unwind, const struct bpf_map *chunks,
		       const struct bpf_map *spaces);

/* See probe__set_unwind_table() and the three beside it. */
__must_check int probe_unwind_set_table(const struct probe_unwind *unwind, uint32_t table_id,
					const uint32_t *words, uint32_t word_cnt);
void probe_unwind_drop_table(const struct probe_unwind *unwind, uint32_t table_id);
__must_check int probe_unwind_set_space(struct probe_unwind *unwind, uint32_t pid,
					uint64_t account_id, const struct jbpf_space *space);

/* Is it one that programs can search: mappings in order, of pages of user memory? Pure. */
bool probe_unwind_space_is_valid(const struct jbpf_space *space);

/* Of a probe, for the functions of probe.h that are here. */
struct probe_unwind *probe__unwind(const struct probe *probe);

#endif
