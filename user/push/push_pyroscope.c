// SPDX-License-Identifier: Apache-2.0
/*
 * Pyroscope as a server of push_server.h. A request has one profile: a minute of all processes that have the same
 * service, labels, event and period. It adds up whatever it is sent, so what it took is not sent again by this
 * process. A profile that is too large, or is refused, is divided by stacks.
 */
#include "user/push/push_server.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "user/output/output.h"
#include "user/push/told_set.h"
#include "user/remote/pyroscope_request.h"
#include "user/remote/remote_sender.h"
#include "user/remote/remote_words.h"
#include "user/remote/window_row.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

/* Pyroscope's own limits of a profile, as they are when nobody sets them: 4 MB, and 16,000 samples. */
#define PROFILE_MAX_BYTES  (4u * 1000 * 1000) /* before it is packed */
#define PROFILE_MAX_STACKS 16000
#define MINUTE_NS	   (60 * CLOCK_NS_PER_S)
#define GZIP_TRAILER_BYTES 4 /* the length before packing, little endian (RFC 1952) */

struct push_pyroscope {
	struct remote_sender *sender;
	struct told_set taken; /* hashes of requests */
};

struct sending {
	struct push_pyroscope *push;
	struct push_send_stats *stats;
	uint64_t refused;
};

/* What a request is made of: stacks [first, last) of processes that are told as one. */
struct part {
	const struct push_stream *stream; /* any of them */
	const struct profile *stacks;	  /* sorted */
	size_t stream_cnt;
	size_t first, last;
};

struct request {
	struct strbuf query, content_type, body;
	uint64_t hash;
};

static void request_release(struct request *request)
{
	strbuf_release(&request->query);
	strbuf_release(&request->content_type);
	strbuf_release(&request->body);
}

/* ---- a request ---- */

static uint32_t raw_bytes(const struct strbuf *zipped)
{
	const unsigned char *at;

	if (zipped->len < GZIP_TRAILER_BYTES)
		return 0;
	at = (const unsigned char *)zipped->data + zipped->len - GZIP_TRAILER_BYTES;
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

/* Adds `from`'s stacks [first, last) to `sum`. */
static int add_stacks(struct profile *sum, const struct profile *from, size_t first, size_t last)
{
	int err = 0;

	for (size_t i = first; !err && i < last; i++) {
		struct profile_stack stack = profile__stack(from, i);

		err = profile__add(sum, stack.text, stack.len, stack.count);
	}
	return err;
}

static int put_pprof(const struct part *part, struct strbuf *out)
{
	const struct window *window = &part->stream->window;
	const uint64_t since_ns = part->stream->minute_unix_s * CLOCK_NS_PER_S;
	const bool is_cpu = window->event == EVENT_CPU;
	const struct output_info info = {
		.title = window_row_service(window),
		.since_unix_ns = since_ns,
		.until_unix_ns = since_ns + MINUTE_NS,
		.event = (enum event)window->event,
		.frequency_hz = is_cpu ? window->frequency_hz : 0,
		.period = is_cpu ? 0 : window_period(window),
		.value_type = pyroscope_sample_type((enum event)window->event),
	};
	struct profile *stacks = profile__new();
	int err = stacks ? 0 : -ENOMEM;

	if (!err)
		err = add_stacks(stacks, part->stacks, part->first, part->last);
	if (!err)
		err = output_pprof(stacks, &info, out);
	profile__free(stacks);
	return err;
}

/* 0; -E2BIG: it is more than a server takes. */
static int make_request(const struct part *part, struct request *out)
{
	__cleanup_strbuf struct strbuf pprof = STRBUF_INIT;
	bool is_divisible = part->last - part->first > 1;
	int err;

	if (is_divisible && part->last - part->first > PROFILE_MAX_STACKS)
		return -E2BIG;
	err = put_pprof(part, &pprof);
	if (err)
		return err;
	if (is_divisible && raw_bytes(&pprof) > PROFILE_MAX_BYTES)
		return -E2BIG;
	pyroscope_query(&out->query, &part->stream->window, part->stream->minute_unix_s);
	pyroscope_form(pprof.data, pprof.len, (enum event)part->stream->window.event, &out->body,
		       &out->content_type);
	if (strbuf_error(&out->query) || strbuf_error(&out->body) ||
	    strbuf_error(&out->content_type))
		return -ENOMEM;
	out->hash = XXH3_64bits_withSeed(out->body.data, out->body.len,
					 XXH3_64bits(out->query.data, out->query.len));
	return 0;
}

/* ---- sending ---- */

static int post(struct sending *sending, const struct part *part, const struct request *request)
{
	const struct remote_sender_request post = {
		.query = request->query.data,
		.headers = { request->content_type.data },
		.body = request->body.data,
		.body_len = request->body.len,
	};
	struct push_send_stats *stats = sending->stats;
	const struct strbuf *answer;
	int err = remote_sender__post(sending->push->sender, &post, &answer);

	if (err)
		return err;
	/* A profile in parts is counted with its first. */
	stats->window_rows += part->first ? 0 : part->stream_cnt;
	stats->sample_rows += part->last - part->first;
	stats->stack_rows += part->last - part->first;
	err = told_set_add(&sending->push->taken, request->hash);
	return err < 0 ? err : 0;
}

/* Asking again would not help: what comes later would wait for ever. */
static void drop_unwanted(struct sending *sending, const struct part *part)
{
	sending->stats->refused_rows += part->last - part->first;
	pr_warn_limited("%s does not take profiles of %" PRIu32
			" (Unix time): they are dropped and "
			"counted; see its limits reject_older_than and reject_newer_than\n",
			remote_sender__name(sending->push->sender), part->stream->minute_unix_s);
}

/* 0; -E2BIG: it is too large, or refused, and less may do; or another error. */
static int send_part(struct sending *sending, const struct part *part)
{
	struct request request = { 0 };
	enum remote_fault fault;
	int err = make_request(part, &request);

	if (!err && !told_set_has(&sending->push->taken, request.hash))
		err = post(sending, part, &request);
	request_release(&request);
	fault = remote_sender__failure(sending->push->sender)->fault;
	if (err == -EIO && fault == REMOTE_FAULT_UNWANTED) {
		drop_unwanted(sending, part);
		return 0;
	}
	if (err == -EIO && (fault == REMOTE_FAULT_TOO_LARGE || fault == REMOTE_FAULT_BAD))
		return -E2BIG;
	return err;
}

/* Halves until it fits; a stack that is refused alone is dropped and counted. */
static int send_divided(struct sending *sending, struct part part)
{
	struct part left = part, right = part;
	int err = send_part(sending, &part);

	if (err != -E2BIG)
		return err;
	if (part.last - part.first > 1) {
		left.last = right.first = part.first + (part.last - part.first) / 2;
		err = send_divided(sending, left);
		return err ? err : send_divided(sending, right);
	}
	if (sending->refused >= PUSH_REFUSED_MAX)
		return -EIO;
	sending->refused++;
	sending->stats->refused_rows++;
	return 0;
}

static int compare_numbers(uint64_t left, uint64_t right)
{
	return (left > right) - (left < right);
}

/* 0: they are told as one. */
static int compare_names(const struct push_stream *left, const struct push_stream *right)
{
	const struct window *a = &left->window, *b = &right->window;
	int order = compare_numbers(left->minute_unix_s, right->minute_unix_s);

	if (!order)
		order = strcmp(window_row_service(a), window_row_service(b));
	for (size_t i = 0; !order && i < PYROSCOPE_LABEL_CNT; i++)
		order = strcmp(window_label(a, pyroscope_labels[i]),
			       window_label(b, pyroscope_labels[i]));
	if (!order)
		order = compare_numbers(a->event, b->event);
	return order ? order : compare_numbers(window_period(a), window_period(b));
}

static int compare_streams(const void *left, const void *right)
{
	const struct push_stream *a = *(const struct push_stream *const *)left;
	const struct push_stream *b = *(const struct push_stream *const *)right;
	int order = compare_names(a, b);

	return order ? order : compare_numbers(a->stream, b->stream);
}

static int send_streams(struct sending *sending, const struct push_stream *const *streams,
			size_t cnt)
{
	struct profile *sum = profile__new();
	struct part part = { .stream = streams[0], .stacks = sum, .stream_cnt = cnt };
	int err = sum ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < cnt; i++)
		err = add_stacks(sum, streams[i]->stacks, 0,
				 profile__stack_count(streams[i]->stacks));
	if (!err) {
		profile__sort(sum);
		part.last = profile__stack_count(sum);
		err = send_divided(sending, part);
	}
	profile__free(sum);
	return err;
}

/* Streams without samples (the host's records) are no profiles. */
static int send_sum(void *state, const struct push_sum *sum, struct push_send_stats *stats)
{
	size_t sum_cnt = push_sum__count(sum), cnt = 0;
	__cleanup_free const struct push_stream **streams = calloc(sum_cnt + 1, sizeof(*streams));
	struct sending sending = { .push = state, .stats = stats };
	int err = streams ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < sum_cnt; i++) {
		const struct push_stream *stream = push_sum__get(sum, i);

		if (profile__stack_count(stream->stacks))
			streams[cnt++] = stream;
	}
	if (cnt)
		qsort(streams, cnt, sizeof(*streams), compare_streams);
	for (size_t at = 0; !err && at < cnt;) {
		size_t end = at + 1;

		while (end < cnt && compare_names(streams[at], streams[end]) == 0)
			end++;
		err = send_streams(&sending, streams + at, end - at);
		at = end;
	}
	return err;
}

/* ---- the server ---- */

/* The first line, as proxies and Pyroscope write it. */
static void say(const char *body, char out[static REMOTE_SENDER_SAID_BYTES])
{
	remote_words(body, strlen(body), out, REMOTE_SENDER_SAID_BYTES);
}

static const struct remote_sender_kind kind = {
	.parse = remote_url_parse_pyroscope,
	.token_credential = "pyroscope-token",
	.password_credential = "pyroscope-password",
	.missing = "; see the URL's path: /ingest is put behind it",
	.unwanted = "outside of ingestion window",
	.say = say,
};

static void free_server(void *state)
{
	struct push_pyroscope *push = state;

	if (!push)
		return;
	remote_sender__free(push->sender);
	told_set_release(&push->taken);
	free(push);
}

static int open_server(const char *url, void **state, char *why, size_t why_len)
{
	struct push_pyroscope *push = calloc(1, sizeof(*push));
	int err;

	(void)snprintf(why, why_len, "%s", errstr(ENOMEM));
	if (!push)
		return -ENOMEM;
	err = remote_sender__open(&kind, url, &push->sender, why, why_len);
	if (err)
		free_server(push);
	else
		*state = push;
	return err;
}

static const char *name_of(const void *state)
{
	const struct push_pyroscope *push = state;

	return remote_sender__name(push->sender);
}

static const struct remote_failure *failure_of(const void *state)
{
	const struct push_pyroscope *push = state;

	return remote_sender__failure(push->sender);
}

static uint64_t sent_bytes_of(const void *state)
{
	const struct push_pyroscope *push = state;

	return remote_sender__sent_bytes(push->sender);
}

const struct push_server_ops push_pyroscope_ops = {
	.open = open_server,
	.free = free_server,
	.name = name_of,
	.send = send_sum,
	.failure = failure_of,
	.sent_bytes = sent_bytes_of,
	.adds_up = true,
};
