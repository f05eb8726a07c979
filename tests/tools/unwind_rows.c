// SPDX-License-Identifier: Apache-2.0
/*
 * The unwind table of an ELF file, for comparison with other readers of .eh_frame.
 *
 *     unwind_rows FILE            one line per row: address, rule
 *     unwind_rows FILE -          the rule at each address (hexadecimal, one per line) of standard input
 *     unwind_rows -s FILE...      sizes, and CPU time of building
 *
 * A rule is "CFA fp=WHERE", or a word. A row of JBPF_SPECIAL_FRAME says at an address what it means
 * there.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "symbols/elf/debug_file.h"
#include "symbols/elf/elf_file.h"
#include "symbols/unwind/unwind_table.h"
#include "tests/unit/open_here.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

static const char *const specials[] = { "none", "end", "plt", "signal", "frame", "unsupported" };

static uint32_t bits(uint32_t row, unsigned int shift, uint32_t mask)
{
	return row >> shift & mask;
}

static void print_rule(uint32_t row)
{
	uint32_t kind = bits(row, JBPF_ROW_KIND_SHIFT, JBPF_ROW_KIND_MASK);
	uint32_t slot = bits(row, JBPF_ROW_SLOT_SHIFT, JBPF_ROW_SLOT_MASK);
	uint32_t value = bits(row, JBPF_ROW_VALUE_SHIFT, JBPF_ROW_VALUE_MASK);
	int deep = (int)(value >> 3) - (value >> 9 ? 128 : 0);

	switch (kind) {
	case JBPF_ROW_SPECIAL:
		printf("%s", specials[value]);
		if (value == JBPF_SPECIAL_FRAME)
			printf(" %u", slot);
		printf("\n");
		return;
	case JBPF_ROW_SP:
		printf("sp+%u", 8 * value);
		break;
	case JBPF_ROW_FP:
		printf("fp+%u", 8 * value);
		break;
	case JBPF_ROW_AT_FP:
	case JBPF_ROW_AT_SP:
		printf("*(%s%+d)+%u", kind == JBPF_ROW_AT_FP ? "fp" : "sp", 8 * deep,
		       8 * (value & 7));
		break;
	default:
		slot = row >> JBPF_ROW_SLOT_SHIFT & 7;
		printf("sp+%u", 8 * (row >> (JBPF_ROW_SLOT_SHIFT + 3)));
		break;
	}
	if (slot)
		printf(" fp=c-%u\n", 8 * slot);
	else
		printf(" fp=u\n");
}

static uint8_t code_byte(const struct elf_file *file, uint64_t address)
{
	uint8_t byte = 0;

	for (size_t i = 0; i < file->segment_cnt; i++) {
		const struct elf_segment *segment = &file->segments[i];

		if (segment->type == PT_LOAD && segment->flags & PF_X &&
		    address - segment->address < segment->file_size &&
		    elf_file_read(file, segment->offset + (address - segment->address), &byte, 1))
			return 0;
	}
	return byte;
}

static void print_at(const struct elf_file *file, const struct unwind_table *table,
		     uint64_t address)
{
	uint32_t row = unwind_table_row(table, address);
	uint32_t slot = bits(row, JBPF_ROW_SLOT_SHIFT, JBPF_ROW_SLOT_MASK);
	uint32_t passed = (uint32_t)(address - (row & JBPF_ROW_PC_MASK)) & JBPF_ROW_PC_MASK;

	if (bits(row, JBPF_ROW_KIND_SHIFT, JBPF_ROW_KIND_MASK) != JBPF_ROW_SPECIAL ||
	    bits(row, JBPF_ROW_VALUE_SHIFT, JBPF_ROW_VALUE_MASK) != JBPF_SPECIAL_FRAME)
		print_rule(row);
	else if (passed < slot)
		printf("%s\n", passed + 3 < slot ? "sp+8 fp=u" : "sp+16 fp=c-16");
	else
		printf("%s\n",
		       code_byte(file, address) == 0xc3 ? "sp+8 fp=popped" : "fp+16 fp=c-16");
}

static void print_rows(const struct unwind_table *table)
{
	for (uint32_t i = 0; i < table->page_cnt; i++) {
		uint32_t page = table->words[i];
		uint32_t first = page >> JBPF_UNWIND_PAGE_CNT_BITS;
		uint32_t cnt = (page & ((1u << JBPF_UNWIND_PAGE_CNT_BITS) - 1)) + 1;

		for (uint32_t j = 0; page && j < cnt; j++) {
			uint32_t row = table->words[first + j];

			printf("%" PRIx64 " ", table->address +
						       ((uint64_t)i << JBPF_UNWIND_PAGE_SHIFT) +
						       (row & JBPF_ROW_PC_MASK));
			print_rule(row);
		}
	}
}

static double cpu_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int open_debug(void *ctx, const struct debug_file_wanted *wanted, uint64_t *size_out)
{
	struct debug_file_roots roots = {
		.container_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
		.host_fd = -1,
		.opener = opener_here(),
	};
	int fd = debug_file_open(&roots, ctx, wanted, size_out);

	close(roots.container_fd);
	return fd;
}

static int build(const char *path, struct elf_file *file, struct unwind_table *table, int *fd_out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char real[PATH_MAX];
	const struct debug_file_opener opener = { .open = open_debug, .ctx = real };
	int err;

	if (fd < 0 || fstat(fd, &st) || !realpath(path, real))
		return -ENOENT;
	*fd_out = fd;
	err = elf_file_open_sized(fd, (uint64_t)st.st_size, file);
	return err ? err : unwind_table_find(file, &opener, table);
}

static int with_file(const char *path, const char *mode)
{
	struct unwind_table table = { 0 };
	struct elf_file file = { .fd = -1 };
	double begin = cpu_ms(), built;
	int fd = -1, err = build(path, &file, &table, &fd);
	char line[64];

	built = cpu_ms();
	if (err)
		fprintf(stderr, "unwind_rows: %s: %s\n", path, errstr(err));
	else if (!unwind_table_is_valid(&table))
		err = -EBADMSG;
	else if (strcmp(mode, "-s") == 0)
		printf("%s: rows %u, words %u, pages %u, KiB %u, ms %.1f\n", path, table.row_cnt,
		       table.word_cnt, table.page_cnt,
		       (table.word_cnt + JBPF_UNWIND_CHUNK_WORDS - 1) / JBPF_UNWIND_CHUNK_WORDS * 4,
		       built - begin);
	else if (strcmp(mode, "-") == 0)
		while (fgets(line, sizeof(line), stdin))
			print_at(&file, &table, strtoull(line, NULL, 16));
	else
		print_rows(&table);
	unwind_table_release(&table);
	elf_file_release(&file);
	if (fd >= 0)
		close(fd);
	return err;
}

int main(int argc, char **argv)
{
	int err = 0;

	if (argc >= 3 && strcmp(argv[1], "-s") == 0) {
		for (int i = 2; i < argc; i++)
			err |= with_file(argv[i], "-s");
		return err ? 1 : 0;
	}
	if (argc < 2 || argc > 3)
		return 2;
	return with_file(argv[1], argc == 3 ? argv[2] : "") ? 1 : 0;
}
