// SPDX-License-Identifier: Apache-2.0
/*
 * Source file and line numbers of one method (src/hotspot/share/oops/method.cpp,
 * code/compressedStream.hpp). Method -> ConstMethod, behind which lie the bytecodes and then the
 * compressed line table; the file's name is a Symbol that the constant pool (JDK 15 on) or its
 * class (before) has an index of.
 */
#include "symbols/hotspot/hotspot_scopes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/hotspot/hotspot_scopes_memory.h"
#include "symbols/hotspot/unsigned5.h"
#include "user/util/byte_reader.h"
#include "user/util/cleanup.h"
#include "user/util/vec.h"

#define PAGE_BYTES	    4096u
#define OBJECT_MAX_BYTES    512u /* sizeof(ConstMethod), ConstantPool: below 100 so far */
#define FILE_MAX_BYTES	    255u
#define CODE_MAX_BYTES	    65535u
#define LINE_CNT_MAX	    65536u
#define TABLE_MAX_BYTES	    (LINE_CNT_MAX * (1 + 2 * UNSIGNED5_MAX_BYTES))
#define FLAG_HAS_LINES	    1u
#define POINTER_MASK	    (~(uint64_t)1) /* bit 0 of a constant pool entry marks unresolved classes */
#define ESCAPE_BYTE	    0xff
#define LINE_BITS	    3
#define LINE_MASK	    7u
#define SYMBOL_PACKED_SHIFT 16
#define SYMBOL_FIRST_BYTES  64u /* names of files seldom are longer */

struct line_entry {
	uint16_t bci;
	uint16_t line;
};

struct hotspot_lines {
	uint32_t entry_cnt;
	struct line_entry entries[]; /* by bci; behind them the file's name with its NUL */
};

/* ---- objects of the JVM ---- */

/* What is needed of a ConstMethod, and the bytes it came from. */
struct const_method {
	uint64_t address;
	uint64_t constants;
	uint32_t code_size;
	bool has_lines;
	uint32_t len;
	uint8_t bytes[OBJECT_MAX_BYTES];
};

/* Garbage from the JVM may point anywhere: that is no failure of reading. */
static int foreign_read(const struct remote_mem *mem, uint64_t address, void *out, size_t len)
{
	int err = address ? remote_mem_read(mem, address, out, len) : -EAGAIN;

	return err == -EFAULT ? -EAGAIN : err;
}

static int foreign_field(const struct remote_mem *mem, uint64_t object,
			 const struct hotspot_field *field, uint64_t *out)
{
	uint64_t address;
	uint64_t value = 0;
	int err;

	if (object == 0 || field->size > sizeof(value) ||
	    __builtin_add_overflow(object, field->offset, &address))
		return -EAGAIN;
	err = foreign_read(mem, address, &value, field->size);
	if (!err)
		*out = le64toh(value);
	return err;
}

static uint64_t field_of(const uint8_t *bytes, size_t len, const struct hotspot_field *field)
{
	struct byte_reader reader = byte_reader_init(bytes, len);

	if (field->size > sizeof(uint64_t))
		return 0;
	byte_reader_take(&reader, field->offset);
	return byte_reader_uint(&reader, field->size);
}

static int const_method_read(const struct remote_mem *mem, const struct hotspot_layout *layout,
			     uint64_t method, struct const_method *out)
{
	uint64_t code_size;
	int err;

	if (layout->const_method_size == 0 || layout->const_method_size > OBJECT_MAX_BYTES)
		return -EAGAIN;
	err = foreign_field(mem, method, &layout->method_const_method, &out->address);
	if (!err)
		err = foreign_read(mem, out->address, out->bytes, layout->const_method_size);
	if (err)
		return err;
	code_size =
		field_of(out->bytes, layout->const_method_size, &layout->const_method_code_size);
	if (code_size > CODE_MAX_BYTES)
		return -EAGAIN;
	out->len = layout->const_method_size;
	out->code_size = (uint32_t)code_size;
	out->constants = field_of(out->bytes, out->len, &layout->const_method_constants);
	out->has_lines = hotspot_layout_has_lines(layout) &&
			 field_of(out->bytes, out->len, &layout->const_method_flags) &
				 FLAG_HAS_LINES;
	return 0;
}

/*
 * Is the method still made of the same bytes? Class redefinition and unloading change them. One
 * system call for both steps.
 */
static int const_method_verify(const struct remote_mem *mem, const struct hotspot_layout *layout,
			       uint64_t method, const struct const_method *was)
{
	uint64_t address = 0;
	uint8_t bytes[OBJECT_MAX_BYTES];
	struct remote_piece pieces[] = {
		{ method + layout->method_const_method.offset, &address, sizeof(address), 0 },
		{ was->address, bytes, was->len, 0 },
	};
	int err = remote_mem_read_pieces(mem, pieces, ARRAY_SIZE(pieces));

	if (err)
		return err;
	if (pieces[0].err || pieces[1].err || le64toh(address) != was->address ||
	    memcmp(bytes, was->bytes, was->len) != 0)
		return -EAGAIN;
	return 0;
}

/* ---- file ---- */

/* It ends up in pages and terminals as the last part of a path: no slash, no control bytes. */
static bool file_is_sane(const char *file, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (file[i] <= ' ' || file[i] > '~' || file[i] == '/' || file[i] == '\\')
			return false;
	}
	return len > 0;
}

/*
 * As much of [address, address + max) as is on the page where it begins: the next page may be
 * missing.
 */
static int page_read(const struct remote_mem *mem, uint64_t address, void *out, size_t max,
		     size_t *len_out)
{
	size_t left = PAGE_BYTES - address % PAGE_BYTES;
	int err;

	if (left > max)
		left = max;
	err = foreign_read(mem, address, out, left);
	if (!err)
		*len_out = left;
	return err;
}

/* 0; -EINVAL: no name that may be shown; -EAGAIN and the like. */
static int symbol_read(const struct remote_mem *mem, const struct hotspot_layout *layout,
		       uint64_t symbol, char out[FILE_MAX_BYTES + 1])
{
	uint8_t bytes[SYMBOL_FIRST_BYTES];
	const size_t body = layout->symbol_body.offset;
	size_t head = 0;
	uint64_t len, rest;
	int err = page_read(mem, symbol, bytes, sizeof(bytes), &head);

	if (err)
		return err;
	len = field_of(bytes, head, &layout->symbol_length);
	if (layout->symbol_length_is_packed)
		len >>= SYMBOL_PACKED_SHIFT;
	if (len == 0 || len > FILE_MAX_BYTES)
		return -EINVAL;
	head = head > body ? head - body : 0;
	if (head > len)
		head = len;
	if (head)
		memcpy(out, bytes + body, head);
	if (head < len) {
		if (__builtin_add_overflow(symbol, body + head, &rest))
			return -EAGAIN;
		err = foreign_read(mem, rest, out + head, len - head);
		if (err)
			return err;
	}
	out[len] = '\0';
	return file_is_sane(out, len) ? 0 : -EINVAL;
}

/* Index of the file's name in the constant pool; 0 = the class file named none. */
static int file_index_read(const struct remote_mem *mem, const struct hotspot_layout *layout,
			   uint64_t pool, uint64_t *index_out)
{
	uint8_t bytes[OBJECT_MAX_BYTES];
	size_t len = layout->pool_size;
	int err;

	if (len == 0 || len > sizeof(bytes))
		return -EAGAIN;
	err = foreign_read(mem, pool, bytes, len);
	if (err)
		return err;
	if (hotspot_field_exists(&layout->pool_source_file_name_index))
		*index_out = field_of(bytes, len, &layout->pool_source_file_name_index);
	else
		err = foreign_field(mem, field_of(bytes, len, &layout->pool_holder),
				    &layout->instance_klass_source_file_name_index, index_out);
	if (err)
		return err;
	return *index_out < (uint32_t)field_of(bytes, len, &layout->pool_length) ? 0 : -EAGAIN;
}

/* "" when there is none, or none that may be shown. */
static int file_read(const struct remote_mem *mem, const struct hotspot_layout *layout,
		     uint64_t pool, char out[FILE_MAX_BYTES + 1])
{
	const struct hotspot_field entry = { .offset = 0, .size = sizeof(uint64_t) };
	uint64_t index, address, symbol;
	int err;

	out[0] = '\0';
	if (!hotspot_field_exists(&layout->pool_source_file_name_index) &&
	    !hotspot_field_exists(&layout->instance_klass_source_file_name_index))
		return 0;
	err = file_index_read(mem, layout, pool, &index);
	if (err || index == 0)
		return err;
	if (__builtin_add_overflow(pool, layout->pool_size + index * entry.size, &address))
		return -EAGAIN;
	err = foreign_field(mem, address, &entry, &symbol);
	if (!err)
		err = symbol_read(mem, layout, symbol & POINTER_MASK, out);
	if (err == -EINVAL) {
		out[0] = '\0';
		err = 0;
	}
	return err;
}

/* ---- table ---- */

/* The compressed table as far as it has been read, and what was made of it. */
struct table {
	uint8_t *bytes;
	size_t len;
	size_t at; /* first byte not decoded */
	bool is_complete;
	bool is_sorted;
	bool excludes_zero;
	uint32_t code_size;
	int64_t bci;
	int64_t line;
	struct line_entry *entries;
	size_t cnt;
	size_t room;
};

static void table_release(struct table *table)
{
	free(table->bytes);
	free(table->entries);
}

/* Appends the bytes from `begin` + len to the end of that page: the next page may be missing. */
static int table_read_more(const struct remote_mem *mem, uint64_t begin, struct table *table)
{
	uint64_t address;
	uint8_t *grown;
	size_t more;
	int err;

	if (table->len >= TABLE_MAX_BYTES || __builtin_add_overflow(begin, table->len, &address))
		return -EAGAIN;
	more = PAGE_BYTES - address % PAGE_BYTES;
	grown = realloc(table->bytes, table->len + more);
	if (!grown)
		return -ENOMEM;
	table->bytes = grown;
	err = foreign_read(mem, address, table->bytes + table->len, more);
	if (!err)
		table->len += more;
	return err;
}

static int table_add(struct table *table)
{
	if (table->bci < 0 || table->bci >= table->code_size || table->line < 0 ||
	    table->line > UINT16_MAX || table->cnt == LINE_CNT_MAX)
		return -EAGAIN;
	if (vec_room(table->entries, table->cnt, table->room, 32))
		return -ENOMEM;
	if (table->cnt && table->bci <= table->entries[table->cnt - 1].bci)
		table->is_sorted = false;
	table->entries[table->cnt++] = (struct line_entry){
		.bci = (uint16_t)table->bci,
		.line = (uint16_t)table->line,
	};
	return 0;
}

/* Decodes what is complete; ends early, without error, where bytes are still missing. */
static int table_decode(struct table *table)
{
	while (!table->is_complete) {
		struct byte_reader reader =
			byte_reader_init(table->bytes + table->at, table->len - table->at);
		uint8_t byte = byte_reader_u8(&reader);
		int64_t bci_delta = byte >> LINE_BITS;
		int64_t line_delta = byte & LINE_MASK;
		int err;

		if (byte == ESCAPE_BYTE) {
			bci_delta = unsigned5_read_signed(&reader, table->excludes_zero);
			line_delta = unsigned5_read_signed(&reader, table->excludes_zero);
		}
		if (reader.failed)
			return 0;
		if (byte == 0) {
			table->is_complete = true;
			return 0;
		}
		table->at = table->len - reader.left;
		table->bci += bci_delta;
		table->line += line_delta;
		err = table_add(table);
		if (err)
			return err;
	}
	return 0;
}

struct sort_key {
	struct line_entry entry;
	uint32_t order;
};

static int sort_key_compare(const void *a, const void *b)
{
	const struct sort_key *left = a;
	const struct sort_key *right = b;

	if (left->entry.bci != right->entry.bci)
		return (left->entry.bci > right->entry.bci) - (left->entry.bci < right->entry.bci);
	return (left->order > right->order) - (left->order < right->order);
}

/* javac writes tables in order; other compilers need not. */
static int table_sort(struct table *table)
{
	struct sort_key *keys;

	if (table->is_sorted)
		return 0;
	keys = reallocarray(NULL, table->cnt, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < table->cnt; i++)
		keys[i] = (struct sort_key){ table->entries[i], (uint32_t)i };
	qsort(keys, table->cnt, sizeof(*keys), sort_key_compare);
	for (size_t i = 0; i < table->cnt; i++)
		table->entries[i] = keys[i].entry;
	free(keys);
	return 0;
}

static int table_read(const struct remote_mem *mem, const struct const_method *method,
		      struct table *table)
{
	uint64_t begin;
	int err = 0;

	if (__builtin_add_overflow(method->address, (uint64_t)method->len + method->code_size,
				   &begin))
		return -EAGAIN;
	while (!err && !table->is_complete) {
		err = table_read_more(mem, begin, table);
		if (!err)
			err = table_decode(table);
	}
	return err ? err : table_sort(table);
}

/* ---- object ---- */

static int lines_new(const struct table *table, const char *file, struct hotspot_lines **out)
{
	size_t entries_bytes = table->cnt * sizeof(*table->entries);
	size_t file_bytes = strlen(file) + 1;
	struct hotspot_lines *lines = malloc(sizeof(*lines) + entries_bytes + file_bytes);

	if (!lines)
		return -ENOMEM;
	lines->entry_cnt = (uint32_t)table->cnt;
	if (entries_bytes)
		memcpy(lines->entries, table->entries, entries_bytes);
	memcpy(&lines->entries[table->cnt], file, file_bytes);
	*out = lines;
	return 0;
}

int hotspot_lines_read_memory(const struct remote_mem *mem, const struct hotspot_layout *layout,
			      uint64_t method, struct hotspot_lines **out)
{
	__attribute__((cleanup(table_release))) struct table table = {
		.is_sorted = true,
		.excludes_zero = layout->unsigned5_excludes_zero,
	};
	char file[FILE_MAX_BYTES + 1];
	struct const_method const_method;
	int err = const_method_read(mem, layout, method, &const_method);

	if (err)
		return err;
	err = file_read(mem, layout, const_method.constants, file);
	table.code_size = const_method.code_size;
	if (!err && const_method.has_lines)
		err = table_read(mem, &const_method, &table);
	if (!err)
		err = const_method_verify(mem, layout, method, &const_method);
	return err ? err : lines_new(&table, file, out);
}

int hotspot_lines__read(struct hotspot_code *code, uint64_t method, struct hotspot_lines **out)
{
	return hotspot_lines_read_memory(hotspot_code__mem(code), hotspot_code__layout(code),
					 method, out);
}

void hotspot_lines__free(struct hotspot_lines *lines)
{
	free(lines);
}

size_t hotspot_lines__bytes(const struct hotspot_lines *lines)
{
	return sizeof(*lines) + lines->entry_cnt * sizeof(lines->entries[0]) +
	       strlen(hotspot_lines__file(lines)) + 1;
}

const char *hotspot_lines__file(const struct hotspot_lines *lines)
{
	return (const char *)&lines->entries[lines->entry_cnt];
}

/* As Method::line_number_from_bci: of several entries for this very bci the first, of those before
 * it the last. */
uint32_t hotspot_lines__line(const struct hotspot_lines *lines, int32_t bci)
{
	size_t low = 0;
	size_t high = lines->entry_cnt;

	if (bci < 0) /* on entry, before the first bytecode */
		bci = 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lines->entries[middle].bci < bci)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < lines->entry_cnt && lines->entries[low].bci == bci)
		return lines->entries[low].line;
	return low ? lines->entries[low - 1].line : 0;
}
