// SPDX-License-Identifier: Apache-2.0
/* A ring of looks; see look_queue.h. */
#include "user/collect/naming/look_queue.h"

bool look_queue_push(struct look_queue *queue, const struct look *look)
{
	if (queue->tail - queue->head == LOOK_QUEUE_MAX)
		return false;
	queue->looks[queue->tail++ % LOOK_QUEUE_MAX] = *look;
	return true;
}

bool look_queue_pop(struct look_queue *queue, uint64_t now_ns, struct look *out)
{
	if (look_queue_due_ns(queue) > now_ns || queue->head == queue->tail)
		return false;
	*out = queue->looks[queue->head++ % LOOK_QUEUE_MAX];
	return true;
}

uint64_t look_queue_due_ns(const struct look_queue *queue)
{
	if (queue->head == queue->tail)
		return UINT64_MAX;
	return queue->looks[queue->head % LOOK_QUEUE_MAX].due_ns;
}
