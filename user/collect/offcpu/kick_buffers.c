// SPDX-License-Identifier: Apache-2.0
/* See kick_buffers.h. */
#include "user/collect/offcpu/kick_buffers.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BUFFER_PAGES 2 /* one of them is the header */

struct kick_buffer {
	void *memory; /* NULL: not mapped */
	int fd;
};

static size_t buffer_bytes(void)
{
	return BUFFER_PAGES * (size_t)sysconf(_SC_PAGESIZE);
}

static int buffer_open(struct kick_buffer *buffer, uint32_t cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_type = PERF_SAMPLE_RAW,
		.wakeup_events = 1,
		.write_backward = 1,
	};
	void *memory;

	buffer->memory = NULL;
	buffer->fd =
		(int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (buffer->fd < 0)
		return -errno;
	memory = mmap(NULL, buffer_bytes(), PROT_READ, MAP_SHARED, buffer->fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	buffer->memory = memory;
	return 0;
}

int kick_buffers_open(struct kick_buffers *buffers, int map_fd, size_t cpu_cnt)
{
	buffers->items = calloc(cpu_cnt, sizeof(*buffers->items));
	if (!buffers->items)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < cpu_cnt; cpu++) {
		struct kick_buffer *buffer = &buffers->items[buffers->cnt++];
		int err = buffer_open(buffer, cpu);

		/* It is offline. */
		if (err == -ENODEV)
			continue;
		if (!err)
			err = bpf_map_update_elem(map_fd, &cpu, &buffer->fd, BPF_ANY);
		if (err)
			return err;
	}
	return 0;
}

void kick_buffers_release(struct kick_buffers *buffers)
{
	for (size_t i = 0; i < buffers->cnt; i++) {
		if (buffers->items[i].memory)
			(void)munmap(buffers->items[i].memory, buffer_bytes());
		if (buffers->items[i].fd >= 0)
			close(buffers->items[i].fd);
	}
	free(buffers->items);
	*buffers = (struct kick_buffers){ 0 };
}
