// SPDX-License-Identifier: Apache-2.0
/* Options of jbpf record: the table, and the format that a file's name stands for. */
#include "user/cmd/record_options.h"

#include <errno.h>
#include <string.h>

#include "user/util/clock.h"

#define DEFAULT_FILE	     "flame.html"
#define DEFAULT_FREQUENCY_HZ 99
#define MAX_FREQUENCY_HZ     10000

/* In the order of enum record_format. */
static const char *const format_words[] = { "html", "svg", "folded", "json", "top", NULL };

/* Other endings of file names. */
static const struct {
	const char *name;
	enum record_format format;
} endings[] = {
	{ "htm", RECORD_FORMAT_HTML },
	{ "collapsed", RECORD_FORMAT_FOLDED },
	{ "txt", RECORD_FORMAT_TOP },
};

static int parse_format(const char *text, enum record_format *out)
{
	int index = option_word_index(format_words, text);

	for (size_t i = 0; index < 0 && i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (strcmp(text, endings[i].name) == 0)
			index = (int)endings[i].format;
	}
	if (index < 0)
		return index;
	*out = (enum record_format)index;
	return 0;
}

static int take_format(struct option_walk *walk, const char *value)
{
	struct record_options *options = walk->options;

	return parse_format(value, &options->format);
}

static const struct option_row rows[] = {
	{ .name = "pid",
	  .letter = 'p',
	  .kind = OPTION_KIND_NUMBER,
	  .metavar = "PID",
	  .help = "only this process",
	  .wants = "a process id",
	  .min = 1,
	  .max = INT32_MAX,
	  OPTION_FIELD(struct record_options, selection.pid) },
	{ .name = "container",
	  .kind = OPTION_KIND_TEXT,
	  .metavar = "NAME",
	  .help = "only this container: its name, a glob, its id, or at least 6 digits of the id",
	  OPTION_FIELD(struct record_options, selection.container) },
	{ .name = "comm",
	  .kind = OPTION_KIND_TEXT,
	  .metavar = "NAME",
	  .help = "only processes of this name",
	  OPTION_FIELD(struct record_options, selection.comm) },
	{ .name = "duration",
	  .letter = 'd',
	  .kind = OPTION_KIND_DURATION,
	  .metavar = "DURATION",
	  .help = "how long to sample",
	  .fallback = "30s",
	  .wants = "a duration, such as 30s",
	  .min = 1,
	  .max = UINT64_MAX,
	  OPTION_FIELD(struct record_options, duration_ns) },
	{ OPTION_ROW_OUTPUT(struct record_options, output), .fallback = DEFAULT_FILE },
	{ .name = "format",
	  .kind = OPTION_KIND_OWN,
	  .metavar = "FORMAT",
	  .help = "form of the output",
	  .fallback = "FILE's ending, else html",
	  .words = format_words,
	  .parse = take_format },
	{ .name = "frequency",
	  .kind = OPTION_KIND_NUMBER,
	  .metavar = "HZ",
	  .help = "samples per second and CPU",
	  .fallback = "99",
	  .min = 1,
	  .max = MAX_FREQUENCY_HZ,
	  OPTION_FIELD(struct record_options, frequency_hz) },
	{ OPTION_ROW_JIT(struct record_options, jit) },
	{ .name = "ignore-opt-out",
	  .help = "sample the process of --pid even when it opted out (JBPF_PROFILE=off)",
	  OPTION_FIELD(struct record_options, ignores_opt_out) },
	{ .name = NULL },
};

static const struct option_group groups[] = {
	{ .rows = rows },
	{ OPTION_GROUP_INFO(struct record_options, info) },
	{ .rows = NULL },
};

const struct option_table record_option_table = {
	.program = "jbpf-record",
	.summary = "Samples this host for a while and makes one flame graph. It needs neither the "
		   "daemon nor the store.",
	.groups = groups,
	.notes = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 nothing was sampled.",
};

int record_options_parse(int argc, char **argv, struct record_options *out, char *why,
			 size_t why_len)
{
	struct record_options options = {
		.duration_ns = 30 * CLOCK_NS_PER_S,
		.frequency_hz = DEFAULT_FREQUENCY_HZ,
		.jit = JIT_MODE_AUTO,
		.output = DEFAULT_FILE,
	};
	struct option_walk walk = {
		.table = &record_option_table,
		.options = &options,
		.why = why,
		.why_len = why_len,
	};
	int err = options_walk_all(&walk, argc, argv);
	const char *ending = strrchr(options.output, '.');

	if (err)
		return err;
	if (options.ignores_opt_out && !options.selection.pid)
		return options_refuse(&walk, "--ignore-opt-out requires -p PID: a process that "
					     "opted out is profiled only when it is named");
	if (!options_given(&walk, "format") && ending)
		(void)parse_format(ending + 1, &options.format);
	*out = options;
	return 0;
}
