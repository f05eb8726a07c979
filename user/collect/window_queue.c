// SPDX-License-Identifier: Apache-2.0
/* See window_queue.h. */
#include "user/collect/window_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/collect/probe/stream_fallback.h"
#include "user/collect/running.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

void window_queue_init(struct window_queue *queue, const struct window_queue_listener *listener,
		       struct sight_table *sights)
{
	*queue = (struct window_queue){ .listener = *listener, .sights = sights };
	boot_id_read(queue->boot_id);
}

static void drop(struct window_queue *queue, struct pending_window *window)
{
	struct pending_window **at = &queue->first;

	while (*at != window)
		at = &(*at)->next;
	*at = window->next;
	queue->early_bytes -= window->early.len;
	pending_window_release(window);
	free(window);
}

void window_queue_release(struct window_queue *queue)
{
	while (queue->first)
		drop(queue, queue->first);
}

void window_queue_add(struct window_queue *queue, struct pending_window *window)
{
	struct pending_window **last = &queue->first;

	window->id = ++queue->last_id;
	while (*last)
		last = &(*last)->next;
	*last = window;
}

/* ---- handing out ---- */

/* Of one event, what all its records have in common. */
static void fill_event(const struct window_queue *queue, const struct pending_window *window,
		       enum event event, struct window *host)
{
	memset(host, 0, sizeof(*host));
	host->start_unix_ns = window->start_unix_ns;
	host->duration_ns = window->end_boot_ns - window->start_boot_ns;
	host->start_boot_ns = window->start_boot_ns;
	memcpy(host->boot_id, queue->boot_id, sizeof(host->boot_id));
	host->frequency_hz = event == EVENT_CPU ? window->frequency_hz : 0;
	host->cpu_cnt = window->cpu_cnt;
	host->event = event;
	host->period_unit = event_unit(event);
	host->period = window->periods[event];
}

static void hand_out_end(struct window_queue *queue, const struct pending_window *window,
			 const struct naming_end *end)
{
	uint32_t events = window->events ? window->events : EVENT_BIT(EVENT_CPU);
	struct window hosts[EVENT_CNT];
	size_t cnt = 0;

	for (int i = 0; i < EVENT_CNT; i++) {
		if (!(events & EVENT_BIT(i)))
			continue;
		fill_event(queue, window, (enum event)i, &hosts[cnt]);
		if (cnt == 0)
			pending_window_losses(window, end, &hosts[cnt]);
		else
			pending_window_event_losses(window, end, &hosts[cnt]);
		cnt++;
	}
	queue->listener.end(queue->listener.ctx, window, hosts, cnt);
}

/* A stream that nobody named in time: kept without names if its process is known to want it. */
static void hand_out_unnamed(struct window_queue *queue, struct pending_window *window,
			     const struct pending_stream *one, struct naming_end *end)
{
	const struct probe_count *counts = pending_window_counts(window) + one->at;
	const struct stream_counts stream = { .counts = counts, .cnt = one->cnt };
	const struct jbpf_key *key = &counts->key;
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	uint64_t samples = stream_samples(&stream);
	enum event event = stream_event(key);
	struct window named;

	if (event == EVENT_CNT)
		return; /* a key that no program of ours makes */
	if (!sight_table__is_recorded(queue->sights, process_life_of(key))) {
		window->given_up[event] += samples;
		return;
	}
	fill_event(queue, window, event, &named);
	stream_fill(key, counts->value.ns_pid, &named);
	named.labels[WINDOW_LABEL_COMM] = counts->value.comm;
	named.labels[WINDOW_LABEL_OVER_BUDGET] = "it could not be named in time";
	named.counts = stream_fallback_counts(samples);
	named.counts.run_delay_ns = stream_run_delay_ns(&stream);
	if (stream_fallback_text(counts->value.comm, samples, &text)) {
		window->lost_memory[event] += samples;
		return;
	}
	end->not_named[event] += samples;
	queue->listener.stream(queue->listener.ctx, &named, text.data, text.len);
}

/* ---- answers ---- */

/*
 * What the namer says of a stream counts, but not when it was, nor how many samples there are, nor what
 * the kernel measured: a namer that was taken over writes no other hour. False: it cannot be so.
 */
static bool set_truth(const struct window_queue *queue, const struct pending_window *window,
		      const struct pending_stream *one, struct window *named)
{
	const struct stream_counts stream = { .counts = pending_window_counts(window) + one->at,
					      .cnt = one->cnt };
	struct window host;

	fill_event(queue, window, (enum event)named->event, &host);
	named->start_unix_ns = host.start_unix_ns;
	named->duration_ns = host.duration_ns;
	named->start_boot_ns = host.start_boot_ns;
	memcpy(named->boot_id, host.boot_id, sizeof(named->boot_id));
	named->frequency_hz = host.frequency_hz;
	named->cpu_cnt = host.cpu_cnt;
	named->period_unit = host.period_unit;
	named->period = host.period;
	named->window_cnt = 0;
	named->recorded_ns = 0;
	memset(named->lost, 0, sizeof(named->lost));
	named->counts.run_delay_ns = stream_run_delay_ns(&stream);
	return named->counts.samples == stream_samples(&stream);
}

/* What is answered now: parts of all windows, then the windows that were sent, the oldest first. */
static struct pending_window *answered_now(const struct window_queue *queue)
{
	struct pending_window *window = queue->first;

	while (window && !window->owes_part)
		window = window->next;
	if (window)
		return window;
	window = queue->first;
	while (window && window->is_unsent)
		window = window->next;
	return window;
}

/* The oldest that is not handed out: streams of others would get into what is stored of it. */
static struct pending_window *handed_out_now(const struct window_queue *queue)
{
	struct pending_window *window = queue->first;

	while (window && window->is_given_up)
		window = window->next;
	return window;
}

/* An answer that came before its window's turn: its length, and the packet. False: no room for it. */
static bool keep_early(struct window_queue *queue, struct pending_window *window, const void *bytes,
		       size_t len)
{
	static const char zeros[8];
	const uint64_t head = len;
	size_t padding = -len & 7, all = sizeof(head) + len + padding;

	if (queue->early_bytes + all > WINDOW_QUEUE_EARLY_MAX_BYTES ||
	    strbuf_reserve(&window->early, all))
		return false;
	strbuf_append(&window->early, &head, sizeof(head));
	strbuf_append(&window->early, bytes, len);
	strbuf_append(&window->early, zeros, padding);
	queue->early_bytes += all;
	return true;
}

static void hand_out_early(struct window_queue *queue, struct pending_window *window)
{
	struct pending_stream *one;
	struct window named;
	const char *text;
	size_t len;

	for (size_t at = 0; at < window->early.len;) {
		const uint64_t *head = (const void *)(window->early.data + at);

		/* It was checked when it came. */
		if (naming_stream_read(head + 1, (size_t)*head, &named, &text, &len) == 0 &&
		    (one = pending_window_find(window, &named)) &&
		    set_truth(queue, window, one, &named))
			queue->listener.stream(queue->listener.ctx, &named, text, len);
		at += sizeof(*head) + (((size_t)*head + 7) & ~(size_t)7);
	}
	queue->early_bytes -= window->early.len;
	strbuf_release(&window->early);
}

int window_queue_take_stream(struct window_queue *queue, const void *bytes, size_t packet_len)
{
	struct pending_window *window = answered_now(queue);
	struct pending_stream *one;
	struct window named;
	const char *text;
	size_t len;
	int err = naming_stream_read(bytes, packet_len, &named, &text, &len);

	if (err || !window)
		return err;
	if (window->is_given_up)
		return 0;
	/* A stream that was not asked for, or twice, is refused. */
	one = pending_window_find(window, &named);
	if (!one || one->is_answered)
		return 0;
	if (!set_truth(queue, window, one, &named))
		return -EBADMSG;
	if (window == handed_out_now(queue))
		queue->listener.stream(queue->listener.ctx, &named, text, len);
	else if (!keep_early(queue, window, bytes, packet_len))
		return 0; /* as one that did not come */
	one->is_answered = true;
	sight_table__note_recorded(queue->sights, window_stream_id(&named).life);
	running_note_called(queue->sights, &named);
	return 0;
}

/* ---- the end of a window: it is answered, or given up ---- */

static uint64_t sum_of(const uint64_t *events)
{
	uint64_t sum = 0;

	for (int i = 0; i < EVENT_CNT; i++)
		sum += events[i];
	return sum;
}

/* Its time is over. What the namer says of it from now on is dropped. */
static void give_up(struct window_queue *queue, struct pending_window *window)
{
	struct naming_end end = {
		.window_id = window->id,
		.lost_cells = window->said.lost_cells,
	};

	memcpy(end.not_named, window->said.not_named, sizeof(end.not_named));
	hand_out_early(queue, window); /* all that are older are given up by now */
	queue->listener.give_up(queue->listener.ctx, window->id);
	for (size_t i = 0; i < window->stream_cnt; i++)
		if (!window->streams[i].is_answered)
			hand_out_unnamed(queue, window, &window->streams[i], &end);
	pr_warn_limited("window: %llu samples could not be named in time\n",
			(unsigned long long)(sum_of(end.not_named) + sum_of(window->given_up)));
	window->is_given_up = true;
	hand_out_end(queue, window, &end);
	/* Only its id is of use now. */
	strbuf_release(&window->counts);
	strbuf_release(&window->ticks);
	strbuf_release(&window->accounts);
	strbuf_release(&window->stacks);
	window->stream_cnt = 0;
}

/* Nobody will say anything more of these. */
static void drop_unsent(struct window_queue *queue)
{
	struct pending_window *window = queue->first, *next;

	for (; window; window = next) {
		next = window->next;
		if (window->is_given_up && window->is_unsent && !window->owes_part)
			drop(queue, window);
	}
}

/* Windows before it may be gone. One that was not sent is given up now, and not out of its turn. */
static void begin_turn(struct window_queue *queue)
{
	struct pending_window *window;

	while ((window = handed_out_now(queue)) && window->is_unsent && !window->owes_part)
		give_up(queue, window);
	if (window)
		hand_out_early(queue, window);
	drop_unsent(queue);
}

bool window_queue_awaits(const struct window_queue *queue, uint64_t window_id)
{
	const struct pending_window *window = answered_now(queue);

	return window && window->id == window_id;
}

static void add_said(struct naming_end *sum, const struct naming_end *end)
{
	for (int i = 0; i < EVENT_CNT; i++) {
		sum->opted_out[i] += end->opted_out[i];
		sum->undecided[i] += end->undecided[i];
		sum->not_named[i] += end->not_named[i];
	}
	sum->lost_cells += end->lost_cells;
}

/* Of those that were not answered, who was left out is not lost. */
static void note_lost(struct pending_window *window, const struct naming_end *all)
{
	uint64_t unanswered[EVENT_CNT];

	pending_window_unanswered(window, unanswered);
	for (int i = 0; i < EVENT_CNT; i++) {
		uint64_t left_out = all->opted_out[i] + all->undecided[i];

		if (unanswered[i] > left_out)
			window->lost_memory[i] += unanswered[i] - left_out;
	}
}

void window_queue_take_end(struct window_queue *queue, const struct naming_end *end)
{
	struct pending_window *window = answered_now(queue);
	struct naming_end all = *end;

	/* Another one was given up and dropped. */
	if (!window_queue_awaits(queue, end->window_id) || window->owes_part != !!end->goes_on)
		return;
	if (window->owes_part) {
		window->owes_part = false;
		add_said(&window->said, end);
		begin_turn(queue);
		return;
	}
	if (!window->is_given_up) {
		add_said(&all, &window->said);
		note_lost(window, &all);
		hand_out_end(queue, window, &all);
	}
	drop(queue, window);
	begin_turn(queue);
}

void window_queue_give_up_unsent(struct window_queue *queue)
{
	begin_turn(queue);
}

void window_queue_give_up_late(struct window_queue *queue, uint64_t now_ns, uint64_t max_ns)
{
	struct pending_window *window;

	for (window = queue->first; window; window = window->next)
		if (!window->is_given_up && now_ns > window->sent_ns + max_ns)
			give_up(queue, window);
	begin_turn(queue);
}

void window_queue_give_up_all(struct window_queue *queue)
{
	struct pending_window *window;

	for (window = queue->first; window; window = window->next)
		if (!window->is_given_up)
			give_up(queue, window);
}

size_t window_queue_given_up(const struct window_queue *queue)
{
	const struct pending_window *window = queue->first;
	size_t cnt = 0;

	for (; window && window->is_given_up; window = window->next)
		cnt++;
	return cnt;
}

void window_queue_drop_given_up(struct window_queue *queue)
{
	while (queue->first && queue->first->is_given_up)
		drop(queue, queue->first);
}

bool window_queue_is_idle(const struct window_queue *queue)
{
	const struct pending_window *window = queue->first;

	while (window && window->is_given_up)
		window = window->next;
	return !window;
}
