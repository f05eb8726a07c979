/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the window that runs has counted, for the pages that are looked at: one connection to the store's jbpfd
 * for all of them, and none while no page asks. Snapshots are kept as they came; a question's process reads
 * it (web_running_run.h).
 *
 * In: the store's directory, borrowed; NULL: profiles come from a server, and there is no running window. Out:
 * snapshots. The server owns it.
 */
#ifndef JBPF_WEB_WEB_RUNNING_H
#define JBPF_WEB_WEB_RUNNING_H

#include <stddef.h>
#include <stdint.h>

#include "user/collect/running_wire.h"

#define WEB_RUNNING_IDLE_S    10 /* without a question: then the connection ends */
#define WEB_RUNNING_BYTES     (32u << 20)
#define WEB_RUNNING_SNAPSHOTS 1024u /* the oldest give way */

struct web_running;

/* NULL when memory is short. */
struct web_running *web_running__new(const char *store_dir);
void web_running__free(struct web_running *running); /* NULL is fine */

/* A page asks: connects if it is time to, and stays so for a while. */
void web_running__ask(struct web_running *running);
/* Takes the snapshots that have arrived; ends a connection that no page needs any more. */
void web_running__step(struct web_running *running);
/* Readable when a snapshot has arrived; -1 = not connected. */
int web_running__fd(const struct web_running *running);

/* Of the snapshots that are kept, the oldest first; borrowed until the next step. */
size_t web_running__count(const struct web_running *running);
void web_running__get(const struct web_running *running, size_t index,
		      struct running_snapshot *out);
/* One line: why there are no snapshots; "" when there are some, or some may still come. */
void web_running__why(const struct web_running *running, char *why, size_t why_len);

#endif
