// SPDX-License-Identifier: Apache-2.0
/*
 * What a process is called that executes another program: /proc shows that one from the middle of
 * execve() on, while the samples before are the first one's.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "symbols/symbols.h"
#include "symbols/symbols_process.h"
#include "tests/unit/fake_proc.h"
#include "tests/unit/parse_here.h"
#include "tests/unit/tiny_elf.h"
#include "user/util/account.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define START_TICKS 5000u
#define AFTER	    UINT64_MAX /* a window that begins after all */
#define RANGE	    "7e0000000000-7e0000001000"
#define CODE	    (0x7e0000000000ull + TINY_TEXT_OFFSET)
#define BEFORE_MAPS RANGE " r-xp 00000000 08:01 7 /lib/before.so\n"
#define AFTER_MAPS  RANGE " r-xp 00000000 08:01 8 /lib/after.so\n"
#define VDSO	    "7ffe00000000-7ffe00001000 r-xp 00000000 00:00 0 [vdso]\n"
#define OTHER_VDSO  "7ffe00002000-7ffe00003000 r-xp 00000000 00:00 0 [vdso]\n"

static struct fake_proc proc;
static struct symbolizer *symbolizer;
static struct symbols_process *process;

static void put_program(const char *file, const char *function)
{
	struct tiny_symbol symbol = { .name = function, .size = 16 };
	struct tiny_elf elf = { .symbols = &symbol, .symbol_cnt = 1 };
	static uint8_t bytes[TINY_ELF_MAX];

	fake_proc_put(&proc, file, bytes, tiny_elf_write(&elf, bytes));
}

/* One of another size has these mappings now, and this file at their place. */
static void run_program(const char *maps, const char *file)
{
	static unsigned page_cnt = 1000;
	char to[128];

	fake_proc_text(&proc, "100/maps", "%s", maps);
	fake_proc_text(&proc, "100/statm", "%u 1 1 1 1 1 0\n", page_cnt++);
	snprintf(to, sizeof(to), "%s/%s", proc.path, file);
	(void)mkdirat(proc.fd, "100/map_files", 0755);
	(void)unlinkat(proc.fd, "100/map_files/" RANGE, 0);
	assert_int_equal(symlinkat(to, proc.fd, "100/map_files/" RANGE), 0);
}

static int tree_make(void **state)
{
	struct symbolizer_options options = { .parser_starter = &starter_of_none,
					      .opener_starter = &starter_of_none };
	struct process_life id = { .pid = 100,
				   .start_ns = START_TICKS *
					       (CLOCK_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK)) };

	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	if (fake_proc_make(&proc))
		return -1;
	options.proc_fd = proc.fd;
	fake_proc_process(&proc, 100, START_TICKS, 1, geteuid());
	put_program("files/before", "before");
	put_program("files/after", "after");
	run_program(BEFORE_MAPS VDSO, "files/before");
	return symbolizer__open(&options, &symbolizer) ||
	       symbolizer__open_process(symbolizer, &id, account_of_host(), &process);
}

static int tree_remove(void **state)
{
	(void)state;
	symbolizer__free(symbolizer);
	return fake_proc_remove(&proc);
}

static void check_name(uint64_t ip, const char *name)
{
	struct symbols_stack stack = { .words = &ip, .word_cnt = 1 };
	struct frame_list frames = { 0 };

	assert_int_equal(symbols_process__read_and_resolve(process, &stack, AFTER, &frames), 0);
	assert_int_equal(frames.cnt, 1);
	assert_string_equal(frames.items[0].name, name);
	frame_list_release(&frames);
}

/* Nobody samples the second program, as one that sleeps: it is never opened. */
static void a_program_that_executed_another_keeps_its_names(void **state)
{
	(void)state;
	run_program(AFTER_MAPS OTHER_VDSO, "files/after");
	symbols_process__note_exec(process);
	assert_int_equal(symbols_process__refresh(process), -ESRCH);
	check_name(CODE, "before");
	check_name(0x1000, "[unknown]");
	check_name(CODE, "before");
}

/* The kernel says so at the end of execve(), and that may take a while to arrive. */
static void mappings_of_an_execve_in_progress_are_not_taken(void **state)
{
	(void)state;
	run_program(AFTER_MAPS OTHER_VDSO, "files/after");
	assert_int_equal(symbols_process__refresh(process), -EAGAIN);
	check_name(CODE, "before");
	/* Nor is there another way to them. */
	check_name(0x1000, "[unknown]");
	check_name(CODE, "before");
	assert_int_equal(symbols_process__refresh(process), -EAGAIN);
	symbols_process__note_exec(process);
	assert_int_equal(symbols_process__refresh(process), -ESRCH);
	check_name(CODE, "before");
}

/* So do the mappings of one that is restored from an image while it is sampled (CRIU), without any execve. */
static void mappings_that_were_moved_as_a_whole_are_taken_later(void **state)
{
	(void)state;
	run_program(AFTER_MAPS OTHER_VDSO, "files/after");
	assert_int_equal(symbols_process__refresh(process), -EAGAIN);
	process->maps_after_ns = 1;
	assert_int_equal(symbols_process__refresh(process), 0);
	check_name(CODE, "after");
	/* At the same place: as any other change. */
	run_program(BEFORE_MAPS OTHER_VDSO, "files/before");
	assert_int_equal(symbols_process__refresh(process), 0);
	check_name(CODE, "before");
}

/* Who opened it knows that what was read may be another program's. */
static void mappings_in_doubt_are_read_again_later(void **state)
{
	(void)state;
	assert_int_equal(symbols_process__doubt_maps(process), 0);
	check_name(CODE, "[unknown]");
	assert_int_equal(symbols_process__refresh(process), -EAGAIN);
	check_name(CODE, "[unknown]");
	process->maps_after_ns = 1;
	assert_int_equal(symbols_process__refresh(process), 0);
	check_name(CODE, "before");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_program_that_executed_another_keeps_its_names),
		TEST(mappings_of_an_execve_in_progress_are_not_taken),
		TEST(mappings_that_were_moved_as_a_whole_are_taken_later),
		TEST(mappings_in_doubt_are_read_again_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
