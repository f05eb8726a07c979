// SPDX-License-Identifier: Apache-2.0
/*
 * Names of methods: the text HotSpot itself would print, what is no name or no signature, and the
 * chain from a Method to its symbols when it is whole, damaged, or changes while it is read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "symbols/hotspot/hotspot_code.h"
#include "symbols/hotspot/hotspot_method_text.h"
#include "tests/unit/symbols/hotspot/fake_jvm.h"

static struct fake_jvm jvm;

static struct hotspot_text text_of(const char *text)
{
	return (struct hotspot_text){ text, strlen(text) };
}

/* ---- text ---- */

static void text_is_that_of_the_class_file(void **state)
{
	static const struct {
		const char *class_name, *name, *signature, *expected;
	} rows[] = {
		{ "Work", "main", "([Ljava/lang/String;)V", "LWork;::main([Ljava/lang/String;)V" },
		{ "com/foo/Bar", "baz", "(ILjava/lang/String;)J",
		  "Lcom/foo/Bar;::baz(ILjava/lang/String;)J" },
		{ "a/B$C", "<init>", "()V", "La/B$C;::<init>()V" },
		{ "a/B", "<clinit>", "()V", "La/B;::<clinit>()V" },
		{ "T", "all", "(BCDFIJSZ)Z", "LT;::all(BCDFIJSZ)Z" },
		{ "T", "arrays", "([[I[La/B;)[[[J", "LT;::arrays([[I[La/B;)[[[J" },
		/* Hidden classes: the Symbol has a plus. */
		{ "Work$$Lambda+0x00007f2b3c001450", "apply",
		  "(Ljava/lang/Object;)Ljava/lang/Object;",
		  "LWork$$Lambda+0x00007f2b3c001450;::apply(Ljava/lang/Object;)Ljava/lang/Object;" },
		/* Kotlin tests have blanks and parentheses in their names, also in those of classes. */
		{ "a/B", "adds two numbers", "()V", "La/B;::adds two numbers()V" },
		{ "a/B$f(x) y$1", "should (fast)", "(La/B$f(x) y$1;)V",
		  "La/B$f(x) y$1;::should (fast)(La/B$f(x) y$1;)V" },
		{ "a/B", "f(I)V(", "()V", "La/B;::f(I)V(()V" },
		{ "\xc3\xa4/\xe2\x82\xac", "\xf0\x9f\x98\x80", "()V",
		  "L\xc3\xa4/\xe2\x82\xac;::\xf0\x9f\x98\x80()V" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;

		strbuf_puts(&out, ">");
		assert_int_equal(hotspot_method_text(text_of(rows[i].class_name),
						     text_of(rows[i].name),
						     text_of(rows[i].signature), &out),
				 0);
		assert_string_equal(strbuf_str(&out) + 1, rows[i].expected);
	}
}

static void text_refuses_what_no_jvm_means(void **state)
{
	static const struct {
		const char *class_name, *name, *signature;
	} rows[] = {
		{ "", "x", "()V" },	  { "/A", "x", "()V" },	  { "a//B", "x", "()V" },
		{ "a/", "x", "()V" },	  { "a.B", "x", "()V" },  { "La/B;", "x", "()V" },
		{ "[I", "x", "()V" },	  { "A", "", "()V" },	  { "A", "a.b", "()V" },
		{ "A", "a;b", "()V" },	  { "A", "a/b", "()V" },  { "A", "[", "()V" },
		{ "A", "<x>", "()V" },	  { "A", "x", "" },	  { "A", "x", "V" },
		{ "A", "x", "(" },	  { "A", "x", "()" },	  { "A", "x", "(V)V" },
		{ "A", "x", "()VV" },	  { "A", "x", "()[V" },	  { "A", "x", "()I)" },
		{ "A", "x", "(I" },	  { "A", "x", "(L;)V" },  { "A", "x", "(Lfoo)V" },
		{ "A", "x", "(Ljava/x" }, { "A", "x", "(X)V" },	  { "A", "x", "([)V" },
		{ "A", "x", "(I)[" },	  { "A", "x", "(I)V)V" }, { "A", "x", "(L[a;)V" },
		{ "A", "x", "(I)La;b" },  { "A", "x", "(I)" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;

		strbuf_puts(&out, "kept");
		assert_int_equal(hotspot_method_text(text_of(rows[i].class_name),
						     text_of(rows[i].name),
						     text_of(rows[i].signature), &out),
				 -EINVAL);
		assert_string_equal(strbuf_str(&out), "kept");
	}
}

static void text_bounds_the_depth_of_arrays(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	char signature[300] = "(";

	(void)state;
	memset(signature + 1, '[', 255);
	strcpy(signature + 256, "I)V");
	assert_int_equal(hotspot_method_text(text_of("A"), text_of("x"), text_of(signature), &out),
			 0);
	assert_int_equal(out.len, strlen("LA;::x(I)V") + 255);
	memset(signature + 1, '[', 256);
	strcpy(signature + 257, "I)V");
	assert_int_equal(hotspot_method_text(text_of("A"), text_of("x"), text_of(signature), &out),
			 -EINVAL);
}

static void symbols_become_utf8(void **state)
{
	static const struct {
		const char *bytes, *expected;
	} rows[] = {
		{ "main", "main" },
		{ "\xc3\xa4x", "\xc3\xa4x" },
		{ "\xe2\x82\xac", "\xe2\x82\xac" },
		{ "a\xed\xa0\xbd\xed\xb8\x80z", "a\xf0\x9f\x98\x80z" }, /* a pair of surrogates */
		{ "\xed\xaf\xbf\xed\xbf\xbf", "\xf4\x8f\xbf\xbf" },
		/* Refused: */
		{ "", NULL },
		{ "a\nb", NULL },
		{ "a\x7f", NULL },
		{ "\x1b[31m", NULL },
		{ "\xc2\x85", NULL },	  /* C1 control */
		{ "\xe2\x80\xa8", NULL }, /* line separator */
		{ "\xc0\x80", NULL },	  /* NUL as Java writes it */
		{ "\xc1\xbf", NULL },	  /* longer than needed */
		{ "\xe0\x9f\xbf", NULL },
		{ "\xc3", NULL }, /* cut off */
		{ "\xe2\x82", NULL },
		{ "\xc3x", NULL },
		{ "\x80", NULL },
		{ "\xff\xff", NULL },
		{ "\xf0\x9f\x98\x80", NULL }, /* 4 bytes are not modified UTF-8 */
		{ "\xed\xa0\xbd", NULL },     /* half a pair */
		{ "\xed\xa0\xbd"
		  "ab",
		  NULL },
		{ "\xed\xa0\xbd\xed\xa0\xbd", NULL },
		{ "\xed\xb8\x80\xed\xa0\xbd", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;
		size_t len = strlen(rows[i].bytes);
		/* Of its own size, so that reading past the end is noticed. */
		__cleanup_free uint8_t *bytes = malloc(len + 1);

		memcpy(bytes, rows[i].bytes, len);
		bytes = realloc(bytes, len ? len : 1);
		assert_int_equal(hotspot_symbol_text(bytes, len, &out),
				 rows[i].expected ? 0 : -EINVAL);
		assert_string_equal(strbuf_str(&out), rows[i].expected ? rows[i].expected : "");
	}
}

/* ---- chain ---- */

static int name_of(struct fake_reader *reader, uint64_t method, struct strbuf *out)
{
	uint64_t const_method = 0x77;
	int err;

	strbuf_clear(out);
	err = hotspot_code__method_name(reader->code, method, &const_method, out);
	assert_int_equal(const_method != 0x77, err == 0);
	if (err)
		assert_int_equal(out->len, 0);
	return err;
}

static void methods_are_named_in_every_jdk(void **state)
{
	(void)state;
	for (int jdk = 0; jdk < FAKE_JDK_CNT; jdk++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;
		struct fake_method method;
		struct fake_reader reader;
		uint64_t const_method;

		fake_jvm_init(&jvm, (enum fake_jdk)jdk);
		method = fake_method(&jvm, "com/foo/Bar", "baz", "(I)J");
		reader = fake_open(&jvm);
		strbuf_puts(&out, "before ");
		assert_int_equal(hotspot_code__method_name(reader.code, method.method,
							   &const_method, &out),
				 0);
		assert_string_equal(strbuf_str(&out), "before Lcom/foo/Bar;::baz(I)J");
		assert_int_equal(const_method, method.const_method);
		fake_close(&reader);
	}
}

static void symbols_of_any_length_are_read(void **state)
{
	static const size_t lens[] = { 1, 110, 121, 122, 128, 129, 4000, 20000 };
	static char name[20001];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;
		struct fake_method method;
		struct fake_reader reader;

		memset(name, 'n', lens[i]);
		name[lens[i]] = '\0';
		fake_jvm_init(&jvm, FAKE_JDK_17);
		method = fake_method(&jvm, "A", name, "()V");
		reader = fake_open(&jvm);
		assert_int_equal(name_of(&reader, method.method, &out), 0);
		assert_int_equal(out.len, strlen("LA;::()V") + lens[i]);
		fake_close(&reader);
	}
}

/* 12 to about 15 keep a reference count below the length. */
static void packed_lengths_of_symbols_are_understood(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct fake_method method;
	struct fake_reader reader;
	uint64_t symbols[3];
	size_t field = 0;

	(void)state;
	fake_jvm_init(&jvm, FAKE_JDK_11);
	method = fake_method(&jvm, "a/B", "c", "()V");
	symbols[0] = method.class_name;
	symbols[1] = method.name;
	symbols[2] = method.signature;
	/* The tables: another name and type for Symbol::_length; the text behind four bytes. */
	for (size_t at = 0; at + 16 < jvm.vm.used; at++) {
		if (memcmp(jvm.vm.bytes + at, "_length\0", 8) == 0)
			field = at; /* of HeapBlock::Header, ConstantPool, Symbol: the last */
	}
	assert_true(field > 0);
	for (size_t at = 0; at + 8 <= jvm.vm.used; at += 8) {
		uint64_t word;

		memcpy(&word, jvm.vm.bytes + at, 8);
		if (word == MEMORY_BASE + field) {
			poke(&jvm.vm, MEMORY_BASE + at, put_string(&jvm.vm, "_length_and_refcount"),
			     8);
			poke(&jvm.vm, MEMORY_BASE + at + 8, put_string(&jvm.vm, "unsigned int"), 8);
			break;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		static const uint64_t lens[] = { 3, 1, 3 };

		poke(&jvm.vm, symbols[i], lens[i] << 16 | 0xfff1, 4);
	}
	reader = fake_open(&jvm);
	assert_true(hotspot_code__layout(reader.code)->symbol_length_is_packed);
	assert_int_equal(name_of(&reader, method.method, &out), 0);
	assert_string_equal(strbuf_str(&out), "La/B;::c()V");
	fake_close(&reader);
}

static void damaged_chains_have_no_name(void **state)
{
	enum part { METHOD, CONST_METHOD, POOL, KLASS, NAME };
	static const struct {
		enum part part;
		const char *type, *name;
		uint64_t value;
	} rows[] = {
		{ METHOD, "Method", "_constMethod", 0 },
		{ METHOD, "Method", "_constMethod", 0x7f0000010004 },
		{ METHOD, "Method", "_constMethod", 0x7e0000000000 },
		{ METHOD, "Method", "_constMethod", UINT64_MAX - 7 },
		{ CONST_METHOD, "ConstMethod", "_constants", 0 },
		{ CONST_METHOD, "ConstMethod", "_constants", 0xffffffff81000000 },
		{ CONST_METHOD, "ConstMethod", "_name_index", 0 },
		{ CONST_METHOD, "ConstMethod", "_name_index", FAKE_POOL_LENGTH },
		{ CONST_METHOD, "ConstMethod", "_name_index", 1 }, /* an entry that is 0 */
		{ CONST_METHOD, "ConstMethod", "_name_index", 0xffff },
		{ CONST_METHOD, "ConstMethod", "_signature_index", 0 },
		{ CONST_METHOD, "ConstMethod", "_signature_index", FAKE_POOL_LENGTH },
		{ CONST_METHOD, "ConstMethod", "_signature_index", 7 }, /* the name again */
		{ POOL, "ConstantPool", "_length", 0 },
		{ POOL, "ConstantPool", "_length", FAKE_POOL_LENGTH - 1 },
		{ POOL, "ConstantPool", "_length", 0xffffffff },
		{ POOL, "ConstantPool", "_length", 70000 },
		{ POOL, "ConstantPool", "_pool_holder", 0 },
		{ POOL, "ConstantPool", "_pool_holder", 0x7e0000000000 },
		{ KLASS, "Klass", "_name", 0 },
		{ KLASS, "Klass", "_name", 0x7e0000000000 },
		{ NAME, "Symbol", "_length", 0 },
		{ NAME, "Symbol", "_length", 65535 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;
		struct fake_method method;
		struct fake_reader reader;
		uint64_t parts[5];

		fake_jvm_init(&jvm, FAKE_JDK_17);
		method = fake_method(&jvm, "com/foo/Bar", "baz", "(I)J");
		parts[METHOD] = method.method;
		parts[CONST_METHOD] = method.const_method;
		parts[POOL] = method.pool;
		parts[KLASS] = method.klass;
		parts[NAME] = method.name;
		reader = fake_open(&jvm);
		assert_int_equal(name_of(&reader, method.method, &out), 0);
		fake_set(&jvm, parts[rows[i].part], rows[i].type, rows[i].name, rows[i].value);
		assert_int_equal(name_of(&reader, method.method, &out), -EAGAIN);
		fake_close(&reader);
	}
}

static void addresses_that_are_no_method_have_no_name(void **state)
{
	static const uint64_t addresses[] = { 0,	  8,
					      4096,	  0x7f0000010001,
					      UINT64_MAX, 0xffffffff81000000 };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct fake_reader reader;

	(void)state;
	fake_jvm_init(&jvm, FAKE_JDK_17);
	reader = fake_open(&jvm);
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		assert_int_equal(name_of(&reader, addresses[i], &out), -EAGAIN);
	/* Anywhere in the tables. */
	for (uint64_t at = MEMORY_BASE; at < MEMORY_BASE + 0x2000; at += 8)
		assert_int_equal(name_of(&reader, at, &out), -EAGAIN);
	fake_close(&reader);
}

static void symbols_that_are_no_names_give_no_name(void **state)
{
	static const struct {
		const char *class_name, *name, *signature;
	} rows[] = {
		{ "A\n", "x", "()V" },	    { "A", "x\033", "()V" },	  { "A", "x", "()V\r" },
		{ "A", "\xff\xfe", "()V" }, { "A", "x", "no signature" }, { "[A", "x", "()V" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;
		struct fake_method method;
		struct fake_reader reader;

		fake_jvm_init(&jvm, FAKE_JDK_25);
		method = fake_method(&jvm, rows[i].class_name, rows[i].name, rows[i].signature);
		reader = fake_open(&jvm);
		assert_int_equal(name_of(&reader, method.method, &out), -EAGAIN);
		fake_close(&reader);
	}
}

/* Changes memory once the name of the method has been read. */
struct change {
	uint64_t trigger; /* when this address is read */
	uint64_t at;
	uint64_t value;
	size_t size;
};

static void change_hook(struct fake_vm *vm, uint64_t address, size_t len)
{
	struct change *change = vm->hook_ctx;

	if (address <= change->trigger && change->trigger < address + len)
		poke(vm, change->at, change->value, change->size);
}

static void a_method_that_changes_meanwhile_has_no_name(void **state)
{
	enum { CONST_METHOD, POOL, INDEX, HOLDER, CLASS_NAME, NAME, CASE_CNT };

	(void)state;
	for (int i = 0; i < CASE_CNT; i++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;
		struct fake_method method, other;
		struct fake_reader reader;
		struct change change = { .size = 8 };

		fake_jvm_init(&jvm, FAKE_JDK_17);
		method = fake_method(&jvm, "com/foo/Bar", "baz", "(I)J");
		other = fake_method(&jvm, "x/Y", "z", "()V");
		reader = fake_open(&jvm);
		change.trigger = method.name;
		switch (i) {
		case CONST_METHOD:
			change.at = fake_at(&jvm, method.method, "Method", "_constMethod");
			change.value = other.const_method;
			break;
		case POOL:
			change.at = fake_at(&jvm, method.const_method, "ConstMethod", "_constants");
			change.value = other.pool;
			break;
		case INDEX:
			change.at =
				fake_at(&jvm, method.const_method, "ConstMethod", "_name_index");
			change.value = FAKE_POOL_LENGTH - 1;
			change.size = 2;
			break;
		case HOLDER:
			change.at = fake_at(&jvm, method.pool, "ConstantPool", "_pool_holder");
			change.value = other.klass;
			break;
		case CLASS_NAME:
			change.at = fake_at(&jvm, method.klass, "Klass", "_name");
			change.value = other.class_name;
			break;
		default:
			change.at = method.pool + fake_size(&jvm, "ConstantPool") + 8 * 7;
			change.value = other.name;
			break;
		}
		jvm.vm.hook = change_hook;
		jvm.vm.hook_ctx = &change;
		assert_int_equal(name_of(&reader, method.method, &out), -EAGAIN);
		jvm.vm.hook = NULL;
		/* What it has become has a name of its own, or none. */
		if (i != INDEX)
			assert_int_equal(name_of(&reader, method.method, &out), 0);
		fake_close(&reader);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_that_of_the_class_file),
		cmocka_unit_test(text_refuses_what_no_jvm_means),
		cmocka_unit_test(text_bounds_the_depth_of_arrays),
		cmocka_unit_test(symbols_become_utf8),
		cmocka_unit_test(methods_are_named_in_every_jdk),
		cmocka_unit_test(symbols_of_any_length_are_read),
		cmocka_unit_test(packed_lengths_of_symbols_are_understood),
		cmocka_unit_test(damaged_chains_have_no_name),
		cmocka_unit_test(addresses_that_are_no_method_have_no_name),
		cmocka_unit_test(symbols_that_are_no_names_give_no_name),
		cmocka_unit_test(a_method_that_changes_meanwhile_has_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
