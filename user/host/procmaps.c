// SPDX-License-Identifier: Apache-2.0
/*
 * /proc/PID/maps; see procmaps.h. The file is read in steps, because that of a process with many
 * thousand mappings has megabytes and only its executable lines are kept.
 */
#include "user/host/procmaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/util/cleanup.h"
#include "user/util/lines.h"
#include "user/util/procmaps_line.h"
#include "user/util/vec.h"

#define PROCMAPS_STEP_BYTES (64 * 1024)

void procmaps_release(struct procmaps *maps)
{
	free(maps->items);
	free(maps->paths);
	*maps = (struct procmaps){ 0 };
}

const char *procmaps_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static enum procmap_kind procmaps_classify(const char *path, uint64_t inode)
{
	if (strcmp(path, "[vdso]") == 0)
		return PROCMAP_KIND_VDSO;
	if (path[0] == '\0' || has_prefix(path, "//anon") || has_prefix(path, "[anon") ||
	    strcmp(path, "[heap]") == 0 || has_prefix(path, "[stack") ||
	    strcmp(path, "/dev/zero") == 0 || has_prefix(path, "/anon_hugepage") ||
	    has_prefix(path, "anon_inode:") || has_prefix(path, "/SYSV"))
		return PROCMAP_KIND_ANONYMOUS;
	if (has_prefix(path, "/memfd:doublemapper") || has_prefix(path, "/memfd:jit"))
		return PROCMAP_KIND_ANONYMOUS;
	if (has_prefix(path, "/memfd:"))
		return PROCMAP_KIND_MEMFD;
	if (path[0] != '/' || inode == 0)
		return PROCMAP_KIND_OTHER;
	return PROCMAP_KIND_FILE;
}

/*
 * The last mappings' copy of the path that was just put behind all others. A file is often mapped in many
 * pieces side by side, with memory in between.
 */
static const uint32_t *procmaps_same_path(const struct procmaps *maps)
{
	for (size_t i = maps->cnt; i > 0 && maps->cnt - i < 2; i--)
		if (strcmp(procmaps_path(maps, &maps->items[i - 1]),
			   maps->paths + maps->paths_len) == 0)
			return &maps->items[i - 1].path_at;
	return NULL;
}

/* Copies a path into maps->paths, "\012" made a newline again. -ENOSPC: there is no room for it. */
static int procmaps_add_path(struct procmaps *maps, const char *path, size_t len, uint32_t *at_out)
{
	const uint32_t *same;
	char *to;

	if (len == 0 && maps->paths_len) {
		*at_out = (uint32_t)maps->paths_len - 1; /* the end of another one */
		return 0;
	}
	if (vec_reserve(maps->paths, maps->paths_len + len + 1, maps->paths_cap, 4096))
		return -ENOMEM;
	to = maps->paths + maps->paths_len;
	for (size_t i = 0; i < len; i++) {
		if (len - i >= 4 && memcmp(path + i, "\\012", 4) == 0) {
			*to++ = '\n';
			i += 3;
		} else {
			*to++ = path[i];
		}
	}
	*to++ = '\0';
	same = procmaps_same_path(maps);
	if (same) {
		*at_out = *same;
		return 0;
	}
	if ((size_t)(to - maps->paths) > PROCMAPS_MAX_PATHS_BYTES)
		return -ENOSPC;
	*at_out = (uint32_t)maps->paths_len;
	maps->paths_len = (size_t)(to - maps->paths);
	return 0;
}

static int procmaps_add(struct procmaps *maps, const struct procmaps_line *line,
			const struct procmaps_line_file *file)
{
	struct procmap map = {
		.start = line->start,
		.end = line->end,
		.offset = file->offset,
		.inode = file->inode,
		.dev_major = file->dev_major,
		.dev_minor = file->dev_minor,
		.is_deleted = file->is_deleted,
	};
	int err;

	if (maps->cnt == PROCMAPS_MAX_ENTRIES ||
	    (maps->cnt && map.start < maps->items[maps->cnt - 1].end)) {
		maps->dropped_cnt++;
		return 0;
	}
	if (vec_room(maps->items, maps->cnt, maps->cap, 32))
		return -ENOMEM;
	err = procmaps_add_path(maps, file->path, file->path_len, &map.path_at);
	if (err == -ENOSPC) {
		/* Without its path it would count as memory, where a JIT compiler puts code. */
		maps->dropped_cnt++;
		return 0;
	}
	if (err)
		return err;
	map.kind = procmaps_classify(maps->paths + map.path_at, map.inode);
	maps->items[maps->cnt++] = map;
	return 0;
}

static int procmaps_line(const struct line *text, struct procmaps *out)
{
	struct procmaps_line_file file;
	struct procmaps_line line;

	if (!procmaps_line_parse(text->at, text->len, &line) ||
	    (line.is_executable && !procmaps_line_file(&line, &file))) {
		out->dropped_cnt++;
		return 0;
	}
	return line.is_executable ? procmaps_add(out, &line, &file) : 0;
}

/* All complete lines; *used is how much they were. */
static int procmaps_lines(const char *text, size_t len, struct procmaps *out, size_t *used)
{
	struct lines lines = lines_init(text, len);
	struct line line;
	int err = 0;

	*used = 0;
	while (!err && lines_next(&lines, &line) && line.is_whole) {
		err = procmaps_line(&line, out);
		*used = (size_t)(lines.at - text);
	}
	return err;
}

int procmaps_parse(const char *text, size_t len, struct procmaps *out)
{
	struct lines lines = lines_init(text, len);
	struct line line;
	int err = 0;

	while (!err && lines_next(&lines, &line))
		err = procmaps_line(&line, out);
	return err;
}

int procmaps_read(int fd, struct procmaps *out)
{
	__cleanup_free char *text = malloc(PROCMAPS_STEP_BYTES);
	size_t len = 0, total = 0, used;

	if (!text)
		return -ENOMEM;
	while (total < PROCMAPS_MAX_BYTES) {
		ssize_t got = read(fd, text + len, PROCMAPS_STEP_BYTES - len);
		int err;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return procmaps_parse(text, len, out);
		len += (size_t)got;
		total += (size_t)got;
		err = procmaps_lines(text, len, out, &used);
		if (err)
			return err;
		len -= used;
		memmove(text, text + used, len);
		if (len > PROCMAPS_MAX_LINE_BYTES) {
			out->dropped_cnt++;
			len = 0;
		}
	}
	out->dropped_cnt++;
	return 0;
}

struct procmap *procmaps_find(const struct procmaps *maps, uint64_t address)
{
	size_t low = 0, high = maps->cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (maps->items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == maps->cnt || maps->items[low].start > address)
		return NULL;
	return &maps->items[low];
}
