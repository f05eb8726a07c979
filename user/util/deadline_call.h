/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call that may hang in the kernel. A file system whose server does not answer (FUSE, NFS) holds
 * whoever asks it until SIGKILL: no timer and no other signal ends that. Such a call runs on a
 * thread of its own; when it takes too long that thread is left behind.
 */
#ifndef JBPF_UTIL_DEADLINE_CALL_H
#define JBPF_UTIL_DEADLINE_CALL_H

#include <stdint.h>

/* Threads that may be left behind at a time. */
#define DEADLINE_CALL_MAX_LEFT 8u

struct deadline_work {
	/* On the thread: all it needs is in `ctx`, descriptors of its own included. */
	void (*run)(void *ctx);
	/* Frees `ctx` with all that run() left in it. */
	void (*release)(void *ctx);
};

/*
 * 0: run() has returned, and `ctx` is the caller's to release. Else it is not the caller's any more:
 * -ETIMEDOUT: run() goes on, and what comes of it is released; -EBUSY: too many were left behind
 * and hang still, run() was not called; -errno: no thread.
 */
int deadline_call(const struct deadline_work *work, void *ctx, uint64_t timeout_ns);

/* Threads that hang now. */
uint32_t deadline_call_left(void);

#endif
