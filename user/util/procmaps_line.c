// SPDX-License-Identifier: Apache-2.0
/* See procmaps_line.h. */
#include "user/util/procmaps_line.h"

#include <string.h>

/* Hex or decimal number up to `stop`, which is taken too. */
static bool take_number(const char **at, const char *end, unsigned int base, char stop,
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

bool procmaps_line_parse(const char *line, size_t len, struct procmaps_line *out)
{
	const char *at = line;
	const char *end = line + len;

	if (!take_number(&at, end, 16, '-', &out->start) ||
	    !take_number(&at, end, 16, ' ', &out->end) || out->start >= out->end || end - at < 5 ||
	    at[4] != ' ')
		return false;
	out->is_executable = at[2] == 'x';
	out->is_shared = at[3] == 's';
	out->rest = at + 5;
	out->rest_len = (size_t)(end - out->rest);
	return true;
}

static void take_path(const char *at, const char *end, struct procmaps_line_file *out)
{
	static const char deleted[] = " (deleted)";
	size_t deleted_len = sizeof(deleted) - 1;

	while (at < end && *at == ' ')
		at++;
	out->path = at;
	/* No path the kernel writes has a NUL; one in made-up text ends it. */
	out->path_len = strnlen(at, (size_t)(end - at));
	out->is_deleted = out->path_len > deleted_len &&
			  memcmp(at + out->path_len - deleted_len, deleted, deleted_len) == 0;
	if (out->is_deleted)
		out->path_len -= deleted_len;
}

bool procmaps_line_file(const struct procmaps_line *line, struct procmaps_line_file *out)
{
	const char *at = line->rest;
	const char *end = at + line->rest_len;
	uint64_t dev_major, dev_minor;

	if (!take_number(&at, end, 16, ' ', &out->offset) ||
	    !take_number(&at, end, 16, ':', &dev_major) ||
	    !take_number(&at, end, 16, ' ', &dev_minor) || dev_major > UINT32_MAX ||
	    dev_minor > UINT32_MAX)
		return false;
	out->dev_major = (uint32_t)dev_major;
	out->dev_minor = (uint32_t)dev_minor;
	out->inode = 0;
	/* Nothing need follow the inode of an anonymous mapping, though the kernel writes a blank. */
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		out->inode = out->inode * 10 + (uint64_t)(*at - '0');
	take_path(at, end, out);
	return true;
}
