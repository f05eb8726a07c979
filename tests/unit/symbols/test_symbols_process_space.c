// SPDX-License-Identifier: Apache-2.0
/* From mappings of processes in fake /proc trees to what the kernel learns about their code. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "symbols/names/object_cache_internal.h"
#include "symbols/symbolizer.h"
#include "symbols/symbols_process.h"
#include "tests/unit/fake_proc.h"
#include "tests/unit/parse_here.h"
#include "tests/unit/tiny_elf.h"
#include "user/util/account.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define START_TICKS 5000u
#define LIBRARY	    0x7e0000000000ull
#define OTHER	    0x7e0000002000ull
#define JIT	    0x7f0000000000ull
#define CHUNKS	    4u /* that there is room for */

#define LIBRARY_MAP "7e0000000000-7e0000001000 r-xp 00000000 08:01 7 /lib/libx.so\n"
#define JIT_MAP	    "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
#define OTHER_MAP   "7e0000002000-7e0000003000 r-xp 00000000 08:01 8 /lib/liby.so\n"

static struct fake_proc proc;
static struct symbolizer *symbolizer;
static struct accounts *accounts;

static struct {
	struct jbpf_space space; /* the last */
	uint32_t pid;
	uint64_t account;
	size_t space_cnt;
	uint32_t table; /* the last */
	size_t table_cnt;
	uint32_t dropped;
	size_t spaces_before_drop;
} told;

static void on_table(void *ctx, uint32_t id, const struct unwind_table *table)
{
	(void)ctx;
	assert_true(unwind_table_is_valid(table));
	told.table = id;
	told.table_cnt++;
}

static void on_drop(void *ctx, uint32_t id)
{
	(void)ctx;
	told.dropped = id;
	told.spaces_before_drop = told.space_cnt;
}

static void on_space(void *ctx, const struct process_life *id, uint64_t account,
		     const struct jbpf_space *space)
{
	(void)ctx;
	told.space = *space;
	told.pid = id->pid;
	told.account = account;
	told.space_cnt++;
}

static int tree_make(void **state)
{
	static const struct symbols_unwind_listener listener = { .table = on_table,
								 .drop = on_drop,
								 .space = on_space };
	struct symbolizer_options options = { .parser_starter = &starter_of_none,
					      .opener_starter = &starter_of_none };

	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	memset(&told, 0, sizeof(told));
	if (fake_proc_make(&proc))
		return -1;
	options.proc_fd = proc.fd;
	accounts = accounts__new();
	if (symbolizer__open(&options, &symbolizer))
		return -1;
	object_cache__trust_all_devices(symbolizer->shared.objects);
	symbolizer__set_unwind_listener(symbolizer, &listener);
	symbolizer__begin_unwind(symbolizer, CHUNKS, 1, NULL, 0);
	return 0;
}

static int tree_remove(void **state)
{
	(void)state;
	symbolizer__free(symbolizer);
	accounts__free(accounts);
	return fake_proc_remove(&proc);
}

/* ---- files ---- */

#define CIE_CFA_REGISTER 6 /* byte of the CIE below */

static void put_word(uint8_t **at, uint64_t value, size_t len)
{
	memcpy(*at, &value, len);
	*at += len;
}

/*
 * .eh_frame of one function, which is all of the code: CFA is rsp + 8 * `frame_words` there. A CIE
 * without augmentation, so that addresses are absolute, of 64 bits.
 */
static size_t eh_frame(uint32_t frame_words, uint8_t *bytes)
{
	const uint8_t cie[] = { 1,    0, 1, 0x78, 16, 0x0c, 7, (uint8_t)(8 * frame_words),
				0x90, 1, 0, 0 };
	uint8_t *at = bytes;

	put_word(&at, 4 + sizeof(cie), 4);
	put_word(&at, 0, 4);
	memcpy(at, cie, sizeof(cie));
	at += sizeof(cie);
	put_word(&at, 4 + 16, 4);
	put_word(&at, (uint64_t)(at - bytes), 4);
	put_word(&at, TINY_TEXT_ADDRESS, 8);
	put_word(&at, TINY_TEXT_BYTES, 8);
	put_word(&at, 0, 4);
	return (size_t)(at - bytes);
}

/* A library whose frames have so many words; 0: without unwind information. */
static void put_library(const char *path, uint32_t frame_words)
{
	static uint8_t bytes[TINY_ELF_MAX], eh[128];
	struct tiny_symbol symbol = { .name = "work", .size = 16 };
	struct tiny_elf elf = { .symbols = &symbol, .symbol_cnt = 1 };

	if (frame_words) {
		elf.extra = eh;
		elf.extra_len = eh_frame(frame_words, eh);
		elf.extra_name = ".eh_frame";
	}
	fake_proc_put(&proc, path, bytes, tiny_elf_write(&elf, bytes));
}

/* ---- processes ---- */

static void link_map(uint32_t pid, uint64_t start, const char *target)
{
	char path[128], to[128];

	snprintf(path, sizeof(path), "%u/map_files", pid);
	(void)mkdirat(proc.fd, path, 0755);
	snprintf(path, sizeof(path), "%u/map_files/%llx-%llx", pid, (unsigned long long)start,
		 (unsigned long long)start + 0x1000);
	snprintf(to, sizeof(to), "%s/%s", proc.path, target);
	(void)unlinkat(proc.fd, path, 0);
	assert_int_equal(symlinkat(to, proc.fd, path), 0);
}

static struct symbols_process *open_pid(uint32_t pid, uint64_t account_id, const char *maps)
{
	uint64_t ns_per_tick = CLOCK_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	struct process_life id = { .pid = pid, .start_ns = START_TICKS * ns_per_tick };
	struct account *account = accounts__get(accounts, account_id, "");
	struct symbols_process *process;
	char path[32];

	fake_proc_process(&proc, pid, START_TICKS, 1, geteuid());
	snprintf(path, sizeof(path), "%u/maps", pid);
	fake_proc_put(&proc, path, maps, strlen(maps));
	link_map(pid, LIBRARY, "files/libx.so");
	link_map(pid, OTHER, "files/liby.so");
	assert_int_equal(symbolizer__open_process(symbolizer, &id, account, &process), 0);
	account__put(account);
	return process;
}

/* Steps until there is nothing left to do. */
static size_t build_all(void)
{
	struct symbols_process *process;
	size_t cnt = 0;

	for (; symbolizer__due_space(symbolizer, &process) != UINT64_MAX && cnt < 1000; cnt++)
		(void)symbols_process__step_space(process, SYMBOLS_STEP_BUILD);
	return cnt;
}

static void pass_windows(int cnt)
{
	while (cnt--)
		symbolizer__end_unwind_window(symbolizer);
}

static void check_mapping(uint32_t index, uint64_t start, uint32_t table, uint32_t flags)
{
	assert_true(index < told.space.mapping_cnt);
	assert_int_equal(told.space.start[index], start);
	assert_int_equal(told.space.mappings[index].table, table);
	assert_int_equal(told.space.mappings[index].flags, flags);
}

/* ---- tests ---- */

static void each_mapping_has_what_its_file_says(void **state)
{
	(void)state;
	put_library("files/libx.so", 2);
	put_library("files/liby.so", 0);
	(void)open_pid(100, 9,
		       LIBRARY_MAP OTHER_MAP
		       "7e0000004000-7e0000005000 r-xp 00000000 08:01 9 /lib/gone.so\n"
		       "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
		       "7f0000001000-7f0000003000 r-xp 00000000 00:00 0 \n"
		       "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n");
	build_all();
	assert_int_equal(told.table_cnt, 1);
	assert_int_equal(told.space_cnt, 1);
	assert_int_equal(told.pid, 100);
	assert_int_equal(told.account, 9);
	assert_int_equal(told.space.mapping_cnt, 4);
	assert_int_equal(told.space.flags, 0);
	check_mapping(0, LIBRARY, told.table, 0);
	assert_int_equal(told.space.mappings[0].page, 0);
	assert_int_equal(told.space.mappings[0].page_cnt, 1);
	check_mapping(1, OTHER, 0, 0);
	check_mapping(2, 0x7e0000004000, 0, 0);
	check_mapping(3, JIT, 0, JBPF_MAPPING_KEEPS_FP);
	assert_int_equal(told.space.mappings[3].page_cnt, 3);
	for (size_t i = 4; i < JBPF_SPACE_MAX_MAPPINGS; i++)
		assert_int_equal(told.space.start[i], UINT64_MAX);
}

static void nothing_is_built_at_the_first_look(void **state)
{
	struct symbols_process *first, *second;

	(void)state;
	put_library("files/libx.so", 2);
	first = open_pid(100, 9, LIBRARY_MAP);
	assert_true(symbols_process__step_space(first, SYMBOLS_STEP_KNOWN));
	assert_int_equal(told.table_cnt, 0);
	assert_int_equal(told.space_cnt, 0);
	build_all();
	assert_int_equal(told.space_cnt, 1);
	/* The next one that runs the same has all that it needs. */
	second = open_pid(101, 9, LIBRARY_MAP);
	assert_false(symbols_process__step_space(second, SYMBOLS_STEP_KNOWN));
	assert_int_equal(told.table_cnt, 1);
	assert_int_equal(told.space_cnt, 2);
	assert_int_equal(told.pid, 101);
	check_mapping(0, LIBRARY, told.table, 0);
}

static void a_library_that_is_loaded_later_comes_with_the_refresh(void **state)
{
	struct symbols_process *process;

	(void)state;
	put_library("files/libx.so", 2);
	put_library("files/liby.so", 3);
	process = open_pid(100, 9, LIBRARY_MAP);
	build_all();
	assert_int_equal(told.space.mapping_cnt, 1);
	fake_proc_text(&proc, "100/maps", LIBRARY_MAP OTHER_MAP);
	fake_proc_text(&proc, "100/statm", "1004 1 1 1 1 1 0\n");
	assert_int_equal(symbols_process__refresh(process), 0);
	build_all();
	assert_int_equal(told.table_cnt, 2);
	assert_int_equal(told.space_cnt, 2);
	assert_int_equal(told.space.mapping_cnt, 2);
	check_mapping(1, OTHER, told.table, 0);
	/* Unchanged: not again. */
	assert_int_equal(symbols_process__refresh(process), 0);
	assert_int_equal(build_all(), 0);
}

static void of_too_many_mappings_those_with_tables_are_kept(void **state)
{
	static char maps[16384];
	size_t len = 0;

	(void)state;
	put_library("files/libx.so", 2);
	/* Holes lie between; the last ones are larger. */
	for (unsigned i = 0; i < 100; i++)
		len += (size_t)snprintf(maps + len, sizeof(maps) - len,
					"%llx-%llx rwxp 00000000 00:00 0 \n",
					0x10000000ull + i * 0x10000,
					0x10000000ull + i * 0x10000 + (i < 50 ? 0x1000 : 0x2000));
	snprintf(maps + len, sizeof(maps) - len, LIBRARY_MAP);
	(void)open_pid(100, 9, maps);
	build_all();
	assert_int_equal(told.space_cnt, 1);
	assert_int_equal(told.space.flags, JBPF_SPACE_IS_PARTIAL);
	assert_int_equal(told.space.mapping_cnt, JBPF_SPACE_MAX_MAPPINGS);
	check_mapping(JBPF_SPACE_MAX_MAPPINGS - 1, LIBRARY, told.table, 0);
	for (uint32_t i = 1; i < JBPF_SPACE_MAX_MAPPINGS; i++)
		assert_true(told.space.start[i] > told.space.start[i - 1]);
	/* 50 large ones, 13 small ones. */
	assert_int_equal(told.space.mappings[12].page_cnt, 1);
	assert_int_equal(told.space.mappings[13].page_cnt, 2);
}

static void two_accounts_without_room_do_not_read_a_file_by_turns(void **state)
{
	struct unwind_stats stats;

	(void)state;
	symbolizer__begin_unwind(symbolizer, 2, 1, NULL, 0);
	put_library("files/libx.so", 2);
	put_library("files/liby.so", 3);
	(void)open_pid(100, 1, LIBRARY_MAP);
	build_all();
	(void)open_pid(101, 1, OTHER_MAP);
	(void)open_pid(102, 2, OTHER_MAP);
	assert_in_range(build_all(), 2, 10);
	symbolizer__unwind_stats(symbolizer, &stats);
	assert_int_equal(stats.refused_cnt[UNWIND_REFUSED_SHARE], 2);
}

static void sampled_processes_keep_their_tables(void **state)
{
	struct symbols_process *first, *second;
	struct unwind_stats stats;

	(void)state;
	symbolizer__begin_unwind(symbolizer, 2, 1, NULL, 0);
	put_library("files/libx.so", 2);
	put_library("files/liby.so", 3);
	first = open_pid(100, 1, LIBRARY_MAP);
	build_all();
	pass_windows(3);
	symbols_process__note_sampled(first);
	/* The same account has its share: this table is refused, the space comes without. */
	second = open_pid(101, 1, OTHER_MAP);
	build_all();
	symbolizer__unwind_stats(symbolizer, &stats);
	assert_int_equal(stats.refused_cnt[UNWIND_REFUSED_SHARE], 1);
	assert_int_equal(told.pid, 101);
	check_mapping(0, OTHER, 0, 0);
	/* The first is not sampled any more. It is told that its table goes, then the table goes. */
	pass_windows(10);
	told.space_cnt = 0;
	symbols_process__note_sampled(second);
	build_all();
	symbolizer__unwind_stats(symbolizer, &stats);
	assert_int_equal(stats.evicted_cnt, 1);
	assert_int_equal(told.dropped, 1);
	assert_int_equal(told.spaces_before_drop, 1);
	assert_int_equal(told.pid, 101);
	check_mapping(0, OTHER, 2, 0);
	/* And when it is sampled again, it wants its own back. */
	pass_windows(10);
	symbols_process__note_sampled(first);
	build_all();
	assert_int_equal(told.pid, 100);
	check_mapping(0, LIBRARY, 3, 0);
}

/*
 * One that was idle for so long that it is not kept in mind hears nothing of tables that go: the
 * kernel's entry names an id that nothing has, and that is not given to another table. With its next
 * samples it counts as a new process and gets its tables again.
 */
static void an_idle_process_that_wakes_up_has_its_tables_again(void **state)
{
	struct symbols_process *idle, *busy;
	struct unwind_stats stats;

	(void)state;
	symbolizer__begin_unwind(symbolizer, 2, 1, NULL, 0);
	put_library("files/libx.so", 2);
	put_library("files/liby.so", 3);
	idle = open_pid(100, 1, LIBRARY_MAP);
	build_all();
	check_mapping(0, LIBRARY, 1, 0);
	symbols_process__close(idle);
	pass_windows(10);
	told.space_cnt = 0;
	busy = open_pid(101, 2, OTHER_MAP);
	symbols_process__note_sampled(busy);
	build_all();
	symbolizer__unwind_stats(symbolizer, &stats);
	assert_int_equal(stats.evicted_cnt, 1);
	assert_int_equal(told.dropped, 1);
	assert_int_equal(told.space_cnt, 1);
	assert_int_equal(told.pid, 101);
	check_mapping(0, OTHER, 2, 0);
	/* Its samples: the other one is idle by now. */
	pass_windows(10);
	idle = open_pid(100, 1, LIBRARY_MAP);
	symbols_process__note_sampled(idle);
	build_all();
	assert_int_equal(told.pid, 100);
	check_mapping(0, LIBRARY, 3, 0);
}

/* A file's table that was not to be had, or had to go, comes back for the first of its processes that is sampled. */
static void a_table_that_comes_back_for_one_process_is_for_all_of_its_file(void **state)
{
	struct symbols_process *first, *second, *other;

	(void)state;
	symbolizer__begin_unwind(symbolizer, 2, 1, NULL, 0);
	put_library("files/libx.so", 2);
	put_library("files/liby.so", 3);
	first = open_pid(100, 1, LIBRARY_MAP);
	second = open_pid(101, 1, LIBRARY_MAP);
	build_all();
	pass_windows(10);
	other = open_pid(102, 2, OTHER_MAP);
	symbols_process__note_sampled(other);
	build_all();
	assert_int_equal(told.dropped, 1);
	pass_windows(10);
	symbols_process__note_sampled(first);
	build_all();
	assert_int_equal(told.pid, 100);
	check_mapping(0, LIBRARY, 3, 0);
	symbols_process__note_sampled(second);
	build_all();
	assert_int_equal(told.pid, 101);
	check_mapping(0, LIBRARY, 3, 0);
	/* That is once. */
	symbols_process__note_sampled(first);
	symbols_process__note_sampled(second);
	assert_int_equal(build_all(), 0);
}

static void a_copy_tells_all_spaces_again(void **state)
{
	uint32_t ids[] = { 1 };

	(void)state;
	put_library("files/libx.so", 2);
	(void)open_pid(100, 1, LIBRARY_MAP);
	(void)open_pid(101, 1, LIBRARY_MAP);
	build_all();
	assert_int_equal(told.space_cnt, 2);
	symbolizer__begin_unwind(symbolizer, CHUNKS, 5, ids, 1);
	build_all();
	assert_int_equal(told.space_cnt, 4);
	assert_int_equal(told.table_cnt, 1);
	/* The table was lost: it is built again, under another id. */
	symbolizer__begin_unwind(symbolizer, CHUNKS, 5, NULL, 0);
	build_all();
	assert_int_equal(told.space_cnt, 6);
	assert_int_equal(told.table_cnt, 2);
	check_mapping(0, LIBRARY, 5, 0);
}

static void without_a_beginning_nothing_is_done(void **state)
{
	struct symbols_process *process;

	(void)state;
	symbolizer__begin_unwind(symbolizer, 0, 1, NULL, 0);
	put_library("files/libx.so", 2);
	process = open_pid(100, 1, LIBRARY_MAP);
	assert_false(symbols_process__step_space(process, SYMBOLS_STEP_BUILD));
	assert_int_equal(build_all(), 0);
	assert_int_equal(told.space_cnt + told.table_cnt, 0);
}

static void a_process_without_mappings_is_left_as_it_is(void **state)
{
	(void)state;
	(void)open_pid(100, 1, "");
	symbolizer__begin_unwind(symbolizer, CHUNKS, 1, NULL, 0);
	assert_int_equal(build_all(), 1);
	assert_int_equal(told.space_cnt, 0);
}

static void a_process_that_ended_is_let_go(void **state)
{
	struct symbols_process *process;

	(void)state;
	put_library("files/libx.so", 2);
	process = open_pid(100, 1, LIBRARY_MAP);
	fake_proc_process(&proc, 100, START_TICKS + 1, 1, geteuid());
	assert_int_equal(build_all(), 1);
	assert_int_equal(told.space_cnt, 0);
	assert_false(symbols_process__step_space(process, SYMBOLS_STEP_BUILD));
}

/* Node's program, whose builtins have no information; and Go's, which have none at all. */
static void files_that_keep_frame_pointers_are_told_as_such(void **state)
{
	static uint8_t bytes[TINY_ELF_MAX], eh[128];
	struct tiny_elf elf = { .extra = eh,
				.extra_len = eh_frame(2, eh),
				.extra_name = ".eh_frame" };

	(void)state;
	eh[8 + CIE_CFA_REGISTER] = 6; /* rbp */
	fake_proc_put(&proc, "files/libx.so", bytes, tiny_elf_write(&elf, bytes));
	elf.extra_name = ".gopclntab";
	fake_proc_put(&proc, "files/liby.so", bytes, tiny_elf_write(&elf, bytes));
	(void)open_pid(100, 9, LIBRARY_MAP OTHER_MAP);
	build_all();
	assert_int_equal(told.table_cnt, 1);
	check_mapping(0, LIBRARY, told.table, JBPF_MAPPING_KEEPS_FP);
	check_mapping(1, OTHER, 0, JBPF_MAPPING_KEEPS_FP);
}

/* ---- what the listener hears ---- */

static void how_it_is_walked_is_told_by_file(void **state)
{
	struct symbols_process *process;
	struct unwind_facts facts;

	(void)state;
	put_library("files/libx.so", 2);
	put_library("files/liby.so", 0);
	process = open_pid(100, 9, LIBRARY_MAP OTHER_MAP JIT_MAP);
	/* Not yet: the kernel walks it as before. */
	assert_false(symbols_process__unwind_facts(process, &facts));
	build_all();
	assert_true(symbols_process__unwind_facts(process, &facts));
	assert_int_equal(facts.by, UNWIND_BY_RULES);
	assert_int_equal(facts.table_cnt, 1);
	assert_int_equal(facts.fp_cnt, 0);
	assert_int_equal(facts.without_cnt, 1);
	assert_int_equal(facts.more_cnt, 0);
	assert_string_equal(facts.without[0].name, "liby.so");
	assert_int_equal(facts.without[0].why, UNWIND_WHY_NO_INFORMATION);
	assert_int_equal(facts.end_cnt, 0);
}

static void why_a_table_was_refused_is_told(void **state)
{
	static const uint8_t garbage[64] = { 0xff, 0xff, 0xff, 0x7f };
	static uint8_t bytes[TINY_ELF_MAX];
	struct tiny_elf elf = { .extra = garbage,
				.extra_len = sizeof(garbage),
				.extra_name = ".eh_frame" };
	struct symbols_process *process;
	struct unwind_facts facts;

	(void)state;
	symbolizer__begin_unwind(symbolizer, 2, 1, NULL, 0);
	fake_proc_put(&proc, "files/libx.so", bytes, tiny_elf_write(&elf, bytes));
	put_library("files/liby.so", 2);
	process = open_pid(100, 1, LIBRARY_MAP OTHER_MAP);
	build_all();
	assert_true(symbols_process__unwind_facts(process, &facts));
	assert_int_equal(facts.without_cnt, 1);
	assert_string_equal(facts.without[0].name, "libx.so");
	assert_int_equal(facts.without[0].why, UNWIND_WHY_DAMAGED);
	/* The kernel did not take the other one; it is tried again, and then it is well. */
	symbolizer__refuse_unwind(symbolizer, told.table);
	assert_true(symbols_process__unwind_facts(process, &facts));
	assert_int_equal(facts.without_cnt, 2);
	assert_int_equal(facts.without[1].why, UNWIND_WHY_KERNEL);
	pass_windows(10);
	symbols_process__note_sampled(process);
	build_all();
	assert_true(symbols_process__unwind_facts(process, &facts));
	assert_int_equal(facts.without_cnt, 1);
	assert_int_equal(facts.table_cnt, 1);
}

static void without_rules_it_is_told_that_frame_pointers_are_all(void **state)
{
	struct symbols_process *process;
	struct unwind_facts facts;

	(void)state;
	symbolizer__begin_unwind(symbolizer, 0, 1, NULL, 0);
	process = open_pid(100, 1, LIBRARY_MAP);
	assert_true(symbols_process__unwind_facts(process, &facts));
	assert_int_equal(facts.by, UNWIND_BY_FP);
	assert_int_equal(facts.table_cnt + facts.without_cnt, 0);
}

static void a_file_in_which_stacks_end_is_told(void **state)
{
	struct symbols_process *process;
	struct unwind_facts facts;

	(void)state;
	put_library("files/libx.so", 2);
	put_library("files/liby.so", 0);
	process = open_pid(100, 9, LIBRARY_MAP OTHER_MAP JIT_MAP);
	build_all();
	/* A few are chance; JIT code and addresses of nobody have no name. */
	symbols_process__note_end(process, OTHER + 5, STACK_END_NO_RULE, 19);
	symbols_process__note_end(process, JIT + 5, STACK_END_NO_RULE, 100);
	symbols_process__note_end(process, 5, STACK_END_NO_RULE, 100);
	assert_true(symbols_process__unwind_facts(process, &facts));
	assert_int_equal(facts.end_cnt, 0);
	symbols_process__note_end(process, OTHER + 6, STACK_END_NO_RULE, 1);
	symbols_process__note_end(process, LIBRARY, STACK_END_BAD_CFA, 1000);
	assert_true(symbols_process__unwind_facts(process, &facts));
	assert_int_equal(facts.end_cnt, 2);
	assert_string_equal(facts.ends[0].name, "liby.so");
	assert_int_equal(facts.ends[0].end, STACK_END_NO_RULE);
	assert_string_equal(facts.ends[1].name, "libx.so");
	assert_int_equal(facts.ends[1].end, STACK_END_BAD_CFA);
}

/* One file that was replaced since is not the one that is mapped. */
static void a_file_that_changed_is_not_read(void **state)
{
	(void)state;
	put_library("files/libx.so", 2);
	(void)open_pid(100, 1, LIBRARY_MAP);
	put_library("files/libx.so", 3);
	build_all();
	assert_int_equal(told.table_cnt, 0);
	assert_int_equal(told.space_cnt, 1);
	check_mapping(0, LIBRARY, 0, 0);
}

/* Whoever maps a library first must not say whether others are walked by its rules. */
static void who_may_read_no_more_keeps_no_table_from_others(void **state)
{
	struct symbols_process *spent;
	struct unwind_facts facts;

	(void)state;
	put_library("files/libx.so", 2);
	spent = open_pid(100, 1, LIBRARY_MAP);
	spent->load_debt_ns = UINT64_MAX / 2;
	assert_true(build_all() < 10);
	assert_int_equal(told.table_cnt, 0);
	assert_int_equal(told.space_cnt, 1);
	assert_true(symbols_process__unwind_facts(spent, &facts));
	assert_int_equal(facts.without[0].why, UNWIND_WHY_UNREADABLE);
	(void)open_pid(101, 2, LIBRARY_MAP);
	build_all();
	assert_int_equal(told.table_cnt, 1);
	check_mapping(0, LIBRARY, told.table, 0);
	/* It has what another one had built. */
	symbols_process__note_sampled(spent);
	build_all();
	assert_int_equal(told.pid, 100);
	check_mapping(0, LIBRARY, told.table, 0);
}

/* PROT_EXEC is of the mapping; mmap() has it for any bytes of a file, READ_IMPLIES_EXEC for all of them. */
static void who_maps_no_code_of_a_file_keeps_no_table_from_others(void **state)
{
	struct unwind_facts facts;
	struct symbols_process *process;

	(void)state;
	put_library("files/libx.so", 2);
	process =
		open_pid(100, 1, "7e0000000000-7e0000001000 r-xp 00001000 08:01 7 /lib/libx.so\n");
	assert_true(build_all() < 10);
	assert_int_equal(told.table_cnt, 0);
	assert_int_equal(told.space_cnt, 1);
	check_mapping(0, LIBRARY, 0, 0);
	assert_true(symbols_process__unwind_facts(process, &facts));
	assert_int_equal(facts.without_cnt, 0);
	(void)open_pid(101, 2, LIBRARY_MAP);
	build_all();
	assert_int_equal(told.table_cnt, 1);
	assert_int_equal(told.pid, 101);
	check_mapping(0, LIBRARY, told.table, 0);
	/* It has nothing of that. */
	symbols_process__note_sampled(process);
	assert_int_equal(build_all(), 0);
}

/* A server in user space, over the path of the file in the process's own mounts, chooses the number. */
static void who_cannot_open_a_file_keeps_no_table_from_others(void **state)
{
	static const int errs[] = { -ENODATA, -EOPNOTSUPP, -EFBIG, -ENOEXEC, -ENOTRECOVERABLE };
	struct symbols_process *process;
	struct unwind_facts facts;

	(void)state;
	put_library("files/libx.so", 2);
	for (uint32_t i = 0; i < sizeof(errs) / sizeof(errs[0]); i++) {
		process = open_pid(100 + i, 1, LIBRARY_MAP);
		open_here_err = errs[i];
		assert_true(build_all() < 10);
		open_here_err = 0;
		assert_int_equal(told.table_cnt, 0);
		assert_true(symbols_process__unwind_facts(process, &facts));
		assert_int_equal(facts.without[0].why, UNWIND_WHY_UNREADABLE);
	}
	(void)open_pid(200, 2, LIBRARY_MAP);
	build_all();
	assert_int_equal(told.table_cnt, 1);
	assert_int_equal(told.pid, 200);
	check_mapping(0, LIBRARY, told.table, 0);
}

/* The code cache of a JVM grows with each window, and its libraries are where they were. */
static void new_mappings_do_not_end_the_rest_of_a_file_that_could_not_be_read(void **state)
{
	struct symbols_process *process;

	(void)state;
	put_library("files/libx.so", 2);
	process = open_pid(100, 1, LIBRARY_MAP);
	put_library("files/libx.so", 3);
	assert_int_equal(build_all(), 2);
	fake_proc_text(&proc, "100/maps", LIBRARY_MAP JIT_MAP);
	fake_proc_text(&proc, "100/statm", "1004 1 1 1 1 1 0\n");
	assert_int_equal(symbols_process__refresh(process), 0);
	/* The mappings are told, and nothing is built. */
	assert_int_equal(build_all(), 1);
	assert_int_equal(told.space_cnt, 2);
	assert_int_equal(told.space.mapping_cnt, 2);
}

static void processes_take_turns_in_having_tables_built(void **state)
{
	struct symbols_process *one, *other, *due;

	(void)state;
	put_library("files/libx.so", 2);
	put_library("files/liby.so", 3);
	one = open_pid(100, 1, LIBRARY_MAP OTHER_MAP);
	other = open_pid(101, 2, LIBRARY_MAP OTHER_MAP);
	one->space_after_ns = 1;
	other->space_after_ns = 2;
	(void)symbolizer__due_space(symbolizer, &due);
	assert_ptr_equal(due, one);
	assert_true(symbols_process__step_space(due, SYMBOLS_STEP_BUILD));
	(void)symbolizer__due_space(symbolizer, &due);
	assert_ptr_equal(due, other);
	/* It is told all that it needs, and comes back for more than the first one has had. */
	assert_true(symbols_process__step_space(due, SYMBOLS_STEP_BUILD));
	assert_false(symbols_process__step_space(due, SYMBOLS_STEP_BUILD));
	fake_proc_text(&proc, "101/maps", LIBRARY_MAP OTHER_MAP JIT_MAP);
	fake_proc_text(&proc, "101/statm", "1004 1 1 1 1 1 0\n");
	assert_int_equal(symbols_process__refresh(other), 0);
	(void)symbolizer__due_space(symbolizer, &due);
	assert_ptr_equal(due, one);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_mapping_has_what_its_file_says),
		TEST(nothing_is_built_at_the_first_look),
		TEST(a_library_that_is_loaded_later_comes_with_the_refresh),
		TEST(of_too_many_mappings_those_with_tables_are_kept),
		TEST(two_accounts_without_room_do_not_read_a_file_by_turns),
		TEST(sampled_processes_keep_their_tables),
		TEST(an_idle_process_that_wakes_up_has_its_tables_again),
		TEST(a_table_that_comes_back_for_one_process_is_for_all_of_its_file),
		TEST(a_copy_tells_all_spaces_again),
		TEST(without_a_beginning_nothing_is_done),
		TEST(a_process_without_mappings_is_left_as_it_is),
		TEST(a_process_that_ended_is_let_go),
		TEST(files_that_keep_frame_pointers_are_told_as_such),
		TEST(how_it_is_walked_is_told_by_file),
		TEST(why_a_table_was_refused_is_told),
		TEST(without_rules_it_is_told_that_frame_pointers_are_all),
		TEST(a_file_in_which_stacks_end_is_told),
		TEST(a_file_that_changed_is_not_read),
		TEST(who_may_read_no_more_keeps_no_table_from_others),
		TEST(who_maps_no_code_of_a_file_keeps_no_table_from_others),
		TEST(who_cannot_open_a_file_keeps_no_table_from_others),
		TEST(new_mappings_do_not_end_the_rest_of_a_file_that_could_not_be_read),
		TEST(processes_take_turns_in_having_tables_built),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
