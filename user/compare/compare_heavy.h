/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heaviest stacks of a side that has too many different ones to tell them all apart. Which those
 * are is known at the end only, so such a side is read twice: the first time its stacks are counted
 * by their hashes, the second time each is one of the heaviest or one of the others.
 *
 * In: stacks with counts. Out: what to do with each.
 */
#ifndef JBPF_COMPARE_COMPARE_HEAVY_H
#define JBPF_COMPARE_COMPARE_HEAVY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

#define COMPARE_HEAVY_HASHES_MAX (4u << 20) /* stacks that come after so many are not kept */

enum compare_heavy_part {
	COMPARE_HEAVY_TAKEN = 0,
	COMPARE_HEAVY_OTHER = 1,   /* to be counted together with all others */
	COMPARE_HEAVY_SKIPPED = 2, /* it is counted here, for the second time */
};

struct compare_heavy;

/*
 * Keeps `max` stacks. The first time the first `max` are taken, as if there were no more; none are
 * when more are expected. NULL: no memory.
 */
struct compare_heavy *compare_heavy__new(uint32_t max, bool expects_more);
void compare_heavy__free(struct compare_heavy *heavy); /* NULL is fine */

/* enum compare_heavy_part or -ENOMEM. */
__must_check int compare_heavy__meet(struct compare_heavy *heavy, const char *stack, size_t len,
				     uint64_t count);

/* After the first time: must there be a second one? */
bool compare_heavy__must_choose(const struct compare_heavy *heavy);
/* From now on it is the second time. Of stacks of one count the first ones are kept. 0 or -ENOMEM. */
__must_check int compare_heavy__choose(struct compare_heavy *heavy);

#endif
