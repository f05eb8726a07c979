// SPDX-License-Identifier: Apache-2.0
/* Counts by hash; see compare_heavy.h. A stack is up to 60 KiB of text, which is not kept. */
#include "user/compare/compare_heavy.h"

#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>

#include "user/util/cleanup.h"
#include "user/util/saturate.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

struct compare_heavy {
	uint32_t max;
	bool takes_none; /* of those that it meets for the first time */
	bool has_chosen;
	struct strtab *hashes;
	uint64_t *counts; /* by id of hashes; once chosen, 0 = not kept */
	size_t cap;
};

struct weight {
	uint64_t count;
	uint32_t id;
};

struct compare_heavy *compare_heavy__new(uint32_t max, bool expects_more)
{
	struct compare_heavy *heavy = calloc(1, sizeof(*heavy));

	if (!heavy)
		return NULL;
	heavy->max = max;
	heavy->takes_none = expects_more;
	heavy->hashes = strtab__new();
	if (!heavy->hashes) {
		free(heavy);
		return NULL;
	}
	return heavy;
}

void compare_heavy__free(struct compare_heavy *heavy)
{
	if (!heavy)
		return;
	strtab__free(heavy->hashes);
	free(heavy->counts);
	free(heavy);
}

static int add_hash(struct compare_heavy *heavy, const XXH128_canonical_t *hash, uint32_t *id_out)
{
	size_t known = strtab__count(heavy->hashes);
	int err = vec_room(heavy->counts, known, heavy->cap, 1024);

	if (!err)
		err = strtab__intern(heavy->hashes, hash, sizeof(*hash), id_out);
	if (!err)
		heavy->counts[*id_out] = 0;
	return err;
}

int compare_heavy__meet(struct compare_heavy *heavy, const char *stack, size_t len, uint64_t count)
{
	XXH128_canonical_t hash;
	uint32_t id;
	int err = 0;

	XXH128_canonicalFromHash(&hash, XXH3_128bits(stack, len));
	id = strtab__find(heavy->hashes, &hash, sizeof(hash));
	if (heavy->has_chosen)
		return id != STRTAB_NONE && heavy->counts[id] ? COMPARE_HEAVY_TAKEN :
								COMPARE_HEAVY_OTHER;
	if (id == STRTAB_NONE && strtab__count(heavy->hashes) >= COMPARE_HEAVY_HASHES_MAX)
		return COMPARE_HEAVY_SKIPPED;
	if (id == STRTAB_NONE)
		err = add_hash(heavy, &hash, &id);
	if (err)
		return err;
	heavy->counts[id] = add_saturated(heavy->counts[id], count);
	return compare_heavy__must_choose(heavy) ? COMPARE_HEAVY_SKIPPED : COMPARE_HEAVY_TAKEN;
}

bool compare_heavy__must_choose(const struct compare_heavy *heavy)
{
	return !heavy->has_chosen &&
	       (heavy->takes_none || strtab__count(heavy->hashes) > heavy->max);
}

static int compare_weights(const void *a, const void *b)
{
	const struct weight *left = a;
	const struct weight *right = b;

	if (left->count != right->count)
		return (left->count < right->count) - (left->count > right->count);
	return (left->id > right->id) - (left->id < right->id);
}

int compare_heavy__choose(struct compare_heavy *heavy)
{
	uint32_t cnt = strtab__count(heavy->hashes);
	__cleanup_free struct weight *weights = calloc((size_t)cnt + 1, sizeof(*weights));

	if (!weights)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt; i++)
		weights[i] = (struct weight){ .count = heavy->counts[i], .id = i };
	qsort(weights, cnt, sizeof(*weights), compare_weights);
	for (uint32_t i = heavy->max; i < cnt; i++)
		heavy->counts[weights[i].id] = 0;
	heavy->has_chosen = true;
	return 0;
}
