/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of this host decides whether sampling can begin: read out of /proc and /sys; and how its kernel
 * gives maps their memory.
 */
#ifndef JBPF_PROBE_PROBE_HOST_H
#define JBPF_PROBE_PROBE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/collect/probe/probe_why.h"
#include "user/util/attributes.h"

struct bpf_map;

/* Fills what can be read, for a line about what failed. */
void probe_host_read(struct probe_host *out);
/* kernel.perf_event_max_sample_rate; 0 when not readable. */
uint32_t probe_host_max_sample_rate(void);
/* Memory of a BPF map as the kernel charges it ("memlock:" of fdinfo); 0 when it cannot be read. */
uint64_t probe_host_map_bytes(int fd);

/*
 * May programs of perf events have hash maps whose entries take memory when they come, and give it back
 * (BPF_F_NO_PREALLOC)? The kernel is asked, by a program that does nothing: before 6.1 they could not
 * (check_map_prog_compatibility() in kernel/bpf/verifier.c).
 */
bool probe_host_may_grow(void);
/* Before the load, where they may: makes maps such. 0 or -errno. */
__must_check int probe_host_let_grow(struct bpf_map *const *maps, size_t cnt);
/* Adds or replaces an entry of a map of either kind. 0 or -errno: -E2BIG: it is full; -ENOMEM. */
__must_check int probe_host_map_put(int map_fd, const void *key, const void *value);

#endif
