// SPDX-License-Identifier: Apache-2.0
/* See running_wire.h. */
#include "user/collect/running_wire.h"

#include <errno.h>
#include <string.h>

#include "user/util/cleanup.h"

#define WORD_BYTES 8u

/* In this order; the layout's version is that of this table, too. */
static const enum window_label labels_told[] = {
	WINDOW_LABEL_SERVICE, WINDOW_LABEL_NAMESPACE, WINDOW_LABEL_POD,
	WINDOW_LABEL_POD_UID, WINDOW_LABEL_CONTAINER, WINDOW_LABEL_CONTAINER_ID,
	WINDOW_LABEL_IMAGE,   WINDOW_LABEL_CGROUP,    WINDOW_LABEL_EXE,
};

_Static_assert(sizeof(struct running_head) == 128, "no padding, and events stay aligned");
_Static_assert(sizeof(struct running_event) == 24, "no padding, and streams stay aligned");
_Static_assert(sizeof(struct running_stream) == 64, "no padding, and labels stay aligned");

static size_t padded(size_t len)
{
	return (len + WORD_BYTES - 1) / WORD_BYTES * WORD_BYTES;
}

/* ---- writing ---- */

int running_labels_put(struct strbuf *out, const struct window *window)
{
	struct strbuf_mark mark = strbuf_mark(out);
	size_t begin = out->len;

	for (size_t i = 0; i < ARRAY_SIZE(labels_told); i++) {
		const char *label = window_label(window, labels_told[i]);

		strbuf_append(out, label, strlen(label) + 1);
	}
	return strbuf_settle(out, mark,
			     !strbuf_error(out) && out->len - begin > RUNNING_LABELS_MAX ? -E2BIG :
											   0);
}

int running_stream_put(struct strbuf *out, const struct running_stream *stream, const void *labels)
{
	static const char zeros[WORD_BYTES];
	size_t len = stream->labels_len;
	int err = strbuf_reserve(out, sizeof(*stream) + padded(len));

	if (err)
		return err;
	strbuf_append(out, stream, sizeof(*stream));
	strbuf_append(out, labels, len);
	strbuf_append(out, zeros, padded(len) - len);
	return 0;
}

/* ---- reading ---- */

static bool ends(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

/* Points the window's labels into the bytes; false: they are not these labels. NULL: only looks. */
static bool take_labels(const char *at, size_t len, struct window *window)
{
	const char *end = at + len;

	for (size_t i = 0; i < ARRAY_SIZE(labels_told); i++) {
		const char *nul = memchr(at, '\0', (size_t)(end - at));

		if (!nul)
			return false;
		if (window && *at)
			window->labels[labels_told[i]] = at;
		at = nul + 1;
	}
	return at == end;
}

/* The size of the stream that begins here; 0: it is none, or ends behind `left` bytes. */
static size_t stream_size(const uint8_t *at, size_t left)
{
	struct running_stream stream;

	if (left < sizeof(stream))
		return 0;
	memcpy(&stream, at, sizeof(stream));
	left -= sizeof(stream);
	if (stream.labels_len > RUNNING_LABELS_MAX || padded(stream.labels_len) > left ||
	    !stream.pid || !ends(stream.comm, sizeof(stream.comm)) ||
	    !take_labels((const char *)at + sizeof(stream), stream.labels_len, NULL))
		return 0;
	return sizeof(stream) + padded(stream.labels_len);
}

int running_snapshot_read(const void *bytes, size_t len, struct running_snapshot *out)
{
	struct running_snapshot snapshot = { 0 };
	const uint8_t *at = bytes;
	const uint8_t *end = at + len;
	size_t event_bytes;

	if (len < sizeof(snapshot.head))
		return -EBADMSG;
	memcpy(&snapshot.head, at, sizeof(snapshot.head));
	at += sizeof(snapshot.head);
	event_bytes = snapshot.head.event_cnt * sizeof(struct running_event);
	if (!ends(snapshot.head.host, sizeof(snapshot.head.host)) ||
	    snapshot.head.begin_unix_ns > snapshot.head.end_unix_ns ||
	    snapshot.head.event_cnt > RUNNING_EVENTS_AT_MOST || event_bytes > (size_t)(end - at))
		return -EBADMSG;
	snapshot.events = at;
	snapshot.streams = at + event_bytes;
	at = snapshot.streams;
	for (uint32_t i = 0; i < snapshot.head.stream_cnt; i++) {
		size_t size = stream_size(at, (size_t)(end - at));

		if (!size)
			return -EBADMSG;
		at += size;
	}
	if (at != end)
		return -EBADMSG;
	snapshot.streams_len = (size_t)(end - snapshot.streams);
	*out = snapshot;
	return 0;
}

/* What all windows of a snapshot have in common. `host` is that of the snapshot: it must last. */
static struct window window_of(const struct running_snapshot *snapshot, uint32_t event)
{
	const struct running_head *head = &snapshot->head;
	struct window window = {
		.start_unix_ns = head->begin_unix_ns,
		.duration_ns = head->end_unix_ns - head->begin_unix_ns,
		.frequency_hz = event == EVENT_CPU ? head->frequency_hz : 0,
		.cpu_cnt = head->cpu_cnt,
		.event = event,
		.period_unit = event < EVENT_CNT ? event_unit((enum event)event) : EVENT_UNIT_NONE,
		.labels = { [WINDOW_LABEL_HOST] = head->host },
	};

	memcpy(window.boot_id, head->boot_id, sizeof(window.boot_id));
	return window;
}

static struct running_event event_at(const struct running_snapshot *snapshot, size_t at)
{
	struct running_event event;

	memcpy(&event, snapshot->events + at * sizeof(event), sizeof(event));
	return event;
}

bool running_snapshot_event(const struct running_snapshot *snapshot, size_t *at, struct window *out)
{
	struct running_event event;

	if (*at >= snapshot->head.event_cnt)
		return false;
	event = event_at(snapshot, (*at)++);
	*out = window_of(snapshot, event.event);
	out->period = event.period;
	out->counts.samples = event.samples;
	if (event.event == EVENT_CPU)
		out->lost[WINDOW_LOSS_MEMORY] = snapshot->head.left_out;
	return true;
}

bool running_snapshot_stream(const struct running_snapshot *snapshot, size_t *at,
			     struct window *out)
{
	const uint8_t *bytes = snapshot->streams + *at;
	struct running_stream stream;

	if (*at >= snapshot->streams_len)
		return false;
	memcpy(&stream, bytes, sizeof(stream));
	*at += sizeof(stream) + padded(stream.labels_len);
	*out = window_of(snapshot, stream.event);
	for (size_t i = 0; i < snapshot->head.event_cnt; i++)
		if (event_at(snapshot, i).event == stream.event)
			out->period = event_at(snapshot, i).period;
	out->pid = stream.pid;
	out->ns_pid = stream.ns_pid;
	out->process_start_ns = stream.process_start_ns;
	out->cgroup_id = stream.cgroup_id;
	out->exec_id = stream.exec_id;
	out->counts.samples = stream.samples;
	out->labels[WINDOW_LABEL_COMM] =
		(const char *)bytes + offsetof(struct running_stream, comm);
	(void)take_labels((const char *)bytes + sizeof(stream), stream.labels_len, out);
	return true;
}
