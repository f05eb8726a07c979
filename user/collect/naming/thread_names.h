/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The full names of the threads of one JVM, by what the kernel has of them. A sample says a thread's comm,
 * 15 bytes with runs of digits made '#', and not which of the threads of that comm it was. So a full
 * name stands for a comm only where every thread of the process that has the comm has this name, the
 * digits aside: all are Java's, and none has another name. Where it is not so the comm stays.
 *
 * HotSpot cuts a long name to its first 15 bytes, newer ones to the first 7, "..", and the last 6
 * (os::set_native_thread_name(), src/hotspot/os/linux/os_linux.cpp). No I/O.
 */
#ifndef JBPF_NAMING_THREAD_NAMES_H
#define JBPF_NAMING_THREAD_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

#define THREAD_COMM_BYTES 16u  /* with its NUL */
#define THREAD_COMMS_MAX  256u /* of one process, that are asked about; more keep their comm */

struct thread_comm {
	char comm[THREAD_COMM_BYTES];
	char *full;	   /* NULL = none, or none that may be used */
	char *next;	   /* while it is read: of the threads so far */
	uint64_t window;   /* the last one that had samples of it */
	uint32_t java_cnt; /* Java's threads that should have this comm ... */
	uint32_t task_cnt; /* ... and all that have it */
	uint32_t age;	   /* windows since it was read, of those that had samples of it */
	bool is_shared;	   /* once it had several full names: it keeps its comm */
	bool is_known;	   /* it was read */
	bool is_due;	   /* it is to be read */
};

/* Zero-initialise; end with thread_names_release(). */
struct thread_names {
	struct thread_comm *comms;
	size_t cnt;
	size_t cap;
	bool keeps_digits; /* names are told as they are: those of the kernel have digits */
};

void thread_names_release(struct thread_names *names);

/* This window, any number but that of the one before, has samples of it. 0 or -ENOMEM. */
__must_check int thread_names_want(struct thread_names *names, const char *comm, uint64_t window);
/* Is any wanted one to be read again? */
bool thread_names_are_due(const struct thread_names *names);

/*
 * Reading: begin; every thread that Java knows; if there are candidates then every thread that the kernel
 * knows, by its comm as it is; settle. The two are read at different times: a thread that began or ended between
 * them costs its comm the full name, which another reading may give back. At last end; without settle
 * all stays as it was.
 */
void thread_names_begin(struct thread_names *names);
__must_check int thread_names_add_java(struct thread_names *names, const char *name, size_t len);
bool thread_names_have_candidates(const struct thread_names *names);
void thread_names_add_task(struct thread_names *names, const char *comm, size_t len);
/* False: some could have a full name, and have none. */
bool thread_names_settle(struct thread_names *names);
void thread_names_end(struct thread_names *names);

/* The full name, borrowed until the next reading; NULL: the comm is all that is known. */
const char *thread_names_find(const struct thread_names *names, const char *comm);

#endif
