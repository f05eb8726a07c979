/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of unwind tables: rows as literals, tables of tiny files. Include after <cmocka.h>. */
#ifndef JBPF_TESTS_UNWIND_TESTING_H
#define JBPF_TESTS_UNWIND_TESTING_H

#include <elf.h>

#include "symbols/elf/elf_file.h"
#include "symbols/unwind/unwind_table.h"
#include "tests/unit/tiny_eh_frame.h"

#define SPECIAL(value)	       jbpf_row(0, JBPF_ROW_SPECIAL, 0, value)
#define FRAME(slot)	       jbpf_row(0, JBPF_ROW_SPECIAL, slot, JBPF_SPECIAL_FRAME)
#define NONE		       SPECIAL(JBPF_SPECIAL_NONE)
#define UNSUPPORTED	       SPECIAL(JBPF_SPECIAL_UNSUPPORTED)
#define ROW(kind, slot, value) jbpf_row(0, JBPF_ROW_##kind, slot, value)
#define AT(kind, slot, n, m)   jbpf_row(0, JBPF_ROW_##kind, slot, ((n)&0x7fu) << 3 | (m))
#define BIG(slot, words)       (ROW(BIG, 0, 0) | ((slot) | (words) << 3) << JBPF_ROW_SLOT_SHIFT)
#define CODE(text)	       text, sizeof(text) - 1

/* CFA = rsp + 8, return address at CFA - 8; CFA = sp. */
#define X86_CIE CODE("\x0c\x07\x08\x90\x01")
#define ARM_CIE CODE("\x0c\x1f\x00")
#define X86_RA	16
#define ARM_RA	30

static uint8_t file_bytes[TINY_ELF_MAX];
static size_t file_len;

static inline int build_bytes(const uint8_t *bytes, size_t len, struct unwind_table *out)
{
	struct elf_file file;
	int err = elf_file_open_bytes(bytes, len, &file);

	if (!err)
		err = unwind_table_build(&file, out);
	elf_file_release(&file);
	return err;
}

static inline int build_machine(const struct tiny_eh *eh, uint16_t machine, const void *code,
				size_t code_len, struct unwind_table *out)
{
	file_len = tiny_eh_elf(eh, machine, code, code_len, file_bytes);
	return build_bytes(file_bytes, file_len, out);
}

static inline struct unwind_table build(const struct tiny_eh *eh, const void *code, size_t code_len)
{
	struct unwind_table table = { 0 };

	assert_int_equal(build_machine(eh, EM_X86_64, code, code_len, &table), 0);
	assert_true(unwind_table_is_valid(&table));
	return table;
}

/* The rule at a byte of the code; without its address. */
static inline uint32_t rule(const struct unwind_table *table, uint64_t at)
{
	return unwind_table_row(table, TINY_CODE + at) & ~JBPF_ROW_PC_MASK;
}

#endif
