/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What jbpfd sends live readers: the samples of the last second or so of the window that runs, by
 * process. Packets (user/util/packet_stream.h) over a Unix socket (user/store/store_socket.h), in one
 * direction; a reader says nothing. The other side may be of another version: the kind of a packet says of
 * which it is. All is checked as a stranger's. No I/O, no clock.
 */
#ifndef JBPF_COLLECT_RUNNING_WIRE_H
#define JBPF_COLLECT_RUNNING_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/window.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

/* The kind of a packet. Another layout is another number. */
#define RUNNING_SNAPSHOT_1 0x6a621001u

#define RUNNING_BYTES_MAX      (1u << 20)
#define RUNNING_LABELS_MAX     8192u /* bytes of one stream's */
#define RUNNING_COMM_BYTES     16u
#define RUNNING_HOST_BYTES     72u
#define RUNNING_EVENTS_AT_MOST 32u

/* One packet is this, `event_cnt` times struct running_event, and `stream_cnt` streams. */
struct running_head {
	uint64_t begin_unix_ns;
	uint64_t end_unix_ns;
	uint64_t left_out; /* samples of CPU time for whose streams the packet had no room */
	uint32_t frequency_hz;
	uint32_t cpu_cnt;
	uint32_t event_cnt;
	uint32_t stream_cnt;
	char host[RUNNING_HOST_BYTES]; /* NUL-terminated */
	uint8_t boot_id[16];
};

struct running_event {
	uint64_t period;
	uint64_t
		samples; /* of all streams, also of those of which it is not yet known whether they may be told */
	uint32_t event;
	uint32_t pad;
};

/* `labels_len` bytes of running_labels_put() follow, and zeros up to the next multiple of 8. */
struct running_stream {
	uint64_t process_start_ns;
	uint64_t cgroup_id;
	uint64_t samples;
	uint32_t pid;
	uint32_t ns_pid;
	uint32_t exec_id;
	uint32_t event;
	char comm[RUNNING_COMM_BYTES]; /* NUL-terminated */
	uint32_t labels_len;
	uint32_t pad;
};

/*
 * Appends those labels of a window that its stream carries while the next one runs: what is selected and
 * what is shown by. 0, -ENOMEM, or -E2BIG: there are more than RUNNING_LABELS_MAX bytes of them.
 */
__must_check int running_labels_put(struct strbuf *out, const struct window *window);

/* Appends a stream; `labels` has `stream->labels_len` bytes. 0 or -ENOMEM. */
__must_check int running_stream_put(struct strbuf *out, const struct running_stream *stream,
				    const void *labels);

/* A packet as its reader sees it. Borrows from the packet. */
struct running_snapshot {
	struct running_head head;
	const uint8_t *events;
	const uint8_t *streams;
	size_t streams_len;
};

/* Checks all of it, up to its last byte. 0; -EBADMSG: it is none. */
__must_check int running_snapshot_read(const void *bytes, size_t len, struct running_snapshot *out);

/*
 * The window of its first to last event (a host record) or stream, in the snapshot's order; borrowed from
 * the packet and from `snapshot`. False: there are no more. `*at`, the place, begins with 0.
 */
bool running_snapshot_event(const struct running_snapshot *snapshot, size_t *at,
			    struct window *out);
bool running_snapshot_stream(const struct running_snapshot *snapshot, size_t *at,
			     struct window *out);

#endif
