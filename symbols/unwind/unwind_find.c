// SPDX-License-Identifier: Apache-2.0
/*
 * Where the rules of a file are; see unwind_table.h. Libraries that were built without .eh_frame may
 * have .debug_frame in a debug file of their own, if that is installed: it was made of the same code.
 */
#include <elf.h>
#include <errno.h>

#include "symbols/elf/build_id.h"
#include "symbols/elf/debug_file.h"
#include "symbols/unwind/unwind_table.h"

#define PAGE_BYTES (1ull << JBPF_UNWIND_PAGE_SHIFT)

/* The linker's stubs and a few of the compiler's own functions have rules in every file. */
#define SPARSE_TIMES 8u

struct find {
	const struct elf_file *file;
	struct unwind_table table;
};

/* Bytes of a page that have a rule. */
static uint64_t page_covered(const struct unwind_table *table, uint32_t page)
{
	uint32_t word = table->words[page];
	const uint32_t *rows = &table->words[word >> JBPF_UNWIND_PAGE_CNT_BITS];
	uint32_t cnt = word ? (word & ((1u << JBPF_UNWIND_PAGE_CNT_BITS) - 1)) + 1 : 0;
	uint64_t covered = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		uint64_t end = i + 1 < cnt ? rows[i + 1] & JBPF_ROW_PC_MASK : PAGE_BYTES;

		if ((rows[i] & ~JBPF_ROW_PC_MASK) !=
		    jbpf_row(0, JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_NONE))
			covered += end - (rows[i] & JBPF_ROW_PC_MASK);
	}
	return covered;
}

/* Does it have rules for next to nothing of the file's code? */
static bool is_sparse(const struct unwind_table *table, const struct elf_file *file)
{
	uint64_t covered = 0, code = 0;

	for (uint32_t i = 0; i < table->page_cnt; i++)
		covered += page_covered(table, i);
	for (size_t i = 0; i < file->segment_cnt; i++)
		if (file->segments[i].type == PT_LOAD && file->segments[i].flags & PF_X)
			code += file->segments[i].file_size;
	return covered < code / SPARSE_TIMES;
}

static int use_debug(void *ctx, const struct elf_file *debug)
{
	struct find *find = ctx;

	return unwind_table_build_debug(find->file, debug, &find->table);
}

int unwind_table_find(const struct elf_file *file, const struct debug_file_opener *opener,
		      struct unwind_table *out)
{
	struct find find = { .file = file };
	struct unwind_table own = { 0 };
	int err = unwind_table_build(file, &own), debug_err;
	struct build_id id = { .len = 0 };

	if (err && err != -ENODATA)
		return err;
	if (!err && !is_sparse(&own, file)) {
		*out = own;
		return 0;
	}
	debug_err = build_id_read(file, &id);
	if (!debug_err)
		debug_err = debug_file_find(file, &id, opener, use_debug, &find);
	if (!debug_err || debug_err == -ENOMEM)
		unwind_table_release(&own);
	if (debug_err == -ENOMEM)
		return debug_err;
	if (!debug_err)
		*out = find.table;
	else if (!err)
		*out = own;
	return debug_err ? err : 0;
}
