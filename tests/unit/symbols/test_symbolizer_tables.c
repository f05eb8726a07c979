// SPDX-License-Identifier: Apache-2.0
/*
 * Symbol tables when there is room for one only: they are read again when they are asked for, and
 * a new process does not push out those that are in use.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "symbols/symbolizer.h"
#include "tests/unit/fake_proc.h"
#include "tests/unit/parse_here.h"
#include "tests/unit/tiny_elf.h"
#include "user/util/account.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define START_TICKS 5000u
#define ONE	    0x7e0000000000ull
#define TWO	    0x7e0000010000ull
#define MAPS                                                               \
	"7e0000000000-7e0000001000 r-xp 00000000 08:01 7 /lib/libone.so\n" \
	"7e0000010000-7e0000011000 r-xp 00000000 08:01 8 /lib/libtwo.so\n"

static struct fake_proc proc;
static struct symbolizer *symbolizer;
static struct accounts *accounts;

static void put_library(const char *path, const char *function)
{
	struct tiny_symbol symbol = { .name = function, .size = 16 };
	struct tiny_elf elf = { .symbols = &symbol, .symbol_cnt = 1 };
	static uint8_t bytes[TINY_ELF_MAX];

	fake_proc_put(&proc, path, bytes, tiny_elf_write(&elf, bytes));
}

static void put_process(uint32_t pid)
{
	char path[128], to[128];

	fake_proc_process(&proc, (int)pid, START_TICKS, 1, geteuid());
	snprintf(path, sizeof(path), "%u/maps", pid);
	fake_proc_text(&proc, path, MAPS);
	snprintf(path, sizeof(path), "%u/map_files", pid);
	assert_int_equal(mkdirat(proc.fd, path, 0755), 0);
	snprintf(path, sizeof(path), "%u/map_files/7e0000000000-7e0000001000", pid);
	snprintf(to, sizeof(to), "%s/files/libone.so", proc.path);
	assert_int_equal(symlinkat(to, proc.fd, path), 0);
	snprintf(path, sizeof(path), "%u/map_files/7e0000010000-7e0000011000", pid);
	snprintf(to, sizeof(to), "%s/files/libtwo.so", proc.path);
	assert_int_equal(symlinkat(to, proc.fd, path), 0);
}

static int tree_make(void **state)
{
	struct symbolizer_options options = { .parser_starter = &starter_of_none,
					      .opener_starter = &starter_of_none };

	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	accounts = accounts__new();
	if (!accounts || fake_proc_make(&proc))
		return -1;
	options.proc_fd = proc.fd;
	put_library("files/libone.so", "one");
	put_library("files/libtwo.so", "two");
	put_process(100);
	put_process(101);
	if (symbolizer__open(&options, &symbolizer))
		return -1;
	object_cache__free(symbolizer->shared.objects);
	symbolizer->shared.objects = object_cache__new(1, symbolizer->shared.parser);
	return symbolizer->shared.objects ? 0 : -1;
}

static int tree_remove(void **state)
{
	(void)state;
	symbolizer__free(symbolizer);
	accounts__free(accounts);
	return fake_proc_remove(&proc);
}

static struct symbols_process *process_of_account(uint32_t pid, struct account *account)
{
	uint64_t ns_per_tick = CLOCK_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	struct process_life id = { .pid = pid, .start_ns = START_TICKS * ns_per_tick };
	struct symbols_process *process;

	assert_int_equal(symbolizer__open_process(symbolizer, &id, account, &process), 0);
	return process;
}

static struct symbols_process *process_of(uint32_t pid)
{
	return process_of_account(pid, account_of_host());
}

static void check_name(struct symbols_process *process, uint64_t library, const char *name)
{
	uint64_t ip = library + TINY_TEXT_OFFSET;
	struct symbols_stack stack = { .words = &ip, .word_cnt = 1 };
	struct frame_list frames = { 0 };

	assert_int_equal(symbols_process__read_and_resolve(process, &stack, UINT64_MAX, &frames),
			 0);
	assert_int_equal(frames.cnt, 1);
	assert_string_equal(frames.items[0].name, name);
	frame_list_release(&frames);
}

static void tables_that_were_dropped_are_read_when_they_are_asked_for(void **state)
{
	struct symbols_process *process = process_of(100);

	(void)state;
	check_name(process, ONE, "one");
	check_name(process, TWO, "two");
	check_name(process, ONE, "one"); /* its answer is kept */
}

static void new_process_does_not_push_out_the_tables_in_use(void **state)
{
	struct symbols_process *second;

	(void)state;
	check_name(process_of(100), ONE, "one");
	second = process_of(101);
	/* It is gone, so nothing of it can be read any more. */
	assert_int_equal(renameat(proc.fd, "101", proc.fd, "gone"), 0);
	check_name(second, ONE, "one");
	check_name(second, TWO, "[libtwo.so]");
}

static void put_jvm(void)
{
	static const struct tiny_symbol symbol = { .name = "gHotSpotVMStructs", .size = 8 };
	static const struct tiny_elf elf = { .symbols = &symbol,
					     .symbol_cnt = 1,
					     .is_dynsym = true };
	static uint8_t bytes[TINY_ELF_MAX];

	fake_proc_put(&proc, "files/libtwo.so", bytes, tiny_elf_write(&elf, bytes));
}

/* What a JVM runs most is not in the library that makes it one: nobody asks for a name there. */
static void library_that_could_not_be_read_at_first_makes_a_jvm_later(void **state)
{
	struct symbols_process *process, *other;

	(void)state;
	put_jvm();
	parser_here_err = -EAGAIN;
	process = process_of(100);
	other = process_of(101);
	assert_int_equal(symbols_process__refresh(process), 0);
	assert_false(process->target.is_hotspot);
	parser_here_err = 0;
	assert_int_equal(symbols_process__refresh(process), 0);
	assert_true(process->target.is_hotspot);
	assert_int_equal(process->target.hotspot_map.start, TWO);
	/* Read for the one it is known of the other. */
	parser_here_err = -EAGAIN;
	assert_int_equal(symbols_process__refresh(other), 0);
	assert_true(other->target.is_hotspot);
	parser_here_err = 0;
}

static void file_that_could_not_be_opened_at_first_has_names_later(void **state)
{
	struct symbols_process *process;

	(void)state;
	assert_int_equal(renameat(proc.fd, "files", proc.fd, "away"), 0);
	process = process_of(100);
	check_name(process, ONE, "[libone.so]");
	assert_int_equal(renameat(proc.fd, "away", proc.fd, "files"), 0);
	assert_int_equal(symbols_process__refresh(process), 0);
	check_name(process, ONE, "one");
}

/* What is put off costs the process nothing, or it would have no name left when its turn comes. */
static void time_of_files_that_are_put_off_is_not_charged(void **state)
{
	struct symbols_process *process;
	uint64_t load_ns;

	(void)state;
	process = process_of(100);
	load_ns = process->load_ns;
	assert_true(load_ns > 0);
	parser_here_err = -EAGAIN;
	parser_here_elf_ns = CLOCK_NS_PER_S;
	for (int i = 0; i < 100; i++) {
		assert_int_equal(symbols_process__refresh(process), 0);
		check_name(process, ONE, "[libone.so]");
	}
	assert_int_equal(process->load_ns, load_ns);
	parser_here_err = 0;
	parser_here_elf_ns = 0;
	assert_int_equal(symbols_process__refresh(process), 0);
	check_name(process, ONE, "one");
}

static void process_that_used_up_its_time_reads_again_later(void **state)
{
	struct account *account = accounts__get(accounts, 7, "seven");
	struct symbols_process *process;

	(void)state;
	process = process_of_account(100, account);
	assert_int_equal(account__cut_cnt(account, ACCOUNT_CUT_FILES), 0);
	process->load_debt_ns = 6 * CLOCK_NS_PER_S;
	check_name(process, ONE, "[libone.so]");
	assert_int_equal(account__cut_cnt(account, ACCOUNT_CUT_FILES), 1);
	/* Soon it is still so. */
	process->load_paid_ns -= 10 * CLOCK_NS_PER_S;
	assert_int_equal(symbols_process__refresh(process), 0);
	check_name(process, ONE, "[libone.so]");
	process->load_paid_ns -= 100 * CLOCK_NS_PER_S;
	assert_int_equal(symbols_process__refresh(process), 0);
	check_name(process, ONE, "one");
	account__put(account);
}

static void ignore_table(void *ctx, uint32_t id, const struct unwind_table *table)
{
	(void)ctx;
	(void)id;
	(void)table;
}

static void ignore_drop(void *ctx, uint32_t table)
{
	(void)ctx;
	(void)table;
}

static void ignore_space(void *ctx, const struct process_life *id, uint64_t account,
			 const struct jbpf_space *space)
{
	(void)ctx;
	(void)id;
	(void)account;
	(void)space;
}

/* The symbols are read on the way to the rules. */
static void time_of_symbols_that_rules_need_is_charged_once(void **state)
{
	static const struct symbols_unwind_listener listener = { .table = ignore_table,
								 .drop = ignore_drop,
								 .space = ignore_space };
	struct symbols_process *process = process_of(100);
	uint64_t load_ns = process->load_ns;

	(void)state;
	symbolizer__set_unwind_listener(symbolizer, &listener);
	symbolizer__begin_unwind(symbolizer, 16, 1, NULL, 0);
	assert_true(object_needs_load(process->files[0].object));
	/* More than all else can take. */
	parser_here_elf_ns = 1000 * CLOCK_NS_PER_S;
	assert_true(symbols_process__step_space(process, SYMBOLS_STEP_BUILD));
	parser_here_elf_ns = 0;
	assert_in_range(process->load_ns - load_ns, 1000 * CLOCK_NS_PER_S, 1500 * CLOCK_NS_PER_S);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)
	const struct CMUnitTest tests[] = {
		TEST(tables_that_were_dropped_are_read_when_they_are_asked_for),
		TEST(new_process_does_not_push_out_the_tables_in_use),
		TEST(library_that_could_not_be_read_at_first_makes_a_jvm_later),
		TEST(file_that_could_not_be_opened_at_first_has_names_later),
		TEST(time_of_files_that_are_put_off_is_not_charged),
		TEST(process_that_used_up_its_time_reads_again_later),
		TEST(time_of_symbols_that_rules_need_is_charged_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
