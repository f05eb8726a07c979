/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of /proc/PID/maps, as show_map_vma() in the kernel's fs/proc/task_mmu.c writes it:
 *
 *     START-END PERMISSIONS OFFSET MAJOR:MINOR INODE    PATH
 *
 * In: the line without its newline, foreign text. Out: numbers, and the path as a part of the line, which
 * stays the caller's. The only error is false: the line is none of that kind, and `out` is undefined. It
 * is parsed in two steps, because most readers drop most lines after the permissions.
 */
#ifndef JBPF_UTIL_PROCMAPS_LINE_H
#define JBPF_UTIL_PROCMAPS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

struct procmaps_line {
	uint64_t start;
	uint64_t end; /* exclusive, above start */
	bool is_executable;
	bool is_shared;
	const char *rest; /* behind the permissions; for procmaps_line_file() */
	size_t rest_len;
};

struct procmaps_line_file {
	uint64_t offset;
	uint64_t inode;
	uint32_t dev_major;
	uint32_t dev_minor;
	const char *path; /* not NUL-terminated; a newline in it is "\012" still */
	size_t path_len;  /* without " (deleted)" */
	bool is_deleted;
};

/* Range and permissions. */
bool procmaps_line_parse(const char *line, size_t len, struct procmaps_line *out) __no_null;
/* What is mapped there. */
bool procmaps_line_file(const struct procmaps_line *line, struct procmaps_line_file *out) __no_null;

#endif
