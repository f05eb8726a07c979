// SPDX-License-Identifier: Apache-2.0
/*
 * A comparison as one JSON object; DIFF-JSON.md describes it. Every number of the result is there,
 * under the name it has in diff.h; what is not known is null. Rows stand one per line.
 *
 * Places in the call tree are many and most say nothing: only those are written that were tested or
 * that a change comes from, and what leads to them.
 */
#include "user/output/diff/diff_output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/output/colors.h"
#include "user/output/diff/diff_sentence.h"
#include "user/output/info.h"
#include "user/output/json_writer.h"
#include "user/util/cleanup.h"

#define DIFF_JSON_VERSION 1

static const char *const kind_names[DIFF_KIND_CNT] = {
	[DIFF_KIND_NONE] = "none",
	[DIFF_KIND_METHOD_SELF] = "method_self",
	[DIFF_KIND_METHOD_TOTAL] = "method_total",
	[DIFF_KIND_CLASS_SELF] = "class_self",
	[DIFF_KIND_CLASS_TOTAL] = "class_total",
	[DIFF_KIND_PACKAGE_SELF] = "package_self",
	[DIFF_KIND_PACKAGE_TOTAL] = "package_total",
	[DIFF_KIND_PATH] = "path",
};

static void member_link(struct json_writer *json, const char *key, uint32_t item)
{
	json_writer_key(json, key);
	if (item == DIFF_NONE)
		json_writer_null(json);
	else
		json_writer_u64(json, item);
}

static void member_interval(struct json_writer *json, const char *key,
			    const struct diff_interval *interval)
{
	json_writer_member_begin(json, key, '{');
	json_writer_member_number(json, "value", interval->value);
	json_writer_member_number(json, "low", interval->low);
	json_writer_member_number(json, "high", interval->high);
	json_writer_end(json, '}');
}

static void member_time(struct json_writer *json, const char *key, uint64_t unix_ns)
{
	if (unix_ns)
		info_json_time(json, key, unix_ns);
	else
		json_writer_member_string(json, key, NULL);
}

static void write_side(struct json_writer *json, const char *key,
		       const struct diff_output_side *side)
{
	const struct window_counts *counts = &side->counts;

	json_writer_newline(json);
	json_writer_member_begin(json, key, '{');
	json_writer_member_string(json, "name", side->name);
	member_time(json, "since", side->since_unix_ns);
	member_time(json, "until", side->until_unix_ns);
	json_writer_member_u64(json, "streams", side->stream_cnt);
	json_writer_member_string(json, "jvm_version", side->jvm_version);
	json_writer_member_string(json, "image", side->image);
	json_writer_member_u64(json, "samples", counts->samples);
	info_json_counts(json, counts);
	json_writer_member_u64(json, "lost_samples", side->lost_samples);
	json_writer_end(json, '}');
}

static void write_options(struct json_writer *json, const struct diff_options *options)
{
	json_writer_newline(json);
	json_writer_member_begin(json, "options", '{');
	json_writer_member_number(json, "relevant_points", options->relevant_points);
	json_writer_member_number(json, "relevant_relative", options->relevant_relative);
	json_writer_member_number(json, "q_shown", options->q_shown);
	json_writer_member_number(json, "q_alarm", options->q_alarm);
	json_writer_member_number(json, "testable_relative", options->testable_relative);
	json_writer_member_number(json, "prior_df", options->prior_df);
	json_writer_member_number(json, "lost_max", options->lost_max);
	json_writer_member_number(json, "gap_max", options->gap_max);
	json_writer_member_number(json, "unknown_max", options->unknown_max);
	json_writer_member_u64(json, "warm_up_s", options->warm_up_s);
	json_writer_member_u64(json, "blocks_min", options->blocks_min);
	json_writer_member_u64(json, "history_min", options->history_min);
	json_writer_member_u64(json, "scale_samples_min", options->scale_samples_min);
	json_writer_member_u64(json, "near_s", options->near_s);
	json_writer_member_bool(json, "alarm_without_history", options->alarm_without_history);
	json_writer_end(json, '}');
}

static void write_gates(struct json_writer *json, const struct diff_summary *summary)
{
	json_writer_newline(json);
	json_writer_member_begin(json, "gates", '[');
	for (int i = 0; i < DIFF_GATE_CNT; i++) {
		const struct diff_gate_result *gate = &summary->gates[i];

		json_writer_newline(json);
		json_writer_begin(json, '{');
		json_writer_member_string(json, "name", diff_gate_name((enum diff_gate)i));
		json_writer_member_bool(json, "passed", gate->passed);
		json_writer_member_number(json, "before", gate->a);
		json_writer_member_number(json, "after", gate->b);
		json_writer_member_number(json, "limit", gate->limit);
		json_writer_end(json, '}');
	}
	json_writer_end(json, ']');
}

static void write_families(struct json_writer *json, const struct diff_summary *summary)
{
	json_writer_newline(json);
	json_writer_member_begin(json, "families", '[');
	for (int kind = DIFF_KIND_NONE + 1; kind < DIFF_KIND_CNT; kind++) {
		const struct diff_family *family = &summary->families[kind];

		json_writer_newline(json);
		json_writer_begin(json, '{');
		json_writer_member_string(json, "kind", kind_names[kind]);
		json_writer_member_u64(json, "items", family->item_cnt);
		json_writer_member_u64(json, "tested", family->tested_cnt);
		json_writer_member_u64(json, "found", family->found_cnt);
		json_writer_member_u64(json, "alarms", family->alarm_cnt);
		json_writer_member_number(json, "p_critical", family->p_critical);
		json_writer_member_number(json, "between", family->between);
		json_writer_member_number(json, "between_df", family->between_df);
		json_writer_member_number(json, "empirical_scale", family->empirical_scale);
		json_writer_end(json, '}');
	}
	json_writer_end(json, ']');
}

/* Members of version 1 that readers may expect; work is not counted. */
static void write_no_work(struct json_writer *json)
{
	json_writer_key(json, "work_before");
	json_writer_null(json);
	json_writer_key(json, "work_after");
	json_writer_null(json);
}

static void write_summary(struct json_writer *json, const struct diff_summary *at)
{
	static const char *const calibrations[] = { "none", "pair" };
	static const char *const histories[] = {
		[DIFF_HISTORY_DAYS] = "history",
		[DIFF_HISTORY_PAIRS] = "history",
		[DIFF_HISTORY_HOSTS] = "hosts",
		[DIFF_HISTORY_REPLICAS] = "replicas",
	};

	json_writer_newline(json);
	json_writer_member_begin(json, "summary", '{');
	json_writer_member_string(
		json, "mode", at->mode == DIFF_MODE_STATISTICAL ? "statistical" : "descriptive");
	json_writer_member_string(json, "calibration",
				  at->calibration == DIFF_CALIBRATION_HISTORY ?
					  histories[at->history_kind] :
					  calibrations[at->calibration]);
	json_writer_member_u64(json, "history_pairs", at->history_pairs);
	json_writer_member_bool(json, "gates_passed", at->gates_passed);
	json_writer_member_bool(json, "is_paired", at->is_paired);
	json_writer_member_u64(json, "units", at->cluster_cnt);
	json_writer_member_u64(json, "blocks_before", at->blocks_a);
	json_writer_member_u64(json, "blocks_after", at->blocks_b);
	json_writer_member_u64(json, "warm_up_before", at->warm_up_a);
	json_writer_member_u64(json, "warm_up_after", at->warm_up_b);
	json_writer_member_u64(json, "unpaired_before", at->unpaired_a);
	json_writer_member_u64(json, "unpaired_after", at->unpaired_b);
	json_writer_member_number(json, "days_before", at->days_a);
	json_writer_member_number(json, "days_after", at->days_b);
	json_writer_member_number(json, "samples_before", at->samples_a);
	json_writer_member_number(json, "samples_after", at->samples_b);
	json_writer_member_number(json, "cores_before", at->cores_a);
	json_writer_member_number(json, "cores_after", at->cores_b);
	write_no_work(json);
	member_interval(json, "load", &at->load);
	member_interval(json, "composition", &at->composition);
	member_interval(json, "scale", &at->scale);
	json_writer_member_u64(json, "scale_methods", at->scale_methods);
	json_writer_member_u64(json, "alarms", at->alarm_cnt);
	write_gates(json, at);
	write_families(json, at);
	json_writer_end(json, '}');
}

static void write_numbers(struct json_writer *json, const struct diff_row *row)
{
	json_writer_member_string(json, "verdict", diff_verdict_name(row->verdict));
	json_writer_member_bool(json, "is_alarm", row->is_alarm);
	json_writer_member_bool(json, "is_tested", row->is_tested);
	json_writer_member_u64(json, "samples_before", row->samples_a);
	json_writer_member_u64(json, "samples_after", row->samples_b);
	json_writer_member_number(json, "share_before", row->share_a);
	json_writer_member_number(json, "share_after", row->share_b);
	json_writer_member_number(json, "cores_before", row->cores_a);
	json_writer_member_number(json, "cores_after", row->cores_b);
	write_no_work(json);
	member_interval(json, "change", &row->change);
	json_writer_member_number(json, "relative", diff_relative(row->change.value));
	member_interval(json, "points", &row->points);
	json_writer_member_number(json, "error", row->error);
	json_writer_member_number(json, "error_within", row->error_within);
	json_writer_member_number(json, "df", row->df);
	json_writer_member_number(json, "relevant", row->relevant);
	json_writer_member_number(json, "p_any", row->p_any);
	json_writer_member_number(json, "p", row->p);
	json_writer_member_number(json, "q", row->q);
	json_writer_member_number(json, "detectable", row->detectable);
	member_link(json, "moved_with", row->moved_with);
	member_link(json, "origin", row->origin);
}

static void write_row(struct json_writer *json, const struct diff_output *diff,
		      const struct diff_item *items, uint32_t item)
{
	struct diff_catalog_name name = diff_catalog__name(diff->catalog, item);

	json_writer_newline(json);
	json_writer_begin(json, '{');
	json_writer_member_u64(json, "item", item);
	json_writer_member_string(json, "kind", kind_names[items[item].kind]);
	json_writer_key(json, "name");
	json_writer_string_n(json, name.text, name.len);
	json_writer_member_string(json, "frame_kind", color_kind((enum tree_kind)name.kind)->key);
	member_link(json, "group", items[item].group);
	member_link(json, "method", items[item].method);
	member_link(json, "parent", items[item].parent);
	write_numbers(json, &diff->result->rows[item]);
	json_writer_end(json, '}');
}

/* Tested places, origins, and all above them. A parent's number is below its child's. */
static bool *wanted_paths(const struct diff_output *diff, const struct diff_item *items,
			  uint32_t cnt)
{
	bool *wanted = calloc((size_t)cnt + 1, sizeof(*wanted));

	if (!wanted)
		return NULL;
	for (uint32_t i = 0; i < cnt; i++) {
		const struct diff_row *row = &diff->result->rows[i];

		if (items[i].kind == DIFF_KIND_PATH && row->is_tested)
			wanted[i] = true;
		if (row->origin < cnt)
			wanted[row->origin] = true;
		if (row->moved_with < cnt)
			wanted[row->moved_with] = true;
	}
	for (uint32_t i = cnt; i-- > 0;)
		if (wanted[i] && items[i].kind == DIFF_KIND_PATH && items[i].parent < i)
			wanted[items[i].parent] = true;
	return wanted;
}

static int write_rows(struct json_writer *json, const struct diff_output *diff)
{
	uint32_t cnt;
	const struct diff_item *items = diff_catalog__items(diff->catalog, &cnt);
	__cleanup_free bool *wanted = NULL;
	uint64_t left_out = 0;

	if (cnt > diff->result->row_cnt)
		cnt = diff->result->row_cnt;
	wanted = wanted_paths(diff, items, cnt);
	if (!wanted)
		return -ENOMEM;
	json_writer_newline(json);
	json_writer_member_begin(json, "rows", '[');
	for (uint32_t i = 0; i < cnt && !strbuf_error(json->out); i++) {
		if (items[i].kind == DIFF_KIND_NONE)
			continue;
		if (items[i].kind == DIFF_KIND_PATH && !wanted[i])
			left_out++;
		else
			write_row(json, diff, items, i);
	}
	json_writer_newline(json);
	json_writer_end(json, ']');
	json_writer_newline(json);
	json_writer_member_u64(json, "paths_left_out", left_out);
	return 0;
}

int diff_output_json(const struct diff_output *diff, struct strbuf *out)
{
	struct json_writer json = { .out = out };
	__cleanup_strbuf struct strbuf sentence = STRBUF_INIT;
	int err;

	json_writer_begin(&json, '{');
	json_writer_member_string(&json, "format", "jbpf-diff");
	json_writer_member_u64(&json, "version", DIFF_JSON_VERSION);
	json_writer_member_string(&json, "title", diff->title ? diff->title : "");
	diff_sentence(diff, &sentence);
	strbuf_fail(out, strbuf_error(&sentence));
	json_writer_member_string(&json, "sentence", strbuf_str(&sentence));
	json_writer_member_string(&json, "event", event_name(diff->event));
	json_writer_member_string(&json, "subtitle", diff->subtitle ? diff->subtitle : "");
	write_side(&json, "before", &diff->before);
	write_side(&json, "after", &diff->after);
	write_options(&json, diff->options);
	json_writer_newline(&json);
	json_writer_member_begin(&json, "notes", '[');
	for (size_t i = 0; i < diff->note_cnt; i++)
		json_writer_string(&json, diff->notes[i]);
	json_writer_end(&json, ']');
	write_summary(&json, &diff->result->summary);
	err = write_rows(&json, diff);
	json_writer_end(&json, '}');
	strbuf_putc(out, '\n');
	return err ? err : strbuf_error(out);
}
