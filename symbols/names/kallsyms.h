/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel functions from /proc/kallsyms. Read when first needed, and again when an address lies
 * outside of everything known (a new module or BPF program), or where BPF programs came and went since,
 * or when other modules are loaded than before; but not often. Until then what may be of another program or
 * module has no name. Where nobody says which BPF programs came and went, it is read again once a minute while they are
 * asked for, and for so long one may have the name of another that was in its place. The file stays open:
 * whether it shows addresses is decided by the rights its opener had, which jbpfd gives up later.
 */
#ifndef JBPF_NAMES_KALLSYMS_H
#define JBPF_NAMES_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/host/ksymbol_watch.h"
#include "user/util/attributes.h"

#define KALLSYMS_MAX_SYMBOLS 2000000u
#define KALLSYMS_MAX_MODULES (1u << 20) /* bytes of their names */

struct kallsyms;

struct kallsym {
	uint64_t start;
	uint64_t end;	  /* exclusive */
	const char *name; /* as the kernel has it; valid until the next lookup */
	bool may_change;  /* ask again: other code may be there by then */
	bool is_of_module; /* ask again as well, which costs nothing while no other module is loaded */
	bool is_of_bpf;
	const char *module; /* "ext4", "bpf"; "" for the kernel itself */
};

/* Opens `proc_fd`/kallsyms. 0, also when it cannot be opened (nothing is found then), -ENOMEM. */
__must_check int kallsyms__open(int proc_fd, struct kallsyms **out);
/* The same for what somebody opened, who may have had more rights; taken over. 0 or -ENOMEM. */
__must_check int kallsyms__from_fd(int fd, int proc_fd, struct kallsyms **out);
void kallsyms__free(struct kallsyms *syms); /* NULL is fine */

/*
 * The function at a kernel address; reads the file when it is not known. `now_boot_ns` limits that. 0; -ENOENT; -EACCES when
 * the kernel hides its addresses from us (kernel.kptr_restrict) or the file cannot be read.
 */
__must_check int kallsyms__read_and_lookup(struct kallsyms *syms, uint64_t address,
					   uint64_t now_boot_ns, struct kallsym *out);

/*
 * Which BPF programs came and went since the last call: that is known from the first one on. Reads the file when
 * that was never done: what was read before it is sampled names it.
 */
void kallsyms__note_changes(struct kallsyms *syms, const struct ksymbol_changes *changes);
/* Some were not told: it is known from the next call on. */
void kallsyms__forget_changes(struct kallsyms *syms);
/* What is asked from here on was sampled between these, CLOCK_BOOTTIME. */
void kallsyms__note_window(struct kallsyms *syms, uint64_t begin_boot_ns, uint64_t end_boot_ns);

size_t kallsyms__bytes(const struct kallsyms *syms);

#endif
