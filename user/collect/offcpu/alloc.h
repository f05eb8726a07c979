/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a JVM takes from its Java heap: the fourth object of BPF programs, which shares maps with the
 * first. A uprobe is a breakpoint in the memory of the process that is recorded, and of no other
 * (kernel/trace/trace_uprobe.c, uprobe_perf_filter()), so it is for recordings that ask for it; it goes when
 * its descriptor is closed, which is when the recorder ends, however it does.
 *
 * In: the first object, loaded, and a JVM's functions. Out: counts, in its maps. The probe owns it.
 */
#ifndef JBPF_OFFCPU_ALLOC_H
#define JBPF_OFFCPU_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/jbpf_user.h"
#include "user/util/attributes.h"

#define ALLOC_FUNCTION_CNT 2

struct jbpf_bpf; /* of the first object's skeleton */
struct alloc;

/*
 * A JVM, and where its libjvm.so has the functions that allocate (bpf/alloc.bpf.c). Found by who looks into
 * processes: see naming/naming_wire.h.
 */
struct alloc_target {
	uint64_t start_ns;  /* CLOCK_BOOTTIME ns of the process's start */
	uint64_t map_start; /* a mapping of libjvm.so in it */
	uint64_t map_end;
	uint64_t offsets[ALLOC_FUNCTION_CNT]; /* in the file; 0 = it has no such function */
	uint32_t pid;
	uint32_t pad;
};

/*
 * Loads the program beside those of `base`, which is loaded, and sets the breakpoints; it counts from
 * alloc__start() on. 0, or -errno with a line in `why`.
 */
__must_check int alloc__open(const struct jbpf_bpf *base, const struct alloc_target *target,
			     struct alloc **out, char *why, size_t why_len);
void alloc__free(struct alloc *alloc); /* NULL is fine, here and below */

void alloc__start(struct alloc *alloc);
void alloc__stop(struct alloc *alloc);

/* Adds what its counters gained since the last time to those of the first object. */
void alloc__add_counters(struct alloc *alloc, uint64_t *gained);

#endif
