// SPDX-License-Identifier: Apache-2.0
/* See pending_window.h. */
#include "user/collect/namer/pending_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/collect/probe/stream_fallback.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

void pending_window_release(struct pending_window *window)
{
	strbuf_release(&window->counts);
	strbuf_release(&window->ticks);
	strbuf_release(&window->accounts);
	strbuf_release(&window->stacks);
	strbuf_release(&window->early);
	free(window->streams);
	*window = (struct pending_window){ 0 };
}

const struct probe_count *pending_window_counts(const struct pending_window *window)
{
	return (const struct probe_count *)(const void *)window->counts.data;
}

static size_t count_cnt(const struct pending_window *window)
{
	return window->counts.len / sizeof(struct probe_count);
}

/* Adds the samples of each event. */
static void sum_events(const struct probe_count *counts, size_t cnt, uint64_t *sums)
{
	for (size_t i = 0; i < cnt; i++) {
		enum event event = stream_event(&counts[i].key);

		if (event < EVENT_CNT)
			sums[event] += counts[i].value.count;
	}
}

/* What one part has no memory for, a later one may have. */
static int add(struct strbuf *buf, const void *bytes, size_t len)
{
	int err = strbuf_reserve(buf, len);

	if (!err)
		strbuf_append(buf, bytes, len);
	return err;
}

/* Moments of a later part count from the window's start, too. */
static int add_ticks(struct pending_window *window, const struct probe_batch *batch)
{
	uint64_t later_us = (batch->start_boot_ns - window->start_boot_ns) / 1000;
	struct probe_tick *ticks;
	size_t len = window->ticks.len;
	int err = add(&window->ticks, batch->ticks, batch->tick_cnt * sizeof(*batch->ticks));

	if (err || !later_us)
		return err;
	ticks = (struct probe_tick *)(void *)(window->ticks.data + len);
	for (size_t i = 0; i < batch->tick_cnt; i++)
		ticks[i].after_us += (uint32_t)later_us;
	return 0;
}

/* Which stacks fit: those with fewer words, and of those with as many so many bytes. */
struct stack_limit {
	uint32_t words;
	size_t bytes;
};

static struct stack_limit stack_limit_of(const struct strbuf *stacks, size_t max_bytes)
{
	const uint8_t *at = (const uint8_t *)stacks->data, *end = at + stacks->len, *begin = at;
	size_t bytes[JBPF_MAX_DEPTH + 1] = { 0 };
	struct stack_limit limit = { .bytes = max_bytes };
	struct naming_stack head;
	struct probe_stack stack;

	while (naming_stack_next(&at, end, &head, &stack)) {
		bytes[stack.frame_cnt] += (size_t)(at - begin);
		begin = at;
	}
	while (limit.words <= JBPF_MAX_DEPTH && bytes[limit.words] <= limit.bytes)
		limit.bytes -= bytes[limit.words++];
	return limit;
}

static bool stack_fits(struct stack_limit *limit, uint32_t words, size_t len)
{
	if (words != limit->words)
		return words < limit->words;
	if (len > limit->bytes)
		return false;
	limit->bytes -= len;
	return true;
}

size_t pending_window_trim(struct pending_window *window, size_t max_bytes)
{
	struct strbuf *stacks = &window->stacks;
	const uint8_t *at = (const uint8_t *)stacks->data, *end = at + stacks->len, *begin = at;
	size_t kept_bytes = 0, left_out = 0;
	struct stack_limit limit;
	struct naming_stack head;
	struct probe_stack stack;

	if (stacks->len <= max_bytes)
		return 0;
	limit = stack_limit_of(stacks, max_bytes);
	while (naming_stack_next(&at, end, &head, &stack)) {
		size_t len = (size_t)(at - begin);

		if (stack_fits(&limit, stack.frame_cnt, len)) {
			memmove(stacks->data + kept_bytes, begin, len);
			kept_bytes += len;
		} else {
			left_out++;
		}
		begin = at;
	}
	strbuf_truncate(stacks, kept_bytes);
	return left_out;
}

/* One window too large for a packet would have no names at all. */
static void fit_into_packet(struct pending_window *window)
{
	size_t others = sizeof(struct naming_window) + window->counts.len + window->ticks.len +
			window->accounts.len;
	size_t left_out = pending_window_trim(
		window, others < PACKET_MAX_BYTES ? PACKET_MAX_BYTES - others : 0);

	if (left_out)
		pr_warn_limited("window: too many deep stacks at once: %zu of them are not named\n",
				left_out);
}

void pending_window_add(struct pending_window *window, const struct sample_source *source,
			const struct probe_batch *batch)
{
	if (!window->start_boot_ns)
		window->start_boot_ns = batch->start_boot_ns;
	window->part_cnt += batch->count_cnt || batch->tick_cnt;
	window->end_boot_ns = batch->end_boot_ns;
	window->stack_bytes = batch->stack_bytes;
	for (int i = 0; i < JBPF_CNT_MAX; i++)
		window->counters[i] += batch->counters[i];
	if (add(&window->counts, batch->counts, batch->count_cnt * sizeof(*batch->counts))) {
		sum_events(batch->counts, batch->count_cnt, window->lost_memory);
		return;
	}
	/* Without them stacks show as lost, samples without their moment: both are counted. */
	(void)naming_stacks_of(source, batch->counts, batch->count_cnt, &window->stacks);
	(void)add_ticks(window, batch);
	(void)add(&window->accounts, batch->accounts,
		  batch->account_cnt * sizeof(*batch->accounts));
	fit_into_packet(window);
}

static bool is_among(const uint32_t *pids, size_t pid_cnt, uint32_t pid)
{
	for (size_t i = 0; i < pid_cnt; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

int pending_window_stacks(const struct pending_window *window, const struct sample_source *source,
			  const uint32_t *pids, size_t pid_cnt, struct strbuf *records)
{
	const struct probe_count *counts = pending_window_counts(window);
	int err = 0;

	for (size_t i = 0; i < count_cnt(window) && !err; i++) {
		const struct jbpf_key *key = &counts[i].key;
		const struct naming_stack head = {
			.start_ns = key->start_ns,
			.since_boot_ns = counts[i].value.last_ns,
			.pid = key->pid,
			.exec_id = key->exec_id,
		};
		struct probe_stack stack;

		if (key->user_hash && is_among(pids, pid_cnt, key->pid) &&
		    source->ops->stack(source->probe, key->user_hash, &stack) == 0)
			err = naming_stack_put(records, &head, &stack);
	}
	return err;
}

static int count_compare(const void *left, const void *right)
{
	const struct probe_count *a = left, *b = right;

	return stream_compare(&a->key, &b->key);
}

static void sort_parts(struct pending_window *window)
{
	/* The counts of one drain are in order already: see probe_batch. */
	if (window->part_cnt < 2)
		return;
	if (window->counts.len)
		qsort(window->counts.data, count_cnt(window), sizeof(struct probe_count),
		      count_compare);
	if (window->ticks.len)
		qsort(window->ticks.data, window->ticks.len / sizeof(struct probe_tick),
		      sizeof(struct probe_tick), tick_compare);
}

int pending_window_close(struct pending_window *window, uint64_t now_boot_ns)
{
	const struct probe_count *counts;
	size_t cnt = count_cnt(window);

	window->closed_ns = now_boot_ns;
	window->streams = calloc(cnt + 1, sizeof(*window->streams));
	if (!window->streams) {
		sum_events(pending_window_counts(window), cnt, window->lost_memory);
		strbuf_release(&window->counts);
		return -ENOMEM;
	}
	sort_parts(window);
	counts = pending_window_counts(window);
	for (size_t at = 0; at < cnt;) {
		struct stream_counts stream = stream_next(counts, cnt, at);

		window->streams[window->stream_cnt++] =
			(struct pending_stream){ .at = at, .cnt = stream.cnt };
		at += stream.cnt;
	}
	return 0;
}

/* Appends the counts of the streams that are not answered and are known so. */
static void put_left(const struct pending_window *window, const struct sight_table *sights,
		     bool are_known, struct strbuf *out)
{
	const struct probe_count *counts = pending_window_counts(window);

	for (size_t i = 0; i < window->stream_cnt; i++) {
		const struct pending_stream *one = &window->streams[i];
		const struct jbpf_key *key = &counts[one->at].key;

		if (!one->is_answered &&
		    are_known == sight_table__is_known(sights, process_life_of(key)))
			strbuf_append(out, counts + one->at, one->cnt * sizeof(*counts));
	}
}

/* What is asked for of it now, as `part` says. 0, -ENOMEM, or -ENOENT: there is nothing. */
static int put_part(struct pending_window *window, enum pending_part part,
		    const struct sight_table *sights, struct strbuf *out)
{
	int err = strbuf_reserve(out, window->counts.len);

	if (part == PENDING_KNOWN) {
		window->owes_part = false;
		/* Who was left out is not answered, and so asked for again. */
		memset(window->said.opted_out, 0, sizeof(window->said.opted_out));
		memset(window->said.undecided, 0, sizeof(window->said.undecided));
	}
	if (err)
		return err;
	if (!window->owes_part)
		put_left(window, sights, true, out);
	if (part == PENDING_LEFT)
		put_left(window, sights, false, out);
	else if (!out->len)
		return -ENOENT;
	return strbuf_error(out);
}

static int send_part(struct pending_window *window, enum pending_part part,
		     const struct sight_table *sights, const struct naming_window *head,
		     struct packet_stream *stream)
{
	__cleanup_strbuf struct strbuf left = STRBUF_INIT;
	struct naming_window_parts parts = {
		.ticks = (const void *)window->ticks.data,
		.accounts = (const void *)window->accounts.data,
		.stacks = &window->stacks,
	};
	struct naming_window full = *head;
	int err = put_part(window, part, sights, &left);

	if (err)
		return err == -ENOENT ? 0 : err;
	parts.counts = (const void *)left.data;
	full.window_id = window->id;
	full.start_boot_ns = window->start_boot_ns;
	full.start_unix_ns = window->start_unix_ns;
	full.end_boot_ns = window->end_boot_ns;
	full.count_cnt = (uint32_t)(left.len / sizeof(struct probe_count));
	full.tick_cnt = (uint32_t)(window->ticks.len / sizeof(struct probe_tick));
	full.goes_on = part == PENDING_KNOWN;
	if (!full.goes_on)
		full.account_cnt = (uint32_t)(window->accounts.len / sizeof(struct probe_account));
	err = naming_window_put(stream, &full, &parts);
	if (full.goes_on)
		window->owes_part = !err;
	return err;
}

int pending_window_send(struct pending_window *window, enum pending_part part,
			const struct sight_table *sights, const struct naming_window *head,
			struct packet_stream *stream)
{
	int err = send_part(window, part, sights, head, stream);

	/* What a part has no memory for is sent with what is left. */
	if (part == PENDING_LEFT)
		window->is_unsent = err != 0;
	return err;
}

struct pending_stream *pending_window_find(const struct pending_window *window,
					   const struct window *named)
{
	const struct probe_count *counts = pending_window_counts(window);
	const struct probe_count wanted = {
		.key = { .start_ns = named->process_start_ns,
			 .cgroup_id = named->cgroup_id,
			 .pid = named->pid,
			 .exec_id = named->exec_id,
			 .kind = stream_kind((enum event)named->event) },
	};
	size_t low = 0, high = window->stream_cnt;

	if (named->event >= EVENT_CNT)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = count_compare(&wanted, &counts[window->streams[middle].at]);

		if (order == 0)
			return &window->streams[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

/* ---- numbers of it ---- */

static void take_off(uint64_t *from, uint64_t what)
{
	*from -= what < *from ? what : *from;
}

static uint64_t event_samples(const struct pending_window *window, enum event event)
{
	const struct probe_count *counts = pending_window_counts(window);
	uint64_t samples = 0;

	for (size_t i = 0; i < count_cnt(window); i++)
		if (counts[i].key.kind == stream_kind(event))
			samples += counts[i].value.count;
	return samples;
}

/* What is known of each event. */
static void losses_of_event(const struct pending_window *window, const struct naming_end *end,
			    struct window *host)
{
	enum event event = (enum event)host->event;

	/* Counts that could not be read in time come without their share of this counter. */
	take_off(&host->counts.samples, end->opted_out[event]);
	host->lost[WINDOW_LOSS_MEMORY] = window->lost_memory[event];
	host->lost[WINDOW_LOSS_OPTED_OUT] = end->opted_out[event];
	host->lost[WINDOW_LOSS_UNDECIDED] = end->undecided[event];
	host->lost[WINDOW_LOSS_NOT_NAMED] = end->not_named[event];
	host->lost[WINDOW_LOSS_GIVEN_UP] = window->given_up[event];
	if (event == EVENT_OFF_CPU)
		host->lost[WINDOW_LOSS_PASSES] = window->missed_samples;
}

void pending_window_event_losses(const struct pending_window *window, const struct naming_end *end,
				 struct window *host)
{
	host->counts.samples = event_samples(window, (enum event)host->event);
	host->lost[WINDOW_LOSS_COUNTS_FULL] = window->counters[JBPF_CNT_EVENT_LOST];
	losses_of_event(window, end, host);
}

void pending_window_losses(const struct pending_window *window, const struct naming_end *end,
			   struct window *host)
{
	const uint64_t *counters = window->counters;

	host->counts.samples = counters[JBPF_CNT_SAMPLES];
	if (window->events & EVENT_BIT(EVENT_CPU))
		take_off(&host->counts.samples, counters[JBPF_CNT_EVENT_SAMPLES]);
	else if (host->event != EVENT_CPU)
		host->counts.samples = event_samples(window, (enum event)host->event);
	losses_of_event(window, end, host);
	host->lost[WINDOW_LOSS_COUNTS_FULL] = counters[JBPF_CNT_LOST_COUNTS_FULL];
	/* Nearly all that is lost is lost so; the others say it of themselves. */
	if (window->events & EVENT_BIT(EVENT_CPU))
		take_off(&host->lost[WINDOW_LOSS_COUNTS_FULL], counters[JBPF_CNT_EVENT_LOST]);
	host->lost[WINDOW_LOSS_NO_MAP] =
		counters[JBPF_CNT_LOST_NO_MAP] + counters[JBPF_CNT_LOST_UPDATE];
	host->lost[WINDOW_LOSS_STACK_BUFFER] = counters[JBPF_CNT_STACK_BUFFER_FULL];
	host->lost[WINDOW_LOSS_NOTICES] = counters[JBPF_CNT_NOTICE_LOST];
	host->lost[WINDOW_LOSS_KERNEL_STACK] = counters[JBPF_CNT_KERNEL_STACK_ERROR];
	host->lost[WINDOW_LOSS_CELLS] = end->lost_cells;
	/* The kernel left them out of whichever event. */
	host->lost[WINDOW_LOSS_OPTED_OUT] += counters[JBPF_CNT_OPTED_OUT];
	host->lost[WINDOW_LOSS_CUT] = end->cut;
}

void pending_window_unanswered(const struct pending_window *window, uint64_t *out)
{
	const struct probe_count *counts = pending_window_counts(window);

	memset(out, 0, EVENT_CNT * sizeof(*out));
	for (size_t i = 0; i < window->stream_cnt; i++)
		if (!window->streams[i].is_answered)
			sum_events(counts + window->streams[i].at, window->streams[i].cnt, out);
}
