// SPDX-License-Identifier: Apache-2.0
/*
 * See metrics.h. A family is HELP, TYPE, then its samples, each name once. Times are seconds with
 * all nine decimals, so that a counter of nanoseconds never goes back by rounding.
 */
#include "user/serve/metrics.h"

#include <inttypes.h>

#include "user/util/cleanup.h"
#include "user/util/clock.h"

static const uint64_t bucket_bounds_ms[] = METRICS_BUCKET_BOUNDS_MS;

_Static_assert(ARRAY_SIZE(bucket_bounds_ms) + 1 == METRICS_BUCKET_CNT, "one bucket for the rest");

static void put_family(struct strbuf *text, const char *name, const char *type, const char *help)
{
	strbuf_printf(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_u64(struct strbuf *text, const char *name, const char *type, const char *help,
		    uint64_t value)
{
	put_family(text, name, type, help);
	strbuf_printf(text, "%s %" PRIu64 "\n", name, value);
}

static void put_seconds(struct strbuf *text, const char *name, const char *type, const char *help,
			uint64_t ns)
{
	put_family(text, name, type, help);
	strbuf_printf(text, "%s %" PRIu64 ".%09" PRIu64 "\n", name, (uint64_t)(ns / CLOCK_NS_PER_S),
		      (uint64_t)(ns % CLOCK_NS_PER_S));
}

/* Of the exposition format: backslash, quote and newline are escaped in a label's value. */
static void append_escaped(struct strbuf *out, const char *value)
{
	for (; *value; value++) {
		if (*value == '\n')
			strbuf_puts(out, "\\n");
		else if (*value == '\\' || *value == '"')
			strbuf_printf(out, "\\%c", *value);
		else
			strbuf_putc(out, *value);
	}
}

static void put_sample(struct strbuf *text, const char *name, const char *label, const char *value,
		       uint64_t number)
{
	strbuf_printf(text, "%s{%s=\"", name, label);
	append_escaped(text, value);
	strbuf_printf(text, "\"} %" PRIu64 "\n", number);
}

static void put_states(struct strbuf *text, const char *name, const char *help, const char *label,
		       const struct metrics_state *states)
{
	put_family(text, name, "gauge", help);
	for (size_t i = 0; i < METRICS_STATES_MAX; i++) {
		if (states[i].name)
			put_sample(text, name, label, states[i].name, states[i].cnt);
	}
}

#define COUNTER "counter"
#define GAUGE	"gauge"

static void put_samples(struct strbuf *text, const struct metrics *metrics)
{
	const struct window_counts *counts = &metrics->counts;

	put_u64(text, "jbpf_samples_total", COUNTER, "Samples of CPU time recorded in profiles.",
		counts->samples);
	put_family(text, "jbpf_event_samples_total", COUNTER,
		   "Samples recorded in profiles, by event; only those that are sampled.");
	for (int i = 0; i < EVENT_CNT; i++) {
		if (metrics->events & EVENT_BIT(i))
			put_sample(text, "jbpf_event_samples_total", "event",
				   event_name((enum event)i), metrics->event_samples[i]);
	}
	put_family(text, "jbpf_lost_total", COUNTER,
		   "Samples, stacks and notices lost, by reason.");
	for (int i = 0; i < WINDOW_LOSS_CNT; i++) {
		if (i != WINDOW_LOSS_OPTED_OUT)
			put_sample(text, "jbpf_lost_total", "reason",
				   window_loss_name((enum window_loss)i), metrics->lost[i]);
	}
	put_u64(text, "jbpf_opted_out_samples_total", COUNTER,
		"Samples left out, of processes that opted out of profiling.",
		metrics->lost[WINDOW_LOSS_OPTED_OUT]);
	put_u64(text, "jbpf_truncated_samples_total", COUNTER,
		"Samples whose stack does not reach its thread's first frame.",
		counts->truncated_samples);
	put_family(text, "jbpf_stack_ends_total", COUNTER,
		   "Samples whose stack does not reach its thread's first frame, by why.");
	for (int i = STACK_END_ROOT + 1; i < STACK_END_CNT; i++)
		put_sample(text, "jbpf_stack_ends_total", "reason",
			   stack_end_name((enum stack_end)i), counts->ends[i]);
	put_u64(text, "jbpf_jit_leaf_samples_total", COUNTER,
		"Samples in compiled code of which it could be told whether the caller was missing.",
		counts->jit_leaf_samples);
	put_u64(text, "jbpf_repaired_samples_total", COUNTER,
		"Samples whose missing caller was put back.", counts->repaired_samples);
	put_u64(text, "jbpf_unrepaired_samples_total", COUNTER,
		"Samples whose missing caller could not be put back.", counts->unrepaired_samples);
	put_u64(text, "jbpf_frames_total", COUNTER, "Frames of all recorded samples.",
		counts->frames);
	put_u64(text, "jbpf_unknown_frames_total", COUNTER, "Frames without a name.",
		counts->unknown_frames);
	put_u64(text, "jbpf_jit_frames_total", COUNTER, "Frames in compiled code of JITs.",
		counts->jit_frames);
	put_u64(text, "jbpf_unknown_jit_frames_total", COUNTER,
		"Frames in compiled code of JITs without a name.", counts->unknown_jit_frames);
	put_u64(text, "jbpf_ambiguous_frames_total", COUNTER,
		"Frames left without a name because their code was replaced meanwhile.",
		counts->ambiguous_frames);
	put_u64(text, "jbpf_inlined_frames_total", COUNTER, "Frames of inlined Java methods.",
		counts->inlined_frames);
	put_u64(text, "jbpf_interpreted_frames_total", COUNTER,
		"Frames of interpreted Java methods.", counts->interpreted_frames);
}

static void put_end_histogram(struct strbuf *text, const struct metrics *metrics)
{
	const char *name = "jbpf_window_end_duration_seconds";
	uint64_t sum = 0;

	put_family(text, name, "histogram",
		   "Time to end a window: drain, name, write. Sampling goes on meanwhile.");
	for (size_t i = 0; i < METRICS_BUCKET_CNT; i++) {
		sum += metrics->end_buckets[i];
		if (i < ARRAY_SIZE(bucket_bounds_ms))
			strbuf_printf(text,
				      "%s_bucket{le=\"%" PRIu64 ".%02" PRIu64 "\"} %" PRIu64 "\n",
				      name, bucket_bounds_ms[i] / 1000,
				      bucket_bounds_ms[i] % 1000 / 10, sum);
		else
			strbuf_printf(text, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, sum);
	}
	strbuf_printf(text, "%s_sum %" PRIu64 ".%09" PRIu64 "\n%s_count %" PRIu64 "\n", name,
		      (uint64_t)(metrics->end_ns_sum / CLOCK_NS_PER_S),
		      (uint64_t)(metrics->end_ns_sum % CLOCK_NS_PER_S), name, sum);
}

static void put_windows(struct strbuf *text, const struct metrics *metrics)
{
	put_u64(text, "jbpf_windows_written_total", COUNTER, "Windows written to the store.",
		metrics->windows_written);
	put_u64(text, "jbpf_windows_failed_total", COUNTER,
		"Windows that could not be written; their samples are lost.",
		metrics->windows_failed);
	put_end_histogram(text, metrics);
	put_seconds(text, "jbpf_window_last_end_duration_seconds", GAUGE,
		    "Time to end the last window.", metrics->last_end_ns);
	put_seconds(text, "jbpf_window_last_timestamp_seconds", GAUGE,
		    "End of the last window that was written; 0 before the first one.",
		    metrics->last_window_unix_ns);
	put_u64(text, "jbpf_window_streams", GAUGE, "Processes with samples in the last window.",
		metrics->streams);
	put_u64(text, "jbpf_window_containers", GAUGE,
		"Containers with samples in the last window.", metrics->containers);
	put_states(text, "jbpf_window_jvms",
		   "JVMs in the last window, by where names of their compiled code come from.",
		   "source", metrics->jvm_sources);
	put_states(text, "jbpf_window_jvms_frame_pointer",
		   "JVMs in the last window, by their flag PreserveFramePointer.", "state",
		   metrics->jvm_frame_pointers);
	put_states(text, "jbpf_window_jvms_attach",
		   "JVMs in the last window that were asked for a map, by what came of it last.",
		   "outcome", metrics->jvm_attaches);
}

static void put_store(struct strbuf *text, const struct metrics *metrics)
{
	put_u64(text, "jbpf_store_bytes", GAUGE, "Size of the store's files.",
		metrics->store_bytes);
	put_u64(text, "jbpf_store_files", GAUGE, "Files of the store.", metrics->store_files);
	put_u64(text, "jbpf_store_oldest_timestamp_seconds", GAUGE,
		"Begin of the oldest hour in the store; 0 when it is empty.",
		metrics->store_oldest_unix_s);
	put_u64(text, "jbpf_store_clock_off", GAUGE,
		"1 while nothing is deleted by age: the clock is more than a day off what is stored.",
		metrics->store_clock_off);
	put_u64(text, "jbpf_store_reserve_bytes", GAUGE, "Room that is put by for a full disk.",
		metrics->store_reserve_bytes);
	put_u64(text, "jbpf_store_reserve_target_bytes", GAUGE,
		"Room that is to be put by for a full disk.", metrics->store_reserve_target_bytes);
	put_u64(text, "jbpf_compactions_done_total", COUNTER, "Runs that merged closed hours.",
		metrics->compactions_done);
	put_u64(text, "jbpf_compactions_failed_total", COUNTER,
		"Runs that could not merge closed hours.", metrics->compactions_failed);
	put_seconds(text, "jbpf_compaction_last_timestamp_seconds", GAUGE,
		    "When the last such run was done; 0 = none yet.", metrics->compaction_unix_ns);
}

/* All 0 where off-cpu is not sampled. */
static void put_passes(struct strbuf *text, const struct pass_facts *passes)
{
	put_u64(text, "jbpf_off_cpu_threads", GAUGE,
		"Threads that the last pass over waiting threads met.", passes->threads);
	put_u64(text, "jbpf_off_cpu_passes", GAUGE,
		"Passes over waiting threads in the last window.", passes->passes);
	put_u64(text, "jbpf_off_cpu_cpu_ppm", GAUGE,
		"CPU time of these passes in the last window, in millionths of a CPU.",
		passes->cpu_ppm);
	put_u64(text, "jbpf_off_cpu_put_off_samples", GAUGE,
		"Samples of the last window that waited for a walk of their stacks.",
		passes->put_off);
	put_u64(text, "jbpf_off_cpu_restarts_total", COUNTER,
		"Times the process of these passes was started again, because it hung or died.",
		passes->restarts);
	put_u64(text, "jbpf_off_cpu_unread_processes", GAUGE,
		"Processes whose stacks are not read, because a pass hung on their memory.",
		passes->unread);
}

static void put_run_delay(struct strbuf *text, uint64_t run_delay_ns)
{
	put_seconds(text, "jbpf_run_delay_seconds_total", COUNTER,
		    "Time that threads were ready and had no CPU.", run_delay_ns);
}

static void put_memory(struct strbuf *text, const struct metrics *metrics)
{
	put_u64(text, "jbpf_processes", GAUGE, "Processes that are kept in mind.",
		metrics->processes);
	put_u64(text, "jbpf_symbol_bytes", GAUGE, "Memory of symbol tables and names.",
		metrics->symbol_bytes);
	put_u64(text, "jbpf_bpf_map_bytes", GAUGE, "Kernel memory of BPF maps and ring buffers.",
		metrics->map_bytes);
	put_u64(text, "jbpf_stack_bytes", GAUGE, "Memory of stacks that were not named yet.",
		metrics->stack_bytes);
	put_u64(text, "jbpf_unwind_tables", GAUGE, "Files whose unwind tables are in the kernel.",
		metrics->unwind.table_cnt);
	put_u64(text, "jbpf_unwind_bytes", GAUGE,
		"Kernel memory of these tables, part of that of BPF maps.", metrics->unwind.bytes);
	put_u64(text, "jbpf_unwind_built_total", COUNTER, "Unwind tables that were made of files.",
		metrics->unwind_built);
	put_u64(text, "jbpf_leafs_proved_total", COUNTER,
		"Rules for the callers of interrupted JIT code that were proved from the code.",
		metrics->unwind.leafs_proved);
	put_u64(text, "jbpf_leafs_refuted_total", COUNTER,
		"Samples cut behind their leaf, as the caller that was found was none.",
		metrics->unwind.leafs_refuted);
	put_u64(text, "jbpf_unwind_evicted_total", COUNTER,
		"Unwind tables that had to go for want of room.", metrics->unwind.evicted);
	put_family(
		text, "jbpf_unwind_refused_total", COUNTER,
		"Times a file had unwind information but got no table: damaged, too large, or no room.");
	for (int i = UNWIND_WHY_NO_INFORMATION + 1; i < UNWIND_WHY_CNT; i++)
		put_sample(text, "jbpf_unwind_refused_total", "reason",
			   unwind_why_name((enum unwind_why)i), metrics->unwind.refused[i]);
	put_u64(text, "jbpf_unsampled_cpus", GAUGE,
		"CPUs that came online later and could not be sampled.", metrics->unsampled_cpus);
	put_u64(text, "jbpf_parser_failures_total", COUNTER,
		"Files of containers that could not be parsed.", metrics->parser_failures);
	put_u64(text, "jbpf_parser_restarts_total", COUNTER,
		"Times the process that parses them was started again.", metrics->parser_restarts);
	put_passes(text, &metrics->passes);
	put_run_delay(text, metrics->counts.run_delay_ns);
	put_u64(text, "jbpf_namer_restarts_total", COUNTER,
		"Times the process that names was replaced, because it hung or died.",
		metrics->namer_restarts);
	put_seconds(text, "jbpf_naming_silent_seconds", GAUGE,
		    "How long naming had not gone on when the last window was handed out.",
		    metrics->naming_silent_ns);
	put_u64(text, "jbpf_bans_total", COUNTER,
		"Containers and processes that were left alone for a while, because it hung or died over them.",
		metrics->bans);
	put_u64(text, "jbpf_metrics_restarts_total", COUNTER,
		"Times the process that serves these metrics was started again.",
		metrics->server_restarts);
}

static void put_process(struct strbuf *text, const struct metrics *metrics)
{
	put_seconds(
		text, "process_cpu_seconds_total", COUNTER,
		"CPU time of the daemon and of the processes that name and parse for it, in user and kernel mode.",
		metrics->cpu_ns);
	put_seconds(text, "jbpf_children_cpu_seconds_total", COUNTER,
		    "CPU time of its children that have ended: merging hours, asking JVMs.",
		    metrics->children_cpu_ns);
	put_u64(text, "process_resident_memory_bytes", GAUGE,
		"Resident memory of the daemon and of the process that names for it.",
		metrics->resident_bytes);
	put_u64(text, "process_open_fds", GAUGE, "Open file descriptors of the daemon.",
		metrics->open_fds);
	put_seconds(text, "process_start_time_seconds", GAUGE, "When the daemon was started.",
		    metrics->start_unix_ns);
}

static void put_config(struct strbuf *text, const struct metrics *metrics)
{
	put_family(text, "jbpf_build_info", GAUGE, "1; the version is in the label.");
	put_sample(text, "jbpf_build_info", "version", metrics->version, 1);
	put_u64(text, "jbpf_config_frequency_hertz", GAUGE, "Option --frequency.",
		metrics->frequency_hz);
	put_u64(text, "jbpf_config_page_fault_period", GAUGE, "Option --page-fault-period.",
		metrics->page_fault_period);
	put_u64(text, "jbpf_config_off_cpu_rate_hertz", GAUGE, "Option --off-cpu-rate.",
		metrics->off_cpu_rate);
	put_seconds(text, "jbpf_config_window_seconds", GAUGE, "Option --window.",
		    metrics->window_ns);
	put_seconds(text, "jbpf_config_keep_age_seconds", GAUGE, "Option --keep-age; 0 = for ever.",
		    metrics->keep_age_ns);
	put_u64(text, "jbpf_config_keep_bytes", GAUGE, "Option --keep-bytes; 0 = no limit.",
		metrics->keep_bytes);
}

void metrics_note_end(struct metrics *metrics, uint64_t took_ns)
{
	size_t bucket = 0;

	while (bucket < ARRAY_SIZE(bucket_bounds_ms) &&
	       took_ns > bucket_bounds_ms[bucket] * CLOCK_NS_PER_MS)
		bucket++;
	metrics->end_buckets[bucket]++;
	metrics->end_ns_sum += took_ns;
	metrics->last_end_ns = took_ns;
}

int metrics_render(const struct metrics *metrics, struct strbuf *out)
{
	put_samples(out, metrics);
	put_windows(out, metrics);
	put_store(out, metrics);
	put_memory(out, metrics);
	put_process(out, metrics);
	put_config(out, metrics);
	return strbuf_error(out);
}
