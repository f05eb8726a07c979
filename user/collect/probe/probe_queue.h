/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User stacks that arrived and were not asked for yet: which, and whose. The stacks themselves are in
 * the stack table. Bounded: who does not keep up loses the oldest, which are named later, with
 * their window, when the code they ran may be gone.
 */
#ifndef JBPF_PROBE_PROBE_QUEUE_H
#define JBPF_PROBE_PROBE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/jbpf_user.h"
#include "user/model/process_life.h"

#define PROBE_QUEUE_MAX 4096 /* power of two */

struct probe_queue_item {
	uint64_t hash;
	struct process_life life;
	uint64_t since_boot_ns; /* see struct probe_new_stack */
};

/* Zeroed is empty. */
struct probe_queue {
	struct probe_queue_item items[PROBE_QUEUE_MAX]; /* [taken, added) modulo the size */
	uint64_t added;
	uint64_t taken;
};

void probe_queue_push(struct probe_queue *queue, const struct probe_queue_item *item);
/* Takes the oldest. False: there is none. */
bool probe_queue_pop(struct probe_queue *queue, struct probe_queue_item *out);

/* Adds the process of a stack that came now; it was sampled after `since_boot_ns`. */
void probe_queue_note(struct probe_queue *queue, const struct jbpf_stack *head,
		      uint64_t since_boot_ns);

#endif
