/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places of the store that the disk does not give: rounds fail and are tried again, as it may be over soon; then the
 * places are given up, told and counted, so that one of them does not keep all that comes later from being sent.
 *
 * In: damage, as readers tell it. Out: is it to be waited for. No I/O. The round owns it.
 */
#ifndef JBPF_PUSH_PUSH_UNREADABLE_H
#define JBPF_PUSH_PUSH_UNREADABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "user/push/told_set.h"
#include "user/store/store.h"

/* Rounds, one after the other: some minutes, as push waits longer and longer between them. */
#define PUSH_UNREADABLE_TRIES 8

/* Zero-initialise; end with push_unreadable_release(). */
struct push_unreadable {
	struct told_set given_up; /* hashes of places */
	uint64_t cnt;		  /* that were given up */
	unsigned int tries;	  /* rounds, one after the other, that failed for it */
	bool is_waiting;	  /* of this round: it fails for it */
};

/* Is `stretch` a reason to try again later? Says so in is_waiting, too. */
bool push_unreadable_meet(struct push_unreadable *unreadable, const struct store_damage *stretch);
/* Something before what is sent next could not be read. As push_unreadable_meet(). */
bool push_unreadable_meet_older(struct push_unreadable *unreadable);
void push_unreadable_begin_round(struct push_unreadable *unreadable);
/* With the round's result. */
void push_unreadable_end_round(struct push_unreadable *unreadable, int err);
void push_unreadable_release(struct push_unreadable *unreadable);

#endif
