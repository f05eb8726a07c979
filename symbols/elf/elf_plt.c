// SPDX-License-Identifier: Apache-2.0
/*
 * PLT stubs have no symbols of their own. Which function one is for is read out of its code: it
 * jumps through a slot of the GOT, and the relocation of that slot names the function. Counting
 * stubs and relocations in parallel would be simpler and wrong for some linkers.
 */
#include "symbols/elf/elf_plt.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/elf/elf_syms.h"
#include "user/util/byte_reader.h"
#include "user/util/cleanup.h"
#include "user/util/strbuf.h"

#define ELF_PLT_STUB_BYTES 16u

struct elf_plt_slot {
	uint64_t got;	  /* address */
	uint32_t symbol;  /* in .dynsym */
	const char *name; /* of the function; NULL: not known */
};

struct elf_plt {
	struct elf_plt_slot *slots; /* sorted by got */
	size_t slot_cnt;
	char *names;
};

static int elf_plt_slot_compare(const void *left, const void *right)
{
	const struct elf_plt_slot *a = left;
	const struct elf_plt_slot *b = right;

	return (a->got > b->got) - (a->got < b->got);
}

static int elf_plt_symbol_compare(const void *left, const void *right)
{
	const struct elf_plt_slot *a = left;
	const struct elf_plt_slot *b = right;

	return (a->symbol > b->symbol) - (a->symbol < b->symbol);
}

static int elf_plt_read_slots(const struct elf_file *file, struct elf_plt *plt)
{
	const struct elf_section *section = elf_file_section(file, ".rela.plt");
	__cleanup_free char *bytes = NULL;
	struct byte_reader reader;
	size_t len;
	int err;

	if (!section || section->type != SHT_RELA)
		return -ENODATA;
	err = elf_file_section_bytes(file, section, ELF_PLT_MAX_BYTES, &bytes, &len);
	if (err)
		return err;
	plt->slot_cnt = len / sizeof(Elf64_Rela);
	plt->slots = calloc(plt->slot_cnt + 1, sizeof(*plt->slots));
	if (!plt->slots)
		return -ENOMEM;
	reader = byte_reader_init(bytes, len);
	for (size_t i = 0; i < plt->slot_cnt; i++) {
		plt->slots[i].got = byte_reader_u64(&reader);
		plt->slots[i].symbol = (uint32_t)(byte_reader_u64(&reader) >> 32);
		byte_reader_u64(&reader); /* addend */
	}
	return 0;
}

/* Names the slots in the order of their symbols; symbol 0 is none. */
static int elf_plt_name_slots(struct elf_plt *plt, struct elf_syms *syms)
{
	struct elf_plt_slot *slot = plt->slots, *end = plt->slots + plt->slot_cnt;
	struct elf_sym sym;
	int got;

	qsort(plt->slots, plt->slot_cnt, sizeof(*plt->slots), elf_plt_symbol_compare);
	for (uint32_t number = 0; (got = elf_syms_next(syms, &sym)) > 0; number++) {
		for (; slot < end && slot->symbol == number; slot++)
			slot->name = number && sym.name && sym.name[0] ? sym.name : NULL;
	}
	qsort(plt->slots, plt->slot_cnt, sizeof(*plt->slots), elf_plt_slot_compare);
	return got;
}

static int elf_plt_read(const struct elf_file *file, struct elf_plt *plt)
{
	const struct elf_section *dynsym = elf_file_section_of_type(file, SHT_DYNSYM);
	struct elf_syms syms;
	int err;

	if (!dynsym)
		return -ENODATA;
	err = elf_plt_read_slots(file, plt);
	if (!err)
		err = elf_syms_open(&syms, file, dynsym, ELF_PLT_MAX_BYTES, ELF_PLT_MAX_BYTES);
	if (err)
		return err;
	err = elf_plt_name_slots(plt, &syms);
	plt->names = elf_syms_take_names(&syms);
	return err;
}

/* Name of the function whose address lies in a GOT slot; NULL when it is not known. */
static const char *elf_plt_name(const struct elf_plt *plt, uint64_t got)
{
	struct elf_plt_slot key = { .got = got };
	const struct elf_plt_slot *slot =
		bsearch(&key, plt->slots, plt->slot_cnt, sizeof(key), elf_plt_slot_compare);

	return slot ? slot->name : NULL;
}

/* jmp *disp32(%rip), behind an optional endbr64 and bnd. */
static bool elf_plt_decode_x86(const uint8_t *code, uint64_t address, uint64_t *got)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	struct byte_reader reader;
	size_t at = memcmp(code, endbr, sizeof(endbr)) == 0 ? sizeof(endbr) : 0;

	at += code[at] == 0xf2;
	if (code[at] != 0xff || code[at + 1] != 0x25)
		return false;
	reader = byte_reader_init(code + at + 2, 4);
	*got = address + at + 6 + (uint64_t)(int64_t)(int32_t)byte_reader_u32(&reader);
	return true;
}

/* adrp x16, page; ldr x17, [x16, #offset], behind an optional bti c. */
static bool elf_plt_decode_arm64(const uint8_t *code, uint64_t address, uint64_t *got)
{
	struct byte_reader reader = byte_reader_init(code, ELF_PLT_STUB_BYTES);
	uint32_t adrp = byte_reader_u32(&reader);
	uint32_t ldr = byte_reader_u32(&reader);
	uint64_t pages;

	if (adrp == 0xd503245f) {
		address += 4;
		adrp = ldr;
		ldr = byte_reader_u32(&reader);
	}
	if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return false;
	pages = (adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
	if (pages & 1u << 20)
		pages |= ~0x1fffffull;
	*got = (address & ~0xfffull) + (pages << 12) + ((ldr >> 10 & 0xfff) << 3);
	return true;
}

static int elf_plt_add_section(const struct elf_file *file, const char *section_name,
			       const struct elf_plt *plt, struct elf_symtab_builder *builder)
{
	const struct elf_section *section = elf_file_section(file, section_name);
	__cleanup_strbuf struct strbuf name = STRBUF_INIT;
	__cleanup_free char *code = NULL;
	size_t len;
	int err;

	if (!section || !(section->flags & SHF_EXECINSTR))
		return 0;
	err = elf_file_section_bytes(file, section, ELF_PLT_MAX_BYTES, &code, &len);
	/* The first stub of .plt is longer, and of another form: nothing is found in its place. */
	for (size_t at = 0; !err && at + ELF_PLT_STUB_BYTES <= len; at += ELF_PLT_STUB_BYTES) {
		const uint8_t *stub = (const uint8_t *)code + at;
		uint64_t address = section->address + at;
		const char *function;
		uint64_t got;

		if (file->machine == EM_X86_64 ? !elf_plt_decode_x86(stub, address, &got) :
						 !elf_plt_decode_arm64(stub, address, &got))
			continue;
		function = elf_plt_name(plt, got);
		if (!function)
			continue;
		strbuf_clear(&name);
		strbuf_append(&name, function, strnlen(function, ELF_SYMTAB_MAX_NAME_BYTES - 8));
		strbuf_puts(&name, "@plt");
		err = strbuf_error(&name);
		if (!err)
			err = elf_symtab_builder__add_symbol(builder, address, ELF_PLT_STUB_BYTES,
							     strbuf_str(&name));
	}
	return err == -ENODATA ? 0 : err;
}

int elf_plt_add(const struct elf_file *file, struct elf_symtab_builder *builder)
{
	struct elf_plt plt = { 0 };
	int err;

	if (!file->is_64 || (file->machine != EM_X86_64 && file->machine != EM_AARCH64))
		return 0;
	err = elf_plt_read(file, &plt);
	if (!err)
		err = elf_plt_add_section(file, ".plt", &plt, builder);
	if (!err)
		err = elf_plt_add_section(file, ".plt.sec", &plt, builder);
	free(plt.slots);
	free(plt.names);
	return err == -ENOMEM ? err : 0;
}
