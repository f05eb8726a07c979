// SPDX-License-Identifier: Apache-2.0
/*
 * The hint after "no samples match": it names processes of the asked time, nearest names first; or,
 * when that time is empty, the times of the first and last sample.
 */
#include "user/cmd/dump_hint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/cli/cmd_store.h"
#include "user/cli/streams.h"
#include "user/output/escape.h"
#include "user/output/info.h"
#include "user/util/cleanup.h"
#include "user/util/strbuf.h"

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

static bool contains(const char *label, const char *wanted)
{
	return wanted && *wanted && strcasestr(label, wanted);
}

/* Does a label contain the asked name, as when it was cut or belongs to another label? */
static bool is_near(const struct selection *selection, const struct window *window)
{
	const char *const wanted[] = { selection->container, selection->pod,  selection->namespace,
				       selection->service,   selection->comm, selection->cgroup };

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		for (int label = 0; label < WINDOW_LABEL_CNT; label++) {
			if (contains(window_label(window, (enum window_label)label), wanted[i]))
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

static int append_stream(struct strbuf *out, const struct stream *stream)
{
	const char *container = window_label(&stream->latest, WINDOW_LABEL_CONTAINER);
	const char *pod = window_label(&stream->latest, WINDOW_LABEL_POD);
	const char *comm = window_label(&stream->latest, WINDOW_LABEL_COMM);
	int err = escape_terminal(out, comm, strlen(comm));

	if (!err)
		err = strbuf_printf(out, " (pid %" PRIu32, stream->latest.pid);
	if (!err && *container) {
		err = strbuf_puts(out, ", container ");
		if (!err)
			err = escape_terminal(out, container, strlen(container));
	}
	if (!err && *pod) {
		err = strbuf_puts(out, ", pod ");
		if (!err)
			err = escape_terminal(out, pod, strlen(pod));
	}
	return err ? err : strbuf_putc(out, ')');
}

static int append_streams(const struct hint_streams *hint, struct strbuf *out)
{
	__cleanup_free bool *taken = calloc(hint->streams.cnt, sizeof(*taken));
	size_t named = 0;
	int err = taken ? strbuf_puts(out, "that time has ") : -ENOMEM;

	for (; !err && named < HINT_STREAMS_MAX && named < hint->streams.cnt; named++) {
		const struct stream *stream = best_of(hint, taken);

		taken[stream - hint->streams.items] = true;
		if (named)
			err = strbuf_puts(out, ", ");
		if (!err)
			err = append_stream(out, stream);
	}
	if (!err && hint->streams.cnt > named)
		err = strbuf_printf(out, " and %zu more", hint->streams.cnt - named);
	return err ? err : strbuf_puts(out, "; see --list");
}

/* ---- other times ---- */

static int append_range(uint64_t first_unix_ns, uint64_t last_unix_ns, struct strbuf *out)
{
	int err;

	if (last_unix_ns == 0)
		return strbuf_puts(out, "the store has none at all; is jbpfd running?");
	err = strbuf_puts(out, "that time is empty; the store has samples from ");
	if (!err)
		err = info_append_time(out, first_unix_ns);
	if (!err)
		err = strbuf_puts(out, " to ");
	return err ? err : info_append_time(out, last_unix_ns);
}

int dump_hint(struct store_reader *reader, const struct dump_options *options, struct strbuf *out)
{
	struct hint_streams hint = { .selection = &options->selection };
	const struct store_visitor visitor = { .ctx = &hint,
					       .merge_ns = UINT64_MAX,
					       .want = collect };
	uint64_t first, last;
	int err = store_reader__visit(reader, options->selection.since_unix_ns,
				      options->selection.until_unix_ns, &visitor);

	if (!err && hint.streams.cnt) {
		err = append_streams(&hint, out);
	} else if (!err) {
		err = cmd_store_range(reader, &first, &last);
		if (!err)
			err = append_range(first, last, out);
	}
	streams_release(&hint.streams);
	return err;
}
