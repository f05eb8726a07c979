// SPDX-License-Identifier: Apache-2.0
/*
 * Selectors against windows. Labels come from files and containers and are only ever compared;
 * patterns come from the command line of whoever reads.
 */
#include "user/model/select.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <string.h>

#include "user/model/thread_counts.h"
#include "user/util/cleanup.h"

#define CONTAINER_ID_PREFIX_MIN 6
#define CGROUP_MOUNT		"/sys/fs/cgroup"

/* An unknown label equals only the empty selector: `--pod ''` asks for what is in no pod. */
static bool label_matches(const char *pattern, const char *label)
{
	if (strcmp(pattern, label) == 0)
		return true;
	return *label && fnmatch(pattern, label, 0) == 0;
}

bool select_name_matches(const char *pattern, const char *name)
{
	static const char users[] = "user:";
	size_t len = strlen(users);

	if (strncmp(name, users, len) == 0 && strncmp(pattern, users, len) != 0 &&
	    strcmp(pattern, "*") != 0)
		return false;
	return label_matches(pattern, name);
}

static bool container_matches(const char *pattern, const struct window *window)
{
	const char *id = window_label(window, WINDOW_LABEL_CONTAINER_ID);
	size_t len = strlen(pattern);

	if (select_name_matches(pattern, window_label(window, WINDOW_LABEL_CONTAINER)))
		return true;
	if (*pattern && strcmp(pattern, id) == 0)
		return true;
	return len >= CONTAINER_ID_PREFIX_MIN && strspn(pattern, "0123456789abcdef") == len &&
	       strncmp(pattern, id, len) == 0;
}

static bool pod_matches(const char *pattern, const struct window *window)
{
	const char *uid = window_label(window, WINDOW_LABEL_POD_UID);

	return select_name_matches(pattern, window_label(window, WINDOW_LABEL_POD)) ||
	       (*uid && select_name_matches(pattern, uid));
}

/* Takes the path as /proc/PID/cgroup has it or as it is seen below the usual mount point. */
static bool cgroup_matches(const char *pattern, const struct window *window)
{
	const char *path = window_label(window, WINDOW_LABEL_CGROUP);
	size_t mount_len = strlen(CGROUP_MOUNT);
	size_t len;

	if (strncmp(pattern, CGROUP_MOUNT, mount_len) == 0 &&
	    (pattern[mount_len] == '/' || pattern[mount_len] == '\0'))
		pattern = pattern[mount_len] ? pattern + mount_len : "/";
	if (label_matches(pattern, path))
		return true;

	len = strlen(pattern);
	while (len && pattern[len - 1] == '/')
		len--;
	if (len == 0)
		return *pattern == '/' && *path == '/';
	return strncmp(pattern, path, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

const char *select_by_name(enum select_by by)
{
	static const char *const names[] = {
		[SELECT_BY_CONTAINER] = "container", [SELECT_BY_POD] = "pod",
		[SELECT_BY_NAMESPACE] = "namespace", [SELECT_BY_SERVICE] = "service",
		[SELECT_BY_COMM] = "comm",	     [SELECT_BY_CGROUP] = "cgroup",
		[SELECT_BY_IMAGE] = "image",	     [SELECT_BY_HOST] = "host",
		[SELECT_BY_THREAD] = "thread",
	};

	return names[by];
}

bool select_by_matches(enum select_by by, const char *pattern, const struct window *window)
{
	switch (by) {
	case SELECT_BY_CONTAINER:
		return container_matches(pattern, window);
	case SELECT_BY_POD:
		return pod_matches(pattern, window);
	case SELECT_BY_NAMESPACE:
		return select_name_matches(pattern, window_label(window, WINDOW_LABEL_NAMESPACE));
	case SELECT_BY_SERVICE:
		return select_name_matches(pattern, window_label(window, WINDOW_LABEL_SERVICE));
	case SELECT_BY_COMM:
		return label_matches(pattern, window_label(window, WINDOW_LABEL_COMM));
	case SELECT_BY_CGROUP:
		return cgroup_matches(pattern, window);
	case SELECT_BY_IMAGE:
		return select_name_matches(pattern, window_label(window, WINDOW_LABEL_IMAGE));
	case SELECT_BY_HOST:
		return label_matches(pattern, window_label(window, WINDOW_LABEL_HOST));
	case SELECT_BY_THREAD:
		break;
	}
	return false;
}

static const char **first_of(struct selection *selection, enum select_by by)
{
	const char **const fields[] = {
		&selection->container, &selection->pod,	 &selection->namespace,
		&selection->service,   &selection->comm, &selection->cgroup,
		&selection->image,     &selection->host, &selection->thread,
	};

	return fields[by];
}

void selection_set(struct selection *selection, enum select_by by, const char *pattern)
{
	uint32_t kept = 0;

	*first_of(selection, by) = pattern;
	for (uint32_t i = 0; i < selection->more_cnt; i++) {
		if (selection->more[i].by != by || selection->more[i].leaves_out)
			selection->more[kept++] = selection->more[i];
	}
	selection->more_cnt = kept;
}

int selection_add(struct selection *selection, enum select_by by, const char *value)
{
	struct select_more more = { .pattern = value, .by = by, .leaves_out = *value == '!' };
	const char **first = first_of(selection, by);

	if (!more.leaves_out && !*first) {
		*first = value;
		return 0;
	}
	if (selection->more_cnt == SELECT_MORE_MAX)
		return -ENOSPC;
	more.pattern += more.leaves_out;
	selection->more[selection->more_cnt++] = more;
	return 0;
}

/* The next of the label from *at on; NULL pattern = none. */
static struct select_more next_more(const struct selection *selection, enum select_by by,
				    bool leaves_out, size_t *at)
{
	while (*at < selection->more_cnt) {
		const struct select_more *more = &selection->more[(*at)++];

		if (more->by == by && more->leaves_out == leaves_out)
			return *more;
	}
	return (struct select_more){ 0 };
}

struct select_more selection_get(const struct selection *selection, enum select_by by, size_t index)
{
	struct selection *fields = (struct selection *)(uintptr_t)selection; /* only looked at */
	const char *first = *first_of(fields, by);
	struct select_more more = { .pattern = first, .by = by };

	if (first && index-- == 0)
		return more;
	for (int leaves_out = 0; leaves_out < 2; leaves_out++) {
		size_t at = 0;

		do {
			more = next_more(selection, by, leaves_out, &at);
			if (more.pattern && index-- == 0)
				return more;
		} while (more.pattern);
	}
	return more;
}

bool selection_is_of_all(const struct selection *selection)
{
	for (int by = 0; by < SELECT_BY_CNT; by++) {
		if (selection_get(selection, (enum select_by)by, 0).pattern)
			return false;
	}
	return !selection->pid && !selection_is_of_threads(selection);
}

bool selection_is_of_parts(const struct selection *selection)
{
	return selection_is_of_threads(selection) || selection->kind != SELECT_KIND_ANY;
}

/* As it is kept, or as the program says it, with digits. */
static bool thread_matches(const char *pattern, const char *name)
{
	size_t len = strlen(pattern);
	char folded[THREAD_NAME_BYTES + 1];

	if (label_matches(pattern, name))
		return true;
	if (len > THREAD_NAME_BYTES)
		return false;
	(void)thread_name_fold(pattern, len, folded);
	return label_matches(folded, name);
}

/* What a label is looked for in: a stream, or the name of one of its threads. */
struct wanted_in {
	const struct window *window;
	const char *thread;
};

static bool pattern_matches(enum select_by by, const char *pattern, struct wanted_in in)
{
	return by == SELECT_BY_THREAD ? thread_matches(pattern, in.thread) :
					select_by_matches(by, pattern, in.window);
}

/* Of one label: does one match that takes in, if there are any, and none that leaves out? */
static bool label_is_wanted(const struct selection *selection, enum select_by by,
			    struct wanted_in in)
{
	const char *first = *first_of((struct selection *)(uintptr_t)selection, by);
	bool is_taken_in = first && pattern_matches(by, first, in);

	for (size_t i = 0; i < selection->more_cnt; i++) {
		const struct select_more *more = &selection->more[i];

		if (more->by != by || (is_taken_in && !more->leaves_out) ||
		    !pattern_matches(by, more->pattern, in))
			continue;
		if (more->leaves_out)
			return false;
		is_taken_in = true;
	}
	/* The first that takes in is in its field: where that is empty there is none. */
	return is_taken_in || !first;
}

bool selection_matches(const struct selection *selection, const struct window *window)
{
	const struct wanted_in in = { .window = window };

	if (selection->pid && selection->pid != window->pid)
		return false;
	for (int by = 0; by < SELECT_BY_CNT; by++) {
		if (!label_is_wanted(selection, (enum select_by)by, in))
			return false;
	}
	return true;
}

bool selection_takes(const struct selection *selection, const struct window *window)
{
	return window->pid ? selection_matches(selection, window) :
			     label_is_wanted(selection, SELECT_BY_HOST,
					     (struct wanted_in){ .window = window });
}

bool selection_is_of_threads(const struct selection *selection)
{
	return selection_get(selection, SELECT_BY_THREAD, 0).pattern;
}

bool selection_takes_thread(const struct selection *selection, const char *name)
{
	return label_is_wanted(selection, SELECT_BY_THREAD, (struct wanted_in){ .thread = name });
}

bool selection_covers(const struct selection *selection, const struct window *window)
{
	/* A window without length is the point where it starts. */
	uint64_t length_ns = window->duration_ns ? window->duration_ns : 1;
	uint64_t end_ns;

	if (__builtin_add_overflow(window->start_unix_ns, length_ns, &end_ns))
		end_ns = UINT64_MAX;
	return window->start_unix_ns < selection->until_unix_ns &&
	       end_ns > selection->since_unix_ns;
}

bool select_kind_matches(enum select_kind wanted, enum frame_kind leaf)
{
	switch (wanted) {
	case SELECT_KIND_ANY:
		return true;
	case SELECT_KIND_JAVA:
		return leaf == FRAME_KIND_JIT || leaf == FRAME_KIND_C1 ||
		       leaf == FRAME_KIND_INTERPRETED || leaf == FRAME_KIND_INLINED;
	case SELECT_KIND_KERNEL:
		return leaf == FRAME_KIND_KERNEL;
	case SELECT_KIND_NATIVE:
		return leaf == FRAME_KIND_NATIVE;
	}
	return false;
}
