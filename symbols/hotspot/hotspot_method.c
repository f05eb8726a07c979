// SPDX-License-Identifier: Apache-2.0
/*
 * All methods take each step together, so that thousands of them cost a few system calls. Symbols
 * and classes are shared by many methods and read once. Nothing is kept from one batch to the
 * next: memory of classes that were unloaded may become that of others.
 */
#include "symbols/hotspot/hotspot_method.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/hotspot/hotspot_method_ids.h"
#include "symbols/hotspot/hotspot_method_text.h"
#include "user/util/cleanup.h"

#define SYMBOLS_PER_METHOD 3u
#define POOL_PIECES	   3u	/* the most that a step reads for a method */
#define ALL_PIECES	   6u	/* of all steps */
#define CHAIN_BATCH_CNT	   256u /* buffers for so many at a time */
#define POOL_MAX_LENGTH	   65535
#define PAGE_BYTES	   4096u
#define SYMBOL_FIRST_BYTES 128u /* most symbols are shorter */
#define SYMBOL_BATCH_CNT   256u
#define LONG_SYMBOLS_BYTES (128u << 10) /* bodies read at once */
#define TEXT_MAX_BYTES	   (8u << 20)	/* of one batch */

_Static_assert(LONG_SYMBOLS_BYTES > UINT16_MAX, "the longest symbol must fit");

struct chain {
	uint64_t method;
	uint64_t const_method;
	uint64_t pool;
	uint64_t holder;
	uint32_t name_index;
	uint32_t signature_index;
	uint64_t name; /* Symbol* */
	uint64_t signature;
	uint64_t class_name;
	size_t name_id; /* in `symbols` */
	size_t signature_id;
	size_t class_name_id;
	bool is_broken;
};

struct symbol {
	uint32_t text_offset;
	uint32_t text_len;
	bool is_broken;
};

struct hotspot_methods {
	struct remote_batch *batch;
	const struct hotspot_layout *layout;
	struct address_ids ids;
	struct chain *chains; /* by id */
	struct address_ids symbol_ids;
	struct symbol *symbols;	     /* by id */
	struct strbuf text;	     /* of all symbols */
	struct remote_piece *pieces; /* scratch: POOL_PIECES per chain of a batch */
	uint8_t *bytes;		     /* scratch: object_bytes per piece */
	size_t object_bytes;
	uint8_t *symbol_bytes; /* scratch */
	uint8_t *long_bytes;   /* scratch, made when first needed */
};

/* ---- object ---- */

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t const_method_bytes(const struct hotspot_layout *layout)
{
	return max_u32(hotspot_field_end(&layout->const_method_constants),
		       max_u32(hotspot_field_end(&layout->const_method_name_index),
			       hotspot_field_end(&layout->const_method_signature_index)));
}

static uint32_t pool_bytes(const struct hotspot_layout *layout)
{
	return max_u32(hotspot_field_end(&layout->pool_holder),
		       hotspot_field_end(&layout->pool_length));
}

static uint32_t symbol_header_bytes(const struct hotspot_layout *layout)
{
	return max_u32(hotspot_field_end(&layout->symbol_length), layout->symbol_body.offset);
}

struct hotspot_methods *hotspot_methods__new(struct remote_batch *batch,
					     const struct hotspot_layout *layout, size_t max)
{
	struct hotspot_methods *methods = calloc(1, sizeof(*methods));
	size_t piece_cnt = (max < CHAIN_BATCH_CNT ? max : CHAIN_BATCH_CNT) * POOL_PIECES;

	if (!methods)
		return NULL;
	methods->batch = batch;
	methods->layout = layout;
	methods->object_bytes = max_u32(const_method_bytes(layout), pool_bytes(layout));
	methods->chains = calloc(max, sizeof(*methods->chains));
	methods->symbols = calloc(max * SYMBOLS_PER_METHOD, sizeof(*methods->symbols));
	methods->pieces =
		calloc(max_u32((uint32_t)piece_cnt, SYMBOL_BATCH_CNT), sizeof(*methods->pieces));
	methods->bytes = calloc(piece_cnt, methods->object_bytes);
	methods->symbol_bytes = malloc(SYMBOL_BATCH_CNT * SYMBOL_FIRST_BYTES);
	if (!methods->chains || !methods->symbols || !methods->pieces || !methods->bytes ||
	    !methods->symbol_bytes || address_ids_init(&methods->ids, max) ||
	    address_ids_init(&methods->symbol_ids, max * SYMBOLS_PER_METHOD)) {
		hotspot_methods__free(methods);
		return NULL;
	}
	return methods;
}

void hotspot_methods__free(struct hotspot_methods *methods)
{
	if (!methods)
		return;
	address_ids_release(&methods->ids);
	address_ids_release(&methods->symbol_ids);
	strbuf_release(&methods->text);
	free(methods->chains);
	free(methods->symbols);
	free(methods->pieces);
	free(methods->bytes);
	free(methods->symbol_bytes);
	free(methods->long_bytes);
	free(methods);
}

void hotspot_methods__clear(struct hotspot_methods *methods)
{
	address_ids_clear(&methods->ids);
	address_ids_clear(&methods->symbol_ids);
	strbuf_clear(&methods->text);
}

int hotspot_methods__add(struct hotspot_methods *methods, uint64_t method, size_t *idx_out)
{
	size_t before = methods->ids.cnt;
	int err = address_ids_add(&methods->ids, method, idx_out);

	if (!err && methods->ids.cnt != before)
		methods->chains[*idx_out] =
			(struct chain){ .method = method,
					.is_broken = !hotspot_address_is_sane(method) };
	return err;
}

/* ---- steps ---- */

/* Address of a field of an object; an address that overflows leads nowhere and is not read. */
static uint64_t field_address(uint64_t object, const struct hotspot_field *field)
{
	return object + field->offset;
}

struct step {
	size_t piece_cnt;
	/* Says what to read for a chain: address and length of each piece. */
	void (*ask)(const struct hotspot_layout *layout, const struct chain *chain,
		    struct remote_piece *pieces);
	/* Takes what was read into the chain. False: it does not hold together. */
	bool (*take)(const struct hotspot_layout *layout, const struct remote_piece *pieces,
		     struct chain *chain);
};

static uint64_t pointer_of(const struct remote_piece *piece)
{
	uint64_t value;

	memcpy(&value, piece->out, sizeof(value));
	return le64toh(value);
}

static void ask_method(const struct hotspot_layout *layout, const struct chain *chain,
		       struct remote_piece *pieces)
{
	pieces[0].address = field_address(chain->method, &layout->method_const_method);
	pieces[0].len = 8;
}

static bool take_method(const struct hotspot_layout *layout, const struct remote_piece *pieces,
			struct chain *chain)
{
	(void)layout;
	chain->const_method = pointer_of(&pieces[0]);
	return hotspot_address_is_sane(chain->const_method);
}

static void ask_const_method(const struct hotspot_layout *layout, const struct chain *chain,
			     struct remote_piece *pieces)
{
	pieces[0].address = chain->const_method;
	pieces[0].len = const_method_bytes(layout);
}

static bool take_const_method(const struct hotspot_layout *layout,
			      const struct remote_piece *pieces, struct chain *chain)
{
	const void *object = pieces[0].out;

	chain->pool = hotspot_field_uint(&layout->const_method_constants, object);
	chain->name_index = (uint32_t)hotspot_field_uint(&layout->const_method_name_index, object);
	chain->signature_index =
		(uint32_t)hotspot_field_uint(&layout->const_method_signature_index, object);
	return hotspot_address_is_sane(chain->pool) && chain->name_index && chain->signature_index;
}

static void ask_pool(const struct hotspot_layout *layout, const struct chain *chain,
		     struct remote_piece *pieces)
{
	uint64_t entries = chain->pool + layout->pool_size;

	pieces[0].address = chain->pool;
	pieces[0].len = pool_bytes(layout);
	pieces[1].address = entries + 8ull * chain->name_index;
	pieces[1].len = 8;
	pieces[2].address = entries + 8ull * chain->signature_index;
	pieces[2].len = 8;
}

static bool take_pool(const struct hotspot_layout *layout, const struct remote_piece *pieces,
		      struct chain *chain)
{
	int64_t length = hotspot_field_int(&layout->pool_length, pieces[0].out);

	chain->holder = hotspot_field_uint(&layout->pool_holder, pieces[0].out);
	/* Bit 0 is a mark of some JDKs and no part of the address. */
	chain->name = pointer_of(&pieces[1]) & ~1ull;
	chain->signature = pointer_of(&pieces[2]) & ~1ull;
	return length <= POOL_MAX_LENGTH && chain->name_index < length &&
	       chain->signature_index < length && hotspot_address_is_sane(chain->holder) &&
	       hotspot_address_is_sane(chain->name) && hotspot_address_is_sane(chain->signature);
}

static void ask_holder(const struct hotspot_layout *layout, const struct chain *chain,
		       struct remote_piece *pieces)
{
	pieces[0].address = field_address(chain->holder, &layout->klass_name);
	pieces[0].len = 8;
}

static bool take_holder(const struct hotspot_layout *layout, const struct remote_piece *pieces,
			struct chain *chain)
{
	(void)layout;
	chain->class_name = pointer_of(&pieces[0]);
	return hotspot_address_is_sane(chain->class_name);
}

static const struct step steps[] = {
	{ 1, ask_method, take_method },
	{ 1, ask_const_method, take_const_method },
	{ POOL_PIECES, ask_pool, take_pool },
	{ 1, ask_holder, take_holder },
};

static bool step_take(const struct hotspot_layout *layout, const struct step *step,
		      const struct remote_piece *pieces, struct chain *chain)
{
	for (size_t i = 0; i < step->piece_cnt; i++) {
		if (pieces[i].err)
			return false;
	}
	return step->take(layout, pieces, chain);
}

/* One step for `cnt` chains, at most CHAIN_BATCH_CNT. */
static int step_run(struct hotspot_methods *methods, const struct step *step, struct chain *chains,
		    size_t cnt)
{
	struct remote_piece *pieces = methods->pieces;
	size_t piece_cnt = cnt * step->piece_cnt;
	int err;

	for (size_t i = 0; i < piece_cnt; i++)
		pieces[i] =
			(struct remote_piece){ .out = methods->bytes + i * methods->object_bytes };
	for (size_t i = 0; i < cnt; i++) {
		if (!chains[i].is_broken)
			step->ask(methods->layout, &chains[i], pieces + i * step->piece_cnt);
	}
	err = remote_batch__read(methods->batch, pieces, piece_cnt);
	for (size_t i = 0; i < cnt && !err; i++) {
		if (!chains[i].is_broken)
			chains[i].is_broken = !step_take(methods->layout, step,
							 pieces + i * step->piece_cnt, &chains[i]);
	}
	return err;
}

static int steps_run(struct hotspot_methods *methods)
{
	int err = 0;

	for (size_t begin = 0; begin < methods->ids.cnt && !err; begin += CHAIN_BATCH_CNT) {
		size_t left = methods->ids.cnt - begin;
		size_t cnt = left < CHAIN_BATCH_CNT ? left : CHAIN_BATCH_CNT;

		for (size_t i = 0; i < ARRAY_SIZE(steps) && !err; i++)
			err = step_run(methods, &steps[i], methods->chains + begin, cnt);
	}
	return err;
}

/* ---- symbols ---- */

static int symbols_add(struct hotspot_methods *methods)
{
	for (size_t i = 0; i < methods->ids.cnt; i++) {
		struct chain *chain = &methods->chains[i];
		struct address_ids *ids = &methods->symbol_ids;
		int err;

		if (chain->is_broken)
			continue;
		err = address_ids_add(ids, chain->name, &chain->name_id);
		if (!err)
			err = address_ids_add(ids, chain->signature, &chain->signature_id);
		if (!err)
			err = address_ids_add(ids, chain->class_name, &chain->class_name_id);
		if (err)
			return err;
	}
	return 0;
}

static size_t symbol_len(const struct hotspot_layout *layout, const uint8_t *header)
{
	uint64_t length = hotspot_field_uint(&layout->symbol_length, header);

	return (size_t)(layout->symbol_length_is_packed ? length >> 16 : length);
}

/* Header and as much of the body as lies in the same page: that costs no second read mostly. */
static uint32_t symbol_first_len(const struct hotspot_layout *layout, uint64_t address)
{
	uint32_t page_left = PAGE_BYTES - (uint32_t)(address % PAGE_BYTES);
	uint32_t len = page_left < SYMBOL_FIRST_BYTES ? page_left : SYMBOL_FIRST_BYTES;

	return max_u32(len, symbol_header_bytes(layout));
}

static int symbol_take(struct hotspot_methods *methods, size_t id, const uint8_t *body, size_t len)
{
	struct symbol *symbol = &methods->symbols[id];
	size_t offset = methods->text.len;
	int err = -EINVAL;

	if (offset + len <= TEXT_MAX_BYTES)
		err = hotspot_symbol_text(body, len, &methods->text);
	if (err == -ENOMEM)
		return err;
	*symbol = (struct symbol){ .text_offset = (uint32_t)offset,
				   .text_len = (uint32_t)(methods->text.len - offset),
				   .is_broken = err != 0 };
	return 0;
}

struct long_symbol {
	size_t id;
	size_t len;
};

/* Reads the bodies of `cnt` symbols, which fit together. */
static int long_symbols_flush(struct hotspot_methods *methods, const struct long_symbol *symbols,
			      size_t cnt)
{
	uint8_t *at = methods->long_bytes;
	int err;

	for (size_t i = 0; i < cnt; i++) {
		methods->pieces[i] = (struct remote_piece){
			.address = methods->symbol_ids.addresses[symbols[i].id] +
				   methods->layout->symbol_body.offset,
			.out = at,
			.len = (uint32_t)symbols[i].len,
		};
		at += symbols[i].len;
	}
	err = remote_batch__read(methods->batch, methods->pieces, cnt);
	for (size_t i = 0; i < cnt && !err; i++) {
		const struct remote_piece *piece = &methods->pieces[i];

		if (piece->err)
			methods->symbols[symbols[i].id].is_broken = true;
		else
			err = symbol_take(methods, symbols[i].id, piece->out, piece->len);
	}
	return err;
}

static int long_symbols_read(struct hotspot_methods *methods, const struct long_symbol *symbols,
			     size_t cnt)
{
	size_t begin = 0, bytes = 0;
	int err = 0;

	if (!methods->long_bytes)
		methods->long_bytes = malloc(LONG_SYMBOLS_BYTES);
	if (!methods->long_bytes)
		return -ENOMEM;
	for (size_t i = 0; i < cnt && !err; i++) {
		if (bytes + symbols[i].len > LONG_SYMBOLS_BYTES) {
			err = long_symbols_flush(methods, symbols + begin, i - begin);
			begin = i;
			bytes = 0;
		}
		bytes += symbols[i].len;
	}
	return err ? err : long_symbols_flush(methods, symbols + begin, cnt - begin);
}

/* Symbols [begin, begin + cnt), cnt <= SYMBOL_BATCH_CNT. */
static int symbols_read_batch(struct hotspot_methods *methods, size_t begin, size_t cnt)
{
	const struct hotspot_layout *layout = methods->layout;
	struct long_symbol longs[SYMBOL_BATCH_CNT];
	size_t long_cnt = 0;
	int err;

	for (size_t i = 0; i < cnt; i++) {
		uint64_t address = methods->symbol_ids.addresses[begin + i];

		methods->pieces[i] = (struct remote_piece){
			.address = address,
			.out = methods->symbol_bytes + i * SYMBOL_FIRST_BYTES,
			.len = symbol_first_len(layout, address),
		};
	}
	err = remote_batch__read(methods->batch, methods->pieces, cnt);
	for (size_t i = 0; i < cnt && !err; i++) {
		const struct remote_piece *piece = &methods->pieces[i];
		const uint8_t *bytes = piece->out;
		size_t len = piece->err ? 0 : symbol_len(layout, bytes);

		if (len && layout->symbol_body.offset + len > piece->len)
			longs[long_cnt++] = (struct long_symbol){ begin + i, len };
		else
			err = symbol_take(methods, begin + i, bytes + layout->symbol_body.offset,
					  len);
	}
	if (!err && long_cnt)
		err = long_symbols_read(methods, longs, long_cnt);
	return err;
}

static int symbols_read(struct hotspot_methods *methods)
{
	size_t cnt = methods->symbol_ids.cnt;
	int err = 0;

	for (size_t begin = 0; begin < cnt && !err; begin += SYMBOL_BATCH_CNT) {
		size_t left = cnt - begin;

		err = symbols_read_batch(methods, begin,
					 left < SYMBOL_BATCH_CNT ? left : SYMBOL_BATCH_CNT);
	}
	return err;
}

/* ---- all together ---- */

int hotspot_methods__read(struct hotspot_methods *methods)
{
	int err = steps_run(methods);

	if (!err)
		err = symbols_add(methods);
	if (!err)
		err = symbols_read(methods);
	return err;
}

/* Does a chain read later lead to the same names? */
static bool chain_is_same(const struct chain *a, const struct chain *b)
{
	return a->const_method == b->const_method && a->pool == b->pool && a->holder == b->holder &&
	       a->name_index == b->name_index && a->signature_index == b->signature_index &&
	       a->name == b->name && a->signature == b->signature && a->class_name == b->class_name;
}

/* All steps in one call: the addresses are known. */
static int chain_read_again(struct hotspot_methods *methods, struct chain *chain)
{
	uint8_t bytes[ALL_PIECES][HOTSPOT_PREFIX_MAX_BYTES];
	struct remote_piece pieces[ALL_PIECES];
	struct chain now = *chain;
	size_t piece = 0;
	int err;

	for (size_t i = 0; i < ALL_PIECES; i++)
		pieces[i] = (struct remote_piece){ .out = bytes[i] };
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		steps[i].ask(methods->layout, chain, pieces + piece);
		piece += steps[i].piece_cnt;
	}
	err = remote_batch__read(methods->batch, pieces, piece);
	if (err)
		return err;
	piece = 0;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		if (!step_take(methods->layout, &steps[i], pieces + piece, &now))
			chain->is_broken = true;
		piece += steps[i].piece_cnt;
	}
	if (!chain_is_same(chain, &now))
		chain->is_broken = true;
	return 0;
}

int hotspot_methods__read_again(struct hotspot_methods *methods)
{
	int err = 0;

	for (size_t i = 0; i < methods->ids.cnt && !err; i++) {
		if (!methods->chains[i].is_broken)
			err = chain_read_again(methods, &methods->chains[i]);
	}
	return err;
}

static struct hotspot_text symbol_text(const struct hotspot_methods *methods, size_t id)
{
	const struct symbol *symbol = &methods->symbols[id];

	return (struct hotspot_text){ strbuf_str(&methods->text) + symbol->text_offset,
				      symbol->text_len };
}

int hotspot_methods__name(const struct hotspot_methods *methods, size_t idx,
			  uint64_t *const_method_out, struct strbuf *out)
{
	const struct chain *chain = &methods->chains[idx];
	int err;

	if (chain->is_broken || methods->symbols[chain->name_id].is_broken ||
	    methods->symbols[chain->signature_id].is_broken ||
	    methods->symbols[chain->class_name_id].is_broken)
		return -EAGAIN;
	err = hotspot_method_text(symbol_text(methods, chain->class_name_id),
				  symbol_text(methods, chain->name_id),
				  symbol_text(methods, chain->signature_id), out);
	if (err)
		return err == -EINVAL ? -EAGAIN : err;
	if (const_method_out)
		*const_method_out = chain->const_method;
	return 0;
}
