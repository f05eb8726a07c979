/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In place of namer_link.c: a link whose other end is the test, which reads there what the namer is
 * told, and answers. There is one of them.
 */
#ifndef JBPF_TESTS_FAKE_LINK_H
#define JBPF_TESTS_FAKE_LINK_H

#include <string.h>
#include <sys/socket.h>

#include "user/collect/namer/namer_link.h"
#include "user/collect/naming/naming_wire.h"

static struct {
	struct packet_stream stream;
	struct packet_stream namer;
	int broken;
	bool is_dead; /* the next tick starts another one */
	bool is_orphan;
	const char *hanging; /* NULL = nothing does */
	uint64_t given_up_id;
	uint64_t ban_cnt;
	size_t change_cnt;
	size_t started_cnt;
	bool forgets; /* the last change */
	bool keeps_parameters;
	bool is_copy; /* the one that was started last */
} link_;

static void start_namer(void)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	packet_stream_release(&link_.stream);
	packet_stream_release(&link_.namer);
	packet_stream_init(&link_.stream, fds[0], PACKET_MAX_BYTES);
	packet_stream_init(&link_.namer, fds[1], PACKET_MAX_BYTES);
	link_.broken = 0;
	link_.is_dead = false;
	link_.started_cnt++;
}

static inline void link_open(void)
{
	memset(&link_, 0, sizeof(link_));
	link_.stream.fd = link_.namer.fd = -1;
	start_namer();
}

int namer_link__open(const struct namer_link_options *options, struct namer_link **out, char *why,
		     size_t why_len)
{
	(void)options;
	(void)why;
	(void)why_len;
	*out = NULL;
	link_open();
	return 0;
}

void namer_link__free(struct namer_link *link)
{
	assert_null(link);
	packet_stream_release(&link_.stream);
	packet_stream_release(&link_.namer);
}

struct packet_stream *namer_link__stream(struct namer_link *link)
{
	assert_null(link);
	return &link_.stream;
}

bool namer_link__is_up(const struct namer_link *link)
{
	assert_null(link);
	return !link_.broken && !link_.is_dead;
}

int namer_link__change(struct namer_link *link, const struct namer_link_options *options,
		       bool forgets)
{
	assert_null(link);
	link_.keeps_parameters = options->keeps_parameters;
	link_.change_cnt++;
	link_.forgets = forgets;
	return 0;
}

void namer_link__give_up(struct namer_link *link, uint64_t window_id)
{
	assert_null(link);
	link_.given_up_id = window_id;
}

void namer_link__broke(struct namer_link *link, int err)
{
	assert_null(link);
	link_.broken = err;
}

bool namer_link__tick(struct namer_link *link, uint64_t now_ns)
{
	(void)now_ns;
	assert_null(link);
	if (!link_.broken && !link_.is_dead)
		return false;
	start_namer();
	return true;
}

int namer_link__log_fd(const struct namer_link *link)
{
	assert_null(link);
	return -1;
}

void namer_link__relay(struct namer_link *link)
{
	assert_null(link);
}

bool namer_link__is_copy(const struct namer_link *link)
{
	assert_null(link);
	return link_.is_copy;
}

uint64_t namer_link__due_boot_ns(const struct namer_link *link, uint64_t now_ns)
{
	assert_null(link);
	return now_ns;
}

bool namer_link__has_launcher(const struct namer_link *link)
{
	assert_null(link);
	return !link_.is_orphan;
}

void namer_link__hanging(const struct namer_link *link, char *out, size_t len)
{
	assert_null(link);
	snprintf(out, len, "%s", link_.hanging ? link_.hanging : "");
}

void namer_link__stats(const struct namer_link *link, struct namer_link_stats *out)
{
	assert_null(link);
	*out = (struct namer_link_stats){ .ban_cnt = link_.ban_cnt };
}

/* What the namer says. */
static inline void namer_says(uint32_t kind, const void *bytes, size_t len)
{
	assert_int_equal(packet_stream_put_bytes(&link_.namer, kind, bytes, len), 0);
	assert_int_equal(packet_stream_flush_all(&link_.namer), 0);
}

/* Whether the next packet for the namer that is of this kind is there. Others are dropped. */
static inline bool namer_hears(uint32_t kind, struct packet *packet)
{
	int err = 0;

	do {
		while (packet_stream_next(&link_.namer, packet, &err))
			if (packet->kind == kind)
				return true;
		assert_int_equal(err, 0);
	} while (packet_stream_fill(&link_.namer) == 0);
	return false;
}

#endif
