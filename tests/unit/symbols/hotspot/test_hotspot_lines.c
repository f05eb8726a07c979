// SPDX-License-Identifier: Apache-2.0
/*
 * Source files and line tables of methods made here, in the layouts of JDK 8, 14 (packed symbol
 * length), 17 and 21: what a bci maps to, what is refused, tables up to the edge of what is
 * mapped, and random bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "symbols/hotspot/hotspot_scopes_memory.h"
#include "user/util/cleanup.h"

#define BASE	     0x7f0000010000ull
#define MEMORY_BYTES (256u * 4096u)
#define METHOD	     (BASE + 0x40)
#define POOL	     (BASE + 0x1000)
#define HOLDER	     (BASE + 0x2000)
#define SYMBOL	     (BASE + 0x3000)
#define CONST_METHOD (BASE + 0x4000)
#define FILE_INDEX   5u

struct fake_jvm {
	uint8_t bytes[MEMORY_BYTES];
	size_t mapped_bytes;
	size_t table_at;
	int read_err;
	uint64_t change_address; /* turns over one byte there when `change_in` reads are done */
	size_t change_in;
	struct hotspot_layout layout;
	struct remote_mem mem;
};

/* One at a time; too large for the stack. */
static struct fake_jvm the_jvm;

static int fake_read(const struct remote_mem *mem, uint64_t address, void *out, size_t len)
{
	struct fake_jvm *jvm = (struct fake_jvm *)mem->ctx;

	if (jvm->read_err)
		return jvm->read_err;
	if (address < BASE || address - BASE > jvm->mapped_bytes ||
	    len > jvm->mapped_bytes - (address - BASE))
		return -EFAULT;
	memcpy(out, jvm->bytes + (address - BASE), len);
	if (jvm->change_in && --jvm->change_in == 0)
		jvm->bytes[jvm->change_address - BASE] ^= 0xff;
	return 0;
}

static void poke(struct fake_jvm *jvm, uint64_t address, uint64_t value, size_t size)
{
	memcpy(jvm->bytes + (address - BASE), &value, size);
}

enum jdk { JDK8, JDK14, JDK17, JDK21 };

static void layout_init(struct hotspot_layout *layout, enum jdk jdk)
{
	*layout = (struct hotspot_layout){
		.method_const_method = { 8, 8, false },
		.const_method_size = 48,
		.const_method_constants = { 8, 8, false },
		.const_method_code_size = { 34, 2, false },
		.const_method_flags = { 24, jdk == JDK21 ? 4 : 2, false },
		.pool_size = 72,
		.pool_holder = { 24, 8, false },
		.pool_length = { 60, 4, true },
		.symbol_length = { 0, 2, false },
		.symbol_body = { 8, 1, false },
		.unsigned5_excludes_zero = jdk == JDK21,
		.unsigned5_is_known = true,
	};
	if (jdk == JDK8 || jdk == JDK14)
		layout->instance_klass_source_file_name_index =
			(struct hotspot_field){ 300, 2, false };
	else
		layout->pool_source_file_name_index = (struct hotspot_field){ 50, 2, false };
	if (jdk == JDK14) {
		layout->symbol_length.size = 4;
		layout->symbol_length_is_packed = true;
	}
}

static void set_symbol(struct fake_jvm *jvm, const char *text, size_t len)
{
	poke(jvm, SYMBOL, jvm->layout.symbol_length_is_packed ? len << 16 | 0x7fff : len,
	     jvm->layout.symbol_length.size);
	memcpy(jvm->bytes + (SYMBOL - BASE) + jvm->layout.symbol_body.offset, text, len);
}

static struct fake_jvm *jvm_new(enum jdk jdk, uint16_t code_size)
{
	struct fake_jvm *jvm = &the_jvm;

	memset(jvm, 0, sizeof(*jvm));
	jvm->mem = (struct remote_mem){ .read = fake_read, .ctx = jvm, .pid = 1 };
	jvm->mapped_bytes = MEMORY_BYTES;
	layout_init(&jvm->layout, jdk);
	poke(jvm, METHOD + 8, CONST_METHOD, 8);
	poke(jvm, CONST_METHOD + 8, POOL, 8);
	poke(jvm, CONST_METHOD + 34, code_size, 2);
	poke(jvm, CONST_METHOD + 24, 1, 2);
	poke(jvm, POOL + 24, HOLDER, 8);
	poke(jvm, POOL + 60, 10, 4);
	poke(jvm, POOL + 72 + 8 * FILE_INDEX, SYMBOL | 1, 8);
	if (jdk == JDK8 || jdk == JDK14)
		poke(jvm, HOLDER + 300, FILE_INDEX, 2);
	else
		poke(jvm, POOL + 50, FILE_INDEX, 2);
	set_symbol(jvm, "Work.java", 9);
	jvm->table_at = CONST_METHOD - BASE + 48 + code_size;
	return jvm;
}

static void put_byte(struct fake_jvm *jvm, uint8_t byte)
{
	assert_true(jvm->table_at < MEMORY_BYTES);
	jvm->bytes[jvm->table_at++] = byte;
}

static void put_signed(struct fake_jvm *jvm, int32_t value)
{
	uint32_t rest = (uint32_t)value << 1 ^ (uint32_t)(value >> 31);
	uint8_t shift = jvm->layout.unsigned5_excludes_zero ? 1 : 0;

	for (int i = 0; i < 4 && rest >= 192u - shift; i++) {
		rest -= 192u - shift;
		put_byte(jvm, (uint8_t)(192 + rest % 64));
		rest /= 64;
	}
	put_byte(jvm, (uint8_t)(rest + shift));
}

/* As CompressedLineNumberWriteStream::write_pair. */
static void put_line(struct fake_jvm *jvm, int bci_delta, int line_delta)
{
	if (bci_delta >= 0 && bci_delta < 32 && line_delta >= 0 && line_delta < 8 &&
	    bci_delta * 8 + line_delta != 0xff && bci_delta * 8 + line_delta != 0) {
		put_byte(jvm, (uint8_t)(bci_delta * 8 + line_delta));
		return;
	}
	put_byte(jvm, 0xff);
	put_signed(jvm, bci_delta);
	put_signed(jvm, line_delta);
}

static int lines_read(struct fake_jvm *jvm, struct hotspot_lines **out)
{
	return hotspot_lines_read_memory(&jvm->mem, &jvm->layout, METHOD, out);
}

static struct hotspot_lines *lines_of(struct fake_jvm *jvm)
{
	struct hotspot_lines *lines = NULL;

	assert_int_equal(lines_read(jvm, &lines), 0);
	assert_non_null(lines);
	return lines;
}

static void lines_are_those_of_the_greatest_bci_not_behind(void **state)
{
	static const struct {
		int32_t bci;
		uint32_t line;
	} cases[] = {
		{ -1, 1200 },  { 0, 1200 },    { 2, 1200 },	    { 3, 1201 },
		{ 33, 1201 },  { 34, 1208 },   { 35, 1100 },	    { 299, 1100 },
		{ 300, 1107 }, { 1000, 1107 }, { INT32_MAX, 1107 },
	};

	(void)state;
	for (enum jdk jdk = JDK8; jdk <= JDK21; jdk++) {
		struct fake_jvm *jvm = jvm_new(jdk, 400);
		struct hotspot_lines *lines;

		put_line(jvm, 0, 1200);
		put_line(jvm, 3, 1);
		put_line(jvm, 31, 7); /* would be 0xff in one byte */
		put_line(jvm, 1, -108);
		put_line(jvm, 265, 7);
		put_byte(jvm, 0);
		lines = lines_of(jvm);
		assert_string_equal(hotspot_lines__file(lines), "Work.java");
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
			assert_int_equal(hotspot_lines__line(lines, cases[i].bci), cases[i].line);
		hotspot_lines__free(lines);
	}
}

static void nothing_is_known_before_the_first_entry(void **state)
{
	struct fake_jvm *jvm = jvm_new(JDK17, 400);
	struct hotspot_lines *lines;

	(void)state;
	put_line(jvm, 5, 10);
	put_byte(jvm, 0);
	lines = lines_of(jvm);
	assert_int_equal(hotspot_lines__line(lines, -1), 0);
	assert_int_equal(hotspot_lines__line(lines, 4), 0);
	assert_int_equal(hotspot_lines__line(lines, 5), 10);
	hotspot_lines__free(lines);
}

/* As Method::line_number_from_bci: the first that is equal, else the last of the nearest. */
static void tables_out_of_order_are_understood(void **state)
{
	struct fake_jvm *jvm = jvm_new(JDK21, 400);
	struct hotspot_lines *lines;

	(void)state;
	put_line(jvm, 100, 50); /* 100: 50 */
	put_line(jvm, -90, 1);	/* 10: 51 */
	put_line(jvm, 0, 1);	/* 10: 52 */
	put_line(jvm, 190, 1);	/* 200: 53 */
	put_line(jvm, -100, 1); /* 100: 54 */
	put_byte(jvm, 0);
	lines = lines_of(jvm);
	assert_int_equal(hotspot_lines__line(lines, 9), 0);
	assert_int_equal(hotspot_lines__line(lines, 10), 51);
	assert_int_equal(hotspot_lines__line(lines, 11), 52);
	assert_int_equal(hotspot_lines__line(lines, 100), 50);
	assert_int_equal(hotspot_lines__line(lines, 101), 54);
	assert_int_equal(hotspot_lines__line(lines, 300), 53);
	hotspot_lines__free(lines);
}

static void file_and_lines_may_both_be_missing(void **state)
{
	struct fake_jvm *jvm = jvm_new(JDK17, 400);
	struct hotspot_lines *lines;

	(void)state;
	poke(jvm, CONST_METHOD + 24, 0xfffe, 2); /* every flag but the one */
	poke(jvm, POOL + 50, 0, 2);
	put_line(jvm, 0, 1);
	lines = lines_of(jvm);
	assert_string_equal(hotspot_lines__file(lines), "");
	assert_int_equal(hotspot_lines__line(lines, 0), 0);
	hotspot_lines__free(lines);

	/* A VM whose tables do not say where the file's name is. */
	jvm = jvm_new(JDK17, 400);
	jvm->layout.pool_source_file_name_index.size = 0;
	put_line(jvm, 0, 77);
	put_byte(jvm, 0);
	lines = lines_of(jvm);
	assert_string_equal(hotspot_lines__file(lines), "");
	assert_int_equal(hotspot_lines__line(lines, 0), 77);
	hotspot_lines__free(lines);

	/* And one of which it is not known how it writes numbers. */
	jvm = jvm_new(JDK17, 400);
	jvm->layout.unsigned5_is_known = false;
	put_line(jvm, 0, 77);
	put_byte(jvm, 0);
	lines = lines_of(jvm);
	assert_string_equal(hotspot_lines__file(lines), "Work.java");
	assert_int_equal(hotspot_lines__line(lines, 0), 0);
	hotspot_lines__free(lines);
}

static void files_that_may_not_be_shown_are_left_out(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		bool is_shown;
	} cases[] = {
		{ "A.java", 6, true },
		{ "package-info$1~.kt", 18, true },
		{ "../../x", 7, false },
		{ "C:\\x.java", 9, false },
		{ "a b.java", 8, false },
		{ "a\nb", 3, false },
		{ "a\x1b[31m", 6, false },
		{ "a\0b", 3, false },
		{ "\xc3\xa4.java", 7, false },
		{ "\x7f", 1, false },
		{ "", 0, false },
	};
	char longest[257];

	(void)state;
	memset(longest, 'x', sizeof(longest));
	for (size_t i = 0; i < ARRAY_SIZE(cases) + 2; i++) {
		bool is_table = i < ARRAY_SIZE(cases);
		size_t len = is_table ? cases[i].len : 255 + (i - ARRAY_SIZE(cases));
		bool is_shown = is_table ? cases[i].is_shown : len == 255;
		struct fake_jvm *jvm = jvm_new(JDK17, 400);
		struct hotspot_lines *lines;

		set_symbol(jvm, is_table ? cases[i].text : longest, len);
		put_line(jvm, 0, 3);
		put_byte(jvm, 0);
		lines = lines_of(jvm);
		assert_int_equal(strlen(hotspot_lines__file(lines)), is_shown ? len : 0);
		assert_int_equal(hotspot_lines__line(lines, 0), 3);
		hotspot_lines__free(lines);
	}
}

/* Nothing is asked for beyond the page unless the name goes on there. */
static void files_are_read_to_the_edge_of_what_is_mapped(void **state)
{
	static const char name[] =
		"AFileWhoseNameIsLongerThanWhatIsReadOfASymbolAtFirst_AndMore.java";
	const size_t len = sizeof(name) - 1;

	(void)state;
	for (size_t before_edge = 8; before_edge < 160; before_edge += 8) {
		struct fake_jvm *jvm = jvm_new(JDK17, 400);
		const uint64_t symbol = BASE + MEMORY_BYTES - 4096 - before_edge;
		struct hotspot_lines *lines;

		poke(jvm, POOL + 72 + 8 * FILE_INDEX, symbol, 8);
		poke(jvm, symbol, len, 2);
		memcpy(jvm->bytes + (symbol - BASE) + 8, name, len);
		put_byte(jvm, 0);
		if (8 + len <= before_edge)
			jvm->mapped_bytes = MEMORY_BYTES - 4096;
		lines = lines_of(jvm);
		assert_string_equal(hotspot_lines__file(lines), name);
		hotspot_lines__free(lines);
	}
}

static void damage_is_refused(void **state)
{
	static const struct {
		const char *what;
		uint64_t address;
		uint64_t value;
		size_t size;
	} cases[] = {
		{ "no ConstMethod", METHOD + 8, 0, 8 },
		{ "ConstMethod nowhere", METHOD + 8, 0x1000, 8 },
		{ "ConstMethod at the end of all memory", METHOD + 8, UINT64_MAX - 8, 8 },
		{ "no constant pool", CONST_METHOD + 8, 0, 8 },
		{ "constant pool nowhere", CONST_METHOD + 8, UINT64_MAX - 3, 8 },
		{ "file index past the pool", POOL + 50, 10, 2 },
		{ "empty pool", POOL + 60, 0, 4 },
		{ "no symbol", POOL + 72 + 8 * FILE_INDEX, 0, 8 },
		{ "symbol nowhere", POOL + 72 + 8 * FILE_INDEX, UINT64_MAX - 1, 8 },
		{ "bci behind the code", CONST_METHOD + 48 + 400, 0xc7, 1 }, /* 24, three times */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fake_jvm *jvm = jvm_new(JDK17, 400);
		struct hotspot_lines *lines = NULL;

		put_byte(jvm, 0x08);
		put_line(jvm, 390, 5);
		put_byte(jvm, 0);
		assert_int_equal(lines_read(jvm, &lines), 0);
		hotspot_lines__free(lines);
		lines = NULL;
		poke(jvm, cases[i].address, cases[i].value, cases[i].size);
		assert_int_equal(lines_read(jvm, &lines), -EAGAIN);
		assert_null(lines);
	}
}

static void deltas_out_of_range_are_refused(void **state)
{
	static const struct {
		int bci_delta, line_delta;
	} cases[] = { { -1, 1 },
		      { 400, 1 },
		      { 0, 65536 },
		      { 1, -1 },
		      { INT32_MIN, 1 },
		      { 1, INT32_MIN },
		      { INT32_MAX, INT32_MAX } };

	(void)state;
	for (enum jdk jdk = JDK17; jdk <= JDK21; jdk++) {
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			struct fake_jvm *jvm = jvm_new(jdk, 400);
			struct hotspot_lines *lines = NULL;

			put_line(jvm, cases[i].bci_delta, cases[i].line_delta);
			put_byte(jvm, 0);
			assert_int_equal(lines_read(jvm, &lines), -EAGAIN);
			assert_null(lines);
		}
	}
}

static void tables_are_read_to_the_edge_of_what_is_mapped(void **state)
{
	struct hotspot_lines *lines = NULL;
	struct fake_jvm *jvm;

	(void)state;
	/* The escape with its two numbers lies across the page boundary. */
	for (uint16_t code_size = 4096 - 60; code_size < 4096 - 40; code_size++) {
		jvm = jvm_new(JDK21, code_size);
		put_line(jvm, 1, 2);
		put_line(jvm, 3000, 60000);
		put_line(jvm, 1, 2);
		put_byte(jvm, 0);
		jvm->mapped_bytes = (jvm->table_at + 4095) & ~(size_t)4095;
		lines = lines_of(jvm);
		assert_int_equal(hotspot_lines__line(lines, 1), 2);
		assert_int_equal(hotspot_lines__line(lines, 3001), 60002);
		assert_int_equal(hotspot_lines__line(lines, 3002), 60004);
		hotspot_lines__free(lines);
	}
	/* And without an end. */
	jvm = jvm_new(JDK21, 4096 - 50);
	put_line(jvm, 1, 2);
	put_byte(jvm, 0xff);
	put_byte(jvm, 0xf0);
	jvm->mapped_bytes = jvm->table_at;
	lines = NULL;
	assert_int_equal(lines_read(jvm, &lines), -EAGAIN);
	assert_null(lines);
}

static void tables_have_65536_entries_at_most(void **state)
{
	struct hotspot_lines *lines = NULL;

	(void)state;
	for (int cnt = 65536; cnt <= 65537; cnt++) {
		struct fake_jvm *jvm = jvm_new(JDK17, 65535);

		put_line(jvm, 0, 1);
		for (int i = 1; i < cnt; i++)
			put_line(jvm, i < 65535 ? 1 : -1, i % 2);
		put_byte(jvm, 0);
		if (cnt > 65536) {
			assert_int_equal(lines_read(jvm, &lines), -EAGAIN);
			continue;
		}
		lines = lines_of(jvm);
		assert_int_equal(hotspot_lines__line(lines, 0), 1);
		assert_int_equal(hotspot_lines__line(lines, 1), 2);
		assert_int_equal(hotspot_lines__line(lines, 30000), 15001);
		hotspot_lines__free(lines);
		lines = NULL;
	}
	assert_null(lines);
}

/* A class redefined or unloaded while it is read. */
static void methods_that_change_meanwhile_are_refused(void **state)
{
	static const uint64_t addresses[] = { METHOD + 8, CONST_METHOD + 8, CONST_METHOD + 40 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		struct fake_jvm *jvm = jvm_new(JDK17, 400);
		struct hotspot_lines *lines = NULL;

		put_line(jvm, 0, 3);
		put_byte(jvm, 0);
		jvm->change_address = addresses[i];
		jvm->change_in = 2; /* Method and ConstMethod have been read */
		assert_int_equal(lines_read(jvm, &lines), -EAGAIN);
		assert_null(lines);
	}
}

static void reading_fails_as_memory_does(void **state)
{
	static const struct {
		int read_err;
		int err;
	} cases[] = { { -EFAULT, -EAGAIN }, { -ESRCH, -ESRCH }, { -EPERM, -EPERM } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fake_jvm *jvm = jvm_new(JDK17, 400);
		struct hotspot_lines *lines = NULL;

		jvm->read_err = cases[i].read_err;
		assert_int_equal(lines_read(jvm, &lines), cases[i].err);
		assert_null(lines);
	}
}

static void layouts_that_do_not_fit_are_refused(void **state)
{
	struct hotspot_lines *lines = NULL;
	struct fake_jvm *jvm;

	(void)state;
	for (uint32_t size = 0; size <= 513; size += 513) {
		jvm = jvm_new(JDK17, 400);
		jvm->layout.const_method_size = size;
		assert_int_equal(lines_read(jvm, &lines), -EAGAIN);
	}
	jvm = jvm_new(JDK17, 400);
	jvm->layout.const_method_constants.offset = 44; /* 8 bytes past the end of 48 */
	assert_int_equal(lines_read(jvm, &lines), -EAGAIN);
	assert_null(lines);
}

static void random_damage_never_yields_a_file_that_may_not_be_shown(void **state)
{
	unsigned int seed = 20260101;
	size_t good = 0;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		static const uint64_t places[] = { METHOD, CONST_METHOD,   CONST_METHOD + 448,
						   POOL,   POOL + 72 + 40, SYMBOL };
		struct fake_jvm *jvm = jvm_new((enum jdk)(round % 4), 400);
		struct hotspot_lines *lines;

		put_line(jvm, 0, 3);
		put_line(jvm, 100, 300);
		put_line(jvm, 5, 1);
		put_byte(jvm, 0);
		for (int flips = 1 + rand_r(&seed) % 3; flips; flips--)
			jvm->bytes[places[(size_t)rand_r(&seed) % ARRAY_SIZE(places)] - BASE +
				   (size_t)rand_r(&seed) % 64] = (uint8_t)rand_r(&seed);
		if (lines_read(jvm, &lines) != 0)
			continue;
		for (const char *c = hotspot_lines__file(lines); *c; c++)
			assert_true(*c > ' ' && *c <= '~' && *c != '/');
		for (int32_t bci = -1; bci < 500; bci++)
			assert_true(hotspot_lines__line(lines, bci) <= UINT16_MAX);
		hotspot_lines__free(lines);
		good++;
	}
	assert_true(good > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_those_of_the_greatest_bci_not_behind),
		cmocka_unit_test(nothing_is_known_before_the_first_entry),
		cmocka_unit_test(tables_out_of_order_are_understood),
		cmocka_unit_test(file_and_lines_may_both_be_missing),
		cmocka_unit_test(files_that_may_not_be_shown_are_left_out),
		cmocka_unit_test(files_are_read_to_the_edge_of_what_is_mapped),
		cmocka_unit_test(damage_is_refused),
		cmocka_unit_test(deltas_out_of_range_are_refused),
		cmocka_unit_test(tables_are_read_to_the_edge_of_what_is_mapped),
		cmocka_unit_test(tables_have_65536_entries_at_most),
		cmocka_unit_test(methods_that_change_meanwhile_are_refused),
		cmocka_unit_test(reading_fails_as_memory_does),
		cmocka_unit_test(layouts_that_do_not_fit_are_refused),
		cmocka_unit_test(random_damage_never_yields_a_file_that_may_not_be_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
