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

/* Hex or decimal number up to `stop`, which is taken too. */
static bool procmaps_number(const char **at, const char *end, unsigned int base, char stop,
			    uint64_t *out)
{
	const char *begin = *at;
	uint64_t value = 0;

	for (; *at < end && **at != stop; (*at)++) {
		char c = **at;
		unsigned int digit = c >= '0' && c <= '9' ? (unsigned int)(c - '0') :
				     c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a') + 10 :
							    99;

		if (digit >= base || value > (UINT64_MAX - digit) / base)
			return false;
		value = value * base + digit;
	}
	if (*at == begin || *at == end)
		return false;
	(*at)++;
	*out = value;
	return true;
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

/* Copies a path into maps->paths, "\012" made a newline again. */
static int procmaps_add_path(struct procmaps *maps, const char *path, size_t len, uint32_t *at_out)
{
	size_t need = maps->paths_len + len + 1;
	char *to;

	if (need > UINT32_MAX)
		return -ENOMEM;
	if (need > maps->paths_cap) {
		size_t cap = need * 2 > 4096 ? need * 2 : 4096;
		char *paths = realloc(maps->paths, cap);

		if (!paths)
			return -ENOMEM;
		maps->paths = paths;
		maps->paths_cap = cap;
	}
	*at_out = (uint32_t)maps->paths_len;
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
	maps->paths_len = (size_t)(to - maps->paths);
	return 0;
}

static int procmaps_add(struct procmaps *maps, struct procmap map, const char *path, size_t len)
{
	static const char deleted[] = " (deleted)";
	size_t deleted_len = sizeof(deleted) - 1;
	int err;

	if (maps->cnt == PROCMAPS_MAX_ENTRIES ||
	    (maps->cnt && map.start < maps->items[maps->cnt - 1].end)) {
		maps->dropped_cnt++;
		return 0;
	}
	if (maps->cnt == maps->cap) {
		size_t cap = maps->cap ? maps->cap * 2 : 32;
		struct procmap *items = reallocarray(maps->items, cap, sizeof(*items));

		if (!items)
			return -ENOMEM;
		maps->items = items;
		maps->cap = cap;
	}
	if (len > deleted_len && memcmp(path + len - deleted_len, deleted, deleted_len) == 0) {
		map.is_deleted = true;
		len -= deleted_len;
	}
	err = procmaps_add_path(maps, path, len, &map.path_at);
	if (err)
		return err;
	map.kind = procmaps_classify(maps->paths + map.path_at, map.inode);
	maps->items[maps->cnt++] = map;
	return 0;
}

/* "START-END PERMS OFFSET MAJOR:MINOR INODE    PATH" */
static int procmaps_line(const char *at, const char *end, struct procmaps *out)
{
	struct procmap map = { 0 };
	uint64_t dev_major, dev_minor;

	if (!procmaps_number(&at, end, 16, '-', &map.start) ||
	    !procmaps_number(&at, end, 16, ' ', &map.end) || end - at < 5 || at[4] != ' ')
		goto bad;
	if (at[2] != 'x')
		return 0;
	at += 5;
	if (map.start >= map.end || !procmaps_number(&at, end, 16, ' ', &map.offset) ||
	    !procmaps_number(&at, end, 16, ':', &dev_major) ||
	    !procmaps_number(&at, end, 16, ' ', &dev_minor) || dev_major > UINT32_MAX ||
	    dev_minor > UINT32_MAX)
		goto bad;
	/* Nothing need follow the inode of an anonymous mapping, though the kernel writes a blank. */
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		map.inode = map.inode * 10 + (uint64_t)(*at - '0');
	while (at < end && *at == ' ')
		at++;
	map.dev_major = (uint32_t)dev_major;
	map.dev_minor = (uint32_t)dev_minor;
	/* No path the kernel writes has a NUL; one in made-up text ends it. */
	return procmaps_add(out, map, at, strnlen(at, (size_t)(end - at)));
bad:
	out->dropped_cnt++;
	return 0;
}

/* All complete lines; *used is how much they were. */
static int procmaps_lines(const char *text, size_t len, struct procmaps *out, size_t *used)
{
	const char *at = text;
	const char *end = text + len;

	for (;;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		int err;

		if (!newline)
			break;
		err = procmaps_line(at, newline, out);
		if (err)
			return err;
		at = newline + 1;
	}
	*used = (size_t)(at - text);
	return 0;
}

int procmaps_parse(const char *text, size_t len, struct procmaps *out)
{
	size_t used;
	int err;

	if (len == 0)
		return 0;
	err = procmaps_lines(text, len, out, &used);
	if (!err && used < len)
		err = procmaps_line(text + used, text + len, out);
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
