// SPDX-License-Identifier: Apache-2.0
/* See elf_syms.h. */
#include "symbols/elf/elf_syms.h"

#include <errno.h>
#include <stdlib.h>

#include "user/util/byte_reader.h"
#include "user/util/cleanup.h"

int elf_syms_open(struct elf_syms *syms, const struct elf_file *file,
		  const struct elf_section *section, uint64_t max_symbol_bytes,
		  size_t max_name_bytes)
{
	uint64_t bytes = section->size < max_symbol_bytes ? section->size : max_symbol_bytes;

	if (section->link >= file->section_cnt)
		return -ENODATA;
	syms->file = file;
	syms->at = section->offset;
	syms->sym_size = file->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	syms->left = bytes / syms->sym_size;
	syms->next = syms->cnt = 0;
	return elf_file_section_bytes(file, &file->sections[section->link], max_name_bytes,
				      &syms->names, &syms->names_len);
}

static int syms_read_piece(struct elf_syms *syms)
{
	size_t cnt = syms->left < ELF_SYMS_PIECE ? (size_t)syms->left : ELF_SYMS_PIECE;
	int err = elf_file_read(syms->file, syms->at, syms->piece, cnt * syms->sym_size);

	if (err)
		return err;
	syms->at += cnt * syms->sym_size; /* inside the file: cannot overflow */
	syms->left -= cnt;
	syms->cnt = cnt;
	syms->next = 0;
	return 0;
}

static struct elf_sym syms_parse(const struct elf_syms *syms, struct byte_reader reader)
{
	uint32_t name = byte_reader_u32(&reader);
	struct elf_sym sym = { .name = name < syms->names_len ? syms->names + name : NULL };

	if (!syms->file->is_64) {
		sym.value = byte_reader_u32(&reader);
		sym.size = byte_reader_u32(&reader);
	}
	sym.info = byte_reader_u8(&reader);
	byte_reader_u8(&reader); /* st_other */
	sym.section = byte_reader_u16(&reader);
	if (syms->file->is_64) {
		sym.value = byte_reader_u64(&reader);
		sym.size = byte_reader_u64(&reader);
	}
	return sym;
}

int elf_syms_next(struct elf_syms *syms, struct elf_sym *out)
{
	if (syms->next == syms->cnt) {
		int err = syms->left ? syms_read_piece(syms) : 0;

		if (err)
			return err;
		if (syms->next == syms->cnt)
			return 0;
	}
	*out = syms_parse(syms, byte_reader_init(syms->piece + syms->next++ * syms->sym_size,
						 syms->sym_size));
	return 1;
}

char *elf_syms_take_names(struct elf_syms *syms)
{
	return take_ptr(syms->names);
}

void elf_syms_release(struct elf_syms *syms)
{
	free(take_ptr(syms->names));
}
