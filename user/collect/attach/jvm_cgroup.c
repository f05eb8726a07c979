// SPDX-License-Identifier: Apache-2.0
/*
 * /proc/PID/cgroup names the process's cgroup in each hierarchy, /proc/mounts says where the
 * hierarchies are. A limit holds for a whole subtree, so each is looked for from the process's
 * cgroup up to the root. "Not known" is an error: the caller must then leave the JVM alone.
 */
#include "user/collect/attach/jvm_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "user/host/cgroup_lines.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/parse.h"

#define CGROUP_TEXT_MAX_BYTES (64u << 10)
#define CGROUP_FILE_MAX_BYTES 4096u

/* Looks at one cgroup directory; 0 goes on to its parent, 1 stops, -errno fails. */
typedef int (*cgroup_visit_fn)(int dir_fd, void *ctx);

/* ---- where ---- */

/* 0; -ENOENT: the process is in no such hierarchy. */
static int cgroup_path(const struct strbuf *text, const char *controller, char path[PATH_MAX])
{
	struct cgroup_line line;

	if (!cgroup_lines_find(strbuf_str(text), text->len, controller, &line))
		return -ENOENT;
	if (line.path_len == 0 || line.path[0] != '/' || line.path_len >= PATH_MAX)
		return -EINVAL;
	memcpy(path, line.path, line.path_len);
	path[line.path_len] = '\0';
	/* Outside of our cgroup namespace: its limits cannot be seen. */
	return strncmp(path, "/..", 3) == 0 || strstr(path, "/../") ? -EXDEV : 0;
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
	err = cgroup_mount_find(proc_fd, controller, mount);
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
