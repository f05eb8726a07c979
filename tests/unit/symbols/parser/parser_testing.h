/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the parser process from outside: files to parse, the real process, and programs that
 * run in its place. Include after <cmocka.h>, once in a program.
 */
#ifndef JBPF_TESTS_PARSER_TESTING_H
#define JBPF_TESTS_PARSER_TESTING_H

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "symbols/parser/parser_child.h"
#include "symbols/parser/parser_internal.h"
#include "tests/unit/forking.h"
#include "tests/unit/open_here.h"
#include "tests/unit/tiny_elf.h"
#include "user/util/account.h"
#include "user/util/fs.h"

static const struct debug_file_roots nowhere = { .container_fd = -1, .host_fd = -1 };

static inline int file_of(const void *bytes, size_t len)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, bytes, len), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static inline int elf_of(const struct tiny_elf *elf)
{
	static uint8_t bytes[TINY_ELF_MAX];
	size_t len = tiny_elf_write(elf, bytes);

	return file_of(bytes, len);
}

static inline int simple_elf(void)
{
	static const struct tiny_symbol symbol = { .name = "work", .at = 0x10, .size = 16 };
	const struct tiny_elf elf = { .symbols = &symbol, .symbol_cnt = 1 };

	return elf_of(&elf);
}

static inline struct parser *parser_real(void)
{
	struct parser *parser;

	assert_int_equal(parser__open(forking(parser_child_main), opener_here(), &parser), 0);
	parser__charge(parser, account_of_host());
	return parser;
}

static inline struct parser_stats stats_of(const struct parser *parser)
{
	struct parser_stats stats;

	parser__stats(parser, &stats);
	return stats;
}

static struct parser_message message; /* of the child */
static int fds[PARSER_MAX_FDS];

static inline int say(int socket_fd, uint32_t kind, int32_t err, uint64_t number)
{
	message.kind = kind;
	message.err = err;
	message.text_len = 0;
	memset(message.numbers, 0, sizeof(message.numbers));
	message.numbers[0] = number;
	return parser_message_send(socket_fd, &message, NULL, 0);
}

/* Nothing of it stays behind, whatever becomes of the test. */
static inline void begin(int socket_fd)
{
	const struct rlimit no_core = { 0 };

	(void)setrlimit(RLIMIT_CORE, &no_core);
	(void)alarm(60);
	(void)say(socket_fd, PARSER_MESSAGE_READY, 0, 0);
}

static inline int take_request(int socket_fd)
{
	size_t fd_cnt;

	return parser_message_receive(socket_fd, 0, &message, fds, &fd_cnt);
}

static inline int main_that_dies(int socket_fd)
{
	begin(socket_fd);
	(void)take_request(socket_fd);
	(void)signal(SIGSEGV, SIG_DFL);
	(void)raise(SIGSEGV);
	return 1;
}

static inline int ask_elf(struct parser *parser)
{
	struct elf_object object = { .symtab = NULL };
	int fd = simple_elf();
	int err = parser__elf(parser, fd, "/usr/lib/libx.so", &nowhere, &object);

	elf_symtab__free(object.symtab);
	close(fd);
	return err;
}

#endif
