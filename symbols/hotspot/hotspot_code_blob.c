// SPDX-License-Identifier: Apache-2.0
/*
 * From the first bytes of a block of the code cache to a blob: HeapBlock, CodeBlob, nmethod in all
 * layouts (src/hotspot/share/code). Pure. Every number is checked against the bounds of its block
 * before it is used; what serves only lines and inlined frames is left out when it is wrong.
 */
#include <errno.h>
#include <string.h>

#include "symbols/hotspot/hotspot_code_internal.h"

#define FRAME_MAX_BYTES	    (1u << 20)
#define METADATA_MAX_BYTES  (1u << 20)
#define SCOPES_MAX_BYTES    (16u << 20)
#define IMMUTABLE_MAX_BYTES (64u << 20)

struct range {
	uint64_t begin;
	uint64_t end;
};

static bool range_holds(struct range outer, struct range inner)
{
	return outer.begin <= inner.begin && inner.begin <= inner.end && inner.end <= outer.end;
}

/* base + offset; false when that is not within `bounds`. */
static bool range_offset(struct range bounds, uint64_t base, int64_t offset, uint64_t *out)
{
	uint64_t address;

	if (offset < 0 || __builtin_add_overflow(base, (uint64_t)offset, &address) ||
	    address < bounds.begin || address > bounds.end)
		return false;
	*out = address;
	return true;
}

size_t code_header_len(const struct hotspot_code *code, const struct code_heap *heap,
		       uint64_t block)
{
	uint64_t left = heap->high - block;

	return left < code->header_bytes ? (size_t)left : code->header_bytes;
}

/* ---- step 1: any blob ---- */

/* Code of a blob that lies in `bounds`. */
static bool code_range(const struct hotspot_layout *layout, const uint8_t *blob,
		       struct range bounds, struct range *out)
{
	struct range code;

	if (hotspot_field_exists(&layout->blob_code_begin)) {
		code.begin = hotspot_field_uint(&layout->blob_code_begin, blob);
		code.end = hotspot_field_uint(&layout->blob_code_end, blob);
	} else if (!range_offset(bounds, bounds.begin,
				 hotspot_field_int(&layout->blob_code_offset, blob), &code.begin) ||
		   !range_offset(bounds, bounds.begin,
				 hotspot_field_int(&layout->blob_data_offset, blob), &code.end)) {
		return false;
	}
	*out = code;
	return range_holds(bounds, code);
}

int code_view_begin(const struct hotspot_code *code, const struct code_heap *heap, uint64_t block,
		    const uint8_t *bytes, size_t len, struct code_view *out)
{
	const struct hotspot_layout *layout = &code->layout;
	const uint8_t *blob = bytes + layout->block_size;
	struct range bounds, found;
	uint64_t segments;
	int64_t frame_words;

	memset(out, 0, sizeof(*out));
	if (len < code->blob_header_bytes)
		return -EAGAIN;
	if (!hotspot_field_uint(&layout->block_used, bytes))
		return -ENOENT;
	segments = hotspot_field_uint(&layout->block_length, bytes);
	if (segments == 0 || segments > (heap->high - block) >> heap->segment_shift)
		return -EAGAIN;
	bounds.begin = block + layout->block_size;
	bounds.end = block + (segments << heap->segment_shift);
	if (bounds.end < bounds.begin || !code_range(layout, blob, bounds, &found))
		return -EAGAIN;
	out->blob.start = bounds.begin;
	out->blob.end = bounds.end;
	out->blob.code_begin = found.begin;
	out->blob.code_end = found.end;
	out->name_address = hotspot_field_uint(&layout->blob_name, blob);
	frame_words = hotspot_field_int(&layout->blob_frame_size, blob);
	if (frame_words > 0 && frame_words <= FRAME_MAX_BYTES / 8)
		out->blob.frame_bytes = (uint32_t)frame_words * 8;
	return 0;
}

/* ---- names ---- */

bool code_name_clean(const char *raw, size_t len, char out[HOTSPOT_BLOB_NAME_BYTES])
{
	size_t name_len = strnlen(raw, len);

	if (name_len >= HOTSPOT_BLOB_NAME_BYTES)
		name_len = HOTSPOT_BLOB_NAME_BYTES - 1;
	if (name_len == 0)
		return false;
	for (size_t i = 0; i < name_len; i++) {
		if (raw[i] < ' ' || raw[i] > '~')
			return false;
	}
	memset(out, 0, HOTSPOT_BLOB_NAME_BYTES);
	memcpy(out, raw, name_len);
	return true;
}

enum hotspot_blob_kind code_blob_kind(const char *name)
{
	static const char continuation[] = "StubRoutines (continuation";

	if (strcmp(name, "nmethod") == 0)
		return HOTSPOT_BLOB_NMETHOD;
	if (strcmp(name, "native nmethod") == 0)
		return HOTSPOT_BLOB_NATIVE;
	if (strcmp(name, "Interpreter") == 0)
		return HOTSPOT_BLOB_INTERPRETER;
	if (strcmp(name, "vtable chunks") == 0)
		return HOTSPOT_BLOB_VTABLE;
	if (strncmp(name, continuation, sizeof(continuation) - 1) == 0)
		return HOTSPOT_BLOB_CONTINUATION;
	return HOTSPOT_BLOB_STUB;
}

/* ---- step 2: nmethods ---- */

static int32_t int_field(const struct hotspot_field *field, const uint8_t *object, int32_t missing)
{
	if (!hotspot_field_exists(field))
		return missing;
	return (int32_t)hotspot_field_int(field, object);
}

/* Where frames that wait to be deoptimised return to: an address, or how far it is from the blob's start. 0: nowhere. */
static uint64_t handler_at(const struct hotspot_field *begin, const struct hotspot_field *offset,
			   const uint8_t *nmethod, const struct hotspot_blob *blob)
{
	struct range code = { blob->code_begin, blob->code_end };
	uint64_t address = 0;

	if (hotspot_field_exists(begin))
		address = hotspot_field_uint(begin, nmethod);
	else if (!hotspot_field_exists(offset) ||
		 !range_offset(code, blob->start, hotspot_field_int(offset, nmethod), &address))
		return 0;
	return address >= code.begin && address < code.end ? address : 0;
}

static void set_entries(const struct hotspot_layout *layout, const uint8_t *nmethod,
			struct hotspot_blob *blob)
{
	struct range code = { blob->code_begin, blob->code_end };
	uint64_t address = 0;

	if (hotspot_field_exists(&layout->nmethod_verified_entry_point))
		address = hotspot_field_uint(&layout->nmethod_verified_entry_point, nmethod);
	else if (hotspot_field_exists(&layout->nmethod_verified_entry_offset))
		address = code.begin +
			  hotspot_field_uint(&layout->nmethod_verified_entry_offset, nmethod);
	if (address >= code.begin && address < code.end)
		blob->verified_entry = address;

	blob->deopt_handler = handler_at(&layout->nmethod_deopt_handler_begin,
					 &layout->nmethod_deopt_handler_offset, nmethod, blob);
	blob->deopt_mh_handler = handler_at(&layout->nmethod_deopt_mh_handler_begin,
					    &layout->nmethod_deopt_mh_handler_offset, nmethod,
					    blob);
}

/* Up to 22: all of it in the blob. */
static bool find_scopes_inside(const struct hotspot_layout *layout, const uint8_t *nmethod,
			       const struct hotspot_blob *blob, struct range *scopes,
			       struct range *pcs)
{
	struct range bounds = { blob->start, blob->end };
	uint64_t start = blob->start;

	if (!range_offset(bounds, start,
			  hotspot_field_int(&layout->nmethod_scopes_pcs_offset, nmethod),
			  &pcs->begin) ||
	    !range_offset(bounds, start,
			  hotspot_field_int(&layout->nmethod_dependencies_offset, nmethod),
			  &pcs->end))
		return false;
	if (hotspot_field_exists(&layout->nmethod_scopes_data_begin))
		scopes->begin = hotspot_field_uint(&layout->nmethod_scopes_data_begin, nmethod);
	else if (!range_offset(bounds, start,
			       hotspot_field_int(&layout->nmethod_scopes_data_offset, nmethod),
			       &scopes->begin))
		return false;
	scopes->end = pcs->begin;
	return range_holds(bounds, *scopes) && range_holds(bounds, *pcs);
}

/* Since 23: in memory of its own, PcDescs before scopes; either order is understood. */
static bool find_scopes_outside(const struct hotspot_layout *layout, const uint8_t *nmethod,
				struct range *scopes, struct range *pcs)
{
	uint64_t base = hotspot_field_uint(&layout->nmethod_immutable_data, nmethod);
	int64_t size = hotspot_field_int(&layout->nmethod_immutable_data_size, nmethod);
	struct range bounds = { base, base + (uint64_t)size };

	if (!hotspot_address_is_sane(base) || size <= 0 || size > IMMUTABLE_MAX_BYTES ||
	    !range_offset(bounds, base,
			  hotspot_field_int(&layout->nmethod_scopes_pcs_offset, nmethod),
			  &pcs->begin) ||
	    !range_offset(bounds, base,
			  hotspot_field_int(&layout->nmethod_scopes_data_offset, nmethod),
			  &scopes->begin))
		return false;
	pcs->end = scopes->begin >= pcs->begin ? scopes->begin : bounds.end;
	scopes->end = scopes->begin >= pcs->begin ? bounds.end : pcs->begin;
	return true;
}

static bool find_metadata(const struct hotspot_layout *layout, const uint8_t *nmethod,
			  const struct hotspot_blob *blob, const struct range *scopes,
			  struct range *out)
{
	struct range bounds = { blob->start, blob->end };
	int64_t offset = hotspot_field_int(&layout->nmethod_metadata_offset, nmethod);

	if (hotspot_field_exists(&layout->blob_mutable_data)) {
		uint64_t base = hotspot_field_uint(&layout->blob_mutable_data, nmethod);
		int64_t size = hotspot_field_int(&layout->blob_mutable_data_size, nmethod);

		if (!hotspot_address_is_sane(base) || size < 0 || size > IMMUTABLE_MAX_BYTES)
			return false;
		out->end = base + (uint64_t)size;
		offset = hotspot_field_int(&layout->blob_relocation_size, nmethod);
		return range_offset((struct range){ base, out->end }, base, offset, &out->begin);
	}
	if (!hotspot_field_exists(&layout->nmethod_metadata_offset))
		return false;
	if (hotspot_field_exists(&layout->nmethod_immutable_data)) {
		out->end = blob->end; /* behind it is only data of JVMCI, and what is left over */
		return range_offset(bounds, blob->code_end, offset, &out->begin);
	}
	out->end = scopes->begin;
	return range_offset(bounds, blob->start, offset, &out->begin) && range_holds(bounds, *out);
}

static void set_scopes(const struct hotspot_layout *layout, const uint8_t *nmethod,
		       struct hotspot_blob *blob)
{
	struct range scopes, pcs, metadata;

	if (!hotspot_layout_has_scopes(layout))
		return;
	if (hotspot_field_exists(&layout->nmethod_immutable_data) ?
		    !find_scopes_outside(layout, nmethod, &scopes, &pcs) :
		    !find_scopes_inside(layout, nmethod, blob, &scopes, &pcs))
		return;
	if (!find_metadata(layout, nmethod, blob, &scopes, &metadata))
		return;
	if (pcs.begin % 4 || metadata.begin % 8 || metadata.end < metadata.begin ||
	    scopes.end - scopes.begin > SCOPES_MAX_BYTES ||
	    pcs.end - pcs.begin > SCOPES_MAX_BYTES ||
	    metadata.end - metadata.begin > METADATA_MAX_BYTES)
		return;
	if (pcs.begin == pcs.end || scopes.begin == scopes.end)
		return;
	blob->pcs_begin = pcs.begin;
	blob->pcs_end = pcs.end;
	blob->scopes_begin = scopes.begin;
	blob->scopes_end = scopes.end;
	blob->metadata_begin = metadata.begin;
	blob->metadata_end = metadata.end;
}

int code_view_finish(const struct hotspot_code *code, const uint8_t *bytes, size_t len,
		     const char *name, struct code_view *view)
{
	const struct hotspot_layout *layout = &code->layout;
	const uint8_t *nmethod = bytes + layout->block_size;
	struct hotspot_blob *blob = &view->blob;

	memcpy(blob->name, name, HOTSPOT_BLOB_NAME_BYTES);
	blob->kind = code_blob_kind(name);
	if (blob->kind != HOTSPOT_BLOB_NMETHOD && blob->kind != HOTSPOT_BLOB_NATIVE)
		return 0;
	if (len < code->header_bytes || blob->end - blob->start < layout->nmethod_size ||
	    blob->code_begin < blob->start + layout->nmethod_size)
		return -EAGAIN;
	blob->method = hotspot_field_uint(&layout->nmethod_method, nmethod);
	if (blob->method && !hotspot_address_is_sane(blob->method))
		return -EAGAIN;
	blob->compile_id = int_field(&layout->nmethod_compile_id, nmethod, 0);
	blob->comp_level = int_field(&layout->nmethod_comp_level, nmethod, -1);
	blob->state = int_field(&layout->nmethod_state, nmethod, 0);
	blob->entry_bci = int_field(&layout->nmethod_entry_bci, nmethod, -1);
	set_entries(layout, nmethod, blob);
	set_scopes(layout, nmethod, blob);
	return 0;
}

bool code_view_is_same(const struct hotspot_code *code, const struct code_heap *heap,
		       const uint8_t *bytes, size_t len, const struct code_view *view)
{
	uint64_t block = view->blob.start - code->layout.block_size;
	struct code_view now;

	if (code_view_begin(code, heap, block, bytes, len, &now) ||
	    now.name_address != view->name_address ||
	    code_view_finish(code, bytes, len, view->blob.name, &now))
		return false;
	/* In use or not entrant: it is the same code. */
	now.blob.state = view->blob.state;
	return memcmp(&now, view, sizeof(now)) == 0;
}
