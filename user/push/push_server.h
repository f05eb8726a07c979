/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To whom jbpf push sends: what ClickHouse, receivers of OTLP and Pyroscope have in common. Rounds, cursor and back-off are
 * the same for all.
 *
 * In: sums of minutes (push_sum.h), borrowed. Out: that the server has them, or why not. The round owns the state.
 */
#ifndef JBPF_PUSH_PUSH_SERVER_H
#define JBPF_PUSH_PUSH_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/push/push_sum.h"
#include "user/remote/remote_failure.h"

/* Dropped one by one of one sum: more are no odd rows or samples, but an odd server. */
#define PUSH_REFUSED_MAX 16

struct push_send_stats {
	uint64_t stack_rows;
	uint64_t sample_rows;
	uint64_t window_rows;
	uint64_t refused_rows;	    /* dropped */
	uint64_t rejected_profiles; /* of OTLP: the server took the rest */
};

/* `state` is what open() made. Functions return 0 or -errno; failure() says more where it is not said otherwise. */
struct push_server_ops {
	/* Connects to nothing yet. On failure one line is in `why`. */
	int (*open)(const char *url, void **state, char *why, size_t why_len);
	void (*free)(void *state); /* NULL is fine */
	const char *(*name)(const void *state);
	/* Makes the tables; tells what it did, or why not. NULL = there are none. */
	int (*init)(void *state);
	/*
	 * Before the first round. -EPROTONOSUPPORT: it is of another version, and that was printed already. NULL = it cannot be
	 * asked without sending.
	 */
	int (*check)(void *state);
	/* Sends all of a finished sum. 0: the server has it. Otherwise it has any part of it. */
	int (*send)(void *state, const struct push_sum *sum, struct push_send_stats *stats);
	/* Of the last call that failed; borrowed until the next one. */
	const struct remote_failure *(*failure)(const void *state);
	/* Bytes of bodies so far, as they travelled. */
	uint64_t (*sent_bytes)(const void *state);
	/* What it gets twice counts twice: nothing that it has confirmed is sent again. */
	bool adds_up;
};

extern const struct push_server_ops push_clickhouse_ops;
extern const struct push_server_ops push_otlp_ops;
extern const struct push_server_ops push_pyroscope_ops;

/* By the URL's scheme. */
const struct push_server_ops *push_server_ops_of(const char *url);

#endif
