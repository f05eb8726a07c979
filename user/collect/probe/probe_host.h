/* SPDX-License-Identifier: Apache-2.0 */
/* What of this host decides whether sampling can begin: read out of /proc and /sys. */
#ifndef JBPF_PROBE_PROBE_HOST_H
#define JBPF_PROBE_PROBE_HOST_H

#include <stdint.h>

#include "user/collect/probe/probe_why.h"

/* Fills what can be read, for a line about what failed. */
void probe_host_read(struct probe_host *out);
/* kernel.perf_event_max_sample_rate; 0 when not readable. */
uint32_t probe_host_max_sample_rate(void);
/* Memory of a BPF map as the kernel charges it ("memlock:" of fdinfo); 0 when it cannot be read. */
uint64_t probe_host_map_bytes(int fd);

#endif
