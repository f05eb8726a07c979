// SPDX-License-Identifier: Apache-2.0
/* Where callers of code without frame pointers are proved to be, instruction by instruction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include <linux/types.h>

#include "bpf/jbpf.h"
#include "symbols/leaf/leaf_rule.h"
#include "user/util/cleanup.h"

#define BASE   0x7f0000001000ull
#define FILLER 0xf4

#define NONE		  0, 0, 0, 0, 0, 0
#define SP(ra)		  LEAF_RULE_FROM_SP, ra, false, 0, 0, 0
#define SP_FP(ra, fp)	  LEAF_RULE_FROM_SP, ra, true, fp, 0, 0
#define FP		  LEAF_RULE_FROM_FP, 0, false, 0, 0, 0
#define BELOW(bytes)	  LEAF_RULE_FROM_SP, 0, false, 0, bytes, 0
#define MADE(bytes)	  LEAF_RULE_INTERPRETED, bytes, false, 0, 0, 0
#define SAVED(at, ra, fp) LEAF_RULE_FROM_SAVED_SP, ra, true, fp, 0, at
#define POPS(ra)	  LEAF_RULE_CALLER_POPS, ra, false, 0, 16, 0
#define CODE(bytes)	  .code = (bytes), .len = sizeof(bytes) - 1

struct snippet {
	const char *what;
	const char *blob_name;
	enum hotspot_blob_kind kind;
	uint32_t frame_bytes;
	const char *code;
	size_t len;
	struct {
		size_t at;
		enum leaf_rule_place place;
		uint32_t ra;
		bool is_fp_saved;
		uint32_t fp;
		uint32_t arguments;
		uint32_t saved_at;
	} expected[10];
	size_t expected_cnt;
};

/* clang-format off */
static const struct snippet snippets[] = {
	{ .what = "a method without frame pointers",
	  .kind = HOTSPOT_BLOB_NMETHOD, .frame_bytes = 0x30,
	  /* bang; push rbp; sub rsp, 0x20; mov ebp, esi; add rsp, 0x20; pop rbp; ret */
	  CODE("\x89\x84\x24\x00\xc0\xfe\xff\x55\x48\x83\xec\x20\x8b\xee\x48\x83\xc4\x20\x5d\xc3"),
	  .expected = { { 0, SP(0) }, { 7, SP(0) }, { 8, SP_FP(8, 0) }, { 12, SP_FP(0x28, 0x20) },
			{ 14, SP_FP(0x28, 0x20) }, { 18, SP_FP(8, 0) }, { 19, SP(0) } },
	  .expected_cnt = 7 },
	{ .what = "the same, when the blob says another size of its frame",
	  .kind = HOTSPOT_BLOB_NMETHOD, .frame_bytes = 0x40,
	  CODE("\x89\x84\x24\x00\xc0\xfe\xff\x55\x48\x83\xec\x20\x8b\xee\x48\x83\xc4\x20\x5d\xc3"),
	  .expected = { { 0, SP(0) }, { 12, NONE }, { 19, SP(0) } }, .expected_cnt = 3 },
	{ .what = "a method without a stack bang",
	  .kind = HOTSPOT_BLOB_NMETHOD, .frame_bytes = 0x20,
	  /* sub rsp, 0x18; mov [rsp + 0x10], rbp; mov eax, esi; add rsp, 0x10; pop rbp; ret */
	  CODE("\x48\x81\xec\x18\x00\x00\x00\x48\x89\x6c\x24\x10\x8b\xc6\x48\x83\xc4\x10\x5d\xc3"),
	  .expected = { { 0, SP(0) }, { 7, SP(0x18) }, { 12, SP_FP(0x18, 0x10) },
			{ 18, SP_FP(8, 0) }, { 19, SP(0) } }, .expected_cnt = 5 },
	{ .what = "room for x87 code within a frame",
	  .kind = HOTSPOT_BLOB_NMETHOD, .frame_bytes = 0x30,
	  /* push rbp; sub rsp, 0x20; sub rsp, 8; fld [rsp]; add rsp, 8; add rsp, 0x20; pop rbp; ret */
	  CODE("\x55\x48\x83\xec\x20\x48\x83\xec\x08\xdd\x04\x24\x48\x83\xc4\x08\x48\x83\xc4\x20\x5d\xc3"),
	  .expected = { { 5, SP_FP(0x28, 0x20) }, { 9, SP_FP(0x30, 0x28) },
			{ 12, SP_FP(0x30, 0x28) }, { 16, SP_FP(0x28, 0x20) } }, .expected_cnt = 4 },
	{ .what = "a stub without a frame",
	  .kind = HOTSPOT_BLOB_STUB, .blob_name = "StubRoutines (1)",
	  /* mov rax, [rdi]; dec edx; jne 0; ret */
	  CODE("\x48\x8b\x07\xff\xca\x75\xf9\xc3"),
	  .expected = { { 0, SP(0) }, { 3, SP(0) }, { 5, SP(0) }, { 7, SP(0) } },
	  .expected_cnt = 4 },
	{ .what = "a word pushed within a frame, as when strings are compared",
	  .kind = HOTSPOT_BLOB_NMETHOD, .frame_bytes = 0x30,
	  /* push rbp; sub rsp, 0x20; push rcx; test edx, edx; je 1; pop rax; jmp 1; pop rcx; add rsp, 0x20; pop rbp; ret */
	  CODE("\x55\x48\x83\xec\x20\x51\x85\xd2\x74\x03\x58\xeb\x01\x59\x48\x83\xc4\x20\x5d\xc3"),
	  .expected = { { 5, SP_FP(0x28, 0x20) }, { 6, SP_FP(0x30, 0x28) }, { 10, SP_FP(0x30, 0x28) },
			{ 11, SP_FP(0x28, 0x20) }, { 13, SP_FP(0x30, 0x28) } }, .expected_cnt = 5 },
	{ .what = "a stack pointer saved on a stack whose length varies, as in String.indexOf()",
	  .kind = HOTSPOT_BLOB_NMETHOD, .frame_bytes = 0x30,
	  /* push rbp; sub rsp, 0x20; mov rbx, rsp; test edx, edx; je 4; sub rsp, 0x10; push rbx;
	     push rcx; nop; pop rcx; pop rsp; add rsp, 0x20; pop rbp; ret */
	  CODE("\x55\x48\x83\xec\x20\x48\x8b\xdc\x85\xd2\x74\x04\x48\x83\xec\x10\x53"
	       "\x51\x90\x59\x5c\x48\x83\xc4\x20\x5d\xc3"),
	  .expected = { { 5, NONE }, { 12, NONE }, { 17, SAVED(0, 0x28, 0x20) },
			{ 18, SAVED(8, 0x28, 0x20) }, { 20, SAVED(0, 0x28, 0x20) },
			{ 21, SP_FP(0x28, 0x20) } }, .expected_cnt = 6 },
	{ .what = "a stub with a frame pointer, as copies of arrays",
	  .kind = HOTSPOT_BLOB_STUB, .blob_name = "StubRoutines (2)",
	  /* push rbp; mov rbp, rsp; mov rax, [rdi]; leave; ret */
	  CODE("\x55\x48\x8b\xec\x48\x8b\x07\xc9\xc3"),
	  .expected = { { 0, SP(0) }, { 1, SP_FP(8, 0) }, { 4, FP }, { 7, FP }, { 8, SP(0) } },
	  .expected_cnt = 5 },
	{ .what = "a stub that pushes registers, as SHA",
	  .kind = HOTSPOT_BLOB_STUB, .blob_name = "StubRoutines (2)",
	  /* push rbx; push rbp; sub rsp, 0x10; mov ebp, esi; add rsp, 0x10; pop rbp; pop rbx; ret */
	  CODE("\x53\x55\x48\x83\xec\x10\x8b\xee\x48\x83\xc4\x10\x5d\x5b\xc3"),
	  .expected = { { 0, SP(0) }, { 1, SP(8) }, { 2, SP_FP(0x10, 0) },
			{ 6, SP_FP(0x20, 0x10) }, { 8, SP_FP(0x20, 0x10) },
			{ 12, SP_FP(0x10, 0) }, { 13, SP(8) }, { 14, SP(0) } }, .expected_cnt = 8 },
	{ .what = "a stub whose stack pointer is aligned on the way has no place by it",
	  .kind = HOTSPOT_BLOB_STUB, .blob_name = "StubRoutines (2)",
	  /* push rbp; mov rbp, rsp; and rsp, -32; nop; mov rsp, rbp; pop rbp; ret */
	  CODE("\x55\x48\x8b\xec\x48\x83\xe4\xe0\x90\x48\x8b\xe5\x5d\xc3"),
	  .expected = { { 0, SP(0) }, { 8, FP }, { 12, SP_FP(8, 0) } }, .expected_cnt = 3 },
	{ .what = "a stub for whose arguments the caller made room",
	  .kind = HOTSPOT_BLOB_STUB, .blob_name = "slow_subtype_check Runtime1 stub",
	  /* push rdi; mov rdi, [rsp + 0x10]; pop rdi; ret */
	  CODE("\x57\x48\x8b\x7c\x24\x10\x5f\xc3"),
	  .expected = { { 0, POPS(0) }, { 1, POPS(8) }, { 7, POPS(0) } }, .expected_cnt = 3 },
	{ .what = "a stub that loses rbp",
	  .kind = HOTSPOT_BLOB_STUB, .blob_name = "StubRoutines (2)",
	  /* mov ebp, esi; ret */
	  CODE("\x8b\xee\xc3"),
	  .expected = { { 0, NONE }, { 2, SP(0) } }, .expected_cnt = 2 },
	{ .what = "a stub that never returns",
	  .kind = HOTSPOT_BLOB_STUB, .blob_name = "StubRoutines (2)",
	  /* nop; jmp -3 */
	  CODE("\x90\xeb\xfd"),
	  .expected = { { 0, NONE }, { 1, NONE } }, .expected_cnt = 2 },
	{ .what = "a blob that is jumped to, and makes up its caller",
	  .kind = HOTSPOT_BLOB_STUB, .blob_name = "DeoptimizationBlob",
	  CODE("\x90\xc3"), .expected = { { 0, NONE }, { 1, NONE } }, .expected_cnt = 2 },
	{ .what = "an adapter: the stack of a compiled caller ends elsewhere",
	  .kind = HOTSPOT_BLOB_STUB, .blob_name = "I2C/C2I adapters",
	  /*
	   * pop rax; mov r11, rsp; sub rsp, 0x10; and rsp, -16; push rax; mov rsi, [r11 + 8]; jmp [rbx + 0x40];
	   * and from the other side: pop rax; mov r13, rsp; sub rsp, 0x10; mov [rsp], rax; mov [rsp + 8], rsi;
	   * mov rcx, [rbx + 0x38]; jmp rcx
	   */
	  CODE("\x58\x49\x89\xe3\x48\x83\xec\x10\x48\x83\xe4\xf0\x50\x49\x8b\x73\x08\xff\x63\x40"
	       "\x58\x49\x89\xe5\x48\x83\xec\x10\x48\x89\x04\x24\x48\x89\x74\x24\x08\x48\x8b\x4b\x38"
	       "\xff\xe1"),
	  .expected = { { 0, SP(0) }, { 1, NONE }, { 12, NONE }, { 13, SP(0) }, { 17, SP(0) },
			{ 20, SP(0) }, { 28, NONE }, { 32, BELOW(8) }, { 41, BELOW(8) } }, .expected_cnt = 9 },
	{ .what = "an adapter of later JDKs, with a slow way that comes back to where it began",
	  .kind = HOTSPOT_BLOB_STUB, .blob_name = "I2C/C2I adapters",
	  /*
	   * mov r11, rsp; pop rax; and rsp, -16; push rax; jmp r11; cmp qword [rbx + 0x48], 0; je to the lea; mov r13, rsp;
	   * and rsp, -16; pushfq; popfq; mov rsp, r13; lea r13, [rsp + 8]; pop rax; sub rsp, 0x20; push rax;
	   * mov [rsp + 0x20], esi; jmp rcx
	   */
	  CODE("\x4c\x8b\xdc\x58\x48\x83\xe4\xf0\x50\x41\xff\xe3\x48\x83\x7b\x48\x00\x74\x0c\x4c\x8b\xec"
	       "\x48\x83\xe4\xf0\x9c\x9d\x49\x8b\xe5\x4c\x8d\x6c\x24\x08\x58\x48\x83\xec\x20\x50"
	       "\x89\x74\x24\x20\xff\xe1"),
	  .expected = { { 3, SP(0) }, { 4, NONE }, { 9, SP(0) }, { 12, SP(0) }, { 22, SP(0) },
			{ 26, NONE }, { 28, NONE }, { 31, SP(0) }, { 37, NONE }, { 42, BELOW(0x20) } },
	  .expected_cnt = 10 },
	{ .what = "an entry of method handles, which only interpreted code calls",
	  .kind = HOTSPOT_BLOB_STUB, .blob_name = "MethodHandles adapters",
	  /* mov rbx, [rcx + 0x10]; jmp [rbx + 0x38] */
	  CODE("\x48\x8b\x59\x10\xff\x63\x38"),
	  .expected = { { 0, NONE }, { 4, NONE } }, .expected_cnt = 2 },
	{ .what = "a linker of method handles, which compiled code calls",
	  .kind = HOTSPOT_BLOB_NATIVE,
	  CODE("\x48\x8b\x59\x10\xff\x63\x38"),
	  .expected = { { 0, SP(0) }, { 4, SP(0) } }, .expected_cnt = 2 },
	{ .what = "a stub of virtual calls, whatever its code is",
	  .kind = HOTSPOT_BLOB_VTABLE, .blob_name = "vtable chunks",
	  /* mov r10d, [rsi + 8]; jmp [rbx + 0x40] */
	  CODE("\x44\x8b\x56\x08\xff\x63\x40"),
	  .expected = { { 0, SP(0) }, { 4, SP(0) } }, .expected_cnt = 2 },
	{ .what = "an interpreted frame that is being made",
	  .kind = HOTSPOT_BLOB_INTERPRETER, .blob_name = "Interpreter",
	  /*
	   * push rax; push rbp; mov rbp, rsp; push r13; push 0; mov r13, [rbx + 8]; push rbx; test rdx, rdx; je 4;
	   * add rdx, 8; push rdx; push r14; mov [rsp], rsp; jmp [r10 + rbx * 8]
	   */
	  CODE("\x50\x55\x48\x8b\xec\x41\x55\x68\x00\x00\x00\x00\x4c\x8b\x6b\x08\x53\x48\x85\xd2\x74\x04"
	       "\x48\x83\xc2\x08\x52\x41\x56\x48\x89\x24\x24\x41\xff\x24\xda"),
	  .expected = { { 0, NONE }, { 1, NONE }, { 5, NONE }, { 7, MADE(8) }, { 12, MADE(16) },
			{ 17, MADE(24) }, { 26, MADE(24) }, { 27, MADE(32) }, { 29, MADE(40) } },
	  .expected_cnt = 9 },
	{ .what = "an interpreter that makes no such frame",
	  .kind = HOTSPOT_BLOB_INTERPRETER, .blob_name = "Interpreter",
	  /* push rbp; mov rbp, rsp; push r13; pop rax; nop; ret */
	  CODE("\x55\x48\x8b\xec\x41\x55\x58\x90\xc3"),
	  .expected = { { 6, MADE(8) }, { 7, NONE }, { 8, NONE } }, .expected_cnt = 3 },
};
/* clang-format on */

static struct hotspot_blob blob_of(const struct snippet *snippet)
{
	struct hotspot_blob blob = {
		.code_begin = BASE,
		.code_end = BASE + snippet->len,
		.kind = snippet->kind,
		.verified_entry = BASE,
		.entry_bci = -1,
		.frame_bytes = snippet->frame_bytes,
	};

	if (snippet->blob_name)
		strcpy(blob.name, snippet->blob_name);
	return blob;
}

static struct leaf_rule prove_at(const struct snippet *snippet, size_t at)
{
	struct hotspot_blob blob = blob_of(snippet);
	uint8_t code[128 + LEAF_CODE_BYTES];
	struct leaf_code leaf = { .blob = &blob, .ip = BASE + at, .at_ip = code + at };

	memset(code, FILLER, sizeof(code));
	memcpy(code, snippet->code, snippet->len);
	leaf_rule_wants(&blob, leaf.ip, LEAF_RULE_NEAR, &leaf.entry_address, &leaf.entry_len);
	leaf.entry = code + (leaf.entry_len ? leaf.entry_address - BASE : 0);
	return leaf_rule_prove(&leaf);
}

static void rules_hold_for_shapes_written_by_hand(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(snippets); i++) {
		for (size_t e = 0; e < snippets[i].expected_cnt; e++) {
			struct leaf_rule wanted = {
				.place = snippets[i].expected[e].place,
				.ra = snippets[i].expected[e].ra,
				.is_fp_saved = snippets[i].expected[e].is_fp_saved,
				.fp = snippets[i].expected[e].fp,
				.arguments = snippets[i].expected[e].arguments,
				.saved_at = snippets[i].expected[e].saved_at,
			};
			struct leaf_rule rule = prove_at(&snippets[i], snippets[i].expected[e].at);

			if (!leaf_rule_is_same(&rule, &wanted))
				fail_msg("%s: at %zu place %d ra %u fp %d %u", snippets[i].what,
					 snippets[i].expected[e].at, rule.place, rule.ra,
					 rule.is_fp_saved, rule.fp);
		}
	}
}

/* Bits by enum jbpf_leaf_rule: 1 [sp], 2 [sp + 8], 3 frame, 4 frame with its fp in the register. */
static void what_leads_elsewhere_is_refuted(void **state)
{
	const struct leaf_rule none = { .place = LEAF_RULE_NOT_PROVED };
	const struct leaf_rule at_sp = { SP(0) };
	const struct leaf_rule pushed = { SP_FP(8, 0) };
	const struct leaf_rule frame = { SP_FP(0x28, 0x20) };
	const struct leaf_rule frame_fp = { SP(0x28) };
	const struct leaf_rule more = { SP_FP(0x30, 0x28) };
	const struct leaf_rule saved = { SAVED(0, 0x28, 0x20) };

	(void)state;
	assert_int_equal(leaf_rule_refutes(&none, 0x30), 0);
	assert_int_equal(leaf_rule_refutes(&at_sp, 0x30), 0x1c);
	assert_int_equal(leaf_rule_refutes(&pushed, 0x30), 0x1a);
	assert_int_equal(leaf_rule_refutes(&frame, 0x30), 0x16);
	assert_int_equal(leaf_rule_refutes(&frame_fp, 0x30), 0x0e);
	assert_int_equal(leaf_rule_refutes(&more, 0x30), 0x1e);
	assert_int_equal(leaf_rule_refutes(&saved, 0x30), 0x1e);
}

static void guesses_are_believed_where_the_same_is_proved(void **state)
{
	const uint16_t saved = JBPF_LEAF_GUESS_FP_SAVED, by_fp = JBPF_LEAF_GUESS_BY_FP;
	const struct {
		struct leaf_rule rule;
		uint16_t right, wrong;
	} cases[] = {
		{ { SP(0) }, 1, 2 },
		{ { SP(0) }, 1, 1 | saved },
		{ { SP(0x28) }, 6, 6 | saved },
		{ { SP_FP(0x28, 0x20) }, 6 | saved, 6 },
		{ { SP_FP(0x28, 0x20) }, 6 | saved | by_fp, 7 | saved | by_fp },
		{ { FP }, 6 | saved | by_fp, 6 | saved },
	};
	const struct leaf_rule never[] = {
		{ .place = LEAF_RULE_NOT_PROVED },     { SP_FP(0x28, 0x10) }, { BELOW(16) },
		{ SP(8 * JBPF_LEAF_GUESS_WORD_MASK) }, { MADE(24) },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint16_t proved = leaf_rule_as_guess(&cases[i].rule);

		assert_true(leaf_rule_confirms(proved, cases[i].right));
		assert_false(leaf_rule_confirms(proved, cases[i].wrong));
	}
	for (size_t i = 0; i < ARRAY_SIZE(never); i++) {
		assert_int_equal(leaf_rule_as_guess(&never[i]), 0);
		assert_false(leaf_rule_confirms(0, 1));
		assert_false(leaf_rule_confirms(0, 0));
	}
}

static void code_that_is_another_one_by_now_proves_nothing(void **state)
{
	struct hotspot_blob blob = blob_of(&snippets[4]);
	uint8_t code[8 + LEAF_CODE_BYTES], then[LEAF_CODE_BYTES];
	struct leaf_code leaf = { .blob = &blob,
				  .ip = BASE,
				  .at_ip = then,
				  .entry = code,
				  .entry_address = BASE,
				  .entry_len = 8 };

	(void)state;
	memset(code, FILLER, sizeof(code));
	memcpy(code, snippets[4].code, 8);
	memcpy(then, code, sizeof(then));
	assert_int_equal(leaf_rule_prove(&leaf).place, LEAF_RULE_FROM_SP);
	then[2]++;
	assert_int_equal(leaf_rule_prove(&leaf).place, LEAF_RULE_NOT_PROVED);
	then[2]--;
	leaf.entry = NULL;
	assert_int_equal(leaf_rule_prove(&leaf).place, LEAF_RULE_NOT_PROVED);
}

static void wants_stay_inside_the_code(void **state)
{
	const struct hotspot_blob large = { .code_begin = BASE,
					    .code_end = BASE + (1 << 20),
					    .kind = HOTSPOT_BLOB_STUB };
	uint64_t address;
	size_t len;

	(void)state;
	leaf_rule_wants(&large, BASE + 5, LEAF_RULE_NEAR, &address, &len);
	assert_int_equal(address, BASE);
	leaf_rule_wants(&large, BASE + (1 << 19), LEAF_RULE_NEAR, &address, &len);
	assert_true(address > BASE && len == LEAF_RULE_NEAR_BYTES);
	leaf_rule_wants(&large, BASE + (1 << 19), LEAF_RULE_FAR, &address, &len);
	assert_true(address > BASE && len == LEAF_RULE_FAR_BYTES);
	leaf_rule_wants(&large, large.code_end - 1, LEAF_RULE_FAR, &address, &len);
	assert_int_equal(address + len, large.code_end);
	leaf_rule_wants(&large, large.code_end, LEAF_RULE_FAR, &address, &len);
	assert_int_equal(len, 0);
}

/* Where strings are compared, with so many bytes of other code before the return. */
static enum leaf_rule_place prove_before(size_t code_bytes, enum leaf_rule_reach reach)
{
	static const uint8_t tail[] = { 0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3 };
	static uint8_t code[LEAF_RULE_FAR_BYTES];
	struct hotspot_blob blob = { .code_begin = BASE,
				     .code_end = BASE + sizeof(code),
				     .verified_entry = BASE,
				     .entry_bci = -1,
				     .frame_bytes = 0x30,
				     .kind = HOTSPOT_BLOB_NMETHOD };
	struct leaf_code leaf = { .blob = &blob, .ip = BASE, .at_ip = code, .entry = code };

	memset(code, 0x90, sizeof(code));
	code[4] = 0x58;
	memcpy(code + code_bytes, tail, sizeof(tail));
	leaf_rule_wants(&blob, leaf.ip, reach, &leaf.entry_address, &leaf.entry_len);
	return leaf_rule_prove(&leaf).place;
}

static void a_return_is_near_or_far(void **state)
{
	(void)state;
	assert_int_equal(prove_before(1000, LEAF_RULE_NEAR), LEAF_RULE_FROM_SP);
	assert_int_equal(prove_before(8000, LEAF_RULE_NEAR), LEAF_RULE_NOT_PROVED);
	assert_int_equal(prove_before(8000, LEAF_RULE_FAR), LEAF_RULE_FROM_SP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_hold_for_shapes_written_by_hand),
		cmocka_unit_test(what_leads_elsewhere_is_refuted),
		cmocka_unit_test(guesses_are_believed_where_the_same_is_proved),
		cmocka_unit_test(code_that_is_another_one_by_now_proves_nothing),
		cmocka_unit_test(a_return_is_near_or_far),
		cmocka_unit_test(wants_stay_inside_the_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
