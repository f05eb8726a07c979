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
#include "user/model/event_view.h"
#include "user/model/folded_line.h"
#include "user/model/idle.h"
#include "user/model/select.h"
#include "user/model/stack_text.h"
#include "user/util/cleanup.h"
#include "user/util/lines.h"
#include "user/util/log.h"
#include "user/web/web_timeline_request.h"

/* ---- reading ---- */

struct reading {
	const struct web_timeline_request *options;
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

static bool needs_stacks(const struct web_timeline_request *options)
{
	return options->method || event_is_view(options->event);
}

/* Views are drawn without idle threads, as their pictures are. */
static bool is_drawn(const struct web_timeline_request *options, const char *stack, size_t len)
{
	if (options->method && !has_method(stack, len, options->method))
		return false;
	return !event_is_view(options->event) ||
	       (event_takes_stack(options->event, stack, len) && !idle_is_stack(stack, len));
}

static uint64_t samples_drawn(const struct web_timeline_request *options, const char *text,
			      size_t len)
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
	const struct web_timeline_request *options = reading->options;

	if (reading->err)
		return false;
	web_timeline__note_end(reading->timeline, window);
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
		.selection = &reading->options->selection,
		.want = want,
		.window = needs_stacks(reading->options) ? add_stacks : NULL,
		.damage = note_damage,
	};
	int err = store_source__visit(reader, how->since_unix_ns, how->until_unix_ns, &visitor);

	cmd_store_damage_end(&reading->damage);
	return err ? err : reading->err;
}

static int run(const struct web_timeline_request *options, struct store_source *reader)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	const struct web_timeline_options how = web_timeline_request_aligned(options);
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
	struct web_timeline_request options;
	struct store_source *reader;
	char why[512];
	int code, err;

	if (web_timeline_request_parse(argc, argv, &options, why, sizeof(why))) {
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
