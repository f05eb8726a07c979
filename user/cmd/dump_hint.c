// SPDX-License-Identifier: Apache-2.0
/*
 * The hint after "no samples match": a selector or thread that nothing matches, with the names that are near; or
 * processes of the asked time, when only all selectors together match nothing; or, when that time is
 * empty, the times of the first and last sample.
 */
#include "user/cmd/dump_hint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/cli/cmd_store.h"
#include "user/cli/streams.h"
#include "user/cli/unmatched.h"
#include "user/names/near_name.h"
#include "user/model/thread_counts.h"
#include "user/output/escape.h"
#include "user/output/info.h"
#include "user/store/store_state.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/strbuf.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

#define HINT_STREAMS_MAX   5	 /* named */
#define HINT_COLLECTED_MAX 20000 /* looked at */

/* ---- other processes of the same time ---- */

struct hint_streams {
	const struct selection *selection;
	struct streams streams;
};

/* Called for each window of the time; refuses them all, so that no text is decoded. */
static bool collect(void *ctx, const struct window *window)
{
	struct hint_streams *hint = ctx;

	if (window->pid && window->counts.samples && hint->streams.cnt < HINT_COLLECTED_MAX &&
	    selection_covers(hint->selection, window))
		(void)streams_add(&hint->streams, window); /* on failure the hint is shorter */
	return false;
}

/* ---- a thread that nothing matches ---- */

struct hint_threads {
	const struct selection *selection;
	struct strtab *names;
	struct hint_name *items; /* by the id in `names`, which holds their texts */
	size_t cap;
	bool has_match;
};

static bool wants_threads_of(void *ctx, const struct window *window)
{
	const struct hint_threads *threads = ctx;

	return window->pid && window->counts.samples && !threads->has_match &&
	       strtab__count(threads->names) < HINT_COLLECTED_MAX &&
	       selection_covers(threads->selection, window) &&
	       selection_matches(threads->selection, window);
}

/* A thread counts once for each window. */
static int add_thread(struct hint_threads *threads, const char *name, size_t len)
{
	const char *wanted = threads->selection->thread;
	uint32_t cnt = strtab__count(threads->names);
	uint32_t id;
	int err;

	threads->has_match |= selection_takes_thread(threads->selection, name);
	err = strtab__intern(threads->names, name, len, &id);
	if (!err)
		err = vec_room(threads->items, cnt, threads->cap, 64);
	if (err)
		return err;
	if (id == cnt)
		threads->items[id] =
			(struct hint_name){ .name = strtab__get(threads->names, id, NULL),
					    .near = near_name(wanted, name) };
	threads->items[id].samples++;
	return 0;
}

static int collect_threads(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct hint_threads *threads = ctx;
	__cleanup_thread_reader struct thread_reader reader = { 0 };
	int err = thread_reader_open(&reader, window->threads, (size_t)window->threads_len);

	(void)text;
	(void)len;
	for (size_t i = 0; !err && i < reader.name_cnt; i++)
		err = add_thread(threads, reader.names[i], reader.lens[i]);
	return err == -EINVAL ? 0 : err; /* damage is told where it is read for its samples */
}

/* Nothing is appended when there is such a thread: then it is something else that does not match. */
static int append_threads(struct store_source *reader, const struct selection *selection,
			  struct strbuf *out)
{
	struct hint_threads threads = { .selection = selection, .names = strtab__new() };
	const struct store_visitor visitor = { .ctx = &threads,
					       .merge_ns = UINT64_MAX,
					       .wants_threads = true,
					       .want = wants_threads_of,
					       .window = collect_threads };
	int err = threads.names ? store_source__visit(reader, selection->since_unix_ns,
						      selection->until_unix_ns, &visitor) :
				  -ENOMEM;

	if (!err && !threads.has_match) {
		size_t cnt = strtab__count(threads.names);

		if (cnt)
			qsort(threads.items, cnt, sizeof(*threads.items), hint_names_compare);
		err = hint_names_append("thread", selection->thread, threads.items, cnt,
					"--by thread", out);
	}
	free(threads.items);
	strtab__free(threads.names);
	return err;
}

/* ---- selectors that match nothing together ---- */

static bool contains(const char *label, const char *wanted)
{
	return *wanted && strcasestr(label, wanted);
}

/* Does a label contain the asked name, as when it was cut or belongs to another label? */
static bool is_near(const struct selection *selection, const struct window *window)
{
	for (int by = 0; by < SELECT_BY_CNT; by++) {
		struct select_more wanted = selection_get(selection, (enum select_by)by, 0);

		for (int label = 0; wanted.pattern && label < WINDOW_LABEL_CNT; label++) {
			if (contains(window_label(window, (enum window_label)label),
				     wanted.pattern))
				return true;
		}
	}
	return false;
}

/* Nearest first, then busiest. */
static const struct stream *best_of(const struct hint_streams *hint, const bool *taken)
{
	const struct stream *best = NULL;
	bool best_near = false;

	for (size_t i = 0; i < hint->streams.cnt; i++) {
		const struct stream *stream = &hint->streams.items[i];
		bool near = is_near(hint->selection, &stream->latest);

		if (taken[i])
			continue;
		if (!best || near > best_near ||
		    (near == best_near && stream->counts.samples > best->counts.samples)) {
			best = stream;
			best_near = near;
		}
	}
	return best;
}

static void append_stream(struct strbuf *out, const struct stream *stream)
{
	const char *container = window_label(&stream->latest, WINDOW_LABEL_CONTAINER);
	const char *pod = window_label(&stream->latest, WINDOW_LABEL_POD);
	const char *comm = window_label(&stream->latest, WINDOW_LABEL_COMM);

	escape_terminal(out, comm, strlen(comm));
	strbuf_printf(out, " (pid %" PRIu32, stream->latest.pid);
	if (*container) {
		strbuf_puts(out, ", container ");
		escape_terminal(out, container, strlen(container));
	}
	if (*pod) {
		strbuf_puts(out, ", pod ");
		escape_terminal(out, pod, strlen(pod));
	}
	strbuf_putc(out, ')');
}

static int append_streams(const struct hint_streams *hint, struct strbuf *out)
{
	__cleanup_free bool *taken = calloc(hint->streams.cnt, sizeof(*taken));
	size_t named = 0;

	if (!taken)
		return -ENOMEM;
	strbuf_puts(out, "that time has ");
	for (; named < HINT_STREAMS_MAX && named < hint->streams.cnt; named++) {
		const struct stream *stream = best_of(hint, taken);

		taken[stream - hint->streams.items] = true;
		if (named)
			strbuf_puts(out, ", ");
		append_stream(out, stream);
	}
	if (hint->streams.cnt > named)
		strbuf_printf(out, " and %zu more", hint->streams.cnt - named);
	strbuf_puts(out, "; see --list");
	return strbuf_error(out);
}

/* ---- other times ---- */

/* Does a jbpfd write the one store that was asked? */
static bool is_written(const struct option_stores *stores)
{
	struct store_state state;

	return !stores->from && stores->cnt <= 1 &&
	       !store_state_read(option_stores_first(stores), &state) &&
	       store_state_is_fresh(&state, clock_unix_ns());
}

static void append_range(const struct option_stores *stores, uint64_t first_unix_ns,
			 uint64_t last_unix_ns, struct strbuf *out)
{
	if (last_unix_ns == 0) {
		if (stores->from)
			strbuf_puts(out, "the server has none yet: jbpf push sends them");
		else if (is_written(stores))
			strbuf_puts(out, "the store has none yet; jbpfd runs: wait for a window");
		else
			strbuf_puts(out, "the store has none at all; is jbpfd running?");
		return;
	}
	strbuf_puts(out, "that time is empty; the store has samples from ");
	info_append_local_time(out, first_unix_ns);
	strbuf_puts(out, " to ");
	info_append_local_time(out, last_unix_ns);
}

int dump_hint(struct store_source *reader, const struct dump_options *options, struct strbuf *out)
{
	struct hint_streams hint = { .selection = &options->selection };
	const struct store_visitor visitor = { .ctx = &hint,
					       .merge_ns = UINT64_MAX,
					       .want = collect };
	struct cmd_store_range range;
	int err = store_source__visit(reader, options->selection.since_unix_ns,
				      options->selection.until_unix_ns, &visitor);

	if (!err && hint.streams.cnt) {
		size_t before = out->len;

		err = unmatched_hint(hint.selection, &hint.streams, "--list", out);
		if (!err && out->len == before && options->selection.thread)
			err = append_threads(reader, &options->selection, out);
		if (!err && out->len == before)
			err = append_streams(&hint, out);
	} else if (!err) {
		err = cmd_store_range(reader, &range);
		if (!err)
			append_range(&options->stores, range.first_unix_ns, range.last_unix_ns,
				     out);
	}
	streams_release(&hint.streams);
	return err ? err : strbuf_error(out);
}
