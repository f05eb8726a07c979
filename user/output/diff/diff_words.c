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

#include "user/diff/diff_math.h"
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

static bool is_file(const struct diff_output_side *side)
{
	return !side->until_unix_ns && !side->stream_cnt;
}

bool diff_words_is_of_files(const struct diff_output *diff)
{
	return is_file(&diff->before) && is_file(&diff->after);
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

/* 0: changed by itself. 1: it and more than one callee. 2: calls what changed. */
static int distance(const struct diff_item *items, const struct diff_row *rows, uint32_t item)
{
	uint32_t origin = rows[item].origin;

	if (items[item].kind == DIFF_KIND_METHOD_SELF)
		return 0;
	return origin != DIFF_NONE && items[origin].method == item ? 1 : 2;
}

int diff_words_compare_rows(const void *left, const void *right, void *diff)
{
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;
	const struct diff_output *output = diff;
	const struct diff_row *rows = output->result->rows;
	uint32_t item_cnt;
	const struct diff_item *items = diff_catalog__items(output->catalog, &item_cnt);
	const struct diff_row *at_a = &rows[a];
	const struct diff_row *at_b = &rows[b];
	int from_cause = distance(items, rows, a) - distance(items, rows, b);
	bool is_found_a = diff_words_is_found(at_a->verdict);
	bool is_found_b = diff_words_is_found(at_b->verdict);
	int order = 0;

	if (at_a->is_alarm != at_b->is_alarm)
		return at_a->is_alarm ? -1 : 1;
	if (is_found_a != is_found_b)
		return is_found_a ? -1 : 1;
	if (is_found_a && from_cause)
		return from_cause;
	if (is_found_a)
		order = compare_down(diff_words_sure_points(at_a), diff_words_sure_points(at_b));
	else
		order = compare_down(fabs(at_a->points.value), fabs(at_b->points.value));
	if (!order)
		order = compare_down(fmax(at_a->share_a, at_a->share_b),
				     fmax(at_b->share_a, at_b->share_b));
	return order ? order : (a > b) - (a < b);
}

/* ---- numbers ---- */

double diff_words_share_after(const struct diff_row *row)
{
	return row->share_a + row->points.value;
}

static void append_relative(struct strbuf *out, double log_ratio)
{
	double percent = 100 * diff_relative(log_ratio);

	if (!isfinite(log_ratio))
		strbuf_puts(out, isnan(log_ratio) ? "?" : log_ratio > 0 ? "x inf" : "-100 %");
	else if (percent > NAMED_PERCENT_MAX)
		strbuf_printf(out, "x %.3g", exp(log_ratio));
	else
		strbuf_printf(out, fabs(percent) < 0.1 ? "%+.2f %%" : "%+.1f %%", percent);
}

void diff_words_change(struct strbuf *out, const struct diff_row *row)
{
	if (row->verdict == DIFF_VERDICT_NEW || row->verdict == DIFF_VERDICT_GONE)
		strbuf_puts(out, diff_verdict_name(row->verdict));
	else if (!isfinite(row->change.value))
		strbuf_putc(out, '-');
	else
		append_relative(out, row->change.value);
}

void diff_words_interval(struct strbuf *out, const struct diff_row *row)
{
	bool is_one_sided = row->verdict == DIFF_VERDICT_NEW || row->verdict == DIFF_VERDICT_GONE;
	const struct diff_interval *at = is_one_sided ? &row->points : &row->change;

	if (!isfinite(at->low) || !isfinite(at->high)) {
		strbuf_putc(out, '-');
	} else if (is_one_sided) {
		strbuf_printf(out, "%+.2f to %+.2f points", 100 * at->low, 100 * at->high);
	} else {
		append_relative(out, at->low);
		strbuf_puts(out, " to ");
		append_relative(out, at->high);
	}
}

void diff_words_q(struct strbuf *out, const struct diff_row *row)
{
	if (isnan(row->q))
		strbuf_putc(out, '-');
	else if (row->q < 0.0001)
		strbuf_puts(out, "<0.0001");
	else
		strbuf_printf(out, "%.4f", row->q);
}

void diff_words_detectable(struct strbuf *out, double detectable)
{
	if (isnan(detectable))
		strbuf_putc(out, '-');
	else if (detectable > NAMED_PERCENT_MAX / 100.0)
		strbuf_printf(out, "> %d %%", NAMED_PERCENT_MAX);
	else
		strbuf_printf(out, ">= %.1f %%", 100 * detectable);
}

static void append_factor(struct strbuf *out, const struct diff_interval *log_ratio)
{
	strbuf_printf(out, "%.2fx", exp(log_ratio->value));
	if (isfinite(log_ratio->low) && isfinite(log_ratio->high))
		strbuf_printf(out, " (95 %%: %.2fx to %.2fx)", exp(log_ratio->low),
			      exp(log_ratio->high));
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
	int err;	    /* the first one; no line follows it */
};

static void header_emit(struct header *header, const char *label, bool is_warning)
{
	if (!header->err)
		header->err = strbuf_error(&header->text);
	if (!header->err)
		header->err =
			header->line(header->ctx, label, strbuf_str(&header->text), is_warning);
	strbuf_clear(&header->text);
}

static bool differ(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") != 0;
}

static void append_if(struct strbuf *out, bool is_wanted, const char *label, const char *text)
{
	if (is_wanted)
		strbuf_printf(out, ", %s %s", label, text && *text ? text : "not known");
}

static void append_quality(struct strbuf *out, const struct diff_output_side *side)
{
	const struct window_counts *counts = &side->counts;

	/* A file does not say what was lost on the way to it, nor where its stacks should begin. */
	if (is_file(side) && !counts->unknown_frames)
		return;
	if (counts->frames)
		strbuf_printf(out, ", unknown frames %.2f %%",
			      info_percent(counts->unknown_frames, counts->frames));
	if (is_file(side))
		return;
	if (counts->samples)
		strbuf_printf(out, ", truncated stacks %.2f %%",
			      info_percent(counts->truncated_samples, counts->samples));
	strbuf_printf(out, ", lost samples %" PRIu64, side->lost_samples);
}

static bool names_image(const struct diff_output_side *side)
{
	return side->name && side->image && strstr(side->name, side->image);
}

/* "a day; 2026-...; 12345 samples, 1.04 cores, 3 processes, JVM 17, image x, unknown frames ..." */
static void header_side(struct header *header, const char *label,
			const struct diff_output_side *side, double cores)
{
	const struct diff_output *diff = header->diff;
	struct strbuf *out = &header->text;
	const struct output_info range = { .since_unix_ns = side->since_unix_ns,
					   .until_unix_ns = side->until_unix_ns };

	strbuf_puts(out, side->name ? side->name : "");
	if (side->until_unix_ns) {
		if (out->len)
			strbuf_puts(out, ", ");
		info_append_range(out, &range);
	}
	strbuf_printf(out, "%s%" PRIu64 " sample%s", out->len ? ", " : "", side->counts.samples,
		      plural((double)side->counts.samples));
	if (isfinite(cores) && diff->event == EVENT_CPU)
		strbuf_printf(out, ", %.3f cores", cores);
	else if (isfinite(cores) && event_unit(diff->event) == EVENT_UNIT_NANOSECONDS)
		strbuf_printf(out, ", %.3f threads%s", cores,
			      diff->event == EVENT_WALL ? "" : " waiting");
	else if (isfinite(cores))
		strbuf_printf(out, ", %.1f %s/s", cores * DIFF_EVENTS_OF_RATE,
			      diff_words_event(diff));
	if (side->stream_cnt)
		strbuf_printf(out, ", %zu process%s", side->stream_cnt,
			      side->stream_cnt == 1 ? "" : "es");
	append_if(out, differ(diff->before.jvm_version, diff->after.jvm_version), "JVM",
		  side->jvm_version);
	/* Of two images that were asked for, the side's name is that. */
	if (differ(diff->before.image, diff->after.image) && !names_image(side))
		append_if(out, true, "image", side->image);
	append_quality(out, side);
	header_emit(header, label, false);
}

static void append_percents(struct strbuf *out, const struct diff_gate_result *gate)
{
	strbuf_printf(out, "%.2f %% before, %.2f %% after", 100 * gate->a, 100 * gate->b);
}

const char *diff_words_event(const struct diff_output *diff)
{
	return diff->event == EVENT_CPU ? "CPU" : event_noun(diff->event, true);
}

static void append_hz(struct strbuf *out, double hz)
{
	if (isnan(hz))
		strbuf_puts(out, "not known");
	else
		strbuf_printf(out, "%.0f Hz", hz);
}

/* A gate that failed: what it found, and what it wanted. */
static void append_gate(struct strbuf *out, enum diff_gate id, const struct diff_gate_result *gate)
{
	switch (id) {
	case DIFF_GATE_EVENT:
		strbuf_puts(out, "the sides count different kinds of events");
		break;
	case DIFF_GATE_BLOCKS:
		strbuf_printf(out,
			      "too few blocks of time to judge: %.0f before, %.0f after, "
			      "needed are %.0f on each side",
			      gate->a, gate->b, gate->limit);
		break;
	case DIFF_GATE_FREQUENCY:
		strbuf_puts(out, "sampling frequency: ");
		append_hz(out, gate->a);
		strbuf_puts(out, " before, ");
		append_hz(out, gate->b);
		strbuf_puts(out, " after");
		break;
	case DIFF_GATE_LOST_A:
	case DIFF_GATE_LOST_B:
		strbuf_puts(out, "samples lost: ");
		append_percents(out, gate);
		strbuf_printf(out, ", at most %.2g %%", 100 * gate->limit);
		break;
	case DIFF_GATE_UNKNOWN:
	case DIFF_GATE_TRUNCATED:
		strbuf_puts(out, id == DIFF_GATE_UNKNOWN ? "frames without a name: " :
							   "truncated stacks: ");
		append_percents(out, gate);
		strbuf_printf(out, ", may differ by %.2g points", 100 * gate->limit);
		break;
	case DIFF_GATE_UNKNOWN_LEVEL:
		strbuf_puts(out, "frames without a name: ");
		append_percents(out, gate);
		strbuf_printf(out, ", at most %.2g %%", 100 * gate->limit);
		break;
	case DIFF_GATE_TIME_OF_DAY:
		strbuf_puts(out, "the sides are of different times of day and no history of such "
				 "pairs is known: the rhythm of the day would look like a change");
		break;
	case DIFF_GATE_OTHER_STACKS:
		strbuf_puts(out, "samples of stacks beyond the heaviest: ");
		append_percents(out, gate);
		strbuf_printf(out, ", at most %.2g %%", 100 * gate->limit);
		break;
	case DIFF_GATE_CNT:
		strbuf_fail(out, -EINVAL);
	}
}

static void header_gates(struct header *header)
{
	const struct diff_summary *summary = header->summary;

	if (summary->gates_passed) {
		strbuf_puts(&header->text, "all passed: the sides can be compared");
		header_emit(header, "Gates", false);
		return;
	}
	for (int i = 0; i < DIFF_GATE_CNT; i++) {
		const struct diff_gate_result *gate = &summary->gates[i];

		if (gate->passed)
			continue;
		strbuf_printf(&header->text, "%s failed: ", diff_gate_name((enum diff_gate)i));
		append_gate(&header->text, (enum diff_gate)i, gate);
		header_emit(header, "Gate", true);
	}
}

static void header_mode(struct header *header)
{
	if (diff_words_is_judged(header->diff))
		return;
	strbuf_puts(&header->text,
		    header->summary->mode == DIFF_MODE_DESCRIPTIVE ?
			    "descriptive only, because of a gate that failed: shares are shown, "
			    "nothing is judged" :
			    "descriptive only: too few methods have enough samples to learn "
			    "from how much they vary; nothing is judged");
	header_emit(header, "Mode", true);
}

static void append_left_out(struct strbuf *out, const char *what, uint32_t before, uint32_t after)
{
	if (!before && !after)
		return;
	strbuf_printf(out, "; left out %s: %" PRIu32 " before, %" PRIu32 " after", what, before,
		      after);
}

static void header_blocks(struct header *header)
{
	const struct diff_summary *at = header->summary;
	struct strbuf *out = &header->text;

	strbuf_printf(out, "%" PRIu32 " before, %" PRIu32 " after", at->blocks_a, at->blocks_b);
	if (at->is_paired)
		strbuf_printf(out, ", in %" PRIu32 " pair%s by time of day", at->cluster_cnt,
			      plural(at->cluster_cnt));
	else
		strbuf_puts(out, ", not paired");
	append_left_out(out, "while the JVM was warming up", at->warm_up_a, at->warm_up_b);
	append_left_out(out, "without a partner at that time of day", at->unpaired_a,
			at->unpaired_b);
	header_emit(header, "Blocks", false);
}

static void header_scale(struct header *header)
{
	const struct diff_summary *at = header->summary;
	const char *event = diff_words_event(header->diff);
	bool is_cpu = header->diff->event == EVENT_CPU;
	const char *verb = is_cpu ? "uses" : "has";
	struct strbuf *out = &header->text;

	if (!isfinite(at->scale.value) || !isfinite(at->load.value)) {
		bool is_known = at->cores_a > 0 && at->cores_b > 0;

		if (is_known)
			strbuf_printf(out, "%s %.2fx the %s", verb, at->cores_b / at->cores_a,
				      event);
		else
			strbuf_printf(out, "not known: no %s on one of the sides",
				      is_cpu ? "CPU time" : event);
		header_emit(header, "Whole process", false);
		return;
	}
	strbuf_printf(out, "%s ", verb);
	append_factor(out, &at->load);
	strbuf_printf(out, " the %s; s, the median method's factor, is ", event);
	append_factor(out, &at->scale);
	header_emit(header, "Whole process", false);
}

static void header_composition(struct header *header)
{
	const struct diff_summary *at = header->summary;
	struct strbuf *out = &header->text;

	if (at->mode == DIFF_MODE_DESCRIPTIVE)
		return;
	if (!at->scale_methods) {
		strbuf_puts(out, "too few methods are large enough for a median: changes are "
				 "told against all samples");
		header_emit(header, "Composition", true);
		return;
	}
	strbuf_printf(out, "the median method's share of the %s changed by ",
		      diff_words_event(header->diff));
	append_relative(out, at->composition.value);
	if (isfinite(at->composition.low) && isfinite(at->composition.high)) {
		strbuf_puts(out, " (95 %: ");
		append_relative(out, at->composition.low);
		strbuf_puts(out, " to ");
		append_relative(out, at->composition.high);
		strbuf_putc(out, ')');
	}
	strbuf_printf(out, "; changes are told against it (%" PRIu32 " method%s)",
		      at->scale_methods, plural(at->scale_methods));
	header_emit(header, "Composition", false);
}

/* Is a side one JVM, where nothing tells its compiler's luck from a change? */
static bool is_of_one_process(const struct diff_output *diff)
{
	return diff->options->alarm_without_history && diff->before.jvm_version &&
	       *diff->before.jvm_version &&
	       (diff->before.stream_cnt == 1 || diff->after.stream_cnt == 1);
}

static void header_calibration(struct header *header)
{
	const struct diff_summary *at = header->summary;
	struct strbuf *out = &header->text;
	bool is_quiet = at->calibration != DIFF_CALIBRATION_HISTORY;

	if (!diff_words_is_judged(header->diff))
		return;
	if (!is_quiet && at->history_kind == DIFF_HISTORY_HOSTS) {
		strbuf_printf(out, "by what %" PRIu32 " hosts differ from each other",
			      at->history_pairs);
	} else if (!is_quiet && at->history_kind == DIFF_HISTORY_REPLICAS) {
		strbuf_printf(out,
			      "by how replicas of one side differ from each other, in %" PRIu32
			      " comparison%s",
			      at->history_pairs, plural(at->history_pairs));
	} else if (!is_quiet) {
		strbuf_printf(out, "by %" PRIu32 " earlier pair%s", at->history_pairs,
			      plural(at->history_pairs));
	} else {
		strbuf_puts(out, "calibrated from this pair only");
		if (at->history_pairs)
			strbuf_printf(out,
				      " (history has %" PRIu32 " pair%s, needed are "
				      "%" PRIu32 ")",
				      at->history_pairs, plural(at->history_pairs),
				      header->diff->options->history_min);
		strbuf_puts(out, header->diff->options->alarm_without_history ?
					 ": alarms rest on how much these two sides scatter, not "
					 "on earlier days" :
					 ": how much methods drift from day to day is a "
					 "guess, so no alarm is raised");
		if (is_of_one_process(header->diff))
			strbuf_puts(out, "; with one process on a side, what its JIT compiled "
					 "otherwise is a change, too: compare several replicas");
	}
	header_emit(header, "Calibration", is_quiet);
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
	qsort(out, cnt, sizeof(*out), diff_math_compare);
	return cnt;
}

static void header_detectable(struct header *header)
{
	const struct diff_output *diff = header->diff;
	struct strbuf *out = &header->text;
	__cleanup_free double *changes =
		reallocarray(NULL, (size_t)diff->result->row_cnt + 1, sizeof(*changes));
	char large[96];
	const char *which = large;
	size_t cnt;

	if (!diff_words_is_judged(diff))
		return;
	if (!changes) {
		strbuf_fail(out, -ENOMEM);
		header_emit(header, "Could have seen", true);
		return;
	}
	(void)snprintf(large, sizeof(large), "methods of %s of the %s and more", LARGE_SHARE_TEXT,
		       diff_words_event(diff));
	cnt = collect_detectable(diff, LARGE_SHARE, changes);
	if (!cnt) {
		which = "methods";
		cnt = collect_detectable(diff, 0, changes);
	}
	if (!cnt) {
		strbuf_puts(out, "nothing: no method has enough samples");
		header_emit(header, "Could have seen", true);
		return;
	}
	strbuf_printf(out, "changes of %.1f %% to %.1f %%, typically %.1f %%, in the %zu %s",
		      100 * changes[0], 100 * changes[cnt - 1], 100 * changes[cnt / 2], cnt, which);
	header_emit(header, "Could have seen", false);
}

/* Methods of one family by verdict. */
static void header_found(struct header *header, enum diff_kind kind, const char *label)
{
	const struct diff_output *diff = header->diff;
	const struct diff_family *family = &header->summary->families[kind];
	uint32_t by_verdict[DIFF_VERDICT_CNT] = { 0 };
	struct strbuf *out = &header->text;
	uint32_t item_cnt;
	const struct diff_item *items = diff_catalog__items(diff->catalog, &item_cnt);

	if (!diff_words_is_judged(diff))
		return;
	for (uint32_t i = 0; i < diff->result->row_cnt && i < item_cnt; i++)
		if (items[i].kind == kind)
			by_verdict[diff->result->rows[i].verdict]++;
	strbuf_printf(out, "%" PRIu32 " alarm%s; ", family->alarm_cnt, plural(family->alarm_cnt));
	for (int v = DIFF_VERDICT_UP; v < DIFF_VERDICT_CNT; v++)
		strbuf_printf(out, "%" PRIu32 " %s, ", by_verdict[v],
			      diff_verdict_name((enum diff_verdict)v));
	strbuf_printf(out,
		      "%" PRIu32 " same, %" PRIu32 " unresolved; %" PRIu32 " of %" PRIu32
		      " could be tested",
		      by_verdict[DIFF_VERDICT_SAME], by_verdict[DIFF_VERDICT_UNRESOLVED],
		      family->tested_cnt, family->item_cnt);
	header_emit(header, label, family->alarm_cnt > 0);
}

static void header_notes(struct header *header, size_t first)
{
	for (size_t i = first; i < header->diff->note_cnt; i++) {
		strbuf_puts(&header->text, header->diff->notes[i]);
		header_emit(header, "Note", false);
	}
}

static void header_lines(struct header *header)
{
	const struct diff_output *diff = header->diff;
	const struct diff_summary *at = header->summary;

	header_side(header, "Before", &diff->before, at->cores_a);
	header_side(header, "After", &diff->after, at->cores_b);
	/* Of gates, blocks and calibration there is nothing to say: one line says why, their first note. */
	if (diff_words_is_of_files(diff) && diff->note_cnt) {
		strbuf_puts(&header->text, diff->notes[0]);
		header_emit(header, "Mode", true);
		header_notes(header, 1);
		return;
	}
	header_gates(header);
	header_mode(header);
	header_blocks(header);
	header_scale(header);
	header_composition(header);
	header_calibration(header);
	header_detectable(header);
	header_found(header, DIFF_KIND_METHOD_SELF, "By themselves");
	header_found(header, DIFF_KIND_METHOD_TOTAL, "With callees");
	header_notes(header, 0);
}

int diff_words_header(const struct diff_output *diff, diff_words_line line, void *ctx)
{
	struct header header = {
		.diff = diff, .summary = &diff->result->summary, .line = line, .ctx = ctx
	};

	header_lines(&header);
	strbuf_release(&header.text);
	return header.err;
}
