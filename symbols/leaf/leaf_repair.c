// SPDX-License-Identifier: Apache-2.0
/*
 * Is the caller of a JIT leaf missing from its frame-pointer chain, and where is it? Here is what
 * holds on every machine; what instructions mean is in leaf_repair_x86_judge.c and
 * leaf_repair_arm64.c. The profiler runs on the machine of its targets, so it judges by the rules
 * of its own.
 */
#include "symbols/leaf/leaf_repair.h"

#include "symbols/leaf/leaf_repair_arm64.h"
#include "symbols/leaf/leaf_repair_x86_judge.h"
#include "user/util/saturate.h"

/* From the verified entry on: class initialization barrier, stack bangs and frame take 70 bytes. */
#define PROLOGUE_BYTES 192
/* From the first byte to the verified entry: the inline cache check. More is not believed. */
#define CHECK_BYTES_MAX 256
/* Around an address in a stub: enough for the long unrolled ones. */
#define STUB_BEFORE_BYTES 2048
#define STUB_BEHIND_BYTES (LEAF_ENTRY_BYTES_MAX - STUB_BEFORE_BYTES)

static enum leaf_verdict judge_compiled(const struct leaf_code *leaf)
{
#if defined(__x86_64__)
	return leaf_repair_x86_judge_compiled(leaf);
#elif defined(__aarch64__)
	return leaf_repair_arm64_judge_compiled(leaf);
#else
	(void)leaf;
	return LEAF_NOT_REPAIRABLE;
#endif
}

static enum leaf_verdict judge_stub(const struct leaf_code *leaf)
{
#if defined(__x86_64__)
	return leaf_repair_x86_judge_stub(leaf);
#else
	(void)leaf; /* the caller may be in the link register, which is not taken */
	return LEAF_NOT_REPAIRABLE;
#endif
}

static enum leaf_verdict judge_vtable(void)
{
#if defined(__x86_64__)
	return LEAF_CALLER_AT_SP; /* these neither push nor call: vtableStubs_x86_64.cpp */
#else
	return LEAF_NOT_REPAIRABLE;
#endif
}

/* Not one instruction: the bytes could not be read. */
static bool is_nothing(const uint8_t *code)
{
	for (size_t i = 0; i < LEAF_CODE_BYTES; i++) {
		if (code[i])
			return false;
	}
	return true;
}

enum leaf_verdict leaf_repair_judge(const struct leaf_code *leaf)
{
	const struct hotspot_blob *blob = leaf->blob;

	if (leaf->ip < blob->code_begin || leaf->ip >= blob->code_end)
		return LEAF_NOT_REPAIRABLE;

	switch (blob->kind) {
	case HOTSPOT_BLOB_NMETHOD:
	case HOTSPOT_BLOB_NATIVE:
		return is_nothing(leaf->at_ip) ? LEAF_NOT_REPAIRABLE : judge_compiled(leaf);
	case HOTSPOT_BLOB_INTERPRETER:
		return LEAF_NOT_NEEDED; /* keeps a frame pointer whatever the flags say */
	case HOTSPOT_BLOB_VTABLE:
		return judge_vtable();
	case HOTSPOT_BLOB_STUB:
	case HOTSPOT_BLOB_CONTINUATION:
		return judge_stub(leaf);
	}
	return LEAF_NOT_REPAIRABLE;
}

void leaf_repair_wants(const struct hotspot_blob *blob, uint64_t ip, uint64_t *address_out,
		       size_t *len_out)
{
	uint64_t entry = blob->verified_entry;
	uint64_t from = 0;
	uint64_t to = 0;

	switch (blob->kind) {
	case HOTSPOT_BLOB_NMETHOD:
	case HOTSPOT_BLOB_NATIVE:
		if (entry < blob->code_begin || entry >= blob->code_end)
			break;
		from = entry - blob->code_begin <= CHECK_BYTES_MAX ? blob->code_begin : entry;
		to = min_u64(entry + PROLOGUE_BYTES, blob->code_end);
		/* Linkers of method handles are judged by the way out. */
		if (blob->kind == HOTSPOT_BLOB_NATIVE)
			to = min_u64(from + LEAF_ENTRY_BYTES_MAX, blob->code_end);
		/* Also what precedes the leaf, unless that is far. */
		if (ip > to && ip < blob->code_end && ip - from <= LEAF_ENTRY_BYTES_MAX)
			to = ip;
		break;
	case HOTSPOT_BLOB_STUB:
	case HOTSPOT_BLOB_CONTINUATION:
		if (ip < blob->code_begin || ip >= blob->code_end)
			break;
		from = ip - min_u64(ip - blob->code_begin, STUB_BEFORE_BYTES);
		to = ip + min_u64(blob->code_end - ip, STUB_BEHIND_BYTES);
		break;
	case HOTSPOT_BLOB_INTERPRETER:
	case HOTSPOT_BLOB_VTABLE:
		break;
	}
	*address_out = from;
	*len_out = to - from;
}
