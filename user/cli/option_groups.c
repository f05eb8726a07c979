// SPDX-License-Identifier: Apache-2.0
/* Rows that several commands share; see option_groups.h. */
#include "user/cli/option_groups.h"

#include <errno.h>

#include "user/model/select.h"
#include "user/remote/remote_url.h"

/* In the order of enum jit_mode. */
const char *const option_jit_words[] = { "auto", "vmstructs", "perfmap", "attach", "off", NULL };

const char *const option_switch_words[] = { "off", "on", NULL };

const char *const option_unwind_words[] = { "auto", "fp", NULL };

/* In the order of enum select_kind, from SELECT_KIND_JAVA on. */
static const char *const kind_words[] = { "java", "kernel", "native", NULL };

/* `min` of the row says which selector it is. */
static int take_selector(struct option_walk *walk, const char *value)
{
	void *selection = (char *)walk->options + walk->at.group->offset;

	if (selection_add(selection, (enum select_by)walk->at.row->min, value))
		return options_refuse(walk, "there are too many selectors: at most %d; use globs",
				      SELECT_MORE_MAX);
	return 0;
}

const char *option_stores_first(const struct option_stores *stores)
{
	return stores->cnt ? stores->dirs[0] : STORE_DEFAULT_DIR;
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

const struct option_row option_selection_rows[] = {
	{ .name = "container",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "NAME",
	  .help = "the container's name, its id, or at least 6 digits of the id",
	  .min = SELECT_BY_CONTAINER,
	  .parse = take_selector },
	{ .name = "pod",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "NAME",
	  .help = "the Kubernetes pod's name or uid",
	  .min = SELECT_BY_POD,
	  .parse = take_selector },
	{ .name = "namespace",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "NAME",
	  .help = "the Kubernetes namespace",
	  .min = SELECT_BY_NAMESPACE,
	  .parse = take_selector },
	{ .name = "service",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "NAME",
	  .help = "the name that stays the same over restarts and roll-outs",
	  .min = SELECT_BY_SERVICE,
	  .parse = take_selector },
	{ .name = "image",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "NAME",
	  .help = "the container's image",
	  .min = SELECT_BY_IMAGE,
	  .parse = take_selector },
	{ .name = "host",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "NAME",
	  .help = "the host, or the Kubernetes node",
	  .min = SELECT_BY_HOST,
	  .parse = take_selector },
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
	  .min = SELECT_BY_COMM,
	  .parse = take_selector },
	{ .name = "thread",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "NAME",
	  .help = "the name of the thread; which digits it has is not kept: pool-#-thread-#",
	  .min = SELECT_BY_THREAD,
	  .parse = take_selector },
	{ .name = "cgroup",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "PATH",
	  .help = "the cgroup, and all below it",
	  .min = SELECT_BY_CGROUP,
	  .parse = take_selector },
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
