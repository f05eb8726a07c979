/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JVM with a code cache in memory made by tests: heaps with segment maps, blobs, nmethods and
 * the methods they belong to, in the layouts of JDK 8, 11, 17, 21 and 25. The numbers are those
 * that Debian's builds for x86_64 export. Objects are written with these tables and not with what
 * the reader makes of them.
 */
#ifndef JBPF_TESTS_FAKE_JVM_H
#define JBPF_TESTS_FAKE_JVM_H

#include "symbols/hotspot/hotspot_code.h"
#include "symbols/hotspot/hotspot_vm_memory.h"
#include "tests/unit/symbols/hotspot/fake_tables.h"

enum fake_jdk {
	FAKE_JDK_8 = 0,
	FAKE_JDK_11,
	FAKE_JDK_17,
	FAKE_JDK_21,
	FAKE_JDK_25,
	FAKE_JDK_CNT,
};

static const int fake_feature_versions[FAKE_JDK_CNT] = { 8, 11, 17, 21, 25 };

struct fake_field {
	const char *type;
	const char *name;
	const char *type_string;
	int offsets[FAKE_JDK_CNT]; /* -1: not in this JDK */
};

static const struct fake_field fake_fields[] = {
	{ "GrowableArrayBase", "_len", "int", { -1, -1, 0, 0, 0 } },
	{ "GenericGrowableArray", "_len", "int", { 0, 0, -1, -1, -1 } },
	{ "GrowableArray<int>", "_data", "int*", { 24, 24, 8, 8, 8 } },
	{ "CodeHeap", "_log2_segment_size", "int", { 248, 256, 256, 248, 248 } },
	{ "HeapBlock::Header", "_length", "size_t", { 0, 0, 0, 0, -1 } },
	{ "HeapBlock::Header", "_length", "uint32_t", { -1, -1, -1, -1, 0 } },
	{ "HeapBlock::Header", "_used", "bool", { 8, 8, 8, 8, 4 } },
	{ "StubQueue", "_stub_buffer", "address", { 8, 8, 8, 8, 8 } },
	{ "StubQueue", "_buffer_limit", "int", { 20, 20, 20, 20, 20 } },
	{ "CodeBlob", "_name", "const char*", { 8, 96, 96, 64, 8 } },
	{ "CodeBlob", "_size", "int", { 16, 12, 12, 72, 24 } },
	{ "CodeBlob", "_header_size", "int", { 20, 16, 16, 76, -1 } },
	{ "CodeBlob", "_header_size", "u2", { -1, -1, -1, -1, 52 } },
	{ "CodeBlob", "_frame_complete_offset", "int", { 36, 20, 20, 80, -1 } },
	{ "CodeBlob", "_frame_complete_offset", "int16_t", { -1, -1, -1, -1, 54 } },
	{ "CodeBlob", "_frame_size", "int", { 44, 28, 28, 88, 44 } },
	{ "CodeBlob", "_code_begin", "address", { -1, 32, 32, 8, -1 } },
	{ "CodeBlob", "_code_end", "address", { -1, 40, 40, 16, -1 } },
	{ "CodeBlob", "_code_offset", "int", { 32, -1, -1, -1, 36 } },
	{ "CodeBlob", "_data_offset", "int", { 40, 24, 24, 84, 40 } },
	{ "CodeBlob", "_mutable_data", "address", { -1, -1, -1, -1, 16 } },
	{ "CodeBlob", "_mutable_data_size", "int", { -1, -1, -1, -1, 48 } },
	{ "CodeBlob", "_relocation_size", "int", { 24, -1, -1, -1, 28 } },
	{ "nmethod", "_method", "Method*", { 64, -1, -1, -1, 80 } },
	{ "CompiledMethod", "_method", "Method*", { -1, 112, 112, 112, -1 } },
	{ "nmethod", "_comp_level", "int", { 208, 328, 308, -1, -1 } },
	{ "nmethod", "_comp_level", "CompLevel", { -1, -1, -1, 328, 216 } },
	{ "nmethod", "_compile_id", "int", { 204, 324, 304, 308, 212 } },
	{ "nmethod", "_state", "volatile unsigned char", { 217, -1, -1, -1, -1 } },
	{ "nmethod", "_state", "volatile signed char", { -1, 335, 315, 332, 219 } },
	{ "nmethod", "_entry_bci", "int", { 72, 200, 192, 244, 156 } },
	{ "nmethod", "_verified_entry_point", "address", { 128, 256, 224, 224, -1 } },
	{ "nmethod", "_verified_entry_offset", "u2", { -1, -1, -1, -1, 154 } },
	{ "CompiledMethod", "_deopt_handler_begin", "address", { -1, 128, 128, 128, -1 } },
	{ "nmethod", "_deoptimize_offset", "int", { 148, -1, -1, -1, -1 } },
	{ "nmethod", "_deopt_handler_offset", "int", { -1, -1, -1, -1, 176 } },
	{ "CompiledMethod", "_deopt_mh_handler_begin", "address", { -1, 136, 136, 136, -1 } },
	{ "nmethod", "_deoptimize_mh_offset", "int", { 152, -1, -1, -1, -1 } },
	{ "nmethod", "_deopt_mh_handler_offset", "int", { -1, -1, -1, -1, 180 } },
	{ "CompiledMethod", "_scopes_data_begin", "address", { -1, 120, 120, 120, -1 } },
	{ "nmethod", "_scopes_data_offset", "int", { 176, -1, -1, -1, 200 } },
	{ "nmethod", "_scopes_pcs_offset", "int", { 180, 300, 268, 276, 196 } },
	{ "nmethod", "_dependencies_offset", "int", { 184, 304, 272, 280, -1 } },
	{ "nmethod", "_metadata_offset", "int", { 172, 292, 260, 268, -1 } },
	{ "nmethod", "_immutable_data", "address", { -1, -1, -1, -1, 96 } },
	{ "nmethod", "_immutable_data_size", "int", { -1, -1, -1, -1, 160 } },
	{ "Method", "_constMethod", "ConstMethod*", { 8, 8, 8, 8, 8 } },
	{ "ConstMethod", "_constants", "ConstantPool*", { 8, 8, 8, 8, 8 } },
	{ "ConstMethod", "_name_index", "u2", { 34, 42, 34, 36, 36 } },
	{ "ConstMethod", "_signature_index", "u2", { 36, 44, 36, 38, 38 } },
	{ "ConstMethod", "_code_size", "u2", { 32, 40, 32, 34, 34 } },
	{ "ConstMethod", "_flags", "u2", { 28, 36, 28, -1, -1 } },
	{ "ConstMethod", "_flags._flags", "u4", { -1, -1, -1, 28, 28 } },
	{ "ConstMethod", "_method_idnum", "u2", { 38, 46, 38, 40, 40 } },
	{ "ConstantPool", "_pool_holder", "InstanceKlass*", { 24, 24, 24, 24, 24 } },
	{ "ConstantPool", "_length", "int", { 60, 52, 60, 60, 60 } },
	{ "ConstantPool", "_source_file_name_index", "u2", { -1, -1, 54, 54, 54 } },
	{ "InstanceKlass", "_source_file_name_index", "u2", { 258, 298, -1, -1, -1 } },
	{ "Klass", "_name", "Symbol*", { 16, 24, 24, 24, 24 } },
	{ "Symbol", "_length", "unsigned short", { 0, 0, -1, -1, -1 } },
	{ "Symbol", "_length", "u2", { -1, -1, 4, 4, 4 } },
	{ "CodeHeap", "_memory", "VirtualSpace", { 0, 8, 8, 0, 0 } },
	{ "CodeHeap", "_segmap", "VirtualSpace", { 112, 120, 120, 112, 112 } },
	{ "VirtualSpace", "_low", "char*", { 16, 16, 16, 16, 16 } },
	{ "VirtualSpace", "_high", "char*", { 24, 24, 24, 24, 24 } },
	{ "VirtualSpace", "_low_boundary", "char*", { 0, 0, 0, 0, 0 } },
	{ "VirtualSpace", "_high_boundary", "char*", { 8, 8, 8, 8, 8 } },
	{ "Symbol", "_body", "", { 8, 6, 6, 6, 6 } },
};

struct fake_type {
	const char *name;
	int sizes[FAKE_JDK_CNT];
};

static const struct fake_type fake_types[] = {
	{ "HeapBlock", { 16, 16, 16, 16, 8 } },	    { "nmethod", { 296, 376, 352, 344, 224 } },
	{ "Method", { 88, 88, 88, 88, 88 } },	    { "ConstMethod", { 48, 56, 48, 56, 56 } },
	{ "ConstantPool", { 80, 64, 72, 72, 72 } }, { "CompLevel", { -1, -1, -1, 1, 1 } },
	{ "unsigned char", { 1, 1, 1, 1, 1 } },	    { "int", { 4, 4, 4, 4, 4 } },
};

#define FAKE_HEAP_CNT	   2u
#define FAKE_CODE_OFFSET   0x18000u /* of the first heap in memory */
#define FAKE_HEAP_BYTES	   0x10000u /* committed; as much again is reserved behind it */
#define FAKE_SEGMENT_SHIFT 7u
#define FAKE_SEGMENT_BYTES (1u << FAKE_SEGMENT_SHIFT)
#define FAKE_BLOCK_HEADER  256u /* room before the code, for any nmethod */

struct fake_heap {
	uint64_t object;
	uint64_t low;
	uint64_t segmap;
	size_t used; /* segments given out */
};

struct fake_jvm {
	struct fake_vm vm;
	enum fake_jdk jdk;
	struct fake_heap heaps[FAKE_HEAP_CNT];
	size_t heap_cnt;
	uint64_t heaps_array; /* the GrowableArray; 0 in 8 */
	uint64_t names[3];    /* "nmethod", "native nmethod", "vtable chunks" */
	uint64_t interpreter; /* the StubQueue */
};

/* ---- fields ---- */

/* NULL when this JDK has no such field. */
static inline const struct fake_field *fake_field(const struct fake_jvm *jvm, const char *type,
						  const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(fake_fields); i++) {
		if (strcmp(fake_fields[i].type, type) == 0 &&
		    strcmp(fake_fields[i].name, name) == 0 && fake_fields[i].offsets[jvm->jdk] >= 0)
			return &fake_fields[i];
	}
	return NULL;
}

static inline size_t fake_width(const char *type)
{
	static const struct {
		const char *name;
		size_t width;
	} widths[] = {
		{ "", 1 },
		{ "bool", 1 },
		{ "CompLevel", 1 },
		{ "unsigned char", 1 },
		{ "u2", 2 },
		{ "unsigned short", 2 },
		{ "signed char", 1 },
		{ "u4", 4 },
		{ "uint32_t", 4 },
		{ "int", 4 },
	};

	if (strncmp(type, "volatile ", 9) == 0)
		type += 9;
	for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
		if (strcmp(type, widths[i].name) == 0)
			return widths[i].width;
	}
	return 8; /* pointers, size_t, address */
}

static inline size_t fake_size(const struct fake_jvm *jvm, const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(fake_types); i++) {
		if (strcmp(fake_types[i].name, type) == 0)
			return (size_t)fake_types[i].sizes[jvm->jdk];
	}
	fail();
	return 0;
}

/* Where a field of an object lies; 0 when this JDK has none. */
static inline uint64_t fake_at(const struct fake_jvm *jvm, uint64_t object, const char *type,
			       const char *name)
{
	const struct fake_field *field = fake_field(jvm, type, name);

	return field ? object + (uint64_t)field->offsets[jvm->jdk] : 0;
}

/* Writes a field when this JDK has it. */
static inline void fake_set(struct fake_jvm *jvm, uint64_t object, const char *type,
			    const char *name, uint64_t value)
{
	const struct fake_field *field = fake_field(jvm, type, name);

	if (field)
		poke(&jvm->vm, fake_at(jvm, object, type, name), value,
		     fake_width(field->type_string));
}

static inline void fake_set_space(struct fake_jvm *jvm, uint64_t object, const char *name,
				  uint64_t low, uint64_t high, uint64_t high_boundary)
{
	uint64_t space = fake_at(jvm, object, "CodeHeap", name);

	fake_set(jvm, space, "VirtualSpace", "_low", low);
	fake_set(jvm, space, "VirtualSpace", "_high", high);
	fake_set(jvm, space, "VirtualSpace", "_low_boundary", low);
	fake_set(jvm, space, "VirtualSpace", "_high_boundary", high_boundary);
}

/* ---- the code cache ---- */

static inline uint64_t fake_heap_low(size_t idx)
{
	return MEMORY_BASE + FAKE_CODE_OFFSET + idx * 2 * FAKE_HEAP_BYTES;
}

static inline void fake_heap_make(struct fake_jvm *jvm, size_t idx)
{
	struct fake_heap *heap = &jvm->heaps[idx];
	size_t segments = FAKE_HEAP_BYTES >> FAKE_SEGMENT_SHIFT;

	heap->low = fake_heap_low(idx);
	heap->segmap = take(&jvm->vm, segments * 2);
	memset(jvm->vm.bytes + (heap->segmap - MEMORY_BASE), 0xff, segments * 2);
	heap->object = take(&jvm->vm, 280);
	fake_set_space(jvm, heap->object, "_memory", heap->low, heap->low + FAKE_HEAP_BYTES,
		       heap->low + 2 * FAKE_HEAP_BYTES);
	fake_set_space(jvm, heap->object, "_segmap", heap->segmap, heap->segmap + segments,
		       heap->segmap + segments * 2);
	fake_set(jvm, heap->object, "CodeHeap", "_log2_segment_size", FAKE_SEGMENT_SHIFT);
}

static inline void fake_statics_make(struct fake_jvm *jvm)
{
	struct fake_vm *vm = &jvm->vm;
	uint64_t data;

	jvm->interpreter = take(vm, 64);
	add_field(vm, "AbstractInterpreter", "_code", "StubQueue*", true,
		  put(vm, jvm->interpreter));
	if (jvm->jdk == FAKE_JDK_8) {
		add_field(vm, "CodeCache", "_heap", "CodeHeap*", true,
			  put(vm, jvm->heaps[0].object));
		return;
	}
	data = take(vm, FAKE_HEAP_CNT * 8);
	for (size_t i = 0; i < jvm->heap_cnt; i++)
		poke(vm, data + i * 8, jvm->heaps[i].object, 8);
	jvm->heaps_array = take(vm, 32);
	fake_set(jvm, jvm->heaps_array, "GrowableArrayBase", "_len", jvm->heap_cnt);
	fake_set(jvm, jvm->heaps_array, "GenericGrowableArray", "_len", jvm->heap_cnt);
	fake_set(jvm, jvm->heaps_array, "GrowableArray<int>", "_data", data);
	add_field(vm, "CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", true,
		  put(vm, jvm->heaps_array));
	add_field(vm, "CodeCache", "_low_bound", "address", true, put(vm, fake_heap_low(0)));
	add_field(vm, "CodeCache", "_high_bound", "address", true,
		  put(vm, fake_heap_low(FAKE_HEAP_CNT)));
}

/* Tables, version and empty heaps. */
static inline void fake_jvm_init(struct fake_jvm *jvm, enum fake_jdk jdk)
{
	struct fake_vm *vm = &jvm->vm;

	memset(jvm, 0, sizeof(*jvm));
	fake_init(vm);
	jvm->jdk = jdk;
	jvm->heap_cnt = jdk == FAKE_JDK_8 ? 1 : FAKE_HEAP_CNT;
	for (size_t i = 0; i < ARRAY_SIZE(fake_fields); i++) {
		const struct fake_field *field = &fake_fields[i];

		if (field->offsets[jdk] >= 0)
			add_field(vm, field->type, field->name,
				  field->type_string[0] ? field->type_string : NULL, false,
				  (uint64_t)field->offsets[jdk]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(fake_types); i++) {
		if (fake_types[i].sizes[jdk] >= 0)
			add_type(vm, fake_types[i].name, (uint64_t)fake_types[i].sizes[jdk]);
	}
	add_field(vm, "Abstract_VM_Version", "_vm_major_version", "int", true,
		  put(vm, (uint64_t)fake_feature_versions[jdk]));
	for (size_t i = 0; i < jvm->heap_cnt; i++)
		fake_heap_make(jvm, i);
	fake_statics_make(jvm);
	jvm->names[0] = put_string(vm, "nmethod");
	jvm->names[1] = put_string(vm, "native nmethod");
	jvm->names[2] = put_string(vm, "vtable chunks");
	assert_true(vm->used <= FAKE_CODE_OFFSET);
}

/* A used block of so many segments behind the last one. Returns its address. */
static inline uint64_t fake_block(struct fake_jvm *jvm, size_t heap_idx, size_t segments)
{
	struct fake_heap *heap = &jvm->heaps[heap_idx];
	uint64_t block = heap->low + (heap->used << FAKE_SEGMENT_SHIFT);
	uint8_t *segmap = jvm->vm.bytes + (heap->segmap - MEMORY_BASE) + heap->used;

	assert_true((heap->used + segments) << FAKE_SEGMENT_SHIFT <= FAKE_HEAP_BYTES);
	/* As CodeHeap::mark_segmap_as_used() does it. */
	for (size_t i = 0, back = 0; i < segments; i++) {
		segmap[i] = (uint8_t)back;
		back = back == 0xfe ? 1 : back + 1;
	}
	heap->used += segments;
	fake_set(jvm, block, "HeapBlock::Header", "_length", segments);
	fake_set(jvm, block, "HeapBlock::Header", "_used", 1);
	return block;
}

/* Frees a block as CodeHeap::deallocate() does. */
static inline void fake_free(struct fake_jvm *jvm, size_t heap_idx, uint64_t block, size_t segments)
{
	struct fake_heap *heap = &jvm->heaps[heap_idx];
	uint64_t segment = (block - heap->low) >> FAKE_SEGMENT_SHIFT;

	fake_set(jvm, block, "HeapBlock::Header", "_used", 0);
	memset(jvm->vm.bytes + (heap->segmap + segment - MEMORY_BASE), 0xff, segments);
}

static inline uint64_t fake_blob_of(const struct fake_jvm *jvm, uint64_t block)
{
	return block + fake_size(jvm, "HeapBlock");
}

/* What every blob has; its code lies between the two addresses. */
static inline void fake_blob_fill(struct fake_jvm *jvm, uint64_t blob, uint64_t name,
				  uint64_t code_begin, uint64_t code_end)
{
	fake_set(jvm, blob, "CodeBlob", "_name", name);
	fake_set(jvm, blob, "CodeBlob", "_size", code_end - blob);
	fake_set(jvm, blob, "CodeBlob", "_frame_size", 6);
	fake_set(jvm, blob, "CodeBlob", "_code_begin", code_begin);
	fake_set(jvm, blob, "CodeBlob", "_code_end", code_end);
	fake_set(jvm, blob, "CodeBlob", "_code_offset", code_begin - blob);
	fake_set(jvm, blob, "CodeBlob", "_data_offset", code_end - blob);
}

/* A stub whose code begins 160 bytes behind its block and ends with it. Returns the block. */
static inline uint64_t fake_stub(struct fake_jvm *jvm, size_t heap_idx, size_t segments,
				 const char *name)
{
	uint64_t block = fake_block(jvm, heap_idx, segments);

	fake_blob_fill(jvm, fake_blob_of(jvm, block), put_string(&jvm->vm, name), block + 160,
		       block + segments * FAKE_SEGMENT_BYTES);
	return block;
}

struct fake_nmethod {
	uint64_t method;
	int compile_id;
	int level; /* 0: a native wrapper */
	int entry_bci;
	size_t segments; /* at least 8 */
};

/* Parts of an nmethod from its block on: header, code, and up to 22 metadata, scopes, PcDescs. */
#define FAKE_CODE_BEGIN 512u
#define FAKE_TAIL_BYTES 256u

static inline void fake_scopes_fill(struct fake_jvm *jvm, uint64_t blob, uint64_t tail)
{
	if (jvm->jdk == FAKE_JDK_25) {
		uint64_t immutable = take(&jvm->vm, 96), mutable = take(&jvm->vm, 64);

		fake_set(jvm, blob, "nmethod", "_immutable_data", immutable);
		fake_set(jvm, blob, "nmethod", "_immutable_data_size", 96);
		fake_set(jvm, blob, "nmethod", "_scopes_pcs_offset", 16);
		fake_set(jvm, blob, "nmethod", "_scopes_data_offset", 64);
		fake_set(jvm, blob, "CodeBlob", "_mutable_data", mutable);
		fake_set(jvm, blob, "CodeBlob", "_mutable_data_size", 64);
		fake_set(jvm, blob, "CodeBlob", "_relocation_size", 24);
		return;
	}
	fake_set(jvm, blob, "nmethod", "_metadata_offset", tail - blob);
	fake_set(jvm, blob, "nmethod", "_scopes_data_offset", tail + 64 - blob);
	fake_set(jvm, blob, "CompiledMethod", "_scopes_data_begin", tail + 64);
	fake_set(jvm, blob, "nmethod", "_scopes_pcs_offset", tail + 96 - blob);
	fake_set(jvm, blob, "nmethod", "_dependencies_offset", tail + 96 + 64 - blob);
}

/* Returns the block. */
static inline uint64_t fake_nmethod(struct fake_jvm *jvm, size_t heap_idx,
				    const struct fake_nmethod *nmethod)
{
	uint64_t block = fake_block(jvm, heap_idx, nmethod->segments);
	uint64_t blob = fake_blob_of(jvm, block), code = block + FAKE_CODE_BEGIN;
	uint64_t tail = block + nmethod->segments * FAKE_SEGMENT_BYTES - FAKE_TAIL_BYTES;

	fake_blob_fill(jvm, blob, jvm->names[nmethod->level == 0], code, tail);
	fake_set(jvm, blob, "nmethod", "_method", nmethod->method);
	fake_set(jvm, blob, "CompiledMethod", "_method", nmethod->method);
	fake_set(jvm, blob, "nmethod", "_compile_id", (uint64_t)nmethod->compile_id);
	fake_set(jvm, blob, "nmethod", "_comp_level", (uint64_t)nmethod->level);
	fake_set(jvm, blob, "nmethod", "_entry_bci", (uint64_t)(int64_t)nmethod->entry_bci);
	fake_set(jvm, blob, "nmethod", "_verified_entry_point", code + 32);
	fake_set(jvm, blob, "nmethod", "_verified_entry_offset", 32);
	fake_set(jvm, blob, "CompiledMethod", "_deopt_handler_begin", tail - 16);
	fake_set(jvm, blob, "nmethod", "_deoptimize_offset", tail - 16 - blob);
	fake_set(jvm, blob, "nmethod", "_deopt_handler_offset", tail - 16 - blob);
	fake_set(jvm, blob, "CompiledMethod", "_deopt_mh_handler_begin", tail - 8);
	fake_set(jvm, blob, "nmethod", "_deoptimize_mh_offset", tail - 8 - blob);
	fake_set(jvm, blob, "nmethod", "_deopt_mh_handler_offset", tail - 8 - blob);
	fake_scopes_fill(jvm, blob, tail);
	return block;
}

/* ---- methods ---- */

static inline uint64_t fake_symbol(struct fake_jvm *jvm, const void *bytes, size_t len)
{
	uint64_t symbol = take(&jvm->vm, 8 + len);

	fake_set(jvm, symbol, "Symbol", "_length", len);
	memcpy(jvm->vm.bytes + (fake_at(jvm, symbol, "Symbol", "_body") - MEMORY_BASE), bytes, len);
	return symbol;
}

static inline uint64_t fake_symbol_of(struct fake_jvm *jvm, const char *text)
{
	return fake_symbol(jvm, text, strlen(text));
}

#define FAKE_POOL_LENGTH 12

/* Where the parts of a method are. */
struct fake_method {
	uint64_t method;
	uint64_t const_method;
	uint64_t pool;
	uint64_t klass;
	uint64_t class_name;
	uint64_t name;
	uint64_t signature;
};

static inline struct fake_method fake_method_of_symbols(struct fake_jvm *jvm, uint64_t class_name,
							uint64_t name, uint64_t signature)
{
	struct fake_vm *vm = &jvm->vm;
	size_t pool_size = fake_size(jvm, "ConstantPool");
	struct fake_method made = {
		.method = take(vm, fake_size(jvm, "Method")),
		.const_method = take(vm, fake_size(jvm, "ConstMethod") + 16),
		.pool = take(vm, pool_size + 8 * FAKE_POOL_LENGTH),
		.klass = take(vm, 320),
		.class_name = class_name,
		.name = name,
		.signature = signature,
	};

	fake_set(jvm, made.method, "Method", "_constMethod", made.const_method);
	fake_set(jvm, made.const_method, "ConstMethod", "_constants", made.pool);
	fake_set(jvm, made.const_method, "ConstMethod", "_name_index", 7);
	fake_set(jvm, made.const_method, "ConstMethod", "_signature_index", FAKE_POOL_LENGTH - 1);
	fake_set(jvm, made.pool, "ConstantPool", "_pool_holder", made.klass);
	fake_set(jvm, made.pool, "ConstantPool", "_length", FAKE_POOL_LENGTH);
	poke(vm, made.pool + pool_size + 8 * 7, name, 8);
	poke(vm, made.pool + pool_size + 8 * (FAKE_POOL_LENGTH - 1), signature | 1, 8);
	fake_set(jvm, made.klass, "Klass", "_name", class_name);
	return made;
}

static inline struct fake_method fake_method(struct fake_jvm *jvm, const char *class_name,
					     const char *name, const char *signature)
{
	return fake_method_of_symbols(jvm, fake_symbol_of(jvm, class_name),
				      fake_symbol_of(jvm, name), fake_symbol_of(jvm, signature));
}

/* ---- the reader on it ---- */

struct fake_reader {
	struct hotspot_vm *vm;
	struct hotspot_code *code;
};

static inline struct fake_reader fake_open(struct fake_jvm *jvm)
{
	struct fake_reader reader = { 0 };
	const char *missing = NULL;

	assert_int_equal(hotspot_vm__open_memory(&jvm->vm.mem, &jvm->vm.symbols, &reader.vm), 0);
	assert_int_equal(hotspot_code__open(reader.vm, &reader.code, &missing), 0);
	assert_null(missing);
	return reader;
}

static inline void fake_close(struct fake_reader *reader)
{
	hotspot_code__free(reader->code);
	hotspot_vm__free(reader->vm);
}

#endif
