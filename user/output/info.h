/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of struct output_info as text, the same words in every format. */
#ifndef JBPF_OUTPUT_INFO_H
#define JBPF_OUTPUT_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "user/model/window.h"
#include "user/output/json_writer.h"
#include "user/output/output.h"

/* Appends "2026-11-21T13:00:00Z". Errors of this and the others are the buffer's. */
void info_append_time(struct strbuf *out, uint64_t unix_ns);
/*
 * For the person who asked: "2026-11-21 14:00:00 CET", local, which parse_time_ns() reads; where the
 * zone is UTC, as above.
 */
void info_append_local_time(struct strbuf *out, uint64_t unix_ns);
/* info_append_time() as a member of a JSON object. */
void info_json_time(struct json_writer *json, const char *key, uint64_t unix_ns);
/* The members "since" and "until"; with fractions of a second in a range of less than ten. */
void info_json_range(struct json_writer *json, const struct output_info *info);
/*
 * "2026-11-21 14:00:00 CET to 2026-11-21 14:10:00 CET (10m)", or "(10m, of which 70s were recorded)"; "" when
 * no time is known. Ranges of less than ten seconds have fractions: "... 14:00:00.24 CET to ... (60ms)".
 */
void info_append_range(struct strbuf *out, const struct output_info *info);
/* Is clearly less recorded than was asked for? info_append_range() says how much. */
bool info_has_gap(const struct output_info *info);
/* CPU seconds per second of recorded time; negative when that is not known. */
double info_cores(const struct output_info *info, uint64_t samples);
/* "12345 samples"; of what is measured, "1.234 seconds of waiting". */
void info_append_amount(struct strbuf *out, const struct output_info *info, uint64_t samples);
/* Samples that are left out, as their threads wait for work. */
uint64_t info_hidden_samples(const struct output_info *info);
/* "22.50 seconds of threads that wait for work (idle threads 15.00, pool queues 7.50)" */
void info_append_hidden(struct strbuf *out, const struct output_info *info);
/* "12345 samples, 124.70 CPU seconds at 99 Hz, 0.21 cores, 3 processes" */
void info_append_samples(struct strbuf *out, const struct output_info *info, uint64_t samples);
/* "unknown frames 0.42 %, truncated stacks 0.00 %, lost samples 3 (whole host)" */
void info_append_losses(struct strbuf *out, const struct output_info *info, uint64_t samples);

/*
 * "stacks whole 99.6 %; the rest: no_rule 0.3 %, fault 0.1 %", the largest first; "stacks whole
 * 100.0 %" when all are.
 */
void info_append_ends(struct strbuf *out, const struct window_counts *counts);
/* The members from "frames" to "unrepaired_samples". */
void info_json_counts(struct json_writer *json, const struct window_counts *counts);
/* The member "truncated_by": samples by the reasons that there are. */
void info_json_ends(struct json_writer *json, const struct window_counts *counts);

/*
 * What stands above a table for terminals: title, subtitle, local times, samples and losses, and an
 * empty line.
 */
void info_append_header(struct strbuf *out, const struct output_info *info, uint64_t samples);

/*
 * Takes the thread off the text of a stack, with info->has_threads: its name, NUL-terminated, or
 * NULL when there is none, or it is not known.
 */
const char *info_take_thread(const struct output_info *info, struct profile_stack *stack);
/* From stack `index` on: where the next one begins that is not the same of another thread. */
size_t info_next_stack(const struct output_info *info, const struct profile *profile, size_t index,
		       struct profile_stack *sum);

/* Cut stacks in percent of all of the windows, also where not all of these are among `samples`. */
double info_truncated_percent(const struct output_info *info, uint64_t samples);

/* Adds what a stream's window counted besides its samples. info->event says which view is wanted. */
void info_add_window(struct output_info *info, const struct window *window);

/*
 * What samples stand for, where it is not CPU time: info->event's own number; 0 when that is not
 * known, or it is CPU time.
 */
uint64_t info_events(const struct output_info *info, uint64_t samples);

/* Bytes that one event of `event` is at least about: page faults bring a page. 0: it is not about memory. */
uint64_t info_event_bytes(enum event event);

/* What one sample stands for: ns of time, or events; 0 when that is not known. */
uint64_t info_period(const struct output_info *info);

/* Columns for a name in a line that has `used` others, at least some; 0 = as many as it needs. */
size_t info_name_columns(const struct output_info *info, size_t used);

/* What makes a plural: "s", or "" of one. */
const char *info_plural(uint64_t cnt);

/* part / whole in percent; 0 when the whole is. */
double info_percent(uint64_t part, uint64_t whole);

/* The tier that ran most; FRAME_KIND_NATIVE: none did. */
enum frame_kind info_main_tier(const uint64_t tiers[static FRAME_KIND_CNT]);
/*
 * The tiers of a Java method, by enum frame_kind, behind its name: "  [jit 93 %, inlined 7 %]", or
 * "  [jit]" when it is the only one.
 */
void info_append_tiers(struct strbuf *out, const uint64_t tiers[static FRAME_KIND_CNT],
		       uint64_t whole);

#endif
