// SPDX-License-Identifier: Apache-2.0
/* Options of jbpf maps. */
#include "user/cmd/maps_options.h"

#include <errno.h>

#include "user/util/parse.h"

#define DEFAULT_DIR "/tmp" /* the only place where perf looks */

static int take_pid(struct option_walk *walk, const char *value)
{
	struct maps_options *options = walk->options;
	uint32_t pid;

	if (parse_u32_range(value, 1, INT32_MAX, &pid))
		return -EINVAL;
	for (size_t i = 0; i < options->pid_cnt; i++) {
		if (options->pids[i] == pid)
			return 0;
	}
	if (options->pid_cnt == MAPS_MAX_PIDS)
		return options_refuse(
			walk, "--pid: %d processes are the most; leave it out to take all JVMs",
			MAPS_MAX_PIDS);
	options->pids[options->pid_cnt++] = pid;
	return 0;
}

static const struct option_row rows[] = {
	{ .name = "pid",
	  .letter = 'p',
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "PID",
	  .help = "only this process, even when it is not a JVM",
	  .wants = "a process id",
	  .parse = take_pid },
	{ .name = "container",
	  .kind = OPTION_KIND_TEXT,
	  .metavar = "NAME",
	  .help = "only this container: its name, a glob, its id, or at least 6 digits of the id",
	  OPTION_FIELD(struct maps_options, container) },
	{ .name = "directory",
	  .letter = 'd',
	  .kind = OPTION_KIND_DIR,
	  .metavar = "DIR",
	  .help = "write the maps there; perf reads only " DEFAULT_DIR,
	  .fallback = DEFAULT_DIR,
	  OPTION_FIELD(struct maps_options, dir) },
	{ .name = "force",
	  .help = "replace any file of the map's name, of any owner",
	  OPTION_FIELD(struct maps_options, is_forced) },
	{ .name = NULL },
};

static const struct option_group groups[] = {
	{ .rows = rows },
	{ OPTION_GROUP_INFO(struct maps_options, info) },
	{ .rows = NULL },
};

const struct option_table maps_option_table = {
	.program = "jbpf-maps",
	.summary = "Writes " DEFAULT_DIR
		   "/perf-PID.map for every JVM of this host, in containers or not, so that perf "
		   "report, perf top and perf script name its compiled code. PID is the host's. "
		   "Write the maps again when the JVM has compiled more.",
	.groups = groups,
	.notes =
		"Exit codes: 0 a map was written, 1 failed, 2 wrong usage, 3 there is no such JVM.",
};

int maps_options_parse(int argc, char **argv, struct maps_options *out, char *why, size_t why_len)
{
	struct option_walk walk = {
		.table = &maps_option_table,
		.options = out,
		.why = why,
		.why_len = why_len,
	};

	*out = (struct maps_options){ .dir = DEFAULT_DIR };
	return options_walk_all(&walk, argc, argv);
}
