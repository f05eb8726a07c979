// SPDX-License-Identifier: Apache-2.0
/*
 * Every blob in use. The segment map says where blocks begin, so that only headers are read and
 * never the code; a heap is done in batches, each of which takes every step for all its blobs at
 * once. The second reading of the headers comes after the names: a blob that is still the same
 * then has kept its method alive meanwhile, and with it all that its name came from.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/hotspot_code_internal.h"
#include "symbols/hotspot_method_ids.h"
#include "user/util/cleanup.h"

#define WALK_BATCH_CNT	     1024u
#define WALK_MAX_BLOCKS	     (1u << 19) /* begins of blocks looked at; the largest caches have 200,000 */
#define WALK_SEGMAP_BYTES    (32u << 10) /* read at once */
#define WALK_SEGMENT_IS_HEAD 0u

struct walk_item {
	uint64_t block;
	size_t header_len;
	size_t name_id;
	size_t method_id;
	bool has_method; /* its name comes from method_id */
	bool is_dead;	 /* not to be shown */
	struct code_view view;
};

struct walk {
	struct hotspot_code *code;
	hotspot_walk_fn fn;
	void *ctx;
	const struct code_heap *heap;
	size_t block_cnt; /* of all heaps */
	size_t skipped;
	uint64_t next_block; /* nothing before this can be a block */

	struct walk_item *items;
	size_t item_cnt;
	uint8_t *headers;
	struct remote_piece *pieces;
	struct address_ids name_ids; /* of this batch */
	char (*names)[HOTSPOT_BLOB_NAME_BYTES];
	struct hotspot_methods *methods;
	struct strbuf text;
	uint8_t *segmap;
};

static void walk_release(struct walk *walk)
{
	free(walk->items);
	free(walk->headers);
	free(walk->pieces);
	address_ids_release(&walk->name_ids);
	free(walk->names);
	hotspot_methods__free(walk->methods);
	strbuf_release(&walk->text);
	free(walk->segmap);
}

static int walk_init(struct walk *walk)
{
	walk->items = calloc(WALK_BATCH_CNT, sizeof(*walk->items));
	walk->headers = calloc(WALK_BATCH_CNT, walk->code->header_bytes);
	walk->pieces = calloc(WALK_BATCH_CNT, sizeof(*walk->pieces));
	walk->names = calloc(WALK_BATCH_CNT, sizeof(*walk->names));
	walk->methods = hotspot_methods__new(walk->code->mem, &walk->code->layout, WALK_BATCH_CNT);
	walk->segmap = malloc(WALK_SEGMAP_BYTES);
	if (address_ids_init(&walk->name_ids, WALK_BATCH_CNT) || !walk->items || !walk->headers ||
	    !walk->pieces || !walk->names || !walk->methods || !walk->segmap)
		return -ENOMEM;
	return 0;
}

/* ---- the steps of a batch ---- */

static uint8_t *header_of(const struct walk *walk, const struct walk_item *item)
{
	return walk->headers + (size_t)(item - walk->items) * walk->code->header_bytes;
}

/* Reads the headers of all items that are not dead; those that cannot be read are dead then. */
static int headers_read(struct walk *walk)
{
	int err;

	for (size_t i = 0; i < walk->item_cnt; i++) {
		struct walk_item *item = &walk->items[i];

		walk->pieces[i] = (struct remote_piece){
			.address = item->block,
			.out = header_of(walk, item),
			.len = item->is_dead ? 0 : (uint32_t)item->header_len,
		};
	}
	err = remote_mem_read_pieces(walk->code->mem, walk->pieces, walk->item_cnt);
	for (size_t i = 0; i < walk->item_cnt && !err; i++)
		walk->items[i].is_dead |= walk->pieces[i].err != 0;
	return err;
}

static int views_begin(struct walk *walk)
{
	for (size_t i = 0; i < walk->item_cnt; i++) {
		struct walk_item *item = &walk->items[i];
		int err;

		if (item->is_dead)
			continue;
		if (code_view_begin(walk->code, walk->heap, item->block, header_of(walk, item),
				    item->header_len, &item->view)) {
			item->is_dead = true;
			continue;
		}
		err = address_ids_add(&walk->name_ids, item->view.name_address, &item->name_id);
		if (err)
			return err;
	}
	return 0;
}

/* Names that go on in another page are rare. */
static int name_read_rest(struct walk *walk, size_t id, char raw[HOTSPOT_BLOB_NAME_BYTES],
			  size_t first_len)
{
	int err;

	if (first_len == HOTSPOT_BLOB_NAME_BYTES || memchr(raw, '\0', first_len))
		return 0;
	err = remote_mem_read(walk->code->mem, walk->name_ids.addresses[id] + first_len,
			      raw + first_len, HOTSPOT_BLOB_NAME_BYTES - first_len);
	if (err)
		raw[0] = '\0';
	return err == -EFAULT ? 0 : err;
}

/* An empty name stands for one that is none. */
static int names_read(struct walk *walk)
{
	size_t cnt = walk->name_ids.cnt;
	int err;

	for (size_t i = 0; i < cnt; i++) {
		uint64_t address = walk->name_ids.addresses[i];

		memset(walk->names[i], 0, HOTSPOT_BLOB_NAME_BYTES);
		walk->pieces[i] =
			(struct remote_piece){ .address = address,
					       .out = walk->names[i],
					       .len = (uint32_t)code_name_first_len(address) };
	}
	err = remote_mem_read_pieces(walk->code->mem, walk->pieces, cnt);
	for (size_t i = 0; i < cnt && !err; i++) {
		char raw[HOTSPOT_BLOB_NAME_BYTES];

		memcpy(raw, walk->names[i], sizeof(raw));
		if (walk->pieces[i].err)
			raw[0] = '\0';
		else
			err = name_read_rest(walk, i, raw, walk->pieces[i].len);
		if (!code_name_clean(raw, sizeof(raw), walk->names[i]))
			walk->names[i][0] = '\0';
	}
	return err;
}

static int views_finish(struct walk *walk)
{
	for (size_t i = 0; i < walk->item_cnt; i++) {
		struct walk_item *item = &walk->items[i];
		struct hotspot_blob *blob = &item->view.blob;
		int err;

		if (item->is_dead)
			continue;
		if (!walk->names[item->name_id][0] ||
		    code_view_finish(walk->code, header_of(walk, item), item->header_len,
				     walk->names[item->name_id], &item->view)) {
			item->is_dead = true;
			continue;
		}
		item->has_method = blob->kind == HOTSPOT_BLOB_NMETHOD ||
				   blob->kind == HOTSPOT_BLOB_NATIVE;
		if (!item->has_method)
			continue;
		item->is_dead = blob->method == 0;
		if (item->is_dead)
			continue;
		err = hotspot_methods__add(walk->methods, blob->method, &item->method_id);
		if (err)
			return err;
	}
	return hotspot_methods__read(walk->methods);
}

static int items_show(struct walk *walk)
{
	for (size_t i = 0; i < walk->item_cnt; i++) {
		struct walk_item *item = &walk->items[i];
		const char *name = item->view.blob.name;
		int err;

		if (!item->is_dead &&
		    !code_view_is_same(walk->code, walk->heap, header_of(walk, item),
				       item->header_len, &item->view))
			item->is_dead = true;
		if (!item->is_dead && item->has_method) {
			strbuf_clear(&walk->text);
			err = hotspot_methods__name(walk->methods, item->method_id, NULL,
						    &walk->text);
			if (err == -ENOMEM)
				return err;
			item->is_dead = err != 0;
			name = strbuf_str(&walk->text);
		}
		if (item->is_dead) {
			walk->skipped++;
			continue;
		}
		err = walk->fn(walk->ctx, &item->view.blob, name);
		if (err)
			return err;
	}
	return 0;
}

static int batch_run(struct walk *walk)
{
	int err;

	if (!walk->item_cnt)
		return 0;
	address_ids_clear(&walk->name_ids);
	hotspot_methods__clear(walk->methods);
	err = headers_read(walk);
	if (!err)
		err = views_begin(walk);
	if (!err)
		err = names_read(walk);
	if (!err)
		err = views_finish(walk);
	if (!err)
		err = headers_read(walk);
	if (!err)
		err = items_show(walk);
	walk->item_cnt = 0;
	return err;
}

/* ---- heaps ---- */

static int block_add(struct walk *walk, uint64_t block)
{
	if (walk->block_cnt == WALK_MAX_BLOCKS)
		return -E2BIG;
	walk->block_cnt++;
	walk->items[walk->item_cnt++] = (struct walk_item){
		.block = block,
		.header_len = code_header_len(walk->code, walk->heap, block),
	};
	return walk->item_cnt == WALK_BATCH_CNT ? batch_run(walk) : 0;
}

static int heap_walk(struct walk *walk)
{
	const struct code_heap *heap = walk->heap;
	uint64_t segment_cnt = (heap->high - heap->low) >> heap->segment_shift;

	for (uint64_t begin = 0; begin < segment_cnt; begin += WALK_SEGMAP_BYTES) {
		uint64_t left = segment_cnt - begin;
		size_t len = left < WALK_SEGMAP_BYTES ? (size_t)left : WALK_SEGMAP_BYTES;
		int err = remote_mem_read(walk->code->mem, heap->segmap_low + begin, walk->segmap,
					  len);

		if (err)
			return err;
		for (size_t i = 0; i < len; i++) {
			if (walk->segmap[i] != WALK_SEGMENT_IS_HEAD)
				continue;
			err = block_add(walk, heap->low + ((begin + i) << heap->segment_shift));
			if (err)
				return err;
		}
	}
	return batch_run(walk);
}

int hotspot_code__walk(struct hotspot_code *code, hotspot_walk_fn fn, void *ctx,
		       size_t *skipped_out)
{
	struct walk walk = { .code = code, .fn = fn, .ctx = ctx };
	int err = walk_init(&walk);

	for (size_t i = 0; i < code->heap_cnt && !err; i++) {
		walk.heap = &code->heaps[i];
		err = heap_walk(&walk);
	}
	if (!err && skipped_out)
		*skipped_out = walk.skipped;
	walk_release(&walk);
	return err;
}
