/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A runtime's JSON about a container: names, image and labels are read; all else in it, command
 * lines and environments, is left alone. Text in, plain struct out: the parser process does this to
 * files that are not root's. Pure.
 */
#ifndef JBPF_HOST_CONTAINER_JSON_H
#define JBPF_HOST_CONTAINER_JSON_H

#include <stdbool.h>
#include <stddef.h>

#define CONTAINER_JSON_TEXT_BYTES 512u /* longer values are not names */
#define CONTAINER_JSON_OPT_OUTS	  3u

/* The values cross the border to the parser process. */
enum container_json_kind {
	CONTAINER_JSON_NONE = 0,
	CONTAINER_JSON_DOCKER = 1,  /* config.v2.json */
	CONTAINER_JSON_TASK = 2,    /* config.json of a containerd task */
	CONTAINER_JSON_CRIO = 3,    /* userdata/config.json of CRI-O, also Podman's */
	CONTAINER_JSON_SANDBOX = 4, /* that of CRI-O's sandbox */
	CONTAINER_JSON_STORAGE = 5, /* containers.json: a list of all */
	CONTAINER_JSON_KIND_CNT = 6,
};

/* NUL-terminated, "" where the file does not say. */
struct container_json {
	char name[CONTAINER_JSON_TEXT_BYTES + 1];
	char image[CONTAINER_JSON_TEXT_BYTES + 1];
	char runtime[CONTAINER_JSON_TEXT_BYTES + 1];
	char pod[CONTAINER_JSON_TEXT_BYTES + 1];
	char pod_uid[CONTAINER_JSON_TEXT_BYTES + 1];
	char namespace[CONTAINER_JSON_TEXT_BYTES + 1];
	char service[CONTAINER_JSON_TEXT_BYTES + 1];
	char sandbox[CONTAINER_JSON_TEXT_BYTES + 1]; /* CRI-O: id of the pod's */
	char opt_outs[CONTAINER_JSON_OPT_OUTS]
		     [16]; /* values of the label; longer ones do not count */
	bool has_entry;	   /* false: the file is no JSON, or does not know the container */
};

/* Takes the secret of the library's hash tables, which needs a file: before files are given up. */
void container_json_prepare(void);

/*
 * `id`: 64 hex digits, for CONTAINER_JSON_STORAGE. Never fails: a field that is not understood, or
 * for which there is no memory, is left empty.
 */
void container_json_read(enum container_json_kind kind, const char *text, size_t len,
			 const char *id, struct container_json *out);

/* May container_json_read() return this? For an answer of the parser process. */
bool container_json_is_sound(const struct container_json *json);

#endif
