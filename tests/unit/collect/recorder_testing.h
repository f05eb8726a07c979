/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the recorder: samples that come from the test, a namer that is the test, and what is
 * handed out. To be included by one file of a program.
 */
#ifndef JBPF_TESTS_RECORDER_TESTING_H
#define JBPF_TESTS_RECORDER_TESTING_H

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/fake_link.h"
#include "tests/unit/fake_source.h"
#include "user/collect/recorder.h"
#include "user/collect/recorder_internal.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define PID	    42u
#define OTHER	    43u
#define SAMPLES	    7u
#define HOST	    "node-7"
#define HASH	    5u
#define WINDOWS_MAX 32u

/* ---- clocks that a suspend sets forward, or time itself ---- */

static uint64_t suspended_ns, passed_ns;

int clock_gettime(clockid_t id, struct timespec *out)
{
	int err = (int)syscall(SYS_clock_gettime, id, out);
	uint64_t later_ns = (id == CLOCK_BOOTTIME ? suspended_ns : 0) + passed_ns;

	out->tv_sec += (time_t)(later_ns / CLOCK_NS_PER_S);
	return err;
}

/* ---- the sink ---- */

static struct {
	size_t stream_cnt, end_cnt;
	uint64_t samples;   /* in streams */
	uint64_t lost;	    /* for want of memory, undecided, given up */
	uint64_t not_named; /* but kept */
	uint32_t exec_ids;  /* a bit for each that has a stream */
	char text[256];	    /* of the last stream */
	char comm[32];	    /* its label */
	struct window host; /* of the last end */
	struct recorder_stats stats;
} taken;

static const char *host_wanted = HOST; /* of all windows that are handed out */

static inline void take_stream(void *ctx, const struct window *window, const char *text, size_t len)
{
	assert_true(!ctx && strcmp(window_label(window, WINDOW_LABEL_HOST), host_wanted) == 0);
	taken.stream_cnt++;
	taken.samples += window->counts.samples;
	taken.exec_ids |= 1u << window->exec_id;
	snprintf(taken.text, sizeof(taken.text), "%.*s", (int)len, text);
	snprintf(taken.comm, sizeof(taken.comm), "%s", window_label(window, WINDOW_LABEL_COMM));
}

static inline void take_end(void *ctx, struct window *host, size_t cnt,
			    const struct recorder_stats *stats)
{
	assert_true(!ctx && cnt == 1 &&
		    strcmp(window_label(host, WINDOW_LABEL_HOST), host_wanted) == 0);
	taken.end_cnt++;
	taken.lost += host->lost[WINDOW_LOSS_MEMORY] + host->lost[WINDOW_LOSS_UNDECIDED] +
		      host->lost[WINDOW_LOSS_GIVEN_UP];
	taken.not_named += host->lost[WINDOW_LOSS_NOT_NAMED];
	taken.host = *host;
	taken.stats = *stats;
}

static inline struct recorder_options options_of(uint32_t frequency_hz)
{
	return (struct recorder_options){
		.host = HOST,
		.probe = { .frequency_hz = frequency_hz,
			   .max_depth = 64,
			   .window_ns = 10 * CLOCK_NS_PER_S },
	};
}

/* Nothing is sampled yet. */
static inline struct recorder *open_idle(void)
{
	const struct recorder_options options = options_of(99);
	const struct recorder_sink sink = { .stream = take_stream, .end = take_end };
	struct recorder *recorder = NULL;
	char why[256];

	memset(&taken, 0, sizeof(taken));
	memset(&source_, 0, sizeof(source_));
	assert_int_equal(
		recorder_open_with(&options, &sink, &source_ops, &recorder, why, sizeof(why)), 0);
	return recorder;
}

/* Each window has one process with some samples. */
static inline struct recorder *open_recorder(void)
{
	struct recorder *recorder = open_idle();

	source_count(PID, 0, 0, SAMPLES);
	source_notice(JBPF_NOTICE_SEEN, PID, 0);
	return recorder;
}

/* ---- what a namer does ---- */

static inline void answer_stream(uint32_t pid, uint32_t exec_id, uint64_t samples)
{
	const struct window window = {
		.pid = pid,
		.process_start_ns = pid,
		.exec_id = exec_id,
		.counts = { .samples = samples },
		.labels = { [WINDOW_LABEL_COMM] = "named" },
	};
	static const char text[] = "busy;main 7\n";

	assert_int_equal(naming_stream_put(&link_.namer, &window, text, strlen(text)), 0);
}

static inline void answer_end(const struct naming_end *end)
{
	namer_says(NAMING_END, end, sizeof(*end));
}

/* The id of the window that came to be named, which has so many counts; 0: none came. */
static inline uint64_t heard_window(uint32_t *count_cnt_out)
{
	struct naming_window head;
	struct packet packet;

	if (!namer_hears(NAMING_WINDOW, &packet))
		return 0;
	memcpy(&head, packet.bytes, sizeof(head));
	assert_int_equal(head.tick_seed, SOURCE_SEED);
	*count_cnt_out = head.count_cnt;
	return head.window_id;
}

/* Answers all windows that have come, as those of open_recorder(). Returns how many. */
static inline size_t answer_all(void)
{
	struct naming_end end = { 0 };
	uint32_t count_cnt;
	size_t cnt = 0;

	for (; (end.window_id = heard_window(&count_cnt)); cnt++) {
		answer_stream(PID, 0, SAMPLES);
		answer_end(&end);
	}
	return cnt;
}

#endif
