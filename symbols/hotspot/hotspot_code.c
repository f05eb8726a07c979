// SPDX-License-Identifier: Apache-2.0
/*
 * The heaps of the code cache, and the way from a pc to its blob: the segment map has a byte per
 * segment, which says how far back the block begins (share/memory/heap.cpp of HotSpot). Finding a
 * blob takes four reads: segment map, header, name, header again.
 */
#include "symbols/hotspot/hotspot_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/hotspot/hotspot_code_internal.h"
#include "user/util/cleanup.h"

#define HEAP_MAX_BYTES	   (4ull << 30) /* HotSpot's own limit is 2 GiB */
#define SEGMENT_SHIFT_MIN  3u		/* 6 in JDK 8, 7 since 9 */
#define SEGMENT_SHIFT_MAX  16u
#define SEGMAP_WINDOW	   4096u /* bytes read at once */
#define SEGMAP_MAX_WINDOWS 1024u
#define SEGMENT_FREE	   0xffu
#define INTERPRETER_MAX	   (16u << 20)
#define VERIFY_BATCH_CNT   256u

/* Bytes of an object up to the end of its last field. */
static uint32_t bytes_up_to(const struct hotspot_field *const *fields, size_t cnt)
{
	uint32_t bytes = 0;

	for (size_t i = 0; i < cnt; i++) {
		uint32_t end = hotspot_field_end(fields[i]);

		bytes = end > bytes ? end : bytes;
	}
	return bytes;
}

/* ---- heaps ---- */

static uint32_t heap_object_bytes(const struct hotspot_layout *layout)
{
	const struct hotspot_field *const fields[] = {
		&layout->heap_memory_low,	    &layout->heap_memory_high,
		&layout->heap_memory_low_boundary,  &layout->heap_segmap_low,
		&layout->heap_memory_high_boundary, &layout->heap_segmap_high,
		&layout->heap_log2_segment_size,
	};

	return bytes_up_to(fields, ARRAY_SIZE(fields));
}

static int heap_decode(const struct hotspot_layout *layout, uint64_t object, const uint8_t *bytes,
		       struct code_heap *out)
{
	struct code_heap heap = {
		.object = object,
		.low = hotspot_field_uint(&layout->heap_memory_low, bytes),
		.high = hotspot_field_uint(&layout->heap_memory_high, bytes),
		.low_boundary = hotspot_field_uint(&layout->heap_memory_low_boundary, bytes),
		.high_boundary = hotspot_field_uint(&layout->heap_memory_high_boundary, bytes),
		.segmap_low = hotspot_field_uint(&layout->heap_segmap_low, bytes),
		.segmap_high = hotspot_field_uint(&layout->heap_segmap_high, bytes),
		.segment_shift =
			(uint32_t)hotspot_field_uint(&layout->heap_log2_segment_size, bytes),
	};

	if (!heap.low || !heap.segmap_low)
		return -EAGAIN;
	if (!hotspot_address_is_sane(heap.low) || heap.low_boundary > heap.low ||
	    heap.low > heap.high || heap.high > heap.high_boundary ||
	    heap.high_boundary - heap.low_boundary > HEAP_MAX_BYTES ||
	    heap.high_boundary > (1ull << 62) || heap.segmap_low > heap.segmap_high ||
	    heap.segment_shift < SEGMENT_SHIFT_MIN || heap.segment_shift > SEGMENT_SHIFT_MAX ||
	    heap.segmap_high - heap.segmap_low < (heap.high - heap.low) >> heap.segment_shift)
		return -EAGAIN;
	*out = heap;
	return 0;
}

/* Addresses of the CodeHeaps. 0; -EAGAIN: there are none yet. */
static int heap_objects_read(const struct hotspot_code *code, uint64_t objects[CODE_HEAP_MAX],
			     size_t *cnt_out)
{
	const struct hotspot_layout *layout = &code->layout;
	uint64_t array, len, data;
	int err;

	if (layout->heap) {
		*cnt_out = 1;
		err = remote_mem_read_uint(code->mem, layout->heap, 8, &objects[0]);
		return err ? err : (objects[0] ? 0 : -EAGAIN);
	}
	err = remote_mem_read_uint(code->mem, layout->heaps, 8, &array);
	if (!err && !hotspot_address_is_sane(array))
		err = -EAGAIN;
	if (!err)
		err = remote_mem_read_uint(code->mem, array + layout->array_len.offset,
					   layout->array_len.size, &len);
	if (!err)
		err = remote_mem_read_uint(code->mem, array + layout->array_data.offset, 8, &data);
	if (err)
		return err;
	if (len == 0 || !hotspot_address_is_sane(data))
		return -EAGAIN;
	if (len > CODE_HEAP_MAX)
		return -ENOTSUP;
	err = remote_mem_read(code->mem, data, objects, (size_t)len * sizeof(objects[0]));
	for (size_t i = 0; i < len && !err; i++)
		objects[i] = le64toh(objects[i]);
	*cnt_out = (size_t)len;
	return err;
}

static int heaps_read(const struct hotspot_code *code, struct code_heap heaps[CODE_HEAP_MAX],
		      size_t *cnt_out)
{
	uint32_t object_bytes = heap_object_bytes(&code->layout);
	struct remote_piece pieces[CODE_HEAP_MAX];
	uint8_t bytes[CODE_HEAP_MAX][HOTSPOT_HEAP_MAX_BYTES];
	uint64_t objects[CODE_HEAP_MAX];
	size_t cnt;
	int err = heap_objects_read(code, objects, &cnt);

	if (err)
		return err;
	for (size_t i = 0; i < cnt; i++) {
		pieces[i] = (struct remote_piece){ .address = objects[i],
						   .out = bytes[i],
						   .len = object_bytes };
		if (!hotspot_address_is_sane(objects[i]))
			return -EAGAIN;
	}
	err = remote_mem_read_pieces(code->mem, pieces, cnt);
	for (size_t i = 0; i < cnt && !err; i++) {
		err = pieces[i].err;
		if (!err)
			err = heap_decode(&code->layout, objects[i], bytes[i], &heaps[i]);
	}
	*cnt_out = cnt;
	return err;
}

const struct code_heap *code_heap_at(const struct hotspot_code *code, uint64_t address)
{
	for (size_t i = 0; i < code->heap_cnt; i++) {
		if (address >= code->heaps[i].low && address < code->heaps[i].high)
			return &code->heaps[i];
	}
	return NULL;
}

/* ---- ranges ---- */

static void interpreter_read(struct hotspot_code *code)
{
	const struct hotspot_layout *layout = &code->layout;
	uint64_t queue, buffer, limit;

	if (!layout->interpreter_code || !hotspot_field_exists(&layout->stub_queue_buffer) ||
	    !hotspot_field_exists(&layout->stub_queue_limit) ||
	    remote_mem_read_uint(code->mem, layout->interpreter_code, 8, &queue) ||
	    !hotspot_address_is_sane(queue) ||
	    remote_mem_read_uint(code->mem, queue + layout->stub_queue_buffer.offset,
				 layout->stub_queue_buffer.size, &buffer) ||
	    remote_mem_read_uint(code->mem, queue + layout->stub_queue_limit.offset,
				 layout->stub_queue_limit.size, &limit))
		return;
	/* Before the interpreter is made both are 0. */
	if (!limit || limit > INTERPRETER_MAX || buffer < code->ranges.code_low ||
	    buffer >= code->ranges.code_high || limit > code->ranges.code_high - buffer)
		return;
	code->ranges.interpreter_low = buffer;
	code->ranges.interpreter_high = buffer + limit;
}

/* What CodeCache says widens what the heaps reserve, if it is plausible: more heaps may follow. */
static void ranges_read(struct hotspot_code *code)
{
	const struct hotspot_layout *layout = &code->layout;
	uint64_t low = UINT64_MAX, high = 0, low_bound, high_bound;

	for (size_t i = 0; i < code->heap_cnt; i++) {
		const struct code_heap *heap = &code->heaps[i];

		low = heap->low_boundary < low ? heap->low_boundary : low;
		high = heap->high_boundary > high ? heap->high_boundary : high;
	}
	if (layout->low_bound && layout->high_bound &&
	    !remote_mem_read_uint(code->mem, layout->low_bound, 8, &low_bound) &&
	    !remote_mem_read_uint(code->mem, layout->high_bound, 8, &high_bound) && low_bound &&
	    low_bound <= low && high_bound >= high && high_bound - low_bound <= HEAP_MAX_BYTES) {
		low = low_bound;
		high = high_bound;
	}
	code->ranges.code_low = low;
	code->ranges.code_high = high;
	if (!code->ranges.interpreter_high)
		interpreter_read(code);
}

int hotspot_code__refresh(struct hotspot_code *code)
{
	struct code_heap heaps[CODE_HEAP_MAX];
	size_t cnt;
	int err = heaps_read(code, heaps, &cnt);

	if (err)
		return err;
	memcpy(code->heaps, heaps, cnt * sizeof(heaps[0]));
	code->heap_cnt = cnt;
	memset(code->names, 0, sizeof(code->names));
	ranges_read(code);
	return 0;
}

void hotspot_code__ranges(const struct hotspot_code *code, struct hotspot_ranges *out)
{
	*out = code->ranges;
}

/* ---- object ---- */

static uint32_t blob_bytes(const struct hotspot_layout *layout)
{
	const struct hotspot_field *const fields[] = {
		&layout->blob_name,	&layout->blob_frame_size,  &layout->blob_code_begin,
		&layout->blob_code_end, &layout->blob_code_offset, &layout->blob_data_offset,
	};

	return bytes_up_to(fields, ARRAY_SIZE(fields));
}

int hotspot_code__open(struct hotspot_vm *vm, struct hotspot_code **out, const char **missing_out)
{
	struct hotspot_code *code = calloc(1, sizeof(*code));
	int err;

	if (!code)
		return -ENOMEM;
	code->mem = hotspot_vm__mem(vm);
	err = hotspot_layout_read(hotspot_vm__structs(vm), hotspot_vm__feature_version(vm),
				  &code->layout, missing_out);
	if (!err) {
		code->header_bytes = code->layout.block_size + code->layout.nmethod_size;
		code->blob_header_bytes = code->layout.block_size + blob_bytes(&code->layout);
		code->batch = remote_batch__new(code->mem);
		if (code->batch)
			code->methods = hotspot_methods__new(code->batch, &code->layout, 1);
		err = code->methods ? hotspot_code__refresh(code) : -ENOMEM;
		if (err == -ENOTSUP)
			*missing_out = "CodeCache::_heaps of a sane length";
	}
	if (err) {
		hotspot_code__free(code);
		return err;
	}
	*out = code;
	return 0;
}

void hotspot_code__free(struct hotspot_code *code)
{
	if (!code)
		return;
	hotspot_methods__free(code->methods);
	remote_batch__free(code->batch);
	free(code);
}

const struct hotspot_layout *hotspot_code__layout(const struct hotspot_code *code)
{
	return &code->layout;
}

const struct remote_mem *hotspot_code__mem(const struct hotspot_code *code)
{
	return code->mem;
}

/* ---- from a pc to a block ---- */

/* An unreadable place is no reason to give up on the process. */
static int error_of_place(int err)
{
	return remote_mem_error_is_local(err) ? -EAGAIN : err;
}

/* Segment in which the block of `segment` begins. 0; -ENOENT: free; -EAGAIN: a damaged map. */
static int block_segment(const struct hotspot_code *code, const struct code_heap *heap,
			 uint64_t segment, uint64_t *out)
{
	uint8_t window[SEGMAP_WINDOW];
	bool is_first = true;

	for (size_t windows = 0; windows < SEGMAP_MAX_WINDOWS; windows++) {
		uint64_t begin = segment >= SEGMAP_WINDOW ? segment - SEGMAP_WINDOW + 1 : 0;
		int err = remote_mem_read(code->mem, heap->segmap_low + begin, window,
					  (size_t)(segment - begin + 1));

		if (err)
			return error_of_place(err);
		while (segment >= begin) {
			uint8_t back = window[segment - begin];

			if (back == SEGMENT_FREE)
				return is_first ? -ENOENT : -EAGAIN;
			is_first = false;
			if (back == 0) {
				*out = segment;
				return 0;
			}
			if (back > segment)
				return -EAGAIN;
			segment -= back;
		}
	}
	return -EAGAIN;
}

/* Reads the header at `block` into `bytes`; *len_out says how much of it there is. */
static int header_read(const struct hotspot_code *code, const struct code_heap *heap,
		       uint64_t block, uint8_t bytes[CODE_HEADER_MAX_BYTES], size_t *len_out)
{
	*len_out = code_header_len(code, heap, block);
	return error_of_place(remote_mem_read(code->mem, block, bytes, *len_out));
}

/* ---- names of blobs ---- */

static int name_read(const struct hotspot_code *code, uint64_t address,
		     char out[HOTSPOT_BLOB_NAME_BYTES])
{
	char raw[HOTSPOT_BLOB_NAME_BYTES];
	ssize_t got = remote_mem_read_some(code->mem, address, raw, sizeof(raw));

	if (got < 0)
		return error_of_place((int)got);
	return code_name_clean(raw, (size_t)got, out) ? 0 : -EAGAIN;
}

/*
 * The name at an address of the process. Names are literals in libjvm.so mostly; they are kept
 * until the next refresh only, since some are not.
 */
static int name_get(struct hotspot_code *code, uint64_t address, const char **out)
{
	struct code_name *slot =
		&code->names[address * 0x9e3779b97f4a7c15ull >> 40 & (CODE_NAME_SLOTS - 1)];
	char text[HOTSPOT_BLOB_NAME_BYTES];
	int err;

	if (!address || slot->address != address) {
		err = name_read(code, address, text);
		if (err)
			return err;
		slot->address = address;
		memcpy(slot->text, text, sizeof(text));
	}
	*out = slot->text;
	return 0;
}

bool code_blob_is_continuation(struct hotspot_code *code, const struct code_view *view)
{
	const char *name;

	return !name_get(code, view->name_address, &name) &&
	       code_blob_kind(name) == HOTSPOT_BLOB_CONTINUATION;
}

/* ---- find ---- */

/* The heap of a pc; a heap that has grown since the last refresh is seen too. */
static int heap_of_pc(struct hotspot_code *code, uint64_t pc, const struct code_heap **out)
{
	*out = code_heap_at(code, pc);
	for (size_t i = 0; i < code->heap_cnt && !*out; i++) {
		const struct code_heap *heap = &code->heaps[i];
		int err;

		if (pc < heap->low || pc >= heap->high_boundary)
			continue;
		err = hotspot_code__refresh(code);
		if (err)
			return error_of_place(err);
		*out = code_heap_at(code, pc);
		break;
	}
	return *out ? 0 : -ENOENT;
}

int hotspot_code__find(struct hotspot_code *code, uint64_t pc, struct hotspot_blob *out)
{
	uint8_t bytes[CODE_HEADER_MAX_BYTES];
	const struct code_heap *heap;
	uint64_t segment, block;
	struct code_view view;
	const char *name;
	size_t len;
	int err = heap_of_pc(code, pc, &heap);

	if (err)
		return err;
	err = block_segment(code, heap, (pc - heap->low) >> heap->segment_shift, &segment);
	if (err)
		return err;
	block = heap->low + (segment << heap->segment_shift);
	err = header_read(code, heap, block, bytes, &len);
	if (!err)
		err = code_view_begin(code, heap, block, bytes, len, &view);
	if (!err)
		err = name_get(code, view.name_address, &name);
	if (!err)
		err = code_view_finish(code, bytes, len, name, &view);
	if (!err)
		err = header_read(code, heap, block, bytes, &len);
	if (err)
		return err;
	if (!code_view_is_same(code, heap, bytes, len, &view) || pc >= view.blob.end)
		return -EAGAIN;
	if (pc < view.blob.code_begin || pc >= view.blob.code_end)
		return -ENOENT;
	*out = view.blob;
	return 0;
}

/* ---- verify ---- */

/* Do the bytes read at the place of `blob` still describe this version of it? */
static bool version_is_same(struct hotspot_code *code, const struct hotspot_blob *blob,
			    const uint8_t *bytes, size_t len)
{
	uint64_t block = blob->start - code->layout.block_size;
	const struct code_heap *heap = code_heap_at(code, block);
	struct code_view now;
	const char *name;

	return heap && !code_view_begin(code, heap, block, bytes, len, &now) &&
	       !name_get(code, now.name_address, &name) &&
	       !code_view_finish(code, bytes, len, name, &now) &&
	       strcmp(now.blob.name, blob->name) == 0 && now.blob.end == blob->end &&
	       now.blob.code_begin == blob->code_begin && now.blob.code_end == blob->code_end &&
	       now.blob.method == blob->method && now.blob.compile_id == blob->compile_id;
}

static int verify_batch(struct hotspot_code *code, const struct hotspot_blob *const *blobs,
			size_t cnt, uint8_t *bytes, bool *same_out)
{
	struct remote_piece pieces[VERIFY_BATCH_CNT];
	int err;

	for (size_t i = 0; i < cnt; i++) {
		uint64_t block = blobs[i]->start - code->layout.block_size;
		const struct code_heap *heap = code_heap_at(code, block);

		pieces[i] = (struct remote_piece){
			.address = block,
			.out = bytes + i * code->header_bytes,
			.len = heap ? (uint32_t)code_header_len(code, heap, block) : 0,
		};
	}
	err = remote_batch__read(code->batch, pieces, cnt);
	for (size_t i = 0; i < cnt && !err; i++)
		same_out[i] = !pieces[i].err &&
			      version_is_same(code, blobs[i], pieces[i].out, pieces[i].len);
	return err;
}

int hotspot_code__verify(struct hotspot_code *code, const struct hotspot_blob *const *blobs,
			 size_t cnt, bool *same_out)
{
	size_t batch_cnt = cnt < VERIFY_BATCH_CNT ? cnt : VERIFY_BATCH_CNT;
	__cleanup_free uint8_t *bytes = malloc(batch_cnt * code->header_bytes + 1);
	int err = bytes ? 0 : -ENOMEM;

	for (size_t begin = 0; begin < cnt && !err; begin += VERIFY_BATCH_CNT) {
		size_t left = cnt - begin;

		err = verify_batch(code, blobs + begin,
				   left < VERIFY_BATCH_CNT ? left : VERIFY_BATCH_CNT, bytes,
				   same_out + begin);
	}
	return err;
}

/* ---- methods ---- */

int hotspot_code__method_name(struct hotspot_code *code, uint64_t method,
			      uint64_t *const_method_out, struct strbuf *out)
{
	size_t idx;
	int err;

	hotspot_methods__clear(code->methods);
	err = hotspot_methods__add(code->methods, method, &idx);
	if (!err)
		err = hotspot_methods__read(code->methods);
	if (!err)
		err = hotspot_methods__read_again(code->methods);
	if (err)
		return err;
	return hotspot_methods__name(code->methods, idx, const_method_out, out);
}
