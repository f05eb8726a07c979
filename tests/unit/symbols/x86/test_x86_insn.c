// SPDX-License-Identifier: Apache-2.0
/*
 * Length and stack effect of single x86-64 instructions. Many more, from real code and compared with
 * objdump, pass through test_leaf_repair.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "symbols/x86/x86_insn.h"
#include "user/util/cleanup.h"

static const struct {
	const char *code;
	uint32_t len;
	enum x86_insn_effect effect;
	int32_t value;
} known[] = {
	{ "\x90", 1, X86_INSN_NEUTRAL, 0 },
	{ "\x66\x66\x66\x0f\x1f\x84\x00\x00\x00\x00\x00", 11, X86_INSN_NEUTRAL, 0 },
	{ "\x50", 1, X86_INSN_PUSH, 0 },
	{ "\x41\x55", 2, X86_INSN_PUSH, 0 }, /* push r13 */
	{ "\x5c", 1, X86_INSN_POP_RSP, 0 },
	{ "\x41\x5c", 2, X86_INSN_POP, 0 }, /* pop r12 */
	{ "\xff\x75\x08", 3, X86_INSN_PUSH, 0 },
	{ "\x54", 1, X86_INSN_PUSH, 0 }, /* push rsp */
	{ "\x9c", 1, X86_INSN_PUSH, 0 }, /* pushfq */
	{ "\x9d", 1, X86_INSN_POP, 0 },
	{ "\x68\x00\x01\x00\x00", 5, X86_INSN_PUSH, 0 },
	{ "\x5d", 1, X86_INSN_POP_RBP, 0 },
	{ "\x55", 1, X86_INSN_PUSH_RBP, 0 },
	{ "\x8f\x04\x24", 3, X86_INSN_POP, 0 }, /* pop [rsp] */
	{ "\x48\x83\xec\x20", 4, X86_INSN_ADD_RSP, -32 },
	{ "\x48\x81\xc4\x00\x01\x00\x00", 7, X86_INSN_ADD_RSP, 256 },
	{ "\x48\x83\xc5\x10", 4, X86_INSN_ADD_RBP, 16 },
	{ "\x48\x81\xec\x00\x00\x00\x80", 7, X86_INSN_CLOBBERS_RSP, 0 },
	{ "\x66\x48\x81\xec\x00\x01\x00\x00", 8, X86_INSN_ADD_RSP, -256 }, /* 66 is void */
	{ "\x48\x83\xe4\xf0", 4, X86_INSN_CLOBBERS_RSP, 0 },		   /* and */
	{ "\x48\x83\xfc\x10", 4, X86_INSN_NEUTRAL, 0 },			   /* cmp */
	{ "\x49\x83\xc4\x10", 4, X86_INSN_NEUTRAL, 0 },			   /* add r12, 16 */
	{ "\x48\x8b\xec", 3, X86_INSN_RBP_FROM_RSP, 0 },
	{ "\x48\x89\xe5", 3, X86_INSN_RBP_FROM_RSP, 0 },
	{ "\x48\x8b\xe5", 3, X86_INSN_RSP_FROM_RBP, 0 },
	{ "\x48\x8d\x65\xd8", 4, X86_INSN_RSP_FROM_RBP, -40 },
	{ "\x48\x8d\x6c\x24\x10", 5, X86_INSN_RBP_FROM_RSP, 16 },
	{ "\x48\x8d\x64\x24\x80", 5, X86_INSN_ADD_RSP, -128 },
	{ "\x48\x8d\x64\x0c\x08", 5, X86_INSN_CLOBBERS_RSP, 0 }, /* + rcx */
	{ "\x49\x8b\xe3", 3, X86_INSN_CLOBBERS_RSP, 0 },
	{ "\x4c\x8b\xdc", 3, X86_INSN_NEUTRAL, 0 }, /* mov r11, rsp */
	{ "\x48\x8b\x6c\x24\x50", 5, X86_INSN_LOAD_RBP, 80 },
	{ "\x48\x89\x6c\x24\x10", 5, X86_INSN_STORE_RBP, 16 },
	{ "\x64\x48\x8b\x6c\x24\x50", 6, X86_INSN_CLOBBERS_RBP, 0 }, /* from fs: */
	{ "\x8b\xec", 2, X86_INSN_CLOBBERS_RBP, 0 },		     /* mov ebp, esp */
	{ "\x48\x87\xe0", 3, X86_INSN_CLOBBERS_RSP, 0 },
	{ "\x48\x0f\x44\xe8", 4, X86_INSN_CLOBBERS_RBP, 0 }, /* cmove rbp, rax */
	{ "\x88\xe8", 2, X86_INSN_NEUTRAL, 0 },		     /* mov al, ch */
	{ "\x40\x88\xc5", 3, X86_INSN_CLOBBERS_RBP, 0 },     /* mov bpl, al */
	{ "\xc9", 1, X86_INSN_LEAVE, 0 },
	{ "\xc3", 1, X86_INSN_RET, 0 },
	{ "\xf3\xc3", 2, X86_INSN_RET, 0 },
	{ "\xc2\x08\x00", 0, X86_INSN_UNKNOWN, 0 },
	{ "\xe8\x01\x00\x00\x00", 5, X86_INSN_CALL, 1 },
	{ "\x41\xff\xd2", 3, X86_INSN_CALL, 0 },
	{ "\xe9\xfb\xff\xff\xff", 5, X86_INSN_JUMP, -5 },
	{ "\xeb\x80", 2, X86_INSN_JUMP, -128 },
	{ "\x0f\x87\x00\x01\x00\x00", 6, X86_INSN_BRANCH, 256 },
	{ "\xff\x63\x40", 3, X86_INSN_JUMP_INDIRECT, 0 },
	{ "\xf4", 1, X86_INSN_STOP, 0 },
	{ "\x0f\x0b", 2, X86_INSN_STOP, 0 },
	{ "\x49\xba\x01\x02\x03\x04\x05\x06\x07\x08", 10, X86_INSN_NEUTRAL, 0 },
	{ "\x48\xf7\x05\x00\x00\x00\x00\x01\x00\x00\x00", 11, X86_INSN_NEUTRAL, 0 },
	{ "\x66\xf7\xc1\x01\x00", 5, X86_INSN_NEUTRAL, 0 },
	{ "\xf6\xd9", 2, X86_INSN_NEUTRAL, 0 },
	{ "\xf7\xdd", 2, X86_INSN_CLOBBERS_RBP, 0 },		 /* neg ebp */
	{ "\xc5\xf8\x77", 3, X86_INSN_NEUTRAL, 0 },		 /* vzeroupper */
	{ "\xc5\xfe\x6f\x6f\x20", 5, X86_INSN_NEUTRAL, 0 },	 /* vmovdqu ymm5, [] */
	{ "\xc4\xe3\x7d\x39\xe5\x01", 6, X86_INSN_NEUTRAL, 0 },	 /* vextracti128 */
	{ "\xc4\xe2\xf3\xf7\xe8", 5, X86_INSN_CLOBBERS_RBP, 0 }, /* shrx rbp */
	{ "\xc4\xe1\xf9\x7e\xe5", 5, X86_INSN_CLOBBERS_RBP, 0 }, /* vmovq rbp */
	{ "\x62\xf1\xfe\x48\x6f\x6c\x24\x01", 8, X86_INSN_NEUTRAL, 0 },
	{ "\x66\x0f\x3a\x0f\xec\x04", 6, X86_INSN_NEUTRAL, 0 },	     /* palignr xmm5 */
	{ "\xf2\x48\x0f\x38\xf1\xe8", 6, X86_INSN_CLOBBERS_RBP, 0 }, /* crc32 */
	{ "\xf3\x48\x0f\x1e\xcd", 5, X86_INSN_CLOBBERS_RBP, 0 },     /* rdsspq */
	{ "\xf3\x0f\x1e\xfa", 4, X86_INSN_NEUTRAL, 0 },		     /* endbr64 */
	{ "\x0f\x31", 2, X86_INSN_NEUTRAL, 0 },			     /* rdtsc */
	{ "\x0f\xa2", 2, X86_INSN_NEUTRAL, 0 },			     /* cpuid */
	{ "\xf3\x90", 2, X86_INSN_NEUTRAL, 0 },			     /* pause */
	{ "\xf0\x83\x44\x24\xc0\x00", 6, X86_INSN_NEUTRAL, 0 },
	{ "\xf3\x48\xab", 3, X86_INSN_NEUTRAL, 0 }, /* rep stos */
	{ "\xe3\x10", 2, X86_INSN_BRANCH, 16 },	    /* jrcxz */
	{ "\x0f\x05", 0, X86_INSN_UNKNOWN, 0 },
	{ "\xd5\x00", 0, X86_INSN_UNKNOWN, 0 },
	{ "\x67\x8b", 0, X86_INSN_UNKNOWN, 0 },
};

static void instructions_are_told_by_what_they_do_to_the_stack(void **test_state)
{
	(void)test_state;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		uint8_t code[32] = { 0 };
		struct x86_insn insn;

		memcpy(code, known[i].code, known[i].len ? known[i].len : 2);
		insn = x86_insn_decode(code, sizeof(code));
		if (insn.effect != known[i].effect || insn.len != known[i].len ||
		    insn.value != known[i].value)
			fail_msg("row %zu: effect %d len %u value %d", i, (int)insn.effect,
				 insn.len, insn.value);
		/* Cut off anywhere, it is no instruction. */
		for (size_t len = 0; len < known[i].len; len++) {
			insn = x86_insn_decode(code, len);
			assert_int_equal(insn.effect, X86_INSN_UNKNOWN);
			assert_int_equal(insn.len, 0);
		}
	}
}

/* Nothing is said of what may go on elsewhere, needs privileges or moves both registers. */
static void what_is_not_surely_known_is_unknown(void **test_state)
{
	static const struct {
		const char *name;
		uint8_t code[16];
	} rows[] = {
		{ "xbegin", { 0xc7, 0xf8 } },
		{ "xabort", { 0xc6, 0xf8, 0x01 } },
		{ "xend", { 0x0f, 0x01, 0xd5 } },
		{ "int 0x80", { 0xcd, 0x80 } },
		{ "sysenter", { 0x0f, 0x34 } },
		{ "vmcall", { 0x0f, 0x01, 0xc1 } },
		{ "swapgs", { 0x0f, 0x01, 0xf8 } },
		{ "iretq", { 0x48, 0xcf } },
		{ "retf", { 0xcb } },
		{ "jmp far", { 0xff, 0x2f } },
		{ "out", { 0xe6, 0x80 } },
		{ "enter", { 0xc8, 0x10, 0x00, 0x00 } },
		{ "xchg rbp, rsp", { 0x48, 0x87, 0xe5 } },
		{ "data16 push", { 0x66, 0x50 } },
		/* Processors of Intel and AMD disagree about these. */
		{ "data16 jmp", { 0x66, 0xe9 } },
		{ "data16 jne", { 0x66, 0x0f, 0x85 } },
		{ "data16 ret", { 0x66, 0xc3 } },
		/* Only the first Xeon Phi has these. */
		{ "jkzd", { 0xc5, 0xf8, 0x84 } },
		{ "vaddps with MVEX", { 0x62, 0xf1, 0x78, 0x08, 0x58, 0xc1 } },
	};

	(void)test_state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct x86_insn insn = x86_insn_decode(rows[i].code, sizeof(rows[i].code));

		if (insn.effect != X86_INSN_UNKNOWN || insn.len != 0)
			fail_msg("%s: effect %d len %u", rows[i].name, (int)insn.effect, insn.len);
	}
}

/* Whatever the bytes: never longer than they are or than an instruction can be. */
static void no_bytes_give_a_length_beyond_them(void **test_state)
{
	uint64_t seed = 88172645463325252ull;

	(void)test_state;
	for (int round = 0; round < 200000; round++) {
		uint8_t code[16];
		size_t len = (size_t)round % (sizeof(code) + 1);
		struct x86_insn insn;

		for (size_t i = 0; i < sizeof(code); i++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			code[i] = (uint8_t)(seed >> 32);
		}
		insn = x86_insn_decode(code, len);
		assert_true(insn.len <= len);
		assert_true(insn.len <= 15);
		assert_int_equal(insn.len == 0, insn.effect == X86_INSN_UNKNOWN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_are_told_by_what_they_do_to_the_stack),
		cmocka_unit_test(what_is_not_surely_known_is_unknown),
		cmocka_unit_test(no_bytes_give_a_length_beyond_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
