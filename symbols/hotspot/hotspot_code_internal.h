/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of hotspot_code share: the heaps, and the two steps from the bytes at the begin of
 * a block to a blob. The first step needs no name and tells where the name is, the second one
 * knows by the name what the blob is.
 */
#ifndef JBPF_HOTSPOT_HOTSPOT_CODE_INTERNAL_H
#define JBPF_HOTSPOT_HOTSPOT_CODE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "symbols/hotspot/hotspot_code.h"
#include "symbols/hotspot/hotspot_method.h"
#include "user/host/remote_batch.h"

#define CODE_HEAP_MAX	      8u    /* 3 so far */
#define CODE_HEADER_MAX_BYTES 8192u /* HeapBlock and nmethod; the layout caps both */
#define CODE_NAME_SLOTS	      64u

struct code_heap {
	uint64_t object; /* CodeHeap* */
	uint64_t low;	 /* [low, high): memory in use or free */
	uint64_t high;
	uint64_t low_boundary; /* the reservation */
	uint64_t high_boundary;
	uint64_t segmap_low; /* one byte per segment */
	uint64_t segmap_high;
	uint32_t segment_shift; /* log2 of bytes per segment */
};

struct code_name {
	uint64_t address; /* 0 = empty slot */
	char text[HOTSPOT_BLOB_NAME_BYTES];
};

struct hotspot_code {
	const struct remote_mem *mem; /* of the VM */
	struct hotspot_layout layout;
	struct code_heap heaps[CODE_HEAP_MAX];
	size_t heap_cnt;
	struct hotspot_ranges ranges;
	uint64_t barrier_low; /* the continuation stubs; both 0: not found (yet), or none */
	uint64_t barrier_high;
	uint32_t barrier_tries;			 /* how often they were looked for */
	size_t header_bytes;			 /* HeapBlock and nmethod */
	size_t blob_header_bytes;		 /* HeapBlock and what every blob has */
	struct code_name names[CODE_NAME_SLOTS]; /* seen since the last refresh */
	struct remote_batch *batch;
	struct hotspot_methods *methods; /* for one method at a time */
};

/* A blob being read: zero-initialised, so that two readings compare as bytes. */
struct code_view {
	struct hotspot_blob blob;
	uint64_t name_address;
};

/* The heap whose memory has this address, or NULL. */
const struct code_heap *code_heap_at(const struct hotspot_code *code, uint64_t address);
/* Bytes of the header at `block` that can be read: at most header_bytes, within the heap. */
size_t code_header_len(const struct hotspot_code *code, const struct code_heap *heap,
		       uint64_t block);

/*
 * Step 1. `bytes`: `len` bytes at `block`. 0; -ENOENT: the block is free; -EAGAIN: what is there
 * cannot be a blob.
 */
__must_check int code_view_begin(const struct hotspot_code *code, const struct code_heap *heap,
				 uint64_t block, const uint8_t *bytes, size_t len,
				 struct code_view *out);
/* Step 2. `name`: the text at view->name_address, as code_name_clean() left it. 0 or -EAGAIN. */
__must_check int code_view_finish(const struct hotspot_code *code, const uint8_t *bytes, size_t len,
				  const char *name, struct code_view *view);
/* Both steps for bytes of the same block read later: is it still the same blob? */
bool code_view_is_same(const struct hotspot_code *code, const struct code_heap *heap,
		       const uint8_t *bytes, size_t len, const struct code_view *view);

/* Are these the stubs of virtual threads? Reads the name of a view that code_view_begin() made. */
bool code_blob_is_continuation(struct hotspot_code *code, const struct code_view *view);
/* The kind of a blob by its name. */
enum hotspot_blob_kind code_blob_kind(const char *name);

/* The name's bytes as read, `len` of them; cuts at the NUL. False when it is no name. */
bool code_name_clean(const char *raw, size_t len, char out[HOTSPOT_BLOB_NAME_BYTES]);

#endif
