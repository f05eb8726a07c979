/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that makes the kernel pass over all threads: it holds the program and a socket, and
 * nothing else. A pass may hang on the memory of a process; then this one is ended, and no harm is
 * done.
 */
#ifndef JBPF_OFFCPU_OFFCPU_CHILD_H
#define JBPF_OFFCPU_OFFCPU_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "user/util/attributes.h"

struct offcpu_child {
	int program_fd;	  /* of a syscall program; or of an iterator's link */
	bool by_iterator; /* which of these it is */
};

/*
 * For child_process_start(), with a struct offcpu_child. Over the socket come periods, uint64_t of
 * ns: so long is it from pass to pass, on average, from then on. Ends with the socket, or -errno.
 */
int offcpu_child_main(int socket_fd, const void *ctx);

/*
 * When the pass `number` is due, from 0 on, in ns after the first: the time between two varies by
 * up to four fifths of the period, so that nothing that repeats stays in step with it. `random` is
 * any number.
 */
uint64_t offcpu_child_due_ns(uint64_t number, uint64_t period_ns, uint64_t random);

#endif
