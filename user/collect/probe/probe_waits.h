/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of threads that waited, as a window ends: see probe__end_window(). */
#ifndef JBPF_PROBE_PROBE_WAITS_H
#define JBPF_PROBE_PROBE_WAITS_H

#include <stddef.h>
#include <stdlib.h>

#include "user/collect/offcpu/offcpu.h"
#include "user/collect/probe/probe.h"
#include "user/collect/probe/stack_table.h"
#include "user/collect/probe/stream_fallback.h"

/* Zero-initialise; keeps its memory between windows. */
struct probe_waits {
	struct stack_table *stacks; /* borrowed: those of these counts are kept, as of others */
	struct probe_count *items;
	size_t cnt;
	size_t cap;
	uint64_t lost_samples; /* for want of memory */
};

static inline void probe_waits_release(struct probe_waits *waits)
{
	free(waits->items);
	*waits = (struct probe_waits){ 0 };
}

static inline void probe_waits_add(void *ctx, const struct jbpf_key *key,
				   const struct jbpf_value *value)
{
	struct probe_waits *waits = ctx;

	(void)stack_table__use(waits->stacks, key->user_hash);
	if (waits->cnt == waits->cap) {
		size_t cap = waits->cap ? 2 * waits->cap : 256;
		struct probe_count *items = realloc(waits->items, cap * sizeof(*items));

		if (!items) {
			waits->lost_samples += value->count;
			return;
		}
		waits->items = items;
		waits->cap = cap;
	}
	waits->items[waits->cnt++] = (struct probe_count){ .key = *key, .value = *value };
}

/* Puts what is known at the end of the window only into `out`, sorted; what was lost of it, too. */
static inline void probe_waits_take(struct probe_waits *waits, struct offcpu *offcpu,
				    struct stack_table *stacks, struct probe_batch *out)
{
	waits->stacks = stacks;
	waits->cnt = 0;
	waits->lost_samples = 0;
	offcpu__end_window(offcpu, probe_waits_add, waits, &out->wait_period_ns,
			   &out->missed_samples);
	offcpu__facts(offcpu, &out->passes);
	if (waits->cnt)
		qsort(waits->items, waits->cnt, sizeof(*waits->items), stream_count_compare);
	out->counts = waits->items;
	out->count_cnt = waits->cnt;
	out->counters[JBPF_CNT_EVENT_LOST] = waits->lost_samples;
	out->counters[JBPF_CNT_LOST_COUNTS_FULL] = waits->lost_samples;
}

#endif
