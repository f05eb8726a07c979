// SPDX-License-Identifier: Apache-2.0
/* See probe_queue.h. */
#include "user/collect/probe/probe_queue.h"

void probe_queue_push(struct probe_queue *queue, const struct probe_queue_item *item)
{
	queue->items[queue->added++ & (PROBE_QUEUE_MAX - 1)] = *item;
	if (queue->added - queue->taken > PROBE_QUEUE_MAX)
		queue->taken++;
}

bool probe_queue_pop(struct probe_queue *queue, struct probe_queue_item *out)
{
	if (queue->taken == queue->added)
		return false;
	*out = queue->items[queue->taken++ & (PROBE_QUEUE_MAX - 1)];
	return true;
}

void probe_queue_note(struct probe_queue *queue, const struct jbpf_stack *head,
		      uint64_t since_boot_ns)
{
	const struct probe_queue_item item = {
		.hash = head->hash,
		.life = process_life_of(head),
		.since_boot_ns = since_boot_ns,
	};

	probe_queue_push(queue, &item);
}
