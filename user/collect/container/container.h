/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a process or a cgroup id to the container, pod and names that people know. Parsing is pure
 * and table-tested; everything read comes from a directory fd, so that tests use fake trees.
 *
 * In: a pid or a cgroup id. Out: a description that the caller owns. The naming room owns the resolver.
 */
#ifndef JBPF_CONTAINER_CONTAINER_H
#define JBPF_CONTAINER_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/util/attributes.h"
#include "user/collect/container/container_trust.h"

#define CONTAINER_ID_LEN 64

/* What a cgroup path says by itself. Strings are "" when the path does not tell. */
struct container_path {
	char id[CONTAINER_ID_LEN + 1]; /* hex; innermost container of a nest */
	char pod_uid[64];	       /* with dashes, as Kubernetes writes it */
	char name[256];	  /* of a container that has no id: LXC, Incus, systemd-nspawn */
	char runtime[24]; /* docker, containerd, crio, podman, lxc, nspawn, systemd, kubernetes */
	char unit[256];	  /* systemd unit ("nginx.service") when it is no container */
	size_t len; /* bytes of the path up to the end of the component that said so; 0 = none did */
};

/* Parses one cgroup path ("/kubepods.slice/.../cri-containerd-<id>.scope"). Never fails: an
 * unknown form gives empty strings. */
void container_path_parse(const char *cgroup_path, struct container_path *out);

/* By whom a process was put into its container, pod or unit. */
enum container_namer {
	CONTAINER_NAMER_UNCHECKED = 0, /* the host shows no cgroup hierarchy: by the path's form */
	CONTAINER_NAMER_ROOT,
	CONTAINER_NAMER_USER, /* below a cgroup that was given to this user */
};

struct container_identity {
	struct container_path path;
	enum container_namer namer;
	uid_t uid;	  /* of CONTAINER_NAMER_USER */
	size_t roots_len; /* container_path.len of what root named */
};

/*
 * What a path says that can be believed. The deepest component that root named decides; names that a
 * user gave count only where root named no container above them, and then as that user's. Pure.
 */
void container_path_identify(const char *cgroup_path, const struct container_trust *trust,
			     struct container_identity *out);

/*
 * Picks, out of the text of /proc/PID/cgroup, the path that tells most of what can be believed:
 * cgroup v2 ("0::"), else the v1 hierarchies (name=systemd, memory, pids, ...; hybrid hosts have
 * both). Copies it to `path`. 0, -ENOENT when there is none, -ENAMETOOLONG.
 */
__must_check int container_cgroup_choose(const char *proc_cgroup_text,
					 const struct container_hierarchies *hierarchies,
					 char *path, size_t path_len,
					 struct container_identity *out);

/* Everything known about the container of a process. Owned strings, "" never NULL. */
struct container_info {
	char *cgroup_path;
	char *id;
	char *name; /* Docker/Podman name, Kubernetes container name; short id when unknown; "" when no container */
	char *image;
	char *runtime;
	char *pod;
	char *pod_uid;
	char *namespace;
	bool is_opted_out; /* label jbpf.profile=off: see opt_out.h */
	char *service; /* compose service, k8s app label, unit, or the name without run-specific parts */
	char *sources; /* where these come from, for people: see user/store/FORMAT.md, label_sources */
	/* Bytes of cgroup_path that say whose it is, up to the end of the component of the container
	 * or unit that root named; 0 = root named none. */
	size_t roots_path_len;
};

/* In front of each name that a user gave ("user:1000/shop"): no runtime's name holds a ":" or "/". */
#define CONTAINER_USER_PREFIX "user:"

void container_info_release(struct container_info *info);

/* Looks names up and caches them by container id. */
struct container_resolver;

struct accounts;
struct parser;

struct container_resolver_options {
	int proc_fd; /* /proc */
	int root_fd; /* / : data roots of Docker, Podman, CRI are looked for below it */
	/* "/sys/fs/cgroup": cgroup v2 is looked for there and in .../unified, version 1 below it */
	const char *cgroup_root;
	struct parser *parser; /* reads files of users, and its opener opens all files; borrowed */
	/* Borrowed: whose file it is, it is at the cost of; what only root can have written is the host's. */
	struct accounts *accounts;
};

/* 0 or -errno; -EINVAL without a parser or accounts. */
__must_check int container_resolver__new(const struct container_resolver_options *options,
					 struct container_resolver **out);
void container_resolver__free(struct container_resolver *resolver);

/* A process as it was sampled. Once it has ended its number may be another one's. */
struct container_sight {
	uint32_t pid;
	uint64_t start_ns;  /* CLOCK_BOOTTIME; 0 = whichever process has this number now is meant */
	uint64_t cgroup_id; /* of cgroup v2; 0 = not known */
};

/*
 * Fills `out` for a process, from /proc/PID/cgroup or, when it is gone already, from its cgroup v2
 * id alone (open_by_handle_at): from nothing of a process that has its number by then. Names without
 * asking any API: Docker's config.v2.json, Podman's and CRI-O's config files, the Kubernetes labels in
 * containerd's/CRI's state where they are files, and the host name file. 0, or -ENOENT when neither
 * could be read (fields are then ""), or -ENOMEM.
 */
__must_check int container_resolver__lookup(struct container_resolver *resolver,
					    const struct container_sight *sight,
					    struct container_info *out);

#endif
