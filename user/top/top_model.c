// SPDX-License-Identifier: Apache-2.0
/* The last minute of all streams, and rows made of it; see top_model.h. */
#include "user/top/top_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/event_view.h"
#include "user/model/stack_text.h"
#include "user/top/top_piece.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/saturate.h"
#include "user/util/strbuf.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

#define NOW_NS	   (TOP_NOW_S * CLOCK_NS_PER_S)
#define RUNNING_NS (TOP_RUNNING_S * CLOCK_NS_PER_S)
#define HISTORY_NS (TOP_HISTORY_S * CLOCK_NS_PER_S)
/* Windows end a moment before or after their multiple of ten seconds. */
#define SLACK_NS (CLOCK_NS_PER_S / 2)

#define OTHERS_MAX 1000 /* streams that are not selected */

/* A host record, without labels. */
struct host_piece {
	struct window window;
	bool is_running;
};

struct top_model {
	const struct selection *selection;
	enum top_span span;
	struct top_piece *pieces; /* of streams, in the order they came */
	size_t piece_cnt;
	size_t piece_cap;
	struct host_piece *hosts;
	size_t host_cnt;
	size_t host_cap;
	struct strtab *streams;		/* TOP_SPAN_WHOLE: identity -> index of its piece */
	uint64_t newest_ns[EVENT_CNT];	/* end of the newest host record; 0 = none */
	uint64_t running_ns[EVENT_CNT]; /* the same of parts of the window that runs */
	uint64_t undone_ns[EVENT_CNT];	/* see begin_again(); else 0 */
	uint64_t frozen_ns[EVENT_CNT];	/* both when it was frozen */
	uint64_t frozen_running_ns[EVENT_CNT];
	bool is_frozen;
	uint64_t generation;
	struct streams others;
};

struct top_model *top_model__new(const struct selection *selection, enum top_span span)
{
	struct top_model *model = calloc(1, sizeof(*model));

	if (!model)
		return NULL;
	model->selection = selection;
	model->span = span;
	model->streams = strtab__new();
	if (!model->streams)
		free(take_ptr(model));
	return model;
}

void top_model__free(struct top_model *model)
{
	if (!model)
		return;
	for (size_t i = 0; i < model->piece_cnt; i++)
		top_piece_release(&model->pieces[i]);
	free(model->pieces);
	free(model->hosts);
	strtab__free(model->streams);
	streams_release(&model->others);
	free(model);
}

uint64_t top_model__generation(const struct top_model *model)
{
	return model->generation;
}

/* ---- which windows count ---- */

/* The end of now. */
static uint64_t end_of(const struct top_model *model, enum event event)
{
	return model->is_frozen ? model->frozen_ns[event] : model->newest_ns[event];
}

/* The end of all parts of the window that runs; 0: windows that have ended are newer, or there are none. */
static uint64_t running_end_of(const struct top_model *model, enum event event)
{
	uint64_t end = model->is_frozen ? model->frozen_running_ns[event] :
					  model->running_ns[event];

	return end > end_of(model, event) ? end : 0;
}

/* Does the window reach into the last `span_ns` before `end_ns`, and not beyond? */
static bool is_within(const struct window *window, uint64_t end_ns, uint64_t span_ns)
{
	uint64_t end = window_end_unix_ns(window);

	return end <= end_ns && (end == end_ns || end_ns - end + SLACK_NS < span_ns);
}

/* Is it of the time of a window that has ended by `end_ns`? */
static bool is_overtaken(const struct window *window, uint64_t end_ns)
{
	return window_end_unix_ns(window) <= end_ns + SLACK_NS / 2;
}

/* Is a part of the window that runs among those that are shown, of the last `span_ns`? */
static bool is_running_within(const struct top_model *model, const struct window *window,
			      uint64_t span_ns)
{
	enum event event = (enum event)window->event;
	uint64_t end_ns = running_end_of(model, event);

	return end_ns && is_within(window, end_ns, span_ns) &&
	       !is_overtaken(window, end_of(model, event));
}

/* Of those that have ended: is it one of the newest, which stacks are of? */
static bool is_now(const struct top_model *model, const struct window *window)
{
	uint64_t end_ns = end_of(model, (enum event)window->event);

	return model->span == TOP_SPAN_WHOLE || is_within(window, end_ns, NOW_NS);
}

/* The minute is that before now, whichever of both that is. */
static bool is_in_history(const struct top_model *model, const struct window *window)
{
	uint64_t end_ns = end_of(model, (enum event)window->event);
	uint64_t running_ns = running_end_of(model, (enum event)window->event);

	return model->span == TOP_SPAN_WHOLE ||
	       (window_end_unix_ns(window) <= end_ns &&
		is_within(window, running_ns ? running_ns : end_ns, HISTORY_NS));
}

/*
 * Is it within the span of what was frozen, or of what is new? Streams come before their host
 * record: they may be newer than the newest one.
 */
static bool is_needed(const struct top_model *model, const struct window *window, uint64_t span_ns)
{
	return window_end_unix_ns(window) > model->newest_ns[window->event] ||
	       is_within(window, model->newest_ns[window->event], span_ns) ||
	       (model->is_frozen && is_within(window, model->frozen_ns[window->event], span_ns));
}

static bool is_running_needed(const struct top_model *model, const struct window *window)
{
	uint64_t newest_ns = model->newest_ns[window->event];

	if (model->is_frozen)
		newest_ns = model->frozen_ns[window->event];
	return !is_overtaken(window, newest_ns) &&
	       (window_end_unix_ns(window) > model->running_ns[window->event] ||
		is_within(window, model->running_ns[window->event], HISTORY_NS) ||
		(model->is_frozen &&
		 is_within(window, model->frozen_running_ns[window->event], HISTORY_NS)));
}

static bool is_piece_needed(const struct top_model *model, const struct window *window,
			    bool is_running, uint64_t span_ns)
{
	uint64_t undone_ns = model->undone_ns[window->event];

	if (undone_ns && window_end_unix_ns(window) > undone_ns)
		return false;
	return is_running ? is_running_needed(model, window) : is_needed(model, window, span_ns);
}

static void prune(struct top_model *model)
{
	size_t kept = 0;

	for (size_t i = 0; i < model->piece_cnt; i++) {
		struct top_piece *piece = &model->pieces[i];

		if (!is_piece_needed(model, &piece->window, piece->is_running, HISTORY_NS)) {
			top_piece_release(piece);
			continue;
		}
		if (!piece->is_running && !is_needed(model, &piece->window, NOW_NS))
			top_piece_drop_stacks(piece);
		model->pieces[kept++] = *piece;
	}
	model->piece_cnt = kept;
	kept = 0;
	for (size_t i = 0; i < model->host_cnt; i++) {
		const struct host_piece *host = &model->hosts[i];

		if (is_piece_needed(model, &host->window, host->is_running, HISTORY_NS))
			model->hosts[kept++] = model->hosts[i];
	}
	model->host_cnt = kept;
}

/*
 * The clock was set back: windows end more than the history before the newest one. All that was of the
 * history goes, or what comes would never be newer, and never be dropped. While it is frozen it stays,
 * and what comes goes.
 */
static void begin_again(struct top_model *model, enum event event, uint64_t end_ns)
{
	if (!model->is_frozen) {
		model->undone_ns[event] = model->newest_ns[event] - HISTORY_NS;
		model->newest_ns[event] = end_ns;
		model->running_ns[event] = 0;
	}
	prune(model);
	model->undone_ns[event] = 0;
}

/* ---- adding ---- */

/* No padding: compared as bytes. */
struct stream_key {
	struct stream_id stream;
	uint64_t event;
};

_Static_assert(sizeof(struct stream_key) == 48, "stream_key has no padding");

/* Takes the piece over. 0 or -ENOMEM. */
static int append_piece(struct top_model *model, struct top_piece *piece)
{
	if (vec_room(model->pieces, model->piece_cnt, model->piece_cap, 64))
		return -ENOMEM;
	model->pieces[model->piece_cnt++] = *piece;
	*piece = (struct top_piece){ 0 };
	return 0;
}

/* Of a whole range each stream has one piece. */
static int add_to_whole(struct top_model *model, struct top_piece *piece)
{
	const struct stream_key key = { window_stream_id(&piece->window), piece->window.event };
	uint32_t index = strtab__find(model->streams, &key, sizeof(key));
	int err;

	if (index != STRTAB_NONE)
		return top_piece_merge(&model->pieces[index], piece);
	err = append_piece(model, piece);
	if (err)
		return err;
	return strtab__intern(model->streams, &key, sizeof(key), &index);
}

static int add_stream(struct top_model *model, const struct window *window, const char *text,
		      size_t len)
{
	struct top_piece piece;
	int err = top_piece_init(&piece, window, text, len, model->selection);

	if (err)
		return err;
	err = model->span == TOP_SPAN_WHOLE ? add_to_whole(model, &piece) :
					      append_piece(model, &piece);
	top_piece_release(&piece);
	return err;
}

static void note_other(struct top_model *model, const struct window *window)
{
	if (window->counts.samples && model->others.cnt < OTHERS_MAX)
		(void)streams_add(&model->others, window); /* on failure the hint is shorter */
}

const struct streams *top_model__others(const struct top_model *model)
{
	return &model->others;
}

static int add_host(struct top_model *model, const struct window *window, bool is_running)
{
	struct window *host;

	if (vec_room(model->hosts, model->host_cnt, model->host_cap, 16))
		return -ENOMEM;
	model->hosts[model->host_cnt].is_running = is_running;
	host = &model->hosts[model->host_cnt++].window;
	*host = *window;
	memset(host->labels, 0, sizeof(host->labels));
	host->lines = NULL;
	host->cells = NULL;
	host->threads = NULL;
	return 0;
}

int top_model__add(struct top_model *model, const struct window *window, const char *text,
		   size_t len)
{
	uint64_t end = window_end_unix_ns(window);
	int err;

	if (window->event >= EVENT_CNT)
		return 0;
	if (window->pid && !selection_matches(model->selection, window)) {
		note_other(model, window);
		return 0;
	}
	if (window->pid)
		return add_stream(model, window, text, len);
	err = add_host(model, window, false);
	if (err)
		return err;
	model->generation++;
	if (end > model->newest_ns[window->event]) {
		model->newest_ns[window->event] = end;
		if (model->span == TOP_SPAN_LIVE)
			prune(model);
	} else if (model->span == TOP_SPAN_LIVE &&
		   model->newest_ns[window->event] - end > HISTORY_NS) {
		begin_again(model, (enum event)window->event, end);
	}
	return 0;
}

static int add_running_stream(struct top_model *model, const struct window *window)
{
	struct top_piece piece;
	int err = top_piece_init(&piece, window, "", 0, model->selection);

	if (err)
		return err;
	piece.is_running = true;
	err = append_piece(model, &piece);
	top_piece_release(&piece);
	return err;
}

int top_model__add_running(struct top_model *model, const struct window *window)
{
	uint64_t end = window_end_unix_ns(window);
	int err;

	if (window->event >= EVENT_CNT)
		return 0;
	if (window->pid)
		return selection_matches(model->selection, window) ?
			       add_running_stream(model, window) :
			       0;
	err = add_host(model, window, true);
	if (err)
		return err;
	model->generation++;
	if (end > model->running_ns[window->event])
		model->running_ns[window->event] = end;
	prune(model);
	return 0;
}

void top_model__forget_running(struct top_model *model)
{
	/* All are older than that. */
	memset(model->running_ns, 0xff, sizeof(model->running_ns));
	prune(model);
	memset(model->running_ns, 0, sizeof(model->running_ns));
	model->generation++;
}

void top_model__freeze(struct top_model *model, bool is_frozen)
{
	if (model->is_frozen == is_frozen)
		return;
	memcpy(model->frozen_ns, model->newest_ns, sizeof(model->frozen_ns));
	memcpy(model->frozen_running_ns, model->running_ns, sizeof(model->frozen_running_ns));
	model->is_frozen = is_frozen;
	model->generation++;
}

/* ---- rows ---- */

/* What is needed while rows are made, beside the row. */
struct row_work {
	struct strtab *leafs; /* leaf -> index of its count */
	uint64_t *leaf_counts;
	uint32_t leaf_cap;
	uint64_t jvm_samples; /* of the JVM whose facts the row has */
	struct window newest; /* labels: of that JVM's piece */
};

struct rows_work {
	struct top_rows *out;
	size_t row_cap;
	struct row_work *works; /* one per row */
	size_t work_cap;
	struct strtab *keys;	/* key of a row -> its index */
	struct strtab *streams; /* that have samples now */
};

static void rows_work_release(struct rows_work *work)
{
	for (size_t i = 0; work->works && i < work->out->cnt; i++) {
		strtab__free(work->works[i].leafs);
		free(work->works[i].leaf_counts);
	}
	free(work->works);
	strtab__free(work->keys);
	strtab__free(work->streams);
}

void top_rows_release(struct top_rows *rows)
{
	for (size_t i = 0; i < rows->cnt; i++) {
		free(rows->items[i].key);
		free(rows->items[i].name);
		free(rows->items[i].jvm_version);
		free(rows->items[i].problem);
		free(rows->items[i].hottest);
	}
	free(rows->items);
	*rows = (struct top_rows){ 0 };
}

static int new_row(struct rows_work *work, const struct top_piece *piece)
{
	__cleanup_strbuf struct strbuf name = STRBUF_INIT;
	struct top_rows *out = work->out;
	struct top_row row = { .is_container = top_window_is_contained(&piece->window) };
	struct row_work fresh = { .leafs = strtab__new() };

	top_window_name(&piece->window, &name);
	row.key = strdup(piece->key);
	row.name = strbuf_error(&name) ? NULL : strdup(strbuf_str(&name));
	if (!fresh.leafs || !row.key || !row.name ||
	    vec_room(out->items, out->cnt, work->row_cap, 32) ||
	    vec_room(work->works, out->cnt, work->work_cap, 32)) {
		strtab__free(fresh.leafs);
		free(row.key);
		free(row.name);
		return -ENOMEM;
	}
	work->works[out->cnt] = fresh;
	out->items[out->cnt++] = row;
	return 0;
}

static int find_row(struct rows_work *work, const struct top_piece *piece, uint32_t *index_out)
{
	int err = strtab__intern(work->keys, piece->key, strlen(piece->key), index_out);

	if (!err && *index_out == work->out->cnt)
		err = new_row(work, piece);
	return err;
}

static int count_leaf(struct row_work *work, const struct profile_stack *stack)
{
	struct stack_frame leaf;
	uint32_t index;
	int err;

	if (!stack_text_leaf(stack->text, stack->len, &leaf))
		return 0;
	err = strtab__intern(work->leafs, leaf.text, leaf.text_len, &index);
	if (err)
		return err;
	if (index + 1 == strtab__count(work->leafs)) {
		uint32_t cap = work->leaf_cap;

		if (vec_reserve(work->leaf_counts, index + 1, work->leaf_cap, 64))
			return -ENOMEM;
		memset(work->leaf_counts + cap, 0,
		       (work->leaf_cap - cap) * sizeof(*work->leaf_counts));
	}
	work->leaf_counts[index] = add_saturated(work->leaf_counts[index], stack->count);
	return 0;
}

/* Amounts that count now: samples, processes. */
static int add_now(struct rows_work *work, uint32_t index, const struct top_piece *piece)
{
	const struct stream_key key = { window_stream_id(&piece->window), piece->window.event };
	struct top_row *row = &work->out->items[index];
	uint32_t known = strtab__count(work->streams);
	uint32_t unused;
	int err;

	if (!piece->window.counts.samples)
		return 0;
	row->samples = add_saturated(row->samples, piece->window.counts.samples);
	err = strtab__intern(work->streams, &key, sizeof(key), &unused);
	row->process_cnt += strtab__count(work->streams) - known;
	return err;
}

static int add_leafs(struct rows_work *work, uint32_t index, const struct top_piece *piece)
{
	size_t cnt = piece->stacks ? profile__stack_count(piece->stacks) : 0;
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++) {
		struct profile_stack stack = profile__stack(piece->stacks, i);

		err = count_leaf(&work->works[index], &stack);
	}
	return err;
}

/* Facts of the JVM that has most samples. */
static void note_jvm(struct row_work *work, struct top_row *row, const struct window *window)
{
	if (!window->is_jvm || window->counts.samples < work->jvm_samples)
		return;
	work->jvm_samples = window->counts.samples;
	work->newest = *window;
	row->is_jvm = true;
	row->preserve_frame_pointer = window->preserve_frame_pointer;
	row->jit_source = window->jit_source;
}

/* Is what was added of the streams part of the amounts of now? */
static bool is_amount(const struct top_model *model, const struct top_piece *piece)
{
	if (running_end_of(model, (enum event)piece->window.event))
		return piece->is_running && is_running_within(model, &piece->window, RUNNING_NS);
	return !piece->is_running && is_now(model, &piece->window);
}

static void add_history(const struct top_model *model, const struct top_piece *piece,
			struct top_row *row)
{
	enum event event = (enum event)piece->window.event;
	uint64_t running_ns = running_end_of(model, event);
	uint64_t last_s = ((running_ns ? running_ns : end_of(model, event)) - 1) / CLOCK_NS_PER_S;

	for (uint64_t i = 0; i < TOP_HISTORY_S && model->span == TOP_SPAN_LIVE; i++)
		row->history[i] += top_piece_at(piece, last_s - (TOP_HISTORY_S - 1) + i);
}

static int add_piece(const struct top_model *model, struct rows_work *work,
		     const struct top_piece *piece)
{
	struct top_row *row;
	uint32_t index;
	int err = find_row(work, piece, &index);

	if (err)
		return err;
	row = &work->out->items[index];
	add_history(model, piece, row);
	/* Of parts of the window that runs nothing else is known. */
	if (!piece->is_running) {
		window_counts_add(&row->counts, &piece->window.counts);
		note_jvm(&work->works[index], row, &piece->window);
		if (is_now(model, &piece->window))
			err = add_leafs(work, index, piece);
	}
	return !err && is_amount(model, piece) ? add_now(work, index, piece) : err;
}

static const char *problem_of(const struct window *window)
{
	const char *names = window_label(window, WINDOW_LABEL_JIT_PROBLEM);

	return *names ? names : window_label(window, WINDOW_LABEL_OVER_BUDGET);
}

static int finish_row(const struct row_work *work, struct top_row *row)
{
	const char *hottest = "";
	uint64_t most = 0;

	for (uint32_t i = 0; i < strtab__count(work->leafs); i++) {
		if (work->leaf_counts[i] <= most)
			continue;
		most = work->leaf_counts[i];
		hottest = strtab__get(work->leafs, i, NULL);
	}
	row->hottest = strdup(hottest);
	row->jvm_version = strdup(window_label(&work->newest, WINDOW_LABEL_JVM_VERSION));
	row->problem = strdup(problem_of(&work->newest));
	return row->hottest && row->jvm_version && row->problem ? 0 : -ENOMEM;
}

static void add_host_now(const struct window *host, struct top_host *out)
{
	out->samples = add_saturated(out->samples, host->counts.samples);
	out->span_ns = add_saturated(out->span_ns,
				     host->recorded_ns ? host->recorded_ns : host->duration_ns);
	out->cpu_cnt = host->cpu_cnt;
	out->period = window_period(host);
}

static void sum_named(const struct top_model *model, enum event event, struct top_host *out)
{
	out->end_unix_ns = end_of(model, event);
	for (size_t i = 0; i < model->host_cnt; i++) {
		const struct window *host = &model->hosts[i].window;

		if (model->hosts[i].is_running || host->event != event ||
		    !(is_in_history(model, host) || is_now(model, host)))
			continue;
		out->lost = add_saturated(out->lost, window_lost_samples(host->lost));
		out->opted_out = add_saturated(out->opted_out, host->lost[WINDOW_LOSS_OPTED_OUT]);
		if (is_now(model, host))
			add_host_now(host, out);
	}
}

/* What was lost is that of the windows; of the one that runs, what did not reach this reader. */
static void sum_running(const struct top_model *model, enum event event, struct top_host *out)
{
	*out = (struct top_host){
		.end_unix_ns = running_end_of(model, event),
		.lost = out->lost,
		.opted_out = out->opted_out,
		.is_running = true,
	};
	for (size_t i = 0; i < model->host_cnt; i++) {
		const struct window *host = &model->hosts[i].window;

		if (!model->hosts[i].is_running || host->event != event ||
		    !is_running_within(model, host, HISTORY_NS))
			continue;
		out->lost = add_saturated(out->lost, window_lost_samples(host->lost));
		if (is_running_within(model, host, RUNNING_NS))
			add_host_now(host, out);
	}
}

static void sum_hosts(const struct top_model *model, enum event event, struct top_rows *out)
{
	sum_named(model, event, &out->named);
	out->host = out->named;
	if (running_end_of(model, event))
		sum_running(model, event, &out->host);
}

static bool is_shown(const struct top_model *model, const struct top_piece *piece)
{
	if (piece->is_running)
		return is_running_within(model, &piece->window, HISTORY_NS);
	/* The newest windows may have ended long before the one that runs began to be told of. */
	return is_in_history(model, &piece->window) || is_now(model, &piece->window);
}

static void leave_out(struct top_host *host, uint64_t waits_for_work)
{
	host->waits_for_work = add_saturated(host->waits_for_work, waits_for_work);
	host->samples = host->samples > waits_for_work ? host->samples - waits_for_work : 0;
}

static int collect_rows(const struct top_model *model, enum event event, struct rows_work *work)
{
	int err = 0;

	for (size_t i = 0; i < model->piece_cnt && !err; i++) {
		const struct top_piece *piece = &model->pieces[i];

		if (piece->window.event != event || !is_shown(model, piece))
			continue;
		if (is_now(model, &piece->window))
			leave_out(&work->out->host, piece->waits_for_work);
		if (piece->window.counts.samples)
			err = add_piece(model, work, piece);
	}
	for (size_t i = 0; i < work->out->cnt && !err; i++)
		err = finish_row(&work->works[i], &work->out->items[i]);
	return err;
}

/* What of the host's samples is selected. */
static void sum_selected(const struct top_model *model, enum event event, struct top_rows *out)
{
	struct top_host *host = &out->host;

	host->is_selection = !selection_is_of_all(model->selection) ||
			     selection_is_of_parts(model->selection);
	for (size_t i = 0; i < out->cnt; i++)
		host->selected = add_saturated(host->selected, out->items[i].samples);
	if (top_share_is_of_selection(host, event))
		host->samples = host->selected;
}

int top_model__rows(struct top_model *model, enum event event, struct top_rows *out)
{
	struct top_rows rows = { 0 };
	struct rows_work work = {
		.out = &rows,
		.keys = strtab__new(),
		.streams = strtab__new(),
	};
	int err = work.keys && work.streams ? 0 : -ENOMEM;

	if (!err) {
		sum_hosts(model, event, &rows);
		err = collect_rows(model, event, &work);
		sum_selected(model, event, &rows);
	}
	rows_work_release(&work);
	if (err)
		top_rows_release(&rows);
	else
		*out = rows;
	return err;
}

/* What is asked of the stacks of a row. */
struct asking {
	const char *thread;  /* NULL = all */
	bool is_for_threads; /* their names, not the stacks */
	struct profile *out;
};

static int answer(const struct asking *asking, const struct profile_stack *stack)
{
	/* The thread's name is the first frame. */
	const char *frames = memchr(stack->text, ';', stack->len);
	size_t name_len = frames ? (size_t)(frames - stack->text) : stack->len;

	if (!frames || asking->is_for_threads)
		return profile__add(asking->out, stack->text, name_len, stack->count);
	if (asking->thread && (strlen(asking->thread) != name_len ||
			       memcmp(asking->thread, stack->text, name_len) != 0))
		return 0;
	return profile__add(asking->out, frames + 1, stack->len - name_len - 1, stack->count);
}

static int ask(const struct top_model *model, enum event event, const char *key,
	       const struct asking *asking)
{
	int err = 0;

	for (size_t i = 0; i < model->piece_cnt; i++) {
		const struct top_piece *piece = &model->pieces[i];

		if (piece->window.event != event || piece->is_running || !piece->stacks ||
		    !is_now(model, &piece->window) || strcmp(piece->key, key) != 0)
			continue;
		for (size_t j = 0; j < profile__stack_count(piece->stacks) && !err; j++) {
			struct profile_stack stack = profile__stack(piece->stacks, j);

			err = answer(asking, &stack);
		}
	}
	return err;
}

int top_model__profile(const struct top_model *model, enum event event, const char *key,
		       const char *thread, struct profile *out)
{
	const struct asking asking = { .thread = thread, .out = out };

	return ask(model, event, key, &asking);
}

int top_model__threads(const struct top_model *model, enum event event, const char *key,
		       struct profile *out)
{
	const struct asking asking = { .is_for_threads = true, .out = out };

	return ask(model, event, key, &asking);
}

/* ---- figures ---- */

double top_amount(const struct top_host *host, enum event event, uint64_t samples)
{
	double counted = (double)samples * (double)host->period;

	if (!host->span_ns)
		return 0;
	if (event_unit(event) == EVENT_UNIT_NANOSECONDS)
		return counted / (double)host->span_ns;
	return counted * (double)CLOCK_NS_PER_S / (double)host->span_ns;
}

double top_share(const struct top_host *host, enum event event, uint64_t samples)
{
	if (event == EVENT_CPU)
		return host->cpu_cnt ? top_amount(host, event, samples) / host->cpu_cnt : 0;
	return host->samples ? (double)samples / (double)host->samples : 0;
}

bool top_share_is_of_selection(const struct top_host *host, enum event event)
{
	return host->is_selection && event_has_waits(event);
}
