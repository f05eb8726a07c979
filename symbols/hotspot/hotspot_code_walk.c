// SPDX-License-Identifier: Apache-2.0
/*
 * Every blob in use, with its name. The segment map of a heap says where blocks begin, so that only
 * headers are read and never the code.
 *
 * Blocks are collected until WALK_HEADER_CNT headers can be read at once, and become items: kind
 * and bounds from the header, the blob's name by its address. Items are collected until they are a
 * batch. For a batch the names of all methods are read in the order of their addresses (neighbours
 * share classes, pools and pages); then the headers are read again, and each item that is still the
 * same is given to the caller. A blob that is still the same has kept its method alive meanwhile,
 * and with it all that its name came from. What is read goes through small buffers: they stay in
 * the processor's cache, and little memory is held.
 *
 * What can go wrong: a header that cannot be read, is no blob, or changed, a dead nmethod, a method
 * without a sane name: that blob is left out and counted. A segment map that cannot be read ends
 * the walk with -EAGAIN, more blocks than any JVM has with -E2BIG, a process that is gone with
 * -ESRCH.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/hotspot/hotspot_code_internal.h"
#include "symbols/hotspot/hotspot_method_ids.h"
#include "user/util/cleanup.h"

#define WALK_BATCH_CNT	     8192u
#define WALK_HEADER_CNT	     128u	 /* headers read at once */
#define WALK_NAME_CNT	     2048u	 /* different names of blobs in a batch; about 500 so far */
#define WALK_METHOD_CNT	     1024u	 /* methods named at once */
#define WALK_MAX_BLOCKS	     (1u << 19)	 /* looked at; the largest caches have 200,000 */
#define WALK_TEXT_MAX_BYTES  (16u << 20) /* of a batch; 100 bytes per method are usual */
#define WALK_SEGMAP_BYTES    (32u << 10) /* read at once */
#define WALK_SEGMENT_IS_HEAD 0u

struct walk_item {
	struct code_view view;
	size_t text_offset; /* of its name, when it has a method */
	bool has_method;
	bool is_dead; /* not to be shown */
};

/* An item that has a method. */
struct walk_method {
	uint64_t method;
	size_t item;
};

struct walk {
	struct hotspot_code *code;
	hotspot_walk_fn fn;
	void *ctx;
	const struct code_heap *heap; /* of all that is below */
	size_t block_cnt;	      /* of all heaps */
	size_t skipped;

	uint64_t blocks[WALK_HEADER_CNT]; /* not yet read */
	size_t pending_cnt;
	struct remote_piece pieces[WALK_HEADER_CNT];
	uint8_t *headers; /* WALK_HEADER_CNT of them */
	uint8_t *segmap;

	struct walk_item *items; /* the batch */
	size_t item_cnt;
	struct walk_method *order; /* its methods */
	size_t order_cnt;
	struct address_ids name_ids;
	char (*names)[HOTSPOT_BLOB_NAME_BYTES]; /* by id; "": cannot be a name */
	size_t name_cnt;			/* read so far */
	struct hotspot_methods *methods;
	struct strbuf text; /* names of methods, each with a NUL */
};

static void walk_free(struct walk *walk)
{
	if (!walk)
		return;
	free(walk->headers);
	free(walk->segmap);
	free(walk->items);
	free(walk->order);
	address_ids_release(&walk->name_ids);
	free(walk->names);
	hotspot_methods__free(walk->methods);
	strbuf_release(&walk->text);
	free(walk);
}

static struct walk *walk_new(struct hotspot_code *code)
{
	struct walk *walk = calloc(1, sizeof(*walk));

	if (!walk)
		return NULL;
	walk->code = code;
	walk->headers = malloc(WALK_HEADER_CNT * code->header_bytes);
	walk->segmap = malloc(WALK_SEGMAP_BYTES);
	walk->items = malloc(WALK_BATCH_CNT * sizeof(*walk->items));
	walk->order = malloc(WALK_BATCH_CNT * sizeof(*walk->order));
	walk->names = malloc(WALK_NAME_CNT * sizeof(*walk->names));
	walk->methods = hotspot_methods__new(code->batch, &code->layout, WALK_METHOD_CNT);
	if (address_ids_init(&walk->name_ids, WALK_NAME_CNT) || !walk->headers || !walk->segmap ||
	    !walk->items || !walk->order || !walk->names || !walk->methods) {
		walk_free(walk);
		return NULL;
	}
	return walk;
}

/* ---- headers ---- */

static const uint8_t *header_of(const struct walk *walk, size_t nth)
{
	return walk->headers + nth * walk->code->header_bytes;
}

/* Reads the headers at walk->blocks[0, cnt); each piece has its own error. */
static int headers_read(struct walk *walk, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		walk->pieces[i] = (struct remote_piece){
			.address = walk->blocks[i],
			.out = (void *)header_of(walk, i),
			.len = (uint32_t)code_header_len(walk->code, walk->heap, walk->blocks[i]),
		};
	return remote_mem_read_pieces(walk->code->mem, walk->pieces, cnt);
}

/* ---- names of blobs ---- */

/* Reads at most WALK_HEADER_CNT names, of ids from `begin` on. */
static int names_read_some(struct walk *walk, size_t begin, size_t cnt)
{
	int err;

	for (size_t i = 0; i < cnt; i++)
		walk->pieces[i] = (struct remote_piece){
			.address = walk->name_ids.addresses[begin + i],
			.out = walk->names[begin + i],
			.len = HOTSPOT_BLOB_NAME_BYTES,
		};
	err = remote_batch__read(walk->code->batch, walk->pieces, cnt);
	for (size_t i = 0; i < cnt && !err; i++) {
		char *name = walk->names[begin + i];
		char clean[HOTSPOT_BLOB_NAME_BYTES] = "";
		ssize_t got = HOTSPOT_BLOB_NAME_BYTES;

		if (walk->pieces[i].err) /* it may end right before what cannot be read */
			got = remote_mem_read_some(walk->code->mem, walk->pieces[i].address, name,
						   HOTSPOT_BLOB_NAME_BYTES);
		if (got > 0)
			(void)code_name_clean(name, (size_t)got, clean);
		else if (!remote_mem_error_is_local((int)got))
			err = (int)got;
		memcpy(name, clean, sizeof(clean));
	}
	return err;
}

static int names_read(struct walk *walk)
{
	int err = 0;

	while (walk->name_cnt < walk->name_ids.cnt && !err) {
		size_t left = walk->name_ids.cnt - walk->name_cnt;
		size_t cnt = left < WALK_HEADER_CNT ? left : WALK_HEADER_CNT;

		err = names_read_some(walk, walk->name_cnt, cnt);
		walk->name_cnt += cnt;
	}
	return err;
}

/* ---- first reading ---- */

/* Makes the item of a pending block as far as that goes without its name. */
static int item_begin(struct walk *walk, size_t nth, struct walk_item *item, size_t *name_id_out)
{
	size_t len = walk->pieces[nth].len;

	item->text_offset = 0;
	item->has_method = false;
	item->is_dead = walk->pieces[nth].err ||
			code_view_begin(walk->code, walk->heap, walk->blocks[nth],
					header_of(walk, nth), len, &item->view);
	if (item->is_dead)
		return 0;
	return address_ids_add(&walk->name_ids, item->view.name_address, name_id_out);
}

static void item_finish(struct walk *walk, size_t nth, struct walk_item *item, size_t name_id)
{
	struct hotspot_blob *blob = &item->view.blob;

	if (!walk->names[name_id][0] ||
	    code_view_finish(walk->code, header_of(walk, nth), walk->pieces[nth].len,
			     walk->names[name_id], &item->view)) {
		item->is_dead = true;
		return;
	}
	item->has_method = blob->kind == HOTSPOT_BLOB_NMETHOD || blob->kind == HOTSPOT_BLOB_NATIVE;
	item->is_dead = item->has_method && !blob->method;
}

/* Pending blocks become items. */
static int pending_read(struct walk *walk)
{
	struct walk_item *items = walk->items + walk->item_cnt;
	uint32_t lens[WALK_HEADER_CNT];
	size_t name_ids[WALK_HEADER_CNT];
	size_t cnt = walk->pending_cnt;
	int err = headers_read(walk, cnt);

	for (size_t i = 0; i < cnt && !err; i++) {
		lens[i] = walk->pieces[i].len;
		err = item_begin(walk, i, &items[i], &name_ids[i]);
	}
	if (!err)
		err = names_read(walk); /* takes the pieces for itself */
	for (size_t i = 0; i < cnt && !err; i++) {
		walk->pieces[i].len = lens[i];
		if (!items[i].is_dead)
			item_finish(walk, i, &items[i], name_ids[i]);
		walk->skipped += items[i].is_dead;
	}
	/* Items that turned out to be nothing are dropped at once. */
	for (size_t i = 0; i < cnt && !err; i++) {
		if (!items[i].is_dead)
			walk->items[walk->item_cnt++] = items[i];
	}
	walk->pending_cnt = 0;
	return err;
}

/* ---- names of methods ---- */

static int order_compare(const void *a, const void *b)
{
	const struct walk_method *left = a, *right = b;

	return (left->method > right->method) - (left->method < right->method);
}

/* Puts the name of a method behind walk->text. 0; -EAGAIN: it has none; -ENOMEM. */
static int method_text(struct walk *walk, size_t method_id, size_t *offset_out)
{
	size_t offset = walk->text.len;
	int err;

	if (offset > WALK_TEXT_MAX_BYTES)
		return -EAGAIN;
	err = hotspot_methods__name(walk->methods, method_id, NULL, &walk->text);
	strbuf_putc(&walk->text, '\0');
	if (!err)
		err = strbuf_error(&walk->text);
	*offset_out = offset;
	return err;
}

/* Names the items of order[0, cnt), whose methods were added and have ids in that order. */
static int methods_take(struct walk *walk, const struct walk_method *order, size_t cnt)
{
	size_t method_id = 0, offset = 0;
	int err = hotspot_methods__read(walk->methods);
	bool is_named = false;

	if (err)
		return err;
	for (size_t i = 0; i < cnt; i++) {
		bool is_next = i > 0 && order[i].method != order[i - 1].method;

		method_id += is_next;
		if (i == 0 || is_next) {
			err = method_text(walk, method_id, &offset);
			if (err == -ENOMEM)
				return err;
			is_named = !err;
		}
		walk->items[order[i].item].text_offset = offset;
		if (!is_named)
			walk->items[order[i].item].is_dead = true;
	}
	return 0;
}

static int methods_name(struct walk *walk)
{
	size_t begin = 0;
	int err = 0;

	qsort(walk->order, walk->order_cnt, sizeof(*walk->order), order_compare);
	hotspot_methods__clear(walk->methods);
	for (size_t i = 0; i < walk->order_cnt && !err; i++) {
		size_t id;

		err = hotspot_methods__add(walk->methods, walk->order[i].method, &id);
		if (err != -ENOSPC)
			continue;
		err = methods_take(walk, walk->order + begin, i - begin);
		hotspot_methods__clear(walk->methods);
		begin = i--;
	}
	if (!err)
		err = methods_take(walk, walk->order + begin, walk->order_cnt - begin);
	return err;
}

/* ---- second reading ---- */

static int item_show(struct walk *walk, size_t nth, const struct walk_item *item)
{
	const char *name = item->view.blob.name;

	if (item->is_dead || walk->pieces[nth].err ||
	    !code_view_is_same(walk->code, walk->heap, header_of(walk, nth), walk->pieces[nth].len,
			       &item->view)) {
		walk->skipped++;
		return 0;
	}
	if (item->has_method)
		name = walk->text.data + item->text_offset;
	return walk->fn(walk->ctx, &item->view.blob, name);
}

static int items_show(struct walk *walk)
{
	int err = 0;

	for (size_t begin = 0; begin < walk->item_cnt && !err; begin += WALK_HEADER_CNT) {
		const struct walk_item *items = walk->items + begin;
		size_t left = walk->item_cnt - begin;
		size_t cnt = left < WALK_HEADER_CNT ? left : WALK_HEADER_CNT;

		for (size_t i = 0; i < cnt; i++)
			walk->blocks[i] = items[i].view.blob.start - walk->code->layout.block_size;
		err = headers_read(walk, cnt);
		for (size_t i = 0; i < cnt && !err; i++)
			err = item_show(walk, i, &items[i]);
	}
	return err;
}

/* ---- batches ---- */

static int batch_run(struct walk *walk)
{
	int err;

	walk->order_cnt = 0;
	for (size_t i = 0; i < walk->item_cnt; i++) {
		if (walk->items[i].has_method)
			walk->order[walk->order_cnt++] =
				(struct walk_method){ walk->items[i].view.blob.method, i };
	}
	strbuf_clear(&walk->text);
	err = methods_name(walk);
	if (!err)
		err = items_show(walk);
	walk->item_cnt = 0;
	walk->name_cnt = 0;
	address_ids_clear(&walk->name_ids);
	return err;
}

static int block_add(struct walk *walk, uint64_t block)
{
	int err = 0;

	if (walk->block_cnt == WALK_MAX_BLOCKS)
		return -E2BIG;
	walk->block_cnt++;
	walk->blocks[walk->pending_cnt++] = block;
	if (walk->pending_cnt < WALK_HEADER_CNT)
		return 0;
	err = pending_read(walk);
	if (!err && (walk->item_cnt + WALK_HEADER_CNT > WALK_BATCH_CNT ||
		     walk->name_ids.cnt + WALK_HEADER_CNT > WALK_NAME_CNT))
		err = batch_run(walk);
	return err;
}

static int heap_walk(struct walk *walk)
{
	const struct code_heap *heap = walk->heap;
	uint64_t segment_cnt = (heap->high - heap->low) >> heap->segment_shift;
	int err = 0;

	for (uint64_t begin = 0; begin < segment_cnt; begin += WALK_SEGMAP_BYTES) {
		uint64_t left = segment_cnt - begin;
		size_t len = left < WALK_SEGMAP_BYTES ? (size_t)left : WALK_SEGMAP_BYTES;

		err = remote_mem_read(walk->code->mem, heap->segmap_low + begin, walk->segmap, len);
		for (size_t i = 0; i < len && !err; i++) {
			if (walk->segmap[i] == WALK_SEGMENT_IS_HEAD)
				err = block_add(walk,
						heap->low + ((begin + i) << heap->segment_shift));
		}
		if (err)
			return err;
	}
	err = pending_read(walk);
	return err ? err : batch_run(walk);
}

int hotspot_code__walk(struct hotspot_code *code, hotspot_walk_fn fn, void *ctx,
		       size_t *skipped_out)
{
	struct walk *walk = walk_new(code);
	int err = 0;

	if (!walk)
		return -ENOMEM;
	walk->fn = fn;
	walk->ctx = ctx;
	for (size_t i = 0; i < code->heap_cnt && !err; i++) {
		walk->heap = &code->heaps[i];
		err = heap_walk(walk);
	}
	if (!err && skipped_out)
		*skipped_out = walk->skipped;
	walk_free(walk);
	return remote_mem_error_is_local(err) ? -EAGAIN : err;
}
