// SPDX-License-Identifier: Apache-2.0
/*
 * How many classes were unloaded, asked of the JVM now and then. It counts them before it frees
 * what they consist of, so between two moments with the same number no Method* became another
 * class's: what is read at the second one was there, or nothing, at the first one. The order matters:
 * the number of before the sample, the sample, the name, the number again; each is read by a system
 * call of its own, so none can be seen earlier than the one before.
 */
#include <errno.h>
#include <xxhash.h>

#include "symbols/jit/jit_vm_internal.h"

/* Stacks are prefetched one by one: they share one reading. */
#define UNLOADS_AGE_NS (10ull * 1000 * 1000)

bool jit_unloads_read(struct jit_vm *vm)
{
	struct jit_unloads *unloads = &vm->unloads;
	uint64_t cnt, begin_ns;

	if (vm->account.is_ended)
		return false;
	begin_ns = vm->ops->now_ns(vm->ctx);
	unloads->asked_ns = begin_ns;
	if (jit_account_note(&vm->account, vm->ops->unloads(vm->ctx, &cnt)) != 0)
		return false;
	if (!unloads->is_known || cnt != unloads->cnt) {
		unloads->has_changed = unloads->is_known;
		unloads->since_ns = vm->ops->now_ns(vm->ctx);
		/* It was restless because it was young and this was not known. */
		if (!unloads->is_known && vm->account.restless_ns == vm->restless_for_youth_ns)
			vm->account.restless_ns = 0;
	}
	if (!unloads->is_known && cnt == 0)
		unloads->since_ns = 0; /* none was ever unloaded */
	unloads->is_known = true;
	unloads->cnt = cnt;
	unloads->seen_ns = begin_ns;
	return true;
}

void jit_unloads_poll(struct jit_vm *vm)
{
	if (vm->ops->now_ns(vm->ctx) - vm->unloads.asked_ns >= UNLOADS_AGE_NS)
		(void)jit_unloads_read(vm);
}

bool jit_unloads_read_prove_none_since(struct jit_vm *vm, uint64_t from_ns)
{
	const struct jit_unloads *unloads = &vm->unloads;

	jit_unloads_poll(vm);
	/* When the last reading failed, nobody knows what it would have said. */
	return unloads->is_known && unloads->seen_ns == unloads->asked_ns &&
	       unloads->since_ns <= from_ns;
}

bool jit_unloads_none_since(const struct jit_vm *vm, uint64_t from_ns)
{
	const struct jit_unloads *unloads = &vm->unloads;

	return !unloads->is_known || unloads->since_ns <= from_ns || !unloads->has_changed;
}

/* Where it is, or may be: instead of what was read longest ago of the classes that have the same places. */
static struct jit_class *class_place(struct jit_vm *vm, uint64_t klass)
{
	size_t first = XXH3_64bits(&klass, sizeof(klass)) % (JIT_VM_CLASSES / JIT_VM_CLASS_WAYS);
	struct jit_class *places = &vm->classes[first * JIT_VM_CLASS_WAYS];
	struct jit_class *oldest = &places[0];

	for (size_t i = 0; i < JIT_VM_CLASS_WAYS; i++) {
		if (places[i].klass == klass)
			return &places[i];
		if (places[i].used_ns < oldest->used_ns)
			oldest = &places[i];
	}
	return oldest;
}

/*
 * Without the number: had the class this name before the sample, too? One whose name was never read before is
 * believed for a moment only.
 */
static bool class_was_same(struct jit_vm *vm, uint64_t klass, const char *name, size_t len,
			   uint64_t boot_ns)
{
	struct jit_class *known = class_place(vm, klass);
	uint64_t name_hash = XXH3_64bits(name, len);
	uint64_t now_ns = vm->ops->now_ns(vm->ctx);

	if (known->klass != klass || known->name_hash != name_hash)
		*known = (struct jit_class){ .klass = klass,
					     .name_hash = name_hash,
					     .since_ns = now_ns };
	known->used_ns = now_ns;
	return boot_ns >= known->since_ns || now_ns - boot_ns < JIT_VM_TRUST_NS;
}

int jit_vm__class_name(struct jit_vm *vm, uint64_t klass, uint64_t boot_ns, struct strbuf *out)
{
	struct strbuf_mark before = strbuf_mark(out);
	int err;

	if (!jit_account_may_read(&vm->account))
		return -EBUSY;
	err = jit_account_note(&vm->account, vm->ops->class_name(vm->ctx, klass, out));
	/* Asked after the name was read: none that went before has left it its place. */
	if (!err && !(jit_unloads_read(vm) ? jit_unloads_none_since(vm, boot_ns) :
					     class_was_same(vm, klass, out->data + before.len,
							    out->len - before.len, boot_ns)))
		err = -EXDEV;
	jit_account_settle(&vm->account);
	return strbuf_settle(out, before, err);
}

bool jit_unloads_read_none_between(struct jit_vm *vm, uint64_t from_ns, uint64_t to_ns)
{
	if (!vm->unloads.is_known || (vm->unloads.seen_ns < to_ns && !jit_unloads_read(vm)))
		return true;
	return jit_unloads_none_since(vm, from_ns);
}
