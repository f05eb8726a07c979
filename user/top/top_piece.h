/* SPDX-License-Identifier: Apache-2.0 */
/* One window of one stream as the model keeps it: a copy that owns all that it points to. */
#ifndef JBPF_TOP_PIECE_H
#define JBPF_TOP_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/profile.h"
#include "user/model/select.h"
#include "user/model/window.h"
#include "user/util/attributes.h"

struct top_piece {
	struct window window;	/* labels are owned; without lines and cells */
	char *key;		/* of its row */
	struct profile *stacks; /* the name of the thread is their first frame */
	uint64_t
		waits_for_work; /* samples of threads in the places of waiting_place.h: in no count here */
	float *seconds;		/* samples in each second from the one it begins in */
	uint32_t second_cnt;
	bool is_running; /* a part of a window that had not ended: it has no stacks */
};

/*
 * Copies a window and its text; of a kind of leaf or of threads only the stacks that the selection
 * has, of waits those that do not wait for work, and window.counts.samples is what these have. 0 or -ENOMEM.
 */
__must_check int top_piece_init(struct top_piece *piece, const struct window *window,
				const char *text, size_t len, const struct selection *selection);
/* Adds another window of the same stream; its labels take the place of the older ones. 0 or -ENOMEM. */
__must_check int top_piece_merge(struct top_piece *piece, struct top_piece *other);
/* Its stacks will not be asked for again. */
void top_piece_drop_stacks(struct top_piece *piece);
void top_piece_release(struct top_piece *piece);

/* The samples in a second since 1970. */
float top_piece_at(const struct top_piece *piece, uint64_t unix_s);
/* Is it in a container? */
bool top_window_is_contained(const struct window *window);
/* What people call its row: "pod/container", or the name of the process. Appended. */
void top_window_name(const struct window *window, struct strbuf *out);

#endif
