// SPDX-License-Identifier: Apache-2.0
/*
 * Both tables are arrays of structs whose own layout (stride, offset of each member) is exported in
 * further variables. An array ends at an entry without a type name. Arrays and strings are read in
 * bulk: it is done for every JVM that is seen. Everything found is checked against caps: the
 * process may be anything that names a library libjvm.so.
 */
#include "symbols/hotspot/vm_structs.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/hotspot/hotspot_method_ids.h"
#include "user/host/remote_batch.h"
#include "user/util/cleanup.h"
#include "user/util/strbuf.h"

#define ENTRY_MAX_BYTES	   256u	 /* 48 in JDK 8 to 26 */
#define ENTRY_MAX_CNT	   8192u /* 837 at most so far */
#define NAME_MAX_BYTES	   512u
#define TEXT_MAX_BYTES	   (4u << 20) /* 60 KiB so far */
#define PAGE_BYTES	   4096u
#define PAGES_AT_ONCE	   12u /* the longest array so far has 10 */
#define STRINGS_AT_ONCE	   256u
#define STRING_FIRST_BYTES 128u /* nearly all are shorter */

struct vm_type {
	const char *name;
	uint64_t size;
};

struct vm_structs {
	struct strbuf text;	 /* all strings, each with a NUL */
	struct vm_field *fields; /* sorted by type, name */
	size_t field_cnt;
	struct vm_type *types; /* sorted by name */
	size_t type_cnt;
};

/* ---- the arrays ---- */

/* An array of entries, copied as it is. */
struct entries {
	uint8_t *bytes;
	size_t cnt;
	size_t stride;
};

struct tables {
	const struct remote_mem *mem;
	uint64_t values[VM_SYMBOL_CNT]; /* what the exported variables hold */
	struct entries structs;
	struct entries types;
	struct address_ids strings; /* where they are in the process */
	size_t *offsets;	    /* by their ids: where they are in vm_structs.text */
};

static uint64_t entry_uint(const struct tables *tables, const uint8_t *entry, enum vm_symbol member,
			   size_t size)
{
	uint64_t value = 0;

	memcpy(&value, entry + tables->values[member], size);
	return le64toh(value);
}

/* Values of the exported variables; checks that every member lies within its entry. */
static int values_read(struct tables *tables, const struct vm_symbols *symbols)
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
	struct remote_piece pieces[VM_SYMBOL_CNT];
	uint64_t raw[VM_SYMBOL_CNT];
	int err;

	for (size_t i = 0; i < VM_SYMBOL_CNT; i++) {
		if (!symbols->addresses[i])
			return -ENOTSUP;
		pieces[i] = (struct remote_piece){ .address = symbols->addresses[i],
						   .out = &raw[i],
						   .len = sizeof(raw[i]) };
	}
	err = remote_mem_read_pieces(tables->mem, pieces, VM_SYMBOL_CNT);
	for (size_t i = 0; i < VM_SYMBOL_CNT && !err; i++) {
		err = pieces[i].err;
		tables->values[i] = le64toh(raw[i]);
	}
	if (err)
		return err;
	/* Constructors of libjvm.so fill these in; before that they are zero. */
	if (!tables->values[VM_SYMBOL_STRUCTS] || !tables->values[VM_SYMBOL_TYPES] ||
	    !tables->values[VM_SYMBOL_STRUCT_STRIDE] || !tables->values[VM_SYMBOL_TYPE_STRIDE])
		return -EAGAIN;
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		uint64_t stride = tables->values[members[i].stride];

		if (stride > ENTRY_MAX_BYTES || stride < members[i].size ||
		    tables->values[members[i].member] > stride - members[i].size)
			return -ENOTSUP;
	}
	return 0;
}

/*
 * Reads up to PAGES_AT_ONCE pages from `address` to their end, until one cannot be read. Bytes
 * read, or -errno when there are none.
 */
static ssize_t pages_read(const struct remote_mem *mem, uint64_t address, uint8_t *out)
{
	struct remote_piece pieces[PAGES_AT_ONCE];
	ssize_t bytes = 0;
	int err;

	for (size_t i = 0; i < PAGES_AT_ONCE; i++) {
		uint32_t len = PAGE_BYTES - (uint32_t)(address % PAGE_BYTES);

		pieces[i] = (struct remote_piece){ .address = address, .out = out, .len = len };
		if (__builtin_add_overflow(address, len, &address))
			return -EFAULT;
		out += len;
	}
	err = remote_mem_read_pieces(mem, pieces, PAGES_AT_ONCE);
	if (err)
		return err;
	for (size_t i = 0; i < PAGES_AT_ONCE && !pieces[i].err; i++)
		bytes += pieces[i].len;
	return bytes ? bytes : pieces[0].err;
}

/* Entries before the one without a type name, looked for from entry `from` on. */
static bool entries_count(const struct tables *tables, enum vm_symbol type_name, size_t bytes,
			  struct entries *entries)
{
	while ((entries->cnt + 1) * entries->stride <= bytes) {
		const uint8_t *entry = entries->bytes + entries->cnt * entries->stride;

		if (entry_uint(tables, entry, type_name, 8) == 0)
			return true;
		entries->cnt++;
	}
	return false;
}

static int entries_read(const struct tables *tables, enum vm_symbol array, enum vm_symbol stride,
			enum vm_symbol type_name, struct entries *entries)
{
	uint64_t address = tables->values[array];
	size_t bytes = 0;

	entries->stride = (size_t)tables->values[stride];
	for (;;) {
		uint8_t *grown = realloc(entries->bytes, bytes + PAGES_AT_ONCE * PAGE_BYTES);
		ssize_t got;

		if (!grown)
			return -ENOMEM;
		entries->bytes = grown;
		got = pages_read(tables->mem, address + bytes, grown + bytes);
		if (got < 0)
			return (int)got;
		bytes += (size_t)got;
		if (entries_count(tables, type_name, bytes, entries))
			return entries->cnt ? 0 : -EAGAIN;
		if (entries->cnt > ENTRY_MAX_CNT)
			return -ENOTSUP;
	}
}

/* ---- strings ---- */

static int string_note(struct tables *tables, const uint8_t *entry, enum vm_symbol member)
{
	uint64_t address = entry_uint(tables, entry, member, 8);
	size_t id;

	return address ? address_ids_add(&tables->strings, address, &id) : 0;
}

/* Notes where the strings of all entries are. */
static int strings_note(struct tables *tables)
{
	size_t max = tables->structs.cnt * 3 + tables->types.cnt;
	int err = address_ids_init(&tables->strings, max);

	for (size_t i = 0; i < tables->structs.cnt && !err; i++) {
		const uint8_t *entry = tables->structs.bytes + i * tables->structs.stride;

		err = string_note(tables, entry, VM_SYMBOL_STRUCT_TYPE_NAME);
		if (!err)
			err = string_note(tables, entry, VM_SYMBOL_STRUCT_FIELD_NAME);
		if (!err)
			err = string_note(tables, entry, VM_SYMBOL_STRUCT_TYPE_STRING);
	}
	for (size_t i = 0; i < tables->types.cnt && !err; i++)
		err = string_note(tables, tables->types.bytes + i * tables->types.stride,
				  VM_SYMBOL_TYPE_TYPE_NAME);
	return err;
}

/* A long string, or one that ends where nothing can be read any more. */
static int string_read_slowly(const struct remote_mem *mem, uint64_t address, struct strbuf *out)
{
	char text[NAME_MAX_BYTES];
	ssize_t got = remote_mem_read_some(mem, address, text, sizeof(text));
	const char *nul;

	if (got < 0)
		return (int)got;
	nul = memchr(text, '\0', (size_t)got);
	if (!nul)
		return got == sizeof(text) ? -ENOTSUP : -EFAULT;
	strbuf_append(out, text, (size_t)(nul - text) + 1);
	return strbuf_error(out);
}

static int string_take(const struct tables *tables, const struct remote_piece *piece,
		       struct strbuf *out)
{
	const char *text = piece->out;
	const char *nul = piece->err ? NULL : memchr(text, '\0', piece->len);

	if (out->len > TEXT_MAX_BYTES)
		return -ENOTSUP;
	if (!nul)
		return string_read_slowly(tables->mem, piece->address, out);
	strbuf_append(out, text, (size_t)(nul - text) + 1);
	return strbuf_error(out);
}

/* Reads `cnt` strings, at most STRINGS_AT_ONCE, of ids from `begin` on. */
static int strings_read_some(struct tables *tables, struct remote_batch *batch, size_t begin,
			     size_t cnt, struct strbuf *out)
{
	char bytes[STRINGS_AT_ONCE][STRING_FIRST_BYTES];
	struct remote_piece pieces[STRINGS_AT_ONCE];
	int err;

	for (size_t i = 0; i < cnt; i++)
		pieces[i] = (struct remote_piece){ .address = tables->strings.addresses[begin + i],
						   .out = bytes[i],
						   .len = STRING_FIRST_BYTES };
	err = remote_batch__read(batch, pieces, cnt);
	for (size_t i = 0; i < cnt && !err; i++) {
		tables->offsets[begin + i] = out->len;
		err = string_take(tables, &pieces[i], out);
	}
	return err;
}

/* All strings -> `out`, which begins with an empty one. */
static int strings_read(struct tables *tables, struct strbuf *out)
{
	struct remote_batch *batch = remote_batch__new(tables->mem);
	size_t cnt = tables->strings.cnt;
	int err;

	strbuf_putc(out, '\0');
	err = strbuf_error(out);
	tables->offsets = calloc(cnt ? cnt : 1, sizeof(*tables->offsets));
	if (!batch || !tables->offsets)
		err = -ENOMEM;
	for (size_t begin = 0; begin < cnt && !err; begin += STRINGS_AT_ONCE) {
		size_t left = cnt - begin;

		err = strings_read_some(tables, batch, begin,
					left < STRINGS_AT_ONCE ? left : STRINGS_AT_ONCE, out);
	}
	remote_batch__free(batch);
	return err;
}

/* ---- what it means ---- */

/* The string that a member points to. NULL pointer: "". */
static const char *entry_string(const struct vm_structs *structs, struct tables *tables,
				const uint8_t *entry, enum vm_symbol member)
{
	uint64_t address = entry_uint(tables, entry, member, 8);
	size_t id;

	if (!address || address_ids_add(&tables->strings, address, &id))
		return structs->text.data;
	return structs->text.data + tables->offsets[id];
}

static int fields_make(struct vm_structs *structs, struct tables *tables)
{
	structs->fields = calloc(tables->structs.cnt, sizeof(*structs->fields));
	if (!structs->fields)
		return -ENOMEM;
	structs->field_cnt = tables->structs.cnt;
	for (size_t i = 0; i < structs->field_cnt; i++) {
		const uint8_t *entry = tables->structs.bytes + i * tables->structs.stride;
		struct vm_field *field = &structs->fields[i];

		field->type = entry_string(structs, tables, entry, VM_SYMBOL_STRUCT_TYPE_NAME);
		field->name = entry_string(structs, tables, entry, VM_SYMBOL_STRUCT_FIELD_NAME);
		field->type_string =
			entry_string(structs, tables, entry, VM_SYMBOL_STRUCT_TYPE_STRING);
		field->is_static = entry_uint(tables, entry, VM_SYMBOL_STRUCT_IS_STATIC, 4) != 0;
		if (field->is_static)
			field->address = entry_uint(tables, entry, VM_SYMBOL_STRUCT_ADDRESS, 8);
		else
			field->offset = entry_uint(tables, entry, VM_SYMBOL_STRUCT_OFFSET, 8);
	}
	return 0;
}

static int types_make(struct vm_structs *structs, struct tables *tables)
{
	structs->types = calloc(tables->types.cnt, sizeof(*structs->types));
	if (!structs->types)
		return -ENOMEM;
	structs->type_cnt = tables->types.cnt;
	for (size_t i = 0; i < structs->type_cnt; i++) {
		const uint8_t *entry = tables->types.bytes + i * tables->types.stride;

		structs->types[i].name =
			entry_string(structs, tables, entry, VM_SYMBOL_TYPE_TYPE_NAME);
		structs->types[i].size = entry_uint(tables, entry, VM_SYMBOL_TYPE_SIZE, 8);
	}
	return 0;
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

static int structs_fill(struct vm_structs *structs, struct tables *tables,
			const struct vm_symbols *symbols)
{
	int err = values_read(tables, symbols);

	if (!err)
		err = entries_read(tables, VM_SYMBOL_STRUCTS, VM_SYMBOL_STRUCT_STRIDE,
				   VM_SYMBOL_STRUCT_TYPE_NAME, &tables->structs);
	if (!err)
		err = entries_read(tables, VM_SYMBOL_TYPES, VM_SYMBOL_TYPE_STRIDE,
				   VM_SYMBOL_TYPE_TYPE_NAME, &tables->types);
	if (!err)
		err = strings_note(tables);
	if (!err)
		err = strings_read(tables, &structs->text);
	if (!err)
		err = fields_make(structs, tables);
	if (!err)
		err = types_make(structs, tables);
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
	struct tables tables = { .mem = mem };
	int err = structs ? structs_fill(structs, &tables, symbols) : -ENOMEM;

	free(tables.structs.bytes);
	free(tables.types.bytes);
	free(tables.offsets);
	address_ids_release(&tables.strings);
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
	strbuf_release(&structs->text);
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
