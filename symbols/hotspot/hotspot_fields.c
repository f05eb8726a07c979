// SPDX-License-Identifier: Apache-2.0
/* Tables of a class's fields, read once per JVM: piece by piece, each number checked before it is used. */
#include "symbols/hotspot/hotspot_fields.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "symbols/hotspot/hotspot_layout.h"
#include "symbols/hotspot/unsigned5.h"
#include "user/util/byte_reader.h"

#define ENTRY_BYTES	   8u
#define FIELD_U2S	   6u /* access, name, signature, initial value, low and high half of the offset */
#define FIELD_CNT_MAX	   64u /* java.lang.Thread has 30 at most, String 10 */
#define TABLE_MAX_BYTES	   (FIELD_CNT_MAX * FIELD_U2S * 2)
#define OFFSET_TAG_BITS	   2u /* of the low half: what the number means; 1: it is an offset */
#define OFFSET_TAG	   1u
#define OBJECT_MAX_BYTES   4096u
#define TEXT_MAX_BYTES	   64u
#define FLAG_INITIALIZED   1u /* what follows a field in the stream, by its flags */
#define FLAG_GENERIC	   4u
#define FLAG_CONTENDED	   16u
#define PACKED_LENGTH_HIGH 2u /* of Symbol::_length_and_refcount its high half is the length */

struct finder {
	const struct remote_mem *mem;
	uint64_t pool; /* ConstantPool of the class */
	uint64_t pool_size;
	uint64_t pool_length;
	uint64_t symbol_length; /* offset of an u2 */
	uint64_t symbol_body;
	uint64_t array_data; /* of Array<T>, whose length stands at its begin */
	struct hotspot_java_field *fields;
	size_t field_cnt;
};

/* One field as the class's table has it. */
struct entry {
	uint32_t name, signature, offset;
};

static int symbols_begin(const struct vm_structs *structs, struct finder *finder)
{
	int err = vm_structs__offset(structs, "Symbol", "_length", &finder->symbol_length);

	if (err) {
		err = vm_structs__offset(structs, "Symbol", "_length_and_refcount",
					 &finder->symbol_length);
		finder->symbol_length += PACKED_LENGTH_HIGH;
	}
	if (!err && vm_structs__offset(structs, "Symbol", "_body", &finder->symbol_body))
		err = vm_structs__offset(structs, "Symbol", "_body[0]", &finder->symbol_body);
	return err;
}

/* Where names are. */
static int finder_begin(const struct vm_structs *structs, uint64_t klass, struct finder *finder)
{
	uint64_t constants, length;
	int err = symbols_begin(structs, finder);

	if (!err)
		err = vm_structs__type_size(structs, "ConstantPool", &finder->pool_size);
	if (!err)
		err = vm_structs__offset(structs, "ConstantPool", "_length", &length);
	if (!err)
		err = vm_structs__offset(structs, "InstanceKlass", "_constants", &constants);
	if (err || finder->pool_size > OBJECT_MAX_BYTES || constants > OBJECT_MAX_BYTES ||
	    length > OBJECT_MAX_BYTES)
		return -ENOTSUP;
	err = remote_mem_read_uint(finder->mem, klass + constants, 8, &finder->pool);
	if (!err && !hotspot_address_is_sane(finder->pool))
		err = -ENOTSUP;
	return err ? err :
		     remote_mem_read_uint(finder->mem, finder->pool + length, 4,
					  &finder->pool_length);
}

/* The Symbol of an entry of the constant pool as text; "" for one that is too long to be meant. */
static int text_of(const struct finder *finder, uint32_t index, char out[TEXT_MAX_BYTES])
{
	uint64_t symbol, len;
	int err;

	out[0] = '\0';
	if (index == 0 || index >= finder->pool_length)
		return 0; /* of fields that the JVM has added it is no index */
	err = remote_mem_read_uint(finder->mem,
				   finder->pool + finder->pool_size + (uint64_t)index * ENTRY_BYTES,
				   ENTRY_BYTES, &symbol);
	if (!err && !hotspot_address_is_sane(symbol))
		return 0;
	if (!err)
		err = remote_mem_read_uint(finder->mem, symbol + finder->symbol_length, 2, &len);
	if (err || len >= TEXT_MAX_BYTES)
		return err;
	err = remote_mem_read(finder->mem, symbol + finder->symbol_body, out, (size_t)len);
	out[err ? 0 : len] = '\0';
	return err;
}

static int take_entry(struct finder *finder, const struct entry *entry)
{
	char name[TEXT_MAX_BYTES], signature[TEXT_MAX_BYTES];
	int err = text_of(finder, entry->name, name);

	if (!err)
		err = text_of(finder, entry->signature, signature);
	for (size_t i = 0; i < finder->field_cnt && !err; i++) {
		struct hotspot_java_field *field = &finder->fields[i];

		if (strcmp(field->name, name) == 0 && strcmp(field->signature, signature) == 0 &&
		    entry->offset < OBJECT_MAX_BYTES)
			field->offset = entry->offset;
	}
	return err;
}

/* InstanceKlass::_fields: of each field six u2. */
static int take_array(struct finder *finder, const uint8_t *bytes, size_t len)
{
	struct byte_reader reader = byte_reader_init(bytes, len);
	int err = 0;

	while (reader.left >= FIELD_U2S * 2 && !err) {
		struct entry entry;
		uint32_t low, high;

		(void)byte_reader_u16(&reader);
		entry.name = byte_reader_u16(&reader);
		entry.signature = byte_reader_u16(&reader);
		(void)byte_reader_u16(&reader);
		low = byte_reader_u16(&reader);
		high = byte_reader_u16(&reader);
		entry.offset = (high << 16 | low) >> OFFSET_TAG_BITS;
		if ((low & ((1u << OFFSET_TAG_BITS) - 1)) == OFFSET_TAG)
			err = take_entry(finder, &entry);
	}
	return err;
}

/* InstanceKlass::_fieldinfo_stream: two counts, then the fields, of which some have more numbers. */
static int take_stream(struct finder *finder, const uint8_t *bytes, size_t len)
{
	static const uint32_t extras[] = { FLAG_INITIALIZED, FLAG_GENERIC, FLAG_CONTENDED };
	struct byte_reader reader = byte_reader_init(bytes, len);
	uint32_t cnt = unsigned5_read(&reader, true);
	int err = 0;

	(void)unsigned5_read(&reader, true);
	for (uint32_t i = 0; i < cnt && !err; i++) {
		struct entry entry;
		uint32_t flags;

		entry.name = unsigned5_read(&reader, true);
		entry.signature = unsigned5_read(&reader, true);
		entry.offset = unsigned5_read(&reader, true);
		(void)unsigned5_read(&reader, true); /* access */
		flags = unsigned5_read(&reader, true);
		for (size_t k = 0; k < sizeof(extras) / sizeof(extras[0]); k++)
			if (flags & extras[k])
				(void)unsigned5_read(&reader, true);
		err = reader.failed ? -ENOTSUP : take_entry(finder, &entry);
	}
	return err;
}

/* The array behind a field of the class. Its length is in elements of `size` bytes. */
static int array_read(const struct finder *finder, uint64_t at, size_t size,
		      uint8_t out[TABLE_MAX_BYTES], size_t *len_out)
{
	uint64_t array, cnt;
	int err = remote_mem_read_uint(finder->mem, at, 8, &array);

	if (!err && !hotspot_address_is_sane(array))
		return -ENOTSUP;
	if (!err)
		err = remote_mem_read_uint(finder->mem, array, 4, &cnt);
	if (err)
		return err;
	if (cnt > TABLE_MAX_BYTES / size)
		return -ENOTSUP;
	*len_out = (size_t)cnt * size;
	return remote_mem_read(finder->mem, array + finder->array_data, out, *len_out);
}

int hotspot_fields_find(const struct remote_mem *mem, const struct vm_structs *structs,
			uint64_t klass, struct hotspot_java_field *fields, size_t cnt)
{
	struct finder finder = { .mem = mem, .fields = fields, .field_cnt = cnt };
	uint8_t bytes[TABLE_MAX_BYTES];
	bool is_stream = false;
	uint64_t table;
	size_t len = 0;
	int err = finder_begin(structs, klass, &finder);

	if (err)
		return err;
	for (size_t i = 0; i < cnt; i++)
		fields[i].offset = 0;
	if (vm_structs__offset(structs, "InstanceKlass", "_fields", &table)) {
		is_stream = true;
		if (vm_structs__offset(structs, "InstanceKlass", "_fieldinfo_stream", &table))
			return -ENOTSUP;
	}
	if (vm_structs__offset(structs, is_stream ? "Array<u1>" : "Array<u2>", "_data",
			       &finder.array_data) ||
	    table > OBJECT_MAX_BYTES || finder.array_data > OBJECT_MAX_BYTES)
		return -ENOTSUP;
	err = array_read(&finder, klass + table, is_stream ? 1 : 2, bytes, &len);
	if (err)
		return err;
	return is_stream ? take_stream(&finder, bytes, len) : take_array(&finder, bytes, len);
}
