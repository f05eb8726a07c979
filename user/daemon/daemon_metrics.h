/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of jbpfd itself: counts windows on their way to the store, asks the parts at the end of
 * each window, and publishes the text in the store's state, and with --metrics through user/serve.
 * That is done by the thread that writes; the one that samples tells that it lives, whatever the disk
 * does.
 */
#ifndef JBPF_DAEMON_DAEMON_METRICS_H
#define JBPF_DAEMON_DAEMON_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/daemon/daemon_compact.h"
#include "user/daemon/daemon_options.h"
#include "user/collect/recorder.h"
#include "user/serve/metrics.h"
#include "user/serve/server.h"
#include "user/store/store.h"

struct strtab;

/* Zero-initialise; end with daemon_metrics_close(). */
struct daemon_metrics {
	char *store_dir;	       /* of the state */
	bool has_begun;		       /* until then it only counts */
	struct metrics_server *server; /* NULL = metrics are not served */
	struct metrics metrics;
	struct strtab *containers;   /* of the present window */
	struct window_counts counts; /* of the present window's streams that the store took */
	uint64_t event_samples[EVENT_CNT];
	bool is_window_over;	/* the next window that is noted begins another one */
	uint64_t usage_boot_ns; /* when the store was looked at last */
};

/* 0, or -errno and a line in `why`. Before privileges are given up. */
__must_check int daemon_metrics_open(struct daemon_metrics *self,
				     const struct daemon_options *options, char *why,
				     size_t why_len);
/* It samples: the store has its state from now on, until it is closed. */
void daemon_metrics_begin(struct daemon_metrics *self);
void daemon_metrics_close(struct daemon_metrics *self);

/* Takes note of a window on its way to the store: a stream's or the host's. */
void daemon_metrics_note(struct daemon_metrics *self, const struct window *window);
/* The store took this stream: it counts as recorded when its window is written. */
void daemon_metrics_count(struct daemon_metrics *self, const struct window *window);

/* A window has ended, of which the next one has that length. From the thread that samples. */
void daemon_metrics_beat(const struct daemon_metrics *self, uint64_t window_ns,
			 enum naming_beat_state naming);

/* The sources of metrics at the end of a window. */
struct daemon_metrics_parts {
	const struct daemon_options *options;
	const struct recorder_stats *stats;
	const struct store_writer *writer;
	const struct daemon_compactor *compactor;
	uint64_t begin_boot_ns; /* when the window began to end */
	bool is_written;
	uint64_t dropped_windows; /* before it, which found no place: they failed, too */
};

/* Publishes the metrics of the window. Failures are not counted; they are logged at level debug. */
void daemon_metrics_end(struct daemon_metrics *self, const struct daemon_metrics_parts *parts);

#endif
