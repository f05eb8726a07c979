// SPDX-License-Identifier: Apache-2.0
/*
 * The interactive page: page/flamegraph.html with its {{slots}} filled. The data are one JSON
 * object in a <script type="application/json">; the tree in it is a string of numbers in base 32,
 * so that a node takes about five bytes:
 *
 *   per node but the root, in preorder: frame, levels to go up from the node before (0 = its
 *   child), self; behind a node of kind "hidden" the number of nodes it stands for.
 *
 * A number is its 5-bit groups, least first, each one character of HTML_DIGITS; all groups but the
 * last have 32 added.
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
#include "user/output/tree.h"
#include "user/util/cleanup.h"

#define HTML_NODES_MAX	   200000 /* a page of some 3 MB; what is pruned stays visible as a sum */
#define HTML_NOSCRIPT_ROWS 50

static const char HTML_DIGITS[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* flamegraph_page.S */
extern const char flamegraph_page_start[], flamegraph_page_end[];
extern const char flamegraph_style_start[], flamegraph_style_end[];
extern const char flamegraph_script_start[], flamegraph_script_end[];

/* Frames in the order of the page: most used first, so that their numbers are short. */
struct html_frames {
	uint32_t *order;  /* page number -> frame */
	uint32_t *number; /* frame -> page number */
	uint32_t *uses;
};

static void html_frames_release(struct html_frames *frames)
{
	free(frames->order);
	free(frames->number);
	free(frames->uses);
}

static int compare_uses(const void *left, const void *right, void *uses)
{
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;
	const uint32_t *all = uses;

	if (all[a] != all[b])
		return all[a] < all[b] ? 1 : -1;
	return (a > b) - (a < b);
}

static int html_frames_number(const struct tree *tree, struct html_frames *out)
{
	size_t cnt = tree->frame_cnt;

	out->order = calloc(cnt, sizeof(*out->order));
	out->number = calloc(cnt, sizeof(*out->number));
	out->uses = calloc(cnt, sizeof(*out->uses));
	if (!out->order || !out->number || !out->uses)
		return -ENOMEM;
	for (size_t i = 1; i < tree->node_cnt; i++)
		out->uses[tree->nodes[i].frame]++;
	for (size_t i = 0; i < cnt; i++)
		out->order[i] = (uint32_t)i;
	qsort_r(out->order, cnt, sizeof(*out->order), compare_uses, out->uses);
	for (size_t i = 0; i < cnt; i++)
		out->number[out->order[i]] = (uint32_t)i;
	return 0;
}

static int html_number(struct strbuf *out, uint64_t value)
{
	char digits[16];
	size_t len = 0;

	while (value >= 32) {
		digits[len++] = HTML_DIGITS[32 + (value & 31)];
		value >>= 5;
	}
	digits[len++] = HTML_DIGITS[value];
	return strbuf_append(out, digits, len);
}

static int html_tree(const struct tree *tree, const struct html_frames *frames, struct strbuf *out)
{
	uint32_t last_depth = 0;
	int err = 0;

	for (size_t i = 1; i < tree->node_cnt && !err; i++) {
		const struct tree_node *node = &tree->nodes[i];

		err = html_number(out, frames->number[node->frame]);
		if (!err)
			err = html_number(out, last_depth + 1 - node->depth);
		if (!err)
			err = html_number(out, node->self);
		if (!err && node->hidden_cnt)
			err = html_number(out, node->hidden_cnt);
		last_depth = node->depth;
	}
	return err;
}

static void html_palette(struct json_writer *json)
{
	json_writer_key(json, "kinds");
	json_writer_begin(json, '[');
	for (int kind = 0; kind < TREE_KIND_CNT; kind++) {
		const struct color_kind *color = color_kind((enum tree_kind)kind);

		json_writer_newline(json);
		json_writer_begin(json, '{');
		json_writer_member_string(json, "key", color->key);
		json_writer_member_string(json, "label", color->label);
		json_writer_member_string(json, "light", color->light);
		json_writer_member_string(json, "dark", color->dark);
		json_writer_end(json, '}');
	}
	json_writer_end(json, ']');
}

/* names[i], kinds and shades: a character per frame. */
static int html_frame_table(const struct tree *tree, const struct html_frames *frames,
			    struct json_writer *json)
{
	struct strbuf kinds __cleanup_strbuf = STRBUF_INIT;
	struct strbuf shades __cleanup_strbuf = STRBUF_INIT;
	int err = 0;

	json_writer_newline(json);
	json_writer_key(json, "names");
	json_writer_begin(json, '[');
	for (size_t i = 0; i < tree->frame_cnt && !err; i++) {
		const struct tree_frame *frame = &tree->frames[frames->order[i]];

		json_writer_newline(json);
		json_writer_string_n(json, frame->name, frame->name_len);
		err = strbuf_putc(&kinds, HTML_DIGITS[frame->kind]);
		if (!err)
			err = strbuf_putc(&shades,
					  HTML_DIGITS[color_shade(frame->name, frame->name_len)]);
	}
	json_writer_end(json, ']');
	json_writer_newline(json);
	json_writer_member_string(json, "frameKinds", strbuf_str(&kinds));
	json_writer_newline(json);
	json_writer_member_string(json, "frameShades", strbuf_str(&shades));
	return err;
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
	struct html_frames frames = { 0 };
	int err = html_frames_number(tree, &frames);

	json_writer_begin(&json, '{');
	if (!err)
		err = html_info(info, tree->nodes[0].total, &json);
	json_writer_newline(&json);
	html_palette(&json);
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
	html_frames_release(&frames);
	return err ? err : json.err;
}

static int html_noscript(struct profile *profile, const struct output_info *info,
			 struct strbuf *out)
{
	struct strbuf text __cleanup_strbuf = STRBUF_INIT;
	int err = output_top(profile, info, HTML_NOSCRIPT_ROWS, &text);

	/* escape_html() would turn the line breaks into '_'. */
	for (const char *line = strbuf_str(&text); !err && *line;) {
		size_t len = strcspn(line, "\n");

		err = escape_html(out, line, len);
		if (!err)
			err = strbuf_putc(out, '\n');
		line += len + (line[len] == '\n');
	}
	return err;
}

struct html_page {
	struct profile *profile;
	const struct tree *tree;
	const struct output_info *info;
};

static int html_slot(const struct html_page *page, const char *name, struct strbuf *out)
{
	const char *title = page->info->title ? page->info->title : "";

	if (strcmp(name, "title") == 0)
		return escape_html(out, title, strlen(title));
	if (strcmp(name, "style") == 0)
		return strbuf_append(out, flamegraph_style_start,
				     (size_t)(flamegraph_style_end - flamegraph_style_start));
	if (strcmp(name, "noscript") == 0)
		return html_noscript(page->profile, page->info, out);
	if (strcmp(name, "data") == 0)
		return html_data(page->tree, page->info, out);
	if (strcmp(name, "script") == 0)
		return strbuf_append(out, flamegraph_script_start,
				     (size_t)(flamegraph_script_end - flamegraph_script_start));
	return -EINVAL;
}

static int html_fill(const struct html_page *page, struct strbuf *out)
{
	const char *text = flamegraph_page_start;
	size_t left = (size_t)(flamegraph_page_end - flamegraph_page_start);

	for (;;) {
		const char *open = memmem(text, left, "{{", 2);
		const char *close;
		char name[16];
		size_t name_len;
		int err;

		if (!open)
			return strbuf_append(out, text, left);
		err = strbuf_append(out, text, (size_t)(open - text));
		left -= (size_t)(open - text);
		close = memmem(open, left, "}}", 2);
		if (err || !close)
			return err ? err : -EINVAL;
		name_len = (size_t)(close - open - 2);
		if (name_len >= sizeof(name))
			return -EINVAL;
		memcpy(name, open + 2, name_len);
		name[name_len] = '\0';
		err = html_slot(page, name, out);
		if (err)
			return err;
		left -= (size_t)(close + 2 - open);
		text = close + 2;
	}
}

int output_html(struct profile *profile, const struct output_info *info, struct strbuf *out)
{
	struct tree tree = { 0 };
	struct html_page page = { .profile = profile, .tree = &tree, .info = info };
	int err = tree_build(profile, &tree);

	if (!err)
		err = tree_prune(&tree, HTML_NODES_MAX);
	if (!err)
		err = html_fill(&page, out);
	tree_release(&tree);
	return err;
}
