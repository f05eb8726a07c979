// SPDX-License-Identifier: Apache-2.0
/*
 * Finds the counters once and reads their 8 bytes from then on. The format is that of jvmstat 2.0
 * (share/runtime/perfMemory.hpp), the same since JDK 5, as tools of any version read it: a
 * prologue, then entries with a name and a value, which never move. The memory is shared with a
 * file that the JVM's owner may write to, so everything in it is checked against its bounds.
 */
#include "symbols/hotspot/hotspot_unloads.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/hotspot/hotspot_layout.h"
#include "user/util/byte_reader.h"
#include "user/util/cleanup.h"

#define UNLOADS_NAME	"java.cls.unloadedClasses"
#define COMPILES_NAME	"sun.ci.totalCompiles"
#define PROLOGUE_BYTES	32u
#define PERF_MAGIC	0xc0c0fecau /* read as little endian */
#define PERF_LITTLE	1u
#define PERF_MAJOR	2u
#define PERF_MAX_BYTES	(1u << 20) /* PerfDataMemorySize: 32 KiB, or 64 */
#define ENTRY_BYTES	20u
#define ENTRY_TYPE_LONG 'J'

struct prologue {
	uint32_t used; /* bytes, with the prologue itself */
	uint32_t entry_offset;
	uint32_t entry_cnt;
};

void hotspot_unloads_init(struct hotspot_unloads *unloads, const struct vm_structs *structs)
{
	*unloads = (struct hotspot_unloads){ .has_none = false };
	unloads->has_none = vm_structs__static_address(structs, "PerfMemory", "_start",
						       &unloads->start_address) != 0;
}

/* 0; -EAGAIN: not open to readers yet; -ENOENT: not this format. */
static int prologue_decode(const uint8_t bytes[PROLOGUE_BYTES], struct prologue *out)
{
	struct byte_reader reader = byte_reader_init(bytes, PROLOGUE_BYTES);
	uint32_t magic = byte_reader_u32(&reader);
	uint8_t byte_order = byte_reader_u8(&reader);
	uint8_t major = byte_reader_u8(&reader);
	bool is_accessible;

	(void)byte_reader_u8(&reader); /* minor */
	is_accessible = byte_reader_u8(&reader) != 0;
	out->used = byte_reader_u32(&reader);
	(void)byte_reader_take(&reader, 12); /* overflow, time stamp */
	out->entry_offset = byte_reader_u32(&reader);
	out->entry_cnt = byte_reader_u32(&reader);
	if (magic == 0 || (magic == PERF_MAGIC && !is_accessible))
		return -EAGAIN;
	if (magic != PERF_MAGIC || byte_order != PERF_LITTLE || major != PERF_MAJOR ||
	    out->used > PERF_MAX_BYTES || out->used < PROLOGUE_BYTES ||
	    out->entry_offset < PROLOGUE_BYTES)
		return -ENOENT;
	return 0;
}

/* Is the entry, of `len` bytes, the counter of this name? Then *value_out is where its value is, in the entry. */
static bool entry_is_counter(const uint8_t *entry, size_t len, const char *counter_name,
			     uint32_t *value_out)
{
	struct byte_reader reader = byte_reader_init(entry, len);
	size_t name_bytes = strlen(counter_name) + 1;
	uint32_t name, vector_len, value;
	uint8_t type;

	(void)byte_reader_u32(&reader); /* its length */
	name = byte_reader_u32(&reader);
	vector_len = byte_reader_u32(&reader);
	type = byte_reader_u8(&reader);
	(void)byte_reader_take(&reader, 3); /* flags, units, variability */
	value = byte_reader_u32(&reader);
	if (reader.failed || name > len || len - name < name_bytes ||
	    memcmp(entry + name, counter_name, name_bytes) != 0)
		return false;
	if (vector_len != 0 || type != ENTRY_TYPE_LONG || value > len ||
	    len - value < sizeof(uint64_t))
		return false;
	*value_out = value;
	return true;
}

/* Offset of the counter's value in `bytes`; 0 when it is not in there. */
static uint32_t counter_offset(const uint8_t *bytes, const struct prologue *prologue,
			       const char *name)
{
	uint32_t at = prologue->entry_offset, value;

	for (uint32_t i = 0; i < prologue->entry_cnt; i++) {
		uint32_t left = at <= prologue->used ? prologue->used - at : 0;
		uint32_t len;

		if (left < ENTRY_BYTES)
			return 0;
		memcpy(&len, bytes + at, sizeof(len));
		len = le32toh(len);
		if (len < ENTRY_BYTES || len > left)
			return 0;
		if (entry_is_counter(bytes + at, len, name, &value))
			return at + value;
		at += len;
	}
	return 0;
}

/* 0 when there is none. Increased without a lock: only an aligned word is never torn. */
static uint64_t counter_address(const uint8_t *bytes, const struct prologue *prologue,
				const char *name, uint64_t start)
{
	uint32_t offset = counter_offset(bytes, prologue, name);

	return offset && (start + offset) % sizeof(uint64_t) == 0 ? start + offset : 0;
}

/* 0; -EAGAIN: not there yet; -ENOENT: never; -errno of reading. */
static int counters_find(struct hotspot_unloads *unloads, const struct remote_mem *mem)
{
	__cleanup_free uint8_t *bytes = NULL;
	uint8_t begin[PROLOGUE_BYTES];
	struct prologue prologue;
	uint64_t start;
	int err = remote_mem_read_uint(mem, unloads->start_address, 8, &start);

	if (err)
		return err;
	/* With -XX:-UsePerfData there is none; before it is made there is none either. */
	if (!hotspot_address_is_sane(start))
		return -EAGAIN;
	err = remote_mem_read(mem, start, begin, sizeof(begin));
	if (!err)
		err = prologue_decode(begin, &prologue);
	if (err)
		return err;
	bytes = malloc(prologue.used);
	if (!bytes)
		return -ENOMEM;
	err = remote_mem_read(mem, start, bytes, prologue.used);
	/*
	 * The JVM maps all of it at once. Anything else is not the JVM's, and is not asked for
	 * again.
	 */
	if (err)
		return remote_mem_error_is_local(err) ? -ENOENT : err;
	unloads->counter = counter_address(bytes, &prologue, UNLOADS_NAME, start);
	unloads->compiles = counter_address(bytes, &prologue, COMPILES_NAME, start);
	return unloads->counter ? 0 : -ENOENT;
}

int hotspot_unloads_read(struct hotspot_unloads *unloads, const struct remote_mem *mem,
			 uint64_t *out)
{
	int err = unloads->has_none ? -ENOENT : 0;

	if (!err && !unloads->counter) {
		err = counters_find(unloads, mem);
		unloads->has_none = err == -ENOENT;
	}
	return err ? err : remote_mem_read_uint(mem, unloads->counter, sizeof(*out), out);
}

int hotspot_compiles_read(const struct hotspot_unloads *unloads, const struct remote_mem *mem,
			  uint64_t *out)
{
	if (!unloads->compiles)
		return -ENOENT;
	return remote_mem_read_uint(mem, unloads->compiles, sizeof(*out), out);
}
