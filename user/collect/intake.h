/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes from the probe while a window runs. Notices of processes are noted in the table of sights
 * and passed on to the namer at once; new stacks, too, while they are young, as long as there are JVMs;
 * counts become the window when it ends, or a first part of it when a JVM is met in the middle.
 */
#ifndef JBPF_COLLECT_INTAKE_H
#define JBPF_COLLECT_INTAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/collect/namer/namer_link.h"
#include "user/collect/namer/pending_window.h"
#include "user/collect/namer/sight_table.h"
#include "user/collect/probe/sample_source.h"

#define INTAKE_SPLIT_PIDS_MAX \
	64u /* the stacks of more are prefetched when they come with other frames */

/* Fields are private. */
struct intake {
	const struct sample_source *source;
	struct sight_table *sights;
	struct namer_link *link;
	struct pending_window *present; /* what was drained early of the window that runs */
	uint64_t prefetch_ns;		/* how often new stacks go to the namer; 0 = no need */
	uint64_t next_prefetch_ns;	/* CLOCK_BOOTTIME */
	uint64_t last_split_ns;		/* CLOCK_BOOTTIME */
	bool is_ksymbols_lost;		/* some were not told: the next are all there may be */
	uint32_t split_pids[INTAKE_SPLIT_PIDS_MAX]; /* of JVMs that were just met */
	size_t split_cnt;
};

/* All is borrowed. 0 or -ENOMEM. */
__must_check int intake_init(struct intake *intake, const struct sample_source *source,
			     struct sight_table *sights, struct namer_link *link);
void intake_release(struct intake *intake); /* one that is all 0 is fine */

/* Takes what has come. 0 or -errno: what is left is taken next time. */
__must_check int intake_consume(struct intake *intake);
/* When to consume even if nothing has come; CLOCK_BOOTTIME ns, UINT64_MAX = never. */
uint64_t intake_due_boot_ns(const struct intake *intake);

/* From now on new stacks are prefetched: it is known where the code of this JVM is. */
void intake_jvm(struct intake *intake);
/* This one was just met: what was counted of it so far is drained and prefetched soon. */
void intake_split(struct intake *intake, uint32_t pid);
/* How soon after a sample its stack should be prefetched; 0: as before. */
void intake_set_prefetch_interval(struct intake *intake, uint64_t interval_ns);

/* Another namer knows nothing: passes on all processes that live. */
void intake_pass_sights(struct intake *intake);
/* Tells the namer which BPF programs came and went: before sampling begins, and first of all when it is another one. */
void intake_tell_ksymbols(struct intake *intake);

/*
 * Ends the window: drained, closed, with its moments but without id, frequency and CPUs; the caller
 * owns it. NULL: it could not be drained, or there is no memory for a next one, and it goes on.
 */
struct pending_window *intake_end_window(struct intake *intake);

#endif
