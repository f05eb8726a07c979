/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the server has been told, as hashes: stacks, or requests. It may forget: a stack that is told again is
 * the same row. When it is full it forgets all.
 */
#ifndef JBPF_PUSH_TOLD_SET_H
#define JBPF_PUSH_TOLD_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

#define TOLD_SET_MAX (1u << 20) /* hashes: 16 MiB at most */

/* Zero-initialise; end with told_set_release(). */
struct told_set {
	uint64_t *slots; /* 0 = free */
	size_t cap;	 /* a power of two */
	size_t cnt;
};

/* 0: it is new, and in it now; 1: it was there. -ENOMEM. */
__must_check int told_set_add(struct told_set *set, uint64_t hash);
bool told_set_has(const struct told_set *set, uint64_t hash);
void told_set_clear(struct told_set *set);
void told_set_release(struct told_set *set);

#endif
