/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the full names of a JVM's threads, at the end of a window that has samples of threads whose
 * comm may be cut; see thread_names.h.
 */
#ifndef JBPF_NAMING_JVM_THREADS_H
#define JBPF_NAMING_JVM_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include "symbols/hotspot/hotspot_threads.h"
#include "user/collect/naming/thread_names.h"
#include "user/collect/probe/probe.h"
#include "user/util/attributes.h"

struct hotspot_vm;
struct symbols_process;

/* Zero-initialise; end with jvm_threads_release(). */
struct jvm_threads {
	struct thread_names names;
	const struct hotspot_vm *vm;	/* that `reader` reads */
	struct hotspot_threads *reader; /* NULL = not open (yet) */
	bool is_refused;		/* this JVM's cannot be read */
};

void jvm_threads_release(struct jvm_threads *threads);

/*
 * Has names for the threads of these counts, of one window, where there are any. Nothing is read of a
 * process that is gone: what was known stays. 0 or -ENOMEM.
 */
__must_check int jvm_threads_update_names(struct jvm_threads *threads, int proc_fd,
					  const struct symbols_process *symbols,
					  const struct probe_count *counts, size_t cnt,
					  uint64_t window);

#endif
