// SPDX-License-Identifier: Apache-2.0
/* Symbols one after another: both classes, over the border of a piece, with caps, and cut off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/elf/elf_syms.h"

#define SYMBOLS_AT 64u
#define NAMES_AT   8u
#define MANY	   (2 * ELF_SYMS_PIECE + 7)

static const char names[] = "\0first\0second";
static uint8_t bytes[SYMBOLS_AT + MANY * sizeof(Elf64_Sym)];
static struct elf_section sections[2];
static struct elf_file file;

/* Symbol i has value i; the first one is "first", others are "second", the last one has no name. */
static int make(void **state)
{
	(void)state;
	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes + NAMES_AT, names, sizeof(names));
	for (size_t i = 0; i < MANY; i++) {
		Elf64_Sym sym = { .st_name = i == 0	   ? 1 :
					     i == MANY - 1 ? 1000 :
							     7,
				  .st_info = 2,
				  .st_shndx = 3,
				  .st_value = i,
				  .st_size = 5 };

		memcpy(bytes + SYMBOLS_AT + i * sizeof(sym), &sym, sizeof(sym));
	}
	sections[0] = (struct elf_section){
		.name = "", .type = SHT_STRTAB, .offset = NAMES_AT, .size = sizeof(names)
	};
	sections[1] = (struct elf_section){ .name = "",
					    .type = SHT_SYMTAB,
					    .offset = SYMBOLS_AT,
					    .size = MANY * sizeof(Elf64_Sym) };
	file = (struct elf_file){ .fd = -1,
				  .bytes = bytes,
				  .size = sizeof(bytes),
				  .is_64 = true,
				  .sections = sections,
				  .section_cnt = 2 };
	return 0;
}

/* What the walk ends with; *cnt symbols are seen, whose values count up. */
static int walk(uint64_t max_symbol_bytes, size_t max_name_bytes, size_t *cnt)
{
	struct elf_syms syms;
	struct elf_sym sym;
	int got;

	*cnt = 0;
	got = elf_syms_open(&syms, &file, &sections[1], max_symbol_bytes, max_name_bytes);
	if (got)
		return got;
	while ((got = elf_syms_next(&syms, &sym)) > 0)
		assert_int_equal(sym.value, (*cnt)++);
	if (!got)
		assert_int_equal(elf_syms_next(&syms, &sym), 0);
	elf_syms_release(&syms);
	return got;
}

static void elf_syms_gives_each_symbol_once_and_in_order(void **state)
{
	size_t cnt;

	(void)state;
	assert_int_equal(walk(UINT64_MAX, 1000, &cnt), 0);
	assert_int_equal(cnt, MANY);
	/* The rest of a symbol at the end is none. */
	sections[1].size -= 1;
	assert_int_equal(walk(UINT64_MAX, 1000, &cnt), 0);
	assert_int_equal(cnt, MANY - 1);
	sections[1].size = 0;
	assert_int_equal(walk(UINT64_MAX, 1000, &cnt), 0);
	assert_int_equal(cnt, 0);
}

static void elf_syms_parts_of_a_symbol_are_right(void **state)
{
	Elf32_Sym sym32 = {
		.st_name = 1, .st_info = 2, .st_shndx = 3, .st_value = 4, .st_size = 5
	};
	struct elf_syms syms;
	struct elf_sym sym;
	char *kept;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(elf_syms_open(&syms, &file, &sections[1], 100, 1000), 0);
		assert_int_equal(elf_syms_next(&syms, &sym), 1);
		assert_string_equal(sym.name, "first");
		assert_int_equal(sym.info, 2);
		assert_int_equal(sym.section, 3);
		assert_int_equal(sym.value, i ? 4 : 0);
		assert_int_equal(sym.size, 5);
		kept = elf_syms_take_names(&syms);
		elf_syms_release(&syms);
		assert_string_equal(sym.name, "first");
		free(kept);
		memcpy(bytes + SYMBOLS_AT, &sym32, sizeof(sym32));
		file.is_64 = false;
	}
}

static void elf_syms_names_outside_are_none(void **state)
{
	struct elf_syms syms;
	struct elf_sym sym;
	size_t nameless_cnt = 0;

	(void)state;
	assert_int_equal(elf_syms_open(&syms, &file, &sections[1], UINT64_MAX, 1000), 0);
	while (elf_syms_next(&syms, &sym) > 0)
		nameless_cnt += !sym.name;
	assert_int_equal(nameless_cnt, 1);
	elf_syms_release(&syms);
	/* Cut by the cap, a name ends there. */
	assert_int_equal(elf_syms_open(&syms, &file, &sections[1], UINT64_MAX, 4), 0);
	assert_int_equal(elf_syms_next(&syms, &sym), 1);
	assert_string_equal(sym.name, "fir");
	assert_int_equal(elf_syms_next(&syms, &sym), 1);
	assert_null(sym.name);
	elf_syms_release(&syms);
}

static void elf_syms_end_at_a_cap_or_where_the_file_does(void **state)
{
	size_t cnt;

	(void)state;
	assert_int_equal(walk(10 * sizeof(Elf64_Sym) + 1, 1000, &cnt), 0);
	assert_int_equal(cnt, 10);
	/* What is there of a piece that is cut off is not seen. */
	file.size -= 1;
	assert_int_equal(walk(UINT64_MAX, 1000, &cnt), -ENODATA);
	assert_int_equal(cnt, 2 * ELF_SYMS_PIECE);
	sections[1].offset = UINT64_MAX - 8;
	assert_int_equal(walk(UINT64_MAX, 1000, &cnt), -ENODATA);
	assert_int_equal(cnt, 0);
}

static void elf_syms_need_names(void **state)
{
	size_t cnt;

	(void)state;
	sections[0].offset = sizeof(bytes);
	assert_int_equal(walk(UINT64_MAX, 1000, &cnt), -ENODATA);
	sections[1].link = 2;
	assert_int_equal(walk(UINT64_MAX, 1000, &cnt), -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(elf_syms_gives_each_symbol_once_and_in_order, make),
		cmocka_unit_test_setup(elf_syms_parts_of_a_symbol_are_right, make),
		cmocka_unit_test_setup(elf_syms_names_outside_are_none, make),
		cmocka_unit_test_setup(elf_syms_end_at_a_cap_or_where_the_file_does, make),
		cmocka_unit_test_setup(elf_syms_need_names, make),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
