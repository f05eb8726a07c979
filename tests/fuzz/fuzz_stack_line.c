// SPDX-License-Identifier: Apache-2.0
/*
 * Names of any bytes on one line of folded text, from the leaf to the root. Whatever the names are,
 * the line is within its limit, clean, and reads back as the frames that were taken; it ends only
 * where the next frame has no room, which the writer that knows no line is asked about.
 *
 * Input: two bytes (how names are cut, how often the input is gone through), the process's name up
 * to a newline, then frames: one byte for the kind, the name up to a newline.
 */
#include "symbols/names/name_table.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/parse_here.h"
#include "user/model/stack_text.h"
#include "user/util/account.h"

#define FRAMES_MAX 20000u

/* As it stands behind another frame, by the writer that builds from the root. */
static size_t frame_len(const char *name, enum frame_kind kind)
{
	struct strbuf text __cleanup_strbuf = STRBUF_INIT;

	must(stack_text_append(&text, "x", FRAME_KIND_NATIVE) == 0);
	must(stack_text_append(&text, name, kind) == 0);
	return text.len - 1;
}

struct frames {
	enum frame_kind kinds[FRAMES_MAX];
	size_t cnt;
};

/* False: the line takes no more. */
static bool take_frame(struct stack_line *line, struct fuzz_input *input, struct frames *frames)
{
	enum frame_kind kind = (enum frame_kind)(fuzz_u8(input) % FRAME_KIND_CNT);
	char *name = fuzz_text(input, '\n');
	size_t before = line->start;
	bool has_room = stack_line_prepend(line, name, kind);
	size_t len = frame_len(name, kind);

	free(name);
	if (has_room) {
		must(before - line->start <= len);
		must(line->max_name_bytes < STACK_TEXT_NAME_BYTES || before - line->start == len);
		frames->kinds[frames->cnt++] = kind;
	} else {
		must(line->start == before);
		must(before < len + line->root_len + strlen(";" STACK_LINE_TRUNCATED));
	}
	return has_room && frames->cnt < FRAMES_MAX;
}

static void check_line(const char *text, size_t len, const struct frames *frames, bool is_cut)
{
	struct stack_frame frame;

	must(len <= STACK_TEXT_MAX_BYTES && strlen(text) == len && fuzz_is_clean(text, len, ""));
	must(stack_text_next(&text, &len, &frame) && frame.text_len && *frame.text != '#');
	if (is_cut)
		must(stack_text_next(&text, &len, &frame) &&
		     strncmp(frame.text, STACK_LINE_TRUNCATED, frame.text_len) == 0);
	for (size_t i = frames->cnt; i-- > 0;) {
		must(stack_text_next(&text, &len, &frame));
		must(frame.name_len && frame.kind == frames->kinds[i]);
	}
	must(!stack_text_next(&text, &len, &frame));
}

/* The same bytes where names enter: what comes out is a name, or said to be unknown. */
static void check_entry(const uint8_t *data, size_t len)
{
	struct name_table *names;
	enum frame_kind kind;
	uint32_t id;

	must(name_table__new(parser_here(), account_of_host(), &names) == 0);
	must(name_table__plain(names, (const char *)data, len, &id) == 0);
	must(*name_table__text(names, id) || name_table__is_unknown(names, id));
	must(name_table__jit(names, (const char *)data, len, len & 1, &id, &kind) == 0);
	must(*name_table__text(names, id) || name_table__is_unknown(names, id));
	name_table__free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const size_t name_bytes[] = { 8, 64, 1024, STACK_TEXT_NAME_BYTES };
	static struct stack_line line;
	static struct frames frames;
	struct fuzz_input input = { data, len };
	size_t max_bytes = name_bytes[fuzz_u8(&input) % 4];
	size_t turns = 1 + (size_t)fuzz_u8(&input) * 4;
	char *root = fuzz_text(&input, '\n');
	bool has_room = true;
	const char *text;

	check_entry(data, len);
	frames.cnt = 0;
	stack_line_begin(&line, root, max_bytes);
	for (size_t turn = 0; turn < turns && has_room; turn++)
		for (struct fuzz_input again = input; again.left && has_room;)
			has_room = take_frame(&line, &again, &frames);
	text = stack_line_finish(&line, has_room ? STACK_LINE_WHOLE : STACK_LINE_CUT, &len);
	check_line(text, len, &frames, !has_room);
	free(root);
	return 0;
}
