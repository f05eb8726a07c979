// SPDX-License-Identifier: Apache-2.0
/*
 * One table serves the command line and the config file, so that both know the same names, the same
 * rules and give the same messages.
 */
#include "user/daemon/daemon_options.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/cli/jit_option.h"
#include "user/serve/address.h"
#include "user/store/store.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/parse.h"
#include "user/util/strbuf.h"

#define CONFIG_MAX_BYTES (64 * 1024)

const char daemon_options_usage[] =
	"usage: jbpfd [OPTION]...\n"
	"Profiles every process of this host, all the time, into a store of files.\n"
	"\n"
	"  --store DIR         where profiles go (" STORE_DEFAULT_DIR ")\n"
	"  --frequency HZ      samples per second and CPU (99)\n"
	"  --window DUR        one profile per process and window (10s)\n"
	"  --max-depth N       user frames taken of a stack, 1 to 1024 (1024)\n"
	"  --jit MODE          names of JIT code: auto, vmstructs, perfmap, attach, off (auto)\n"
	"  --keep-age DUR      delete hours that are older than the newest by this (30d)\n"
	"  --keep-bytes SIZE   delete the oldest hours past this size (5G)\n"
	"  --compact on|off    rewrite closed hours smaller, at lowest priority (on)\n"
	"  --metrics ADDRESS   serve metrics: unix:PATH, 127.0.0.1:PORT or [::1]:PORT (off)\n"
	"  --pid PID           only this process; may be repeated\n"
	"  --cgroup PATH       only processes below this cgroup v2 directory; may be repeated\n"
	"  --config FILE       lines \"option = value\"; the command line wins; reread on SIGHUP\n"
	"  --check             say what this host allows and what is lost without it, then end\n"
	"  --log-level LEVEL   err, warn, info, debug (info)\n"
	"  --help, --version\n"
	"\n"
	"SIGTERM writes the last window and ends. Exit codes: 0 done, 1 failed, 2 wrong usage.\n";

enum option_id {
	OPTION_STORE = 1,
	OPTION_FREQUENCY,
	OPTION_WINDOW,
	OPTION_MAX_DEPTH,
	OPTION_JIT,
	OPTION_KEEP_AGE,
	OPTION_KEEP_BYTES,
	OPTION_COMPACT,
	OPTION_METRICS,
	OPTION_PID,
	OPTION_CGROUP,
	OPTION_LOG_LEVEL,
	OPTION_CONFIG,
	OPTION_CHECK,
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_CNT,
};

static const struct option long_options[] = {
	{ "store", required_argument, NULL, OPTION_STORE },
	{ "frequency", required_argument, NULL, OPTION_FREQUENCY },
	{ "window", required_argument, NULL, OPTION_WINDOW },
	{ "max-depth", required_argument, NULL, OPTION_MAX_DEPTH },
	{ "jit", required_argument, NULL, OPTION_JIT },
	{ "keep-age", required_argument, NULL, OPTION_KEEP_AGE },
	{ "keep-bytes", required_argument, NULL, OPTION_KEEP_BYTES },
	{ "compact", required_argument, NULL, OPTION_COMPACT },
	{ "metrics", required_argument, NULL, OPTION_METRICS },
	{ "pid", required_argument, NULL, OPTION_PID },
	{ "cgroup", required_argument, NULL, OPTION_CGROUP },
	{ "log-level", required_argument, NULL, OPTION_LOG_LEVEL },
	{ "config", required_argument, NULL, OPTION_CONFIG },
	{ "check", no_argument, NULL, OPTION_CHECK },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

static bool option_repeats(int id)
{
	return id == OPTION_PID || id == OPTION_CGROUP;
}

static const char *option_wants(int id)
{
	switch (id) {
	case OPTION_FREQUENCY:
		return "a number from 1 to 10000";
	case OPTION_WINDOW:
		return "a duration from 1s to 10m, such as 10s";
	case OPTION_MAX_DEPTH:
		return "a number from 1 to 1024";
	case OPTION_JIT:
		return "auto, vmstructs, perfmap, attach or off";
	case OPTION_KEEP_AGE:
		return "a duration, such as 30d";
	case OPTION_KEEP_BYTES:
		return "a size, such as 5G";
	case OPTION_COMPACT:
		return "on or off";
	case OPTION_METRICS:
		return "unix:PATH, 127.0.0.1:PORT or [::1]:PORT: metrics tell what runs here, so "
		       "only this host may read them";
	case OPTION_PID:
		return "a process id, at most 64 of them";
	case OPTION_CGROUP:
		return "a cgroup path, at most 16 of them";
	case OPTION_LOG_LEVEL:
		return "err, warn, info or debug";
	default:
		return "a path";
	}
}

static int set_text(char **field, const char *value)
{
	char *copy;

	if (!*value)
		return -EINVAL;
	copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

static int set_window(const char *value, uint64_t *out)
{
	uint64_t ns;
	int err = parse_duration_ns(value, &ns);

	if (err)
		return err;
	if (ns < DAEMON_MIN_WINDOW_NS || ns > DAEMON_MAX_WINDOW_NS)
		return -ERANGE;
	*out = ns;
	return 0;
}

static int set_switch(const char *value, bool *out)
{
	bool is_on = strcmp(value, "on") == 0;

	if (!is_on && strcmp(value, "off") != 0)
		return -EINVAL;
	*out = is_on;
	return 0;
}

static int set_metrics(const char *value, char **field)
{
	struct serve_address address;
	int err = serve_address_parse(value, &address);

	return err ? err : set_text(field, value);
}

static int add_pid(struct daemon_options *options, const char *value)
{
	int err;

	if (options->pid_cnt == DAEMON_PIDS_MAX)
		return -E2BIG;
	err = parse_u32_range(value, 1, INT32_MAX, &options->pids[options->pid_cnt]);
	if (!err)
		options->pid_cnt++;
	return err;
}

static int add_cgroup(struct daemon_options *options, const char *value)
{
	int err;

	if (options->cgroup_cnt == JBPF_CGROUP_FILTER_MAX)
		return -E2BIG;
	err = set_text(&options->cgroups[options->cgroup_cnt], value);
	if (!err)
		options->cgroup_cnt++;
	return err;
}

static int option_apply(struct daemon_options *options, int id, const char *value)
{
	switch (id) {
	case OPTION_STORE:
		return set_text(&options->store, value);
	case OPTION_CONFIG:
		return set_text(&options->config, value);
	case OPTION_FREQUENCY:
		return parse_u32_range(value, 1, DAEMON_MAX_FREQUENCY, &options->frequency_hz);
	case OPTION_WINDOW:
		return set_window(value, &options->window_ns);
	case OPTION_MAX_DEPTH:
		return parse_u32_range(value, 1, JBPF_MAX_DEPTH, &options->max_depth);
	case OPTION_JIT:
		return jit_option_parse(value, &options->jit);
	case OPTION_KEEP_AGE:
		return parse_duration_ns(value, &options->keep_age_ns);
	case OPTION_KEEP_BYTES:
		return parse_size_bytes(value, &options->keep_bytes);
	case OPTION_COMPACT:
		return set_switch(value, &options->compact);
	case OPTION_METRICS:
		return set_metrics(value, &options->metrics);
	case OPTION_PID:
		return add_pid(options, value);
	case OPTION_CGROUP:
		return add_cgroup(options, value);
	case OPTION_LOG_LEVEL:
		return log_level_parse(value, &options->log_level);
	case OPTION_CHECK:
		options->check = true;
		return 0;
	case OPTION_HELP:
		options->help = true;
		return 0;
	case OPTION_VERSION:
		options->version = true;
		return 0;
	default:
		return -EINVAL;
	}
}

static const char *option_name(int id)
{
	for (const struct option *option = long_options; option->name; option++) {
		if (option->val == id)
			return option->name;
	}
	return "?";
}

/* Drops what an earlier source (the config file) gave for a repeatable option. */
static void option_forget(struct daemon_options *options, int id)
{
	if (id == OPTION_PID)
		options->pid_cnt = 0;
	if (id == OPTION_CGROUP) {
		while (options->cgroup_cnt) {
			options->cgroup_cnt--;
			free(take_ptr(options->cgroups[options->cgroup_cnt]));
		}
	}
}

/* One source of options: which were given in it already. */
struct option_source {
	const char *prefix; /* for messages: "--" or "" */
	bool seen[OPTION_CNT];
};

static int option_take(struct daemon_options *options, struct option_source *source, int id,
		       const char *value, char *why, size_t why_len)
{
	int err;

	if (source->seen[id] && !option_repeats(id)) {
		snprintf(why, why_len, "%s%s is given twice; give it once", source->prefix,
			 option_name(id));
		return -EINVAL;
	}
	if (!source->seen[id])
		option_forget(options, id);
	source->seen[id] = true;
	err = option_apply(options, id, value);
	if (err == -ENOMEM) {
		snprintf(why, why_len, "out of memory");
		return err;
	}
	if (err) {
		snprintf(why, why_len, "%s%s '%s' is not valid; it wants %s", source->prefix,
			 option_name(id), value, option_wants(id));
		return -EINVAL;
	}
	return 0;
}

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t\r");
	len = strlen(text);
	while (len && strchr(" \t\r", text[len - 1]))
		text[--len] = '\0';
	return text;
}

static int config_option_id(const char *name)
{
	for (const struct option *option = long_options; option->name; option++) {
		if (strcmp(option->name, name) == 0 && option->val < OPTION_CONFIG)
			return option->val;
	}
	return 0;
}

static int config_line(struct daemon_options *options, struct option_source *source, char *line,
		       char *why, size_t why_len)
{
	char *comment = strchr(line, '#');
	char *equals;
	int id;

	if (comment)
		*comment = '\0';
	line = trim(line);
	if (!*line)
		return 0;
	equals = strchr(line, '=');
	if (!equals) {
		snprintf(why, why_len, "'%s' is not of the form option = value", line);
		return -EINVAL;
	}
	*equals = '\0';
	id = config_option_id(trim(line));
	if (!id) {
		snprintf(why, why_len, "there is no option '%s'; see jbpfd --help", trim(line));
		return -EINVAL;
	}
	return option_take(options, source, id, trim(equals + 1), why, why_len);
}

static int config_read(struct daemon_options *options, char *why, size_t why_len)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct option_source source = { .prefix = "" };
	char *line, *next;
	int number = 0;
	int err;

	err = fs_read_file(AT_FDCWD, options->config, CONFIG_MAX_BYTES, &text);
	if (err) {
		snprintf(why, why_len, "config file '%s' cannot be read: %s", options->config,
			 errstr(err));
		return err;
	}
	for (line = text.data; line && *line; line = next) {
		char problem[512];

		number++;
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		err = config_line(options, &source, line, problem, sizeof(problem));
		if (err) {
			snprintf(why, why_len, "config file '%s', line %d: %s", options->config,
				 number, problem);
			return err;
		}
	}
	return 0;
}

static int command_line(int argc, char **argv, struct daemon_options *options,
			struct option_source *source, bool only_config, char *why, size_t why_len)
{
	int id;

	optind = 0; /* glibc: start over */
	opterr = 0;
	while ((id = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
		int err;

		if (id == '?' || id == ':') {
			snprintf(why, why_len,
				 id == ':' ? "%s wants a value; see jbpfd --help" :
					     "unknown option '%s'; see jbpfd --help",
				 argv[optind - 1]);
			return -EINVAL;
		}
		if (only_config != (id == OPTION_CONFIG))
			continue;
		err = option_take(options, source, id, optarg ? optarg : "", why, why_len);
		if (err)
			return err;
	}
	if (optind < argc) {
		snprintf(why, why_len, "'%s' is not an option; see jbpfd --help", argv[optind]);
		return -EINVAL;
	}
	return 0;
}

int daemon_options_parse(int argc, char **argv, struct daemon_options *out, char *why,
			 size_t why_len)
{
	struct option_source source = { .prefix = "--" };
	int err;

	*out = (struct daemon_options){
		.frequency_hz = 99,
		.window_ns = 10000000000ull,
		.max_depth = JBPF_MAX_DEPTH,
		.jit = JIT_MODE_AUTO,
		.keep_age_ns = 30 * 86400 * 1000000000ull,
		.keep_bytes = 5ull << 30,
		.compact = true,
		.log_level = LOG_LEVEL_INFO,
	};
	snprintf(why, why_len, "out of memory");
	err = set_text(&out->store, STORE_DEFAULT_DIR);
	if (!err)
		err = command_line(argc, argv, out, &source, true, why, why_len);
	if (!err && out->config)
		err = config_read(out, why, why_len);
	if (!err)
		err = command_line(argc, argv, out, &source, false, why, why_len);
	return err;
}

void daemon_options_release(struct daemon_options *options)
{
	free(options->store);
	free(options->config);
	free(options->metrics);
	option_forget(options, OPTION_CGROUP);
	*options = (struct daemon_options){ 0 };
}

bool daemon_options_sampling_differs(const struct daemon_options *a, const struct daemon_options *b)
{
	if (a->frequency_hz != b->frequency_hz || a->window_ns != b->window_ns ||
	    a->max_depth != b->max_depth || a->jit != b->jit || a->pid_cnt != b->pid_cnt ||
	    a->cgroup_cnt != b->cgroup_cnt)
		return true;
	if (memcmp(a->pids, b->pids, a->pid_cnt * sizeof(a->pids[0])) != 0)
		return true;
	for (size_t i = 0; i < a->cgroup_cnt; i++) {
		if (strcmp(a->cgroups[i], b->cgroups[i]) != 0)
			return true;
	}
	return false;
}
