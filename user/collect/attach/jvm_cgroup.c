// SPDX-License-Identifier: Apache-2.0
/*
 * /proc/PID/cgroup names the process's cgroup in each hierarchy, /proc/mounts says where the
 * hierarchies are. A limit holds for a whole subtree, so each is looked for from the process's
 * cgroup up to the root. "Cannot be told" is an error: the caller must then leave the JVM alone.
 */
#include "user/collect/attach/jvm_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/parse.h"

#define CGROUP_TEXT_MAX_BYTES (64u << 10)
#define MOUNTS_MAX_BYTES      (4u << 20) /* a host of containers has many mounts */
#define CGROUP_FILE_MAX_BYTES 4096u

/* Looks at one cgroup directory; 0 goes on to its parent, 1 stops, -errno fails. */
typedef int (*cgroup_visit_fn)(int dir_fd, void *ctx);

/* ---- text ---- */

/* Field `index` of a line of `separator`-separated fields; false when there are fewer. */
static bool line_field(const char *line, size_t len, char separator, int index, const char **at,
		       size_t *field_len)
{
	const char *end = line + len;

	for (;; index--) {
		const char *stop = memchr(line, separator, (size_t)(end - line));

		if (index == 0) {
			*at = line;
			*field_len = (size_t)((stop ? stop : end) - line);
			return true;
		}
		if (!stop)
			return false;
		line = stop + 1;
	}
}

/* Is `word` one of the comma-separated words? */
static bool words_contain(const char *words, size_t len, const char *word)
{
	const char *at;
	size_t word_len;

	for (int i = 0; line_field(words, len, ',', i, &at, &word_len); i++) {
		if (word_len == strlen(word) && memcmp(at, word, word_len) == 0)
			return true;
	}
	return false;
}

/* Next line of `text` at *offset, without newline; false at the end. */
static bool text_line(const struct strbuf *text, size_t *offset, const char **line, size_t *len)
{
	const char *newline;

	if (*offset >= text->len)
		return false;
	*line = text->data + *offset;
	newline = memchr(*line, '\n', text->len - *offset);
	*len = newline ? (size_t)(newline - *line) : text->len - *offset;
	*offset += *len + 1;
	return true;
}

/* ---- where ---- */

/* `controller`: a v1 controller, or NULL for v2. 0; -ENOENT: the process is in no such hierarchy. */
static int cgroup_path(const struct strbuf *text, const char *controller, char path[PATH_MAX])
{
	size_t offset = 0, len;
	const char *line;

	while (text_line(text, &offset, &line, &len)) {
		const char *controllers, *at;
		size_t controllers_len, path_len;
		bool is_wanted;

		if (!line_field(line, len, ':', 1, &controllers, &controllers_len) ||
		    !line_field(line, len, ':', 2, &at, &path_len))
			continue;
		is_wanted = controller ? words_contain(controllers, controllers_len, controller) :
					 controllers_len == 0;
		if (!is_wanted)
			continue;
		path_len = (size_t)(line + len - at); /* the path may hold colons */
		if (path_len == 0 || at[0] != '/' || path_len >= PATH_MAX)
			return -EINVAL;
		memcpy(path, at, path_len);
		path[path_len] = '\0';
		/* Outside of our cgroup namespace: its limits cannot be seen. */
		return strncmp(path, "/..", 3) == 0 || strstr(path, "/../") ? -EXDEV : 0;
	}
	return -ENOENT;
}

/* "\040" -> " ", as the kernel writes blanks and tabs in mount points. */
static int mount_point_copy(const char *at, size_t len, char out[PATH_MAX])
{
	size_t used = 0;

	if (len >= PATH_MAX)
		return -ENAMETOOLONG;
	for (size_t i = 0; i < len; i++) {
		char c = at[i];

		if (c == '\\' && i + 3 < len && at[i + 1] >= '0' && at[i + 1] <= '3' &&
		    at[i + 2] >= '0' && at[i + 2] <= '7' && at[i + 3] >= '0' && at[i + 3] <= '7') {
			c = (char)((at[i + 1] - '0') * 64 + (at[i + 2] - '0') * 8 +
				   (at[i + 3] - '0'));
			i += 3;
		}
		out[used++] = c;
	}
	out[used] = '\0';
	return 0;
}

/* Mount point of a v1 controller's hierarchy or of v2. -ENODEV: not mounted here. */
static int cgroup_mount(int proc_fd, const char *controller, char mount[PATH_MAX])
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	const char *wanted_type = controller ? "cgroup" : "cgroup2";
	size_t offset = 0, len;
	const char *line;
	int err;

	err = fs_read_file(proc_fd, "mounts", MOUNTS_MAX_BYTES, &text);
	if (err)
		return err == -ENOENT ? -ENODEV : err;
	while (text_line(&text, &offset, &line, &len)) {
		const char *point, *type, *options;
		size_t point_len, type_len, options_len;

		if (!line_field(line, len, ' ', 1, &point, &point_len) ||
		    !line_field(line, len, ' ', 2, &type, &type_len) ||
		    !line_field(line, len, ' ', 3, &options, &options_len))
			continue;
		if (type_len != strlen(wanted_type) || memcmp(type, wanted_type, type_len) != 0)
			continue;
		if (controller && !words_contain(options, options_len, controller))
			continue;
		return mount_point_copy(point, point_len, mount);
	}
	return -ENODEV;
}

/* ---- walk ---- */

static int cgroup_visit_one(const char *mount, const char *path, cgroup_visit_fn visit, void *ctx)
{
	char full[2 * PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", mount, path);
	__cleanup_fd int dir_fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	return visit(dir_fd, ctx);
}

/* The cgroup of the process and all above it. No such hierarchy at all: nothing to visit, 0. */
static int cgroup_walk(int proc_fd, uint32_t pid, const char *controller, cgroup_visit_fn visit,
		       void *ctx)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	char mount[PATH_MAX], path[PATH_MAX];
	int err;

	err = fs_read_filef(proc_fd, CGROUP_TEXT_MAX_BYTES, &text, "%u/cgroup", pid);
	if (err)
		return err == -ENOENT ? -ESRCH : err;
	err = cgroup_path(&text, controller, path);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = cgroup_mount(proc_fd, controller, mount);
	if (err)
		return err;
	for (;;) {
		char *slash = strrchr(path, '/');

		err = cgroup_visit_one(mount, path, visit, ctx);
		if (err || !slash || path[1] == '\0')
			return err > 0 ? 0 : err;
		slash[slash == path] = '\0';
	}
}

/* ---- freezer ---- */

/* 1 when the file is there and contains `needle`, else 0, or -errno. */
static int file_has(int dir_fd, const char *name, const char *needle)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int err = fs_read_file(dir_fd, name, CGROUP_FILE_MAX_BYTES, &text);

	if (err)
		return err == -ENOENT ? 0 : err;
	return strstr(strbuf_str(&text), needle) != NULL;
}

static int frozen_v1_visit(int dir_fd, void *ctx)
{
	bool *is_frozen = ctx;
	int has = file_has(dir_fd, "freezer.state", "FR"); /* FROZEN, FREEZING; not THAWED */

	if (has > 0)
		*is_frozen = true;
	return has;
}

static int frozen_v2_visit(int dir_fd, void *ctx)
{
	bool *is_frozen = ctx;
	int has = file_has(dir_fd, "cgroup.events", "frozen 1");

	if (has == 0)
		has = file_has(dir_fd, "cgroup.freeze", "1");
	if (has > 0)
		*is_frozen = true;
	return has;
}

int jvm_cgroup_is_frozen(int proc_fd, uint32_t pid, bool *frozen_out)
{
	bool is_frozen = false;
	int err = cgroup_walk(proc_fd, pid, "freezer", frozen_v1_visit, &is_frozen);

	if (!err)
		err = cgroup_walk(proc_fd, pid, NULL, frozen_v2_visit, &is_frozen);
	if (!err)
		*frozen_out = is_frozen;
	return err;
}

/* ---- pids ---- */

/* A number or "max" (UINT64_MAX). -ENOENT: no such file. */
static int file_number(int dir_fd, const char *name, uint64_t *out)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int err = fs_read_file(dir_fd, name, CGROUP_FILE_MAX_BYTES, &text);
	size_t len;

	if (err)
		return err;
	len = strcspn(strbuf_str(&text), "\n");
	if (len == 3 && memcmp(text.data, "max", 3) == 0) {
		*out = UINT64_MAX;
		return 0;
	}
	return parse_u64_n(strbuf_str(&text), len, 10, out);
}

static int pids_visit(int dir_fd, void *ctx)
{
	uint64_t *room = ctx;
	uint64_t max, current;
	int err = file_number(dir_fd, "pids.max", &max);

	/* Roots have no limit, nor have v2 cgroups without the controller. */
	if (err == -ENOENT)
		return 0;
	if (err)
		return err;
	if (max == UINT64_MAX)
		return 0;
	err = file_number(dir_fd, "pids.current", &current);
	if (err)
		return err;
	max = max > current ? max - current : 0;
	if (max < *room)
		*room = max;
	return 0;
}

int jvm_cgroup_pids_room(int proc_fd, uint32_t pid, uint64_t *room_out)
{
	uint64_t room = UINT64_MAX;
	int err = cgroup_walk(proc_fd, pid, "pids", pids_visit, &room);

	if (!err)
		err = cgroup_walk(proc_fd, pid, NULL, pids_visit, &room);
	if (!err)
		*room_out = room;
	return err;
}
