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

#define PIECE_NS (10 * CLICKHOUSE_MINUTE_NS)
#define AGAIN_NS (10 * CLICKHOUSE_MINUTE_NS)
/*
 * Minutes of a day file begin five minutes apart: sent again they would be other rows than those that the
 * server has of the same time.
 */
#define AGAIN_MAX_AGE_NS (STORE_DAY_FILE_AGE_NS - 24 * STORE_WINDOW_MAX_NS)
/* A window is stored some seconds after its end; later ones are waited for while the daemon is behind ... */
#define SETTLE_NS (90 * CLOCK_NS_PER_S)
/* ... or has stopped: then nothing more comes. */
#define STOPPED_NS (10 * CLICKHOUSE_MINUTE_NS)

struct piece {
	struct push_round *round;
	struct push_sum *sum;
	uint64_t since_ns, until_ns;
	int err;
};

static uint64_t minute_of(uint64_t ns)
{
	return ns - ns % CLICKHOUSE_MINUTE_NS;
}

/* A window belongs to the minute in which it begins, and only to that. */
static bool want(void *ctx, const struct window *window)
{
	const struct piece *piece = ctx;

	return window->start_unix_ns >= piece->since_ns && window->start_unix_ns < piece->until_ns;
}

static int take_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct piece *piece = ctx;

	return push_sum__add(piece->sum, window, text, len);
}

static void note_damage(void *ctx, const struct store_damage *stretch)
{
	struct piece *piece = ctx;

	if (stretch->is_unreadable)
		piece->err = -EIO;
	cmd_store_damage_note(&piece->round->damage, stretch);
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
	struct store_source *reader;
	int err = store_source__open(piece->round->store, event, &reader);

	if (err)
		return err;
	err = store_source__visit(reader, piece->since_ns, piece->until_ns, &visitor);
	store_source__free(reader);
	return err ? err : piece->err;
}

static int refuse_unreadable(const char *store, int err)
{
	pr_err("the store in '%s' cannot be read: %s\n", store, errstr(err));
	return err;
}

static int read_piece(struct piece *piece, uint32_t events)
{
	int err = piece->sum ? 0 : -ENOMEM;

	for (int event = 0; !err && event < EVENT_CNT; event++) {
		if (events & EVENT_BIT(event))
			err = read_event(piece, (enum event)event);
	}
	if (!err)
		err = push_sum__finish(piece->sum);
	return err ? refuse_unreadable(piece->round->store, err) : 0;
}

static void add_stats(struct push_sum_stats *total, const struct push_sum_stats *stats)
{
	total->over_limit_samples += stats->over_limit_samples;
	total->dropped_windows += stats->dropped_windows;
	total->dropped_samples += stats->dropped_samples;
	total->bad_lines += stats->bad_lines;
	if (stats->over_limit_samples || stats->dropped_windows)
		pr_warn_limited("too many different stacks or processes in a minute: %" PRIu64
				" samples are sent as '" PUSH_OVER_LIMIT_FRAME "', %" PRIu64
				" samples are not sent\n",
				stats->over_limit_samples, stats->dropped_samples);
}

static int send_piece(struct push_round *round, uint32_t events, uint64_t until_ns)
{
	struct piece piece = { .round = round,
			       .sum = push_sum__new(),
			       .since_ns = round->reached_ns,
			       .until_ns = until_ns };
	int err = read_piece(&piece, events);

	if (!err) {
		err = round->ops->send(round->server, piece.sum, &round->sent);
		round->is_server_failure = err != 0;
	}
	if (!err)
		add_stats(&round->summed, push_sum__stats(piece.sum));
	push_sum__free(piece.sum);
	return err;
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

/* The times of what is stored, of all events. */
static int store_range(const char *store, uint32_t *events, struct cmd_store_range *all)
{
	int err = store_events(store, events);

	*all = (struct cmd_store_range){ .first_unix_ns = UINT64_MAX };
	for (int event = 0; !err && event < EVENT_CNT; event++) {
		struct store_source *reader;
		struct cmd_store_range range;

		if (!(*events & EVENT_BIT(event)))
			continue;
		err = cmd_store_open_event(store, (enum event)event, &reader);
		if (err)
			return err;
		err = cmd_store_range(reader, &range);
		store_source__free(reader);
		if (!err)
			widen(all, &range);
	}
	return err ? refuse_unreadable(store, err) : 0;
}

/* Of a piece that was not confirmed nobody knows what the server has: where that counts twice, it is short. */
static uint64_t piece_ns(const struct push_round *round)
{
	return round->ops->adds_up ? CLICKHOUSE_MINUTE_NS : PIECE_NS;
}

/* Where the first round of the process, or the one after a failure, begins. */
static uint64_t begin_of(const struct push_round *round, uint64_t first_ns, uint64_t now_ns)
{
	uint64_t begin = round->cursor_ns;

	if (!round->ops->adds_up && begin > AGAIN_NS && now_ns - begin < AGAIN_MAX_AGE_NS)
		begin -= AGAIN_NS;
	/* Host records may come before the first samples of all. */
	first_ns -= first_ns % STORE_WINDOW_MAX_NS;
	return minute_of(begin > first_ns ? begin : first_ns);
}

/* The first minute that is not complete. */
static uint64_t end_of(uint64_t last_ns, uint64_t now_ns)
{
	uint64_t end = last_ns > now_ns - STOPPED_NS ? last_ns : now_ns - STOPPED_NS;

	return minute_of(end < now_ns - SETTLE_NS ? end : now_ns - SETTLE_NS);
}

static int confirm(struct push_round *round, uint64_t until_ns)
{
	int err;

	round->reached_ns = until_ns;
	/* What was sent again is behind it. */
	if (until_ns <= round->cursor_ns)
		return 0;
	err = push_cursor_write(round->cursor_path, until_ns);
	if (err)
		pr_err("'%s': %s\n", round->cursor_path, errstr(err));
	else
		round->cursor_ns = until_ns;
	return err;
}

static int send_all(struct push_round *round)
{
	uint64_t now_ns = clock_unix_ns(), end_ns;
	struct cmd_store_range range;
	uint32_t events;
	int err = store_range(round->store, &events, &range);

	if (err)
		return err;
	if (!events) {
		pr_err("there is no store in '%s'; is jbpfd running, or is it another --store?\n",
		       round->store);
		return -ENOENT;
	}
	/* Behind what cannot be read now the cursor would never come back to it. */
	if (range.is_first_unsure && range.first_unix_ns > round->cursor_ns)
		return refuse_unreadable(round->store, -EIO);
	round->newest_ns = range.last_unix_ns;
	if (!range.last_unix_ns)
		return 0;
	if (!round->reached_ns)
		round->reached_ns = begin_of(round, range.first_unix_ns, now_ns);
	end_ns = end_of(range.last_unix_ns, now_ns);
	/* The rest of a minute that was sent can only come from a clock that was set back. */
	while (!err && round->reached_ns < end_ns) {
		uint64_t until_ns = round->reached_ns + piece_ns(round);

		if (until_ns > end_ns)
			until_ns = end_ns;
		/* No samples are stored behind the last window. */
		if (round->reached_ns > range.last_unix_ns)
			until_ns = end_ns;
		err = send_piece(round, events, until_ns);
		if (!err)
			err = confirm(round, until_ns);
	}
	return err;
}

int push_round(struct push_round *round)
{
	int err;

	round->is_server_failure = false;
	err = send_all(round);
	if (err)
		round->reached_ns = 0;
	return err;
}

void push_round_release(struct push_round *round)
{
	if (round->ops)
		round->ops->free(round->server);
}
