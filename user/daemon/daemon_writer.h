/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that keeps the store: it takes whole windows and writes them, so that a slow disk
 * costs no sample. Windows that it cannot keep up with are lost, counted and reported.
 *
 * Opened, changed and closed by one thread, the one that records; functions marked so may be called
 * only while the thread is idle or was not started.
 */
#ifndef JBPF_DAEMON_DAEMON_WRITER_H
#define JBPF_DAEMON_DAEMON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/daemon/daemon_compact.h"
#include "user/daemon/daemon_metrics.h"
#include "user/daemon/daemon_options.h"
#include "user/collect/recorder.h"
#include "user/model/window.h"

struct daemon_writer;

/* `metrics` is the thread's own from daemon_writer__start() on. NULL when memory is short. */
struct daemon_writer *daemon_writer__new(struct daemon_metrics *metrics);
/* Ends the thread when all was written that was handed over. NULL is fine. */
void daemon_writer__free(struct daemon_writer *writer);

/* Opens the store, once and before the thread is started. 0, -ENOMEM or -errno of store_writer__open(). */
__must_check int daemon_writer__open(struct daemon_writer *writer,
				     const struct daemon_options *options);
/*
 * Other options for the same store, for the windows that end from now on. Waits for nothing and
 * cannot fail. Only the numbers of `options` are read later.
 */
void daemon_writer__change(struct daemon_writer *writer, const struct daemon_options *options);
/* Starts the thread: after privileges were given up, which are a thread's own. 0 or -errno. */
__must_check int daemon_writer__start(struct daemon_writer *writer);

/* One stream's window, copied. */
void daemon_writer__add(struct daemon_writer *writer, const struct window *window, const char *text,
			size_t len);
/*
 * The window's host records, at least one and at most EVENT_CNT, all of one host, whose name is copied;
 * the writer sets their other labels. It is handed to the thread.
 */
void daemon_writer__end(struct daemon_writer *writer, const struct window *hosts, size_t host_cnt,
			const struct recorder_stats *stats,
			const struct daemon_compactor *compactor);

/* Waits until all that was handed over is written or lost. */
void daemon_writer__wait(struct daemon_writer *writer);
/* Was the last window lost, on the way to the disk or there? Idle. */
bool daemon_writer__has_failed(const struct daemon_writer *writer);

#endif
