// SPDX-License-Identifier: Apache-2.0
/*
 * The leaf of a stack: is the code there what was interrupted, and does the chain have its caller?
 * Both are asked soon after the sample, while the code can be read, and kept with the answer.
 */
#include <errno.h>
#include <string.h>

#include "symbols/jit/jit_vm_internal.h"
#include "symbols/leaf/call_site.h"

/* One patched call or object address has no more bytes than this; more is other code. */
#define LEAF_MAX_PATCHED_BYTES 8u
/* A method that is made not entrant gets a jump at its entry. */
#define LEAF_ENTRY_JUMP_BYTES 8u

static size_t bytes_different(const uint8_t *a, const uint8_t *b, size_t len)
{
	size_t cnt = 0;

	for (size_t i = 0; i < len; i++)
		cnt += a[i] != b[i];
	return cnt;
}

/* Of code that is not what was sampled. -EAGAIN, -EXDEV. */
static int mistaken_read_again(struct jit_vm *vm, struct jit_blob *blob)
{
	/* It may have been replaced a moment ago; else something else was there before it. */
	if (jit_blobs_read_again(vm, blob))
		return -EAGAIN;
	(void)jit_life_event(&blob->life, JIT_EVENT_MISTAKEN, vm->ops->now_ns(vm->ctx));
	return -EXDEV;
}

int jit_leaf_read_and_check(struct jit_vm *vm, struct jit_blob *blob,
			    const struct jit_vm_query *query)
{
	static const uint8_t nothing[LEAF_CODE_BYTES];
	uint64_t entry = blob->blob.verified_entry;
	uint8_t now[LEAF_CODE_BYTES];

	/* There since before the sample: then it is what was interrupted. */
	if (blob->blob.kind != HOTSPOT_BLOB_NMETHOD ||
	    blob->life.first_seen_ns <= query->since_boot_ns)
		return 0;
	if (memcmp(query->leaf_code, nothing, sizeof(nothing)) == 0 ||
	    (entry && query->word < entry + LEAF_ENTRY_JUMP_BYTES &&
	     query->word + LEAF_CODE_BYTES > entry))
		return 0;
	if (!jit_account_may_read(&vm->account) ||
	    jit_account_note(&vm->account,
			     vm->ops->read_code(vm->ctx, query->word, now, sizeof(now))) ||
	    bytes_different(now, query->leaf_code, sizeof(now)) <= LEAF_MAX_PATCHED_BYTES)
		return 0;
	return mistaken_read_again(vm, blob);
}

int jit_return_read_and_check(struct jit_vm *vm, struct jit_blob *blob,
			      const struct jit_vm_query *query)
{
	uint64_t handler = blob->blob.deopt_handler;
	uint8_t before[CALL_SITE_BYTES];

	/*
	 * Frames that wait to be deoptimised return to handlers, which stand behind all calls
	 * (CodeOffsets::Deopt and DeoptMH of codeBuffer.hpp are in the section of stubs).
	 */
	if (query->is_leaf || blob->blob.kind != HOTSPOT_BLOB_NMETHOD || !handler ||
	    query->word >= handler || blob->life.first_seen_ns <= query->since_boot_ns ||
	    query->word < blob->blob.code_begin + sizeof(before) || jit_life_is_gone(&blob->life) ||
	    vm->account.is_ended || !jit_account_may_read(&vm->account) ||
	    jit_account_note(&vm->account, vm->ops->read_code(vm->ctx, query->word - sizeof(before),
							      before, sizeof(before))) ||
	    call_site_ends(before))
		return 0;
	return mistaken_read_again(vm, blob);
}

/* Puts the code that is wanted of *leaf into `code`, or says that it is not to be had. */
static void read_wanted(struct jit_vm *vm, const struct jit_blob *blob, struct leaf_code *leaf,
			uint8_t *code, size_t code_bytes)
{
	if (leaf->entry_len > code_bytes)
		leaf->entry_len = code_bytes;
	if (leaf->entry_len && !jit_life_is_gone(&blob->life) &&
	    jit_account_may_read(&vm->account) &&
	    jit_account_note(&vm->account, vm->ops->read_code(vm->ctx, leaf->entry_address, code,
							      leaf->entry_len)) == 0)
		leaf->entry = code;
	else
		leaf->entry_len = 0;
}

/* Without the code that a judge wants to read besides. */
static struct leaf_code leaf_of(const struct jit_blob *blob, const struct jit_vm_query *query)
{
	return (struct leaf_code){
		.blob = &blob->blob,
		.ip = query->word,
		.at_ip = query->leaf_code,
	};
}

static struct leaf_rule read_and_prove(struct jit_vm *vm, const struct jit_blob *blob,
				       const struct jit_vm_query *query, enum leaf_rule_reach reach)
{
	uint8_t code[LEAF_RULE_FAR_BYTES];
	struct leaf_code leaf = leaf_of(blob, query);

	leaf_rule_wants(&blob->blob, query->word, reach, &leaf.entry_address, &leaf.entry_len);
	read_wanted(vm, blob, &leaf, code, sizeof(code));
	return leaf_rule_prove(&leaf);
}

uint8_t jit_leaf_read_and_refute(struct jit_vm *vm, const struct jit_blob *blob,
				 const struct jit_vm_query *query)
{
	struct leaf_rule rule = read_and_prove(vm, blob, query, LEAF_RULE_NEAR);

	return (uint8_t)leaf_rule_refutes(&rule, blob->blob.frame_bytes);
}

/* As far as it takes. */
static struct leaf_rule read_and_prove_far(struct jit_vm *vm, const struct jit_blob *blob,
					   const struct jit_vm_query *query)
{
	struct leaf_rule rule = read_and_prove(vm, blob, query, LEAF_RULE_NEAR);

	return rule.place == LEAF_RULE_NOT_PROVED ? read_and_prove(vm, blob, query, LEAF_RULE_FAR) :
						    rule;
}

uint16_t jit_leaf_read_and_confirm(struct jit_vm *vm, const struct jit_blob *blob,
				   const struct jit_vm_query *query)
{
	struct leaf_rule rule = read_and_prove_far(vm, blob, query);

	return leaf_rule_as_guess(&rule);
}

bool jit_vm__prove_leaf(struct jit_vm *vm, const struct jit_vm_query *query,
			struct jit_vm_proof *out)
{
	struct jit_blob *blob;

	if (!query->leaf_code || jit_blobs_read_present(vm, query->word, query->mode, &blob))
		return false;
	out->rule = read_and_prove_far(vm, blob, query);
	out->blob = blob->blob.start;
	return out->rule.place != LEAF_RULE_NOT_PROVED;
}

enum leaf_verdict jit_leaf_read_and_judge(struct jit_vm *vm, const struct jit_blob *blob,
					  const struct jit_vm_query *query)
{
	uint8_t code[LEAF_ENTRY_BYTES_MAX];
	struct leaf_code leaf = leaf_of(blob, query);

	leaf_repair_wants(&blob->blob, query->word, &leaf.entry_address, &leaf.entry_len);
	read_wanted(vm, blob, &leaf, code, sizeof(code));
	return leaf_repair_judge(&leaf);
}
