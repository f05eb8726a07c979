// SPDX-License-Identifier: Apache-2.0
/*
 * Distinct stacks and their counts. The table is written out here instead of resting on strtab:
 * merging an hour is one lookup per line, and a slot that holds the whole hash and an entry that
 * holds text, length and count cost one cache miss each, with nothing rehashed when it grows.
 */
#include "user/model/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "user/model/folded_line.h"
#include "user/util/lines.h"
#include "user/util/saturate.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

#define PROFILE_FIRST_SLOTS 256
/* Windows are small: their text stays below what malloc() takes from the kernel piece by piece. */
#define PROFILE_FIRST_CHUNK_BYTES (16 * 1024)
#define PROFILE_CHUNK_BYTES	  (256 * 1024)
#define PROFILE_SLOT_FREE	  UINT32_MAX

struct profile_slot {
	uint64_t hash;
	uint32_t entry; /* PROFILE_SLOT_FREE = free */
};

struct profile_chunk {
	struct profile_chunk *next;
	size_t used;
	size_t size;
	char bytes[];
};

struct profile {
	struct profile_slot *slots;
	size_t slot_cnt; /* power of two, or 0 */
	struct profile_stack *entries;
	uint32_t *order; /* entry numbers as profile__stack() shows them */
	uint32_t entry_cnt;
	uint32_t entry_cap;	      /* of entries and order */
	struct profile_chunk *chunks; /* the one being filled comes first */
	size_t text_bytes;
	uint64_t sample_cnt;
	uint64_t seed;
	bool is_sorted;
};

struct profile *profile__new(void)
{
	struct profile *profile = calloc(1, sizeof(*profile));

	if (profile)
		profile->seed = strtab_seed();
	return profile;
}

void profile__free(struct profile *profile)
{
	if (!profile)
		return;
	while (profile->chunks) {
		struct profile_chunk *next = profile->chunks->next;

		free(profile->chunks);
		profile->chunks = next;
	}
	free(profile->slots);
	free(profile->entries);
	free(profile->order);
	free(profile);
}

/* The stack's slot, or the free one where it belongs. There is always a free one. */
static struct profile_slot *profile_probe(const struct profile *profile, uint64_t hash,
					  const char *stack, size_t len)
{
	size_t mask = profile->slot_cnt - 1;

	for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
		struct profile_slot *slot = &profile->slots[i];
		const struct profile_stack *entry;

		if (slot->entry == PROFILE_SLOT_FREE)
			return slot;
		if (slot->hash != hash)
			continue;
		/* Hostile programs choose their symbols' names: equal hashes prove nothing. */
		entry = &profile->entries[slot->entry];
		if (entry->len == len && memcmp(entry->text, stack, len) == 0)
			return slot;
	}
}

static int profile_grow_slots(struct profile *profile)
{
	size_t slot_cnt = profile->slot_cnt ? profile->slot_cnt * 2 : PROFILE_FIRST_SLOTS;
	struct profile_slot *slots = reallocarray(NULL, slot_cnt, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < slot_cnt; i++)
		slots[i].entry = PROFILE_SLOT_FREE;
	for (size_t i = 0; i < profile->slot_cnt; i++) {
		const struct profile_slot *old = &profile->slots[i];
		size_t at = (size_t)old->hash & (slot_cnt - 1);

		if (old->entry == PROFILE_SLOT_FREE)
			continue;
		while (slots[at].entry != PROFILE_SLOT_FREE)
			at = (at + 1) & (slot_cnt - 1);
		slots[at] = *old;
	}
	free(profile->slots);
	profile->slots = slots;
	profile->slot_cnt = slot_cnt;
	return 0;
}

static int profile_grow_entries(struct profile *profile)
{
	size_t cap = vec_next_cap(profile->entry_cap, (size_t)profile->entry_cnt + 1,
				  PROFILE_FIRST_SLOTS, UINT32_MAX);

	if (!cap || vec_resize(profile->entries, cap) || vec_resize(profile->order, cap))
		return -ENOMEM;
	profile->entry_cap = (uint32_t)cap;
	return 0;
}

/* A NUL-terminated copy that never moves. */
static char *profile_copy_text(struct profile *profile, const char *text, size_t len)
{
	struct profile_chunk *chunk = profile->chunks;
	char *copy;

	if (!chunk || chunk->size - chunk->used <= len) {
		size_t size = chunk ? chunk->size * 2 : PROFILE_FIRST_CHUNK_BYTES;

		if (size > PROFILE_CHUNK_BYTES)
			size = PROFILE_CHUNK_BYTES;
		if (size <= len)
			size = len + 1;
		chunk = malloc(sizeof(*chunk) + size);
		if (!chunk)
			return NULL;
		chunk->used = 0;
		chunk->size = size;
		chunk->next = profile->chunks;
		profile->chunks = chunk;
	}
	copy = chunk->bytes + chunk->used;
	chunk->used += len + 1;
	if (len)
		memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

static int profile_insert(struct profile *profile, uint64_t hash, const char *stack, size_t len,
			  uint64_t count)
{
	uint32_t id = profile->entry_cnt;
	char *copy;
	int err = 0;

	/* Kept at most half full: a probe that ends at once is worth 16 bytes per stack. */
	if ((size_t)profile->entry_cnt * 2 >= profile->slot_cnt)
		err = profile_grow_slots(profile);
	if (!err && profile->entry_cnt == profile->entry_cap)
		err = profile_grow_entries(profile);
	if (err)
		return err;
	copy = profile_copy_text(profile, stack, len);
	if (!copy)
		return -ENOMEM;
	*profile_probe(profile, hash, stack, len) = (struct profile_slot){ hash, id };
	profile->entries[id] = (struct profile_stack){ .text = copy, .len = len, .count = count };
	profile->order[id] = id;
	profile->entry_cnt++;
	profile->text_bytes += len + 1;
	profile->is_sorted = false;
	profile->sample_cnt = add_saturated(profile->sample_cnt, count);
	return 0;
}

/* true when the stack was there and is now counted. */
static bool profile_count_known(struct profile *profile, uint64_t hash, const char *stack,
				size_t len, uint64_t count, uint32_t *number_out)
{
	const struct profile_slot *slot;
	struct profile_stack *entry;

	if (!profile->slot_cnt)
		return false;
	slot = profile_probe(profile, hash, stack, len);
	if (slot->entry == PROFILE_SLOT_FREE)
		return false;
	entry = &profile->entries[slot->entry];
	*number_out = slot->entry;
	entry->count = add_saturated(entry->count, count);
	profile->sample_cnt = add_saturated(profile->sample_cnt, count);
	return true;
}

int profile__add_numbered(struct profile *profile, const char *stack, size_t len, uint64_t count,
			  uint32_t *number_out)
{
	uint64_t hash = XXH3_64bits_withSeed(stack, len, profile->seed);

	if (profile_count_known(profile, hash, stack, len, count, number_out))
		return 0;
	*number_out = profile->entry_cnt;
	return profile_insert(profile, hash, stack, len, count);
}

int profile__add_known(struct profile *profile, const char *stack, size_t len, uint64_t count,
		       uint32_t *number_out)
{
	uint64_t hash = XXH3_64bits_withSeed(stack, len, profile->seed);

	return profile_count_known(profile, hash, stack, len, count, number_out) ? 0 : -ENOENT;
}

int profile__add(struct profile *profile, const char *stack, size_t len, uint64_t count)
{
	uint32_t number;

	return count ? profile__add_numbered(profile, stack, len, count, &number) : 0;
}

int profile__add_folded(struct profile *profile, const char *text, size_t len, size_t *bad_line_cnt)
{
	struct lines lines = lines_init(text, len);
	struct line line;
	size_t bad = 0;
	int err = 0;

	while (!err && lines_next(&lines, &line)) {
		size_t stack_len;
		uint64_t count, hash;
		uint32_t number;

		/* A line without its end may be a cut one, with digits missing. */
		if (!line.is_whole || !folded_line_split(line.at, line.len, &stack_len, &count)) {
			bad++;
			continue;
		}
		hash = XXH3_64bits_withSeed(line.at, stack_len, profile->seed);
		if (count == 0 ||
		    profile_count_known(profile, hash, line.at, stack_len, count, &number))
			continue;
		/* Looked at once per distinct stack: names are C strings to those who draw them. */
		if (memchr(line.at, '\0', stack_len))
			bad++;
		else
			err = profile_insert(profile, hash, line.at, stack_len, count);
	}
	if (bad_line_cnt)
		*bad_line_cnt = bad;
	return err;
}

size_t profile__stack_count(const struct profile *profile)
{
	return profile->entry_cnt;
}

uint64_t profile__sample_count(const struct profile *profile)
{
	return profile->sample_cnt;
}

size_t profile__bytes(const struct profile *profile)
{
	return profile->text_bytes + profile->slot_cnt * sizeof(*profile->slots) +
	       profile->entry_cnt * (sizeof(*profile->entries) + sizeof(*profile->order));
}

struct profile_stack profile__stack(const struct profile *profile, size_t index)
{
	if (index >= profile->entry_cnt)
		return (struct profile_stack){ .text = "", .len = 0, .count = 0 };
	return profile->entries[profile->order[index]];
}

uint32_t profile__stack_number(const struct profile *profile, size_t index)
{
	return profile->order[index];
}

static int compare_stacks(const void *a, const void *b, void *ctx)
{
	const struct profile_stack *entries = ctx;
	const struct profile_stack *left = &entries[*(const uint32_t *)a];
	const struct profile_stack *right = &entries[*(const uint32_t *)b];

	return bytes_compare(left->text, left->len, right->text, right->len);
}

void profile__sort(struct profile *profile)
{
	if (profile->is_sorted || profile->entry_cnt == 0)
		return;
	qsort_r(profile->order, profile->entry_cnt, sizeof(*profile->order), compare_stacks,
		profile->entries);
	profile->is_sorted = true;
}

int profile__to_folded(struct profile *profile, struct strbuf *out)
{
	struct strbuf_mark start = strbuf_mark(out);
	size_t bytes = 0;
	int err;

	if (profile->entry_cnt == 0)
		return 0;
	profile__sort(profile);
	for (uint32_t i = 0; i < profile->entry_cnt; i++)
		bytes += profile->entries[i].len + FOLDED_COUNT_MAX_DIGITS + 2;
	err = strbuf_reserve(out, bytes);
	for (uint32_t i = 0; i < profile->entry_cnt && !err; i++) {
		const struct profile_stack *stack = &profile->entries[profile->order[i]];

		strbuf_append(out, stack->text, stack->len);
		strbuf_printf(out, " %llu\n", (unsigned long long)stack->count);
	}
	return strbuf_settle(out, start, err);
}
