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

/* The first error sticks. */
struct page_text {
	struct strbuf *out;
	int err;
};

static void put_family(struct page_text *text, const char *name, const char *type, const char *help)
{
	if (!text->err)
		text->err = strbuf_printf(text->out, "# HELP %s %s\n# TYPE %s %s\n", name, help,
					  name, type);
}

static void put_u64(struct page_text *text, const char *name, const char *type, const char *help,
		    uint64_t value)
{
	put_family(text, name, type, help);
	if (!text->err)
		text->err = strbuf_printf(text->out, "%s %" PRIu64 "\n", name, value);
}

static void put_seconds(struct page_text *text, const char *name, const char *type,
			const char *help, uint64_t ns)
{
	put_family(text, name, type, help);
	if (!text->err)
		text->err = strbuf_printf(text->out, "%s %" PRIu64 ".%09" PRIu64 "\n", name,
					  (uint64_t)(ns / CLOCK_NS_PER_S),
					  (uint64_t)(ns % CLOCK_NS_PER_S));
}

/* Of the exposition format: backslash, quote and newline are escaped in a label's value. */
static int append_escaped(struct strbuf *out, const char *value)
{
	int err = 0;

	for (; *value && !err; value++) {
		if (*value == '\n')
			err = strbuf_puts(out, "\\n");
		else if (*value == '\\' || *value == '"')
			err = strbuf_printf(out, "\\%c", *value);
		else
			err = strbuf_putc(out, *value);
	}
	return err;
}

static void put_sample(struct page_text *text, const char *name, const char *label,
		       const char *value, uint64_t number)
{
	if (!text->err)
		text->err = strbuf_printf(text->out, "%s{%s=\"", name, label);
	if (!text->err)
		text->err = append_escaped(text->out, value);
	if (!text->err)
		text->err = strbuf_printf(text->out, "\"} %" PRIu64 "\n", number);
}

static void put_states(struct page_text *text, const char *name, const char *help,
		       const char *label, const struct metrics_state *states)
{
	put_family(text, name, "gauge", help);
	for (size_t i = 0; i < METRICS_STATES_MAX; i++) {
		if (states[i].name)
			put_sample(text, name, label, states[i].name, states[i].cnt);
	}
}

#define COUNTER "counter"
#define GAUGE	"gauge"

static void put_samples(struct page_text *text, const struct metrics *metrics)
{
	const struct window_counts *counts = &metrics->counts;

	put_u64(text, "jbpf_samples_total", COUNTER, "Samples recorded in profiles.",
		counts->samples);
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

static void put_end_histogram(struct page_text *text, const struct metrics *metrics)
{
	const char *name = "jbpf_window_end_duration_seconds";
	uint64_t sum = 0;

	put_family(text, name, "histogram",
		   "Time to end a window: drain, name, write. Sampling goes on meanwhile.");
	for (size_t i = 0; i < METRICS_BUCKET_CNT && !text->err; i++) {
		sum += metrics->end_buckets[i];
		if (i < ARRAY_SIZE(bucket_bounds_ms))
			text->err = strbuf_printf(text->out,
						  "%s_bucket{le=\"%" PRIu64 ".%02" PRIu64
						  "\"} %" PRIu64 "\n",
						  name, bucket_bounds_ms[i] / 1000,
						  bucket_bounds_ms[i] % 1000 / 10, sum);
		else
			text->err = strbuf_printf(text->out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n",
						  name, sum);
	}
	if (!text->err)
		text->err = strbuf_printf(
			text->out, "%s_sum %" PRIu64 ".%09" PRIu64 "\n%s_count %" PRIu64 "\n", name,
			(uint64_t)(metrics->end_ns_sum / CLOCK_NS_PER_S),
			(uint64_t)(metrics->end_ns_sum % CLOCK_NS_PER_S), name, sum);
}

static void put_windows(struct page_text *text, const struct metrics *metrics)
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

static void put_store(struct page_text *text, const struct metrics *metrics)
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

static void put_memory(struct page_text *text, const struct metrics *metrics)
{
	put_u64(text, "jbpf_processes", GAUGE, "Processes that are kept in mind.",
		metrics->processes);
	put_u64(text, "jbpf_symbol_bytes", GAUGE, "Memory of symbol tables and names.",
		metrics->symbol_bytes);
	put_u64(text, "jbpf_bpf_map_bytes", GAUGE, "Kernel memory of BPF maps and ring buffers.",
		metrics->map_bytes);
	put_u64(text, "jbpf_stack_bytes", GAUGE, "Memory of stacks that were not named yet.",
		metrics->stack_bytes);
	put_u64(text, "jbpf_unsampled_cpus", GAUGE,
		"CPUs that came online later and could not be sampled.", metrics->unsampled_cpus);
	put_u64(text, "jbpf_parser_failures_total", COUNTER,
		"Files of containers that could not be parsed.", metrics->parser_failures);
	put_u64(text, "jbpf_parser_restarts_total", COUNTER,
		"Times the process that parses them was started again.", metrics->parser_restarts);
	put_u64(text, "jbpf_namer_restarts_total", COUNTER,
		"Times the process that names was replaced, because it hung or died.",
		metrics->namer_restarts);
	put_u64(text, "jbpf_bans_total", COUNTER,
		"Containers and processes that were left alone for a while, because it hung or died over them.",
		metrics->bans);
	put_u64(text, "jbpf_metrics_restarts_total", COUNTER,
		"Times the process that serves these metrics was started again.",
		metrics->server_restarts);
}

static void put_process(struct page_text *text, const struct metrics *metrics)
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

static void put_config(struct page_text *text, const struct metrics *metrics)
{
	put_family(text, "jbpf_build_info", GAUGE, "1; the version is in the label.");
	put_sample(text, "jbpf_build_info", "version", metrics->version, 1);
	put_u64(text, "jbpf_config_frequency_hertz", GAUGE, "Option --frequency.",
		metrics->frequency_hz);
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
	struct page_text text = { .out = out };

	put_samples(&text, metrics);
	put_windows(&text, metrics);
	put_store(&text, metrics);
	put_memory(&text, metrics);
	put_process(&text, metrics);
	put_config(&text, metrics);
	return text.err;
}
