// SPDX-License-Identifier: Apache-2.0
/* A ring of retries; see retry_queue.h. */
#include "user/collect/naming/retry_queue.h"

#include "user/util/saturate.h"

bool retry_queue_push(struct retry_queue *queue, const struct retry *retry)
{
	if (queue->tail - queue->head == RETRY_QUEUE_MAX)
		return false;
	queue->retries[queue->tail++ % RETRY_QUEUE_MAX] = *retry;
	return true;
}

bool retry_queue_pop(struct retry_queue *queue, uint64_t now_ns, struct retry *out)
{
	if (retry_queue_due_ns(queue) > now_ns || queue->head == queue->tail)
		return false;
	*out = queue->retries[queue->head++ % RETRY_QUEUE_MAX];
	return true;
}

bool retry_is_looked_at(const struct retry *retry, uint64_t nth)
{
	return nth % (1u << min_u64(retry->vain_cnt, RETRY_LOOKS_APART_SHIFT_MAX)) == 0;
}

uint64_t retry_queue_due_ns(const struct retry_queue *queue)
{
	if (queue->head == queue->tail)
		return UINT64_MAX;
	return queue->retries[queue->head % RETRY_QUEUE_MAX].due_ns;
}
