// SPDX-License-Identifier: Apache-2.0
/*
 * See probe_sizes.h. Maps are preallocated: programs of perf events need it so on 5.10, and a map
 * that grows under an attack would be refused memory just then. An entry of a count map takes 144
 * bytes of kernel memory, one of `seen` 64. In MiB, at 99 Hz and windows of 10 s:
 *
 *     CPUs                 2     16     64    128
 *     two count maps     1.3      7     27     53
 *     seen               1.3      6     20     39
 *     stacks               1      2      8     16
 *     table, at most      36     60    240    256   user space; kept as stacks come, not at once
 */
#include "user/collect/probe/probe_sizes.h"

#include <stdbool.h>

#include "user/collect/probe/count_map.h"
#include "user/collect/probe/probe.h"
#include "user/util/clock.h"

#define SEEN_MIN_ENTRIES  16384 /* four windows of stacks that stay known, */
#define SEEN_PER_COUNT	  3	/* three where there are many */
#define KNOWN_MIN_ENTRIES 8192
#define KNOWN_PER_CPU	  512
#define KNOWN_MAX_ENTRIES 65536
#define STACKS_MIN_BYTES  (1u << 20)
#define STACKS_PER_CPU	  (128u << 10)
#define STACKS_MAX_BYTES  (16u << 20)
#define TABLE_MIN_BYTES	  (36u << 20) /* 4096 stacks of 1024 frames fit */
#define TABLE_PER_COUNT	  (3u << 10)  /* a stack of 380 frames for each sample of a window */
#define TABLE_MAX_BYTES	  (256u << 20)

/*
 * Of page faults, one of 64 sampled, a machine that compiles had four times as many samples as of
 * CPU time; one that serves has far fewer.
 */
#define EVENT_PARTS	  4
#define EVENT_ENTRIES_MAX 65536

/* Under pressure a stack is kept for so many windows: see stack_table.h. */
#define TABLE_WINDOWS 4

static uint32_t power_of_two(uint64_t wanted, uint32_t min, uint32_t max)
{
	uint32_t size = min;

	while (size < max && size < wanted)
		size *= 2;
	return size;
}

static uint32_t seen_entries(uint32_t count_entries)
{
	uint32_t entries = count_entries * SEEN_PER_COUNT;

	return entries < SEEN_MIN_ENTRIES ? SEEN_MIN_ENTRIES : entries;
}

static size_t table_bytes(uint32_t count_entries)
{
	size_t bytes = (size_t)count_entries * TABLE_PER_COUNT;

	if (bytes < TABLE_MIN_BYTES)
		return TABLE_MIN_BYTES;
	return bytes < TABLE_MAX_BYTES ? bytes : TABLE_MAX_BYTES;
}

uint32_t probe_events(const struct probe_options *options)
{
	return options->events ? options->events : EVENT_BIT(EVENT_CPU);
}

uint64_t probe_period(const struct probe_options *options, enum event event)
{
	if (event == EVENT_CPU)
		return options->frequency_hz ? CLOCK_NS_PER_S / options->frequency_hz : 0;
	return options->periods[event] ? options->periods[event] : event_default_period(event);
}

/* What CPU time has, at least: maps are made for it even where only others are sampled. */
static uint32_t cpu_entries(const struct probe_options *options, size_t cpu_cnt)
{
	return count_map_entries(options->frequency_hz, cpu_cnt, options->window_ns);
}

static uint32_t event_entries(const struct probe_options *options, size_t cpu_cnt)
{
	uint32_t others = probe_events(options) & ~EVENT_BIT(EVENT_CPU);
	size_t parts = EVENT_PARTS * (size_t)__builtin_popcount(others);
	uint32_t entries;

	if (!parts)
		return 0;
	entries = count_map_entries(options->frequency_hz, cpu_cnt * parts, options->window_ns);
	return entries < EVENT_ENTRIES_MAX ? entries : EVENT_ENTRIES_MAX;
}

uint32_t probe_sizes_count_entries(const struct probe_options *options, size_t cpu_cnt)
{
	uint64_t entries =
		(uint64_t)cpu_entries(options, cpu_cnt) + event_entries(options, cpu_cnt);

	return entries < COUNT_MAP_MAX_ENTRIES ? (uint32_t)entries : COUNT_MAP_MAX_ENTRIES;
}

void probe_sizes(const struct probe_options *options, size_t cpu_cnt, struct probe_sizes *out)
{
	uint32_t count_entries = probe_sizes_count_entries(options, cpu_cnt);
	uint32_t cpu = cpu_entries(options, cpu_cnt);
	bool has_cpu = probe_events(options) & EVENT_BIT(EVENT_CPU);
	uint32_t seen = seen_entries(count_entries);
	size_t max_bytes = table_bytes(cpu);

	*out = (struct probe_sizes){
		.count_entries = count_entries,
		.event_entries = has_cpu && count_entries > cpu ? count_entries - cpu :
								  count_entries,
		.seen_entries = seen,
		.known_entries = power_of_two((uint64_t)cpu_cnt * KNOWN_PER_CPU, KNOWN_MIN_ENTRIES,
					      KNOWN_MAX_ENTRIES),
		.stacks_bytes = power_of_two((uint64_t)cpu_cnt * STACKS_PER_CPU, STACKS_MIN_BYTES,
					     STACKS_MAX_BYTES),
		.table_soft_bytes = max_bytes / TABLE_WINDOWS,
		.table_max_bytes = max_bytes,
		.table_soft_cnt = seen / 2,
		.window_stack_bytes = max_bytes / TABLE_WINDOWS,
	};
}
