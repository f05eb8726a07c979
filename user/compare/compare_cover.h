/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the streams of a side were recorded, whatever the order of their windows. A side whose processes began or ended
 * in the midst of a block had less time there than its host; one that sleeps has as much.
 */
#ifndef JBPF_COMPARE_COMPARE_COVER_H
#define JBPF_COMPARE_COMPARE_COVER_H

#include <stddef.h>
#include <stdint.h>

#include "user/model/window.h"
#include "user/util/attributes.h"

struct compare_cover_stretch {
	uint64_t start_unix_ns;
	uint64_t end_unix_ns;
};

/* Zero-initialise; end with compare_cover_release(). */
struct compare_cover {
	struct compare_cover_stretch *items;
	size_t cnt;
	size_t cap;
	/* By compare_cover_finish(); before, the pause is that within merged windows alone. */
	uint64_t pause_ns; /* the longest */
	uint64_t end_unix_ns;
	size_t steps; /* windows that go beyond all before them */
};

void compare_cover_release(struct compare_cover *cover);
/* 0 or -ENOMEM. */
__must_check int compare_cover_add(struct compare_cover *cover, const struct window *window);
/* Once, after the last window: the stretches are in order then. */
void compare_cover_finish(struct compare_cover *cover);
/*
 * What of a stretch of the host's is the side's: not what lies before its first window or behind its last one by more
 * than the side ever paused. Where there is but one window, nobody knows how it sleeps: all of it.
 */
struct compare_cover_stretch compare_cover_within(const struct compare_cover *cover,
						  struct compare_cover_stretch host);

#endif
