// SPDX-License-Identifier: Apache-2.0
/*
 * Command lines and the config file. Whatever is given: it is taken and lies within the limits that
 * the help states, or it is refused with one line that says why. A config file gives what the same
 * options give on the command line.
 *
 * Input: one byte (modulo 7: jbpf-dump, jbpf-diff, jbpf-store, jbpfd's command line, its config
 * file, jbpf-record, jbpf-maps), then arguments, one a line, or the file.
 */
#include "tests/fuzz/fuzz.h"
#include "user/daemon/daemon_options.h"
#include "user/cmd/diff_options.h"
#include "user/cmd/dump_options.h"
#include "user/cmd/maps_options.h"
#include "user/cmd/record_options.h"
#include "user/cmd/store_options.h"
#include "user/util/cleanup.h"

#define ARGUMENTS_MAX 40
#define WHY_BYTES     1024
#define NOW_NS	      1795267200000000000ull

struct command_line {
	int argc;
	char *argv[ARGUMENTS_MAX + 2];
	char why[WHY_BYTES];
};

static void command_line_read(struct command_line *line, struct fuzz_input *input)
{
	line->argc = 1;
	line->argv[0] = strdup("jbpf");
	while (input->left && line->argc <= ARGUMENTS_MAX)
		line->argv[line->argc++] = fuzz_text(input, '\n');
	line->argv[line->argc] = NULL;
	/* So that an end is found wherever it is cut. */
	memset(line->why, 'w', sizeof(line->why));
	line->why[0] = '\0';
}

static void command_line_release(struct command_line *line)
{
	for (int i = 0; i < line->argc; i++)
		free(line->argv[i]);
}

/* Refused: one line. An argument with a line break in it was not made by this input. */
static void check_why(int err, const char *why)
{
	size_t len = strnlen(why, WHY_BYTES);

	must(len < WHY_BYTES);
	if (err)
		must(len > 0 && !strchr(why, '\n'));
}

static void check_stores(const struct option_stores *stores)
{
	must(stores->cnt <= OPTION_STORES_MAX && !(stores->from && stores->cnt));
	for (size_t i = 0; i < stores->cnt; i++)
		must(stores->dirs[i] != NULL);
}

static void check_dump(struct command_line *line)
{
	struct dump_options options = { 0 };
	int err =
		dump_options_parse(line->argc, line->argv, NOW_NS, &options, line->why, WHY_BYTES);

	must(err == 0 || err == -EINVAL);
	check_why(err, line->why);
	if (err || options.info.help || options.info.version)
		return;
	must(options.selection.since_unix_ns < options.selection.until_unix_ns);
	check_stores(&options.stores);
	must(options.view.by_cnt <= DUMP_BY_CNT);
	must(!options.view.lines || options.view.format == DUMP_FORMAT_TOP ||
	     options.view.format == DUMP_FORMAT_HTML || options.view.format == DUMP_FORMAT_JSON);
	must(options.selection.pid <= INT32_MAX);
	for (size_t i = 0; i < options.view.by_cnt; i++) {
		must(options.view.by[i] < DUMP_BY_CNT);
		for (size_t j = 0; j < i; j++)
			must(options.view.by[i] != options.view.by[j]);
	}
}

static void check_groups(const struct diff_cmd_options *options)
{
	size_t cnt = 0;

	for (int by = 0; by < SELECT_BY_CNT; by++) {
		must(!options->before.labels[by] == !options->after.labels[by]);
		cnt += options->before.labels[by] != NULL;
	}
	must(cnt > 0);
}

static void check_diff(struct command_line *line)
{
	struct diff_cmd_options options = { 0 };
	int err =
		diff_options_parse(line->argc, line->argv, NOW_NS, &options, line->why, WHY_BYTES);

	must(err == 0 || err == -EINVAL);
	check_why(err, line->why);
	if (err || options.info.help || options.info.version)
		return;
	check_stores(&options.stores);
	switch (options.mode) {
	case DIFF_CMD_MODE_TIMES:
		must(options.before.range.since_unix_ns < options.before.range.until_unix_ns);
		must(options.after.range.since_unix_ns < options.after.range.until_unix_ns);
		break;
	case DIFF_CMD_MODE_GROUPS:
		check_groups(&options);
		break;
	case DIFF_CMD_MODE_OUTLIERS:
		must(options.selection.since_unix_ns < options.selection.until_unix_ns);
		break;
	case DIFF_CMD_MODE_FILES:
		must(options.before.file && options.after.file);
		break;
	case DIFF_CMD_MODE_DAYS:
		must(options.days >= 1 && options.days <= DIFF_CMD_DAYS_MAX);
		must(options.keep_days >= 1 && options.keep_days <= DIFF_CMD_KEEP_MAX);
		must(options.output_dir);
		break;
	}
}

static void check_store(struct command_line *line)
{
	struct store_options options = { 0 };
	int err = store_options_parse(line->argc, line->argv, &options, line->why, WHY_BYTES);

	must(err == 0 || err == -EINVAL);
	check_why(err, line->why);
	if (!err && !options.info.help && !options.info.version)
		must(options.verb != STORE_VERB_NONE && options.store);
}

static void check_record(struct command_line *line)
{
	struct record_options options = { 0 };
	int err = record_options_parse(line->argc, line->argv, &options, line->why, WHY_BYTES);

	must(err == 0 || err == -EINVAL);
	check_why(err, line->why);
	if (err)
		return;
	must(options.duration_ns && options.view.format <= DUMP_FORMAT_OTLP &&
	     options.view.by_cnt <= DUMP_BY_CNT);
	must(options.frequency_hz >= 1 && options.frequency_hz <= 10000);
	must(options.selection.pid <= INT32_MAX && options.jit <= JIT_MODE_OFF);
	must(!options.ignores_opt_out || options.selection.pid);
}

static void check_maps(struct command_line *line)
{
	struct maps_options options = { .pid_cnt = 0 };
	int err = maps_options_parse(line->argc, line->argv, &options, line->why, WHY_BYTES);

	must(err == 0 || err == -EINVAL);
	check_why(err, line->why);
	if (err)
		return;
	must(options.dir && options.pid_cnt <= MAPS_MAX_PIDS);
	for (size_t i = 0; i < options.pid_cnt; i++) {
		must(options.pids[i] >= 1 && options.pids[i] <= INT32_MAX);
		for (size_t j = 0; j < i; j++)
			must(options.pids[i] != options.pids[j]);
	}
}

/* ---- jbpfd ---- */

static void check_daemon_limits(const struct daemon_options *options)
{
	must(options->frequency_hz >= 1 && options->frequency_hz <= DAEMON_MAX_FREQUENCY);
	must(options->window_ns >= DAEMON_MIN_WINDOW_NS &&
	     options->window_ns <= DAEMON_MAX_WINDOW_NS);
	must(options->max_depth >= 1 && options->max_depth <= 1024);
	must(options->store && *options->store);
	must(options->pid_cnt <= DAEMON_PIDS_MAX);
	must(options->cgroup_cnt <= JBPF_CGROUP_FILTER_MAX);
	must(options->log_level <= LOG_LEVEL_DEBUG);
	for (size_t i = 0; i < options->pid_cnt; i++)
		must(options->pids[i] >= 1 && options->pids[i] <= INT32_MAX);
	for (size_t i = 0; i < options->cgroup_cnt; i++)
		must(options->cgroups[i] && *options->cgroups[i]);
}

/* What a config file names could be a terminal, which is waited for. */
static void hide_paths(struct command_line *line)
{
	for (int i = 1; i < line->argc; i++) {
		for (char *slash = line->argv[i]; (slash = strchr(slash, '/')); slash++)
			*slash = '_';
	}
}

static void check_daemon(struct command_line *line)
{
	struct daemon_options options;
	int err;

	hide_paths(line);
	err = daemon_options_parse(line->argc, line->argv, &options, line->why, WHY_BYTES);
	check_why(err, line->why);
	if (!err)
		check_daemon_limits(&options);
	daemon_options_release(&options);
}

/* "name = value" -> "--name=value"; NULL when it is another form. */
static char *as_argument(const char *text)
{
	const char *equals = strchr(text, '=');
	size_t name_len, value_len;
	const char *value;
	char *argument;

	text += strspn(text, " \t\r");
	if (!equals || *text == '#' || *text == '-' || strpbrk(text, "#"))
		return NULL;
	name_len = (size_t)(equals - text);
	while (name_len && strchr(" \t\r", text[name_len - 1]))
		name_len--;
	value = equals + 1 + strspn(equals + 1, " \t\r");
	value_len = strlen(value);
	while (value_len && strchr(" \t\r", value[value_len - 1]))
		value_len--;
	must(asprintf(&argument, "--%.*s=%.*s", (int)name_len, text, (int)value_len, value) > 0);
	return argument;
}

static void check_same(const struct daemon_options *a, const struct daemon_options *b)
{
	must(!daemon_options_sampling_differs(a, b) && strcmp(a->store, b->store) == 0);
	must(a->keep_age_ns == b->keep_age_ns && a->keep_bytes == b->keep_bytes);
	must(a->compact == b->compact && a->log_level == b->log_level);
}

/* The file's lines as arguments say the same. */
static void compare_config(struct fuzz_input input, const struct daemon_options *from_file)
{
	struct command_line line = { .argc = 1, .argv = { strdup("jbpfd") } };
	struct daemon_options options;
	bool is_comparable = !memchr(input.at, '\0', input.left);

	while (input.left && line.argc <= ARGUMENTS_MAX && is_comparable) {
		char *text = fuzz_text(&input, '\n');
		char *argument = as_argument(text);

		if (argument)
			line.argv[line.argc++] = argument;
		else
			is_comparable = text[strspn(text, " \t\r")] == '\0';
		free(text);
	}
	line.argv[line.argc] = NULL;
	if (is_comparable && !input.left) {
		must(daemon_options_parse(line.argc, line.argv, &options, line.why, WHY_BYTES) ==
		     0);
		check_same(from_file, &options);
		daemon_options_release(&options);
	}
	command_line_release(&line);
}

static void check_config(struct fuzz_input input)
{
	int fd = fuzz_file(input.at, input.left);
	struct daemon_options options;
	char path[64], why[WHY_BYTES];
	char program[] = "jbpfd", config[] = "--config";
	char *argv[] = { program, config, path, NULL };
	int err;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = daemon_options_parse(3, argv, &options, why, sizeof(why));
	check_why(err, why);
	if (!err) {
		check_daemon_limits(&options);
		compare_config(input, &options);
	}
	daemon_options_release(&options);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static void (*const checks[])(struct command_line *) = {
		check_dump, check_diff, check_store, check_daemon, NULL, check_record, check_maps,
	};
	struct fuzz_input input = { data, len };
	uint8_t command = fuzz_u8(&input) % ARRAY_SIZE(checks);
	struct command_line line;

	if (!checks[command]) {
		check_config(input);
		return 0;
	}
	command_line_read(&line, &input);
	checks[command](&line);
	command_line_release(&line);
	return 0;
}
