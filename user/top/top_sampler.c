// SPDX-License-Identifier: Apache-2.0
/*
 * Windows of our own, where no jbpfd runs: a process that samples as jbpfd does, with the same
 * sandbox, and sends what was named over a socket. The process with the terminal never loads,
 * attaches or looks into others.
 */
#include "user/top/top_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "user/collect/naming/naming_wire.h"
#include "user/collect/recorder.h"
#include "user/collect/sampling.h"
#include "user/sandbox/child_process.h"
#include "user/sandbox/daemon_sandbox.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/util/packet_stream.h"

#define SAMPLER_NAME	  "jbpf-sampler" /* at most 15 bytes */
#define SAMPLER_WINDOW_NS (2 * CLOCK_NS_PER_S)
#define SAMPLER_HZ	  99
#define SAMPLER_ONCE_NS	  (5 * CLOCK_NS_PER_S) /* of samples, for a plain table */
#define SAMPLER_BACKLOG	  (64u << 20) /* bytes that the terminal's process has not taken yet */
#define SAMPLER_END_MS	  2000
/* For files to be read by which stacks are walked: what is sampled before is not shown. */
#define SAMPLER_SETTLE_MIN_NS  (CLOCK_NS_PER_S / 4)
#define SAMPLER_SETTLE_MAX_NS  CLOCK_NS_PER_S
#define SAMPLER_SETTLE_POLL_NS (20 * CLOCK_NS_PER_MS)
#define ALWAYS_ON	       (EVENT_BIT(EVENT_CPU) | EVENT_BIT(EVENT_PAGE_FAULTS))

/* A packet beside NAMING_STREAM, whose kind none of enum naming_packet has: text, why it ends. */
#define SAMPLER_FAILED 1000u

/* ---- the process that samples ---- */

struct sampling {
	struct packet_stream stream;
	struct recorder *recorder;
	uint64_t lost; /* samples that found no room on their way */
	int err;
};

struct birth {
	int fd;
	uint32_t events;
};

static void send_window(struct sampling *sampling, const struct window *window, const char *text,
			size_t len)
{
	if (packet_stream_waiting(&sampling->stream) > SAMPLER_BACKLOG ||
	    naming_stream_put(&sampling->stream, window, text, len))
		sampling->lost += window->counts.samples;
}

static void sampling_stream(void *ctx, const struct window *window, const char *text, size_t len)
{
	send_window(ctx, window, text, len);
}

static void sampling_end(void *ctx, struct window *hosts, size_t host_cnt,
			 const struct recorder_stats *stats)
{
	struct sampling *sampling = ctx;
	int err;

	(void)stats;
	hosts[0].lost[WINDOW_LOSS_MEMORY] += sampling->lost;
	sampling->lost = 0;
	for (size_t i = 0; i < host_cnt; i++)
		send_window(sampling, &hosts[i], "", 0);
	err = packet_stream_flush(&sampling->stream);
	if (err && err != -EAGAIN)
		sampling->err = err;
}

static int try_maps(const void *ctx)
{
	return recorder__try_maps(ctx);
}

static int open_recorder(struct sampling *sampling, uint32_t events, char *why, size_t why_len)
{
	const struct recorder_options options = {
		.probe = {
			.frequency_hz = SAMPLER_HZ,
			.events = events,
			.max_depth = JBPF_MAX_DEPTH,
			.window_ns = SAMPLER_WINDOW_NS,
			.wants_ticks = true,
		},
	};
	const struct recorder_sink sink = { .ctx = sampling,
					    .stream = sampling_stream,
					    .end = sampling_end };
	struct daemon_sandbox_needs needs = { .try_maps = try_maps };
	struct daemon_sandbox sandbox;
	int err = recorder__open(&options, &sink, &sampling->recorder, why, why_len);

	if (err)
		return err;
	needs.ctx = sampling->recorder;
	err = daemon_sandbox_enter(&needs, &sandbox, why, why_len);
	if (err)
		return err;
	err = recorder__start(sampling->recorder);
	if (err)
		snprintf(why, why_len, "sampling does not start: %s", errstr(err));
	return err;
}

/* 0 or -errno. */
static int settle(struct recorder *recorder)
{
	uint64_t begin_ns = clock_boot_ns();
	uint64_t passed_ns = 0;
	int err = 0;

	while (!err && passed_ns < SAMPLER_SETTLE_MAX_NS &&
	       (passed_ns < SAMPLER_SETTLE_MIN_NS ||
		recorder__settling(recorder) != RECORDER_IS_SETTLED)) {
		err = sampling_wait(recorder, -1, clock_boot_ns() + SAMPLER_SETTLE_POLL_NS, NULL);
		passed_ns = clock_boot_ns() - begin_ns;
	}
	if (!err)
		recorder__drop_window(recorder);
	return err;
}

/* Until the parent ends it, or something fails. Always -errno. */
static int sample(struct sampling *sampling)
{
	int settle_err = settle(sampling->recorder);

	if (settle_err)
		return settle_err;
	while (!sampling->err) {
		int err = sampling_wait(sampling->recorder, -1, clock_boot_ns() + SAMPLER_WINDOW_NS,
					NULL);

		if (err < 0)
			return err;
		recorder__end_window(sampling->recorder);
	}
	return sampling->err;
}

static int sampler_main(int none, const void *ctx)
{
	const struct birth *birth = ctx;
	struct sampling sampling = { 0 };
	int fd = birth->fd;
	int *const kept[] = { &fd };
	const struct child_options options = {
		.name = SAMPLER_NAME,
		.signals = CHILD_SIGNALS_OF_PARENT,
		.fds = CHILD_FDS_STANDARD,
		.kept = kept,
		.kept_cnt = ARRAY_SIZE(kept),
	};
	char why[1024];
	int err = child_process_become(&options);

	(void)none;
	if (err)
		return err;
	packet_stream_init(&sampling.stream, fd, PACKET_MAX_BYTES);
	err = open_recorder(&sampling, birth->events, why, sizeof(why));
	if (!err) {
		err = sample(&sampling);
		snprintf(why, sizeof(why), "sampling: waiting for samples failed: %s", errstr(err));
	}
	if (packet_stream_put_bytes(&sampling.stream, SAMPLER_FAILED, why, strlen(why)) == 0)
		(void)packet_stream_flush_all(&sampling.stream);
	recorder__free(sampling.recorder);
	packet_stream_release(&sampling.stream);
	return err;
}

/* ---- the process with the terminal ---- */

struct top_sampler {
	struct top_source source; /* must be first */
	struct packet_stream stream;
	pid_t pid;
};

static int take_packet(struct top_source *source, const struct packet *packet,
		       struct top_model *model)
{
	struct window window;
	const char *text;
	size_t len;
	int err;

	if (packet->kind == SAMPLER_FAILED) {
		(void)snprintf(source->why, sizeof(source->why), "%.*s", (int)packet->len,
			       (const char *)packet->bytes);
		return -EPIPE;
	}
	if (packet->kind != NAMING_STREAM)
		return 0;
	err = naming_stream_read(packet->bytes, packet->len, &window, &text, &len);
	return err ? err : top_model__add(model, &window, text, len);
}

static int sampler_step(struct top_source *source, enum event event, struct top_model *model)
{
	struct top_sampler *sampler = (struct top_sampler *)source;
	int err = packet_stream_fill(&sampler->stream);
	struct packet packet;
	int broken = 0;

	(void)event; /* all of them come */
	if (err == -EAGAIN)
		return 0;
	while (!err && packet_stream_next(&sampler->stream, &packet, &broken))
		err = take_packet(source, &packet, model);
	if (!err)
		err = broken;
	if (err && !*source->why)
		(void)snprintf(source->why, sizeof(source->why),
			       "the process that samples has ended: %s", errstr(err));
	return err;
}

static void sampler_free(struct top_source *source)
{
	struct top_sampler *sampler = (struct top_sampler *)source;

	if (sampler->pid)
		(void)child_process_end(sampler->pid, SAMPLER_END_MS);
	packet_stream_release(&sampler->stream);
	free(sampler);
}

int top_sampler__open(enum event event, struct top_source **out, char *why, size_t why_len)
{
	static const struct top_source_ops ops = { .step = sampler_step, .free = sampler_free };
	struct top_sampler *sampler = calloc(1, sizeof(*sampler));
	struct birth birth = { .events = ALWAYS_ON | EVENT_BIT(event) };
	int fds[2];
	int err = sampler ? 0 : -ENOMEM;

	if (!err && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		err = -errno;
	if (err) {
		snprintf(why, why_len, "%s", errstr(err));
		free(sampler);
		return err;
	}
	birth.fd = fds[1];
	packet_stream_init(&sampler->stream, fds[0], PACKET_MAX_BYTES);
	sampler->source = (struct top_source){ .ops = &ops,
					       .fd = fds[0],
					       .due_boot_ns = UINT64_MAX,
					       .events = birth.events,
					       .fills_ns = SAMPLER_ONCE_NS,
					       .is_sampling = true,
					       .text = "sampling by itself" };
	err = child_process_start(sampler_main, &birth, NULL, &sampler->pid);
	close(fds[1]);
	if (err) {
		snprintf(why, why_len, "the process that samples cannot be started: %s",
			 errstr(err));
		sampler_free(&sampler->source);
		return err;
	}
	*out = &sampler->source;
	return 0;
}
