// SPDX-License-Identifier: Apache-2.0
/*
 * Folded text. Stacks that jbpf wrote are clean already; those that came from elsewhere (imports,
 * damaged stores) may break the tools that read the text, so every line is looked at and the rare
 * bad one is built anew.
 */
#include "user/output/output.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "user/model/stack_text.h"

/* Might a stack need escaping? Quick and pessimistic: true costs time only. */
static bool folded_is_suspect(const struct profile_stack *stack)
{
	unsigned char last = ';';

	/* A line that starts with '#' is a comment to flamegraph.pl. */
	if (stack->len > STACK_TEXT_MAX_BYTES || (stack->len && stack->text[0] == '#'))
		return true;
	for (size_t i = 0; i < stack->len; i++) {
		unsigned char c = (unsigned char)stack->text[i];
		bool is_digit = c >= '0' && c <= '9';

		if (c < 0x20 || c >= 0x7f || (is_digit && last == ' ') || (c == ';' && last == ';'))
			return true;
		last = c;
	}
	return last == ';';
}

/* The stack as stack_text_append() builds it; frames past the limit become "[truncated]". */
static int folded_rebuild(const struct profile_stack *stack, struct strbuf *name,
			  struct strbuf *out)
{
	static const char cut[] = ";[truncated]";
	const char *text = stack->text;
	size_t len = stack->len;
	size_t room_len = 0; /* longest beginning that leaves room for `cut` */
	struct stack_frame frame;
	int err = 0;

	strbuf_clear(out);
	while (!err && stack_text_next(&text, &len, &frame)) {
		strbuf_clear(name);
		err = strbuf_append(name, frame.name, frame.name_len);
		if (err)
			return err;
		for (size_t i = 0; i < name->len; i++) {
			if (name->data[i] == '\0' ||
			    (out->len == 0 && i == 0 && name->data[i] == '#'))
				name->data[i] = '_';
		}
		err = stack_text_append(out, strbuf_str(name), frame.kind);
		if (!err && out->len + sizeof(cut) <= STACK_TEXT_MAX_BYTES)
			room_len = out->len;
	}
	if (err == -E2BIG) {
		strbuf_truncate(out, room_len);
		return strbuf_puts(out, cut);
	}
	if (!err && out->len == 0)
		return stack_text_append(out, "", FRAME_KIND_NATIVE);
	return err;
}

static bool folded_any_suspect(const struct profile *profile)
{
	size_t cnt = profile__stack_count(profile);

	for (size_t i = 0; i < cnt; i++) {
		struct profile_stack stack = profile__stack(profile, i);

		if (folded_is_suspect(&stack))
			return true;
	}
	return false;
}

/* Stacks that differed only in what was replaced become one. */
static int folded_clean_copy(const struct profile *profile, struct profile *clean)
{
	size_t cnt = profile__stack_count(profile);
	struct strbuf name __cleanup_strbuf = STRBUF_INIT;
	struct strbuf text __cleanup_strbuf = STRBUF_INIT;

	for (size_t i = 0; i < cnt; i++) {
		struct profile_stack stack = profile__stack(profile, i);
		int err;

		if (folded_is_suspect(&stack)) {
			err = folded_rebuild(&stack, &name, &text);
			if (err)
				return err;
			stack.text = strbuf_str(&text);
			stack.len = text.len;
		}
		err = profile__add(clean, stack.text, stack.len, stack.count);
		if (err)
			return err;
	}
	return 0;
}

int output_folded(struct profile *profile, struct strbuf *out)
{
	struct profile *clean;
	int err;

	if (!folded_any_suspect(profile))
		return profile__to_folded(profile, out);
	clean = profile__new();
	if (!clean)
		return -ENOMEM;
	err = folded_clean_copy(profile, clean);
	if (!err)
		err = profile__to_folded(clean, out);
	profile__free(clean);
	return err;
}
