// SPDX-License-Identifier: Apache-2.0
/* Options of jbpf record: the table, and the format that a file's name stands for. */
#include "user/cmd/record_options.h"

#include <errno.h>
#include <string.h>

#include "user/cli/output_ending.h"
#include "user/model/event_view.h"
#include "user/model/select.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/parse.h"

#define DEFAULT_FREQUENCY_HZ 99
#define MAX_FREQUENCY_HZ     10000

/* In the order of enum dump_format; moments of samples are kept in stores alone. */
static const char *const format_words[] = { DUMP_FORMAT_WORDS, NULL };

/* Where it goes when nobody says: a picture and what programs read into a file, text to the reader. */
static const char *const default_files[] = {
	[DUMP_FORMAT_FOLDED] = NULL,
	[DUMP_FORMAT_HTML] = "flame.html",
	[DUMP_FORMAT_SVG] = "flame.svg",
	[DUMP_FORMAT_TOP] = NULL,
	[DUMP_FORMAT_JSON] = "flame.json",
	[DUMP_FORMAT_PPROF] = "flame.pb.gz",
	[DUMP_FORMAT_SPEEDSCOPE] = "flame.speedscope.json",
	[DUMP_FORMAT_OTLP] = "flame.otlp",
};

/* Of a name without an ending, and of standard output, it is HTML. */
static int take_format_of_file(struct option_walk *walk, struct dump_view *view)
{
	const char *path = view->output;
	const char *name, *format;

	view->format = DUMP_FORMAT_HTML;
	if (!path)
		return 0;
	format = output_ending_format(path);
	if (format) {
		view->format = (enum dump_format)option_word_index(format_words, format);
		return 0;
	}
	name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	if (!strrchr(name, '.'))
		return 0;
	return options_refuse(walk, OUTPUT_ENDING_REFUSED, path);
}

/* Format and file, of which one may say the other. 0 or -EINVAL. */
static int settle_output(struct option_walk *walk, struct dump_view *view)
{
	int err = 0;

	if (!options_given(walk, "format")) {
		if (view->callers)
			view->format = DUMP_FORMAT_TOP;
		else
			err = take_format_of_file(walk, view);
	}
	if (!view->output)
		view->output = default_files[view->format];
	else if (strcmp(view->output, "-") == 0)
		view->output = NULL;
	return err;
}

/* Whole names of threads are of no use where no thread is told. */
static void add_by_thread(struct dump_view *view)
{
	for (size_t i = 0; i < view->by_cnt; i++) {
		if (view->by[i] == DUMP_BY_THREAD)
			return;
	}
	view->by[view->by_cnt++] = DUMP_BY_THREAD;
}

/* "30s", as everywhere, and "30", as other profilers take it. */
static int take_duration(struct option_walk *walk, const char *value)
{
	struct record_options *options = walk->options;
	uint64_t ns, seconds;
	int err = parse_duration_ns(value, &ns);

	if (err && parse_u64(value, &seconds) == 0)
		err = __builtin_mul_overflow(seconds, CLOCK_NS_PER_S, &ns) ? -ERANGE : 0;
	if (err || !ns)
		return -EINVAL;
	options->duration_ns = ns;
	return 0;
}

static int take_threshold(struct option_walk *walk, const char *value)
{
	struct record_options *options = walk->options;
	uint64_t ns;

	if (parse_duration_ns(value, &ns) || ns < CLOCK_NS_PER_MS || ns > CLOCK_NS_PER_S)
		return -EINVAL;
	options->threshold_ns = ns;
	return 0;
}

static const struct option_row rows[] = {
	{ .name = "duration",
	  .letter = 'd',
	  .kind = OPTION_KIND_OWN,
	  .metavar = "DURATION",
	  .help = "how long to sample; a number alone is seconds",
	  .fallback = "30s, or until COMMAND ends",
	  .wants = "a duration, such as 30s",
	  .parse = take_duration },
	{ OPTION_ROW_OUTPUT(struct record_options, view.output),
	  .fallback = "flame.html, or as the format is called; of folded and top standard output" },
	{ .name = "format",
	  .kind = OPTION_KIND_WORD,
	  .metavar = "FORMAT",
	  .help = "form of the output",
	  .fallback = "that of FILE's ending, or html where there is none",
	  .words = format_words,
	  OPTION_FIELD(struct record_options, view.format) },
	{ .name = "threads",
	  .help = "tell threads by their whole names, also those of a pool; puts them in front, as "
		  "--by thread",
	  OPTION_FIELD(struct record_options, keeps_digits) },
	{ .name = "event",
	  .kind = OPTION_KIND_WORD,
	  .metavar = "EVENT",
	  .help = "what is sampled",
	  .fallback = "cpu",
	  .words = event_view_words,
	  OPTION_FIELD(struct record_options, event) },
	{ .name = "count",
	  .letter = 'c',
	  .kind = OPTION_KIND_NUMBER,
	  .metavar = "N",
	  .help = "one sample for so many events of a CPU; of cpu see --frequency",
	  .fallback = "64 page-faults, 16 context-switches, 1 of the others",
	  .min = 1,
	  .max = UINT32_MAX,
	  OPTION_FIELD(struct record_options, period) },
	{ .name = "frequency",
	  .kind = OPTION_KIND_NUMBER,
	  .metavar = "HZ",
	  .help = "samples per second and CPU",
	  .fallback = "99",
	  .min = 1,
	  .max = MAX_FREQUENCY_HZ,
	  OPTION_FIELD(struct record_options, frequency_hz) },
	{ OPTION_ROW_OFF_CPU_RATE(struct record_options, off_cpu_rate) },
	{ .name = "threshold",
	  .kind = OPTION_KIND_OWN,
	  .metavar = "DURATION",
	  .help = "with --event sched: waits as long as this are all counted, shorter ones by "
		  "chance and as this long, so that sums are right; shorter costs more",
	  .fallback = "10ms",
	  .wants = "a duration from 1ms to 1s",
	  .parse = take_threshold },
	{ .name = "wakers",
	  .help = "with --event sched, and -p PID or a COMMAND: the stacks of those who end its waits, "
		  "below the thread that they wake",
	  OPTION_FIELD(struct record_options, of_wakers) },
	{ OPTION_ROW_JIT(struct record_options, jit) },
	{ OPTION_ROW_PARAMETERS(struct record_options, keeps_parameters) },
	{ OPTION_ROW_UNWIND(struct record_options, unwind) },
	{ .name = "ignore-opt-out",
	  .help = "sample the process of --pid even when it opted out (JBPF_PROFILE=off)",
	  OPTION_FIELD(struct record_options, ignores_opt_out) },
	{ .name = NULL },
};

static const struct option_group groups[] = {
	{ .rows = rows },
	{ .title = "What comes out:", OPTION_GROUP_DUMP_VIEW(struct record_options, view) },
	{ OPTION_GROUP_SELECTION(struct record_options, selection) },
	{ OPTION_GROUP_INFO(struct record_options, info) },
	{ .rows = NULL },
};

static const struct option_use uses[] = {
	{ .name = "a recording", .operands = "[-- COMMAND [ARGUMENT ...]]" },
	{ .name = NULL },
};

const struct option_table record_option_table = {
	.program = "jbpf-record",
	.summary =
		"Samples this host for a while and makes one flame graph; or runs COMMAND and samples "
		"it and what it starts. It needs neither the daemon nor the store.",
	.groups = groups,
	.uses = uses,
	.notes = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 nothing was sampled.",
};

/* Where the processes of a COMMAND are is known. */
static bool selects_by_label(const struct selection *selection)
{
	bool is_given = false;

	for (int by = 0; by < SELECT_BY_CNT; by++)
		if (by != SELECT_BY_COMM)
			is_given |= selection_get(selection, (enum select_by)by, 0).pattern != NULL;
	return is_given;
}

/* What goes with which event. 0 or -EINVAL. */
static int check_event(struct option_walk *walk, const struct record_options *options)
{
	enum event event = options->event;
	uint32_t pid = options->selection.pid;
	const struct {
		bool is_wrong;
		const char *why;
	} refusals[] = {
		{ options->period && event == EVENT_CPU,
		  "--count does not go with the event cpu, which has a --frequency" },
		{ options->period && event == EVENT_SCHED,
		  "--count does not go with the event sched, which has a --threshold" },
		{ options->period && event == EVENT_ALLOC,
		  "--count does not go with the event alloc, whose samples stand for 512 KiB or more" },
		{ event == EVENT_ALLOC && (!pid || options->ignores_opt_out),
		  "--event alloc requires -p PID, a JVM that has not opted out: it sets breakpoints in that "
		  "process" },
		{ event == EVENT_ALLOC && options->selection.kind != SELECT_KIND_ANY,
		  "--kind does not go with the event alloc, where a class is the tip of each stack" },
		{ event != EVENT_SCHED && options->threshold_ns,
		  "--threshold goes with --event sched only" },
		{ options->of_wakers && (event != EVENT_SCHED || (!options->command && !pid)),
		  "--wakers goes with --event sched, and with -p PID or -- COMMAND, whose waits it is about" },
		{ options->of_wakers &&
			  (options->selection.comm || selects_by_label(&options->selection)),
		  "--wakers does not go with a comm, container, pod, namespace, service, image, host or "
		  "cgroup: those who wake are of any" },
		{ options->period && event_has_idle(event),
		  "--count does not go with events that are waits, which have an --off-cpu-rate" },
		{ options_given(walk, "off-cpu-rate") && !event_has_idle(event),
		  "--off-cpu-rate goes with --event off-cpu, wall, lock and disk only" },
		{ options_given(walk, "frequency") &&
			  !(event_sources(event) & EVENT_BIT(EVENT_CPU)),
		  "--frequency goes with the events cpu and wall only; others have a --count, "
		  "--off-cpu-rate or --threshold" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
		if (refusals[i].is_wrong)
			return options_refuse(walk, "%s", refusals[i].why);
	return 0;
}

int record_options_parse(int argc, char **argv, struct record_options *out, char *why,
			 size_t why_len)
{
	struct record_options options = {
		.duration_ns = 30 * CLOCK_NS_PER_S,
		.frequency_hz = DEFAULT_FREQUENCY_HZ,
		.jit = JIT_MODE_AUTO,
		.unwind = UNWIND_MODE_AUTO,
		.off_cpu_rate = OFF_CPU_RATE_DEFAULT,
		.view.row_max = DUMP_ROWS_DEFAULT,
	};
	struct option_walk walk = {
		.table = &record_option_table,
		.options = &options,
		.why = why,
		.why_len = why_len,
	};
	char **command;
	int err = options_walk_command(&walk, argc, argv, &command);

	if (err)
		return err;
	options.command = command;
	if (command && (options.selection.pid || selects_by_label(&options.selection)))
		return options_refuse(
			&walk, "-- COMMAND does not go with --pid, nor with a container, pod, "
			       "namespace, service, image, host or cgroup: it and what it starts "
			       "is sampled");
	if (command && !options_given(&walk, "duration"))
		options.duration_ns = RECORD_UNTIL_END;
	if (options.ignores_opt_out && !options.selection.pid)
		return options_refuse(&walk, "--ignore-opt-out requires -p PID: a process that "
					     "opted out is profiled only when it is named");
	err = check_event(&walk, &options);
	if (err)
		return err;
	if (options.info.help || options.info.version) {
		*out = options;
		return 0;
	}
	err = settle_output(&walk, &options.view);
	/* Who gives work to those who wait for it is what one asks. */
	options.view.idle |= options.of_wakers;
	/* A table of the threads that were woken would not say by whom. */
	if (options.keeps_digits || (options.of_wakers && options.view.format != DUMP_FORMAT_TOP))
		add_by_thread(&options.view);
	if (!err)
		err = dump_view_settle(&walk, &options.view, &options.selection, options.event);
	if (err)
		return err;
	*out = options;
	return 0;
}
