// SPDX-License-Identifier: Apache-2.0
/*
 * The leaf of a stack: is the code there what was interrupted, and does the chain have its caller?
 * Both are asked soon after the sample, while the code can be read, and kept with the answer.
 */
#include <errno.h>
#include <string.h>

#include "symbols/jit/jit_vm_internal.h"

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
	/* It may have been replaced a moment ago; else something else was there before it. */
	if (jit_blobs_read_again(vm, blob))
		return -EAGAIN;
	(void)jit_life_event(&blob->life, JIT_EVENT_MISTAKEN, vm->ops->now_ns(vm->ctx));
	return -EXDEV;
}

enum leaf_verdict jit_leaf_read_and_judge(struct jit_vm *vm, const struct jit_blob *blob,
					  const struct jit_vm_query *query)
{
	uint8_t code[LEAF_ENTRY_BYTES_MAX];
	struct leaf_code leaf = {
		.blob = &blob->blob,
		.ip = query->word,
		.at_ip = query->leaf_code,
	};

	leaf_repair_wants(&blob->blob, query->word, &leaf.entry_address, &leaf.entry_len);
	if (leaf.entry_len > sizeof(code))
		leaf.entry_len = sizeof(code);
	if (leaf.entry_len && !jit_life_is_gone(&blob->life) &&
	    jit_account_may_read(&vm->account) &&
	    jit_account_note(&vm->account, vm->ops->read_code(vm->ctx, leaf.entry_address, code,
							      leaf.entry_len)) == 0)
		leaf.entry = code;
	else
		leaf.entry_len = 0;
	return leaf_repair_judge(&leaf);
}
