/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the processes of a symbolizer share: the helpers that open and parse files, the tables of
 * files, and, by account, the names. The bottom of symbols/: it calls no process and no symbolizer.
 *
 *     symbolizer.c               all processes, and the kernel
 *     symbols_process_stack.c    a stack of one process, word by word
 *     symbols_process.c          one address: which mapping, which file
 *     symbols_process_jit.c      the sources of names for JIT code
 *     symbols_process_space.c    how its code is unwound, for the kernel
 *     symbols_process_check.c    is it still the same process?
 *     symbols_frames.c           answers and frames
 *     symbols_shared.c           this
 *
 * Each calls those below it only.
 */
#ifndef JBPF_SYMBOLS_SHARED_H
#define JBPF_SYMBOLS_SHARED_H

#include "user/util/attributes.h"
#include "symbols/elf/elf_symtab.h"
#include "symbols/names/name_table.h"
#include "symbols/names/object_cache.h"
#include "symbols/symbols.h"
#include "symbols/unwind/unwind_cache.h"

/* What the processes of one account share. */
struct symbols_share {
	struct symbols_share *next;
	struct account *account; /* a user of it */
	struct name_table *names;
	size_t user_cnt; /* processes */
};

/* Zero-initialise; end with symbols_shared_release(). */
struct symbols_shared {
	struct symbolizer_options options;
	/* One per account; that of nobody's, and the kernel, for ever. */
	struct symbols_share *shares;
	struct parser *parser; /* has the opener */
	struct opener *opener;
	struct object_cache *objects;
	struct elf_symtab *vdso; /* NULL: not looked for yet, or there is none */
	bool vdso_tried;
	struct unwind_cache *unwind;
	struct unwind_file vdso_unwind;
	uint64_t window_begin_ns; /* CLOCK_BOOTTIME; no sample that is still to be named is older */
	struct symbols_unwind_listener unwind_listener; /* zeroed: nobody listens */
	struct symbols_process *processes;		/* that are open, by next */
	struct symbols_process *prefetched;		/* in this round, by next_prefetched */
};

/* 0 or -errno; what was opened is released by symbols_shared_release() in any case. */
__must_check int symbols_shared_open(struct symbols_shared *shared,
				     const struct symbolizer_options *options);
/* From here on the names of methods in Java have their parameters, or not; those that are there stay as they are. */
void symbols_shared_keep_parameters(struct symbols_shared *shared, bool keeps_parameters);
/* All processes are gone. */
void symbols_shared_release(struct symbols_shared *shared);

/* The share of an account, with one more user; and one less. 0 or -ENOMEM. */
__must_check int symbols_shared_get(struct symbols_shared *shared, struct account *account,
				    struct symbols_share **out);
void symbols_shared_put(struct symbols_shared *shared, struct symbols_share *share);

/* The vdso's symbols or NULL. */
const struct elf_symtab *symbols_shared_vdso(struct symbols_shared *shared);
size_t symbols_shared_bytes(const struct symbols_shared *shared);

#endif
