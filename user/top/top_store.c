// SPDX-License-Identifier: Apache-2.0
/*
 * Windows from the store: those since the last poll, each second. A window is taken when a second
 * poll, a moment later, finds as much of it as the first: jbpfd may be writing it just then.
 */
#include "user/top/top_source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/cli/cmd_store.h"
#include "user/cli/exit_codes.h"
#include "user/collect/running.h"
#include "user/live/running_reader.h"
#include "user/store/store_socket.h"
#include "user/store/store_source.h"
#include "user/store/store_state.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define POLL_NS	    CLOCK_NS_PER_S
#define SECOND_NS   (200 * CLOCK_NS_PER_MS)
#define MINUTE_NS   (TOP_HISTORY_S * CLOCK_NS_PER_S)
#define AHEAD_NS    MINUTE_NS /* clocks step */
#define ALIVE_NS    (30 * CLOCK_NS_PER_S)
#define ALIVE_TIMES 3 /* windows of the length that the store has */

/* What a poll finds beyond what is known. */
struct poll {
	uint64_t known_ns; /* windows that end up to here are in the model */
	uint64_t newest_ns;
	size_t cnt;
};

struct top_store {
	struct top_source source; /* must be first */
	char *dir;
	enum event event; /* of the reader */
	struct store_source *reader;
	struct running_reader running;
	bool reads_along;
	bool has_read; /* all windows that there were: before that a row would lack its methods and facts */
	bool is_begun[EVENT_CNT];
	struct poll polls[EVENT_CNT];
	struct top_model *model; /* during a walk */
	uint64_t now_unix_ns;	 /* the same */
	bool is_damaged;	 /* what was walked last */
	bool took_damage;	 /* the same when windows were taken */
};

/* ---- is it alive? ---- */

static bool note_end(void *ctx, const struct window *window)
{
	uint64_t *alive_until_ns = ctx;
	uint64_t wait_ns = ALIVE_TIMES * window->duration_ns;
	uint64_t until_ns = window_end_unix_ns(window) + (wait_ns > ALIVE_NS ? wait_ns : ALIVE_NS);

	if (window->pid == 0 && until_ns > *alive_until_ns)
		*alive_until_ns = until_ns;
	return false;
}

/* An hour back: windows are no longer than that. */
bool top_store_is_alive(const char *dir)
{
	uint64_t now = clock_unix_ns();
	uint64_t alive_until_ns = 0;
	const struct store_visitor visitor = { .ctx = &alive_until_ns, .want = note_end };
	struct store_source *reader;
	__cleanup_fd int fd = store_socket_connect(dir);
	int err;

	if (fd >= 0)
		return true;
	err = store_source__open(dir, EVENT_CPU, &reader);
	if (err)
		return false;
	err = store_source__visit(reader, now - 3 * ALIVE_NS, now + AHEAD_NS, &visitor);
	store_source__free(reader);
	return !err && alive_until_ns > now;
}

/* ---- live ---- */

static bool want_new(void *ctx, const struct window *window)
{
	struct top_store *store = ctx;
	struct poll *poll = &store->polls[store->event];
	uint64_t end = window_end_unix_ns(window);

	/* Of the future: from before the clock was set back. */
	if (end <= poll->known_ns || end > store->now_unix_ns)
		return false;
	poll->cnt++;
	if (end > poll->newest_ns)
		poll->newest_ns = end;
	return store->model != NULL;
}

static int take_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct top_store *store = ctx;

	return top_model__add(store->model, window, text, len);
}

static void note_damage(void *ctx, const struct store_damage *damage)
{
	struct top_store *store = ctx;

	(void)damage;
	store->is_damaged = true;
}

/* Looks, and takes what is found when there is a model. 0 or -errno. */
static int walk(struct top_store *store, struct top_model *model)
{
	struct poll *poll = &store->polls[store->event];
	const struct store_visitor visitor = {
		.ctx = store,
		.wants_cells = true,
		.wants_threads = true,
		.want = want_new,
		.window = take_window,
		.damage = note_damage,
	};

	store->now_unix_ns = clock_unix_ns();
	/* Set back: nothing would be newer than what is known, until the clock is there again. */
	if (poll->known_ns > store->now_unix_ns + AHEAD_NS)
		poll->known_ns = store->now_unix_ns - MINUTE_NS;
	poll->cnt = 0;
	poll->newest_ns = poll->known_ns;
	store->model = model;
	store->is_damaged = false;
	return store_source__visit(store->reader, poll->known_ns, store->now_unix_ns, &visitor);
}

static int open_event(struct top_store *store, enum event event)
{
	struct store_source *reader;
	int err;

	if (store->reader && store->event == event)
		return 0;
	err = store_source__open(store->dir, event, &reader);
	if (err)
		return err;
	store_source__free(store->reader);
	store->reader = reader;
	store->event = event;
	return 0;
}

/* The first poll begins a minute before the newest sample, however old that is; if it is not of the future. */
static int begin(struct top_store *store)
{
	struct cmd_store_range range;
	uint64_t now = clock_unix_ns(), last;
	int err;

	if (store->is_begun[store->event])
		return 0;
	err = cmd_store_range(store->reader, &range);
	if (err)
		return err;
	last = range.last_unix_ns < now ? range.last_unix_ns : now;
	store->polls[store->event].known_ns = last > MINUTE_NS ? last - MINUTE_NS : 0;
	store->is_begun[store->event] = true;
	return 0;
}

/* What needs attention: of the windows that were taken last, that no more come, or why they are not newer. */
static void describe(struct top_store *store)
{
	char *note = store->source.note;
	uint64_t now = clock_unix_ns();
	struct store_state state;

	*note = '\0';
	if (store->took_damage)
		(void)snprintf(note, sizeof(store->source.note),
			       "parts of the store cannot be read, see jbpf store check");
	else if (store_state_read(store->dir, &state) == 0 && !store_state_is_fresh(&state, now))
		(void)snprintf(note, sizeof(store->source.note),
			       "jbpfd said nothing for %" PRIu64 " s: is it running?",
			       now > state.written_unix_ns ?
				       (uint64_t)((now - state.written_unix_ns) / CLOCK_NS_PER_S) :
				       0);
	else if (store->reads_along)
		running_reader_why(&store->running, note, sizeof(store->source.note));
}

/* 0 or -errno. */
static int poll_twice(struct top_store *store, struct top_model *model)
{
	struct poll *poll = &store->polls[store->event];
	struct poll before = *poll;
	int err = walk(store, NULL);

	store->source.is_idle = !poll->cnt;
	if (err || !poll->cnt)
		return err;
	if (poll->cnt != before.cnt || poll->newest_ns != before.newest_ns) {
		store->source.due_boot_ns = clock_boot_ns() + SECOND_NS;
		return 0;
	}
	err = walk(store, model);
	store->took_damage = store->is_damaged;
	poll->known_ns = poll->newest_ns;
	poll->cnt = 0;
	store->source.is_idle = true;
	return err;
}

/* Streams first: the host record says that there are no more. */
static int take_running(void *ctx, const struct packet *packet,
			const struct running_snapshot *snapshot)
{
	struct window window;
	size_t at = 0;
	int err = 0;

	(void)packet;
	while (!err && running_snapshot_stream(snapshot, &at, &window))
		err = top_model__add_running(ctx, &window);
	at = 0;
	while (!err && running_snapshot_event(snapshot, &at, &window))
		err = top_model__add_running(ctx, &window);
	return err;
}

static void forget_running(void *ctx)
{
	top_model__forget_running(ctx);
}

/* Of the window that runs. 0 or -ENOMEM. */
static int read_along(struct top_store *store, enum event event, struct top_model *model)
{
	const struct running_listener listener = { take_running, forget_running, model };
	int err;

	if (!store->reads_along)
		return 0;
	err = running_reader_step(&store->running, store->dir, &listener);
	store->source.fd = running_reader_fd(&store->running);
	store->source.fills_ns = (EVENT_BIT(event) & RUNNING_EVENTS) &&
						 running_reader_is_awaited(&store->running) ?
					 TOP_RUNNING_S * CLOCK_NS_PER_S :
					 0;
	return err;
}

static int store_step(struct top_source *source, enum event event, struct top_model *model)
{
	struct top_store *store = (struct top_store *)source;
	int err = store->has_read ? read_along(store, event, model) : 0;

	if (err) {
		(void)snprintf(source->why, sizeof(source->why), "out of memory");
		return err;
	}
	if (source->due_boot_ns > clock_boot_ns() && store->event == event)
		return 0;
	source->due_boot_ns = clock_boot_ns() + POLL_NS;
	err = store_events(store->dir, &source->events);
	if (!err)
		err = open_event(store, event);
	if (!err)
		err = begin(store);
	if (!err)
		err = poll_twice(store, model);
	if (!err && !store->has_read && source->is_idle) {
		store->has_read = true;
		err = read_along(store, event, model);
	}
	describe(store);
	if (err)
		(void)snprintf(source->why, sizeof(source->why),
			       "the store in '%s' cannot be read: %s", store->dir, errstr(err));
	return err;
}

static void store_free(struct top_source *source)
{
	struct top_store *store = (struct top_store *)source;

	running_reader_release(&store->running);
	store_source__free(store->reader);
	free(store->dir);
	free(store);
}

int top_store__open(const char *dir, enum event event, bool reads_along, struct top_source **out)
{
	static const struct top_source_ops ops = { .step = store_step, .free = store_free };
	struct top_store *store = calloc(1, sizeof(*store));
	int err = -ENOMEM;

	if (store) {
		store->source.ops = &ops;
		store->source.fd = -1;
		store->event = event;
		store->reads_along = reads_along;
		running_reader_init(&store->running);
		store->dir = strdup(dir);
		(void)snprintf(store->source.text, sizeof(store->source.text), "store %s", dir);
	}
	if (!store || !store->dir)
		pr_err("out of memory\n");
	else
		err = cmd_store_open_event(dir, event, &store->reader);
	if (err && store)
		store_free(&store->source);
	if (!err)
		*out = &store->source;
	return err;
}

/* ---- a range ---- */

struct range {
	uint64_t since_unix_ns;
	uint64_t until_unix_ns;
	struct top_model *model;
	struct cmd_store_damage damage;
};

static bool want_in_range(void *ctx, const struct window *window)
{
	const struct range *range = ctx;

	return window->start_unix_ns < range->until_unix_ns &&
	       window_end_unix_ns(window) > range->since_unix_ns;
}

static int take_in_range(void *ctx, const struct window *window, const char *text, size_t len)
{
	const struct range *range = ctx;

	return top_model__add(range->model, window, text, len);
}

static void note_in_range(void *ctx, const struct store_damage *damage)
{
	struct range *range = ctx;

	cmd_store_damage_note(&range->damage, damage);
}

int top_store_read(const char *dir, enum event event, uint64_t since_unix_ns,
		   uint64_t until_unix_ns, struct top_model *model)
{
	struct range range = {
		.since_unix_ns = since_unix_ns,
		.until_unix_ns = until_unix_ns,
		.model = model,
	};
	const struct store_visitor visitor = {
		.ctx = &range,
		.wants_threads = true,
		.merge_ns = UINT64_MAX,
		.want = want_in_range,
		.window = take_in_range,
		.damage = note_in_range,
	};
	struct store_source *reader;
	int err = cmd_store_open_event(dir, event, &reader);

	if (err)
		return err == -ENODATA ? CMD_EXIT_NO_SAMPLES : CMD_EXIT_FAILED;
	err = store_source__visit(reader, since_unix_ns, until_unix_ns, &visitor);
	store_source__free(reader);
	cmd_store_damage_end(&range.damage);
	if (err) {
		pr_err("the store in '%s' cannot be read: %s\n", dir, errstr(err));
		return CMD_EXIT_FAILED;
	}
	return cmd_store_damage_code(&range.damage, CMD_EXIT_DONE);
}
