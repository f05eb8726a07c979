// SPDX-License-Identifier: Apache-2.0
/* See web_timeline_request.h. */
#include "user/web/web_timeline_request.h"

#include "user/cli/option_groups.h"
#include "user/model/event_view.h"
#include "user/store/store.h"
#include "user/util/clock.h"

#define DEFAULT_SINCE_NS (3600 * CLOCK_NS_PER_S)

static const char *const by_words[] = { "container", "pod",  "namespace", "service", "image",
					"host",	     "comm", "none",	  NULL };

static const char *const switch_words[] = { "0", "1", NULL };

/* In the order of by_words. */
static const enum window_label by_labels[] = {
	WINDOW_LABEL_CONTAINER, WINDOW_LABEL_POD,  WINDOW_LABEL_NAMESPACE, WINDOW_LABEL_SERVICE,
	WINDOW_LABEL_IMAGE,	WINDOW_LABEL_HOST, WINDOW_LABEL_COMM,	   WINDOW_LABEL_CNT,
};

static int take_by(struct option_walk *walk, const char *value)
{
	struct web_timeline_request *options = walk->options;
	int word = option_word_index(by_words, value);

	if (word < 0)
		return word;
	options->by = by_labels[word];
	return 0;
}

static const struct option_row rows[] = {
	{ OPTION_ROW_SINCE(struct web_timeline_request, selection.since_unix_ns,
			   "1h before --until") },
	{ OPTION_ROW_UNTIL(struct web_timeline_request, selection.until_unix_ns) },
	{ OPTION_ROW_STORES(struct web_timeline_request, stores) },
	{ OPTION_ROW_FROM(struct web_timeline_request, stores) },
	{ OPTION_ROW_EVENT(struct web_timeline_request, event, event_view_words) },
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
	  OPTION_FIELD(struct web_timeline_request, step_ns) },
	{ .name = "method",
	  .kind = OPTION_KIND_TEXT,
	  .metavar = "NAME",
	  .min = 1,
	  OPTION_FIELD(struct web_timeline_request, method) },
	{ .name = "idle",
	  .kind = OPTION_KIND_WORD,
	  .metavar = "0|1",
	  .words = switch_words,
	  OPTION_FIELD(struct web_timeline_request, has_idle) },
	{ .name = NULL },
};

static const struct option_group groups[] = {
	{ .rows = rows },
	{ OPTION_GROUP_SELECTION(struct web_timeline_request, selection) },
	{ .rows = NULL },
};

static const struct option_table table = { .program = "jbpf-web", .groups = groups };

int web_timeline_request_parse(int argc, char **argv, struct web_timeline_request *options,
			       char *why, size_t why_len)
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

	*options = (struct web_timeline_request){ .by = WINDOW_LABEL_CONTAINER };
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
	if (selection_is_of_threads(&options->selection))
		return options_refuse(&walk, "thread: a time line has no stacks");
	range_ns = options->selection.until_unix_ns - options->selection.since_unix_ns;
	if (!options->step_ns)
		options->step_ns = web_timeline_step(range_ns);
	if (range_ns / options->step_ns + 2 > WEB_TIMELINE_STEPS_MAX)
		return options_refuse(&walk, "there would be more than %d steps; take longer ones",
				      WEB_TIMELINE_STEPS_MAX);
	return 0;
}

struct web_timeline_options web_timeline_request_aligned(const struct web_timeline_request *options)
{
	uint64_t step_ns = options->step_ns;

	return (struct web_timeline_options){
		.since_unix_ns = options->selection.since_unix_ns / step_ns * step_ns,
		.until_unix_ns =
			(options->selection.until_unix_ns + step_ns - 1) / step_ns * step_ns,
		.step_ns = step_ns,
		.event = options->event,
		.by = options->by,
		.is_without_idle = event_has_waits(options->event) && !options->has_idle,
	};
}
