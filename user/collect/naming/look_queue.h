/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that are to be looked at again a little later, oldest first. Small and bounded: a look
 * that finds no room is left out, the end of the window comes anyway.
 */
#ifndef JBPF_NAMING_LOOK_QUEUE_H
#define JBPF_NAMING_LOOK_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/symbols.h"

#define LOOK_QUEUE_MAX 256u

struct look {
	struct symbols_process_id id;
	uint64_t due_ns; /* CLOCK_BOOTTIME */
	uint32_t try_cnt;
};

/* Zero-initialise. */
struct look_queue {
	struct look looks[LOOK_QUEUE_MAX];
	uint32_t head; /* running numbers; index = number % LOOK_QUEUE_MAX */
	uint32_t tail;
};

/* Looks must come in the order of their due_ns. False: no room. */
bool look_queue_push(struct look_queue *queue, const struct look *look);
/* The oldest, if it is due by now. */
bool look_queue_pop(struct look_queue *queue, uint64_t now_ns, struct look *out);
/* When the oldest is due; UINT64_MAX = there is none. */
uint64_t look_queue_due_ns(const struct look_queue *queue);

#endif
