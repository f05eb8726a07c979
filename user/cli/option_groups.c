// SPDX-License-Identifier: Apache-2.0
/* Rows that several commands share; see option_groups.h. */
#include "user/cli/option_groups.h"

#include <errno.h>

#include "user/model/select.h"
#include "user/remote/remote_url.h"

/* In the order of enum jit_mode. */
const char *const option_jit_words[] = { "auto", "vmstructs", "perfmap", "attach", "off", NULL };

const char *const option_unwind_words[] = { "auto", "fp", NULL };

/* In the order of enum select_kind, from SELECT_KIND_JAVA on. */
static const char *const kind_words[] = { "java", "kernel", "native", NULL };

static int take_selector(struct option_walk *walk, enum select_by by, const char *value)
{
	void *selection = (char *)walk->options + walk->at.group->offset;

	if (selection_add(selection, by, value))
		return options_refuse(walk, "there are too many selectors: at most %d; use globs",
				      SELECT_MORE_MAX);
	return 0;
}

int option_take_store(struct option_walk *walk, const char *value)
{
	struct option_stores *stores =
		(void *)((char *)walk->options + walk->at.group->offset + walk->at.row->offset);

	if (!*value)
		return -EINVAL;
	if (stores->cnt == OPTION_STORES_MAX)
		return options_refuse(walk, "--store: at most %d are read at once",
				      OPTION_STORES_MAX);
	stores->dirs[stores->cnt++] = value;
	return 0;
}

int option_check_stores(struct option_walk *walk, const struct option_stores *stores)
{
	if (stores->cnt && stores->from)
		return options_refuse(walk, "--from does not go with --store");
	if (stores->from && !remote_url_is_one(stores->from))
		return options_refuse(walk, "--from: '%s' is not a URL; write " REMOTE_URL_FORM,
				      stores->from);
	return 0;
}

static int take_container(struct option_walk *walk, const char *value)
{
	return take_selector(walk, SELECT_BY_CONTAINER, value);
}

static int take_pod(struct option_walk *walk, const char *value)
{
	return take_selector(walk, SELECT_BY_POD, value);
}

static int take_namespace(struct option_walk *walk, const char *value)
{
	return take_selector(walk, SELECT_BY_NAMESPACE, value);
}

static int take_service(struct option_walk *walk, const char *value)
{
	return take_selector(walk, SELECT_BY_SERVICE, value);
}

static int take_comm(struct option_walk *walk, const char *value)
{
	return take_selector(walk, SELECT_BY_COMM, value);
}

static int take_cgroup(struct option_walk *walk, const char *value)
{
	return take_selector(walk, SELECT_BY_CGROUP, value);
}

static int take_image(struct option_walk *walk, const char *value)
{
	return take_selector(walk, SELECT_BY_IMAGE, value);
}

static int take_host(struct option_walk *walk, const char *value)
{
	return take_selector(walk, SELECT_BY_HOST, value);
}

const struct option_row option_selection_rows[] = {
	{ .name = "container",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "NAME",
	  .help = "the container's name, its id, or at least 6 digits of the id",
	  .parse = take_container },
	{ .name = "pod",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "NAME",
	  .help = "the Kubernetes pod's name or uid",
	  .parse = take_pod },
	{ .name = "namespace",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "NAME",
	  .help = "the Kubernetes namespace",
	  .parse = take_namespace },
	{ .name = "service",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "NAME",
	  .help = "the name that stays the same over restarts and roll-outs",
	  .parse = take_service },
	{ .name = "image",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "NAME",
	  .help = "the container's image",
	  .parse = take_image },
	{ .name = "host",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "NAME",
	  .help = "the host, or the Kubernetes node",
	  .parse = take_host },
	{ .name = "pid",
	  .letter = 'p',
	  .kind = OPTION_KIND_NUMBER,
	  .metavar = "PID",
	  .help = "the process id as the host sees it",
	  .wants = "a process id",
	  .min = 1,
	  .max = INT32_MAX,
	  OPTION_FIELD(struct selection, pid) },
	{ .name = "comm",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "NAME",
	  .help = "the name of the process",
	  .parse = take_comm },
	{ .name = "thread",
	  .kind = OPTION_KIND_TEXT,
	  .metavar = "NAME",
	  .help = "the name of the thread, its digits as #: pool-#-thread-#",
	  OPTION_FIELD(struct selection, thread) },
	{ .name = "cgroup",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "PATH",
	  .help = "the cgroup, and all below it",
	  .parse = take_cgroup },
	{ .name = "kind",
	  .kind = OPTION_KIND_WORD,
	  .metavar = "KIND",
	  .help = "only samples in which the CPU was in code of this kind",
	  .words = kind_words,
	  .min = SELECT_KIND_JAVA,
	  OPTION_FIELD(struct selection, kind) },
	{ .name = NULL },
};

const struct option_row option_info_rows[] = {
	{ .name = "help", .help = "print this help", OPTION_FIELD(struct option_info, help) },
	{ .name = "version",
	  .help = "print the version",
	  OPTION_FIELD(struct option_info, version) },
	{ .name = NULL },
};
