/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules by which the frames of one file's code are unwound, as the BPF programs read them: rows
 * of four bytes in pages, bpf/jbpf_unwind.h. Made of .eh_frame, or .debug_frame of a debug file, by the
 * parser process; whoever gets one from there checks it by unwind_table_is_valid().
 *
 * In: an ELF file's bytes (unwind_build.h). Out: a table that the caller owns; the cache shares equal ones
 * (unwind_cache.h).
 */
#ifndef JBPF_UNWIND_UNWIND_TABLE_H
#define JBPF_UNWIND_UNWIND_TABLE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "bpf/jbpf_unwind.h"

struct debug_file_opener;
struct elf_file;

/* Zero-initialise; end with unwind_table_release(). */
struct unwind_table {
	uint32_t *words; /* owned: the pages' words, then rows */
	uint32_t word_cnt;
	uint32_t page_cnt;
	uint32_t row_cnt;
	uint64_t address; /* as the file's segments say: of the first page, a multiple of 4,096 */
};

/*
 * The table of a file. 0; -ENODATA: it has no unwind information (musl, hand-written assembly);
 * -EOPNOTSUPP: its code keeps frame pointers, and what it has is not about that (Go);
 * -EFBIG: it would have more than JBPF_UNWIND_MAX_WORDS words; -ENOEXEC: what it has is damaged;
 * -ENOMEM; -errno of reading.
 */
__must_check int unwind_table_build(const struct elf_file *file, struct unwind_table *out);
/* The same by .debug_frame of its debug file. */
__must_check int unwind_table_build_debug(const struct elf_file *file, const struct elf_file *debug,
					  struct unwind_table *out);
/*
 * The best that is to be had: by the file itself; where that has rules for next to nothing of its code,
 * as musl, by its debug file. As unwind_table_build().
 */
__must_check int unwind_table_find(const struct elf_file *file,
				   const struct debug_file_opener *opener,
				   struct unwind_table *out);
void unwind_table_release(struct unwind_table *table);

/* Is it one that the BPF programs can walk by: sizes, pages, rows in order and each of a known kind? */
bool unwind_table_is_valid(const struct unwind_table *table);

/* The row for an address as the file's segments say; JBPF_SPECIAL_NONE where there is none. */
uint32_t unwind_table_row(const struct unwind_table *table, uint64_t address);

/*
 * A cryptographic hash of the content: equal tables are shared by it, so nobody must be able to
 * forge one.
 */
void unwind_table_digest(const struct unwind_table *table, uint8_t out[32]);

#endif
