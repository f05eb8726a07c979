// SPDX-License-Identifier: Apache-2.0
/*
 * From a place in the code to its frames. Chains are values, interned: thousands of addresses
 * share some hundred chains, and a chain needs no blob to be read again.
 */
#include <errno.h>
#include <string.h>

#include "symbols/jit/jit_vm_internal.h"

struct chain {
	struct jit_vm_frame frames[JIT_VM_MAX_FRAMES];
	size_t cnt;
	bool lacks_something; /* that could not be read just now */
};

static int chain_intern(struct jit_vm *vm, const struct chain *chain, uint32_t *chain_out)
{
	if (strtab__bytes(vm->chains) > JIT_VM_MAX_CHAIN_BYTES) {
		struct strtab *fresh = strtab__new();

		if (!fresh)
			return -ENOMEM;
		strtab__free(vm->chains);
		vm->chains = fresh;
		addr_cache_clear(&vm->answers);
	}
	return strtab__intern(vm->chains, chain->frames, chain->cnt * sizeof(chain->frames[0]),
			      chain_out);
}

static int chain_push(struct chain *chain, const struct jit_vm_frame *frame)
{
	if (chain->cnt == JIT_VM_MAX_FRAMES)
		return -E2BIG;
	chain->frames[chain->cnt++] = *frame;
	return 0;
}

static int chain_push_text(struct jit_vm *vm, struct chain *chain, const char *text,
			   bool is_unknown)
{
	struct jit_vm_frame frame = {
		.file = JIT_VM_NO_FILE,
		.kind = FRAME_KIND_NATIVE,
		.is_unknown = is_unknown,
	};
	int err = name_table__plain(vm->names, text, strlen(text), &frame.name);

	return err ? err : chain_push(chain, &frame);
}

/* ---- methods ---- */

static enum frame_kind blob_frame_kind(const struct hotspot_blob *blob)
{
	bool is_c1 = blob->kind == HOTSPOT_BLOB_NMETHOD && blob->comp_level >= 1 &&
		     blob->comp_level <= 3;

	return is_c1 ? FRAME_KIND_C1 : FRAME_KIND_JIT;
}

/*
 * One method at a bytecode index; "[unknown jit]" when it cannot be named. A leaf has its line, too,
 * which costs reads of its own. 0 or -ENOMEM.
 */
static int chain_read_scope(struct jit_vm *vm, struct chain *chain, const struct jit_blob *blob,
			    const struct jit_vm_query *query, const struct hotspot_scope *scope,
			    enum frame_kind kind)
{
	struct jit_vm_frame frame = { .file = JIT_VM_NO_FILE, .kind = (uint8_t)kind };
	struct jit_method *method;
	int err = jit_methods_read_of_blob(vm, blob, scope->method, query->mode, &method);

	chain->lacks_something |= err == -EAGAIN;
	if (err == -EAGAIN)
		return chain_push_text(vm, chain, "[unknown jit]", true);
	if (err)
		return err;
	frame.name = method->name;
	if (method->is_enter && blob->blob.kind == HOTSPOT_BLOB_NATIVE)
		frame.place = JIT_VM_PLACE_ENTER;
	/* A method that is being entered is at its first line. */
	if (query->is_leaf)
		jit_method_read_place(vm, method, scope->bci < 0 ? 0 : scope->bci, &frame.file,
				      &frame.line);
	return chain_push(chain, &frame);
}

/*
 * The scopes at the word; -ENOENT: none that fit; -ENODATA: methods were inlined there that are not
 * known.
 */
static int chain_read_scopes(struct jit_vm *vm, struct chain *chain, struct jit_blob *blob,
			     const struct jit_vm_query *query)
{
	struct hotspot_scope found[HOTSPOT_SCOPES_MAX_DEPTH];
	const struct hotspot_scopes *scopes;
	size_t cnt = 0;
	int at = jit_blob_read_scopes(vm, blob, &scopes);

	chain->lacks_something |= at == -EAGAIN;
	if (at)
		return -ENOENT;
	at = vm->ops->scopes_at(scopes, query->word, !query->is_leaf, found, &cnt);
	if (at == -ENODATA)
		return at;
	if (at || cnt == 0 || found[cnt - 1].method != blob->blob.method)
		return -ENOENT;
	for (size_t i = 0; i < cnt; i++) {
		enum frame_kind kind = i + 1 < cnt ? FRAME_KIND_INLINED :
						     blob_frame_kind(&blob->blob);
		int err = chain_read_scope(vm, chain, blob, query, &found[i], kind);

		if (err)
			return err;
	}
	return 0;
}

static int chain_read_method(struct jit_vm *vm, struct chain *chain, struct jit_blob *blob,
			     const struct jit_vm_query *query)
{
	struct jit_vm_frame frame = {
		.file = JIT_VM_NO_FILE,
		.kind = (uint8_t)blob_frame_kind(&blob->blob),
	};
	struct jit_method *method;
	int err = -ENOENT;

	if (blob->blob.kind == HOTSPOT_BLOB_NMETHOD)
		err = chain_read_scopes(vm, chain, blob, query);
	/* A frame that is left out would be a wrong caller. */
	if (err == -ENODATA) {
		err = chain_push_text(vm, chain, "[unknown jit]", true);
		if (!err)
			err = -ENOENT;
	}
	if (err != -ENOENT)
		return err;
	/* No description of this place, as in stubs at the end of a method: whose code is it? */
	err = jit_return_read_and_check(vm, blob, query);
	if (err)
		return err;
	err = jit_methods_read_of_blob(vm, blob, blob->blob.method, query->mode, &method);
	if (err)
		return err == -EAGAIN ? -ENOENT : err;
	frame.name = method->name;
	if (method->is_enter && blob->blob.kind == HOTSPOT_BLOB_NATIVE)
		frame.place = JIT_VM_PLACE_ENTER;
	if (query->is_leaf)
		jit_method_read_place(vm, method, -1, &frame.file, &frame.line);
	return chain_push(chain, &frame);
}

/* ---- interface ---- */

static int chain_push_stub(struct jit_vm *vm, struct chain *chain, const struct hotspot_blob *blob)
{
	struct jit_vm_frame frame = { .file = JIT_VM_NO_FILE, .kind = FRAME_KIND_NATIVE };
	enum frame_kind ignored;
	int err = name_table__jit(vm->names, blob->name, strnlen(blob->name, sizeof(blob->name)),
				  true, &frame.name, &ignored);

	if (err)
		return err;
	if (blob->kind == HOTSPOT_BLOB_CONTINUATION)
		frame.place = JIT_VM_PLACE_FROZEN;
	return chain_push(chain, &frame);
}

/*
 * While the frame is being made nothing inlined was entered yet, while it is taken down all has
 * returned; the description that covers such a place is that of a later one.
 */
static void chain_keep_own_method(struct chain *chain)
{
	if (chain->cnt > 1) {
		chain->frames[0] = chain->frames[chain->cnt - 1];
		chain->frames[0].line = 0; /* of a call that is not being made */
		chain->cnt = 1;
	}
}

int jit_chain_read_of_blob(struct jit_vm *vm, struct jit_blob *blob,
			   const struct jit_vm_query *query, uint32_t *chain_out,
			   bool *is_whole_out)
{
	bool is_method = blob->blob.kind == HOTSPOT_BLOB_NMETHOD ||
			 blob->blob.kind == HOTSPOT_BLOB_NATIVE;
	uint64_t read_cnt = vm->account.read_cnt;
	struct chain chain = { .cnt = 0 };
	enum leaf_verdict verdict;
	int err;

	err = is_method ? chain_read_method(vm, &chain, blob, query) :
			  chain_push_stub(vm, &chain, &blob->blob);
	if (!err && chain.cnt == 0)
		err = -ENOENT;
	if (!err && query->is_leaf && query->leaf_code) {
		if (query->mode != JIT_VM_RESOLVE)
			err = jit_leaf_read_and_check(vm, blob, query);
		verdict = jit_leaf_read_and_judge(vm, blob, query);
		if (is_method && (verdict == LEAF_CALLER_AT_SP || verdict == LEAF_CALLER_AT_SP_8))
			chain_keep_own_method(&chain);
		chain.frames[0].verdict = (uint8_t)verdict;
		/* Code without frame pointers, which the walk followed by its own rules. */
		if (query->is_guessed)
			chain.frames[0].proved = jit_leaf_read_and_confirm(vm, blob, query);
		else if (blob->blob.kind == HOTSPOT_BLOB_NMETHOD && verdict == LEAF_NOT_REPAIRABLE)
			chain.frames[0].refuted = jit_leaf_read_and_refute(vm, blob, query);
	}
	/* What was read belongs together only if the blob is still the same. */
	if (!err && vm->account.read_cnt != read_cnt && !jit_life_is_gone(&blob->life) &&
	    !vm->account.is_ended)
		err = jit_blobs_read_again(vm, blob);
	if (!err)
		err = chain_intern(vm, &chain, chain_out);
	if (!err)
		*is_whole_out = !chain.lacks_something;
	return err;
}

int jit_chain_of_interpreter(struct jit_vm *vm, bool is_unknown, uint32_t *chain_out)
{
	struct chain chain = { .cnt = 0 };
	int err = chain_push_text(vm, &chain, "Interpreter", is_unknown);

	return err ? err : chain_intern(vm, &chain, chain_out);
}

int jit_chain_read_of_method(struct jit_vm *vm, struct jit_method *method, bool is_past,
			     uint32_t *chain_out)
{
	struct chain chain = { .cnt = 1 };
	struct jit_vm_frame *frame = &chain.frames[0];

	*frame = (struct jit_vm_frame){
		.name = is_past ? method->past.name : method->name,
		.file = JIT_VM_NO_FILE,
		.kind = FRAME_KIND_INTERPRETED,
	};
	if (!is_past)
		jit_method_read_place(vm, method, -1, &frame->file, &frame->line);
	return chain_intern(vm, &chain, chain_out);
}
