// SPDX-License-Identifier: Apache-2.0
/* Ranges of code as text; see map_text.h. */
#include "user/output/map_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/vec.h"

/* The name with its NUL; control bytes become '_'. */
static int add_name(struct strbuf *names, const char *name, size_t len)
{
	size_t at = names->len;

	strbuf_append(names, name, len + 1);
	for (size_t i = at; !strbuf_error(names) && i < at + len; i++) {
		unsigned char byte = (unsigned char)names->data[i];

		if (byte < 0x20 || byte == 0x7f)
			names->data[i] = '_';
	}
	return strbuf_error(names);
}

int map_text_add(struct map_text *map, uint64_t start, uint64_t len, const char *name)
{
	size_t name_len = name ? strlen(name) : 0;
	size_t name_at = map->names.len;
	uint64_t end;
	int err;

	if (!name_len || !len || __builtin_add_overflow(start, len, &end))
		return 0;
	if (map->cnt == MAP_TEXT_MAX_ENTRIES || name_len >= MAP_TEXT_MAX_BYTES - name_at)
		return -E2BIG;
	err = vec_room(map->entries, map->cnt, map->cap, 4096);
	if (!err)
		err = add_name(&map->names, name, name_len);
	if (err)
		return err;
	map->entries[map->cnt++] =
		(struct map_text_entry){ .start = start, .len = len, .name_at = name_at };
	return 0;
}

/* Those that begin at the same place keep their order. */
static int compare(const void *left, const void *right)
{
	const struct map_text_entry *a = left;
	const struct map_text_entry *b = right;

	if (a->start != b->start)
		return (a->start > b->start) - (a->start < b->start);
	return (a->name_at > b->name_at) - (a->name_at < b->name_at);
}

int map_text_render(struct map_text *map, struct strbuf *out)
{
	if (map->cnt)
		qsort(map->entries, map->cnt, sizeof(*map->entries), compare);
	for (size_t i = 0; i < map->cnt; i++) {
		const struct map_text_entry *entry = &map->entries[i];

		strbuf_printf(out, "%" PRIx64 " %" PRIx64 " ", entry->start, entry->len);
		strbuf_puts(out, map->names.data + entry->name_at);
		strbuf_putc(out, '\n');
	}
	return strbuf_error(out);
}

void map_text_release(struct map_text *map)
{
	free(map->entries);
	strbuf_release(&map->names);
	memset(map, 0, sizeof(*map));
}
