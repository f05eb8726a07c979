// SPDX-License-Identifier: Apache-2.0
/*
 * Open addressing over 32-bit entry numbers, with the upper hash bits beside them so that a probe
 * seldom touches the string. Strings live in chunks that never move, so pointers stay valid.
 */
#include "user/util/strtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <xxhash.h>

#include "user/util/vec.h"

#define STRTAB_FIRST_SLOTS  64
#define STRTAB_MAX_ENTRIES  (1u << 31)
#define STRTAB_CHUNK_BYTES  (64 * 1024)
#define STRTAB_RANDOM_BYTES 16 /* of AT_RANDOM */

struct strtab_entry {
	const char *bytes;
	uint32_t len;
	uint32_t hash; /* upper half of the 64-bit hash */
};

struct strtab_slot {
	uint32_t id; /* STRTAB_NONE = free */
	uint32_t hash;
};

struct strtab_chunk {
	struct strtab_chunk *next;
	size_t used;
	size_t size;
	char bytes[];
};

struct strtab {
	struct strtab_slot *slots;
	size_t slot_cnt; /* power of two */
	struct strtab_entry *entries;
	uint32_t entry_cnt;
	uint32_t entry_cap;
	struct strtab_chunk *chunks; /* the one being filled comes first */
	size_t chunk_bytes;
	uint64_t seed;
};

/*
 * Of the random bytes that the kernel gives each program at its start, as getrandom() is not allowed in all sandboxes. The
 * C library makes its guards of the same bytes: of a hash of them nothing can be told.
 */
uint64_t strtab_seed(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);

	return random ? XXH3_64bits(random, STRTAB_RANDOM_BYTES) : 0;
}

struct strtab *strtab__new(void)
{
	struct strtab *tab = calloc(1, sizeof(*tab));

	if (tab)
		tab->seed = strtab_seed();
	return tab;
}

void strtab__free(struct strtab *tab)
{
	if (!tab)
		return;
	while (tab->chunks) {
		struct strtab_chunk *next = tab->chunks->next;

		free(tab->chunks);
		tab->chunks = next;
	}
	free(tab->slots);
	free(tab->entries);
	free(tab);
}

static struct strtab_slot *strtab_probe(const struct strtab *tab, uint64_t hash, const void *bytes,
					size_t len)
{
	uint32_t tag = (uint32_t)(hash >> 32);
	size_t mask = tab->slot_cnt - 1;

	for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
		struct strtab_slot *slot = &tab->slots[i];
		const struct strtab_entry *entry;

		if (slot->id == STRTAB_NONE)
			return slot;
		if (slot->hash != tag)
			continue;
		entry = &tab->entries[slot->id];
		if (entry->len == len && memcmp(entry->bytes, bytes, len) == 0)
			return slot;
	}
}

static int strtab_rehash(struct strtab *tab, size_t slot_cnt)
{
	struct strtab_slot *slots = reallocarray(NULL, slot_cnt, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	memset(slots, 0xff, slot_cnt * sizeof(*slots));
	for (uint32_t id = 0; id < tab->entry_cnt; id++) {
		const struct strtab_entry *entry = &tab->entries[id];
		uint64_t hash = XXH3_64bits_withSeed(entry->bytes, entry->len, tab->seed);
		size_t i = (size_t)hash & (slot_cnt - 1);

		while (slots[i].id != STRTAB_NONE)
			i = (i + 1) & (slot_cnt - 1);
		slots[i] = (struct strtab_slot){ .id = id, .hash = entry->hash };
	}
	free(tab->slots);
	tab->slots = slots;
	tab->slot_cnt = slot_cnt;
	return 0;
}

static int strtab_grow(struct strtab *tab)
{
	if (tab->entry_cnt == STRTAB_MAX_ENTRIES)
		return -E2BIG;
	if (vec_room(tab->entries, tab->entry_cnt, tab->entry_cap, STRTAB_FIRST_SLOTS))
		return -ENOMEM;
	/* Kept at most two thirds full. */
	if ((size_t)tab->entry_cnt * 3 >= tab->slot_cnt * 2)
		return strtab_rehash(tab, tab->slot_cnt ? tab->slot_cnt * 2 : STRTAB_FIRST_SLOTS);
	return 0;
}

static char *strtab_alloc(struct strtab *tab, size_t len)
{
	struct strtab_chunk *chunk = tab->chunks;
	char *bytes;

	if (!chunk || chunk->size - chunk->used < len) {
		size_t size = len > STRTAB_CHUNK_BYTES ? len : STRTAB_CHUNK_BYTES;

		chunk = malloc(sizeof(*chunk) + size);
		if (!chunk)
			return NULL;
		chunk->used = 0;
		chunk->size = size;
		chunk->next = tab->chunks;
		tab->chunks = chunk;
		tab->chunk_bytes += sizeof(*chunk) + size;
	}
	bytes = chunk->bytes + chunk->used;
	chunk->used += len;
	return bytes;
}

int strtab__intern(struct strtab *tab, const void *bytes, size_t len, uint32_t *id_out)
{
	uint64_t hash = XXH3_64bits_withSeed(bytes, len, tab->seed);
	struct strtab_slot *slot;
	char *copy;
	int err;

	if (len >= UINT32_MAX)
		return -E2BIG;
	if (tab->slot_cnt) {
		slot = strtab_probe(tab, hash, bytes, len);
		if (slot->id != STRTAB_NONE) {
			*id_out = slot->id;
			return 0;
		}
	}
	err = strtab_grow(tab);
	if (err)
		return err;
	copy = strtab_alloc(tab, len + 1);
	if (!copy)
		return -ENOMEM;
	if (len)
		memcpy(copy, bytes, len);
	copy[len] = '\0';

	slot = strtab_probe(tab, hash, bytes, len);
	*slot = (struct strtab_slot){ .id = tab->entry_cnt, .hash = (uint32_t)(hash >> 32) };
	tab->entries[tab->entry_cnt] = (struct strtab_entry){
		.bytes = copy,
		.len = (uint32_t)len,
		.hash = (uint32_t)(hash >> 32),
	};
	*id_out = tab->entry_cnt++;
	return 0;
}

uint32_t strtab__find(const struct strtab *tab, const void *bytes, size_t len)
{
	if (!tab->slot_cnt)
		return STRTAB_NONE;
	return strtab_probe(tab, XXH3_64bits_withSeed(bytes, len, tab->seed), bytes, len)->id;
}

const char *strtab__get(const struct strtab *tab, uint32_t id, size_t *len_out)
{
	const struct strtab_entry *entry = &tab->entries[id];

	if (len_out)
		*len_out = entry->len;
	return entry->bytes;
}

uint32_t strtab__count(const struct strtab *tab)
{
	return tab->entry_cnt;
}

size_t strtab__bytes(const struct strtab *tab)
{
	return sizeof(*tab) + tab->slot_cnt * sizeof(*tab->slots) +
	       tab->entry_cap * sizeof(*tab->entries) + tab->chunk_bytes;
}
