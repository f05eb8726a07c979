// SPDX-License-Identifier: Apache-2.0
/*
 * Folded text. Stacks that jbpf wrote are clean already; those that came from elsewhere (imports,
 * damaged stores) may break the tools that read the text, so every line is looked at and the rare
 * bad one is rebuilt.
 */
#include "user/output/output.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "user/model/stack_text.h"

/* Eight bytes at a time; in each the highest bit says yes. For bytes below 0x80. */
#define EACH_BYTE(value) (0x0101010101010101ull * (value))
#define HIGH_BITS	 EACH_BYTE(0x80)

static uint64_t bytes_from(uint64_t bytes, uint64_t least)
{
	return (bytes + EACH_BYTE(0x80 - least)) & HIGH_BITS;
}

static uint64_t bytes_within(uint64_t bytes, uint64_t least, uint64_t most)
{
	return bytes_from(bytes, least) & ~bytes_from(bytes, most + 1);
}

/* Might a stack need escaping? Quick and pessimistic: true costs time only. */
static bool folded_is_suspect(const struct profile_stack *stack)
{
	uint64_t last_semicolon = 0x80, last_blank = 0; /* an empty first frame is one, too */

	/* A line that starts with '#' is a comment to flamegraph.pl. */
	if (stack->len > STACK_TEXT_MAX_BYTES || stack->len == 0 || stack->text[0] == '#' ||
	    stack->text[stack->len - 1] == ';')
		return true;
	for (size_t i = 0; i < stack->len; i += sizeof(uint64_t)) {
		size_t left = stack->len - i;
		uint64_t bytes = EACH_BYTE('a'), semicolons, blanks;

		memcpy(&bytes, stack->text + i, left < sizeof(bytes) ? left : sizeof(bytes));
		bytes = le64toh(bytes);
		if ((bytes & HIGH_BITS) || bytes_within(bytes, 0x20, 0x7e) != HIGH_BITS)
			return true;
		semicolons = bytes_within(bytes, ';', ';');
		blanks = bytes_within(bytes, ' ', ' ');
		/* Empty frames, and frames that end in what looks like a count. */
		if ((semicolons & (semicolons << 8 | last_semicolon)) ||
		    (bytes_within(bytes, '0', '9') & (blanks << 8 | last_blank)))
			return true;
		last_semicolon = semicolons >> 56;
		last_blank = blanks >> 56;
	}
	return false;
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
		strbuf_append(name, frame.name, frame.name_len);
		err = strbuf_error(name);
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
		strbuf_puts(out, cut);
		return strbuf_error(out);
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
