// SPDX-License-Identifier: Apache-2.0
/*
 * Unwind tables: functions, pages and gaps, what damage gives, and which tables are taken for valid.
 * What each rule becomes is in test_cfi.c. Real files are compared with readelf in tests/e2e.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "tests/unit/symbols/unwind/unwind_testing.h"
#include "user/util/cleanup.h"

static void rows_hold_from_their_addresses_on(void **state)
{
	/* 1: push; 4: frame; remembered; 0x10: popped; recalled; 0x120 and far on */
	static const char code[] =
		"\x41\x0e\x10\x86\x02\x43\x0d\x06\x0a\x4c\xc6\x0c\x07\x08\x41\x0b"
		"\x02\x0f\x0e\x18\x03\x00\x01\x0c\x07\x20\x04\xff\xff\xff\xff";
	struct tiny_eh eh = { .len = 0 };
	struct unwind_table table;
	const struct {
		uint64_t at;
		uint32_t expected;
	} rows[] = {
		{ 0x3f, NONE },		  { 0x40, ROW(SP, 0, 1) },  { 0x41, ROW(SP, 2, 2) },
		{ 0x43, ROW(SP, 2, 2) },  { 0x44, FRAME(0) },	    { 0x4f, FRAME(0) },
		{ 0x50, ROW(SP, 0, 1) },  { 0x51, FRAME(0) },	    { 0x5f, FRAME(0) },
		{ 0x60, ROW(FP, 2, 3) },  { 0x15f, ROW(FP, 2, 3) }, { 0x160, ROW(SP, 2, 4) },
		{ 0x1ff, ROW(SP, 2, 4) }, { 0x200, NONE },
	};

	(void)state;
	tiny_eh_cie(&eh, "zR", X86_RA, X86_CIE);
	tiny_eh_fde(&eh, 0x40, 0x1c0, CODE(code));
	table = build(&eh, NULL, 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rule(&table, rows[i].at) != rows[i].expected)
			fail_msg("at %zx: 0x%x", (size_t)rows[i].at, rule(&table, rows[i].at));
	unwind_table_release(&table);
}

/* ---- functions that keep frame pointers ---- */

#define PROLOGUE "\x41\x0e\x10\x86\x02\x43\x0d\x06" /* push rbp; mov rbp, rsp */
#define AT_RET	 "\xc6\x0c\x07\x08"

static uint32_t row_cnt_of(const char *cfi, size_t cfi_len, const char *code, size_t code_len,
			   uint32_t *first)
{
	struct tiny_eh eh = { .len = 0 };
	struct unwind_table table;
	uint32_t cnt;

	tiny_eh_cie(&eh, "zR", X86_RA, X86_CIE);
	tiny_eh_fde(&eh, 0, 0x20, cfi, cfi_len);
	table = build(&eh, code, code_len);
	*first = rule(&table, 0);
	cnt = table.row_cnt;
	unwind_table_release(&table);
	return cnt;
}

static void plain_functions_with_frames_are_one_row(void **state)
{
	/* A row before the code's first byte, which is not the page's, and one behind the function. */
	const struct {
		const char *cfi;
		size_t cfi_len;
		const char *code;
		size_t code_len;
		uint32_t cnt;
		uint32_t first;
	} rows[] = {
		/* push rbp; mov rbp, rsp; 26 * 0; pop; ret */
		{ CODE(PROLOGUE "\x5b" AT_RET),
		  CODE("\x55\x48\x89\xe5\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x5d\xc3"),
		  3, FRAME(4) },
		/* endbr64; push rbp; mov rbp, rsp the other way; ret in the middle, nops, and goes on */
		{ CODE("\x45\x0e\x10\x86\x02\x43\x0d\x06\x0a\x42" AT_RET "\x46\x0b"),
		  CODE("\xf3\x0f\x1e\xfa\x55\x48\x8b\xec\0\0\xc3\x0f\x1f\x44\0\0"), 3, FRAME(8) },
		/* The frame was made elsewhere. */
		{ CODE("\x0c\x06\x10\x86\x02"), CODE(""), 3, FRAME(0) },
		/* It is not what the rules say it is: another register. */
		{ CODE(PROLOGUE), CODE("\x53\x48\x89\xe5"), 5, ROW(SP, 0, 1) },
		{ CODE("\x45\x0e\x10\x86\x02\x43\x0d\x06"),
		  CODE("\x90\x90\x90\x90\x55\x48\x89\xe5"), 5, ROW(SP, 0, 1) },
		/* Something is between push and mov. */
		{ CODE("\x41\x0e\x10\x86\x02\x45\x0d\x06"), CODE("\x55\x31\xc0\x48\x89\xe5"), 5,
		  ROW(SP, 0, 1) },
		/* A jump to another function where a ret would be. */
		{ CODE(PROLOGUE "\x46" AT_RET), CODE("\x55\x48\x89\xe5\0\0\0\0\0\x5d\xe9"), 4,
		  FRAME(4) },
		/* Behind the ret is code, without a frame. */
		{ CODE(PROLOGUE "\x46" AT_RET), CODE("\x55\x48\x89\xe5\0\0\0\0\0\x5d\xc3\x31\xc0"),
		  4, FRAME(4) },
	};
	uint32_t first;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t cnt = row_cnt_of(rows[i].cfi, rows[i].cfi_len, rows[i].code,
					  rows[i].code_len, &first);

		if (cnt != rows[i].cnt || first != rows[i].first)
			fail_msg("function %zu: %u rows, the first 0x%x", i, cnt, first);
	}
}

static void functions_side_by_side_keep_their_prologues(void **state)
{
	static const char code[] = "\x55\x48\x89\xe5\0\0\0\xc3\x55\x48\x89\xe5\0\0\0\xc3";
	struct tiny_eh eh = { .len = 0 };
	struct unwind_table table;

	(void)state;
	tiny_eh_cie(&eh, "zR", X86_RA, X86_CIE);
	tiny_eh_fde(&eh, 0, 8, CODE(PROLOGUE "\x43" AT_RET));
	tiny_eh_fde(&eh, 8, 8, CODE(PROLOGUE "\x43" AT_RET));
	/* The rest of it, where the frame is there: no row of its own. */
	tiny_eh_fde(&eh, 16, 8, CODE("\x0c\x06\x10\x86\x02"));
	table = build(&eh, CODE(code));
	assert_int_equal(unwind_table_row(&table, TINY_CODE + 7), FRAME(4) | (TINY_CODE & 0xfff));
	assert_int_equal(unwind_table_row(&table, TINY_CODE + 8),
			 FRAME(4) | ((TINY_CODE + 8) & 0xfff));
	assert_int_equal(unwind_table_row(&table, TINY_CODE + 23),
			 FRAME(4) | ((TINY_CODE + 8) & 0xfff));
	assert_int_equal(rule(&table, 24), NONE);
	unwind_table_release(&table);
}

/* ---- gaps, neighbours, overlaps ---- */

static void gaps_are_padding_or_keep_the_stack_or_have_no_rule(void **state)
{
	const uint32_t padding = ROW(SP, 0, 2), kept = ROW(SP, 0, 1);
	const struct {
		const char *code;
		size_t len;
		uint32_t rule;
	} rows[] = {
		{ CODE("\xc3\x66\x2e\x0f\x1f\x84\0\0\0\0\0\x0f\x1f\x44\0\0"), padding },
		{ CODE("\xc3\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc"),
		  padding },
		{ CODE("\xc3\x66\x90\x90\x0f\x1f\x40\0\x0f\x1f\0\0\0\0\0\0"), padding },
		{ CODE("\xc3\x66\x66\x90\x31\xc0\xc3\x90\x90\x90\x90\x90\x90\x90\x90\x90"), kept },
		/* A loop, and a jump to another function; a push, a call, a frame, half an instruction. */
		{ CODE("\xc3\xf3\xa4\x48\xff\xc9\x75\xf9\xe9\0\1\0\0\x90\x90\x90"), kept },
		{ CODE("\xc3\x53\x31\xc0\x5b\xc3\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"), NONE },
		{ CODE("\xc3\xe8\0\1\0\0\xc3\x90\x90\x90\x90\x90\x90\x90\x90\x90"), NONE },
		{ CODE("\xc3\x48\x89\xe5\xc3\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"), NONE },
		{ CODE("\xc3\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x0f\x1f"), NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tiny_eh eh = { .len = 0 };
		struct unwind_table table;

		tiny_eh_cie(&eh, "zR", X86_RA, X86_CIE);
		tiny_eh_fde(&eh, 0, 1, CODE("\x0e\x10"));
		tiny_eh_fde(&eh, 16, 16, CODE(""));
		table = build(&eh, rows[i].code, rows[i].len);
		if (rule(&table, 8) != rows[i].rule)
			fail_msg("gap %zu: 0x%x", i, rule(&table, 8));
		/* Equal neighbours are joined. */
		assert_int_equal(table.row_cnt, rows[i].rule == NONE ? 5 : 4);
		unwind_table_release(&table);
	}
}

static void functions_outside_of_the_code_do_not_count(void **state)
{
	struct tiny_eh eh = { .len = 0 };
	struct unwind_table table;

	(void)state;
	tiny_eh_cie(&eh, "zR", X86_RA, X86_CIE);
	tiny_eh_fde(&eh, 0x100000, 16, CODE(""));
	tiny_eh_fde(&eh, 0 - (uint64_t)TINY_CODE, 16, CODE(""));
	tiny_eh_fde(&eh, 0, UINT64_MAX, CODE(""));
	assert_int_equal(build_machine(&eh, EM_X86_64, NULL, 0, &table), -ENODATA);
	/* One that reaches out of it is cut off there. */
	tiny_eh_fde(&eh, TINY_CODE_MAX - 16, 0x100000, CODE(""));
	table = build(&eh, NULL, 0);
	assert_int_equal(rule(&table, TINY_CODE_MAX - 1), ROW(SP, 0, 1));
	assert_int_equal(rule(&table, TINY_CODE_MAX), NONE);
	unwind_table_release(&table);
}

static void of_functions_that_overlap_the_first_by_address_counts(void **state)
{
	struct tiny_eh eh = { .len = 0 };
	struct unwind_table table;

	(void)state;
	tiny_eh_cie(&eh, "zR", X86_RA, X86_CIE);
	tiny_eh_fde(&eh, 0x10, 0x20, CODE("\x44\x0e\x20\x54\x0e\x28"));
	tiny_eh_fde(&eh, 0x10, 0x30, CODE("\x0e\x30"));
	tiny_eh_fde(&eh, 0, 0x18, CODE("\x0e\x10"));
	tiny_eh_fde(&eh, 0x20, 0x8, CODE("\x0e\x38"));
	table = build(&eh, NULL, 0);
	assert_int_equal(rule(&table, 0x17), ROW(SP, 0, 2));
	/* Instructions count from its own beginning. */
	assert_int_equal(rule(&table, 0x18), ROW(SP, 0, 4));
	assert_int_equal(rule(&table, 0x27), ROW(SP, 0, 4));
	assert_int_equal(rule(&table, 0x28), ROW(SP, 0, 5));
	assert_int_equal(rule(&table, 0x2f), ROW(SP, 0, 5));
	assert_int_equal(rule(&table, 0x30), ROW(SP, 0, 6));
	assert_int_equal(rule(&table, 0x40), NONE);
	unwind_table_release(&table);
}

/* ---- pages ---- */

static void rows_go_on_in_the_next_page(void **state)
{
	/* The code is at 0x300 of its first page. The prologue is cut by the end of it. */
	const struct {
		uint64_t at;
		uint32_t expected;
	} rows[] = {
		{ 0xcfd, FRAME(4) },	   { 0xd00, FRAME(1) }, { 0x1cff, FRAME(1) },
		{ 0x1d00, FRAME(0) },	   { 0x1d40, NONE },	{ 0x1e00, ROW(SP, 0, 1) },
		{ 0x2d00, ROW(SP, 0, 1) }, { 0x2d01, NONE },
	};
	static uint8_t code[TINY_ELF_MAX];
	struct tiny_eh eh = { .len = 0 };
	struct unwind_table table = { 0 };
	struct elf_file file;
	uint64_t offset;

	(void)state;
	tiny_eh_cie(&eh, "zR", X86_RA, X86_CIE);
	tiny_eh_fde(&eh, 0xcfd, 0x1043, CODE(PROLOGUE));
	tiny_eh_fde(&eh, 0x1e00, 0xf01, CODE(""));
	/* Its code is a file of its own that begins like this one and goes on with code. */
	memset(code, 0, sizeof(code));
	file_len = tiny_eh_elf(&eh, EM_X86_64, NULL, 0, file_bytes);
	memcpy(code, file_bytes, file_len);
	offset = file_len - TINY_TEXT_OFFSET;
	assert_true(offset < 0xcfd);
	memcpy(code + TINY_TEXT_OFFSET + 0xcfd, "\x55\x48\x89\xe5", 4);
	assert_int_equal(elf_file_open_bytes(code, sizeof(code), &file), 0);
	assert_int_equal(unwind_table_build(&file, &table), 0);
	elf_file_release(&file);
	assert_true(unwind_table_is_valid(&table));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rule(&table, rows[i].at) != rows[i].expected)
			fail_msg("at %zx: 0x%x", (size_t)rows[i].at, rule(&table, rows[i].at));
	unwind_table_release(&table);
}

/* `cnt` rows of one byte each, all different from their neighbours. */
static void put_rows(struct tiny_eh *eh, uint64_t at, size_t cnt)
{
	static char code[3 * 2048];
	size_t len = 0;

	for (size_t i = 0; i < cnt; i++) {
		code[len++] = 0x0e;
		code[len++] = i % 2 ? 16 : 24;
		code[len++] = 0x41;
	}
	tiny_eh_fde(eh, at, cnt, code, len);
}

static void pages_with_too_many_rows_say_so(void **state)
{
	struct tiny_eh eh = { .len = 0 };
	struct unwind_table table;

	(void)state;
	tiny_eh_cie(&eh, "zR", X86_RA, X86_CIE);
	put_rows(&eh, 0, 1006); /* and one before, one behind: a chunk is full */
	put_rows(&eh, 0x1000, 1007);
	table = build(&eh, NULL, 0);
	assert_int_equal(rule(&table, 0), ROW(SP, 0, 3));
	assert_int_equal(rule(&table, 1005), ROW(SP, 0, 2));
	assert_int_equal(rule(&table, 0x1000), UNSUPPORTED);
	assert_int_equal(rule(&table, 0x1000 + 1006), UNSUPPORTED);
	/* Rows of a page lie in one chunk. */
	assert_int_equal(table.words[0] >> JBPF_UNWIND_PAGE_CNT_BITS, JBPF_UNWIND_CHUNK_WORDS);
	unwind_table_release(&table);
}

static void code_that_spans_too_much_is_refused(void **state)
{
	uint64_t far_off = 1ull << 40, size = 0x1000;
	struct unwind_table table = { 0 };
	struct tiny_eh eh = { .len = 0 };
	uint32_t flags = PF_R | PF_X;

	(void)state;
	tiny_eh_cie(&eh, "zR", X86_RA, X86_CIE);
	tiny_eh_fde(&eh, 0, 16, CODE(""));
	file_len = tiny_eh_elf(&eh, EM_X86_64, NULL, 0, file_bytes);
	memcpy(file_bytes + TINY_SEGMENT(0) + 4, &flags, sizeof(flags));
	memcpy(file_bytes + TINY_SEGMENT(0) + 16, &far_off, sizeof(far_off));
	memcpy(file_bytes + TINY_SEGMENT(0) + 32, &size, sizeof(size));
	assert_int_equal(build_bytes(file_bytes, file_len, &table), -EFBIG);
	/* At the end of all addresses it is none. */
	far_off = UINT64_MAX - 0xfff;
	memcpy(file_bytes + TINY_SEGMENT(0) + 16, &far_off, sizeof(far_off));
	assert_int_equal(build_bytes(file_bytes, file_len, &table), 0);
	unwind_table_release(&table);
}

/* ---- where the entries are ---- */

static void files_without_entries_have_no_table(void **state)
{
	const struct tiny_elf plain = { .symbol_cnt = 0 };
	struct unwind_table table = { 0 };
	struct tiny_eh eh = { .len = 0 };

	(void)state;
	file_len = tiny_elf_write(&plain, file_bytes);
	assert_int_equal(build_bytes(file_bytes, file_len, &table), -ENODATA);
	tiny_eh_cie(&eh, "zR", X86_RA, X86_CIE);
	assert_int_equal(build_machine(&eh, EM_X86_64, NULL, 0, &table), -ENODATA);
	tiny_eh_fde(&eh, 0, 16, CODE(""));
	assert_int_equal(build_machine(&eh, EM_RISCV, NULL, 0, &table), -ENODATA);
	assert_null(table.words);
}

static void debug_frame_serves_where_there_is_no_eh_frame(void **state)
{
	struct tiny_eh eh = { .is_debug = true };
	struct unwind_table table;

	(void)state;
	tiny_eh_cie(&eh, "zR", X86_RA, X86_CIE);
	tiny_eh_fde(&eh, 0, 16, CODE("\x0e\x10"));
	/* Of a function that the linker dropped. */
	tiny_eh_fde(&eh, 0 - (uint64_t)TINY_CODE, 16, CODE("\x0e\x18"));
	table = build(&eh, NULL, 0);
	assert_int_equal(rule(&table, 0), ROW(SP, 0, 2));
	unwind_table_release(&table);
}

/* As strip --strip-section-headers leaves it: the entries lie in front of the code. */
static void without_section_headers_the_header_of_eh_frame_says_where_it_is(void **state)
{
	uint8_t hdr[16] = { 1, 0x1b, 0xff, 0xff, 12 }; /* sdata4 from here: 12 bytes on */
	uint64_t none = 0, at = 0x180, address = 0x400180, size = sizeof(hdr);
	uint32_t type = PT_GNU_EH_FRAME;
	struct tiny_eh eh = { .len = 0 };
	struct unwind_table table = { 0 };

	(void)state;
	tiny_eh_cie(&eh, "zR", X86_RA, X86_CIE);
	tiny_eh_fde(&eh, 0, 16, CODE("\x0e\x10"));
	file_len = tiny_eh_elf(&eh, EM_X86_64, NULL, 0, file_bytes);
	memcpy(file_bytes + 40, &none, sizeof(none)); /* e_shoff */
	memcpy(file_bytes + TINY_SEGMENT(2), &type, sizeof(type));
	memcpy(file_bytes + TINY_SEGMENT(2) + 8, &at, sizeof(at));
	memcpy(file_bytes + TINY_SEGMENT(2) + 16, &address, sizeof(address));
	memcpy(file_bytes + TINY_SEGMENT(2) + 32, &size, sizeof(size));
	memcpy(file_bytes + 0x180, hdr, sizeof(hdr));
	memcpy(file_bytes + 0x190, eh.bytes, eh.len);
	memset(file_bytes + 0x190 + eh.len, 0, 4);
	/* An address behind the end is not part of the table. */
	memset(file_bytes + 0x194 + eh.len, 0xff, 16);
	assert_int_equal(build_bytes(file_bytes, file_len, &table), 0);
	assert_int_equal(rule(&table, 0), ROW(SP, 0, 2));
	assert_int_equal(rule(&table, 16), NONE);
	unwind_table_release(&table);
}

/* ---- damage ---- */

static void build_damaged(void)
{
	struct unwind_table table = { 0 };
	int err = build_bytes(file_bytes, file_len, &table);

	if (err) {
		assert_true(err == -ENODATA || err == -ENOEXEC || err == -EFBIG);
		assert_null(table.words);
		return;
	}
	assert_true(unwind_table_is_valid(&table));
	for (uint64_t at = 0; at < TINY_CODE_MAX; at += 7)
		(void)rule(&table, at);
	unwind_table_release(&table);
}

static void damaged_files_give_valid_tables_or_none(void **state)
{
	static uint8_t whole[TINY_ELF_MAX];
	struct tiny_eh eh = { .len = 0 };
	size_t len;

	(void)state;
	tiny_eh_cie(&eh, "zR", X86_RA, X86_CIE);
	tiny_eh_fde(&eh, 0, 0x20, CODE(PROLOGUE "\x46" AT_RET));
	tiny_eh_fde(&eh, 0x20, 0x20, CODE("\x0a\x0f\x05\x76\x70\x06\x23\x08\x41\x0b"));
	tiny_eh_cie(&eh, "zRS", X86_RA, X86_CIE);
	tiny_eh_fde(&eh, 0x40, 0x20, CODE("\x0f\x04\x77\xa0\x01\x06"));
	len = tiny_eh_elf(&eh, EM_X86_64, CODE("\x55\x48\x89\xe5"), whole);
	for (size_t at = 0; at < len; at++) {
		static const uint8_t flips[] = { 0x01, 0x80, 0xff };

		for (size_t i = 0; i < sizeof(flips); i++) {
			memcpy(file_bytes, whole, len);
			file_bytes[at] ^= flips[i];
			file_len = len;
			build_damaged();
		}
		memcpy(file_bytes, whole, len);
		file_len = at;
		if (at >= sizeof(Elf64_Ehdr))
			build_damaged();
	}
}

static void an_entry_longer_than_its_section_is_damage(void **state)
{
	struct unwind_table table = { 0 };
	struct tiny_eh eh = { .len = 0 };
	uint32_t len = 0x10000;

	(void)state;
	tiny_eh_cie(&eh, "zR", X86_RA, X86_CIE);
	tiny_eh_fde(&eh, 0, 0x20, CODE(""));
	memcpy(eh.bytes + eh.cie, &len, sizeof(len));
	assert_int_equal(build_machine(&eh, EM_X86_64, NULL, 0, &table), -ENOEXEC);
}

static void augmentations_that_are_not_known_give_no_rows(void **state)
{
	struct unwind_table table = { 0 };
	struct tiny_eh eh = { .len = 0 };

	(void)state;
	tiny_eh_cie(&eh, "zRQ", X86_RA, X86_CIE);
	tiny_eh_fde(&eh, 0, 0x20, CODE(""));
	assert_int_equal(build_machine(&eh, EM_X86_64, NULL, 0, &table), -ENODATA);
	tiny_eh_cie(&eh, "zRB", X86_RA, X86_CIE);
	tiny_eh_fde(&eh, 0x20, 0x20, CODE(""));
	table = build(&eh, NULL, 0);
	assert_int_equal(rule(&table, 0), NONE);
	assert_int_equal(rule(&table, 0x20), ROW(SP, 0, 1));
	unwind_table_release(&table);
}

/* ---- tables of others ---- */

static void tables_that_cannot_be_walked_are_not_valid(void **state)
{
	const uint32_t first = 2 << JBPF_UNWIND_PAGE_CNT_BITS;
	const uint32_t row = ROW(SP, 0, 1);
	struct {
		uint32_t words[6];
		struct unwind_table table;
		bool is_valid;
	} rows[] = {
		{ { first | 1, 4 << 10, row, row | 8, row }, { NULL, 5, 2, 3, 0x1000 }, true },
		{ { 0, first, row }, { NULL, 3, 2, 1, 0 }, true },
		{ { 0, 0 }, { NULL, 2, 2, 0, 0 }, true },
		{ { first | 1, 4 << 10, row, row | 8, row }, { NULL, 5, 2, 2, 0x1000 }, false },
		{ { first | 1, 4 << 10, row, row | 8, row }, { NULL, 5, 2, 3, 0x1001 }, false },
		{ { first | 1, 4 << 10, row, row | 8, row }, { NULL, 5, 2, 3, ~0xfffull }, false },
		{ { first | 1, 4 << 10, row, row | 8, row }, { NULL, 4, 2, 3, 0x1000 }, false },
		{ { first | 1, 0, row | 8, row | 9 }, { NULL, 4, 2, 2, 0 }, false },
		{ { first | 1, 0, row, row }, { NULL, 4, 2, 2, 0 }, false },
		{ { first | 2, 0, row, row | 9, row | 8 }, { NULL, 5, 2, 3, 0 }, false },
		{ { first, first, row }, { NULL, 3, 2, 2, 0 }, false },
		{ { 1 << 10, 0, row }, { NULL, 3, 2, 1, 0 }, false },
		{ { first | 1023, 0, row }, { NULL, 3, 2, 1024, 0 }, false },
		{ { ~0u, 0, row }, { NULL, 3, 2, 1024, 0 }, false },
		{ { first, 0, 6 << JBPF_ROW_KIND_SHIFT }, { NULL, 3, 2, 1, 0 }, false },
		{ { first, 0, SPECIAL(6) }, { NULL, 3, 2, 1, 0 }, false },
		{ { first, 0, FRAME(127) }, { NULL, 3, 2, 1, 0 }, true },
		{ { first, 0, NONE | 1 << JBPF_ROW_SLOT_SHIFT }, { NULL, 3, 2, 1, 0 }, false },
		{ { first, 0, row }, { NULL, 1, 2, 1, 0 }, false },
		{ { first, 0, row }, { NULL, 3, 0, 0, 0 }, false },
		{ { first, 0, row }, { NULL, JBPF_UNWIND_MAX_WORDS + 1, 2, 1, 0 }, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		rows[i].table.words = rows[i].words;
		if (unwind_table_is_valid(&rows[i].table) != rows[i].is_valid)
			fail_msg("table %zu is %s", i, rows[i].is_valid ? "valid" : "not valid");
	}
	assert_false(unwind_table_is_valid(&(struct unwind_table){ .words = NULL }));
}

static void rows_of_a_page_lie_in_one_chunk(void **state)
{
	struct unwind_table table = { .word_cnt = 1010, .page_cnt = 1, .row_cnt = 2 };

	(void)state;
	table.words = calloc(1010, sizeof(*table.words));
	assert_non_null(table.words);
	table.words[1006] = table.words[1008] = ROW(SP, 0, 1);
	table.words[1007] = table.words[1009] = ROW(SP, 0, 2) | 5;
	table.words[0] = 1006 << JBPF_UNWIND_PAGE_CNT_BITS | 1;
	assert_true(unwind_table_is_valid(&table));
	table.words[0] = 1008 << JBPF_UNWIND_PAGE_CNT_BITS | 1;
	assert_true(unwind_table_is_valid(&table));
	table.words[1008] = ROW(SP, 0, 2) | 5;
	table.words[1007] = ROW(SP, 0, 1);
	table.words[0] = 1007 << JBPF_UNWIND_PAGE_CNT_BITS | 1;
	assert_false(unwind_table_is_valid(&table));
	unwind_table_release(&table);
}

static void addresses_outside_have_no_rule(void **state)
{
	struct tiny_eh eh = { .len = 0 };
	struct unwind_table table;

	(void)state;
	tiny_eh_cie(&eh, "zR", X86_RA, X86_CIE);
	tiny_eh_fde(&eh, 0, TINY_CODE_MAX, CODE(""));
	table = build(&eh, NULL, 0);
	assert_int_equal(table.address, TINY_CODE & ~0xfffu);
	assert_int_equal(unwind_table_row(&table, 0), NONE);
	assert_int_equal(unwind_table_row(&table, table.address - 1), NONE);
	assert_int_equal(unwind_table_row(&table, table.address), NONE);
	assert_int_equal(unwind_table_row(&table, table.address + table.page_cnt * 4096ull), NONE);
	assert_int_equal(unwind_table_row(&table, UINT64_MAX), NONE);
	unwind_table_release(&table);
}

static void digests_tell_tables_apart(void **state)
{
	uint8_t digests[4][32];
	struct tiny_eh eh = { .len = 0 };
	struct unwind_table table;

	(void)state;
	tiny_eh_cie(&eh, "zR", X86_RA, X86_CIE);
	tiny_eh_fde(&eh, 0, 0x20, CODE(""));
	table = build(&eh, NULL, 0);
	unwind_table_digest(&table, digests[0]);
	unwind_table_digest(&table, digests[1]);
	assert_memory_equal(digests[0], digests[1], 32);
	table.address += 4096;
	unwind_table_digest(&table, digests[2]);
	assert_memory_not_equal(digests[0], digests[2], 32);
	table.address -= 4096;
	table.words[table.word_cnt - 1] ^= 1;
	unwind_table_digest(&table, digests[3]);
	assert_memory_not_equal(digests[0], digests[3], 32);
	unwind_table_release(&table);
}

/* ---- real life ---- */

static void this_program_and_the_vdso_have_tables(void **state)
{
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	struct unwind_table table = { 0 };
	size_t len;

	(void)state;
	if (vdso) {
		const Elf64_Ehdr *header = (const Elf64_Ehdr *)vdso;

		len = header->e_shoff + header->e_shnum * sizeof(Elf64_Shdr);
		assert_int_equal(build_bytes(vdso, len, &table), 0);
		assert_true(unwind_table_is_valid(&table));
		assert_true(table.row_cnt > 4);
		unwind_table_release(&table);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_hold_from_their_addresses_on),
		cmocka_unit_test(plain_functions_with_frames_are_one_row),
		cmocka_unit_test(functions_side_by_side_keep_their_prologues),
		cmocka_unit_test(gaps_are_padding_or_keep_the_stack_or_have_no_rule),
		cmocka_unit_test(functions_outside_of_the_code_do_not_count),
		cmocka_unit_test(of_functions_that_overlap_the_first_by_address_counts),
		cmocka_unit_test(rows_go_on_in_the_next_page),
		cmocka_unit_test(pages_with_too_many_rows_say_so),
		cmocka_unit_test(code_that_spans_too_much_is_refused),
		cmocka_unit_test(files_without_entries_have_no_table),
		cmocka_unit_test(debug_frame_serves_where_there_is_no_eh_frame),
		cmocka_unit_test(without_section_headers_the_header_of_eh_frame_says_where_it_is),
		cmocka_unit_test(damaged_files_give_valid_tables_or_none),
		cmocka_unit_test(an_entry_longer_than_its_section_is_damage),
		cmocka_unit_test(augmentations_that_are_not_known_give_no_rows),
		cmocka_unit_test(tables_that_cannot_be_walked_are_not_valid),
		cmocka_unit_test(rows_of_a_page_lie_in_one_chunk),
		cmocka_unit_test(addresses_outside_have_no_rule),
		cmocka_unit_test(digests_tell_tables_apart),
		cmocka_unit_test(this_program_and_the_vdso_have_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
