/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of struct output_info as text, the same words in every format. */
#ifndef JBPF_OUTPUT_INFO_H
#define JBPF_OUTPUT_INFO_H

#include <stdint.h>

#include "user/util/attributes.h"
#include "user/model/window.h"
#include "user/output/json_writer.h"
#include "user/output/output.h"

/* "2026-11-21T13:00:00Z". 0 or -ENOMEM. */
__must_check int info_append_time(struct strbuf *out, uint64_t unix_ns);
/* The same as a member of a JSON object. */
void info_json_time(struct json_writer *json, const char *key, uint64_t unix_ns);
/* "2026-11-21T13:00:00Z to 2026-11-21T13:10:00Z (10m)"; "" when no time is known. */
__must_check int info_append_range(struct strbuf *out, const struct output_info *info);
/* "12345 samples, 124.70 CPU seconds at 99 Hz, 3 streams" */
__must_check int info_append_samples(struct strbuf *out, const struct output_info *info,
				     uint64_t samples);
/* "unknown frames 0.42 %, truncated stacks 0.00 %, lost samples 0" */
__must_check int info_append_losses(struct strbuf *out, const struct output_info *info,
				    uint64_t samples);

/*
 * What stands above a table for terminals: title, subtitle, range, samples and losses, and an empty
 * line. 0 or -ENOMEM.
 */
__must_check int info_append_header(struct strbuf *out, const struct output_info *info,
				    uint64_t samples);

/* Adds what a stream's window counted besides its samples. */
void info_add_window(struct output_info *info, const struct window *window);

/* part / whole in percent; 0 when the whole is. */
double info_percent(uint64_t part, uint64_t whole);

#endif
