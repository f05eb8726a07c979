// SPDX-License-Identifier: Apache-2.0
/*
 * Frame names into folded text and back. Names come from symbol tables, perf maps and JVMs inside
 * containers, so each byte is looked at; what folded tools would misread is replaced, see
 * stack_text.h.
 */
#include "user/model/stack_text.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "user/util/utf8.h"

#define SUFFIX_LEN   4 /* "_[k]" */
#define CUT_MARK     "..."
#define CUT_MARK_LEN 3
#define NAME_UNKNOWN "[unknown]"

/*
 * One character of a name, escaped, into `out` (4 bytes of room). Returns the bytes taken; the
 * bytes written are in *written.
 */
static size_t escape_char(const char *name, size_t len, char *out, size_t *written)
{
	uint32_t code;
	size_t taken = utf8_next(name, len, &code);

	*written = 1;
	if (code == UTF8_BAD_BYTE)
		*out = '?';
	else if (utf8_is_deceptive(code))
		*out = '_';
	else if (code == ';')
		*out = ':';
	else
		memcpy(out, name, *written = taken);
	return taken;
}

/* Length of a name that is to stay as it is, or SIZE_MAX: nearly all are, so they are only copied. */
static size_t plain_len(const char *name)
{
	size_t len = 0;

	for (; name[len]; len++) {
		/* On aarch64 char has no sign: bytes past ASCII are to be looked at there, too. */
		uint8_t c = (uint8_t)name[len];

		if (c < 0x20 || c >= 0x7f || c == ';')
			return SIZE_MAX;
	}
	return len;
}

/*
 * Writes the escaped name to `out`, which has room for max_bytes. A name that does not fit ends in
 * CUT_MARK, never in half a character.
 */
static size_t escape_name(const char *name, size_t max_bytes, char *out)
{
	const char *at = name;
	size_t left = strlen(name);
	size_t len = 0;
	size_t cut_len = 0; /* where the mark would go */
	size_t plain = plain_len(name);

	if (plain <= max_bytes) {
		memcpy(out, name, plain);
		return plain;
	}
	while (left) {
		char bytes[4];
		size_t written;
		size_t taken = escape_char(at, left, bytes, &written);

		if (len + written > max_bytes) {
			memcpy(out + cut_len, CUT_MARK, CUT_MARK_LEN);
			return cut_len + CUT_MARK_LEN;
		}
		memcpy(out + len, bytes, written);
		len += written;
		if (len <= max_bytes - CUT_MARK_LEN)
			cut_len = len;
		at += taken;
		left -= taken;
	}
	return len;
}

/*
 * flamegraph.pl and difffolded.pl take a line whose stack ends in blank + number for two columns.
 * Their number is digits, optionally a point and more digits.
 */
static void break_trailing_number(char *name, size_t len)
{
	size_t at = len;

	while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	if (at && name[at - 1] == '.') {
		at--;
		while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
			at--;
	}
	if (at && at < len && name[at - 1] == ' ' && name[at] != '.')
		name[at - 1] = '_';
}

static enum frame_kind suffix_kind(const char *text, size_t len)
{
	if (len <= SUFFIX_LEN || text[len - 1] != ']')
		return FRAME_KIND_NATIVE;
	for (int kind = FRAME_KIND_KERNEL; kind < FRAME_KIND_CNT; kind++) {
		if (memcmp(text + len - SUFFIX_LEN, frame_kind_suffix((enum frame_kind)kind),
			   SUFFIX_LEN) == 0)
			return (enum frame_kind)kind;
	}
	return FRAME_KIND_NATIVE;
}

/* Where in a stack a frame stands. */
enum frame_place {
	FRAME_PLACE_FIRST, /* the process */
	FRAME_PLACE_OTHER,
};

/*
 * The text of one frame, without a separator, into `out`, which has room for max_name_bytes and a
 * suffix. Returns its length. Whatever must know how long a frame is asks this very function.
 */
static size_t frame_write(const char *name, enum frame_kind kind, enum frame_place place,
			  size_t max_name_bytes, char *out)
{
	const char *suffix = frame_kind_suffix(kind);
	size_t suffix_len = strlen(suffix);
	size_t len;

	if (*name == '\0')
		name = NAME_UNKNOWN;
	len = escape_name(name, max_name_bytes, out);
	break_trailing_number(out, len);
	/* As first frame it would make a comment of the line. */
	if (place == FRAME_PLACE_FIRST && *out == '#')
		*out = '_';
	/* A native function may be called "evil_[k]". */
	if (suffix_len == 0 && suffix_kind(out, len) != FRAME_KIND_NATIVE) {
		out[len - 3] = '(';
		out[len - 1] = ')';
	}
	memcpy(out + len, suffix, suffix_len);
	return len + suffix_len;
}

int stack_text_append(struct strbuf *stack, const char *name, enum frame_kind kind)
{
	size_t start = stack->len;
	size_t separator = start ? 1 : 0;
	size_t frame_len;
	int err;

	err = strbuf_reserve(stack, separator + STACK_TEXT_NAME_BYTES + SUFFIX_LEN);
	if (err)
		return err;
	/* Behind `len` until it is known to fit. */
	frame_len = frame_write(name, kind, start ? FRAME_PLACE_OTHER : FRAME_PLACE_FIRST,
				STACK_TEXT_NAME_BYTES, stack->data + start + separator);
	if (start + separator + frame_len > STACK_TEXT_MAX_BYTES) {
		stack->data[start] = '\0';
		return -E2BIG;
	}
	if (separator)
		stack->data[start] = ';';
	stack->len = start + separator + frame_len;
	stack->data[stack->len] = '\0';
	return 0;
}

/* ---- lines from their leaf ---- */

void stack_line_begin(struct stack_line *line, const char *root, size_t max_name_bytes)
{
	line->max_name_bytes = max_name_bytes;
	line->start = STACK_TEXT_MAX_BYTES;
	line->bytes[line->start] = '\0';
	line->root_len = frame_write(root, FRAME_KIND_NATIVE, FRAME_PLACE_FIRST,
				     STACK_LINE_ROOT_BYTES, line->root);
}

void stack_line_idle(struct stack_line *line)
{
	memcpy(line->root + line->root_len, ";" STACK_LINE_IDLE, strlen(";" STACK_LINE_IDLE));
	line->root_len += strlen(";" STACK_LINE_IDLE);
}

bool stack_line_prepend(struct stack_line *line, const char *name, enum frame_kind kind)
{
	char frame[STACK_TEXT_NAME_BYTES + SUFFIX_LEN];
	size_t len = frame_write(name, kind, FRAME_PLACE_OTHER, line->max_name_bytes, frame);

	if (line->root_len + strlen(";" STACK_LINE_TRUNCATED) + 1 + len > line->start)
		return false;
	line->start -= len;
	memcpy(line->bytes + line->start, frame, len);
	line->bytes[--line->start] = ';';
	return true;
}

static void line_put(struct stack_line *line, const char *text, size_t len)
{
	line->start -= len;
	memcpy(line->bytes + line->start, text, len);
}

const char *stack_line_finish(struct stack_line *line, enum stack_line_end end, size_t *len_out)
{
	if (end == STACK_LINE_CUT)
		line_put(line, ";" STACK_LINE_TRUNCATED, strlen(";" STACK_LINE_TRUNCATED));
	line_put(line, line->root, line->root_len);
	*len_out = STACK_TEXT_MAX_BYTES - line->start;
	return line->bytes + line->start;
}

static void stack_frame_fill(const char *text, size_t len, struct stack_frame *out)
{
	enum frame_kind kind = suffix_kind(text, len);

	*out = (struct stack_frame){
		.name = text,
		.name_len = kind == FRAME_KIND_NATIVE ? len : len - SUFFIX_LEN,
		.text = text,
		.text_len = len,
		.kind = kind,
	};
}

bool stack_text_next(const char **text, size_t *len, struct stack_frame *out)
{
	const char *separator;
	size_t frame_len;

	if (*len == 0)
		return false;
	separator = memchr(*text, ';', *len);
	frame_len = separator ? (size_t)(separator - *text) : *len;
	stack_frame_fill(*text, frame_len, out);
	frame_len += separator ? 1 : 0;
	*text += frame_len;
	*len -= frame_len;
	return true;
}

/* Behind a blank a bracket is part of the name, "should (fast)", as java_name.c reads names, too. */
size_t stack_text_method_len(const char *name, size_t len)
{
	size_t depth = 0;

	if (!len || name[len - 1] != ')')
		return len;
	for (size_t i = len; i-- > 0;) {
		depth += name[i] == ')';
		if (name[i] == '(' && --depth == 0)
			return i && name[i - 1] != ' ' ? i : len;
	}
	return len;
}

bool stack_text_leaf(const char *text, size_t len, struct stack_frame *out)
{
	const char *separator;

	if (len == 0)
		return false;
	/* As stack_text_next() sees it: nothing follows a separator at the very end. */
	if (text[len - 1] == ';')
		len--;
	separator = memrchr(text, ';', len);
	if (separator) {
		len -= (size_t)(separator + 1 - text);
		text = separator + 1;
	}
	stack_frame_fill(text, len, out);
	return true;
}
