/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which software event a sample is of. The programs of the CPU clock run for nothing else; one
 * program serves all other events, and reads which one has triggered it.
 */
#ifndef JBPF_EVENT_BPF_H
#define JBPF_EVENT_BPF_H

#include "vmlinux.h"

#include <bpf/bpf_core_read.h>

#include "bpf/jbpf.h"

/* As much of include/linux/perf_event.h as is read: what a program's ctx is in the kernel. */
struct perf_event_attr___jbpf {
	__u64 config;
} __attribute__((preserve_access_index));

struct perf_event___jbpf {
	struct perf_event_attr___jbpf attr;
} __attribute__((preserve_access_index));

struct bpf_perf_event_data_kern___jbpf {
	struct perf_event___jbpf *event;
} __attribute__((preserve_access_index));

/* Kind of the key, 0 when it cannot be read. From 5.15 on, bpf_get_attach_cookie() would tell. */
static __always_inline __u32 event_kind(struct bpf_perf_event_data *ctx)
{
	const struct bpf_perf_event_data_kern___jbpf *kernel_ctx = (const void *)ctx;
	__u64 config = BPF_CORE_READ(kernel_ctx, event, attr.config);

	return config ? (__u32)(JBPF_KEY_SOFTWARE + config) : 0;
}

#endif
