// SPDX-License-Identifier: Apache-2.0
/* See stream_fallback.h. */
#include "user/collect/probe/stream_fallback.h"

#include <inttypes.h>

#include "user/collect/probe/cpus.h"
#include "user/model/process_life.h"
#include "user/model/stack_text.h"

#define FRAME_NOT_NAMED "[not named]"

uint32_t stream_kind(enum event event)
{
	if (event == EVENT_OFF_CPU)
		return JBPF_KEY_OFF_CPU;
	if (event == EVENT_SCHED)
		return JBPF_KEY_SCHED;
	if (event == EVENT_ALLOC)
		return JBPF_KEY_ALLOC;
	return event == EVENT_CPU ? JBPF_KEY_SAMPLE : JBPF_KEY_SOFTWARE + cpu_event_software(event);
}

enum event stream_event(const struct jbpf_key *key)
{
	for (int i = 0; i < EVENT_CNT; i++)
		if (stream_kind((enum event)i) == key->kind)
			return (enum event)i;
	return EVENT_CNT;
}

int stream_compare(const struct jbpf_key *a, const struct jbpf_key *b)
{
	int order = process_life_compare(&process_life_of(a), &process_life_of(b));

	if (!order)
		order = (a->cgroup_id > b->cgroup_id) - (a->cgroup_id < b->cgroup_id);
	return order ? order : (a->kind > b->kind) - (a->kind < b->kind);
}

int stream_count_compare(const void *left, const void *right)
{
	const struct jbpf_key *a = &((const struct probe_count *)left)->key;
	const struct jbpf_key *b = &((const struct probe_count *)right)->key;
	int order = stream_compare(a, b);

	if (order)
		return order;
	if (a->user_hash != b->user_hash)
		return a->user_hash > b->user_hash ? 1 : -1;
	return (a->kernel_hash > b->kernel_hash) - (a->kernel_hash < b->kernel_hash);
}

struct stream_counts stream_next(const struct probe_count *counts, size_t cnt, size_t from)
{
	size_t end = from + 1;

	while (end < cnt && stream_compare(&counts[from].key, &counts[end].key) == 0)
		end++;
	return (struct stream_counts){ .counts = &counts[from], .cnt = end - from };
}

void stream_fill(const struct jbpf_key *key, uint32_t ns_pid, struct window *window)
{
	window->pid = key->pid;
	window->ns_pid = ns_pid;
	window->process_start_ns = key->start_ns;
	window->exec_id = key->exec_id;
	window->cgroup_id = key->cgroup_id;
	window->event = stream_event(key);
}

uint64_t stream_samples(const struct stream_counts *stream)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < stream->cnt; i++)
		samples += stream->counts[i].value.count;
	return samples;
}

uint64_t stream_run_delay_ns(const struct stream_counts *stream)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < stream->cnt; i++) {
		const struct probe_count *count = &stream->counts[i];

		if (count->key.kind == JBPF_KEY_OFF_CPU &&
		    count->key.user_hash == JBPF_HASH_RUN_DELAY)
			sum += count->value.run_delay_ns;
	}
	return sum;
}

int stream_fallback_text(const char *comm, uint64_t samples, struct strbuf *out)
{
	int err;

	strbuf_clear(out);
	if (!samples)
		return 0;
	err = stack_text_append(out, comm, FRAME_KIND_NATIVE);
	if (!err)
		err = stack_text_append(out, FRAME_NOT_NAMED, FRAME_KIND_NATIVE);
	strbuf_printf(out, " %" PRIu64 "\n", samples);
	return err ? err : strbuf_error(out);
}

struct window_counts stream_fallback_counts(uint64_t samples)
{
	return (struct window_counts){
		.samples = samples,
		.frames = samples,
		.unknown_frames = samples,
		.truncated_samples = samples,
		.ends = { [STACK_END_LOST] = samples },
	};
}
