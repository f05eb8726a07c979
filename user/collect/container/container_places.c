// SPDX-License-Identifier: Apache-2.0
/*
 * Where Docker keeps its containers: it can be moved by daemon.json or on dockerd's command line,
 * and userns-remap puts one directory per mapping below it. A process is believed to be Docker's
 * daemon only when root runs it and it sees our root: any user can call a program "dockerd".
 */
#include "user/collect/container/container_names.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "user/files/opener.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/lines.h"
#include "user/util/parse.h"
#include "user/util/strbuf.h"

#define DOCKER_DEFAULT_ROOT   "/var/lib/docker"
#define DAEMON_JSON_MAX_BYTES (1u << 20)
#define CMDLINE_MAX_BYTES     65536
#define PASSWD_MAX_BYTES      (4u << 20)

static int root_owner(int root_fd, uid_t *owner)
{
	struct stat st;

	if (fstat(root_fd, &st))
		return -errno;
	*owner = st.st_uid;
	return 0;
}

static int read_root_owned(int root_fd, struct opener *opener, const char *path, size_t max_bytes,
			   struct strbuf *out)
{
	struct container_file_rules rules = { .max_bytes = max_bytes };
	int err = root_owner(root_fd, &rules.owner);

	if (err)
		return err;

	__cleanup_fd int fd = opener__file(opener, root_fd, path, &rules, NULL, NULL);

	return fd < 0 ? fd : fs_read_fd(fd, max_bytes, out);
}

static int add_root(struct container_places *places, const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (path[0] != '/' || len >= PATH_MAX / 2)
		return 0;
	for (size_t i = 0; i < places->docker_root_cnt; i++) {
		if (strlen(places->docker_roots[i]) == len &&
		    memcmp(places->docker_roots[i], path, len) == 0)
			return 0;
	}
	if (places->docker_root_cnt == CONTAINER_DOCKER_ROOTS_MAX)
		return 0;
	places->docker_roots[places->docker_root_cnt] = strndup(path, len);
	if (!places->docker_roots[places->docker_root_cnt])
		return -ENOMEM;
	places->docker_root_cnt++;
	return 0;
}

static int add_from_daemon_json(struct container_places *places, int root_fd, struct opener *opener)
{
	static const char *const keys[] = { "data-root", "graph" };
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	json_t *json;
	int err = 0;

	if (read_root_owned(root_fd, opener, "/etc/docker/daemon.json", DAEMON_JSON_MAX_BYTES,
			    &text))
		return 0;
	json = json_loadb(strbuf_str(&text), text.len, 0, NULL);
	for (size_t i = 0; !err && i < ARRAY_SIZE(keys); i++) {
		const char *path = json_string_value(json_object_get(json, keys[i]));

		if (path)
			err = add_root(places, path);
	}
	json_decref(json);
	return err;
}

/* "--data-root X", "--data-root=X", "-g X", "--graph X" out of NUL-separated arguments. */
static int add_from_cmdline(struct container_places *places, const char *text, size_t len)
{
	static const char *const options[] = { "--data-root", "--graph", "-g" };
	const char *end = text + len;
	bool is_value = false;

	while (text < end) {
		size_t arg_len = strnlen(text, (size_t)(end - text));
		const char *value = is_value ? text : NULL;

		is_value = false;
		for (size_t i = 0; !value && i < ARRAY_SIZE(options); i++) {
			size_t option_len = strlen(options[i]);

			if (strncmp(text, options[i], option_len) != 0)
				continue;
			if (text[option_len] == '=')
				value = text + option_len + 1;
			else
				is_value = is_value || text[option_len] == '\0';
		}
		if (value) {
			int err = add_root(places, value);

			if (err)
				return err;
		}
		text += arg_len + 1;
	}
	return 0;
}

/* Run by root, sees our root, and called dockerd. */
static bool is_docker_daemon(int proc_fd, const char *pid, const struct stat *root)
{
	char path[64], comm[16] = "";
	struct stat st;
	ssize_t len;

	(void)snprintf(path, sizeof(path), "%.20s/comm", pid);

	__cleanup_fd int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	len = read(fd, comm, sizeof(comm) - 1);
	if (len <= 0 || strcmp(comm, "dockerd\n") != 0 || fstat(fd, &st) ||
	    st.st_uid != root->st_uid)
		return false;
	(void)snprintf(path, sizeof(path), "%.20s/root", pid);
	return fstatat(proc_fd, path, &st, 0) == 0 && st.st_dev == root->st_dev &&
	       st.st_ino == root->st_ino;
}

static int add_from_daemons(struct container_places *places, int root_fd, int proc_fd)
{
	struct stat root;
	int list_fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__cleanup_dir DIR *list = list_fd >= 0 ? fdopendir(list_fd) : NULL;
	struct dirent *entry;

	if (!list) {
		if (list_fd >= 0)
			close(list_fd);
		return 0;
	}
	if (fstat(root_fd, &root))
		return 0;
	while ((entry = readdir(list))) {
		__cleanup_strbuf struct strbuf text = STRBUF_INIT;
		int err;

		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    !is_docker_daemon(proc_fd, entry->d_name, &root))
			continue;
		if (fs_read_filef(proc_fd, CMDLINE_MAX_BYTES, &text, "%.20s/cmdline",
				  entry->d_name))
			continue;
		err = add_from_cmdline(places, strbuf_str(&text), text.len);
		if (err)
			return err;
	}
	return 0;
}

/* userns-remap: "<uid>.<gid>" below the data root. */
static bool is_remap_dir(const char *name)
{
	size_t digits = strspn(name, "0123456789");
	const char *rest = name + digits;

	return digits && *rest == '.' && rest[1] &&
	       rest[1 + strspn(rest + 1, "0123456789")] == '\0';
}

static int add_remap_dirs(struct container_places *places, int root_fd, struct opener *opener,
			  const char *data_root)
{
	int path_fd = opener__path(opener, root_fd, data_root);
	int list_fd = path_fd >= 0 ? openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	__cleanup_dir DIR *list = list_fd >= 0 ? fdopendir(list_fd) : NULL;
	struct dirent *entry;

	if (path_fd >= 0)
		close(path_fd);
	if (!list) {
		if (list_fd >= 0)
			close(list_fd);
		return 0;
	}
	while ((entry = readdir(list))) {
		char path[PATH_MAX];
		int err;

		if (!is_remap_dir(entry->d_name) ||
		    (size_t)snprintf(path, sizeof(path), "%s/%s", data_root, entry->d_name) >=
			    sizeof(path))
			continue;
		err = add_root(places, path);
		if (err)
			return err;
	}
	return 0;
}

int container_places_find(struct container_places *places, int root_fd, int proc_fd,
			  struct opener *opener)
{
	int err = add_root(places, DOCKER_DEFAULT_ROOT);
	size_t base_cnt;

	if (!err)
		err = add_from_daemon_json(places, root_fd, opener);
	if (!err)
		err = add_from_daemons(places, root_fd, proc_fd);
	base_cnt = places->docker_root_cnt;
	for (size_t i = 0; !err && i < base_cnt; i++)
		err = add_remap_dirs(places, root_fd, opener, places->docker_roots[i]);
	return err;
}

void container_places_release(struct container_places *places)
{
	for (size_t i = 0; i < places->docker_root_cnt; i++)
		free(places->docker_roots[i]);
	memset(places, 0, sizeof(*places));
}

/* name:password:uid:gid:comment:home:shell; true when the line is the uid's. */
static bool passwd_line_home(const char *line, size_t len, uid_t uid, struct container_user *out)
{
	const char *fields[7];
	size_t lens[7];
	size_t cnt = 0;
	uint64_t value;

	for (const char *at = line; cnt < ARRAY_SIZE(fields);) {
		size_t left = len - (size_t)(at - line);
		const char *colon = memchr(at, ':', left);

		fields[cnt] = at;
		lens[cnt++] = colon ? (size_t)(colon - at) : left;
		if (!colon)
			break;
		at = colon + 1;
	}
	if (cnt < 6 || parse_u64_n(fields[2], lens[2], 10, &value) || value != uid)
		return false;
	if (lens[5] == 0 || fields[5][0] != '/' || lens[5] >= PATH_MAX / 2)
		return false;
	memcpy(out->home, fields[5], lens[5]);
	out->home[lens[5]] = '\0';
	out->uid = uid;
	return true;
}

int container_user_find(int root_fd, uid_t uid, struct opener *opener, struct container_user *out)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int err = read_root_owned(root_fd, opener, "/etc/passwd", PASSWD_MAX_BYTES, &text);

	if (err)
		return err;
	struct lines lines = lines_init(strbuf_str(&text), text.len);
	struct line line;

	while (lines_next(&lines, &line)) {
		if (passwd_line_home(line.at, line.len, uid, out))
			return 0;
	}
	return -ENOENT;
}
