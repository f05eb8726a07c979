/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which streams, which times: the selectors of the command line as a value. Pure.
 *
 * A selector matches when the whole label equals it, or matches it as a glob (*, ?, [..]). Of several
 * of one label one has to match, and none of those that leave out may.
 * --container also takes a container id or a prefix of one of at least 6 hex digits. --pod takes
 * a name or a uid. --cgroup takes a path and also matches everything below it. --thread also takes a
 * name with its digits, which are not kept. Selectors of several labels must all match.
 */
#ifndef JBPF_MODEL_SELECT_H
#define JBPF_MODEL_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/window.h"
#include "user/util/attributes.h"
#include "user/model/frame_kind.h"

enum select_kind {
	SELECT_KIND_ANY = 0,
	SELECT_KIND_JAVA = 1, /* stacks whose leaf, where the CPU was, is Java */
	SELECT_KIND_KERNEL = 2,
	SELECT_KIND_NATIVE = 3,
};

/* The labels of which there may be several selectors. */
enum select_by {
	SELECT_BY_CONTAINER = 0,
	SELECT_BY_POD,
	SELECT_BY_NAMESPACE,
	SELECT_BY_SERVICE,
	SELECT_BY_COMM,
	SELECT_BY_CGROUP,
	SELECT_BY_IMAGE,
	SELECT_BY_HOST,
	SELECT_BY_CNT,
	SELECT_BY_THREAD =
		SELECT_BY_CNT, /* of stacks, not of streams: see selection_takes_thread() */
};

#define SELECT_MORE_MAX 32

/* A selector beside the first of its label, or one that leaves out. */
struct select_more {
	const char *pattern; /* borrowed from argv */
	enum select_by by;
	bool leaves_out;
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
	const char *image;
	const char *host;
	const char *thread;
	uint32_t pid; /* 0 = any */
	enum select_kind kind;
	struct select_more more[SELECT_MORE_MAX];
	uint32_t more_cnt;
};

/* "container", ...: the option's name. */
const char *select_by_name(enum select_by by);
/*
 * Selector number `index` of a label; NULL pattern = there are no more. The first are those that
 * take in.
 */
struct select_more selection_get(const struct selection *selection, enum select_by by,
				 size_t index);
/*
 * Adds a selector as the command line has it: "!x" leaves out what matches x. 0, or -ENOSPC when there
 * are too many.
 */
__must_check int selection_add(struct selection *selection, enum select_by by, const char *value);
/* Sets the one selector of a label that takes in (NULL = any); those that leave out stay. */
void selection_set(struct selection *selection, enum select_by by, const char *pattern);
/* Does this pattern of the label match the stream? Not of SELECT_BY_THREAD. */
bool select_by_matches(enum select_by by, const char *pattern, const struct window *window);

/*
 * Does the glob match this name of a container, pod, namespace, service or image? Names that a user
 * gave ("user:UID/...", see container.h) match patterns that begin with "user:", and "*" alone.
 */
bool select_name_matches(const char *pattern, const char *name);
/* Are all processes and threads wanted? Times and kinds are not looked at. */
bool selection_is_of_all(const struct selection *selection);
/* Are of a process only samples of some threads or kinds of code wanted? */
bool selection_is_of_parts(const struct selection *selection);
/* Does the stream match? Times are not looked at. */
bool selection_matches(const struct selection *selection, const struct window *window);
/*
 * Is the window wanted? That of a process goes by all its labels, a host's own record (pid 0) by its host: it
 * has no other label. Times are not looked at.
 */
bool selection_takes(const struct selection *selection, const struct window *window);
/* Does it ask for threads? */
bool selection_is_of_threads(const struct selection *selection);
/* Are samples of the thread of this name wanted? Of a stream that matches, others may be. */
bool selection_takes_thread(const struct selection *selection, const char *name);
/* Does the window overlap [since, until)? */
bool selection_covers(const struct selection *selection, const struct window *window);
/* Is this the kind of leaf that was asked for? */
bool select_kind_matches(enum select_kind wanted, enum frame_kind leaf);

#endif
