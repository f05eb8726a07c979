/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The distinct stacks that crossed from the kernel, by content hash, kept in step with the BPF map
 * `seen`: what is in `seen` must be here, or a sample would name a stack nobody has.
 *
 * Forgetting takes two phases. A stack that went unused for some windows is first deleted from
 * `seen` (stack_table__end_window() lists it); samples that were counted before that still find it
 * here. Only when it is unused for two more windows is our copy dropped: by then every program that
 * saw the old state has ended, and the next use makes the kernel send the stack again.
 */
#ifndef JBPF_PROBE_STACK_TABLE_H
#define JBPF_PROBE_STACK_TABLE_H

#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "bpf/jbpf.h"

struct stack_table;

struct stack_table_options {
	size_t soft_bytes;     /* above it, what the last window did not use is forgotten */
	size_t soft_cnt;       /* the same, by the number of stacks; 0: whatever it is */
	size_t max_bytes;      /* above it, new stacks are refused */
	uint32_t idle_windows; /* forgotten when unused for so many windows; >= 1 */
};

struct stack_table_entry {
	uint32_t used_window;	   /* last window that used it */
	uint32_t forgotten_window; /* when it was deleted from `seen`; 0 = it is there */
	uint32_t frame_cnt;
	uint16_t end; /* enum jbpf_stack_end */
	/* JBPF_STACK_LEAF_*; when any is set, 4 words more: leaf_words, leaf_code. */
	uint16_t flags;
	uint64_t ips[];
};

struct stack_table *stack_table__new(const struct stack_table_options *options);
void stack_table__free(struct stack_table *table); /* NULL is fine */

/*
 * Takes a record of the `stacks` buffer, `len` bytes long. A known one counts as used. 0,
 * -EINVAL malformed, -ENOSPC table full (delete the hash from `seen`), -ENOMEM.
 */
__must_check int stack_table__add(struct stack_table *table, const void *record, size_t len);

/* What was taken at the leaf, borrowed as the entry is; NULL = not taken. */
const uint64_t *stack_table_entry_leaf_words(const struct stack_table_entry *entry);
const uint8_t *stack_table_entry_leaf_code(const struct stack_table_entry *entry);

/* The stack, marked as used by the present window, or NULL. Borrowed until the window ends. */
const struct stack_table_entry *stack_table__use(struct stack_table *table, uint64_t hash);
/* The same without a mark. */
const struct stack_table_entry *stack_table__find(const struct stack_table *table, uint64_t hash);

/*
 * Ends the present window: drops what may be dropped and points `forget_out` at the hashes to
 * delete from `seen` now (borrowed until the next call). 0, or -ENOMEM: nothing changed then but
 * the number of the window.
 */
__must_check int stack_table__end_window(struct stack_table *table, const uint64_t **forget_out,
					 size_t *forget_cnt_out);

size_t stack_table__count(const struct stack_table *table);
size_t stack_table__bytes(const struct stack_table *table);

#endif
