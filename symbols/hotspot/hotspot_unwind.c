// SPDX-License-Identifier: Apache-2.0
/*
 * What the stack walk in the kernel needs to know of a code cache; see bpf/jbpf_hotspot.h. All of
 * it is in the tables except one thing: where the frames of a virtual thread that are on a stack
 * end. That is in a blob of stubs, made while the JVM starts, so near the begin of its heap.
 */
#include <errno.h>
#include <linux/types.h>
#include <string.h>

#include "bpf/jbpf_hotspot.h"
#include "symbols/hotspot/hotspot_code_internal.h"

#define STUB_BLOCKS_MAX	  2000u /* headers read in a search */
#define STUB_SEARCHES_MAX 8u	/* a JVM that starts has not made them yet */

/* ---- continuation stubs ---- */

/* The blob of the block, and how long the block is. 0; -ENOENT: it is free; -errno. */
static int stub_read(struct hotspot_code *code, const struct code_heap *heap, uint64_t block,
		     struct code_view *view, uint64_t *len_out)
{
	uint8_t bytes[CODE_HEADER_MAX_BYTES];
	size_t len = code_header_len(code, heap, block);
	uint64_t segments;

	if (len > code->blob_header_bytes)
		len = code->blob_header_bytes;
	if (remote_mem_read(code->mem, block, bytes, len))
		return -EIO;
	segments = len < code->blob_header_bytes ?
			   0 :
			   hotspot_field_uint(&code->layout.block_length, bytes);
	if (!segments || segments > (heap->high - block) >> heap->segment_shift)
		return -EAGAIN;
	*len_out = segments << heap->segment_shift;
	return code_view_begin(code, heap, block, bytes, len, view);
}

static void barrier_search(struct hotspot_code *code, const struct code_heap *heap)
{
	uint64_t block = heap->low, len;

	for (uint32_t i = 0; i < STUB_BLOCKS_MAX && block < heap->high; i++, block += len) {
		struct code_view view;
		int err = stub_read(code, heap, block, &view, &len);

		if (err == -ENOENT)
			continue;
		if (err)
			return;
		if (code_blob_is_continuation(code, &view)) {
			code->barrier_low = view.blob.code_begin;
			code->barrier_high = view.blob.code_end;
			return;
		}
	}
}

static void barrier_find(struct hotspot_code *code)
{
	const struct code_heap *heap = code_heap_at(code, code->ranges.interpreter_low);

	if (!code->layout.has_continuations || code->barrier_high || !heap ||
	    code->barrier_tries == STUB_SEARCHES_MAX)
		return;
	code->barrier_tries++;
	barrier_search(code, heap);
}

/* ---- fields ---- */

/* A field of an object that begins this far behind the block. */
static struct jbpf_hotspot_field field_at(const struct hotspot_field *field, uint32_t begin)
{
	struct jbpf_hotspot_field none = { 0 };

	if (!hotspot_field_exists(field))
		return none;
	return (struct jbpf_hotspot_field){
		.at = (__u16)(begin + field->offset),
		.bits = (__u8)(field->size * 8),
	};
}

static bool is_in_header(struct jbpf_hotspot_field field)
{
	return field.bits && field.at + field.bits / 8u <= JBPF_HOTSPOT_HEADER_BYTES;
}

static void fields_fill(const struct hotspot_layout *layout, struct jbpf_hotspot *out)
{
	uint32_t blob = layout->block_size;
	bool has_entry_offset = hotspot_field_exists(&layout->nmethod_verified_entry_offset);
	bool has_code_offset = hotspot_field_exists(&layout->blob_code_offset);

	out->used = field_at(&layout->block_used, 0);
	out->length = field_at(&layout->block_length, 0);
	out->header_size = field_at(&layout->blob_header_size, blob);
	out->frame_size = field_at(&layout->blob_frame_size, blob);
	out->frame_complete = field_at(&layout->blob_frame_complete, blob);
	out->code = field_at(has_code_offset ? &layout->blob_code_offset : &layout->blob_code_begin,
			     blob);
	out->entry = field_at(has_entry_offset ? &layout->nmethod_verified_entry_offset :
						 &layout->nmethod_verified_entry_point,
			      blob);
	out->entry_bci = field_at(&layout->nmethod_entry_bci, blob);
	out->block_size = (__u16)blob;
	out->nmethod_size = (__u16)layout->nmethod_size;
	if (has_code_offset)
		out->flags |= JBPF_HOTSPOT_CODE_IS_OFFSET;
	if (has_entry_offset)
		out->flags |= JBPF_HOTSPOT_ENTRY_IS_OFFSET;
}

static bool has_all_fields(const struct jbpf_hotspot *out)
{
	return is_in_header(out->used) && is_in_header(out->length) &&
	       is_in_header(out->header_size) && is_in_header(out->frame_size) &&
	       is_in_header(out->frame_complete) && is_in_header(out->code) && out->entry.bits &&
	       out->entry_bci.bits;
}

static bool heaps_fill(const struct hotspot_code *code, struct jbpf_hotspot *out)
{
	if (code->heap_cnt > JBPF_HOTSPOT_HEAPS_MAX)
		return false;
	for (size_t i = 0; i < code->heap_cnt; i++) {
		const struct code_heap *heap = &code->heaps[i];

		/* Heaps grow, and with them what their segment maps have. */
		out->heaps[i] = (struct jbpf_hotspot_heap){
			.low = heap->low,
			.len = heap->high_boundary - heap->low,
			.segmap = heap->segmap_low,
			.segment_shift = heap->segment_shift,
		};
	}
	return true;
}

#ifdef __x86_64__
#define IS_X86_64 true
#else
#define IS_X86_64 false
#endif

bool hotspot_code__unwind(struct hotspot_code *code, struct jbpf_hotspot *out)
{
	memset(out, 0, sizeof(*out));
	fields_fill(&code->layout, out);
	if (!has_all_fields(out) || !heaps_fill(code, out))
		return false;
	barrier_find(code);
	out->barrier_low = code->barrier_low;
	out->barrier_len = code->barrier_high - code->barrier_low;
	/*
	 * Where a frame keeps its caller is known for x86_64 only; frame_aarch64.hpp has other
	 * places.
	 */
	if (IS_X86_64)
		out->flags |= JBPF_HOTSPOT_HAS_FRAME_SIZES;
	return true;
}
