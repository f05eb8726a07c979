// SPDX-License-Identifier: Apache-2.0
/*
 * PcDescs and scopes of one nmethod (src/hotspot/share/code/{pcDesc,debugInfoRec,scopeDesc}.cpp).
 * Everything is read and checked once and kept decoded: a tree of (method, bci) nodes that point
 * to their senders, and the sorted pcs that lead into it: 700 bytes for the average nmethod of a
 * small service. The raw data, with values of locals for the deoptimiser, take half as much again.
 */
#include "symbols/hotspot/hotspot_scopes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/hotspot/hotspot_scopes_memory.h"
#include "symbols/hotspot/unsigned5.h"
#include "user/util/byte_reader.h"
#include "user/util/cleanup.h"
#include "user/util/vec.h"

#define PCS_MAX_BYTES	   (4u << 20)
#define SCOPES_MAX_BYTES   (4u << 20)
#define METADATA_MAX_BYTES (1u << 20)
#define PC_DESC_BYTES	   16u
#define PC_LOWER_LIMIT	   (-1) /* pc_offset of the description that begins the array */
#define SCOPE_NONE	   0	/* decode offset of a PcDesc that describes nothing */
#define METHOD_CNT_MAX	   65535u
#define BCI_MAX		   65534 /* a method has at most 65535 bytes of code */

#define NODE_NONE UINT32_MAX /* no sender: the outermost method */
#define DAMAGED	  UINT32_MAX
#define NODE_BAD  (UINT32_MAX - 1) /* damaged, or does not lead to the nmethod's method */

/* The bytes of an nmethod as they were read; pointers into `bytes`. */
struct raw_scopes {
	const uint8_t *pcs, *scopes, *metadata;
	uint32_t pcs_bytes, scopes_bytes, metadata_bytes;
};

struct scope_node {
	uint32_t sender;       /* node, or NODE_NONE */
	uint16_t method;       /* index into `methods` */
	uint16_t bci_plus_one; /* 0: method entry */
};

struct scope_pc {
	uint32_t offset; /* from code_begin; ascending */
	uint32_t node;	 /* or NODE_BAD */
};

struct hotspot_scopes {
	uint64_t code_begin;
	uint64_t deopt_handler;	   /* 0 = not known */
	uint64_t deopt_mh_handler; /* 0 = there is none */
	uint32_t code_bytes;
	uint32_t pc_cnt;
	uint32_t node_cnt;
	uint32_t method_cnt;
	struct scope_pc *pcs;
	struct scope_node *nodes;
	uint64_t *methods;
};

/* ---- reading ---- */

static bool range_is_sane(uint64_t begin, uint64_t end, size_t max_bytes)
{
	return begin != 0 && begin <= end && end - begin <= max_bytes;
}

/* One system call. *buf_out holds what `raw` points to. */
static int raw_read(const struct remote_mem *mem, const struct hotspot_blob *blob,
		    struct raw_scopes *raw, uint8_t **buf_out)
{
	struct remote_piece pieces[] = {
		{ .address = blob->pcs_begin },
		{ .address = blob->scopes_begin },
		{ .address = blob->metadata_begin },
	};
	uint8_t *buf;
	int err;

	if (!range_is_sane(blob->pcs_begin, blob->pcs_end, PCS_MAX_BYTES) ||
	    !range_is_sane(blob->scopes_begin, blob->scopes_end, SCOPES_MAX_BYTES) ||
	    !range_is_sane(blob->metadata_begin, blob->metadata_end, METADATA_MAX_BYTES))
		return -EAGAIN;
	raw->pcs_bytes = (uint32_t)(blob->pcs_end - blob->pcs_begin);
	raw->scopes_bytes = (uint32_t)(blob->scopes_end - blob->scopes_begin);
	raw->metadata_bytes = (uint32_t)(blob->metadata_end - blob->metadata_begin);
	buf = malloc((size_t)raw->pcs_bytes + raw->scopes_bytes + raw->metadata_bytes + 1);
	if (!buf)
		return -ENOMEM;
	raw->pcs = buf;
	raw->scopes = raw->pcs + raw->pcs_bytes;
	raw->metadata = raw->scopes + raw->scopes_bytes;
	pieces[0].out = buf;
	pieces[0].len = raw->pcs_bytes;
	pieces[1].out = buf + raw->pcs_bytes;
	pieces[1].len = raw->scopes_bytes;
	pieces[2].out = buf + raw->pcs_bytes + raw->scopes_bytes;
	pieces[2].len = raw->metadata_bytes;
	err = remote_mem_read_pieces(mem, pieces, ARRAY_SIZE(pieces));
	if (!err && (pieces[0].err || pieces[1].err || pieces[2].err))
		err = -EAGAIN;
	if (err)
		free(buf);
	else
		*buf_out = buf;
	return err;
}

/* ---- decoding ---- */

struct decoder {
	const struct raw_scopes *raw;
	bool excludes_zero;
	uint64_t own_method;
	/* By offset into the scopes and by index into the metadata: 1 + what it became; 0 = new. */
	uint32_t *node_by_offset; /* or DAMAGED */
	uint32_t *method_by_index;
	struct hotspot_scopes *out; /* arrays grow; sizes below */
	size_t node_room;
	size_t method_room;
};

/* One scope as it is written. */
struct raw_scope {
	uint32_t offset;
	uint32_t sender_offset; /* 0: outermost */
	uint32_t method_index;	/* from 1; 0 = none */
	uint32_t bci_plus_one;
};

/* 0, -EINVAL damaged. A sender is always written before those it called, so offsets only fall. */
static int raw_scope_read(const struct decoder *decoder, uint32_t offset, struct raw_scope *out)
{
	const struct raw_scopes *raw = decoder->raw;
	struct byte_reader reader;

	if (offset == SCOPE_NONE || offset >= raw->scopes_bytes)
		return -EINVAL;
	reader = byte_reader_init(raw->scopes + offset, raw->scopes_bytes - offset);
	out->offset = offset;
	out->sender_offset = unsigned5_read(&reader, decoder->excludes_zero);
	out->method_index = unsigned5_read(&reader, decoder->excludes_zero);
	out->bci_plus_one = unsigned5_read(&reader, decoder->excludes_zero);
	if (reader.failed || out->sender_offset >= offset || out->bci_plus_one > BCI_MAX + 1 ||
	    out->method_index == 0 || out->method_index > raw->metadata_bytes / sizeof(uint64_t))
		return -EINVAL;
	return 0;
}

/* Index into out->methods of the method at a metadata index. -EINVAL: no Method* is there. */
static int method_slot(struct decoder *decoder, uint32_t metadata_index, uint32_t *slot_out)
{
	uint32_t *known = &decoder->method_by_index[metadata_index - 1];
	struct hotspot_scopes *out = decoder->out;
	uint64_t method;
	int err;

	if (*known == 0) {
		memcpy(&method,
		       decoder->raw->metadata + (size_t)(metadata_index - 1) * sizeof(method),
		       sizeof(method));
		method = le64toh(method);
		if (method == 0 || method % sizeof(uint64_t) || out->method_cnt == METHOD_CNT_MAX)
			return -EINVAL;
		err = vec_room(out->methods, out->method_cnt, decoder->method_room, 16);
		if (err)
			return err;
		out->methods[out->method_cnt++] = method;
		*known = out->method_cnt;
	}
	*slot_out = *known - 1;
	return 0;
}

static size_t node_depth(const struct hotspot_scopes *scopes, uint32_t node)
{
	size_t depth = 0;

	for (; node != NODE_NONE; node = scopes->nodes[node].sender)
		depth++;
	return depth;
}

/* Adds a scope below `sender`, a good node or NODE_NONE. 0, -EINVAL, -ENOMEM. */
static int node_add(struct decoder *decoder, const struct raw_scope *scope, uint32_t sender,
		    uint32_t *node_out)
{
	struct hotspot_scopes *out = decoder->out;
	uint32_t slot;
	int err = method_slot(decoder, scope->method_index, &slot);

	if (err)
		return err;
	if (sender == NODE_NONE && out->methods[slot] != decoder->own_method)
		return -EINVAL;
	err = vec_room(out->nodes, out->node_cnt, decoder->node_room, 16);
	if (err)
		return err;
	out->nodes[out->node_cnt] = (struct scope_node){
		.sender = sender,
		.method = (uint16_t)slot,
		.bci_plus_one = (uint16_t)scope->bci_plus_one,
	};
	*node_out = out->node_cnt++;
	decoder->node_by_offset[scope->offset] = *node_out + 1;
	return 0;
}

/* The way from a scope outwards up to one that is a node already; innermost first. */
struct path {
	struct raw_scope scopes[HOTSPOT_SCOPES_MAX_DEPTH];
	size_t cnt;
	uint32_t sender; /* of the last one */
};

/* 0, -EINVAL damaged, -E2BIG deeper than HOTSPOT_SCOPES_MAX_DEPTH. */
static int path_read(const struct decoder *decoder, uint32_t offset, struct path *path)
{
	path->cnt = 0;
	path->sender = NODE_NONE;
	for (; offset != SCOPE_NONE; offset = path->scopes[path->cnt++].sender_offset) {
		uint32_t known = 0;
		int err;

		if (offset < decoder->raw->scopes_bytes)
			known = decoder->node_by_offset[offset];
		if (known == DAMAGED)
			return -EINVAL;
		if (known) {
			path->sender = known - 1;
			break;
		}
		if (path->cnt == HOTSPOT_SCOPES_MAX_DEPTH)
			return -E2BIG;
		err = raw_scope_read(decoder, offset, &path->scopes[path->cnt]);
		if (err)
			return err;
	}
	return path->cnt + node_depth(decoder->out, path->sender) > HOTSPOT_SCOPES_MAX_DEPTH ?
		       -E2BIG :
		       0;
}

/* The node of the scope at `offset`; its senders become nodes on the way. 0, -ENOMEM, -EINVAL. */
static int node_of(struct decoder *decoder, uint32_t offset, uint32_t *node_out)
{
	struct path path;
	int err = path_read(decoder, offset, &path);
	uint32_t node = path.sender;

	while (!err && path.cnt) {
		err = node_add(decoder, &path.scopes[path.cnt - 1], node, &node);
		if (!err)
			path.cnt--;
	}
	if (err == -ENOMEM)
		return err;
	/*
	 * Callers of a damaged scope are not decoded again; only the innermost scope counts as too
	 * deep.
	 */
	for (size_t i = 0; err && i < path.cnt; i++) {
		if (err == -EINVAL || i == 0)
			decoder->node_by_offset[path.scopes[i].offset] = DAMAGED;
	}
	if (err)
		return -EINVAL;
	*node_out = node;
	return 0;
}

struct pc_desc {
	int32_t pc_offset;
	uint32_t scope_offset;
};

static struct pc_desc pc_desc_at(const struct raw_scopes *raw, size_t idx)
{
	struct byte_reader reader = byte_reader_init(raw->pcs + idx * PC_DESC_BYTES, PC_DESC_BYTES);
	int32_t pc_offset = (int32_t)byte_reader_u32(&reader);

	return (struct pc_desc){ pc_offset, byte_reader_u32(&reader) };
}

/*
 * Number of PcDescs between the two that only mark the ends, the first of them at index 1. -EAGAIN:
 * this is no array of PcDescs. The end mark lies behind the code (nmethod::copy_scopes_pcs); the gap of
 * rounding after it is filled with copies.
 */
static int pc_descs_check(const struct raw_scopes *raw, uint32_t code_bytes, uint32_t *cnt_out)
{
	size_t cnt = raw->pcs_bytes / PC_DESC_BYTES;
	int32_t previous = PC_LOWER_LIMIT;

	if (cnt == 0 || pc_desc_at(raw, 0).pc_offset != PC_LOWER_LIMIT)
		return -EAGAIN;
	for (size_t i = 1; i < cnt; i++) {
		struct pc_desc desc = pc_desc_at(raw, i);

		if (desc.pc_offset <= previous)
			return -EAGAIN;
		if ((uint32_t)desc.pc_offset > code_bytes) {
			*cnt_out = (uint32_t)(i - 1);
			return desc.scope_offset == SCOPE_NONE ? 0 : -EAGAIN;
		}
		previous = desc.pc_offset;
	}
	return -EAGAIN;
}

static int pcs_decode(struct decoder *decoder)
{
	struct hotspot_scopes *out = decoder->out;
	uint32_t cnt;
	int err = pc_descs_check(decoder->raw, out->code_bytes, &cnt);

	if (err)
		return err;
	out->pcs = reallocarray(NULL, (size_t)cnt + 1, sizeof(*out->pcs));
	if (!out->pcs)
		return -ENOMEM;
	for (size_t i = 1; i <= cnt; i++) {
		struct pc_desc desc = pc_desc_at(decoder->raw, i);
		struct scope_pc *pc = &out->pcs[out->pc_cnt];

		if (desc.scope_offset == SCOPE_NONE)
			continue;
		err = node_of(decoder, desc.scope_offset, &pc->node);
		if (err == -ENOMEM)
			return err;
		if (err)
			pc->node = NODE_BAD;
		pc->offset = (uint32_t)desc.pc_offset;
		out->pc_cnt++;
	}
	return 0;
}

static int scopes_decode(const struct raw_scopes *raw, bool excludes_zero, uint64_t own_method,
			 struct hotspot_scopes *out)
{
	struct decoder decoder = {
		.raw = raw,
		.excludes_zero = excludes_zero,
		.own_method = own_method,
		.node_by_offset = calloc(raw->scopes_bytes + 1, sizeof(uint32_t)),
		.method_by_index =
			calloc(raw->metadata_bytes / sizeof(uint64_t) + 1, sizeof(uint32_t)),
		.out = out,
	};
	int err = decoder.node_by_offset && decoder.method_by_index ? pcs_decode(&decoder) :
								      -ENOMEM;

	free(decoder.node_by_offset);
	free(decoder.method_by_index);
	return err;
}

/* Gives back what the arrays have too much. */
static void scopes_trim(struct hotspot_scopes *scopes)
{
	void *trimmed;

	trimmed = reallocarray(scopes->pcs, scopes->pc_cnt + 1u, sizeof(*scopes->pcs));
	if (trimmed)
		scopes->pcs = trimmed;
	trimmed = reallocarray(scopes->nodes, scopes->node_cnt + 1u, sizeof(*scopes->nodes));
	if (trimmed)
		scopes->nodes = trimmed;
	trimmed = reallocarray(scopes->methods, scopes->method_cnt + 1u, sizeof(*scopes->methods));
	if (trimmed)
		scopes->methods = trimmed;
}

/* ---- object ---- */

int hotspot_scopes_read_memory(const struct remote_mem *mem, bool excludes_zero,
			       const struct hotspot_blob *blob, struct hotspot_scopes **out)
{
	__cleanup_free uint8_t *buf = NULL;
	struct hotspot_scopes *scopes;
	struct raw_scopes raw;
	int err;

	if (blob->pcs_begin == 0 || blob->pcs_begin == blob->pcs_end || blob->method == 0)
		return -ENOENT;
	if (blob->code_end < blob->code_begin || blob->code_end - blob->code_begin > INT32_MAX)
		return -EAGAIN;
	err = raw_read(mem, blob, &raw, &buf);
	if (err)
		return err;
	scopes = calloc(1, sizeof(*scopes));
	if (!scopes)
		return -ENOMEM;
	scopes->code_begin = blob->code_begin;
	scopes->code_bytes = (uint32_t)(blob->code_end - blob->code_begin);
	scopes->deopt_handler = blob->deopt_handler;
	scopes->deopt_mh_handler = blob->deopt_mh_handler;
	err = scopes_decode(&raw, excludes_zero, blob->method, scopes);
	if (!err && scopes->pc_cnt == 0)
		err = -ENOENT;
	if (err) {
		hotspot_scopes__free(scopes);
		return err;
	}
	scopes_trim(scopes);
	*out = scopes;
	return 0;
}

int hotspot_scopes__read(struct hotspot_code *code, const struct hotspot_blob *blob,
			 struct hotspot_scopes **out)
{
	const struct hotspot_layout *layout = hotspot_code__layout(code);
	struct hotspot_scopes *scopes;
	bool is_same = false;
	int err;

	if (!hotspot_layout_has_scopes(layout))
		return -ENOTSUP;
	err = hotspot_scopes_read_memory(hotspot_code__mem(code), layout->unsigned5_excludes_zero,
					 blob, &scopes);
	if (err)
		return err;
	/*
	 * It is freed together with the nmethod: what was read belongs to it only if it is still
	 * there.
	 */
	err = hotspot_code__verify(code, &blob, 1, &is_same);
	if (!err && !is_same)
		err = -EAGAIN;
	if (err) {
		hotspot_scopes__free(scopes);
		return err;
	}
	*out = scopes;
	return 0;
}

void hotspot_scopes__free(struct hotspot_scopes *scopes)
{
	if (!scopes)
		return;
	free(scopes->pcs);
	free(scopes->nodes);
	free(scopes->methods);
	free(scopes);
}

size_t hotspot_scopes__bytes(const struct hotspot_scopes *scopes)
{
	return sizeof(*scopes) + scopes->pc_cnt * sizeof(*scopes->pcs) +
	       scopes->node_cnt * sizeof(*scopes->nodes) +
	       scopes->method_cnt * sizeof(*scopes->methods);
}

/* The first description at `offset` or behind; NULL when there is none. */
static const struct scope_pc *pc_find(const struct hotspot_scopes *scopes, uint64_t offset)
{
	size_t low = 0;
	size_t high = scopes->pc_cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (scopes->pcs[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < scopes->pc_cnt ? &scopes->pcs[low] : NULL;
}

static bool has_inlined(const struct hotspot_scopes *scopes)
{
	for (size_t i = 0; i < scopes->node_cnt; i++) {
		if (scopes->nodes[i].sender != NODE_NONE)
			return true;
	}
	return false;
}

/*
 * A frame that waits to be deoptimised returns there, and its real pc is kept elsewhere. Where it called a method
 * handle there is another handler (frame::deoptimize() in runtime/frame.cpp, is_deopt_pc() in
 * code/compiledMethod.hpp).
 */
static bool is_deopt_handler(const struct hotspot_scopes *scopes, uint64_t pc)
{
	return (scopes->deopt_handler && pc == scopes->deopt_handler) ||
	       (scopes->deopt_mh_handler && pc == scopes->deopt_mh_handler);
}

int hotspot_scopes__at(const struct hotspot_scopes *scopes, uint64_t pc, bool is_return_address,
		       struct hotspot_scope out[HOTSPOT_SCOPES_MAX_DEPTH], size_t *cnt_out)
{
	const struct scope_pc *found;
	size_t cnt = 0;

	if (pc < scopes->code_begin || pc - scopes->code_begin > scopes->code_bytes)
		return -ENOENT;
	if (is_deopt_handler(scopes, pc))
		return is_return_address && has_inlined(scopes) ? -ENODATA : -ENOENT;
	found = pc_find(scopes, pc - scopes->code_begin);
	if (!found || (is_return_address && found->offset != pc - scopes->code_begin))
		return -ENOENT;
	if (found->node == NODE_BAD)
		return -EINVAL;
	for (uint32_t node = found->node; node != NODE_NONE; node = scopes->nodes[node].sender) {
		const struct scope_node *at = &scopes->nodes[node];

		out[cnt++] = (struct hotspot_scope){
			.method = scopes->methods[at->method],
			.bci = (int32_t)at->bci_plus_one - 1,
		};
	}
	*cnt_out = cnt;
	return 0;
}
