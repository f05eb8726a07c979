// SPDX-License-Identifier: Apache-2.0
/*
 * The HotSpot reader on memory made here: a small VM with types, fields, flags and versions in the
 * layouts of JDK 8, 17 and 25, the ways such memory can be wrong, and every single byte of it
 * changed. Real JVMs are in tests/e2e.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "symbols/hotspot/hotspot_vm_memory.h"
#include "tests/unit/symbols/hotspot/fake_tables.h"
#include "tests/unit/sweep.h"
#include "user/util/cleanup.h"

static void add_version(struct fake_vm *vm, const char *release, int vm_major)
{
	add_field(vm, "Abstract_VM_Version", "_s_vm_release", "const char*", true,
		  put(vm, put_string(vm, release)));
	add_field(vm, "Abstract_VM_Version", "_vm_major_version", "int", true,
		  put(vm, (uint64_t)vm_major));
}

static void add_jdk_version(struct fake_vm *vm, int major)
{
	add_field(vm, "JDK_Version", "_current", "JDK_Version", true, put(vm, (uint64_t)major));
	add_field(vm, "JDK_Version", "_major", "unsigned char", false, 0);
	add_type(vm, "unsigned char", 1);
}

struct fake_flag {
	const char *name;
	uint64_t value;
	uint64_t flags;
};

/* Layout of JDK 17's JVMFlag: _addr 0, _name 8, _flags 16; an end mark without name. */
static void add_flags(struct fake_vm *vm, const char *class, const struct fake_flag *flags,
		      size_t cnt)
{
	uint64_t array = take(vm, (cnt + 1) * 24);

	for (size_t i = 0; i < cnt; i++) {
		poke(vm, array + i * 24, put(vm, flags[i].value), 8);
		poke(vm, array + i * 24 + 8, put_string(vm, flags[i].name), 8);
		poke(vm, array + i * 24 + 16, flags[i].flags, 4);
	}
	add_field(vm, class, "flags", "JVMFlag*", true, put(vm, array));
	add_field(vm, class, "numFlags", "size_t", true, put(vm, cnt + 1));
	add_field(vm, class, "_name", "const char*", false, 8);
	add_field(vm, class, "_addr", "void*", false, 0);
	add_field(vm, class, "_flags", "JVMFlag::Flags", false, 16);
	add_type(vm, class, 24);
}

static const struct fake_flag some_flags[] = {
	{ "DisableAttachMechanism", 0, 0 },
	{ "PreserveFramePointer", 1,
	  0x101 }, /* origin: command line; higher bits mean other things */
	{ "UseG1GC", 1, 5 },
	{ "MaxHeapSize", 0x40, 5 },
};

static void fake_jdk17(struct fake_vm *vm)
{
	fake_init(vm);
	add_version(vm, "17.0.15+6-Debian-1", 17);
	add_jdk_version(vm, 17);
	add_flags(vm, "JVMFlag", some_flags, ARRAY_SIZE(some_flags));
}

static struct hotspot_vm *opened(const struct fake_vm *fake)
{
	struct hotspot_vm *vm = NULL;

	assert_int_equal(hotspot_vm__open_memory(&fake->mem, &fake->symbols, &vm), 0);
	assert_non_null(vm);
	return vm;
}

static int open_error(const struct fake_vm *fake)
{
	struct hotspot_vm *vm = NULL;
	int err = hotspot_vm__open_memory(&fake->mem, &fake->symbols, &vm);

	assert_null(vm);
	return err;
}

/* ---- tests ---- */

static void vm_structs_finds_fields_and_types_by_name(void **state)
{
	struct fake_vm fake;
	struct vm_structs *structs = NULL;
	const struct vm_field *field;
	uint64_t value = 0;

	(void)state;
	fake_init(&fake);
	add_field(&fake, "HeapBlock::Header", "_length", "size_t", false, 24);
	add_field(&fake, "CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", true, 0x1234);
	add_field(&fake, "CodeCache", "_none", NULL, true, 0);
	add_field(&fake, "CodeBlob", "_name", "const char*", false, 96);
	add_type(&fake, "size_t", 8);
	add_type(&fake, "HeapBlock", 16);
	assert_int_equal(vm_structs__read(&fake.mem, &fake.symbols, &structs), 0);

	field = vm_structs__field(structs, "HeapBlock::Header", "_length");
	assert_non_null(field);
	assert_string_equal(field->type_string, "size_t");
	assert_false(field->is_static);
	assert_int_equal(vm_structs__offset(structs, "CodeBlob", "_name", &value), 0);
	assert_int_equal(value, 96);
	assert_int_equal(vm_structs__static_address(structs, "CodeCache", "_heaps", &value), 0);
	assert_int_equal(value, 0x1234);
	assert_int_equal(vm_structs__type_size(structs, "HeapBlock", &value), 0);
	assert_int_equal(value, 16);

	assert_null(vm_structs__field(structs, "CodeBlob", "_heaps"));
	assert_int_equal(vm_structs__offset(structs, "CodeCache", "_heaps", &value), -ENOENT);
	assert_int_equal(vm_structs__static_address(structs, "CodeBlob", "_name", &value), -ENOENT);
	assert_int_equal(vm_structs__static_address(structs, "CodeCache", "_none", &value),
			 -ENOENT);
	assert_string_equal(vm_structs__field(structs, "CodeCache", "_none")->type_string, "");
	assert_int_equal(vm_structs__type_size(structs, "CodeBlob", &value), -ENOENT);
	assert_int_equal(value, 16);
	vm_structs__free(structs);
	vm_structs__free(NULL);
}

static void hotspot_vm_tells_the_version_by_the_fields_that_exist(void **state)
{
	static const struct {
		const char *release;
		int vm_major;
		int jdk_major; /* 0: no JDK_Version, as in 22 and later */
		int feature;
	} rows[] = {
		{ "25.504-b08", 25, 8, 8 },
		{ "11.0.33+1-Debian", 11, 11, 11 },
		{ "17.0.15+6-Debian-1", 17, 17, 17 },
		{ "25.0.3+9-LTS", 25, 0, 25 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fake_vm fake;
		struct hotspot_vm *vm;

		fake_init(&fake);
		add_version(&fake, rows[i].release, rows[i].vm_major);
		if (rows[i].jdk_major)
			add_jdk_version(&fake, rows[i].jdk_major);
		add_type(&fake, "int", 4);
		vm = opened(&fake);
		assert_string_equal(hotspot_vm__version(vm), rows[i].release);
		assert_int_equal(hotspot_vm__feature_version(vm), rows[i].feature);
		hotspot_vm__free(vm);
	}
}

static void hotspot_vm_without_version_fields_still_opens(void **state)
{
	struct fake_vm fake;
	struct hotspot_vm *vm;

	(void)state;
	fake_init(&fake);
	add_field(&fake, "CodeBlob", "_name", "const char*", false, 96);
	add_type(&fake, "int", 4);
	vm = opened(&fake);
	assert_string_equal(hotspot_vm__version(vm), "");
	assert_int_equal(hotspot_vm__feature_version(vm), 0);
	hotspot_vm__free(vm);
}

static void hotspot_vm_version_stops_at_what_is_not_printable(void **state)
{
	struct fake_vm fake;
	struct hotspot_vm *vm;
	char release[300];

	(void)state;
	fake_init(&fake);
	add_version(&fake, "17.0\033[31m", 17);
	add_type(&fake, "int", 4);
	vm = opened(&fake);
	assert_string_equal(hotspot_vm__version(vm), "17.0");
	hotspot_vm__free(vm);

	memset(release, '9', sizeof(release) - 1);
	release[sizeof(release) - 1] = '\0';
	fake_init(&fake);
	add_version(&fake, release, 17);
	add_type(&fake, "int", 4);
	vm = opened(&fake);
	assert_int_equal(strlen(hotspot_vm__version(vm)), 127);
	hotspot_vm__free(vm);
}

static void hotspot_vm_reads_bool_flags_of_both_generations(void **state)
{
	static const char *const classes[] = { "JVMFlag", "Flag" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		enum hotspot_flag_origin origin = HOTSPOT_FLAG_ENVIRONMENT;
		struct fake_vm fake;
		struct hotspot_vm *vm;
		bool value = true;

		fake_init(&fake);
		add_flags(&fake, classes[i], some_flags, ARRAY_SIZE(some_flags));
		vm = opened(&fake);
		assert_int_equal(
			hotspot_vm__bool_flag(vm, "DisableAttachMechanism", &value, &origin), 0);
		assert_false(value);
		assert_int_equal(origin, HOTSPOT_FLAG_DEFAULT);
		assert_int_equal(hotspot_vm__bool_flag(vm, "PreserveFramePointer", &value, &origin),
				 0);
		assert_true(value);
		assert_int_equal(origin, HOTSPOT_FLAG_COMMAND_LINE);
		assert_int_equal(hotspot_vm__bool_flag(vm, "UseG1GC", &value, NULL), 0);
		assert_true(value);

		value = false;
		assert_int_equal(hotspot_vm__bool_flag(vm, "NoSuchFlag", &value, &origin), -ENOENT);
		assert_int_equal(hotspot_vm__bool_flag(vm, "", &value, &origin), -ENOENT);
		assert_int_equal(hotspot_vm__bool_flag(vm, "MaxHeapSize", &value, &origin),
				 -EINVAL);
		assert_false(value);
		hotspot_vm__free(vm);
	}
}

static void hotspot_vm_reads_a_flag_anew_each_time(void **state)
{
	struct fake_vm fake;
	struct hotspot_vm *vm;
	bool value = true;

	(void)state;
	fake_jdk17(&fake);
	vm = opened(&fake);
	assert_int_equal(hotspot_vm__bool_flag(vm, "UseG1GC", &value, NULL), 0);
	assert_true(value);
	for (uint8_t *at = fake.bytes; at < fake.bytes + fake.used; at++) {
		if (strcmp((char *)at, "UseG1GC") == 0)
			at[-8] = 0; /* put() laid the value right before the name */
	}
	assert_int_equal(hotspot_vm__bool_flag(vm, "UseG1GC", &value, NULL), 0);
	assert_false(value);
	hotspot_vm__free(vm);
}

static void hotspot_vm_of_a_starting_jvm_says_try_again(void **state)
{
	static const enum vm_symbol zeroed[] = { VM_SYMBOL_STRUCTS, VM_SYMBOL_TYPES,
						 VM_SYMBOL_STRUCT_STRIDE, VM_SYMBOL_TYPE_STRIDE };
	struct fake_vm fake;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(zeroed); i++) {
		fake_jdk17(&fake);
		poke(&fake, fake.symbols.addresses[zeroed[i]], 0, 8);
		assert_int_equal(open_error(&fake), -EAGAIN);
	}
	fake_init(&fake);
	add_type(&fake, "int", 4);
	assert_int_equal(open_error(&fake), -EAGAIN);
	fake_init(&fake);
	add_field(&fake, "A", "b", "int", false, 0);
	assert_int_equal(open_error(&fake), -EAGAIN);
}

static void hotspot_vm_refuses_layouts_it_does_not_understand(void **state)
{
	static const struct {
		enum vm_symbol symbol;
		uint64_t value;
		int err;
	} rows[] = {
		{ VM_SYMBOL_STRUCT_STRIDE, 257, -ENOTSUP },
		{ VM_SYMBOL_STRUCT_STRIDE, 7, -ENOTSUP },
		{ VM_SYMBOL_STRUCT_STRIDE, UINT64_MAX, -ENOTSUP },
		{ VM_SYMBOL_STRUCT_ADDRESS, 41, -ENOTSUP },
		{ VM_SYMBOL_STRUCT_TYPE_NAME, UINT64_MAX, -ENOTSUP },
		{ VM_SYMBOL_STRUCT_IS_STATIC, 45, -ENOTSUP },
		{ VM_SYMBOL_TYPE_SIZE, 33, -ENOTSUP },
		{ VM_SYMBOL_TYPE_STRIDE, 4, -ENOTSUP },
		{ VM_SYMBOL_STRUCTS, 8, -EFAULT },
		{ VM_SYMBOL_STRUCTS, UINT64_MAX - 7, -EFAULT },
		{ VM_SYMBOL_TYPES, MEMORY_BASE + MEMORY_BYTES, -EFAULT },
	};
	struct fake_vm fake;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fake_jdk17(&fake);
		poke(&fake, fake.symbols.addresses[rows[i].symbol], rows[i].value, 8);
		assert_int_equal(open_error(&fake), rows[i].err);
	}
	for (int i = 0; i < VM_SYMBOL_CNT; i++) {
		fake_jdk17(&fake);
		fake.symbols.addresses[i] = 0;
		assert_int_equal(open_error(&fake), -ENOTSUP);
	}
}

static void hotspot_vm_bounds_tables_without_end(void **state)
{
	struct fake_vm fake;

	(void)state;
	/* Entries of 8 bytes that all name themselves: no end mark until memory ends. */
	fake_jdk17(&fake);
	for (size_t at = 0; at + 8 <= MEMORY_BYTES; at += 8) {
		if (at >= fake.used)
			poke(&fake, MEMORY_BASE + at, MEMORY_BASE + MEMORY_BYTES - 16, 8);
	}
	poke(&fake, MEMORY_BASE + MEMORY_BYTES - 16, 'x', 8);
	poke(&fake, fake.symbols.addresses[VM_SYMBOL_STRUCTS], MEMORY_BASE + fake.used, 8);
	assert_true(open_error(&fake) < 0);
}

static void hotspot_vm_flags_refuse_impossible_tables(void **state)
{
	struct fake_vm fake;
	struct hotspot_vm *vm;
	bool value;

	(void)state;
	fake_init(&fake);
	add_version(&fake, "17", 17);
	add_type(&fake, "int", 4);
	vm = opened(&fake);
	assert_int_equal(hotspot_vm__bool_flag(vm, "UseG1GC", &value, NULL), -ENOTSUP);
	hotspot_vm__free(vm);

	fake_init(&fake);
	add_flags(&fake, "JVMFlag", some_flags, 1);
	for (size_t at = 0; at + 8 <= fake.used; at += 8) {
		uint64_t word;

		memcpy(&word, fake.bytes + at, 8);
		if (word == 2 && at > fake.types_at) /* numFlags: one flag and the end mark */
			poke(&fake, MEMORY_BASE + at, 1u << 20, 8);
	}
	vm = opened(&fake);
	assert_int_equal(hotspot_vm__bool_flag(vm, "UseG1GC", &value, NULL), -ENOTSUP);
	hotspot_vm__free(vm);
}

/* Whatever a process writes there: an answer or an error, never a crash or an endless loop. */
static void hotspot_vm_survives_every_changed_byte(void **state)
{
	static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	struct fake_vm fake;
	size_t opened_cnt = 0;

	(void)state;
	fake_jdk17(&fake);
	for (size_t at = 0; at < fake.used; at += sweep_step()) {
		uint8_t before = fake.bytes[at];

		for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
			struct hotspot_vm *vm = NULL;
			bool value;

			fake.bytes[at] = values[i];
			if (hotspot_vm__open_memory(&fake.mem, &fake.symbols, &vm))
				continue;
			opened_cnt++;
			(void)hotspot_vm__bool_flag(vm, "PreserveFramePointer", &value, NULL);
			assert_true(strlen(hotspot_vm__version(vm)) < 128);
			hotspot_vm__free(vm);
		}
		fake.bytes[at] = before;
	}
	assert_true(opened_cnt > 0);
}

static void remote_cache_reads_strings_across_pages_and_bounds_them(void **state)
{
	struct fake_vm fake;
	struct remote_cache *cache;
	char text[16];

	(void)state;
	fake_init(&fake);
	for (size_t i = 0; i < MEMORY_BYTES; i++)
		fake.bytes[i] = (uint8_t)(i % 251 + 1);
	cache = remote_cache__new(&fake.mem);
	assert_non_null(cache);
	assert_int_equal(remote_cache__string(cache, MEMORY_BASE + 4090, text, sizeof(text)),
			 -ENAMETOOLONG);
	remote_cache__free(cache);

	/* A string over a page border, and one that memory cuts off. */
	memcpy(fake.bytes + 4092, "abcdefg", 8);
	cache = remote_cache__new(&fake.mem);
	assert_non_null(cache);
	assert_int_equal(remote_cache__string(cache, MEMORY_BASE + 4092, text, sizeof(text)), 0);
	assert_string_equal(text, "abcdefg");
	assert_int_equal(remote_cache__string(cache, MEMORY_BASE + MEMORY_BYTES - 2, text,
					      sizeof(text)),
			 -EFAULT);
	remote_cache__free(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vm_structs_finds_fields_and_types_by_name),
		cmocka_unit_test(hotspot_vm_tells_the_version_by_the_fields_that_exist),
		cmocka_unit_test(hotspot_vm_without_version_fields_still_opens),
		cmocka_unit_test(hotspot_vm_version_stops_at_what_is_not_printable),
		cmocka_unit_test(hotspot_vm_reads_bool_flags_of_both_generations),
		cmocka_unit_test(hotspot_vm_reads_a_flag_anew_each_time),
		cmocka_unit_test(hotspot_vm_of_a_starting_jvm_says_try_again),
		cmocka_unit_test(hotspot_vm_refuses_layouts_it_does_not_understand),
		cmocka_unit_test(hotspot_vm_bounds_tables_without_end),
		cmocka_unit_test(hotspot_vm_flags_refuse_impossible_tables),
		cmocka_unit_test(hotspot_vm_survives_every_changed_byte),
		cmocka_unit_test(remote_cache_reads_strings_across_pages_and_bounds_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
