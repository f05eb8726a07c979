// SPDX-License-Identifier: Apache-2.0
/* See cgroup_lines.h. */
#include "user/host/cgroup_lines.h"

#include <errno.h>
#include <string.h>

#include "user/util/fs.h"
#include "user/util/lines.h"

#define MOUNTS_MAX_BYTES (4u << 20) /* a host of containers has many mounts */

/* ---- fields ---- */

/* Cuts the part before `separator` off `rest`; all of it when there is no separator. */
static struct text field_cut(struct text *rest, char separator)
{
	const char *stop = rest->len ? memchr(rest->at, separator, rest->len) : NULL;
	struct text field = { rest->at, stop ? (size_t)(stop - rest->at) : rest->len };
	size_t used = field.len + (stop != NULL);

	*rest = (struct text){ rest->at + used, rest->len - used };
	return field;
}

/* Is `word` one of the comma-separated words? */
static bool field_has(struct text words, const char *word)
{
	do {
		if (text_is(field_cut(&words, ','), word))
			return true;
	} while (words.len);
	return false;
}

/* ---- /proc/PID/cgroup ---- */

bool cgroup_line_parse(const char *line, size_t len, struct cgroup_line *out)
{
	static const char deleted[] = " (deleted)";
	size_t deleted_len = sizeof(deleted) - 1;
	const char *end = line + len;
	const char *first = memchr(line, ':', len);
	/* The path may hold colons, too. */
	const char *second = first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;

	if (!second)
		return false;
	out->controllers = first + 1;
	out->controllers_len = (size_t)(second - out->controllers);
	out->path = second + 1;
	out->path_len = (size_t)(end - out->path);
	out->name_len = out->path_len;
	if (out->path_len > deleted_len && memcmp(end - deleted_len, deleted, deleted_len) == 0)
		out->name_len -= deleted_len;
	return true;
}

bool cgroup_line_is_of(const struct cgroup_line *line, const char *controller)
{
	struct text words = { line->controllers, line->controllers_len };

	return controller ? field_has(words, controller) : words.len == 0;
}

bool cgroup_lines_find(const char *text, size_t len, const char *controller,
		       struct cgroup_line *out)
{
	struct lines lines = lines_init(text, len);
	struct cgroup_line parsed;
	struct line line;

	while (lines_next(&lines, &line)) {
		if (cgroup_line_parse(line.at, line.len, &parsed) &&
		    cgroup_line_is_of(&parsed, controller)) {
			*out = parsed;
			return true;
		}
	}
	return false;
}

/* ---- /proc/mounts ---- */

/* "\040" -> " ", as the kernel writes blanks and tabs in mount points. */
static int mount_point_copy(struct text point, char out[PATH_MAX])
{
	size_t used = 0;

	if (point.len >= PATH_MAX)
		return -ENAMETOOLONG;
	for (size_t i = 0; i < point.len; i++) {
		const char *at = point.at + i;
		char c = *at;

		if (c == '\\' && i + 3 < point.len && at[1] >= '0' && at[1] <= '3' &&
		    at[2] >= '0' && at[2] <= '7' && at[3] >= '0' && at[3] <= '7') {
			c = (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'));
			i += 3;
		}
		out[used++] = c;
	}
	out[used] = '\0';
	return 0;
}

int cgroup_mount_find(int proc_fd, const char *controller, char out[PATH_MAX])
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int err = fs_read_file(proc_fd, "mounts", MOUNTS_MAX_BYTES, &text);
	struct lines lines = lines_init(text.data, text.len);
	struct line line;

	if (err)
		return err == -ENOENT ? -ENODEV : err;
	while (lines_next(&lines, &line)) {
		struct text rest = { line.at, line.len };
		struct text point, type, options;

		(void)field_cut(&rest, ' '); /* the device */
		point = field_cut(&rest, ' ');
		type = field_cut(&rest, ' ');
		options = field_cut(&rest, ' ');
		if (options.len && text_is(type, controller ? "cgroup" : "cgroup2") &&
		    (!controller || field_has(options, controller)))
			return mount_point_copy(point, out);
	}
	return -ENODEV;
}
