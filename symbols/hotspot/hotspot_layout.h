/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where HotSpot keeps what names its code: offsets and sizes of the fields that its exported tables
 * name (src/hotspot/share/runtime/vmStructs.cpp). Decides by which fields exist, never by version. Pure
 * data once filled: no address of a process is in it except those of static fields.
 */
#ifndef JBPF_HOTSPOT_HOTSPOT_LAYOUT_H
#define JBPF_HOTSPOT_HOTSPOT_LAYOUT_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "user/util/attributes.h"
#include "symbols/hotspot/vm_structs.h"

/* A field of an object: offset from its begin, bytes wide (1, 2, 4, 8); size 0 = this VM has none. */
struct hotspot_field {
	uint16_t offset;
	uint8_t size;
	bool is_signed;
};

static inline bool hotspot_field_exists(const struct hotspot_field *field)
{
	return field->size != 0;
}

/* Its value in a copy of the object, which must reach hotspot_field_end(). 0 when it is missing. */
static inline uint64_t hotspot_field_uint(const struct hotspot_field *field, const void *object)
{
	uint64_t value = 0;

	memcpy(&value, (const char *)object + field->offset, field->size);
	return le64toh(value);
}

/* The same with its sign, for fields of at most 8 bytes. */
static inline int64_t hotspot_field_int(const struct hotspot_field *field, const void *object)
{
	uint64_t value = hotspot_field_uint(field, object);
	unsigned unused_bits = 64 - 8u * field->size;

	if (!field->is_signed || !field->size)
		return (int64_t)value;
	return (int64_t)(value << unused_bits) >> unused_bits;
}

static inline uint32_t hotspot_field_end(const struct hotspot_field *field)
{
	return (uint32_t)field->offset + field->size;
}

#define HOTSPOT_HEAP_MAX_BYTES	 1024u /* within them lies all that is needed of a CodeHeap */
#define HOTSPOT_PREFIX_MAX_BYTES 256u  /* likewise of a ConstMethod and a ConstantPool */

struct hotspot_layout {
	/* Static fields: addresses in the process; 0 = this VM has none. */
	uint64_t heaps;		   /* CodeCache::_heaps, GrowableArray<CodeHeap*>* (9+) */
	uint64_t heap;		   /* CodeCache::_heap, CodeHeap* (8) */
	uint64_t low_bound;	   /* CodeCache::_low_bound (11+) */
	uint64_t high_bound;	   /* CodeCache::_high_bound (11+) */
	uint64_t interpreter_code; /* AbstractInterpreter::_code, StubQueue* */

	/* GrowableArray */
	struct hotspot_field array_len;
	struct hotspot_field array_data;

	/* CodeHeap, with VirtualSpace inside it */
	struct hotspot_field heap_memory_low;	       /* CodeHeap::_memory + VirtualSpace::_low */
	struct hotspot_field heap_memory_high;	       /* end of the committed part */
	struct hotspot_field heap_memory_low_boundary; /* of the reservation */
	struct hotspot_field heap_memory_high_boundary;
	struct hotspot_field heap_segmap_low; /* CodeHeap::_segmap + VirtualSpace::_low */
	struct hotspot_field heap_segmap_high;
	struct hotspot_field heap_log2_segment_size;

	/* HeapBlock */
	struct hotspot_field block_length; /* in segments */
	struct hotspot_field block_used;
	uint32_t block_size; /* sizeof(HeapBlock): a blob begins so far behind its block */

	bool has_continuations; /* virtual threads (21+) */

	/* StubQueue: the interpreter's code */
	struct hotspot_field stub_queue_buffer;
	struct hotspot_field stub_queue_limit; /* _buffer_limit, an int: bytes */

	/* CodeBlob */
	struct hotspot_field blob_name;
	struct hotspot_field blob_size;
	struct hotspot_field blob_header_size;
	struct hotspot_field blob_frame_size;	  /* words */
	struct hotspot_field blob_frame_complete; /* from the code's begin (16 bits from 23 on) */
	struct hotspot_field blob_code_begin;	  /* address (9-22) */
	struct hotspot_field blob_code_end;
	struct hotspot_field blob_code_offset; /* from the blob (8, 23+) */
	struct hotspot_field blob_data_offset;
	struct hotspot_field blob_mutable_data; /* 25+ */
	struct hotspot_field blob_mutable_data_size;
	struct hotspot_field blob_relocation_size; /* 25+ */

	/* nmethod, with what CompiledMethod had in 9 to 22 */
	uint32_t nmethod_size;
	struct hotspot_field nmethod_method;
	struct hotspot_field nmethod_comp_level;
	struct hotspot_field nmethod_compile_id;
	struct hotspot_field nmethod_state;
	struct hotspot_field nmethod_entry_bci;
	struct hotspot_field nmethod_verified_entry_point;  /* address */
	struct hotspot_field nmethod_verified_entry_offset; /* from code begin (23+) */
	struct hotspot_field nmethod_deopt_handler_begin;   /* address (9-22) */
	struct hotspot_field nmethod_deopt_handler_offset;  /* 8: _deoptimize_offset; 23+ */
	/* Of calls of method handles, up to 25; likewise. */
	struct hotspot_field nmethod_deopt_mh_handler_begin;
	struct hotspot_field nmethod_deopt_mh_handler_offset;
	struct hotspot_field nmethod_scopes_data_begin; /* address (9-22) */
	/* From the blob (8), immutable data (23+). */
	struct hotspot_field nmethod_scopes_data_offset;
	struct hotspot_field nmethod_scopes_pcs_offset;	  /* likewise; 9-22 from the blob */
	struct hotspot_field nmethod_dependencies_offset; /* end of the PcDescs up to 22 */
	struct hotspot_field nmethod_metadata_offset;	  /* from the blob; 23, 24: from the data */
	struct hotspot_field nmethod_immutable_data;	  /* address (23+) */
	struct hotspot_field nmethod_immutable_data_size;

	/* Method -> ConstMethod -> ConstantPool -> Symbol, Klass */
	struct hotspot_field method_const_method;
	uint32_t const_method_size; /* bytecodes begin so far behind it */
	struct hotspot_field const_method_constants;
	struct hotspot_field const_method_name_index;
	struct hotspot_field const_method_signature_index;
	struct hotspot_field const_method_code_size;
	struct hotspot_field const_method_flags; /* bit 0: has a line number table */
	uint32_t pool_size;			 /* entries begin so far behind it */
	struct hotspot_field pool_holder;
	struct hotspot_field pool_length;
	struct hotspot_field pool_source_file_name_index;	    /* 15+ */
	struct hotspot_field instance_klass_source_file_name_index; /* up to 14 */
	struct hotspot_field klass_name;
	struct hotspot_field symbol_length; /* u2; or u4 whose high half it is (12 to about 15) */
	bool symbol_length_is_packed;
	struct hotspot_field symbol_body;

	/* Numbers in scopes and line tables: since 20 no byte of theirs is 0 (utilities/unsigned5.hpp). */
	bool unsigned5_excludes_zero;
	bool unsigned5_is_known; /* else neither scopes nor lines can be read */
};

/*
 * 0; -ENOTSUP: something without which code cannot be found or named is missing, and *missing_out
 * says what ("CodeHeap::_segmap"; static text). Scopes and lines are extras: see below.
 * `feature_version` (8, 11, ...; 0 = not known) serves only where the tables tell nothing: UNSIGNED5.
 */
__must_check int hotspot_layout_read(const struct vm_structs *structs, int feature_version,
				     struct hotspot_layout *out, const char **missing_out);

/* Could this be the address of an object of the VM? */
bool hotspot_address_is_sane(uint64_t address);

/* Is all there that inlined frames need? And lines? */
bool hotspot_layout_has_scopes(const struct hotspot_layout *layout);
bool hotspot_layout_has_lines(const struct hotspot_layout *layout);

#endif
