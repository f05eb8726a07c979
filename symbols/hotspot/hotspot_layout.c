// SPDX-License-Identifier: Apache-2.0
/*
 * One table says which field of which JDK goes where; the first name that the VM knows wins. The
 * names are those of src/hotspot/share/runtime/vmStructs.cpp. A field whose width is not known or
 * whose offset is absurd counts as missing: the process may claim anything.
 */
#include "symbols/hotspot/hotspot_layout.h"

#include <errno.h>
#include <string.h>

#include "user/util/cleanup.h"

#define FIELD_MAX_OFFSET   4088u
#define OBJECT_MAX_BYTES   4096u
#define SYMBOL_MAX_BYTES   64u /* before a symbol's text */
#define USER_ADDRESS_MIN   4096u
#define USER_ADDRESS_MAX   (1ull << 52) /* aarch64 with large addresses; 47 bits elsewhere */
#define UNSIGNED5_NEW_FROM 20		/* JDK-8292758 */

bool hotspot_address_is_sane(uint64_t address)
{
	return address >= USER_ADDRESS_MIN && address < USER_ADDRESS_MAX && address % 8 == 0;
}

/* ---- widths ---- */

struct c_type {
	const char *name;
	uint8_t size; /* 0: the VM's table of types knows it */
	bool is_signed;
};

/* Types whose sign matters or that some JDK uses without naming their size. */
static const struct c_type c_types[] = {
	{ "int", 4, true },	      { "jint", 4, true },
	{ "short", 2, true },	      { "jshort", 2, true },
	{ "long", 8, true },	      { "jlong", 8, true },
	{ "jbyte", 1, true },	      { "s1", 1, true },
	{ "signed char", 1, true },   { "int8_t", 1, true },
	{ "int16_t", 2, true },	      { "int32_t", 4, true },
	{ "int64_t", 8, true },	      { "intptr_t", 8, true },
	{ "CompLevel", 0, true },     { "bool", 1, false },
	{ "char", 1, false },	      { "unsigned char", 1, false },
	{ "u1", 1, false },	      { "u2", 2, false },
	{ "u4", 4, false },	      { "u8", 8, false },
	{ "jushort", 2, false },      { "juint", 4, false },
	{ "uint", 4, false },	      { "unsigned short", 2, false },
	{ "unsigned int", 4, false }, { "unsigned long", 8, false },
	{ "uint8_t", 1, false },      { "uint16_t", 2, false },
	{ "uint32_t", 4, false },     { "uint64_t", 8, false },
	{ "uintptr_t", 8, false },    { "size_t", 8, false },
	{ "address", 8, false },
};

static const struct c_type *c_type_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(c_types); i++) {
		if (strcmp(c_types[i].name, name) == 0)
			return &c_types[i];
	}
	return NULL;
}

/* Width of a field from its type's text: "volatile signed char", "Method*", "u2". 0: not known. */
static uint8_t width_of(const struct vm_structs *structs, const char *type, bool *is_signed_out)
{
	static const char volatile_[] = "volatile ";
	const struct c_type *known;
	size_t len;
	uint64_t size;

	if (strncmp(type, volatile_, sizeof(volatile_) - 1) == 0)
		type += sizeof(volatile_) - 1;
	*is_signed_out = false;
	len = strlen(type);
	if (len && type[len - 1] == '*')
		return 8;
	known = c_type_find(type);
	if (known)
		*is_signed_out = known->is_signed;
	if (known && known->size)
		return known->size;
	if (vm_structs__type_size(structs, type, &size))
		return 0;
	return size == 1 || size == 2 || size == 4 || size == 8 ? (uint8_t)size : 0;
}

/* ---- the table ---- */

enum row_kind {
	ROW_FIELD = 0,
	ROW_BYTES, /* begin of an array: one byte wide, whatever type the VM gives */
};

struct row {
	size_t target; /* in struct hotspot_layout */
	const char *type;
	const char *name;
	const char *inner; /* field of VirtualSpace inside it, or NULL */
	enum row_kind kind;
};

#define TARGET(field) offsetof(struct hotspot_layout, field)
#define FIELD(field, type, name)                           \
	{                                                  \
		TARGET(field), type, name, NULL, ROW_FIELD \
	}
#define INNER(field, name, inner)                                 \
	{                                                         \
		TARGET(field), "CodeHeap", name, inner, ROW_FIELD \
	}

static const struct row rows[] = {
	FIELD(array_len, "GrowableArrayBase", "_len"),
	FIELD(array_len, "GenericGrowableArray", "_len"),
	FIELD(array_data, "GrowableArray<int>", "_data"),

	INNER(heap_memory_low, "_memory", "_low"),
	INNER(heap_memory_high, "_memory", "_high"),
	INNER(heap_memory_low_boundary, "_memory", "_low_boundary"),
	INNER(heap_memory_high_boundary, "_memory", "_high_boundary"),
	INNER(heap_segmap_low, "_segmap", "_low"),
	INNER(heap_segmap_high, "_segmap", "_high"),
	FIELD(heap_log2_segment_size, "CodeHeap", "_log2_segment_size"),
	FIELD(block_length, "HeapBlock::Header", "_length"),
	FIELD(block_used, "HeapBlock::Header", "_used"),
	FIELD(stub_queue_buffer, "StubQueue", "_stub_buffer"),
	FIELD(stub_queue_limit, "StubQueue", "_buffer_limit"),

	FIELD(blob_name, "CodeBlob", "_name"),
	FIELD(blob_size, "CodeBlob", "_size"),
	FIELD(blob_header_size, "CodeBlob", "_header_size"),
	FIELD(blob_frame_size, "CodeBlob", "_frame_size"),
	FIELD(blob_frame_complete, "CodeBlob", "_frame_complete_offset"),
	FIELD(blob_code_begin, "CodeBlob", "_code_begin"),
	FIELD(blob_code_end, "CodeBlob", "_code_end"),
	FIELD(blob_code_offset, "CodeBlob", "_code_offset"),
	FIELD(blob_data_offset, "CodeBlob", "_data_offset"),
	FIELD(blob_mutable_data, "CodeBlob", "_mutable_data"),
	FIELD(blob_mutable_data_size, "CodeBlob", "_mutable_data_size"),
	FIELD(blob_relocation_size, "CodeBlob", "_relocation_size"),

	FIELD(nmethod_method, "nmethod", "_method"),
	FIELD(nmethod_method, "CompiledMethod", "_method"),
	FIELD(nmethod_comp_level, "nmethod", "_comp_level"),
	FIELD(nmethod_compile_id, "nmethod", "_compile_id"),
	FIELD(nmethod_state, "nmethod", "_state"),
	FIELD(nmethod_entry_bci, "nmethod", "_entry_bci"),
	FIELD(nmethod_verified_entry_point, "nmethod", "_verified_entry_point"),
	FIELD(nmethod_verified_entry_offset, "nmethod", "_verified_entry_offset"),
	FIELD(nmethod_deopt_handler_begin, "CompiledMethod", "_deopt_handler_begin"),
	FIELD(nmethod_deopt_handler_offset, "nmethod", "_deoptimize_offset"),
	FIELD(nmethod_deopt_handler_offset, "nmethod", "_deopt_handler_offset"),
	FIELD(nmethod_deopt_handler_offset, "nmethod", "_deopt_handler_entry_offset"),
	FIELD(nmethod_deopt_mh_handler_begin, "CompiledMethod", "_deopt_mh_handler_begin"),
	FIELD(nmethod_deopt_mh_handler_offset, "nmethod", "_deoptimize_mh_offset"),
	FIELD(nmethod_deopt_mh_handler_offset, "nmethod", "_deopt_mh_handler_offset"),
	FIELD(nmethod_scopes_data_begin, "CompiledMethod", "_scopes_data_begin"),
	FIELD(nmethod_scopes_data_offset, "nmethod", "_scopes_data_offset"),
	FIELD(nmethod_scopes_pcs_offset, "nmethod", "_scopes_pcs_offset"),
	FIELD(nmethod_dependencies_offset, "nmethod", "_dependencies_offset"),
	FIELD(nmethod_metadata_offset, "nmethod", "_metadata_offset"),
	FIELD(nmethod_immutable_data, "nmethod", "_immutable_data"),
	FIELD(nmethod_immutable_data_size, "nmethod", "_immutable_data_size"),

	FIELD(method_const_method, "Method", "_constMethod"),
	FIELD(const_method_constants, "ConstMethod", "_constants"),
	FIELD(const_method_name_index, "ConstMethod", "_name_index"),
	FIELD(const_method_signature_index, "ConstMethod", "_signature_index"),
	FIELD(const_method_code_size, "ConstMethod", "_code_size"),
	FIELD(const_method_flags, "ConstMethod", "_flags"),
	FIELD(const_method_flags, "ConstMethod", "_flags._flags"),
	FIELD(pool_holder, "ConstantPool", "_pool_holder"),
	FIELD(pool_length, "ConstantPool", "_length"),
	FIELD(pool_source_file_name_index, "ConstantPool", "_source_file_name_index"),
	FIELD(instance_klass_source_file_name_index, "InstanceKlass", "_source_file_name_index"),
	FIELD(klass_name, "Klass", "_name"),
	FIELD(symbol_length, "Symbol", "_length"),
	FIELD(symbol_length, "Symbol", "_length_and_refcount"),
	{ TARGET(symbol_body), "Symbol", "_body", NULL, ROW_BYTES },
	{ TARGET(symbol_body), "Symbol", "_body[0]", NULL, ROW_BYTES },
};

static bool row_read(const struct vm_structs *structs, const struct row *row,
		     struct hotspot_field *out)
{
	const struct vm_field *field = vm_structs__field(structs, row->type, row->name);
	uint64_t offset, inner_offset = 0;
	bool is_signed = false;
	uint8_t size;

	if (!field || field->is_static)
		return false;
	if (row->inner) {
		const struct vm_field *inner =
			vm_structs__field(structs, "VirtualSpace", row->inner);

		if (!inner || inner->is_static)
			return false;
		inner_offset = inner->offset;
		field = inner;
		if (vm_structs__offset(structs, row->type, row->name, &offset))
			return false;
	} else {
		offset = field->offset;
	}
	size = row->kind == ROW_BYTES ? 1 : width_of(structs, field->type_string, &is_signed);
	if (!size || offset > FIELD_MAX_OFFSET || inner_offset > FIELD_MAX_OFFSET - offset)
		return false;
	*out = (struct hotspot_field){ .offset = (uint16_t)(offset + inner_offset),
				       .size = size,
				       .is_signed = is_signed };
	return true;
}

static void fields_read(const struct vm_structs *structs, struct hotspot_layout *layout)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct hotspot_field *field =
			(struct hotspot_field *)((char *)layout + rows[i].target);

		if (!hotspot_field_exists(field))
			(void)row_read(structs, &rows[i], field);
	}
}

static void statics_read(const struct vm_structs *structs, struct hotspot_layout *layout)
{
	static const struct row statics[] = {
		FIELD(heaps, "CodeCache", "_heaps"),
		FIELD(heap, "CodeCache", "_heap"),
		FIELD(low_bound, "CodeCache", "_low_bound"),
		FIELD(high_bound, "CodeCache", "_high_bound"),
		FIELD(interpreter_code, "AbstractInterpreter", "_code"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(statics); i++) {
		uint64_t *address = (uint64_t *)((char *)layout + statics[i].target);

		(void)vm_structs__static_address(structs, statics[i].type, statics[i].name,
						 address);
	}
}

/* Sizes of objects; 0 when missing or absurd. */
static void sizes_read(const struct vm_structs *structs, struct hotspot_layout *layout)
{
	static const struct row sizes[] = {
		FIELD(block_size, "HeapBlock", NULL),
		FIELD(nmethod_size, "nmethod", NULL),
		FIELD(const_method_size, "ConstMethod", NULL),
		FIELD(pool_size, "ConstantPool", NULL),
	};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint32_t *target = (uint32_t *)((char *)layout + sizes[i].target);
		uint64_t size;

		if (!vm_structs__type_size(structs, sizes[i].type, &size) &&
		    size <= OBJECT_MAX_BYTES)
			*target = (uint32_t)size;
	}
}

/* ---- is it enough? ---- */

/* Is the field there, of that width, and within an object of `object_size` bytes? */
static bool field_fits(const struct hotspot_field *field, uint8_t size, uint32_t object_size)
{
	return field->size && (!size || field->size == size) &&
	       (uint32_t)field->offset + field->size <= object_size;
}

/* What is missing for finding code, or NULL. */
static const char *missing_for_code(const struct hotspot_layout *layout)
{
	uint32_t any = OBJECT_MAX_BYTES, heap = HOTSPOT_HEAP_MAX_BYTES;
	bool has_pointers = field_fits(&layout->blob_code_begin, 8, layout->nmethod_size) &&
			    field_fits(&layout->blob_code_end, 8, layout->nmethod_size);
	bool has_offsets = field_fits(&layout->blob_code_offset, 0, layout->nmethod_size) &&
			   field_fits(&layout->blob_data_offset, 0, layout->nmethod_size);

	if (!layout->heaps && !layout->heap)
		return "CodeCache::_heaps";
	if (!layout->heap &&
	    (!field_fits(&layout->array_len, 4, any) || !field_fits(&layout->array_data, 8, any)))
		return "GrowableArray";
	if (!field_fits(&layout->heap_memory_low, 8, heap) ||
	    !field_fits(&layout->heap_memory_high, 8, heap) ||
	    !field_fits(&layout->heap_memory_low_boundary, 8, heap) ||
	    !field_fits(&layout->heap_memory_high_boundary, 8, heap))
		return "CodeHeap::_memory";
	if (!field_fits(&layout->heap_segmap_low, 8, heap) ||
	    !field_fits(&layout->heap_segmap_high, 8, heap))
		return "CodeHeap::_segmap";
	if (!field_fits(&layout->heap_log2_segment_size, 4, heap))
		return "CodeHeap::_log2_segment_size";
	if (!layout->block_size || !field_fits(&layout->block_length, 0, layout->block_size) ||
	    !field_fits(&layout->block_used, 1, layout->block_size))
		return "HeapBlock";
	if (!field_fits(&layout->blob_name, 8, layout->nmethod_size))
		return "CodeBlob::_name";
	if (!has_pointers && !has_offsets)
		return "CodeBlob::_code_begin";
	if (!field_fits(&layout->nmethod_method, 8, layout->nmethod_size))
		return "nmethod::_method";
	if (!field_fits(&layout->nmethod_compile_id, 4, layout->nmethod_size))
		return "nmethod::_compile_id";
	return NULL;
}

/* What is missing for naming methods, or NULL. */
static const char *missing_for_names(const struct hotspot_layout *layout)
{
	if (!field_fits(&layout->method_const_method, 8, OBJECT_MAX_BYTES))
		return "Method::_constMethod";
	if (!field_fits(&layout->const_method_constants, 8, HOTSPOT_PREFIX_MAX_BYTES))
		return "ConstMethod::_constants";
	if (!field_fits(&layout->const_method_name_index, 2, HOTSPOT_PREFIX_MAX_BYTES) ||
	    !field_fits(&layout->const_method_signature_index, 2, HOTSPOT_PREFIX_MAX_BYTES))
		return "ConstMethod::_name_index";
	if (!layout->pool_size || !field_fits(&layout->pool_holder, 8, HOTSPOT_PREFIX_MAX_BYTES))
		return "ConstantPool::_pool_holder";
	if (!field_fits(&layout->pool_length, 4, HOTSPOT_PREFIX_MAX_BYTES))
		return "ConstantPool::_length";
	if (!field_fits(&layout->klass_name, 8, OBJECT_MAX_BYTES))
		return "Klass::_name";
	if (!field_fits(&layout->symbol_length, layout->symbol_length_is_packed ? 4 : 2,
			SYMBOL_MAX_BYTES) ||
	    !field_fits(&layout->symbol_body, 0, SYMBOL_MAX_BYTES))
		return "Symbol::_length";
	return NULL;
}

/* Extras that lie outside of their object are no extras. */
static void drop_outside(struct hotspot_layout *layout)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct hotspot_field *field =
			(struct hotspot_field *)((char *)layout + rows[i].target);
		bool is_of_nmethod = strcmp(rows[i].type, "CodeBlob") == 0 ||
				     strcmp(rows[i].type, "CompiledMethod") == 0 ||
				     strcmp(rows[i].type, "nmethod") == 0;

		if (is_of_nmethod && !field_fits(field, 0, layout->nmethod_size))
			*field = (struct hotspot_field){ 0 };
	}
}

/* No table tells how numbers are coded; where the version is not known the layout may tell it. */
static void unsigned5_read(int feature_version, struct hotspot_layout *layout)
{
	bool is_23_or_later = hotspot_field_exists(&layout->nmethod_immutable_data);

	layout->unsigned5_is_known = feature_version > 0 || is_23_or_later || layout->heap;
	layout->unsigned5_excludes_zero =
		feature_version > 0 ? feature_version >= UNSIGNED5_NEW_FROM : is_23_or_later;
}

int hotspot_layout_read(const struct vm_structs *structs, int feature_version,
			struct hotspot_layout *out, const char **missing_out)
{
	struct hotspot_layout layout = { 0 };
	const char *missing;
	uint64_t ignored;

	statics_read(structs, &layout);
	sizes_read(structs, &layout);
	fields_read(structs, &layout);
	/* 21 does not name that type yet; this field became wider in it. */
	layout.has_continuations = !vm_structs__type_size(structs, "ContinuationEntry", &ignored) ||
				   layout.const_method_flags.size == 4;
	layout.symbol_length_is_packed = !vm_structs__field(structs, "Symbol", "_length");
	drop_outside(&layout);
	unsigned5_read(feature_version, &layout);
	missing = missing_for_code(&layout);
	if (!missing)
		missing = missing_for_names(&layout);
	if (missing) {
		*missing_out = missing;
		return -ENOTSUP;
	}
	*out = layout;
	return 0;
}

bool hotspot_layout_has_scopes(const struct hotspot_layout *layout)
{
	bool has_metadata = hotspot_field_exists(&layout->nmethod_metadata_offset) ||
			    (hotspot_field_exists(&layout->blob_mutable_data) &&
			     hotspot_field_exists(&layout->blob_mutable_data_size) &&
			     hotspot_field_exists(&layout->blob_relocation_size));

	if (!layout->unsigned5_is_known || !has_metadata ||
	    !hotspot_field_exists(&layout->nmethod_scopes_pcs_offset))
		return false;
	if (hotspot_field_exists(&layout->nmethod_immutable_data))
		return hotspot_field_exists(&layout->nmethod_immutable_data_size) &&
		       hotspot_field_exists(&layout->nmethod_scopes_data_offset);
	return hotspot_field_exists(&layout->nmethod_dependencies_offset) &&
	       (hotspot_field_exists(&layout->nmethod_scopes_data_begin) ||
		hotspot_field_exists(&layout->nmethod_scopes_data_offset));
}

bool hotspot_layout_has_lines(const struct hotspot_layout *layout)
{
	return layout->unsigned5_is_known && layout->const_method_size &&
	       hotspot_field_exists(&layout->const_method_code_size) &&
	       hotspot_field_exists(&layout->const_method_flags);
}
