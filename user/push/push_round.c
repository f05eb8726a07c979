// SPDX-License-Identifier: Apache-2.0
/* See push_round.h. */
#include "user/push/push_round.h"

#include <errno.h>
#include <inttypes.h>

#include "user/push/push_cursor.h"
#include "user/push/push_sum.h"
#include "user/remote/clickhouse_schema.h"
#include "user/store/store_source.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define PIECE_MINUTES 10
/* Where the newest window is looked for first; then further back. */
#define NEWEST_STEP_NS (10 * CLICKHOUSE_MINUTE_NS)

struct piece {
	struct push_round *round;
	const struct push_clock *clock;
	struct push_sum *sum;
	uint64_t since_ns, until_ns;
	bool is_full; /* fewer minutes may have room */
	int err;
};

/*
 * A window belongs to the minute in which it begins, and only to that. One that was cut after the server had got it
 * whole would count twice there: its label and its stacks are others.
 */
static bool want(void *ctx, const struct window *window)
{
	const struct piece *piece = ctx;
	const struct push_round *round = piece->round;

	return window->start_unix_ns >= piece->since_ns &&
	       window->start_unix_ns < piece->until_ns &&
	       (window->start_unix_ns >= round->place.cursor_ns || !store_window_is_cut(window)) &&
	       (!round->ops->adds_up || push_span_is_new(&round->place, window, piece->clock));
}

static int take_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct piece *piece = ctx;

	int err = push_sum__add(piece->sum, window, text, len);

	/* Streams and hours are not in order of time: no minute is complete yet. */
	if (!err && push_sum__is_full(piece->sum) &&
	    piece->until_ns - piece->since_ns > CLICKHOUSE_MINUTE_NS)
		piece->is_full = true;
	return err ? err : piece->is_full;
}

static void note_damage(void *ctx, const struct store_damage *stretch)
{
	struct piece *piece = ctx;

	if (push_unreadable_meet(&piece->round->unreadable, stretch))
		piece->err = -EIO;
	cmd_store_damage_note(&piece->round->damage, stretch);
}

static int visit_event(const char *store, enum event event, uint64_t since_ns, uint64_t until_ns,
		       const struct store_visitor *visitor)
{
	struct store_source *reader;
	int err = store_source__open(store, event, &reader);

	if (err)
		return err;
	err = store_source__visit(reader, since_ns, until_ns, visitor);
	store_source__free(reader);
	return err;
}

static int read_event(struct piece *piece, enum event event)
{
	const struct store_visitor visitor = {
		.ctx = piece,
		.wants_lines = true,
		.wants_cells = true,
		.wants_threads = true,
		.want = want,
		.window = take_window,
		.damage = note_damage,
	};
	int err =
		visit_event(piece->round->store, event, piece->since_ns, piece->until_ns, &visitor);

	return err < 0 ? err : piece->err;
}

static int refuse_unreadable(const char *store, int err)
{
	pr_err("the store in '%s' cannot be read: %s\n", store, errstr(err));
	return err;
}

static int read_piece(struct piece *piece, uint32_t events)
{
	int err = piece->sum ? 0 : -ENOMEM;

	for (int event = 0; !err && !piece->is_full && event < EVENT_CNT; event++) {
		if (events & EVENT_BIT(event))
			err = read_event(piece, (enum event)event);
	}
	if (!err && !piece->is_full)
		err = push_sum__finish(piece->sum);
	return err ? refuse_unreadable(piece->round->store, err) : 0;
}

static void add_stats(struct push_sum_stats *total, const struct push_sum_stats *stats)
{
	total->over_limit_samples += stats->over_limit_samples;
	total->over_limit_lines += stats->over_limit_lines;
	total->dropped_windows += stats->dropped_windows;
	total->dropped_samples += stats->dropped_samples;
	total->bad_lines += stats->bad_lines;
	if (stats->over_limit_samples || stats->dropped_windows)
		pr_warn_limited("too many different stacks or processes in a minute: %" PRIu64
				" samples are sent as '" PUSH_OVER_LIMIT_FRAME "', %" PRIu64
				" samples are not sent\n",
				stats->over_limit_samples, stats->dropped_samples);
}

/* 0; 1: it has no room for so many minutes, and nothing was sent; -errno. */
static int send_piece(struct push_round *round, uint32_t events, const struct push_clock *clock,
		      uint64_t until_ns, size_t *streams)
{
	struct piece piece = { .round = round,
			       .clock = clock,
			       .sum = push_sum__new(round->max_bytes ? round->max_bytes :
								       PUSH_SUM_MAX_BYTES),
			       .since_ns = round->reached_ns,
			       .until_ns = until_ns };
	int err = read_piece(&piece, events);

	if (!err && !piece.is_full) {
		err = round->ops->send(round->server, piece.sum, &round->sent);
		round->is_server_failure = err != 0;
	}
	if (!err && !piece.is_full)
		add_stats(&round->summed, push_sum__stats(piece.sum));
	*streams = piece.sum ? push_sum__count(piece.sum) : 0;
	push_sum__free(piece.sum);
	return err ? err : piece.is_full;
}

static void widen(struct cmd_store_range *all, const struct cmd_store_range *range)
{
	all->is_first_unsure |= range->is_first_unsure;
	if (!range->last_unix_ns)
		return;
	if (range->first_unix_ns < all->first_unix_ns)
		all->first_unix_ns = range->first_unix_ns;
	if (range->last_unix_ns > all->last_unix_ns)
		all->last_unix_ns = range->last_unix_ns;
}

/* The times of the samples that are stored, of all events. */
static int store_range(const char *store, uint32_t events, struct cmd_store_range *all)
{
	int err = 0;

	*all = (struct cmd_store_range){ .first_unix_ns = UINT64_MAX };
	for (int event = 0; !err && event < EVENT_CNT; event++) {
		struct store_source *reader;
		struct cmd_store_range range;

		if (!(events & EVENT_BIT(event)))
			continue;
		err = cmd_store_open_event(store, (enum event)event, &reader);
		if (err)
			return err;
		err = cmd_store_range_known(reader, &range);
		store_source__free(reader);
		if (!err)
			widen(all, &range);
	}
	return err ? refuse_unreadable(store, err) : 0;
}

/* ---- the newest window ---- */

struct newest_search {
	struct push_newest newest;
	struct push_unreadable *unreadable;
	uint64_t now_ns;
	bool is_unreadable; /* and is to be tried again */
};

/* Refuses every window, so that no text is decoded. */
static bool note_newest(void *ctx, const struct window *window)
{
	struct newest_search *search = ctx;

	push_span_note(&search->newest, window, search->now_ns);
	return false;
}

static void note_unreadable(void *ctx, const struct store_damage *stretch)
{
	struct newest_search *search = ctx;

	search->is_unreadable |= push_unreadable_meet(search->unreadable, stretch);
}

/* Host records, too: an idle host has nothing else. Backwards in steps that double. */
static int find_newest(struct push_round *round, uint32_t events, uint64_t now_ns,
		       struct push_newest *out)
{
	struct newest_search search = { .unreadable = &round->unreadable, .now_ns = now_ns };
	const struct store_visitor visitor = {
		.ctx = &search,
		.merge_ns = CLICKHOUSE_MINUTE_NS,
		.want = note_newest,
		.damage = note_unreadable,
	};
	uint64_t since_ns = now_ns;
	int err = 0;

	for (uint64_t step = NEWEST_STEP_NS; !err && since_ns && !search.newest.end_ns; step *= 2) {
		since_ns = step < now_ns ? now_ns - step : 0;
		for (int event = 0; !err && event < EVENT_CNT; event++) {
			if (events & EVENT_BIT(event))
				err = visit_event(round->store, (enum event)event, since_ns, now_ns,
						  &visitor);
		}
		if (!err && search.is_unreadable)
			err = -EIO;
	}
	if (err)
		return refuse_unreadable(round->store, err);
	*out = search.newest;
	return 0;
}

/* ---- a round ---- */

/* Of a piece that was not confirmed nobody knows what the server has: where that counts twice, it is short. */
static uint64_t piece_minutes(const struct push_round *round)
{
	return round->ops->adds_up ? 1 : PIECE_MINUTES;
}

static int save(struct push_round *round, uint64_t until_ns)
{
	struct push_place *place = &round->place;
	int err = push_cursor_write(round->cursor_path, until_ns);

	if (err) {
		pr_err("'%s' cannot be written, which says how far the store was sent: %s\n",
		       round->cursor_path, errstr(err));
		return err;
	}
	if (until_ns > place->saved_ns) {
		place->saved_ns = until_ns;
		place->since_boot_ns = 0;
	}
	return 0;
}

/*
 * Before anything is sent: what could not be noted would be sent again by the next process, and count twice at a
 * server that adds up. Writes what was confirmed and could not be saved then, or what the file says.
 */
static int prove_cursor(struct push_round *round)
{
	const struct push_place *place = &round->place;

	if (!round->ops->adds_up)
		return 0;
	return save(round, place->cursor_ns > place->saved_ns ? place->cursor_ns : place->saved_ns);
}

static int confirm(struct push_round *round, uint64_t until_ns, size_t streams)
{
	struct push_place *place = &round->place;

	round->reached_ns = until_ns;
	/* What was sent again is behind it. */
	if (until_ns <= place->cursor_ns)
		return 0;
	place->cursor_ns = until_ns;
	/*
	 * Time in which nothing was stored is worth no write. To who adds up the file never goes back: a process that
	 * begins again would not know what of that time was sent.
	 */
	if (!streams || (round->ops->adds_up && until_ns <= place->saved_ns))
		return 0;
	return save(round, until_ns);
}

static void turn(struct push_round *round, const struct push_clock *clock)
{
	const struct push_place was = round->place;

	switch (push_span_turn(&round->place, clock, round->ops->adds_up)) {
	case PUSH_TURN_BACK:
		pr_warn("'%s' is %" PRIu64
			" s ahead of this host's clock, which was ahead or is behind: %s\n",
			round->cursor_path,
			(uint64_t)((was.cursor_ns - clock->unix_ns) / CLOCK_NS_PER_S),
			round->ops->adds_up ?
				"the server adds up, so until then only what is recorded from now on is sent" :
				"the last 24 hours are sent again, then it goes on");
		break;
	case PUSH_TURN_RETURN:
		pr_info("this host's clock was behind and is right again: sending goes on at '%s'\n",
			round->cursor_path);
		break;
	case PUSH_TURN_NONE:
		return;
	}
	round->reached_ns = 0;
}

/* reached_ns stays 0 when the store has no samples. */
static int begin(struct push_round *round, uint32_t events, uint64_t now_ns)
{
	struct cmd_store_range range;
	int err = store_range(round->store, events, &range);

	if (err)
		return err;
	/* Behind what cannot be read now the cursor would never come back to it. */
	if (range.is_first_unsure && range.first_unix_ns > round->place.cursor_ns &&
	    push_unreadable_meet_older(&round->unreadable))
		return refuse_unreadable(round->store, -EIO);
	if (range.last_unix_ns)
		round->reached_ns = push_span_begin(&round->place, range.first_unix_ns, now_ns,
						    round->ops->adds_up);
	return 0;
}

static int send_until(struct push_round *round, uint32_t events, const struct push_clock *clock,
		      uint64_t end_ns)
{
	uint64_t minutes = piece_minutes(round);
	int err = round->reached_ns < end_ns ? prove_cursor(round) : 0;

	while (err >= 0 && round->reached_ns < end_ns) {
		uint64_t until_ns = round->reached_ns + minutes * CLICKHOUSE_MINUTE_NS;
		size_t streams;

		if (until_ns > end_ns)
			until_ns = end_ns;
		err = send_piece(round, events, clock, until_ns, &streams);
		if (!err)
			err = confirm(round, until_ns, streams);
		/* Half as many, or, once there was room, twice as many again. */
		minutes = err > 0 ? (minutes + 1) / 2 : 2 * minutes;
		if (minutes > piece_minutes(round))
			minutes = piece_minutes(round);
	}
	return err;
}

static int send_all(struct push_round *round, const struct push_clock *clock)
{
	bool was_quiet = round->quiet_ns != 0;
	struct push_newest newest;
	uint64_t end_ns;
	uint32_t events;
	int err = store_events(round->store, &events);

	round->quiet_ns = 0;
	if (err)
		return refuse_unreadable(round->store, err);
	if (!events) {
		pr_err("there is no store in '%s'; is jbpfd running, or is it another --store?\n",
		       round->store);
		return -ENOENT;
	}
	err = find_newest(round, events, clock->unix_ns, &newest);
	if (err || !newest.end_ns)
		return err;
	turn(round, clock);
	end_ns = push_span_end(&newest, clock);
	/* More may have come for a minute that seemed to be complete: jbpfd is back, or the clock was set back. */
	if (round->reached_ns > end_ns || (was_quiet && newest.end_ns != round->newest_ns))
		round->reached_ns = 0;
	if (!round->reached_ns)
		err = begin(round, events, clock->unix_ns);
	if (err || !round->reached_ns)
		return err;
	round->newest_ns = newest.end_ns;
	err = send_until(round, events, clock, end_ns);
	if (!err)
		round->quiet_ns = push_span_quiet(&newest, clock);
	return err;
}

int push_round(struct push_round *round, const struct push_clock *clock)
{
	int err;

	round->is_server_failure = false;
	push_unreadable_begin_round(&round->unreadable);
	err = send_all(round, clock);
	push_unreadable_end_round(&round->unreadable, err);
	if (err)
		round->reached_ns = 0;
	return err;
}

/* What failed here is tried again: a disk has room again, a file can be read, or is given up. */
bool push_round_is_passing(const struct push_round *round, int err)
{
	if (!round->is_server_failure)
		return true;
	return err != -EPROTONOSUPPORT &&
	       (err != -EIO || round->ops->failure(round->server)->fault == REMOTE_FAULT_PASSING);
}

void push_round_read_clock(struct push_clock *out)
{
	uint64_t awake_ns = clock_monotonic_ns();

	*out = (struct push_clock){ .unix_ns = clock_unix_ns(), .boot_ns = clock_boot_ns() };
	/* CLOCK_MONOTONIC stands still while the host is suspended. */
	out->suspended_ns = out->boot_ns - awake_ns;
}

uint64_t push_round_sent_until(const struct push_round *round)
{
	uint64_t cursor_ns = round->place.cursor_ns;

	return round->quiet_ns > cursor_ns ? round->quiet_ns : cursor_ns;
}

void push_round_release(struct push_round *round)
{
	if (round->ops)
		round->ops->free(round->server);
	push_unreadable_release(&round->unreadable);
}
