/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows added up per stream (one process's life), for --list, for the hint after "no samples
 * match" and for jbpf status.
 */
#ifndef JBPF_CLI_STREAMS_H
#define JBPF_CLI_STREAMS_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/model/window.h"

struct strtab;

struct stream {
	uint64_t first_unix_ns; /* start of its first window */
	uint64_t last_unix_ns;	/* end of its last */
	struct window_counts counts;
	struct window latest; /* the last that was named; its labels live as long as the streams */
};

/* Zero-initialise; end with streams_release(). */
struct streams {
	struct stream *items;
	size_t cnt;
	size_t cap;
	struct strtab *keys;		/* identity of a stream -> index */
	struct strtab *labels;		/* texts of latest.labels */
	uint64_t lost[WINDOW_LOSS_CNT]; /* of the host records */
	uint64_t host_samples;
	uint64_t window_cnt;	       /* of the host records */
	uint64_t covered_ns;	       /* their time; of hosts at the same time, once */
	uint64_t recorded_ns;	       /* the same, each of its own */
	uint64_t first_window_unix_ns; /* start of the first of them */
	uint64_t last_window_unix_ns;  /* end of the last of them; 0 = none */
	uint64_t last_window_ns;       /* its length */
	const char *store_problem;     /* the labels of that one; NULL = none */
	const char *naming_problem;
	const char *unwind;
};

/* Adds a stream's window or a host record (pid 0). 0 or -ENOMEM. */
__must_check int streams_add(struct streams *streams, const struct window *window);
void streams_release(struct streams *streams);

/*
 * A label that all streams with samples have in common: NULL when one has another, or none. Borrowed
 * until streams_release().
 */
const char *streams_common_label(const struct streams *streams, enum window_label label);

/* By container, pod and host, busiest first, those without a container last. Nothing may be added after it. */
void streams_sort(struct streams *streams);

#endif
