// SPDX-License-Identifier: Apache-2.0
/*
 * Unwind tables of any bytes: a table that was built is valid, is the same from a file and from
 * memory, and no address leads out of it; functions of .eh_frame lie one behind the other; and any
 * words that are taken for valid can be walked by.
 *
 * Input: one byte, modulo 4: an ELF file; entries of .eh_frame for x86_64, or for aarch64, behind 64
 * bytes of code; or the words of a table, behind its numbers.
 */
#include <elf.h>

#include "symbols/elf/eh_frame.h"
#include "symbols/elf/elf_file.h"
#include "symbols/unwind/unwind_table.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/tiny_eh_frame.h"

#define CODE_BYTES 64u

/* Each page's rows, found by address as they stand. */
static void check_rows(const struct unwind_table *table)
{
	uint32_t row_cnt = 0;

	for (uint32_t i = 0; i < table->page_cnt; i++) {
		uint64_t address = table->address + ((uint64_t)i << JBPF_UNWIND_PAGE_SHIFT);
		uint32_t page = table->words[i];
		uint32_t first = page >> JBPF_UNWIND_PAGE_CNT_BITS;
		uint32_t cnt = (page & ((1u << JBPF_UNWIND_PAGE_CNT_BITS) - 1)) + 1;

		for (uint32_t j = 0; page && j < cnt; j++) {
			uint32_t row = table->words[first + j];

			must(unwind_table_row(table, address + (row & JBPF_ROW_PC_MASK)) == row);
		}
		row_cnt += page ? cnt : 0;
		(void)unwind_table_row(table, address + 0xfff);
	}
	must(row_cnt == table->row_cnt);
	(void)unwind_table_row(table, table->address - 1);
	(void)unwind_table_row(table, UINT64_MAX);
}

static void check_entries(const struct elf_file *file)
{
	struct eh_frame frame = { 0 };
	uint64_t end = 0;

	if (eh_frame_read(file, &frame))
		return;
	must(frame.fde_cnt > 0);
	for (size_t i = 0; i < frame.fde_cnt; i++) {
		const struct eh_frame_fde *fde = &frame.fdes[i];

		must(fde->start <= fde->from && fde->from < fde->end && fde->from >= end);
		must(fde->cie < frame.cie_cnt && fde->code_len <= frame.len - fde->code);
		end = fde->end;
	}
	eh_frame_release(&frame);
}

static void check_file(const uint8_t *bytes, size_t len)
{
	struct unwind_table table = { 0 }, other = { 0 };
	struct elf_file in_memory, on_disk;
	uint8_t digests[2][32];
	int fd = fuzz_file(bytes, len);
	int err = elf_file_open_bytes(bytes, len, &in_memory);

	must(elf_file_open_sized(fd, len, &on_disk) == err);
	if (!err) {
		err = unwind_table_build(&in_memory, &table);
		must(unwind_table_build(&on_disk, &other) == err);
		must(!err || err == -ENODATA || err == -ENOEXEC || err == -EFBIG ||
		     err == -EOPNOTSUPP);
		check_entries(&in_memory);
	}
	if (!err) {
		must(unwind_table_is_valid(&table));
		check_rows(&table);
		unwind_table_digest(&table, digests[0]);
		unwind_table_digest(&other, digests[1]);
		must(memcmp(digests[0], digests[1], sizeof(digests[0])) == 0);
	}
	unwind_table_release(&table);
	unwind_table_release(&other);
	elf_file_release(&in_memory);
	elf_file_release(&on_disk);
	close(fd);
}

static void check_eh_frame(uint16_t machine, struct fuzz_input *input)
{
	static uint8_t bytes[TINY_ELF_MAX];
	struct tiny_eh eh = { .len = 0 };
	uint8_t code[CODE_BYTES];
	size_t len;

	for (size_t i = 0; i < sizeof(code); i++)
		code[i] = fuzz_u8(input);
	len = input->left < sizeof(eh.bytes) ? input->left : sizeof(eh.bytes);
	tiny_eh_put(&eh, input->at, len);
	len = tiny_eh_elf(&eh, machine, code, sizeof(code), bytes);
	check_file(bytes, len);
}

static void check_words(struct fuzz_input *input)
{
	struct unwind_table table = {
		.page_cnt = (uint32_t)fuzz_uint(input, 2),
		.row_cnt = (uint32_t)fuzz_uint(input, 2),
		.address = fuzz_uint(input, 8) << JBPF_UNWIND_PAGE_SHIFT,
	};

	table.word_cnt = (uint32_t)(input->left / sizeof(*table.words));
	table.words = malloc(table.word_cnt * sizeof(*table.words) + 1);
	must(table.words);
	if (table.word_cnt)
		memcpy(table.words, input->at, table.word_cnt * sizeof(*table.words));
	if (unwind_table_is_valid(&table))
		check_rows(&table);
	unwind_table_release(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_input input = { .at = data, .left = len };

	switch (fuzz_u8(&input) % 4) {
	case 0:
		check_file(input.at, input.left);
		break;
	case 1:
		check_eh_frame(EM_X86_64, &input);
		break;
	case 2:
		check_eh_frame(EM_AARCH64, &input);
		break;
	default:
		check_words(&input);
		break;
	}
	return 0;
}
