// SPDX-License-Identifier: Apache-2.0
/* Rows that several commands share; see option_groups.h. */
#include "user/cli/option_groups.h"

#include "user/model/select.h"

/* In the order of enum jit_mode. */
const char *const option_jit_words[] = { "auto", "vmstructs", "perfmap", "attach", "off", NULL };

/* In the order of enum select_kind, from SELECT_KIND_JAVA on. */
static const char *const kind_words[] = { "java", "kernel", "native", NULL };

const struct option_row option_selection_rows[] = {
	{ .name = "container",
	  .kind = OPTION_KIND_TEXT,
	  .metavar = "NAME",
	  .help = "the container's name, its id, or at least 6 digits of the id",
	  OPTION_FIELD(struct selection, container) },
	{ .name = "pod",
	  .kind = OPTION_KIND_TEXT,
	  .metavar = "NAME",
	  .help = "the Kubernetes pod's name or uid",
	  OPTION_FIELD(struct selection, pod) },
	{ .name = "namespace",
	  .kind = OPTION_KIND_TEXT,
	  .metavar = "NAME",
	  .help = "the Kubernetes namespace",
	  OPTION_FIELD(struct selection, namespace) },
	{ .name = "service",
	  .kind = OPTION_KIND_TEXT,
	  .metavar = "NAME",
	  .help = "the name that stays the same over restarts and roll-outs",
	  OPTION_FIELD(struct selection, service) },
	{ .name = "pid",
	  .kind = OPTION_KIND_NUMBER,
	  .metavar = "PID",
	  .help = "the process id as the host sees it",
	  .wants = "a process id",
	  .min = 1,
	  .max = INT32_MAX,
	  OPTION_FIELD(struct selection, pid) },
	{ .name = "comm",
	  .kind = OPTION_KIND_TEXT,
	  .metavar = "NAME",
	  .help = "the name of the process",
	  OPTION_FIELD(struct selection, comm) },
	{ .name = "cgroup",
	  .kind = OPTION_KIND_TEXT,
	  .metavar = "PATH",
	  .help = "the cgroup, and all below it",
	  OPTION_FIELD(struct selection, cgroup) },
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
