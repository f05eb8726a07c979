/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact waiting: the third object of BPF programs, which shares maps with the first. It hooks every
 * context switch of the host, so it is for recordings, not for always.
 *
 * In: the first object, loaded. Out: counts, in its maps. The probe owns it.
 */
#ifndef JBPF_OFFCPU_SCHED_H
#define JBPF_OFFCPU_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/jbpf_user.h"
#include "user/util/attributes.h"

#define SCHED_THRESHOLD_NS 10000000ull /* unless asked otherwise */

struct jbpf_bpf; /* of the first object's skeleton */
struct sched;

struct sched_options {
	/* Waits as long as this are all counted; a multiple of JBPF_SCHED_UNIT_NS; 0 = SCHED_THRESHOLD_NS. */
	uint64_t threshold_ns;
	bool of_wakers; /* who ends waits, instead of who waits */
};

/*
 * Loads the programs beside those of `base`, which is loaded, and attaches them; they count from
 * sched__start() on, see bpf/jbpf_sched.h. 0, or -errno with a line in `why`; -EOPNOTSUPP: this
 * kernel cannot.
 */
__must_check int sched__open(const struct jbpf_bpf *base, const struct sched_options *options,
			     struct sched **out, char *why, size_t why_len);
void sched__free(struct sched *sched); /* NULL is fine, here and below */

void sched__start(struct sched *sched);
void sched__stop(struct sched *sched);

/* Waits that interrupts and the kernel's own threads have ended so far, of those of `of_wakers`; ns. */
uint64_t sched__kernel_ns(const struct sched *sched);

/* Adds what its counters gained since the last time to those of the first object. */
void sched__add_counters(struct sched *sched, uint64_t *gained);

#endif
