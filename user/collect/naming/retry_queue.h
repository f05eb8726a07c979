/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes whose JVM is still starting: each is tried again a little later, oldest first. Small and
 * bounded: a retry that finds no room is left out, since the end of the window tries it as well.
 */
#ifndef JBPF_NAMING_RETRY_QUEUE_H
#define JBPF_NAMING_RETRY_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/symbols.h"

#define RETRY_QUEUE_MAX 256u
/* Of a process that grows all the time and is no JVM one look of so many is taken, as a power of two. */
#define RETRY_LOOKS_APART_SHIFT_MAX 3u

struct retry {
	struct process_life id;
	uint64_t due_ns; /* CLOCK_BOOTTIME */
	uint32_t try_cnt;
	uint32_t vain_cnt; /* looks that saw it grow, for nothing */
};

/* Zero-initialise. */
struct retry_queue {
	struct retry retries[RETRY_QUEUE_MAX];
	uint32_t head; /* running numbers; index = number % RETRY_QUEUE_MAX */
	uint32_t tail;
};

/* Retries are pushed in the order of their due_ns. False: no room. */
bool retry_queue_push(struct retry_queue *queue, const struct retry *retry);
/* The oldest, if it is due by now. */
bool retry_queue_pop(struct retry_queue *queue, uint64_t now_ns, struct retry *out);
/*
 * Is the process looked at this time, the `nth` at which it could be? After each look that found nothing
 * new only half as many of these times are used.
 */
bool retry_is_looked_at(const struct retry *retry, uint64_t nth);
/* When the oldest is due; UINT64_MAX = there is none. */
uint64_t retry_queue_due_ns(const struct retry_queue *queue);

#endif
