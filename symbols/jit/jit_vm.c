// SPDX-License-Identifier: Apache-2.0
/*
 * One JVM's JIT code as an object; jit_vm.h has the rules. A question is one word of a stack, and
 * when its samples were taken. It comes in one of three modes, which hold until it is answered:
 * prefetching soon after the sample (prompt or late), and resolving at the end of a window.
 *
 * The order: the key of the question (a leaf and a return address are two) is looked up among the
 * answers that are kept. A kept answer holds as long as the version of code or the method that it
 * hangs on does; a cached question costs one hash probe and one check of that version. Otherwise
 * the interpreter's range leads to jit_vm_methods.c, all other code to jit_code_blobs.c, which say
 * what is there now or, when resolving, who owned the samples. jit_call_chains.c makes frames of it,
 * which are kept. Between windows jit_vm__refresh() verifies what is in use and forgets the rest;
 * between prefetches jit_vm__round() does it for what is due.
 *
 * What can go wrong: too much CPU time was spent on reading, or the process has ended. Then nothing
 * is read any more, and only what is known answers. Unknown and ambiguous are answers, no errors.
 */
#include "symbols/jit/jit_vm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/jit/jit_vm_internal.h"

/*
 * Keys of answers. Addresses in user space leave the upper bits free: a return address asks for
 * another place than the same address as a leaf, and a leaf with its code for a verdict, too, or
 * for a proof of what was guessed.
 */
#define KEY_METHOD    (1ull << 63)
#define KEY_LEAF      (1ull << 62)
#define KEY_LEAF_CODE (1ull << 61)
#define KEY_GUESSED   (1ull << 60)
#define KEY_USER_MASK (KEY_GUESSED - 1)

/* ---- object ---- */

int jit_vm__new(const struct jit_vm_ops *ops, void *ctx, struct name_table *names,
		struct jit_vm **out)
{
	struct jit_vm *vm = calloc(1, sizeof(*vm));

	if (!vm)
		return -ENOMEM;
	vm->chains = strtab__new();
	if (!vm->chains) {
		free(vm);
		return -ENOMEM;
	}
	vm->ops = ops;
	vm->ctx = ctx;
	vm->names = names;
	vm->refresh_cnt = 1;
	vm->opened_ns = vm->read_boot_ns = ops->now_ns(ctx);
	(void)jit_unloads_read(vm);
	ops->ranges(ctx, &vm->ranges);
	*out = vm;
	return 0;
}

void jit_vm__free(struct jit_vm *vm)
{
	if (!vm)
		return;
	jit_blobs_release(vm);
	jit_methods_release(vm);
	strtab__free(vm->chains);
	addr_cache_release(&vm->answers);
	strbuf_release(&vm->text);
	vm->ops->free(vm->ctx);
	free(vm);
}

void jit_vm__began(struct jit_vm *vm, uint64_t boot_ns)
{
	vm->young_until_ns = boot_ns + JIT_ACCOUNT_RESTLESS_NS;
	if (vm->opened_ns < vm->young_until_ns && !vm->unloads.is_known)
		jit_account_stir(&vm->account, vm->opened_ns);
	vm->restless_for_youth_ns = vm->account.restless_ns;
}

static void vm_read_ranges(struct jit_vm *vm)
{
	struct hotspot_ranges ranges;

	vm->ops->ranges(vm->ctx, &ranges);
	if (memcmp(&ranges, &vm->ranges, sizeof(ranges)) != 0)
		addr_cache_clear(&vm->answers);
	vm->ranges = ranges;
}

int jit_vm__refresh(struct jit_vm *vm)
{
	int err;

	if (vm->account.is_ended)
		return -ESRCH;
	vm->refresh_cnt++;
	vm->epoch++;
	jit_account_renew(&vm->account);
	vm->round_ns = vm->ops->now_ns(vm->ctx);
	err = jit_account_note(&vm->account, vm->ops->refresh(vm->ctx));
	(void)jit_unloads_read(vm);
	if (!err) {
		vm_read_ranges(vm);
		err = jit_account_note(&vm->account, jit_blobs_refresh(vm));
	}
	jit_methods_refresh(vm);
	jit_account_settle(&vm->account);
	if (!err)
		vm->read_boot_ns = vm->ops->now_ns(vm->ctx);
	return err;
}

void jit_vm__round(struct jit_vm *vm)
{
	uint64_t now_ns = vm->ops->now_ns(vm->ctx);

	jit_unloads_poll(vm);
	if (vm->account.is_ended ||
	    now_ns - vm->round_ns < jit_account_round_ns(&vm->account, now_ns))
		return;
	vm->round_ns = now_ns;
	jit_account_note(&vm->account, jit_blobs_round(vm));
	jit_account_settle(&vm->account);
}

void jit_vm__forget_names(struct jit_vm *vm)
{
	struct strtab *fresh = strtab__new();

	/* Without memory for a new table the old one only is larger than it needs to be. */
	if (fresh) {
		strtab__free(vm->chains);
		vm->chains = fresh;
	}
	addr_cache_clear(&vm->answers);
	jit_methods_clear(vm);
}

void jit_vm__end(struct jit_vm *vm, uint64_t since_boot_ns)
{
	vm->account.is_ended = true;
	jit_blobs_drop_since(vm, since_boot_ns);
	jit_methods_drop_since(vm, since_boot_ns);
	addr_cache_clear(&vm->answers);
}

void jit_vm__ranges(const struct jit_vm *vm, struct hotspot_ranges *out)
{
	*out = vm->ranges;
}

bool jit_vm__unwind(struct jit_vm *vm, struct jbpf_hotspot *out)
{
	return !vm->account.is_ended && vm->ops->unwind(vm->ctx, out);
}

static bool vm_is_interpreter(const struct jit_vm *vm, uint64_t address)
{
	return address >= vm->ranges.interpreter_low && address < vm->ranges.interpreter_high;
}

bool jit_vm__covers(const struct jit_vm *vm, uint64_t address)
{
	return address >= vm->ranges.code_low && address < vm->ranges.code_high &&
	       address <= KEY_USER_MASK;
}

int jit_vm__walk(struct jit_vm *vm, hotspot_walk_fn fn, void *ctx)
{
	if (vm->account.is_ended)
		return -ESRCH;
	return vm->ops->walk(vm->ctx, fn, ctx, NULL);
}

/* ---- answers ---- */

static uint64_t query_address(const struct jit_vm_query *query)
{
	/* A call may be the last instruction before other code. */
	return query->is_leaf || query->word == 0 ? query->word : query->word - 1;
}

static uint64_t query_key(const struct jit_vm_query *query, bool is_interpreter)
{
	if (is_interpreter && query->method)
		return KEY_METHOD | query->method;
	if (!query->is_leaf)
		return query->word;
	if (query->is_guessed)
		return query->word | KEY_GUESSED;
	return query->word | (query->leaf_code ? KEY_LEAF_CODE : KEY_LEAF);
}

/* Of something that is there: can these samples be another's? */
static bool life_holds(const struct jit_vm *vm, const struct jit_life *life,
		       const struct jit_vm_query *query)
{
	struct jit_span span = jit_span_of(query);

	return span.since >= life->sure_from_ns &&
	       jit_life_is_credible(life, &span, true, vm->account.restless_ns);
}

static bool blob_read_holds(struct jit_vm *vm, const struct answer *answer,
			    const struct jit_vm_query *query)
{
	struct jit_blob *blob = jit_slots_get(&vm->blobs.slots, answer->handle);

	if (!blob || jit_life_is_gone(&blob->life))
		return false;
	/* Not used lately, so not verified with the others. */
	if (blob->verified_refresh != vm->refresh_cnt && !vm->account.is_ended &&
	    jit_blobs_read_again(vm, blob) && !vm->account.is_ended)
		return false;
	if (query->mode == JIT_VM_RESOLVE && !life_holds(vm, &blob->life, query))
		return false;
	jit_blob_use(vm, blob);
	return true;
}

static bool method_read_holds(struct jit_vm *vm, const struct answer *answer,
			      const struct jit_vm_query *query)
{
	struct jit_method *method = jit_slots_get(&vm->methods.slots, answer->handle);

	if (!method || !jit_method_is_there(vm, method) ||
	    (query->mode == JIT_VM_RESOLVE ? !life_holds(vm, &method->life, query) :
					     jit_method_read_is_old(vm, method)))
		return false;
	method->used_refresh = vm->refresh_cnt;
	return true;
}

static bool answer_read_holds(struct jit_vm *vm, const struct answer *answer,
			      const struct jit_vm_query *query)
{
	switch ((enum answer_kind)answer->kind) {
	case ANSWER_KIND_CHAIN:
		return true;
	case ANSWER_KIND_BLOB:
		return blob_read_holds(vm, answer, query);
	case ANSWER_KIND_METHOD:
		return method_read_holds(vm, answer, query);
	default:
		/* What is not known at the end of a window may be read by the next prefetch. */
		return query->mode == JIT_VM_RESOLVE &&
		       answer->epoch == (vm->epoch & ANSWER_EPOCH_MASK);
	}
}

/*
 * The frames of a piece of code. `known` is what was answered before: if it was that very code, its
 * names are those of when it was there.
 */
static int answer_read_blob(struct jit_vm *vm, struct jit_blob *blob,
			    const struct jit_vm_query *query, const struct answer *known,
			    struct answer *out)
{
	uint32_t chain = known->chain;
	bool is_whole = true;
	int err = 0;

	if (known->kind != ANSWER_KIND_BLOB || known->handle != blob->handle)
		err = jit_chain_read_of_blob(vm, blob, query, &chain, &is_whole);
	if (err)
		return err;
	/* What is missing may be read later, as long as the code is there. */
	*out = is_whole || jit_life_is_gone(&blob->life) || vm->account.is_ended ?
		       answer_of_handle(ANSWER_KIND_BLOB, chain, blob->handle) :
		       (struct answer){ .chain = chain, .kind = ANSWER_KIND_DATED };
	return 0;
}

/* At the end of a window: by who may have been there when the samples were taken. */
static int answer_read_owner(struct jit_vm *vm, const struct jit_vm_query *query,
			     const struct answer *known, struct answer *out)
{
	struct jit_blob *blob;
	int err = jit_blobs_read_present(vm, query_address(query), query->mode, &blob);

	if (err == -ENOMEM)
		return err;
	err = jit_blobs_owner(vm, query, query_address(query), err == -EAGAIN, &blob);
	return err ? err : answer_read_blob(vm, blob, query, known, out);
}

static int answer_read_present(struct jit_vm *vm, const struct jit_vm_query *query,
			       const struct answer *known, struct answer *out)
{
	struct jit_blob *blob;
	int err = jit_blobs_read_present(vm, query_address(query), query->mode, &blob);

	return err ? err : answer_read_blob(vm, blob, query, known, out);
}

static int answer_read_code(struct jit_vm *vm, const struct jit_vm_query *query,
			    const struct answer *known, struct answer *out)
{
	int err = -EAGAIN;

	/* Twice: it may change while its names are read. */
	for (int i = 0; i < 2 && err == -EAGAIN; i++)
		err = query->mode == JIT_VM_RESOLVE ? answer_read_owner(vm, query, known, out) :
						      answer_read_present(vm, query, known, out);
	return err == -EAGAIN ? -ENOENT : err;
}

static int answer_read_interpreter(struct jit_vm *vm, const struct jit_vm_query *query,
				   struct answer *out)
{
	struct jit_method *method;
	bool is_past = false;
	uint32_t chain;
	int err = -ENOENT;

	if (query->method)
		err = jit_methods_read_interpreted(vm, query, &method, &is_past);
	if (!err) {
		err = jit_chain_read_of_method(vm, method, is_past, &chain);
		if (err)
			return err;
		*out = is_past || jit_life_is_gone(&method->life) ?
			       (struct answer){ .chain = chain, .kind = ANSWER_KIND_DATED } :
			       answer_of_handle(ANSWER_KIND_METHOD, chain, method->handle);
		return 0;
	}
	if (err != -ENOENT)
		return err;
	err = jit_chain_of_interpreter(vm, query->method != 0, &chain);
	*out = (struct answer){
		.chain = err ? 0 : chain,
		.kind = query->method ? ANSWER_KIND_DATED : ANSWER_KIND_CHAIN,
	};
	return err;
}

/* 0 and an answer to be kept, also when it says that there is no name; or -ENOMEM. */
static int vm_read_answer(struct jit_vm *vm, const struct jit_vm_query *query,
			  const struct answer *known, struct answer *out)
{
	int err;

	if (vm_is_interpreter(vm, query_address(query)))
		err = answer_read_interpreter(vm, query, out);
	else
		err = answer_read_code(vm, query, known, out);
	if (err == -ENOMEM)
		return err;
	if (err)
		*out = (struct answer){
			.kind = err == -EXDEV ? ANSWER_KIND_AMBIGUOUS : ANSWER_KIND_UNKNOWN,
		};
	if (out->kind >= ANSWER_KIND_DATED)
		out->epoch = vm->epoch & ANSWER_EPOCH_MASK;
	return 0;
}

static int answer_give(const struct jit_vm *vm, const struct answer *answer,
		       struct jit_vm_answer *out)
{
	size_t bytes;
	const char *chain;

	if (answer->kind == ANSWER_KIND_UNKNOWN)
		return -ENOENT;
	if (answer->kind == ANSWER_KIND_AMBIGUOUS)
		return -EXDEV;
	/* Strings of a table are not aligned. */
	chain = strtab__get(vm->chains, answer->chain, &bytes);
	memcpy(out->frames, chain, bytes);
	out->cnt = bytes / sizeof(out->frames[0]);
	return 0;
}

int jit_vm__read_frames(struct jit_vm *vm, const struct jit_vm_query *query,
			struct jit_vm_answer *out)
{
	uint64_t key = query_key(query, vm_is_interpreter(vm, query_address(query)));
	const struct answer *found = addr_cache_find(&vm->answers, key);
	struct answer known = found ? *found : (struct answer){ .kind = ANSWER_KIND_NONE };
	struct answer answer = known;
	int err = 0;

	if (query->mode == JIT_VM_RESOLVE && (query->since_boot_ns != vm->last_since_ns ||
					      query->until_boot_ns != vm->last_until_ns)) {
		vm->last_since_ns = query->since_boot_ns;
		vm->last_until_ns = query->until_boot_ns;
		vm->epoch++;
	}
	out->is_new = !found || !answer_read_holds(vm, &known, query);
	if (out->is_new)
		err = vm_read_answer(vm, query, &known, &answer);
	jit_account_settle(&vm->account);
	if (err)
		return err;
	if (out->is_new)
		addr_cache_put(&vm->answers, key, answer);
	return answer_give(vm, &answer, out);
}

/* ---- facts ---- */

void jit_vm__status(const struct jit_vm *vm, struct jit_vm_status *out)
{
	*out = (struct jit_vm_status){
		.read_boot_ns = vm->read_boot_ns,
		.blob_cnt = vm->blobs.alive_cnt,
		.has_inlined = vm->ops->has_inlined(vm->ctx),
		.has_interpreted = vm->ranges.interpreter_high > vm->ranges.interpreter_low,
		.is_ended = vm->account.is_ended,
	};
}

uint64_t jit_vm__read_cnt(const struct jit_vm *vm)
{
	return vm->account.read_cnt;
}

bool jit_vm__is_quiet(const struct jit_vm *vm)
{
	uint64_t since_ns = vm->opened_ns;

	if (!vm->unloads.is_known)
		return false;
	if (vm->account.restless_ns > since_ns)
		since_ns = vm->account.restless_ns;
	if (vm->unloads.since_ns > since_ns)
		since_ns = vm->unloads.since_ns;
	return vm->ops->now_ns(vm->ctx) > since_ns + JIT_ACCOUNT_RESTLESS_NS;
}

bool jit_vm__is_restless(const struct jit_vm *vm)
{
	return jit_account_is_restless(&vm->account, vm->ops->now_ns(vm->ctx));
}

size_t jit_vm__bytes(const struct jit_vm *vm)
{
	return sizeof(*vm) + jit_blobs_bytes(vm) + jit_methods_bytes(vm) +
	       strtab__bytes(vm->chains) + addr_cache_bytes(&vm->answers) + vm->text.cap;
}
