/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of a JVM's threads as Java has them, read from outside: the kernel keeps 15 bytes of
 * each. JVM's list of threads -> JavaThread -> java.lang.Thread -> its name, a String (in JDK 8 a char[])
 * on the heap. JDK 8 to 25, with and without compressed pointers and compact headers; of ZGC's
 * pointers the colour is taken off.
 *
 * A collector may move all that while it is read, so a name may be missing, and what the classes of
 * objects do not give away may be another thread's. Use a name only where the kernel's agrees with it.
 */
#ifndef JBPF_HOTSPOT_HOTSPOT_THREADS_H
#define JBPF_HOTSPOT_HOTSPOT_THREADS_H

#include <stddef.h>

#include "user/util/attributes.h"

struct hotspot_threads;
struct hotspot_vm;

#define HOTSPOT_THREADS_MAX	 1024u /* of more, only so many are read */
#define HOTSPOT_THREAD_MAX_CHARS 160u  /* longer names are left out */

/*
 * `vm` is borrowed for its life. 0; -EAGAIN: the JVM is starting; -ENOTSUP: its tables lack something;
 * -ENOMEM; -errno of reading.
 */
__must_check int hotspot_threads__open(struct hotspot_vm *vm, struct hotspot_threads **out);
void hotspot_threads__free(struct hotspot_threads *threads); /* NULL is fine */

/*
 * A name in UTF-8, printable and NUL-terminated, borrowed for the call. Not 0 ends the reading and is
 * returned.
 */
typedef int (*hotspot_thread_fn)(void *ctx, const char *name, size_t len);

/* Calls `fn` for each thread whose name can be read. 0; -ENOMEM; -errno of reading: -ESRCH, ... */
__must_check int hotspot_threads__each(struct hotspot_threads *threads, hotspot_thread_fn fn,
				       void *ctx);

#endif
