// SPDX-License-Identifier: Apache-2.0
/*
 * Whole stacks of a JVM, resolved through a symbolizer: compiled, inlined and interpreted frames in
 * their order, virtual threads, code of others in the same process, and what is said about it all.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "symbols/symbolizer.h"
#include "tests/unit/fake_proc.h"
#include "tests/unit/fake_vm.h"
#include "tests/unit/parse_here.h"
#include "tests/unit/tiny_elf.h"
#include "user/util/account.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define START_TICKS 5000u
#define METHOD	    0x7fff00001000ull
#define AS_METHOD   (METHOD | SYMBOLS_WORD_METHOD)
#define INTERPRETER (FAKE_INTERPRETER + 0x20)
#define ONE	    (FAKE_STUBS + 0x0100) /* return addresses into methods */
#define TWO	    (FAKE_STUBS + 0x1100)
#define ENTER	    (FAKE_STUBS + 0x2100) /* Continuation.enterSpecial */
#define RUN	    (FAKE_STUBS + 0x3100) /* Continuation.run */
#define BARRIER	    (FAKE_STUBS + 0x4100) /* continuation stubs */
#define VTABLE	    (FAKE_STUBS + 0x5100)
#define OTHER_JIT   0x7e1000000120ull /* of another compiler in the process */
#define LIBC	    0x10ull	      /* no mapping */

static struct fake_proc proc;
static struct fake_vm fake;
static struct symbolizer *symbolizer;
static struct symbols_process *process;
static struct frame_list frames;

static uint64_t ticks_to_ns(uint64_t ticks)
{
	return ticks * (CLOCK_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

static void open_process(enum jit_mode jit)
{
	struct symbolizer_options options = { .proc_fd = proc.fd,
					      .jit = jit,
					      .parser_starter = &starter_of_none,
					      .opener_starter = &starter_of_none };
	struct process_life id = { .pid = 100, .start_ns = ticks_to_ns(START_TICKS) };

	symbolizer__free(symbolizer);
	symbolizer = NULL;
	assert_int_equal(symbolizer__open(&options, &symbolizer), 0);
	assert_int_equal(symbolizer__open_process(symbolizer, &id, account_of_host(), &process), 0);
}

/* The JVM's tables are read from here on. */
static void open_vm(void)
{
	struct jit_vm *vm;

	assert_ptr_equal(process->jit_sources[0].ops, &jit_source_hotspot);
	assert_int_equal(jit_vm__new(&fake_vm_ops, &fake, symbolizer->names, &vm), 0);
	jit_source_hotspot_use(process->jit_sources[0].state, vm);
	symbols_process_bound_jit(process);
}

static void put_code(uint64_t address, uint64_t method, const char *name, int32_t level)
{
	enum hotspot_blob_kind kind = level ? HOTSPOT_BLOB_NMETHOD : HOTSPOT_BLOB_NATIVE;

	fake_method(&fake, method, name, "Work.java");
	fake_put(&fake, kind, address - 0x100, 0x400, method, (int32_t)(address >> 8), level);
}

static int tree_make(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	fake_vm_init(&fake);
	if (fake_proc_make(&proc))
		return -1;
	fake_proc_process(&proc, 100, START_TICKS, 1, geteuid());
	fake_proc_text(&proc, "100/maps",
		       "7e1000000000-7e1000001000 rwxp 00000000 00:00 0 \n"
		       "7f0000000000-7f0000100000 rwxp 00000000 00:00 0 \n");
	fake_proc_text(&proc, "100/root/tmp/perf-1.map",
		       "%llx 100 other jit\n7f0000000000 100000 stale map\n", OTHER_JIT & ~0xffull);
	fake_method(&fake, METHOD, "int Work.slow(int)", "Work.java");
	put_code(ONE, METHOD + 0x100, "int Work.one(int)", 4);
	put_code(TWO, METHOD + 0x200, "int Work.two(int)", 3);
	put_code(ENTER, METHOD + 0x300,
		 "Ljdk/internal/vm/Continuation;::enterSpecial(Ljdk/internal/vm/Continuation;ZZ)V",
		 0);
	put_code(RUN, METHOD + 0x400, "void jdk.internal.vm.Continuation.run()", 4);
	fake_stub(&fake, HOTSPOT_BLOB_CONTINUATION, BARRIER - 0x100, 0x400,
		  "StubRoutines (continuation stubs)");
	fake_stub(&fake, HOTSPOT_BLOB_VTABLE, VTABLE - 0x100, 0x400, "vtable chunks");
	open_process(JIT_MODE_AUTO);
	open_vm();
	return 0;
}

static int tree_remove(void **state)
{
	(void)state;
	symbolizer__free(symbolizer);
	symbolizer = NULL;
	frame_list_release(&frames);
	fake_vm_release(&fake);
	return fake_proc_remove(&proc);
}

/* Frames as "name_[x];name", leaf first. */
static const char *text_of(const struct symbols_stack *stack, uint64_t since)
{
	static char text[1024];
	size_t used = 0;

	frames.cnt = 0;
	assert_int_equal(symbols_process__read_and_resolve(process, stack, since, &frames), 0);
	text[0] = '\0';
	for (size_t i = 0; i < frames.cnt; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%s", i ? ";" : "",
					 frames.items[i].name,
					 frame_kind_suffix(frames.items[i].kind));
	return text;
}

#define CHECK_STACK(expected, ...)                                                                 \
	do {                                                                                       \
		const uint64_t words_[] = { __VA_ARGS__ };                                         \
		struct symbols_stack stack_ = { .words = words_, .word_cnt = ARRAY_SIZE(words_) }; \
                                                                                                   \
		assert_string_equal(text_of(&stack_, UINT64_MAX), expected);                       \
	} while (0)

static struct symbols_jit_status jit_status(void)
{
	struct symbols_jit_status status;

	symbols_process__jit_status(process, &status);
	return status;
}

static void stack_mixes_compiled_interpreted_and_native_frames(void **state)
{
	(void)state;
	CHECK_STACK("[unknown];Work.one_[j];Work.two_[1];Work.slow_[0];[unknown]", LIBC, ONE, TWO,
		    INTERPRETER, AS_METHOD, LIBC);
	CHECK_STACK("Work.slow_[0];Work.one_[j]", INTERPRETER, AS_METHOD, ONE);
	assert_int_equal(frames.leaf_repair, LEAF_REPAIR_NONE);
}

static void interpreted_frames_without_a_method_stay_the_interpreter(void **state)
{
	(void)state;
	CHECK_STACK("Interpreter;Interpreter;Work.slow_[0]", INTERPRETER, INTERPRETER, INTERPRETER,
		    AS_METHOD);
	assert_false(frames.items[0].is_unknown);
	CHECK_STACK("Work.one_[j];Interpreter", ONE, INTERPRETER, SYMBOLS_WORD_METHOD | 0x1234);
	assert_true(frames.items[1].is_unknown);
	assert_int_equal(jit_status().unknown_cnt, 1);
	/* A method word belongs to nothing else. */
	CHECK_STACK("Work.one_[j];Work.two_[1]", ONE, AS_METHOD, TWO, AS_METHOD, AS_METHOD);
}

static void perf_map_does_not_name_the_jvms_own_code(void **state)
{
	(void)state;
	CHECK_STACK("[unknown jit];other jit_[j]", FAKE_STUBS + 0x9100, OTHER_JIT);
	assert_true(frames.items[0].is_unknown);
	assert_int_equal(jit_status().unknown_cnt, 1);
	CHECK_STACK("[unknown jit];other jit_[j]", FAKE_STUBS + 0x9100, OTHER_JIT);
	assert_int_equal(jit_status().unknown_cnt, 1); /* addresses, not times */
}

static void ambiguous_addresses_are_counted_once_per_window(void **state)
{
	const uint64_t words[] = { ONE, ONE + 8, TWO };
	struct symbols_stack stack = { .words = words, .word_cnt = 3 };
	uint64_t since;

	(void)state;
	assert_string_equal(text_of(&stack, UINT64_MAX), "Work.one_[j];Work.one_[j];Work.two_[1]");
	since = fake.now_ns++;
	fake_remove(&fake, ONE - 0x100);
	fake_put(&fake, HOTSPOT_BLOB_NMETHOD, ONE - 0x100, 0x400, METHOD + 0x200, 99, 4);
	assert_int_equal(symbols_process__refresh(process), 0);
	for (int i = 0; i < 3; i++)
		assert_string_equal(text_of(&stack, since),
				    "[unknown jit];[unknown jit];Work.two_[1]");
	assert_int_equal(jit_status().ambiguous_cnt, 2);
	assert_int_equal(jit_status().unknown_cnt, 0);
}

static void virtual_thread_ends_where_the_carrier_begins(void **state)
{
	(void)state;
	CHECK_STACK("Work.one_[j];Work.two_[1];[vthread]", ONE, TWO, ENTER, RUN, LIBC);
	assert_true(symbols_reaches_root(frames.items, frames.cnt));
	assert_false(frames.items[2].is_unknown);
	/* A carrier that is about to run one, or has run one. */
	CHECK_STACK("Work.one_[j];jdk.internal.vm.Continuation.run_[j];[unknown]", ONE, RUN, LIBC);
	assert_false(symbols_reaches_root(frames.items, frames.cnt));
	CHECK_STACK("jdk.internal.vm.Continuation.enterSpecial_[j];"
		    "jdk.internal.vm.Continuation.run_[j]",
		    ENTER, RUN);
}

static void methods_keep_their_parameters_when_they_are_asked_for(void **state)
{
	(void)state;
	symbolizer__set_jit(symbolizer, JIT_MODE_AUTO, true);
	CHECK_STACK("Work.one(int)_[j];Work.slow(int)_[0];Work.two(int)_[1];[vthread]", ONE,
		    INTERPRETER, AS_METHOD, TWO, ENTER, RUN, LIBC);
}

static void virtual_thread_whose_callers_are_frozen_says_so(void **state)
{
	(void)state;
	CHECK_STACK("Work.one_[j];[frozen frames];[vthread]", ONE, BARRIER, RUN, LIBC);
	assert_true(symbols_reaches_root(frames.items, frames.cnt));
	CHECK_STACK("Work.one_[j];Work.slow_[0];[frozen frames];[vthread]", ONE, INTERPRETER,
		    AS_METHOD, BARRIER, RUN);
	/* In the stub itself: it is bringing them back. */
	CHECK_STACK("StubRoutines (continuationstubs);[frozen frames];[vthread]", BARRIER, RUN);
	for (size_t i = 0; i < frames.cnt; i++)
		assert_false(frames.items[i].is_unknown);
}

static void stack_that_ends_anywhere_is_fine(void **state)
{
	(void)state;
	CHECK_STACK("Work.slow_[0]", INTERPRETER, AS_METHOD);
	CHECK_STACK("Interpreter", INTERPRETER);
	CHECK_STACK("[unknown]", AS_METHOD); /* a first word is an address */
	frames.cnt = 0;
	assert_int_equal(symbols_process__read_and_resolve(process, &(struct symbols_stack){ 0 }, 0,
							   &frames),
			 0);
	assert_int_equal(frames.cnt, 0);
	assert_int_equal(symbols_process__prefetch(process, &(struct symbols_stack){ 0 }, 0), 0);
}

static void prefetch_names_the_window_it_is_in(void **state)
{
	const uint64_t words[] = { LIBC, ONE, INTERPRETER, AS_METHOD, TWO };
	struct symbols_stack stack = { .words = words, .word_cnt = 5 };
	uint64_t since = fake.now_ns++;

	(void)state;
	assert_int_equal(symbols_process__prefetch(process, &stack, clock_boot_ns()), 0);
	assert_int_equal(symbols_process__refresh(process), 0);
	assert_string_equal(text_of(&stack, since),
			    "[unknown];Work.one_[j];Work.slow_[0];Work.two_[1]");
}

static void prefetch_a_minute_late_proves_nothing(void **state)
{
	const uint64_t words[] = { ONE };
	struct symbols_stack stack = { .words = words, .word_cnt = 1 };
	uint64_t since = fake.now_ns++;
	uint64_t now_ns = clock_boot_ns();

	(void)state;
	assert_int_equal(symbols_process__prefetch(
				 process, &stack,
				 now_ns > 60 * CLOCK_NS_PER_S ? now_ns - 60 * CLOCK_NS_PER_S : 0),
			 0);
	assert_int_equal(symbols_process__refresh(process), 0);
	assert_string_equal(text_of(&stack, since), "[unknown jit]");
}

static void prefetch_of_a_pid_that_is_another_process_by_now_is_void(void **state)
{
	const uint64_t words[] = { ONE };
	const uint64_t both[] = { ONE, TWO };
	struct symbols_stack stack = { .words = words, .word_cnt = 1 };
	uint64_t since = fake.now_ns++;

	(void)state;
	fake.now_ns = clock_boot_ns();
	assert_int_equal(symbols_process__prefetch(process, &stack, clock_boot_ns()), 0);
	(void)symbolizer__end_prefetch(symbolizer);
	fake_proc_process(&proc, 100, START_TICKS + 1, 1, geteuid());
	fake.now_ns = clock_boot_ns() + CLOCK_NS_PER_S;
	stack = (struct symbols_stack){ .words = both, .word_cnt = 2 };
	assert_int_equal(symbols_process__prefetch(process, &stack, clock_boot_ns()), 0);
	(void)symbolizer__end_prefetch(symbolizer);
	assert_string_equal(text_of(&stack, since), "Work.one_[j];[unknown jit]");
}

static void all_prefetches_of_a_round_are_void_when_the_pid_went_to_another_process(void **state)
{
	const uint64_t words[] = { ONE, TWO };
	struct symbols_stack stacks[] = {
		{ .words = words, .word_cnt = 1 },
		{ .words = words + 1, .word_cnt = 1 },
	};
	uint64_t since = fake.now_ns++;

	(void)state;
	fake.now_ns = clock_boot_ns() + CLOCK_NS_PER_S;
	assert_int_equal(symbols_process__prefetch(process, &stacks[0], clock_boot_ns()), 0);
	fake_proc_process(&proc, 100, START_TICKS + 1, 1, geteuid());
	assert_int_equal(symbols_process__prefetch(process, &stacks[1], clock_boot_ns()), 0);
	(void)symbolizer__end_prefetch(symbolizer);
	assert_string_equal(text_of(&stacks[0], since), "[unknown jit]");
	assert_string_equal(text_of(&stacks[1], since), "[unknown jit]");
}

static void process_may_be_closed_between_a_prefetch_and_the_end_of_the_round(void **state)
{
	const uint64_t words[] = { ONE };
	struct symbols_stack stack = { .words = words, .word_cnt = 1 };

	(void)state;
	assert_int_equal(symbols_process__prefetch(process, &stack, clock_boot_ns()), 0);
	symbols_process__close(process);
	assert_true(symbolizer__end_prefetch(symbolizer) > 0);
}

static void process_that_ended_keeps_what_was_prefetched(void **state)
{
	const uint64_t words[] = { ONE, INTERPRETER, AS_METHOD };
	struct symbols_stack stack = { .words = words, .word_cnt = 3 };
	uint64_t since = fake.now_ns++;

	(void)state;
	assert_int_equal(symbols_process__prefetch(process, &stack, clock_boot_ns()), 0);
	(void)symbolizer__end_prefetch(symbolizer);
	fake.error = -ESRCH;
	assert_int_equal(renameat(proc.fd, "100", proc.fd, "gone"), 0);
	assert_int_equal(symbols_process__refresh(process), -ESRCH);
	assert_string_equal(text_of(&stack, since), "Work.one_[j];Work.slow_[0]");
}

#if defined(__x86_64__)
/* vtable stubs have no frame: their caller is on top of the stack. */
static void leaf_gets_the_caller_that_the_chain_lacks(void **state)
{
	static const struct {
		uint64_t leaf;
		uint64_t at_sp, at_sp_8;
		const char *frames;
		enum leaf_repair repair;
	} cases[] = {
		{ VTABLE, TWO, TWO, "vtable chunks;Work.two_[1];Work.one_[j]", LEAF_REPAIR_DONE },
		{ VTABLE, ONE, TWO, "vtable chunks;Work.one_[j]", LEAF_REPAIR_NOT_NEEDED },
		{ VTABLE, 0, TWO, "vtable chunks;Work.one_[j]", LEAF_REPAIR_NOT_POSSIBLE },
		{ VTABLE, LIBC, TWO, "vtable chunks;Work.one_[j]", LEAF_REPAIR_NOT_POSSIBLE },
		{ VTABLE, ENTER, TWO, "vtable chunks;[vthread]", LEAF_REPAIR_DONE },
		{ VTABLE, INTERPRETER, TWO, "vtable chunks;Interpreter;Work.one_[j]",
		  LEAF_REPAIR_DONE },
		{ VTABLE, INTERPRETER, AS_METHOD, "vtable chunks;Work.slow_[0];Work.one_[j]",
		  LEAF_REPAIR_DONE },
		{ VTABLE, AS_METHOD, INTERPRETER, "vtable chunks;Work.one_[j]",
		  LEAF_REPAIR_NOT_POSSIBLE },
		{ INTERPRETER, TWO, TWO, "Interpreter;Work.one_[j]", LEAF_REPAIR_NOT_NEEDED },
		{ LIBC, TWO, TWO, "[unknown];Work.one_[j]", LEAF_REPAIR_NONE },
		{ FAKE_STUBS + 0x9100, TWO, TWO, "[unknown jit];Work.one_[j]", LEAF_REPAIR_NONE },
	};
	static const uint8_t code[LEAF_CODE_BYTES] = { 0x90 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const uint64_t words[] = { cases[i].leaf, ONE };
		const uint64_t leaf_words[] = { cases[i].at_sp, cases[i].at_sp_8 };
		struct symbols_stack stack = {
			.words = words,
			.word_cnt = 2,
			.leaf_words = leaf_words,
			.leaf_code = code,
		};

		assert_string_equal(text_of(&stack, UINT64_MAX), cases[i].frames);
		assert_int_equal(frames.leaf_repair, cases[i].repair);
		/* The same leaf without what is needed: nothing is said. */
		stack.leaf_code = NULL;
		stack.leaf_words = NULL;
		(void)text_of(&stack, UINT64_MAX);
		assert_int_equal(frames.leaf_repair, LEAF_REPAIR_NONE);
	}
}

static void interpreted_caller_of_the_leaf_is_told_from_its_own_caller(void **state)
{
	static const uint8_t code[LEAF_CODE_BYTES] = { 0x90 };
	/* Both return to one address of the interpreter. */
	const uint64_t words[] = { VTABLE, INTERPRETER, AS_METHOD, ONE };
	const uint64_t leaf_words[] = { INTERPRETER, AS_METHOD };
	const struct symbols_stack stack = {
		.words = words,
		.word_cnt = 4,
		.leaf_words = leaf_words,
		.leaf_code = code,
	};

	(void)state;
	assert_string_equal(text_of(&stack, UINT64_MAX),
			    "vtable chunks;Work.slow_[0];Work.slow_[0];Work.one_[j]");
	assert_int_equal(frames.leaf_repair, LEAF_REPAIR_DONE);
}

static void prefetch_reads_the_caller_of_the_leaf_too(void **state)
{
	static const uint8_t code[LEAF_CODE_BYTES] = { 0x90 };
	const uint64_t words[] = { VTABLE, ONE };
	const uint64_t leaf_words[] = { TWO, 0 };
	struct symbols_stack stack = {
		.words = words,
		.word_cnt = 2,
		.leaf_words = leaf_words,
		.leaf_code = code,
	};
	uint64_t since = fake.now_ns++;

	(void)state;
	assert_int_equal(symbols_process__prefetch(process, &stack, clock_boot_ns()), 0);
	assert_int_equal(symbols_process__refresh(process), 0);
	assert_string_equal(text_of(&stack, since), "vtable chunks;Work.two_[1];Work.one_[j]");
}
#endif

static int count_jit(void *ctx, uint64_t start, uint64_t len, const char *name)
{
	size_t *cnt = ctx;

	assert_int_equal(len, 0x3e0);
	assert_non_null(name);
	if (start == ONE - 0x100 + 0x20)
		assert_string_equal(name, "int Work.one(int)");
	return ++*cnt == 1000;
}

static int stop_jit(void *ctx, uint64_t start, uint64_t len, const char *name)
{
	size_t *cnt = ctx;

	(void)start;
	(void)len;
	(void)name;
	++*cnt;
	return 42;
}

static void all_code_is_listed_from_the_best_source(void **state)
{
	size_t cnt = 0;

	(void)state;
	assert_int_equal(symbols_process__each_jit(process, count_jit, &cnt), 0);
	assert_int_equal(cnt, 6);
	assert_int_equal(symbols_process__each_jit(process, stop_jit, &cnt), 42);
	assert_int_equal(cnt, 7);
	fake.error = -ESRCH;
	assert_int_equal(symbols_process__each_jit(process, stop_jit, &cnt), -ESRCH);
	/* From a perf map where there is nothing better, or from nothing. */
	open_process(JIT_MODE_PERFMAP);
	cnt = 0;
	assert_int_equal(symbols_process__each_jit(process, stop_jit, &cnt), 42);
	assert_int_equal(cnt, 1);
	open_process(JIT_MODE_OFF);
	assert_int_equal(symbols_process__each_jit(process, stop_jit, &cnt), -ENOENT);
}

static void status_says_what_names_the_code(void **state)
{
	struct symbols_code_range range;
	struct symbols_jit_status status;

	(void)state;
	CHECK_STACK("Work.one_[j];Work.two_[1]", ONE, TWO);
	status = jit_status();
	assert_int_equal(status.source, JIT_SOURCE_VMSTRUCTS);
	assert_int_equal(status.entry_cnt, 2);
	assert_true(status.loaded_boot_ns > 0);
	assert_int_equal(status.map_mtime_ns, 0);
	assert_true(status.has_inlined);
	assert_true(status.has_interpreted);
	assert_null(status.problem);
	assert_null(status.fallback);
	assert_true(symbols_process__code_range(process, &range));
	assert_int_equal(range.code_low, FAKE_CODE);
	assert_int_equal(range.interpreter_high, FAKE_STUBS);
	/* Not known: no range at all. */
	fake.ranges = (struct hotspot_ranges){ 0 };
	assert_int_equal(symbols_process__refresh(process), 0);
	assert_false(symbols_process__code_range(process, &range));
	CHECK_STACK("stale map_[j]", ONE);
}

/* A library that looks like HotSpot's; nothing is behind its tables. */
static void put_libjvm(void)
{
	struct tiny_symbol symbol = { .name = "gHotSpotVMStructs",
				      .info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT) };
	struct tiny_elf elf = { .symbols = &symbol, .symbol_cnt = 1, .is_dynsym = true };
	static uint8_t bytes[TINY_ELF_MAX];
	char to[128];

	fake_proc_put(&proc, "files/libjvm.so", bytes, tiny_elf_write(&elf, bytes));
	assert_int_equal(mkdirat(proc.fd, "100/map_files", 0755), 0);
	snprintf(to, sizeof(to), "%s/files/libjvm.so", proc.path);
	assert_int_equal(symlinkat(to, proc.fd, "100/map_files/7e0000000000-7e0000001000"), 0);
	fake_proc_text(&proc, "100/maps",
		       "7e0000000000-7e0000001000 r-xp 0 08:01 7 /jdk/lib/server/libjvm.so\n"
		       "7f0000000000-7f0000100000 rwxp 00000000 00:00 0 \n");
}

static void status_says_why_the_tables_are_not_used(void **state)
{
	struct symbols_code_range range;

	(void)state;
	put_libjvm();
	open_process(JIT_MODE_AUTO);
	assert_true(jit_status().is_hotspot);
	assert_int_equal(jit_status().source, JIT_SOURCE_PERFMAP);
	assert_non_null(strstr(jit_status().fallback, "perf map"));
	assert_false(jit_status().is_starting);
	assert_null(jit_status().problem);
	assert_false(symbols_process__code_range(process, &range));
	CHECK_STACK("stale map", ONE);
	open_process(JIT_MODE_VMSTRUCTS);
	assert_int_equal(jit_status().source, JIT_SOURCE_NONE);
	assert_non_null(jit_status().problem);
	assert_null(jit_status().fallback);
	CHECK_STACK("[unknown jit]", ONE);
	open_process(JIT_MODE_PERFMAP);
	assert_null(jit_status().fallback);
	assert_int_equal(jit_status().source, JIT_SOURCE_PERFMAP);
}

/* Version and flags are wanted whatever names the code. */
static void tables_are_opened_in_every_mode_and_an_error_is_final(void **state)
{
	static const enum jit_mode modes[] = { JIT_MODE_AUTO, JIT_MODE_VMSTRUCTS, JIT_MODE_PERFMAP,
					       JIT_MODE_ATTACH, JIT_MODE_OFF };
	struct hotspot_vm *vm;

	(void)state;
	open_process(JIT_MODE_AUTO);
	assert_int_equal(symbols_process__hotspot(process, &vm), -ENOENT);
	put_libjvm();
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		int err;

		open_process(modes[i]);
		err = symbols_process__hotspot(process, &vm);
		if (err == 0 || err == -EAGAIN || err == -ENOENT)
			fail_msg("mode %d: %d", (int)modes[i], err);
	}
}

static void mode_vmstructs_names_nothing_of_other_runtimes(void **state)
{
	(void)state;
	open_process(JIT_MODE_VMSTRUCTS);
	CHECK_STACK("[unknown jit]", OTHER_JIT);
	assert_non_null(strstr(jit_status().problem, "not a HotSpot"));
}

static void memory_is_reported(void **state)
{
	size_t before = symbolizer__bytes(symbolizer);

	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		put_code(FAKE_STUBS + 0x10100 + i * 0x1000, METHOD + 0x500, "void A.b()", 4);
	for (uint64_t i = 0; i < 100; i++)
		CHECK_STACK("A.b_[j]", FAKE_STUBS + 0x10100 + i * 0x1000);
	assert_true(symbolizer__bytes(symbolizer) >= before + 100 * sizeof(struct hotspot_blob));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)
	const struct CMUnitTest tests[] = {
		TEST(stack_mixes_compiled_interpreted_and_native_frames),
		TEST(interpreted_frames_without_a_method_stay_the_interpreter),
		TEST(perf_map_does_not_name_the_jvms_own_code),
		TEST(ambiguous_addresses_are_counted_once_per_window),
		TEST(virtual_thread_ends_where_the_carrier_begins),
		TEST(methods_keep_their_parameters_when_they_are_asked_for),
		TEST(virtual_thread_whose_callers_are_frozen_says_so),
		TEST(stack_that_ends_anywhere_is_fine),
		TEST(prefetch_names_the_window_it_is_in),
		TEST(prefetch_a_minute_late_proves_nothing),
		TEST(prefetch_of_a_pid_that_is_another_process_by_now_is_void),
		TEST(all_prefetches_of_a_round_are_void_when_the_pid_went_to_another_process),
		TEST(process_may_be_closed_between_a_prefetch_and_the_end_of_the_round),
		TEST(process_that_ended_keeps_what_was_prefetched),
#if defined(__x86_64__)
		TEST(leaf_gets_the_caller_that_the_chain_lacks),
		TEST(interpreted_caller_of_the_leaf_is_told_from_its_own_caller),
		TEST(prefetch_reads_the_caller_of_the_leaf_too),
#endif
		TEST(all_code_is_listed_from_the_best_source),
		TEST(status_says_what_names_the_code),
		TEST(status_says_why_the_tables_are_not_used),
		TEST(tables_are_opened_in_every_mode_and_an_error_is_final),
		TEST(mode_vmstructs_names_nothing_of_other_runtimes),
		TEST(memory_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
