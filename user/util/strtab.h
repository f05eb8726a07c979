/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interning: byte strings (names, whole stacks, keys of any struct without padding) become dense
 * ids 0, 1, 2, ... in order of first sight. Equal bytes get the same id. The table copies what it
 * is given; returned bytes stay valid until strtab__free().
 */
#ifndef JBPF_UTIL_STRTAB_H
#define JBPF_UTIL_STRTAB_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

struct strtab;

/*
 * The seed of hash tables in memory whose keys are texts of others: programs choose the names of their functions, and
 * who knows the hash makes a table as slow as a list. Not for what is stored or sent. The same in a process and in those
 * that it forks, another one after the next execve(); makes no system call.
 */
uint64_t strtab_seed(void);

/*
 * The hash of a number that others choose, as an address. All its bits are worth using, and the seed, which is a factor,
 * too, decides whose hashes begin or end alike: nobody outside can choose numbers for that.
 */
static inline uint64_t strtab_hash_number(uint64_t number, uint64_t seed)
{
	uint64_t hash = (number ^ seed) * 0x9e3779b97f4a7c15ull;

	hash = (hash ^ hash >> 32) * (seed | 1);
	return hash ^ hash >> 32;
}

#define STRTAB_NONE UINT32_MAX

/* NULL only when memory is short. */
struct strtab *strtab__new(void);
void strtab__free(struct strtab *tab); /* NULL is fine */

/* Id of these bytes, made when new. -ENOMEM, or -E2BIG past 4 G strings or 4 GiB in one string. */
__must_check int strtab__intern(struct strtab *tab, const void *bytes, size_t len,
				uint32_t *id_out);
/* Id of these bytes or STRTAB_NONE. */
uint32_t strtab__find(const struct strtab *tab, const void *bytes, size_t len);
/* Bytes of an id that was handed out, NUL-terminated behind `len` bytes. `len_out` may be NULL. */
const char *strtab__get(const struct strtab *tab, uint32_t id, size_t *len_out);
uint32_t strtab__count(const struct strtab *tab);
/* Memory held, in bytes: for caps and statistics. */
size_t strtab__bytes(const struct strtab *tab);

#endif
