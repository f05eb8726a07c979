/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows that are over and not yet handed out: each waits until another process has named it, or
 * until its time is over. What that process says of a stream is checked, and handed out once. What it
 * did not name in time is handed out as "[not named]", if the process that was sampled is known to want
 * to be recorded. Nothing here reads a socket or a clock.
 */
#ifndef JBPF_COLLECT_WINDOW_QUEUE_H
#define JBPF_COLLECT_WINDOW_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/collect/namer/pending_window.h"
#include "user/collect/namer/sight_table.h"
#include "user/collect/naming/naming_wire.h"
#include "user/host/boot_id.h"
#include "user/model/window.h"

/* Everything is borrowed for the call. */
struct window_queue_listener {
	void *ctx;
	/* One stream's window. */
	void (*stream)(void *ctx, const struct window *named, const char *text, size_t len);
	/* No more of this window; `hosts` are its host records, one for each event. */
	void (*end)(void *ctx, const struct pending_window *window, struct window *hosts,
		    size_t host_cnt);
	/* Nobody waits any more for the answer to this window. */
	void (*give_up)(void *ctx, uint64_t window_id);
};

/*
 * A namer that follows one that hung is asked first for parts of all windows (pending_window.h). Streams of
 * those are kept here until their window is the oldest: so much of them; one for which there is no room is
 * lost, and counted so.
 */
#define WINDOW_QUEUE_EARLY_MAX_BYTES (32u << 20)

/* Fields are read-only outside. */
struct window_queue {
	struct window_queue_listener listener;
	struct sight_table *sights; /* borrowed */
	uint8_t boot_id[BOOT_ID_BYTES];
	struct pending_window *first; /* oldest first */
	size_t early_bytes;	      /* answers that wait for the turn of their windows */
	uint64_t last_id;
};

void window_queue_init(struct window_queue *queue, const struct window_queue_listener *listener,
		       struct sight_table *sights);
void window_queue_release(struct window_queue *queue);

/* Takes the window over, which is closed, and gives it its id. */
void window_queue_add(struct window_queue *queue, struct pending_window *window);

/* An answer NAMING_STREAM. 0, or -EBADMSG: it makes no sense. One that nobody asked for is dropped. */
__must_check int window_queue_take_stream(struct window_queue *queue, const void *bytes,
					  size_t len);
/* Is this the window that is to be answered next? */
bool window_queue_awaits(const struct window_queue *queue, uint64_t window_id);
/* That window, or its part, has been answered. */
void window_queue_take_end(struct window_queue *queue, const struct naming_end *end);

/* Gives up the windows that could not be sent, each when it is its turn to be handed out. */
void window_queue_give_up_unsent(struct window_queue *queue);
/* Gives up all windows that were sent `max_ns` before this moment (CLOCK_MONOTONIC) or earlier. */
void window_queue_give_up_late(struct window_queue *queue, uint64_t now_ns, uint64_t max_ns);
void window_queue_give_up_all(struct window_queue *queue);

/* The oldest windows that were given up and whose answers did not come, however late. */
size_t window_queue_given_up(const struct window_queue *queue);
/* The process that owed these answers is gone: nobody will say that they are over. */
void window_queue_drop_given_up(struct window_queue *queue);

/* Is everything handed out? */
bool window_queue_is_idle(const struct window_queue *queue);

#endif
