/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live readers: connections to the socket beside the store, each of which is told once a second what the
 * window that runs has counted (user/collect/running.h). Without a reader nothing is looked at.
 *
 * A reader is told and never heard: nothing is received from it, and one that says something is put out. It
 * never holds jbpfd up: what its socket does not take waits, it gets no more before that, and one that
 * takes nothing for some seconds is put out. Places are limited; whoever comes when all are taken is refused,
 * and so many in a second are not even looked at before the next one.
 */
#ifndef JBPF_DAEMON_DAEMON_READERS_H
#define JBPF_DAEMON_DAEMON_READERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/collect/recorder.h"
#include "user/util/packet_stream.h"

#define DAEMON_READERS_MAX	 16u
#define DAEMON_READERS_ACCEPTS	 32u /* in a second */
#define DAEMON_READERS_PERIOD_NS 1000000000ull

struct daemon_reader {
	struct packet_stream stream;
	uint64_t
		waits_since_ns; /* CLOCK_BOOTTIME: something waits to be taken since then; 0 = nothing does */
};

/* Fields are private. */
struct daemon_readers {
	char *store_dir; /* where the socket is; NULL = there is none */
	int listen_fd;
	int epoll_fd;
	struct daemon_reader readers[DAEMON_READERS_MAX];
	size_t cnt;
	uint64_t second_ns; /* CLOCK_BOOTTIME: when the count of accepts begins again */
	uint32_t accepts;   /* since the last one */
	bool is_resting;    /* the listening socket is not watched until then */
	uint64_t due_ns;    /* of the next snapshot */
	bool is_refused;    /* one failed, and that was said */
};

/*
 * Before privileges are dropped and the recorder is opened, by the holder of the store's lock. Where there
 * can be no socket it warns, and there are no readers.
 */
void daemon_readers_open(struct daemon_readers *readers, const char *store_dir);
/* Ends all connections and removes the socket. One that is all 0 is fine. */
void daemon_readers_close(struct daemon_readers *readers);

/* Readable when daemon_readers_step() has something to do; -1 = never. */
int daemon_readers_fd(const struct daemon_readers *readers);
/* When to call it even then; CLOCK_BOOTTIME ns, UINT64_MAX = never. */
uint64_t daemon_readers_due_boot_ns(const struct daemon_readers *readers);
/* Takes and puts out readers, and tells those that there are what is due. Never waits. */
void daemon_readers_step(struct daemon_readers *readers, struct recorder *recorder);
/* The window is about to end: the last that there is to tell of it. */
void daemon_readers_end_window(struct daemon_readers *readers, struct recorder *recorder);

#endif
