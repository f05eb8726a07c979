/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a failed start of the BPF side into one line that says what failed, why and what to do.
 * Pure: what is known of the host comes in as arguments.
 */
#ifndef JBPF_PROBE_PROBE_WHY_H
#define JBPF_PROBE_PROBE_WHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

enum probe_step {
	PROBE_STEP_OPEN = 0, /* skeleton, knobs, memory */
	PROBE_STEP_LOAD,     /* maps and programs into the kernel */
	PROBE_STEP_MAPS,     /* count maps and ring buffers */
	PROBE_STEP_FILTER,   /* cgroup and pid filters */
	PROBE_STEP_ATTACH,   /* raw tracepoints */
	PROBE_STEP_EVENT,    /* perf_event_open */
	PROBE_STEP_NO_CPU,   /* no CPU online */
	PROBE_STEP_WAITS,    /* the objects of waiting threads; the subject says it all */
};

struct probe_host {
	uint64_t capabilities;	  /* CapEff of /proc/self/status */
	int perf_event_paranoid;  /* -1..4; INT_MAX when not readable */
	uint32_t max_sample_rate; /* kernel.perf_event_max_sample_rate; 0 when not readable */
	bool has_btf;		  /* /sys/kernel/btf/vmlinux is there */
};

struct probe_failure {
	enum probe_step step;
	int err;	       /* negative errno */
	uint32_t frequency_hz; /* asked for */
	const char *subject;   /* cgroup path, CPU number, tracepoint; may be NULL */
	const char *log;       /* what libbpf said last; may be NULL */
};

void probe_why(const struct probe_failure *failure, const struct probe_host *host, char *why,
	       size_t why_len);

/* CapEff out of the text of /proc/PID/status. 0 or -EINVAL. */
__must_check int probe_why_capabilities(const char *status_text, uint64_t *out);

/*
 * Keeps in `log` ("" at first) the line of libbpf's messages that tells most: the last of a
 * verifier's log before its statistics, else the first line of the first message. No newline.
 */
void probe_why_keep_log(const char *message, char *log, size_t log_len);

#endif
