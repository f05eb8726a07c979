/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of jbpfd that merges closed hours: a child process of the lowest priority, once an hour.
 * It is a process of its own, so that its memory goes with it and a file that crashes it does not
 * end the profiler.
 */
#ifndef JBPF_DAEMON_DAEMON_COMPACT_H
#define JBPF_DAEMON_DAEMON_COMPACT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct daemon_compactor {
	/* As in struct store_compaction; set by the daemon, also after SIGHUP. */
	uint64_t keep_bytes;
	uint64_t keep_ticks_ns; /* 0: they go with the next run */
	pid_t pid;		/* 0 = none is running */
	bool is_cancelled;	/* it was killed: its status says nothing */
	uint64_t next_boot_ns;	/* when the next one begins */
	bool is_failing;	/* was logged, until one succeeds */
	uint64_t done_cnt;	/* runs, ... */
	uint64_t failed_cnt;
	uint64_t done_unix_ns; /* the last one's end, as it was noticed; 0 = none yet */
};

/* The first one begins a few seconds from now: the daemon may have been away for hours. */
void daemon_compactor_init(struct daemon_compactor *compactor, uint64_t now_boot_ns);

/* Between two windows: takes note of a child that has ended, begins one when it is time. */
void daemon_compactor_tick(struct daemon_compactor *compactor, const char *store,
			   uint64_t now_boot_ns, uint64_t now_unix_ns);

/*
 * In place of tick() while nothing is to be merged: kills the child, and does not wait for it. One that
 * hangs with the disk ends when the disk answers; it is reaped by a later call of this or of tick(), which
 * begins no other before. The file that it was writing is gone with it.
 */
void daemon_compactor_cancel(struct daemon_compactor *compactor);

/* At the end of the daemon: kills the child and waits for it, so that the store is left alone. */
void daemon_compactor_stop(struct daemon_compactor *compactor);

#endif
