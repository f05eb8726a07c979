// SPDX-License-Identifier: Apache-2.0
/* Ranges of code as text; see map_text.h. */
#include "user/cmd/map_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int reserve(struct map_text *map)
{
	size_t cap = map->cap ? map->cap * 2 : 4096;
	struct map_text_entry *entries;

	if (map->cnt < map->cap)
		return 0;
	entries = reallocarray(map->entries, cap, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	map->entries = entries;
	map->cap = cap;
	return 0;
}

/* The name with its NUL; control bytes become '_'. */
static int add_name(struct strbuf *names, const char *name, size_t len)
{
	size_t at = names->len;
	int err = strbuf_append(names, name, len + 1);

	for (size_t i = at; !err && i < at + len; i++) {
		unsigned char byte = (unsigned char)names->data[i];

		if (byte < 0x20 || byte == 0x7f)
			names->data[i] = '_';
	}
	return err;
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
	err = reserve(map);
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
	int err = 0;

	if (map->cnt)
		qsort(map->entries, map->cnt, sizeof(*map->entries), compare);
	for (size_t i = 0; !err && i < map->cnt; i++) {
		const struct map_text_entry *entry = &map->entries[i];

		err = strbuf_printf(out, "%" PRIx64 " %" PRIx64 " ", entry->start, entry->len);
		if (!err)
			err = strbuf_puts(out, map->names.data + entry->name_at);
		if (!err)
			err = strbuf_putc(out, '\n');
	}
	return err;
}

void map_text_release(struct map_text *map)
{
	free(map->entries);
	strbuf_release(&map->names);
	memset(map, 0, sizeof(*map));
}
