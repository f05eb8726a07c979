// SPDX-License-Identifier: Apache-2.0
/* See own_code.h. */
#include "user/model/own_code.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>

#include "user/model/stack_text.h"
#include "user/util/strbuf.h"

/* Up to the next comma; those between the parameters of a method, "a.B.c(int, long[])", are none. */
static size_t glob_len(const char *globs)
{
	size_t len = strcspn(globs, ",(");
	const char *close = globs[len] == '(' ? strchr(globs + len, ')') : NULL;

	if (close)
		len = (size_t)(close - globs);
	return len + strcspn(globs + len, ",");
}

static size_t without_blanks(const char *text, size_t len)
{
	while (len && text[len - 1] == ' ')
		len--;
	return len;
}

/* Globs as fnmatch() takes them, NUL-terminated one behind the other, and an empty one. */
static int split_globs(const char *globs, struct strbuf *out)
{
	while (*globs) {
		size_t len, end;

		globs += strspn(globs, ", ");
		len = glob_len(globs);
		end = without_blanks(globs, len);
		for (size_t i = 0; i < end; i++) {
			/* Array types and suffixes have brackets: they stand for themselves. */
			if (globs[i] == '[' || globs[i] == '\\')
				strbuf_putc(out, '\\');
			strbuf_putc(out, globs[i]);
		}
		if (len)
			strbuf_putc(out, '\0');
		globs += len;
	}
	strbuf_putc(out, '\0');
	return strbuf_error(out);
}

/* It is no code, and stays what it is. */
static bool is_cpu_wait(const struct stack_frame *frame)
{
	static const char name[] = STACK_LINE_CPU_WAIT;

	return frame->name_len == sizeof(name) - 1 &&
	       memcmp(frame->name, name, sizeof(name) - 1) == 0;
}

static bool is_like(const struct strbuf *globs, const char *text, size_t len, struct strbuf *name)
{
	strbuf_clear(name);
	strbuf_append(name, text, len);
	for (const char *glob = strbuf_str(globs); *glob; glob += strlen(glob) + 1) {
		if (fnmatch(glob, strbuf_str(name), 0) == 0)
			return true;
	}
	return false;
}

/* A glob without parameters is of all methods of the name. */
static bool is_own(const struct strbuf *globs, const struct stack_frame *frame, struct strbuf *name)
{
	size_t bare_len = stack_text_method_len(frame->name, frame->name_len);

	return is_like(globs, frame->name, frame->name_len, name) ||
	       (bare_len < frame->name_len && is_like(globs, frame->name, bare_len, name));
}

/* A stack being charged. */
struct charging {
	struct strbuf globs;
	struct strbuf name;
	struct strbuf text;
	size_t label_cnt;
};

/* Where the text of what stays ends; *is_other: nothing of it is own. */
static size_t end_of_own(struct charging *charging, const char *text, size_t len, bool *is_other)
{
	const char *at = text;
	size_t left = len, depth = 0, end = 0;
	struct stack_frame frame;

	*is_other = true;
	while (stack_text_next(&at, &left, &frame)) {
		bool is_head = depth++ <= charging->label_cnt;

		if (!is_head && !is_cpu_wait(&frame) &&
		    !is_own(&charging->globs, &frame, &charging->name))
			continue;
		*is_other = is_head;
		end = (size_t)(frame.text - text) + frame.text_len;
	}
	return end;
}

static int charge_stack(struct charging *charging, struct profile_stack stack, struct profile *out)
{
	const char *mark = memchr(stack.text, STACK_TEXT_THREAD_MARK, stack.len);
	size_t len = mark ? (size_t)(mark - stack.text) : stack.len;
	struct strbuf *text = &charging->text;
	bool is_other;
	size_t end = end_of_own(charging, stack.text, len, &is_other);
	int err;

	strbuf_clear(text);
	strbuf_append(text, stack.text, end);
	if (is_other && end < len)
		strbuf_puts(text, ";" OWN_CODE_OTHER);
	strbuf_append(text, stack.text + len, stack.len - len);
	err = strbuf_error(text);
	if (!err)
		err = strbuf_error(&charging->name);
	return err ? err : profile__add(out, strbuf_str(text), text->len, stack.count);
}

int own_code_charge(const struct profile *in, const char *globs, size_t label_cnt,
		    struct profile *out)
{
	struct charging charging = { .label_cnt = label_cnt };
	size_t cnt = profile__stack_count(in);
	int err = split_globs(globs, &charging.globs);

	for (size_t i = 0; !err && i < cnt; i++)
		err = charge_stack(&charging, profile__stack(in, i), out);
	strbuf_release(&charging.globs);
	strbuf_release(&charging.name);
	strbuf_release(&charging.text);
	return err;
}
