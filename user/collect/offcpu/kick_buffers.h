/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perf buffers that nobody reads, one per CPU. A record for one makes the kernel interrupt the CPU
 * that wrote it as soon as possible (irq_work), whether or not anything waits for the buffer: that
 * interrupt is what they are for. They are overwritten when full (kernel/events/ring_buffer.c: a mapping that
 * cannot be written, and records backwards), so that no record is refused.
 */
#ifndef JBPF_OFFCPU_KICK_BUFFERS_H
#define JBPF_OFFCPU_KICK_BUFFERS_H

#include <stddef.h>

#include "user/util/attributes.h"

/* Zero-initialise. */
struct kick_buffers {
	struct kick_buffer *items;
	size_t cnt;
};

/*
 * One for each of the CPUs 0 to cpu_cnt - 1 that is online, put into the map `map_fd`, a
 * BPF_MAP_TYPE_PERF_EVENT_ARRAY. 0 or -errno; then release them as well.
 */
__must_check int kick_buffers_open(struct kick_buffers *buffers, int map_fd, size_t cpu_cnt);
void kick_buffers_release(struct kick_buffers *buffers);

#endif
