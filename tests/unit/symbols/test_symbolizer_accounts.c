// SPDX-License-Identifier: Apache-2.0
/*
 * One stripped library that processes of two accounts map, and a debug file for it: what one of them
 * has below its own root names frames of its account alone.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "symbols/names/object_cache_internal.h"
#include "symbols/symbolizer.h"
#include "tests/unit/fake_proc.h"
#include "tests/unit/parse_here.h"
#include "tests/unit/tiny_eh_frame.h"
#include "user/util/account.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define START_TICKS 5000u
#define LIBRARY	    0x7e0000000000ull
#define MAPS	    "7e0000000000-7e0000001000 r-xp 00000000 08:01 7 /lib/libx.so\n"
#define DEBUG_FILE  "root/usr/lib/debug/.build-id/01/02030000000000000000000000000000000000.debug"
#define HOST	    1u /* pid whose root is the host's */
#define LIAR	    100u
#define NEIGHBOUR   101u

static const uint8_t build_id[20] = { 1, 2, 3 };

static struct fake_proc proc;
static struct accounts *accounts;
static struct symbolizer *symbolizer;

static struct {
	uint32_t pid;	/* whose mappings came last ... */
	uint32_t table; /* ... and the table of its library */
} told;

static void on_table(void *ctx, uint32_t id, const struct unwind_table *table)
{
	(void)ctx;
	(void)id;
	assert_true(unwind_table_is_valid(table));
}

static void on_space(void *ctx, const struct process_life *id, uint64_t account,
		     const struct jbpf_space *space)
{
	(void)ctx;
	(void)account;
	assert_int_equal(space->mapping_cnt, 1);
	told.pid = id->pid;
	told.table = space->mappings[0].table;
}

/* ---- files ---- */

/* Without symbols and rules. */
static void put_library(void)
{
	static const struct tiny_elf elf = { .is_dynsym = true, .build_id = build_id };
	static uint8_t bytes[TINY_ELF_MAX];

	fake_proc_put(&proc, "files/libx.so", bytes, tiny_elf_write(&elf, bytes));
}

/* Below the root of this process, with a name and rules for the library's code. */
static void put_debug_file(uint32_t pid, const char *function)
{
	/* At entry the CFA is sp + 8, the return address below it; in the function sp + 24. */
	static const uint8_t entry[] = { 0x0c, 7, 8, 0x90, 1 }, rules[] = { 0x0e, 24 };
	static uint8_t bytes[TINY_ELF_MAX];
	struct tiny_symbol symbol = { .name = function, .size = 16 };
	struct tiny_eh eh = { .is_debug = true };
	struct tiny_elf elf = { .symbols = &symbol,
				.symbol_cnt = 1,
				.build_id = build_id,
				.extra_name = ".debug_frame" };
	char path[128];

	tiny_eh_cie(&eh, "zR", 16, entry, sizeof(entry));
	tiny_eh_fde(&eh, 0, TINY_TEXT_BYTES, rules, sizeof(rules));
	elf.extra = eh.bytes;
	elf.extra_len = eh.len;
	snprintf(path, sizeof(path), "%u/" DEBUG_FILE, pid);
	fake_proc_put(&proc, path, bytes, tiny_elf_write(&elf, bytes));
}

static void put_process(uint32_t pid)
{
	char path[128], to[128];

	fake_proc_process(&proc, pid, START_TICKS, 1, geteuid());
	snprintf(path, sizeof(path), "%u/maps", pid);
	fake_proc_text(&proc, path, MAPS);
	snprintf(path, sizeof(path), "%u/map_files", pid);
	assert_int_equal(mkdirat(proc.fd, path, 0755), 0);
	snprintf(path, sizeof(path), "%u/map_files/7e0000000000-7e0000001000", pid);
	snprintf(to, sizeof(to), "%s/files/libx.so", proc.path);
	assert_int_equal(symlinkat(to, proc.fd, path), 0);
}

static int tree_make(void **state)
{
	static const struct symbols_unwind_listener listener = { .table = on_table,
								 .space = on_space };
	struct symbolizer_options options = { .parser_starter = &starter_of_none,
					      .opener_starter = &starter_of_none };

	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	if (fake_proc_make(&proc))
		return -1;
	options.proc_fd = proc.fd;
	put_library();
	put_process(HOST);
	put_process(LIAR);
	put_process(NEIGHBOUR);
	put_process(NEIGHBOUR + 1);
	put_debug_file(LIAR, "lie");
	accounts = accounts__new();
	if (!accounts || symbolizer__open(&options, &symbolizer))
		return -1;
	object_cache__trust_all_devices(symbolizer->shared.objects);
	symbolizer__set_unwind_listener(symbolizer, &listener);
	symbolizer__begin_unwind(symbolizer, 8, 1, NULL, 0);
	return 0;
}

static int tree_remove(void **state)
{
	(void)state;
	symbolizer__free(symbolizer);
	accounts__free(accounts);
	return fake_proc_remove(&proc);
}

/* ---- looks ---- */

/* Each of an account of its own, but the one beside the neighbour. */
static struct symbols_process *open_pid(uint32_t pid)
{
	uint64_t ns_per_tick = CLOCK_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	struct process_life id = { .pid = pid, .start_ns = START_TICKS * ns_per_tick };
	struct account *account = accounts__get(accounts, pid < NEIGHBOUR ? pid : NEIGHBOUR, "");
	struct symbols_process *process;

	assert_int_equal(symbolizer__open_process(symbolizer, &id, account, &process), 0);
	account__put(account);
	return process;
}

static void check_name(struct symbols_process *process, const char *name)
{
	uint64_t ip = LIBRARY + TINY_TEXT_OFFSET;
	struct symbols_stack stack = { .words = &ip, .word_cnt = 1 };
	struct frame_list frames = { 0 };

	assert_int_equal(symbols_process__read_and_resolve(process, &stack, UINT64_MAX, &frames),
			 0);
	assert_int_equal(frames.cnt, 1);
	assert_string_equal(frames.items[0].name, name);
	frame_list_release(&frames);
}

/* What the kernel is told of a process; 0: no table. */
static uint32_t table_of(uint32_t pid)
{
	struct symbols_process *process = open_pid(pid);

	for (int i = 0; symbols_process__step_space(process, SYMBOLS_STEP_BUILD); i++)
		assert_true(i < 100);
	assert_int_equal(told.pid, pid);
	return told.table;
}

/* ---- tests ---- */

static void a_debug_file_of_ones_own_names_frames_of_nobody_else(void **state)
{
	struct symbols_process *liar = open_pid(LIAR), *neighbour = open_pid(NEIGHBOUR);

	(void)state;
	check_name(liar, "lie");
	check_name(neighbour, "[libx.so]");
	/* Whatever comes later: that the file says nothing is known by now, and so is what the other one says. */
	check_name(open_pid(NEIGHBOUR + 1), "[libx.so]");
	check_name(liar, "lie");
}

static void whose_debug_file_it_is_matters_not_who_comes_first(void **state)
{
	struct symbols_process *neighbour = open_pid(NEIGHBOUR), *liar = open_pid(LIAR);

	(void)state;
	check_name(liar, "[libx.so]");
	check_name(neighbour, "[libx.so]");
}

static void each_has_the_names_of_its_own_debug_file(void **state)
{
	(void)state;
	put_debug_file(NEIGHBOUR, "truth");
	put_debug_file(NEIGHBOUR + 1, "unread");
	check_name(open_pid(LIAR), "lie");
	check_name(open_pid(NEIGHBOUR), "truth");
	/* An account's processes share it. */
	check_name(open_pid(NEIGHBOUR + 1), "truth");
	check_name(open_pid(LIAR), "lie");
}

/* What root installed is read once, for all of them, and nobody's own goes before it. */
static void the_hosts_debug_file_goes_before_ones_own(void **state)
{
	(void)state;
	put_debug_file(HOST, "installed");
	check_name(open_pid(LIAR), "installed");
	put_debug_file(HOST, "unread");
	check_name(open_pid(NEIGHBOUR), "installed");
	check_name(open_pid(LIAR), "installed");
}

static void rules_of_a_debug_file_of_ones_own_unwind_nobody_else(void **state)
{
	uint32_t table;

	(void)state;
	table = table_of(LIAR);
	assert_int_not_equal(table, 0);
	assert_int_equal(table_of(NEIGHBOUR), 0);
	assert_int_equal(table_of(NEIGHBOUR + 1), 0);
	assert_int_equal(table_of(LIAR), table);
}

/* The file's own symbols are everybody's, and the debug file is read for its rules alone. */
static void rules_of_ones_own_leave_the_symbols_that_are_everybodys(void **state)
{
	static const struct tiny_symbol symbol = { .name = "work", .size = 16 };
	static const struct tiny_elf elf = { .symbols = &symbol,
					     .symbol_cnt = 1,
					     .build_id = build_id };
	static uint8_t bytes[TINY_ELF_MAX];
	struct symbols_process *liar, *neighbour;

	(void)state;
	fake_proc_put(&proc, "files/libx.so", bytes, tiny_elf_write(&elf, bytes));
	neighbour = open_pid(NEIGHBOUR);
	liar = open_pid(LIAR);
	assert_int_not_equal(table_of(LIAR), 0);
	assert_int_equal(table_of(NEIGHBOUR), 0);
	check_name(liar, "work");
	check_name(neighbour, "work");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)
	const struct CMUnitTest tests[] = {
		TEST(a_debug_file_of_ones_own_names_frames_of_nobody_else),
		TEST(whose_debug_file_it_is_matters_not_who_comes_first),
		TEST(each_has_the_names_of_its_own_debug_file),
		TEST(the_hosts_debug_file_goes_before_ones_own),
		TEST(rules_of_a_debug_file_of_ones_own_unwind_nobody_else),
		TEST(rules_of_ones_own_leave_the_symbols_that_are_everybodys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
