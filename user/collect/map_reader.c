// SPDX-License-Identifier: Apache-2.0
/* See map_reader.h. */
#include "user/collect/map_reader.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "user/collect/namer/namer_link.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define ANSWER_MAX_NS (60 * CLOCK_NS_PER_S)
#define START_MAX_NS \
	(30 * CLOCK_NS_PER_S) /* another namer, when several hung one after the other */

struct map_reader {
	struct namer_link *link;
};

/* What is asked just now. */
struct asking {
	const struct naming_map *question;
	map_reader_fn *add;
	void *ctx;
	struct naming_map_answer *answer;
	int err; /* of `add` */
	bool is_answered;
};

int map_reader__open(struct map_reader **out, char *why, size_t why_len)
{
	const struct namer_link_options options = { .jit = JIT_MODE_AUTO };
	struct map_reader *reader = calloc(1, sizeof(*reader));
	int err;

	if (!reader) {
		snprintf(why, why_len, "out of memory");
		return -ENOMEM;
	}
	err = namer_link__open(&options, &reader->link, why, why_len);
	if (err) {
		free(reader);
		return err;
	}
	*out = reader;
	return 0;
}

void map_reader__free(struct map_reader *reader)
{
	if (!reader)
		return;
	namer_link__free(reader->link);
	free(reader);
}

/* ---- what the namer says: it has read a stranger's memory, and may say anything ---- */

static int take_code(struct asking *asking, const struct packet *packet)
{
	const uint8_t *at = packet->bytes, *end = at + packet->len;
	uint64_t start, len;
	const char *name;

	while (!asking->err && naming_map_code_next(&at, end, &start, &len, &name))
		asking->err = asking->add(asking->ctx, start, len, name);
	return asking->err || at == end ? 0 : -EBADMSG;
}

static int take_packet(struct asking *asking, const struct packet *packet)
{
	int err;

	if (packet->kind == NAMING_MAP_CODE)
		return take_code(asking, packet);
	if (packet->kind != NAMING_MAP_END)
		return 0; /* for those who sample */
	err = naming_map_answer_read(packet->bytes, packet->len, asking->answer);
	if (!err && asking->answer->pid != asking->question->pid)
		err = -EBADMSG;
	asking->is_answered = !err;
	return err;
}

static int take_arrived(struct map_reader *reader, struct asking *asking)
{
	struct packet_stream *stream = namer_link__stream(reader->link);
	struct packet packet;
	int err = packet_stream_fill(stream);

	while (!err && !asking->is_answered && packet_stream_next(stream, &packet, &err))
		err = take_packet(asking, &packet);
	return err == -EAGAIN ? 0 : err;
}

/* ---- waiting ---- */

static int timeout_ms(const struct map_reader *reader, uint64_t now_ns)
{
	uint64_t due_ns = namer_link__due_boot_ns(reader->link, now_ns);

	if (due_ns > now_ns + NAMER_LINK_TICK_NS)
		due_ns = now_ns + NAMER_LINK_TICK_NS;
	return due_ns <= now_ns ? 0 : (int)((due_ns - now_ns) / CLOCK_NS_PER_MS) + 1;
}

/* For something to do, and no longer than until the namer is to be looked at. */
static void rest(struct map_reader *reader)
{
	struct pollfd waits[] = {
		{ .fd = namer_link__stream(reader->link)->fd, .events = POLLIN },
		{ .fd = namer_link__log_fd(reader->link), .events = POLLIN },
	};

	(void)poll(waits, ARRAY_SIZE(waits), timeout_ms(reader, clock_boot_ns()));
	if (waits[1].revents)
		namer_link__relay(reader->link);
}

/* 0; -EAGAIN: there is none in time. */
static int await_namer(struct map_reader *reader)
{
	uint64_t end_ns = clock_boot_ns() + START_MAX_NS;

	while (!namer_link__is_up(reader->link)) {
		if (clock_boot_ns() >= end_ns || !namer_link__has_launcher(reader->link))
			return -EAGAIN;
		rest(reader);
		(void)namer_link__tick(reader->link, clock_boot_ns());
	}
	return 0;
}

/* One that hangs or has ended is replaced. 0, -ETIME or -EPIPE. */
static int look_after(struct map_reader *reader, int err, uint64_t end_ns)
{
	uint64_t now_ns = clock_boot_ns();

	if (!err && now_ns >= end_ns)
		err = -ETIME;
	if (err)
		namer_link__broke(reader->link, err);
	if (!namer_link__tick(reader->link, now_ns) && namer_link__is_up(reader->link))
		return 0;
	return err && err != -ETIME ? -EPIPE : -ETIME;
}

int map_reader__ask(struct map_reader *reader, const struct naming_map *question,
		    map_reader_fn *add, void *ctx, struct naming_map_answer *out)
{
	struct asking asking = { .question = question, .add = add, .ctx = ctx, .answer = out };
	uint64_t end_ns;
	int err = await_namer(reader);

	if (!err)
		err = packet_stream_put_bytes(namer_link__stream(reader->link), NAMING_MAP,
					      question, sizeof(*question));
	if (!err)
		err = packet_stream_flush_all(namer_link__stream(reader->link));
	if (err == -EAGAIN || err == -ENOMEM)
		return err;
	end_ns = clock_boot_ns() + ANSWER_MAX_NS;
	while (!asking.is_answered) {
		if (!err) {
			rest(reader);
			err = take_arrived(reader, &asking);
		}
		if (asking.is_answered)
			break;
		err = look_after(reader, err, end_ns);
		if (err)
			return err;
	}
	return asking.err;
}
