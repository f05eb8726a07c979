/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of a container out of the files its runtime keeps: Docker, containerd's tasks, Podman's
 * and CRI-O's storage. Nothing is asked, so nothing can hang and no socket is needed.
 */
#ifndef JBPF_CONTAINER_CONTAINER_NAMES_H
#define JBPF_CONTAINER_CONTAINER_NAMES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "user/util/attributes.h"

#define CONTAINER_DOCKER_ROOTS_MAX 16

struct opener;
struct parser;

/* Where runtimes keep their files. Zero-initialise; end with container_places_release(). */
struct container_places {
	char *docker_roots
		[CONTAINER_DOCKER_ROOTS_MAX]; /* with the userns-remap directories in them */
	size_t docker_root_cnt;
};

/*
 * Finds Docker's data roots: the usual one, those of daemon.json, of running dockerd processes
 * that share our root, and the per-user directories of userns-remap in them. Adds what is new.
 * `opener` opens files. 0 or -ENOMEM.
 */
__must_check int container_places_find(struct container_places *places, int root_fd, int proc_fd,
				       struct opener *opener) __no_null;
void container_places_release(struct container_places *places);

/* The file the names came from, to notice when it changes. path "" = none. */
struct container_source {
	char path[PATH_MAX];
	uid_t owner;
	uint64_t mtime_ns;
	uint64_t size;
	ino_t ino;
};

/* Owned strings, NULL where the files do not tell. End with container_names_release(). */
struct container_names {
	char *name;
	char *image;
	char *runtime;
	char *pod;
	char *pod_uid;
	char *namespace;
	char *service;	   /* as the owner labelled it */
	bool is_opted_out; /* label jbpf.profile=off: see opt_out.h */
	struct container_source source;
};

/*
 * Reads what is known about container `id` (64 hex digits, checked by the caller). `user` is the
 * home directory and uid of a rootless runtime's user, where alone it is looked for; home "" = look
 * in the system's places only: a user may give a container the id of another. `parser` reads
 * the user's files, its opener opens all of them.
 * 0, -ENOENT when no runtime's files know it, -ENOMEM.
 */
struct container_user {
	char home[PATH_MAX];
	uid_t uid;
};

int container_names_read(const struct container_places *places, int root_fd, const char *id,
			 const struct container_user *user, struct parser *parser,
			 struct container_names *out);
void container_names_release(struct container_names *names);

/* Did the file change since it was read? A file that is gone did not: its names stay true. */
bool container_source_changed(const struct container_source *source, int root_fd,
			      struct opener *opener);

/* Home directory out of root_fd's passwd file. -ENOENT when the uid has none. */
__must_check int container_user_find(int root_fd, uid_t uid, struct opener *opener,
				     struct container_user *out);

#endif
