// SPDX-License-Identifier: Apache-2.0
/*
 * Frames of HotSpot's JIT code without frame pointers: a code cache in memory that the test lays out,
 * a leaf at each instruction, interpreted frames, and stacks that go from native code through JIT
 * code to native code.
 */
#include "tests/unit/bpf/walk_host.h"

#define HEAP		  0x7f1000000000ull
#define HEAP_BYTES	  (1ull << 20)
#define SEGMAP		  0x7f2000000000ull
#define SHIFT		  7u
#define SEGMENT		  (1ull << SHIFT)
#define INTERPRETER	  (HEAP + 0x1000)
#define INTERPRETER_BYTES 0x1000ull
#define STACK		  0x7f3000000000ull
#define STACK_BYTES	  (64 * HOST_PAGE)
#define METHOD		  0x7f4000000000ull
#define NATIVE		  0x7f5000000000ull /* keeps frame pointers */

/* As in JDK 17, more or less: a HeapBlock, then a CodeBlob, whose nmethod goes on behind what is read. */
#define BLOCK_SIZE     16u
#define AT_LENGTH      0u
#define AT_USED	       8u
#define AT_HEADER_SIZE (BLOCK_SIZE + 16u)
#define AT_COMPLETE    (BLOCK_SIZE + 20u)
#define AT_FRAME_SIZE  (BLOCK_SIZE + 28u)
#define AT_CODE	       (BLOCK_SIZE + 48u)
#define AT_ENTRY       (BLOCK_SIZE + 136u)
#define AT_ENTRY_BCI   (BLOCK_SIZE + 144u)
#define NMETHOD_SIZE   336u
#define CODE_AT	       (BLOCK_SIZE + 384u) /* of an nmethod's block */

static struct jbpf_hotspot hotspot;

static void jvm_put(void)
{
	const uint32_t pid = HOST_PID;
	const struct jbpf_code_range range = {
		.start_ns = HOST_START_NS,
		.exec_id = HOST_EXEC_ID,
		.code_low = HEAP,
		.code_high = HEAP + HEAP_BYTES,
		.interpreter_low = INTERPRETER,
		.interpreter_high = INTERPRETER + INTERPRETER_BYTES,
	};

	MAP_PUT(code_ranges, &pid, &range);
	MAP_PUT(hotspots, &pid, &hotspot);
}

static int begin(void **state)
{
	if (host_begin(state))
		return -1;
	hotspot = (struct jbpf_hotspot){
		.start_ns = HOST_START_NS,
		.exec_id = HOST_EXEC_ID,
		.flags = JBPF_HOTSPOT_HAS_FRAME_SIZES,
		.heaps = { { .low = HEAP,
			     .len = HEAP_BYTES,
			     .segmap = SEGMAP,
			     .segment_shift = SHIFT } },
		.used = { .at = AT_USED, .bits = 8 },
		.length = { .at = AT_LENGTH, .bits = 64 },
		.header_size = { .at = AT_HEADER_SIZE, .bits = 32 },
		.frame_size = { .at = AT_FRAME_SIZE, .bits = 32 },
		.frame_complete = { .at = AT_COMPLETE, .bits = 32 },
		.code = { .at = AT_CODE, .bits = 64 },
		.entry = { .at = AT_ENTRY, .bits = 64 },
		.entry_bci = { .at = AT_ENTRY_BCI, .bits = 32 },
		.block_size = BLOCK_SIZE,
		.nmethod_size = NMETHOD_SIZE,
	};
	memory_map(HEAP, 16 * HOST_PAGE);
	memory_map(SEGMAP, HEAP_BYTES >> SHIFT);
	for (uint64_t i = 0; i < HEAP_BYTES >> SHIFT; i++)
		memory_put(SEGMAP + i, "\xff", 1);
	memory_map(STACK, STACK_BYTES);
	jvm_put();
	return 0;
}

struct blob {
	int32_t frame_words; /* 0: not by size */
	int32_t complete;    /* offset in the code; -1: never */
	uint64_t entry;	     /* of an nmethod, offset in the code */
	int32_t entry_bci;   /* -1: not for OSR */
	bool is_stub;
	const void *code;
	size_t len;
};

/* Puts it into the block at this segment; returns where its code begins. */
static uint64_t blob_put(uint64_t segment, const struct blob *blob)
{
	const uint64_t block = HEAP + segment * SEGMENT, code = block + CODE_AT;
	const uint64_t segments = (CODE_AT + blob->len + SEGMENT - 1) / SEGMENT;
	const uint32_t header_size = blob->is_stub ? 64 : NMETHOD_SIZE;

	memory_word(block + AT_LENGTH, segments);
	memory_put(block + AT_USED, "\x01", 1);
	memory_put(block + AT_HEADER_SIZE, &header_size, 4);
	memory_put(block + AT_COMPLETE, &blob->complete, 4);
	memory_put(block + AT_FRAME_SIZE, &blob->frame_words, 4);
	memory_word(block + AT_CODE, code);
	memory_word(block + AT_ENTRY, code + blob->entry);
	memory_put(block + AT_ENTRY_BCI, &blob->entry_bci, 4);
	memory_put(code, blob->code, blob->len);
	for (uint64_t i = 0; i < segments; i++) {
		const uint8_t back = (uint8_t)i;

		memory_put(SEGMAP + segment + i, &back, 1);
	}
	return code;
}

static const uint8_t nops[256] = { [0 ... 255] = 0x90 };

/*
 * What calls the leaf: a compiled method with a frame of 10 words, called by the stub that Java is
 * called by, which keeps a frame pointer, as native code does, where the stack ends. Lays its frame out
 * from sp on and returns the address that the leaf returns to.
 */
#define CALLER_WORDS 10
#define CALLER_FP    0x1111 /* what it uses rbp for */

struct callers {
	uint64_t leaf_returns; /* to here */
	uint64_t stub_returns;
	uint64_t words[4]; /* from the leaf's caller on */
};

static struct callers callers_put(uint64_t sp)
{
	const struct blob method = { .frame_words = CALLER_WORDS,
				     .complete = 4,
				     .entry_bci = -1,
				     .code = nops,
				     .len = sizeof(nops) };
	const struct blob stub = {
		.is_stub = true, .complete = -1, .code = nops, .len = sizeof(nops)
	};
	const uint64_t caller = blob_put(100, &method) + 64, call_stub = blob_put(120, &stub) + 32;
	const uint64_t top = sp + 8 * CALLER_WORDS, fp = top + 128;

	memory_word(top - 16, fp); /* the stub's rbp */
	memory_word(top - 8, call_stub);
	memory_word(fp, fp + 64);
	memory_word(fp + 8, NATIVE + 16);
	memory_word(fp + 64, 0);
	memory_word(fp + 72, NATIVE + 32);
	return (struct callers){ .leaf_returns = caller,
				 .stub_returns = call_stub,
				 .words = { caller, call_stub, NATIVE + 16, NATIVE + 32 } };
}

static void assert_callers(const struct walked *walked, uint64_t pc, const struct callers *callers)
{
	ASSERT_WALKED(walked, JBPF_END_ROOT, pc, callers->words[0], callers->words[1],
		      callers->words[2], callers->words[3]);
}

/* ---- a leaf at each instruction ---- */

/* Where an instruction begins, how far sp is below the return address then, and what rbp holds. */
struct step {
	uint32_t at;
	uint32_t below;
	bool is_saved; /* the caller's rbp was pushed, right below the return address */
	enum jbpf_leaf_rule rule;
};

struct method {
	const char *what;
	const char *code;
	size_t len;
	int32_t frame_words; /* the return address and the saved rbp among them */
	int32_t complete;
	uint64_t entry;
	struct step steps[16]; /* up to one with at = 0 that is not the first */
};

#define BYTES(text) .code = (text), .len = sizeof(text) - 1
#define SP	    JBPF_LEAF_RULE_SP
#define SP_8	    JBPF_LEAF_RULE_SP_8
#define FRAME	    JBPF_LEAF_RULE_FRAME
#define FRAME_FP    JBPF_LEAF_RULE_FRAME_FP

/* clang-format off */
static const struct method methods[] = {
	{ .what = "stack bang, push, sub; cmp of the poll (JDK 17 and later)",
	  /* mov [rsp-0x14000], eax; push rbp; sub rsp, 0x20; cmp [r15+0x20], n; jne; mov ebp, esi; nop;
	     add rsp, 0x20; pop rbp; cmp rsp, [r15+0x348]; ja; ret */
	  BYTES("\x89\x84\x24\x00\xc0\xfe\xff" "\x55" "\x48\x83\xec\x20"
		"\x41\x81\x7f\x20\x01\x00\x00\x00" "\x0f\x85\x10\x00\x00\x00" "\x8b\xee" "\x90"
		"\x48\x83\xc4\x20" "\x5d" "\x49\x3b\xa7\x48\x03\x00\x00" "\x0f\x87\x10\x00\x00\x00" "\xc3"),
	  .frame_words = 6, .complete = 12,
	  .steps = { { 0, 0, false, SP }, { 7, 0, false, SP }, { 8, 8, true, SP_8 }, { 12, 0x28, true, FRAME },
		     { 20, 0x28, true, FRAME }, { 26, 0x28, true, FRAME }, { 28, 0x28, true, FRAME },
		     { 29, 0x28, true, FRAME }, { 33, 8, true, SP_8 }, { 34, 0, false, SP },
		     { 41, 0, false, SP }, { 47, 0, false, SP } } },
	{ .what = "push, mov rbp, sub; test of the poll behind a load (JDK 11)",
	  /* push rbp; mov rbp, rsp; sub rsp, 0x10; nop; add rsp, 0x10; pop rbp; mov r10, [r15+0x70]; test [r10], eax; ret */
	  BYTES("\x55" "\x48\x8b\xec" "\x48\x83\xec\x10" "\x90" "\x48\x83\xc4\x10" "\x5d"
		"\x4d\x8b\x97\x70\x00\x00\x00" "\x41\x85\x02" "\xc3"),
	  .frame_words = 4, .complete = 8,
	  .steps = { { 0, 0, false, SP }, { 1, 8, true, SP_8 }, { 4, 8, true, SP_8 }, { 8, 0x18, true, FRAME },
		     { 9, 0x18, true, FRAME }, { 13, 8, true, SP_8 }, { 14, 0, false, SP }, { 21, 0, false, SP },
		     { 24, 0, false, SP } } },
	{ .what = "sub, mov [rsp+n], rbp; test of the poll page (JDK 8); an entry behind a check",
	  /* nop * 8; sub rsp, 0x18; mov [rsp+0x10], rbp; nop; add rsp, 0x10; pop rbp; test [rip+d], eax; ret */
	  BYTES("\x90\x90\x90\x90\x90\x90\x90\x90" "\x48\x83\xec\x18" "\x48\x89\x6c\x24\x10" "\x90"
		"\x48\x83\xc4\x10" "\x5d" "\x85\x05\x10\x00\x00\x00" "\xc3"),
	  .frame_words = 4, .complete = 17, .entry = 8,
	  .steps = { { 0, 0, false, SP }, { 3, 0, false, SP }, { 8, 0, false, SP }, { 12, 0x18, false, FRAME_FP },
		     { 17, 0x18, true, FRAME }, { 18, 0x18, true, FRAME }, { 22, 8, true, SP_8 },
		     { 23, 0, false, SP }, { 29, 0, false, SP } } },
};
/* clang-format on */

static void step_judge(const struct method *method, const struct step *step, uint64_t code)
{
	/* The return address lies here, in each state of the frame. */
	const uint64_t ra = STACK + 1024, sp = ra - step->below;
	struct callers callers = callers_put(ra + 8);
	struct walked walked;

	memory_word(ra, callers.leaf_returns);
	memory_word(ra - 8, step->is_saved ? CALLER_FP : 0xdead);
	for (uint64_t at = ra - 256; at < ra - 8; at += 8)
		memory_word(at, 0xbad0000 + at);
	walked = walk(code + step->at, sp, step->is_saved ? 0x2222 : CALLER_FP);
	if (jbpf_leaf_rule_of(walked.head.flags) != step->rule)
		fail_msg("%s: at %u rule %u and not %u", method->what, step->at,
			 jbpf_leaf_rule_of(walked.head.flags), step->rule);
	assert_callers(&walked, code + step->at, &callers);
}

static void test_the_caller_of_a_leaf_is_found_at_each_instruction(void **state)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		const struct method *method = &methods[i];
		const struct blob blob = { .frame_words = method->frame_words,
					   .complete = method->complete,
					   .entry = method->entry,
					   .entry_bci = -1,
					   .code = method->code,
					   .len = method->len };
		const uint64_t code = blob_put(70, &blob);

		for (size_t k = 0; k < 16 && (!k || method->steps[k].at); k++)
			step_judge(method, &method->steps[k], code);
	}
}

/* Its caller's rbp is the frame pointer of the stub that called Java: a wrong one ends the walk. */
static void
test_the_frame_pointer_of_a_caller_that_keeps_one_is_found_at_each_instruction(void **state)
{
	const struct blob stub = {
		.is_stub = true, .complete = -1, .code = nops, .len = sizeof(nops)
	};
	const uint64_t call_stub = blob_put(120, &stub) + 32;
	const uint64_t ra = STACK + 1024, fp = STACK + 2048;

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		const struct method *method = &methods[i];
		const struct blob blob = { .frame_words = method->frame_words,
					   .complete = method->complete,
					   .entry = method->entry,
					   .entry_bci = -1,
					   .code = method->code,
					   .len = method->len };
		const uint64_t code = blob_put(70, &blob);

		memory_word(ra, call_stub);
		memory_word(fp, 0);
		memory_word(fp + 8, NATIVE + 16);
		for (size_t k = 0; k < 16 && (!k || method->steps[k].at); k++) {
			const struct step *step = &method->steps[k];

			memory_word(ra - 8, step->is_saved ? fp : 0xdead);
			const struct walked walked = walk(code + step->at, ra - step->below,
							  step->is_saved ? 0x2222 : fp);

			ASSERT_WALKED(&walked, JBPF_END_ROOT, code + step->at, call_stub,
				      NATIVE + 16);
		}
	}
}

/* ---- what is guessed, and what user space proves ---- */

static void test_more_words_pushed_below_a_frame_are_guessed_and_said_so(void **state)
{
	const struct blob blob = {
		.frame_words = 4, .complete = 8, .entry_bci = -1, .code = nops, .len = 64
	};
	const uint64_t code = blob_put(70, &blob), ra = STACK + 1024;
	const struct callers callers = callers_put(ra + 8);

	for (uint64_t pushed = 1; pushed <= 9; pushed++) {
		uint64_t sp = ra + 8 - 8 * (4 + pushed);

		for (uint64_t at = sp; at < ra; at += 8)
			memory_word(at, 0x777);
		memory_word(ra, callers.leaf_returns);
		const struct walked walked = walk(code + 32, sp, 0x2222);

		if (pushed > 8) {
			ASSERT_WALKED(&walked, JBPF_END_LEAF, code + 32);
			continue;
		}
		assert_int_equal(jbpf_leaf_rule_of(walked.head.flags), JBPF_LEAF_RULE_GUESSED);
		assert_int_equal(jbpf_leaf_guess_of(walked.head.flags),
				 (4 + pushed) | JBPF_LEAF_GUESS_FP_SAVED);
		assert_callers(&walked, code + 32, &callers);
	}
}

static void test_a_stub_has_no_frame_or_one_that_its_frame_pointer_leads_to(void **state)
{
	const struct blob blob = { .is_stub = true, .complete = -1, .code = nops, .len = 64 };
	const uint64_t code = blob_put(70, &blob), sp = STACK + 1024, fp = STACK + 1088;
	const struct callers callers = callers_put(sp + 8);

	memory_word(sp, callers.leaf_returns);
	const struct walked bare = walk(code + 32, sp, CALLER_FP);

	assert_int_equal(jbpf_leaf_guess_of(bare.head.flags), 1);
	assert_callers(&bare, code + 32, &callers);
	const struct callers above = callers_put(fp + 16);

	memory_word(sp, 0x777);
	memory_word(fp, CALLER_FP);
	memory_word(fp + 8, above.leaf_returns);
	const struct walked framed = walk(code + 32, sp, fp);

	assert_true(jbpf_leaf_guess_of(framed.head.flags) & JBPF_LEAF_GUESS_BY_FP);
	assert_callers(&framed, code + 32, &above);
	const struct walked neither = walk(code + 32, sp, 3);

	ASSERT_WALKED(&neither, JBPF_END_LEAF, code + 32);
}

static void proof_put(uint64_t address, const struct jbpf_leaf_proof *proof)
{
	const struct jbpf_leaf_key key = { .address = address, .pid = HOST_PID };

	MAP_PUT(leaf_rules, &key, proof);
}

static void
test_what_is_proved_goes_before_what_is_concluded_and_only_for_that_very_code(void **state)
{
	const struct blob blob = {
		.frame_words = 4, .complete = 8, .entry_bci = -1, .code = nops, .len = 64
	};
	const uint64_t code = blob_put(70, &blob), sp = STACK + 1024, pc = code + 32;
	const struct callers callers = callers_put(sp + 48);
	struct jbpf_leaf_proof proof = {
		.start_ns = HOST_START_NS,
		.exec_id = HOST_EXEC_ID,
		.blob = code - CODE_AT + BLOCK_SIZE,
		.code = { 0x9090909090909090ull, 0x9090909090909090ull },
		.place = JBPF_LEAF_FROM_SP,
		.ra = 40,
		.fp = 16,
	};

	memory_word(sp + 40, callers.leaf_returns);
	memory_word(sp + 16, CALLER_FP);
	proof_put(pc, &proof);
	const struct walked proved = walk(pc, sp, 0x2222);

	assert_int_equal(jbpf_leaf_rule_of(proved.head.flags), JBPF_LEAF_RULE_PROVED);
	assert_callers(&proved, pc, &callers);
	/* Of another run, another blob, other code: it is nobody's. */
	for (size_t i = 0; i < 5; i++) {
		struct jbpf_leaf_proof other = proof;

		other.start_ns += i == 0;
		other.exec_id += i == 1;
		other.blob += i == 2 ? 128 : 0;
		other.code[0] += i == 3;
		other.code[1] += i == 4;
		proof_put(pc, &other);
		assert_true(jbpf_leaf_rule_of(walk(pc, sp, 0x2222).head.flags) !=
			    JBPF_LEAF_RULE_PROVED);
	}
	proof.place = JBPF_LEAF_NOWHERE;
	proof_put(pc, &proof);
	const struct walked nowhere = walk(pc, sp, 0x2222);

	ASSERT_WALKED(&nowhere, JBPF_END_LEAF, pc);
}

static void test_a_proof_may_lead_by_a_saved_stack_pointer_or_by_what_the_caller_pops(void **state)
{
	const struct blob blob = {
		.frame_words = 4, .complete = 8, .entry_bci = -1, .code = nops, .len = 64
	};
	const uint64_t code = blob_put(70, &blob), sp = STACK + 1024, saved = sp + 512;
	const uint64_t pc = code + 32;
	struct jbpf_leaf_proof proof = {
		.start_ns = HOST_START_NS,
		.exec_id = HOST_EXEC_ID,
		.blob = code - CODE_AT + BLOCK_SIZE,
		.code = { 0x9090909090909090ull, 0x9090909090909090ull },
		.place = JBPF_LEAF_FROM_SAVED_SP,
		.saved_at = 24,
		.ra = 8,
		.fp = 0,
	};
	struct callers callers = callers_put(saved + 16);

	memory_word(sp + 24, saved);
	memory_word(saved, CALLER_FP);
	memory_word(saved + 8, callers.leaf_returns);
	proof_put(pc, &proof);
	const struct walked by_saved = walk(pc, sp, 0x2222);

	assert_callers(&by_saved, pc, &callers);
	memory_word(sp + 24, sp - 8);
	const struct walked below = walk(pc, sp, 0x2222);

	ASSERT_WALKED(&below, JBPF_END_LEAF, pc);
	/* pop rcx; pop rcx at the return address: two words of arguments are not the caller's. */
	proof.place = JBPF_LEAF_CALLER_POPS;
	proof.ra = 0;
	proof.arguments = 16;
	proof.fp = JBPF_LEAF_FP_SAME;
	proof_put(pc, &proof);
	callers = callers_put(sp + 24);
	memory_word(sp, callers.leaf_returns);
	const struct walked no_pops = walk(pc, sp, CALLER_FP);

	ASSERT_WALKED(&no_pops, JBPF_END_LEAF, pc);
	memory_put(callers.leaf_returns, "\x59\x59", 2);
	const struct walked pops = walk(pc, sp, CALLER_FP);

	assert_callers(&pops, pc, &callers);
}

/* ---- interpreted frames ---- */

static void test_an_interpreted_frame_has_its_method_and_its_senders_stack_pointer(void **state)
{
	const uint64_t sp = STACK + 1024, fp = sp + 128, sender = fp + 48;
	const struct callers callers = callers_put(sender);
	const uint64_t pc = INTERPRETER + 0x80;

	memory_word(fp - 24, METHOD);
	memory_word(fp - 8, sender);
	memory_word(fp, CALLER_FP);
	memory_word(fp + 8, callers.leaf_returns);
	const struct walked walked = walk(pc, sp, fp);

	ASSERT_WALKED(&walked, JBPF_END_ROOT, pc, METHOD | JBPF_WORD_METHOD, callers.words[0],
		      callers.words[1], callers.words[2], callers.words[3]);
	/* A frame of less than its fixed part is being made, or is not there any more. */
	const struct walked made = walk(pc, fp - 56, fp);

	ASSERT_WALKED(&made, JBPF_END_LEAF, pc);
	const struct jbpf_leaf_proof proof = {
		.start_ns = HOST_START_NS,
		.exec_id = HOST_EXEC_ID,
		.place = JBPF_LEAF_INTERPRETED,
		.ra = 56,
	};

	proof_put(pc, &proof);
	const struct walked proved = walk(pc, fp - 56, fp);

	assert_int_equal(proved.head.frame_cnt, 6);
	assert_int_equal(proved.head.end, JBPF_END_ROOT);
	/* The sender's sp is no frame's: far above, crooked; or it was not JIT code that called it. */
	memory_word(fp - 8, fp + 8 + (2u << 20));
	const struct walked far = walk(pc, sp, fp);

	ASSERT_WALKED(&far, JBPF_END_LEAF, pc);
	memory_word(fp - 8, sender + 4);
	assert_int_equal(walk(pc, sp, fp).head.end, JBPF_END_LEAF);
	memory_word(fp - 8, sender);
	memory_word(fp + 8, NATIVE);
	assert_int_equal(walk(pc, sp, fp).head.end, JBPF_END_LEAF);
}

/*
 * What an earlier interpreted frame left in a compiled caller's looks like one that lives: the code tells that
 * there is none.
 */
static void test_before_its_frame_and_behind_it_the_interpreters_leaf_is_alone(void **state)
{
	static const struct {
		const char *code;
		size_t len;
		bool is_there;
	} rows[] = {
#define CODE_OF(text) text, sizeof(text) - 1
		/* push 0; dec edx; jg; push rax; push rbp; mov rbp, rsp; push r13 */
		{ CODE_OF("\x68\0\0\0\0\xff\xca\x7f\xf7\x50\x55\x48\x8b\xec\x41\x55"), false },
		{ CODE_OF("\x48\x8b\xec\x41\x55"), false },
		{ CODE_OF("\x41\x55\x68\0\0\0\0"), true },
		/* movb [r15 + 0x3be], 0; pop r13; mov rsp, rbx; cmp rsp, [r15 + 0x348] */
		{ CODE_OF("\x41\xc6\x87\xbe\x03\0\0\0\x41\x5d\x48\x8b\xe3\x49\x3b\xa7\x48"),
		  false },
		/* cmp rsp, [r15 + 0x348]; jb; mov [r15 + 0x620], 0; jmp r13 */
		{ CODE_OF("\x49\x3b\xa7\x48\x03\0\0\x72\x0b\x49\xc7\x87\x20\x06\0\0\0\0\0\0"
			  "\x41\xff\xe5"),
		  false },
		/* mov rbx, [rbp - 8]; leave; pop r13; mov rsp, rbx; jmp r13 */
		{ CODE_OF("\x48\x8b\x5d\xf8\xc9\x41\x5d\x48\x8b\xe3\x41\xff\xe5"), true },
		{ CODE_OF("\xc9\x41\x5d\x48\x8b\xe3\x41\xff\xe5"), true },
	};
	static const uint8_t nothing[128] = { [0 ... 127] = 0x90 };
	const uint64_t sp = STACK + 1024, fp = sp + 96, pc = INTERPRETER + 256;
	/* Of an interpreted caller: as an address, or as words from fp; the others say nothing. */
	const uint64_t noted[] = { fp - 56, (uint64_t)-7, sp, fp - 60, sp - 8, sp + 4104, 0 };

	memory_word(fp - 24, METHOD);
	memory_word(fp - 8, fp + 48);
	memory_word(fp, CALLER_FP);
	memory_word(fp + 8, callers_put(fp + 48).leaf_returns);
	for (size_t by_size = 0; by_size < 2; by_size++) {
		hotspot.flags = by_size ? JBPF_HOTSPOT_HAS_FRAME_SIZES : 0;
		jvm_put();
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			memory_put(pc - 64, nothing, sizeof(nothing));
			memory_put(pc, rows[i].code, rows[i].len);
			for (uint64_t at = pc - 48; at <= pc; at += 48) {
				const struct walked walked = walk(at, sp, fp);

				assert_true((walked.head.end == JBPF_END_LEAF) ==
					    !rows[i].is_there);
				assert_true((walked.head.frame_cnt == 1) == !rows[i].is_there);
			}
		}
		memory_put(pc, rows[0].code, rows[0].len);
		for (size_t i = 0; i < sizeof(noted) / sizeof(noted[0]); i++) {
			memory_word(fp - 16, noted[i]);
			const struct walked walked = walk(pc, sp, fp);

			assert_true((walked.head.frame_cnt == 1) == (i >= 3));
			assert_true(i >= 3 || walked.words[1] == (METHOD | JBPF_WORD_METHOD));
		}
	}
}

/* ---- where frames end ---- */

static void test_a_virtual_threads_stack_ends_where_its_callers_are_on_the_heap(void **state)
{
	const struct blob blob = {
		.frame_words = 4, .complete = 8, .entry_bci = -1, .code = nops, .len = 64
	};
	const uint64_t code = blob_put(70, &blob), sp = STACK + 1024;
	const struct blob stub = {
		.is_stub = true, .complete = -1, .code = nops, .len = sizeof(nops)
	};
	const uint64_t barrier = blob_put(140, &stub);

	hotspot.barrier_low = barrier;
	hotspot.barrier_len = 32;
	jvm_put();
	memory_word(sp + 24, barrier + 8);
	const struct walked walked = walk(code + 32, sp, 0x2222);

	ASSERT_WALKED(&walked, JBPF_END_FROZEN, code + 32, barrier + 8);
	hotspot.barrier_len = 8;
	jvm_put();
	assert_true(walk(code + 32, sp, 0x2222).head.end != JBPF_END_FROZEN);
}

/* That stub's frame has a cookie, ~0, where others have their return address, and that a word further up. */
static void test_a_stack_goes_on_behind_the_stub_of_an_entry_barrier_alone(void **state)
{
	const struct blob blob = {
		.frame_words = 4, .complete = 8, .entry_bci = -1, .code = nops, .len = 64
	};
	const struct blob stub = {
		.is_stub = true, .complete = -1, .code = nops, .len = sizeof(nops)
	};
	const uint64_t code = blob_put(70, &blob), back = blob_put(140, &stub) + 32;
	const uint64_t sp = STACK + 1024, fp = sp + 128;
	const struct callers callers = callers_put(fp + 24);
	/* What it goes on with after its call, as SSE and AVX have it. */
	const char *const goes_on[] = { "\xf3\x0f\x6f\x04\x24\xf3\x0f\x6f\x4c\x24\x10",
					"\xc5\xfa\x6f\x04\x24\xc5\xfa\x6f\x4c\x24\x10" };

	memory_word(sp + 16, fp);
	memory_word(sp + 24, back);
	memory_word(fp, CALLER_FP);
	memory_word(fp + 8, UINT64_MAX);
	memory_word(fp + 16, callers.leaf_returns);
	/* Two ints of -1 are such a word, too. */
	const struct walked other = walk(code + 32, sp, 0x2222);

	ASSERT_WALKED(&other, JBPF_END_BAD_FP, code + 32, back);
	for (size_t i = 0; i < 2; i++) {
		memory_put(back, goes_on[i], 11);
		const struct walked walked = walk(code + 32, sp, 0x2222);

		ASSERT_WALKED(&walked, JBPF_END_ROOT, code + 32, back, callers.words[0],
			      callers.words[1], callers.words[2], callers.words[3]);
	}
	/* Compiled code alone calls it. */
	memory_word(fp + 16, NATIVE);
	const struct walked native = walk(code + 32, sp, 0x2222);

	ASSERT_WALKED(&native, JBPF_END_BAD_FP, code + 32, back);
}

static void test_code_that_is_gone_ends_the_walk(void **state)
{
	const struct blob blob = {
		.frame_words = 4, .complete = 8, .entry_bci = -1, .code = nops, .len = 64
	};
	const uint64_t code = blob_put(70, &blob), block = code - CODE_AT, sp = STACK + 1024;
	const struct callers callers = callers_put(sp + 32);

	memory_word(sp + 24, callers.leaf_returns);
	const struct walked there = walk(code + 32, sp, CALLER_FP);

	assert_callers(&there, code + 32, &callers);
	/* Remembered or not: its block is free, or shorter, or its code begins later. */
	memory_put(block + AT_USED, "\0", 1);
	assert_int_equal(walk(code + 32, sp, CALLER_FP).head.end, JBPF_END_JIT);
	memory_put(block + AT_USED, "\1", 1);
	memory_word(block + AT_LENGTH, 1);
	assert_int_equal(walk(code + 32, sp, CALLER_FP).head.end, JBPF_END_JIT);
	memory_word(block + AT_LENGTH, 8);
	memory_word(block + AT_CODE, code + 64);
	assert_int_equal(walk(code + 32, sp, CALLER_FP).head.end, JBPF_END_JIT);
	memory_word(block + AT_CODE, code);
	assert_int_equal(walk(code + 32, sp, CALLER_FP).head.end, JBPF_END_ROOT);
	/* An address of no heap, and one of a heap without a block. */
	assert_int_equal(walk(HEAP + 0x9000, sp, CALLER_FP).head.end, JBPF_END_JIT);
	hotspot.heaps[0].len = 0x100;
	jvm_put();
	assert_int_equal(walk(code + 32, sp, CALLER_FP).head.end, JBPF_END_JIT);
}

static void test_a_segment_map_of_many_hops_or_in_a_circle_ends(void **state)
{
	const struct blob blob = {
		.frame_words = 4, .complete = 8, .entry_bci = -1, .code = nops, .len = sizeof(nops)
	};
	const uint64_t code = blob_put(70, &blob), sp = STACK + 1024;
	const uint64_t segment = (code + 128 - HEAP) >> SHIFT;
	const struct callers callers = callers_put(sp + 32);

	memory_word(sp + 24, callers.leaf_returns);
	/* One segment back each time, as since JDK 16 where free blocks were joined. */
	for (uint64_t i = 71; i <= segment; i++)
		memory_put(SEGMAP + i, "\1", 1);
	const struct walked walked = walk(code + 128, sp, CALLER_FP);

	assert_callers(&walked, code + 128, &callers);
	/* Back beyond the begin of the map, where nothing is. */
	for (uint64_t i = 0; i <= segment; i++)
		memory_put(SEGMAP + i, "\xfe", 1);
	memset(&host_.blob_memo, 0, sizeof(host_.blob_memo));
	assert_int_equal(walk(code + 128, sp, CALLER_FP).head.end, JBPF_END_JIT);
}

/* As methods of one size are. */
static void test_a_stack_of_methods_at_regular_distances_is_whole_the_second_time(void **state)
{
	enum { DEPTH = 400, FIRST_SEGMENT = 128 };
	const struct blob blob = {
		.frame_words = 2, .complete = 8, .entry_bci = -1, .code = nops, .len = 64
	};
	const uint64_t sp = STACK + 1024, segment_cnt = (HEAP_BYTES >> SHIFT) - FIRST_SEGMENT;

	memory_map(HEAP, HEAP_BYTES);
	memory_word(sp + 16 * DEPTH + 8, callers_put(sp + 16 * (DEPTH + 1)).leaf_returns);
	for (uint64_t distance = 4; distance * DEPTH < segment_cnt; distance++) {
		uint64_t leaf = blob_put(FIRST_SEGMENT, &blob) + 32;

		for (uint64_t i = 0; i < DEPTH; i++)
			memory_word(sp + 16 * i + 8,
				    blob_put(FIRST_SEGMENT + i * distance, &blob) + 32);
		memset(&host_.blob_memo, 0, sizeof(host_.blob_memo));
		assert_int_equal(walk(leaf, sp, 0).head.end, JBPF_END_MAX_RULES);
		assert_int_equal(walk(leaf, sp, 0).head.end, JBPF_END_ROOT);
	}
}

static void test_of_an_hotspot_of_another_run_nothing_is_used(void **state)
{
	const struct blob blob = {
		.frame_words = 4, .complete = 8, .entry_bci = -1, .code = nops, .len = 64
	};
	const uint64_t code = blob_put(70, &blob), sp = STACK + 1024;

	memory_word(sp + 24, code + 8);
	hotspot.exec_id++;
	jvm_put();
	const struct walked walked = walk(code + 32, sp, 0);

	ASSERT_WALKED(&walked, JBPF_END_ROOT, code + 32);
}

/* ---- all of them in one stack ---- */

static void test_a_walk_goes_from_native_code_through_java_to_native_code(void **state)
{
	struct jbpf_space space = { .start_ns = HOST_START_NS,
				    .exec_id = HOST_EXEC_ID,
				    .generation = 9,
				    .mapping_cnt = 2 };
	const uint32_t pid = HOST_PID, chunk_key = 7 << JBPF_UNWIND_CHUNK_BITS;
	const uint64_t lib = NATIVE - 16 * HOST_PAGE, sp = STACK + 512;
	const struct unwind_chunk chunk = { { 1 << JBPF_UNWIND_PAGE_CNT_BITS | 1,
					      jbpf_row(0, JBPF_ROW_SP, 2, 5),
					      jbpf_row(0x800, JBPF_ROW_SPECIAL, 0, 0) } };
	const uint64_t interpreted = sp + 40 + 200, sender = interpreted + 64;
	struct callers callers;

	memset(space.start, 0xff, sizeof(space.start));
	space.start[0] = lib;
	space.mappings[0] = (struct jbpf_mapping){ .page_cnt = 1, .table = 7 };
	space.start[1] = NATIVE;
	space.mappings[1] = (struct jbpf_mapping){ .page_cnt = 1, .flags = JBPF_MAPPING_KEEPS_FP };
	MAP_PUT(spaces, &pid, &space);
	MAP_PUT(unwind_chunks, &chunk_key, &chunk);
	/* A library's leaf, called by an interpreted native method, that by a compiled one. */
	callers = callers_put(sender);
	memory_word(sp + 40 - 16, interpreted);
	memory_word(sp + 40 - 8, INTERPRETER + 0x200);
	memory_word(interpreted - 24, METHOD + 64);
	memory_word(interpreted - 8, sender);
	memory_word(interpreted, CALLER_FP);
	memory_word(interpreted + 8, callers.leaf_returns);
	const struct walked walked = walk(lib + 0x40, sp, 0x3333);

	ASSERT_WALKED(&walked, JBPF_END_ROOT, lib + 0x40, INTERPRETER + 0x200,
		      (METHOD + 64) | JBPF_WORD_METHOD, callers.words[0], callers.words[1],
		      callers.words[2], callers.words[3]);
	assert_int_equal(counted(JBPF_CNT_FRAMES_TABLE), 1);
	assert_int_equal(counted(JBPF_CNT_FRAMES_JIT), 3);
	/* Cut anywhere, it is a beginning of the same. */
	for (max_depth = 1; max_depth < 7; max_depth++) {
		const struct walked cut = walk(lib + 0x40, sp, 0x3333);

		assert_int_equal(cut.head.end, JBPF_END_MAX_DEPTH);
		assert_int_equal(cut.head.frame_cnt, max_depth);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, host_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_caller_of_a_leaf_is_found_at_each_instruction),
		TEST(test_the_frame_pointer_of_a_caller_that_keeps_one_is_found_at_each_instruction),
		TEST(test_more_words_pushed_below_a_frame_are_guessed_and_said_so),
		TEST(test_a_stub_has_no_frame_or_one_that_its_frame_pointer_leads_to),
		TEST(test_what_is_proved_goes_before_what_is_concluded_and_only_for_that_very_code),
		TEST(test_a_proof_may_lead_by_a_saved_stack_pointer_or_by_what_the_caller_pops),
		TEST(test_an_interpreted_frame_has_its_method_and_its_senders_stack_pointer),
		TEST(test_before_its_frame_and_behind_it_the_interpreters_leaf_is_alone),
		TEST(test_a_virtual_threads_stack_ends_where_its_callers_are_on_the_heap),
		TEST(test_a_stack_goes_on_behind_the_stub_of_an_entry_barrier_alone),
		TEST(test_code_that_is_gone_ends_the_walk),
		TEST(test_a_segment_map_of_many_hops_or_in_a_circle_ends),
		TEST(test_a_stack_of_methods_at_regular_distances_is_whole_the_second_time),
		TEST(test_of_an_hotspot_of_another_run_nothing_is_used),
		TEST(test_a_walk_goes_from_native_code_through_java_to_native_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
