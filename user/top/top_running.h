/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads along with jbpfd: what the window that runs has counted in the last second, from the socket beside
 * the store. Never waits; connects again when it was put out.
 */
#ifndef JBPF_TOP_TOP_RUNNING_H
#define JBPF_TOP_TOP_RUNNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/top/top_model.h"
#include "user/util/attributes.h"
#include "user/util/packet_stream.h"

/* Fields are private; begin with top_running_init(). */
struct top_running {
	struct packet_stream stream; /* fd -1: not connected */
	uint64_t tried_boot_ns;	     /* the last connection; 0 = none yet */
	uint64_t heard_boot_ns;	     /* the last snapshot, or else the connection */
	bool has_told;		     /* the model has parts of the window that runs */
	int err; /* why there is no connection; 0 = there is one, or none was tried */
};

void top_running_init(struct top_running *running);
void top_running_release(struct top_running *running);

/*
 * Adds what was told of the store's jbpfd to the model, connects when it is time to; where nothing is told
 * any more, the model forgets it. 0 or -ENOMEM.
 */
__must_check int top_running_step(struct top_running *running, const char *dir,
				  struct top_model *model);
/* Readable when there is something to read; -1 = not connected. */
int top_running_fd(const struct top_running *running);
/* May a snapshot come yet? */
bool top_running_is_awaited(const struct top_running *running);
/* One line: why only windows that have ended are shown; "" when more is. */
void top_running_why(const struct top_running *running, char *why, size_t why_len);

#endif
