// SPDX-License-Identifier: Apache-2.0
/*
 * Names of threads in JVMs made here, of each shape that JDK 8 to 25 have: lists and chains of threads,
 * handles, narrow, wide and coloured pointers, three kinds of headers, chars and bytes; what a collector may
 * leave behind; and memory that is garbage. Real JVMs are in tests/e2e.
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

#include "symbols/hotspot/hotspot_threads.h"
#include "symbols/hotspot/hotspot_vm.h"
#include "symbols/hotspot/hotspot_vm_memory.h"
#include "tests/unit/symbols/hotspot/fake_tables.h"
#include "tests/unit/sweep.h"

#define POOL_SIZE 64u

enum header { NARROW, WIDE, COMPACT };

/* What JVMs differ in. */
struct shape {
	bool is_chain;
	bool has_chars; /* JDK 8 */
	bool is_stream; /* of fields: 21 on */
	bool is_coloured;
	bool has_wide_oops;
	enum header header;
};

static const struct shape jdk8 = { .is_chain = true, .has_chars = true };
static const struct shape jdk8_wide = {
	.is_chain = true, .has_chars = true, .has_wide_oops = true, .header = WIDE
};
static const struct shape jdk11 = { .is_chain = true };
static const struct shape jdk17 = { .is_chain = false };
static const struct shape jdk25 = { .is_stream = true };
static const struct shape jdk25_compact = { .is_stream = true, .header = COMPACT };
static const struct shape jdk25_zgc = { .is_stream = true,
					.is_coloured = true,
					.has_wide_oops = true };

struct jvm {
	struct fake_vm vm;
	const struct shape *shape;
	uint64_t pool; /* ConstantPool */
	uint32_t pool_used;
	uint64_t thread_klass, string_klass, other_klass;
	uint64_t list_static; /* what the static variable of the list, or chain, is */
	uint64_t list, array; /* ThreadsList; its JavaThreads */
	uint64_t last;	      /* of the chain */
	uint64_t last_string; /* that was made */
	uint32_t cnt;
};

static struct jvm jvm;

/* ---- tables ---- */

static uint64_t klass_new(uint64_t super)
{
	uint64_t klass = take(&jvm.vm, 64);

	poke(&jvm.vm, klass + 8, super, 8);
	poke(&jvm.vm, klass + 16, jvm.pool, 8);
	return klass;
}

static uint32_t symbol_add(const char *text)
{
	uint64_t symbol = take(&jvm.vm, 8 + strlen(text));

	poke(&jvm.vm, symbol, strlen(text), 2);
	memcpy(jvm.vm.bytes + (symbol + 6 - MEMORY_BASE), text, strlen(text));
	poke(&jvm.vm, jvm.pool + POOL_SIZE + 8ull * ++jvm.pool_used, symbol, 8);
	return jvm.pool_used;
}

/* A number of UNSIGNED5 below 191 without zeros. */
static void put5(uint64_t *at, uint32_t value)
{
	assert_true(value < 190);
	poke(&jvm.vm, (*at)++, value + 1, 1);
}

struct made_field {
	const char *name, *signature;
	uint32_t offset;
};

/* The class's table of fields, with one before them that has an initial value. */
static void fields_put(uint64_t klass, const struct made_field *fields, size_t cnt)
{
	uint64_t array = take(&jvm.vm, 256), at = array + 4;

	poke(&jvm.vm, klass + 24, array, 8);
	if (jvm.shape->is_stream) {
		put5(&at, (uint32_t)cnt + 1);
		put5(&at, 0);
		put5(&at, symbol_add("CONSTANT"));
		put5(&at, symbol_add("I"));
		put5(&at, 100);
		put5(&at, 8);
		put5(&at, 1 | 4 | 16); /* an initial value, a generic signature, a group */
		put5(&at, 150);
		put5(&at, 151);
		put5(&at, 152);
	}
	for (size_t i = 0; i < cnt; i++) {
		uint32_t name = symbol_add(fields[i].name);
		uint32_t signature = symbol_add(fields[i].signature);

		if (jvm.shape->is_stream) {
			put5(&at, name);
			put5(&at, signature);
			put5(&at, fields[i].offset);
			put5(&at, 2);
			put5(&at, 0);
			continue;
		}
		poke(&jvm.vm, at + 2, name, 2);
		poke(&jvm.vm, at + 4, signature, 2);
		poke(&jvm.vm, at + 8, fields[i].offset << 2 | 1, 2);
		at += 12;
	}
	poke(&jvm.vm, array, jvm.shape->is_stream ? at - array - 4 : (at - array - 4) / 2, 4);
}

static void flags_put(void)
{
	const struct {
		const char *name;
		bool value;
	} flags[] = {
		{ "UseCompressedOops", !jvm.shape->has_wide_oops },
		{ "UseCompressedClassPointers", jvm.shape->header != WIDE },
		{ "UseCompactObjectHeaders", jvm.shape->header == COMPACT },
		{ "UseZGC", jvm.shape->is_coloured },
	};
	uint64_t array = take(&jvm.vm, ARRAY_SIZE(flags) * 24);

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		poke(&jvm.vm, array + i * 24, put_string(&jvm.vm, flags[i].name), 8);
		poke(&jvm.vm, array + i * 24 + 8, put(&jvm.vm, flags[i].value), 8);
	}
	add_field(&jvm.vm, "JVMFlag", "flags", "JVMFlag*", true, put(&jvm.vm, array));
	add_field(&jvm.vm, "JVMFlag", "numFlags", "size_t", true, put(&jvm.vm, ARRAY_SIZE(flags)));
	add_field(&jvm.vm, "JVMFlag", "_name", "const char*", false, 0);
	add_field(&jvm.vm, "JVMFlag", "_addr", "void*", false, 8);
	add_field(&jvm.vm, "JVMFlag", "_flags", "int", false, 16);
	add_type(&jvm.vm, "JVMFlag", 24);
}

static void classes_put(void)
{
	const bool is_old = jvm.shape->is_chain;
	const struct made_field thread[] = {
		{ "daemon", "Z", 60 },
		{ "name", jvm.shape->has_chars ? "[C" : "Ljava/lang/String;", 40 },
	};
	const struct made_field string[] = {
		{ "hash", "I", 32 },
		{ "value", jvm.shape->has_chars ? "[C" : "[B", 24 },
		{ "coder", "B", 36 },
	};

	jvm.thread_klass = klass_new(0);
	jvm.string_klass = klass_new(0);
	jvm.other_klass = klass_new(jvm.string_klass);
	fields_put(jvm.thread_klass, thread, ARRAY_SIZE(thread));
	fields_put(jvm.string_klass, string, jvm.shape->has_chars ? 2 : 3);
	add_field(&jvm.vm, is_old ? "SystemDictionary" : "vmClasses",
		  is_old ? "_well_known_klasses[SystemDictionary::Thread_klass_knum]" :
			   "_klasses[static_cast<int>(vmClassID::Thread_klass_knum)]",
		  "InstanceKlass*", true, put(&jvm.vm, jvm.thread_klass));
	add_field(&jvm.vm, is_old ? "SystemDictionary" : "vmClasses",
		  is_old ? "_well_known_klasses[SystemDictionary::String_klass_knum]" :
			   "_klasses[static_cast<int>(vmClassID::String_klass_knum)]",
		  "InstanceKlass*", true, put(&jvm.vm, jvm.string_klass));
}

static void narrow_put(const char *old, const char *new, uint64_t shift)
{
	const bool is_old = jvm.shape->is_chain;
	char name[32];

	snprintf(name, sizeof(name), is_old ? "%s._base" : "_base", old);
	add_field(&jvm.vm, is_old ? "Universe" : new, name, "address", true,
		  put(&jvm.vm, MEMORY_BASE));
	snprintf(name, sizeof(name), is_old ? "%s._shift" : "_shift", old);
	add_field(&jvm.vm, is_old ? "Universe" : new, name, "int", true, put(&jvm.vm, shift));
}

static void list_put(void)
{
	jvm.list_static = put(&jvm.vm, 0);
	if (jvm.shape->is_chain) {
		add_field(&jvm.vm, "Threads", "_thread_list", "JavaThread*", true, jvm.list_static);
		add_field(&jvm.vm, "JavaThread", "_next", "JavaThread*", false, 16);
	} else {
		jvm.list = take(&jvm.vm, 32);
		jvm.array = take(&jvm.vm, 2048 * 8);
		poke(&jvm.vm, jvm.list_static, jvm.list, 8);
		poke(&jvm.vm, jvm.list + 16, jvm.array, 8);
		add_field(&jvm.vm, "ThreadsSMRSupport", "_java_thread_list", "ThreadsList*", true,
			  jvm.list_static);
		add_field(&jvm.vm, "ThreadsList", "_length", "const uint", false, 4);
		add_field(&jvm.vm, "ThreadsList", "_threads", "JavaThread*", false, 16);
	}
	add_field(&jvm.vm, "JavaThread", "_threadObj", jvm.shape->is_chain ? "oop" : "OopHandle",
		  false, 24);
}

static void jvm_make(const struct shape *shape)
{
	memset(&jvm, 0, sizeof(jvm));
	jvm.shape = shape;
	fake_init(&jvm.vm);
	jvm.pool = take(&jvm.vm, POOL_SIZE + 64 * 8);
	poke(&jvm.vm, jvm.pool + 32, 64, 4);
	add_type(&jvm.vm, "ConstantPool", POOL_SIZE);
	add_field(&jvm.vm, "ConstantPool", "_length", "int", false, 32);
	add_field(&jvm.vm, "Symbol", "_length", "u2", false, 0);
	add_field(&jvm.vm, "Symbol", "_body", "u1", false, 6);
	add_field(&jvm.vm, "Klass", "_super", "Klass*", false, 8);
	add_field(&jvm.vm, "InstanceKlass", "_constants", "ConstantPool*", false, 16);
	add_field(&jvm.vm, "InstanceKlass", shape->is_stream ? "_fieldinfo_stream" : "_fields",
		  "Array<u2>*", false, 24);
	add_field(&jvm.vm, shape->is_stream ? "Array<u1>" : "Array<u2>", "_data", "u2", false, 4);
	add_field(&jvm.vm, "ZGlobalsForVMStructs", "_ZPointerLoadShift", "size_t*", false, 24);
	narrow_put("_narrow_oop", "CompressedOops", 3);
	narrow_put("_narrow_klass", "CompressedKlassPointers", 0);
	flags_put();
	list_put();
	classes_put();
}

/* ---- objects ---- */

/* As the VM has a pointer to an object; on the heap it may be narrow. */
static uint64_t coloured(uint64_t address)
{
#ifdef __x86_64__
	return jvm.shape->is_coloured ? address << 14 | 1 << 13 : address;
#else
	return jvm.shape->is_coloured ? address << 16 | 1 << 13 : address;
#endif
}

static void oop_put(uint64_t at, uint64_t address)
{
	if (jvm.shape->has_wide_oops)
		poke(&jvm.vm, at, coloured(address), 8);
	else
		poke(&jvm.vm, at, (address - MEMORY_BASE) >> 3, 4);
}

static uint64_t object_new(uint64_t klass, size_t bytes)
{
	uint64_t object = take(&jvm.vm, bytes), narrow = klass - MEMORY_BASE;

	if (jvm.shape->header == WIDE)
		poke(&jvm.vm, object + 8, klass, 8);
	else if (jvm.shape->header == COMPACT)
		poke(&jvm.vm, object, narrow << 42 | 1, 8);
	else
		poke(&jvm.vm, object + 8, narrow, 4);
	return object;
}

static uint64_t array_new(const void *bytes, size_t len, uint32_t element)
{
	static const uint32_t length_at[] = { [NARROW] = 12, [WIDE] = 16, [COMPACT] = 8 };
	static const uint32_t base[] = { [NARROW] = 16, [WIDE] = 24, [COMPACT] = 12 };
	uint64_t array = object_new(jvm.other_klass, base[jvm.shape->header] + len);

	poke(&jvm.vm, array + length_at[jvm.shape->header], len / element, 4);
	memcpy(jvm.vm.bytes + (array + base[jvm.shape->header] - MEMORY_BASE), bytes, len);
	return array;
}

/* What a Thread's `name` leads to. `units`: UTF-16. */
static uint64_t name_new(const uint16_t *units, size_t cnt)
{
	uint8_t latin[512];
	bool is_latin = !jvm.shape->has_chars;
	uint64_t string;

	for (size_t i = 0; i < cnt; i++) {
		latin[i] = (uint8_t)units[i];
		is_latin &= units[i] < 256;
	}
	if (jvm.shape->has_chars)
		return array_new(units, cnt * 2, 2);
	string = object_new(jvm.string_klass, 40);
	poke(&jvm.vm, string + 36, !is_latin, 1);
	oop_put(string + 24, is_latin ? array_new(latin, cnt, 1) : array_new(units, cnt * 2, 1));
	jvm.last_string = string;
	return string;
}

/* A JavaThread whose java.lang.Thread is of that class. Returns the java.lang.Thread. */
static uint64_t thread_add(uint64_t klass, const uint16_t *units, size_t cnt)
{
	uint64_t object = object_new(klass, 64), thread = take(&jvm.vm, 64);

	oop_put(object + 40, name_new(units, cnt));
	poke(&jvm.vm, thread + 24, jvm.shape->is_chain ? object : put(&jvm.vm, coloured(object)),
	     8);
	if (!jvm.shape->is_chain) {
		poke(&jvm.vm, jvm.array + 8ull * jvm.cnt++, thread, 8);
		poke(&jvm.vm, jvm.list + 4, jvm.cnt, 4);
	} else {
		poke(&jvm.vm, jvm.last ? jvm.last + 16 : jvm.list_static, thread, 8);
		jvm.last = thread;
	}
	return object;
}

static uint64_t thread_named(const char *name)
{
	uint16_t units[256];
	size_t cnt = 0;

	for (; name[cnt]; cnt++)
		units[cnt] = (uint8_t)name[cnt];
	return thread_add(jvm.thread_klass, units, cnt);
}

/* ---- reading ---- */

static char told[65536];

static int tell(void *ctx, const char *name, size_t len)
{
	size_t used = strlen(told);

	(void)ctx;
	assert_int_equal(strlen(name), len);
	if (used + len + 2 < sizeof(told)) {
		memcpy(told + used, name, len + 1);
		strcat(told, "|");
	}
	return 0;
}

static int read_all(void)
{
	struct hotspot_threads *threads = NULL;
	struct hotspot_vm *vm = NULL;
	int err = hotspot_vm__open_memory(&jvm.vm.mem, &jvm.vm.symbols, &vm);

	told[0] = '\0';
	if (!err)
		err = hotspot_threads__open(vm, &threads);
	if (!err)
		err = hotspot_threads__each(threads, tell, NULL);
	hotspot_threads__free(threads);
	hotspot_vm__free(vm);
	return err;
}

/* ---- tests ---- */

static void names_are_read_in_every_shape(void **state)
{
	static const struct shape *const shapes[] = { &jdk8,  &jdk8_wide,     &jdk11,	 &jdk17,
						      &jdk25, &jdk25_compact, &jdk25_zgc };
	static const uint16_t wide[] = { 0x540d, 0x524d, '-', '1' };
	static const uint16_t latin[] = { 0xe9, 't', 0xe9 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		jvm_make(shapes[i]);
		thread_named("http-nio-8080-exec-1");
		thread_add(klass_new(jvm.thread_klass), wide, ARRAY_SIZE(wide));
		thread_add(klass_new(klass_new(jvm.thread_klass)), latin, ARRAY_SIZE(latin));
		assert_int_equal(read_all(), 0);
		assert_string_equal(told, "http-nio-8080-exec-1|名前-1|été|");
	}
}

static void what_is_no_thread_or_no_string_has_no_name(void **state)
{
	static const uint16_t name[] = { 'x' };
	uint64_t object;

	(void)state;
	jvm_make(&jdk17);
	thread_named("first");
	thread_add(jvm.other_klass, name, 1);
	object = thread_named("not a string");
	oop_put(object + 40, object); /* a Thread where the String should be */
	object = thread_named("nowhere");
	poke(&jvm.vm, object + 40, 0xfffffff0, 4);
	object = thread_named("null");
	poke(&jvm.vm, object + 40, 0, 4);
	thread_named("last");
	assert_int_equal(read_all(), 0);
	assert_string_equal(told, "first|last|");
}

static void names_that_cannot_be_shown_are_left_out(void **state)
{
	static const uint16_t control[] = { 'a', '\n' }, c1[] = { 'a', 0x85 }, nul[] = { 'a', 0 };
	static const uint16_t pair[] = { 0xd83d, 0xde00 };
	uint16_t longest[HOTSPOT_THREAD_MAX_CHARS + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(longest); i++)
		longest[i] = 0x3042;
	jvm_make(&jdk17);
	thread_add(jvm.thread_klass, control, 2);
	thread_add(jvm.thread_klass, c1, 2);
	thread_add(jvm.thread_klass, nul, 2);
	thread_add(jvm.thread_klass, pair, 2);
	thread_add(jvm.thread_klass, longest, ARRAY_SIZE(longest));
	thread_add(jvm.thread_klass, longest, 0);
	assert_int_equal(read_all(), 0);
	assert_string_equal(told, "");
	thread_add(jvm.thread_klass, longest, ARRAY_SIZE(longest) - 1);
	assert_int_equal(read_all(), 0);
	assert_int_equal(strlen(told), 3 * (ARRAY_SIZE(longest) - 1) + 1);
}

static void a_list_without_end_is_bounded(void **state)
{
	(void)state;
	jvm_make(&jdk17);
	thread_named("same");
	for (uint32_t i = 0; i < 2048; i++)
		memcpy(jvm.vm.bytes + (jvm.array + 8ull * i - MEMORY_BASE),
		       jvm.vm.bytes + (jvm.array - MEMORY_BASE), 8);
	poke(&jvm.vm, jvm.list + 4, 2048, 4);
	assert_int_equal(read_all(), 0);
	assert_int_equal(strlen(told), HOTSPOT_THREADS_MAX * strlen("same|"));
	jvm_make(&jdk8);
	thread_named("ring");
	poke(&jvm.vm, jvm.last + 16, jvm.last, 8);
	assert_int_equal(read_all(), 0);
	assert_int_equal(strlen(told), HOTSPOT_THREADS_MAX * strlen("ring|"));
}

static void a_jvm_that_starts_is_tried_again_and_one_of_another_kind_is_not(void **state)
{
	uint64_t klass;

	(void)state;
	jvm_make(&jdk17);
	klass = jvm.thread_klass;
	for (uint64_t at = MEMORY_BASE; at < MEMORY_BASE + jvm.vm.used; at += 8)
		if (memcmp(jvm.vm.bytes + (at - MEMORY_BASE), &klass, 8) == 0)
			poke(&jvm.vm, at, 0, 8);
	assert_int_equal(read_all(), -EAGAIN);
	jvm_make(&jdk17);
	poke(&jvm.vm, jvm.thread_klass + 24, 0, 8); /* no table of fields */
	assert_int_equal(read_all(), -ENOTSUP);
	jvm_make(&jdk25);
	poke(&jvm.vm, jvm.pool + 32, 3, 4); /* a constant pool without these names */
	assert_int_equal(read_all(), -ENOTSUP);
}

/* Each byte behind the exported tables wrong, one at a time: no crash, no endless loop. */
static void garbage_is_survived(void **state)
{
	static const struct shape *const shapes[] = { &jdk8, &jdk25, &jdk25_zgc };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		size_t from;

		jvm_make(shapes[i]);
		from = jvm.pool - MEMORY_BASE;
		thread_named("http-nio-8080-exec-1");
		for (size_t at = from; at < jvm.vm.used; at += sweep_step()) {
			uint8_t was = jvm.vm.bytes[at];

			if (jvm.array && at >= jvm.array + 16 - MEMORY_BASE &&
			    at < jvm.array + 2048 * 8 - MEMORY_BASE)
				continue; /* not used */
			jvm.vm.bytes[at] = (uint8_t)(was ^ 0xff);
			(void)read_all();
			jvm.vm.bytes[at] = was;
		}
		assert_int_equal(read_all(), 0);
		assert_string_equal(told, "http-nio-8080-exec-1|");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_read_in_every_shape),
		cmocka_unit_test(what_is_no_thread_or_no_string_has_no_name),
		cmocka_unit_test(names_that_cannot_be_shown_are_left_out),
		cmocka_unit_test(a_list_without_end_is_bounded),
		cmocka_unit_test(a_jvm_that_starts_is_tried_again_and_one_of_another_kind_is_not),
		cmocka_unit_test(garbage_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
