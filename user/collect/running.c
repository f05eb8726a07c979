// SPDX-License-Identifier: Apache-2.0
/* See running.h. The sums of the last snapshot are kept, so that the next one can tell what came since. */
#include "user/collect/running.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/collect/probe/stream_fallback.h"
#include "user/collect/running_wire.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

#define STREAMS_MAX 65536u /* of a window; what is beyond is counted as left out */

/* No padding: compared as bytes. */
struct sum_key {
	struct stream_id stream;
	uint64_t event;
};

_Static_assert(sizeof(struct sum_key) == 48, "sum_key has no padding");

/* One stream's samples. */
struct sum {
	uint64_t before; /* at the last snapshot */
	uint64_t now;
	uint32_t ns_pid;
	bool is_kernel;
	char comm[JBPF_COMM_LEN];
};

struct running {
	const struct sample_source *source;
	struct sight_table *sights;
	struct strtab *streams; /* struct sum_key -> index of its sum */
	struct sum *sums;
	uint32_t sum_cap;
	uint64_t
		start_boot_ns; /* when the counting began that the sums are of; 0: there are none */
	uint64_t taken_boot_ns;
};

/* A snapshot that is being made. */
struct draft {
	struct running *running;
	struct running_head head;
	uint64_t samples[EVENT_CNT];
	struct strbuf streams;
};

struct running *running__new(const struct sample_source *source, struct sight_table *sights)
{
	struct running *running = calloc(1, sizeof(*running));

	if (!running)
		return NULL;
	running->source = source;
	running->sights = sights;
	return running;
}

void running__free(struct running *running)
{
	if (!running)
		return;
	strtab__free(running->streams);
	free(running->sums);
	free(running);
}

void running_note_called(struct sight_table *sights, const struct window *window)
{
	__cleanup_strbuf struct strbuf labels = STRBUF_INIT;
	struct sight_called called = { .stream = window_stream_id(window) };

	if (running_labels_put(&labels, window))
		return;
	called.labels = labels.data;
	called.labels_len = (uint32_t)labels.len;
	sight_table__note_called(sights, &called);
}

/* ---- counting ---- */

/* Counting began again: what was known is of a window that is over. */
static int begin(struct running *running, uint64_t start_boot_ns)
{
	struct strtab *streams = strtab__new();

	if (!streams)
		return -ENOMEM;
	strtab__free(running->streams);
	running->streams = streams;
	running->start_boot_ns = running->taken_boot_ns = start_boot_ns;
	return 0;
}

/* The sum of the key's stream. 0; -ENOMEM; -E2BIG: there are too many. */
static int sum_of(struct running *running, const struct jbpf_key *key, enum event event,
		  struct sum **out)
{
	const struct sum_key wanted = {
		.stream = { .life = process_life_of(key), .cgroup_id = key->cgroup_id },
		.event = event,
	};
	uint32_t cnt = strtab__count(running->streams);
	uint32_t index = strtab__find(running->streams, &wanted, sizeof(wanted));
	int err = 0;

	if (index == STRTAB_NONE) {
		if (cnt >= STREAMS_MAX)
			return -E2BIG;
		if (vec_room(running->sums, cnt, running->sum_cap, 64))
			return -ENOMEM;
		err = strtab__intern(running->streams, &wanted, sizeof(wanted), &index);
		if (err)
			return err;
		running->sums[index] = (struct sum){ 0 };
	}
	*out = &running->sums[index];
	return err;
}

static int add_counts(struct draft *draft, const struct probe_peek *peek, uint32_t events)
{
	struct running *running = draft->running;

	for (uint32_t i = 0; i < strtab__count(running->streams); i++)
		running->sums[i].now = 0;
	for (uint32_t i = 0; i < peek->cnt; i++) {
		const struct jbpf_value *value = &peek->values[i];
		enum event event = stream_event(&peek->keys[i]);
		struct sum *sum;
		int err;

		if (event == EVENT_CNT || !(EVENT_BIT(event) & events))
			continue;
		err = sum_of(running, &peek->keys[i], event, &sum);
		if (err == -ENOMEM)
			return err;
		if (err) {
			draft->head.left_out += event == EVENT_CPU ? value->count : 0;
			continue;
		}
		sum->now += value->count;
		sum->ns_pid = value->ns_pid;
		sum->is_kernel = value->flags & JBPF_VALUE_KERNEL_THREAD;
		memcpy(sum->comm, value->comm, sizeof(sum->comm));
		sum->comm[sizeof(sum->comm) - 1] = '\0';
	}
	return 0;
}

/* ---- telling ---- */

/* Threads of the kernel have nobody who would be asked. False: it may want to be left out. */
static bool find_labels(const struct draft *draft, const struct sum_key *key, const struct sum *sum,
			const struct strbuf *nameless, struct sight_called *called)
{
	*called = (struct sight_called){
		.stream = key->stream,
		.labels = nameless->data,
		.labels_len = (uint32_t)nameless->len,
	};
	return sum->is_kernel || sight_table__called(draft->running->sights, called);
}

static int tell_stream(struct draft *draft, const struct sum_key *key, struct sum *sum,
		       const struct strbuf *nameless)
{
	struct running_stream stream = {
		.process_start_ns = key->stream.life.start_ns,
		.cgroup_id = key->stream.cgroup_id,
		.pid = key->stream.life.pid,
		.ns_pid = sum->ns_pid,
		.exec_id = key->stream.life.exec_id,
		.event = (uint32_t)key->event,
	};
	struct sight_called called;

	/* A count is never less than it was, but the kernel's is not read as one. */
	if (sum->now <= sum->before ||
	    sight_table__is_opted_out(draft->running->sights, key->stream.life))
		return 0;
	stream.samples = sum->now - sum->before;
	draft->samples[key->event] += stream.samples;
	if (!find_labels(draft, key, sum, nameless, &called))
		return 0;
	if (draft->streams.len + sizeof(stream) + RUNNING_LABELS_MAX + 8 >
	    RUNNING_BYTES_MAX - sizeof(draft->head) -
		    RUNNING_EVENTS_AT_MOST * sizeof(struct running_event)) {
		draft->head.left_out += key->event == EVENT_CPU ? stream.samples : 0;
		return 0;
	}
	stream.labels_len = called.labels_len;
	memcpy(stream.comm, sum->comm, sizeof(stream.comm));
	draft->head.stream_cnt++;
	return running_stream_put(&draft->streams, &stream, called.labels);
}

static int tell_streams(struct draft *draft)
{
	static const struct window nobody;
	__cleanup_strbuf struct strbuf nameless = STRBUF_INIT;
	struct running *running = draft->running;
	int err = running_labels_put(&nameless, &nobody);

	for (uint32_t i = 0; i < strtab__count(running->streams) && !err; i++) {
		struct sum_key key;

		memcpy(&key, strtab__get(running->streams, i, NULL), sizeof(key));
		err = tell_stream(draft, &key, &running->sums[i], &nameless);
	}
	return err;
}

static int append_packet(struct draft *draft, const struct probe_options *options, uint32_t events,
			 struct strbuf *out)
{
	struct strbuf_mark mark;

	for (int i = 0; i < EVENT_CNT; i++)
		draft->head.event_cnt += (events & EVENT_BIT(i)) != 0;
	mark = strbuf_mark(out);
	strbuf_append(out, &draft->head, sizeof(draft->head));
	for (uint32_t i = 0; i < EVENT_CNT; i++) {
		const struct running_event event = {
			.period = probe_period(options, (enum event)i),
			.samples = draft->samples[i],
			.event = i,
		};

		if (events & EVENT_BIT(i))
			strbuf_append(out, &event, sizeof(event));
	}
	strbuf_append(out, draft->streams.data, draft->streams.len);
	return strbuf_settle(out, mark, 0);
}

static void fill_head(struct draft *draft, const struct running_facts *facts,
		      uint64_t taken_boot_ns)
{
	const struct running *running = draft->running;
	uint64_t now_boot_ns = clock_boot_ns();
	uint64_t now_unix_ns = clock_unix_ns();

	/* Wall time steps, so that both come of one reading. */
	draft->head.end_unix_ns = now_unix_ns - (now_boot_ns - taken_boot_ns);
	draft->head.begin_unix_ns = now_unix_ns - (now_boot_ns - running->taken_boot_ns);
	draft->head.frequency_hz = facts->options->frequency_hz;
	draft->head.cpu_cnt = facts->cpu_cnt;
	(void)snprintf(draft->head.host, sizeof(draft->head.host), "%s", facts->host);
	memcpy(draft->head.boot_id, facts->boot_id, sizeof(draft->head.boot_id));
}

/* The next snapshot begins where this one ended, told or not. */
static void end_snapshot(struct running *running, uint64_t taken_boot_ns)
{
	for (uint32_t i = 0; i < strtab__count(running->streams); i++)
		running->sums[i].before = running->sums[i].now;
	running->taken_boot_ns = taken_boot_ns;
}

int running__snapshot(struct running *running, const struct running_facts *facts,
		      struct strbuf *out)
{
	uint32_t events = probe_events(facts->options) & RUNNING_EVENTS;
	struct draft draft = { .running = running };
	uint64_t taken_boot_ns = clock_boot_ns();
	struct probe_peek peek;
	int err = running->source->ops->peek(running->source->probe, &peek);

	if (!err && (peek.start_boot_ns != running->start_boot_ns || !running->streams))
		err = begin(running, peek.start_boot_ns);
	if (!err)
		err = add_counts(&draft, &peek, events);
	if (!err) {
		fill_head(&draft, facts, taken_boot_ns);
		err = tell_streams(&draft);
	}
	if (!err)
		err = append_packet(&draft, facts->options, events, out);
	if (!err)
		end_snapshot(running, taken_boot_ns);
	strbuf_release(&draft.streams);
	return err;
}
