// SPDX-License-Identifier: Apache-2.0
/* See dump_view.h. */
#include "user/cmd/dump_view.h"

#include <errno.h>
#include <string.h>

#include "user/cli/by_table.h"
#include "user/cli/cmd_write.h"
#include "user/model/event_view.h"
#include "user/model/own_code.h"
#include "user/model/stack_text.h"
#include "user/output/otlp_message.h"
#include "user/util/lines.h"
#include "user/util/log.h"

const char *const dump_by_names[DUMP_BY_CNT] = { "container", "pod",   "namespace",
						 "service",   "image", "host",
						 "comm",      "pid",   "thread" };

/* As dump_by_names, and in front of nothing. */
static const char *const by_words[] = { "container", "pod", "namespace", "service", "image", "host",
					"comm",	     "pid", "thread",	 "none",    NULL };

/* In the order of enum tree_order. */
static const char *const sort_words[] = { "self", "total", NULL };

static int take_by(struct option_walk *walk, const char *value)
{
	struct dump_view *view = (void *)((char *)walk->options + walk->at.group->offset);
	int by = option_word_index(by_words, value);
	bool is_repeated = by == DUMP_BY_CNT && view->has_by_none;

	if (by < 0)
		return by;
	for (size_t i = 0; i < view->by_cnt; i++)
		is_repeated = is_repeated || (int)view->by[i] == by;
	if (is_repeated)
		return options_refuse_see_help(walk, "--by %s is given twice", value);
	if (by == DUMP_BY_CNT)
		view->has_by_none = true;
	else
		view->by[view->by_cnt++] = (enum dump_by)by;
	return 0;
}

const struct option_row dump_view_rows[] = {
	{ .name = "by",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "LABEL",
	  .help = "put this label in front of the stacks, as their first frame; with --format "
		  "top: a table of what has this label, instead of methods",
	  .words = by_words,
	  .parse = take_by },
	{ .name = "sort",
	  .kind = OPTION_KIND_WORD,
	  .metavar = "COLUMN",
	  .help = "with --format top: by the samples of a method itself, or with what it calls",
	  .fallback = "self",
	  .words = sort_words,
	  OPTION_FIELD(struct dump_view, order) },
	{ .name = "callers",
	  .kind = OPTION_KIND_TEXT,
	  .metavar = "METHOD",
	  .help = "who calls this method, or those that match a glob, as a tree; the format is top",
	  .min = 1,
	  .wants = "a method, such as java.util.HashMap.get, or '*HashMap.get'",
	  OPTION_FIELD(struct dump_view, callers) },
	{ OPTION_ROW_ROWS(struct dump_view, row_max, "") },
	{ .name = "lines",
	  .help = "with --format top: source lines instead of methods; html and json have them "
		  "anyway",
	  OPTION_FIELD(struct dump_view, lines) },
	{ OPTION_ROW_OWN(struct dump_view, own) },
	{ .name = "idle",
	  .help = "of events that are waiting: threads that never ran, too, below the frame [idle]; "
		  "with --format top also those that wait for work, as in the queues of pools",
	  OPTION_FIELD(struct dump_view, idle) },
	{ .name = NULL },
};

bool dump_view_is_of_labels(const struct dump_view *view)
{
	return view->format == DUMP_FORMAT_TOP && view->by_cnt && !view->callers;
}

bool dump_view_marks_threads(const struct dump_view *view)
{
	for (size_t i = 0; i < view->by_cnt; i++) {
		if (view->by[i] == DUMP_BY_THREAD)
			return false;
	}
	return view->format == DUMP_FORMAT_JSON || view->format == DUMP_FORMAT_PPROF ||
	       view->format == DUMP_FORMAT_SPEEDSCOPE || view->format == DUMP_FORMAT_OTLP;
}

/* In these a line that is asked for comes out anyway. */
static bool format_has_lines(enum dump_format format)
{
	return format == DUMP_FORMAT_HTML || format == DUMP_FORMAT_JSON;
}

/* Lines are of Java code, and their counts those of whole windows: of all threads, and of all that ran. */
bool dump_view_has_lines(const struct dump_view *view, const struct selection *selection,
			 enum event event)
{
	bool is_for_files = view->format == DUMP_FORMAT_PPROF ||
			    view->format == DUMP_FORMAT_SPEEDSCOPE ||
			    view->format == DUMP_FORMAT_OTLP;

	if ((event_is_view(event) || selection_is_of_threads(selection)) && !is_for_files)
		return false;
	return (view->lines || format_has_lines(view->format) || is_for_files) &&
	       selection->kind <= SELECT_KIND_JAVA;
}

bool dump_view_hides_idle(const struct dump_view *view, enum event event)
{
	/* The page has a switch for them. */
	return event_has_waits(event) && !view->idle && view->format != DUMP_FORMAT_HTML;
}

bool dump_view_hides_waiting(const struct dump_view *view)
{
	/* Programs that read the other forms count for themselves. */
	return view->format == DUMP_FORMAT_TOP && !view->idle;
}

const char *dump_view_not_for_terminal(const struct dump_view *view)
{
	switch (view->format) {
	case DUMP_FORMAT_HTML:
	case DUMP_FORMAT_SVG:
		return "a picture";
	case DUMP_FORMAT_PPROF:
	case DUMP_FORMAT_OTLP:
		return "a binary file";
	default:
		return NULL;
	}
}

/* What goes with --format top only, and there with what. */
static int check_top(struct option_walk *walk, const struct dump_view *view)
{
	static const char *const only[] = { "sort", "rows", "callers" };
	bool is_methods = !view->lines && !view->callers && !view->by_cnt;

	for (size_t i = 0; i < sizeof(only) / sizeof(only[0]); i++) {
		if (options_given(walk, only[i]) && view->format != DUMP_FORMAT_TOP)
			return options_refuse(walk, "--%s goes with --format top only", only[i]);
	}
	if (view->callers && view->lines)
		return options_refuse(walk, "--callers does not go with --lines");
	if (view->callers && options_given(walk, "rows"))
		return options_refuse(walk,
				      "--rows does not go with --callers, which shows what has "
				      "1 %% of the samples or more");
	if (view->format == DUMP_FORMAT_TOP && view->lines && view->by_cnt)
		return options_refuse(walk, "--by does not go with --lines");
	if (options_given(walk, "sort") && !is_methods)
		return options_refuse(walk, "--sort is for the table of methods: leave out %s",
				      view->lines   ? "--lines" :
				      view->callers ? "--callers" :
						      "--by");
	return 0;
}

/* Own code is cut out of stacks: what comes out must be made of them. */
static int check_own(struct option_walk *walk, const struct dump_view *view)
{
	bool is_lines = view->lines && view->format == DUMP_FORMAT_TOP;

	if (!view->own ||
	    !(view->format == DUMP_FORMAT_CELLS || is_lines || dump_view_is_of_labels(view)))
		return 0;
	return options_refuse(walk, "--own does not go with %s, which has no stacks",
			      is_lines	   ? "--lines" :
			      view->by_cnt ? "a table of --by" :
					     "--format cells");
}

static int check_lines(struct option_walk *walk, const struct dump_view *view,
		       const struct selection *selection, enum event event)
{
	if (!view->lines)
		return 0;
	if (view->format != DUMP_FORMAT_TOP && !format_has_lines(view->format))
		return options_refuse(walk,
				      "--lines goes with --format top, html and json: lines are "
				      "known by method, not by stack");
	if (selection->kind > SELECT_KIND_JAVA)
		return options_refuse(walk, "--lines: only Java code has source lines");
	if (selection_is_of_threads(selection))
		return options_refuse(walk, "--lines does not go with --thread: lines are counted "
					    "for all threads of a process");
	if (event_is_view(event))
		return options_refuse(walk,
				      "--lines does not go with --event %s: lines are counted "
				      "for cpu and off-cpu as a whole",
				      event_name(event));
	return 0;
}

/*
 * OTLP has the samples of a resource together: with another label in front, stacks of one resource would be apart
 * in their order, and the resource there as often.
 */
static void put_resources_first(struct dump_view *view)
{
	enum dump_by sorted[DUMP_BY_CNT];
	size_t cnt = 0;

	for (int of_resource = 1; of_resource >= 0; of_resource--) {
		for (size_t i = 0; i < view->by_cnt; i++) {
			bool is_of_resource = false;

			(void)otlp_label_key(dump_by_names[view->by[i]], &is_of_resource);
			if (is_of_resource == (of_resource != 0))
				sorted[cnt++] = view->by[i];
		}
	}
	memcpy(view->by, sorted, cnt * sizeof(*sorted));
}

int dump_view_settle(struct option_walk *walk, struct dump_view *view,
		     const struct selection *selection, enum event event)
{
	if (view->format == DUMP_FORMAT_OTLP)
		put_resources_first(view);
	if (view->has_by_none && view->by_cnt)
		return options_refuse(walk, "--by none does not go with another --by");
	if (view->idle && !event_has_waits(event))
		return options_refuse(walk, "--idle goes with --event off-cpu, sched, wall, lock "
					    "and disk only");
	if (check_lines(walk, view, selection, event) || check_own(walk, view))
		return -EINVAL;
	return check_top(walk, view);
}

void dump_view_labels(const struct dump_view *view, struct output_label labels[static DUMP_BY_CNT],
		      struct output_info *info)
{
	info->labels = labels;
	info->label_cnt = view->by_cnt;
	for (size_t i = 0; i < view->by_cnt; i++) {
		labels[i].name = dump_by_names[view->by[i]];
		labels[i].is_number = view->by[i] == DUMP_BY_PID;
	}
}

void dump_view_label_names(const struct dump_view *view, const char *names[static DUMP_BY_CNT])
{
	for (size_t i = 0; i < view->by_cnt; i++)
		names[i] = dump_by_names[view->by[i]];
}

/* A picture of one box does not say that no name matches. */
static bool is_all_other(const struct profile *charged)
{
	size_t cnt = profile__stack_count(charged);

	for (size_t i = 0; i < cnt; i++) {
		struct profile_stack stack = profile__stack(charged, i);
		struct text text = { stack.text, stack.len };

		if (!text_ends_with(text, TEXT(";" OWN_CODE_OTHER)) &&
		    !text_ends_with(text, TEXT(";" STACK_LINE_CPU_WAIT)))
			return false;
	}
	return cnt > 0;
}

/* Does a frame go on where this package or class ends, as "shop.Cart" after "shop"? */
static bool is_prefix_of_some(const struct profile *profile, const char *own)
{
	size_t len = strlen(own);

	for (size_t i = 0; i < profile__stack_count(profile); i++) {
		struct profile_stack stack = profile__stack(profile, i);
		const char *end = stack.text + stack.len;

		for (const char *at = stack.text; at && end - at > (ptrdiff_t)len;) {
			if (memcmp(at, own, len) == 0 && strchr(".$", at[len]))
				return true;
			at = memchr(at, ';', (size_t)(end - at));
			at += at != NULL;
		}
	}
	return false;
}

static void warn_no_own(const struct profile *profile, const char *own)
{
	bool is_near = is_prefix_of_some(profile, own);

	pr_warn("--own: no frame matches '%s', so that all is " OWN_CODE_OTHER "; %s%s%s\n", own,
		is_near ? "did you mean '" : "names are those of --format top", is_near ? own : "",
		is_near ? "*'?" : "");
}

/* The page does it itself, and can show all again. */
static int charge_own(const struct dump_view *view, struct profile **profile)
{
	struct profile *charged;
	int err;

	if (!view->own || view->format == DUMP_FORMAT_HTML)
		return 0;
	charged = profile__new();
	if (!charged)
		return -ENOMEM;
	err = own_code_charge(*profile, view->own, view->by_cnt, charged);
	if (!err && is_all_other(charged))
		warn_no_own(*profile, view->own);
	profile__free(*profile);
	*profile = charged;
	return err;
}

static int render_top(const struct dump_view *view, struct profile *profile,
		      const struct output_info *info, struct strbuf *out)
{
	if (view->lines)
		return output_lines(profile, info, view->row_max, out);
	if (view->callers)
		return output_callers(profile, info, view->callers, out);
	if (view->by_cnt)
		return by_table(profile, info, view->row_max, out);
	return output_top(profile, info, view->order, view->row_max, out);
}

int dump_view_render(const struct dump_view *view, struct profile **profile,
		     struct output_info *info, struct strbuf *out)
{
	int err = charge_own(view, profile);

	if (err)
		return err;
	switch (view->format) {
	case DUMP_FORMAT_HTML:
		return output_html(*profile, info, out);
	case DUMP_FORMAT_SVG:
		return output_svg(*profile, info, out);
	case DUMP_FORMAT_TOP:
		return render_top(view, *profile, info, out);
	case DUMP_FORMAT_JSON:
		return output_json(*profile, info, out);
	case DUMP_FORMAT_PPROF:
		return output_pprof(*profile, info, out);
	case DUMP_FORMAT_SPEEDSCOPE:
		return output_speedscope(*profile, info, out);
	case DUMP_FORMAT_OTLP:
		return output_otlp(*profile, info, out);
	case DUMP_FORMAT_FOLDED:
	case DUMP_FORMAT_CELLS:
		break;
	}
	err = output_folded(*profile, out);
	return err ? err : cmd_write_prepare_lines(view->output, out);
}

void dump_view_no_method(const struct dump_view *view, const struct strbuf *nearest)
{
	pr_err("no method matches '%s'%s%s%s\n", view->callers,
	       nearest->len ? "; did you mean " : "", strbuf_str(nearest), nearest->len ? "?" : "");
}
