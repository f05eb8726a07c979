// SPDX-License-Identifier: Apache-2.0
/*
 * A receiver of OpenTelemetry's profiles as a server of push_server.h. A request holds processes of one minute
 * only, so that a minute is the same requests whenever it is sent; a process's minute is a profile, whose id is
 * a hash of host, stream and minute. A request that is too large, or is refused, is divided: by processes, then by
 * stacks, whose profile's id tells the part, too.
 */
#include "user/push/push_server.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "user/model/thread_counts.h"
#include "user/output/otlp_message.h"
#include "user/remote/otlp_client.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

#define REQUEST_MAX_BYTES (4u * 1024 * 1024) /* before it is packed */
#define SAMPLE_ATTRIBUTES 3
#define NUMBER_TEXT_BYTES 24

struct push_otlp {
	struct otlp_client *client;
};

struct sending {
	struct push_otlp *push;
	struct push_send_stats *stats;
	const struct push_stream **streams; /* of one minute, those of a resource side by side */
	uint64_t refused;
};

/* What a request is made of: streams [from, until), and of a single one the stacks [first, last). */
struct part {
	size_t from, until;
	size_t first, last;
};

static const enum window_label resource_labels[] = {
	WINDOW_LABEL_HOST,    WINDOW_LABEL_SERVICE,   WINDOW_LABEL_NAMESPACE,	 WINDOW_LABEL_POD,
	WINDOW_LABEL_POD_UID, WINDOW_LABEL_CONTAINER, WINDOW_LABEL_CONTAINER_ID, WINDOW_LABEL_IMAGE,
};

/* ---- a request ---- */

static void put_resource(struct strbuf *out, const struct window *window)
{
	strbuf_clear(out);
	for (size_t i = 0; i < ARRAY_SIZE(resource_labels); i++) {
		const char *text = window_label(window, resource_labels[i]);
		bool is_of_resource;
		const char *key =
			otlp_label_key(window_label_name(resource_labels[i]), &is_of_resource);

		/* Receivers want a service: the process's name is the next best. */
		if (!*text && resource_labels[i] == WINDOW_LABEL_SERVICE)
			text = window_label(window, WINDOW_LABEL_COMM);
		if (*text)
			otlp_resource_attribute(out, key, text, strlen(text));
	}
}

static void put_profile_id(const struct push_stream *stream, const struct part *part,
			   uint8_t out[static OTLP_PROFILE_ID_BYTES])
{
	const char *host = window_label(&stream->window, WINDOW_LABEL_HOST);
	bool is_whole = part->first == 0 && part->last == profile__stack_count(stream->stacks);
	char text[4 * NUMBER_TEXT_BYTES];
	int len = snprintf(text, sizeof(text), "%" PRIx64 " %" PRIu32, stream->stream,
			   stream->minute_unix_s);
	XXH128_canonical_t id;

	if (!is_whole)
		len += snprintf(text + len, sizeof(text) - (size_t)len, " %zu-%zu", part->first,
				part->last);
	XXH128_canonicalFromHash(&id, XXH3_128bits_withSeed(text, (size_t)len,
							    XXH3_64bits(host, strlen(host))));
	memcpy(out, id.digest, OTLP_PROFILE_ID_BYTES);
}

/* Samples of one stack, by thread. */
static uint64_t put_stack(struct otlp_message *message, const struct push_stream *stream,
			  const struct profile_stack *stack, struct thread_reader *threads)
{
	const struct window *window = &stream->window;
	const char *comm = window_label(window, WINDOW_LABEL_COMM);
	const uint64_t period = window_period(window);
	uint64_t ids[SAMPLE_ATTRIBUTES], cnt = 0;
	struct thread_part part;
	char pid[NUMBER_TEXT_BYTES];
	int len = snprintf(pid, sizeof(pid), "%u", window->pid);

	for (; thread_reader_next(threads, &part); cnt++) {
		size_t id_cnt = 0;

		if (window->pid)
			ids[id_cnt++] = otlp_message__attribute(message, "process.pid", pid,
								(size_t)len, true);
		if (*comm)
			ids[id_cnt++] = otlp_message__attribute(message, "process.executable.name",
								comm, strlen(comm), false);
		if (part.name)
			ids[id_cnt++] = otlp_message__attribute(message, "thread.name", part.name,
								part.len, false);
		otlp_message__sample(message, stack->text, stack->len, ids, id_cnt,
				     event_amount(part.count, period));
	}
	return cnt;
}

static int put_stream(struct otlp_message *message, const struct push_stream *stream,
		      const struct part *part, const struct strbuf *resource, uint64_t *sample_cnt)
{
	const struct window *window = &stream->window;
	__cleanup_thread_reader struct thread_reader threads = { 0 };
	uint8_t id[OTLP_PROFILE_ID_BYTES];
	const struct otlp_profile profile = {
		.event = (enum event)window->event,
		.period = window_period(window),
		.since_unix_ns = window->start_unix_ns,
		.until_unix_ns = window_end_unix_ns(window),
		.id = id,
	};
	int err = thread_reader_open(&threads, window->threads, window->threads_len);

	if (err)
		return err;
	for (size_t i = 0; i < part->last; i++) {
		struct profile_stack stack = profile__stack(stream->stacks, i);

		thread_reader_line(&threads, stack.count);
		if (i >= part->first)
			*sample_cnt += put_stack(message, stream, &stack, &threads);
	}
	put_profile_id(stream, part, id);
	otlp_message__end_profile(message, &profile, resource);
	return 0;
}

static int put_streams(struct sending *sending, const struct part *part,
		       struct otlp_message *message, uint64_t *sample_cnt)
{
	__cleanup_strbuf struct strbuf resource = STRBUF_INIT, next = STRBUF_INIT;
	int err = 0;

	for (size_t i = part->from; !err && i < part->until; i++) {
		const struct push_stream *stream = sending->streams[i];
		struct part stacks = { .last = profile__stack_count(stream->stacks) };

		put_resource(&next, &stream->window);
		if (strbuf_error(&next))
			return -ENOMEM;
		if (next.len != resource.len ||
		    memcmp(strbuf_str(&next), strbuf_str(&resource), next.len) != 0) {
			otlp_message__end_resource(message, &resource);
			strbuf_clear(&resource);
			strbuf_add(&resource, &next);
			if (strbuf_error(&resource))
				return -ENOMEM;
		}
		err = put_stream(message, stream, part->until - part->from == 1 ? part : &stacks,
				 &resource, sample_cnt);
	}
	otlp_message__end_resource(message, &resource);
	return err;
}

/* ---- sending ---- */

static void count(struct sending *sending, const struct part *part, uint64_t sample_cnt,
		  uint32_t stack_cnt, const struct otlp_partial *partial)
{
	struct push_send_stats *stats = sending->stats;

	/* A profile in parts is counted with its first. */
	stats->window_rows += part->first ? 0 : part->until - part->from;
	stats->sample_rows += sample_cnt;
	stats->stack_rows += stack_cnt;
	stats->rejected_profiles += partial->rejected_profiles;
	if (partial->rejected_profiles || *partial->words)
		pr_warn_limited("%s took a request in part, and rejected %" PRIu64
				" profiles: %s\n",
				otlp_client__name(sending->push->client),
				partial->rejected_profiles,
				*partial->words ? partial->words : "it does not say why");
}

/* 0; -E2BIG: it is too large, or refused, and less may do; or another error. */
static int send_part(struct sending *sending, const struct part *part)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct otlp_client *client = sending->push->client;
	struct otlp_message *message;
	struct otlp_partial partial;
	uint64_t sample_cnt = 0;
	uint32_t stack_cnt = 0;
	int err = otlp_message__open(NULL, &bytes, &message);

	if (err)
		return err;
	err = put_streams(sending, part, message, &sample_cnt);
	if (!err)
		err = otlp_message__finish(message);
	stack_cnt = otlp_message__stack_count(message);
	otlp_message__free(message);
	if (err)
		return err;
	if (bytes.len > REQUEST_MAX_BYTES &&
	    (part->until - part->from > 1 || part->last - part->first > 1))
		return -E2BIG;
	err = otlp_client__export(client, bytes.data, bytes.len, &partial);
	if (!err)
		count(sending, part, sample_cnt, stack_cnt, &partial);
	if (err == -EIO && (otlp_client__failure(client)->fault == REMOTE_FAULT_TOO_LARGE ||
			    otlp_client__failure(client)->fault == REMOTE_FAULT_BAD))
		return -E2BIG;
	return err;
}

static struct part one_stream(const struct sending *sending, size_t index)
{
	return (struct part){ .from = index,
			      .until = index + 1,
			      .last = profile__stack_count(sending->streams[index]->stacks) };
}

/* Halves until it fits; what is refused alone is dropped and counted. */
static int send_divided(struct sending *sending, struct part part)
{
	struct part left = part, right = part;
	int err;

	if (part.until - part.from == 1 && part.last == 0)
		part = left = right = one_stream(sending, part.from);
	err = send_part(sending, &part);
	if (err != -E2BIG)
		return err;
	if (part.until - part.from > 1) {
		left.until = right.from = part.from + (part.until - part.from) / 2;
	} else if (part.last - part.first > 1) {
		left.last = right.first = part.first + (part.last - part.first) / 2;
	} else if (sending->refused >= PUSH_REFUSED_MAX) {
		return -EIO;
	} else {
		sending->refused++;
		sending->stats->refused_rows++;
		return 0;
	}
	err = send_divided(sending, left);
	return err ? err : send_divided(sending, right);
}

/* Those of a resource side by side; else as they came, which is the same whenever they come. */
static int compare_streams(const void *left, const void *right)
{
	const struct push_stream *a = *(const struct push_stream *const *)left;
	const struct push_stream *b = *(const struct push_stream *const *)right;
	int order;

	for (size_t i = 0; i < ARRAY_SIZE(resource_labels); i++) {
		order = strcmp(window_label(&a->window, resource_labels[i]),
			       window_label(&b->window, resource_labels[i]));

		if (order)
			return order;
	}
	order = strcmp(window_label(&a->window, WINDOW_LABEL_COMM),
		       window_label(&b->window, WINDOW_LABEL_COMM));
	if (order)
		return order;
	return (a->stream > b->stream) - (a->stream < b->stream);
}

/* Streams without samples (the host's records) are no profiles. */
static int send_sum(void *state, const struct push_sum *sum, struct push_send_stats *stats)
{
	size_t cnt = push_sum__count(sum), at = 0;
	__cleanup_free const struct push_stream **streams = calloc(cnt + 1, sizeof(*streams));
	struct sending sending = { .push = state, .stats = stats, .streams = streams };
	int err = streams ? 0 : -ENOMEM;

	while (!err && at < cnt) {
		uint32_t minute = push_sum__get(sum, at)->minute_unix_s;
		struct part part = { 0 };

		for (; at < cnt && push_sum__get(sum, at)->minute_unix_s == minute; at++) {
			const struct push_stream *stream = push_sum__get(sum, at);

			if (profile__stack_count(stream->stacks))
				streams[part.until++] = stream;
		}
		if (!part.until)
			continue;
		qsort(streams, part.until, sizeof(*streams), compare_streams);
		err = send_divided(&sending, part);
	}
	return err;
}

/* ---- the server ---- */

static void free_server(void *state)
{
	struct push_otlp *push = state;

	if (!push)
		return;
	otlp_client__free(push->client);
	free(push);
}

static int open_server(const char *url, void **state, char *why, size_t why_len)
{
	struct push_otlp *push = calloc(1, sizeof(*push));
	int err;

	(void)snprintf(why, why_len, "%s", errstr(ENOMEM));
	if (!push)
		return -ENOMEM;
	err = otlp_client__open(url, &push->client, why, why_len);
	if (err)
		free_server(push);
	else
		*state = push;
	return err;
}

static const char *name_of(const void *state)
{
	const struct push_otlp *push = state;

	return otlp_client__name(push->client);
}

static const struct remote_failure *failure_of(const void *state)
{
	const struct push_otlp *push = state;

	return otlp_client__failure(push->client);
}

static uint64_t sent_bytes_of(const void *state)
{
	const struct push_otlp *push = state;

	return otlp_client__sent_bytes(push->client);
}

const struct push_server_ops push_otlp_ops = {
	.open = open_server,
	.free = free_server,
	.name = name_of,
	.send = send_sum,
	.failure = failure_of,
	.sent_bytes = sent_bytes_of,
};
