// SPDX-License-Identifier: Apache-2.0
/*
 * Tables on their way from the parser process: what comes out is what went in, and whatever else
 * the bytes may be, they are refused or are a table whose every lookup stays inside.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/elf/elf_symtab_internal.h"
#include "symbols/elf/elf_symtab_wire.h"
#include "symbols/perfmap/perfmap_internal.h"
#include "symbols/perfmap/perfmap_wire.h"
#include "tests/unit/tiny_elf.h"
#include "user/util/cleanup.h"
#include "user/util/strbuf.h"

#define SEED 42u

static int sink_append(void *ctx, const void *bytes, size_t len)
{
	strbuf_append(ctx, bytes, len);
	return strbuf_error(ctx);
}

/* ---- functions ---- */

static struct elf_symtab *table_of(const struct tiny_symbol *symbols, size_t cnt)
{
	struct tiny_elf elf = { .symbols = symbols, .symbol_cnt = cnt };
	static uint8_t bytes[TINY_ELF_MAX];
	struct elf_symtab_builder *builder;
	struct elf_symtab *tab;
	struct elf_file file;

	assert_int_equal(elf_file_open_bytes(bytes, tiny_elf_write(&elf, bytes), &file), 0);
	assert_int_equal(elf_symtab_builder__start(&file, &builder), 0);
	assert_int_equal(elf_symtab_builder__add(builder, &file), 0);
	assert_int_equal(elf_symtab_builder__finish(builder, &tab), 0);
	elf_symtab_builder__free(builder);
	elf_file_release(&file);
	return tab;
}

static const struct tiny_symbol functions[] = {
	{ .name = "one", .at = 0x10, .size = 16 },
	{ .name = "two", .at = 0x40, .size = 64 },
	{ .name = "inside", .at = 0x50, .size = 16 },
};

static struct strbuf encoded_functions(size_t cnt)
{
	struct strbuf bytes = STRBUF_INIT;
	const struct wire_sink sink = { .write = sink_append, .ctx = &bytes };
	struct elf_symtab *tab = table_of(functions, cnt);

	assert_int_equal(elf_symtab__encode(tab, &sink), 0);
	elf_symtab__free(tab);
	return bytes;
}

static void functions_come_out_as_they_went_in(void **state)
{
	(void)state;
	for (size_t cnt = 0; cnt <= ARRAY_SIZE(functions); cnt++) {
		__cleanup_strbuf struct strbuf bytes = encoded_functions(cnt);
		struct elf_symtab *before = table_of(functions, cnt);
		struct elf_symtab *after;
		uint64_t hashes[2][2];

		assert_int_equal(elf_symtab_decode(bytes.data, bytes.len, &after), 0);
		elf_symtab__hash(before, SEED, hashes[0]);
		elf_symtab__hash(after, SEED, hashes[1]);
		assert_memory_equal(hashes[0], hashes[1], sizeof(hashes[0]));
		assert_int_equal(elf_symtab__bytes(before), elf_symtab__bytes(after));
		assert_int_equal(elf_symtab__dropped(before), elf_symtab__dropped(after));
		elf_symtab__free(before);
		elf_symtab__free(after);
	}
}

/* Reads all there is, so that a sanitizer sees what is out of bounds. */
static void use_functions(const struct elf_symtab *tab)
{
	struct elf_symbol symbol;
	uint64_t address;
	size_t total = 0;

	for (size_t i = 0; i < tab->range_cnt; i++) {
		if (elf_symtab__lookup(tab, tab->base + tab->ranges[i].start, &symbol) == 0)
			total += symbol.name ? strlen(symbol.name) : 0;
		assert_true(tab->ranges[i].start < tab->ranges[i].end);
	}
	for (uint64_t at = 0; at < 0x1000; at += 16)
		(void)elf_symtab__address_of_offset(tab, at, &address);
	assert_true(total <= tab->range_cnt * ELF_SYMTAB_MAX_NAME_BYTES);
}

static int decode_functions(const char *bytes, size_t len)
{
	/* Exactly as long as it is: one byte beyond is another's. */
	__cleanup_free char *copy = malloc(len ? len : 1);
	struct elf_symtab *tab = NULL;
	int err;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	err = elf_symtab_decode(copy, len, &tab);
	if (!err)
		use_functions(tab);
	else
		assert_null(tab);
	elf_symtab__free(tab);
	return err;
}

static void functions_cut_off_or_with_more_behind_are_refused(void **state)
{
	__cleanup_strbuf struct strbuf bytes = encoded_functions(ARRAY_SIZE(functions));

	(void)state;
	for (size_t len = 0; len < bytes.len; len++)
		assert_int_equal(decode_functions(bytes.data, len), -EBADMSG);
	assert_int_equal(decode_functions(bytes.data, bytes.len), 0);
	strbuf_putc(&bytes, '\0');
	assert_int_equal(decode_functions(bytes.data, bytes.len), -EBADMSG);
}

static void functions_with_any_bit_changed_stay_inside(void **state)
{
	__cleanup_strbuf struct strbuf bytes = encoded_functions(ARRAY_SIZE(functions));
	size_t refused = 0;

	(void)state;
	for (size_t bit = 0; bit < bytes.len * 8; bit++) {
		int err;

		bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ (1 << bit % 8));
		err = decode_functions(bytes.data, bytes.len);
		assert_true(err == 0 || err == -EBADMSG);
		refused += err != 0;
		bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ (1 << bit % 8));
	}
	assert_true(refused > bytes.len);
}

static void functions_out_of_order_or_without_end_are_refused(void **state)
{
	struct elf_range ranges[2];
	char names[ELF_SYMTAB_MAX_NAME_BYTES + 2];
	struct elf_symtab tab = { .ranges = ranges, .names = names, .range_cnt = 2 };
	static const struct {
		struct elf_range ranges[2];
		uint64_t base;
		size_t names_len;
		int err;
	} rows[] = {
		{ { { 0, 4, 0 }, { 4, 8, 2 } }, 0x1000, 4, 0 },
		{ { { 0, 4, 0 }, { 3, 8, 2 } }, 0x1000, 4, -EBADMSG }, /* overlap */
		{ { { 4, 8, 0 }, { 0, 4, 2 } }, 0x1000, 4, -EBADMSG }, /* descend */
		{ { { 0, 4, 0 }, { 4, 4, 2 } }, 0x1000, 4, -EBADMSG }, /* empty */
		{ { { 4, 0, 0 }, { 4, 8, 2 } }, 0x1000, 4, -EBADMSG }, /* backward */
		{ { { 0, 4, 0 }, { 4, 8, 4 } }, 0x1000, 4, -EBADMSG }, /* name outside */
		{ { { 0, 4, 0 }, { 4, 8, 2 } }, 0x1000, 3, -EBADMSG }, /* name without end */
		{ { { 0, 4, 0 }, { 4, 8, 2 } }, UINT64_MAX - 6, 4, -EBADMSG }, /* past the top */
		{ { { 0, 4, 0 }, { 4, 8, 2 } }, 0x1000, sizeof(names), -EBADMSG }, /* too long */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
		const struct wire_sink sink = { .write = sink_append, .ctx = &bytes };

		memset(names, 'x', sizeof(names));
		names[1] = names[3] = names[sizeof(names) - 1] = '\0';
		if (rows[i].names_len == sizeof(names))
			names[1] = names[3] = 'x';
		memcpy(ranges, rows[i].ranges, sizeof(ranges));
		tab.base = rows[i].base;
		tab.names_len = rows[i].names_len;
		assert_int_equal(elf_symtab__encode(&tab, &sink), 0);
		if (decode_functions(bytes.data, bytes.len) != rows[i].err)
			fail_msg("row %zu", i);
	}
}

/* ---- perf maps ---- */

static const char map_text[] = "1000 20 one\nbad line\n1010 8 two\n2000 0 three\n3000 10 four\n";

static struct strbuf encoded_map(const char *text)
{
	struct strbuf bytes = STRBUF_INIT;
	const struct wire_sink sink = { .write = sink_append, .ctx = &bytes };
	struct perfmap_stats stats;
	struct perfmap *map;

	assert_int_equal(perfmap__parse(text, strlen(text), &map, &stats), 0);
	assert_int_equal(perfmap__encode(map, &stats, &sink), 0);
	perfmap__free(map);
	return bytes;
}

static int compare_symbol(void *ctx, const struct perfmap_symbol *symbol)
{
	struct perfmap_symbol other;

	assert_int_equal(perfmap__lookup(ctx, symbol->start, &other), 0);
	assert_int_equal(other.end, symbol->end);
	assert_int_equal(other.name_len, symbol->name_len);
	assert_memory_equal(other.name, symbol->name, symbol->name_len);
	return 0;
}

static void map_comes_out_as_it_went_in(void **state)
{
	static const char *const texts[] = { map_text, "", "garbage\n", "10 10 x\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		__cleanup_strbuf struct strbuf bytes = encoded_map(texts[i]);
		struct perfmap_stats before_stats, after_stats;
		struct perfmap *before, *after;

		assert_int_equal(perfmap__parse(texts[i], strlen(texts[i]), &before, &before_stats),
				 0);
		assert_int_equal(perfmap_decode(bytes.data, bytes.len, &after, &after_stats), 0);
		assert_memory_equal(&before_stats, &after_stats, sizeof(before_stats));
		assert_int_equal(perfmap__bytes(before), perfmap__bytes(after));
		assert_int_equal(perfmap__each(before, compare_symbol, after), 0);
		assert_int_equal(perfmap__each(after, compare_symbol, before), 0);
		perfmap__free(before);
		perfmap__free(after);
	}
}

static int use_symbol(void *ctx, const struct perfmap_symbol *symbol)
{
	size_t *total = ctx;

	for (size_t i = 0; i < symbol->name_len; i++)
		*total += (size_t)(symbol->name[i] != '\0');
	assert_true(symbol->start < symbol->end);
	return 0;
}

static int decode_map(const char *bytes, size_t len)
{
	__cleanup_free char *copy = malloc(len ? len : 1);
	struct perfmap_stats stats;
	struct perfmap *map = NULL;
	size_t total = 0;
	int err;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	err = perfmap_decode(copy, len, &map, &stats);
	if (!err)
		assert_int_equal(perfmap__each(map, use_symbol, &total), 0);
	else
		assert_null(map);
	perfmap__free(map);
	return err;
}

static void map_cut_off_or_with_more_behind_is_refused(void **state)
{
	__cleanup_strbuf struct strbuf bytes = encoded_map(map_text);

	(void)state;
	for (size_t len = 0; len < bytes.len; len++)
		assert_int_equal(decode_map(bytes.data, len), -EBADMSG);
	assert_int_equal(decode_map(bytes.data, bytes.len), 0);
	strbuf_putc(&bytes, 'x');
	assert_int_equal(decode_map(bytes.data, bytes.len), -EBADMSG);
}

static void map_with_any_bit_changed_stays_inside(void **state)
{
	__cleanup_strbuf struct strbuf bytes = encoded_map(map_text);
	size_t refused = 0;

	(void)state;
	for (size_t bit = 0; bit < bytes.len * 8; bit++) {
		int err;

		bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ (1 << bit % 8));
		err = decode_map(bytes.data, bytes.len);
		assert_true(err == 0 || err == -EBADMSG);
		refused += err != 0;
		bytes.data[bit / 8] = (char)(bytes.data[bit / 8] ^ (1 << bit % 8));
	}
	assert_true(refused > bytes.len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_come_out_as_they_went_in),
		cmocka_unit_test(functions_cut_off_or_with_more_behind_are_refused),
		cmocka_unit_test(functions_with_any_bit_changed_stay_inside),
		cmocka_unit_test(functions_out_of_order_or_without_end_are_refused),
		cmocka_unit_test(map_comes_out_as_it_went_in),
		cmocka_unit_test(map_cut_off_or_with_more_behind_is_refused),
		cmocka_unit_test(map_with_any_bit_changed_stays_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
