// SPDX-License-Identifier: Apache-2.0
/*
 * When was it there? Of code and methods it is known at some moments only. A sample belongs to
 * what was there before and after it; between a sample and the first reading, or the last one and a
 * sample, it is taken for the same, unless something else is known to have been there, or the JVM
 * reuses its memory so fast that it may have been. Of methods the number of unloaded classes says
 * more: see jit_vm_unloads.c.
 */
#include "symbols/jit/jit_vm_internal.h"

struct jit_span jit_span_of(const struct jit_vm_query *query)
{
	return (struct jit_span){
		.since = query->since_boot_ns,
		.until = query->until_boot_ns ? query->until_boot_ns : UINT64_MAX,
	};
}

void jit_life_begin(const struct jit_vm *vm, struct jit_life *life, enum jit_vm_mode mode,
		    uint64_t read_ns, uint64_t read_end_ns)
{
	*life = (struct jit_life){
		.first_seen_ns = read_end_ns,
		.alive_ns = read_ns,
		.is_prompt = mode == JIT_VM_LOOK,
		.is_restless = vm->account.restless_ns > read_ns,
		.proved_from_ns = UINT64_MAX,
	};
	life->sure_from_ns = life->is_prompt && !life->is_restless ? 0 : read_end_ns;
}

void jit_life_prove(struct jit_vm *vm, struct jit_life *life, bool is_known, uint64_t cnt)
{
	const struct jit_unloads *unloads = &vm->unloads;

	if (!jit_unloads_read(vm) || !is_known)
		return;
	life->is_disproved = unloads->has_changed;
	life->proved_from_ns = unloads->cnt == cnt ? unloads->since_ns : life->first_seen_ns;
	if (life->is_disproved || life->proved_from_ns < life->sure_from_ns)
		life->sure_from_ns = life->proved_from_ns;
}

void jit_life_follows(struct jit_life *life, const struct jit_life *before)
{
	/* No class was unloaded, and yet it was another one: redefined, so the number proves nothing. */
	if (before->alive_ns > life->proved_from_ns)
		life->proved_from_ns = UINT64_MAX;
	if (before->gone_ns > life->sure_from_ns)
		life->sure_from_ns = before->gone_ns;
	if (before->alive_ns > life->born_after_ns)
		life->born_after_ns = before->alive_ns;
}

bool jit_life_is_possible(const struct jit_life *life, const struct jit_span *span)
{
	return (!life->gone_ns || life->gone_ns > span->since) && life->born_after_ns < span->until;
}

/* All samples are younger, or no other can own the older ones. */
static bool life_began_before(const struct jit_life *life, const struct jit_span *span)
{
	return life->first_seen_ns <= span->since || life->proved_from_ns <= span->since;
}

bool jit_life_is_certain(const struct jit_life *life, const struct jit_span *span, bool is_there)
{
	return life_began_before(life, span) && (is_there || life->alive_ns >= span->until);
}

/*
 * The samples go on after the first reading: what was read then is what was sampled, as sure as by a
 * look at a sample that is moments old, where nothing else is known to have been.
 */
static bool samples_go_on(const struct jit_life *life, const struct jit_span *span)
{
	return !life->is_doubtful && !life->born_after_ns && span->until != UINT64_MAX &&
	       life->first_seen_ns <= span->until;
}

/* Samples may be older than its first reading. */
static bool life_began_in_time(const struct jit_life *life, const struct jit_span *span)
{
	uint64_t slack_ns = life->first_seen_ns - span->since;

	if (life_began_before(life, span))
		return true;
	if (life->is_disproved || (!life->is_prompt && !samples_go_on(life, span)))
		return false;
	if (life->is_restless)
		return slack_ns <= JIT_VM_RESTLESS_PROMPT_NS;
	return span->until > UINT64_MAX - JIT_VM_PROMPT_NS ||
	       life->first_seen_ns <= span->until + JIT_VM_PROMPT_NS;
}

bool jit_life_is_credible(const struct jit_vm *vm, const struct jit_life *life,
			  const struct jit_span *span, bool is_there)
{
	bool is_to_the_end = is_there || life->alive_ns >= span->until;

	/* Gone, and others may have come and gone since: in a calm JVM it is the only one known. */
	if (!is_to_the_end && (life->is_restless || vm->account.restless_ns > life->alive_ns))
		return false;
	return life_began_in_time(life, span);
}
