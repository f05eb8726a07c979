// SPDX-License-Identifier: Apache-2.0
/*
 * Reads the files in which runtimes write down what they run. They are root's, or the rootless
 * user's; they are still opened with the rules for hostile trees (container_file.h), capped and
 * parsed by a library. Of each file only names, image and labels are kept: the rest holds
 * command lines and environments.
 */
#include "user/collect/container_names.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "symbols/container_file.h"
#include "user/collect/opt_out.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/strbuf.h"

#define CONFIG_MAX_BYTES     (4u << 20)
#define CONTAINERS_MAX_BYTES (16u << 20) /* one file for all containers of Podman or CRI-O */
#define NAME_MAX_BYTES	     512	 /* longer values are not names */

/* One attempt: where to look and for whom. */
struct search {
	int root_fd;
	uid_t owner;
	const char *id;
	struct container_names *out;
};

static uint64_t stat_mtime_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * CLOCK_NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;
}

/* Parses a file and notes it as the source. NULL when there is none or it is no JSON. */
static json_t *load(const struct search *search, const char *path, size_t max_bytes)
{
	struct container_file_rules rules = { .owner = search->owner, .max_bytes = max_bytes };
	struct container_source *source = &search->out->source;
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct stat st;
	json_t *json;

	__cleanup_fd int fd = container_file_open(search->root_fd, path, &rules, &st);

	if (fd < 0 || fs_read_fd(fd, max_bytes, &text))
		return NULL;
	json = json_loadb(strbuf_str(&text), text.len, 0, NULL);
	if (!json)
		return NULL;
	(void)snprintf(source->path, sizeof(source->path), "%s", path);
	source->owner = search->owner;
	source->mtime_ns = stat_mtime_ns(&st);
	source->size = (uint64_t)st.st_size;
	source->ino = st.st_ino;
	return json;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text && *text && strlen(text) <= NAME_MAX_BYTES ? text : NULL;
}

/* The first of these keys that has a value. */
static const char *first_of(const json_t *object, const char *const *keys, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		const char *text = text_of(object, keys[i]);

		if (text)
			return text;
	}
	return NULL;
}

/* Keeps the first value that is found. 0 or -ENOMEM. */
static int keep(char **field, const char *text)
{
	if (*field || !text)
		return 0;
	*field = strdup(text);
	return *field ? 0 : -ENOMEM;
}

static int keep_len(char **field, const char *text, size_t len)
{
	if (*field || len == 0)
		return 0;
	*field = strndup(text, len);
	return *field ? 0 : -ENOMEM;
}

/* Labels or annotations, which name the same things in every runtime but under several keys. */
static int keep_labels(struct container_names *out, const json_t *labels)
{
	static const char *const names[] = { "io.kubernetes.container.name",
					     "io.kubernetes.cri.container-name",
					     "io.kubernetes.cri-o.MetadataName", "nerdctl/name" };
	static const char *const images[] = { "io.kubernetes.cri.image-name",
					      "io.kubernetes.cri-o.ImageName",
					      "io.kubernetes.cri-o.Image" };
	static const char *const pods[] = { "io.kubernetes.pod.name",
					    "io.kubernetes.cri.sandbox-name",
					    "io.kubernetes.cri-o.KubeName" };
	static const char *const namespaces[] = { "io.kubernetes.pod.namespace",
						  "io.kubernetes.cri.sandbox-namespace",
						  "io.kubernetes.cri-o.Namespace" };
	static const char *const uids[] = { "io.kubernetes.pod.uid",
					    "io.kubernetes.cri.sandbox-uid" };
	static const char *const services[] = { "com.docker.compose.service",
						"io.podman.compose.service",
						"com.docker.swarm.service.name",
						"app.kubernetes.io/name",
						"app",
						"k8s-app" };
	int err = keep(&out->name, first_of(labels, names, ARRAY_SIZE(names)));

	if (opt_out_value(text_of(labels, OPT_OUT_LABEL)))
		out->is_opted_out = true;
	if (!err)
		err = keep(&out->image, first_of(labels, images, ARRAY_SIZE(images)));
	if (!err)
		err = keep(&out->pod, first_of(labels, pods, ARRAY_SIZE(pods)));
	if (!err)
		err = keep(&out->namespace, first_of(labels, namespaces, ARRAY_SIZE(namespaces)));
	if (!err)
		err = keep(&out->pod_uid, first_of(labels, uids, ARRAY_SIZE(uids)));
	if (!err)
		err = keep(&out->service, first_of(labels, services, ARRAY_SIZE(services)));
	return err;
}

/* Labels that are kept as JSON in a string. */
static int keep_labels_text(struct container_names *out, const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	json_t *labels = text ? json_loads(text, 0, NULL) : NULL;
	int err = labels ? keep_labels(out, labels) : 0;

	json_decref(labels);
	return err;
}

/* The pod's annotations, which CRI-O keeps as JSON in a string: of these only the opt-out counts. */
static void keep_opt_out_text(struct container_names *out, const json_t *object)
{
	const char *text =
		json_string_value(json_object_get(object, "io.kubernetes.cri-o.Annotations"));
	json_t *annotations = text ? json_loads(text, 0, NULL) : NULL;

	if (opt_out_value(text_of(annotations, OPT_OUT_LABEL)))
		out->is_opted_out = true;
	json_decref(annotations);
}

/* "k8s_<container>_<pod>_<namespace>_<uid>_<attempt>": no part of it may hold a "_". */
static int keep_kubelet_name(struct container_names *out, const char *name)
{
	char **const fields[] = { &out->name, &out->pod, &out->namespace, &out->pod_uid };

	name += strlen("k8s_");
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		size_t len = strcspn(name, "_");
		int err = keep_len(fields[i], name, len);

		if (err || name[len] == '\0')
			return err;
		name += len + 1;
	}
	return 0;
}

static int keep_name(struct container_names *out, const char *name)
{
	if (name && strncmp(name, "k8s_", strlen("k8s_")) == 0)
		return keep_kubelet_name(out, name);
	return keep(&out->name, name);
}

/* DATAROOT/containers/<id>/config.v2.json. 0, -ENOENT, -ENOMEM. */
static int read_docker(const struct search *search, const char *data_root)
{
	char path[PATH_MAX];
	const json_t *config;
	const char *name;
	json_t *json;
	int err;

	if ((size_t)snprintf(path, sizeof(path), "%s/containers/%s/config.v2.json", data_root,
			     search->id) >= sizeof(path))
		return -ENOENT;
	json = load(search, path, CONFIG_MAX_BYTES);
	if (!json)
		return -ENOENT;
	config = json_object_get(json, "Config");
	name = text_of(json, "Name");
	err = keep_labels(search->out, json_object_get(config, "Labels"));
	if (!err)
		err = keep_name(search->out, name && *name == '/' ? name + 1 : name);
	if (!err)
		err = keep(&search->out->image, text_of(config, "Image"));
	if (!err)
		err = keep(&search->out->runtime, "docker");
	json_decref(json);
	return err;
}

/* The OCI bundle of a containerd task. */
static int read_containerd(const struct search *search)
{
	static const char *const states[] = { "/run/containerd", "/run/k3s/containerd",
					      "/run/docker/containerd",
					      "/var/snap/microk8s/common/run/containerd" };
	static const char *const namespaces[] = { "k8s.io", "default", "moby", "buildkit" };

	for (size_t i = 0; i < ARRAY_SIZE(states) * ARRAY_SIZE(namespaces); i++) {
		char path[PATH_MAX];
		json_t *json;
		int err;

		(void)snprintf(path, sizeof(path),
			       "%s/io.containerd.runtime.v2.task/%s/%s/config.json",
			       states[i / ARRAY_SIZE(namespaces)],
			       namespaces[i % ARRAY_SIZE(namespaces)], search->id);
		json = load(search, path, CONFIG_MAX_BYTES);
		if (!json)
			continue;
		err = keep_labels(search->out, json_object_get(json, "annotations"));
		if (!err)
			err = keep(&search->out->runtime, "containerd");
		json_decref(json);
		return err;
	}
	return -ENOENT;
}

/* CRI-O keeps the pod's own labels with the sandbox. Missing ones are no failure. */
static int keep_sandbox_labels(const struct search *search, const char *storage,
			       const char *sandbox_id)
{
	struct container_names unused = { 0 };
	struct search sandbox = *search;
	char path[PATH_MAX];
	json_t *json;
	int err;

	if (strspn(sandbox_id, "0123456789abcdef") != strlen(sandbox_id) ||
	    (size_t)snprintf(path, sizeof(path), "%s/%s/userdata/config.json", storage,
			     sandbox_id) >= sizeof(path))
		return 0;
	sandbox.out = &unused;
	json = load(&sandbox, path, CONFIG_MAX_BYTES);
	if (!json)
		return 0;
	err = keep_labels_text(search->out, json_object_get(json, "annotations"),
			       "io.kubernetes.cri-o.Labels");
	keep_opt_out_text(search->out, json_object_get(json, "annotations"));
	json_decref(json);
	return err;
}

/* overlay-containers/<id>/userdata/config.json of CRI-O; Podman's has no names in it. */
static int read_crio(const struct search *search, const char *storage)
{
	const json_t *annotations;
	const char *sandbox_id;
	char path[PATH_MAX];
	json_t *json;
	int err = -ENOENT;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s/userdata/config.json", storage,
			     search->id) >= sizeof(path))
		return -ENOENT;
	json = load(search, path, CONFIG_MAX_BYTES);
	annotations = json_object_get(json, "annotations");
	sandbox_id = text_of(annotations, "io.kubernetes.cri-o.SandboxID");
	if (sandbox_id) {
		err = keep_labels(search->out, annotations);
		if (!err)
			err = keep_labels_text(search->out, annotations,
					       "io.kubernetes.cri-o.Labels");
		keep_opt_out_text(search->out, annotations);
		if (!err)
			err = keep_name(search->out,
					text_of(annotations, "io.kubernetes.cri-o.Name"));
		if (!err)
			err = keep_sandbox_labels(search, storage, sandbox_id);
		if (!err)
			err = keep(&search->out->runtime, "crio");
	} else if (opt_out_value(text_of(annotations, OPT_OUT_LABEL))) {
		search->out->is_opted_out = true; /* podman run --annotation */
	}
	json_decref(json);
	return err;
}

/* One element of containers.json: names, and a JSON string "metadata" with the image. */
static int keep_storage_entry(struct container_names *out, const json_t *entry)
{
	const char *name = json_string_value(json_array_get(json_object_get(entry, "names"), 0));
	const char *text = json_string_value(json_object_get(entry, "metadata"));
	json_t *metadata = text ? json_loads(text, 0, NULL) : NULL;
	bool is_crio = text_of(metadata, "pod-id") != NULL;
	int err = 0;

	if (is_crio)
		err = keep(&out->name, text_of(metadata, "metadata-name"));
	if (!err && name && *name && strlen(name) <= NAME_MAX_BYTES)
		err = keep_name(out, name);
	if (!err)
		err = keep(&out->image, text_of(metadata, "image-name"));
	if (!err)
		err = keep(&out->runtime, is_crio ? "crio" : "podman");
	json_decref(metadata);
	return err;
}

static int read_storage_list(const struct search *search, const char *storage, const char *file)
{
	char path[PATH_MAX];
	const json_t *entry;
	json_t *json;
	size_t index;
	int err = -ENOENT;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", storage, file) >= sizeof(path))
		return -ENOENT;
	json = load(search, path, CONTAINERS_MAX_BYTES);
	json_array_foreach(json, index, entry)
	{
		const char *id = text_of(entry, "id");

		if (!id || strcmp(id, search->id) != 0)
			continue;
		err = keep_storage_entry(search->out, entry);
		break;
	}
	json_decref(json);
	return err;
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
			 const struct container_user *user, struct container_names *out)
{
	struct container_names names = { 0 };
	struct search search = { .root_fd = root_fd, .id = id, .out = &names };
	struct stat root;
	int err;

	if (fstat(root_fd, &root))
		return -errno;
	search.owner = root.st_uid;
	if (user->home[0]) {
		search.owner = user->uid;
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

bool container_source_changed(const struct container_source *source, int root_fd)
{
	struct container_file_rules rules = { .owner = source->owner };
	struct stat st;

	if (!source->path[0])
		return false;

	__cleanup_fd int fd = container_file_open(root_fd, source->path, &rules, &st);

	return fd >= 0 && (stat_mtime_ns(&st) != source->mtime_ns ||
			   (uint64_t)st.st_size != source->size || st.st_ino != source->ino);
}
