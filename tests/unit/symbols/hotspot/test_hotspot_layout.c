// SPDX-License-Identifier: Apache-2.0
/*
 * What the reader makes of HotSpot's tables: where each JDK has what, widths and signs by the text
 * of types, and tables that lack something, say something absurd or come from JDKs between.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "symbols/hotspot/hotspot_layout.h"
#include "tests/unit/symbols/hotspot/fake_jvm.h"

/* Tables with one row left out, renamed or changed. */
struct change {
	const char *type;
	const char *name; /* NULL: the size of `type` */
	const char *new_name;
	const char *new_type_string;
	int new_offset; /* or size; -1: as it was */
};

static void tables_make(struct fake_vm *vm, enum fake_jdk jdk, const struct change *change)
{
	fake_init(vm);
	for (size_t i = 0; i < ARRAY_SIZE(fake_fields); i++) {
		const struct fake_field *field = &fake_fields[i];
		const char *name = field->name, *type_string = field->type_string;
		int offset = field->offsets[jdk];

		if (offset < 0)
			continue;
		if (change && change->name && strcmp(change->type, field->type) == 0 &&
		    strcmp(change->name, field->name) == 0) {
			if (!change->new_name)
				continue;
			name = change->new_name;
			if (change->new_type_string)
				type_string = change->new_type_string;
			if (change->new_offset >= 0)
				offset = change->new_offset;
		}
		add_field(vm, field->type, name, type_string[0] ? type_string : NULL, false,
			  (uint64_t)offset);
	}
	for (size_t i = 0; i < ARRAY_SIZE(fake_types); i++) {
		int size = fake_types[i].sizes[jdk];

		if (change && !change->name && strcmp(change->type, fake_types[i].name) == 0)
			size = change->new_offset;
		if (size >= 0)
			add_type(vm, fake_types[i].name, (uint64_t)size);
	}
	add_field(vm, "CodeCache", jdk == FAKE_JDK_8 ? "_heap" : "_heaps", "x*", true, 0x1000);
}

static int layout_read(const struct fake_vm *vm, int feature_version, struct hotspot_layout *out,
		       const char **missing_out)
{
	struct vm_structs *structs = NULL;
	int err;

	assert_int_equal(vm_structs__read(&vm->mem, &vm->symbols, &structs), 0);
	err = hotspot_layout_read(structs, feature_version, out, missing_out);
	vm_structs__free(structs);
	return err;
}

static struct hotspot_layout layout_of(enum fake_jdk jdk, const struct change *change)
{
	struct hotspot_layout layout;
	const char *missing = NULL;
	static struct fake_vm vm;

	tables_make(&vm, jdk, change);
	assert_int_equal(layout_read(&vm, fake_feature_versions[jdk], &layout, &missing), 0);
	assert_null(missing);
	return layout;
}

static void assert_field(const struct hotspot_field *field, int offset, int size, bool is_signed)
{
	if (offset < 0) {
		assert_false(hotspot_field_exists(field));
		return;
	}
	assert_int_equal(field->offset, offset);
	assert_int_equal(field->size, size);
	assert_int_equal(field->is_signed, is_signed);
}

/* ---- tests ---- */

static void layout_finds_fields_of_every_jdk(void **state)
{
	(void)state;
	for (int jdk = 0; jdk < FAKE_JDK_CNT; jdk++) {
		static const int methods[] = { 64, 112, 112, 112, 80 };
		static const int levels[] = { 208, 328, 308, 328, 216 };
		static const int code_begins[] = { -1, 32, 32, 8, -1 };
		static const int code_offsets[] = { 32, -1, -1, -1, 36 };
		static const int scopes_begins[] = { -1, 120, 120, 120, -1 };
		static const int deopt_offsets[] = { 148, -1, -1, -1, 176 };
		static const int lens[] = { 0, 0, 4, 4, 4 };
		static const int completes[] = { 36, 20, 20, 80, 54 };
		static const int segmaps[] = { 128, 136, 136, 128, 128 };
		struct hotspot_layout layout = layout_of((enum fake_jdk)jdk, NULL);

		assert_field(&layout.nmethod_method, methods[jdk], 8, false);
		assert_field(&layout.nmethod_comp_level, levels[jdk], jdk >= FAKE_JDK_21 ? 1 : 4,
			     true);
		assert_field(&layout.blob_code_begin, code_begins[jdk], 8, false);
		assert_field(&layout.blob_code_offset, code_offsets[jdk], 4, true);
		assert_field(&layout.nmethod_scopes_data_begin, scopes_begins[jdk], 8, false);
		assert_field(&layout.nmethod_deopt_handler_offset, deopt_offsets[jdk], 4, true);
		assert_field(&layout.blob_frame_complete, completes[jdk],
			     jdk == FAKE_JDK_25 ? 2 : 4, true);
		assert_int_equal(layout.has_continuations, jdk >= FAKE_JDK_21);
		assert_field(&layout.symbol_length, lens[jdk], 2, false);
		assert_field(&layout.symbol_body, jdk == FAKE_JDK_8 ? 8 : 6, 1, false);
		assert_field(&layout.heap_segmap_low, segmaps[jdk], 8, false);
		assert_field(&layout.block_length, 0, jdk == FAKE_JDK_25 ? 4 : 8, false);
		assert_field(&layout.const_method_flags, jdk == FAKE_JDK_11 ? 36 : 28,
			     jdk >= FAKE_JDK_21 ? 4 : 2, false);
		assert_int_equal(layout.block_size, jdk == FAKE_JDK_25 ? 8 : 16);
		assert_int_equal(layout.heap != 0, jdk == FAKE_JDK_8);
		assert_int_equal(layout.heaps != 0, jdk != FAKE_JDK_8);
		assert_false(layout.symbol_length_is_packed);
		assert_int_equal(layout.unsigned5_excludes_zero, jdk >= FAKE_JDK_21);
		assert_true(layout.unsigned5_is_known);
		assert_true(hotspot_layout_has_scopes(&layout));
		assert_true(hotspot_layout_has_lines(&layout));
	}
}

static void layout_state_has_the_sign_of_its_jdk(void **state)
{
	(void)state;
	for (int jdk = 0; jdk < FAKE_JDK_CNT; jdk++) {
		struct hotspot_layout layout = layout_of((enum fake_jdk)jdk, NULL);
		uint8_t nmethod[512];

		memset(nmethod, 0xff, sizeof(nmethod));
		assert_int_equal(hotspot_field_int(&layout.nmethod_state, nmethod),
				 jdk == FAKE_JDK_8 ? 255 : -1);
		assert_int_equal(hotspot_field_uint(&layout.nmethod_state, nmethod), 255);
		assert_int_equal(hotspot_field_int(&layout.nmethod_compile_id, nmethod), -1);
	}
}

static void layout_names_what_is_missing(void **state)
{
	static const struct {
		struct change change;
		const char *missing;
	} rows[] = {
		{ { "CodeHeap", "_memory", NULL, NULL, -1 }, "CodeHeap::_memory" },
		{ { "CodeHeap", "_segmap", NULL, NULL, -1 }, "CodeHeap::_segmap" },
		{ { "CodeHeap", "_log2_segment_size", NULL, NULL, -1 },
		  "CodeHeap::_log2_segment_size" },
		{ { "VirtualSpace", "_low", NULL, NULL, -1 }, "CodeHeap::_memory" },
		{ { "GrowableArrayBase", "_len", NULL, NULL, -1 }, "GrowableArray" },
		{ { "GrowableArray<int>", "_data", NULL, NULL, -1 }, "GrowableArray" },
		{ { "HeapBlock::Header", "_used", NULL, NULL, -1 }, "HeapBlock" },
		{ { "HeapBlock", NULL, NULL, NULL, -1 }, "HeapBlock" },
		{ { "CodeBlob", "_name", NULL, NULL, -1 }, "CodeBlob::_name" },
		{ { "CodeBlob", "_code_begin", NULL, NULL, -1 }, "CodeBlob::_code_begin" },
		{ { "CompiledMethod", "_method", NULL, NULL, -1 }, "nmethod::_method" },
		{ { "nmethod", "_compile_id", NULL, NULL, -1 }, "nmethod::_compile_id" },
		{ { "Method", "_constMethod", NULL, NULL, -1 }, "Method::_constMethod" },
		{ { "ConstMethod", "_constants", NULL, NULL, -1 }, "ConstMethod::_constants" },
		{ { "ConstMethod", "_signature_index", NULL, NULL, -1 },
		  "ConstMethod::_name_index" },
		{ { "ConstantPool", NULL, NULL, NULL, -1 }, "ConstantPool::_pool_holder" },
		{ { "ConstantPool", "_length", NULL, NULL, -1 }, "ConstantPool::_length" },
		{ { "Klass", "_name", NULL, NULL, -1 }, "Klass::_name" },
		{ { "Symbol", "_length", NULL, NULL, -1 }, "Symbol::_length" },
		{ { "Symbol", "_body", NULL, NULL, -1 }, "Symbol::_length" },
		/* There, but not as it must be. */
		{ { "CodeBlob", "_name", "_name", NULL, 5000 }, "CodeBlob::_name" },
		{ { "CodeBlob", "_name", "_name", NULL, 350 }, "CodeBlob::_name" },
		{ { "CodeBlob", "_name", "_name", "int", -1 }, "CodeBlob::_name" },
		{ { "CompiledMethod", "_method", "_method", "oop", -1 }, "nmethod::_method" },
		{ { "nmethod", NULL, NULL, NULL, 100000 }, "CodeBlob::_name" },
		{ { "nmethod", NULL, NULL, NULL, 104 }, "nmethod::_method" },
		{ { "HeapBlock", NULL, NULL, NULL, 8 }, "HeapBlock" },
		{ { "CodeHeap", "_segmap", "_segmap", NULL, 4080 }, "CodeHeap::_segmap" },
		{ { "ConstMethod", "_name_index", "_name_index", "u4", -1 },
		  "ConstMethod::_name_index" },
		{ { "ConstMethod", "_name_index", "_name_index", NULL, 300 },
		  "ConstMethod::_name_index" },
		{ { "Symbol", "_body", "_body", NULL, 65 }, "Symbol::_length" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		static struct fake_vm vm;
		struct hotspot_layout layout = { .nmethod_size = 77 };
		const char *missing = NULL;

		tables_make(&vm, FAKE_JDK_17, &rows[i].change);
		assert_int_equal(layout_read(&vm, 17, &layout, &missing), -ENOTSUP);
		assert_string_equal(missing, rows[i].missing);
		assert_int_equal(layout.nmethod_size, 77);
	}
}

static void layout_without_extras_still_names_code(void **state)
{
	static const struct {
		enum fake_jdk jdk;
		struct change change;
		bool has_scopes, has_lines;
	} rows[] = {
		{ FAKE_JDK_8, { "nmethod", "_scopes_data_offset", NULL, NULL, -1 }, false, true },
		{ FAKE_JDK_11,
		  { "CompiledMethod", "_scopes_data_begin", NULL, NULL, -1 },
		  false,
		  true },
		{ FAKE_JDK_17, { "nmethod", "_dependencies_offset", NULL, NULL, -1 }, false, true },
		{ FAKE_JDK_17, { "nmethod", "_metadata_offset", NULL, NULL, -1 }, false, true },
		{ FAKE_JDK_25, { "nmethod", "_immutable_data_size", NULL, NULL, -1 }, false, true },
		{ FAKE_JDK_25, { "CodeBlob", "_mutable_data_size", NULL, NULL, -1 }, false, true },
		{ FAKE_JDK_25, { "CodeBlob", "_relocation_size", NULL, NULL, -1 }, false, true },
		{ FAKE_JDK_21, { "ConstMethod", "_flags._flags", NULL, NULL, -1 }, true, false },
		{ FAKE_JDK_21, { "ConstMethod", NULL, NULL, NULL, -1 }, true, false },
		{ FAKE_JDK_17, { "nmethod", "_state", NULL, NULL, -1 }, true, true },
		{ FAKE_JDK_17, { "nmethod", "_comp_level", NULL, NULL, -1 }, true, true },
		/* An extra outside of its object is none. */
		{ FAKE_JDK_17,
		  { "nmethod", "_metadata_offset", "_metadata_offset", NULL, 352 },
		  false,
		  true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct hotspot_layout layout = layout_of(rows[i].jdk, &rows[i].change);

		assert_int_equal(hotspot_layout_has_scopes(&layout), rows[i].has_scopes);
		assert_int_equal(hotspot_layout_has_lines(&layout), rows[i].has_lines);
	}
}

static void layout_takes_the_packed_length_of_symbols(void **state)
{
	static const struct change packed = { "Symbol", "_length", "_length_and_refcount",
					      "unsigned int", 0 };
	struct hotspot_layout layout = layout_of(FAKE_JDK_17, &packed);

	(void)state;
	assert_true(layout.symbol_length_is_packed);
	assert_field(&layout.symbol_length, 0, 4, false);
}

static void layout_without_a_version_knows_numbers_only_where_the_tables_tell(void **state)
{
	static const bool known[FAKE_JDK_CNT] = { true, false, false, false, true };

	(void)state;
	for (int jdk = 0; jdk < FAKE_JDK_CNT; jdk++) {
		static struct fake_vm vm;
		struct hotspot_layout layout;
		const char *missing;

		tables_make(&vm, (enum fake_jdk)jdk, NULL);
		assert_int_equal(layout_read(&vm, 0, &layout, &missing), 0);
		assert_int_equal(layout.unsigned5_is_known, known[jdk]);
		assert_int_equal(hotspot_layout_has_scopes(&layout), known[jdk]);
		assert_int_equal(hotspot_layout_has_lines(&layout), known[jdk]);
		assert_int_equal(layout.unsigned5_excludes_zero, jdk == FAKE_JDK_25);
	}
}

static void layout_changes_its_mind_about_numbers_at_20(void **state)
{
	static struct fake_vm vm;
	struct hotspot_layout layout;
	const char *missing;

	(void)state;
	tables_make(&vm, FAKE_JDK_21, NULL);
	assert_int_equal(layout_read(&vm, 19, &layout, &missing), 0);
	assert_false(layout.unsigned5_excludes_zero);
	assert_int_equal(layout_read(&vm, 20, &layout, &missing), 0);
	assert_true(layout.unsigned5_excludes_zero);
}

static void addresses_of_objects_are_aligned_and_in_user_space(void **state)
{
	(void)state;
	assert_true(hotspot_address_is_sane(0x7f3a4c4b1c80));
	assert_true(hotspot_address_is_sane(4096));
	assert_false(hotspot_address_is_sane(0));
	assert_false(hotspot_address_is_sane(4088));
	assert_false(hotspot_address_is_sane(0x7f3a4c4b1c84));
	assert_false(hotspot_address_is_sane(0xffffffff81000000));
	assert_false(hotspot_address_is_sane(UINT64_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layout_finds_fields_of_every_jdk),
		cmocka_unit_test(layout_state_has_the_sign_of_its_jdk),
		cmocka_unit_test(layout_names_what_is_missing),
		cmocka_unit_test(layout_without_extras_still_names_code),
		cmocka_unit_test(layout_takes_the_packed_length_of_symbols),
		cmocka_unit_test(layout_without_a_version_knows_numbers_only_where_the_tables_tell),
		cmocka_unit_test(layout_changes_its_mind_about_numbers_at_20),
		cmocka_unit_test(addresses_of_objects_are_aligned_and_in_user_space),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
