// SPDX-License-Identifier: Apache-2.0
/*
 * The walk by frame pointers, and what is taken of a JVM's frames, to the word: over memory that the
 * test lays out, against a walk of the same memory that is written here frame by frame.
 */
#include "tests/unit/bpf/walk_host.h"

#define CODE		(1ull << 40) /* of a JVM */
#define CODE_END	(CODE + (64ull << 30))
#define INTERPRETER	(CODE + (32ull << 30))
#define INTERPRETER_END (CODE + (48ull << 30))
#define STACKS		0x30000000000ull
#define METHODS		0x50000000000ull
#define PAGE		HOST_PAGE

/* dec rcx; jnz; jmp rbx */
static const uint8_t some_code[16] = { 0x48, 0xff, 0xc9, 0x75, 0xfb, 0xff, 0xe3 };

static void range_put(uint64_t start_ns, uint32_t exec_id)
{
	const struct jbpf_code_range range = {
		.start_ns = start_ns,
		.exec_id = exec_id,
		.code_low = CODE,
		.code_high = CODE_END,
		.interpreter_low = INTERPRETER,
		.interpreter_high = INTERPRETER_END,
	};
	const uint32_t pid = HOST_PID;

	MAP_PUT(code_ranges, &pid, &range);
}

/* Its mappings are known: JIT code is walked by what is known of it, which are frame pointers. */
static void space_put(void)
{
	struct jbpf_space space = { .start_ns = HOST_START_NS,
				    .exec_id = HOST_EXEC_ID,
				    .generation = 1 };
	const uint32_t pid = HOST_PID;

	memset(space.start, 0xff, sizeof(space.start));
	MAP_PUT(spaces, &pid, &space);
}

static void jvm_begin(bool by_rules)
{
	range_put(HOST_START_NS, HOST_EXEC_ID);
	if (by_rules)
		space_put();
	memory_map(CODE, PAGE);
	memory_map(INTERPRETER, PAGE);
	memory_put(CODE, some_code, sizeof(some_code));
	memory_put(INTERPRETER, some_code, sizeof(some_code));
}

struct expected {
	uint64_t words[JBPF_MAX_DEPTH];
	size_t cnt;
	enum jbpf_stack_end end;
};

static bool is_method(uint64_t word)
{
	return word > 4096 && word < 1ull << 56 && word % 8 == 0;
}

static bool is_interpreter(uint64_t address)
{
	return address >= INTERPRETER && address < INTERPRETER_END;
}

/* The frame of interrupted code of the interpreter, whose caller's sp lies where `fp` says. */
static void interpreted_put(uint64_t fp, uint64_t method)
{
	memory_word(fp - 24, method);
	memory_word(fp - 8, fp + 16);
}

/*
 * Is it certain that the interpreter was interrupted in this frame: is there room for its fixed part, and do
 * its words look like it? *sp is its caller's then.
 */
static bool is_made(uint64_t fp, uint64_t *sp)
{
	const uint64_t sender = memory_word_at(fp - 8), back = memory_word_at(fp + 8);

	if (fp - *sp < 64 || sender - fp - 8 > 1 << 20 || sender % 8 || back - 1 < CODE ||
	    back - 1 >= CODE_END)
		return false;
	*sp = sender;
	return true;
}

/* As the contract says it, one frame after another. */
static void expect(uint64_t ip, uint64_t sp, uint64_t fp, size_t depth_max, struct expected *out)
{
	uint64_t address = ip;

	*out = (struct expected){ .words = { ip }, .cnt = 1, .end = JBPF_END_ROOT };
	if (!fp)
		return;
	out->end = JBPF_END_BAD_FP;
	if (fp < sp || fp % 8)
		return;
	for (;;) {
		uint64_t frame[2], below[3], method = 0;

		out->end = JBPF_END_FAULT;
		if (!memory_read(fp, frame, sizeof(frame)))
			return;
		out->end = JBPF_END_LEAF;
		if (address == ip && is_interpreter(ip) && !is_made(fp, &sp))
			return;
		if (is_interpreter(address) && memory_read(fp - 24, below, sizeof(below)))
			method = below[0];
		out->end = JBPF_END_MAX_DEPTH;
		if (is_method(method)) {
			if (out->cnt == depth_max)
				return;
			out->words[out->cnt++] = method | JBPF_WORD_METHOD;
		}
		address = frame[1];
		if (!address || address >= 1ull << 56) {
			out->end = address ? JBPF_END_BAD_FP : JBPF_END_ROOT;
			return;
		}
		if (out->cnt == depth_max)
			return;
		out->words[out->cnt++] = address;
		if (frame[0] <= fp || frame[0] < sp || frame[0] % 8) {
			out->end = frame[0] ? JBPF_END_BAD_FP : JBPF_END_ROOT;
			return;
		}
		fp = frame[0];
	}
}

static void assert_as_expected(uint64_t ip, uint64_t sp, uint64_t fp)
{
	const struct walked walked = walk(ip, sp, fp);
	struct expected expected;

	expect(ip, sp, fp, max_depth, &expected);
	assert_walked(&walked, expected.end, expected.words, expected.cnt);
	assert_int_equal(walked.head.kind, JBPF_STACK_USER);
}

/*
 * Frames from fp on, so many bytes apart, each `every`th of them interpreted, with a method wherever
 * one might be looked for.
 */
static void chain_put(uint64_t fp, size_t spacing, size_t cnt, size_t every)
{
	for (size_t i = 0; i < cnt; i++, fp += spacing) {
		uint64_t base = every && i % every == 0 ? INTERPRETER : CODE + (1ull << 30);
		bool is_last = i == cnt - 1;

		memory_word(fp, is_last ? 0 : fp + spacing);
		memory_word(fp + 8, base + 4096 + i * 3);
		if (spacing >= 40 && !is_last)
			memory_word(fp + spacing - 24, METHODS + 8 * i);
	}
}

static void test_the_caller_of_the_leaf_is_the_first_of_the_callers(void **state)
{
	memory_map(STACKS, PAGE);
	chain_put(STACKS + 64, 48, 3, 0);
	const struct walked walked = walk(0x401000, STACKS + 32, STACKS + 64);

	ASSERT_WALKED(&walked, JBPF_END_ROOT, 0x401000, CODE + (1ull << 30) + 4096,
		      CODE + (1ull << 30) + 4099, CODE + (1ull << 30) + 4102);
	assert_int_equal(walked.head.flags, 0);
}

static void test_methods_are_found_wherever_pages_and_windows_end(void **state)
{
	static const size_t spacings[] = { 40, 136, 2032, 2040, 2048, 4080 };

	for (size_t by_rules = 0; by_rules < 2; by_rules++) {
		jvm_begin(by_rules);
		for (size_t i = 0; i < 6; i++) {
			for (uint64_t shift = 0; shift < PAGE; shift += 8) {
				size_t spacing = spacings[i];
				size_t cnt = 6000 / spacing > 4 ? 6000 / spacing : 4;
				uint64_t fp = STACKS + PAGE + shift;

				memory_map(STACKS, 2 * PAGE + shift + (cnt + 1) * spacing);
				chain_put(fp, spacing, cnt, 1);
				interpreted_put(fp, METHODS + 808);
				assert_as_expected(INTERPRETER, fp - 64, fp);
				assert_as_expected(CODE, fp - 64, fp);
			}
		}
	}
}

static void test_where_the_page_below_is_missing_only_the_method_is(void **state)
{
	for (size_t by_rules = 0; by_rules < 2; by_rules++) {
		jvm_begin(by_rules);
		for (uint64_t shift = 0; shift < 48; shift += 8) {
			uint64_t area = STACKS + (by_rules * 100 + shift) * 16 * PAGE;
			uint64_t low = area + PAGE + 64, high = area + 5 * PAGE + shift;

			/* The third frame is the first above a hole. */
			memory_map(area + PAGE, PAGE);
			memory_map(area + 5 * PAGE, PAGE);
			chain_put(low, 64, 2, 1);
			chain_put(high, 48, 12, 1);
			memory_word(low + 64, high);
			interpreted_put(low, METHODS + 8);
			assert_as_expected(INTERPRETER, low - 64, low);
		}
	}
}

static void test_what_is_no_method_is_no_word(void **state)
{
	static const uint64_t values[] = { 0,
					   8,
					   4096,
					   METHODS + 1,
					   METHODS + 4,
					   1ull << 56,
					   JBPF_WORD_METHOD | METHODS,
					   ~0ull - 7,
					   4104,
					   (1ull << 56) - 8 };

	for (size_t by_rules = 0; by_rules < 2; by_rules++) {
		jvm_begin(by_rules);
		memory_map(STACKS, PAGE);
		for (size_t i = 0; i < 10; i++) {
			chain_put(STACKS + 1024, 48, 4, 2);
			interpreted_put(STACKS + 1024, values[i]);
			memory_word(STACKS + 1072 - 24, values[i]);
			const struct walked walked = walk(INTERPRETER, STACKS + 960, STACKS + 1024);

			assert_int_equal(walked.words[1] >> 63, i >= 8);
			assert_as_expected(INTERPRETER, STACKS + 960, STACKS + 1024);
		}
	}
}

/* A chain whose first frame is at 1024 of its page; values below a page are offsets in it. */
struct chain {
	const char *what;
	uint64_t words[6][2]; /* offset, value */
};

static void test_chains_that_are_none_end_where_they_are_none(void **state)
{
	const uint64_t some = INTERPRETER + 808;
	const struct chain chains[] = {
		{ "frames 8 bytes apart", { { 1000, METHODS }, { 1024, 1032 }, { 1040, some } } },
		{ "16 apart",
		  { { 1000, METHODS },
		    { 1024, 1040 },
		    { 1040, 1056 },
		    { 1048, some },
		    { 1064, some } } },
		{ "24 apart",
		  { { 1000, METHODS },
		    { 1024, 1048 },
		    { 1048, 1072 },
		    { 1056, some },
		    { 1080, some } } },
		{ "a loop of one", { { 1000, METHODS }, { 1024, 1024 } } },
		{ "a loop of two", { { 1024, 1072 }, { 1072, 1024 }, { 1080, some } } },
		{ "backwards", { { 1000, METHODS }, { 1024, 1016 } } },
		{ "unaligned", { { 1000, METHODS }, { 1024, 1033 } } },
		{ "a kernel's address", { { 1000, METHODS }, { 1024, (1ull << 63) + 8 } } },
		{ "a return address of no user",
		  { { 1024, 2048 }, { 2048, 3072 }, { 2056, 1ull << 56 }, { 2024, METHODS } } },
		{ "one that looks like a method",
		  { { 1024, 2048 }, { 2048, 3072 }, { 2056, JBPF_WORD_METHOD | some } } },
		{ "out of the page", { { 1024, 4064 }, { 4064, 4080 + 8 }, { 4072, some } } },
		{ "to where nothing is", { { 1024, STACKS + 64 * PAGE } } },
	};

	for (size_t by_rules = 0; by_rules < 2; by_rules++) {
		jvm_begin(by_rules);
		/* Frames that overlap: a walk by rules sees that where a window ends, one word earlier. */
		for (size_t i = by_rules; i < sizeof(chains) / sizeof(chains[0]); i++) {
			uint64_t area = STACKS + (by_rules * 100 + i) * 4 * PAGE;

			memory_map(area, PAGE);
			memory_word(area + 1032, INTERPRETER + 4096);
			interpreted_put(area + 1024, 0);
			for (size_t k = 0; k < 6; k++) {
				uint64_t value = chains[i].words[k][1];

				if (chains[i].words[k][0])
					memory_word(area + chains[i].words[k][0],
						    value && value < PAGE ? area + value : value);
			}
			assert_as_expected(INTERPRETER, area + 512, area + 1024);
			assert_as_expected(CODE, area + 512, area + 1024);
		}
	}
}

static void test_a_frame_pointer_that_is_none_leaves_the_leaf_alone(void **state)
{
	memory_map(STACKS, PAGE);
	const struct walked zero = walk(0x401000, STACKS, 0);

	ASSERT_WALKED(&zero, JBPF_END_ROOT, 0x401000);
	const struct walked below = walk(0x401000, STACKS + 64, STACKS + 56);

	ASSERT_WALKED(&below, JBPF_END_BAD_FP, 0x401000);
	const struct walked crooked = walk(0x401000, STACKS, STACKS + 12);

	ASSERT_WALKED(&crooked, JBPF_END_BAD_FP, 0x401000);
	const struct walked nowhere = walk(0x401000, STACKS, STACKS + 16 * PAGE);

	ASSERT_WALKED(&nowhere, JBPF_END_FAULT, 0x401000);
	const struct walked highest = walk(0x401000, STACKS, ~7ull);

	ASSERT_WALKED(&highest, JBPF_END_FAULT, 0x401000);
	assert_int_equal(counted(JBPF_CNT_END_BAD_FP), 2);
	assert_int_equal(counted(JBPF_CNT_END_FAULT), 2);
}

/*
 * While a frame is made, and when it is gone, rbp is another one's. What compiled code has there is no frame of
 * the interpreter, and a Method* that an earlier one left there is no name.
 */
static void test_where_the_interpreter_has_no_frame_yet_the_leaf_is_alone(void **state)
{
	const uint64_t fp = STACKS + 1024;

	for (size_t by_rules = 0; by_rules < 2; by_rules++) {
		jvm_begin(by_rules);
		memory_map(STACKS, PAGE);
		chain_put(fp, 96, 4, 1);
		interpreted_put(fp, METHODS + 8);
		assert_int_equal(walk(INTERPRETER, fp - 64, fp).head.end, JBPF_END_ROOT);
		for (size_t i = 0; i < 5; i++) {
			const uint64_t senders[] = { fp + 16, 0, fp, fp + 20, fp + (2u << 20) };

			memory_word(fp - 8, senders[i]);
			const struct walked walked = walk(INTERPRETER, fp - (i ? 64 : 56), fp);

			ASSERT_WALKED(&walked, JBPF_END_LEAF, INTERPRETER);
		}
		memory_word(fp - 8, fp + 16);
		memory_word(fp + 8, 0x401000);
		const struct walked native = walk(INTERPRETER, fp - 64, fp);

		ASSERT_WALKED(&native, JBPF_END_LEAF, INTERPRETER);
	}
}

static void test_of_a_32_bit_program_the_leaf_alone_is_taken(void **state)
{
	struct scratch *own = host_.scratch;

	own->key = (struct jbpf_key){ .pid = HOST_PID };
	own->regs = (struct user_regs){ .ip = 0x8048000, .sp = 64, .fp = 64, .is_compat = true };
	assert_int_equal(stack_take_user(NULL), 0);
	assert_int_equal(own->user.head.frame_cnt, 1);
	assert_int_equal(own->user.head.end, JBPF_END_LEAF_ONLY);
}

static void test_a_long_chain_is_whole_or_cut_at_the_limit(void **state)
{
	for (size_t by_rules = 0; by_rules < 2; by_rules++) {
		jvm_begin(by_rules);
		memory_map(STACKS, 64 * PAGE);
		chain_put(STACKS + PAGE, 96, 600, 2);
		interpreted_put(STACKS + PAGE, METHODS + 8);
		const struct walked whole = walk(INTERPRETER, STACKS + PAGE - 64, STACKS + PAGE);

		assert_int_equal(whole.head.frame_cnt, 902);
		assert_int_equal(whole.head.end, JBPF_END_ROOT);
		assert_as_expected(INTERPRETER, STACKS + PAGE - 64, STACKS + PAGE);
		chain_put(STACKS + PAGE, 112, 1500, 3);
		const struct walked cut = walk(INTERPRETER, STACKS + PAGE - 64, STACKS + PAGE);

		assert_int_equal(cut.head.frame_cnt, JBPF_MAX_DEPTH);
		assert_int_equal(cut.head.end, JBPF_END_MAX_DEPTH);
		assert_as_expected(INTERPRETER, STACKS + PAGE - 64, STACKS + PAGE);
	}
}

static void test_the_limit_counts_words_and_is_kept_to_the_word(void **state)
{
	for (size_t by_rules = 0; by_rules < 2; by_rules++) {
		jvm_begin(by_rules);
		memory_map(STACKS, 8 * PAGE);
		chain_put(STACKS + PAGE, 200, 40, 2);
		interpreted_put(STACKS + PAGE, METHODS + 8);
		for (size_t depth = 1; depth <= 64; depth++) {
			const struct walked walked =
				(max_depth = (uint32_t)depth,
				 walk(INTERPRETER, STACKS + PAGE - 64, STACKS + PAGE));

			assert_true(walked.head.frame_cnt == (depth < 62 ? depth : 62));
			assert_as_expected(INTERPRETER, STACKS + PAGE - 64, STACKS + PAGE);
		}
	}
}

static void test_at_a_leaf_in_jit_code_two_words_and_the_code_are_taken(void **state)
{
	static const uint64_t cases[][4] = {
		{ CODE + 5, CODE_END - 1, CODE + 5, CODE_END - 1 },
		{ CODE, 0, CODE, 0 },
		{ CODE_END, CODE + 1, 0, CODE + 1 },
		{ CODE - 1, INTERPRETER, 0, INTERPRETER },
		{ 0x7f0000001000, ~0ull, 0, 0 },
	};

	for (size_t by_rules = 0; by_rules < 2; by_rules++) {
		jvm_begin(by_rules);
		memory_map(STACKS, 2 * PAGE);
		for (size_t i = 0; i < 5; i++) {
			uint64_t fp = STACKS + PAGE + 64, sp = STACKS + PAGE - 8;

			chain_put(fp, 64, 3, 0);
			memory_word(sp, cases[i][0]);
			memory_word(sp + 8, cases[i][1]);
			const struct walked walked = walk(CODE, sp, fp);

			assert_int_equal(walked.head.flags,
					 JBPF_STACK_LEAF_WORDS | JBPF_STACK_LEAF_CODE);
			assert_int_equal(walked.head.leaf_words[0], cases[i][2]);
			assert_int_equal(walked.head.leaf_words[1], cases[i][3]);
			assert_memory_equal(walked.head.leaf_code, some_code, sizeof(some_code));
			assert_as_expected(CODE, sp, fp);
		}
	}
}

#if defined(__x86_64__)
static void test_of_a_leaf_that_the_interpreter_called_the_method_is_taken_too(void **state)
{
	const uint64_t fp = STACKS + PAGE + 256, sp = STACKS + PAGE + 64;
	const uint64_t method = METHODS + 8, marked = method | JBPF_WORD_METHOD;
	const struct {
		uint64_t words[2], last_sp, method, wanted[2];
	} cases[] = {
		{ { INTERPRETER, 0 }, sp + 8, method, { INTERPRETER, marked } },
		{ { INTERPRETER, 0 }, sp + 16, method, { INTERPRETER, marked } },
		{ { INTERPRETER, 1 }, sp + 8, method, { INTERPRETER, marked } },
		{ { INTERPRETER, 0 }, sp + 24, method, { INTERPRETER, marked } },
		{ { INTERPRETER, INTERPRETER }, sp + 16, method, { INTERPRETER, marked } },
		/* what earlier calls left above the caller's arguments */
		{ { INTERPRETER, CODE + 1 }, sp + 8, method, { INTERPRETER, marked } },
		{ { 0, INTERPRETER }, sp + 16, method, { marked, INTERPRETER } },
		/* JDK 22 and later */
		{ { INTERPRETER, 0 },
		  (sp + 8 - fp) / 8 | 7ull << 61,
		  method,
		  { INTERPRETER, marked } },
		/* frames of others, and words that are no caller or no method */
		{ { INTERPRETER, 0 }, sp + 12, method, { INTERPRETER, 0 } },
		{ { INTERPRETER, 0 }, sp + 32, method, { INTERPRETER, 0 } },
		{ { INTERPRETER, 0 }, sp, method, { INTERPRETER, 0 } },
		{ { INTERPRETER, 0 }, 0, method, { INTERPRETER, 0 } },
		{ { INTERPRETER, 0 }, sp + 8, method + 1, { INTERPRETER, 0 } },
		{ { INTERPRETER, CODE + 1 }, sp, method, { INTERPRETER, CODE + 1 } },
		{ { CODE + 1, INTERPRETER }, sp + 16, method, { CODE + 1, INTERPRETER } },
		{ { CODE + 1, 0 }, sp + 8, method, { CODE + 1, 0 } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		jvm_begin(false);
		memory_map(STACKS, 2 * PAGE);
		chain_put(fp, 64, 3, 0);
		memory_word(sp, cases[i].words[0]);
		memory_word(sp + 8, cases[i].words[1]);
		memory_word(fp - 16, cases[i].last_sp);
		memory_word(fp - 24, cases[i].method);
		const struct walked walked = walk(CODE, sp, fp);

		assert_memory_equal(walked.head.leaf_words, cases[i].wanted,
				    sizeof(cases[i].wanted));
		assert_as_expected(CODE, sp, fp);
	}
}
#endif

/* sub rsp, 0x30; mov [rsp + 0x20], rbp; mov rbp, rsp; add rbp, 0x20 */
static const uint8_t small_frame[] = { 0x48, 0x83, 0xec, 0x30, 0x48, 0x89, 0x6c, 0x24,
				       0x20, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xc5, 0x20,
				       0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
				       0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 };

static void
test_where_a_small_method_makes_its_frame_the_word_above_its_place_is_taken(void **state)
{
	const uint64_t sp = STACKS + 512, fp = STACKS + 1024;

	jvm_begin(false);
	memory_map(STACKS, PAGE);
	memory_put(CODE, small_frame, sizeof(small_frame));
	chain_put(fp, 64, 3, 0);
	chain_put(sp + 0x20, 64, 2, 0);
	memory_word(sp, CODE + 1);
	memory_word(sp + 8, CODE + 2);
	memory_word(sp + 0x28, CODE + 3);
	const struct walked before = walk(CODE, sp, fp);

	assert_int_equal(before.head.leaf_words[1], CODE + 2);
	const struct walked stores = walk(CODE + 4, sp, fp);

	assert_int_equal(stores.head.leaf_words[0], CODE + 1);
	assert_int_equal(stores.head.leaf_words[1], CODE + 3);
	assert_int_equal(stores.head.frame_cnt, 4);
	const struct walked moves = walk(CODE + 9, sp, fp);

	assert_int_equal(moves.head.leaf_words[1], CODE + 3);
	/* rbp is rsp, and about to point to the frame. */
	const struct walked adds = walk(CODE + 12, sp, sp);

	ASSERT_WALKED(&adds, JBPF_END_ROOT, CODE + 12, CODE + 3, CODE + (1ull << 30) + 4099);
#if defined(__x86_64__)
	/* The interpreter called it; below the place of its frame is what earlier calls left. */
	static const uint64_t left[] = { 0, CODE + 1, INTERPRETER };
	const uint64_t wanted[] = { (METHODS + 8) | JBPF_WORD_METHOD, INTERPRETER + 1 };

	memory_word(sp + 0x28, INTERPRETER + 1);
	memory_word(fp - 16, sp + 0x30);
	memory_word(fp - 24, METHODS + 8);
	for (size_t i = 0; i < 3; i++) {
		memory_word(sp, left[i]);
		const struct walked called = walk(CODE + 4, sp, fp);

		assert_memory_equal(called.head.leaf_words, wanted, sizeof(wanted));
	}
	memory_word(sp + 0x28, CODE + 3);
#endif
	/* The same bytes where rbp is another's. */
	const struct walked other = walk(CODE + 12, sp, fp);

	assert_int_equal(other.head.frame_cnt, 4);
}

#if defined(__x86_64__)
static void
test_of_a_jvm_that_is_not_known_a_leaf_about_to_have_its_frame_has_its_own_callers(void **state)
{
	const uint64_t sp = STACKS + 512, at = CODE + 12;

	memory_map(CODE, PAGE);
	memory_map(STACKS, PAGE);
	memory_put(CODE, small_frame, sizeof(small_frame));
	/* What an earlier call left at sp is a frame by its look. */
	chain_put(sp, 256, 2, 0);
	chain_put(sp + 0x20, 64, 2, 0);
	memory_word(sp + 0x28, CODE + 3);
	struct walked walked = walk(at, sp, sp);

	ASSERT_WALKED(&walked, JBPF_END_ROOT, at, CODE + 3, CODE + (1ull << 30) + 4099);
	/* Made already, or other code, or none to be had: the chain begins where rbp points. */
	walked = walk(at, sp, sp + 0x20);
	ASSERT_WALKED(&walked, JBPF_END_ROOT, at, CODE + 3, CODE + (1ull << 30) + 4099);
	walked = walk(at + 4, sp, sp);
	assert_int_equal(walked.words[1], CODE + (1ull << 30) + 4096);
	assert_int_equal(walk(STACKS + PAGE, sp, sp).words[1], walked.words[1]);
}
#endif

static void test_stacks_that_differ_in_the_leaf_alone_are_two(void **state)
{
	static const uint64_t pairs[4][2] = {
		{ CODE + 1, 0 }, { 0, CODE + 1 }, { CODE + 2, CODE + 1 }, { 0, 0 }
	};
	uint64_t hashes[6];

	jvm_begin(false);
	memory_map(STACKS, PAGE);
	chain_put(STACKS + 1024, 64, 3, 0);
	for (size_t i = 0; i < 6; i++) {
		memory_word(STACKS, pairs[i % 4][0]);
		memory_word(STACKS + 8, pairs[i % 4][1]);
		if (i >= 4)
			memory_put(CODE + 8 + i, "\xcc", 1);
		hashes[i] = walk(CODE, STACKS, STACKS + 1024).head.hash;
		assert_int_equal(hashes[i], walk(CODE, STACKS, STACKS + 1024).head.hash);
		for (size_t k = 0; k < i; k++)
			assert_true(hashes[i] != hashes[k]);
	}
}

static void test_a_leaf_without_memory_costs_the_sample_nothing(void **state)
{
	jvm_begin(false);
	memory_map(STACKS, PAGE);
	chain_put(STACKS + 256, 64, 3, 0);
	/* sp where nothing is: no words. Code that ends with its page: no code. */
	const struct walked words = walk(CODE, STACKS - 8, STACKS + 256);
	const struct walked code = walk(CODE + PAGE - 8, STACKS, STACKS + 256);

	assert_int_equal(words.head.frame_cnt, 4);
	assert_int_equal(words.head.flags, JBPF_STACK_LEAF_CODE);
	assert_int_equal(code.head.frame_cnt, 4);
	assert_int_equal(code.head.flags, JBPF_STACK_LEAF_WORDS);
	assert_int_equal(counted(JBPF_CNT_LEAF_UNREAD), 2);
}

static void test_the_range_of_another_run_of_the_pid_is_not_used(void **state)
{
	static const int64_t offs[][2] = { { 0, 1 }, { 1, 0 }, { -1, 0 }, { 0, UINT32_MAX } };

	for (size_t by_rules = 0; by_rules < 2; by_rules++) {
		jvm_begin(by_rules);
		memory_map(STACKS, PAGE);
		chain_put(STACKS + 256, 64, 3, 1);
		memory_word(STACKS + 256 - 24, METHODS);
		for (size_t i = 0; i < 4; i++) {
			range_put(HOST_START_NS + (uint64_t)offs[i][0],
				  HOST_EXEC_ID + (uint32_t)offs[i][1]);
			const struct walked walked = walk(INTERPRETER, STACKS, STACKS + 256);

			assert_int_equal(walked.head.flags, 0);
			for (size_t k = 0; k < walked.head.frame_cnt; k++)
				assert_false(walked.words[k] & JBPF_WORD_METHOD);
			assert_int_equal(walked.head.frame_cnt, by_rules ? 1 : 4);
		}
	}
}

static void test_the_mappings_of_another_run_of_the_pid_are_not_used(void **state)
{
	memory_map(STACKS, PAGE);
	chain_put(STACKS + 256, 64, 3, 0);
	space_put();
	assert_int_equal(walk(0x401000, STACKS, STACKS + 256).head.end, JBPF_END_NO_MAPPING);
	assert_int_equal(
		walk_life(0x401000, STACKS, STACKS + 256, HOST_START_NS + 1, HOST_EXEC_ID).head.end,
		JBPF_END_ROOT);
	assert_int_equal(
		walk_life(0x401000, STACKS, STACKS + 256, HOST_START_NS, HOST_EXEC_ID + 1).head.end,
		JBPF_END_ROOT);
}

/* ---- the hash ---- */

static void test_a_stack_has_another_hash_in_each_life_and_the_same_in_one(void **state)
{
	uint64_t hashes[4];

	memory_map(STACKS, PAGE);
	chain_put(STACKS + 256, 64, 3, 0);
	hashes[0] = walk(0x401000, STACKS, STACKS + 256).head.hash;
	hashes[1] = walk_life(0x401000, STACKS, STACKS + 256, HOST_START_NS + 1, HOST_EXEC_ID)
			    .head.hash;
	hashes[2] = walk_life(0x401000, STACKS, STACKS + 256, HOST_START_NS, HOST_EXEC_ID + 1)
			    .head.hash;
	hash_seed++;
	hashes[3] = walk(0x401000, STACKS, STACKS + 256).head.hash;
	hash_seed--;
	for (size_t i = 0; i < 4; i++)
		for (size_t k = 0; k < i; k++)
			assert_true(hashes[i] != hashes[k]);
	assert_int_equal(walk(0x401000, STACKS, STACKS + 256).head.hash, hashes[0]);
	/* And lives begin with numbers that one word of a stack cannot make up for. */
	struct jbpf_key key = { .pid = 1, .start_ns = 2, .exec_id = 3 };
	uint64_t first = hash_of_life(&key), second;

	key.pid = 2;
	second = hash_of_life(&key);
	assert_true((first ^ second) >> 56);
}

static void test_each_word_the_end_and_the_order_are_in_the_hash(void **state)
{
	uint64_t first;

	memory_map(STACKS, PAGE);
	chain_put(STACKS + 256, 64, 5, 0);
	first = walk(0x401000, STACKS, STACKS + 256).head.hash;
	for (size_t i = 0; i < 5; i++) {
		uint64_t at = STACKS + 256 + 64 * i + 8, word = memory_word_at(at);

		memory_word(at, word + 1);
		assert_true(walk(0x401000, STACKS, STACKS + 256).head.hash != first);
		memory_word(at, word);
	}
	memory_word(STACKS + 256 + 4 * 64,
		    1); /* ends at a bad frame pointer, after the same words */
	assert_true(walk(0x401000, STACKS, STACKS + 256).head.hash != first);
	memory_word(STACKS + 256 + 4 * 64, 0);
	assert_int_equal(walk(0x401000, STACKS, STACKS + 256).head.hash, first);
	const uint64_t a = memory_word_at(STACKS + 264), b = memory_word_at(STACKS + 328);

	memory_word(STACKS + 264, b);
	memory_word(STACKS + 328, a);
	assert_true(walk(0x401000, STACKS, STACKS + 256).head.hash != first);
}

/* ---- budgets, and what is sent ---- */

static void test_a_cut_stack_keeps_the_method_of_its_last_frame(void **state)
{
	struct scratch *own = host_.scratch;
	uint64_t whole;

	jvm_begin(false);
	memory_map(STACKS, 8 * PAGE);
	chain_put(STACKS + PAGE, 64, 100, 1);
	interpreted_put(STACKS + PAGE, METHODS + 8);
	whole = walk(INTERPRETER, STACKS + PAGE - 64, STACKS + PAGE).head.hash;
	assert_true(stack_cut(NULL, own, 1, JBPF_END_CUT_LEAF));
	assert_int_equal(own->user.head.frame_cnt, 2);
	assert_int_equal(own->user.ips[1], (METHODS + 8) | JBPF_WORD_METHOD);
	assert_true(own->user.head.hash != whole && own->key.user_hash == own->user.head.hash);
	assert_false(stack_cut(NULL, own, 1, JBPF_END_CUT_LEAF));
	/* Words are leaf, caller, method, caller, method, ...: the 64th is a caller in the one, in the other a method. */
	(void)walk(CODE, STACKS + PAGE - 64, STACKS + PAGE);
	assert_true(stack_cut(NULL, own, JBPF_CUT_DEPTH, JBPF_END_CUT_DEPTH));
	assert_int_equal(own->user.head.frame_cnt, JBPF_CUT_DEPTH + 1);
	assert_true(own->user.ips[JBPF_CUT_DEPTH] & JBPF_WORD_METHOD);
	(void)walk(INTERPRETER, STACKS + PAGE - 64, STACKS + PAGE);
	assert_true(stack_cut(NULL, own, JBPF_CUT_DEPTH, JBPF_END_CUT_DEPTH));
	assert_int_equal(own->user.head.frame_cnt, JBPF_CUT_DEPTH);
	assert_int_equal(own->user.head.end, JBPF_END_CUT_DEPTH);
}

static void test_a_stack_is_sent_once_and_again_where_there_was_no_room(void **state)
{
	memory_map(STACKS, PAGE);
	chain_put(STACKS + 256, 64, 3, 0);
	const struct walked walked = walk(0x401000, STACKS, STACKS + 256);
	const struct jbpf_stack *head = &host_.scratch->user.head;

	host_.is_full = true;
	assert_false(stack_offer(walked.head.hash, head, JBPF_MAX_DEPTH, NULL, 0, JBPF_KEY_SAMPLE));
	host_.is_full = false;
	assert_true(stack_offer(walked.head.hash, head, JBPF_MAX_DEPTH, NULL, 0, JBPF_KEY_SAMPLE));
	assert_true(stack_offer(walked.head.hash, head, JBPF_MAX_DEPTH, NULL, 0, JBPF_KEY_SAMPLE));
	assert_int_equal(host_.sent_cnt, 1);
	assert_int_equal(host_.sent[0].hash, walked.head.hash);
	assert_int_equal(counted(JBPF_CNT_STACK_BUFFER_FULL), 1);
}

static void test_kernel_stacks_are_shared_by_all_lives(void **state)
{
	struct scratch *own = host_.scratch;
	uint64_t first;

	assert_int_equal(stack_take_kernel(NULL, own), 0);
	assert_int_equal(counted(JBPF_CNT_KERNEL_STACK_ERROR), 1);
	host_.kernel_cnt = 3;
	for (size_t i = 0; i < 3; i++)
		host_.kernel[i] = 0xffffffff81000000ull + i;
	own->key.pid = 1;
	first = stack_take_kernel(NULL, own);
	own->key.pid = 2;
	assert_int_equal(stack_take_kernel(NULL, own), first);
	assert_int_equal(own->kernel.head.frame_cnt, 3);
	assert_int_equal(own->kernel.head.end, JBPF_END_ROOT);
	host_.kernel[2]++;
	assert_true(stack_take_kernel(NULL, own) != first);
	host_.kernel_cnt = JBPF_MAX_KERNEL_DEPTH;
	assert_true(stack_take_kernel(NULL, own) != 0);
	assert_int_equal(own->kernel.head.end, JBPF_END_MAX_DEPTH);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, host_begin, host_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_caller_of_the_leaf_is_the_first_of_the_callers),
		TEST(test_methods_are_found_wherever_pages_and_windows_end),
		TEST(test_where_the_page_below_is_missing_only_the_method_is),
		TEST(test_what_is_no_method_is_no_word),
		TEST(test_chains_that_are_none_end_where_they_are_none),
		TEST(test_a_frame_pointer_that_is_none_leaves_the_leaf_alone),
		TEST(test_where_the_interpreter_has_no_frame_yet_the_leaf_is_alone),
		TEST(test_of_a_32_bit_program_the_leaf_alone_is_taken),
		TEST(test_a_long_chain_is_whole_or_cut_at_the_limit),
		TEST(test_the_limit_counts_words_and_is_kept_to_the_word),
		TEST(test_at_a_leaf_in_jit_code_two_words_and_the_code_are_taken),
#if defined(__x86_64__)
		TEST(test_of_a_leaf_that_the_interpreter_called_the_method_is_taken_too),
#endif
		TEST(test_where_a_small_method_makes_its_frame_the_word_above_its_place_is_taken),
#if defined(__x86_64__)
		TEST(test_of_a_jvm_that_is_not_known_a_leaf_about_to_have_its_frame_has_its_own_callers),
#endif
		TEST(test_stacks_that_differ_in_the_leaf_alone_are_two),
		TEST(test_a_leaf_without_memory_costs_the_sample_nothing),
		TEST(test_the_range_of_another_run_of_the_pid_is_not_used),
		TEST(test_the_mappings_of_another_run_of_the_pid_are_not_used),
		TEST(test_a_stack_has_another_hash_in_each_life_and_the_same_in_one),
		TEST(test_each_word_the_end_and_the_order_are_in_the_hash),
		TEST(test_a_cut_stack_keeps_the_method_of_its_last_frame),
		TEST(test_a_stack_is_sent_once_and_again_where_there_was_no_room),
		TEST(test_kernel_stacks_are_shared_by_all_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
