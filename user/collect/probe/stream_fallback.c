// SPDX-License-Identifier: Apache-2.0
/* See stream_fallback.h. */
#include "user/collect/probe/stream_fallback.h"

#include <inttypes.h>

#include "user/model/stack_text.h"

#define FRAME_NOT_NAMED "[not named]"

int stream_compare(const struct jbpf_key *a, const struct jbpf_key *b)
{
#define BY(field)                 \
	if (a->field != b->field) \
	return a->field > b->field ? 1 : -1
	BY(start_ns);
	BY(pid);
	BY(exec_id);
	BY(cgroup_id);
#undef BY
	return 0;
}

struct stream stream_next(const struct probe_count *counts, size_t cnt, size_t from)
{
	size_t end = from + 1;

	while (end < cnt && stream_compare(&counts[from].key, &counts[end].key) == 0)
		end++;
	return (struct stream){ .counts = &counts[from], .cnt = end - from };
}

uint64_t stream_samples(const struct stream *stream)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < stream->cnt; i++)
		samples += stream->counts[i].value.count;
	return samples;
}

int stream_fallback_text(const char *comm, uint64_t samples, struct strbuf *out)
{
	int err;

	strbuf_clear(out);
	err = stack_text_append(out, comm, FRAME_KIND_NATIVE);
	if (!err)
		err = stack_text_append(out, FRAME_NOT_NAMED, FRAME_KIND_NATIVE);
	return err ? err : strbuf_printf(out, " %" PRIu64 "\n", samples);
}

struct window_counts stream_fallback_counts(uint64_t samples)
{
	return (struct window_counts){
		.samples = samples,
		.frames = samples,
		.unknown_frames = samples,
		.truncated_samples = samples,
	};
}
