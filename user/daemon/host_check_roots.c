// SPDX-License-Identifier: Apache-2.0
/* See host_check_roots.h. A container is what a cgroup path says is one, whoever made it. */
#include "user/daemon/host_check_roots.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/collect/container/container.h"
#include "user/files/container_file.h"
#include "user/host/cgroup_lines.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/lines.h"
#include "user/util/parse.h"
#include "user/util/strbuf.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

#define CGROUP_MAX_BYTES (64u << 10)

struct container_root {
	uint32_t pid; /* of the first process that was looked at */
	bool is_open;
};

struct roots_walk {
	int proc_fd;
	struct strtab *names; /* number of a container: its index */
	struct container_root *items;
	size_t cnt;
	size_t cap;
};

/* "" when the process is in no container. */
static void container_of(int proc_fd, uint32_t pid, char *out, size_t len)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct container_path path;
	struct cgroup_line parts;
	struct lines lines;
	struct line line;

	out[0] = '\0';
	if (fs_read_filef(proc_fd, CGROUP_MAX_BYTES, &text, "%u/cgroup", pid))
		return;
	lines = lines_init(text.data, text.len);
	while (!*out && lines_next(&lines, &line)) {
		__cleanup_free char *at = NULL;

		if (!cgroup_line_parse(line.at, line.len, &parts))
			continue;
		at = strndup(parts.path, parts.name_len);
		if (!at)
			return;
		container_path_parse(at, &path);
		snprintf(out, len, "%s", *path.id ? path.id : path.name);
	}
}

/* 0: it is open; -ENOENT: the process has ended. */
static int try_root(int proc_fd, uint32_t pid)
{
	__cleanup_fd int fd = container_root_open(proc_fd, pid);

	return fd == -ESRCH ? -ENOENT : fd < 0 ? fd : 0;
}

/* One that is open by one of its processes is not looked at again. */
static int note_root(struct roots_walk *walk, uint32_t pid)
{
	char name[CONTAINER_ID_LEN + 192];
	uint32_t id;
	int err;

	container_of(walk->proc_fd, pid, name, sizeof(name));
	if (!*name)
		return 0;
	id = strtab__find(walk->names, name, strlen(name));
	if (id != STRTAB_NONE && walk->items[id].is_open)
		return 0;

	int root = try_root(walk->proc_fd, pid);

	if (root == -ENOENT)
		return 0;
	err = vec_room(walk->items, walk->cnt, walk->cap, 16);
	if (!err)
		err = strtab__intern(walk->names, name, strlen(name), &id);
	if (err)
		return err;
	if (id == walk->cnt)
		walk->items[walk->cnt++] = (struct container_root){ .pid = pid };
	walk->items[id].is_open = root == 0;
	return 0;
}

static void sum_up(const struct roots_walk *walk, struct host_roots *out)
{
	*out = (struct host_roots){ .containers = walk->cnt };
	for (size_t i = 0; i < walk->cnt; i++) {
		if (walk->items[i].is_open)
			continue;
		if (!out->closed++) {
			out->closed_pid = walk->items[i].pid;
			snprintf(out->closed_name, sizeof(out->closed_name), "%.12s",
				 strtab__get(walk->names, (uint32_t)i, NULL));
		}
	}
}

int host_check_roots(int proc_fd, struct host_roots *out)
{
	struct roots_walk walk = { .proc_fd = proc_fd, .names = strtab__new() };
	int dir_fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__cleanup_dir DIR *proc = dir_fd < 0 ? NULL : fdopendir(dir_fd);
	struct dirent *entry;
	uint32_t pid;
	int err = walk.names ? 0 : -ENOMEM;

	if (!proc && dir_fd >= 0)
		close(dir_fd);
	while (!err && proc && (entry = readdir(proc)))
		if (parse_u32_range(entry->d_name, 1, INT32_MAX, &pid) == 0)
			err = note_root(&walk, pid);
	if (!err)
		sum_up(&walk, out);
	free(walk.items);
	strtab__free(walk.names);
	return err;
}

enum check_result host_check_roots_line(const struct host_roots *roots, uint32_t pid,
					bool pid_is_open, char *out, size_t len)
{
	if (roots->closed) {
		snprintf(
			out, len,
			"of %zu of %zu containers that run they cannot be opened, as /proc/%u/root "
			"of %s: no perf maps, no libraries of these",
			roots->closed, roots->containers, roots->closed_pid, roots->closed_name);
		return CHECK_LESS;
	}
	/* Init proves little: it may hold more than we do, which closes it alone. */
	if (!pid_is_open && (pid != 1 || !roots->containers)) {
		snprintf(out, len,
			 "/proc/%u/root cannot be opened: no perf maps, no libraries of containers",
			 pid);
		return CHECK_LESS;
	}
	if (roots->containers)
		snprintf(out, len, "of all %zu containers that run they can be opened",
			 roots->containers);
	else
		snprintf(out, len, "/proc/%u/root can be opened; no container runs", pid);
	return CHECK_OK;
}
