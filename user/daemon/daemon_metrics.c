// SPDX-License-Identifier: Apache-2.0
/* See daemon_metrics.h. All of it is cheap except the store's size, which is read once a minute. */
#include "user/daemon/daemon_metrics.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/model/jvm_facts.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/host/self_usage.h"
#include "user/store/store_state.h"
#include "user/util/strtab.h"
#include "user/util/version.h"

#define FRESH_WINDOWS	  3
#define USAGE_INTERVAL_NS (60 * CLOCK_NS_PER_S)

_Static_assert((int)JVM_ATTACH_OUTCOME_CNT <= METRICS_STATES_MAX, "each outcome has its state");

/* ---- names of states ---- */

static void name_states(struct metrics *metrics)
{
	static const char *const flags[] = { "unknown", "off", "on" };

	metrics->jvm_sources[JIT_SOURCE_NONE].name = "none";
	for (uint32_t i = JIT_SOURCE_PERFMAP; i <= JIT_SOURCE_VMSTRUCTS; i++)
		metrics->jvm_sources[i].name = jit_source_name(i);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		metrics->jvm_frame_pointers[i].name = flags[i];
	for (int i = JVM_ATTACH_OK; i < JVM_ATTACH_OUTCOME_CNT; i++)
		metrics->jvm_attaches[i].name = jvm_attach_outcome_name((enum jvm_attach_outcome)i);
}

static void clear_states(struct metrics_state *states)
{
	for (size_t i = 0; i < METRICS_STATES_MAX; i++)
		states[i].cnt = 0;
}

static void count_state(struct metrics_state *states, uint32_t state)
{
	if (state < METRICS_STATES_MAX && states[state].name)
		states[state].cnt++;
}

/* ---- the process ---- */

static uint64_t open_fds(void)
{
	__cleanup_dir DIR *list = opendir("/proc/self/fd");
	uint64_t cnt = 0;

	while (list && readdir(list))
		cnt++;
	/* Without ".", ".." and that of the list itself. */
	return cnt > 3 ? cnt - 3 : 0;
}

static void ask_process(struct metrics *metrics)
{
	metrics->cpu_ns = self_usage_cpu_ns();
	metrics->children_cpu_ns = self_usage_children_cpu_ns();
	metrics->resident_bytes = self_usage_resident_bytes();
	metrics->open_fds = open_fds();
}

/* ---- the parts ---- */

static void ask_options(struct metrics *metrics, const struct daemon_options *options)
{
	metrics->events = options->events;
	metrics->frequency_hz = options->frequency_hz;
	metrics->page_fault_period = options->page_fault_period;
	metrics->off_cpu_rate = options->off_cpu_rate;
	metrics->window_ns = options->window_ns;
	metrics->keep_age_ns = options->keep_age_ns;
	metrics->keep_bytes = options->keep_bytes;
}

static void ask_recorder(struct metrics *metrics, const struct recorder_stats *stats)
{
	metrics->processes = stats->process_cnt;
	metrics->symbol_bytes = stats->symbol_bytes;
	metrics->map_bytes = stats->map_bytes;
	metrics->stack_bytes = stats->stack_bytes;
	metrics->unsampled_cpus = stats->unsampled_cpu_cnt;
	metrics->unwind = stats->unwind;
	metrics->unwind_built = stats->unwind_built;
	metrics->parser_failures = stats->parser_failures;
	metrics->parser_restarts = stats->parser_restarts;
	metrics->namer_restarts = stats->namer_restarts;
	metrics->bans = stats->bans;
	metrics->naming_silent_ns = stats->naming_silent_ns;
	metrics->passes = stats->passes;
}

static void ask_store(struct daemon_metrics *self, const struct store_writer *writer,
		      uint64_t now_boot_ns)
{
	struct store_usage usage;

	if (self->usage_boot_ns && now_boot_ns - self->usage_boot_ns < USAGE_INTERVAL_NS)
		return;
	self->usage_boot_ns = now_boot_ns;
	if (store_writer__usage(writer, &usage))
		return;
	self->metrics.store_bytes = usage.bytes;
	self->metrics.store_files = usage.files;
	self->metrics.store_oldest_unix_s = usage.oldest_unix_s;
	self->metrics.store_clock_off = usage.is_clock_off;
	self->metrics.store_reserve_bytes = usage.reserve_bytes;
	self->metrics.store_reserve_target_bytes = usage.reserve_target_bytes;
}

static void publish(struct daemon_metrics *self)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int err, state_err = 0;

	if (self->server)
		self->metrics.server_restarts = metrics_server__restarts(self->server);
	err = metrics_render(&self->metrics, &text);
	if (!err && self->has_begun)
		state_err = store_state_write(self->store_dir, &text, clock_unix_ns());
	if (!err && self->server)
		err = metrics_server__publish(self->server, &text);
	if (err)
		pr_debug("metrics: %s, the old ones are told\n", errstr(err));
	if (state_err)
		pr_debug("store '%s': the file '%s' is not written: %s\n", self->store_dir,
			 STORE_STATE_NAME, errstr(state_err));
}

int daemon_metrics_open(struct daemon_metrics *self, const struct daemon_options *options,
			char *why, size_t why_len)
{
	int err = 0;

	self->store_dir = strdup(options->store);
	if (!self->store_dir) {
		snprintf(why, why_len, "out of memory");
		return -ENOMEM;
	}
	if (options->metrics)
		err = metrics_server__open(options->metrics, &self->server, why, why_len);
	if (err)
		return err;
	self->metrics.version = jbpf_version;
	self->metrics.start_unix_ns = clock_unix_ns();
	name_states(&self->metrics);
	ask_options(&self->metrics, options);
	ask_process(&self->metrics);
	if (self->server)
		publish(self);
	daemon_metrics_beat(self, options->window_ns, NAMING_BEAT_GOES_ON);
	return 0;
}

void daemon_metrics_begin(struct daemon_metrics *self)
{
	self->has_begun = true;
	publish(self);
}

void daemon_metrics_beat(const struct daemon_metrics *self, uint64_t window_ns,
			 enum naming_beat_state naming)
{
	static const enum serve_naming told[] = {
		[NAMING_BEAT_GOES_ON] = SERVE_NAMING_GOES_ON,
		[NAMING_BEAT_DEAD] = SERVE_NAMING_DEAD,
		[NAMING_BEAT_STUCK] = SERVE_NAMING_STUCK,
	};
	uint64_t now_ns = clock_boot_ns();
	const struct serve_beat beat = { .until_boot_ns = now_ns + FRESH_WINDOWS * window_ns,
					 .naming = told[naming] };

	if (!self->server)
		return;
	metrics_server__beat(self->server, &beat);
	metrics_server__tick(self->server, now_ns);
}

void daemon_metrics_close(struct daemon_metrics *self)
{
	metrics_server__free(take_ptr(self->server));
	strtab__free(take_ptr(self->containers));
	if (self->has_begun)
		store_state_remove(self->store_dir);
	self->has_begun = false;
	free(take_ptr(self->store_dir));
}

static void note_container(struct daemon_metrics *self, const struct window *window)
{
	const char *id = window_label(window, WINDOW_LABEL_CONTAINER_ID);
	uint32_t unused;

	if (!*id)
		id = window_label(window, WINDOW_LABEL_CONTAINER);
	if (!*id)
		return;
	if (!self->containers)
		self->containers = strtab__new();
	if (self->containers)
		(void)strtab__intern(self->containers, id, strlen(id), &unused);
}

static void begin_window(struct metrics *metrics)
{
	metrics->streams = 0;
	clear_states(metrics->jvm_sources);
	clear_states(metrics->jvm_frame_pointers);
	clear_states(metrics->jvm_attaches);
}

static void note_jvm(struct metrics *metrics, const struct window *window)
{
	count_state(metrics->jvm_sources, window->jit_source);
	count_state(metrics->jvm_frame_pointers, window->preserve_frame_pointer);
	count_state(metrics->jvm_attaches, window->attach_outcome);
}

void daemon_metrics_note(struct daemon_metrics *self, const struct window *window)
{
	struct metrics *metrics = &self->metrics;

	if (self->is_window_over)
		begin_window(metrics);
	self->is_window_over = false;
	if (window->pid == 0) {
		for (int i = 0; i < WINDOW_LOSS_CNT; i++)
			metrics->lost[i] += window->lost[i];
		return;
	}
	/* A process has a stream for each event: it counts with the first one that is sampled. */
	if (window->event >= EVENT_CNT || metrics->events & (EVENT_BIT(window->event) - 1))
		return;
	metrics->streams++;
	note_container(self, window);
	if (window->is_jvm)
		note_jvm(metrics, window);
}

void daemon_metrics_count(struct daemon_metrics *self, const struct window *window)
{
	if (window->event < EVENT_CNT)
		self->event_samples[window->event] += window->counts.samples;
	if (window->event == EVENT_CPU)
		window_counts_add(&self->counts, &window->counts);
	else if (window->event == EVENT_OFF_CPU)
		self->counts.run_delay_ns += window->counts.run_delay_ns;
}

void daemon_metrics_end(struct daemon_metrics *self, const struct daemon_metrics_parts *parts)
{
	struct metrics *metrics = &self->metrics;
	uint64_t now_ns = clock_boot_ns();

	if (parts->is_written)
		window_counts_add(&metrics->counts, &self->counts);
	for (int i = 0; i < EVENT_CNT && parts->is_written; i++)
		metrics->event_samples[i] += self->event_samples[i];
	memset(self->event_samples, 0, sizeof(self->event_samples));
	self->counts = (struct window_counts){ 0 };
	if (!self->has_begun)
		return;
	metrics->containers = self->containers ? strtab__count(self->containers) : 0;
	strtab__free(take_ptr(self->containers));
	metrics_note_end(metrics, now_ns - parts->begin_boot_ns);
	if (parts->is_written) {
		metrics->windows_written++;
		metrics->last_window_unix_ns = clock_unix_ns() - (now_ns - parts->begin_boot_ns);
	} else {
		metrics->windows_failed++;
	}
	metrics->windows_failed += parts->dropped_windows;
	ask_options(metrics, parts->options);
	ask_recorder(metrics, parts->stats);
	ask_store(self, parts->writer, now_ns);
	metrics->compactions_done = parts->compactor->done_cnt;
	metrics->compactions_failed = parts->compactor->failed_cnt;
	metrics->compaction_unix_ns = parts->compactor->done_unix_ns;
	ask_process(metrics);
	metrics->cpu_ns += parts->stats->naming_cpu_ns;
	metrics->resident_bytes += parts->stats->naming_resident_bytes;
	publish(self);
	self->is_window_over = true;
}
