// SPDX-License-Identifier: Apache-2.0
/*
 * See daemon_writer.h. A window is a queue of packets, as they come from the process that names.
 * Some may wait for a slow disk; beyond WINDOWS_MAX or BYTES_MAX the newest one is lost.
 */
#include "user/daemon/daemon_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/collect/naming/naming_wire.h"
#include "user/store/store.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define WINDOWS_MAX	   16u
#define BYTES_MAX	   (128u << 20)
#define RETAIN_INTERVAL_NS (3600 * CLOCK_NS_PER_S)
/* On a full disk a small window may still fit: so many in a row, and the store is well again. */
#define WELL_WINDOWS	    3
#define STORE_PROBLEM_BYTES 320

struct job {
	struct job *next;
	struct packet_stream streams; /* without a socket */
	size_t bytes;
	struct window host; /* of the first event */
	struct window others[EVENT_CNT - 1];
	size_t other_cnt;
	char host_name[HOST_NAME_MAX + 1]; /* of all of them: the recorder's may change, and go */
	struct recorder_stats stats;
	struct daemon_compactor compactor; /* as it was; only its counters are read */
	struct daemon_options options;	   /* likewise: its numbers */
	uint64_t samples;		   /* of the streams in its queue */
	uint64_t lost_samples;		   /* of its streams, on the way here */
	uint64_t lost_before;		   /* of whole windows that were dropped before it */
	uint64_t windows_before;	   /* how many these were */
};

struct daemon_writer {
	char *store_dir;	       /* for messages */
	struct daemon_options options; /* numbers of those in force, for windows that end */
	struct job *present;	       /* being filled */
	uint64_t present_lost;	       /* samples of that window that found no place */
	uint64_t dropped_samples;      /* of windows that found none; for the next one that does */
	uint64_t dropped_windows;      /* these windows; 0 = the last one found a place */
	pthread_t thread;
	bool is_started;

	pthread_mutex_t lock; /* of the next five fields */
	pthread_cond_t is_changed;
	struct job *first; /* oldest */
	size_t job_cnt;	   /* with the one being written */
	size_t bytes;
	bool ends;

	/* The thread's own. */
	struct store_writer *store;
	struct store_writer_options limits; /* that it has */
	struct daemon_metrics *metrics;
	uint64_t lost_samples;	 /* of windows before, for the next host record */
	uint64_t next_retain_ns; /* CLOCK_BOOTTIME */
	bool has_failed;	 /* said once, until WELL_WINDOWS were written */
	uint32_t good_windows;	 /* written in a row since; 0 = the last one was not */
	uint64_t failed_windows; /* not written since it was said */
};

static struct job *job_new(void)
{
	struct job *job = calloc(1, sizeof(*job));

	if (job)
		packet_stream_init(&job->streams, -1, PACKET_MAX_BYTES);
	return job;
}

static void job_free(struct job *job)
{
	if (!job)
		return;
	packet_stream_release(&job->streams);
	free(job);
}

/* ---- the thread ---- */

static void report_commit(struct daemon_writer *writer, int err)
{
	const char *store = writer->store_dir;

	if (err) {
		if (!writer->has_failed)
			pr_err("store '%s': window not written: %s; sampling goes on, free space or fix the directory\n",
			       store, errstr(err));
		writer->has_failed = true;
		writer->good_windows = 0;
		writer->failed_windows++;
	} else if (writer->has_failed && ++writer->good_windows >= WELL_WINDOWS) {
		pr_info("store '%s': windows are written again; %" PRIu64 " could not be\n", store,
			writer->failed_windows);
		writer->has_failed = false;
		writer->failed_windows = 0;
	}
}

/* One stream that cannot be kept costs that stream. Returns its samples, or 0. */
static uint64_t add_stream(struct daemon_writer *writer, const struct window *window,
			   const char *text, size_t len)
{
	int err = store_writer__add(writer->store, window, text, len);

	daemon_metrics_note(writer->metrics, window);
	if (!err) {
		daemon_metrics_count(writer->metrics, window);
		return 0;
	}
	pr_warn_limited("store: process %u (%s): %s; %" PRIu64 " samples are lost\n", window->pid,
			window_label(window, WINDOW_LABEL_COMM), errstr(err),
			window->counts.samples);
	return window->counts.samples;
}

static uint64_t add_streams(struct daemon_writer *writer, struct job *job)
{
	uint64_t lost = 0, read_samples = 0;
	struct packet packet;
	int err = 0;

	packet_stream_turn(&job->streams);
	while (packet_stream_next(&job->streams, &packet, &err)) {
		struct window window;
		const char *text;
		size_t len;

		if (naming_stream_read(packet.bytes, packet.len, &window, &text, &len))
			continue;
		read_samples += window.counts.samples;
		lost += add_stream(writer, &window, text, len);
	}
	if (read_samples >= job->samples)
		return lost;
	pr_warn_limited(
		"store: %" PRIu64
		" samples are lost: a window that waited for the disk in memory is broken; report it\n",
		job->samples - read_samples);
	return lost + job->samples - read_samples;
}

/* The record of off-cpu among those of the window; NULL: that is not sampled. */
static struct window *off_cpu_host(struct job *job)
{
	if (job->host.event == EVENT_OFF_CPU)
		return &job->host;
	for (size_t i = 0; i < job->other_cnt; i++) {
		if (job->others[i].event == EVENT_OFF_CPU)
			return &job->others[i];
	}
	return NULL;
}

static int add_host(struct daemon_writer *writer, struct job *job)
{
	struct window *host = &job->host, *off_cpu = off_cpu_host(job);
	__cleanup_strbuf struct strbuf unwind = STRBUF_INIT, passes = STRBUF_INIT;
	char problem[STORE_PROBLEM_BYTES];
	int err;

	unwind_host_append(&job->stats.unwind, &unwind);
	if (!strbuf_error(&unwind))
		host->labels[WINDOW_LABEL_UNWIND] = strbuf_str(&unwind);
	pass_facts_append(&job->stats.passes, &passes);
	if (off_cpu && !strbuf_error(&passes))
		off_cpu->labels[WINDOW_LABEL_PASSES] = strbuf_str(&passes);
	store_writer__problem(writer->store, problem, sizeof(problem));
	if (*problem)
		host->labels[WINDOW_LABEL_STORE_PROBLEM] = problem;
	if (*job->stats.naming_problem)
		host->labels[WINDOW_LABEL_NAMING_PROBLEM] = job->stats.naming_problem;
	err = store_writer__add(writer->store, host, "", 0);
	for (size_t i = 0; i < job->other_cnt && !err; i++)
		err = store_writer__add(writer->store, &job->others[i], "", 0);
	host->labels[WINDOW_LABEL_STORE_PROBLEM] = NULL;
	host->labels[WINDOW_LABEL_NAMING_PROBLEM] = NULL;
	host->labels[WINDOW_LABEL_UNWIND] = NULL;
	if (off_cpu)
		off_cpu->labels[WINDOW_LABEL_PASSES] = NULL;
	return err;
}

static void retain(struct daemon_writer *writer)
{
	int err;

	if (clock_boot_ns() < writer->next_retain_ns)
		return;
	writer->next_retain_ns = clock_boot_ns() + RETAIN_INTERVAL_NS;
	err = store_writer__retain(writer->store, clock_unix_ns());
	if (err)
		pr_warn("store '%s': old hours not deleted: %s\n", writer->store_dir, errstr(err));
}

static struct store_writer_options limits_of(const struct daemon_options *options)
{
	return (struct store_writer_options){
		.keep_age_ns = options->keep_age_ns,
		.keep_bytes = options->keep_bytes,
		.reserve_bytes = store_reserve_bytes(options->keep_bytes),
		.keeps_ticks = options->keep_moments_ns,
	};
}

/* Options that were changed come with the first window that ends under them. */
static void take_limits(struct daemon_writer *writer, const struct daemon_options *options)
{
	struct store_writer_options limits = limits_of(options);

	if (limits.keep_age_ns == writer->limits.keep_age_ns &&
	    limits.keep_bytes == writer->limits.keep_bytes &&
	    limits.keeps_ticks == writer->limits.keeps_ticks)
		return;
	writer->limits = limits;
	store_writer__change(writer->store, &limits);
}

static void write_window(struct daemon_writer *writer, struct job *job)
{
	struct daemon_metrics_parts parts = {
		.options = &job->options,
		.stats = &job->stats,
		.writer = writer->store,
		.compactor = &job->compactor,
		.begin_boot_ns = job->stats.begin_boot_ns,
		.dropped_windows = job->windows_before,
	};
	uint64_t lost = job->lost_before, unwritten = 0;
	int err;

	job->host.lost[WINDOW_LOSS_STORE] += writer->lost_samples + lost;
	take_limits(writer, &job->options);
	lost += job->lost_samples + add_streams(writer, job);
	job->host.lost[WINDOW_LOSS_STORE] += lost - job->lost_before;
	err = add_host(writer, job);
	if (!err)
		err = store_writer__commit(writer->store, &unwritten);
	report_commit(writer, err);
	/* The losses of a host record that was not written go into the next one. */
	writer->lost_samples = unwritten + (err ? job->host.lost[WINDOW_LOSS_STORE] : 0);
	/* The metrics have counted the losses of earlier records already. */
	job->host.lost[WINDOW_LOSS_STORE] = lost + unwritten;
	daemon_metrics_note(writer->metrics, &job->host);
	/* The others say all the same, which the first one leaves out when it is that of CPU time. */
	if (job->other_cnt && job->host.event == EVENT_CPU)
		daemon_metrics_note(writer->metrics, &job->others[0]);
	log_limits_report(clock_boot_ns());
	parts.is_written = !err;
	daemon_metrics_end(writer->metrics, &parts);
	retain(writer);
}

static struct job *take_job(struct daemon_writer *writer)
{
	struct job *job;

	pthread_mutex_lock(&writer->lock);
	while (!writer->first && !writer->ends)
		pthread_cond_wait(&writer->is_changed, &writer->lock);
	job = writer->first;
	if (job)
		writer->first = job->next;
	pthread_mutex_unlock(&writer->lock);
	return job;
}

static void *thread_main(void *arg)
{
	struct daemon_writer *writer = arg;
	struct job *job;

	while ((job = take_job(writer))) {
		write_window(writer, job);
		pthread_mutex_lock(&writer->lock);
		writer->job_cnt--;
		writer->bytes -= job->bytes;
		pthread_cond_broadcast(&writer->is_changed);
		pthread_mutex_unlock(&writer->lock);
		job_free(job);
	}
	return NULL;
}

/* ---- the others ---- */

struct daemon_writer *daemon_writer__new(struct daemon_metrics *metrics)
{
	struct daemon_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->metrics = metrics;
	pthread_mutex_init(&writer->lock, NULL);
	pthread_cond_init(&writer->is_changed, NULL);
	return writer;
}

void daemon_writer__free(struct daemon_writer *writer)
{
	struct job *job;

	if (!writer)
		return;
	if (writer->is_started) {
		pthread_mutex_lock(&writer->lock);
		writer->ends = true;
		pthread_cond_broadcast(&writer->is_changed);
		pthread_mutex_unlock(&writer->lock);
		pthread_join(writer->thread, NULL);
	}
	job_free(writer->present);
	/* None, unless the thread was never started. */
	while ((job = writer->first)) {
		writer->first = job->next;
		job_free(job);
	}
	store_writer__free(writer->store);
	free(writer->store_dir);
	pthread_cond_destroy(&writer->is_changed);
	pthread_mutex_destroy(&writer->lock);
	free(writer);
}

int daemon_writer__open(struct daemon_writer *writer, const struct daemon_options *options)
{
	writer->store_dir = strdup(options->store);
	if (!writer->store_dir)
		return -ENOMEM;
	writer->options = *options;
	writer->limits = limits_of(options);
	return store_writer__open(options->store, &writer->limits, &writer->store);
}

void daemon_writer__change(struct daemon_writer *writer, const struct daemon_options *options)
{
	writer->options = *options;
}

int daemon_writer__start(struct daemon_writer *writer)
{
	sigset_t all, before;
	int err;

	/* Signals are for the other thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	err = pthread_create(&writer->thread, NULL, thread_main, writer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	writer->is_started = !err;
	return -err;
}

void daemon_writer__add(struct daemon_writer *writer, const struct window *window, const char *text,
			size_t len)
{
	struct job *job;
	int err = -ENOMEM;

	if (!writer->present)
		writer->present = job_new();
	job = writer->present;
	if (job && packet_stream_waiting(&job->streams) < BYTES_MAX)
		err = naming_stream_put(&job->streams, window, text, len);
	if (err)
		writer->present_lost += window->counts.samples;
	else
		job->samples += window->counts.samples;
}

/* False: too much waits already. */
static bool queue_job(struct daemon_writer *writer, struct job *job)
{
	struct job **last = &writer->first;
	bool has_room;

	pthread_mutex_lock(&writer->lock);
	has_room = !writer->job_cnt ||
		   (writer->job_cnt < WINDOWS_MAX && writer->bytes + job->bytes <= BYTES_MAX);
	if (has_room) {
		while (*last)
			last = &(*last)->next;
		*last = job;
		writer->job_cnt++;
		writer->bytes += job->bytes;
		pthread_cond_broadcast(&writer->is_changed);
	}
	pthread_mutex_unlock(&writer->lock);
	return has_room;
}

/* Losses of its streams are among the samples of the host. */
static void drop_window(struct daemon_writer *writer, const struct window *hosts, size_t host_cnt,
			const char *why)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < host_cnt; i++)
		samples += hosts[i].counts.samples;
	writer->present_lost = 0;
	writer->dropped_samples += samples + hosts[0].lost[WINDOW_LOSS_STORE];
	writer->dropped_windows++;
	pr_warn_limited("store '%s': %s: a window of %" PRIu64 " samples is lost\n",
			writer->store_dir, why, samples);
}

static void take_hosts(struct job *job, const struct window *hosts, size_t host_cnt)
{
	const char *name = window_label(&hosts[0], WINDOW_LABEL_HOST);

	job->host = hosts[0];
	job->other_cnt = host_cnt - 1;
	memcpy(job->others, hosts + 1, job->other_cnt * sizeof(*hosts));
	(void)snprintf(job->host_name, sizeof(job->host_name), "%s", name);
	job->host.labels[WINDOW_LABEL_HOST] = job->host_name;
	for (size_t i = 0; i < job->other_cnt; i++)
		job->others[i].labels[WINDOW_LABEL_HOST] = job->host_name;
}

void daemon_writer__end(struct daemon_writer *writer, const struct window *hosts, size_t host_cnt,
			const struct recorder_stats *stats,
			const struct daemon_compactor *compactor)
{
	struct job *job = writer->present ? writer->present : job_new();

	writer->present = NULL;
	if (!job) {
		drop_window(writer, hosts, host_cnt, "out of memory");
		return;
	}
	take_hosts(job, hosts, host_cnt);
	job->stats = *stats;
	job->compactor = *compactor;
	job->options = writer->options;
	job->bytes = packet_stream_waiting(&job->streams);
	job->lost_samples = writer->present_lost;
	job->lost_before = writer->dropped_samples;
	job->windows_before = writer->dropped_windows;
	if (!queue_job(writer, job)) {
		drop_window(writer, hosts, host_cnt, "the disk is too slow");
		job_free(job);
		return;
	}
	writer->present_lost = 0;
	writer->dropped_samples = 0;
	writer->dropped_windows = 0;
}

void daemon_writer__wait(struct daemon_writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	while (writer->job_cnt)
		pthread_cond_wait(&writer->is_changed, &writer->lock);
	pthread_mutex_unlock(&writer->lock);
}

bool daemon_writer__has_failed(const struct daemon_writer *writer)
{
	return writer->dropped_windows || (writer->has_failed && !writer->good_windows);
}
