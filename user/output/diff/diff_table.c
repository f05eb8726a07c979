// SPDX-License-Identifier: Apache-2.0
/*
 * A comparison for terminals: what it comes to, how sure it is, the alarms by where they come from, the methods whose
 * change was found. What was not found is counted, not listed: a list of noise invites reading it.
 */
#include "user/output/diff/diff_output.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/output/diff/diff_sentence.h"
#include "user/output/diff/diff_words.h"
#include "user/output/escape.h"
#include "user/output/info.h"
#include "user/util/cleanup.h"

#define LABEL_WIDTH    15
#define ORIGIN_FRAMES  6   /* of the end of a path; the rest is a count */
#define LINE_MAX_BYTES 512 /* of a name in the table */

struct table {
	const struct diff_output *diff;
	const struct diff_item *items;
	uint32_t item_cnt;
	bool is_judged;
	bool has_cores;	   /* rates are known */
	uint32_t *self_of; /* METHOD_TOTAL: METHOD_SELF of the same method, or DIFF_NONE */
	struct strbuf *out;
	struct strbuf cell; /* scratch */
};

static bool is_method(const struct table *table, uint32_t item)
{
	return table->items[item].kind == DIFF_KIND_METHOD_SELF ||
	       table->items[item].kind == DIFF_KIND_METHOD_TOTAL;
}

static const struct diff_row *row_of(const struct table *table, uint32_t item)
{
	return &table->diff->result->rows[item];
}

static int find_selfs(struct table *table)
{
	table->self_of = reallocarray(NULL, (size_t)table->item_cnt + 1, sizeof(*table->self_of));
	if (!table->self_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->item_cnt; i++)
		table->self_of[i] = DIFF_NONE;
	for (uint32_t i = 0; i < table->item_cnt; i++)
		if (table->items[i].kind == DIFF_KIND_METHOD_SELF &&
		    table->items[i].method < table->item_cnt)
			table->self_of[table->items[i].method] = i;
	return 0;
}

/* A method that calls nothing is the same by itself and with callees: one line is enough. */
static bool is_repeated(const struct table *table, uint32_t item)
{
	uint32_t self = table->self_of[item];

	return self != DIFF_NONE &&
	       row_of(table, self)->samples_a == row_of(table, item)->samples_a &&
	       row_of(table, self)->samples_b == row_of(table, item)->samples_b &&
	       row_of(table, self)->verdict == row_of(table, item)->verdict;
}

static bool is_listed(const struct table *table, uint32_t item)
{
	const struct diff_row *row = row_of(table, item);

	return is_method(table, item) && (row->samples_a || row->samples_b) &&
	       !is_repeated(table, item);
}

static void append_name(struct table *table, uint32_t item)
{
	struct diff_catalog_name name = diff_catalog__name(table->diff->catalog, item);
	bool is_cut = name.len > LINE_MAX_BYTES;

	escape_terminal(table->out, name.text, is_cut ? LINE_MAX_BYTES : name.len);
	if (is_cut)
		strbuf_puts(table->out, "...");
	strbuf_puts(table->out, frame_kind_suffix(name.kind));
}

static int header_line(void *ctx, const char *label, const char *text, bool is_warning)
{
	struct strbuf *out = ctx;

	strbuf_printf(out, "%c %-*s ", is_warning ? '!' : ' ', LABEL_WIDTH, label);
	escape_terminal(out, text, strlen(text));
	strbuf_putc(out, '\n');
	return strbuf_error(out);
}

/* First of all what it comes to. */
static void append_sentence(const struct diff_output *diff, struct strbuf *out)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	diff_sentence(diff, &text);
	strbuf_fail(out, strbuf_error(&text));
	escape_terminal(out, strbuf_str(&text), text.len);
	strbuf_puts(out, "\n\n");
}

static void append_titles(const struct diff_output *diff, struct strbuf *out)
{
	const char *const titles[] = { diff->title, diff->subtitle };

	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
		if (!titles[i] || !*titles[i])
			continue;
		escape_terminal(out, titles[i], strlen(titles[i]));
		strbuf_putc(out, '\n');
	}
}

/* ---- alarms ---- */

static int compare_origins(const void *left, const void *right, void *diff)
{
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;
	const struct diff_row *all = ((const struct diff_output *)diff)->result->rows;

	if (all[a].origin != all[b].origin)
		return all[a].origin < all[b].origin ? -1 : 1;
	return diff_words_compare_rows(left, right, diff);
}

/* The last frames of a place, root first. */
static void append_origin(struct table *table, uint32_t path)
{
	uint32_t last[ORIGIN_FRAMES];
	uint32_t depth = 0;

	if (path == DIFF_NONE) {
		strbuf_puts(table->out, "  of no single place\n");
		return;
	}
	for (uint32_t at = path; at != DIFF_NONE; at = table->items[at].parent) {
		if (depth < ORIGIN_FRAMES)
			last[depth] = at;
		depth++;
	}
	strbuf_puts(table->out, "  at ");
	if (depth > ORIGIN_FRAMES)
		strbuf_printf(table->out, "(%" PRIu32 " callers);", depth - ORIGIN_FRAMES);
	for (uint32_t i = depth < ORIGIN_FRAMES ? depth : ORIGIN_FRAMES; i > 0; i--) {
		append_name(table, last[i - 1]);
		if (i > 1)
			strbuf_putc(table->out, ';');
	}
	strbuf_putc(table->out, '\n');
}

static void append_alarm(struct table *table, uint32_t item)
{
	const struct diff_row *row = row_of(table, item);
	bool is_self = table->items[item].kind == DIFF_KIND_METHOD_SELF;

	strbuf_printf(table->out, "    %s %.2f %% -> %.2f %% of the %s, ",
		      is_self ? "by itself   " : "with callees", 100 * row->share_a,
		      100 * diff_words_share_after(row), diff_words_event(table->diff));
	diff_words_change(table->out, row);
	strbuf_puts(table->out, " (");
	diff_words_interval(table->out, row);
	strbuf_puts(table->out, "), q ");
	diff_words_q(table->out, row);
	strbuf_puts(table->out, ": ");
	append_name(table, item);
	strbuf_putc(table->out, '\n');
}

static int append_alarms(struct table *table)
{
	__cleanup_free uint32_t *alarms =
		reallocarray(NULL, (size_t)table->item_cnt + 1, sizeof(*alarms));
	size_t cnt = 0;

	if (!alarms)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->item_cnt; i++)
		if (row_of(table, i)->is_alarm && !is_repeated(table, i))
			alarms[cnt++] = i;
	if (!cnt)
		return 0;
	qsort_r(alarms, cnt, sizeof(*alarms), compare_origins, (void *)table->diff);
	strbuf_puts(table->out, "\nALARMS\n");
	for (size_t i = 0; i < cnt; i++) {
		uint32_t origin = row_of(table, alarms[i])->origin;

		if (i == 0 || row_of(table, alarms[i - 1])->origin != origin)
			append_origin(table, origin);
		append_alarm(table, alarms[i]);
	}
	return strbuf_error(table->out);
}

/* ---- rows ---- */

static void append_cell(struct table *table, int width)
{
	strbuf_fail(table->out, strbuf_error(&table->cell));
	strbuf_printf(table->out, "%*s  ", width, strbuf_str(&table->cell));
	strbuf_clear(&table->cell);
}

/* Change, its interval, q and what could have been seen. */
static void append_judgement(struct table *table, const struct diff_row *row)
{
	diff_words_change(&table->cell, row);
	append_cell(table, 9);
	diff_words_interval(&table->cell, row);
	append_cell(table, 24);
	diff_words_q(&table->cell, row);
	append_cell(table, 7);
	diff_words_detectable(&table->cell, row->detectable);
	append_cell(table, 10);
}

static void append_cores(struct table *table, double a, double b)
{
	bool is_time = event_unit(table->diff->event) == EVENT_UNIT_NANOSECONDS;

	for (int side = 0; side < 2; side++) {
		double value = (side ? b : a) * (is_time ? 1 : DIFF_EVENTS_OF_RATE);

		if (isfinite(value))
			strbuf_printf(&table->cell, is_time ? "%.4f" : "%.1f", value);
		else
			strbuf_putc(&table->cell, '-');
		append_cell(table, 9);
	}
}

static const char *of_name(const struct table *table, uint32_t item)
{
	return table->items[item].kind == DIFF_KIND_METHOD_SELF ? "self" : "total";
}

/* Where nothing is judged the columns of judgements would be empty. */
static void append_shares(struct table *table, uint32_t item)
{
	const struct diff_row *row = row_of(table, item);

	strbuf_printf(table->out, "%-5s  %7.2f  %7.2f  %+7.2f  ", of_name(table, item),
		      100 * row->share_a, 100 * row->share_b, 100 * (row->share_b - row->share_a));
	diff_words_change(&table->cell, row);
	append_cell(table, 9);
}

static void append_row(struct table *table, uint32_t item)
{
	const struct diff_row *row = row_of(table, item);

	if (table->is_judged) {
		strbuf_printf(table->out, "%-10s  %-5s  %7.2f  %7.2f  ",
			      diff_verdict_name(row->verdict), of_name(table, item),
			      100 * row->share_a, 100 * diff_words_share_after(row));
		append_judgement(table, row);
	} else {
		append_shares(table, item);
	}
	if (table->has_cores)
		append_cores(table, row->cores_a, row->cores_b);
	append_name(table, item);
	if (row->verdict == DIFF_VERDICT_MOVED && row->moved_with != DIFF_NONE) {
		strbuf_puts(table->out, row->change.value > 0 ? "  (from " : "  (to ");
		append_name(table, row->moved_with);
		strbuf_putc(table->out, ')');
	}
	strbuf_putc(table->out, '\n');
}

static void append_head(struct table *table)
{
	enum event event = table->diff->event;
	bool is_cpu = event == EVENT_CPU;
	bool is_wait = event_unit(event) == EVENT_UNIT_NANOSECONDS;

	if (table->is_judged)
		strbuf_printf(table->out, "\n%-10s  %-5s  %7s  %7s  %9s  %24s  %7s  %10s  ",
			      "VERDICT", "OF", "BEFORE%", "AFTER%", "CHANGE", "95 % INTERVAL", "Q",
			      "COULD SEE");
	else
		strbuf_printf(table->out, "\n%-5s  %7s  %7s  %7s  %9s  ", "OF", "BEFORE%", "AFTER%",
			      "POINTS", "CHANGE");
	if (table->has_cores)
		strbuf_printf(table->out, "%9s  %9s  ",
			      is_cpu  ? "CORES BEF" :
			      is_wait ? "WAIT BEF" :
					"PER S BEF",
			      is_cpu  ? "CORES AFT" :
			      is_wait ? "WAIT AFT" :
					"PER S AFT");
	strbuf_puts(table->out, "METHOD\n");
}

/* Methods to list: found ones, or all of them. */
static size_t collect_rows(const struct table *table, bool is_all, uint32_t *out)
{
	size_t cnt = 0;

	for (uint32_t i = 0; i < table->item_cnt; i++) {
		const struct diff_row *row = row_of(table, i);

		if (is_listed(table, i) && (is_all || diff_words_is_found(row->verdict)))
			out[cnt++] = i;
	}
	qsort_r(out, cnt, sizeof(*out), diff_words_compare_rows, (void *)table->diff);
	return cnt;
}

/* So many rows that were not found a change in. */
static size_t count_quiet(const struct table *table)
{
	size_t cnt = 0;

	for (uint32_t i = 0; i < table->item_cnt; i++)
		cnt += is_listed(table, i) && !diff_words_is_found(row_of(table, i)->verdict);
	return cnt;
}

static int append_rows(struct table *table, size_t limit)
{
	__cleanup_free uint32_t *rows =
		reallocarray(NULL, (size_t)table->item_cnt + 1, sizeof(*rows));
	/* Where nothing is judged, the largest are all there is to show. */
	bool is_all = limit == 0 || !table->is_judged;
	size_t cnt;
	size_t shown;

	if (!rows)
		return -ENOMEM;
	cnt = collect_rows(table, is_all, rows);
	shown = limit && limit < cnt ? limit : cnt;
	if (shown)
		append_head(table);
	else
		strbuf_puts(table->out,
			    cnt || !table->is_judged ? "" : "\nNo method's change was found.\n");
	for (size_t i = 0; i < shown; i++)
		append_row(table, rows[i]);
	if (shown < cnt)
		strbuf_printf(table->out, "%zu more row%s not shown\n", cnt - shown,
			      cnt - shown == 1 ? "" : "s");
	if (!is_all && count_quiet(table))
		strbuf_printf(table->out,
			      "%zu row%s the same or unresolved: not shown, but for what "
			      "could have been seen above (all: --rows 0)\n",
			      count_quiet(table), count_quiet(table) == 1 ? " is" : "s are");
	return strbuf_error(table->out);
}

int diff_output_table(const struct diff_output *diff, size_t limit, struct strbuf *out)
{
	struct table table = {
		.diff = diff,
		.is_judged = diff_words_is_judged(diff),
		.has_cores = !diff_words_is_of_files(diff),
		.out = out,
	};
	int err;

	table.items = diff_catalog__items(diff->catalog, &table.item_cnt);
	if (table.item_cnt > diff->result->row_cnt)
		table.item_cnt = diff->result->row_cnt;
	append_sentence(diff, out);
	append_titles(diff, out);
	err = find_selfs(&table);
	if (!err)
		err = diff_words_header(diff, header_line, out);
	if (!err)
		err = append_alarms(&table);
	if (!err)
		err = append_rows(&table, limit);
	strbuf_release(&table.cell);
	free(table.self_of);
	return err;
}
