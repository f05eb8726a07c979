/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page that the namer and the sampler share: which process the namer works on just now. When it
 * hangs or crashes, that process is to blame, and nobody can ask the namer any more.
 */
#ifndef JBPF_NAMING_WORK_NOTE_H
#define JBPF_NAMING_WORK_NOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/symbols.h"

#define WORK_COMM_BYTES	 16u
#define WORK_OWNER_BYTES 128u

/* The process that is worked on; all 0: no particular one. Its names are foreign text, and "" = not known. */
struct work {
	struct process_life id;
	uint64_t account; /* 0 = not known yet */
	char comm[WORK_COMM_BYTES];
	char owner
		[WORK_OWNER_BYTES]; /* its container, for people, or the end of its cgroup's path */
};

/* Shared memory; inherited by fork. Written by one process, read by another at any moment. */
struct work_note;

/* NULL when memory is short. */
struct work_note *work_note__new(void);
void work_note__free(struct work_note *note); /* NULL is fine */

/* ---- in the namer ---- */

/* Works on this process from now on, or on nobody (NULL) but still busy. */
void work_note__on(struct work_note *note, const struct work *work);
/* The namer waits for something to do. */
void work_note__idle(struct work_note *note);
/* Has the sampler given this window up? */
bool work_note__is_given_up(const struct work_note *note, uint64_t window_id);

/* ---- in the sampler ---- */

/*
 * What the namer works on. Returns a number that changes with each change; *is_busy_out: it is at
 * work.
 */
uint64_t work_note__read(const struct work_note *note, struct work *out, bool *is_busy_out);

/* The sampler has given up all windows up to this one. */
void work_note__give_up(struct work_note *note, uint64_t window_id);

#endif
