// SPDX-License-Identifier: Apache-2.0
/* See told_set.h: open addressing, at most half full. */
#include "user/push/told_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 4096

/* The slot where the hash is, or would be. */
static uint64_t *slot_of(uint64_t *slots, size_t cap, uint64_t hash)
{
	size_t at = hash & (cap - 1);

	while (slots[at] && slots[at] != hash)
		at = (at + 1) & (cap - 1);
	return &slots[at];
}

static int grow(struct told_set *set)
{
	size_t cap = set->cap ? 2 * set->cap : FIRST_CAP;
	uint64_t *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < set->cap; i++) {
		if (set->slots[i])
			*slot_of(slots, cap, set->slots[i]) = set->slots[i];
	}
	free(set->slots);
	set->slots = slots;
	set->cap = cap;
	return 0;
}

int told_set_add(struct told_set *set, uint64_t hash)
{
	uint64_t *slot;

	hash += !hash; /* 0 marks a free slot */
	if (set->cnt >= TOLD_SET_MAX)
		told_set_clear(set);
	if (2 * set->cnt >= set->cap && grow(set))
		return -ENOMEM;
	slot = slot_of(set->slots, set->cap, hash);
	if (*slot)
		return 1;
	*slot = hash;
	set->cnt++;
	return 0;
}

bool told_set_has(const struct told_set *set, uint64_t hash)
{
	hash += !hash;
	return set->cnt && *slot_of(set->slots, set->cap, hash);
}

void told_set_clear(struct told_set *set)
{
	if (set->cnt)
		memset(set->slots, 0, set->cap * sizeof(*set->slots));
	set->cnt = 0;
}

void told_set_release(struct told_set *set)
{
	free(set->slots);
	*set = (struct told_set){ 0 };
}
