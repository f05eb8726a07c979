// SPDX-License-Identifier: Apache-2.0
/*
 * /proc/PID/maps of any bytes. Mappings are in order and do not overlap, what is found is what a
 * slow search finds, reading a file in steps gives the same as parsing its text, and what was
 * understood reads the same when it is written out again.
 *
 * Input: the text.
 */
#include <inttypes.h>

#include "user/host/procmaps.h"
#include "tests/fuzz/fuzz.h"
#include "user/util/strbuf.h"

static void check_order(const struct procmaps *maps, size_t len)
{
	must(maps->cnt <= PROCMAPS_MAX_ENTRIES && maps->paths_len <= len + maps->cnt);
	for (size_t i = 0; i < maps->cnt; i++) {
		const struct procmap *map = &maps->items[i];

		must(map->start < map->end && (!i || map->start >= map[-1].end));
		must(map->path_at < maps->paths_len);
		must(memchr(maps->paths + map->path_at, '\0', maps->paths_len - map->path_at));
		if (map->kind == PROCMAP_KIND_FILE)
			must(procmaps_path(maps, map)[0] == '/' && map->inode);
		must(!strchr(procmaps_base_name(procmaps_path(maps, map)), '/'));
	}
}

static const struct procmap *find(const struct procmaps *maps, uint64_t address)
{
	for (size_t i = 0; i < maps->cnt; i++) {
		if (address >= maps->items[i].start && address < maps->items[i].end)
			return &maps->items[i];
	}
	return NULL;
}

static void check_finding(const struct procmaps *maps)
{
	for (size_t i = 0; i < maps->cnt && i < 64; i++) {
		const struct procmap *map = &maps->items[i];
		const uint64_t addresses[] = { map->start, map->start - 1, map->end, map->end - 1 };

		for (size_t j = 0; j < 4; j++)
			must(procmaps_find(maps, addresses[j]) == find(maps, addresses[j]));
	}
}

static void write_map(const struct procmaps *maps, const struct procmap *map, struct strbuf *out)
{
	const char *path = procmaps_path(maps, map);

	strbuf_printf(out, "%" PRIx64 "-%" PRIx64 " r-xp %" PRIx64 " %x:%x %" PRIu64 " ",
		      map->start, map->end, map->offset, map->dev_major, map->dev_minor,
		      map->inode);
	for (; *path; path++)
		if (*path == '\n')
			strbuf_puts(out, "\\012");
		else
			strbuf_putc(out, *path);
	strbuf_puts(out, map->is_deleted ? " (deleted)\n" : "\n");
	must(strbuf_error(out) == 0);
}

static void check_same(const struct procmaps *a, const struct procmaps *b)
{
	must(a->cnt == b->cnt);
	for (size_t i = 0; i < a->cnt; i++) {
		const struct procmap *left = &a->items[i], *right = &b->items[i];

		must(left->start == right->start && left->end == right->end);
		must(left->offset == right->offset && left->inode == right->inode);
		must(left->dev_major == right->dev_major);
		must(left->dev_minor == right->dev_minor && left->kind == right->kind);
		must(left->is_deleted == right->is_deleted);
		must(strcmp(procmaps_path(a, left), procmaps_path(b, right)) == 0);
	}
}

static void check_again(const struct procmaps *maps)
{
	struct strbuf text __cleanup_strbuf = STRBUF_INIT;
	struct procmaps again = { 0 };

	for (size_t i = 0; i < maps->cnt; i++)
		write_map(maps, &maps->items[i], &text);
	must(procmaps_parse(strbuf_str(&text), text.len, &again) == 0);
	must(again.dropped_cnt == 0);
	check_same(maps, &again);
	procmaps_release(&again);
}

static bool has_long_line(const char *text, size_t len)
{
	while (len) {
		const char *newline = memchr(text, '\n', len);
		size_t line = newline ? (size_t)(newline - text) + 1 : len;

		if (line > PROCMAPS_MAX_LINE_BYTES)
			return true;
		text += line;
		len -= line;
	}
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct procmaps maps = { 0 }, stepwise = { 0 };
	int fd = fuzz_file(data, len);

	must(procmaps_parse((const char *)data, len, &maps) == 0);
	must(procmaps_read(fd, &stepwise) == 0);
	check_order(&maps, len);
	check_finding(&maps);
	check_again(&maps);
	if (has_long_line((const char *)data, len))
		check_order(&stepwise, len);
	else
		check_same(&maps, &stepwise);
	procmaps_release(&maps);
	procmaps_release(&stepwise);
	close(fd);
	return 0;
}
