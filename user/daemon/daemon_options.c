// SPDX-License-Identifier: Apache-2.0
/*
 * One table serves the command line and the config file, so that both know the same names, the same
 * rules and give the same messages.
 */
#include "user/daemon/daemon_options.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "user/serve/address.h"
#include "user/store/store.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/parse.h"

#define CONFIG_MAX_BYTES (64 * 1024)

/* The others are for a while: a busy host has no bound for them. */
#define ALWAYS_ON_EVENTS \
	(EVENT_BIT(EVENT_CPU) | EVENT_BIT(EVENT_PAGE_FAULTS) | EVENT_BIT(EVENT_OFF_CPU))
#define PAGE_FAULTS_PERIOD 64

static int take_metrics(struct option_walk *walk, const char *value)
{
	struct daemon_options *options = walk->options;
	struct serve_address address;
	int err = serve_address_parse(value, &address);

	if (!err)
		options->metrics = value;
	return err;
}

static int take_events(struct option_walk *walk, const char *value)
{
	struct daemon_options *options = walk->options;
	uint32_t events;

	if (event_parse_set(value, &events) || events & ~ALWAYS_ON_EVENTS)
		return -EINVAL;
	options->events = events;
	return 0;
}

static int take_pid(struct option_walk *walk, const char *value)
{
	struct daemon_options *options = walk->options;
	int err;

	if (options->pid_cnt == DAEMON_PIDS_MAX)
		return options_refuse_see_help(walk, "at most %d processes can be named",
					       DAEMON_PIDS_MAX);
	err = parse_u32_range(value, 1, INT32_MAX, &options->pids[options->pid_cnt]);
	if (!err)
		options->pid_cnt++;
	return err;
}

static int take_cgroup(struct option_walk *walk, const char *value)
{
	struct daemon_options *options = walk->options;

	if (options->cgroup_cnt == JBPF_CGROUP_FILTER_MAX)
		return options_refuse_see_help(walk, "at most %d cgroups can be named",
					       JBPF_CGROUP_FILTER_MAX);
	if (!*value)
		return -EINVAL;
	options->cgroups[options->cgroup_cnt++] = value;
	return 0;
}

/* In the order of enum log_level. */
static const char *const log_level_words[] = { "err", "warn", "info", "debug", NULL };

static const char *const probe_words[] = { "none", "live", "ready", NULL };

/* What may stand in the config file, too. */
static const struct option_row setting_rows[] = {
	{ OPTION_ROW_STORE(struct daemon_options, store), .min = 1 },
	{ .name = "host",
	  .kind = OPTION_KIND_TEXT,
	  .metavar = "NAME",
	  .help = "name of this host in profiles (NODE_NAME of the environment, else the host's own)",
	  .min = 1,
	  .max = HOST_NAME_MAX,
	  .wants = "a name of at most 64 bytes",
	  OPTION_FIELD(struct daemon_options, host) },
	{ .name = "event",
	  .kind = OPTION_KIND_OWN,
	  .metavar = "EVENTS",
	  .help = "what is sampled: cpu, off-cpu, page-faults, or several with commas between them",
	  .fallback = "cpu",
	  .wants =
		  "a list of events; there are cpu, off-cpu and page-faults, as in cpu,off-cpu,page-faults",
	  .parse = take_events },
	{ .name = "frequency",
	  .kind = OPTION_KIND_NUMBER,
	  .metavar = "HZ",
	  .help = "samples per second and CPU",
	  .fallback = "99",
	  .min = 1,
	  .max = DAEMON_MAX_FREQUENCY,
	  OPTION_FIELD(struct daemon_options, frequency_hz) },
	{ .name = "page-fault-period",
	  .kind = OPTION_KIND_NUMBER,
	  .metavar = "N",
	  .help = "one sample for so many page faults of a CPU",
	  .fallback = "64",
	  .min = 1,
	  .max = UINT32_MAX,
	  OPTION_FIELD(struct daemon_options, page_fault_period) },
	{ OPTION_ROW_OFF_CPU_RATE(struct daemon_options, off_cpu_rate) },
	{ .name = "window",
	  .kind = OPTION_KIND_DURATION,
	  .metavar = "DURATION",
	  .help = "time that one profile of a process covers, 1s to 10m",
	  .fallback = "10s",
	  .wants = "a duration from 1s to 10m, such as 10s",
	  .min = DAEMON_MIN_WINDOW_NS,
	  .max = DAEMON_MAX_WINDOW_NS,
	  OPTION_FIELD(struct daemon_options, window_ns) },
	{ .name = "max-depth",
	  .kind = OPTION_KIND_NUMBER,
	  .metavar = "N",
	  .help = "user frames taken of a stack, 1 to 1024; one that the JVM interprets counts as two",
	  .fallback = "1024",
	  .min = 1,
	  .max = JBPF_MAX_DEPTH,
	  OPTION_FIELD(struct daemon_options, max_depth) },
	{ OPTION_ROW_JIT(struct daemon_options, jit) },
	{ OPTION_ROW_PARAMETERS(struct daemon_options, keeps_parameters) },
	{ OPTION_ROW_UNWIND(struct daemon_options, unwind) },
	{ .name = "keep-age",
	  .kind = OPTION_KIND_DURATION,
	  .metavar = "DURATION",
	  .help = "delete hours that are older than the newest by this",
	  .fallback = "30d",
	  .wants = "a duration, such as 30d",
	  OPTION_FIELD(struct daemon_options, keep_age_ns) },
	{ .name = "keep-bytes",
	  .kind = OPTION_KIND_SIZE,
	  .metavar = "SIZE",
	  .help = "delete the oldest hours when the store is larger",
	  .fallback = "5G",
	  .wants = "a size, such as 5G",
	  OPTION_FIELD(struct daemon_options, keep_bytes) },
	{ .name = "keep-moments",
	  .kind = OPTION_KIND_DURATION,
	  .metavar = "DURATION",
	  .help = "how long it is kept when each stack was sampled; 0 = it is not recorded",
	  .fallback = "2d",
	  .wants = "a duration, such as 2d",
	  OPTION_FIELD(struct daemon_options, keep_moments_ns) },
	{ .name = "compact",
	  .kind = OPTION_KIND_WORD,
	  .metavar = "SWITCH",
	  .help = "merge closed hours into smaller files, at the lowest priority",
	  .fallback = "on",
	  .words = option_switch_words,
	  OPTION_FIELD(struct daemon_options, compact) },
	{ .name = "metrics",
	  .kind = OPTION_KIND_OWN,
	  .metavar = "ADDRESS",
	  .help = "serve metrics at unix:PATH, 127.0.0.1:PORT or [::1]:PORT",
	  .fallback = "off",
	  .wants = "unix:PATH, 127.0.0.1:PORT or [::1]:PORT: metrics say what runs here, so only "
		   "this host may read them",
	  .parse = take_metrics },
	{ .name = "pid",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "PID",
	  .help = "only this process",
	  .wants = "a process id",
	  .parse = take_pid },
	{ .name = "cgroup",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "PATH",
	  .help = "only processes below this cgroup v2 directory",
	  .wants = "the path of a cgroup",
	  .parse = take_cgroup },
	{ .name = "log-level",
	  .kind = OPTION_KIND_WORD,
	  .metavar = "LEVEL",
	  .help = "least important messages that are logged",
	  .fallback = "info",
	  .words = log_level_words,
	  OPTION_FIELD(struct daemon_options, log_level) },
	{ .name = NULL },
};

static const struct option_row line_rows[] = {
	{ .name = "config",
	  .kind = OPTION_KIND_FILE,
	  .metavar = "FILE",
	  .help = "read lines \"option = value\" from this file, again on SIGHUP; the command line "
		  "wins",
	  .min = 1,
	  OPTION_FIELD(struct daemon_options, config) },
	{ .name = "check",
	  .help = "report what this host allows and what is lost without it, then end",
	  OPTION_FIELD(struct daemon_options, check) },
	{ .name = "probe",
	  .kind = OPTION_KIND_WORD,
	  .metavar = "WHAT",
	  .help = "ask the jbpfd that serves --metrics whether it samples (live), and names, too (ready), then end",
	  .fallback = "none",
	  .words = probe_words,
	  OPTION_FIELD(struct daemon_options, probe) },
	{ .name = NULL },
};

static const struct option_group groups[] = {
	{ .rows = setting_rows },
	{ .rows = line_rows },
	{ OPTION_GROUP_INFO(struct daemon_options, info) },
	{ .rows = NULL },
};

const struct option_table daemon_option_table = {
	.program = "jbpfd",
	.summary = "Profiles every process of this host, all the time, into a store of files.",
	.groups = groups,
	.notes = "SIGTERM writes the last window and ends. Exit codes: 0 done, 1 failed, 2 wrong "
		 "usage.",
};

/* ---- the config file ---- */

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t\r");
	len = strlen(text);
	while (len && strchr(" \t\r", text[len - 1]))
		text[--len] = '\0';
	return text;
}

static int refuse_setting(struct option_walk *walk, const char *name)
{
	const struct option_row *nearest = options_nearest(walk->table, name);

	if (nearest >= setting_rows && nearest < setting_rows + ARRAY_SIZE(setting_rows))
		return options_refuse_see_help(walk, "there is no option '%s' (did you mean '%s'?)",
					       name, nearest->name);
	return options_refuse_see_help(walk, "there is no option '%s'", name);
}

static int config_line(struct option_walk *walk, char *line)
{
	char *comment = strchr(line, '#');
	struct option_place place;
	char *equals;

	if (comment)
		*comment = '\0';
	line = trim(line);
	if (!*line)
		return 0;
	equals = strchr(line, '=');
	if (!equals)
		return options_refuse(walk, "'%s' is not of the form option = value", line);
	*equals = '\0';
	line = trim(line);
	place = options_find(walk->table, line);
	if (!place.row || place.group->rows != setting_rows)
		return refuse_setting(walk, line);
	return options_take(walk, &place, trim(equals + 1));
}

static int config_lines(struct daemon_options *options, char *why, size_t why_len)
{
	char problem[512];
	struct option_walk walk = {
		.table = &daemon_option_table,
		.options = options,
		.why = problem,
		.why_len = sizeof(problem),
		.is_file = true,
	};
	struct strbuf *text = &options->config_text;
	char *end = text->len ? text->data + text->len : NULL, *next;
	int number = 0;

	for (char *line = text->data; line < end; line = next) {
		char *line_end = memchr(line, '\n', (size_t)(end - line)) ?: end;

		number++;
		next = line_end + 1;
		*line_end = '\0';
		/* A power cut may leave a file of NULs: what is behind one would be passed over. */
		if (strlen(line) < (size_t)(line_end - line)) {
			(void)snprintf(why, why_len,
				       "config file '%s', line %d has bytes that are no text",
				       options->config, number);
			return -EINVAL;
		}
		if (config_line(&walk, line)) {
			(void)snprintf(why, why_len, "config file '%s', line %d: %s",
				       options->config, number, problem);
			return -EINVAL;
		}
	}
	return 0;
}

static int config_read(struct daemon_options *options, char *why, size_t why_len)
{
	int err = fs_read_file(AT_FDCWD, options->config, CONFIG_MAX_BYTES, &options->config_text);

	if (err) {
		(void)snprintf(why, why_len, "config file '%s' cannot be read: %s", options->config,
			       errstr(err));
		return err;
	}
	return config_lines(options, why, why_len);
}

/* ---- the command line ---- */

static int command_line(int argc, char **argv, struct daemon_options *options, char *why,
			size_t why_len)
{
	struct option_walk walk = {
		.table = &daemon_option_table,
		.options = options,
		.why = why,
		.why_len = why_len,
	};

	return options_walk_all(&walk, argc, argv);
}

int daemon_options_parse(int argc, char **argv, struct daemon_options *out, char *why,
			 size_t why_len)
{
	const struct daemon_options defaults = {
		.store = STORE_DEFAULT_DIR,
		.events = EVENT_BIT(EVENT_CPU),
		.frequency_hz = 99,
		.page_fault_period = PAGE_FAULTS_PERIOD,
		.off_cpu_rate = OFF_CPU_RATE_DEFAULT,
		.window_ns = 10000000000ull,
		.max_depth = JBPF_MAX_DEPTH,
		.jit = JIT_MODE_AUTO,
		.unwind = UNWIND_MODE_AUTO,
		.keep_age_ns = 30 * 86400 * 1000000000ull,
		.keep_bytes = 5ull << 30,
		.keep_moments_ns = STORE_KEEP_TICKS_NS,
		.compact = true,
		.log_level = LOG_LEVEL_INFO,
	};
	struct daemon_options line = defaults;
	int err = command_line(argc, argv, &line, why, why_len);

	*out = err || !line.config ? line : defaults;
	if (err || !line.config)
		return err;
	out->config = line.config;
	err = config_read(out, why, why_len);
	if (err)
		return err;
	/* Those of the command line replace those of the file. */
	if (line.pid_cnt)
		out->pid_cnt = 0;
	if (line.cgroup_cnt)
		out->cgroup_cnt = 0;
	return command_line(argc, argv, out, why, why_len);
}

void daemon_options_release(struct daemon_options *options)
{
	strbuf_release(&options->config_text);
	*options = (struct daemon_options){ 0 };
}

bool daemon_options_sampling_differs(const struct daemon_options *a, const struct daemon_options *b)
{
	if (a->events != b->events || a->page_fault_period != b->page_fault_period ||
	    a->off_cpu_rate != b->off_cpu_rate || a->frequency_hz != b->frequency_hz ||
	    a->window_ns != b->window_ns || a->max_depth != b->max_depth || a->jit != b->jit ||
	    a->keeps_parameters != b->keeps_parameters || a->unwind != b->unwind ||
	    a->pid_cnt != b->pid_cnt || a->cgroup_cnt != b->cgroup_cnt)
		return true;
	if (memcmp(a->pids, b->pids, a->pid_cnt * sizeof(a->pids[0])) != 0)
		return true;
	for (size_t i = 0; i < a->cgroup_cnt; i++) {
		if (strcmp(a->cgroups[i], b->cgroups[i]) != 0)
			return true;
	}
	return false;
}
