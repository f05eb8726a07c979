// SPDX-License-Identifier: Apache-2.0
/* Perf maps over the border; see perfmap_wire.h. Head, starts, ranges, names. */
#include "symbols/perfmap/perfmap_wire.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/perfmap/perfmap_internal.h"
#include "user/util/byte_reader.h"

struct wire_head {
	uint64_t line_cnt;
	uint64_t rejected_cnt;
	uint64_t text_bytes;
	uint64_t range_cnt;
	uint64_t name_bytes;
};

int perfmap__encode(const struct perfmap *map, const struct perfmap_stats *stats,
		    const struct wire_sink *sink)
{
	struct wire_head head = {
		.line_cnt = stats->line_cnt,
		.rejected_cnt = stats->rejected_cnt,
		.text_bytes = stats->text_bytes,
		.range_cnt = map->range_cnt,
		.name_bytes = map->name_bytes,
	};
	int err = wire_sink_write(sink, &head, sizeof(head));

	if (!err)
		err = wire_sink_write(sink, map->starts, map->range_cnt * sizeof(*map->starts));
	if (!err)
		err = wire_sink_write(sink, map->ranges, map->range_cnt * sizeof(*map->ranges));
	if (!err)
		err = wire_sink_write(sink, map->names, map->name_bytes);
	return err;
}

static bool wire_name_is_sound(const struct perfmap *map, const struct perfmap_range *range)
{
	return range->name_len != 0 && range->name_len <= PERFMAP_MAX_NAME_BYTES &&
	       range->name_offset <= map->name_bytes &&
	       range->name_len <= map->name_bytes - range->name_offset;
}

static bool wire_ranges_are_sound(const struct perfmap *map)
{
	uint64_t end = 0;

	for (size_t i = 0; i < map->range_cnt; i++) {
		const struct perfmap_range *range = &map->ranges[i];

		if (map->starts[i] < end || range->end <= map->starts[i] ||
		    !wire_name_is_sound(map, range))
			return false;
		end = range->end;
	}
	/* All at once: ranges may share names, so looking at each name would have no bound. */
	return !map->name_bytes || !memchr(map->names, '\0', map->name_bytes);
}

static bool wire_head_is_sound(const struct wire_head *head, size_t left)
{
	return head->range_cnt <= PERFMAP_MAX_ENTRIES && head->name_bytes <= PERFMAP_MAX_BYTES &&
	       head->text_bytes <= PERFMAP_MAX_BYTES && head->line_cnt <= head->text_bytes &&
	       head->rejected_cnt <= head->line_cnt &&
	       left == head->range_cnt * (sizeof(uint64_t) + sizeof(struct perfmap_range)) +
			       head->name_bytes;
}

/* The size was checked: all bytes are there. */
static int wire_read_map(struct byte_reader *reader, const struct wire_head *head,
			 struct perfmap *map)
{
	size_t cnt = (size_t)head->range_cnt;

	map->range_cnt = cnt;
	map->name_bytes = (size_t)head->name_bytes;
	if (cnt == 0)
		return map->name_bytes ? -EBADMSG : 0;
	map->starts = reallocarray(NULL, cnt, sizeof(*map->starts));
	map->ranges = reallocarray(NULL, cnt, sizeof(*map->ranges));
	map->names = malloc(map->name_bytes + 1);
	if (!map->starts || !map->ranges || !map->names)
		return -ENOMEM;
	memcpy(map->starts, byte_reader_take(reader, cnt * sizeof(*map->starts)),
	       cnt * sizeof(*map->starts));
	memcpy(map->ranges, byte_reader_take(reader, cnt * sizeof(*map->ranges)),
	       cnt * sizeof(*map->ranges));
	memcpy(map->names, byte_reader_take(reader, map->name_bytes), map->name_bytes);
	return wire_ranges_are_sound(map) ? 0 : -EBADMSG;
}

int perfmap_decode(const void *bytes, size_t len, struct perfmap **out, struct perfmap_stats *stats)
{
	struct byte_reader reader = byte_reader_init(bytes, len);
	const void *head_bytes = byte_reader_take(&reader, sizeof(struct wire_head));
	struct wire_head head;
	struct perfmap *map;
	int err;

	if (!head_bytes)
		return -EBADMSG;
	memcpy(&head, head_bytes, sizeof(head));
	if (!wire_head_is_sound(&head, reader.left))
		return -EBADMSG;
	map = calloc(1, sizeof(*map));
	if (!map)
		return -ENOMEM;
	err = wire_read_map(&reader, &head, map);
	if (err) {
		perfmap__free(map);
		return err;
	}
	*out = map;
	*stats = (struct perfmap_stats){
		.line_cnt = (size_t)head.line_cnt,
		.rejected_cnt = (size_t)head.rejected_cnt,
		.entry_cnt = (size_t)head.range_cnt,
		.text_bytes = (size_t)head.text_bytes,
	};
	return 0;
}
