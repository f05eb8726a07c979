/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads along with jbpfd: what the window that runs has counted in the last second, from the socket beside
 * the store. Never waits; connects again when it was put out.
 *
 * In: the directory of a store. Out: snapshots, through a listener that borrows them. Whoever shows them owns it.
 */
#ifndef JBPF_LIVE_RUNNING_READER_H
#define JBPF_LIVE_RUNNING_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/collect/running_wire.h"
#include "user/util/attributes.h"
#include "user/util/packet_stream.h"

/* What keeps the snapshots. */
struct running_listener {
	/* One snapshot, read and as its packet. 0 or -errno, which ends the connection. */
	int (*take)(void *ctx, const struct packet *packet,
		    const struct running_snapshot *snapshot);
	/* The snapshots are too old to be shown as the present, or no more will come. */
	void (*forget)(void *ctx);
	void *ctx;
};

/* Fields are private; begin with running_reader_init(). */
struct running_reader {
	struct packet_stream stream; /* fd -1: not connected */
	uint64_t tried_boot_ns;	     /* the last connection; 0 = none yet */
	uint64_t heard_boot_ns;	     /* the last snapshot, or else the connection */
	bool has_told;		     /* the listener has parts of the window that runs */
	int err; /* why there is no connection; 0 = there is one, or none was tried */
};

void running_reader_init(struct running_reader *reader);
/* Ends the connection; the listener is not called. It may begin again with the next step. */
void running_reader_release(struct running_reader *reader);

/*
 * Connects to the store's jbpfd when it is time to, and hands on what it reports. When it reports nothing any
 * more, the listener is to forget what it has. 0 or -ENOMEM.
 */
__must_check int running_reader_step(struct running_reader *reader, const char *dir,
				     const struct running_listener *listener);
/* Readable when there is something to read; -1 = not connected. */
int running_reader_fd(const struct running_reader *reader);
/* May a snapshot come yet? */
bool running_reader_is_awaited(const struct running_reader *reader);
/* One line: why only windows that have ended are shown; "" when more is. */
void running_reader_why(const struct running_reader *reader, char *why, size_t why_len);

#endif
