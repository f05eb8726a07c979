// SPDX-License-Identifier: Apache-2.0
/*
 * See web_timeline_run.h. Only what the store knows of windows is read, and their stacks where not
 * all of them count: of one method, of a view, and of waits.
 */
#include "user/web/web_timeline_run.h"

#include <errno.h>
#include <string.h>

#include "user/cli/cmd_stores.h"
#include "user/cli/cmd_write.h"
#include "user/cli/exit_codes.h"
#include "user/model/event_view.h"
#include "user/model/folded_line.h"
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
	struct event_stacks *known;
	bool is_without_idle; /* as a picture of waits leaves out who waits for work: waiting_place.h */
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

static bool needs_stacks(const struct reading *reading)
{
	const struct web_timeline_request *options = reading->options;

	return options->method || event_is_view(options->event) || reading->is_without_idle;
}

static bool is_drawn(const struct reading *reading, const struct window *window, const char *stack,
		     size_t len)
{
	const struct web_timeline_request *options = reading->options;
	struct event_stack found;

	if (options->method && !has_method(stack, len, options->method))
		return false;
	/* Of EVENT_WALL: a thread that runs in such a place does not wait there. */
	if (window->event == EVENT_CPU)
		return true;
	found = event_stacks__get(reading->known, stack, len);
	return found.is_taken && (found.place == WAITING_PLACE_CNT || !reading->is_without_idle);
}

static uint64_t samples_drawn(const struct reading *reading, const struct window *window,
			      const char *text, size_t len)
{
	struct lines lines = lines_init(text, len);
	uint64_t samples = 0;
	struct line line;

	while (lines_next(&lines, &line)) {
		uint64_t count;
		size_t stack_len;

		if (folded_line_split(line.at, line.len, &stack_len, &count) &&
		    is_drawn(reading, window, line.at, stack_len))
			samples += count;
	}
	return samples;
}

static int add_stacks(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct reading *reading = ctx;
	struct window part = *window;

	part.counts.samples = samples_drawn(reading, window, text, len);
	/* That is in no stack. */
	if (reading->options->method)
		part.counts.run_delay_ns = 0;
	return web_timeline__add(reading->timeline, &part);
}

static bool want(void *ctx, const struct window *window)
{
	struct reading *reading = ctx;
	const struct web_timeline_request *options = reading->options;

	if (reading->err)
		return false;
	web_timeline__note_end(reading->timeline, window);
	if (!window->pid && !event_counts_time(options->event, window))
		return false;
	if (window->pid && needs_stacks(reading))
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
		.window = needs_stacks(reading) ? add_stacks : NULL,
		.damage = note_damage,
	};
	int err = store_source__visit(reader, how->since_unix_ns, how->until_unix_ns, &visitor);

	cmd_store_damage_end(&reading->damage);
	return err ? err : reading->err;
}

static int run(const struct web_timeline_request *options, struct store_source *reader,
	       const struct cmd_store_damage *damage)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	const struct web_timeline_options how = web_timeline_request_aligned(options);
	struct reading reading = {
		.options = options,
		.timeline = web_timeline__new(&how),
		.known = event_stacks__new(options->event),
		.is_without_idle = how.is_without_idle,
		.damage = *damage,
	};
	int err = reading.timeline && reading.known ? read_store(reader, &how, &reading) : -ENOMEM;

	if (!err)
		err = web_timeline__json(reading.timeline, &out);
	web_timeline__free(reading.timeline);
	event_stacks__free(reading.known);
	if (err == -ENOMEM)
		pr_err("out of memory; take a shorter time or fewer processes\n");
	else if (err)
		pr_err("the store in '%s' cannot be read: %s\n", store_source__name(reader),
		       store_source__failure(reader, err));
	if (err)
		return CMD_EXIT_FAILED;
	return cmd_store_damage_code(&reading.damage, cmd_write(NULL, &out));
}

int web_timeline_run(int argc, char **argv)
{
	struct web_timeline_request options;
	struct cmd_store_damage damage = { .cnt = 0 };
	struct store_source *reader;
	char why[512];
	int code, err;

	if (web_timeline_request_parse(argc, argv, &options, why, sizeof(why))) {
		pr_err("%s\n", why);
		return CMD_EXIT_USAGE;
	}
	err = cmd_stores_open(&options.stores, options.event, &reader, &damage);
	if (err)
		return err == -ENODATA ? CMD_EXIT_NO_SAMPLES : CMD_EXIT_FAILED;
	code = run(&options, reader, &damage);
	store_source__free(reader);
	return code;
}
