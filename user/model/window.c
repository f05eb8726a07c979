// SPDX-License-Identifier: Apache-2.0
/*
 * A window's numbers, and the names of its labels and losses. The names reach disk and JSON: append, never rename.
 */
#include "user/model/window.h"

#include <stddef.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/saturate.h"

#define FIELD(name_, field_, kind_, commit_at_, section_, is_delta_)                      \
	{                                                                                 \
		.name = (name_), .offset = offsetof(struct window, field_),               \
		.bytes = sizeof(((struct window *)NULL)->field_), .kind = (kind_),        \
		.commit_at = (commit_at_), .section = (section_), .is_delta = (is_delta_) \
	}
#define TIME(field, commit_at, section, is_delta) \
	FIELD(#field, field, WINDOW_FIELD_TIME, commit_at, section, is_delta)
#define TRACK(field, commit_at, section, is_delta) \
	FIELD(#field, field, WINDOW_FIELD_TRACK, commit_at, section, is_delta)
#define STATE(field, commit_at, section) \
	FIELD(#field, field, WINDOW_FIELD_STATE, commit_at, section, true)
#define COUNT(field, commit_at, section) \
	FIELD(#field, counts.field, WINDOW_FIELD_COUNT, commit_at, section, false)

const struct window_field window_fields[WINDOW_FIELD_CNT] = {
	FIELD("start_ns", start_unix_ns, WINDOW_FIELD_TIME, 0, 0, false),
	TIME(duration_ns, 8, 33, true),
	TIME(recorded_ns, WINDOW_FIELD_NOT_IN_COMMIT, 70, true),
	TIME(window_cnt, WINDOW_FIELD_NOT_IN_COMMIT, 69, false),
	TIME(start_boot_ns, 16, 0, false),
	TRACK(event, 224, 11, true),
	TRACK(frequency_hz, 40, 8, true),
	TRACK(cpu_cnt, 44, 9, true),
	TRACK(pid, 48, 3, true),
	TRACK(ns_pid, 52, 4, true),
	TRACK(process_start_ns, 56, 5, true),
	TRACK(cgroup_id, 64, 6, true),
	TRACK(exec_id, 72, 7, false),
	COUNT(samples, 80, 35),
	COUNT(unknown_frames, 88, 36),
	COUNT(frames, 96, 37),
	COUNT(truncated_samples, 104, 38),
	COUNT(jit_frames, 112, 39),
	COUNT(unknown_jit_frames, 120, 40),
	COUNT(ambiguous_frames, 128, 41),
	COUNT(inlined_frames, 168, 42),
	COUNT(interpreted_frames, 176, 43),
	COUNT(jit_leaf_samples, 184, 44),
	COUNT(repaired_samples, 192, 45),
	COUNT(unrepaired_samples, 200, 46),
	COUNT(run_delay_ns, 248, 47),
	STATE(jit_source, 136, 60),
	STATE(jit_age_ms, 140, 61),
	STATE(jit_entries, 144, 62),
	STATE(attach_outcome, 148, 63),
	STATE(attach_cnt, 152, 64),
	STATE(attach_command_ms, 156, 65),
	STATE(preserve_frame_pointer, 160, 66),
	STATE(preserve_frame_pointer_origin, 208, 68),
	STATE(is_jvm, 76, 67),
	TRACK(period_unit, 228, 12, true),
	TRACK(period, 232, 13, true),
};

static const char *const label_names[WINDOW_LABEL_CNT] = {
	[WINDOW_LABEL_COMM] = "comm",
	[WINDOW_LABEL_SERVICE] = "service",
	[WINDOW_LABEL_NAMESPACE] = "namespace",
	[WINDOW_LABEL_POD] = "pod",
	[WINDOW_LABEL_POD_UID] = "pod_uid",
	[WINDOW_LABEL_CONTAINER] = "container",
	[WINDOW_LABEL_CONTAINER_ID] = "container_id",
	[WINDOW_LABEL_RUNTIME] = "runtime",
	[WINDOW_LABEL_IMAGE] = "image",
	[WINDOW_LABEL_CGROUP] = "cgroup",
	[WINDOW_LABEL_EXE] = "exe",
	[WINDOW_LABEL_JVM_VERSION] = "jvm_version",
	[WINDOW_LABEL_JIT_PROBLEM] = "jit_problem",
	[WINDOW_LABEL_JIT_FALLBACK] = "jit_fallback",
	[WINDOW_LABEL_OVER_BUDGET] = "over_budget",
	[WINDOW_LABEL_SOURCES] = "label_sources",
	[WINDOW_LABEL_COST] = "cost",
	[WINDOW_LABEL_STORE_PROBLEM] = "store_problem",
	[WINDOW_LABEL_UNWIND] = "unwind",
	[WINDOW_LABEL_HOST] = "host",
	[WINDOW_LABEL_PASSES] = "passes",
	[WINDOW_LABEL_NAMING_PROBLEM] = "naming_problem",
};

static const char *const loss_names[WINDOW_LOSS_CNT] = {
	[WINDOW_LOSS_COUNTS_FULL] = "counts_full",
	[WINDOW_LOSS_NO_MAP] = "no_map",
	[WINDOW_LOSS_STACK_BUFFER] = "stack_buffer",
	[WINDOW_LOSS_NOTICES] = "notices",
	[WINDOW_LOSS_KERNEL_STACK] = "kernel_stack",
	[WINDOW_LOSS_STORE] = "store",
	[WINDOW_LOSS_MEMORY] = "memory",
	[WINDOW_LOSS_CELLS] = "cells",
	[WINDOW_LOSS_OPTED_OUT] = "opted_out",
	[WINDOW_LOSS_UNDECIDED] = "undecided",
	[WINDOW_LOSS_NOT_NAMED] = "not_named",
	[WINDOW_LOSS_CUT] = "cut",
	[WINDOW_LOSS_GIVEN_UP] = "given_up",
	[WINDOW_LOSS_PASSES] = "passes",
};

uint64_t window_number_get(const void *within, size_t offset, size_t bytes)
{
	const char *at = (const char *)within + offset;
	uint32_t value32;
	uint64_t value64;

	if (bytes == sizeof(value32)) {
		memcpy(&value32, at, sizeof(value32));
		return value32;
	}
	memcpy(&value64, at, sizeof(value64));
	return value64;
}

bool window_number_set(void *within, size_t offset, size_t bytes, uint64_t value)
{
	char *at = (char *)within + offset;
	uint32_t value32 = (uint32_t)value;

	if (bytes == sizeof(value32)) {
		memcpy(at, &value32, sizeof(value32));
		return value32 == value;
	}
	memcpy(at, &value, sizeof(value));
	return true;
}

const char *window_label_name(enum window_label label)
{
	return (size_t)label < ARRAY_SIZE(label_names) ? label_names[label] : "unknown";
}

enum window_label window_label_by_name(const char *name, unsigned long len)
{
	for (size_t i = 0; len && i < ARRAY_SIZE(label_names); i++) {
		/* The first letter first: hours have as many labels as windows, times ten. */
		if (*label_names[i] == *name && strlen(label_names[i]) == len &&
		    memcmp(label_names[i], name, len) == 0)
			return (enum window_label)i;
	}
	return WINDOW_LABEL_CNT;
}

const char *window_loss_name(enum window_loss loss)
{
	return (size_t)loss < ARRAY_SIZE(loss_names) ? loss_names[loss] : "unknown";
}

uint64_t window_end_unix_ns(const struct window *window)
{
	uint64_t end;

	if (__builtin_add_overflow(window->start_unix_ns, window->duration_ns, &end))
		return UINT64_MAX;
	return end;
}

uint64_t window_recorded_ns(const struct window *window)
{
	return window->window_cnt ? window->recorded_ns : window->duration_ns;
}

/* Before there were other events the frequency said it all. */
uint64_t window_period(const struct window *window)
{
	if (window->period || window->event != EVENT_CPU)
		return window->period;
	return window->frequency_hz ? CLOCK_NS_PER_S / window->frequency_hz : 0;
}

_Static_assert(sizeof(struct stream_id) == 40, "stream_id has no padding");

struct stream_id window_stream_id(const struct window *window)
{
	struct stream_id id = {
		.life = { window->process_start_ns, window->pid, window->exec_id },
		.cgroup_id = window->cgroup_id,
	};

	memcpy(id.boot_id, window->boot_id, sizeof(id.boot_id));
	return id;
}

bool window_is_same_stream(const struct window *a, const struct window *b)
{
	const struct stream_id x = window_stream_id(a), y = window_stream_id(b);

	return memcmp(&x, &y, sizeof(x)) == 0;
}

void window_counts_add_weighted(struct window_counts *sum, const struct window_counts *counts,
				uint64_t weight)
{
	uint64_t run_delay_ns = add_saturated(sum->run_delay_ns, counts->run_delay_ns);
	uint64_t sums[WINDOW_COUNT_CNT], values[WINDOW_COUNT_CNT];

	memcpy(sums, sum, sizeof(sums));
	memcpy(values, counts, sizeof(values));
	for (size_t i = 0; i < WINDOW_COUNT_CNT; i++)
		sums[i] = add_saturated(sums[i], multiply_saturated(values[i], weight));
	memcpy(sum, sums, sizeof(sums));
	/* That is no count of samples. */
	sum->run_delay_ns = run_delay_ns;
}

void window_counts_add(struct window_counts *sum, const struct window_counts *counts)
{
	window_counts_add_weighted(sum, counts, 1);
}

uint64_t window_lost_samples(const uint64_t lost[WINDOW_LOSS_CNT])
{
	static const enum window_loss reasons[] = { WINDOW_LOSS_COUNTS_FULL, WINDOW_LOSS_NO_MAP,
						    WINDOW_LOSS_STORE,	     WINDOW_LOSS_MEMORY,
						    WINDOW_LOSS_UNDECIDED,   WINDOW_LOSS_GIVEN_UP,
						    WINDOW_LOSS_PASSES };
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		sum = add_saturated(sum, lost[reasons[i]]);
	return sum;
}
