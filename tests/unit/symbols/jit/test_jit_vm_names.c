// SPDX-License-Identifier: Apache-2.0
/*
 * What code is called: compilers, stubs, inlined methods with their lines, interpreted methods and
 * those whose class was unloaded.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "symbols/jit/jit_vm_internal.h"
#include "symbols/leaf/call_site.h"
#include "tests/unit/symbols/jit/jit_vm_fixture.h"

/* ---- names and kinds ---- */

static void code_gets_the_kind_of_its_compiler(void **state)
{
	static const struct {
		enum hotspot_blob_kind kind;
		int32_t level;
		const char *stub;
		const char *name;
		enum frame_kind frame_kind;
	} cases[] = {
		{ HOTSPOT_BLOB_NMETHOD, 4, NULL, "Work.one", FRAME_KIND_JIT },
		{ HOTSPOT_BLOB_NMETHOD, 1, NULL, "Work.one", FRAME_KIND_C1 },
		{ HOTSPOT_BLOB_NMETHOD, 3, NULL, "Work.one", FRAME_KIND_C1 },
		{ HOTSPOT_BLOB_NMETHOD, 0, NULL, "Work.one", FRAME_KIND_JIT },
		{ HOTSPOT_BLOB_NATIVE, 0, NULL, "Work.one", FRAME_KIND_JIT },
		{ HOTSPOT_BLOB_STUB, 0, "RuntimeStub - _new_array_Java",
		  "RuntimeStub - _new_array_Java", FRAME_KIND_NATIVE },
		{ HOTSPOT_BLOB_STUB, 0, "a.b.NotAMethod.at(all)", "a.b.NotAMethod.at",
		  FRAME_KIND_NATIVE },
		{ HOTSPOT_BLOB_VTABLE, 0, "vtable chunks", "vtable chunks", FRAME_KIND_NATIVE },
		{ HOTSPOT_BLOB_CONTINUATION, 0, "StubRoutines (continuation stubs)",
		  "StubRoutines (continuationstubs)", FRAME_KIND_NATIVE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t start = A + i * 0x1000;
		struct jit_vm_query query = { .word = start + AT, .since_boot_ns = UINT64_MAX };
		struct jit_vm_answer answer;

		if (cases[i].stub)
			fake_stub(&fake, cases[i].kind, start, LEN, cases[i].stub);
		else
			fake_put(&fake, cases[i].kind, start, LEN, METHOD, (int32_t)i + 1,
				 cases[i].level);
		assert_int_equal(ask(&query, &answer), 0);
		assert_int_equal(answer.cnt, 1);
		assert_string_equal(name_table__text(names, answer.frames[0].name), cases[i].name);
		assert_int_equal(answer.frames[0].kind, cases[i].frame_kind);
		assert_false(answer.frames[0].is_unknown);
		assert_int_equal(answer.frames[0].place,
				 cases[i].kind == HOTSPOT_BLOB_CONTINUATION ? JIT_VM_PLACE_FROZEN :
									      JIT_VM_PLACE_NONE);
	}
}

static void inlined_methods_are_frames_with_file_and_line_in_a_leaf(void **state)
{
	struct fake_blob *code = put_code(A, METHOD, 1);
	struct jit_vm_query query = {
		.word = A + AT,
		.is_leaf = true,
		.since_boot_ns = UINT64_MAX,
	};
	struct jit_vm_answer answer;

	(void)state;
	code->blob.comp_level = 2;
	code->scopes = (struct hotspot_scopes){
		.places = { { A + AT,
			      { { METHOD + 0x200, 7 }, { METHOD + 0x100, -1 }, { METHOD, 3 } },
			      3 },
			    { A + 2 * AT, { { METHOD, 9 } }, 1 } },
		.cnt = 2,
	};
	assert_int_equal(ask(&query, &answer), 0);
	assert_int_equal(answer.cnt, 3);
	assert_string_equal(name_table__text(names, answer.frames[0].name), "Work.three");
	assert_string_equal(name_table__text(names, answer.frames[1].name), "Work.two");
	assert_string_equal(name_table__text(names, answer.frames[2].name), "Work.one");
	assert_string_equal(name_table__text(names, answer.frames[0].file), "Other.java");
	assert_string_equal(name_table__text(names, answer.frames[2].file), "Work.java");
	assert_int_equal(answer.frames[0].kind, FRAME_KIND_INLINED);
	assert_int_equal(answer.frames[1].kind, FRAME_KIND_INLINED);
	assert_int_equal(answer.frames[2].kind, FRAME_KIND_C1);
	assert_int_equal(answer.frames[0].line, 107);
	assert_int_equal(answer.frames[1].line, 100);
	assert_int_equal(answer.frames[2].line, 103);
	/* A leaf in the interval that ends at the second place. */
	query.word = A + AT + 1;
	assert_int_equal(ask(&query, &answer), 0);
	assert_int_equal(answer.cnt, 1);
	assert_int_equal(answer.frames[0].line, 109);
	/* No return address is described there: the method itself, without a line. */
	query.is_leaf = false;
	assert_int_equal(ask(&query, &answer), 0);
	assert_int_equal(answer.cnt, 1);
	assert_string_equal(name_table__text(names, answer.frames[0].name), "Work.one");
	assert_int_equal(answer.frames[0].line, 0);
	/* A caller's line is asked for by nobody, and not read. */
	query.word = A + AT;
	fake.lines_cnt = 0;
	assert_int_equal(ask(&query, &answer), 0);
	assert_int_equal(answer.cnt, 3);
	assert_int_equal(answer.frames[0].file, JIT_VM_NO_FILE);
	assert_int_equal(answer.frames[2].line, 0);
	assert_int_equal(fake.lines_cnt, 0);
}

static void tables_of_lines_are_bounded_and_read_again(void **state)
{
	struct fake_blob *code = put_code(A, METHOD, 1);
	const struct jit_vm_query query = {
		.word = A + AT,
		.is_leaf = true,
		.since_boot_ns = UINT64_MAX,
	};
	struct jit_vm_answer answer;

	(void)state;
	fake.line_bytes = 3u << 20;
	code->scopes = (struct hotspot_scopes){
		.places = { { A + AT,
			      { { METHOD + 0x200, 7 }, { METHOD + 0x100, 5 }, { METHOD, 3 } },
			      3 } },
		.cnt = 1,
	};
	assert_int_equal(ask(&query, &answer), 0);
	assert_int_equal(answer.frames[0].line, 107);
	assert_int_equal(answer.frames[1].line, 105);
	assert_int_equal(answer.frames[2].line, 103);
	assert_true(jit_vm__bytes(vm) >= 3u << 20);
	assert_true(jit_vm__bytes(vm) < 5u << 20);
	jit_vm__forget_names(vm);
	assert_true(jit_vm__bytes(vm) < 1u << 20);
}

#if defined(__x86_64__)
static void leaf_whose_frame_does_not_stand_has_nothing_inlined_yet(void **state)
{
	/* mov [rsp-0x14000],eax; push rbp; mov rbp,rsp; sub rsp,0x20 */
	static const uint8_t entry[] = { 0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x55,
					 0x48, 0x8b, 0xec, 0x48, 0x83, 0xec, 0x20 };
	static const struct {
		uint64_t offset;
		size_t cnt;
		enum leaf_verdict verdict;
	} cases[] = {
		{ 7, 1, LEAF_CALLER_AT_SP },
		{ 8, 1, LEAF_CALLER_AT_SP_8 },
		{ 15, 2, LEAF_NOT_NEEDED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t start = A + i * 0x1000;
		struct fake_blob *code = put_code(start, METHOD, (int32_t)i + 1);
		uint64_t begin = code->blob.code_begin;
		uint8_t at_ip[LEAF_CODE_BYTES];
		struct jit_vm_query query = {
			.word = begin + cases[i].offset,
			.is_leaf = true,
			.since_boot_ns = UINT64_MAX,
			.leaf_code = at_ip,
		};
		struct jit_vm_answer answer;

		memset(at_ip, 0x90, sizeof(at_ip));
		memcpy(at_ip, entry + cases[i].offset, sizeof(entry) - cases[i].offset);
		code->blob.verified_entry = begin;
		code->scopes = (struct hotspot_scopes){
			.places = { { begin + 0x20, { { METHOD + 0x100, 4 }, { METHOD, 3 } }, 2 } },
			.cnt = 1,
		};
		fake.entry_at = begin;
		memset(fake.entry_code, 0x90, sizeof(fake.entry_code));
		memcpy(fake.entry_code, entry, sizeof(entry));
		assert_int_equal(ask(&query, &answer), 0);
		assert_int_equal(answer.frames[0].verdict, cases[i].verdict);
		assert_int_equal(answer.cnt, cases[i].cnt);
		assert_string_equal(name_table__text(names, answer.frames[answer.cnt - 1].name),
				    "Work.one");
	}
}
#endif

static void what_was_inlined_in_a_frame_that_waits_to_be_deoptimised_is_unknown(void **state)
{
	struct fake_blob *code = put_code(A, METHOD, 1);
	struct jit_vm_query query = { .word = A + 3 * AT, .since_boot_ns = UINT64_MAX };
	struct jit_vm_answer answer;

	(void)state;
	code->scopes = (struct hotspot_scopes){
		.places = { { A + AT, { { METHOD + 0x100, 1 }, { METHOD, 1 } }, 2 } },
		.cnt = 1,
		.deopt_handler = A + 3 * AT,
	};
	assert_int_equal(ask(&query, &answer), 0);
	assert_int_equal(answer.cnt, 2);
	assert_string_equal(name_table__text(names, answer.frames[0].name), "[unknown jit]");
	assert_true(answer.frames[0].is_unknown);
	assert_string_equal(name_table__text(names, answer.frames[1].name), "Work.one");
}

static void scopes_that_do_not_end_in_the_method_itself_are_not_believed(void **state)
{
	struct fake_blob *code = put_code(A, METHOD, 1);

	(void)state;
	code->scopes = (struct hotspot_scopes){
		.places = { { A + AT, { { METHOD, 1 }, { METHOD + 0x100, 1 } }, 2 } },
		.cnt = 1,
	};
	CHECK(A + AT, UINT64_MAX, "Work.one");
}

static void inlined_method_without_a_name_is_one_unknown_frame(void **state)
{
	struct fake_blob *code = put_code(A, METHOD, 1);
	struct jit_vm_query query = { .word = A + AT, .since_boot_ns = UINT64_MAX };
	struct jit_vm_answer answer;

	(void)state;
	code->scopes = (struct hotspot_scopes){
		.places = { { A + AT, { { 0xbad, 1 }, { METHOD, 1 } }, 2 } },
		.cnt = 1,
	};
	assert_int_equal(ask(&query, &answer), 0);
	assert_int_equal(answer.cnt, 2);
	assert_string_equal(name_table__text(names, answer.frames[0].name), "[unknown jit]");
	assert_true(answer.frames[0].is_unknown);
	assert_string_equal(name_table__text(names, answer.frames[1].name), "Work.one");
}

/* What a return address is now: the names of its frames, leaf first. */
static const char *names_at(uint64_t word)
{
	struct jit_vm_query query = { .word = word, .since_boot_ns = UINT64_MAX };
	struct jit_vm_answer answer;
	static char text[256];

	assert_int_equal(ask(&query, &answer), 0);
	text[0] = '\0';
	for (size_t i = 0; i < answer.cnt; i++) {
		const char *name = name_table__text(names, answer.frames[i].name);
		size_t used = strlen(text);

		(void)snprintf(text + used, sizeof(text) - used, "%s%s", i ? ";" : "", name);
	}
	return text;
}

/* Code lives for days: what could not be read once must not be missing in all of them. */
static void inlined_methods_that_could_not_be_read_are_read_in_the_next_window(void **state)
{
	struct fake_blob *code = put_code(A, METHOD, 1);

	(void)state;
	code->scopes = (struct hotspot_scopes){
		.places = { { A + AT, { { METHOD + 0x100, 1 }, { METHOD, 1 } }, 2 } },
		.cnt = 1,
	};
	fake.scopes_error = -EAGAIN;
	assert_string_equal(names_at(A + AT), "Work.one");
	assert_string_equal(names_at(A + AT), "Work.one");
	assert_int_equal(fake.scopes_cnt, 1);
	fake.scopes_error = 0;
	fake_unload(&fake, METHOD + 0x100);
	window_ends();
	assert_string_equal(names_at(A + AT), "[unknown jit];Work.one");
	fake_method(&fake, METHOD + 0x100, "int Work.two(int)", "Work.java");
	window_ends();
	assert_string_equal(names_at(A + AT), "Work.two;Work.one");
	assert_int_equal(fake.scopes_cnt, 2);
	/* And from here on it is known. */
	fake_unload(&fake, METHOD + 0x100);
	window_ends();
	assert_string_equal(names_at(A + AT), "Work.two;Work.one");
}

static void code_that_has_no_scopes_is_not_read_again_and_again(void **state)
{
	size_t name_cnt;

	(void)state;
	put_code(A, METHOD, 1);
	assert_string_equal(names_at(A + AT), "Work.one");
	name_cnt = fake.name_cnt;
	for (int i = 0; i < 3; i++) {
		window_ends();
		assert_string_equal(names_at(A + AT), "Work.one");
	}
	assert_int_equal(fake.scopes_cnt, 1);
	assert_int_equal(fake.name_cnt, name_cnt);
}

static void addresses_outside_the_code_are_not_covered(void **state)
{
	(void)state;
	assert_false(jit_vm__covers(vm, FAKE_CODE - 1));
	assert_true(jit_vm__covers(vm, FAKE_CODE));
	assert_true(jit_vm__covers(vm, fake.ranges.code_high - 1));
	assert_false(jit_vm__covers(vm, fake.ranges.code_high));
	assert_false(jit_vm__covers(vm, 0));
	assert_false(jit_vm__covers(vm, UINT64_MAX));
	/* A VM that claims all there is. */
	fake.ranges.code_low = 0;
	fake.ranges.code_high = UINT64_MAX;
	window_ends();
	assert_true(jit_vm__covers(vm, 0));
	assert_false(jit_vm__covers(vm, UINT64_MAX - 1));
	CHECK(0, UINT64_MAX, "unknown");
}

/* ---- methods ---- */

static const char *interpreted(uint64_t method, uint64_t since)
{
	struct jit_vm_query query = {
		.word = FAKE_INTERPRETER + AT,
		.method = method,
		.since_boot_ns = since,
	};
	struct jit_vm_answer answer;
	int err = ask(&query, &answer);

	if (err)
		return err == -EXDEV ? "ambiguous" : "unknown";
	assert_int_equal(answer.cnt, 1);
	assert_int_equal(answer.frames[0].kind == FRAME_KIND_INTERPRETED,
			 strcmp(name_table__text(names, answer.frames[0].name), "Interpreter") !=
				 0);
	if (answer.frames[0].is_unknown)
		return "Interpreter?";
	return name_table__text(names, answer.frames[0].name);
}

static int prefetch_interpreted(uint64_t method)
{
	struct jit_vm_query query = {
		.word = FAKE_INTERPRETER + AT,
		.method = method,
		.mode = JIT_VM_PREFETCH,
	};
	struct jit_vm_answer answer;

	return ask(&query, &answer);
}

static void interpreted_frame_is_named_by_its_method(void **state)
{
	struct jit_vm_query query = {
		.word = FAKE_INTERPRETER + AT,
		.method = METHOD,
		.since_boot_ns = UINT64_MAX,
	};
	struct jit_vm_answer answer;

	(void)state;
	assert_string_equal(interpreted(METHOD, UINT64_MAX), "Work.one");
	assert_int_equal(ask(&query, &answer), 0);
	assert_string_equal(name_table__text(names, answer.frames[0].file), "Work.java");
	assert_int_equal(answer.frames[0].line, 0);
	assert_int_equal(fake.find_cnt, 0);
}

static void interpreted_frame_without_a_method_is_the_interpreter(void **state)
{
	(void)state;
	assert_string_equal(interpreted(0, UINT64_MAX), "Interpreter");
	assert_string_equal(interpreted(0xbad, UINT64_MAX), "Interpreter?");
	assert_string_equal(interpreted(0, 0), "Interpreter");
	assert_int_equal(fake.find_cnt, 0);
}

/* A name that could not be kept would be read again with each sample. */
static void no_name_is_read_while_the_table_of_methods_is_full(void **state)
{
	uint64_t first = METHOD + 0x100000;
	size_t before;

	(void)state;
	for (size_t i = 0; i <= JIT_VM_MAX_METHODS; i++) {
		before = fake.name_cnt;
		fake.methods[0].method = first + i * 0x100;
		(void)prefetch_interpreted(first + i * 0x100);
		assert_int_equal(fake.name_cnt - before, i < JIT_VM_MAX_METHODS);
	}
	assert_string_equal(interpreted(first + JIT_VM_MAX_METHODS * 0x100, UINT64_MAX),
			    "Interpreter?");
	assert_int_equal(fake.name_cnt, before);
	fake.methods[0].method = first;
	assert_string_equal(interpreted(first, UINT64_MAX), "Work.one");
}

static void interpreted_method_read_by_a_prefetch_names_this_window(void **state)
{
	uint64_t since = window_begins();

	(void)state;
	assert_int_equal(prefetch_interpreted(METHOD), 0);
	window_ends();
	assert_string_equal(interpreted(METHOD, since), "Work.one");
	/* Not looked at: read first after the window. */
	assert_string_equal(interpreted(METHOD + 0x100, since), "Interpreter?");
	since = window_begins();
	window_ends();
	assert_string_equal(interpreted(METHOD + 0x100, since), "Work.two");
}

static void interpreted_method_is_read_once_per_window(void **state)
{
	size_t before;
	uint64_t since;

	(void)state;
	assert_int_equal(prefetch_interpreted(METHOD), 0);
	since = window_begins();
	window_ends();
	before = fake.name_cnt;
	for (int i = 0; i < 5; i++)
		assert_string_equal(interpreted(METHOD, since), "Work.one");
	assert_int_equal(fake.name_cnt, before + 1);
}

static void interpreted_method_that_became_another_is_ambiguous(void **state)
{
	uint64_t since;

	(void)state;
	assert_int_equal(prefetch_interpreted(METHOD), 0);
	since = window_begins();
	/* Class unloaded, another one loaded in its place: same addresses. */
	fake_method(&fake, METHOD, "void Next.life()", "Next.java");
	window_ends();
	assert_string_equal(interpreted(METHOD, since), "ambiguous");
	assert_string_equal(interpreted(METHOD, since), "ambiguous");
	since = window_begins();
	window_ends();
	assert_string_equal(interpreted(METHOD, since), "Next.life");
	assert_string_equal(interpreted(METHOD, since), "Next.life");
}

static void interpreted_method_that_became_another_is_seen_by_a_prefetch(void **state)
{
	uint64_t since;

	(void)state;
	assert_int_equal(prefetch_interpreted(METHOD), 0);
	since = window_begins();
	fake_method(&fake, METHOD, "void Next.life()", "Next.java");
	fake.now_ns += 1000000000;
	assert_int_equal(prefetch_interpreted(METHOD), 0);
	/* The first is back before the window ends. */
	fake_method(&fake, METHOD, "int Work.one(int)", "Work.java");
	window_ends();
	assert_string_equal(interpreted(METHOD, since), "ambiguous");
}

static void interpreted_method_that_is_unloaded_names_its_last_window(void **state)
{
	uint64_t since;

	(void)state;
	assert_int_equal(prefetch_interpreted(METHOD), 0);
	since = window_begins();
	fake_unload(&fake, METHOD);
	window_ends();
	assert_string_equal(interpreted(METHOD, since), "Work.one");
	since = window_begins();
	window_ends();
	assert_string_equal(interpreted(METHOD, since), "Interpreter?");
	/* And it comes back as something else. */
	fake_method(&fake, METHOD, "void Next.life()", "Next.java");
	since = window_begins();
	assert_int_equal(prefetch_interpreted(METHOD), 0);
	window_ends();
	assert_string_equal(interpreted(METHOD, since), "ambiguous");
	assert_string_equal(interpreted(METHOD, window_begins()), "Next.life");
}

static void interpreted_methods_survive_death(void **state)
{
	uint64_t since = window_begins();

	(void)state;
	assert_int_equal(prefetch_interpreted(METHOD), 0);
	fake.error = -ESRCH;
	assert_int_equal(jit_vm__refresh(vm), -ESRCH);
	assert_string_equal(interpreted(METHOD, since), "Work.one");
	assert_string_equal(interpreted(METHOD + 0x100, since), "Interpreter?");
}

static void compiled_code_does_not_take_the_name_of_an_unloaded_method(void **state)
{
	uint64_t since;

	(void)state;
	put_code(A, METHOD, 1);
	assert_int_equal(prefetch(A + AT), 0);
	/* Much later: the class is gone, its memory holds another method, which is compiled. */
	fake_remove(&fake, A);
	fake_method(&fake, METHOD, "void Next.life()", "Next.java");
	fake.now_ns += 5000000000ull;
	since = window_begins();
	put_code(B, METHOD, 2);
	assert_int_equal(prefetch(B + AT), 0);
	window_ends();
	CHECK(B + AT, since, "Next.life");
	CHECK(A + AT, since, "ambiguous");
}

static void inlined_names_of_code_that_is_gone_are_those_of_its_time(void **state)
{
	struct fake_blob *code = put_code(A, METHOD, 1);
	struct jit_vm_query query = { .word = A + AT, .mode = JIT_VM_PREFETCH };
	struct jit_vm_answer answer;
	uint64_t since = window_begins();

	(void)state;
	code->scopes = (struct hotspot_scopes){
		.places = { { A + AT, { { METHOD + 0x100, 1 }, { METHOD, 1 } }, 2 },
			    { A + 2 * AT, { { METHOD + 0x200, 1 }, { METHOD, 1 } }, 2 } },
		.cnt = 2,
	};
	assert_int_equal(ask(&query, &answer), 0);
	assert_int_equal(answer.cnt, 2);
	fake_remove(&fake, A);
	fake_method(&fake, METHOD + 0x100, "void Next.life()", "Next.java");
	fake_method(&fake, METHOD + 0x200, "void Next.wrong()", "Next.java");
	window_ends();
	query = (struct jit_vm_query){ .word = A + AT, .since_boot_ns = since };
	assert_int_equal(ask(&query, &answer), 0);
	assert_int_equal(answer.cnt, 2);
	assert_string_equal(name_table__text(names, answer.frames[0].name), "Work.two");
	/* Its name was never read while the code was there. */
	query.word = A + 2 * AT;
	assert_int_equal(ask(&query, &answer), 0);
	assert_int_equal(answer.cnt, 2);
	assert_string_equal(name_table__text(names, answer.frames[0].name), "[unknown jit]");
	assert_string_equal(name_table__text(names, answer.frames[1].name), "Work.one");
}

static void names_that_were_reset_are_read_again(void **state)
{
	uint64_t since;

	(void)state;
	put_code(A, METHOD, 1);
	fake_stub(&fake, HOTSPOT_BLOB_VTABLE, B, LEN, "vtable chunks");
	CHECK(A + AT, UINT64_MAX, "Work.one");
	CHECK(B + AT, UINT64_MAX, "vtable chunks");
	assert_string_equal(interpreted(METHOD + 0x100, UINT64_MAX), "Work.two");
	assert_int_equal(name_table__reset(names), 0);
	jit_vm__forget_names(vm);
	since = window_begins();
	window_ends();
	CHECK(B + AT, since, "vtable chunks");
	CHECK(A + AT, since, "Work.one");
	/* Known before, but its name may be of after the reset only. */
	assert_string_equal(interpreted(METHOD + 0x100, UINT64_MAX), "Work.two");
}

/* ---- calls before return addresses ---- */

static void
return_address_that_no_call_stands_before_is_not_of_the_code_that_is_there_now(void **state)
{
	static const struct {
		const char *before;
		uint64_t handler; /* offset of the deopt handler; 0 = not known */
		bool is_known;	  /* before the sample */
		const char *name;
	} cases[] = {
		{ "\x90\x90\x90\xe8\x12\x34\x56\x78", 3 * AT, false, "Work.one" },
		{ "\x90\x90\x90\x90\x90\x90\x90\x90", 3 * AT, false, "ambiguous" },
		{ "\x90\x90\x90\x90\x90\x90\x90\x90", 3 * AT, true, "Work.one" },
		{ "\x90\x90\x90\x90\x90\x90\x90\x90", 0, false, "Work.one" },
		/* A frame that waits to be deoptimised. */
		{ "\x90\x90\x90\x90\x90\x90\x90\x90", AT, false, "Work.one" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct jit_vm_query query = { .word = A + AT, .mode = JIT_VM_PREFETCH };
		struct fake_blob *code = put_code(A, METHOD, (int32_t)i + 1);
		struct jit_vm_answer answer;
		uint64_t since;

		if (cases[i].handler)
			code->blob.deopt_handler = A + cases[i].handler;
		fake.leaf_at = A + AT - CALL_SITE_BYTES;
		memcpy(fake.leaf_code, cases[i].before, CALL_SITE_BYTES);
		if (cases[i].is_known)
			(void)prefetch(A + AT + 8);
		since = window_begins();
		query.since_boot_ns = since;
		(void)ask(&query, &answer);
		window_ends();
		CHECK(A + AT, since, cases[i].name);
		fake_remove(&fake, A);
		window_ends();
		CHECK(A + AT, window_begins(), "unknown");
		window_ends();
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, vm_make, vm_remove)
	const struct CMUnitTest tests[] = {
		TEST(code_gets_the_kind_of_its_compiler),
		TEST(inlined_methods_are_frames_with_file_and_line_in_a_leaf),
		TEST(tables_of_lines_are_bounded_and_read_again),
#if defined(__x86_64__)
		TEST(leaf_whose_frame_does_not_stand_has_nothing_inlined_yet),
#endif
		TEST(what_was_inlined_in_a_frame_that_waits_to_be_deoptimised_is_unknown),
		TEST(scopes_that_do_not_end_in_the_method_itself_are_not_believed),
		TEST(inlined_method_without_a_name_is_one_unknown_frame),
		TEST(inlined_methods_that_could_not_be_read_are_read_in_the_next_window),
		TEST(code_that_has_no_scopes_is_not_read_again_and_again),
		TEST(addresses_outside_the_code_are_not_covered),
		TEST(interpreted_frame_is_named_by_its_method),
		TEST(interpreted_frame_without_a_method_is_the_interpreter),
		TEST(no_name_is_read_while_the_table_of_methods_is_full),
		TEST(interpreted_method_read_by_a_prefetch_names_this_window),
		TEST(interpreted_method_is_read_once_per_window),
		TEST(interpreted_method_that_became_another_is_ambiguous),
		TEST(interpreted_method_that_became_another_is_seen_by_a_prefetch),
		TEST(interpreted_method_that_is_unloaded_names_its_last_window),
		TEST(interpreted_methods_survive_death),
		TEST(compiled_code_does_not_take_the_name_of_an_unloaded_method),
		TEST(inlined_names_of_code_that_is_gone_are_those_of_its_time),
		TEST(names_that_were_reset_are_read_again),
		TEST(return_address_that_no_call_stands_before_is_not_of_the_code_that_is_there_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
