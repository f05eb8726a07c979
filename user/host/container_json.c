// SPDX-License-Identifier: Apache-2.0
/* Names out of runtimes' JSON; see container_json.h. The first value that is found for a field stays. */
#include "user/host/container_json.h"

#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "user/util/cleanup.h"

#define OPT_OUT_LABEL "jbpf.profile"

#define FIRST_OF(object, keys) first_of(object, keys, ARRAY_SIZE(keys))

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text && *text && strlen(text) <= CONTAINER_JSON_TEXT_BYTES ? text : NULL;
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

static void keep_len(char field[CONTAINER_JSON_TEXT_BYTES + 1], const char *text, size_t len)
{
	if (*field || len > CONTAINER_JSON_TEXT_BYTES)
		return;
	memcpy(field, text, len);
	field[len] = '\0';
}

static void keep(char field[CONTAINER_JSON_TEXT_BYTES + 1], const char *text)
{
	if (text)
		keep_len(field, text, strlen(text));
}

static void keep_opt_out(struct container_json *out, const json_t *labels)
{
	const char *text = text_of(labels, OPT_OUT_LABEL);
	size_t i = 0;

	if (!text || strlen(text) >= sizeof(out->opt_outs[0]))
		return;
	while (i < CONTAINER_JSON_OPT_OUTS - 1 && *out->opt_outs[i])
		i++;
	memcpy(out->opt_outs[i], text, strlen(text) + 1);
}

/* Labels or annotations, which name the same things in every runtime but under several keys. */
static void keep_labels(struct container_json *out, const json_t *labels)
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

	keep_opt_out(out, labels);
	keep(out->name, FIRST_OF(labels, names));
	keep(out->image, FIRST_OF(labels, images));
	keep(out->pod, FIRST_OF(labels, pods));
	keep(out->namespace, FIRST_OF(labels, namespaces));
	keep(out->pod_uid, FIRST_OF(labels, uids));
	keep(out->service, FIRST_OF(labels, services));
}

/* Labels that are kept as JSON in a string. */
static void keep_labels_text(struct container_json *out, const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	json_t *labels = text ? json_loads(text, 0, NULL) : NULL;

	if (labels)
		keep_labels(out, labels);
	json_decref(labels);
}

/* The pod's annotations, which CRI-O keeps as JSON in a string: of these only the opt-out counts. */
static void keep_opt_out_text(struct container_json *out, const json_t *object)
{
	const char *text =
		json_string_value(json_object_get(object, "io.kubernetes.cri-o.Annotations"));
	json_t *annotations = text ? json_loads(text, 0, NULL) : NULL;

	keep_opt_out(out, annotations);
	json_decref(annotations);
}

/* "k8s_<container>_<pod>_<namespace>_<uid>_<attempt>": no part of it may hold a "_". */
static void keep_kubelet_name(struct container_json *out, const char *name)
{
	char *const fields[] = { out->name, out->pod, out->namespace, out->pod_uid };

	name += strlen("k8s_");
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		size_t len = strcspn(name, "_");

		keep_len(fields[i], name, len);
		if (name[len] == '\0')
			return;
		name += len + 1;
	}
}

static void keep_name(struct container_json *out, const char *name)
{
	if (name && strncmp(name, "k8s_", strlen("k8s_")) == 0)
		keep_kubelet_name(out, name);
	else
		keep(out->name, name);
}

static void read_docker(struct container_json *out, const json_t *json)
{
	const json_t *config = json_object_get(json, "Config");
	const char *name = text_of(json, "Name");

	keep_labels(out, json_object_get(config, "Labels"));
	keep_name(out, name && *name == '/' ? name + 1 : name);
	keep(out->image, text_of(config, "Image"));
	keep(out->runtime, "docker");
	out->has_entry = true;
}

static void read_task(struct container_json *out, const json_t *json)
{
	keep_labels(out, json_object_get(json, "annotations"));
	keep(out->runtime, "containerd");
	out->has_entry = true;
}

/* Podman's has no names in it, but perhaps an annotation of `podman run --annotation`. */
static void read_crio(struct container_json *out, const json_t *json)
{
	const json_t *annotations = json_object_get(json, "annotations");

	keep(out->sandbox, text_of(annotations, "io.kubernetes.cri-o.SandboxID"));
	if (!*out->sandbox) {
		keep_opt_out(out, annotations);
		return;
	}
	keep_labels(out, annotations);
	keep_labels_text(out, annotations, "io.kubernetes.cri-o.Labels");
	keep_opt_out_text(out, annotations);
	keep_name(out, text_of(annotations, "io.kubernetes.cri-o.Name"));
	keep(out->runtime, "crio");
	out->has_entry = true;
}

/* CRI-O keeps the pod's own labels with the sandbox. */
static void read_sandbox(struct container_json *out, const json_t *json)
{
	const json_t *annotations = json_object_get(json, "annotations");

	keep_labels_text(out, annotations, "io.kubernetes.cri-o.Labels");
	keep_opt_out_text(out, annotations);
	out->has_entry = true;
}

/* One element of containers.json: names, and a JSON string "metadata" with the image. */
static void read_storage_entry(struct container_json *out, const json_t *entry)
{
	const char *name = json_string_value(json_array_get(json_object_get(entry, "names"), 0));
	const char *text = json_string_value(json_object_get(entry, "metadata"));
	json_t *metadata = text ? json_loads(text, 0, NULL) : NULL;
	bool is_crio = text_of(metadata, "pod-id") != NULL;

	if (is_crio)
		keep(out->name, text_of(metadata, "metadata-name"));
	if (name && *name && strlen(name) <= CONTAINER_JSON_TEXT_BYTES)
		keep_name(out, name);
	keep(out->image, text_of(metadata, "image-name"));
	keep(out->runtime, is_crio ? "crio" : "podman");
	json_decref(metadata);
	out->has_entry = true;
}

static void read_storage(struct container_json *out, const json_t *json, const char *wanted_id)
{
	const json_t *entry;
	size_t index;

	json_array_foreach(json, index, entry)
	{
		const char *id = text_of(entry, "id");

		if (!id || strcmp(id, wanted_id) != 0)
			continue;
		read_storage_entry(out, entry);
		return;
	}
}

void container_json_prepare(void)
{
	json_object_seed(0);
}

void container_json_read(enum container_json_kind kind, const char *text, size_t len,
			 const char *id, struct container_json *out)
{
	json_t *json = json_loadb(text, len, 0, NULL);

	memset(out, 0, sizeof(*out));
	if (kind == CONTAINER_JSON_DOCKER && json)
		read_docker(out, json);
	else if (kind == CONTAINER_JSON_TASK && json)
		read_task(out, json);
	else if (kind == CONTAINER_JSON_CRIO && json)
		read_crio(out, json);
	else if (kind == CONTAINER_JSON_SANDBOX && json)
		read_sandbox(out, json);
	else if (kind == CONTAINER_JSON_STORAGE && json)
		read_storage(out, json, id);
	json_decref(json);
}

bool container_json_is_sound(const struct container_json *json)
{
	const char *const texts[] = {
		json->name,    json->image,	json->runtime, json->pod,
		json->pod_uid, json->namespace, json->service, json->sandbox
	};
	uint8_t has_entry;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (!memchr(texts[i], '\0', CONTAINER_JSON_TEXT_BYTES + 1))
			return false;
	for (size_t i = 0; i < CONTAINER_JSON_OPT_OUTS; i++)
		if (!memchr(json->opt_outs[i], '\0', sizeof(json->opt_outs[i])))
			return false;
	/* A bool that is neither would be no bool. */
	memcpy(&has_entry, &json->has_entry, sizeof(has_entry));
	return has_entry <= 1;
}
