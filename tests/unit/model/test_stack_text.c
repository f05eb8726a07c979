// SPDX-License-Identifier: Apache-2.0
/* Folded frames: what is escaped, what is cut, and that reading undoes writing. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/model/stack_text.h"
#include "user/util/cleanup.h"

static void names_are_escaped_for_every_folded_tool(void **state)
{
	static const struct {
		const char *name;
		enum frame_kind kind;
		const char *expected;
	} rows[] = {
		{ "java.lang.Thread.run", FRAME_KIND_JIT, "java.lang.Thread.run_[j]" },
		{ "do_syscall_64", FRAME_KIND_KERNEL, "do_syscall_64_[k]" },
		{ "a", FRAME_KIND_C1, "a_[1]" },
		{ "a", FRAME_KIND_INTERPRETED, "a_[0]" },
		{ "a", FRAME_KIND_INLINED, "a_[i]" },
		{ "", FRAME_KIND_NATIVE, "[unknown]" },
		{ "", FRAME_KIND_JIT, "[unknown]_[j]" },
		{ "Lfoo;bar;", FRAME_KIND_NATIVE, "Lfoo:bar:" },
		{ "a\nb\tc\x01\x7f", FRAME_KIND_NATIVE, "a_b_c__" },
		{ "\x1b[31mred", FRAME_KIND_NATIVE, "_[31mred" },
		/* U+009B is a control character; U+00E9, U+20AC, U+1F600 are not */
		{ "a\xc2\x9b!", FRAME_KIND_NATIVE, "a_!" },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", FRAME_KIND_NATIVE,
		  "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
		/* not UTF-8: stray, overlong, surrogate, too large, cut */
		{ "a\x80z", FRAME_KIND_NATIVE, "a?z" },
		{ "\xc0\xaf", FRAME_KIND_NATIVE, "??" },
		{ "\xe0\x80\xaf", FRAME_KIND_NATIVE, "???" },
		{ "\xed\xa0\x80", FRAME_KIND_NATIVE, "???" },
		{ "\xf4\x90\x80\x80", FRAME_KIND_NATIVE, "????" },
		{ "\xff\xfe", FRAME_KIND_NATIVE, "??" },
		{ "x\xe2\x82", FRAME_KIND_NATIVE, "x??" },
		{ "x\xe2;", FRAME_KIND_NATIVE, "x?:" },
		/* a second column to flamegraph.pl */
		{ "worker 12", FRAME_KIND_NATIVE, "worker_12" },
		{ "worker 12 345", FRAME_KIND_NATIVE, "worker 12_345" },
		{ "worker 1.5", FRAME_KIND_NATIVE, "worker_1.5" },
		{ "worker 1.", FRAME_KIND_NATIVE, "worker_1." },
		{ "worker .5", FRAME_KIND_NATIVE, "worker .5" },
		{ "worker\t12", FRAME_KIND_NATIVE, "worker_12" },
		{ "worker 12", FRAME_KIND_JIT, "worker_12_[j]" },
		{ " 7", FRAME_KIND_NATIVE, "_7" },
		{ "7", FRAME_KIND_NATIVE, "7" },
		{ "7.", FRAME_KIND_NATIVE, "7." },
		{ "a b", FRAME_KIND_NATIVE, "a b" },
		/* pretending to be kernel */
		{ "evil_[k]", FRAME_KIND_NATIVE, "evil_(k)" },
		{ "_[k]", FRAME_KIND_NATIVE, "_[k]" },
		{ "evil_[z]", FRAME_KIND_NATIVE, "evil_[z]" },
		{ "evil_[k]", FRAME_KIND_JIT, "evil_[k]_[j]" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf stack = STRBUF_INIT;

		assert_int_equal(stack_text_append(&stack, rows[i].name, rows[i].kind), 0);
		assert_string_equal(strbuf_str(&stack), rows[i].expected);
		assert_int_equal(stack.len, strlen(rows[i].expected));
	}
}

/* flamegraph.pl drops lines that begin with "#", Pyroscope refuses the whole body. */
static void a_line_never_begins_like_a_comment(void **state)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	(void)state;
	assert_int_equal(stack_text_append(&text, "# hz", FRAME_KIND_NATIVE), 0);
	assert_int_equal(stack_text_append(&text, "#main", FRAME_KIND_NATIVE), 0);
	assert_string_equal(strbuf_str(&text), "_ hz;#main");
}

static void frames_are_joined_by_semicolons(void **state)
{
	__cleanup_strbuf struct strbuf stack = STRBUF_INIT;

	(void)state;
	assert_int_equal(stack_text_append(&stack, "java", FRAME_KIND_NATIVE), 0);
	assert_int_equal(stack_text_append(&stack, "Main.main", FRAME_KIND_INTERPRETED), 0);
	assert_int_equal(stack_text_append(&stack, "", FRAME_KIND_NATIVE), 0);
	assert_string_equal(strbuf_str(&stack), "java;Main.main_[0];[unknown]");
}

static void long_names_are_cut_at_a_character(void **state)
{
	static const size_t lens[] = { STACK_TEXT_NAME_BYTES - 1, STACK_TEXT_NAME_BYTES,
				       STACK_TEXT_NAME_BYTES + 1, 3 * STACK_TEXT_NAME_BYTES };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		__cleanup_strbuf struct strbuf stack = STRBUF_INIT;
		__cleanup_free char *name = calloc(1, lens[i] + 1);

		assert_non_null(name);
		memset(name, 'n', lens[i]);
		assert_int_equal(stack_text_append(&stack, name, FRAME_KIND_NATIVE), 0);
		if (lens[i] <= STACK_TEXT_NAME_BYTES) {
			assert_string_equal(strbuf_str(&stack), name);
			continue;
		}
		assert_int_equal(stack.len, STACK_TEXT_NAME_BYTES);
		assert_string_equal(stack.data + stack.len - 4, "n...");
	}
}

static void cut_never_splits_a_character(void **state)
{
	(void)state;
	for (size_t shift = 0; shift < 4; shift++) {
		__cleanup_strbuf struct strbuf stack = STRBUF_INIT;
		__cleanup_strbuf struct strbuf name = STRBUF_INIT;

		for (size_t i = 0; i < shift; i++)
			strbuf_putc(&name, 'a');
		for (size_t i = 0; i < STACK_TEXT_NAME_BYTES; i++)
			strbuf_puts(&name, "\xf0\x9f\x98\x80");
		assert_int_equal(stack_text_append(&stack, name.data, FRAME_KIND_NATIVE), 0);
		assert_true(stack.len <= STACK_TEXT_NAME_BYTES);
		assert_true(stack.len > STACK_TEXT_NAME_BYTES - 8);
		assert_string_equal(stack.data + stack.len - 3, "...");
		assert_int_equal((stack.len - 3 - shift) % 4, 0);
		assert_null(memchr(stack.data, '?', stack.len));
	}
}

static void stack_never_passes_its_limit(void **state)
{
	__cleanup_strbuf struct strbuf stack = STRBUF_INIT;
	char name[1024];
	int err = 0;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	while (!err) {
		size_t before = stack.len;

		err = stack_text_append(&stack, name, FRAME_KIND_JIT);
		if (err)
			assert_int_equal(stack.len, before);
		assert_true(stack.len <= STACK_TEXT_MAX_BYTES);
		assert_int_equal(strlen(stack.data), stack.len);
	}
	assert_int_equal(err, -E2BIG);
	/* A shorter one may still fit, to the last byte. */
	name[STACK_TEXT_MAX_BYTES - stack.len - 1 - 4] = '\0';
	assert_int_equal(stack_text_append(&stack, name, FRAME_KIND_JIT), 0);
	assert_int_equal(stack.len, STACK_TEXT_MAX_BYTES);
	/* A line is the stack with its count, however many samples there were. */
	assert_int_equal(stack.len + strlen(" 18446744073709551615"), FOLDED_LINE_MAX_BYTES);
	assert_int_equal(stack_text_append(&stack, "x", FRAME_KIND_NATIVE), -E2BIG);
}

/* Text of what is on the line: `root`, perhaps "[truncated]", and `cnt` frames behind it. */
static size_t assert_line(const char *text, size_t len, bool is_cut)
{
	struct stack_frame frame;
	size_t cnt = 0;

	assert_true(len <= STACK_TEXT_MAX_BYTES);
	assert_int_equal(strlen(text), len);
	assert_true(stack_text_next(&text, &len, &frame));
	assert_memory_equal(frame.text, "java", 4);
	if (is_cut) {
		assert_true(stack_text_next(&text, &len, &frame));
		assert_memory_equal(frame.text, STACK_LINE_TRUNCATED, frame.text_len);
	}
	for (; stack_text_next(&text, &len, &frame); cnt++)
		assert_true(frame.name_len > 0);
	return cnt;
}

/* What is written where a name is empty is longer than the name: this once ended the daemon. */
static void line_has_room_for_what_is_written_and_not_for_the_name(void **state)
{
	static struct stack_line line;
	char name[4097];
	size_t taken = 0, len;
	const char *text;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	stack_line_begin(&line, "java", STACK_TEXT_NAME_BYTES);
	while (taken < 14 + 690 &&
	       stack_line_prepend(&line, taken < 14 ? name : "", FRAME_KIND_JIT))
		taken++;
	assert_true(taken > 14 && taken < 14 + 690);
	text = stack_line_finish(&line, STACK_LINE_CUT, &len);
	assert_int_equal(assert_line(text, len, true), taken);
	/* Nearly full: no room was left that another one could have had. */
	assert_true(len + strlen(";[unknown]_[j]") > STACK_TEXT_MAX_BYTES);
}

static void line_reads_as_if_it_had_been_written_from_its_root(void **state)
{
	static const struct {
		const char *name;
		enum frame_kind kind;
	} frames[] = { { "#not first", FRAME_KIND_NATIVE },
		       { "", FRAME_KIND_C1 },
		       { "a;b 12", FRAME_KIND_NATIVE },
		       { "evil_[k]", FRAME_KIND_NATIVE } };
	__cleanup_strbuf struct strbuf wanted = STRBUF_INIT;
	static struct stack_line line;
	const char *text;
	size_t len;

	(void)state;
	stack_line_begin(&line, "#java", STACK_TEXT_NAME_BYTES);
	for (size_t i = ARRAY_SIZE(frames); i-- > 0;)
		assert_true(stack_line_prepend(&line, frames[i].name, frames[i].kind));
	text = stack_line_finish(&line, STACK_LINE_WHOLE, &len);
	assert_int_equal(stack_text_append(&wanted, "#java", FRAME_KIND_NATIVE), 0);
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		assert_int_equal(stack_text_append(&wanted, frames[i].name, frames[i].kind), 0);
	assert_string_equal(text, strbuf_str(&wanted));
	assert_int_equal(len, wanted.len);
}

static void line_cuts_names_to_what_is_asked_for(void **state)
{
	static struct stack_line line;
	size_t len;

	(void)state;
	stack_line_begin(&line, "java", 8);
	assert_true(stack_line_prepend(&line, "12345678", FRAME_KIND_JIT));
	assert_true(stack_line_prepend(&line, "123456789", FRAME_KIND_JIT));
	assert_string_equal(stack_line_finish(&line, STACK_LINE_WHOLE, &len),
			    "java;12345..._[j];12345678_[j]");
}

static void reading_gives_back_frames_and_kinds(void **state)
{
	static const struct {
		const char *name;
		enum frame_kind kind;
	} frames[] = {
		{ "java", FRAME_KIND_NATIVE },
		{ "a.b.C.d", FRAME_KIND_INTERPRETED },
		{ "e", FRAME_KIND_C1 },
		{ "f g", FRAME_KIND_JIT },
		{ "h", FRAME_KIND_INLINED },
		{ "[libc.so.6]", FRAME_KIND_NATIVE },
		{ "sys_read", FRAME_KIND_KERNEL },
	};
	__cleanup_strbuf struct strbuf stack = STRBUF_INIT;
	struct stack_frame frame;
	const char *text;
	size_t len;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		assert_int_equal(stack_text_append(&stack, frames[i].name, frames[i].kind), 0);
	text = stack.data;
	len = stack.len;
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		assert_true(stack_text_next(&text, &len, &frame));
		assert_int_equal(frame.kind, frames[i].kind);
		assert_int_equal(frame.name_len, strlen(frames[i].name));
		assert_memory_equal(frame.name, frames[i].name, frame.name_len);
		assert_int_equal(frame.text_len,
				 frame.name_len + strlen(frame_kind_suffix(frame.kind)));
	}
	assert_false(stack_text_next(&text, &len, &frame));
	assert_true(stack_text_leaf(stack.data, stack.len, &frame));
	assert_int_equal(frame.kind, FRAME_KIND_KERNEL);
	assert_int_equal(frame.name_len, strlen("sys_read"));
}

static void leaf_is_what_next_returns_last(void **state)
{
	static const char *const texts[] = { "a",   "a;b",     ";",    "a;",	     ";a",
					     ";;",  "a;;",     "_[k]", "a;_[k]",     "a_[j];b",
					     "a_[", "a;b_[q]", "x]",   "a;b;c;d_[i]" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct stack_frame frame = { 0 }, leaf;
		const char *text = texts[i];
		size_t len = strlen(text);

		assert_true(stack_text_leaf(text, len, &leaf));
		while (stack_text_next(&text, &len, &frame))
			;
		assert_ptr_equal(frame.text, leaf.text);
		assert_int_equal(frame.text_len, leaf.text_len);
		assert_int_equal(frame.kind, leaf.kind);
		assert_int_equal(frame.name_len, leaf.name_len);
	}
}

static void a_method_has_a_length_without_its_parameters(void **state)
{
	static const struct {
		const char *name;
		const char *bare;
	} rows[] = {
		{ "a.B.c(int, long[])", "a.B.c" },
		{ "a.B.c()", "a.B.c" },
		{ "a.B.c", "a.B.c" },
		{ "baz(x)(Arg (fast), int)", "baz(x)" },
		{ "should (fast)", "should (fast)" },
		{ "StubRoutines (1)", "StubRoutines (1)" },
		{ "(all)", "(all)" },
		{ "a)", "a)" },
		{ "a(", "a(" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(stack_text_method_len(rows[i].name, strlen(rows[i].name)),
				 strlen(rows[i].bare));
}

static void empty_text_has_no_frames(void **state)
{
	const char *text = "";
	size_t len = 0;
	struct stack_frame frame;

	(void)state;
	assert_false(stack_text_next(&text, &len, &frame));
	assert_false(stack_text_leaf(text, len, &frame));
}

static void garbage_names_always_give_clean_text(void **state)
{
	(void)state;
	srand(7);
	for (int round = 0; round < 2000; round++) {
		__cleanup_strbuf struct strbuf stack = STRBUF_INIT;
		char name[64];
		size_t name_len = (size_t)rand() % (sizeof(name) - 1);
		struct stack_frame frame;

		for (size_t i = 0; i < name_len; i++)
			name[i] = (char)(1 + rand() % 255);
		name[name_len] = '\0';
		assert_int_equal(stack_text_append(&stack, name, FRAME_KIND_NATIVE), 0);
		for (size_t i = 0; i < stack.len; i++) {
			assert_true((unsigned char)stack.data[i] >= 0x20);
			assert_true(stack.data[i] != 0x7f && stack.data[i] != ';');
		}
		assert_true(stack_text_leaf(stack.data, stack.len, &frame));
		assert_int_equal(frame.kind, FRAME_KIND_NATIVE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_escaped_for_every_folded_tool),
		cmocka_unit_test(a_line_never_begins_like_a_comment),
		cmocka_unit_test(frames_are_joined_by_semicolons),
		cmocka_unit_test(long_names_are_cut_at_a_character),
		cmocka_unit_test(cut_never_splits_a_character),
		cmocka_unit_test(stack_never_passes_its_limit),
		cmocka_unit_test(line_has_room_for_what_is_written_and_not_for_the_name),
		cmocka_unit_test(line_reads_as_if_it_had_been_written_from_its_root),
		cmocka_unit_test(line_cuts_names_to_what_is_asked_for),
		cmocka_unit_test(reading_gives_back_frames_and_kinds),
		cmocka_unit_test(leaf_is_what_next_returns_last),
		cmocka_unit_test(a_method_has_a_length_without_its_parameters),
		cmocka_unit_test(empty_text_has_no_frames),
		cmocka_unit_test(garbage_names_always_give_clean_text),
	};

	return cmocka_run_group_tests_name("stack_text", tests, NULL, NULL);
}
