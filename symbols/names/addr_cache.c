// SPDX-License-Identifier: Apache-2.0
/* Open addressing, linear probing; see addr_cache.h. */
#include "symbols/names/addr_cache.h"

#include <stdlib.h>
#include <string.h>

#include "user/util/strtab.h"

#define ADDR_CACHE_FIRST_SLOTS 256u

struct addr_cache_slot {
	uint64_t address;
	struct answer answer; /* kind ANSWER_KIND_NONE: free */
};

_Static_assert(sizeof(struct addr_cache_slot) == 16, "an answer is 16 bytes");

void addr_cache_release(struct addr_cache *cache)
{
	free(cache->slots);
	*cache = (struct addr_cache){ 0 };
}

void addr_cache_clear(struct addr_cache *cache)
{
	if (cache->cnt)
		memset(cache->slots, 0, cache->slot_cnt * sizeof(*cache->slots));
	cache->cnt = 0;
}

static struct addr_cache_slot *addr_cache_probe(const struct addr_cache *cache, uint64_t address)
{
	uint64_t hash = strtab_hash_number(address, cache->seed);
	size_t mask = cache->slot_cnt - 1;

	for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
		struct addr_cache_slot *slot = &cache->slots[i];

		if (slot->answer.kind == ANSWER_KIND_NONE || slot->address == address)
			return slot;
	}
}

const struct answer *addr_cache_find(const struct addr_cache *cache, uint64_t address)
{
	const struct addr_cache_slot *slot;

	if (cache->cnt == 0)
		return NULL;
	slot = addr_cache_probe(cache, address);
	return slot->answer.kind == ANSWER_KIND_NONE ? NULL : &slot->answer;
}

static bool addr_cache_grow(struct addr_cache *cache)
{
	struct addr_cache old = *cache;
	size_t slot_cnt = old.slot_cnt ? old.slot_cnt * 2 : ADDR_CACHE_FIRST_SLOTS;
	struct addr_cache_slot *slots = calloc(slot_cnt, sizeof(*slots));

	if (!slots)
		return false;
	cache->seed = strtab_seed();
	cache->slots = slots;
	cache->slot_cnt = slot_cnt;
	for (size_t i = 0; i < old.slot_cnt; i++)
		if (old.slots[i].answer.kind != ANSWER_KIND_NONE)
			*addr_cache_probe(cache, old.slots[i].address) = old.slots[i];
	free(old.slots);
	return true;
}

void addr_cache_put(struct addr_cache *cache, uint64_t address, struct answer answer)
{
	struct addr_cache_slot *slot;

	if (cache->cnt >= ADDR_CACHE_MAX_ENTRIES)
		addr_cache_clear(cache);
	if (cache->cnt * 3 >= cache->slot_cnt * 2 && !addr_cache_grow(cache))
		return;
	slot = addr_cache_probe(cache, address);
	cache->cnt += slot->answer.kind == ANSWER_KIND_NONE;
	slot->address = address;
	slot->answer = answer;
}

size_t addr_cache_bytes(const struct addr_cache *cache)
{
	return cache->slot_cnt * sizeof(*cache->slots);
}
