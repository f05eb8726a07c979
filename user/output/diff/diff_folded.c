// SPDX-License-Identifier: Apache-2.0
/*
 * "stack before after": what difffolded.pl -n prints and flamegraph.pl draws as a differential graph.
 * flamegraph.pl colours by the difference of the counts, and sides of unlike lengths of time or
 * frequencies would be red or blue all over. So the side before is scaled to the total of the side
 * after, as difffolded.pl -n does: what is compared is shares, as in every format.
 *
 * A place's own samples are its total less its children's. Names are escaped as in folded profiles;
 * stacks that become the same by that are added up.
 */
#include "user/output/diff/diff_output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/stack_text.h"
#include "user/output/diff/diff_paths.h"
#include "user/util/cleanup.h"
#include "user/util/lines.h"
#include "user/util/saturate.h"

#define CUT_TEXT ";[truncated]"

struct folded_line {
	size_t at; /* in the text of all stacks */
	size_t len;
	uint64_t samples[DIFF_PATHS_SIDES];
};

struct folded {
	const struct diff_output *diff;
	struct diff_paths paths;
	struct strbuf stack; /* of the node that was seen last */
	struct strbuf name;
	size_t *ends;	     /* by depth: where the stack of that node ends */
	struct strbuf texts; /* all stacks, one after the other */
	struct folded_line *lines;
	size_t line_cnt;
};

static void folded_release(struct folded *folded)
{
	diff_paths_release(&folded->paths);
	strbuf_release(&folded->stack);
	strbuf_release(&folded->name);
	strbuf_release(&folded->texts);
	free(folded->ends);
	free(folded->lines);
}

static int append_frame(struct folded *folded, size_t node)
{
	const struct tree_frame *frame =
		&folded->paths.tree.frames[folded->paths.tree.nodes[node].frame];
	enum frame_kind kind = frame->kind < TREE_KIND_UNKNOWN ? (enum frame_kind)frame->kind :
								 FRAME_KIND_NATIVE;
	int err;

	strbuf_clear(&folded->name);
	strbuf_append(&folded->name, frame->name, frame->name_len);
	err = strbuf_error(&folded->name);
	if (err)
		return err;
	for (size_t i = 0; i < folded->name.len; i++) {
		/* A line that starts with '#' is a comment to flamegraph.pl. */
		if (folded->name.data[i] == '\0' ||
		    (i == 0 && folded->stack.len == 0 && folded->name.data[i] == '#'))
			folded->name.data[i] = '_';
	}
	err = stack_text_append(&folded->stack, strbuf_str(&folded->name), kind);
	/* What is deeper than a line may be long keeps its place, under the last frame with room. */
	if (err == -E2BIG) {
		size_t len = folded->stack.len;

		if (len >= strlen(CUT_TEXT) && memcmp(folded->stack.data + len - strlen(CUT_TEXT),
						      CUT_TEXT, strlen(CUT_TEXT)) == 0)
			return 0;
		strbuf_puts(&folded->stack, CUT_TEXT);
		return strbuf_error(&folded->stack);
	}
	return err;
}

static void collect_line(struct folded *folded, size_t node)
{
	const struct diff_paths_sum *self = &folded->paths.selfs[node];

	if (!self->samples[DIFF_PATHS_BEFORE] && !self->samples[DIFF_PATHS_AFTER])
		return;
	folded->lines[folded->line_cnt++] = (struct folded_line){
		.at = folded->texts.len,
		.len = folded->stack.len,
		.samples = { self->samples[DIFF_PATHS_BEFORE], self->samples[DIFF_PATHS_AFTER] },
	};
	strbuf_add(&folded->texts, &folded->stack);
}

static int collect_lines(struct folded *folded)
{
	const struct tree *tree = &folded->paths.tree;
	int err = 0;

	for (size_t i = 1; !err && i < tree->node_cnt; i++) {
		uint32_t depth = tree->nodes[i].depth;

		if (folded->stack.len)
			strbuf_truncate(&folded->stack, folded->ends[depth - 1]);
		err = append_frame(folded, i);
		folded->ends[depth] = folded->stack.len;
		if (!err)
			collect_line(folded, i);
	}
	return err ? err : strbuf_error(&folded->texts);
}

static int compare_lines(const void *left, const void *right, void *texts)
{
	const struct folded_line *a = left;
	const struct folded_line *b = right;
	const char *all = texts;

	return bytes_compare(all + a->at, a->len, all + b->at, b->len);
}

static uint64_t samples_of(const struct folded *folded, int side)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < folded->line_cnt; i++)
		samples = add_saturated(samples, folded->lines[i].samples[side]);
	return samples;
}

static void scale_before(struct folded *folded)
{
	long double before = samples_of(folded, DIFF_PATHS_BEFORE);
	long double after = samples_of(folded, DIFF_PATHS_AFTER);

	for (size_t i = 0; before > 0 && after > 0 && i < folded->line_cnt; i++) {
		uint64_t *samples = &folded->lines[i].samples[DIFF_PATHS_BEFORE];

		*samples = (uint64_t)(*samples * (after / before) + 0.5L);
	}
}

static int write_lines(struct folded *folded, struct strbuf *out)
{
	struct folded_line *lines = folded->lines;
	char *texts = folded->texts.data;

	if (!folded->line_cnt)
		return 0;
	scale_before(folded);
	qsort_r(lines, folded->line_cnt, sizeof(*lines), compare_lines, texts);
	for (size_t i = 0; i < folded->line_cnt; i++) {
		struct folded_line line = lines[i];

		for (; i + 1 < folded->line_cnt && compare_lines(&line, &lines[i + 1], texts) == 0;
		     i++)
			for (int side = 0; side < DIFF_PATHS_SIDES; side++)
				line.samples[side] = add_saturated(line.samples[side],
								   lines[i + 1].samples[side]);
		strbuf_append(out, texts + line.at, line.len);
		strbuf_printf(out, " %" PRIu64 " %" PRIu64 "\n", line.samples[DIFF_PATHS_BEFORE],
			      line.samples[DIFF_PATHS_AFTER]);
	}
	return strbuf_error(out);
}

int diff_output_folded(const struct diff_output *diff, struct strbuf *out)
{
	struct folded folded = { .diff = diff };
	int err = diff_paths_make(diff, &folded.paths);

	if (!err) {
		folded.lines = calloc(folded.paths.tree.node_cnt, sizeof(*folded.lines));
		folded.ends = calloc(folded.paths.tree.node_cnt + 1, sizeof(*folded.ends));
		err = folded.lines && folded.ends ? collect_lines(&folded) : -ENOMEM;
	}
	if (!err)
		err = write_lines(&folded, out);
	folded_release(&folded);
	return err;
}
