/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One round of jbpf push: all minutes of the store that are complete and that the server does not have, in
 * pieces of ten minutes, or of fewer when these are too large, each confirmed before the cursor moves.
 *
 * In: a store, a cursor's file and a server. Out: rows or profiles at the server, and the cursor moved. The caller
 * owns the round, and the round the server's state.
 */
#ifndef JBPF_PUSH_PUSH_ROUND_H
#define JBPF_PUSH_PUSH_ROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "user/cli/cmd_store.h"
#include "user/push/push_server.h"
#include "user/push/push_span.h"
#include "user/push/push_unreadable.h"
#include "user/util/attributes.h"

/* Zero-initialise and fill the first part; end with push_round_release(). */
struct push_round {
	const char *store;	 /* borrowed */
	const char *cursor_path; /* borrowed */
	const struct push_server_ops *ops;
	void *server; /* of ops; owned */
	struct push_place place;
	size_t max_bytes; /* of a sum; 0 = PUSH_SUM_MAX_BYTES */

	/* What is sent next, in this process; 0 = the first round, or one failed. */
	uint64_t reached_ns;
	/* As the last round saw it, Unix: the end of the newest window of the store; push_span_quiet(). */
	uint64_t newest_ns;
	uint64_t quiet_ns;
	struct push_send_stats sent;
	struct push_sum_stats summed;
	struct cmd_store_damage damage;
	struct push_unreadable unreadable;
	/* Of the last round, or of the server's check before it: ops->failure() says more, and nothing is told yet. */
	bool is_server_failure;
};

/*
 * 0; or -errno: nothing is lost, the next one begins ten minutes before the cursor, or at it (adds_up). What cannot be
 * read fails it PUSH_UNREADABLE_TRIES times, and is given up then.
 */
__must_check int push_round(struct push_round *round, const struct push_clock *clock);
/* Will what the last round failed with be well again without a person? */
bool push_round_is_passing(const struct push_round *round, int err);
void push_round_read_clock(struct push_clock *out);
/* Unix ns; all samples before it are at the server, as far as is known; 0 = none yet. */
uint64_t push_round_sent_until(const struct push_round *round);
void push_round_release(struct push_round *round);

#endif
