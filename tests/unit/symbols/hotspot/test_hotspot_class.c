// SPDX-License-Identifier: Apache-2.0
/*
 * Names of classes of a JVM made here, in the layouts of JDK 8 and later: what they are called, what is
 * refused, names up to the edge of what is mapped, and random bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "symbols/hotspot/hotspot_class.h"
#include "user/util/cleanup.h"

#define BASE	     0x7f0000010000ull
#define MEMORY_BYTES 0x20000u
#define KLASS	     (BASE + 0x100)
#define SYMBOL	     (BASE + 0x1000)
#define NAME_AT	     24u

struct fake_jvm {
	uint8_t bytes[MEMORY_BYTES];
	size_t mapped_bytes;
	int read_err;
	struct hotspot_layout layout;
	struct remote_mem mem;
};

/* One at a time; too large for the stack. */
static struct fake_jvm jvm;

static int fake_read(const struct remote_mem *mem, uint64_t address, void *out, size_t len)
{
	(void)mem;
	if (jvm.read_err)
		return jvm.read_err;
	if (address < BASE || address - BASE > jvm.mapped_bytes ||
	    len > jvm.mapped_bytes - (address - BASE))
		return -EFAULT;
	memcpy(out, jvm.bytes + (address - BASE), len);
	return 0;
}

static void poke(uint64_t address, uint64_t value, size_t size)
{
	memcpy(jvm.bytes + (address - BASE), &value, size);
}

/* JDK 12 to 15 pack a Symbol's length into the upper half of its first word. */
static void jvm_make(bool is_packed)
{
	memset(&jvm, 0, sizeof(jvm));
	jvm.mem = (struct remote_mem){ .read = fake_read, .pid = 1 };
	jvm.mapped_bytes = MEMORY_BYTES;
	jvm.layout = (struct hotspot_layout){
		.klass_name = { NAME_AT, 8, false },
		.symbol_length = { 0, is_packed ? 4 : 2, false },
		.symbol_body = { 8, 1, false },
		.symbol_length_is_packed = is_packed,
	};
	poke(KLASS + NAME_AT, SYMBOL, 8);
}

static void put_symbol(uint64_t address, const char *name, size_t len)
{
	if (jvm.layout.symbol_length_is_packed)
		poke(address, (uint64_t)len << 16 | 0x7fff, 4);
	else
		poke(address, len, 2);
	memcpy(jvm.bytes + (address - BASE) + 8, name, len);
}

static int read_name(uint64_t klass, struct strbuf *out)
{
	return hotspot_class_name(&jvm.mem, &jvm.layout, klass, out);
}

static void assert_name(const char *name)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;

	put_symbol(SYMBOL, name, strlen(name));
	assert_int_equal(read_name(KLASS, &out), 0);
	assert_string_equal(strbuf_str(&out), name);
}

static void assert_none(uint64_t klass, int err)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;

	strbuf_puts(&out, "x");
	assert_int_equal(read_name(klass, &out), err);
	assert_string_equal(strbuf_str(&out), "x");
}

static void classes_have_their_names_in_the_jvm(void **state)
{
	(void)state;
	for (int is_packed = 0; is_packed < 2; is_packed++) {
		jvm_make(is_packed);
		assert_name("java/lang/String");
		assert_name("[B");
		assert_name("[[Ljava/util/Map$Entry;");
		assert_name("\xc3\x9c");
	}
}

static void what_is_no_class_has_no_name(void **state)
{
	static const char *const names[] = { "a\nb", "\xff\xfe" };

	(void)state;
	jvm_make(false);
	assert_none(0, -EAGAIN);
	assert_none(1, -EAGAIN);
	assert_none(UINT64_MAX, -EAGAIN);
	assert_none(BASE + MEMORY_BYTES, -EAGAIN);
	assert_none(KLASS, -EAGAIN); /* an empty name */
	poke(KLASS + NAME_AT, 0x10, 8);
	assert_none(KLASS, -EAGAIN);
	poke(KLASS + NAME_AT, SYMBOL, 8);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		put_symbol(SYMBOL, names[i], strlen(names[i]));
		assert_none(KLASS, -EAGAIN);
	}
}

static void name_ends_with_what_is_mapped(void **state)
{
	uint64_t at = BASE + MEMORY_BYTES - 8 - 8;

	(void)state;
	jvm_make(false);
	poke(KLASS + NAME_AT, at, 8);
	put_symbol(at, "a/BCDEFG", 8);
	{
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;

		assert_int_equal(read_name(KLASS, &out), 0);
		assert_string_equal(strbuf_str(&out), "a/BCDEFG");
	}
	poke(at, 9, 2);
	assert_none(KLASS, -EAGAIN);
}

static void process_that_is_gone_is_told(void **state)
{
	(void)state;
	jvm_make(false);
	put_symbol(SYMBOL, "a", 1);
	jvm.read_err = -ESRCH;
	assert_none(KLASS, -ESRCH);
}

static void random_bytes_do_no_harm(void **state)
{
	(void)state;
	srand(7);
	for (int round = 0; round < 2000; round++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;

		if (round % 50 == 0)
			jvm_make(round % 100 == 0);
		for (int i = 0; i < 64; i++)
			jvm.bytes[(SYMBOL - BASE) + (size_t)(rand() % 256)] = (uint8_t)rand();
		if (round % 3 == 0)
			poke(KLASS + NAME_AT, BASE + (uint64_t)(rand() % (int)MEMORY_BYTES), 8);
		if (read_name(KLASS, &out))
			assert_int_equal(out.len, 0);
		else
			assert_true(out.len > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_have_their_names_in_the_jvm),
		cmocka_unit_test(what_is_no_class_has_no_name),
		cmocka_unit_test(name_ends_with_what_is_mapped),
		cmocka_unit_test(process_that_is_gone_is_told),
		cmocka_unit_test(random_bytes_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
