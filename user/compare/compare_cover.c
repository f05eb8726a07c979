// SPDX-License-Identifier: Apache-2.0
/* See compare_cover.h. */
#include "user/compare/compare_cover.h"

#include <stdlib.h>

#include "user/util/vec.h"

void compare_cover_release(struct compare_cover *cover)
{
	free(cover->items);
	*cover = (struct compare_cover){ 0 };
}

static void note_pause(struct compare_cover *cover, uint64_t pause_ns)
{
	if (pause_ns > cover->pause_ns)
		cover->pause_ns = pause_ns;
}

int compare_cover_add(struct compare_cover *cover, const struct window *window)
{
	const struct compare_cover_stretch *last = cover->cnt ? &cover->items[cover->cnt - 1] :
								NULL;
	struct compare_cover_stretch stretch = { window->start_unix_ns,
						 window_end_unix_ns(window) };

	if (window->window_cnt && window->recorded_ns < window->duration_ns)
		note_pause(cover, window->duration_ns - window->recorded_ns);
	/* The streams of one drain have the same times. */
	if (last && last->start_unix_ns == stretch.start_unix_ns &&
	    last->end_unix_ns == stretch.end_unix_ns)
		return 0;

	int err = vec_room(cover->items, cover->cnt, cover->cap, 256);

	if (!err)
		cover->items[cover->cnt++] = stretch;
	return err;
}

static int compare_stretches(const void *a, const void *b)
{
	const struct compare_cover_stretch *left = a;
	const struct compare_cover_stretch *right = b;

	if (left->start_unix_ns != right->start_unix_ns)
		return (left->start_unix_ns > right->start_unix_ns) -
		       (left->start_unix_ns < right->start_unix_ns);
	return (left->end_unix_ns > right->end_unix_ns) - (left->end_unix_ns < right->end_unix_ns);
}

void compare_cover_finish(struct compare_cover *cover)
{
	if (cover->cnt)
		qsort(cover->items, cover->cnt, sizeof(*cover->items), compare_stretches);
	for (size_t i = 0; i < cover->cnt; i++) {
		const struct compare_cover_stretch *at = &cover->items[i];

		if (i && at->start_unix_ns > cover->end_unix_ns)
			note_pause(cover, at->start_unix_ns - cover->end_unix_ns);
		if (at->end_unix_ns > cover->end_unix_ns) {
			cover->end_unix_ns = at->end_unix_ns;
			cover->steps++;
		}
	}
}

struct compare_cover_stretch compare_cover_within(const struct compare_cover *cover,
						  struct compare_cover_stretch host)
{
	if (cover->steps < 2)
		return host;

	uint64_t first = cover->items[0].start_unix_ns;
	uint64_t last = cover->end_unix_ns;

	if (first > host.start_unix_ns && first < host.end_unix_ns &&
	    first - host.start_unix_ns > cover->pause_ns)
		host.start_unix_ns = first;
	if (last > host.start_unix_ns && last < host.end_unix_ns &&
	    host.end_unix_ns - last > cover->pause_ns)
		host.end_unix_ns = last;
	return host;
}
