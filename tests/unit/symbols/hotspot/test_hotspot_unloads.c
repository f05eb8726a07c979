// SPDX-License-Identifier: Apache-2.0
/*
 * The counter of unloaded classes in memory made here, as jstat's format has it: found among
 * others, read anew each time, and refused in all the ways that such memory can be wrong. Real JVMs
 * are in tests/e2e.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "symbols/hotspot/hotspot_unloads.h"
#include "tests/unit/symbols/hotspot/fake_tables.h"

#define COUNTER	 "java.cls.unloadedClasses"
#define COMPILES "sun.ci.totalCompiles"
#define ROOM	 4096u

struct perf_memory {
	struct fake_vm vm;
	uint64_t start_field; /* PerfMemory::_start */
	uint64_t start;
	uint32_t used;
	uint32_t entry_cnt;
	uint64_t last_entry;
};

static struct perf_memory memory;

/* Begin of an entry whose value is the last 8 bytes of it. */
static uint64_t add_entry(const char *name, char type, uint32_t vector_len, uint64_t value)
{
	uint32_t name_bytes = ((uint32_t)strlen(name) + 1 + 4 + 7) & ~7u; /* value: aligned */
	uint32_t len = 20 + name_bytes - 4 + 8;
	uint64_t entry = memory.start + memory.used;

	len = (len + 7) & ~7u;
	assert_true(memory.used + len <= ROOM);
	poke(&memory.vm, entry, len, 4);
	poke(&memory.vm, entry + 4, 20, 4);
	poke(&memory.vm, entry + 8, vector_len, 4);
	poke(&memory.vm, entry + 12, (uint8_t)type, 1);
	poke(&memory.vm, entry + 13, 0x020401, 3);
	poke(&memory.vm, entry + 16, len - 8, 4);
	memcpy(memory.vm.bytes + (entry + 20 - MEMORY_BASE), name, strlen(name) + 1);
	poke(&memory.vm, entry + len - 8, value, 8);
	memory.used += len;
	memory.entry_cnt++;
	memory.last_entry = entry;
	poke(&memory.vm, memory.start + 8, memory.used, 4);
	poke(&memory.vm, memory.start + 28, memory.entry_cnt, 4);
	return entry;
}

/* The format's begin, without entries. */
static void memory_begin(void)
{
	memset(&memory, 0, sizeof(memory));
	fake_init(&memory.vm);
	add_type(&memory.vm, "size_t", 8);
	memory.start = take(&memory.vm, ROOM);
	memory.start_field = put(&memory.vm, memory.start);
	add_field(&memory.vm, "PerfMemory", "_start", "char*", true, memory.start_field);
	poke(&memory.vm, memory.start, 0xc0c0feca, 4);
	poke(&memory.vm, memory.start + 4, 1, 1); /* little endian */
	poke(&memory.vm, memory.start + 5, 2, 1); /* 2.0 */
	poke(&memory.vm, memory.start + 7, 1, 1); /* accessible */
	poke(&memory.vm, memory.start + 24, 32, 4);
	memory.used = 32;
}

static int memory_make(void **state)
{
	(void)state;
	memory_begin();
	add_entry("java.cls.loadedClasses", 'J', 0, 4711);
	add_entry("java.property.java.home", 'B', 8, 0);
	add_entry("java.cls.unloadedClassesOfAnother", 'J', 0, 99);
	add_entry(COUNTER, 'J', 0, 42);
	return 0;
}

static struct hotspot_unloads opened(void)
{
	struct hotspot_unloads unloads;
	struct vm_structs *structs;

	assert_int_equal(vm_structs__read(&memory.vm.mem, &memory.vm.symbols, &structs), 0);
	hotspot_unloads_init(&unloads, structs);
	vm_structs__free(structs);
	return unloads;
}

static int read_once(uint64_t *out)
{
	struct hotspot_unloads unloads = opened();

	return hotspot_unloads_read(&unloads, &memory.vm.mem, out);
}

#define CHECK_ERROR(expected)                                      \
	do {                                                       \
		uint64_t untouched = 77;                           \
		assert_int_equal(read_once(&untouched), expected); \
		assert_int_equal(untouched, 77);                   \
	} while (0)

/* ---- tests ---- */

static void counter_is_found_among_others_and_read_anew(void **state)
{
	struct hotspot_unloads unloads = opened();
	uint64_t value = 0;
	size_t before;

	(void)state;
	assert_int_equal(hotspot_unloads_read(&unloads, &memory.vm.mem, &value), 0);
	assert_int_equal(value, 42);
	poke(&memory.vm, unloads.counter, 1ull << 40 | 43, 8);
	before = memory.vm.read_cnt;
	assert_int_equal(hotspot_unloads_read(&unloads, &memory.vm.mem, &value), 0);
	assert_true(value == (1ull << 40 | 43));
	assert_int_equal(memory.vm.read_cnt, before + 1);
}

static void compiled_methods_are_counted_beside_it(void **state)
{
	struct hotspot_unloads unloads;
	uint64_t value = 0;

	(void)state;
	add_entry("sun.ci.totalCompilesOfAnother", 'J', 0, 1);
	add_entry(COMPILES, 'J', 0, 815);
	unloads = opened();
	/* Both are found when the first is asked for. */
	assert_int_equal(hotspot_compiles_read(&unloads, &memory.vm.mem, &value), -ENOENT);
	assert_int_equal(hotspot_unloads_read(&unloads, &memory.vm.mem, &value), 0);
	assert_int_equal(value, 42);
	assert_int_equal(hotspot_compiles_read(&unloads, &memory.vm.mem, &value), 0);
	assert_int_equal(value, 815);
	poke(&memory.vm, unloads.compiles, 816, 8);
	assert_int_equal(hotspot_compiles_read(&unloads, &memory.vm.mem, &value), 0);
	assert_int_equal(value, 816);
}

static void compiled_methods_that_are_not_counted_leave_the_other_counter(void **state)
{
	struct hotspot_unloads unloads = opened();
	uint64_t value = 0;

	(void)state;
	assert_int_equal(hotspot_unloads_read(&unloads, &memory.vm.mem, &value), 0);
	assert_int_equal(hotspot_compiles_read(&unloads, &memory.vm.mem, &value), -ENOENT);
	assert_int_equal(value, 42);
}

static void jvm_without_the_field_has_no_counter(void **state)
{
	struct fake_vm *vm = &memory.vm;

	(void)state;
	memset(&memory, 0, sizeof(memory));
	fake_init(vm);
	add_type(vm, "size_t", 8);
	add_field(vm, "PerfMemory", "_end", "char*", true, put(vm, 0));
	CHECK_ERROR(-ENOENT);
}

static void jvm_that_is_starting_is_asked_again(void **state)
{
	struct hotspot_unloads unloads = opened();
	uint64_t value = 0;

	(void)state;
	/* Not made yet; made, but empty; not open to readers. */
	poke(&memory.vm, memory.start_field, 0, 8);
	assert_int_equal(hotspot_unloads_read(&unloads, &memory.vm.mem, &value), -EAGAIN);
	poke(&memory.vm, memory.start_field, memory.start, 8);
	poke(&memory.vm, memory.start, 0, 4);
	assert_int_equal(hotspot_unloads_read(&unloads, &memory.vm.mem, &value), -EAGAIN);
	poke(&memory.vm, memory.start, 0xc0c0feca, 4);
	poke(&memory.vm, memory.start + 7, 0, 1);
	assert_int_equal(hotspot_unloads_read(&unloads, &memory.vm.mem, &value), -EAGAIN);
	poke(&memory.vm, memory.start + 7, 1, 1);
	assert_int_equal(hotspot_unloads_read(&unloads, &memory.vm.mem, &value), 0);
	assert_int_equal(value, 42);
}

static void counter_that_is_missing_is_looked_for_once(void **state)
{
	struct hotspot_unloads unloads;
	uint64_t value = 0;
	size_t before;

	(void)state;
	memory_begin();
	add_entry("java.cls.loadedClasses", 'J', 0, 4711);
	unloads = opened();
	assert_int_equal(hotspot_unloads_read(&unloads, &memory.vm.mem, &value), -ENOENT);
	before = memory.vm.read_cnt;
	assert_int_equal(hotspot_unloads_read(&unloads, &memory.vm.mem, &value), -ENOENT);
	assert_int_equal(memory.vm.read_cnt, before);
}

static void counter_whose_memory_is_gone_is_an_error(void **state)
{
	struct hotspot_unloads unloads = opened();
	uint64_t value = 77;

	(void)state;
	assert_int_equal(hotspot_unloads_read(&unloads, &memory.vm.mem, &value), 0);
	unloads.counter = 0x1000;
	value = 77;
	assert_int_equal(hotspot_unloads_read(&unloads, &memory.vm.mem, &value), -EFAULT);
	assert_int_equal(value, 77);
}

static void other_formats_are_refused(void **state)
{
	static const struct {
		uint32_t offset; /* in the prologue */
		uint32_t size;
		uint64_t value;
	} cases[] = {
		{ 0, 4, 0xcafec0c0 },	  /* big endian */
		{ 4, 1, 0 },		  /* says that it is */
		{ 5, 1, 1 },		  /* an older one */
		{ 5, 1, 3 },		  /* one to come */
		{ 8, 4, 31 },		  /* shorter than its prologue */
		{ 8, 4, (1u << 20) + 1 }, /* more than any JVM has */
		{ 8, 4, UINT32_MAX },	  /* negative */
		{ 24, 4, 0 },		  /* entries in the prologue */
		{ 24, 4, 31 },		  /* likewise */
		{ 24, 4, UINT32_MAX },	  /* negative */
		{ 24, 4, ROOM },	  /* behind what is used */
		{ 28, 4, 0 },		  /* no entries */
		{ 28, 4, 3 },		  /* it would be the next one */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memory_make(state);
		poke(&memory.vm, memory.start + cases[i].offset, cases[i].value, cases[i].size);
		CHECK_ERROR(-ENOENT);
	}
}

static void damaged_entries_are_refused(void **state)
{
	static const struct {
		uint32_t offset; /* in the counter's entry, of 56 bytes */
		uint32_t size;
		uint64_t value;
	} cases[] = {
		{ 0, 4, 0 },	       /* endless */
		{ 0, 4, 19 },	       /* shorter than any */
		{ 0, 4, 57 },	       /* longer than what is left */
		{ 0, 4, UINT32_MAX },  /* negative */
		{ 4, 4, UINT32_MAX },  /* name */
		{ 4, 4, 56 },	       /* behind the end */
		{ 4, 4, 40 },	       /* across the end */
		{ 8, 4, 1 },	       /* an array */
		{ 12, 1, 'B' },	       /* of bytes */
		{ 16, 4, UINT32_MAX }, /* value */
		{ 16, 4, 49 },	       /* across the end, not aligned */
		{ 16, 4, 44 },	       /* not aligned */
		{ 44, 1, 'x' },	       /* a longer name */
		{ 20, 1, 'J' },	       /* another name */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memory_make(state);
		assert_int_equal(memory.start + memory.used - memory.last_entry, 56);
		poke(&memory.vm, memory.last_entry + cases[i].offset, cases[i].value,
		     cases[i].size);
		CHECK_ERROR(-ENOENT);
	}
}

static void memory_that_ends_early_is_an_error(void **state)
{
	(void)state;
	/* The prologue, then the entries, lie at the very end of what is mapped. */
	poke(&memory.vm, memory.start_field, MEMORY_BASE + MEMORY_BYTES - 24, 8);
	CHECK_ERROR(-EFAULT);
	memcpy(memory.vm.bytes + MEMORY_BYTES - 64, memory.vm.bytes + (memory.start - MEMORY_BASE),
	       64);
	poke(&memory.vm, memory.start_field, MEMORY_BASE + MEMORY_BYTES - 64, 8);
	CHECK_ERROR(-ENOENT);
}

/* Whatever a byte says: an answer or an error, within the bounds (ASan sees to that). */
static void any_byte_may_be_anything(void **state)
{
	static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };

	for (uint32_t at = 0; at < 32 + 4 * 64; at++) {
		for (size_t i = 0; i < sizeof(values); i++) {
			uint64_t value = 0;
			int err;

			memory_make(state);
			poke(&memory.vm, memory.start + at, values[i], 1);
			err = read_once(&value);
			assert_true(err == 0 || err == -ENOENT || err == -EAGAIN || err == -EFAULT);
		}
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, memory_make)
	const struct CMUnitTest tests[] = {
		TEST(counter_is_found_among_others_and_read_anew),
		TEST(compiled_methods_are_counted_beside_it),
		TEST(compiled_methods_that_are_not_counted_leave_the_other_counter),
		TEST(jvm_without_the_field_has_no_counter),
		TEST(jvm_that_is_starting_is_asked_again),
		TEST(counter_that_is_missing_is_looked_for_once),
		TEST(counter_whose_memory_is_gone_is_an_error),
		TEST(other_formats_are_refused),
		TEST(damaged_entries_are_refused),
		TEST(memory_that_ends_early_is_an_error),
		TEST(any_byte_may_be_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
