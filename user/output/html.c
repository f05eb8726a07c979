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

#include "user/output/colors.h"
#include "user/output/escape.h"
#include "user/output/info.h"
#include "user/output/json_writer.h"
#include "user/output/page_parts.h"
#include "user/output/tree.h"
#include "user/util/cleanup.h"

#define HTML_NODES_MAX	   200000 /* a page of some 3 MB; what is pruned stays visible as a sum */
#define HTML_NOSCRIPT_ROWS 50

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

static int html_tree(const struct tree *tree, const struct page_frames *frames, struct strbuf *out)
{
	uint32_t last_depth = 0;
	int err = 0;

	for (size_t i = 1; i < tree->node_cnt && !err; i++) {
		const struct tree_node *node = &tree->nodes[i];

		err = page_number(out, frames->number[node->frame]);
		if (!err)
			err = page_number(out, last_depth + 1 - node->depth);
		if (!err)
			err = page_number(out, node->self);
		if (!err && node->hidden_cnt)
			err = page_number(out, node->hidden_cnt);
		last_depth = node->depth;
	}
	return err;
}

static int html_frame_table(const struct tree *tree, const struct page_frames *frames,
			    struct json_writer *json)
{
	struct page_names names = { .json = json };

	page_names_begin(&names);
	for (size_t i = 0; i < tree->frame_cnt; i++)
		page_names_add(&names, &tree->frames[frames->order[i]]);
	return page_names_end(&names);
}

/* The header's words are made here so that all formats say the same. */
static int html_info(const struct output_info *info, uint64_t samples, struct json_writer *json)
{
	struct strbuf range __cleanup_strbuf = STRBUF_INIT;
	int err = info_append_range(&range, info);

	json_writer_member_string(json, "title", info->title ? info->title : "");
	json_writer_member_string(json, "subtitle", info->subtitle ? info->subtitle : "");
	json_writer_member_string(json, "range", strbuf_str(&range));
	json_writer_member_u64(json, "samples", samples);
	json_writer_member_u64(json, "hz", info->frequency_hz);
	json_writer_member_u64(json, "streams", info->stream_cnt);
	json_writer_key(json, "unknownPercent");
	json_writer_decimal(json, info_percent(info->counts.unknown_frames, info->counts.frames));
	json_writer_key(json, "truncatedPercent");
	json_writer_decimal(json, info_percent(info->counts.truncated_samples, samples));
	json_writer_member_u64(json, "lost", info->lost_samples);
	return err;
}

static int html_data(const struct tree *tree, const struct output_info *info, struct strbuf *out)
{
	struct json_writer json = { .out = out };
	struct strbuf text __cleanup_strbuf = STRBUF_INIT;
	struct page_frames frames = { 0 };
	int err = html_frames_number(tree, &frames);

	json_writer_begin(&json, '{');
	if (!err)
		err = html_info(info, tree->nodes[0].total, &json);
	json_writer_newline(&json);
	page_palette(&json);
	if (!err)
		err = html_frame_table(tree, &frames, &json);
	if (!err)
		err = html_tree(tree, &frames, &text);
	json_writer_newline(&json);
	json_writer_member_u64(&json, "rootFrame", err ? 0 : frames.number[0]);
	json_writer_member_u64(&json, "rootSelf", tree->nodes[0].self);
	json_writer_newline(&json);
	json_writer_member_string(&json, "tree", strbuf_str(&text));
	json_writer_end(&json, '}');
	page_frames_release(&frames);
	return err ? err : json.err;
}

static int html_noscript(struct profile *profile, const struct output_info *info,
			 struct strbuf *out)
{
	struct strbuf text __cleanup_strbuf = STRBUF_INIT;
	int err = output_top(profile, info, HTML_NOSCRIPT_ROWS, &text);

	return err ? err : page_lines(out, strbuf_str(&text));
}

struct html_page {
	struct profile *profile;
	const struct tree *tree;
	const struct output_info *info;
};

static int html_slot(void *ctx, const char *name, struct strbuf *out)
{
	const struct html_page *page = ctx;
	const char *title = page->info->title ? page->info->title : "";

	if (strcmp(name, "title") == 0)
		return escape_html(out, title, strlen(title));
	if (strcmp(name, "style") == 0)
		return page_append(out, flamegraph_style_start, flamegraph_style_end);
	if (strcmp(name, "noscript") == 0)
		return html_noscript(page->profile, page->info, out);
	if (strcmp(name, "data") == 0)
		return html_data(page->tree, page->info, out);
	if (strcmp(name, "script") == 0)
		return page_append(out, flamegraph_script_start, flamegraph_script_end);
	return -EINVAL;
}

int output_html(struct profile *profile, const struct output_info *info, struct strbuf *out)
{
	struct tree tree = { 0 };
	struct html_page page = { .profile = profile, .tree = &tree, .info = info };
	int err = tree_build(profile, &tree);

	if (!err)
		err = tree_prune(&tree, HTML_NODES_MAX);
	if (!err)
		err = page_fill(flamegraph_page_start, flamegraph_page_end, html_slot, &page, out);
	tree_release(&tree);
	return err;
}
