// SPDX-License-Identifier: Apache-2.0
/*
 * The interactive page: page/flamegraph.html with its {{slots}} filled. The data are one JSON
 * object in a <script type="application/json">; the tree in it is a string of numbers in base 32,
 * so that a node takes about five bytes:
 *
 *   per node but the root, in preorder: frame, levels to go up from the node before (0 = its
 *   child), self; behind a node of kind "hidden" the number of nodes it stands for.
 *
 * Numbers are those of page_number().
 */
#include "user/output/output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/event_view.h"
#include "user/output/colors.h"
#include "user/output/escape.h"
#include "user/output/info.h"
#include "user/output/json_writer.h"
#include "user/output/page_parts.h"
#include "user/output/tree.h"
#include "user/util/cleanup.h"

#define HTML_NODES_MAX	   200000 /* a page of some 3 MB; what is pruned stays visible as a sum */
#define HTML_NOSCRIPT_ROWS 50
#define HTML_LINES_MAX	   2000 /* hottest; some 150 kB at worst */

/* flamegraph_page.S */
extern const char flamegraph_page_start[], flamegraph_page_end[];
extern const char flamegraph_style_start[], flamegraph_style_end[];
extern const char flamegraph_script_start[], flamegraph_script_end[];

static int html_frames_number(const struct tree *tree, struct page_frames *out)
{
	__cleanup_free uint32_t *uses = calloc(tree->frame_cnt, sizeof(*uses));

	if (!uses)
		return -ENOMEM;
	for (size_t i = 1; i < tree->node_cnt; i++)
		uses[tree->nodes[i].frame]++;
	return page_frames_make(uses, tree->frame_cnt, out);
}

static void html_tree(const struct tree *tree, const struct page_frames *frames, struct strbuf *out)
{
	uint32_t last_depth = 0;

	for (size_t i = 1; i < tree->node_cnt; i++) {
		const struct tree_node *node = &tree->nodes[i];

		page_number(out, frames->number[node->frame]);
		page_number(out, last_depth + 1 - node->depth);
		page_number(out, node->self);
		if (node->hidden_cnt)
			page_number(out, node->hidden_cnt);
		last_depth = node->depth;
	}
}

static void html_frame_table(const struct tree *tree, const struct page_frames *frames,
			     struct json_writer *json)
{
	struct page_names names = { .json = json };

	page_names_begin(&names);
	for (size_t i = 0; i < tree->frame_cnt; i++)
		page_names_add(&names, &tree->frames[frames->order[i]]);
	page_names_end(&names);
}

static void html_member(struct json_writer *json, const char *key, const char *text)
{
	if (text && *text)
		json_writer_member_string(json, key, text);
}

/* By what the page knows threads that wait for work, which it leaves out: names, and [place, frame, except, callee]. */
static void html_waiting(struct json_writer *json)
{
	json_writer_member_begin(json, "places", '[');
	for (int i = 0; i < WAITING_PLACE_CNT; i++)
		json_writer_string(json, waiting_place_name((enum waiting_place)i));
	json_writer_end(json, ']');
	json_writer_member_begin(json, "waits", '[');
	for (const struct waiting_rule *rule = waiting_rules; rule->frame; rule++) {
		json_writer_begin(json, '[');
		json_writer_u64(json, rule->place);
		json_writer_string(json, rule->frame);
		json_writer_string(json, rule->except ? rule->except : "");
		json_writer_string(json, rule->callee ? rule->callee : "");
		json_writer_end(json, ']');
	}
	json_writer_end(json, ']');
}

/* What samples stand for: `hz`, or `time` or `events` and their `period`. */
static void html_unit(const struct output_info *info, struct json_writer *json)
{
	bool is_time = event_unit(info->event) == EVENT_UNIT_NANOSECONDS && info->period;

	json_writer_member_u64(json, "hz", info->frequency_hz);
	if (event_has_waits(info->event))
		html_waiting(json);
	if (info->shows_idle)
		json_writer_member_bool(json, "showsIdle", true);
	if (!is_time && !info_events(info, 1))
		return;
	json_writer_member_string(json, is_time ? "time" : "events", event_title(info->event));
	json_writer_member_u64(json, "period", info->period);
	if (event_is_measured(info->event))
		json_writer_member_bool(json, "measured", true);
	if (info_event_bytes(info->event))
		json_writer_member_u64(json, "eventBytes", info_event_bytes(info->event));
}

/* The header's words are made here so that all formats say the same. */
static void html_info(const struct output_info *info, uint64_t samples, struct json_writer *json)
{
	struct strbuf range __cleanup_strbuf = STRBUF_INIT;

	info_append_range(&range, info);
	json_writer_member_string(json, "title", info->title ? info->title : "");
	json_writer_member_string(json, "subtitle", info->subtitle ? info->subtitle : "");
	json_writer_member_text(json, "range", &range);
	json_writer_member_u64(json, "samples", samples);
	html_unit(info, json);
	html_member(json, "host", info->host);
	html_member(json, "image", info->image);
	html_member(json, "jvm", info->jvm);
	html_member(json, "own", info->own);
	if (info_has_gap(info))
		json_writer_member_bool(json, "hasGap", true);
	json_writer_member_u64(json, "labels", info->label_cnt);
	json_writer_member_u64(json, "streams", info->stream_cnt);
	json_writer_key(json, "unknownPercent");
	json_writer_decimal(json, info_percent(info->counts.unknown_frames, info->counts.frames));
	json_writer_key(json, "truncatedPercent");
	json_writer_decimal(json, info_truncated_percent(info, samples));
	json_writer_member_u64(json, "lost", info->lost_samples);
	if (info->is_selection)
		json_writer_member_bool(json, "isSelection", true);
	if (info->is_part)
		json_writer_member_bool(json, "isPart", true);
}

/* The hottest lines, which the page adds up by method: [method, file, line, samples]. */
static int html_lines(const struct output_info *info, struct json_writer *json)
{
	size_t cnt = info->lines ? source_lines__count(info->lines) : 0;
	int err = cnt ? source_lines__sort(info->lines) : 0;

	if (err || !cnt)
		return err;
	json_writer_newline(json);
	json_writer_member_begin(json, "lines", '[');
	for (size_t i = 0; i < cnt && i < HTML_LINES_MAX; i++) {
		struct source_line row = source_lines__get(info->lines, i);

		json_writer_newline(json);
		json_writer_begin(json, '[');
		json_writer_string_n(json, row.name, row.name_len);
		json_writer_string_n(json, row.file, row.file_len);
		json_writer_u64(json, row.line);
		json_writer_u64(json, row.samples);
		json_writer_end(json, ']');
	}
	json_writer_end(json, ']');
	return 0;
}

static int html_data(const struct tree *tree, const struct output_info *info, struct strbuf *out)
{
	struct json_writer json = { .out = out };
	struct strbuf text __cleanup_strbuf = STRBUF_INIT;
	struct page_frames frames = { 0 };
	int err = html_frames_number(tree, &frames);

	if (err)
		return err;
	json_writer_begin(&json, '{');
	html_info(info, tree->nodes[0].total, &json);
	json_writer_newline(&json);
	page_palette(&json);
	html_frame_table(tree, &frames, &json);
	html_tree(tree, &frames, &text);
	json_writer_newline(&json);
	json_writer_member_u64(&json, "rootFrame", frames.number[0]);
	json_writer_member_u64(&json, "rootSelf", tree->nodes[0].self);
	json_writer_newline(&json);
	json_writer_member_text(&json, "tree", &text);
	err = html_lines(info, &json);
	json_writer_end(&json, '}');
	page_frames_release(&frames);
	return err ? err : strbuf_error(out);
}

struct html_page {
	const struct strbuf *noscript; /* a table of methods */
	const struct tree *tree;
	const struct output_info *info;
};

static int html_slot(void *ctx, const char *name, struct strbuf *out)
{
	const struct html_page *page = ctx;
	const char *title = page->info->title ? page->info->title : "";

	if (strcmp(name, "data") == 0)
		return html_data(page->tree, page->info, out);
	if (strcmp(name, "noscript") == 0)
		page_lines(out, strbuf_str(page->noscript));
	else if (strcmp(name, "title") == 0)
		escape_html(out, title, strlen(title));
	else if (strcmp(name, "style") == 0)
		page_append(out, flamegraph_style_start, flamegraph_style_end);
	else if (strcmp(name, "script") == 0)
		page_append(out, flamegraph_script_start, flamegraph_script_end);
	else
		return -EINVAL;
	return strbuf_error(out);
}

int output_html(struct profile *profile, const struct output_info *info, struct strbuf *out)
{
	struct strbuf noscript __cleanup_strbuf = STRBUF_INIT;
	struct tree tree = { 0 };
	struct html_page page = { .noscript = &noscript, .tree = &tree, .info = info };
	int err = tree_build(profile, &tree);

	if (!err)
		err = output_top_of_tree(&tree, info, TREE_ORDER_SELF, HTML_NOSCRIPT_ROWS,
					 &noscript);
	if (!err)
		err = tree_prune(&tree, HTML_NODES_MAX);
	if (!err)
		err = page_fill(flamegraph_page_start, flamegraph_page_end, html_slot, &page, out);
	tree_release(&tree);
	return err;
}
