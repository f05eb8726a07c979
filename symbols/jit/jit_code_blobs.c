// SPDX-License-Identifier: Apache-2.0
/*
 * The versions of code that are known: those that are there, sorted by address and never
 * overlapping, and those that were found gone and may still own samples; see jit_vm.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/jit/jit_vm_internal.h"
#include "user/util/cleanup.h"
#include "user/util/vec.h"

/* ---- table ---- */

static void blob_free(struct jit_vm *vm, struct jit_blob *blob)
{
	if (blob->scopes) {
		vm->blobs.scope_bytes -= vm->ops->scopes_bytes(blob->scopes);
		vm->ops->scopes_free(blob->scopes);
	}
	free(blob);
}

/* It is in neither list any more: its answers are void. */
static void blob_forget(struct jit_vm *vm, struct jit_blob *blob)
{
	if (jit_slots_remove(&vm->blobs.slots, blob->handle))
		addr_cache_clear(&vm->answers);
	blob_free(vm, blob);
}

void jit_blobs_release(struct jit_vm *vm)
{
	struct jit_blobs *blobs = &vm->blobs;

	for (size_t i = 0; i < blobs->alive_cnt; i++)
		blob_free(vm, blobs->alive[i]);
	for (size_t i = 0; i < blobs->gone_cnt; i++)
		blob_free(vm, blobs->gone[i]);
	free(blobs->alive);
	free(blobs->gone);
	jit_slots_release(&blobs->slots);
}

/* Index of the first that ends behind the address. */
static size_t alive_from(const struct jit_blobs *blobs, uint64_t address)
{
	size_t low = 0, high = blobs->alive_cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (blobs->alive[middle]->blob.end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct jit_blob *alive_at(const struct jit_blobs *blobs, uint64_t address)
{
	size_t index = alive_from(blobs, address);

	if (index == blobs->alive_cnt || blobs->alive[index]->blob.start > address)
		return NULL;
	return blobs->alive[index];
}

static void alive_remove(struct jit_blobs *blobs, size_t index)
{
	blobs->alive_cnt--;
	memmove(&blobs->alive[index], &blobs->alive[index + 1],
		(blobs->alive_cnt - index) * sizeof(*blobs->alive));
}

/* Found gone. There is room: blob_add() sees to it. */
static void blob_retire(struct jit_vm *vm, size_t index)
{
	struct jit_blobs *blobs = &vm->blobs;
	struct jit_blob *blob = blobs->alive[index];

	alive_remove(blobs, index);
	(void)jit_life_event(&blob->life, JIT_EVENT_LOST, vm->ops->now_ns(vm->ctx));
	if (blobs->gone_cnt == JIT_VM_MAX_GONE) {
		for (size_t i = 0; i < blobs->gone_cnt; i++)
			blob_forget(vm, blobs->gone[i]);
		blobs->gone_cnt = 0;
		blobs->lost_gone_ns = blob->life.gone_ns;
	}
	blobs->gone[blobs->gone_cnt++] = blob;
}

/* ---- reading ---- */

static bool blob_is_sane(const struct hotspot_blob *blob, uint64_t address)
{
	return blob->start < blob->end && address >= blob->start && address < blob->end;
}

static bool blob_is_method(const struct hotspot_blob *blob)
{
	return blob->kind == HOTSPOT_BLOB_NMETHOD || blob->kind == HOTSPOT_BLOB_NATIVE;
}

/* What is known of a version that was read now, by those that were there before it. */
static void blob_date(struct jit_vm *vm, struct jit_blob *blob, enum jit_vm_mode mode,
		      uint64_t read_ns)
{
	struct jit_life *life = &blob->life;

	jit_life_begin(life, mode, vm->account.restless_ns > read_ns, read_ns,
		       vm->ops->now_ns(vm->ctx));
	if (jit_unloads_read(vm) && (vm->unloads.has_changed || read_ns < vm->young_until_ns))
		life->unloaded_ns = vm->unloads.since_ns;
	jit_life_sure_from(life, vm->blobs.lost_gone_ns);
	for (size_t i = 0; i < vm->blobs.gone_cnt; i++) {
		const struct jit_blob *rival = vm->blobs.gone[i];

		if (rival->blob.start < blob->blob.end && rival->blob.end > blob->blob.start)
			jit_life_follows(life, &rival->life);
	}
	if (life->born_after_ns)
		jit_account_stir(&vm->account, vm->ops->now_ns(vm->ctx));
}

void jit_blob_use(struct jit_vm *vm, struct jit_blob *blob)
{
	blob->used_refresh = vm->refresh_cnt;
	vm->blobs.has_doubtful |= blob->verified_compiles != vm->blobs.compile_cnt;
}

/* Takes over what was read. 0, -ENOSPC, -ENOMEM. */
static int blob_add(struct jit_vm *vm, const struct hotspot_blob *read, enum jit_vm_mode mode,
		    uint64_t read_ns, struct jit_blob **out)
{
	struct jit_blobs *blobs = &vm->blobs;
	struct jit_blob *blob;
	size_t index;
	int err;

	/* What lies where this one lies is not there any more. */
	while (index = alive_from(blobs, read->start),
	       index < blobs->alive_cnt && blobs->alive[index]->blob.start < read->end)
		blob_retire(vm, index);
	if (vec_reserve(blobs->alive, blobs->alive_cnt + 1, blobs->alive_cap, 64) ||
	    vec_reserve(blobs->gone, blobs->gone_cnt + blobs->alive_cnt + 1, blobs->gone_cap, 64))
		return -ENOMEM;
	blob = calloc(1, sizeof(*blob));
	if (!blob)
		return -ENOMEM;
	err = jit_slots_add(&blobs->slots, blob, &blob->handle);
	if (err) {
		free(blob);
		return err;
	}
	blob->blob = *read;
	blob->verified_refresh = vm->refresh_cnt;
	blob->verified_compiles = JIT_VM_NO_COMPILES;
	jit_blob_use(vm, blob);
	blob_date(vm, blob, mode, read_ns);
	memmove(&blobs->alive[index + 1], &blobs->alive[index],
		(blobs->alive_cnt - index) * sizeof(*blobs->alive));
	blobs->alive[index] = blob;
	blobs->alive_cnt++;
	*out = blob;
	return 0;
}

static int blob_read_at(struct jit_vm *vm, uint64_t address, enum jit_vm_mode mode,
			struct jit_blob **out)
{
	struct hotspot_blob read;
	uint64_t read_ns = 0;
	int err = -EAGAIN;

	/* Once more when it changed while it was read: mostly it is there a moment later. */
	for (int i = 0; i < 2 && err == -EAGAIN; i++) {
		if (!jit_account_may_read(&vm->account))
			return -EAGAIN;
		read_ns = vm->ops->now_ns(vm->ctx);
		err = jit_account_note(&vm->account, vm->ops->find(vm->ctx, address, &read));
	}
	if (err)
		return err == -ENOENT || err == -ENOMEM ? err : -EAGAIN;
	if (!blob_is_sane(&read, address))
		return -EAGAIN;
	if (blob_is_method(&read) && !read.method)
		return -ENOENT;
	err = blob_add(vm, &read, mode, read_ns, out);
	return err == -ENOSPC ? -EAGAIN : err;
}

int jit_blobs_read_again(struct jit_vm *vm, struct jit_blob *blob)
{
	const struct hotspot_blob *asked = &blob->blob;
	bool is_same = false;
	uint64_t read_ns;
	int err;

	if (!jit_account_may_read(&vm->account))
		return -EAGAIN;
	read_ns = vm->ops->now_ns(vm->ctx);
	err = jit_account_note(&vm->account, vm->ops->verify(vm->ctx, &asked, 1, &is_same));
	if (err)
		return -EAGAIN;
	if (is_same) {
		(void)jit_life_event(&blob->life, JIT_EVENT_SEEN, read_ns);
		blob->verified_refresh = vm->refresh_cnt;
		return 0;
	}
	blob_retire(vm, alive_from(&vm->blobs, blob->blob.start));
	return -EAGAIN;
}

int jit_blobs_read_present(struct jit_vm *vm, uint64_t address, enum jit_vm_mode mode,
			   struct jit_blob **out)
{
	struct jit_blob *blob = alive_at(&vm->blobs, address);

	if (blob && !vm->account.is_ended && blob->verified_refresh != vm->refresh_cnt) {
		/* When it is not the same any more it is retired, and what is there now is read. */
		if (jit_blobs_read_again(vm, blob) && alive_at(&vm->blobs, address) == blob &&
		    !vm->account.is_ended)
			return -EAGAIN;
		blob = alive_at(&vm->blobs, address);
	}
	if (!blob)
		return vm->account.is_ended ? -ENOENT : blob_read_at(vm, address, mode, out);
	jit_blob_use(vm, blob);
	*out = blob;
	return 0;
}

static void blob_keep_scopes(struct jit_vm *vm, struct jit_blob *blob,
			     struct hotspot_scopes *scopes)
{
	size_t bytes = vm->ops->scopes_bytes(scopes);

	if (vm->blobs.scope_bytes + bytes > JIT_VM_MAX_SCOPE_BYTES) {
		/* Those of others go first; they are read again when they are wanted. */
		for (size_t i = 0; i < vm->blobs.alive_cnt; i++) {
			struct jit_blob *other = vm->blobs.alive[i];

			vm->ops->scopes_free(other->scopes);
			other->scopes = NULL;
		}
		vm->blobs.scope_bytes = 0;
		for (size_t i = 0; i < vm->blobs.gone_cnt; i++)
			if (vm->blobs.gone[i]->scopes)
				vm->blobs.scope_bytes +=
					vm->ops->scopes_bytes(vm->blobs.gone[i]->scopes);
	}
	vm->blobs.scope_bytes += bytes;
	blob->scopes = scopes;
}

/* Scopes that are not to be had in any other window either: none, of no known layout, or senseless. */
static bool scopes_err_is_final(int err)
{
	return err == -ENOENT || err == -ENOTSUP || err == -EINVAL;
}

int jit_blob_read_scopes(struct jit_vm *vm, struct jit_blob *blob,
			 const struct hotspot_scopes **out)
{
	struct hotspot_scopes *scopes;
	int err = blob->scopes_err;

	if (!blob->scopes && jit_life_is_gone(&blob->life))
		return -ENOENT;
	if (!blob->scopes && !err) {
		if (!jit_account_may_read(&vm->account))
			return -EAGAIN;
		err = jit_account_note(&vm->account,
				       vm->ops->scopes_read(vm->ctx, &blob->blob, &scopes));
		blob->scopes_err = vm->account.is_ended ? 0 : err;
		if (!err)
			blob_keep_scopes(vm, blob, scopes);
	}
	if (err)
		return scopes_err_is_final(err) ? -ENOENT : -EAGAIN;
	*out = blob->scopes;
	return 0;
}

/* ---- who owns a sample ---- */

static bool blob_is_there(const struct jit_vm *vm, const struct jit_blob *blob)
{
	return !jit_life_is_gone(&blob->life) &&
	       (blob->verified_refresh == vm->refresh_cnt || vm->account.is_ended);
}

struct owner_search {
	uint64_t address;
	struct jit_span span;
	struct jit_blob *certain;
	struct jit_blob *possible;
	size_t possible_cnt;
};

static void owner_consider(const struct jit_vm *vm, struct owner_search *search,
			   struct jit_blob *blob)
{
	if (search->address < blob->blob.start || search->address >= blob->blob.end ||
	    !jit_life_is_possible(&blob->life, &search->span))
		return;
	search->possible = blob;
	search->possible_cnt++;
	if (jit_life_is_certain(&blob->life, &search->span, blob_is_there(vm, blob)))
		search->certain = blob;
}

int jit_blobs_owner(struct jit_vm *vm, const struct jit_vm_query *query, uint64_t address,
		    bool is_certain_only, struct jit_blob **out)
{
	struct jit_blobs *blobs = &vm->blobs;
	struct owner_search search = {
		.address = address,
		.span = jit_span_of(query),
		/* Some are forgotten: any number of them may have been there. */
		.possible_cnt = blobs->lost_gone_ns > query->since_boot_ns ? 2 : 0,
	};
	struct jit_blob *alive = alive_at(blobs, address);
	const struct jit_blob *only;

	if (alive)
		owner_consider(vm, &search, alive);
	for (size_t i = 0; i < blobs->gone_cnt && !search.certain; i++)
		owner_consider(vm, &search, blobs->gone[i]);
	only = search.possible;
	if (search.certain) {
		*out = search.certain;
		return 0;
	}
	if (search.possible_cnt > 1)
		return -EXDEV;
	if (is_certain_only || search.possible_cnt == 0)
		return -ENOENT;
	if (!jit_life_is_credible(&only->life, &search.span, blob_is_there(vm, only),
				  vm->account.restless_ns))
		return jit_life_evidence(&only->life) == JIT_STATE_DOUBTFUL ||
				       only->life.was_restless || jit_life_is_gone(&only->life) ?
			       -EXDEV :
			       -ENOENT;
	*out = search.possible;
	return 0;
}

/* ---- between windows ---- */

/* Gone before any window that is still to be named began. */
static void gone_age(struct jit_vm *vm)
{
	struct jit_blobs *blobs = &vm->blobs;
	size_t kept = 0;

	for (size_t i = 0; i < blobs->gone_cnt; i++) {
		if (blobs->gone[i]->life.gone_ns > vm->last_since_ns)
			blobs->gone[kept++] = blobs->gone[i];
		else
			blob_forget(vm, blobs->gone[i]);
	}
	blobs->gone_cnt = kept;
}

/* A JVM that is full of code gets room for new code by what was not used lately. */
static uint32_t blobs_keep_refreshes(const struct jit_blobs *blobs)
{
	return blobs->alive_cnt + blobs->gone_cnt > JIT_VM_MAX_BLOBS / 2 ? 1 :
									   JIT_VM_KEEP_REFRESHES;
}

static void alive_age(struct jit_vm *vm)
{
	struct jit_blobs *blobs = &vm->blobs;
	uint32_t keep = blobs_keep_refreshes(blobs);
	size_t kept = 0;

	for (size_t i = 0; i < blobs->alive_cnt; i++) {
		struct jit_blob *blob = blobs->alive[i];
		uint32_t age = vm->refresh_cnt - blob->used_refresh;

		if (age > keep) {
			blob_forget(vm, blob);
			continue;
		}
		if (age > JIT_VM_DETAILS_REFRESHES && blob->scopes) {
			blobs->scope_bytes -= vm->ops->scopes_bytes(blob->scopes);
			vm->ops->scopes_free(blob->scopes);
			blob->scopes = NULL;
		}
		blob->scopes_err = 0;
		blobs->alive[kept++] = blob;
	}
	blobs->alive_cnt = kept;
}

/* What of `asked` is not the same any more is retired. */
static void blobs_settle(struct jit_vm *vm, struct jit_blob *const *asked, const bool *is_same,
			 size_t cnt, uint64_t read_ns)
{
	for (size_t i = 0; i < cnt && !vm->account.is_ended; i++) {
		if (!is_same[i]) {
			blob_retire(vm, alive_from(&vm->blobs, asked[i]->blob.start));
			continue;
		}
		(void)jit_life_event(&asked[i]->life, JIT_EVENT_SEEN, read_ns);
		asked[i]->verified_refresh = vm->refresh_cnt;
		asked[i]->verified_compiles = vm->blobs.compile_cnt;
	}
}

/*
 * What was compiled since the blob was verified may be in its place: without any, nothing but a
 * wrapper of a native method or a stub can be. In a quiet JVM, where neither class nor code went
 * lately, the end of the window is early enough for those.
 */
static bool blob_has_no_successor(const struct jit_vm *vm, const struct jit_blob *blob,
				  bool is_quiet)
{
	return is_quiet && vm->blobs.compile_cnt != JIT_VM_NO_COMPILES &&
	       blob->verified_compiles == vm->blobs.compile_cnt;
}

static bool blob_is_in_use(const struct jit_vm *vm, const struct jit_blob *blob)
{
	return vm->refresh_cnt - blob->used_refresh <= JIT_VM_VERIFY_REFRESHES;
}

/*
 * Most code is freed soon after it was made or never, so it is asked for the less often the longer
 * it is there: what was there for 16 s is still there 2 s later, or its last samples stay unknown.
 */
static bool blob_is_due(const struct jit_blob *blob, uint64_t now_ns)
{
	const struct jit_life *life = &blob->life;
	uint64_t interval_ns = (life->alive_ns - life->first_seen_ns) / JIT_VM_ROUND_SHARE;

	if (life->alive_ns < life->first_seen_ns || interval_ns < JIT_ACCOUNT_RESTLESS_ROUND_NS)
		interval_ns = JIT_ACCOUNT_RESTLESS_ROUND_NS;
	if (interval_ns > JIT_VM_OLD_ROUND_NS)
		interval_ns = JIT_VM_OLD_ROUND_NS;
	return now_ns - life->alive_ns >= interval_ns;
}

enum verify_what {
	VERIFY_USED, /* what is in use; of what was not used in the last window what may have a successor */
	VERIFY_DUE,
};

/*
 * Code is counted when it is there, or a moment later: read before the code is looked at, the number
 * changes after anything else comes.
 */
static void blobs_read_compile_cnt(struct jit_vm *vm)
{
	uint64_t before = vm->blobs.compile_cnt;

	if (jit_account_note(&vm->account, vm->ops->compiles(vm->ctx, &vm->blobs.compile_cnt)))
		vm->blobs.compile_cnt = JIT_VM_NO_COMPILES;
	vm->blobs.has_doubtful |= vm->blobs.compile_cnt != before ||
				  vm->blobs.compile_cnt == JIT_VM_NO_COMPILES;
}

/* Those to be looked at, in the order of `alive`. */
static size_t blobs_choose(struct jit_vm *vm, enum verify_what what, bool is_quiet,
			   uint64_t read_ns, struct jit_blob **asked)
{
	struct jit_blobs *blobs = &vm->blobs;
	size_t cnt = 0;
	bool has_doubtful = false;

	for (size_t i = 0; i < blobs->alive_cnt; i++) {
		struct jit_blob *blob = blobs->alive[i];

		if (!blob_is_in_use(vm, blob))
			continue;
		if (!blob_has_no_successor(vm, blob, is_quiet))
			has_doubtful = true;
		else if (what == VERIFY_DUE || vm->refresh_cnt - blob->used_refresh > 1)
			continue;
		if (what == VERIFY_USED || blob_is_due(blob, read_ns))
			asked[cnt++] = blob;
	}
	blobs->has_doubtful = has_doubtful;
	return cnt;
}

static int blobs_verify(struct jit_vm *vm, enum verify_what what)
{
	struct jit_blobs *blobs = &vm->blobs;
	size_t cap = blobs->alive_cnt ? blobs->alive_cnt : 1;
	bool is_quiet = jit_vm__is_quiet(vm);
	uint64_t read_ns = vm->ops->now_ns(vm->ctx);
	size_t cnt;
	int err;

	blobs_read_compile_cnt(vm);
	if (what == VERIFY_DUE && is_quiet && !blobs->has_doubtful)
		return 0;

	__cleanup_free const struct hotspot_blob **headers =
		reallocarray(NULL, cap, sizeof(*headers));
	__cleanup_free struct jit_blob **asked = reallocarray(NULL, cap, sizeof(*asked));
	__cleanup_free bool *is_same = calloc(cap, sizeof(*is_same));

	if (!headers || !asked || !is_same)
		return -ENOMEM;
	cnt = blobs_choose(vm, what, is_quiet, read_ns, asked);
	for (size_t i = 0; i < cnt; i++)
		headers[i] = &asked[i]->blob;
	if (cnt == 0)
		return 0;
	err = vm->ops->verify(vm->ctx, headers, cnt, is_same);
	if (!err)
		blobs_settle(vm, asked, is_same, cnt, read_ns);
	return err;
}

/*
 * Where code is gone there may be other code by now, which may be gone by the end of the window:
 * without having been seen its samples would get the name of the one before.
 */
static void blobs_probe(struct jit_vm *vm)
{
	struct jit_blobs *blobs = &vm->blobs;
	size_t from = blobs->gone_cnt > JIT_VM_PROBE_BLOBS ? blobs->gone_cnt - JIT_VM_PROBE_BLOBS :
							     0;

	for (size_t i = from; i < blobs->gone_cnt; i++) {
		const struct hotspot_blob gone = blobs->gone[i]->blob;
		uint64_t step = (gone.end - gone.start) / JIT_VM_PROBE_PLACES + 1;

		for (uint64_t at = gone.start; at < gone.end; at += step) {
			struct jit_blob *found;

			if (alive_at(blobs, at) || blob_read_at(vm, at, JIT_VM_PREFETCH, &found))
				continue;
			/* In a longer time there may have been more than one. */
			if (found->life.first_seen_ns - found->life.born_after_ns >
			    JIT_VM_PROMPT_NS)
				(void)jit_life_event(&found->life, JIT_EVENT_UNWATCHED, 0);
		}
	}
}

int jit_blobs_round(struct jit_vm *vm)
{
	int err = blobs_verify(vm, VERIFY_DUE);

	/*
	 * What the code of a restless JVM leaves behind owns no sample that is younger than the
	 * last proof of it, whoever came next: who that is is looked for at the end of the window.
	 */
	if (!err && !jit_account_is_restless(&vm->account, vm->ops->now_ns(vm->ctx)))
		blobs_probe(vm);
	return err;
}

int jit_blobs_refresh(struct jit_vm *vm)
{
	int err;

	gone_age(vm);
	alive_age(vm);
	err = blobs_verify(vm, VERIFY_USED);
	if (!err)
		blobs_probe(vm);
	return err;
}

void jit_blobs_drop_since(struct jit_vm *vm, uint64_t boot_ns)
{
	struct jit_blobs *blobs = &vm->blobs;
	size_t kept = 0;

	for (size_t i = 0; i < blobs->alive_cnt; i++) {
		if (blobs->alive[i]->life.first_seen_ns < boot_ns)
			blobs->alive[kept++] = blobs->alive[i];
		else
			blob_forget(vm, blobs->alive[i]);
	}
	blobs->alive_cnt = kept;
}

size_t jit_blobs_bytes(const struct jit_vm *vm)
{
	const struct jit_blobs *blobs = &vm->blobs;

	return (blobs->alive_cnt + blobs->gone_cnt) * sizeof(**blobs->alive) +
	       (blobs->alive_cap + blobs->gone_cap) * sizeof(*blobs->alive) +
	       jit_slots_bytes(&blobs->slots) + blobs->scope_bytes;
}
