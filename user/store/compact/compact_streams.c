// SPDX-License-Identifier: Apache-2.0
/* A hash table of streams, by the hash of their identity alone: two that share it share a unit. */
#include "user/store/compact/compact_streams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/store/compact/compact_digest.h"
#include "user/util/vec.h"

#define SLOTS_FIRST 256
#define KIND_BYTES  16 /* of a comm */

struct compact_stream {
	uint64_t hash;
	uint64_t samples;
	uint32_t unit;
	char kind[KIND_BYTES]; /* comm: equal programs have equal stacks */
};

struct compact_streams {
	struct compact_stream *items;
	size_t cnt;
	uint32_t *slots; /* index + 1 of an item; 0 = free */
	size_t slot_cnt; /* power of two, more than twice `cnt` */
};

struct compact_streams *compact_streams__new(void)
{
	return calloc(1, sizeof(struct compact_streams));
}

void compact_streams__free(struct compact_streams *streams)
{
	if (!streams)
		return;
	free(streams->items);
	free(streams->slots);
	free(streams);
}

/* The stream's slot, or the free one where it would be. */
static size_t slot_of(const struct compact_streams *streams, uint64_t hash)
{
	size_t slot = (size_t)hash & (streams->slot_cnt - 1);

	while (streams->slots[slot] && streams->items[streams->slots[slot] - 1].hash != hash)
		slot = (slot + 1) & (streams->slot_cnt - 1);
	return slot;
}

static void slots_fill(struct compact_streams *streams)
{
	memset(streams->slots, 0, streams->slot_cnt * sizeof(*streams->slots));
	for (size_t i = 0; i < streams->cnt; i++)
		streams->slots[slot_of(streams, streams->items[i].hash)] = (uint32_t)i + 1;
}

static int streams_grow(struct compact_streams *streams)
{
	size_t cnt = vec_next_cap(streams->slot_cnt, streams->slot_cnt + 1, SLOTS_FIRST, SIZE_MAX);

	if (!cnt || vec_resize(streams->items, cnt / 2) || vec_resize(streams->slots, cnt))
		return -ENOMEM;
	streams->slot_cnt = cnt;
	slots_fill(streams);
	return 0;
}

int compact_streams__add(struct compact_streams *streams, const struct window *window)
{
	uint64_t hash = compact_stream_hash(window);
	struct compact_stream *stream;
	size_t slot;

	if (streams->cnt + 1 >= streams->slot_cnt / 2) {
		int err = streams_grow(streams);

		if (err)
			return err;
	}
	slot = slot_of(streams, hash);
	if (!streams->slots[slot]) {
		stream = &streams->items[streams->cnt++];
		*stream = (struct compact_stream){ .hash = hash, .unit = COMPACT_UNIT_NONE };
		strncpy(stream->kind, window_label(window, WINDOW_LABEL_COMM), KIND_BYTES - 1);
		streams->slots[slot] = (uint32_t)streams->cnt;
	}
	stream = &streams->items[streams->slots[slot] - 1];
	stream->samples += window->counts.samples;
	return 0;
}

/* Small ones first, of a kind beside each other; the order of equal ones is that of their hashes. */
static int compare_streams(const void *a, const void *b)
{
	const struct compact_stream *left = a, *right = b;
	bool left_is_busy = left->samples > COMPACT_UNIT_SAMPLES;
	bool right_is_busy = right->samples > COMPACT_UNIT_SAMPLES;
	int order = (left_is_busy > right_is_busy) - (left_is_busy < right_is_busy);

	if (!order)
		order = strcmp(left->kind, right->kind);
	return order ? order : (left->hash > right->hash) - (left->hash < right->hash);
}

uint32_t compact_streams__plan(struct compact_streams *streams)
{
	uint64_t samples = 0;
	uint32_t unit = 0;

	if (!streams->cnt)
		return 0;
	qsort(streams->items, streams->cnt, sizeof(*streams->items), compare_streams);
	slots_fill(streams);
	for (size_t i = 0; i < streams->cnt; i++) {
		struct compact_stream *stream = &streams->items[i];

		if (samples && samples + stream->samples > COMPACT_UNIT_SAMPLES) {
			unit++;
			samples = 0;
		}
		samples += stream->samples;
		stream->unit = unit;
	}
	return unit + 1;
}

uint32_t compact_streams__unit(const struct compact_streams *streams, const struct window *window)
{
	uint32_t slot;

	if (!streams->slot_cnt)
		return COMPACT_UNIT_NONE;
	slot = streams->slots[slot_of(streams, compact_stream_hash(window))];
	return slot ? streams->items[slot - 1].unit : COMPACT_UNIT_NONE;
}
