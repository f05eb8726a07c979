// SPDX-License-Identifier: Apache-2.0
/* Windows as the model of jbpf top keeps them; see top_piece.h. */
#include "user/top/top_piece.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/cells.h"
#include "user/model/event_view.h"
#include "user/model/folded_line.h"
#include "user/model/stack_text.h"
#include "user/model/thread_counts.h"
#include "user/model/waiting_place.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/lines.h"
#include "user/util/strbuf.h"

#define SECONDS_MAX 3602u /* of the longest window, wherever in a second it begins */

bool top_window_is_contained(const struct window *window)
{
	return *window_label(window, WINDOW_LABEL_CONTAINER) ||
	       *window_label(window, WINDOW_LABEL_CONTAINER_ID);
}

/* Threads of the kernel carry their CPU or their work behind a slash: "kworker/0:1-events". */
static size_t comm_len(const struct window *window, const char *comm)
{
	const char *slash = strchr(comm, '/');

	return slash && slash > comm && !*window_label(window, WINDOW_LABEL_EXE) ?
		       (size_t)(slash - comm) :
		       strlen(comm);
}

void top_window_name(const struct window *window, struct strbuf *out)
{
	const char *comm = window_label(window, WINDOW_LABEL_COMM);
	const char *pod = window_label(window, WINDOW_LABEL_POD);
	const char *container = window_label(window, WINDOW_LABEL_CONTAINER);

	if (!top_window_is_contained(window)) {
		strbuf_append(out, comm, comm_len(window, comm));
		return;
	}
	if (*pod)
		strbuf_printf(out, "%s/", pod);
	strbuf_puts(out, *container ? container : window_label(window, WINDOW_LABEL_CONTAINER_ID));
}

static int make_key(struct top_piece *piece)
{
	__cleanup_strbuf struct strbuf key = STRBUF_INIT;
	const struct window *window = &piece->window;

	if (top_window_is_contained(window))
		strbuf_printf(&key, "container %s ",
			      window_label(window, WINDOW_LABEL_CONTAINER_ID));
	else
		strbuf_puts(&key, "host ");
	top_window_name(window, &key);
	piece->key = strbuf_error(&key) ? NULL : strdup(strbuf_str(&key));
	return piece->key ? 0 : -ENOMEM;
}

static int copy_labels(struct window *window)
{
	const char *labels[WINDOW_LABEL_CNT];
	bool is_short = false;

	memcpy(labels, window->labels, sizeof(labels));
	for (int i = 0; i < WINDOW_LABEL_CNT; i++) {
		window->labels[i] = labels[i] ? strdup(labels[i]) : NULL;
		is_short = is_short || (labels[i] && !window->labels[i]);
	}
	return is_short ? -ENOMEM : 0;
}

static void free_labels(struct window *window)
{
	for (int i = 0; i < WINDOW_LABEL_CNT; i++) {
		free((void *)(uintptr_t)window->labels[i]);
		window->labels[i] = NULL;
	}
}

/* Samples of which no moment is known are spread over the window. */
static void spread(struct top_piece *piece, double samples)
{
	uint64_t begin = piece->window.start_unix_ns;
	uint64_t end = window_end_unix_ns(&piece->window);

	for (uint32_t i = 0; i < piece->second_cnt && end > begin; i++) {
		uint64_t from = (begin / CLOCK_NS_PER_S + i) * CLOCK_NS_PER_S;
		uint64_t to = from + CLOCK_NS_PER_S;

		from = from < begin ? begin : from;
		to = to > end ? end : to;
		if (to > from)
			piece->seconds[i] +=
				(float)(samples * (double)(to - from) / (double)(end - begin));
	}
}

/* Returns the samples that the cells have. */
static double add_cells(struct top_piece *piece, const uint8_t *cells, size_t len)
{
	struct cells_reader reader = cells_reader_init(cells, len);
	uint64_t first_s = piece->window.start_unix_ns / CLOCK_NS_PER_S;
	uint64_t first_cell = cell_of(piece->window.start_unix_ns);
	double samples = 0;
	struct cell cell;

	while (cells_next(&reader, &cell)) {
		uint64_t second = (first_cell + cell.index) * CELL_NS / CLOCK_NS_PER_S - first_s;

		if (second >= piece->second_cnt)
			second = piece->second_cnt - 1;
		piece->seconds[second] += (float)cell.count;
		samples += cell.count;
	}
	return samples;
}

static int make_seconds(struct top_piece *piece, const uint8_t *cells, size_t len)
{
	const struct window *window = &piece->window;
	uint64_t last_ns = window_end_unix_ns(window) - (window->duration_ns > 0);
	uint64_t cnt = last_ns / CLOCK_NS_PER_S - window->start_unix_ns / CLOCK_NS_PER_S + 1;
	double timed = 0;

	piece->second_cnt = cnt < SECONDS_MAX ? (uint32_t)cnt : SECONDS_MAX;
	piece->seconds = calloc(piece->second_cnt, sizeof(*piece->seconds));
	if (!piece->seconds)
		return -ENOMEM;
	if (cells)
		timed = add_cells(piece, cells, len);
	if ((double)window->counts.samples > timed)
		spread(piece, (double)window->counts.samples - timed);
	return 0;
}

/* Java code of every tier becomes compiled code, in place: a method is one whatever its tier. */
static void merge_tiers(char *stack, size_t len)
{
	for (size_t i = 0; i + 4 <= len; i++) {
		bool is_end = i + 4 == len || stack[i + 4] == ';';

		if (is_end && stack[i] == '_' && stack[i + 1] == '[' && stack[i + 3] == ']' &&
		    strchr("01i", stack[i + 2]))
			stack[i + 2] = 'j';
	}
}

/* What is needed while a text is added. */
struct adding {
	const struct selection *selection;
	struct profile *stacks;
	struct thread_reader threads;
	struct strbuf stack; /* what is added */
	bool is_of_waits;
	uint64_t waits_for_work; /* samples, which are left out */
};

/* The stack of one thread. 0 or -ENOMEM. */
static int add_stack(struct adding *adding, const char *stack, size_t len, const char *thread,
		     uint64_t count)
{
	struct strbuf *out = &adding->stack;
	int err;

	strbuf_clear(out);
	err = stack_text_append(out, thread, FRAME_KIND_NATIVE);
	if (err)
		return err;
	strbuf_putc(out, ';');
	strbuf_append(out, stack, len);
	if (strbuf_error(out))
		return -ENOMEM;
	merge_tiers(out->data, out->len);
	return profile__add(adding->stacks, out->data, out->len, count);
}

static int add_line(struct adding *adding, const char *line, size_t len)
{
	struct thread_part part;
	struct stack_frame leaf;
	size_t stack_len;
	uint64_t count;
	bool is_wanted, is_for_work;
	int err = 0;

	if (!folded_line_split(line, len, &stack_len, &count) ||
	    !stack_text_leaf(line, stack_len, &leaf))
		return 0;
	is_wanted = select_kind_matches(adding->selection->kind, leaf.kind);
	is_for_work = is_wanted && adding->is_of_waits &&
		      waiting_place_of(line, stack_len) != WAITING_PLACE_CNT;
	thread_reader_line(&adding->threads, count);
	while (!err && is_wanted && thread_reader_next(&adding->threads, &part)) {
		const char *thread = part.name ? part.name : THREAD_NAME_UNKNOWN;

		if (!selection_takes_thread(adding->selection, thread))
			continue;
		if (is_for_work)
			adding->waits_for_work += part.count;
		else
			err = add_stack(adding, line, stack_len, thread, part.count);
	}
	return err;
}

static int add_text(struct top_piece *piece, const struct window *window, const char *text,
		    size_t len, const struct selection *selection)
{
	struct adding adding = {
		.selection = selection,
		.stacks = profile__new(),
		.is_of_waits = event_has_waits(window->event),
	};
	struct lines lines = lines_init(text, len);
	struct line line;
	int err = adding.stacks ? thread_reader_open(&adding.threads, window->threads,
						     (size_t)window->threads_len) :
				  -ENOMEM;

	/* Broken code of threads: they are unknown. */
	if (err == -EINVAL)
		err = 0;
	while (!err && lines_next(&lines, &line))
		err = add_line(&adding, line.at, line.len);
	thread_reader_release(&adding.threads);
	strbuf_release(&adding.stack);
	piece->stacks = adding.stacks;
	piece->waits_for_work = adding.waits_for_work;
	return err;
}

int top_piece_init(struct top_piece *piece, const struct window *window, const char *text,
		   size_t len, const struct selection *selection)
{
	bool is_part = selection_is_of_parts(selection) || event_has_waits(window->event);
	int err;

	*piece = (struct top_piece){ .window = *window };
	piece->window.lines = NULL;
	piece->window.cells = NULL;
	piece->window.threads = NULL;
	err = copy_labels(&piece->window);
	if (!err)
		err = make_key(piece);
	if (!err)
		err = add_text(piece, window, text, len, selection);
	if (!err && is_part)
		piece->window.counts.samples = profile__sample_count(piece->stacks);
	/* Cells know neither leafs nor threads. */
	if (!err)
		err = make_seconds(piece, is_part ? NULL : window->cells, window->cells_len);
	if (err)
		top_piece_release(piece);
	return err;
}

int top_piece_merge(struct top_piece *piece, struct top_piece *other)
{
	size_t cnt = profile__stack_count(other->stacks);
	uint64_t end = window_end_unix_ns(&piece->window);
	uint64_t other_end = window_end_unix_ns(&other->window);
	struct window_counts counts = piece->window.counts;
	uint64_t begin = piece->window.start_unix_ns;

	for (size_t i = 0; i < cnt; i++) {
		struct profile_stack stack = profile__stack(other->stacks, i);
		int err = profile__add(piece->stacks, stack.text, stack.len, stack.count);

		if (err)
			return err;
	}
	window_counts_add(&counts, &other->window.counts);
	piece->waits_for_work += other->waits_for_work;
	if (other_end >= end) {
		struct window older = piece->window;

		piece->window = other->window;
		other->window = older;
		end = other_end;
	}
	if (other->window.start_unix_ns < begin)
		begin = other->window.start_unix_ns;
	if (piece->window.start_unix_ns < begin)
		begin = piece->window.start_unix_ns;
	piece->window.start_unix_ns = begin;
	piece->window.duration_ns = end - begin;
	piece->window.counts = counts;
	return 0;
}

void top_piece_drop_stacks(struct top_piece *piece)
{
	profile__free(take_ptr(piece->stacks));
}

void top_piece_release(struct top_piece *piece)
{
	free_labels(&piece->window);
	top_piece_drop_stacks(piece);
	free(take_ptr(piece->key));
	free(take_ptr(piece->seconds));
}

float top_piece_at(const struct top_piece *piece, uint64_t unix_s)
{
	uint64_t first_s = piece->window.start_unix_ns / CLOCK_NS_PER_S;

	if (unix_s < first_s || unix_s - first_s >= piece->second_cnt)
		return 0;
	return piece->seconds[unix_s - first_s];
}
