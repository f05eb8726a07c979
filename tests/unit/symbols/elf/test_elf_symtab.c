// SPDX-License-Identifier: Apache-2.0
/* ELF functions: which name an address gets, and that no file, however broken, does harm. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/elf/build_id.h"
#include "symbols/elf/elf_symtab.h"
#include "symbols/elf/vdso.h"
#include "tests/unit/tiny_eh_frame.h"

#define LOCAL_FUNC  ELF64_ST_INFO(STB_LOCAL, STT_FUNC)
#define WEAK_FUNC   ELF64_ST_INFO(STB_WEAK, STT_FUNC)
#define LABEL	    ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE)
#define LOCAL_LABEL ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE)
#define OBJECT	    ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT)
#define IFUNC	    ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC)

static int load_bytes(const uint8_t *bytes, size_t len, struct elf_symtab **out)
{
	struct elf_symtab_builder *builder = NULL;
	struct elf_file file;
	int err = elf_file_open_bytes(bytes, len, &file);

	if (!err)
		err = elf_symtab_builder__start(&file, &builder);
	if (!err)
		err = elf_symtab_builder__add(builder, &file);
	if (!err)
		err = elf_symtab_builder__finish(builder, out);
	elf_symtab_builder__free(builder);
	elf_file_release(&file);
	return err;
}

static struct elf_symtab *load(const struct tiny_symbol *symbols, size_t cnt)
{
	static uint8_t bytes[TINY_ELF_MAX];
	struct tiny_elf elf = { .symbols = symbols, .symbol_cnt = cnt };
	size_t len = tiny_elf_write(&elf, bytes);
	struct elf_symtab *tab = NULL;

	assert_int_equal(load_bytes(bytes, len, &tab), 0);
	return tab;
}

/* "-" = nobody's. */
static void check(const struct elf_symtab *tab, uint64_t at, const char *expected)
{
	struct elf_symbol symbol = { .name = "-" };
	int err = elf_symtab__lookup(tab, TINY_TEXT_ADDRESS + at, &symbol);

	assert_true(err == 0 || err == -ENOENT);
	assert_string_equal(symbol.name, expected);
}

static void elf_an_address_behind_a_function_is_not_that_function(void **state)
{
	static const struct tiny_symbol symbols[] = { { .name = "a", .at = 0x10, .size = 0x10 },
						      { .name = "b", .at = 0x40, .size = 0x20 } };
	struct elf_symtab *tab = load(symbols, 2);

	(void)state;
	check(tab, 0x0f, "-");
	check(tab, 0x10, "a");
	check(tab, 0x1f, "a");
	check(tab, 0x20, "-");
	check(tab, 0x3f, "-");
	check(tab, 0x40, "b");
	check(tab, 0x5f, "b");
	check(tab, 0x60, "-");
	elf_symtab__free(tab);
}

/* "?" = a function without a name. */
static void check_function(const struct elf_symtab *tab, uint64_t at, const char *expected,
			   uint64_t start)
{
	struct elf_symbol symbol = { .name = "-" };
	int err = elf_symtab__lookup(tab, TINY_TEXT_ADDRESS + at, &symbol);

	assert_true(err == 0 || err == -ENOENT);
	assert_string_equal(symbol.name ? symbol.name : "?", expected);
	if (!err)
		assert_int_equal(symbol.start, TINY_TEXT_ADDRESS + start);
}

static struct elf_symtab *load_with_functions(const struct tiny_eh *eh, const struct tiny_elf *base)
{
	static uint8_t bytes[TINY_ELF_MAX];
	struct tiny_elf elf = *base;
	struct elf_symtab_builder *builder;
	struct elf_symtab *tab;
	struct elf_file file;
	size_t len;

	elf.extra = eh->bytes;
	elf.extra_len = eh->len;
	elf.extra_name = ".eh_frame";
	len = tiny_elf_write(&elf, bytes);
	assert_int_equal(elf_file_open_bytes(bytes, len, &file), 0);
	assert_int_equal(elf_symtab_builder__start(&file, &builder), 0);
	assert_int_equal(elf_symtab_builder__add(builder, &file), 0);
	assert_int_equal(elf_symtab_builder__add_functions(builder, &file), 0);
	assert_int_equal(elf_symtab_builder__finish(builder, &tab), 0);
	elf_symtab_builder__free(builder);
	elf_file_release(&file);
	return tab;
}

static void elf_functions_of_eh_frame_lie_where_no_symbol_is(void **state)
{
	static const uint8_t rules[] = { 0x0c, 7, 8, 0x90, 1 };
	static const struct tiny_symbol symbols[] = { { .name = "a", .at = 0x10, .size = 0x20 },
						      { .name = "b", .at = 0x60, .size = 0x10 },
						      { .name = "c", .at = 0x90, .size = 0x10 } };
	const struct tiny_elf elf = { .symbols = symbols, .symbol_cnt = 3 };
	struct tiny_eh eh = { .len = 0 }, none = { .len = 0 };
	struct elf_symtab *tab, *bare;
	uint64_t hashes[2][2];

	(void)state;
	tiny_eh_cie(&eh, "zR", 16, rules, sizeof(rules));
	tiny_eh_fde(&eh, 0, 8, NULL, 0);	/* nobody's */
	tiny_eh_fde(&eh, 0x10, 0x28, NULL, 0);	/* longer than its symbol */
	tiny_eh_fde(&eh, 0x40, 0x28, NULL, 0);	/* ends in another one's */
	tiny_eh_fde(&eh, 0x80, 0x30, NULL, 0);	/* has one within */
	tiny_eh_fde(&eh, 0xa8, 0x18, NULL, 0);	/* begins in the one before */
	tiny_eh_fde(&eh, 0x1f0, 0x40, NULL, 0); /* longer than the code */
	tab = load_with_functions(&eh, &elf);
	check_function(tab, 0, "?", 0);
	check_function(tab, 7, "?", 0);
	check_function(tab, 8, "-", 0);
	check_function(tab, 0x10, "a", 0x10);
	check_function(tab, 0x2f, "a", 0x10);
	check_function(tab, 0x30, "-", 0);
	check_function(tab, 0x5f, "?", 0x40);
	check_function(tab, 0x60, "b", 0x60);
	check_function(tab, 0x8f, "?", 0x80);
	check_function(tab, 0x90, "c", 0x90);
	check_function(tab, 0xa0, "-", 0);
	check_function(tab, 0xb8, "-", 0);
	check_function(tab, 0x1ff, "?", 0x1f0);
	check_function(tab, 0x200, "-", 0);
	/* Another table than that of the same file without them. */
	bare = load_with_functions(&none, &elf);
	check_function(bare, 0, "-", 0);
	elf_symtab__hash(tab, 1, hashes[0]);
	elf_symtab__hash(bare, 1, hashes[1]);
	assert_memory_not_equal(hashes[0], hashes[1], sizeof(hashes[0]));
	elf_symtab__free(tab);
	elf_symtab__free(bare);
}

static void elf_size_zero_reaches_to_the_next_symbol_or_the_section_end(void **state)
{
	static const struct tiny_symbol symbols[] = { { .name = "a", .at = 0x10 },
						      { .name = "b", .at = 0x40 } };
	struct elf_symtab *tab = load(symbols, 2);
	struct elf_symbol symbol;

	(void)state;
	check(tab, 0x3f, "a");
	check(tab, 0x40, "b");
	check(tab, TINY_TEXT_BYTES - 1, "b");
	assert_int_equal(elf_symtab__lookup(tab, TINY_TEXT_ADDRESS + TINY_TEXT_BYTES, &symbol),
			 -ENOENT);
	elf_symtab__free(tab);
}

/* As in musl, whose assembly has no sizes, and which has no .symtab: what lies behind is somebody else's. */
static void elf_size_zero_does_not_reach_into_functions_without_a_name(void **state)
{
	static const uint8_t rules[] = { 0x0c, 7, 8, 0x90, 1 };
	static const struct tiny_symbol symbols[] = { { .name = "a", .at = 0x10 },
						      { .name = "b", .at = 0x100 },
						      { .name = "c", .at = 0x180 } };
	static const struct {
		uint64_t at;
		const char *stripped, *whole;
		uint64_t start;
	} rows[] = {
		{ 0x2f, "a", "a", 0x10 },   { 0x30, "?", "?", 0x30 },	{ 0x5f, "?", "?", 0x30 },
		{ 0x60, "-", "-", 0 },	    { 0x100, "b", "b", 0x100 }, { 0x15f, "b", "b", 0x100 },
		{ 0x160, "-", "b", 0x100 }, { 0x180, "c", "c", 0x180 }, { 0x1bf, "c", "c", 0x180 },
		{ 0x1c0, "-", "c", 0x180 },
	};
	struct tiny_elf elf = { .symbols = symbols, .symbol_cnt = 3, .is_dynsym = true };
	struct tiny_eh eh = { .len = 0 };
	struct elf_symtab *stripped, *whole;

	(void)state;
	tiny_eh_cie(&eh, "zR", 16, rules, sizeof(rules));
	tiny_eh_fde(&eh, 0x30, 0x30, NULL, 0);	/* a static function behind "a" */
	tiny_eh_fde(&eh, 0x100, 0x60, NULL, 0); /* "b" itself */
	stripped = load_with_functions(&eh, &elf);
	elf.is_dynsym = false;
	whole = load_with_functions(&eh, &elf);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		check_function(stripped, rows[i].at, rows[i].stripped, rows[i].start);
		check_function(whole, rows[i].at, rows[i].whole, rows[i].start);
	}
	elf_symtab__free(stripped);
	elf_symtab__free(whole);
}

static void elf_sizes_past_the_code_are_cut(void **state)
{
	static const struct tiny_symbol symbols[] = {
		{ .name = "a", .at = 0x10, .size = UINT64_MAX },
		{ .name = "far", .at = 0x40000, .size = 8 },
		{ .name = "neg", .at = (uint64_t)-16, .size = 8 }
	};
	struct elf_symtab *tab = load(symbols, 3);

	(void)state;
	check(tab, TINY_TEXT_BYTES - 1, "a");
	check(tab, TINY_TEXT_BYTES, "-");
	check(tab, 0x40000, "-");
	check(tab, (uint64_t)-16, "-");
	elf_symtab__free(tab);
}

static void elf_inner_symbols_own_their_part_of_the_outer(void **state)
{
	static const struct tiny_symbol symbols[] = {
		{ .name = "outer", .at = 0x00, .size = 0x80 },
		{ .name = "inner", .at = 0x20, .size = 0x20 },
		{ .name = "innermost", .at = 0x28, .size = 0x08 },
		{ .name = "crosses", .at = 0x70, .size = 0x20 },
	};
	struct elf_symtab *tab = load(symbols, 4);

	(void)state;
	check(tab, 0x1f, "outer");
	check(tab, 0x20, "inner");
	check(tab, 0x28, "innermost");
	check(tab, 0x30, "inner");
	check(tab, 0x40, "outer");
	check(tab, 0x70, "crosses");
	check(tab, 0x8f, "crosses");
	check(tab, 0x90, "-");
	elf_symtab__free(tab);
}

static void elf_of_names_at_one_address_the_best_wins(void **state)
{
	static const struct {
		struct tiny_symbol first, second;
		const char *expected;
	} rows[] = {
		{ { "local", 0, 16, LOCAL_FUNC, 0 }, { "global", 0, 16, 0, 0 }, "global" },
		{ { "weak", 0, 16, WEAK_FUNC, 0 }, { "local", 0, 16, LOCAL_FUNC, 0 }, "weak" },
		{ { "weak", 0, 16, WEAK_FUNC, 0 }, { "global", 0, 16, 0, 0 }, "global" },
		{ { "unsized", 0, 0, 0, 0 }, { "sized", 0, 16, 0, 0 }, "sized" },
		{ { "label", 0, 16, LABEL, 0 }, { "function", 0, 16, 0, 0 }, "function" },
		{ { "__libc_read", 0, 16, 0, 0 }, { "read", 0, 16, 0, 0 }, "read" },
		{ { "short", 0, 8, 0, 0 }, { "long", 0, 16, 0, 0 }, "long" },
		{ { "b", 0, 16, 0, 0 }, { "a", 0, 16, 0, 0 }, "a" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tiny_symbol forth[] = { rows[i].first, rows[i].second };
		struct tiny_symbol back[] = { rows[i].second, rows[i].first };
		struct elf_symtab *tab = load(forth, 2);

		check(tab, 0, rows[i].expected);
		elf_symtab__free(tab);
		tab = load(back, 2);
		check(tab, 0, rows[i].expected);
		elf_symtab__free(tab);
	}
}

/* ---- files that are made to be expensive ---- */

#define SUFFIX_CNT   100000u
#define SUFFIX_BYTES (8u << 20)

/*
 * A file of 11 MB with 100,000 functions whose names are suffixes of 8 MB of 'a'. `step`: bytes from
 * one function to the next; 0: all at one address.
 */
static size_t suffixes_write(uint8_t *bytes, uint64_t step)
{
	size_t symbols_at = 0x1000, strings_at = symbols_at + SUFFIX_CNT * sizeof(Elf64_Sym);
	size_t sections_at = strings_at + SUFFIX_BYTES + 8;
	Elf64_Sym *symbols = (Elf64_Sym *)(bytes + symbols_at);
	const Elf64_Phdr segment = { .p_type = PT_LOAD,
				     .p_flags = PF_R | PF_X,
				     .p_vaddr = TINY_TEXT_ADDRESS,
				     .p_filesz = 16 * SUFFIX_CNT };
	const Elf64_Shdr sections[3] = {
		[1] = { .sh_type = SHT_SYMTAB,
			.sh_link = 2,
			.sh_offset = symbols_at,
			.sh_entsize = sizeof(Elf64_Sym),
			.sh_size = SUFFIX_CNT * sizeof(Elf64_Sym) },
		[2] = { .sh_type = SHT_STRTAB,
			.sh_offset = strings_at,
			.sh_size = SUFFIX_BYTES + 2 },
	};
	const Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
						 ELFDATA2LSB, EV_CURRENT },
				    .e_type = ET_DYN,
				    .e_machine = EM_X86_64,
				    .e_version = EV_CURRENT,
				    .e_phoff = sizeof(Elf64_Ehdr),
				    .e_shoff = sections_at,
				    .e_ehsize = sizeof(Elf64_Ehdr),
				    .e_phentsize = sizeof(Elf64_Phdr),
				    .e_phnum = 1,
				    .e_shentsize = sizeof(Elf64_Shdr),
				    .e_shnum = 3 };

	memset(bytes, 0, sections_at + sizeof(sections));
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), &segment, sizeof(segment));
	memset(bytes + strings_at + 1, 'a', SUFFIX_BYTES);
	memcpy(bytes + sections_at, sections, sizeof(sections));
	for (uint32_t i = 0; i < SUFFIX_CNT; i++)
		symbols[i] = (Elf64_Sym){ .st_name = 1 + i * 37 % 8000000,
					  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					  .st_shndx = SHN_ABS,
					  .st_value = TINY_TEXT_ADDRESS + i * step,
					  .st_size = 16 };
	return sections_at + sizeof(sections);
}

/* Comparing them to their ends is 10^13 bytes: hours, where this is less than a second. */
static void elf_names_as_long_as_the_file_are_not_compared_to_their_ends(void **state)
{
	static const uint64_t steps[] = { 0, 1, 16 };
	uint8_t *bytes = malloc(0x1000 + SUFFIX_CNT * sizeof(Elf64_Sym) + SUFFIX_BYTES + 4096);

	(void)state;
	assert_non_null(bytes);
	(void)alarm(120);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		size_t len = suffixes_write(bytes, steps[i]);
		struct elf_symtab *tab;
		struct elf_symbol symbol;

		assert_int_equal(load_bytes(bytes, len, &tab), 0);
		assert_int_equal(elf_symtab__lookup(tab, TINY_TEXT_ADDRESS, &symbol), 0);
		assert_int_equal(strlen(symbol.name), ELF_SYMTAB_MAX_NAME_BYTES);
		/* Nobody can make a table that is much larger than its file. */
		assert_true(elf_symtab__bytes(tab) < ELF_SYMTAB_MAX_NAMES + (4u << 20));
		assert_int_equal(elf_symtab__dropped(tab) != 0, steps[i] != 0);
		elf_symtab__free(tab);
	}
	(void)alarm(0);
	free(bytes);
}

static void elf_only_functions_in_code_are_kept(void **state)
{
	static const struct {
		struct tiny_symbol symbol;
		const char *expected;
	} rows[] = {
		{ { "f", 0, 16, 0, 0 }, "f" },
		{ { "ifunc", 0, 16, IFUNC, 0 }, "ifunc" },
		{ { "asm_label", 0, 16, LOCAL_LABEL, 0 }, "asm_label" },
		{ { "label", 0, 0, LABEL, 0 }, "-" },
		{ { "object", 0, 16, OBJECT, 0 }, "-" },
		{ { "in_note", 0, 16, 0, 1 }, "-" },
		{ { "absolute", 0, 16, 0, SHN_ABS }, "absolute" },
		{ { "$x", 0, 16, 0, 0 }, "-" },
		{ { "$d.17", 0, 16, LOCAL_LABEL, 0 }, "-" },
		{ { ".L5", 0, 16, LOCAL_FUNC, 0 }, "-" },
		{ { "", 0, 16, 0, 0 }, "-" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct elf_symtab *tab = load(&rows[i].symbol, 1);

		check(tab, 0, rows[i].expected);
		elf_symtab__free(tab);
	}
}

static void elf_undefined_symbols_are_nobody(void **state)
{
	static uint8_t bytes[TINY_ELF_MAX];
	struct tiny_symbol symbol = { .name = "imported", .size = 16, .section = 0xfff0 };
	struct tiny_elf elf = { .symbols = &symbol, .symbol_cnt = 1 };
	size_t len = tiny_elf_write(&elf, bytes);
	struct elf_symtab *tab;
	uint8_t *index;

	(void)state;
	index = memmem(bytes, len, "\xf0\xff", 2);
	assert_non_null(index);
	memset(index, 0, 2); /* SHN_UNDEF, which the writer has no word for */
	assert_int_equal(load_bytes(bytes, len, &tab), 0);
	check(tab, 0, "-");
	elf_symtab__free(tab);
}

static void elf_file_offsets_become_addresses_by_segment(void **state)
{
	static const struct tiny_symbol symbol = { .name = "a", .size = 16 };
	struct elf_symtab *tab = load(&symbol, 1);
	uint64_t address = 0;

	(void)state;
	assert_int_equal(elf_symtab__address_of_offset(tab, TINY_TEXT_OFFSET, &address), 0);
	assert_true(address == TINY_TEXT_ADDRESS);
	assert_int_equal(elf_symtab__address_of_offset(tab, TINY_TEXT_OFFSET + 0x1ff, &address), 0);
	assert_true(address == TINY_TEXT_ADDRESS + 0x1ff);
	assert_int_equal(elf_symtab__address_of_offset(tab, 0x10, &address), 0);
	assert_true(address == 0x400010);
	assert_int_equal(elf_symtab__address_of_offset(tab, 0x500, &address), -ENOENT);
	assert_int_equal(elf_symtab__address_of_offset(tab, UINT64_MAX, &address), -ENOENT);
	elf_symtab__free(tab);
}

static void elf_tables_of_equal_content_have_equal_hashes(void **state)
{
	static const struct tiny_symbol a = { .name = "a", .size = 16 };
	static const struct tiny_symbol b = { .name = "b", .size = 16 };
	static const struct tiny_symbol longer = { .name = "a", .size = 17 };
	const struct tiny_symbol *others[] = { &b, &longer };
	struct elf_symtab *one = load(&a, 1), *two = load(&a, 1);
	uint64_t one_hash[2], two_hash[2];

	(void)state;
	elf_symtab__hash(one, 5, one_hash);
	elf_symtab__hash(two, 5, two_hash);
	assert_memory_equal(one_hash, two_hash, sizeof(one_hash));
	elf_symtab__hash(two, 6, two_hash);
	assert_memory_not_equal(one_hash, two_hash, sizeof(one_hash));
	elf_symtab__free(two);
	for (size_t i = 0; i < 2; i++) {
		two = load(others[i], 1);
		elf_symtab__hash(two, 5, two_hash);
		assert_memory_not_equal(one_hash, two_hash, sizeof(one_hash));
		elf_symtab__free(two);
	}
	elf_symtab__free(one);
}

static void elf_exports_are_found_in_dynsym_only(void **state)
{
	static uint8_t bytes[TINY_ELF_MAX];
	static const struct tiny_symbol symbol = { .name = "gHotSpotVMStructs", .info = OBJECT };
	struct tiny_elf elf = { .symbols = &symbol, .symbol_cnt = 1, .is_dynsym = true };
	struct elf_file file;

	(void)state;
	assert_int_equal(elf_file_open_bytes(bytes, tiny_elf_write(&elf, bytes), &file), 0);
	assert_true(elf_symtab_exports(&file, "gHotSpotVMStructs"));
	assert_false(elf_symtab_exports(&file, "gHotSpotVM"));
	elf_file_release(&file);
	elf.is_dynsym = false;
	assert_int_equal(elf_file_open_bytes(bytes, tiny_elf_write(&elf, bytes), &file), 0);
	assert_false(elf_symtab_exports(&file, "gHotSpotVMStructs"));
	elf_file_release(&file);
}

/* All that is ever done with a file, whatever is in it. */
static void use(const uint8_t *bytes, size_t len)
{
	struct elf_symtab *tab = NULL;
	struct elf_symbol symbol;
	struct build_id id;
	struct elf_file file;
	uint64_t address;

	if (elf_file_open_bytes(bytes, len, &file) == 0) {
		(void)build_id_read(&file, &id);
		(void)elf_symtab_exports(&file, "x");
		(void)elf_file_section(&file, ".gnu_debugdata");
	}
	elf_file_release(&file);
	if (load_bytes(bytes, len, &tab) == 0) {
		for (uint64_t at = 0; at < 0x600; at += 7) {
			if (elf_symtab__address_of_offset(tab, at, &address))
				continue;
			if (elf_symtab__lookup(tab, address, &symbol) == 0)
				assert_true(strlen(symbol.name) <= ELF_SYMTAB_MAX_NAME_BYTES);
		}
		elf_symtab__free(tab);
	}
}

static const struct tiny_symbol small[] = { { .name = "first", .at = 0x10, .size = 0x40 },
					    { .name = "second", .at = 0x20, .size = 0x08 },
					    { .name = "third", .at = 0x90 } };
static const uint8_t some_id[20] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };

static size_t write_small(uint8_t *bytes)
{
	struct tiny_elf elf = { .symbols = small, .symbol_cnt = 3, .build_id = some_id };

	return tiny_elf_write(&elf, bytes);
}

static void elf_cut_at_every_byte_does_no_harm(void **state)
{
	static uint8_t bytes[TINY_ELF_MAX];
	size_t len = write_small(bytes);

	(void)state;
	for (size_t cut = 0; cut <= len; cut++) {
		/* A copy of just that size: reading one byte too far is seen by the sanitizer. */
		uint8_t *copy = malloc(cut ? cut : 1);

		assert_non_null(copy);
		memcpy(copy, bytes, cut);
		use(copy, cut);
		free(copy);
	}
}

static uint32_t next_random(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static void elf_with_flipped_bytes_does_no_harm(void **state)
{
	static uint8_t bytes[TINY_ELF_MAX];
	size_t len = write_small(bytes);
	uint8_t *copy = malloc(len);
	uint32_t seed = 20261121;

	(void)state;
	assert_non_null(copy);
	for (int round = 0; round < 20000; round++) {
		unsigned int flips = 1 + next_random(&seed) % 4;

		memcpy(copy, bytes, len);
		while (flips--) {
			/* Half of them in the headers, where they matter most. */
			size_t at = next_random(&seed) % 2 ? next_random(&seed) % len :
				    next_random(&seed) % 2 ? next_random(&seed) % 0x100 :
							     len - 1 - next_random(&seed) % 448;

			copy[at] = (uint8_t)next_random(&seed);
		}
		use(copy, len);
	}
	free(copy);
}

static void elf_every_header_field_at_its_extremes_does_no_harm(void **state)
{
	static const uint64_t extremes[] = { 0,
					     1,
					     0x7fffffff,
					     0xffffffff,
					     0x7fffffffffffffff,
					     0xffffffffffffffff,
					     0xffffffffffffff00 };
	static uint8_t bytes[TINY_ELF_MAX];
	size_t len = write_small(bytes);
	uint8_t *copy = malloc(len);

	(void)state;
	assert_non_null(copy);
	for (size_t at = 16; at + 8 <= len; at += 4) {
		if (at >= 0x100 && at < 0x500)
			continue; /* note and code */
		for (size_t i = 0; i < sizeof(extremes) / sizeof(extremes[0]); i++) {
			for (size_t width = 2; width <= 8; width *= 2) {
				memcpy(copy, bytes, len);
				memcpy(copy + at, &extremes[i], width);
				use(copy, len);
			}
		}
	}
	free(copy);
}

/* 65535 records of 64 KiB, in a file with holes: gigabytes to read, for nothing. */
static void elf_records_of_tables_are_as_long_as_records_are(void **state)
{
	static const struct {
		uint16_t size;
		size_t section_cnt;
	} rows[] = { { 0, 0 },	 { 63, 0 },  { sizeof(Elf64_Shdr), 3 }, { 72, 3 },
		     { 256, 3 }, { 257, 0 }, { UINT16_MAX, 0 } };
	const size_t len = 4 * UINT16_MAX;
	uint8_t *bytes = calloc(1, len);
	Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					   ELFDATA2LSB, EV_CURRENT },
			      .e_shoff = sizeof(Elf64_Ehdr),
			      .e_shnum = 3 };

	(void)state;
	assert_non_null(bytes);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		Elf64_Shdr names = { .sh_type = SHT_STRTAB, .sh_size = 1 };
		struct elf_file file;

		header.e_shentsize = rows[i].size;
		memcpy(bytes, &header, sizeof(header));
		memcpy(bytes + sizeof(header), &names, sizeof(names));
		assert_int_equal(elf_file_open_bytes(bytes, len, &file), 0);
		assert_int_equal(file.section_cnt, rows[i].section_cnt);
		elf_file_release(&file);
	}
	header.e_phoff = sizeof(Elf64_Ehdr);
	header.e_phnum = 2;
	header.e_phentsize = 257;
	memcpy(bytes, &header, sizeof(header));
	struct elf_file file;

	assert_int_equal(elf_file_open_bytes(bytes, len, &file), -ENOEXEC);
	elf_file_release(&file);
	free(bytes);
}

static void elf_what_is_no_elf_file_is_refused(void **state)
{
	static uint8_t bytes[TINY_ELF_MAX];
	size_t len = write_small(bytes);
	struct elf_file file;

	(void)state;
	assert_int_equal(elf_file_open_bytes("", 0, &file), -ENOEXEC);
	assert_int_equal(elf_file_open_bytes("#!/bin/sh\n", 10, &file), -ENOEXEC);
	bytes[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(elf_file_open_bytes(bytes, len, &file), -ENOEXEC);
	bytes[EI_DATA] = ELFDATA2LSB;
	bytes[EI_CLASS] = 7;
	assert_int_equal(elf_file_open_bytes(bytes, len, &file), -ENOEXEC);
}

/* Global and not inlined: the test looks itself up in its own program. */
int elf_test_landmark(int x);

__attribute__((noinline)) int elf_test_landmark(int x)
{
	return x + 1;
}

static void elf_a_real_program_names_its_functions(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_symtab_builder *builder;
	struct elf_symtab *tab;
	struct elf_file file;
	bool found = false;
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(elf_file_open_sized(fd, (uint64_t)st.st_size, &file), 0);
	assert_int_equal(elf_symtab_builder__start(&file, &builder), 0);
	assert_int_equal(elf_symtab_builder__add(builder, &file), 0);
	assert_int_equal(elf_symtab_builder__finish(builder, &tab), 0);
	elf_symtab_builder__free(builder);
	elf_file_release(&file);
	close(fd);
	/* The bias is a multiple of the page size: the landmark keeps its place in the page. */
	for (uint64_t page = 0; page < 4096 && !found; page++) {
		uint64_t address = page * 4096 + ((uintptr_t)elf_test_landmark & 4095);
		struct elf_symbol symbol;

		found = elf_symtab__lookup(tab, address, &symbol) == 0 && symbol.start == address &&
			strcmp(symbol.name, "elf_test_landmark") == 0;
	}
	assert_true(found);
	assert_int_equal(elf_symtab__dropped(tab), 0);
	elf_symtab__free(tab);
}

static void a_function_is_found_by_how_its_name_begins(void **state)
{
	static const struct tiny_symbol symbols[] = {
		{ .name = "alloc_in.cold", .at = 0x10, .size = 0x10 },
		{ .name = "alloc_in", .at = 0x40, .size = 0x20 },
		{ .name = "b", .at = 0x60, .size = 0x20 }
	};
	struct elf_symtab *tab = load(symbols, 3);
	uint64_t offset = 0, address = 0;

	(void)state;
	assert_int_equal(elf_symtab__find(tab, "alloc_", &offset), 0);
	assert_int_equal(elf_symtab__address_of_offset(tab, offset, &address), 0);
	assert_int_equal(address, TINY_TEXT_ADDRESS + 0x40);
	assert_int_equal(elf_symtab__find(tab, "loc_in", &offset), -ENOENT);
	assert_int_equal(elf_symtab__find(tab, "alloc_in_", &offset), -ENOENT);
	elf_symtab__free(tab);
}

/* A loop of System.nanoTime() spends its time there: it has a name, in every process. */
static void the_vdso_names_its_clock(void **state)
{
	struct elf_symtab *tab = NULL;
	struct elf_symbol symbol;
	bool is_found = false;
	int err = vdso_load(&tab);

	(void)state;
	/* A kernel without one, as some sandboxes have. */
	if (err == -ENOENT)
		skip();
	assert_int_equal(err, 0);
	for (uint64_t at = 0; at < 0x4000 && !is_found; at += 4)
		is_found = elf_symtab__lookup(tab, at, &symbol) == 0 &&
			   strstr(symbol.name, "clock_gettime") != NULL;
	assert_true(is_found);
	elf_symtab__free(tab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elf_an_address_behind_a_function_is_not_that_function),
		cmocka_unit_test(a_function_is_found_by_how_its_name_begins),
		cmocka_unit_test(elf_functions_of_eh_frame_lie_where_no_symbol_is),
		cmocka_unit_test(elf_size_zero_reaches_to_the_next_symbol_or_the_section_end),
		cmocka_unit_test(elf_size_zero_does_not_reach_into_functions_without_a_name),
		cmocka_unit_test(elf_sizes_past_the_code_are_cut),
		cmocka_unit_test(elf_inner_symbols_own_their_part_of_the_outer),
		cmocka_unit_test(elf_of_names_at_one_address_the_best_wins),
		cmocka_unit_test(elf_names_as_long_as_the_file_are_not_compared_to_their_ends),
		cmocka_unit_test(elf_only_functions_in_code_are_kept),
		cmocka_unit_test(elf_undefined_symbols_are_nobody),
		cmocka_unit_test(elf_file_offsets_become_addresses_by_segment),
		cmocka_unit_test(elf_tables_of_equal_content_have_equal_hashes),
		cmocka_unit_test(elf_exports_are_found_in_dynsym_only),
		cmocka_unit_test(elf_cut_at_every_byte_does_no_harm),
		cmocka_unit_test(elf_with_flipped_bytes_does_no_harm),
		cmocka_unit_test(elf_every_header_field_at_its_extremes_does_no_harm),
		cmocka_unit_test(elf_records_of_tables_are_as_long_as_records_are),
		cmocka_unit_test(elf_what_is_no_elf_file_is_refused),
		cmocka_unit_test(elf_a_real_program_names_its_functions),
		cmocka_unit_test(the_vdso_names_its_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
