/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of counts that belong to one stream, and what is kept of a stream that cannot be named. Pure. */
#ifndef JBPF_PROBE_STREAM_FALLBACK_H
#define JBPF_PROBE_STREAM_FALLBACK_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/collect/probe/probe.h"
#include "user/model/window.h"
#include "user/util/strbuf.h"

/*
 * For qsort() of struct probe_count: by stream_compare() what must group together, by the hashes
 * what only makes the order repeatable.
 */
int stream_count_compare(const void *left, const void *right);

/* The counts of one stream: the same process, cgroup and event. Borrowed. */
struct stream_counts {
	const struct probe_count *counts;
	size_t cnt;
};

/* The event of a key: EVENT_CNT when it is not ours. */
enum event stream_event(const struct jbpf_key *key);
/* As it is in keys of this event. */
uint32_t stream_kind(enum event event);

/* The order of streams: <0, 0 (the same stream) or >0. Hashes of stacks are not looked at. */
int stream_compare(const struct jbpf_key *a, const struct jbpf_key *b);

/* The stream that begins at counts[from]. */
struct stream_counts stream_next(const struct probe_count *counts, size_t cnt, size_t from);
/* Whose window it is, and of which event. */
void stream_fill(const struct jbpf_key *key, uint32_t ns_pid, struct window *window);
uint64_t stream_samples(const struct stream_counts *stream);
/* See run_delay_ns of struct window_counts. */
uint64_t stream_run_delay_ns(const struct stream_counts *stream);

/* Replaces `out` by "comm;[not named] SAMPLES\n", or by nothing without samples. 0 or -ENOMEM. */
__must_check int stream_fallback_text(const char *comm, uint64_t samples, struct strbuf *out);
/* One frame without a name per sample, and no root. */
struct window_counts stream_fallback_counts(uint64_t samples);

#endif
