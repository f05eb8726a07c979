// SPDX-License-Identifier: Apache-2.0
/*
 * Reads the files in which runtimes write down what they run. They are root's, or the rootless
 * user's; they are opened with the rules for hostile trees (container_file.h) and a deadline, and capped.
 * Those of root (dockerd, containerd, CRI-O, Podman run by root) are parsed here: who writes them is root
 * already. A user's are parsed by the parser process. Of each file only names, image and labels are kept: the rest holds
 * command lines and environments.
 */
#include "user/collect/container/container_names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/files/container_file.h"
#include "user/files/opener.h"
#include "symbols/parser/parser.h"
#include "user/collect/container/opt_out.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/host/container_json.h"
#include "user/util/fs.h"
#include "user/util/strbuf.h"

#define CONFIG_MAX_BYTES     (4u << 20)
#define CONTAINERS_MAX_BYTES (16u << 20) /* one file for all containers of Podman or CRI-O */
#define USER_FILE_MAX_BYTES  (1u << 20)

/* One attempt: where to look and for whom. */
struct search {
	int root_fd;
	uid_t owner;
	const char *id;
	struct parser *parser; /* for what is a user's; with the opener of all */
	bool is_users;
	struct container_names *out;
};

static uint64_t stat_mtime_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * CLOCK_NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;
}

static int open_file(const struct search *search, const char *path,
		     const struct container_file_rules *rules, struct stat *st)
{
	return opener__file(parser__opener(search->parser), search->root_fd, path, rules, st, NULL);
}

/* What is read of the users' own files: parsed by who has no rights. */
static int facts_of_user(const struct search *search, const char *path,
			 enum container_json_kind kind, struct stat *st, struct container_json *out)
{
	const struct container_file_rules rules = { .owner = search->owner,
						    .max_bytes = USER_FILE_MAX_BYTES };
	__cleanup_fd int fd = open_file(search, path, &rules, st);

	return fd < 0 ? fd : parser__container(search->parser, fd, kind, search->id, out);
}

/* Root's own files: whoever writes these needs no way into the profiler. */
static int facts_of_root(const struct search *search, const char *path,
			 enum container_json_kind kind, struct stat *st, struct container_json *out)
{
	size_t max_bytes = kind == CONTAINER_JSON_STORAGE ? CONTAINERS_MAX_BYTES : CONFIG_MAX_BYTES;
	struct container_file_rules rules = { .owner = search->owner, .max_bytes = max_bytes };
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int err;

	__cleanup_fd int fd = open_file(search, path, &rules, st);

	err = fd < 0 ? fd : fs_read_fd(fd, max_bytes, &text);
	if (!err)
		container_json_read(kind, strbuf_str(&text), text.len, search->id, out);
	return err;
}

/* Keeps the first value that is found. 0 or -ENOMEM. */
static int keep(char **field, const char *text)
{
	if (*field || !*text)
		return 0;
	*field = strdup(text);
	return *field ? 0 : -ENOMEM;
}

static int keep_facts(struct container_names *out, const struct container_json *facts)
{
	int err = keep(&out->name, facts->name);

	if (!err)
		err = keep(&out->image, facts->image);
	if (!err)
		err = keep(&out->runtime, facts->runtime);
	if (!err)
		err = keep(&out->pod, facts->pod);
	if (!err)
		err = keep(&out->pod_uid, facts->pod_uid);
	if (!err)
		err = keep(&out->namespace, facts->namespace);
	if (!err)
		err = keep(&out->service, facts->service);
	return err;
}

/*
 * Adds what a file says, and notes it as the source. 0; -ENOENT: there is none, it is no JSON, or does
 * not know the container; -ENOMEM.
 */
static int load(const struct search *search, const char *path, enum container_json_kind kind,
		struct container_json *facts)
{
	struct container_source *source = &search->out->source;
	struct stat st;
	int err = search->is_users ? facts_of_user(search, path, kind, &st, facts) :
				     facts_of_root(search, path, kind, &st, facts);

	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	for (size_t i = 0; i < CONTAINER_JSON_OPT_OUTS; i++)
		if (opt_out_value(facts->opt_outs[i]))
			search->out->is_opted_out = true;
	if (!facts->has_entry)
		return -ENOENT;
	if (kind != CONTAINER_JSON_SANDBOX) {
		(void)snprintf(source->path, sizeof(source->path), "%s", path);
		source->owner = search->owner;
		source->mtime_ns = stat_mtime_ns(&st);
		source->size = (uint64_t)st.st_size;
		source->ino = st.st_ino;
	}
	return keep_facts(search->out, facts);
}

/* DATAROOT/containers/<id>/config.v2.json. 0, -ENOENT, -ENOMEM. */
static int read_docker(const struct search *search, const char *data_root)
{
	struct container_json facts;
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/containers/%s/config.v2.json", data_root,
			     search->id) >= sizeof(path))
		return -ENOENT;
	return load(search, path, CONTAINER_JSON_DOCKER, &facts);
}

/* The OCI bundle of a containerd task. */
static int read_containerd(const struct search *search)
{
	static const char *const states[] = { "/run/containerd", "/run/k3s/containerd",
					      "/run/docker/containerd",
					      "/var/snap/microk8s/common/run/containerd" };
	static const char *const namespaces[] = { "k8s.io", "default", "moby", "buildkit" };
	struct container_json facts;
	int err = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(states) * ARRAY_SIZE(namespaces) && err == -ENOENT; i++) {
		char path[PATH_MAX];

		(void)snprintf(path, sizeof(path),
			       "%s/io.containerd.runtime.v2.task/%s/%s/config.json",
			       states[i / ARRAY_SIZE(namespaces)],
			       namespaces[i % ARRAY_SIZE(namespaces)], search->id);
		err = load(search, path, CONTAINER_JSON_TASK, &facts);
	}
	return err;
}

/* CRI-O keeps the pod's own labels with the sandbox. Missing ones are no failure. */
static int read_sandbox(const struct search *search, const char *storage, const char *sandbox_id)
{
	struct container_json facts;
	char path[PATH_MAX];
	int err;

	if (strspn(sandbox_id, "0123456789abcdef") != strlen(sandbox_id) ||
	    (size_t)snprintf(path, sizeof(path), "%s/%s/userdata/config.json", storage,
			     sandbox_id) >= sizeof(path))
		return 0;
	err = load(search, path, CONTAINER_JSON_SANDBOX, &facts);
	return err == -ENOMEM ? err : 0;
}

/* overlay-containers/<id>/userdata/config.json of CRI-O; Podman's has no names in it. */
static int read_crio(const struct search *search, const char *storage)
{
	struct container_json facts;
	char path[PATH_MAX];
	int err;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s/userdata/config.json", storage,
			     search->id) >= sizeof(path))
		return -ENOENT;
	err = load(search, path, CONTAINER_JSON_CRIO, &facts);
	return err ? err : read_sandbox(search, storage, facts.sandbox);
}

static int read_storage_list(const struct search *search, const char *storage, const char *file)
{
	struct container_json facts;
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", storage, file) >= sizeof(path))
		return -ENOENT;
	return load(search, path, CONTAINER_JSON_STORAGE, &facts);
}

/* containers/storage below `graph_root`, as Podman, CRI-O and Buildah share it. */
static int read_storage(const struct search *search, const char *graph_root)
{
	static const char *const drivers[] = { "overlay", "vfs", "btrfs" };
	static const char *const files[] = { "containers.json", "volatile-containers.json" };

	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++) {
		char storage[PATH_MAX];
		int err;

		if ((size_t)snprintf(storage, sizeof(storage), "%s/%s-containers", graph_root,
				     drivers[i]) >= sizeof(storage))
			continue;
		err = read_crio(search, storage);
		for (size_t j = 0; err == -ENOENT && j < ARRAY_SIZE(files); j++)
			err = read_storage_list(search, storage, files[j]);
		if (err != -ENOENT)
			return err;
	}
	return -ENOENT;
}

static int read_system(const struct container_places *places, const struct search *search)
{
	int err = -ENOENT;

	for (size_t i = 0; err == -ENOENT && i < places->docker_root_cnt; i++)
		err = read_docker(search, places->docker_roots[i]);
	if (err == -ENOENT)
		err = read_containerd(search);
	if (err == -ENOENT)
		err = read_storage(search, "/run/containers/storage");
	if (err == -ENOENT)
		err = read_storage(search, "/var/lib/containers/storage");
	return err;
}

/* Rootless Docker and Podman keep everything in their user's home. */
static int read_rootless(const struct container_user *user, const struct search *search)
{
	char path[PATH_MAX];
	int err = -ENOENT;

	if ((size_t)snprintf(path, sizeof(path), "%s/.local/share/docker", user->home) <
	    sizeof(path))
		err = read_docker(search, path);
	if (err == -ENOENT &&
	    (size_t)snprintf(path, sizeof(path), "%s/.local/share/containers/storage", user->home) <
		    sizeof(path))
		err = read_storage(search, path);
	return err;
}

int container_names_read(const struct container_places *places, int root_fd, const char *id,
			 const struct container_user *user, struct parser *parser,
			 struct container_names *out)
{
	struct container_names names = { 0 };
	struct search search = { .root_fd = root_fd, .id = id, .parser = parser, .out = &names };
	struct stat root;
	int err;

	if (fstat(root_fd, &root))
		return -errno;
	search.owner = root.st_uid;
	if (user->home[0]) {
		search.owner = user->uid;
		search.is_users = true;
		err = read_rootless(user, &search);
	} else {
		err = read_system(places, &search);
	}
	if (err) {
		container_names_release(&names);
		return err;
	}
	*out = names;
	return 0;
}

void container_names_release(struct container_names *names)
{
	free(names->name);
	free(names->image);
	free(names->runtime);
	free(names->pod);
	free(names->pod_uid);
	free(names->namespace);
	free(names->service);
	memset(names, 0, sizeof(*names));
}

bool container_source_changed(const struct container_source *source, int root_fd,
			      struct opener *opener)
{
	struct container_file_rules rules = { .owner = source->owner };
	struct stat st;

	if (!source->path[0])
		return false;

	__cleanup_fd int fd = opener__file(opener, root_fd, source->path, &rules, &st, NULL);

	return fd >= 0 && (stat_mtime_ns(&st) != source->mtime_ns ||
			   (uint64_t)st.st_size != source->size || st.st_ino != source->ino);
}
