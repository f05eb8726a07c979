// SPDX-License-Identifier: Apache-2.0
/* See tick_log.h. */
#include "user/collect/probe/tick_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bpf/jbpf_user.h"

#include "user/util/clock.h"

#define TICK_SETS	   2
#define TICK_STRIDE_BYTES  64 /* CPUs share no cache line */
#define TICK_STRIDE_WORDS  (TICK_STRIDE_BYTES / sizeof(uint64_t))
#define TICK_SPARE_PERCENT 125
#define TICK_US		   1000 /* ns */

void tick_log_size(struct tick_log *log, uint32_t frequency_hz, uint32_t cpu_cnt,
		   uint64_t window_ns)
{
	/* A first window may be longer than the others, and a busy machine's drain comes late. */
	double seconds = (double)window_ns / (double)CLOCK_NS_PER_S * TICK_SPARE_PERCENT / 100 + 1;
	double ticks = (double)frequency_hz * seconds;
	double lines = ticks / TICK_STRIDE_WORDS + 2; /* rounded up, and the word in front */

	*log = (struct tick_log){ 0 };
	if (cpu_cnt == 0 || lines * TICK_STRIDE_BYTES * TICK_SETS * cpu_cnt > TICK_LOG_MAX_BYTES)
		return;
	log->cpu_cnt = cpu_cnt;
	log->stride = (uint32_t)lines * (uint32_t)TICK_STRIDE_WORDS;
}

uint32_t tick_log_words(const struct tick_log *log)
{
	return log->stride ? TICK_SETS * log->cpu_cnt * log->stride : 1;
}

size_t tick_log_max(const struct tick_log *log)
{
	return log->stride ? (size_t)log->cpu_cnt * (log->stride - 1) : 0;
}

int tick_log_map(struct tick_log *log, int map_fd)
{
	size_t len = tick_log_words(log) * sizeof(uint64_t);
	void *words;

	if (!log->stride)
		return 0;
	words = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (words == MAP_FAILED)
		return -errno;
	log->words = words;
	return 0;
}

void tick_log_unmap(struct tick_log *log)
{
	if (log->words)
		(void)munmap(log->words, tick_log_words(log) * sizeof(uint64_t));
	log->words = NULL;
}

static struct probe_tick tick_decode(uint64_t word, uint64_t start_boot_ns)
{
	uint64_t start = start_boot_ns >> JBPF_TICK_SHIFT;
	int64_t delta = (int32_t)((uint32_t)word - (uint32_t)start);
	int64_t after_ns =
		(int64_t)((start + (uint64_t)delta) << JBPF_TICK_SHIFT) - (int64_t)start_boot_ns;
	int64_t after_us = after_ns / TICK_US;

	if (after_us < 0)
		after_us = 0;
	if (after_us > UINT32_MAX)
		after_us = UINT32_MAX;
	return (struct probe_tick){
		.tag = (uint32_t)(word >> 32),
		.after_us = (uint32_t)after_us,
	};
}

int tick_compare(const void *left, const void *right)
{
	const struct probe_tick *a = left, *b = right;

	if (a->tag != b->tag)
		return a->tag > b->tag ? 1 : -1;
	return (a->after_us > b->after_us) - (a->after_us < b->after_us);
}

size_t tick_log_take(struct tick_log *log, int set, uint64_t start_boot_ns, struct probe_tick *out)
{
	size_t cnt = 0;

	if (!log->words)
		return 0;
	for (uint32_t cpu = 0; cpu < log->cpu_cnt; cpu++) {
		uint64_t *part =
			log->words + ((size_t)set * log->cpu_cnt + cpu) * (size_t)log->stride;
		uint64_t filled = part[0] < log->stride ? part[0] : log->stride - 1;

		for (uint64_t i = 1; i <= filled; i++)
			out[cnt++] = tick_decode(part[i], start_boot_ns);
		part[0] = 0;
	}
	qsort(out, cnt, sizeof(*out), tick_compare);
	return cnt;
}
