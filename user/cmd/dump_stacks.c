// SPDX-License-Identifier: Apache-2.0
/*
 * Without labels, --kind and threads a window's text goes into the profile as it is, which makes a day
 * fast. Otherwise each line is read: its leaf decides the kind, the labels become the first frames, and
 * it is divided among its threads.
 */
#include "user/cmd/dump_stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "user/model/event_view.h"
#include "user/model/folded_line.h"
#include "user/model/stack_text.h"
#include "user/model/thread_counts.h"
#include "user/model/waiting_place.h"
#include "user/output/output.h"
#include "user/util/lines.h"
#include "user/util/saturate.h"

/* A window being added. */
struct adding {
	const struct dump_stacks *wanted;
	const struct window *window;
	struct profile *profile;
	size_t *bad_line_cnt;
	struct thread_reader threads;
	uint64_t weight;     /* of a sample: event_weight() */
	uint64_t *hidden;    /* the present line is only counted, here; NULL = it is shown */
	const char *thread;  /* whose labels are in `stack` */
	size_t labels_len;   /* of these */
	struct strbuf stack; /* what is added */
	bool wants_threads;
};

int dump_stacks_init(struct dump_stacks *stacks, const struct dump_view *view,
		     const struct selection *selection, enum event event, struct output_info *info)
{
	info->event = event;
	info->shows_idle = view->idle;
	info->own = view->own;
	info->is_part = selection_is_of_parts(selection);
	info->has_threads = dump_view_marks_threads(view);
	*stacks = (struct dump_stacks){
		.selection = selection,
		.event = event,
		.by = view->by,
		.by_cnt = view->by_cnt,
		.labels_only = dump_view_is_of_labels(view),
		.marks_threads = info->has_threads,
		.hidden_samples = dump_view_hides_idle(view, event) ? info->hidden_samples : NULL,
		.hides_waiting = dump_view_hides_waiting(view),
		.known = event_stacks__new(event),
	};
	return stacks->known ? 0 : -ENOMEM;
}

void dump_stacks_release(struct dump_stacks *stacks)
{
	event_stacks__free(stacks->known);
	stacks->known = NULL;
}

bool dump_stacks_wants_threads(const struct dump_stacks *wanted)
{
	for (size_t i = 0; i < wanted->by_cnt; i++) {
		if (wanted->by[i] == DUMP_BY_THREAD)
			return true;
	}
	return wanted->marks_threads || selection_is_of_threads(wanted->selection);
}

bool dump_stacks_wants_text(const struct dump_stacks *wanted)
{
	return !wanted->labels_only || wanted->selection->kind != SELECT_KIND_ANY ||
	       wanted->hidden_samples || event_is_view(wanted->event) ||
	       dump_stacks_wants_threads(wanted);
}

static const enum window_label by_labels[DUMP_BY_CNT] = {
	[DUMP_BY_CONTAINER] = WINDOW_LABEL_CONTAINER, [DUMP_BY_POD] = WINDOW_LABEL_POD,
	[DUMP_BY_NAMESPACE] = WINDOW_LABEL_NAMESPACE, [DUMP_BY_SERVICE] = WINDOW_LABEL_SERVICE,
	[DUMP_BY_IMAGE] = WINDOW_LABEL_IMAGE,	      [DUMP_BY_HOST] = WINDOW_LABEL_HOST,
	[DUMP_BY_COMM] = WINDOW_LABEL_COMM,
};

bool dump_stacks_add_up(const struct dump_stacks *wanted)
{
	return !event_is_view(wanted->event) && !dump_stacks_wants_threads(wanted);
}

bool dump_stacks_are_alike(const struct dump_stacks *wanted, const struct window *a,
			   const struct window *b)
{
	if (a->event != b->event)
		return false;
	for (size_t i = 0; i < wanted->by_cnt; i++) {
		enum dump_by by = wanted->by[i];

		if (by == DUMP_BY_PID ? a->pid != b->pid :
					strcmp(window_label(a, by_labels[by]),
					       window_label(b, by_labels[by])) != 0)
			return false;
	}
	return true;
}

static const char *label_text(const struct adding *adding, enum dump_by by, char pid[static 16])
{
	if (by == DUMP_BY_THREAD)
		return adding->thread;
	if (by != DUMP_BY_PID)
		return window_label(adding->window, by_labels[by]);
	(void)snprintf(pid, 16, "%" PRIu32, adding->window->pid);
	return pid;
}

/* "shop-1;4711;", every label escaped as a frame. */
static int put_labels(struct adding *adding, const char *thread)
{
	const struct dump_stacks *wanted = adding->wanted;
	struct strbuf *out = &adding->stack;

	strbuf_clear(out);
	adding->thread = thread;
	for (size_t i = 0; i < wanted->by_cnt; i++) {
		char pid[16];
		const char *text = label_text(adding, wanted->by[i], pid);
		int err =
			stack_text_append(out, *text ? text : OUTPUT_LABEL_NONE, FRAME_KIND_NATIVE);

		if (err)
			return err;
	}
	if (wanted->by_cnt && !wanted->labels_only)
		strbuf_putc(out, ';');
	adding->labels_len = out->len;
	return strbuf_error(out);
}

/* A stack of the thread whose labels are there. */
static int add_stack(struct adding *adding, const char *stack, size_t len, uint64_t samples)
{
	uint64_t count = multiply_saturated(samples, adding->weight);
	struct strbuf *out = &adding->stack;
	int err;

	if (adding->hidden) {
		*adding->hidden += count;
		return 0;
	}
	if (!adding->labels_len && !adding->wanted->marks_threads)
		return profile__add(adding->profile, stack, len, count);
	if (adding->wanted->labels_only)
		return profile__add(adding->profile, strbuf_str(out), out->len, count);
	strbuf_append(out, stack, len);
	if (adding->wanted->marks_threads) {
		strbuf_putc(out, STACK_TEXT_THREAD_MARK);
		strbuf_puts(out, adding->thread);
	}
	err = strbuf_error(out);
	if (!err)
		err = profile__add(adding->profile, out->data, out->len, count);
	strbuf_truncate(out, adding->labels_len);
	return err;
}

static int add_threads(struct adding *adding, const char *stack, size_t len, uint64_t count,
		       bool is_wanted)
{
	struct thread_part part;
	int err = 0;

	thread_reader_line(&adding->threads, count);
	while (!err && is_wanted && thread_reader_next(&adding->threads, &part)) {
		const char *name = part.name ? part.name : THREAD_NAME_UNKNOWN;

		if (!selection_takes_thread(adding->wanted->selection, name))
			continue;
		/* Mostly it is the thread of the line before. */
		if (name != adding->thread)
			err = put_labels(adding, name);
		if (!err)
			err = add_stack(adding, stack, len, part.count);
	}
	return err;
}

/* Of EVENT_WALL: a thread that runs in such a place does not wait there. */
static bool may_hide(const struct adding *adding)
{
	return adding->wanted->hidden_samples && adding->window->event != EVENT_CPU;
}

/* Is it one of the view, and where does it wait? Places are looked for where they are hidden alone. */
static struct event_stack look_at(const struct adding *adding, const char *stack, size_t len)
{
	const struct dump_stacks *wanted = adding->wanted;
	bool is_hidden_place = may_hide(adding) && wanted->hides_waiting;

	if (is_hidden_place || event_is_of_stacks(wanted->event))
		return event_stacks__get(wanted->known, stack, len);
	return (struct event_stack){ .is_taken = true, .place = WAITING_PLACE_CNT };
}

/* Where the samples of a stack that is not shown are counted; NULL = it is shown. */
static uint64_t *hidden_of(const struct adding *adding, enum waiting_place place, const char *stack,
			   size_t len)
{
	const struct dump_stacks *wanted = adding->wanted;

	if (!may_hide(adding))
		return NULL;
	if (!wanted->hides_waiting)
		place = waiting_is_idle(stack, len) ? WAITING_IDLE : WAITING_PLACE_CNT;
	return place < WAITING_PLACE_CNT ? &wanted->hidden_samples[place] : NULL;
}

static int add_line(struct adding *adding, const char *line, size_t len)
{
	struct stack_frame leaf;
	size_t stack_len;
	uint64_t count;
	struct event_stack found;
	bool is_wanted;

	if (!folded_line_split(line, len, &stack_len, &count) ||
	    !stack_text_leaf(line, stack_len, &leaf)) {
		(*adding->bad_line_cnt)++;
		return 0;
	}
	is_wanted = select_kind_matches(adding->wanted->selection->kind, leaf.kind);
	found = look_at(adding, line, stack_len);
	is_wanted = is_wanted && found.is_taken;
	adding->hidden = is_wanted ? hidden_of(adding, found.place, line, stack_len) : NULL;
	if (adding->wants_threads)
		return add_threads(adding, line, stack_len, count, is_wanted);
	return is_wanted ? add_stack(adding, line, stack_len, count) : 0;
}

static int add_lines(struct adding *adding, const char *text, size_t len)
{
	const struct window *window = adding->window;
	struct lines lines = lines_init(text, len);
	struct line line;
	int err = put_labels(adding, THREAD_NAME_UNKNOWN);

	if (!err && adding->wants_threads)
		err = thread_reader_open(&adding->threads, window->threads,
					 (size_t)window->threads_len);
	if (err == -EINVAL) {
		(*adding->bad_line_cnt)++;
		err = 0;
	}
	while (!err && lines_next(&lines, &line))
		err = add_line(adding, line.at, line.len);
	return err;
}

/* Of a process as a whole: no stack, no thread. */
static int add_cpu_wait(struct adding *adding)
{
	const struct dump_stacks *wanted = adding->wanted;
	uint64_t count = event_cpu_wait_ns(wanted->event, wanted->selection, adding->window) /
			 EVENT_WALL_PERIOD_NS;
	__cleanup_strbuf struct strbuf stack = STRBUF_INIT;
	int err;

	if (!count)
		return 0;
	err = event_cpu_wait_stack(&stack, adding->window);
	if (!err)
		err = put_labels(adding, THREAD_NAME_UNKNOWN);
	adding->weight = 1;
	adding->hidden = NULL;
	return err ? err : add_stack(adding, stack.data, stack.len, count);
}

int dump_stacks_add(const struct dump_stacks *wanted, const struct window *window, const char *text,
		    size_t len, struct profile *profile, size_t *bad_line_cnt)
{
	struct adding adding = {
		.wanted = wanted,
		.window = window,
		.profile = profile,
		.bad_line_cnt = bad_line_cnt,
		.weight = event_weight(wanted->event, window),
		.wants_threads = dump_stacks_wants_threads(wanted),
	};
	size_t bad_cnt = 0;
	int err;

	if (wanted->by_cnt == 0 && wanted->selection->kind == SELECT_KIND_ANY &&
	    !adding.wants_threads && !wanted->hidden_samples && !event_is_view(wanted->event)) {
		err = profile__add_folded(profile, text, len, &bad_cnt);
		*bad_line_cnt += bad_cnt;
		return err;
	}
	/* What its samples stand for is missing. */
	if (!adding.weight) {
		(*bad_line_cnt)++;
		return 0;
	}
	err = add_lines(&adding, text, len);
	if (!err)
		err = add_cpu_wait(&adding);
	thread_reader_release(&adding.threads);
	strbuf_release(&adding.stack);
	return err;
}

int dump_stacks_add_labels(const struct dump_stacks *wanted, const struct window *window,
			   struct profile *profile)
{
	struct adding adding = {
		.wanted = wanted, .window = window, .profile = profile, .weight = 1
	};
	int err = put_labels(&adding, THREAD_NAME_UNKNOWN);

	if (!err)
		err = add_stack(&adding, "", 0, window->counts.samples);
	strbuf_release(&adding.stack);
	return err;
}
