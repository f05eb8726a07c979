/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols of one symbol section, one after another. In: an open file and its .symtab or .dynsym,
 * both of which must outlive the walk and may say anything. Out: the symbols, whose names live until
 * elf_syms_release(), or as long as whoever takes them likes. The symbols are read in small pieces; the
 * names are in memory as a whole, because they may be anywhere in their section. Errors: -ENODATA when
 * something lies outside of the file, -ENOMEM, an error of reading.
 *
 *     err = elf_syms_open(&syms, file, section, max_symbol_bytes, max_name_bytes);
 *     while (!err && (got = elf_syms_next(&syms, &sym)) > 0)
 *             ...
 *     elf_syms_release(&syms);
 */
#ifndef JBPF_ELF_ELF_SYMS_H
#define JBPF_ELF_ELF_SYMS_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "symbols/elf/elf_file.h"

#define ELF_SYMS_PIECE 512u

struct elf_sym {
	const char *name; /* NULL: outside of the names that were read */
	uint8_t info;
	uint16_t section;
	uint64_t value;
	uint64_t size;
};

struct elf_syms {
	const struct elf_file *file;
	uint64_t at;   /* in the file, behind the piece */
	uint64_t left; /* symbols behind the piece */
	size_t sym_size;
	char *names; /* with a NUL behind */
	size_t names_len;
	size_t next; /* in the piece */
	size_t cnt;  /* of the piece */
	uint8_t piece[ELF_SYMS_PIECE * sizeof(Elf64_Sym)];
};

/*
 * Reads the names, at most `max_name_bytes`; symbols past `max_symbol_bytes` will not be seen. After an
 * error nothing needs to be released.
 */
__must_check int elf_syms_open(struct elf_syms *syms, const struct elf_file *file,
			       const struct elf_section *section, uint64_t max_symbol_bytes,
			       size_t max_name_bytes);
/* 1: `out` is the next one; 0: the end; or an error, -ENODATA when the section is cut off. */
__must_check int elf_syms_next(struct elf_syms *syms, struct elf_sym *out);
/* The names go to the caller, who frees them; no more symbols may be asked for. */
char *elf_syms_take_names(struct elf_syms *syms);
void elf_syms_release(struct elf_syms *syms);

#endif
