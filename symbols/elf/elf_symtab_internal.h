/* SPDX-License-Identifier: Apache-2.0 */
/* What a table of functions is made of: for elf_symtab.c and elf_symtab_wire.c alone. */
#ifndef JBPF_ELF_ELF_SYMTAB_INTERNAL_H
#define JBPF_ELF_ELF_SYMTAB_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In place of a name: a function that has none. */
#define ELF_RANGE_NO_NAME UINT32_MAX

/* Ascending, without overlaps. */
struct elf_range {
	uint32_t start; /* from tab->base */
	uint32_t end;	/* exclusive */
	uint32_t name;	/* into tab->names, or ELF_RANGE_NO_NAME */
};

struct elf_load {
	uint64_t offset;
	uint64_t address;
	uint64_t size; /* bytes in the file */
	bool is_code;
};

struct elf_symtab {
	uint64_t base; /* lowest address of code */
	struct elf_range *ranges;
	size_t range_cnt;
	char *names;
	size_t names_len;
	struct elf_load *loads;
	size_t load_cnt;
	size_t dropped_cnt;
};

#endif
