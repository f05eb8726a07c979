// SPDX-License-Identifier: Apache-2.0
/*
 * The walk by rules of code that keeps no frame pointers: each kind of row, each way in which a walk
 * ends, and how rows and mappings are found.
 */
#include "tests/unit/bpf/walk_host.h"

#define TEXT   0x400000ull
#define LIB    0x7f0000000000ull
#define STACK  0x7ffc00000000ull
#define PAGE   HOST_PAGE
#define TABLE  5u
#define ROOMY  (64 * PAGE)
#define ROOT   (TEXT + 0xf00) /* in a function that has no caller */
#define CALLER (TEXT + 0xe80) /* its frame: CFA = sp + 16, nothing saved; `ROOT` called it */

static struct jbpf_space space;
static uint32_t generation;

/* No mappings. */
static void space_clear(void)
{
	memset(&space, 0, sizeof(space));
	memset(space.start, 0xff, sizeof(space.start));
}

static void space_put(void)
{
	const uint32_t pid = HOST_PID;

	space.start_ns = HOST_START_NS;
	space.exec_id = HOST_EXEC_ID;
	space.generation = ++generation;
	MAP_PUT(spaces, &pid, &space);
}

/* In ascending order. */
static void mapping_add(uint64_t start, uint32_t page_cnt, uint32_t table, uint32_t page,
			uint32_t flags)
{
	uint32_t at = space.mapping_cnt++;

	space.start[at] = start;
	space.mappings[at] = (struct jbpf_mapping){
		.page_cnt = page_cnt, .table = table, .page = page, .flags = flags
	};
}

static void table_put(uint32_t table, const uint32_t *words, size_t cnt)
{
	for (size_t at = 0; at < cnt; at += JBPF_UNWIND_CHUNK_WORDS) {
		uint32_t key = table << JBPF_UNWIND_CHUNK_BITS |
			       (uint32_t)(at / JBPF_UNWIND_CHUNK_WORDS);
		size_t left = cnt - at;
		struct unwind_chunk chunk = { 0 };

		memcpy(chunk.words, words + at,
		       (left < JBPF_UNWIND_CHUNK_WORDS ? left : JBPF_UNWIND_CHUNK_WORDS) *
			       sizeof(uint32_t));
		MAP_PUT(unwind_chunks, &key, &chunk);
	}
}

static uint32_t page_word(uint32_t first, uint32_t cnt)
{
	return first << JBPF_UNWIND_PAGE_CNT_BITS | (cnt - 1);
}

static int begin(void **state)
{
	space_clear();
	if (host_begin(state))
		return -1;
	memory_map(STACK, ROOMY);
	memory_map(TEXT, PAGE);
	return 0;
}

/* One file of one page at TEXT, with this rule from 0x100 to 0x200, and those of CALLER and ROOT. */
static void text_put(uint32_t kind, uint32_t slot, uint32_t value)
{
	const uint32_t words[] = {
		page_word(1, 6),
		jbpf_row(0, JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_NONE),
		jbpf_row(0x100, kind, slot, value),
		jbpf_row(0x200, JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_NONE),
		jbpf_row(0xe00, JBPF_ROW_SP, 0, 2),
		jbpf_row(0xe81, JBPF_ROW_FP, 2, 2),
		jbpf_row(0xf00 - 1, JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_END),
	};

	table_put(TABLE, words, sizeof(words) / sizeof(words[0]));
	space_clear();
	mapping_add(TEXT, 1, TABLE, 0, 0);
	space_put();
}

/* The frame of CALLER, whose CFA is at sp + 16. */
static void caller_put(uint64_t sp)
{
	memory_word(sp + 8, ROOT);
}

static void test_a_frame_is_found_from_the_stack_pointer(void **state)
{
	const uint64_t sp = STACK + 256;

	for (uint32_t words = 1; words <= JBPF_ROW_VALUE_MASK; words += 73) {
		text_put(JBPF_ROW_SP, 0, words);
		memory_word(sp + 8ull * words - 8, CALLER);
		caller_put(sp + 8ull * words);
		const struct walked walked = walk(TEXT + 0x180, sp, 0);

		ASSERT_WALKED(&walked, JBPF_END_ROOT, TEXT + 0x180, CALLER, ROOT);
	}
	assert_true(counted(JBPF_CNT_FRAMES_TABLE) > 0);
	assert_int_equal(counted(JBPF_CNT_FRAMES_JIT), 0);
}

static void test_a_frame_is_found_from_the_frame_pointer(void **state)
{
	const uint64_t sp = STACK + 256, fp = STACK + 1024;

	text_put(JBPF_ROW_FP, 2, 2);
	memory_word(fp, STACK + 4096);
	memory_word(fp + 8, CALLER);
	caller_put(fp + 16);
	const struct walked walked = walk(TEXT + 0x180, sp, fp);

	ASSERT_WALKED(&walked, JBPF_END_ROOT, TEXT + 0x180, CALLER, ROOT);
}

/* CALLER + 1 is of a function whose CFA is fp + 16: who called it is found only by the right fp. */
static void test_a_saved_frame_pointer_is_the_callers(void **state)
{
	const uint64_t sp = STACK + 256, fp = STACK + 2048;

	for (uint32_t slot = 2; slot < 40; slot++) {
		text_put(JBPF_ROW_SP, slot, 50);
		memory_word(sp + 400 - 8, CALLER + 2);
		memory_word(sp + 400 - 8ull * slot, fp);
		memory_word(fp + 8, ROOT);
		const struct walked walked = walk(TEXT + 0x180, sp, 0x1234567);

		ASSERT_WALKED(&walked, JBPF_END_ROOT, TEXT + 0x180, CALLER + 2, ROOT);
	}
	/* And one that is not saved is still in its register. */
	text_put(JBPF_ROW_SP, 0, 50);
	const struct walked walked = walk(TEXT + 0x180, sp, fp);

	ASSERT_WALKED(&walked, JBPF_END_ROOT, TEXT + 0x180, CALLER + 2, ROOT);
}

static void test_big_frames_are_found(void **state)
{
	const uint64_t sp = STACK + 256;

	for (uint32_t words = 1030; words < 8000; words += 997) {
		text_put(JBPF_ROW_BIG, 0, 0);
		const uint32_t rows[] = {
			page_word(1, 3),
			jbpf_row(0, JBPF_ROW_BIG, 0, 0) | (words << 3 | 3) << JBPF_ROW_SLOT_SHIFT,
			jbpf_row(0xe00, JBPF_ROW_FP, 2, 2),
			jbpf_row(0xeff, JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_END),
		};

		table_put(TABLE, rows, 4);
		space_put();
		memory_word(sp + 8ull * words - 8, CALLER);
		memory_word(sp + 8ull * words - 24, STACK + 32);
		memory_word(STACK + 40, ROOT);
		const struct walked walked = walk(TEXT + 0x180, sp, 0);

		/* The caller's frame lies lower: it is none. */
		ASSERT_WALKED(&walked, JBPF_END_BAD_CFA, TEXT + 0x180, CALLER);
		memory_word(sp + 8ull * words - 24, sp + 8ull * words + 32);
		memory_word(sp + 8ull * words + 40, ROOT);
		const struct walked whole = walk(TEXT + 0x180, sp, 0);

		ASSERT_WALKED(&whole, JBPF_END_ROOT, TEXT + 0x180, CALLER, ROOT);
	}
}

static void test_frames_of_realigned_stacks_are_found_by_what_is_saved_there(void **state)
{
	static const int offsets[] = { -64, -33, -2, -1, 0, 1, 5, 63 };
	const uint64_t sp = STACK + 1024, fp = STACK + 4096, cfa = STACK + 8192;

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		for (uint32_t plus = 0; plus < 8; plus += 3) {
			uint32_t value = ((uint32_t)offsets[i] & 0x7f) << 3 | plus;
			uint64_t off = (uint64_t)(int64_t)(offsets[i] * 8);

			memory_word(cfa + 8 * plus - 8, CALLER);
			caller_put(cfa + 8 * plus);
			text_put(JBPF_ROW_AT_FP, 0, value);
			memory_word(fp + off, cfa);
			const struct walked by_fp = walk(TEXT + 0x180, sp, fp);

			ASSERT_WALKED(&by_fp, JBPF_END_ROOT, TEXT + 0x180, CALLER, ROOT);
			text_put(JBPF_ROW_AT_SP, 0, value);
			memory_word(sp + off, cfa);
			const struct walked by_sp = walk(TEXT + 0x180, sp, 0);

			ASSERT_WALKED(&by_sp, JBPF_END_ROOT, TEXT + 0x180, CALLER, ROOT);
		}
	}
	/* The caller's frame pointer is where fp points. */
	text_put(JBPF_ROW_AT_FP, JBPF_SLOT_AT_FP, ((uint32_t)-1 & 0x7f) << 3);
	memory_word(fp - 8, cfa);
	memory_word(fp, cfa + 64);
	memory_word(cfa - 8, CALLER + 2);
	memory_word(cfa + 72, ROOT);
	const struct walked walked = walk(TEXT + 0x180, sp, fp);

	ASSERT_WALKED(&walked, JBPF_END_ROOT, TEXT + 0x180, CALLER + 2, ROOT);
}

static void test_functions_that_keep_frame_pointers_are_right_in_their_prologue_too(void **state)
{
	const uint64_t sp = STACK + 256, fp = STACK + 1024;
	const uint8_t ret = 0xc3;

	/* push rbp (1 byte), mov rbp, rsp (3): the frame is made after 4 bytes. */
	text_put(JBPF_ROW_SPECIAL, 4, JBPF_SPECIAL_FRAME);
	memory_word(fp, STACK + 4096);
	memory_word(fp + 8, CALLER);
	caller_put(fp + 16);
	/* At the first instruction, and at ret: the return address is at sp, rbp is the caller's. */
	memory_word(sp, CALLER + 2);
	memory_word(fp + 8, ROOT);
	memory_put(TEXT + 0x190, &ret, 1);
	const struct walked entry = walk(TEXT + 0x100, sp, fp);

	ASSERT_WALKED(&entry, JBPF_END_ROOT, TEXT + 0x100, CALLER + 2, ROOT);
	const struct walked at_ret = walk(TEXT + 0x190, sp, fp);

	ASSERT_WALKED(&at_ret, JBPF_END_ROOT, TEXT + 0x190, CALLER + 2, ROOT);
	/* After push: saved at sp. */
	memory_word(sp, fp);
	memory_word(sp + 8, CALLER + 2);
	const struct walked pushed = walk(TEXT + 0x101, sp, 0);

	ASSERT_WALKED(&pushed, JBPF_END_ROOT, TEXT + 0x101, CALLER + 2, ROOT);
	/* In the body: by rbp. */
	memory_word(fp + 8, CALLER);
	const struct walked body = walk(TEXT + 0x104, sp, fp);

	ASSERT_WALKED(&body, JBPF_END_ROOT, TEXT + 0x104, CALLER, ROOT);
}

static void test_a_plt_entry_has_pushed_after_its_eleventh_byte(void **state)
{
	const uint64_t sp = STACK + 256;

	text_put(JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_PLT);
	for (uint64_t at = 0; at < 16; at++) {
		memory_word(sp, at < 11 ? CALLER : 0x1234);
		memory_word(sp + 8, CALLER);
		memory_word(sp + 16, ROOT);
		caller_put(sp + (at < 11 ? 8 : 16));
		const struct walked walked = walk(TEXT + 0x110 + at, sp, 0);

		ASSERT_WALKED(&walked, JBPF_END_ROOT, TEXT + 0x110 + at, CALLER, ROOT);
	}
}

static void test_what_a_signal_interrupted_is_found_on_whatever_stack_it_was(void **state)
{
	const uint64_t sp = STACK + 32 * PAGE, below = STACK + 512;

	/* Interrupted at the very beginning of the row of 0xe00: one less would be of no row. */
	text_put(JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_SIGNAL);
	memory_word(sp + 120, 0);
	memory_word(sp + 160, below);
	memory_word(sp + 168, TEXT + 0xe00);
	memory_word(below + 8, ROOT);
	const struct walked leaf = walk(TEXT + 0x100, sp, 0);

	ASSERT_WALKED(&leaf, JBPF_END_ROOT, TEXT + 0x100, TEXT + 0xe01, ROOT);
	/* A handler returns to it: its word is one more, and so is the interrupted one's. */
	memory_word(sp - 8, TEXT + 0x100);
	const uint32_t handler[] = {
		page_word(1, 5),
		jbpf_row(0, JBPF_ROW_SP, 0, 1),
		jbpf_row(0xff, JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_SIGNAL),
		jbpf_row(0x200, JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_NONE),
		jbpf_row(0xe00, JBPF_ROW_SP, 0, 2),
		jbpf_row(0xf00 - 1, JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_END),
	};

	table_put(TABLE, handler, 6);
	space_put();
	const struct walked walked = walk(TEXT + 0x80, sp - 8, 0);

	ASSERT_WALKED(&walked, JBPF_END_ROOT, TEXT + 0x80, TEXT + 0x101, TEXT + 0xe01, ROOT);
	memory_unmap(sp);
	const struct walked gone = walk(TEXT + 0x80, sp - 8, 0);

	ASSERT_WALKED(&gone, JBPF_END_FAULT, TEXT + 0x80, TEXT + 0x100);
}

static void test_a_walk_that_ends_says_why(void **state)
{
	static const struct {
		uint32_t kind, slot, value;
		enum jbpf_stack_end end;
	} cases[] = {
		{ JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_END, JBPF_END_ROOT },
		{ JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_NONE, JBPF_END_NO_RULE },
		{ JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_UNSUPPORTED, JBPF_END_UNSUPPORTED },
		{ JBPF_ROW_SPECIAL, 0, 77, JBPF_END_NO_RULE },
		{ 7, 0, 2, JBPF_END_UNSUPPORTED },
		{ JBPF_ROW_SP, 0, 0, JBPF_END_BAD_CFA },		 /* at sp itself */
		{ JBPF_ROW_FP, 0, 2, JBPF_END_BAD_CFA },		 /* fp is below sp */
		{ JBPF_ROW_AT_FP, 0, 0, JBPF_END_FAULT },		 /* fp points to nothing */
		{ JBPF_ROW_SP, 0, JBPF_ROW_VALUE_MASK, JBPF_END_FAULT }, /* above the stack */
		{ JBPF_ROW_SP, 2, 40, JBPF_END_ROOT },			 /* return address 0 */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		text_put(cases[i].kind, cases[i].slot, cases[i].value);
		const struct walked walked = walk(TEXT + 0x180, STACK + ROOMY - 4096, 64);

		ASSERT_WALKED(&walked, cases[i].end, TEXT + 0x180);
	}
	text_put(JBPF_ROW_SP, 0, 1);
	memory_word(STACK + 256, 1ull << 56);
	const struct walked foreign = walk(TEXT + 0x180, STACK + 256, 0);

	ASSERT_WALKED(&foreign, JBPF_END_BAD_CFA, TEXT + 0x180);
	const struct walked crooked = walk(TEXT + 0x180, STACK + 252, 0);

	ASSERT_WALKED(&crooked, JBPF_END_BAD_CFA, TEXT + 0x180);
	const struct walked nowhere = walk(LIB, STACK + 256, 0);

	ASSERT_WALKED(&nowhere, JBPF_END_NO_MAPPING, LIB);
	const struct walked padding = walk(TEXT + 0x80, STACK + 256, 0);

	ASSERT_WALKED(&padding, JBPF_END_NO_RULE, TEXT + 0x80);
	assert_int_equal(counted(JBPF_CNT_END_NO_MAPPING), 1);
}

/* Each of its functions has its CFA at sp + 8: a word of the stack is a frame. */
static void words_put(uint64_t sp, const uint64_t *words, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		memory_word(sp + 8 * i, words[i]);
}

static void test_the_row_of_an_address_is_the_last_one_that_begins_there_or_before(void **state)
{
	/* Rows at 0 and at each multiple of 3, so many; what is of an odd one ends the walk. */
	for (uint32_t cnt = 1; cnt <= 900; cnt += cnt < 20 ? 1 : 97) {
		uint32_t words[1 + 1000] = { page_word(1, cnt) };

		for (uint32_t i = 0; i < cnt; i++)
			words[1 + i] =
				i & 1 ? jbpf_row(3 * i, JBPF_ROW_SPECIAL, 0,
						 JBPF_SPECIAL_UNSUPPORTED) :
					jbpf_row(3 * i, JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_END);
		table_put(TABLE, words, 1 + cnt);
		space_clear();
		mapping_add(TEXT, 1, TABLE, 0, 0);
		space_put();
		for (uint32_t at = 0; at < 3 * cnt + 2; at++) {
			uint32_t row = at / 3 < cnt ? at / 3 : cnt - 1;
			const struct walked walked = walk(TEXT + at, STACK, 0);

			assert_int_equal(walked.head.end,
					 row & 1 ? JBPF_END_UNSUPPORTED : JBPF_END_ROOT);
		}
	}
}

static void test_the_mapping_of_an_address_is_the_one_that_it_lies_in(void **state)
{
	const uint32_t words[] = { page_word(1, 1),
				   jbpf_row(0, JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_UNSUPPORTED) };

	table_put(TABLE, words, 2);
	for (uint32_t cnt = 1; cnt <= JBPF_SPACE_MAX_MAPPINGS; cnt++) {
		space_clear();
		/* A page of each, and a page of nothing behind it. */
		for (uint32_t i = 0; i < cnt; i++)
			mapping_add(LIB + 2ull * i * PAGE, 1, i & 1 ? 0 : TABLE, 0, 0);
		space_put();
		for (uint32_t i = 0; i < cnt; i++) {
			uint64_t at = LIB + 2ull * i * PAGE;
			enum jbpf_stack_end end = i & 1 ? JBPF_END_NO_RULE : JBPF_END_UNSUPPORTED;

			assert_int_equal(walk(at, STACK, 0).head.end, end);
			assert_int_equal(walk(at + PAGE - 1, STACK, 0).head.end, end);
			assert_int_equal(walk(at - 1, STACK, 0).head.end, JBPF_END_NO_MAPPING);
			assert_int_equal(walk(at + PAGE, STACK, 0).head.end, JBPF_END_NO_MAPPING);
		}
	}
}

/* What a call pushes is the address behind it, which may be another function's. */
static void test_a_callers_row_is_that_of_its_call_and_the_leafs_that_of_its_address(void **state)
{
	const uint64_t sp = STACK + 256;

	/* The last instruction of 0x100..0x200 calls, and never returns. */
	text_put(JBPF_ROW_SP, 0, 2);
	memory_word(sp, 0);
	memory_word(sp + 8, TEXT + 0x200);
	memory_word(sp + 24, ROOT);
	const struct walked walked = walk(TEXT + 0x100, sp, 0);

	ASSERT_WALKED(&walked, JBPF_END_ROOT, TEXT + 0x100, TEXT + 0x200, ROOT);
	const struct walked leaf = walk(TEXT + 0x200, sp, 0);

	ASSERT_WALKED(&leaf, JBPF_END_NO_RULE, TEXT + 0x200);
}

static void test_rows_may_lie_in_another_chunk_than_the_word_of_their_page(void **state)
{
	static uint32_t words[3 * JBPF_UNWIND_CHUNK_WORDS];
	const uint32_t first = 2 * JBPF_UNWIND_CHUNK_WORDS + 5;
	const uint32_t page = JBPF_UNWIND_CHUNK_WORDS + 3,
		       key = TABLE << JBPF_UNWIND_CHUNK_BITS | 2;

	words[page] = page_word(first, 2);
	words[first] = jbpf_row(0, JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_UNSUPPORTED);
	words[first + 1] = jbpf_row(0x10, JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_END);
	table_put(TABLE, words, sizeof(words) / sizeof(words[0]));
	mapping_add(LIB, 8, TABLE, page - 1, 0);
	space_put();
	assert_int_equal(walk(LIB + PAGE, STACK, 0).head.end, JBPF_END_UNSUPPORTED);
	assert_int_equal(walk(LIB + PAGE + 0x10, STACK, 0).head.end, JBPF_END_ROOT);
	/* A page without rows. */
	assert_int_equal(walk(LIB, STACK, 0).head.end, JBPF_END_NO_RULE);
	/* The chunk is gone: nobody may remember that. */
	space_put();
	assert_int_equal(bpf_map_delete_elem(&unwind_chunks, &key), 0);
	assert_int_equal(walk(LIB + PAGE + 0x10, STACK, 0).head.end, JBPF_END_NO_RULE);
	table_put(TABLE, words, sizeof(words) / sizeof(words[0]));
	assert_int_equal(walk(LIB + PAGE + 0x10, STACK, 0).head.end, JBPF_END_ROOT);
}

static void test_what_is_remembered_of_an_address_is_void_with_other_mappings(void **state)
{
	uint64_t misses;

	text_put(JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_UNSUPPORTED);
	assert_int_equal(walk(TEXT + 0x180, STACK, 0).head.end, JBPF_END_UNSUPPORTED);
	misses = counted(JBPF_CNT_RULE_MISS);
	assert_int_equal(walk(TEXT + 0x180, STACK, 0).head.end, JBPF_END_UNSUPPORTED);
	assert_int_equal(counted(JBPF_CNT_RULE_MISS), misses);
	/* Another file is mapped there, of which there is no table. */
	space.mappings[0].table = 0;
	space_put();
	assert_int_equal(walk(TEXT + 0x180, STACK, 0).head.end, JBPF_END_NO_RULE);
}

static void test_a_first_walk_ends_after_so_many_searches_and_the_next_goes_on(void **state)
{
	const uint32_t words[] = { page_word(1, 1), jbpf_row(0, JBPF_ROW_SP, 0, 1) };
	uint64_t frames[400];

	table_put(TABLE, words, 2);
	mapping_add(TEXT, 1, TABLE, 0, 0);
	space_put();
	for (size_t i = 0; i < 400; i++)
		frames[i] = TEXT + 16 + 9 * i;
	words_put(STACK, frames, 400);
	const struct walked first = walk(TEXT + 8, STACK, 0);
	const uint32_t first_cnt = first.head.frame_cnt;

	assert_int_equal(first.head.end, JBPF_END_MAX_RULES);
	assert_int_equal(first_cnt, JBPF_UNWIND_SEARCHES_MAX + 1);
	const struct walked second = walk(TEXT + 8, STACK, 0);

	assert_int_equal(second.head.end, JBPF_END_ROOT);
	assert_int_equal(second.head.frame_cnt, 401);
	/* The same address again and again costs one search. */
	for (size_t i = 0; i < 400; i++)
		frames[i] = TEXT + 0x800;
	words_put(STACK, frames, 400);
	assert_int_equal(walk(TEXT + 8, STACK, 0).head.end, JBPF_END_ROOT);
}

/* As generated code of functions of one length is: what they have in common must not make them share slots. */
static void test_a_stack_of_addresses_at_regular_distances_is_whole_the_second_time(void **state)
{
	enum { PAGES = 64, DEPTH = 400 };
	uint32_t words[PAGES + 1];
	uint64_t frames[DEPTH];

	for (size_t i = 0; i < PAGES; i++)
		words[i] = page_word(PAGES, 1);
	words[PAGES] = jbpf_row(0, JBPF_ROW_SP, 0, 1);
	table_put(TABLE, words, PAGES + 1);
	mapping_add(LIB, PAGES, TABLE, 0, 0);
	for (uint64_t distance = 1; distance < PAGES * PAGE / DEPTH; distance++) {
		for (size_t i = 0; i < DEPTH; i++)
			frames[i] = LIB + 16 + distance * i;
		words_put(STACK, frames, DEPTH);
		space_put();
		assert_int_equal(walk(LIB, STACK, 0).head.end, JBPF_END_MAX_RULES);
		assert_int_equal(walk(LIB, STACK, 0).head.end, JBPF_END_ROOT);
	}
}

static void test_a_stack_has_as_many_words_as_are_to_be_had(void **state)
{
	const uint32_t words[] = { page_word(1, 1), jbpf_row(0, JBPF_ROW_SP, 0, 1) };

	table_put(TABLE, words, 2);
	mapping_add(TEXT, 1, TABLE, 0, 0);
	space_put();
	for (uint64_t i = 0; i < 2 * JBPF_MAX_DEPTH; i++)
		memory_word(STACK + 8 * i, TEXT + 0x800);
	for (max_depth = 1; max_depth <= JBPF_MAX_DEPTH; max_depth += 93) {
		const struct walked walked = walk(TEXT + 8, STACK, 0);

		assert_int_equal(walked.head.end, JBPF_END_MAX_DEPTH);
		assert_int_equal(walked.head.frame_cnt, max_depth);
	}
}

static void test_a_file_without_a_table_is_walked_by_frame_pointers_if_it_keeps_them(void **state)
{
	const uint64_t sp = STACK + 256, fp = STACK + 1024;

	memory_word(fp, STACK + 2048);
	memory_word(fp + 8, LIB + 0x20);
	memory_word(STACK + 2048, 0);
	memory_word(STACK + 2056, LIB + 0x30);
	mapping_add(LIB, 1, 0, 0, JBPF_MAPPING_KEEPS_FP);
	space_put();
	const struct walked keeps = walk(LIB + 0x10, sp, fp);

	ASSERT_WALKED(&keeps, JBPF_END_ROOT, LIB + 0x10, LIB + 0x20, LIB + 0x30);
	assert_int_equal(counted(JBPF_CNT_FRAMES_TABLE), 0);
	space.mappings[0].flags = 0;
	space_put();
	const struct walked none = walk(LIB + 0x10, sp, fp);

	ASSERT_WALKED(&none, JBPF_END_NO_RULE, LIB + 0x10);
}

static void test_files_with_and_without_frame_pointers_take_turns(void **state)
{
	const uint64_t sp = STACK + 256, fp = STACK + 1024;

	text_put(JBPF_ROW_SP, 3, 6); /* a leaf that uses rbp for something else, and saved it */
	mapping_add(LIB, 1, 0, 0, JBPF_MAPPING_KEEPS_FP);
	space_put();
	memory_word(sp + 48 - 24, fp);
	memory_word(sp + 48 - 8, LIB + 0x20);
	memory_word(fp, 0x777);
	memory_word(fp + 8, CALLER);
	caller_put(fp + 16);
	const struct walked walked = walk(TEXT + 0x180, sp, 1);

	ASSERT_WALKED(&walked, JBPF_END_ROOT, TEXT + 0x180, LIB + 0x20, CALLER, ROOT);
	assert_int_equal(counted(JBPF_CNT_FRAMES_TABLE), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, host_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_frame_is_found_from_the_stack_pointer),
		TEST(test_a_frame_is_found_from_the_frame_pointer),
		TEST(test_a_saved_frame_pointer_is_the_callers),
		TEST(test_big_frames_are_found),
		TEST(test_frames_of_realigned_stacks_are_found_by_what_is_saved_there),
		TEST(test_functions_that_keep_frame_pointers_are_right_in_their_prologue_too),
		TEST(test_a_plt_entry_has_pushed_after_its_eleventh_byte),
		TEST(test_what_a_signal_interrupted_is_found_on_whatever_stack_it_was),
		TEST(test_a_walk_that_ends_says_why),
		TEST(test_the_row_of_an_address_is_the_last_one_that_begins_there_or_before),
		TEST(test_the_mapping_of_an_address_is_the_one_that_it_lies_in),
		TEST(test_a_callers_row_is_that_of_its_call_and_the_leafs_that_of_its_address),
		TEST(test_rows_may_lie_in_another_chunk_than_the_word_of_their_page),
		TEST(test_what_is_remembered_of_an_address_is_void_with_other_mappings),
		TEST(test_a_first_walk_ends_after_so_many_searches_and_the_next_goes_on),
		TEST(test_a_stack_of_addresses_at_regular_distances_is_whole_the_second_time),
		TEST(test_a_stack_has_as_many_words_as_are_to_be_had),
		TEST(test_a_file_without_a_table_is_walked_by_frame_pointers_if_it_keeps_them),
		TEST(test_files_with_and_without_frame_pointers_take_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
