// SPDX-License-Identifier: Apache-2.0
/*
 * The static picture: root at the bottom, a <g> with a <title> per frame, no script, nothing that
 * differs between two runs. Text is monospaced so that its width is known without a browser.
 */
#include "user/output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/output/colors.h"
#include "user/output/escape.h"
#include "user/output/info.h"
#include "user/output/tree.h"
#include "user/util/cleanup.h"
#include "user/util/utf8.h"

#define SVG_WIDTH	1200.0
#define SVG_MARGIN	12.0
#define SVG_ROW		17
#define SVG_HEADER	82
#define SVG_FOOTER	56
#define SVG_MIN_WIDTH	0.5  /* narrower frames are counted, not drawn */
#define SVG_CHAR_WIDTH	6.65 /* of 11 px monospace */
#define SVG_TEXT_MARGIN 4.0
#define SVG_NODES_MAX	50000 /* beyond that a picture opens nowhere; the rest is a sum */

struct svg {
	const struct tree *tree;
	const struct output_info *info;
	struct strbuf *out;
	double scale; /* pixels per sample */
	size_t row_cnt;
	size_t skipped_cnt;
	bool kinds[TREE_KIND_CNT]; /* drawn */
};

static void svg_puts(struct svg *svg, const char *text)
{
	strbuf_puts(svg->out, text);
}

#define svg_printf(svg, ...) strbuf_printf((svg)->out, __VA_ARGS__)

static void svg_escape(struct svg *svg, const char *text, size_t len)
{
	escape_html(svg->out, text, len);
}

static double svg_width_of(const struct svg *svg, const struct tree_node *node)
{
	return (double)node->total * svg->scale;
}

static size_t svg_row_cnt(const struct svg *svg)
{
	size_t deepest = 0;

	for (size_t i = 0; i < svg->tree->node_cnt; i++) {
		const struct tree_node *node = &svg->tree->nodes[i];

		if (svg_width_of(svg, node) >= SVG_MIN_WIDTH && node->depth > deepest)
			deepest = node->depth;
	}
	return deepest + 1;
}

/* Bytes of the first `max` characters. */
static size_t svg_prefix(const char *text, size_t len, size_t max)
{
	size_t at = 0;

	for (size_t cnt = 0; at < len && cnt < max; cnt++) {
		uint32_t code;

		at += utf8_next(text + at, len - at, &code);
	}
	return at;
}

/* "com.example.shop.Cart.add" -> where "Cart.add" starts; 0 when there is no package. */
static size_t svg_package_len(const struct tree_frame *frame)
{
	size_t last = 0;
	size_t before = 0;

	if (frame->kind < TREE_KIND_JIT || frame->kind > TREE_KIND_INLINED)
		return 0;
	for (size_t i = 0; i < frame->name_len && frame->name[i] != '('; i++) {
		if (frame->name[i] == '.') {
			before = last;
			last = i + 1;
		}
	}
	return before;
}

/* As much of the name as fits: whole, without its package, or cut. */
static void svg_label(struct svg *svg, const struct tree_frame *frame, double x, size_t y,
		      double width)
{
	double room = (width - SVG_TEXT_MARGIN * 2) / SVG_CHAR_WIDTH;
	const char *name = frame->name;
	size_t len = frame->name_len;
	size_t max = room < 3 ? 0 : (size_t)room;
	size_t bytes;

	if (max == 0)
		return;
	if (svg_prefix(name, len, max) < len) {
		name += svg_package_len(frame);
		len -= svg_package_len(frame);
	}
	bytes = svg_prefix(name, len, max);
	if (bytes < len)
		bytes = svg_prefix(name, len, max - 2);
	svg_printf(svg, "<text x=\"%.1f\" y=\"%zu\">", x + SVG_TEXT_MARGIN, y + 12);
	svg_escape(svg, name, bytes);
	svg_puts(svg, bytes < len ? "..</text>" : "</text>");
}

/* Of a method that several tiers ran, the one that ran most of it. */
static enum tree_kind svg_kind(const uint64_t *tiers, enum tree_kind kind)
{
	enum frame_kind tier = tree_kind_is_java(kind) ? info_main_tier(tiers) : FRAME_KIND_NATIVE;

	return tier == FRAME_KIND_NATIVE ? kind : (enum tree_kind)tier;
}

static void svg_frame(struct svg *svg, const struct tree_node *node, double x)
{
	const struct tree_frame *frame = &svg->tree->frames[node->frame];
	const uint64_t *tiers = svg->tree->tiers[node->tiers];
	enum tree_kind kind = svg_kind(tiers, frame->kind);
	size_t y = SVG_HEADER + (svg->row_cnt - 1 - node->depth) * SVG_ROW;
	double width = svg_width_of(svg, node);

	svg->kinds[kind] = true;
	svg_puts(svg, "<g><title>");
	svg_escape(svg, frame->name, frame->name_len);
	svg_printf(svg, "\n%s", color_kind(kind)->label);
	if (tree_kind_is_java(kind) && tiers[kind] < node->total)
		info_append_tiers(svg->out, tiers, node->total);
	svg_puts(svg, "\n");
	info_append_amount(svg->out, svg->info, node->total);
	svg_printf(svg, ", %.2f %%", info_percent(node->total, svg->tree->nodes[0].total));
	if (node->self && node->self != node->total)
		svg_printf(svg, "\nself %" PRIu64 ", %.2f %%", node->self,
			   info_percent(node->self, svg->tree->nodes[0].total));
	svg_printf(svg,
		   "</title><rect x=\"%.1f\" y=\"%zu\" width=\"%.1f\" height=\"%d\" "
		   "fill=\"#%.6s\"/>",
		   x, y, width > 1.5 ? width - 0.5 : width, SVG_ROW - 1,
		   color_hex(kind, color_shade(frame->name, frame->name_len)));
	svg_label(svg, frame, x, y, width);
	svg_puts(svg, "</g>\n");
}

static int svg_frames(struct svg *svg)
{
	const struct tree *tree = svg->tree;
	/*
	 * Where a node's next child goes, by level of the path being walked: one for each drawn row, and one that takes
	 * what its narrow children advance.
	 */
	__cleanup_free double *next_x = calloc(svg->row_cnt + 1, sizeof(*next_x));

	if (!next_x)
		return -ENOMEM;
	next_x[0] = SVG_MARGIN;
	for (size_t i = 0; i < tree->node_cnt && !strbuf_error(svg->out); i++) {
		const struct tree_node *node = &tree->nodes[i];
		double x;

		if (svg_width_of(svg, node) < SVG_MIN_WIDTH) {
			svg->skipped_cnt += node->hidden_cnt ? node->hidden_cnt : 1;
			if (node->depth < svg->row_cnt)
				next_x[node->depth] += svg_width_of(svg, node);
			continue;
		}
		x = next_x[node->depth];
		next_x[node->depth] += svg_width_of(svg, node);
		next_x[node->depth + 1] = x;
		svg_frame(svg, node, x);
	}
	return 0;
}

static void svg_line(struct svg *svg, size_t y, const char *class, const struct strbuf *text)
{
	svg_printf(svg, "<text class=\"%s\" x=\"%.0f\" y=\"%zu\">", class, SVG_MARGIN, y);
	svg_escape(svg, strbuf_str(text), text->len);
	svg_puts(svg, "</text>\n");
	strbuf_fail(svg->out, strbuf_error(text));
}

static void svg_header(struct svg *svg, const struct output_info *info)
{
	struct strbuf line __cleanup_strbuf = STRBUF_INIT;
	uint64_t samples = svg->tree->nodes[0].total;
	size_t height = SVG_HEADER + svg->row_cnt * SVG_ROW + SVG_FOOTER;

	svg_printf(
		svg,
		"<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%zu\" "
		"viewBox=\"0 0 %.0f %zu\" role=\"img\" aria-labelledby=\"title\">\n<title id=\"title\">",
		SVG_WIDTH, height, SVG_WIDTH, height);
	svg_escape(svg, info->title ? info->title : "", info->title ? strlen(info->title) : 0);
	svg_puts(svg, "</title>\n<style>\n"
		      "text { font: 11px \"DejaVu Sans Mono\", Menlo, Consolas, monospace; "
		      "fill: #" COLOR_TEXT_LIGHT "; white-space: pre; }\n"
		      ".title { font: 600 17px system-ui, sans-serif; }\n"
		      ".note { font: 12px system-ui, sans-serif; fill: #52525b; }\n"
		      "g:hover rect { stroke: #" COLOR_TEXT_LIGHT "; }\n"
		      "</style>\n");
	svg_printf(svg, "<rect width=\"%.0f\" height=\"%zu\" fill=\"#ffffff\"/>\n", SVG_WIDTH,
		   height);
	strbuf_puts(&line, info->title ? info->title : "");
	svg_line(svg, 26, "title", &line);
	strbuf_clear(&line);
	if (info->subtitle && *info->subtitle)
		strbuf_printf(&line, "%s  ", info->subtitle);
	info_append_range(&line, info);
	svg_line(svg, 46, "note", &line);
	strbuf_clear(&line);
	info_append_samples(&line, info, samples);
	strbuf_puts(&line, "; ");
	info_append_losses(&line, info, samples);
	svg_line(svg, 64, "note", &line);
}

static void svg_footer(struct svg *svg)
{
	size_t y = SVG_HEADER + svg->row_cnt * SVG_ROW + 16;
	double x = SVG_MARGIN;

	for (int kind = 0; kind < TREE_KIND_CNT; kind++) {
		if (!svg->kinds[kind])
			continue;
		svg_printf(svg,
			   "<rect x=\"%.0f\" y=\"%zu\" width=\"11\" height=\"11\" fill=\"#%.6s\"/>"
			   "<text class=\"note\" x=\"%.0f\" y=\"%zu\">%s</text>\n",
			   x, y, color_hex((enum tree_kind)kind, 5), x + 16, y + 10,
			   color_kind((enum tree_kind)kind)->label);
		x += 40 + 6.7 * (double)strlen(color_kind((enum tree_kind)kind)->label);
	}
	if (svg->skipped_cnt)
		svg_printf(svg,
			   "<text class=\"note\" x=\"%.0f\" y=\"%zu\">%zu frame%s narrower than "
			   "%.1f px %s not drawn</text>\n",
			   SVG_MARGIN, y + 28, svg->skipped_cnt, info_plural(svg->skipped_cnt),
			   SVG_MIN_WIDTH, svg->skipped_cnt == 1 ? "is" : "are");
	svg_puts(svg, "</svg>\n");
}

static int svg_write(struct svg *svg, const struct output_info *info)
{
	int err;

	svg_header(svg, info);
	err = svg_frames(svg);
	svg_footer(svg);
	return err ? err : strbuf_error(svg->out);
}

int output_svg(struct profile *profile, const struct output_info *info, struct strbuf *out)
{
	struct tree tree = { 0 };
	struct svg svg = { .tree = &tree, .info = info, .out = out };
	int err = tree_build_methods(profile, &tree);

	if (!err)
		err = tree_prune(&tree, SVG_NODES_MAX);
	if (err) {
		tree_release(&tree);
		return err;
	}
	if (tree.nodes[0].total)
		svg.scale = (SVG_WIDTH - SVG_MARGIN * 2) / (double)tree.nodes[0].total;
	svg.row_cnt = svg_row_cnt(&svg);
	err = svg_write(&svg, info);
	tree_release(&tree);
	return err;
}
