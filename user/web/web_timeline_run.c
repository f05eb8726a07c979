// SPDX-License-Identifier: Apache-2.0
/*
 * See web_timeline_run.h. Only what the store knows of windows is read, and their stacks where one
 * method or a view is asked for.
 */
#include "user/web/web_timeline_run.h"

#include <errno.h>
#include <string.h>

#include "user/cli/cmd_store.h"
#include "user/cli/cmd_write.h"
#include "user/cli/exit_codes.h"
#include "user/cli/option_groups.h"
#include "user/model/event_view.h"
#include "user/model/folded_line.h"
#include "user/model/idle.h"
#include "user/model/select.h"
#include "user/model/stack_text.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/lines.h"
#include "user/util/log.h"
#include "user/web/web_timeline.h"

#define DEFAULT_SINCE_NS (3600 * CLOCK_NS_PER_S)

static const char *const by_words[] = { "container", "pod",  "namespace", "service", "image",
					"host",	     "comm", "none",	  NULL };

/* In the order of by_words. */
static const enum window_label by_labels[] = {
	WINDOW_LABEL_CONTAINER, WINDOW_LABEL_POD,  WINDOW_LABEL_NAMESPACE, WINDOW_LABEL_SERVICE,
	WINDOW_LABEL_IMAGE,	WINDOW_LABEL_HOST, WINDOW_LABEL_COMM,	   WINDOW_LABEL_CNT,
};

struct run_options {
	struct selection selection;
	const char *store;
	enum event event;
	enum window_label by;
	uint64_t step_ns;   /* 0 = by the range */
	const char *method; /* only samples with it; NULL = all */
};

static int take_by(struct option_walk *walk, const char *value)
{
	struct run_options *options = walk->options;
	int word = option_word_index(by_words, value);

	if (word < 0)
		return word;
	options->by = by_labels[word];
	return 0;
}

static const struct option_row rows[] = {
	{ OPTION_ROW_SINCE(struct run_options, selection.since_unix_ns, "1h before --until") },
	{ OPTION_ROW_UNTIL(struct run_options, selection.until_unix_ns) },
	{ OPTION_ROW_STORE(struct run_options, store) },
	{ OPTION_ROW_EVENT(struct run_options, event, event_view_words) },
	{ .name = "by",
	  .kind = OPTION_KIND_OWN,
	  .metavar = "LABEL",
	  .words = by_words,
	  .parse = take_by },
	{ .name = "step",
	  .kind = OPTION_KIND_DURATION,
	  .metavar = "DURATION",
	  .min = CLOCK_NS_PER_S,
	  .max = 31 * 86400 * CLOCK_NS_PER_S,
	  OPTION_FIELD(struct run_options, step_ns) },
	{ .name = "method",
	  .kind = OPTION_KIND_TEXT,
	  .metavar = "NAME",
	  .min = 1,
	  OPTION_FIELD(struct run_options, method) },
	{ .name = NULL },
};

static const struct option_group groups[] = {
	{ .rows = rows },
	{ OPTION_GROUP_SELECTION(struct run_options, selection) },
	{ .rows = NULL },
};

static const struct option_table table = { .program = "jbpf-web", .groups = groups };

/* ---- reading ---- */

struct reading {
	const struct run_options *options;
	struct web_timeline *timeline;
	struct cmd_store_damage damage;
	int err;
};

/* Not the process's name, which is the first frame. */
static bool has_method(const char *stack, size_t len, const char *method)
{
	size_t method_len = strlen(method);
	struct stack_frame frame;

	if (!stack_text_next(&stack, &len, &frame))
		return false;
	while (stack_text_next(&stack, &len, &frame)) {
		if (frame.name_len == method_len && memcmp(frame.name, method, method_len) == 0)
			return true;
	}
	return false;
}

static bool needs_stacks(const struct run_options *options)
{
	return options->method || event_is_view(options->event);
}

/* Views are drawn without idle threads, as their pictures are. */
static bool is_drawn(const struct run_options *options, const char *stack, size_t len)
{
	if (options->method && !has_method(stack, len, options->method))
		return false;
	return !event_is_view(options->event) ||
	       (event_takes_stack(options->event, stack, len) && !idle_is_stack(stack, len));
}

static uint64_t samples_drawn(const struct run_options *options, const char *text, size_t len)
{
	struct lines lines = lines_init(text, len);
	uint64_t samples = 0;
	struct line line;

	while (lines_next(&lines, &line)) {
		uint64_t count;
		size_t stack_len;

		if (folded_line_split(line.at, line.len, &stack_len, &count) &&
		    is_drawn(options, line.at, stack_len))
			samples += count;
	}
	return samples;
}

static int add_stacks(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct reading *reading = ctx;
	struct window part = *window;

	part.counts.samples = samples_drawn(reading->options, text, len);
	return web_timeline__add(reading->timeline, &part);
}

static bool want(void *ctx, const struct window *window)
{
	struct reading *reading = ctx;
	const struct run_options *options = reading->options;

	if (reading->err)
		return false;
	if (window->pid ? !selection_matches(&options->selection, window) :
			  !event_counts_time(options->event, window))
		return false;
	if (window->pid && needs_stacks(options))
		return true;
	reading->err = web_timeline__add(reading->timeline, window);
	return false;
}

static void note_damage(void *ctx, const struct store_damage *stretch)
{
	cmd_store_damage_note(&((struct reading *)ctx)->damage, stretch);
}

static int read_store(struct store_source *reader, const struct web_timeline_options *how,
		      struct reading *reading)
{
	const struct store_visitor visitor = {
		.ctx = reading,
		.merge_ns = how->step_ns,
		.want = want,
		.window = needs_stacks(reading->options) ? add_stacks : NULL,
		.damage = note_damage,
	};
	int err = store_source__visit(reader, how->since_unix_ns, how->until_unix_ns, &visitor);

	cmd_store_damage_end(&reading->damage);
	return err ? err : reading->err;
}

/* ---- options ---- */

static int parse(int argc, char **argv, struct run_options *options, char *why, size_t why_len)
{
	struct option_walk walk = {
		.table = &table,
		.options = options,
		.now_unix_ns = clock_unix_ns(),
		.why = why,
		.why_len = why_len,
	};
	uint64_t range_ns;
	int err;

	options->selection.until_unix_ns = walk.now_unix_ns;
	err = options_walk_all(&walk, argc, argv);
	if (err)
		return err;
	if (!options_given(&walk, "since"))
		options->selection.since_unix_ns =
			options->selection.until_unix_ns > DEFAULT_SINCE_NS ?
				options->selection.until_unix_ns - DEFAULT_SINCE_NS :
				0;
	if (options->selection.since_unix_ns >= options->selection.until_unix_ns)
		return options_refuse(&walk, "since must lie before until");
	if (options->selection.kind != SELECT_KIND_ANY)
		return options_refuse(&walk, "kind: a time line has no stacks");
	if (options->selection.thread)
		return options_refuse(&walk, "thread: a time line has no stacks");
	range_ns = options->selection.until_unix_ns - options->selection.since_unix_ns;
	if (!options->step_ns)
		options->step_ns = web_timeline_step(range_ns);
	if (range_ns / options->step_ns + 2 > WEB_TIMELINE_STEPS_MAX)
		return options_refuse(&walk, "there would be more than %d steps; take longer ones",
				      WEB_TIMELINE_STEPS_MAX);
	return 0;
}

/* Whole steps, so that a window that the store has merged lies in one of them. */
static struct web_timeline_options align(const struct run_options *options)
{
	uint64_t step_ns = options->step_ns;

	return (struct web_timeline_options){
		.since_unix_ns = options->selection.since_unix_ns / step_ns * step_ns,
		.until_unix_ns =
			(options->selection.until_unix_ns + step_ns - 1) / step_ns * step_ns,
		.step_ns = step_ns,
		.event = options->event,
		.by = options->by,
	};
}

static int run(const struct run_options *options, struct store_source *reader)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	const struct web_timeline_options how = align(options);
	struct reading reading = { .options = options, .timeline = web_timeline__new(&how) };
	int err = reading.timeline ? read_store(reader, &how, &reading) : -ENOMEM;

	if (!err)
		err = web_timeline__json(reading.timeline, &out);
	web_timeline__free(reading.timeline);
	if (err == -ENOMEM)
		pr_err("out of memory; take a shorter time or fewer processes\n");
	else if (err)
		pr_err("the store in '%s' cannot be read: %s\n", options->store, errstr(err));
	if (err)
		return CMD_EXIT_FAILED;
	return cmd_store_damage_code(&reading.damage, cmd_write(NULL, &out));
}

int web_timeline_run(int argc, char **argv)
{
	struct run_options options = { .store = STORE_DEFAULT_DIR, .by = WINDOW_LABEL_CONTAINER };
	struct store_source *reader;
	char why[512];
	int code, err;

	if (parse(argc, argv, &options, why, sizeof(why))) {
		pr_err("%s\n", why);
		return CMD_EXIT_USAGE;
	}
	err = cmd_store_open_event(options.store, options.event, &reader);
	if (err)
		return err == -ENODATA ? CMD_EXIT_NO_SAMPLES : CMD_EXIT_FAILED;
	code = run(&options, reader);
	store_source__free(reader);
	return code;
}
