/* SPDX-License-Identifier: Apache-2.0 */
/* What events of CPUs have in common, whatever they are for. */
#ifndef JBPF_HOST_PERF_EVENT_H
#define JBPF_HOST_PERF_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Has the event been on since this was last asked? It must have been opened with PERF_FORMAT_TOTAL_TIME_ENABLED
 * alone; `enabled_ns` is what it said then, 0 at first. When its CPU goes offline the kernel takes an event off it
 * for good, and a CPU that is back by now looks as it did before; reading the event still works
 * (perf_event_exit_cpu_context() in kernel/events/core.c). True when it cannot be asked: an event that was opened
 * with rights that are given up by now cannot be replaced.
 */
bool perf_event_has_run(int fd, uint64_t *enabled_ns);

#endif
