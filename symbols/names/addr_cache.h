/* SPDX-License-Identifier: Apache-2.0 */
/* Address -> answer, small and fast: what makes a warm window cost only its new addresses. */
#ifndef JBPF_NAMES_ADDR_CACHE_H
#define JBPF_NAMES_ADDR_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/frame_kind.h"

#define ADDR_CACHE_MAX_ENTRIES 43690u /* two thirds of 65536 slots: 1 MiB; then it starts again */

/* What an answer is, and how long it is good for. */
enum answer_kind {
	ANSWER_KIND_NONE = 0,
	/* A `name`: */
	ANSWER_KIND_FIXED,   /* until the mappings change */
	ANSWER_KIND_JIT,     /* for one `epoch` of JIT names */
	ANSWER_KIND_MISSING, /* no mapping: for one `epoch` of reading the mappings */
	/* A `slot` of the index of methods of struct jit_vm: */
	ANSWER_KIND_SLOT,
	/* A `chain` of struct jit_vm: */
	ANSWER_KIND_CHAIN,  /* for ever */
	ANSWER_KIND_BLOB,   /* as long as the blob of this `handle` is there */
	ANSWER_KIND_METHOD, /* likewise an interpreted method */
	ANSWER_KIND_DATED,  /* for one `epoch` of struct jit_vm; so are those below */
	/* Nothing: */
	ANSWER_KIND_UNKNOWN,
	ANSWER_KIND_AMBIGUOUS,
};

#define ANSWER_EPOCH_MASK 0xffffffu

struct answer {
	union {
		uint32_t name;	/* id in struct name_table */
		uint32_t chain; /* id of frames that belong together */
		uint32_t slot;
	};
	union {
		struct {
			uint32_t kind : 4; /* enum answer_kind */
			uint32_t frame_kind : 3;
			uint32_t is_unknown : 1;
			uint32_t epoch : 24;
		};
		struct {
			uint32_t : 8; /* as above */
			uint32_t handle : 24;
		};
	};
};

/* BLOB or METHOD; an initializer cannot name two members of a union. */
static inline struct answer answer_of_handle(enum answer_kind kind, uint32_t chain, uint32_t handle)
{
	struct answer answer = { .chain = chain, .kind = kind };

	answer.handle = handle;
	return answer;
}

/* Zero-initialise; end with addr_cache_release(). */
struct addr_cache {
	struct addr_cache_slot *slots;
	size_t slot_cnt; /* power of two or 0 */
	size_t cnt;
	uint64_t seed; /* once there are slots */
};

void addr_cache_release(struct addr_cache *cache);
/* Forgets everything, keeps the memory. */
void addr_cache_clear(struct addr_cache *cache);
/* The answer stored for an address, or NULL; valid until the next put. */
const struct answer *addr_cache_find(const struct addr_cache *cache, uint64_t address);
/* Stores or replaces. A cache that cannot grow stores nothing: it is only a cache. */
void addr_cache_put(struct addr_cache *cache, uint64_t address, struct answer answer);
size_t addr_cache_bytes(const struct addr_cache *cache);

#endif
