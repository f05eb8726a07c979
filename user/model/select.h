/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which streams, which times: the selectors of the command line as a value. Pure.
 *
 * A selector matches when the whole label equals it, or matches it as a glob (*, ?, [..]).
 * --container also takes a container id or a prefix of one of at least 6 hex digits. --pod takes
 * a name or a uid. --cgroup takes a path and also matches everything below it. Several selectors
 * must all match; a selector given twice is a usage error of the command.
 */
#ifndef JBPF_MODEL_SELECT_H
#define JBPF_MODEL_SELECT_H

#include <stdbool.h>
#include <stdint.h>

#include "user/model/window.h"
#include "user/model/frame_kind.h"

enum select_kind {
	SELECT_KIND_ANY = 0,
	SELECT_KIND_JAVA = 1, /* stacks whose leaf, where the CPU was, is Java */
	SELECT_KIND_KERNEL = 2,
	SELECT_KIND_NATIVE = 3,
};

struct selection {
	uint64_t since_unix_ns;
	uint64_t until_unix_ns; /* exclusive */
	const char *container;	/* NULL = any; borrowed from argv */
	const char *pod;
	const char *namespace;
	const char *service;
	const char *comm;
	const char *cgroup;
	uint32_t pid; /* 0 = any */
	enum select_kind kind;
};

/*
 * Does the glob match this name of a container, pod, namespace, service or image? Names that a user
 * gave ("user:UID/...", see container.h) match patterns that begin with "user:", and "*" alone.
 */
bool select_name_matches(const char *pattern, const char *name);
/* Does the stream match? Times are not looked at. */
bool selection_matches(const struct selection *selection, const struct window *window);
/* Does the window overlap [since, until)? */
bool selection_covers(const struct selection *selection, const struct window *window);
/* Is this the kind of leaf that was asked for? */
bool select_kind_matches(enum select_kind wanted, enum frame_kind leaf);

#endif
