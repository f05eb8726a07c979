// SPDX-License-Identifier: Apache-2.0
/* See push_unreadable.h. */
#include "user/push/push_unreadable.h"

#include <inttypes.h>

#include "user/cli/cmd_store.h"
#include "user/util/log.h"

static bool is_given_up(const struct push_unreadable *unreadable)
{
	return unreadable->tries >= PUSH_UNREADABLE_TRIES;
}

bool push_unreadable_meet(struct push_unreadable *unreadable, const struct store_damage *stretch)
{
	uint64_t place;

	if (!stretch->is_unreadable)
		return false;
	place = cmd_store_damage_place(stretch);
	if (told_set_has(&unreadable->given_up, place))
		return false;
	if (!is_given_up(unreadable)) {
		unreadable->is_waiting = true;
		return true;
	}
	/* When memory is short it is told again. */
	(void)told_set_add(&unreadable->given_up, place);
	unreadable->cnt++;
	pr_warn("the store's '%s' could not be read from byte %" PRIu64
		" on, %d times: what is there is not sent; see jbpf store check\n",
		stretch->path, stretch->offset, PUSH_UNREADABLE_TRIES);
	return false;
}

bool push_unreadable_meet_older(struct push_unreadable *unreadable)
{
	if (is_given_up(unreadable))
		return false;
	unreadable->is_waiting = true;
	return true;
}

void push_unreadable_begin_round(struct push_unreadable *unreadable)
{
	unreadable->is_waiting = false;
}

void push_unreadable_end_round(struct push_unreadable *unreadable, int err)
{
	if (unreadable->is_waiting)
		unreadable->tries++;
	else if (!err)
		unreadable->tries = 0;
}

void push_unreadable_release(struct push_unreadable *unreadable)
{
	told_set_release(&unreadable->given_up);
}
