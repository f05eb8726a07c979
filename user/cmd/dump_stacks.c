// SPDX-License-Identifier: Apache-2.0
/*
 * Without --by and --kind a window's text goes into the profile as it is, which makes a day fast.
 * Otherwise each line is read: its leaf decides the kind, the labels become the first frames.
 */
#include "user/cmd/dump_stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "user/model/folded_line.h"
#include "user/model/stack_text.h"
#include "user/output/output.h"
#include "user/util/lines.h"

/* "shop-1;4711;", every label escaped as a frame. */
static int append_prefix(const struct dump_options *options, const struct window *window,
			 struct strbuf *out)
{
	static const enum window_label labels[DUMP_BY_CNT] = {
		[DUMP_BY_CONTAINER] = WINDOW_LABEL_CONTAINER,
		[DUMP_BY_POD] = WINDOW_LABEL_POD,
		[DUMP_BY_SERVICE] = WINDOW_LABEL_SERVICE,
	};

	for (size_t i = 0; i < options->by_cnt; i++) {
		char pid[16];
		const char *text = pid;
		int err;

		(void)snprintf(pid, sizeof(pid), "%" PRIu32, window->pid);
		if (options->by[i] != DUMP_BY_PID)
			text = window_label(window, labels[options->by[i]]);
		err = stack_text_append(out, *text ? text : OUTPUT_LABEL_NONE, FRAME_KIND_NATIVE);
		if (err)
			return err;
	}
	return options->by_cnt ? strbuf_putc(out, ';') : 0;
}

static int add_line(const struct dump_options *options, const char *line, size_t len,
		    struct strbuf *stack, struct profile *profile, size_t *bad_line_cnt)
{
	size_t prefix_len = stack->len;
	struct stack_frame leaf;
	size_t stack_len;
	uint64_t count;
	int err;

	if (!folded_line_split(line, len, &stack_len, &count) ||
	    !stack_text_leaf(line, stack_len, &leaf)) {
		(*bad_line_cnt)++;
		return 0;
	}
	if (!select_kind_matches(options->selection.kind, leaf.kind))
		return 0;
	if (prefix_len == 0)
		return profile__add(profile, line, stack_len, count);
	err = strbuf_append(stack, line, stack_len);
	if (!err)
		err = profile__add(profile, stack->data, stack->len, count);
	strbuf_truncate(stack, prefix_len);
	return err;
}

int dump_stacks_add(const struct dump_options *options, const struct window *window,
		    const char *text, size_t len, struct profile *profile, size_t *bad_line_cnt)
{
	__cleanup_strbuf struct strbuf stack = STRBUF_INIT;
	struct lines lines = lines_init(text, len);
	struct line line;
	int err;

	if (options->by_cnt == 0 && options->selection.kind == SELECT_KIND_ANY) {
		size_t bad_cnt = 0;

		err = profile__add_folded(profile, text, len, &bad_cnt);
		*bad_line_cnt += bad_cnt;
		return err;
	}
	err = append_prefix(options, window, &stack);
	while (!err && lines_next(&lines, &line))
		err = add_line(options, line.at, line.len, &stack, profile, bad_line_cnt);
	return err;
}
