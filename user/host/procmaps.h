/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/maps: the executable mappings of a process, sorted by address. Paths are foreign text:
 * they may hold blanks, newlines (written "\012") and " (deleted)".
 *
 * The room of what /proc says. In: a descriptor of the file. Out: mappings with their paths, which the caller owns and releases.
 */
#ifndef JBPF_HOST_PROCMAPS_H
#define JBPF_HOST_PROCMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

#define PROCMAPS_MAX_ENTRIES	 65536u	      /* executable mappings kept; the rest is counted */
#define PROCMAPS_MAX_BYTES	 (64u << 20)  /* of text read */
#define PROCMAPS_MAX_PATHS_BYTES (1u << 20)   /* of all paths; mappings beyond are counted, too */
#define PROCMAPS_MAX_LINE_BYTES	 (32u * 1024) /* 4096 bytes of path, each may be escaped */

enum procmap_kind {
	PROCMAP_KIND_FILE = 0,
	PROCMAP_KIND_ANONYMOUS = 1, /* no file, or one that only stands for memory: JIT code */
	PROCMAP_KIND_MEMFD = 2,	    /* an ELF file or JIT code: the bytes decide */
	PROCMAP_KIND_VDSO = 3,
	PROCMAP_KIND_OTHER = 4, /* "[vsyscall]", "[uprobes]" */
};

struct procmap {
	uint64_t start;
	uint64_t end; /* exclusive */
	uint64_t offset;
	uint64_t inode;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint32_t path_at; /* into procmaps.paths */
	enum procmap_kind kind;
	bool is_deleted; /* the path said " (deleted)", which is cut off */
};

/* Caller-owned; zero-initialise, end with procmaps_release(). */
struct procmaps {
	struct procmap *items; /* sorted, not overlapping */
	size_t cnt;
	size_t cap;
	char *paths; /* NUL-terminated strings */
	size_t paths_len;
	size_t paths_cap;
	size_t dropped_cnt; /* executable mappings past the caps, and lines that made no sense */
};

void procmaps_release(struct procmaps *maps);

/* Reads and parses an open /proc/PID/maps. 0, -ENOMEM, or the error of read(). */
__must_check int procmaps_read(int fd, struct procmaps *out);
/* Parses text; a last line without newline counts. Appends to `out`. 0 or -ENOMEM. */
__must_check int procmaps_parse(const char *text, size_t len, struct procmaps *out);

/* The mapping that holds `address`, or NULL. */
struct procmap *procmaps_find(const struct procmaps *maps, uint64_t address);

static inline const char *procmaps_path(const struct procmaps *maps, const struct procmap *map)
{
	return maps->paths ? maps->paths + map->path_at : "";
}

/* Part of a path behind the last slash. */
const char *procmaps_base_name(const char *path);

#endif
