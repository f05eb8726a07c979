// SPDX-License-Identifier: Apache-2.0
/* The calls of start_thread are found by their code, and only when the code proves it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "symbols/elf/elf_symtab.h"
#include "symbols/elf/libc_thread.h"
#include "tests/unit/tiny_elf.h"

/* call *0x638(%rbx); cltq; mov %rax,%fs:0x628, as in glibc 2.36. */
#define C11_MEMORY 0xff, 0x93, 0x38, 0x06, 0, 0, 0x48, 0x98
/* call *%rax; cltq, as in glibc 2.41 and 2.43. */
#define C11_REGISTER 0xff, 0xd0, 0x48, 0x98
#define STORE(low)   0x64, 0x48, 0x89, 0x04, 0x25, (low), 0x06, 0, 0
#define NOPS	     0x90, 0x90, 0x90, 0x90

static const uint8_t glibc_2_36[] = {
	NOPS, C11_MEMORY,	  STORE(0x28), NOPS, 0xff, 0x90, 0x38, 0x06, 0,
	0,			  /* call *0x638(%rax) at 25 */
	0xeb, (uint8_t)(12 - 33), /* jmp to the store at 12 */
	NOPS,
};

static const uint8_t glibc_2_41[] = {
	C11_REGISTER, STORE(0x28),	 NOPS, 0xff, 0xd0, /* call *%rax at 17 */
	0xe9,	      (uint8_t)(4 - 24), 0xff, 0xff, 0xff, /* jmp to the store at 4 */
	NOPS,
};

static void both_calls_are_found_whatever_form_they_have(void **state)
{
	struct libc_thread_call calls[LIBC_THREAD_MAX_CALLS];

	(void)state;
	assert_int_equal(libc_thread_find(glibc_2_36, sizeof(glibc_2_36), calls), 2);
	assert_int_equal(calls[0].offset, 4);
	assert_int_equal(calls[0].len, 6);
	assert_int_equal(calls[1].offset, 25);
	assert_int_equal(calls[1].len, 6);

	assert_int_equal(libc_thread_find(glibc_2_41, sizeof(glibc_2_41), calls), 2);
	assert_int_equal(calls[0].offset, 0);
	assert_int_equal(calls[0].len, 2);
	assert_int_equal(calls[1].offset, 17);
	assert_int_equal(calls[1].len, 2);
}

static void cut_code_is_no_proof(void **state)
{
	struct libc_thread_call calls[LIBC_THREAD_MAX_CALLS];

	(void)state;
	for (size_t len = 0; len < sizeof(glibc_2_41) - 4; len++) {
		uint8_t code[sizeof(glibc_2_41)];

		memcpy(code, glibc_2_41, len);
		assert_int_equal(libc_thread_find(code, len, calls), 0);
	}
}

static void any_changed_byte_that_matters_is_no_proof(void **state)
{
	struct libc_thread_call calls[LIBC_THREAD_MAX_CALLS];
	/* All but the nops and the low bytes of the store's address. */
	static const size_t bytes[] = { 0,  1,	2,  3,	4,  5,	6,  7,	8,
					11, 12, 17, 18, 19, 20, 21, 22, 23 };

	(void)state;
	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		uint8_t code[sizeof(glibc_2_41)];

		memcpy(code, glibc_2_41, sizeof(code));
		code[bytes[i]] ^= 0x40;
		assert_int_equal(libc_thread_find(code, sizeof(code), calls), 0);
	}
}

static void two_stores_of_the_kind_are_no_proof(void **state)
{
	uint8_t code[2 * sizeof(glibc_2_41)];
	struct libc_thread_call calls[LIBC_THREAD_MAX_CALLS];

	(void)state;
	memcpy(code, glibc_2_41, sizeof(glibc_2_41));
	memcpy(code + sizeof(glibc_2_41), glibc_2_41, sizeof(glibc_2_41));
	assert_int_equal(libc_thread_find(code, sizeof(code), calls), 0);
}

static void a_third_jump_to_the_store_is_no_proof(void **state)
{
	uint8_t code[sizeof(glibc_2_41) + 4];
	struct libc_thread_call calls[LIBC_THREAD_MAX_CALLS];

	(void)state;
	memcpy(code, glibc_2_41, sizeof(glibc_2_41));
	code[28] = 0xff; /* call *%rax; jmp to the store at 4 */
	code[29] = 0xd0;
	code[30] = 0xeb;
	code[31] = (uint8_t)(4 - 32);
	assert_int_equal(libc_thread_find(code, sizeof(code), calls), 0);
}

static void no_code_has_no_calls(void **state)
{
	static const uint8_t zeros[4096];
	struct libc_thread_call calls[LIBC_THREAD_MAX_CALLS];

	(void)state;
	assert_int_equal(libc_thread_find(zeros, 0, calls), 0);
	assert_int_equal(libc_thread_find(zeros, sizeof(zeros), calls), 0);
}

/* ---- whose code that is ---- */

/* A stripped library with that code, which calls itself so; `link` is the section with that name's string. */
static size_t library(const char *soname, uint64_t tag, uint32_t link, uint8_t *bytes)
{
	const struct tiny_symbol symbol = { .name = soname, .at = 0x100, .size = 16 };
	const Elf64_Dyn dynamic[] = { { .d_tag = DT_FLAGS },
				      { .d_tag = (Elf64_Sxword)tag, .d_un.d_val = 1 },
				      { .d_tag = DT_NULL } };
	const struct tiny_elf elf = { .symbols = &symbol,
				      .symbol_cnt = 1,
				      .is_dynsym = true,
				      .extra = dynamic,
				      .extra_len = sizeof(dynamic),
				      .extra_name = ".dynamic" };
	size_t len = tiny_elf_write(&elf, bytes);
	Elf64_Ehdr header;
	Elf64_Shdr section;
	uint8_t *at;

	memcpy(bytes + TINY_TEXT_OFFSET, glibc_2_36, sizeof(glibc_2_36));
	memcpy(&header, bytes, sizeof(header));
	at = bytes + header.e_shoff + 6 * sizeof(section);
	memcpy(&section, at, sizeof(section));
	section.sh_type = SHT_DYNAMIC;
	section.sh_link = link;
	memcpy(at, &section, sizeof(section));
	return len;
}

static void check_has_calls(const uint8_t *bytes, size_t len, bool has_calls)
{
	struct elf_symtab_builder *builder;
	struct elf_symbol symbol;
	struct elf_symtab *tab;
	struct elf_file file;
	int err;

	assert_int_equal(elf_file_open_bytes(bytes, len, &file), 0);
	assert_int_equal(elf_symtab_builder__start(&file, &builder), 0);
	assert_int_equal(libc_thread_add(&file, builder), 0);
	assert_int_equal(elf_symtab_builder__finish(builder, &tab), 0);
	err = elf_symtab__lookup(tab, TINY_TEXT_ADDRESS + 4, &symbol);
	assert_int_equal(err, has_calls ? 0 : -ENOENT);
	if (has_calls)
		assert_string_equal(symbol.name, LIBC_THREAD_NAME);
	elf_symtab__free(tab);
	elf_symtab_builder__free(builder);
	elf_file_release(&file);
}

/* Wherever it is mounted: what is known of a file is shared by all that map it. */
static void the_file_itself_says_that_it_is_libc(void **state)
{
	static const struct {
		const char *soname;
		uint64_t tag;
		uint32_t link;
		bool has_calls;
	} cases[] = {
		{ "libc.so.6", DT_SONAME, 4, true },   { "libc.so.61", DT_SONAME, 4, false },
		{ "libmine.so", DT_SONAME, 4, false }, { "libc.so.6", DT_NEEDED, 4, false },
		{ "libc.so.6", DT_SONAME, 5, false }, /* other strings */
		{ "libc.so.6", DT_SONAME, 99, false },
	};
	uint8_t bytes[TINY_ELF_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len = library(cases[i].soname, cases[i].tag, cases[i].link, bytes);

		check_has_calls(bytes, len, cases[i].has_calls);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_calls_are_found_whatever_form_they_have),
		cmocka_unit_test(cut_code_is_no_proof),
		cmocka_unit_test(any_changed_byte_that_matters_is_no_proof),
		cmocka_unit_test(two_stores_of_the_kind_are_no_proof),
		cmocka_unit_test(a_third_jump_to_the_store_is_no_proof),
		cmocka_unit_test(no_code_has_no_calls),
		cmocka_unit_test(the_file_itself_says_that_it_is_libc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
