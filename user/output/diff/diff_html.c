// SPDX-License-Identifier: Apache-2.0
/*
 * The page of a comparison: page/diff.html with its {{slots}} filled. Data are one JSON object; tree
 * and methods in it are strings of the numbers of page_number():
 *
 *   tree, per node but the root, in preorder: frame, levels to go up from the node before (0 = its
 *   child), own share before, after (parts per 1e9), own samples before, after; of a node of kind
 *   "hidden" the number of nodes it stands for, of any other its judgement.
 *
 *   methods, per row: frame, 0 = by itself or 1 = with callees, share before, after, samples before,
 *   after, node of the tree where to look (0 = none), judgement.
 *
 *   judgement: verdict + 8 alarm + 16 tested; then as fixed-point numbers the change with its
 *   interval (log ratio), -log10 of q, what could have been seen (relative); of what is new or gone
 *   also the interval of points, of what moved the frame it moved with, plus 1.
 *
 *   fixed-point: 0 = not known, else 1 + 2 n for n >= 0 and -2 n for n < 0, n in units of 1e-5.
 */
#include "user/output/diff/diff_output.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/output/diff/diff_paths.h"
#include "user/output/diff/diff_sentence.h"
#include "user/output/diff/diff_words.h"
#include "user/output/escape.h"
#include "user/output/json_writer.h"
#include "user/output/page_parts.h"
#include "user/util/cleanup.h"

#define HTML_NODES_MAX	   20000
#define HTML_METHODS_MAX   2000 /* of a family; the rest is counted */
#define HTML_NOSCRIPT_ROWS 50
#define SHARE_UNITS	   1e9
#define FIXED_UNITS	   1e5
#define FIXED_MAX	   1e9
#define Q_LOG_MAX	   300

_Static_assert(DIFF_VERDICT_CNT <= 8, "a verdict has three bits");

/* flamegraph_page.S */
extern const char diff_page_start[], diff_page_end[];
extern const char diff_style_start[], diff_style_end[];
extern const char diff_script_start[], diff_script_end[];

/* Frames are known by the item of their METHOD_TOTAL, processes by their PATH; two are made up. */
struct diff_page {
	const struct diff_output *diff;
	const struct diff_item *items;
	uint32_t item_cnt;
	struct diff_paths paths;
	uint32_t *methods; /* to list, both families */
	size_t method_cnt;
	size_t left_out[2]; /* by family: 0 = by itself */
	uint32_t *uses;	    /* by frame: items, the root, what was pruned */
	size_t used_cnt;
	uint32_t *node_of; /* by item: node of the pruned tree; 0 = not in it */
	struct page_frames frames;
};

static void page_release(struct diff_page *page)
{
	diff_paths_release(&page->paths);
	free(page->methods);
	free(page->uses);
	free(page->node_of);
	page_frames_release(&page->frames);
}

static uint32_t root_frame(const struct diff_page *page)
{
	return page->item_cnt;
}

static uint32_t hidden_frame(const struct diff_page *page)
{
	return page->item_cnt + 1;
}

/* The frame of a METHOD_x or PATH. */
static uint32_t frame_of(const struct diff_page *page, uint32_t item)
{
	const struct diff_item *at = &page->items[item];
	bool has_method = at->kind == DIFF_KIND_METHOD_SELF || at->kind == DIFF_KIND_PATH;

	return has_method && at->method < page->item_cnt ? at->method : item;
}

static bool is_of_family(const struct diff_page *page, uint32_t item, bool is_total)
{
	return page->items[item].kind ==
	       (is_total ? DIFF_KIND_METHOD_TOTAL : DIFF_KIND_METHOD_SELF);
}

static size_t choose_family(struct diff_page *page, bool is_total, uint32_t *out)
{
	const struct diff_row *rows = page->diff->result->rows;
	size_t cnt = 0;

	for (uint32_t i = 0; i < page->item_cnt; i++)
		if (is_of_family(page, i, is_total) && (rows[i].samples_a || rows[i].samples_b))
			out[cnt++] = i;
	qsort_r(out, cnt, sizeof(*out), diff_words_compare_rows, (void *)page->diff);
	page->left_out[is_total] = cnt > HTML_METHODS_MAX ? cnt - HTML_METHODS_MAX : 0;
	return cnt - page->left_out[is_total];
}

static int choose_methods(struct diff_page *page)
{
	page->methods = calloc((size_t)page->item_cnt + 1, sizeof(*page->methods));
	if (!page->methods)
		return -ENOMEM;
	page->method_cnt = choose_family(page, false, page->methods);
	page->method_cnt += choose_family(page, true, page->methods + page->method_cnt);
	return 0;
}

static void use_frames_of(struct diff_page *page, uint32_t item)
{
	const struct diff_row *row = &page->diff->result->rows[item];

	page->uses[frame_of(page, item)]++;
	if (row->verdict == DIFF_VERDICT_MOVED && row->moved_with < page->item_cnt)
		page->uses[frame_of(page, row->moved_with)]++;
}

static int number_frames(struct diff_page *page)
{
	size_t cnt = (size_t)page->item_cnt + 2;

	page->uses = calloc(cnt, sizeof(*page->uses));
	page->node_of = calloc(cnt, sizeof(*page->node_of));
	if (!page->uses || !page->node_of)
		return -ENOMEM;
	page->uses[root_frame(page)]++;
	for (size_t i = 1; i < page->paths.tree.node_cnt; i++) {
		uint32_t item = diff_paths_item(&page->paths, i);

		if (item == DIFF_NONE) {
			page->uses[hidden_frame(page)]++;
			continue;
		}
		page->node_of[item] = (uint32_t)i;
		use_frames_of(page, item);
	}
	for (size_t i = 0; i < page->method_cnt; i++)
		use_frames_of(page, page->methods[i]);
	for (size_t i = 0; i < cnt; i++)
		page->used_cnt += page->uses[i] > 0;
	return page_frames_make(page->uses, cnt, &page->frames);
}

/* ---- the strings of numbers ---- */

static void append_fixed(struct strbuf *out, double value)
{
	int64_t units;

	if (!isfinite(value)) {
		page_number(out, 0);
		return;
	}
	units = llround(FIXED_UNITS * fmax(fmin(value, FIXED_MAX), -FIXED_MAX));
	page_number(out, units < 0 ? (uint64_t)-units * 2 : (uint64_t)units * 2 + 1);
}

static void append_judgement(const struct diff_page *page, const struct diff_row *row,
			     struct strbuf *out)
{
	uint64_t flags = (uint64_t)row->verdict | (row->is_alarm ? 8 : 0) |
			 (row->is_tested ? 16 : 0);
	double q_log = row->q > 0 ? fmin(-log10(row->q), Q_LOG_MAX) : Q_LOG_MAX;

	page_number(out, flags);
	append_fixed(out, row->change.value);
	append_fixed(out, row->change.low);
	append_fixed(out, row->change.high);
	append_fixed(out, isnan(row->q) ? NAN : q_log);
	append_fixed(out, row->detectable);
	if (row->verdict == DIFF_VERDICT_NEW || row->verdict == DIFF_VERDICT_GONE) {
		append_fixed(out, row->points.low);
		append_fixed(out, row->points.high);
	}
	if (row->verdict == DIFF_VERDICT_MOVED)
		page_number(out, row->moved_with < page->item_cnt ?
					 1 + page->frames.number[frame_of(page, row->moved_with)] :
					 0);
}

static void append_sums(struct strbuf *out, double share_a, double share_b, uint64_t samples_a,
			uint64_t samples_b)
{
	page_number(out, (uint64_t)llround(SHARE_UNITS * share_a));
	page_number(out, (uint64_t)llround(SHARE_UNITS * share_b));
	page_number(out, samples_a);
	page_number(out, samples_b);
}

static void append_node(const struct diff_page *page, size_t i, uint32_t last_depth,
			struct strbuf *out)
{
	const struct tree_node *node = &page->paths.tree.nodes[i];
	const struct diff_paths_sum *self = &page->paths.selfs[i];
	uint32_t item = diff_paths_item(&page->paths, i);
	uint32_t frame = item == DIFF_NONE ? hidden_frame(page) : frame_of(page, item);

	page_number(out, page->frames.number[frame]);
	page_number(out, last_depth + 1 - node->depth);
	append_sums(out, self->share[DIFF_PATHS_BEFORE], self->share[DIFF_PATHS_AFTER],
		    self->samples[DIFF_PATHS_BEFORE], self->samples[DIFF_PATHS_AFTER]);
	if (item == DIFF_NONE)
		page_number(out, node->hidden_cnt);
	else
		append_judgement(page, &page->diff->result->rows[item], out);
}

static void append_tree(const struct diff_page *page, struct strbuf *out)
{
	uint32_t last_depth = 0;

	for (size_t i = 1; i < page->paths.tree.node_cnt; i++) {
		append_node(page, i, last_depth, out);
		last_depth = page->paths.tree.nodes[i].depth;
	}
}

/* Where to look for a method's change: its origin, or the place above it that is in the tree. */
static uint32_t node_of_item(const struct diff_page *page, uint32_t item)
{
	uint32_t path = page->diff->result->rows[item].origin;

	while (path < page->item_cnt && !page->node_of[path])
		path = page->items[path].parent;
	return path < page->item_cnt ? page->node_of[path] : 0;
}

static void append_methods(const struct diff_page *page, struct strbuf *out)
{
	for (size_t i = 0; i < page->method_cnt; i++) {
		uint32_t item = page->methods[i];
		const struct diff_row *row = &page->diff->result->rows[item];

		page_number(out, page->frames.number[frame_of(page, item)]);
		page_number(out, is_of_family(page, item, true));
		/* The share that agrees with the change, as in the table. */
		append_sums(out, row->share_a, fmax(diff_words_share_after(row), 0), row->samples_a,
			    row->samples_b);
		page_number(out, node_of_item(page, item));
		append_judgement(page, row, out);
	}
}

/* ---- the JSON ---- */

static int write_header_line(void *ctx, const char *label, const char *text, bool is_warning)
{
	struct json_writer *json = ctx;

	json_writer_newline(json);
	json_writer_begin(json, '{');
	json_writer_member_string(json, "label", label);
	json_writer_member_string(json, "text", text);
	json_writer_member_bool(json, "isWarning", is_warning);
	json_writer_end(json, '}');
	return strbuf_error(json->out);
}

static void write_pair(struct json_writer *json, const char *key, double before, double after)
{
	json_writer_member_begin(json, key, '[');
	json_writer_number(json, before);
	json_writer_number(json, after);
	json_writer_end(json, ']');
}

static void write_names(const struct diff_page *page, struct json_writer *json)
{
	struct page_names names = { .json = json };

	page_names_begin(&names);
	for (size_t i = 0; i < page->used_cnt; i++) {
		uint32_t item = page->frames.order[i];
		struct tree_frame frame = { .name = "all", .kind = TREE_KIND_PROCESS };

		if (item == hidden_frame(page)) {
			frame = (struct tree_frame){ .name = "hidden", .kind = TREE_KIND_HIDDEN };
		} else if (item < page->item_cnt) {
			struct diff_catalog_name name =
				diff_catalog__name(page->diff->catalog, item);

			frame.name = name.text;
			frame.kind =
				diff_paths_kind(&name, page->items[item].kind == DIFF_KIND_PATH);
		}
		frame.name_len = strlen(frame.name);
		page_names_add(&names, &frame);
	}
	page_names_end(&names);
}

static int write_facts(const struct diff_page *page, struct json_writer *json)
{
	const struct diff_output *diff = page->diff;
	const struct diff_summary *summary = &diff->result->summary;
	__cleanup_strbuf struct strbuf sentence = STRBUF_INIT;
	int err;

	json_writer_member_string(json, "title", diff->title ? diff->title : "");
	json_writer_member_string(json, "event", diff_words_event(diff));
	json_writer_member_bool(json, "isTime", event_unit(diff->event) == EVENT_UNIT_NANOSECONDS);
	json_writer_member_string(json, "subtitle", diff->subtitle ? diff->subtitle : "");
	json_writer_newline(json);
	json_writer_member_begin(json, "header", '[');
	diff_sentence(diff, &sentence);
	err = strbuf_error(&sentence);
	if (!err)
		err = write_header_line(json, "In short", strbuf_str(&sentence), false);
	if (!err)
		err = diff_words_header(diff, write_header_line, json);
	json_writer_end(json, ']');
	json_writer_newline(json);
	json_writer_member_bool(json, "isJudged", diff_words_is_judged(diff));
	write_pair(json, "cores", summary->cores_a, summary->cores_b);
	write_pair(json, "leftOut", (double)page->left_out[0], (double)page->left_out[1]);
	json_writer_member_begin(json, "verdicts", '[');
	for (int i = 0; i < DIFF_VERDICT_CNT; i++)
		json_writer_string(json, diff_verdict_name((enum diff_verdict)i));
	json_writer_end(json, ']');
	return err;
}

static int write_data(const struct diff_page *page, struct strbuf *out)
{
	struct json_writer json = { .out = out };
	struct strbuf tree __cleanup_strbuf = STRBUF_INIT;
	struct strbuf methods __cleanup_strbuf = STRBUF_INIT;
	int err;

	json_writer_begin(&json, '{');
	err = write_facts(page, &json);
	json_writer_newline(&json);
	page_palette(&json);
	write_names(page, &json);
	append_tree(page, &tree);
	append_methods(page, &methods);
	json_writer_newline(&json);
	json_writer_member_u64(&json, "rootFrame", page->frames.number[root_frame(page)]);
	json_writer_newline(&json);
	json_writer_member_text(&json, "tree", &tree);
	json_writer_newline(&json);
	json_writer_member_text(&json, "methods", &methods);
	json_writer_end(&json, '}');
	return err ? err : strbuf_error(out);
}

static int write_noscript(const struct diff_output *diff, struct strbuf *out)
{
	struct strbuf text __cleanup_strbuf = STRBUF_INIT;
	int err = diff_output_table(diff, HTML_NOSCRIPT_ROWS, &text);

	if (!err)
		page_lines(out, strbuf_str(&text));
	return err ? err : strbuf_error(out);
}

static int write_slot(void *ctx, const char *name, struct strbuf *out)
{
	const struct diff_page *page = ctx;
	const char *title = page->diff->title ? page->diff->title : "";

	if (strcmp(name, "noscript") == 0)
		return write_noscript(page->diff, out);
	if (strcmp(name, "data") == 0)
		return write_data(page, out);
	if (strcmp(name, "title") == 0)
		escape_html(out, title, strlen(title));
	else if (strcmp(name, "style") == 0)
		page_append(out, diff_style_start, diff_style_end);
	else if (strcmp(name, "script") == 0)
		page_append(out, diff_script_start, diff_script_end);
	else
		return -EINVAL;
	return strbuf_error(out);
}

int diff_output_html(const struct diff_output *diff, struct strbuf *out)
{
	struct diff_page page = { .diff = diff };
	int err;

	page.items = diff_catalog__items(diff->catalog, &page.item_cnt);
	if (page.item_cnt > diff->result->row_cnt)
		page.item_cnt = diff->result->row_cnt;
	err = diff_paths_make(diff, &page.paths);
	if (!err)
		err = diff_paths_prune(&page.paths, HTML_NODES_MAX);
	if (!err)
		err = choose_methods(&page);
	if (!err)
		err = number_frames(&page);
	if (!err)
		err = page_fill(diff_page_start, diff_page_end, write_slot, &page, out);
	page_release(&page);
	return err;
}
