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

static const char *top_suffix(enum tree_kind kind)
{
	return frame_kind_suffix(kind < TREE_KIND_UNKNOWN ? (enum frame_kind)kind :
							    FRAME_KIND_NATIVE);
}

static int top_row(const struct tree *tree, const struct tree_method *method, int width,
		   struct strbuf *out)
{
	const struct tree_frame *frame = &tree->frames[method->frame];
	uint64_t samples = tree->nodes[0].total;
	int err;

	err = strbuf_printf(out, "%6.2f  %*" PRIu64 "  %6.2f  %*" PRIu64 "  ",
			    info_percent(method->self, samples), width, method->self,
			    info_percent(method->total, samples), width, method->total);
	if (!err)
		err = escape_terminal(out, frame->name, frame->name_len);
	if (!err)
		err = strbuf_printf(out, "%s\n", top_suffix(frame->kind));
	return err;
}

static int top_rows(const struct tree *tree, size_t limit, struct strbuf *out)
{
	__cleanup_free struct tree_method *methods = NULL;
	uint64_t samples = tree->nodes[0].total;
	int width = snprintf(NULL, 0, "%" PRIu64, samples);
	size_t cnt;
	size_t shown;
	int err = tree_methods(tree, &methods, &cnt);

	if (err)
		return err;
	if (width < (int)strlen("TOTAL"))
		width = (int)strlen("TOTAL");
	shown = limit && limit < cnt ? limit : cnt;
	err = strbuf_printf(out, " SELF%%  %*s  TOTAL%%  %*s  METHOD\n", width, "SELF", width,
			    "TOTAL");
	for (size_t i = 0; i < shown && !err; i++)
		err = top_row(tree, &methods[i], width, out);
	if (!err && shown < cnt)
		err = strbuf_printf(out, "%zu more method%s not shown\n", cnt - shown,
				    cnt - shown == 1 ? "" : "s");
	return err;
}

int output_top(struct profile *profile, const struct output_info *info, size_t limit,
	       struct strbuf *out)
{
	struct tree tree = { 0 };
	int err = tree_build(profile, &tree);

	if (err)
		return err;
	err = info_append_header(out, info, tree.nodes[0].total);
	if (!err)
		err = top_rows(&tree, limit, out);
	tree_release(&tree);
	return err;
}
