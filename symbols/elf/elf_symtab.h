/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of one ELF file as a compact, immutable table of address ranges that do not overlap.
 * Built from .symtab and .dynsym of the file itself and of any debug files that belong to it; where
 * these say nothing .eh_frame still says where a function begins.
 *
 *     elf_symtab_builder -> _start(file) -> _add(file), _add(debug file)... -> _finish(out)
 */
#ifndef JBPF_ELF_ELF_SYMTAB_H
#define JBPF_ELF_ELF_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "symbols/elf/elf_file.h"

#define ELF_SYMTAB_MAX_SYMBOLS \
	1000000u /* kept per table; of the rest the debug log says how many */
#define ELF_SYMTAB_MAX_BYTES	  (96u << 20) /* of one symbol section read */
#define ELF_SYMTAB_MAX_NAMES	  (64u << 20) /* bytes of one string section read; of all that is kept */
#define ELF_SYMTAB_MAX_NAME_BYTES 4096u	      /* longer names are cut */

struct elf_symtab;
struct elf_symtab_builder;

struct elf_symbol {
	uint64_t start;
	uint64_t end; /* exclusive */
	/* As in the file, mangled; lives as long as the table. NULL: a function of which only `start` is known. */
	const char *name;
};

/* Begins a table with the segments of `file`, which say where code lies. 0 or -ENOMEM. */
__must_check int elf_symtab_builder__start(const struct elf_file *file,
					   struct elf_symtab_builder **out);
void elf_symtab_builder__free(struct elf_symtab_builder *builder); /* NULL is fine */
/*
 * Adds the functions of a file: the one itself or a debug file of it. Broken tables give fewer
 * symbols, not an error. 0, -ENOMEM, or an error of reading.
 */
__must_check int elf_symtab_builder__add(struct elf_symtab_builder *builder,
					 const struct elf_file *file);
/* Adds one range of code under a name, which is copied. 0 or -ENOMEM. */
__must_check int elf_symtab_builder__add_symbol(struct elf_symtab_builder *builder,
						uint64_t address, uint64_t size, const char *name);
/*
 * Adds where the file's functions begin, as .eh_frame says: for those that no symbol is there for
 * in the end. Broken ones give fewer. At most once. 0 or -ENOMEM.
 */
__must_check int elf_symtab_builder__add_functions(struct elf_symtab_builder *builder,
						   const struct elf_file *file);
/* Makes the table; the builder is spent, but still to be freed. 0 or -ENOMEM. */
__must_check int elf_symtab_builder__finish(struct elf_symtab_builder *builder,
					    struct elf_symtab **out);

void elf_symtab__free(struct elf_symtab *tab); /* NULL is fine */

/* The function that holds a virtual address of the file. 0, or -ENOENT: it is nobody's. */
__must_check int elf_symtab__lookup(const struct elf_symtab *tab, uint64_t address,
				    struct elf_symbol *out);
/* Virtual address of a byte of the file, as the loader maps it. 0, or -ENOENT. */
__must_check int elf_symtab__address_of_offset(const struct elf_symtab *tab, uint64_t file_offset,
					       uint64_t *address_out);

/*
 * Where in the file the function begins whose name begins with `prefix`; parts of functions ("f.cold") do
 * not count. 0, or -ENOENT.
 */
__must_check int elf_symtab__find(const struct elf_symtab *tab, const char *prefix,
				  uint64_t *file_offset_out);

/* A segment of code, as the file says where it is. */
struct elf_code_segment {
	uint64_t offset; /* in the file */
	uint64_t size;	 /* there */
	uint64_t address;
};

/* The first ones, at most `max`. Returns how many. */
size_t elf_symtab__code_segments(const struct elf_symtab *tab, struct elf_code_segment *out,
				 size_t max);

size_t elf_symtab__bytes(const struct elf_symtab *tab);
/* Symbols that were dropped at a cap. */
size_t elf_symtab__dropped(const struct elf_symtab *tab);
/* 128 bits over all that lookups can return, keyed with `seed`: equal tables can be shared. */
void elf_symtab__hash(const struct elf_symtab *tab, uint64_t seed, uint64_t out[2]);

/* Does .dynsym define this name? false also when it cannot be read. */
bool elf_symtab_exports(const struct elf_file *file, const char *name);

#endif
