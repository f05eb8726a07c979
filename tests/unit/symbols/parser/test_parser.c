// SPDX-License-Identifier: Apache-2.0
/*
 * The parser process from outside: it answers as if one had parsed here, and one that dies, hangs,
 * lies or asks for what is not its own costs an answer and nothing else. Where it must misbehave, a
 * program of this test runs in its place.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbols/elf/demangle.h"
#include "symbols/elf/elf_symtab_wire.h"
#include "symbols/parser/parser_child.h"
#include "tests/unit/fake_proc.h"
#include "tests/unit/here.h"
#include "tests/unit/symbols/parser/parser_testing.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

static int quiet(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	return 0;
}

/* ---- the real one ---- */

static void check_same_elf(struct parser *parser, int fd, const char *path, int err)
{
	struct elf_object here = { 0 }, apart = { 0 };
	uint64_t hashes[2][2];

	assert_int_equal(elf_here(fd, path, &nowhere, &here), err);
	assert_int_equal(parser__elf(parser, fd, path, &nowhere, &apart), err);
	if (err)
		return;
	elf_symtab__hash(here.symtab, 1, hashes[0]);
	elf_symtab__hash(apart.symtab, 1, hashes[1]);
	assert_memory_equal(hashes[0], hashes[1], sizeof(hashes[0]));
	assert_int_equal(here.is_hotspot, apart.is_hotspot);
	elf_symtab__free(here.symtab);
	elf_symtab__free(apart.symtab);
}

static void parser_reads_functions_as_one_would_here(void **state)
{
	static const struct tiny_symbol jvm = { .name = "gHotSpotVMStructs", .size = 8 };
	const struct tiny_elf jvm_elf = { .symbols = &jvm, .symbol_cnt = 1, .is_dynsym = true };
	const struct tiny_elf no_symbols = { .symbol_cnt = 0 };
	struct parser *parser = parser_real();
	struct {
		int fd;
		const char *path;
		int err;
	} rows[] = {
		{ simple_elf(), "/usr/lib/libx.so", 0 },
		{ elf_of(&jvm_elf), "/usr/lib/libjvm.so", 0 },
		{ elf_of(&jvm_elf), "/usr/lib/libother.so", 0 },
		{ elf_of(&no_symbols), "libx.so", 0 },
		{ file_of("#!/bin/sh\n", 10), "/bin/script", -ENOEXEC },
		{ file_of("", 0), "", -ENOEXEC },
		{ open("/proc/self/exe", O_RDONLY | O_CLOEXEC), "/proc/self/exe", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		check_same_elf(parser, rows[i].fd, rows[i].path, rows[i].err);
		close(rows[i].fd);
	}
	assert_int_equal(stats_of(parser).failure_cnt, 0);
	assert_int_equal(stats_of(parser).restart_cnt, 0);
	parser__free(parser);
}

static void parser_makes_unwind_tables_as_one_would_here(void **state)
{
	struct parser *parser = parser_real();
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int none = simple_elf(), script = file_of("#!/bin/sh\n", 10);
	const struct debug_file_roots roots = { .container_fd = -1,
						.host_fd = -1,
						.opener = opener_here() };
	struct unwind_table here = { 0 }, apart = { 0 };
	uint8_t digests[2][32];

	(void)state;
	assert_int_equal(unwind_here(fd, "/x", &roots, &here), 0);
	assert_int_equal(parser__unwind(parser, fd, "/x", &roots, &apart), 0);
	assert_true(here.row_cnt > 100);
	assert_int_equal(here.row_cnt, apart.row_cnt);
	unwind_table_digest(&here, digests[0]);
	unwind_table_digest(&apart, digests[1]);
	assert_memory_equal(digests[0], digests[1], sizeof(digests[0]));
	unwind_table_release(&here);
	unwind_table_release(&apart);
	assert_int_equal(parser__unwind(parser, none, "/x", &roots, &apart), -ENODATA);
	assert_int_equal(parser__unwind(parser, script, "/x", &roots, &apart), -ENOEXEC);
	assert_null(apart.words);
	assert_int_equal(stats_of(parser).failure_cnt, 0);
	close(fd);
	close(none);
	close(script);
	parser__free(parser);
}

static void parser_reads_perf_maps_as_one_would_here(void **state)
{
	static const char text[] = "1000 20 one\nbad\n2000 8 two\n";
	struct parser *parser = parser_real();
	int fd = file_of(text, strlen(text));
	int empty = file_of("", 0);
	struct perfmap_stats stats;
	struct perfmap_symbol symbol;
	struct perfmap *map;

	(void)state;
	assert_int_equal(parser__perfmap(parser, fd, &map, &stats), 0);
	assert_int_equal(stats.line_cnt, 3);
	assert_int_equal(stats.rejected_cnt, 1);
	assert_int_equal(stats.entry_cnt, 2);
	assert_int_equal(perfmap__lookup(map, 0x2004, &symbol), 0);
	assert_int_equal(symbol.name_len, 3);
	assert_memory_equal(symbol.name, "two", 3);
	perfmap__free(map);
	assert_int_equal(parser__perfmap(parser, empty, &map, &stats), 0);
	assert_int_equal(stats.entry_cnt, 0);
	perfmap__free(map);
	/* More than the largest map, without the bytes. */
	assert_int_equal(ftruncate(empty, PERFMAP_MAX_BYTES + 1ll), 0);
	assert_int_equal(parser__perfmap(parser, empty, &map, &stats), -EFBIG);
	close(fd);
	close(empty);
	parser__free(parser);
}

static void parser_demangles_as_one_would_here(void **state)
{
	static const char *const names[] = { "_ZN3foo3barEv",
					     "_ZN3foo3barEv.constprop.0",
					     "_RNvCs1234_7mycrate3foo",
					     "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
					     "_Znot",
					     "_Z",
					     "plain@@GLIBC_2.2.5",
					     "" };
	struct parser *parser = parser_real();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		__cleanup_strbuf struct strbuf here = STRBUF_INIT;
		__cleanup_strbuf struct strbuf apart = STRBUF_INIT;
		const char *name = names[i];

		assert_int_equal(demangle_native(name, strlen(name), &here), 0);
		assert_int_equal(parser__demangle(parser, name, strlen(name), &apart), 0);
		assert_string_equal(strbuf_str(&here), strbuf_str(&apart));
	}
	/* What is not mangled does not travel. */
	assert_int_equal(stats_of(parser).request_cnt, 6);
	parser__free(parser);
}

static void parser_without_jvm_symbols_says_so(void **state)
{
	struct libjvm_mapping mapping = { .map.start = 0x1000,
					  .map.end = 0x2000,
					  .path = "/x/libjvm.so" };
	struct parser *parser = parser_real();
	struct vm_symbols symbols;
	int script = file_of("#!/bin/sh\n", 10);
	int elf = simple_elf();

	(void)state;
	assert_int_equal(parser__libjvm(parser, script, &mapping, &symbols), -ENOTSUP);
	assert_int_equal(parser__libjvm(parser, elf, &mapping, &symbols),
			 libjvm_here(elf, &mapping, &symbols));
	assert_int_equal(stats_of(parser).failure_cnt, 0);
	close(script);
	close(elf);
	parser__free(parser);
}

static void parser_gets_debug_files_of_the_right_build_id(void **state)
{
	static const uint8_t id[20] = { 0xab, 0xcd, 0xef, 4, 5 };
	static const struct tiny_symbol public = { .name = "public", .at = 0x40, .size = 16 };
	static const struct tiny_symbol hidden = { .name = "hidden", .at = 0x20, .size = 16 };
	static uint8_t bytes[TINY_ELF_MAX];
	const struct tiny_elf library = {
		.symbols = &public, .symbol_cnt = 1, .is_dynsym = true, .build_id = id
	};
	const struct tiny_elf debug = { .symbols = &hidden, .symbol_cnt = 1, .build_id = id };
	struct parser *parser = parser_real();
	struct elf_symbol symbol = { .name = "-" };
	struct elf_object object;
	struct fake_proc tree;
	int fd = elf_of(&library);

	(void)state;
	assert_int_equal(fake_proc_make(&tree), 0);
	fake_proc_put(&tree,
		      "usr/lib/debug/.build-id/ab/cdef0405000000000000000000000000000000.debug",
		      bytes, tiny_elf_write(&debug, bytes));
	const struct debug_file_roots roots = { .container_fd = tree.fd,
						.host_fd = -1,
						.opener = opener_here() };

	assert_int_equal(parser__elf(parser, fd, "/usr/lib/libx.so", &roots, &object), 0);
	assert_int_equal(elf_symtab__lookup(object.symtab, TINY_TEXT_ADDRESS + 0x20, &symbol), 0);
	assert_string_equal(symbol.name, "hidden");
	elf_symtab__free(object.symtab);
	close(fd);
	parser__free(parser);
	assert_int_equal(fake_proc_remove(&tree), 0);
}

static void debug_files_are_programs_or_nothing(void **state)
{
	static const struct build_id id = { .bytes = { 0xab, 0xcd }, .len = 2 };
	static const char path[] = "usr/lib/debug/.build-id/ab/cd.debug";
	static const struct debug_file_wanted wanted = { .id = &id };
	static uint8_t bytes[TINY_ELF_MAX];
	const struct tiny_elf elf = { .symbol_cnt = 0 };
	size_t len = tiny_elf_write(&elf, bytes);
	struct fake_proc tree;
	uint64_t size;
	int fd;

	(void)state;
	assert_int_equal(fake_proc_make(&tree), 0);
	const struct debug_file_roots roots = { .container_fd = tree.fd,
						.host_fd = -1,
						.opener = opener_here() };

	fake_proc_put(&tree, path, bytes, len);
	fd = debug_file_open(&roots, "/x/y", &wanted, &size);
	assert_true(fd >= 0);
	assert_int_equal(size, len);
	close(fd);
	/* A core dump holds somebody's memory. */
	((Elf64_Ehdr *)(void *)bytes)->e_type = ET_CORE;
	fake_proc_put(&tree, path, bytes, len);
	assert_int_equal(debug_file_open(&roots, "/x/y", &wanted, &size), -ENOEXEC);
	fake_proc_put(&tree, path, "root:secret:", 12);
	assert_int_equal(debug_file_open(&roots, "/x/y", &wanted, &size), -ENOEXEC);
	assert_int_equal(fake_proc_remove(&tree), 0);
}

static void names_that_a_container_chose_open_no_file_of_the_host(void **state)
{
	static const struct build_id id = { .bytes = { 0xab, 0xcd }, .len = 2 };
	static const char *const paths[DEBUG_FILE_PLACE_CNT] = {
		[DEBUG_FILE_BY_BUILD_ID] = "usr/lib/debug/.build-id/ab/cd.debug",
		[DEBUG_FILE_BESIDE] = "x/chosen",
		[DEBUG_FILE_DOT_DEBUG] = "x/.debug/chosen",
		[DEBUG_FILE_USR_LIB] = "usr/lib/debug/x/chosen",
	};
	static uint8_t bytes[TINY_ELF_MAX];
	const struct tiny_elf elf = { .symbol_cnt = 0 };
	size_t len = tiny_elf_write(&elf, bytes);
	struct fake_proc tree;
	uint64_t size;

	(void)state;
	assert_int_equal(fake_proc_make(&tree), 0);
	const struct debug_file_roots roots = { .container_fd = tree.fd,
						.host_fd = tree.fd,
						.opener = opener_here() };

	for (int place = 0; place < DEBUG_FILE_PLACE_CNT; place++) {
		struct debug_file_wanted wanted = { .place = (enum debug_file_place)place,
						    .id = &id,
						    .link_name = "chosen" };
		int fd;

		fake_proc_put(&tree, paths[place], bytes, len);
		fd = debug_file_open(&roots, "/x/y", &wanted, &size);
		assert_true(fd >= 0);
		close(fd);
		wanted.root = DEBUG_FILE_IN_HOST;
		fd = debug_file_open(&roots, "/x/y", &wanted, &size);
		if (place == DEBUG_FILE_BY_BUILD_ID) {
			assert_true(fd >= 0);
			close(fd);
		} else {
			assert_int_equal(fd, -ENOENT);
		}
	}
	assert_int_equal(fake_proc_remove(&tree), 0);
}

/* ---- programs in its place ---- */

static int __attribute__((noreturn)) main_that_spins(int socket_fd)
{
	begin(socket_fd);
	(void)take_request(socket_fd);
	for (volatile unsigned int i = 0;; i++)
		;
}

static int main_that_is_not_ready(int socket_fd)
{
	(void)socket_fd;
	return EPERM;
}

static int main_without_memory(int socket_fd)
{
	int err = 0;

	begin(socket_fd);
	while (!err) {
		err = take_request(socket_fd);
		if (!err)
			err = say(socket_fd, PARSER_MESSAGE_DONE, -ENOMEM, 0);
	}
	return 0;
}

static struct parser *parser_with(child_program_fn main)
{
	struct parser_limits limits = parser_limits_default;
	struct parser *parser;

	if (main == main_that_spins) {
		limits.request.tick_ms = 10;
		limits.request.max_cpu_ns = 20 * CLOCK_NS_PER_MS;
	}
	limits.start_burst = 3;
	limits.start_interval_ns = 3600 * CLOCK_NS_PER_S;
	assert_int_equal(parser__open_with(forking(main), &limits, opener_here(), &parser), 0);
	parser__charge(parser, account_of_host());
	return parser;
}

static void parser_that_fails_costs_one_answer(void **state)
{
	static const child_program_fn mains[] = { main_that_dies, main_that_spins };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(mains); i++) {
		__cleanup_strbuf struct strbuf name = STRBUF_INIT;
		struct parser *parser = parser_with(mains[i]);

		assert_int_equal(ask_elf(parser), -ENOTRECOVERABLE);
		assert_int_equal(stats_of(parser).failure_cnt, 1);
		assert_int_equal(stats_of(parser).pid, 0);
		/* A name stays as it is, and is one for good. */
		assert_int_equal(parser__demangle(parser, "_Z3foov@@X_1", 12, &name), 0);
		assert_string_equal(strbuf_str(&name), "_Z3foov");
		assert_int_equal(stats_of(parser).failure_cnt, 2);
		assert_int_equal(stats_of(parser).restart_cnt, 1);
		parser__free(parser);
	}
}

static int __attribute__((noreturn)) main_that_works_long(int socket_fd)
{
	uint64_t end_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + 200 * CLOCK_NS_PER_MS;

	begin(socket_fd);
	(void)take_request(socket_fd);
	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < end_ns)
		;
	_exit(say(socket_fd, PARSER_MESSAGE_DONE, -ENOEXEC, 0) != 0);
}

/* Ticks of the clock say nothing of a process that gets a tenth of a CPU. */
static void parser_that_waits_for_the_cpu_has_time(void **state)
{
	struct parser_limits limits = parser_limits_default;
	struct parser *parser;

	(void)state;
	limits.request.tick_ms = 10;
	limits.request.max_ticks = 4;
	limits.request.max_all_ticks = 6000;
	assert_int_equal(parser__open_with(forking(main_that_works_long), &limits, opener_here(),
					   &parser),
			 0);
	parser__charge(parser, account_of_host());
	assert_int_equal(ask_elf(parser), -ENOEXEC);
	assert_int_equal(stats_of(parser).failure_cnt, 0);
	parser__free(parser);
}

static int main_that_is_killed(int socket_fd)
{
	begin(socket_fd);
	(void)take_request(socket_fd);
	(void)kill(getpid(), SIGKILL);
	return 1;
}

/* The kernel does that when memory is short: the next one may read the same file. */
static void file_is_asked_for_again_when_its_parser_was_killed(void **state)
{
	struct parser *parser = parser_with(main_that_is_killed);

	(void)state;
	assert_int_equal(ask_elf(parser), -EAGAIN);
	assert_int_equal(stats_of(parser).failure_cnt, 1);
	assert_int_equal(stats_of(parser).pid, 0);
	parser__free(parser);
}

static void parser_that_fails_always_rests(void **state)
{
	struct parser *parser = parser_with(main_that_dies);
	__cleanup_strbuf struct strbuf name = STRBUF_INIT;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(ask_elf(parser), -ENOTRECOVERABLE);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ask_elf(parser), -EAGAIN);
	assert_int_equal(parser__demangle(parser, "_Z3foov", 7, &name), -EAGAIN);
	assert_string_equal(strbuf_str(&name), "_Z3foov");
	assert_int_equal(stats_of(parser).failure_cnt, 4);
	assert_int_equal(stats_of(parser).restart_cnt, 3);
	parser__free(parser);
}

static void parser_is_started_again_after_a_rest(void **state)
{
	struct parser_limits limits = parser_limits_default;
	struct parser *parser;

	(void)state;
	limits.start_burst = 1;
	limits.start_interval_ns = 1;
	assert_int_equal(
		parser__open_with(forking(main_that_dies), &limits, opener_here(), &parser), 0);
	parser__charge(parser, account_of_host());
	for (int i = 0; i < 10; i++)
		assert_int_equal(ask_elf(parser), -ENOTRECOVERABLE);
	assert_int_equal(stats_of(parser).restart_cnt, 9);
	parser__free(parser);
}

static void parser_killed_between_requests_is_nobodys_fault(void **state)
{
	struct parser *parser = parser_real();
	pid_t pid = stats_of(parser).pid;
	siginfo_t info;

	(void)state;
	assert_int_equal(kill(pid, SIGKILL), 0);
	/* Dead, but not reaped. */
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(ask_elf(parser), 0);
	assert_int_equal(stats_of(parser).failure_cnt, 0);
	assert_int_equal(stats_of(parser).restart_cnt, 1);
	assert_true(stats_of(parser).pid != pid);
	parser__free(parser);
}

static void parser_out_of_memory_goes_on(void **state)
{
	struct parser *parser = parser_with(main_without_memory);
	pid_t pid = stats_of(parser).pid;

	(void)state;
	/* Not -ENOMEM: that would be the profiler's own. */
	assert_int_equal(ask_elf(parser), -ENOTRECOVERABLE);
	assert_int_equal(ask_elf(parser), -ENOTRECOVERABLE);
	assert_int_equal(stats_of(parser).failure_cnt, 2);
	assert_int_equal(stats_of(parser).pid, pid);
	parser__free(parser);
}

static void parser_that_cannot_begin_says_why(void **state)
{
	struct parser *parser;

	(void)state;
	assert_int_equal(parser__open_with(forking(main_that_is_not_ready), &parser_limits_default,
					   opener_here(), &parser),
			 -EPERM);
	parser__free(NULL);
}

/* ---- lies ---- */

static size_t lie; /* which of them the program tells; set before it is started */

static void write_reply(const void *bytes, size_t len)
{
	(void)fs_write_all(fds[1], bytes, len);
}

static int send_wanted(int socket_fd, uint64_t place, uint64_t root, const char *text, size_t len)
{
	message.kind = PARSER_MESSAGE_WANTS;
	message.err = 0;
	message.numbers[0] = place;
	message.numbers[1] = root;
	message.text_len = len;
	memcpy(message.text, text, len);
	return parser_message_send(socket_fd, &message, NULL, 0);
}

static void tell_lie(int socket_fd)
{
	static const char zeros[64];
	int file_fd = fds[0];

	switch (lie) {
	case 0: /* another request's answer */
		message.id++;
		(void)say(socket_fd, PARSER_MESSAGE_DONE, 0, 0);
		break;
	case 1: /* no such message */
		(void)say(socket_fd, 77, 0, 0);
		break;
	case 2: /* errors that are none */
		(void)say(socket_fd, PARSER_MESSAGE_DONE, 5, 0);
		break;
	case 3:
		(void)say(socket_fd, PARSER_MESSAGE_DONE, -70000, 0);
		break;
	case 4: /* a table that is not there */
		(void)say(socket_fd, PARSER_MESSAGE_DONE, 0, 1u << 20);
		break;
	case 5: /* larger than anything */
		(void)say(socket_fd, PARSER_MESSAGE_DONE, 0, UINT64_MAX);
		break;
	case 6: /* longer than it says */
		write_reply(zeros, 64);
		(void)say(socket_fd, PARSER_MESSAGE_DONE, 0, 40);
		break;
	case 7: /* garbage */
		write_reply("garbage, garbage, garbage, garbage, and some", 44);
		(void)say(socket_fd, PARSER_MESSAGE_DONE, 0, 44);
		break;
	case 8: /* not yes and not no */
		write_reply(zeros, 40);
		message.kind = PARSER_MESSAGE_DONE;
		memset(message.numbers, 0, sizeof(message.numbers));
		message.err = 0;
		message.numbers[0] = 40;
		message.numbers[1] = 2;
		message.text_len = 0;
		(void)parser_message_send(socket_fd, &message, NULL, 0);
		break;
	case 9: /* a descriptor that nobody asked for */
		message.kind = PARSER_MESSAGE_DONE;
		message.text_len = 0;
		(void)parser_message_send(socket_fd, &message, &file_fd, 1);
		break;
	case 10: /* half a message */
		(void)write(socket_fd, &message, 20);
		break;
	case 11: /* more text than there is */
		message.kind = PARSER_MESSAGE_DONE;
		message.text_len = 4000;
		(void)write(socket_fd, &message, offsetof(struct parser_message, text) + 10);
		break;
	case 12: /* files of others */
		(void)send_wanted(socket_fd, DEBUG_FILE_BESIDE, 1, "../../etc/shadow", 16);
		break;
	case 13:
		(void)send_wanted(socket_fd, DEBUG_FILE_BESIDE, 1, "..", 2);
		break;
	case 14:
		(void)send_wanted(socket_fd, DEBUG_FILE_BESIDE, 1, "a\0b", 3);
		break;
	case 15:
		(void)send_wanted(socket_fd, DEBUG_FILE_PLACE_CNT, 0, "x", 1);
		break;
	case 16:
		(void)send_wanted(socket_fd, DEBUG_FILE_BESIDE, 2, "x", 1);
		break;
	case 17:
		(void)send_wanted(socket_fd, DEBUG_FILE_BY_BUILD_ID, 0, message.text, 65);
		break;
	default: /* for ever */
		for (;;)
			if (send_wanted(socket_fd, DEBUG_FILE_BESIDE, 0, "x", 1))
				_exit(1);
	}
}

#define LIE_CNT 19u

static int main_that_lies(int socket_fd)
{
	begin(socket_fd);
	if (take_request(socket_fd))
		return 1;
	tell_lie(socket_fd);
	for (;;)
		(void)pause();
}

static void parser_that_lies_is_not_believed(void **state)
{
	(void)state;
	for (lie = 0; lie < LIE_CNT; lie++) {
		struct parser *parser = parser_with(main_that_lies);

		if (ask_elf(parser) != -ENOTRECOVERABLE)
			fail_msg("lie %zu was believed", lie);
		assert_int_equal(stats_of(parser).failure_cnt, 1);
		assert_int_equal(stats_of(parser).pid, 0);
		parser__free(parser);
	}
}

/* Words that are no table, and more rows than there are. */
static int main_with_a_bad_table(int socket_fd)
{
	const uint32_t words[] = { 1 << JBPF_UNWIND_PAGE_CNT_BITS, 8 };

	begin(socket_fd);
	if (take_request(socket_fd))
		return 1;
	write_reply(words, lie);
	message.kind = PARSER_MESSAGE_DONE;
	message.err = 0;
	message.text_len = 0;
	memset(message.numbers, 0, sizeof(message.numbers));
	message.numbers[0] = lie;
	message.numbers[2] = 1;
	message.numbers[3] = 1;
	(void)parser_message_send(socket_fd, &message, NULL, 0);
	(void)pause();
	return 0;
}

static void unwind_tables_that_are_none_are_not_taken(void **state)
{
	static const size_t lengths[] = { 3, 4, 8 };
	const struct debug_file_roots roots = { .container_fd = -1,
						.host_fd = -1,
						.opener = opener_here() };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct unwind_table table = { 0 };
		struct parser *parser;
		int fd = simple_elf();

		lie = lengths[i];
		parser = parser_with(main_with_a_bad_table);
		assert_int_equal(parser__unwind(parser, fd, "/x", &roots, &table),
				 -ENOTRECOVERABLE);
		assert_null(table.words);
		assert_int_equal(stats_of(parser).failure_cnt, 1);
		parser__free(parser);
		close(fd);
	}
}

/* A table, which is another one when the next request comes. */
static int main_that_goes_on_writing(int socket_fd)
{
	const uint32_t words[] = { 1 << JBPF_UNWIND_PAGE_CNT_BITS,
				   jbpf_row(0, JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_NONE) };
	uint32_t *view;

	begin(socket_fd);
	if (take_request(socket_fd))
		return 1;
	write_reply(words, sizeof(words));
	view = mmap(NULL, sizeof(words), PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
	memset(&message, 0, offsetof(struct parser_message, text));
	message.id = 1;
	message.kind = PARSER_MESSAGE_DONE;
	message.numbers[0] = sizeof(words);
	message.numbers[2] = 1;
	message.numbers[3] = 1;
	if (view == MAP_FAILED || parser_message_send(socket_fd, &message, NULL, 0) ||
	    take_request(socket_fd))
		return 1;
	memset(view, 0xff, sizeof(words));
	(void)say(socket_fd, PARSER_MESSAGE_DONE, -ENODATA, 0);
	(void)pause();
	return 0;
}

static void nothing_that_is_written_after_an_answer_changes_it(void **state)
{
	const struct debug_file_roots roots = { .container_fd = -1,
						.host_fd = -1,
						.opener = opener_here() };
	struct parser *parser = parser_with(main_that_goes_on_writing);
	struct unwind_table table = { 0 }, none = { 0 };
	int fd = simple_elf();

	(void)state;
	assert_int_equal(parser__unwind(parser, fd, "/x", &roots, &table), 0);
	assert_int_equal(parser__unwind(parser, fd, "/x", &roots, &none), -ENODATA);
	assert_int_equal(table.word_cnt, 2);
	assert_true(unwind_table_is_valid(&table));
	unwind_table_release(&table);
	parser__free(parser);
	close(fd);
}

static int main_with_a_bad_name(int socket_fd)
{
	begin(socket_fd);
	if (take_request(socket_fd))
		return 1;
	message.kind = PARSER_MESSAGE_DONE;
	message.text_len = lie;
	memcpy(message.text, "a\0b", 3);
	(void)parser_message_send(socket_fd, &message, NULL, 0);
	(void)pause();
	return 0;
}

static void names_that_are_none_are_not_taken(void **state)
{
	static const size_t lengths[] = { 0, 3 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		__cleanup_strbuf struct strbuf name = STRBUF_INIT;
		struct parser *parser;

		lie = lengths[i];
		parser = parser_with(main_with_a_bad_name);
		assert_int_equal(parser__demangle(parser, "_Z3foov", 7, &name), 0);
		assert_string_equal(strbuf_str(&name), "_Z3foov");
		assert_int_equal(stats_of(parser).failure_cnt, 1);
		parser__free(parser);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parser_reads_functions_as_one_would_here),
		cmocka_unit_test(parser_makes_unwind_tables_as_one_would_here),
		cmocka_unit_test(parser_reads_perf_maps_as_one_would_here),
		cmocka_unit_test(parser_demangles_as_one_would_here),
		cmocka_unit_test(parser_without_jvm_symbols_says_so),
		cmocka_unit_test(parser_gets_debug_files_of_the_right_build_id),
		cmocka_unit_test(debug_files_are_programs_or_nothing),
		cmocka_unit_test(names_that_a_container_chose_open_no_file_of_the_host),
		cmocka_unit_test(parser_that_fails_costs_one_answer),
		cmocka_unit_test(parser_that_waits_for_the_cpu_has_time),
		cmocka_unit_test(file_is_asked_for_again_when_its_parser_was_killed),
		cmocka_unit_test(parser_that_fails_always_rests),
		cmocka_unit_test(parser_is_started_again_after_a_rest),
		cmocka_unit_test(parser_killed_between_requests_is_nobodys_fault),
		cmocka_unit_test(parser_out_of_memory_goes_on),
		cmocka_unit_test(parser_that_cannot_begin_says_why),
		cmocka_unit_test(parser_that_lies_is_not_believed),
		cmocka_unit_test(names_that_are_none_are_not_taken),
		cmocka_unit_test(unwind_tables_that_are_none_are_not_taken),
		cmocka_unit_test(nothing_that_is_written_after_an_answer_changes_it),
	};

	return cmocka_run_group_tests(tests, quiet, NULL);
}
