/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log in which the programs note when they sampled what (`ticks` of bpf/jbpf.h), as user space
 * sees it: how large it must be, mapped memory, and the moments in it. Each CPU has two parts, used
 * in turns with the two count maps; only the part that no program writes to is ever read.
 */
#ifndef JBPF_PROBE_TICK_LOG_H
#define JBPF_PROBE_TICK_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

#define TICK_LOG_MAX_BYTES (8u << 20) /* of all CPUs and both sets */

/* Moment of one sample. */
struct probe_tick {
	uint32_t tag;	   /* jbpf_key_tag() of its key */
	uint32_t after_us; /* since the window's start; 0 also for those shortly before */
};

struct tick_log {
	uint64_t *words; /* mapped; NULL: there is no log */
	uint32_t cpu_cnt;
	uint32_t stride; /* words per CPU and set */
};

/*
 * Sets cpu_cnt and stride for windows of such a length, with a quarter and a second to spare. All 0
 * when the log would take more than TICK_LOG_MAX_BYTES: half a window of moments is worse than none.
 */
void tick_log_size(struct tick_log *log, uint32_t frequency_hz, uint32_t cpu_cnt,
		   uint64_t window_ns);
/* Words of all; at least 1, as maps cannot be empty. */
uint32_t tick_log_words(const struct tick_log *log);

/* Maps the words of the BPF map. 0 or -errno. */
__must_check int tick_log_map(struct tick_log *log, int map_fd);
void tick_log_unmap(struct tick_log *log);

/* The most that tick_log_take() can give. */
size_t tick_log_max(const struct tick_log *log);
/*
 * Moves the ticks of a set that no program writes to into `out`, in order of tick_compare(), and
 * empties it. Returns how many.
 */
size_t tick_log_take(struct tick_log *log, int set, uint64_t start_boot_ns, struct probe_tick *out);

/* For qsort() of struct probe_tick: by tag, then time. */
int tick_compare(const void *left, const void *right);

#endif
