// SPDX-License-Identifier: Apache-2.0
/*
 * Addresses to frames, from fake /proc trees: files, JIT code over time, processes that end, exec
 * or are replaced, maps that are traps. One test looks at the test program itself.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "symbols/symbols.h"
#include "tests/unit/fake_proc.h"
#include "tests/unit/parse_here.h"
#include "tests/unit/tiny_eh_frame.h"
#include "user/util/account.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/host/proc_stat.h"

#define START_TICKS 5000u
#define BEFORE	    0ull       /* a window that began before any map was read */
#define AFTER	    UINT64_MAX /* one that began after */
#define JIT_MAPS    "7f0000000000-7f0000100000 rwxp 00000000 00:00 0 \n"

static struct fake_proc proc;
static struct symbolizer *symbolizer;
static struct symbols_process *process; /* pid 100 */

static uint64_t ticks_to_ns(uint64_t ticks)
{
	return ticks * (CLOCK_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

static void open_symbolizer(enum jit_mode jit)
{
	struct symbolizer_options options = { .proc_fd = proc.fd,
					      .jit = jit,
					      .parser_starter = &starter_of_none,
					      .opener_starter = &starter_of_none };

	symbolizer__free(symbolizer);
	symbolizer = NULL;
	assert_int_equal(symbolizer__open(&options, &symbolizer), 0);
}

static int tree_make(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	if (fake_proc_make(&proc))
		return -1;
	fake_proc_process(&proc, 100, START_TICKS, 1, geteuid());
	open_symbolizer(JIT_MODE_AUTO);
	return 0;
}

static int tree_remove(void **state)
{
	(void)state;
	symbolizer__free(symbolizer);
	symbolizer = NULL;
	return fake_proc_remove(&proc);
}

static struct process_life id_of(uint32_t pid, uint32_t exec_id)
{
	return (struct process_life){ .pid = pid,
				      .exec_id = exec_id,
				      .start_ns = ticks_to_ns(START_TICKS) };
}

static void open_pid(uint32_t pid)
{
	struct process_life id = id_of(pid, 0);

	assert_int_equal(symbolizer__open_process(symbolizer, &id, account_of_host(), &process), 0);
}

static int resolve(const uint64_t *ips, size_t cnt, uint64_t since, struct frame_list *frames)
{
	struct symbols_stack stack = { .words = ips, .word_cnt = cnt };

	return symbols_process__read_and_resolve(process, &stack, since, frames);
}

/* The one frame of a leaf address. The text lives as long as the symbolizer. */
static struct frame frame_at(uint64_t ip, uint64_t since)
{
	struct frame_list frames = { 0 };
	struct frame frame;

	assert_int_equal(resolve(&ip, 1, since, &frames), 0);
	assert_int_equal(frames.cnt, 1);
	frame = frames.items[0];
	frame_list_release(&frames);
	return frame;
}

static void check_name(uint64_t ip, const char *name)
{
	struct frame frame = frame_at(ip, AFTER);

	assert_string_equal(frame.name, name);
	assert_int_equal(frame.is_unknown, name[0] == '[' || strstr(name, "+0x") != NULL);
	assert_int_equal(frame.kind, FRAME_KIND_NATIVE);
}

static void check_jit(uint64_t ip, uint64_t since, const char *name)
{
	struct frame frame = frame_at(ip, since);

	assert_string_equal(frame.name, name);
	assert_int_equal(frame.is_unknown, name[0] == '[');
	assert_int_equal(frame.kind, name[0] == '[' ? FRAME_KIND_NATIVE : FRAME_KIND_JIT);
}

static struct symbols_jit_status jit_status(void)
{
	struct symbols_jit_status status;

	symbols_process__jit_status(process, &status);
	return status;
}

/* A library with one function of 16 bytes at the start of its code, and its path in the tree. */
static void put_library(const char *path, const char *function)
{
	static const uint8_t id[20] = { 1, 2, 3 };
	struct tiny_symbol symbol = { .name = function, .size = 16 };
	struct tiny_elf elf = { .symbols = &symbol, .symbol_cnt = 1, .build_id = id };
	static uint8_t bytes[TINY_ELF_MAX];

	fake_proc_put(&proc, path, bytes, tiny_elf_write(&elf, bytes));
}

/* What the kernel's map_files would be. */
static void put_map_file(const char *range, const char *target)
{
	char path[128], to[128];

	(void)mkdirat(proc.fd, "100/map_files", 0755);
	snprintf(path, sizeof(path), "100/map_files/%s", range);
	snprintf(to, sizeof(to), "%s/%s", proc.path, target);
	(void)unlinkat(proc.fd, path, 0);
	assert_int_equal(symlinkat(to, proc.fd, path), 0);
}

#define CODE	     (0x7e0000000000ull + TINY_TEXT_OFFSET)
#define LIBRARY_MAPS "7e0000000000-7e0000001000 r-xp 00000000 08:01 7 /lib/libx.so\n"

static void native_leaf_and_return_addresses_get_their_functions(void **state)
{
	const uint64_t ips[] = { CODE, CODE + 16, CODE + 17, CODE };
	static const char *const names[] = { "work", "work", "[libx.so]", "[libx.so]" };
	struct frame_list frames = { 0 };

	(void)state;
	put_library("files/libx.so", "work");
	put_map_file("7e0000000000-7e0000001000", "files/libx.so");
	fake_proc_text(&proc, "100/maps", LIBRARY_MAPS);
	open_pid(100);
	/* A return address may lie one past a function that ends in a call. */
	assert_int_equal(resolve(ips, 4, AFTER, &frames), 0);
	assert_int_equal(frames.cnt, 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(frames.items[i].name, names[i]);
	frame_list_release(&frames);
	check_name(CODE + 16, "[libx.so]");
	check_name(0x7e0000001000, "[unknown]");
	check_name(0, "[unknown]");
	check_name(UINT64_MAX, "[unknown]");
	assert_int_equal(resolve(NULL, 0, AFTER, &frames), 0);
	assert_int_equal(frames.cnt, 0);
}

static void native_functions_without_symbols_are_told_apart_by_where_they_begin(void **state)
{
	static const uint8_t rules[] = { 0x0c, 7, 8, 0x90, 1 };
	static uint8_t bytes[TINY_ELF_MAX];
	const struct tiny_symbol symbol = { .name = "work", .size = 16 };
	struct tiny_eh eh = { .len = 0 };
	struct tiny_elf elf = { .symbols = &symbol, .symbol_cnt = 1, .extra_name = ".eh_frame" };

	(void)state;
	tiny_eh_cie(&eh, "zR", 16, rules, sizeof(rules));
	tiny_eh_fde(&eh, 0, 0x10, NULL, 0);
	tiny_eh_fde(&eh, 0x20, 0x20, NULL, 0);
	tiny_eh_fde(&eh, 0x40, 0x20, NULL, 0);
	elf.extra = eh.bytes;
	elf.extra_len = eh.len;
	fake_proc_put(&proc, "files/libx.so", bytes, tiny_elf_write(&elf, bytes));
	put_map_file("7e0000000000-7e0000001000", "files/libx.so");
	fake_proc_text(&proc, "100/maps", LIBRARY_MAPS);
	open_pid(100);
	check_name(CODE, "work");
	check_name(CODE + 0x10, "[libx.so]");
	check_name(CODE + 0x20, "libx.so+0x401320");
	check_name(CODE + 0x3f, "libx.so+0x401320");
	check_name(CODE + 0x40, "libx.so+0x401340");
	check_name(CODE + 0x60, "[libx.so]");
}

static void native_names_are_demangled(void **state)
{
	(void)state;
	put_library("files/libx.so", "_ZN15G1CollectedHeap7collectEN7GCCause5CauseE.constprop.0");
	put_map_file("7e0000000000-7e0000001000", "files/libx.so");
	fake_proc_text(&proc, "100/maps", LIBRARY_MAPS);
	open_pid(100);
	check_name(CODE, "G1CollectedHeap::collect");
}

static void native_path_changed_after_the_process_began_does_not_count(void **state)
{
	(void)state;
	/* Without map_files. The process began a minute after boot, the file is from now. */
	put_library("100/root/lib/libx.so", "work");
	fake_proc_text(&proc, "100/maps", LIBRARY_MAPS);
	open_pid(100);
	check_name(CODE, "[libx.so]");
}

static void native_path_of_the_mapped_inode_counts(void **state)
{
	struct stat st;

	(void)state;
	put_library("100/root/lib/libx.so", "work");
	assert_int_equal(fstatat(proc.fd, "100/root/lib/libx.so", &st, 0), 0);
	fake_proc_text(&proc, "100/maps",
		       "7e0000000000-7e0000001000 r-xp 00000000 %x:%x %lu /lib/libx.so\n",
		       major(st.st_dev), minor(st.st_dev), (unsigned long)st.st_ino);
	open_pid(100);
	check_name(CODE, "work");
}

static void native_path_older_than_the_process_counts(void **state)
{
	uint64_t start_ticks = clock_boot_ns() / ticks_to_ns(1) + 360000;
	struct process_life id = { .pid = 200, .start_ns = ticks_to_ns(start_ticks) };

	(void)state;
	fake_proc_process(&proc, 200, start_ticks, 1, geteuid());
	put_library("200/root/lib/libx.so", "work");
	fake_proc_text(&proc, "200/maps", LIBRARY_MAPS);
	assert_int_equal(symbolizer__open_process(symbolizer, &id, account_of_host(), &process), 0);
	check_name(CODE, "work");
}

static void native_deleted_file_is_not_looked_for_by_name(void **state)
{
	uint64_t start_ticks = clock_boot_ns() / ticks_to_ns(1) + 360000;
	struct process_life id = { .pid = 200, .start_ns = ticks_to_ns(start_ticks) };

	(void)state;
	fake_proc_process(&proc, 200, start_ticks, 1, geteuid());
	put_library("200/root/lib/libx.so", "wrong");
	fake_proc_text(&proc, "200/maps",
		       "7e0000000000-7e0000001000 r-xp 00000000 08:01 7 /lib/libx.so (deleted)\n");
	assert_int_equal(symbolizer__open_process(symbolizer, &id, account_of_host(), &process), 0);
	check_name(CODE, "[libx.so]");
}

static void native_files_that_are_traps_give_the_library_name(void **state)
{
	(void)state;
	assert_int_equal(mkdirat(proc.fd, "files", 0755), 0);
	assert_int_equal(mkfifoat(proc.fd, "files/fifo", 0644), 0);
	fake_proc_text(&proc, "files/text", "#!/bin/sh\n");
	put_map_file("7e0000000000-7e0000001000", "files/fifo");
	put_map_file("7e0000002000-7e0000003000", "files/text");
	put_map_file("7e0000004000-7e0000005000", "files/none");
	fake_proc_text(&proc, "100/maps",
		       LIBRARY_MAPS
		       "7e0000002000-7e0000003000 r-xp 00000000 08:01 8 /x/netty12345678901.so\n"
		       "7e0000004000-7e0000005000 r-xp 00000000 08:01 9 /x/\n");
	open_pid(100);
	check_name(CODE, "[libx.so]");
	check_name(0x7e0000002300, "[netty.so]");
	check_name(0x7e0000004300, "[unknown]");
}

static void native_same_build_id_does_not_lend_names_to_another_file(void **state)
{
	(void)state;
	/* put_library gives both the same build id. */
	put_library("files/libx.so", "evil");
	put_library("files/liby.so", "good");
	put_map_file("7e0000000000-7e0000001000", "files/libx.so");
	put_map_file("7e0000002000-7e0000003000", "files/liby.so");
	fake_proc_text(&proc, "100/maps",
		       LIBRARY_MAPS "7e0000002000-7e0000003000 r-xp 0 08:01 8 /lib/liby.so\n");
	open_pid(100);
	check_name(CODE, "evil");
	check_name(CODE + 0x2000, "good");
}

static void native_memfd_is_an_elf_file_or_jit_code(void **state)
{
	(void)state;
	put_library("files/runner", "work");
	fake_proc_text(&proc, "files/code", "\x90\x90\x90\x90");
	put_map_file("7e0000000000-7e0000001000", "files/runner");
	put_map_file("7e0000002000-7e0000003000", "files/code");
	fake_proc_text(&proc, "100/maps",
		       "7e0000000000-7e0000001000 r-xp 0 00:01 7 /memfd:runner (deleted)\n"
		       "7e0000002000-7e0000003000 r-xp 0 00:01 8 /memfd:other (deleted)\n");
	open_pid(100);
	check_name(CODE, "work");
	check_jit(0x7e0000002000, AFTER, "[unknown jit]");
	assert_true(jit_status().has_jit_code);
}

static void jit_perfmaps_come_from_the_perf_map(void **state)
{
	struct symbols_jit_status status;

	(void)state;
	fake_proc_text(&proc, "100/maps", JIT_MAPS);
	fake_proc_text(&proc, "100/root/tmp/perf-1.map",
		       "7f0000000000 100 LazyCompile:*foo /p.js:1:2\nnonsense\n"
		       "7f0000000200 100 bar\n7f0000000300 10 half");
	open_pid(100);
	check_jit(0x7f0000000000, AFTER, "LazyCompile:*foo /p.js:1:2");
	check_jit(0x7f00000000ff, AFTER, "LazyCompile:*foo /p.js:1:2");
	check_jit(0x7f0000000100, AFTER, "[unknown jit]");
	check_jit(0x7f0000000250, AFTER, "bar");
	check_jit(0x7f0000000300, AFTER, "[unknown jit]");
	check_jit(0x7f0000000300, AFTER, "[unknown jit]");
	status = jit_status();
	assert_false(status.is_hotspot);
	assert_true(status.has_jit_code);
	assert_int_equal(status.source, JIT_SOURCE_PERFMAP);
	assert_int_equal(status.entry_cnt, 2);
	assert_int_equal(status.rejected_cnt, 1);
	assert_int_equal(status.unknown_cnt, 2); /* addresses, not times */
	assert_true(status.loaded_boot_ns > 0);
	assert_true(status.map_mtime_ns > 0);
	assert_null(status.problem);
}

static void jit_mode_off_reads_no_map(void **state)
{
	(void)state;
	fake_proc_text(&proc, "100/maps", JIT_MAPS);
	fake_proc_text(&proc, "100/root/tmp/perf-1.map", "7f0000000000 100 foo\n");
	open_symbolizer(JIT_MODE_OFF);
	open_pid(100);
	check_jit(0x7f0000000000, AFTER, "[jit]");
	assert_int_equal(symbols_process__refresh(process), 0);
	assert_int_equal(jit_status().entry_cnt, 0);
	assert_null(jit_status().problem);
}

/* A map that took long to read, as where others have the CPUs, is not read again at once (jit_perfmaps_is_due()). */
static void refresh_until_the_map_is_read_again(void)
{
	uint64_t before = jit_status().loaded_boot_ns;

	do {
		assert_int_equal(symbols_process__refresh(process), 0);
		if (jit_status().loaded_boot_ns == before)
			usleep(10000);
	} while (jit_status().loaded_boot_ns == before);
}

static void jit_map_is_read_again_when_it_changed(void **state)
{
	(void)state;
	fake_proc_text(&proc, "100/maps", JIT_MAPS);
	open_pid(100);
	check_jit(0x7f0000000000, AFTER, "[unknown jit]");
	assert_non_null(jit_status().problem);
	assert_int_equal(jit_status().rejected_cnt, 0);
	fake_proc_text(&proc, "100/root/tmp/perf-1.map", "7f0000000000 100 foo\n");
	check_jit(0x7f0000000000, AFTER, "[unknown jit]");
	assert_int_equal(symbols_process__refresh(process), 0);
	check_jit(0x7f0000000000, AFTER, "foo");
	assert_null(jit_status().problem);
	fake_proc_text(&proc, "100/root/tmp/perf-1.map",
		       "7f0000000000 100 foo\n7f0000000100 8 b\n");
	check_jit(0x7f0000000100, AFTER, "[unknown jit]");
	refresh_until_the_map_is_read_again();
	check_jit(0x7f0000000100, AFTER, "b");
	/* Removed after it was read: nothing is lost, and nothing is wrong. */
	assert_int_equal(unlinkat(proc.fd, "100/root/tmp/perf-1.map", 0), 0);
	assert_int_equal(symbols_process__refresh(process), 0);
	check_jit(0x7f0000000100, AFTER, "b");
	assert_null(jit_status().problem);
}

static void jit_name_that_changed_within_the_window_is_not_guessed(void **state)
{
	(void)state;
	fake_proc_text(&proc, "100/maps", JIT_MAPS);
	fake_proc_text(&proc, "100/root/tmp/perf-1.map",
		       "7f0000000000 100 old\n7f0000000100 100 gone\n7f0000000200 100 same\n");
	open_pid(100);
	fake_proc_text(&proc, "100/root/tmp/perf-1.map",
		       "7f0000000000 100 new\n7f0000000300 100 fresh\n7f0000000200 100 same\n");
	refresh_until_the_map_is_read_again();
	check_jit(0x7f0000000000, BEFORE, "[unknown jit]");
	check_jit(0x7f0000000100, BEFORE, "gone");
	check_jit(0x7f0000000200, BEFORE, "same");
	check_jit(0x7f0000000300, BEFORE, "fresh");
	check_jit(0x7f0000000400, BEFORE, "[unknown jit]");
	assert_int_equal(jit_status().ambiguous_cnt, 1);
	check_jit(0x7f0000000000, BEFORE, "[unknown jit]");
	assert_int_equal(jit_status().ambiguous_cnt, 1);
	/* Samples that are younger than the new map. */
	check_jit(0x7f0000000000, AFTER, "new");
	check_jit(0x7f0000000100, AFTER, "[unknown jit]");
	check_jit(0x7f0000000300, AFTER, "fresh");
}

static void jit_old_map_counts_until_no_window_is_that_old(void **state)
{
	(void)state;
	fake_proc_text(&proc, "100/maps", JIT_MAPS);
	fake_proc_text(&proc, "100/root/tmp/perf-1.map", "7f0000000000 100 old\n");
	open_pid(100);
	fake_proc_text(&proc, "100/root/tmp/perf-1.map", "7f0000000000 100 newer\n");
	refresh_until_the_map_is_read_again();
	for (int i = 0; i < 3; i++)
		assert_int_equal(symbols_process__refresh(process), 0);
	check_jit(0x7f0000000000, BEFORE, "[unknown jit]");
	symbolizer__note_window(symbolizer, clock_boot_ns(), clock_boot_ns());
	assert_int_equal(symbols_process__refresh(process), 0);
	check_jit(0x7f0000000000, BEFORE, "newer");
}

static void jit_map_found_and_map_asked_for_in_one_window_both_count(void **state)
{
	(void)state;
	fake_proc_text(&proc, "100/maps", JIT_MAPS);
	fake_proc_text(&proc, "100/root/tmp/perf-1.map", "7f0000000000 100 first\n");
	open_pid(100);
	fake_proc_text(&proc, "100/root/tmp/perf-1.map", "7f0000000000 100 second\n");
	assert_int_equal(symbols_process__refresh(process), 0);
	assert_int_equal(jit_status().source, JIT_SOURCE_PERFMAP);
	assert_int_equal(symbols_process__reload_jit(process, JIT_SOURCE_ATTACH), 0);
	assert_int_equal(jit_status().source, JIT_SOURCE_ATTACH);
	check_jit(0x7f0000000000, BEFORE, "[unknown jit]");
	check_jit(0x7f0000000000, AFTER, "second");
}

static void jit_map_that_is_a_trap_is_refused_and_said(void **state)
{
	static const char *const traps[] = { "symlink", "fifo", "directory", "sparse", "foreign" };
	const char *map = "100/root/tmp/perf-1.map";

	(void)state;
	fake_proc_text(&proc, "100/maps", JIT_MAPS);
	for (size_t i = 0; i < sizeof(traps) / sizeof(traps[0]); i++) {
		bool needs_size = strcmp(traps[i], "sparse") == 0;
		int fd;

		switch (i) {
		case 0:
			assert_int_equal(symlinkat("/etc/passwd", proc.fd, map), 0);
			break;
		case 1:
			assert_int_equal(mkfifoat(proc.fd, map, 0644), 0);
			break;
		case 2:
			assert_int_equal(mkdirat(proc.fd, map, 0755), 0);
			break;
		default:
			fake_proc_text(&proc, map, "7f0000000000 100 evil\n");
		}
		if (needs_size) {
			fd = openat(proc.fd, map, O_WRONLY | O_CLOEXEC);
			assert_int_equal(ftruncate(fd, 2ll << 30), 0);
			close(fd);
		}
		if (i == 4) /* somebody else's, and not root's */
			fake_proc_process(&proc, 100, START_TICKS, 1, geteuid() + 1);
		if (i == 4 && geteuid() == 0)
			assert_int_equal(fchownat(proc.fd, map, 4711, 4711, 0), 0);
		open_pid(100);
		check_jit(0x7f0000000000, AFTER, "[unknown jit]");
		assert_non_null(jit_status().problem);
		assert_non_null(strstr(jit_status().problem, "refused"));
		assert_int_equal(jit_status().rejected_cnt, 1);
		assert_int_equal(symbols_process__refresh(process), 0);
		assert_int_equal(jit_status().rejected_cnt, 1);
		assert_int_equal(jit_status().entry_cnt, 0);
		symbols_process__close(process);
		assert_int_equal(unlinkat(proc.fd, map, i == 2 ? AT_REMOVEDIR : 0), 0);
	}
}

static void process_that_ended_keeps_its_names(void **state)
{
	(void)state;
	put_library("files/libx.so", "work");
	put_map_file("7e0000000000-7e0000001000", "files/libx.so");
	fake_proc_text(&proc, "100/maps", LIBRARY_MAPS JIT_MAPS);
	fake_proc_text(&proc, "100/root/tmp/perf-1.map", "7f0000000000 100 foo\n");
	open_pid(100);
	/* Before anything was asked for. */
	assert_int_equal(renameat(proc.fd, "100", proc.fd, "gone"), 0);
	assert_int_equal(symbols_process__refresh(process), -ESRCH);
	assert_int_equal(symbols_process__reload_jit(process, JIT_SOURCE_ATTACH), -ESRCH);
	check_name(CODE, "work");
	check_jit(0x7f0000000000, AFTER, "foo");
	check_name(0x1000, "[unknown]");
}

static void process_that_was_never_seen_alive_has_no_names(void **state)
{
	(void)state;
	open_pid(4242);
	assert_int_equal(symbols_process__refresh(process), -ESRCH);
	check_name(CODE, "[unknown]");
	assert_false(jit_status().has_jit_code);
}

static void process_with_a_reused_pid_is_not_looked_at(void **state)
{
	(void)state;
	put_library("files/libx.so", "work");
	put_map_file("7e0000000000-7e0000001000", "files/libx.so");
	fake_proc_text(&proc, "100/maps", LIBRARY_MAPS);
	open_pid(100);
	check_name(CODE, "work");
	fake_proc_process(&proc, 100, START_TICKS + 7, 1, geteuid());
	fake_proc_text(&proc, "100/maps", "7e0000000000-7e0000001000 r-xp 0 08:01 9 /other\n");
	assert_int_equal(symbols_process__refresh(process), -ESRCH);
	check_name(CODE, "work");
	check_name(CODE + 16, "[libx.so]");
	/* And the other way round: an old id, asked for late. */
	open_symbolizer(JIT_MODE_AUTO);
	open_pid(100);
	check_name(CODE, "[unknown]");
}

static void process_after_exec_is_another_one(void **state)
{
	struct process_life second = id_of(100, 5);
	struct process_life late = id_of(100, 3);
	struct symbols_process *first;

	(void)state;
	put_library("files/libx.so", "before");
	put_library("files/liby.so", "after");
	put_map_file("7e0000000000-7e0000001000", "files/libx.so");
	fake_proc_text(&proc, "100/maps", LIBRARY_MAPS);
	open_pid(100);
	first = process;
	put_map_file("7e0000000000-7e0000001000", "files/liby.so");
	fake_proc_text(&proc, "100/maps", "7e0000000000-7e0000001000 r-xp 0 08:01 8 /liby.so\n");
	assert_int_equal(symbolizer__open_process(symbolizer, &second, account_of_host(), &process),
			 0);
	check_name(CODE, "after");
	process = first;
	assert_int_equal(symbols_process__refresh(process), -ESRCH);
	check_name(CODE, "before");
	/* A run that was over before it was first asked for. */
	assert_int_equal(symbolizer__open_process(symbolizer, &late, account_of_host(), &process),
			 0);
	check_name(CODE, "[unknown]");
}

static void process_mappings_are_read_again_once_per_window(void **state)
{
	(void)state;
	put_library("files/libx.so", "work");
	put_map_file("7e0000000000-7e0000001000", "files/libx.so");
	fake_proc_text(&proc, "100/maps", JIT_MAPS);
	open_pid(100);
	assert_int_equal(symbols_process__refresh(process), 0);
	fake_proc_text(&proc, "100/maps", LIBRARY_MAPS JIT_MAPS);
	check_name(CODE, "work");
	fake_proc_text(&proc, "100/maps",
		       LIBRARY_MAPS JIT_MAPS "7f1000000000-7f1000001000 rwxp 0 00:00 0 \n");
	check_name(0x7f1000000000, "[unknown]");
	assert_int_equal(symbols_process__refresh(process), 0);
	check_jit(0x7f1000000000, AFTER, "[unknown jit]");
}

static void process_mapping_replaced_by_another_file_is_seen(void **state)
{
	(void)state;
	put_library("files/libx.so", "before");
	put_map_file("7e0000000000-7e0000001000", "files/libx.so");
	fake_proc_text(&proc, "100/maps", LIBRARY_MAPS);
	open_pid(100);
	check_name(CODE, "before");
	put_library("files/liby.so", "after");
	put_map_file("7e0000000000-7e0000001000", "files/liby.so");
	fake_proc_text(&proc, "100/maps", "7e0000000000-7e0000001000 r-xp 0 08:01 8 /liby.so\n");
	fake_proc_text(&proc, "100/statm", "1001 1 1 1 1 1 0\n");
	assert_int_equal(symbols_process__refresh(process), 0);
	check_name(CODE, "after");
}

static void process_that_was_closed_is_read_again(void **state)
{
	(void)state;
	fake_proc_text(&proc, "100/maps", JIT_MAPS);
	open_pid(100);
	check_jit(0x7f0000000000, AFTER, "[unknown jit]");
	symbols_process__close(process);
	fake_proc_text(&proc, "100/root/tmp/perf-1.map", "7f0000000000 100 foo\n");
	open_pid(100);
	check_jit(0x7f0000000000, AFTER, "foo");
}

static void hotspot_is_told_by_what_libjvm_exports(void **state)
{
	struct tiny_symbol symbol = { .name = "gHotSpotVMStructs",
				      .info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT) };
	struct tiny_elf elf = { .symbols = &symbol, .symbol_cnt = 1, .is_dynsym = true };
	static uint8_t bytes[TINY_ELF_MAX];

	(void)state;
	fake_proc_put(&proc, "files/libjvm.so", bytes, tiny_elf_write(&elf, bytes));
	put_map_file("7e0000000000-7e0000001000", "files/libjvm.so");
	fake_proc_text(
		&proc, "100/maps",
		"7e0000000000-7e0000001000 r-xp 0 08:01 7 /jdk/lib/server/libjvm.so\n" JIT_MAPS);
	fake_proc_text(&proc, "100/root/tmp/perf-1.map",
		       "0x00007f0000000000 0x0000000000000100 long com.x.Work.f(int, long)\n"
		       "0x00007f0000000100 0x0000000000000100 Interpreter\n");
	open_pid(100);
	assert_true(jit_status().is_hotspot);
	check_jit(0x7f0000000000, AFTER, "com.x.Work.f");
	check_name(0x7f0000000100, "Interpreter");
	/* OpenJ9 has a libjvm.so too. */
	symbol.name = "J9_something";
	fake_proc_put(&proc, "files/libjvm.so", bytes, tiny_elf_write(&elf, bytes));
	open_symbolizer(JIT_MODE_AUTO);
	open_pid(100);
	assert_false(jit_status().is_hotspot);
}

static void kernel_frames_are_named_or_said_to_be_unknown(void **state)
{
	const uint64_t ips[] = { 0xffffffff81000100, 0xffffffff81000100, 0x10 };
	static const char *const names[] = { "second", "first", "[unknown kernel]" };
	struct frame_list frames = { 0 };

	(void)state;
	fake_proc_text(&proc, "kallsyms",
		       "ffffffff81000000 T first.isra.0\nffffffff81000100 t second\n");
	open_symbolizer(JIT_MODE_AUTO);
	assert_int_equal(symbolizer__read_and_resolve_kernel(symbolizer, ips, 3, &frames), 0);
	assert_int_equal(symbolizer__read_and_resolve_kernel(symbolizer, ips, 3, &frames), 0);
	assert_int_equal(frames.cnt, 6);
	for (size_t i = 0; i < 6; i++) {
		assert_string_equal(frames.items[i].name, names[i % 3]);
		assert_int_equal(frames.items[i].kind, FRAME_KIND_KERNEL);
		assert_int_equal(frames.items[i].is_unknown, i % 3 == 2);
	}
	frame_list_release(&frames);
}

/* It lies behind another program, and has no symbol. */
static void a_classic_bpf_program_has_not_the_name_of_the_one_before_it(void **state)
{
	const uint64_t filter[] = { 0xffffffffc0000800, 0xffffffff81000010 };
	const uint64_t other[] = { 0xffffffffc0000800, 0xffffffff81000110 };
	static const char *const names[] = { "[unknown kernel]", "[unknown kernel]",
					     "__seccomp_filter", "bpf_prog_1111111111111111_a",
					     "trace_call_bpf" };
	struct frame_list frames = { 0 };

	(void)state;
	fake_proc_text(&proc, "kallsyms",
		       "ffffffff81000000 t __seccomp_filter\nffffffff81000100 T trace_call_bpf\n"
		       "ffffffffc0000000 t bpf_prog_1111111111111111_a\t[bpf]\n");
	open_symbolizer(JIT_MODE_AUTO);
	/* Who called it is not known, and is. */
	assert_int_equal(symbolizer__read_and_resolve_kernel(symbolizer, filter, 1, &frames), 0);
	assert_int_equal(symbolizer__read_and_resolve_kernel(symbolizer, filter, 2, &frames), 0);
	assert_int_equal(symbolizer__read_and_resolve_kernel(symbolizer, other, 2, &frames), 0);
	assert_int_equal(frames.cnt, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_string_equal(frames.items[i].name, names[i]);
		assert_int_equal(frames.items[i].is_unknown, i < 2);
	}
	frame_list_release(&frames);
}

static void symbolizer_shares_tables_between_processes(void **state)
{
	size_t one, two;

	(void)state;
	put_library("files/libx.so", "work");
	put_map_file("7e0000000000-7e0000001000", "files/libx.so");
	fake_proc_text(&proc, "100/maps", LIBRARY_MAPS);
	fake_proc_process(&proc, 101, START_TICKS, 1, geteuid());
	fake_proc_text(&proc, "101/maps", LIBRARY_MAPS);
	assert_int_equal(symlinkat("../100/map_files", proc.fd, "101/map_files"), 0);
	open_pid(100);
	check_name(CODE, "work");
	one = symbolizer__bytes(symbolizer);
	open_pid(101);
	check_name(CODE, "work");
	two = symbolizer__bytes(symbolizer);
	assert_true(two > one && two - one < 12000);
}

static void symbolizer_trim_below_the_cap_keeps_names(void **state)
{
	(void)state;
	put_library("files/libx.so", "work");
	put_map_file("7e0000000000-7e0000001000", "files/libx.so");
	fake_proc_text(&proc, "100/maps", LIBRARY_MAPS);
	open_pid(100);
	check_name(CODE, "work");
	assert_int_equal(symbolizer__trim(symbolizer), 0);
	check_name(CODE, "work");
}

/* Maps a library, replaces its file by one with another name in it, and asks the real /proc. */
static void native_replaced_file_never_gives_the_new_files_name(void **state)
{
	struct symbolizer_options options = { .parser_starter = &starter_of_none,
					      .opener_starter = &starter_of_none };
	struct process_life id = { .pid = (uint32_t)getpid() };
	char path[128];
	struct frame frame;
	uint8_t *code;
	int fd;

	(void)state;
	put_library("files/libx.so", "mapped");
	put_library("files/new.so", "replaced");
	snprintf(path, sizeof(path), "%s/files/libx.so", proc.path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	if (code == MAP_FAILED) /* /tmp is mounted noexec */
		skip();
	assert_int_equal(renameat(proc.fd, "files/new.so", proc.fd, "files/libx.so"), 0);

	options.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(proc_stat_start_ns(options.proc_fd, id.pid, &id.start_ns), 0);
	symbolizer__free(symbolizer);
	symbolizer = NULL;
	assert_int_equal(symbolizer__open(&options, &symbolizer), 0);
	assert_int_equal(symbolizer__open_process(symbolizer, &id, account_of_host(), &process), 0);
	frame = frame_at((uint64_t)(uintptr_t)code + TINY_TEXT_OFFSET, AFTER);
	/* map_files needs a capability; without it the name cannot be had. */
	assert_string_equal(frame.name, frame.is_unknown ? "[libx.so]" : "mapped");
	if (geteuid() == 0)
		assert_string_equal(frame.name, "mapped");
	frame = frame_at((uint64_t)(uintptr_t)native_replaced_file_never_gives_the_new_files_name,
			 AFTER);
	assert_string_equal(frame.name, "native_replaced_file_never_gives_the_new_files_name");
	munmap(code, 4096);
	close(options.proc_fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)
	const struct CMUnitTest tests[] = {
		TEST(native_leaf_and_return_addresses_get_their_functions),
		TEST(native_functions_without_symbols_are_told_apart_by_where_they_begin),
		TEST(native_names_are_demangled),
		TEST(native_path_changed_after_the_process_began_does_not_count),
		TEST(native_path_of_the_mapped_inode_counts),
		TEST(native_path_older_than_the_process_counts),
		TEST(native_deleted_file_is_not_looked_for_by_name),
		TEST(native_files_that_are_traps_give_the_library_name),
		TEST(native_same_build_id_does_not_lend_names_to_another_file),
		TEST(native_memfd_is_an_elf_file_or_jit_code),
		TEST(native_replaced_file_never_gives_the_new_files_name),
		TEST(jit_perfmaps_come_from_the_perf_map),
		TEST(jit_mode_off_reads_no_map),
		TEST(jit_map_is_read_again_when_it_changed),
		TEST(jit_name_that_changed_within_the_window_is_not_guessed),
		TEST(jit_old_map_counts_until_no_window_is_that_old),
		TEST(jit_map_found_and_map_asked_for_in_one_window_both_count),
		TEST(jit_map_that_is_a_trap_is_refused_and_said),
		TEST(process_that_ended_keeps_its_names),
		TEST(process_that_was_never_seen_alive_has_no_names),
		TEST(process_with_a_reused_pid_is_not_looked_at),
		TEST(process_after_exec_is_another_one),
		TEST(process_mappings_are_read_again_once_per_window),
		TEST(process_mapping_replaced_by_another_file_is_seen),
		TEST(process_that_was_closed_is_read_again),
		TEST(hotspot_is_told_by_what_libjvm_exports),
		TEST(kernel_frames_are_named_or_said_to_be_unknown),
		TEST(a_classic_bpf_program_has_not_the_name_of_the_one_before_it),
		TEST(symbolizer_shares_tables_between_processes),
		TEST(symbolizer_trim_below_the_cap_keeps_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
