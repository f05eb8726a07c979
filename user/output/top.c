// SPDX-License-Identifier: Apache-2.0
/* The table of methods for terminals. Columns are as wide as their widest number. */
#include "user/output/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "user/output/escape.h"
#include "user/output/info.h"
#include "user/output/tree.h"
#include "user/util/cleanup.h"

static void top_row(const struct tree *tree, const struct output_info *info,
		    const struct tree_method *method, int width, struct strbuf *out)
{
	const struct tree_frame *frame = &tree->frames[method->frame];
	__cleanup_strbuf struct strbuf end = STRBUF_INIT;
	uint64_t samples = tree->nodes[0].total;
	size_t before = out->len;

	if (frame->kind == TREE_KIND_KERNEL)
		strbuf_puts(&end, frame_kind_suffix(FRAME_KIND_KERNEL));
	if (tree_kind_is_java(frame->kind))
		info_append_tiers(&end, method->tiers, method->total);
	strbuf_fail(out, strbuf_error(&end));
	strbuf_printf(out, "%6.2f  %*" PRIu64 "  %6.2f  %*" PRIu64 "  ",
		      info_percent(method->self, samples), width, method->self,
		      info_percent(method->total, samples), width, method->total);
	escape_terminal_within(out, frame->name, frame->name_len,
			       info_name_columns(info, out->len - before + end.len));
	strbuf_printf(out, "%s\n", strbuf_str(&end));
}

static int top_rows(const struct tree *tree, const struct output_info *info, enum tree_order order,
		    size_t limit, struct strbuf *out)
{
	__cleanup_free struct tree_method *methods = NULL;
	uint64_t samples = tree->nodes[0].total;
	int width = snprintf(NULL, 0, "%" PRIu64, samples);
	size_t cnt;
	size_t shown;
	int err = tree_methods_merged(tree, order, &methods, &cnt);

	if (err)
		return err;
	if (width < (int)strlen("TOTAL"))
		width = (int)strlen("TOTAL");
	shown = limit && limit < cnt ? limit : cnt;
	strbuf_printf(out, " SELF%%  %*s  TOTAL%%  %*s  METHOD\n", width, "SELF", width, "TOTAL");
	for (size_t i = 0; i < shown; i++)
		top_row(tree, info, &methods[i], width, out);
	if (shown < cnt)
		strbuf_printf(out, "%zu more method%s not shown\n", cnt - shown,
			      cnt - shown == 1 ? "" : "s");
	return strbuf_error(out);
}

int output_top_of_tree(const struct tree *tree, const struct output_info *info,
		       enum tree_order order, size_t limit, struct strbuf *out)
{
	info_append_header(out, info, tree->nodes[0].total);
	return top_rows(tree, info, order, limit, out);
}

int output_top(struct profile *profile, const struct output_info *info, enum tree_order order,
	       size_t limit, struct strbuf *out)
{
	struct tree tree = { 0 };
	int err = tree_build(profile, &tree);

	if (!err)
		err = output_top_of_tree(&tree, info, order, limit, out);
	tree_release(&tree);
	return err;
}
