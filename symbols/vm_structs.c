// SPDX-License-Identifier: Apache-2.0
/*
 * Both tables are arrays of structs whose own layout (stride, offset of each member) is exported in
 * further variables. An array ends at an entry without a type name. Everything found is checked
 * against caps: the process may be anything that names a library libjvm.so.
 */
#include "symbols/vm_structs.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/util/strtab.h"

#define ENTRY_MAX_BYTES 256u  /* 48 in JDK 8 to 26 */
#define ENTRY_MAX_CNT	8192u /* 837 at most so far */
#define NAME_MAX_BYTES	512u

struct vm_type {
	const char *name;
	uint64_t size;
};

struct vm_structs {
	struct strtab *names;
	struct vm_field *fields; /* sorted by type, name */
	size_t field_cnt;
	struct vm_type *types; /* sorted by name */
	size_t type_cnt;
};

const char *vm_symbol_name(enum vm_symbol symbol)
{
	static const char *const names[VM_SYMBOL_CNT] = {
		[VM_SYMBOL_STRUCTS] = "gHotSpotVMStructs",
		[VM_SYMBOL_STRUCT_TYPE_NAME] = "gHotSpotVMStructEntryTypeNameOffset",
		[VM_SYMBOL_STRUCT_FIELD_NAME] = "gHotSpotVMStructEntryFieldNameOffset",
		[VM_SYMBOL_STRUCT_TYPE_STRING] = "gHotSpotVMStructEntryTypeStringOffset",
		[VM_SYMBOL_STRUCT_IS_STATIC] = "gHotSpotVMStructEntryIsStaticOffset",
		[VM_SYMBOL_STRUCT_OFFSET] = "gHotSpotVMStructEntryOffsetOffset",
		[VM_SYMBOL_STRUCT_ADDRESS] = "gHotSpotVMStructEntryAddressOffset",
		[VM_SYMBOL_STRUCT_STRIDE] = "gHotSpotVMStructEntryArrayStride",
		[VM_SYMBOL_TYPES] = "gHotSpotVMTypes",
		[VM_SYMBOL_TYPE_TYPE_NAME] = "gHotSpotVMTypeEntryTypeNameOffset",
		[VM_SYMBOL_TYPE_SIZE] = "gHotSpotVMTypeEntrySizeOffset",
		[VM_SYMBOL_TYPE_STRIDE] = "gHotSpotVMTypeEntryArrayStride",
	};

	return names[symbol];
}

/* ---- reading one array ---- */

struct table {
	struct remote_cache *cache;
	struct strtab *names;
	uint64_t values[VM_SYMBOL_CNT]; /* what the exported variables hold */
	uint8_t entry[ENTRY_MAX_BYTES]; /* the entry being read */
};

static uint64_t entry_uint(const struct table *table, enum vm_symbol member, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, table->entry + table->values[member], size);
	return le64toh(value);
}

/* The string that a member points to, interned. NULL pointer: "". */
static int entry_string(struct table *table, enum vm_symbol member, const char **out)
{
	uint64_t address = entry_uint(table, member, 8);
	char text[NAME_MAX_BYTES] = "";
	uint32_t id;
	int err;

	if (address) {
		err = remote_cache__string(table->cache, address, text, sizeof(text));
		if (err)
			return err == -ENAMETOOLONG ? -ENOTSUP : err;
	}
	err = strtab__intern(table->names, text, strlen(text), &id);
	if (err)
		return err;
	*out = strtab__get(table->names, id, NULL);
	return 0;
}

/* Entry `idx` -> table->entry. 1 when it is the end mark, 0, or -errno. */
static int entry_read(struct table *table, enum vm_symbol array, enum vm_symbol stride,
		      enum vm_symbol type_name, size_t idx)
{
	uint64_t stride_bytes = table->values[stride];
	uint64_t address;
	int err;

	if (idx >= ENTRY_MAX_CNT)
		return -ENOTSUP;
	if (__builtin_add_overflow(table->values[array], idx * stride_bytes, &address))
		return -EFAULT;
	err = remote_cache__read(table->cache, address, table->entry, stride_bytes);
	if (err)
		return err;
	return entry_uint(table, type_name, 8) == 0;
}

/* Values of the exported variables; checks that every member lies within its entry. */
static int table_read_layout(struct table *table, const struct vm_symbols *symbols)
{
	static const struct {
		enum vm_symbol member, stride;
		size_t size;
	} members[] = {
		{ VM_SYMBOL_STRUCT_TYPE_NAME, VM_SYMBOL_STRUCT_STRIDE, 8 },
		{ VM_SYMBOL_STRUCT_FIELD_NAME, VM_SYMBOL_STRUCT_STRIDE, 8 },
		{ VM_SYMBOL_STRUCT_TYPE_STRING, VM_SYMBOL_STRUCT_STRIDE, 8 },
		{ VM_SYMBOL_STRUCT_IS_STATIC, VM_SYMBOL_STRUCT_STRIDE, 4 },
		{ VM_SYMBOL_STRUCT_OFFSET, VM_SYMBOL_STRUCT_STRIDE, 8 },
		{ VM_SYMBOL_STRUCT_ADDRESS, VM_SYMBOL_STRUCT_STRIDE, 8 },
		{ VM_SYMBOL_TYPE_TYPE_NAME, VM_SYMBOL_TYPE_STRIDE, 8 },
		{ VM_SYMBOL_TYPE_SIZE, VM_SYMBOL_TYPE_STRIDE, 8 },
	};

	for (size_t i = 0; i < VM_SYMBOL_CNT; i++) {
		uint64_t value;
		int err;

		if (!symbols->addresses[i])
			return -ENOTSUP;
		err = remote_cache__read(table->cache, symbols->addresses[i], &value,
					 sizeof(value));
		if (err)
			return err;
		table->values[i] = le64toh(value);
	}
	/* Constructors of libjvm.so fill these in; before that they are zero. */
	if (!table->values[VM_SYMBOL_STRUCTS] || !table->values[VM_SYMBOL_TYPES] ||
	    !table->values[VM_SYMBOL_STRUCT_STRIDE] || !table->values[VM_SYMBOL_TYPE_STRIDE])
		return -EAGAIN;
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		uint64_t stride = table->values[members[i].stride];

		if (stride > ENTRY_MAX_BYTES || stride < members[i].size ||
		    table->values[members[i].member] > stride - members[i].size)
			return -ENOTSUP;
	}
	return 0;
}

static int fields_add(struct vm_structs *structs, struct table *table, size_t *cap)
{
	struct vm_field field = { 0 };
	int err;

	if (structs->field_cnt == *cap) {
		size_t new_cap = *cap ? *cap * 2 : 1024;
		struct vm_field *fields = reallocarray(structs->fields, new_cap, sizeof(*fields));

		if (!fields)
			return -ENOMEM;
		structs->fields = fields;
		*cap = new_cap;
	}
	err = entry_string(table, VM_SYMBOL_STRUCT_TYPE_NAME, &field.type);
	if (!err)
		err = entry_string(table, VM_SYMBOL_STRUCT_FIELD_NAME, &field.name);
	if (!err)
		err = entry_string(table, VM_SYMBOL_STRUCT_TYPE_STRING, &field.type_string);
	if (err)
		return err;
	field.is_static = entry_uint(table, VM_SYMBOL_STRUCT_IS_STATIC, 4) != 0;
	if (field.is_static)
		field.address = entry_uint(table, VM_SYMBOL_STRUCT_ADDRESS, 8);
	else
		field.offset = entry_uint(table, VM_SYMBOL_STRUCT_OFFSET, 8);
	structs->fields[structs->field_cnt++] = field;
	return 0;
}

static int types_add(struct vm_structs *structs, struct table *table, size_t *cap)
{
	struct vm_type type = { 0 };
	int err;

	if (structs->type_cnt == *cap) {
		size_t new_cap = *cap ? *cap * 2 : 1024;
		struct vm_type *types = reallocarray(structs->types, new_cap, sizeof(*types));

		if (!types)
			return -ENOMEM;
		structs->types = types;
		*cap = new_cap;
	}
	err = entry_string(table, VM_SYMBOL_TYPE_TYPE_NAME, &type.name);
	if (err)
		return err;
	type.size = entry_uint(table, VM_SYMBOL_TYPE_SIZE, 8);
	structs->types[structs->type_cnt++] = type;
	return 0;
}

static int fields_read(struct vm_structs *structs, struct table *table)
{
	size_t cap = 0;

	for (size_t idx = 0;; idx++) {
		int err = entry_read(table, VM_SYMBOL_STRUCTS, VM_SYMBOL_STRUCT_STRIDE,
				     VM_SYMBOL_STRUCT_TYPE_NAME, idx);

		if (err == 0)
			err = fields_add(structs, table, &cap);
		else if (err > 0)
			return structs->field_cnt ? 0 : -EAGAIN;
		if (err)
			return err;
	}
}

static int types_read(struct vm_structs *structs, struct table *table)
{
	size_t cap = 0;

	for (size_t idx = 0;; idx++) {
		int err = entry_read(table, VM_SYMBOL_TYPES, VM_SYMBOL_TYPE_STRIDE,
				     VM_SYMBOL_TYPE_TYPE_NAME, idx);

		if (err == 0)
			err = types_add(structs, table, &cap);
		else if (err > 0)
			return structs->type_cnt ? 0 : -EAGAIN;
		if (err)
			return err;
	}
}

/* ---- lookup ---- */

static int field_compare(const void *a, const void *b)
{
	const struct vm_field *left = a, *right = b;
	int order = strcmp(left->type, right->type);

	return order ? order : strcmp(left->name, right->name);
}

static int type_compare(const void *a, const void *b)
{
	const struct vm_type *left = a, *right = b;

	return strcmp(left->name, right->name);
}

static int structs_fill(struct vm_structs *structs, struct table *table,
			const struct vm_symbols *symbols)
{
	int err = table_read_layout(table, symbols);

	if (!err)
		err = fields_read(structs, table);
	if (!err)
		err = types_read(structs, table);
	if (err)
		return err;
	qsort(structs->fields, structs->field_cnt, sizeof(*structs->fields), field_compare);
	qsort(structs->types, structs->type_cnt, sizeof(*structs->types), type_compare);
	return 0;
}

int vm_structs__read(const struct remote_mem *mem, const struct vm_symbols *symbols,
		     struct vm_structs **out)
{
	struct vm_structs *structs = calloc(1, sizeof(*structs));
	struct table table = { .cache = remote_cache__new(mem) };
	int err = -ENOMEM;

	if (structs)
		structs->names = table.names = strtab__new();
	if (table.cache && table.names)
		err = structs_fill(structs, &table, symbols);
	remote_cache__free(table.cache);
	if (err) {
		vm_structs__free(structs);
		return err;
	}
	*out = structs;
	return 0;
}

void vm_structs__free(struct vm_structs *structs)
{
	if (!structs)
		return;
	strtab__free(structs->names);
	free(structs->fields);
	free(structs->types);
	free(structs);
}

const struct vm_field *vm_structs__field(const struct vm_structs *structs, const char *type,
					 const char *name)
{
	struct vm_field key = { .type = type, .name = name };

	return bsearch(&key, structs->fields, structs->field_cnt, sizeof(key), field_compare);
}

int vm_structs__offset(const struct vm_structs *structs, const char *type, const char *name,
		       uint64_t *out)
{
	const struct vm_field *field = vm_structs__field(structs, type, name);

	if (!field || field->is_static)
		return -ENOENT;
	*out = field->offset;
	return 0;
}

int vm_structs__static_address(const struct vm_structs *structs, const char *type, const char *name,
			       uint64_t *out)
{
	const struct vm_field *field = vm_structs__field(structs, type, name);

	if (!field || !field->is_static || !field->address)
		return -ENOENT;
	*out = field->address;
	return 0;
}

int vm_structs__type_size(const struct vm_structs *structs, const char *type, uint64_t *out)
{
	struct vm_type key = { .name = type };
	const struct vm_type *found =
		bsearch(&key, structs->types, structs->type_cnt, sizeof(key), type_compare);

	if (!found)
		return -ENOENT;
	*out = found->size;
	return 0;
}
