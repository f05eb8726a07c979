/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an object of BPF programs that is loaded beside the first one shares with it: the places of what both
 * have in .bss and .rodata, so that one map serves both, and the maps.
 */
#ifndef JBPF_OFFCPU_SHARED_MAPS_H
#define JBPF_OFFCPU_SHARED_MAPS_H

#include <bpf/libbpf.h>
#include <stddef.h>

#include "user/util/attributes.h"
#include "user/util/cleanup.h"

#define SHARED_PLACE(object, section, field)                                \
	_Static_assert(offsetof(struct jbpf_bpf__##section, field) ==       \
			       offsetof(struct object##__##section, field), \
		       "both objects include the same headers in the same order")

/* For the top of a file that includes both skeletons; `object` is the name of the other skeleton. */
#define SHARED_PLACES(object)                                                                     \
	SHARED_PLACE(object, bss, active_set);                                                    \
	SHARED_PLACE(object, bss, all_entries);                                                   \
	SHARED_PLACE(object, bss, all_stack_bytes);                                               \
	SHARED_PLACE(object, bss, all_event_bytes);                                               \
	SHARED_PLACE(object, bss, accounts_generation);                                           \
	SHARED_PLACE(object, bss, has_opted_out);                                                 \
	SHARED_PLACE(object, bss, accounts_told);                                                 \
	SHARED_PLACE(object, rodata, hash_seed);                                                  \
	SHARED_PLACE(object, rodata, known_max);                                                  \
	_Static_assert(sizeof(struct jbpf_bpf__bss) == sizeof(struct object##__bss), "the same"); \
	_Static_assert(sizeof(struct jbpf_bpf__rodata) == sizeof(struct object##__rodata),        \
		       "the same")

struct shared_map {
	struct bpf_map *to;
	const struct bpf_map *from;
};

#define SHARED_MAP(skel, base, map)                \
	{                                          \
		(skel)->maps.map, (base)->maps.map \
	}
/* Rows of an array of struct shared_map. */
#define SHARED_MAPS(skel, base)                                                           \
	SHARED_MAP(skel, base, counts), SHARED_MAP(skel, base, seen),                     \
		SHARED_MAP(skel, base, stacks), SHARED_MAP(skel, base, notices),          \
		SHARED_MAP(skel, base, known), SHARED_MAP(skel, base, ticks),             \
		SHARED_MAP(skel, base, code_ranges), SHARED_MAP(skel, base, hotspots),    \
		SHARED_MAP(skel, base, leaf_rules), SHARED_MAP(skel, base, spaces),       \
		SHARED_MAP(skel, base, accounts_of), SHARED_MAP(skel, base, filter_pids), \
		SHARED_MAP(skel, base, unwind_chunks), SHARED_MAP(skel, base, bss),       \
		SHARED_MAP(skel, base, filter_cgroups)

/* Before the other object is loaded. 0 or -errno. */
__must_check static inline int shared_maps_reuse(const struct shared_map *maps, size_t cnt)
{
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++)
		err = bpf_map__reuse_fd(maps[i].to, bpf_map__fd(maps[i].from));
	return err;
}

#endif
