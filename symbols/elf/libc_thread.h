/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every thread's outermost frame is glibc's start_thread, and distributions ship libc.so.6 without
 * the symbol, so every Java stack of every container would begin with an unknown frame. The place
 * is proven by its code instead (glibc nptl/pthread_create.c: pd->result = pd->start_routine (pd->arg)).
 */
#ifndef JBPF_ELF_LIBC_THREAD_H
#define JBPF_ELF_LIBC_THREAD_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "symbols/elf/elf_file.h"
#include "symbols/elf/elf_symtab.h"

#define LIBC_THREAD_NAME      "start_thread"
#define LIBC_THREAD_MAX_CALLS 2 /* of a C11 thread's function, and of a POSIX one's */

/* The instructions that call a thread's function. */
struct libc_thread_call {
	size_t offset; /* from the start of the code */
	size_t len;
};

/*
 * Looks for the calls in x86-64 code: an indirect call whose result is sign-extended (thrd_start_t
 * returns int) and stored at a fixed place of the thread's own block (%fs), and another one that
 * jumps to that store. Seen so in glibc 2.36, 2.41 and 2.43. Returns how many were found: 0, or
 * LIBC_THREAD_MAX_CALLS; any other number proves nothing and counts as 0. Pure.
 */
size_t libc_thread_find(const uint8_t *code, size_t len,
			struct libc_thread_call out[LIBC_THREAD_MAX_CALLS]);

/*
 * Adds the calls of a libc.so.6, which it says itself that it is, as symbols; other files, and a libc that has
 * the symbol, are left alone. 0 or -ENOMEM.
 */
__must_check int libc_thread_add(const struct elf_file *file, struct elf_symtab_builder *builder);

#endif
