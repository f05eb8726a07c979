// SPDX-License-Identifier: Apache-2.0
/* Slots with handles that outlive what is in them without harm; see jit_vm_internal.h. */
#include <errno.h>
#include <stdlib.h>

#include "symbols/jit/jit_vm_internal.h"

#include "user/util/vec.h"

void jit_slots_release(struct jit_slots *slots)
{
	free(slots->items);
	free(slots->uses);
	free(slots->free_slots);
	*slots = (struct jit_slots){ 0 };
}

static int slots_grow(struct jit_slots *slots)
{
	size_t cap = vec_next_cap(slots->cap, (size_t)slots->cap + 1, 64, JIT_HANDLE_SLOTS);

	if (!cap || vec_resize(slots->items, cap) || vec_resize(slots->uses, cap) ||
	    vec_resize(slots->free_slots, cap))
		return -ENOMEM;
	slots->cap = cap;
	return 0;
}

int jit_slots_add(struct jit_slots *slots, void *item, uint32_t *handle_out)
{
	uint32_t slot;

	if (slots->free_cnt) {
		slot = slots->free_slots[--slots->free_cnt];
	} else {
		if (slots->cnt == JIT_HANDLE_SLOTS)
			return -ENOSPC;
		if (slots->cnt == slots->cap && slots_grow(slots))
			return -ENOMEM;
		slot = (uint32_t)slots->cnt++;
		slots->uses[slot] = 0;
	}
	slots->items[slot] = item;
	*handle_out = slot | (uint32_t)slots->uses[slot] << JIT_HANDLE_SLOT_BITS;
	return 0;
}

bool jit_slots_remove(struct jit_slots *slots, uint32_t handle)
{
	uint32_t slot = handle & (JIT_HANDLE_SLOTS - 1);

	slots->items[slot] = NULL;
	slots->uses[slot] = (uint16_t)((slots->uses[slot] + 1u) % JIT_HANDLE_USES);
	slots->free_slots[slots->free_cnt++] = (uint16_t)slot;
	return slots->uses[slot] == 0;
}

void *jit_slots_get(const struct jit_slots *slots, uint32_t handle)
{
	uint32_t slot = handle & (JIT_HANDLE_SLOTS - 1);

	if (slot >= slots->cnt || slots->uses[slot] != handle >> JIT_HANDLE_SLOT_BITS)
		return NULL;
	return slots->items[slot];
}

size_t jit_slots_bytes(const struct jit_slots *slots)
{
	return slots->cap *
	       (sizeof(*slots->items) + sizeof(*slots->uses) + sizeof(*slots->free_slots));
}
