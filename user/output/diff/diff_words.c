// SPDX-License-Identifier: Apache-2.0
/*
 * The words of a comparison. Shares are percent of all CPU samples here, changes are relative, and
 * whatever is not known is said to be unknown: a reader must be able to tell "nothing changed" from
 * "nothing could be seen".
 */
#include "user/output/diff/diff_words.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "user/output/info.h"
#include "user/util/cleanup.h"

#define NAMED_PERCENT_MAX 1000 /* larger changes are told as factors */
#define LARGE_SHARE	  0.01 /* methods whose sensitivity stands for a comparison's */
#define LARGE_SHARE_TEXT  "1 %"

bool diff_words_is_judged(const struct diff_output *diff)
{
	const struct diff_summary *summary = &diff->result->summary;

	return summary->mode == DIFF_MODE_STATISTICAL &&
	       summary->calibration != DIFF_CALIBRATION_NONE;
}

bool diff_words_is_found(enum diff_verdict verdict)
{
	return verdict != DIFF_VERDICT_UNRESOLVED && verdict != DIFF_VERDICT_SAME;
}

double diff_words_sure_points(const struct diff_row *row)
{
	if (row->points.low > 0)
		return row->points.low;
	return row->points.high < 0 ? -row->points.high : 0;
}

static int compare_down(double a, double b)
{
	return (a < b) - (a > b);
}

int diff_words_compare_rows(const void *left, const void *right, void *rows)
{
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;
	const struct diff_row *at_a = (const struct diff_row *)rows + a;
	const struct diff_row *at_b = (const struct diff_row *)rows + b;
	bool is_found_a = diff_words_is_found(at_a->verdict);
	bool is_found_b = diff_words_is_found(at_b->verdict);
	int order = 0;

	if (at_a->is_alarm != at_b->is_alarm)
		return at_a->is_alarm ? -1 : 1;
	if (is_found_a != is_found_b)
		return is_found_a ? -1 : 1;
	if (is_found_a)
		order = compare_down(diff_words_sure_points(at_a), diff_words_sure_points(at_b));
	if (!order)
		order = compare_down(fmax(at_a->share_a, at_a->share_b),
				     fmax(at_b->share_a, at_b->share_b));
	return order ? order : (a > b) - (a < b);
}

/* ---- numbers ---- */

static int append_relative(struct strbuf *out, double log_ratio)
{
	double percent = 100 * diff_relative(log_ratio);

	if (!isfinite(log_ratio))
		return strbuf_puts(out, isnan(log_ratio) ? "?" :
					log_ratio > 0	 ? "x inf" :
							   "-100 %");
	if (percent > NAMED_PERCENT_MAX)
		return strbuf_printf(out, "x %.3g", exp(log_ratio));
	return strbuf_printf(out, fabs(percent) < 0.1 ? "%+.2f %%" : "%+.1f %%", percent);
}

int diff_words_change(struct strbuf *out, const struct diff_row *row)
{
	if (row->verdict == DIFF_VERDICT_NEW || row->verdict == DIFF_VERDICT_GONE)
		return strbuf_puts(out, diff_verdict_name(row->verdict));
	if (!isfinite(row->change.value))
		return strbuf_putc(out, '-');
	return append_relative(out, row->change.value);
}

int diff_words_interval(struct strbuf *out, const struct diff_row *row)
{
	bool is_one_sided = row->verdict == DIFF_VERDICT_NEW || row->verdict == DIFF_VERDICT_GONE;
	const struct diff_interval *at = is_one_sided ? &row->points : &row->change;
	int err;

	if (!isfinite(at->low) || !isfinite(at->high))
		return strbuf_putc(out, '-');
	if (is_one_sided)
		return strbuf_printf(out, "%+.2f to %+.2f points", 100 * at->low, 100 * at->high);
	err = append_relative(out, at->low);
	if (!err)
		err = strbuf_puts(out, " to ");
	return err ? err : append_relative(out, at->high);
}

int diff_words_q(struct strbuf *out, const struct diff_row *row)
{
	if (isnan(row->q))
		return strbuf_putc(out, '-');
	if (row->q < 0.0001)
		return strbuf_puts(out, "<0.0001");
	return strbuf_printf(out, "%.4f", row->q);
}

int diff_words_detectable(struct strbuf *out, double detectable)
{
	if (isnan(detectable))
		return strbuf_putc(out, '-');
	if (detectable > NAMED_PERCENT_MAX / 100.0)
		return strbuf_printf(out, "> %d %%", NAMED_PERCENT_MAX);
	return strbuf_printf(out, ">= %.1f %%", 100 * detectable);
}

static int append_factor(struct strbuf *out, const struct diff_interval *log_ratio)
{
	int err = strbuf_printf(out, "%.2fx", exp(log_ratio->value));

	if (!err && isfinite(log_ratio->low) && isfinite(log_ratio->high))
		err = strbuf_printf(out, " (95 %%: %.2fx to %.2fx)", exp(log_ratio->low),
				    exp(log_ratio->high));
	return err;
}

static const char *plural(double cnt)
{
	return cnt == 1 ? "" : "s";
}

/* ---- lines of the header ---- */

struct header {
	const struct diff_output *diff;
	const struct diff_summary *summary;
	diff_words_line line;
	void *ctx;
	struct strbuf text; /* of the line being made */
};

static int header_emit(struct header *header, const char *label, bool is_warning)
{
	int err = header->line(header->ctx, label, strbuf_str(&header->text), is_warning);

	strbuf_clear(&header->text);
	return err;
}

static bool differ(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") != 0;
}

static int append_if(struct strbuf *out, bool is_wanted, const char *label, const char *text)
{
	if (!is_wanted)
		return 0;
	return strbuf_printf(out, ", %s %s", label, text && *text ? text : "not known");
}

static int append_quality(struct strbuf *out, const struct diff_output_side *side)
{
	const struct window_counts *counts = &side->counts;
	int err = 0;

	if (counts->frames)
		err = strbuf_printf(out, ", unknown frames %.2f %%",
				    info_percent(counts->unknown_frames, counts->frames));
	if (!err && counts->samples)
		err = strbuf_printf(out, ", truncated stacks %.2f %%",
				    info_percent(counts->truncated_samples, counts->samples));
	return err ? err : strbuf_printf(out, ", lost samples %" PRIu64, side->lost_samples);
}

/* "a day; 2026-...; 12345 samples, 1.04 cores, 3 streams, JVM 17, image x, unknown frames ..." */
static int header_side(struct header *header, const char *label,
		       const struct diff_output_side *side, double cores)
{
	const struct diff_output *diff = header->diff;
	struct strbuf *out = &header->text;
	const struct output_info range = { .since_unix_ns = side->since_unix_ns,
					   .until_unix_ns = side->until_unix_ns };
	int err = strbuf_puts(out, side->name ? side->name : "");

	if (!err && side->until_unix_ns) {
		if (out->len)
			err = strbuf_puts(out, ", ");
		if (!err)
			err = info_append_range(out, &range);
	}
	if (!err)
		err = strbuf_printf(out, "%s%" PRIu64 " sample%s", out->len ? ", " : "",
				    side->counts.samples, plural((double)side->counts.samples));
	if (!err && isfinite(cores))
		err = strbuf_printf(out, ", %.3f cores", cores);
	if (!err && side->stream_cnt)
		err = strbuf_printf(out, ", %zu stream%s", side->stream_cnt,
				    plural((double)side->stream_cnt));
	if (!err)
		err = append_if(out, differ(diff->before.jvm_version, diff->after.jvm_version),
				"JVM", side->jvm_version);
	if (!err)
		err = append_if(out, differ(diff->before.image, diff->after.image), "image",
				side->image);
	if (!err)
		err = append_quality(out, side);
	return err ? err : header_emit(header, label, false);
}

static int append_percents(struct strbuf *out, const struct diff_gate_result *gate)
{
	return strbuf_printf(out, "%.2f %% before, %.2f %% after", 100 * gate->a, 100 * gate->b);
}

static int append_hz(struct strbuf *out, double hz)
{
	return isnan(hz) ? strbuf_puts(out, "not known") : strbuf_printf(out, "%.0f Hz", hz);
}

/* A gate that failed: what it found, and what it wanted. */
static int append_gate(struct strbuf *out, enum diff_gate id, const struct diff_gate_result *gate)
{
	int err;

	switch (id) {
	case DIFF_GATE_EVENT:
		return strbuf_puts(out, "the sides count different kinds of events");
	case DIFF_GATE_BLOCKS:
		return strbuf_printf(out,
				     "too few blocks of time to judge: %.0f before, %.0f after, "
				     "needed are %.0f on each side",
				     gate->a, gate->b, gate->limit);
	case DIFF_GATE_FREQUENCY:
		err = strbuf_puts(out, "sampling frequency: ");
		if (!err)
			err = append_hz(out, gate->a);
		if (!err)
			err = strbuf_puts(out, " before, ");
		if (!err)
			err = append_hz(out, gate->b);
		return err ? err : strbuf_puts(out, " after");
	case DIFF_GATE_LOST_A:
	case DIFF_GATE_LOST_B:
		err = strbuf_puts(out, "samples lost: ");
		if (!err)
			err = append_percents(out, gate);
		return err ? err : strbuf_printf(out, ", at most %.2g %%", 100 * gate->limit);
	case DIFF_GATE_UNKNOWN:
	case DIFF_GATE_TRUNCATED:
		err = strbuf_puts(out, id == DIFF_GATE_UNKNOWN ? "frames without a name: " :
								 "truncated stacks: ");
		if (!err)
			err = append_percents(out, gate);
		return err ? err :
			     strbuf_printf(out, ", may differ by %.2g points", 100 * gate->limit);
	case DIFF_GATE_UNKNOWN_LEVEL:
		err = strbuf_puts(out, "frames without a name: ");
		if (!err)
			err = append_percents(out, gate);
		return err ? err : strbuf_printf(out, ", at most %.2g %%", 100 * gate->limit);
	case DIFF_GATE_TIME_OF_DAY:
		return strbuf_puts(out, "the sides are of different times of day and no history "
					"of such pairs is known: the rhythm of the day would look "
					"like a change");
	case DIFF_GATE_CNT:
		break;
	}
	return -EINVAL;
}

static int header_gates(struct header *header)
{
	const struct diff_summary *summary = header->summary;
	int err = 0;

	if (summary->gates_passed) {
		err = strbuf_puts(&header->text, "all passed: the sides can be compared");
		return err ? err : header_emit(header, "Gates", false);
	}
	for (int i = 0; !err && i < DIFF_GATE_CNT; i++) {
		const struct diff_gate_result *gate = &summary->gates[i];

		if (gate->passed)
			continue;
		err = strbuf_printf(&header->text,
				    "%s failed: ", diff_gate_name((enum diff_gate)i));
		if (!err)
			err = append_gate(&header->text, (enum diff_gate)i, gate);
		if (!err)
			err = header_emit(header, "Gate", true);
	}
	return err;
}

static int header_mode(struct header *header)
{
	int err;

	if (diff_words_is_judged(header->diff))
		return 0;
	err = strbuf_puts(
		&header->text,
		header->summary->mode == DIFF_MODE_DESCRIPTIVE ?
			"descriptive only, because of a gate that failed: shares are shown, "
			"nothing is judged" :
			"descriptive only: too few methods have enough samples to learn "
			"from how much they vary; nothing is judged");
	return err ? err : header_emit(header, "Mode", true);
}

static int append_left_out(struct strbuf *out, const char *what, uint32_t before, uint32_t after)
{
	if (!before && !after)
		return 0;
	return strbuf_printf(out, "; left out %s: %" PRIu32 " before, %" PRIu32 " after", what,
			     before, after);
}

static int header_blocks(struct header *header)
{
	const struct diff_summary *at = header->summary;
	struct strbuf *out = &header->text;
	int err = strbuf_printf(out, "%" PRIu32 " before, %" PRIu32 " after", at->blocks_a,
				at->blocks_b);

	if (!err && at->is_paired)
		err = strbuf_printf(out, ", in %" PRIu32 " pairs by time of day", at->unit_cnt);
	else if (!err)
		err = strbuf_puts(out, ", not paired");
	if (!err)
		err = append_left_out(out, "while the JVM was warming up", at->warm_up_a,
				      at->warm_up_b);
	if (!err)
		err = append_left_out(out, "without a partner at that time of day", at->unpaired_a,
				      at->unpaired_b);
	return err ? err : header_emit(header, "Blocks", false);
}

static int header_scale(struct header *header)
{
	const struct diff_summary *at = header->summary;
	struct strbuf *out = &header->text;
	int err;

	if (!isfinite(at->scale.value) || !isfinite(at->load.value)) {
		bool is_known = at->cores_a > 0 && at->cores_b > 0;

		err = is_known ?
			      strbuf_printf(out, "uses %.2fx the CPU", at->cores_b / at->cores_a) :
			      strbuf_puts(out, "not known: no CPU time on one of the sides");
		return err ? err : header_emit(header, "Whole process", false);
	}
	err = strbuf_puts(out, "uses ");
	if (!err)
		err = append_factor(out, &at->load);
	if (!err)
		err = strbuf_puts(out, " the CPU; s, the median method's factor, is ");
	if (!err)
		err = append_factor(out, &at->scale);
	return err ? err : header_emit(header, "Whole process", false);
}

static int header_composition(struct header *header)
{
	const struct diff_summary *at = header->summary;
	struct strbuf *out = &header->text;
	int err;

	if (at->mode == DIFF_MODE_DESCRIPTIVE)
		return 0;
	if (!at->scale_methods) {
		err = strbuf_puts(out, "too few methods are large enough for a median: changes are "
				       "told against all samples");
		return err ? err : header_emit(header, "Composition", true);
	}
	err = strbuf_puts(out, "the median method's share of the CPU changed by ");
	if (!err)
		err = append_relative(out, at->composition.value);
	if (!err && isfinite(at->composition.low) && isfinite(at->composition.high)) {
		err = strbuf_puts(out, " (95 %: ");
		if (!err)
			err = append_relative(out, at->composition.low);
		if (!err)
			err = strbuf_puts(out, " to ");
		if (!err)
			err = append_relative(out, at->composition.high);
		if (!err)
			err = strbuf_putc(out, ')');
	}
	if (!err)
		err = strbuf_printf(out, "; changes are told against it (%" PRIu32 " methods)",
				    at->scale_methods);
	return err ? err : header_emit(header, "Composition", false);
}

static int header_calibration(struct header *header)
{
	const struct diff_summary *at = header->summary;
	struct strbuf *out = &header->text;
	bool is_quiet = at->calibration != DIFF_CALIBRATION_HISTORY;
	int err = 0;

	if (!diff_words_is_judged(header->diff))
		return 0;
	if (!is_quiet) {
		err = strbuf_printf(out, "by %" PRIu32 " earlier pair%s", at->history_pairs,
				    plural(at->history_pairs));
	} else {
		err = strbuf_puts(out, "calibrated from this pair only");
		if (!err && at->history_pairs)
			err = strbuf_printf(out,
					    " (history has %" PRIu32 " pair%s, needed are "
					    "%" PRIu32 ")",
					    at->history_pairs, plural(at->history_pairs),
					    header->diff->options->history_min);
		if (!err)
			err = strbuf_puts(out,
					  header->diff->options->alarm_without_history ?
						  ": how much methods drift from day to day is a "
						  "guess, alarms are raised all the same" :
						  ": how much methods drift from day to day is a "
						  "guess, so no alarm is raised");
	}
	return err ? err : header_emit(header, "Calibration", is_quiet);
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left;
	double b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Smallest change that could have been seen, of tested methods by themselves of at least a share. */
static size_t collect_detectable(const struct diff_output *diff, double share_min, double *out)
{
	uint32_t item_cnt;
	const struct diff_item *items = diff_catalog__items(diff->catalog, &item_cnt);
	size_t cnt = 0;

	for (uint32_t i = 0; i < diff->result->row_cnt && i < item_cnt; i++) {
		const struct diff_row *row = &diff->result->rows[i];

		/* What is new or gone has no change that could be told from another. */
		if (items[i].kind == DIFF_KIND_METHOD_SELF && row->is_tested && row->samples_a &&
		    row->samples_b && isfinite(row->detectable) &&
		    fmax(row->share_a, row->share_b) >= share_min)
			out[cnt++] = row->detectable;
	}
	qsort(out, cnt, sizeof(*out), compare_doubles);
	return cnt;
}

static int header_detectable(struct header *header)
{
	const struct diff_output *diff = header->diff;
	struct strbuf *out = &header->text;
	__cleanup_free double *changes =
		reallocarray(NULL, (size_t)diff->result->row_cnt + 1, sizeof(*changes));
	const char *which = "methods of " LARGE_SHARE_TEXT " of the CPU and more";
	size_t cnt;
	int err;

	if (!diff_words_is_judged(diff))
		return 0;
	if (!changes)
		return -ENOMEM;
	cnt = collect_detectable(diff, LARGE_SHARE, changes);
	if (!cnt) {
		which = "methods";
		cnt = collect_detectable(diff, 0, changes);
	}
	if (!cnt) {
		err = strbuf_puts(out, "nothing: no method has enough samples");
		return err ? err : header_emit(header, "Could have seen", true);
	}
	err = strbuf_printf(out, "changes of %.1f %% to %.1f %%, typically %.1f %%, in the %zu %s",
			    100 * changes[0], 100 * changes[cnt - 1], 100 * changes[cnt / 2], cnt,
			    which);
	return err ? err : header_emit(header, "Could have seen", false);
}

/* Methods of one family by verdict. */
static int header_found(struct header *header, enum diff_kind kind, const char *label)
{
	const struct diff_output *diff = header->diff;
	const struct diff_family *family = &header->summary->families[kind];
	uint32_t by_verdict[DIFF_VERDICT_CNT] = { 0 };
	struct strbuf *out = &header->text;
	uint32_t item_cnt;
	const struct diff_item *items = diff_catalog__items(diff->catalog, &item_cnt);
	int err = 0;

	if (!diff_words_is_judged(diff))
		return 0;
	for (uint32_t i = 0; i < diff->result->row_cnt && i < item_cnt; i++)
		if (items[i].kind == kind)
			by_verdict[diff->result->rows[i].verdict]++;
	err = strbuf_printf(out, "%" PRIu32 " alarm%s; ", family->alarm_cnt,
			    plural(family->alarm_cnt));
	for (int v = DIFF_VERDICT_UP; !err && v < DIFF_VERDICT_CNT; v++)
		err = strbuf_printf(out, "%" PRIu32 " %s, ", by_verdict[v],
				    diff_verdict_name((enum diff_verdict)v));
	if (!err)
		err = strbuf_printf(out,
				    "%" PRIu32 " same, %" PRIu32 " unresolved; %" PRIu32
				    " of %" PRIu32 " could be tested",
				    by_verdict[DIFF_VERDICT_SAME],
				    by_verdict[DIFF_VERDICT_UNRESOLVED], family->tested_cnt,
				    family->item_cnt);
	return err ? err : header_emit(header, label, family->alarm_cnt > 0);
}

static int header_notes(struct header *header)
{
	int err = 0;

	for (size_t i = 0; !err && i < header->diff->note_cnt; i++) {
		err = strbuf_puts(&header->text, header->diff->notes[i]);
		if (!err)
			err = header_emit(header, "Note", false);
	}
	return err;
}

static int header_lines(struct header *header)
{
	const struct diff_output *diff = header->diff;
	const struct diff_summary *at = header->summary;
	int err = header_side(header, "Before", &diff->before, at->cores_a);

	if (!err)
		err = header_side(header, "After", &diff->after, at->cores_b);
	if (!err)
		err = header_gates(header);
	if (!err)
		err = header_mode(header);
	if (!err)
		err = header_blocks(header);
	if (!err)
		err = header_scale(header);
	if (!err)
		err = header_composition(header);
	if (!err)
		err = header_calibration(header);
	if (!err)
		err = header_detectable(header);
	if (!err)
		err = header_found(header, DIFF_KIND_METHOD_SELF, "By themselves");
	if (!err)
		err = header_found(header, DIFF_KIND_METHOD_TOTAL, "With callees");
	return err ? err : header_notes(header);
}

int diff_words_header(const struct diff_output *diff, diff_words_line line, void *ctx)
{
	struct header header = {
		.diff = diff, .summary = &diff->result->summary, .line = line, .ctx = ctx
	};
	int err = header_lines(&header);

	strbuf_release(&header.text);
	return err;
}
