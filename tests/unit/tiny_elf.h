/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes small ELF files for tests, byte by byte: no compiler runs when tests run. Code lies at
 * file offset TINY_TEXT_OFFSET and virtual address TINY_TEXT_ADDRESS, which differ on purpose.
 */
#ifndef JBPF_TESTS_TINY_ELF_H
#define JBPF_TESTS_TINY_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define TINY_TEXT_OFFSET  0x300u
#define TINY_TEXT_ADDRESS 0x401300u
#define TINY_TEXT_BYTES	  0x200u
#define TINY_ELF_MAX	  16384u

#define TINY_TEXT 2 /* section number of .text */

struct tiny_symbol {
	const char *name;
	uint64_t at; /* from the start of the code */
	uint64_t size;
	uint8_t info;	  /* 0 = global function */
	uint16_t section; /* 0 = .text */
};

struct tiny_elf {
	const struct tiny_symbol *symbols;
	size_t symbol_cnt;
	const uint8_t *build_id; /* 20 bytes or NULL */
	bool is_dynsym;		 /* symbols go to .dynsym, as in a stripped library */
	const void *extra;	 /* one more section */
	size_t extra_len;
	const char *extra_name;
};

struct tiny_writer {
	uint8_t *bytes;
	size_t len;
};

static inline size_t tiny_put(struct tiny_writer *writer, const void *bytes, size_t len)
{
	size_t at = writer->len;

	if (len)
		memcpy(writer->bytes + at, bytes, len);
	writer->len += len;
	return at;
}

static inline uint32_t tiny_string(char *table, size_t *len, const char *text)
{
	size_t at = *len;

	strcpy(table + at, text);
	*len += strlen(text) + 1;
	return (uint32_t)at;
}

static inline void tiny_put_symbols(const struct tiny_elf *elf, struct tiny_writer *writer,
				    Elf64_Shdr *symbols, Elf64_Shdr *strings)
{
	static char table[TINY_ELF_MAX];
	Elf64_Sym none = { 0 };
	size_t len = 1;

	symbols->sh_offset = tiny_put(writer, &none, sizeof(none));
	for (size_t i = 0; i < elf->symbol_cnt; i++) {
		const struct tiny_symbol *from = &elf->symbols[i];
		Elf64_Sym sym = {
			.st_name = tiny_string(table, &len, from->name),
			.st_info = from->info ? from->info : ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = from->section ? from->section : TINY_TEXT,
			.st_value = TINY_TEXT_ADDRESS + from->at,
			.st_size = from->size,
		};

		tiny_put(writer, &sym, sizeof(sym));
	}
	symbols->sh_size = writer->len - symbols->sh_offset;
	symbols->sh_entsize = sizeof(Elf64_Sym);
	strings->sh_offset = tiny_put(writer, table, len);
	strings->sh_size = len;
}

static inline size_t tiny_put_build_id(const struct tiny_elf *elf, struct tiny_writer *writer)
{
	uint32_t header[3] = { 4, 20, NT_GNU_BUILD_ID };

	if (!elf->build_id)
		return 0;
	tiny_put(writer, header, sizeof(header));
	tiny_put(writer, "GNU", 4);
	tiny_put(writer, elf->build_id, 20);
	return 36;
}

/* Writes the file into `bytes` (TINY_ELF_MAX of them) and returns its length. */
static inline size_t tiny_elf_write(const struct tiny_elf *elf, uint8_t *bytes)
{
	static const char names[] =
		"\0.note\0.text\0.symtab\0.strtab\0.shstrtab\0.dynsym\0.dynstr\0"; /* 1 7 13 21 29 39 47 */
	struct tiny_writer writer = { .bytes = bytes, .len = 0 };
	Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					   ELFDATA2LSB, EV_CURRENT },
			      .e_type = ET_DYN,
			      .e_machine = EM_X86_64,
			      .e_version = EV_CURRENT,
			      .e_phoff = sizeof(Elf64_Ehdr),
			      .e_ehsize = sizeof(Elf64_Ehdr),
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = 3,
			      .e_shentsize = sizeof(Elf64_Shdr),
			      .e_shnum = 7,
			      .e_shstrndx = 5 };
	Elf64_Phdr segments[3] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0x400000, .p_filesz = 0x300 },
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_X,
		  .p_offset = TINY_TEXT_OFFSET,
		  .p_vaddr = TINY_TEXT_ADDRESS,
		  .p_filesz = TINY_TEXT_BYTES },
		{ .p_type = PT_NOTE, .p_offset = 0x200, .p_align = 4 },
	};
	Elf64_Shdr sections[7] = {
		[1] = { .sh_name = 1, .sh_type = SHT_NOTE, .sh_offset = 0x200 },
		[2] = { .sh_name = 7,
			.sh_type = SHT_PROGBITS,
			.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			.sh_addr = TINY_TEXT_ADDRESS,
			.sh_offset = TINY_TEXT_OFFSET,
			.sh_size = TINY_TEXT_BYTES },
		[3] = { .sh_name = elf->is_dynsym ? 39 : 13,
			.sh_type = elf->is_dynsym ? SHT_DYNSYM : SHT_SYMTAB,
			.sh_link = 4 },
		[4] = { .sh_name = elf->is_dynsym ? 47 : 21, .sh_type = SHT_STRTAB },
		[5] = { .sh_name = 29, .sh_type = SHT_STRTAB },
		[6] = { .sh_type = SHT_PROGBITS },
	};

	memset(bytes, 0, TINY_ELF_MAX);
	writer.len = 0x200;
	sections[1].sh_size = tiny_put_build_id(elf, &writer);
	segments[2].p_offset = sections[1].sh_size ? 0x200 : 0;
	segments[2].p_filesz = sections[1].sh_size;
	writer.len = TINY_TEXT_OFFSET + TINY_TEXT_BYTES;
	tiny_put_symbols(elf, &writer, &sections[3], &sections[4]);
	/* The array's own NUL begins the extra section's name: it is overwritten. */
	sections[5].sh_offset = tiny_put(&writer, names, sizeof(names) - 1);
	if (elf->extra) {
		sections[6].sh_name = (uint32_t)sizeof(names) - 1;
		tiny_put(&writer, elf->extra_name, strlen(elf->extra_name));
	}
	tiny_put(&writer, "", 1);
	sections[5].sh_size = writer.len - sections[5].sh_offset;
	sections[6].sh_offset = tiny_put(&writer, elf->extra, elf->extra_len);
	sections[6].sh_size = elf->extra_len;
	header.e_shoff = tiny_put(&writer, sections, sizeof(sections));
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), segments, sizeof(segments));
	return writer.len;
}

#endif
