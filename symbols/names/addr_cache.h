/* SPDX-License-Identifier: Apache-2.0 */
/* Address -> answer, small and fast: what makes a warm window cost only its new addresses. */
#ifndef JBPF_NAMES_ADDR_CACHE_H
#define JBPF_NAMES_ADDR_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/frame_kind.h"

#define ADDR_CACHE_MAX_ENTRIES 43690u /* two thirds of 65536 slots: 1 MiB; then it starts anew */

/* How long an answer is good for. */
enum answer_kind {
	ANSWER_KIND_NONE = 0,
	ANSWER_KIND_FIXED = 1,	 /* until the mappings change */
	ANSWER_KIND_JIT = 2,	 /* for one `epoch` of JIT names */
	ANSWER_KIND_MISSING = 3, /* no mapping: for one `epoch` of reading the mappings */
	/* Of struct jit_vm: `name` is a chain of frames. */
	ANSWER_KIND_BLOB = 4,	   /* as long as the blob holds whose handle is in `epoch` */
	ANSWER_KIND_METHOD = 5,	   /* likewise an interpreted method */
	ANSWER_KIND_DATED = 6,	   /* for one `epoch`; so are those below */
	ANSWER_KIND_UNKNOWN = 7,   /* no frames */
	ANSWER_KIND_AMBIGUOUS = 8, /* no frames */
};

struct answer {
	uint32_t name;	   /* id in struct names, unless the kind says otherwise */
	uint32_t kind : 4; /* enum answer_kind */
	uint32_t frame_kind : 3;
	uint32_t is_unknown : 1;
	uint32_t epoch : 24;
};

/* Zero-initialise; end with addr_cache_release(). */
struct addr_cache {
	struct addr_cache_slot *slots;
	size_t slot_cnt; /* power of two or 0 */
	size_t cnt;
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
