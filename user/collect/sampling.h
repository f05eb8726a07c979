/* SPDX-License-Identifier: Apache-2.0 */
/* What `jbpfd` and `jbpf record` share: waiting for the end of a window while processes are looked
 * at as they appear, and signals that end or change things. */
#ifndef JBPF_COLLECT_SAMPLING_H
#define JBPF_COLLECT_SAMPLING_H

#include <stdint.h>

#include "user/util/attributes.h"
#include "user/collect/recorder.h"

/* Blocks SIGTERM, SIGINT and SIGHUP and gives a descriptor that reads them. fd or -errno. */
__must_check int sampling_signals_open(void);

/* What else is waited for: a descriptor, and a moment. */
struct sampling_aside {
	void *ctx;
	int fd; /* readable: step() has something to do; -1 = never */
	uint64_t (*due_boot_ns)(void *ctx);
	void (*step)(void *ctx); /* never waits */
};

/*
 * Consumes what the recorder has until `deadline_boot_ns` (CLOCK_BOOTTIME) or a signal. 0 at the
 * deadline, the signal's number, or -errno. `aside` NULL: there is nothing else.
 */
__must_check int sampling_wait(struct recorder *recorder, int signal_fd, uint64_t deadline_boot_ns,
			       const struct sampling_aside *aside);

#endif
