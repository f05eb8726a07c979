// SPDX-License-Identifier: Apache-2.0
/* Who pays for what the parser process does, that it serves one account at a time, and whose a failure is. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbols/names/object_cache.h"
#include "symbols/parser/parser_child.h"
#include "tests/unit/fake_proc.h"
#include "tests/unit/here.h"
#include "tests/unit/symbols/parser/parser_testing.h"
#include "user/sandbox/child_process.h"
#include "user/util/account.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

/* ---- accounts ---- */

static struct accounts *accounts;
static struct account *one, *other;

static int accounts_make(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	accounts = accounts__new();
	if (!accounts)
		return -1;
	one = accounts__get(accounts, 1, "one");
	other = accounts__get(accounts, 2, "other");
	return one && other ? 0 : -1;
}

static int accounts_remove(void **state)
{
	(void)state;
	accounts__free(accounts);
	return 0;
}

/* What one container's file may have made of the process is not there when another's is parsed. */
static void parser_process_sees_files_of_one_account_only(void **state)
{
	struct parser *parser = parser_real();
	pid_t first = stats_of(parser).pid, second;

	(void)state;
	parser__charge(parser, one);
	assert_int_equal(ask_elf(parser), 0);
	assert_int_equal(ask_elf(parser), 0);
	assert_int_equal(stats_of(parser).pid, first);
	parser__charge(parser, other);
	assert_int_equal(stats_of(parser).pid, first);
	assert_int_equal(ask_elf(parser), 0);
	second = stats_of(parser).pid;
	assert_int_not_equal(second, first);
	parser__charge(parser, account_of_host());
	assert_int_equal(ask_elf(parser), 0);
	assert_int_not_equal(stats_of(parser).pid, second);
	/* No start that a failure would lack then. */
	assert_int_equal(stats_of(parser).renewal_cnt, 2);
	assert_int_equal(stats_of(parser).restart_cnt, 0);
	parser__free(parser);
}

static int run_parser(int socket_fd, const void *ctx)
{
	(void)ctx;
	return parser_child_main(socket_fd);
}

/* As the launcher does it. */
static int start_here(void *ctx, int *socket_out, pid_t *pid_out)
{
	(void)ctx;
	return child_process_start(run_parser, NULL, socket_out, pid_out);
}

static int end_here(void *ctx, pid_t pid)
{
	(void)ctx;
	return child_process_end(pid, CHILD_WAITS_FOREVER);
}

/* The start of one for another account is no failure's, and those after it are limited as before. */
static void starts_by_another_process_are_counted_as_ones_own(void **state)
{
	const struct child_starter starter = { .start = start_here, .end = end_here };
	struct parser *parser;
	siginfo_t info;
	pid_t pid;

	(void)state;
	assert_int_equal(parser__open(&starter, opener_here(), &parser), 0);
	parser__charge(parser, one);
	assert_int_equal(ask_elf(parser), 0);
	parser__charge(parser, other);
	assert_int_equal(ask_elf(parser), 0);
	assert_int_equal(stats_of(parser).renewal_cnt, 1);
	assert_int_equal(stats_of(parser).restart_cnt, 0);
	pid = stats_of(parser).pid;
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(ask_elf(parser), 0);
	assert_int_equal(stats_of(parser).renewal_cnt, 1);
	assert_int_equal(stats_of(parser).restart_cnt, 1);
	parser__free(parser);
}

/* As a copy of the process has it. */
static int in_copy(struct parser *parser, pid_t original)
{
	parser__forget_process(parser);
	if (stats_of(parser).pid || kill(original, 0))
		return 1;
	if (ask_elf(parser) || stats_of(parser).pid == original)
		return 2;
	return stats_of(parser).restart_cnt ? 3 : 0;
}

static void a_copy_starts_a_parser_of_its_own_and_leaves_that_of_the_original(void **state)
{
	struct parser *parser = parser_real();
	pid_t original = stats_of(parser).pid, copy;
	int status;

	(void)state;
	assert_int_equal(ask_elf(parser), 0);
	copy = fork();
	if (copy == 0)
		_exit(in_copy(parser, original));
	assert_int_equal(waitpid(copy, &status, 0), copy);
	assert_int_equal(status, 0);
	assert_int_equal(ask_elf(parser), 0);
	assert_int_equal(stats_of(parser).pid, original);
	parser__free(parser);
}

static void files_that_fail_leave_the_parser_to_other_accounts(void **state)
{
	struct parser *parser;
	size_t failure_cnt = 0;

	(void)state;
	assert_int_equal(parser__open_with(forking(main_that_dies), &parser_limits_default,
					   opener_here(), &parser),
			 0);
	parser__charge(parser, one);
	for (int i = 0; i < 50; i++)
		failure_cnt += ask_elf(parser) == -ENOTRECOVERABLE;
	assert_int_equal(failure_cnt, ACCOUNT_FAILURES_BURST);
	assert_int_equal(ask_elf(parser), -EAGAIN);
	assert_true(account__cut_cnt(one, ACCOUNT_CUT_FILES) > 0);
	parser__charge(parser, other);
	assert_int_equal(ask_elf(parser), -ENOTRECOVERABLE);
	assert_int_equal(account__cut_cnt(other, ACCOUNT_CUT_FILES), 0);
	parser__free(parser);
}

static int main_that_is_killed(int socket_fd)
{
	begin(socket_fd);
	(void)take_request(socket_fd);
	(void)kill(getpid(), SIGKILL);
	return 1;
}

/* As the kernel does when memory is short: whose file it was is said, though it may be tried again. */
static void a_parser_that_is_killed_is_on_the_bill_of_whose_file_it_read(void **state)
{
	char bill[ACCOUNT_BILL_BYTES];
	struct parser *parser;

	(void)state;
	assert_int_equal(parser__open_with(forking(main_that_is_killed), &parser_limits_default,
					   opener_here(), &parser),
			 0);
	parser__charge(parser, one);
	assert_int_equal(ask_elf(parser), -EAGAIN);
	account__bill(one, bill, sizeof(bill));
	assert_string_equal(bill, "files that the parser failed at: 1");
	account__bill(other, bill, sizeof(bill));
	assert_string_equal(bill, "");
	parser__free(parser);
}

static void account_without_credit_waits_and_others_are_served(void **state)
{
	__cleanup_strbuf struct strbuf name = STRBUF_INIT;
	struct parser *parser = parser_real();

	(void)state;
	account__spend(one, ACCOUNT_CPU_BURST_NS * 2, clock_boot_ns());
	parser__charge(parser, one);
	assert_int_equal(ask_elf(parser), -EAGAIN);
	assert_int_equal(parser__demangle(parser, "_Z3foov", 7, &name), -EAGAIN);
	assert_int_equal(stats_of(parser).request_cnt, 0);
	parser__charge(parser, other);
	assert_int_equal(ask_elf(parser), 0);
	parser__free(parser);
}

static int main_that_knows_a_jvm(int socket_fd)
{
	int err = 0;

	begin(socket_fd);
	while (!err) {
		err = take_request(socket_fd);
		if (!err)
			err = say(socket_fd, PARSER_MESSAGE_DONE, 0, 0x1234);
	}
	return 0;
}

/* A JVM that never fills its tables is asked for up to a thousand times. */
static void jvm_symbols_of_one_file_are_parsed_once(void **state)
{
	struct libjvm_mapping mapping = { .map.start = 0x1000, .map.end = 0x2000 };
	struct vm_symbols symbols;
	struct parser *parser = NULL;
	int fd = simple_elf();

	(void)state;
	assert_int_equal(parser__open_with(forking(main_that_knows_a_jvm), &parser_limits_default,
					   opener_here(), &parser),
			 0);
	parser__charge(parser, account_of_host());
	for (int i = 0; i < 100; i++) {
		memset(&symbols, 0, sizeof(symbols));
		assert_int_equal(parser__libjvm(parser, fd, &mapping, &symbols), 0);
		assert_int_equal(symbols.addresses[0], 0x1234);
	}
	assert_int_equal(stats_of(parser).request_cnt, 1);
	/* Mapped elsewhere, or changed. */
	mapping.map.start = 0x3000;
	assert_int_equal(parser__libjvm(parser, fd, &mapping, &symbols), 0);
	assert_int_equal(stats_of(parser).request_cnt, 2);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(ftruncate(fd, 100), 0);
	assert_int_equal(parser__libjvm(parser, fd, &mapping, &symbols), 0);
	assert_int_equal(stats_of(parser).request_cnt, 3);
	parser__free(parser);
	close(fd);
}

/* Takes as much memory for a while as the JVM's mapping is long. */
static int main_that_takes_memory(int socket_fd)
{
	int err = 0;

	begin(socket_fd);
	while (!err) {
		uint64_t len;
		void *taken;

		err = take_request(socket_fd);
		len = message.numbers[2] - message.numbers[1];
		taken = mmap(NULL, len, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (taken == MAP_FAILED)
			return 1;
		munmap(taken, len);
		if (!err)
			err = say(socket_fd, PARSER_MESSAGE_DONE, 0, 0x1234);
	}
	return 0;
}

static void ask_jvm_of_size(struct parser *parser, uint64_t bytes)
{
	const struct libjvm_mapping mapping = { .map.start = 0x1000, .map.end = 0x1000 + bytes };
	struct vm_symbols symbols;
	int fd = simple_elf();

	assert_int_equal(parser__libjvm(parser, fd, &mapping, &symbols), 0);
	close(fd);
}

static void memory_that_a_file_takes_for_a_moment_is_on_its_accounts_bill(void **state)
{
	char cost[ACCOUNT_COST_BYTES];
	struct parser *parser = NULL;

	(void)state;
	assert_int_equal(parser__open_with(forking(main_that_takes_memory), &parser_limits_default,
					   opener_here(), &parser),
			 0);
	parser__charge(parser, one);
	ask_jvm_of_size(parser, 8 << 20);
	account__cost(one, cost, sizeof(cost));
	assert_string_equal(cost, "");
	ask_jvm_of_size(parser, 64 << 20);
	account__cost(one, cost, sizeof(cost));
	assert_non_null(strstr(cost, "memory while one of its files was read: 6"));
	/* In the next window it reads a small one. */
	accounts__begin_window(accounts, clock_boot_ns());
	ask_jvm_of_size(parser, 8 << 20);
	account__cost(one, cost, sizeof(cost));
	assert_string_equal(cost, "");
	parser__charge(parser, other);
	ask_jvm_of_size(parser, 8 << 20);
	account__cost(other, cost, sizeof(cost));
	assert_string_equal(cost, "");
	parser__free(parser);
}

/* Whoever takes the process over may lie about a file that others have, too. */
static void jvm_symbols_that_one_account_had_are_not_anothers(void **state)
{
	const struct libjvm_mapping mapping = { .map.start = 0x1000, .map.end = 0x2000 };
	struct account *const payers[] = { one, other, account_of_host(),
					   one, other, account_of_host() };
	struct vm_symbols symbols;
	struct parser *parser = NULL;
	int fd = simple_elf();

	(void)state;
	assert_int_equal(parser__open_with(forking(main_that_knows_a_jvm), &parser_limits_default,
					   opener_here(), &parser),
			 0);
	for (size_t i = 0; i < ARRAY_SIZE(payers); i++) {
		parser__charge(parser, payers[i]);
		assert_int_equal(parser__libjvm(parser, fd, &mapping, &symbols), 0);
		assert_int_equal(stats_of(parser).request_cnt, i < 3 ? i + 1 : 3);
	}
	parser__free(parser);
	close(fd);
}

static int ask_container(struct parser *parser, const char *text, struct container_json *out)
{
	int fd = file_of(text, strlen(text));
	int err = parser__container(parser, fd, CONTAINER_JSON_STORAGE, "b", out);

	close(fd);
	return err;
}

static void containers_of_users_are_read_as_one_would_here(void **state)
{
	static const char *const texts[] = { "[{\"id\":\"a\"},{\"id\":\"b\",\"names\":[\"anns\"]}]",
					     "[{\"id\":\"a\"}]", "no JSON", "" };
	struct parser *parser = parser_real();
	struct container_json here, apart;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		int fd = file_of(texts[i], strlen(texts[i]));

		assert_int_equal(container_here(fd, CONTAINER_JSON_STORAGE, "b", &here), 0);
		close(fd);
		assert_int_equal(ask_container(parser, texts[i], &apart), 0);
		assert_memory_equal(&here, &apart, sizeof(here));
		assert_int_equal(apart.has_entry, i == 0);
	}
	assert_int_equal(ask_container(parser, texts[0], &apart), 0);
	assert_string_equal(apart.name, "anns");
	assert_int_equal(stats_of(parser).request_cnt, ARRAY_SIZE(texts) + 1);
	parser__free(parser);
}

static int main_that_lies_of_containers(int socket_fd)
{
	struct container_json json;

	begin(socket_fd);
	memset(&json, 'x', sizeof(json));
	if (take_request(socket_fd) || fs_write_all(fds[1], &json, sizeof(json)))
		return 1;
	return say(socket_fd, PARSER_MESSAGE_DONE, 0, sizeof(json));
}

static void containers_that_make_no_sense_are_not_believed(void **state)
{
	struct container_json json;
	struct parser *parser;

	(void)state;
	assert_int_equal(parser__open_with(forking(main_that_lies_of_containers),
					   &parser_limits_default, opener_here(), &parser),
			 0);
	parser__charge(parser, account_of_host());
	assert_int_equal(ask_container(parser, "[]", &json), -ENOTRECOVERABLE);
	parser__free(parser);
}

/* ---- debug files ---- */

/* Asks for the container's debug file, and dies of it. */
static int main_that_dies_of_debug_files(int socket_fd)
{
	static const uint8_t build_id[] = { 0xab, 0xcd };
	size_t fd_cnt;

	begin(socket_fd);
	while (take_request(socket_fd) == 0) {
		message.kind = PARSER_MESSAGE_WANTS;
		message.numbers[0] = DEBUG_FILE_BY_BUILD_ID;
		message.numbers[1] = DEBUG_FILE_IN_CONTAINER;
		message.text_len = sizeof(build_id);
		memcpy(message.text, build_id, sizeof(build_id));
		if (parser_message_send(socket_fd, &message, NULL, 0) ||
		    parser_message_receive(socket_fd, 0, &message, fds, &fd_cnt))
			return 1;
		(void)signal(SIGSEGV, SIG_DFL);
		if (fd_cnt)
			(void)raise(SIGSEGV);
		(void)say(socket_fd, PARSER_MESSAGE_DONE, -ENOEXEC, 0);
	}
	return 0;
}

/* The library itself can be read, as everybody has it. */
static void a_library_that_cannot_be_parsed_for_ones_debug_file_can_be_for_others(void **state)
{
	static const struct tiny_elf elf = { .is_dynsym = true };
	static uint8_t bytes[TINY_ELF_MAX];
	struct object_cache *cache;
	struct object *own, *shared;
	struct parser *parser;
	struct fake_proc tree;
	struct stat st;
	int fd = simple_elf();

	(void)state;
	assert_int_equal(fstat(fd, &st), 0);
	st.st_dev = makedev(8, 1); /* a disk, whose files are everybody's */
	assert_int_equal(fake_proc_make(&tree), 0);
	fake_proc_put(&tree, "usr/lib/debug/.build-id/ab/cd.debug", bytes,
		      tiny_elf_write(&elf, bytes));
	const struct debug_file_roots with = { .container_fd = tree.fd,
					       .host_fd = -1,
					       .opener = opener_here() };

	assert_int_equal(parser__open_with(forking(main_that_dies_of_debug_files),
					   &parser_limits_default, opener_here(), &parser),
			 0);
	cache = object_cache__new(0, parser);
	own = object_cache__get(cache, &st, one);
	assert_int_equal(object_cache__load(cache, &own, fd, "/x/y", &with, one), -ENOTRECOVERABLE);
	assert_false(object_needs_load(own));
	/* Never again for the one ... */
	assert_ptr_equal(object_cache__get(cache, &st, one), own);
	/* ... and for the other one as if nothing had been. */
	shared = object_cache__get(cache, &st, other);
	assert_ptr_not_equal(shared, own);
	assert_true(object_needs_load(shared));
	assert_int_equal(object_cache__load(cache, &shared, fd, "/x/y", &nowhere, other), 0);
	assert_false(object_needs_load(shared));
	assert_int_equal(stats_of(parser).failure_cnt, 1);
	object_cache__free(cache);
	parser__free(parser);
	close(fd);
	assert_int_equal(fake_proc_remove(&tree), 0);
}

static int __attribute__((noreturn)) main_that_waits(int socket_fd)
{
	begin(socket_fd);
	(void)take_request(socket_fd);
	for (;;)
		(void)pause();
}

static struct parser *parser_that_waits(uint64_t rest_ns)
{
	struct parser_limits limits = parser_limits_default;
	struct parser *parser;

	limits.request.tick_ms = 10;
	limits.rest_ns = rest_ns;
	assert_int_equal(
		parser__open_with(forking(main_that_waits), &limits, opener_here(), &parser), 0);
	parser__charge(parser, one);
	return parser;
}

static int ask_again(struct parser *parser, int fd)
{
	struct elf_object object;

	return parser__elf(parser, fd, "/usr/lib/libx.so", &nowhere, &object);
}

/* A disk that is busy for a second says nothing about the file, and a server that hangs must not be asked in each window. */
static void file_that_does_not_come_in_time_rests_and_is_asked_for_again(void **state)
{
	struct parser *parser = parser_that_waits(3600 * CLOCK_NS_PER_S);
	int fd = simple_elf();

	(void)state;
	assert_int_equal(ask_again(parser, fd), -EAGAIN);
	assert_int_equal(stats_of(parser).pid, 0);
	assert_int_equal(stats_of(parser).request_cnt, 1);
	assert_int_equal(ask_again(parser, fd), -EAGAIN);
	assert_int_equal(stats_of(parser).request_cnt, 1);
	/* Another file does not rest, nor does this one for others. */
	assert_int_equal(ask_elf(parser), -EAGAIN);
	assert_int_equal(stats_of(parser).request_cnt, 2);
	parser__charge(parser, other);
	assert_int_equal(ask_again(parser, fd), -EAGAIN);
	assert_int_equal(stats_of(parser).request_cnt, 3);
	parser__free(parser);

	parser = parser_that_waits(1);
	assert_int_equal(ask_again(parser, fd), -EAGAIN);
	assert_int_equal(ask_again(parser, fd), -EAGAIN);
	assert_int_equal(stats_of(parser).request_cnt, 2);
	assert_int_equal(stats_of(parser).failure_cnt, 2);
	parser__free(parser);
	close(fd);
}

/* As where a server never answers what it was asked: the kernel ends no process that waits for that. */
static int end_in_vain(void *ctx, pid_t pid)
{
	(void)ctx;
	(void)child_process_end(pid, FORKING_END_WAIT_MS);
	return -EBUSY;
}

/* Each attempt would leave another process for ever. */
static void file_whose_reader_cannot_be_ended_is_not_asked_for_again(void **state)
{
	struct parser_limits limits = parser_limits_default;
	struct child_starter starter = *forking(main_that_waits);
	struct parser *parser;
	int fd = simple_elf();

	(void)state;
	limits.request.tick_ms = 10;
	starter.end = end_in_vain;
	assert_int_equal(parser__open_with(&starter, &limits, opener_here(), &parser), 0);
	parser__charge(parser, one);
	assert_int_equal(ask_again(parser, fd), -ENOTRECOVERABLE);
	parser__free(parser);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(starts_by_another_process_are_counted_as_ones_own,
						accounts_make, accounts_remove),
		cmocka_unit_test_setup_teardown(parser_process_sees_files_of_one_account_only,
						accounts_make, accounts_remove),
		cmocka_unit_test_setup_teardown(files_that_fail_leave_the_parser_to_other_accounts,
						accounts_make, accounts_remove),
		cmocka_unit_test_setup_teardown(
			a_parser_that_is_killed_is_on_the_bill_of_whose_file_it_read, accounts_make,
			accounts_remove),
		cmocka_unit_test_setup_teardown(account_without_credit_waits_and_others_are_served,
						accounts_make, accounts_remove),
		cmocka_unit_test(a_copy_starts_a_parser_of_its_own_and_leaves_that_of_the_original),
		cmocka_unit_test_setup_teardown(
			memory_that_a_file_takes_for_a_moment_is_on_its_accounts_bill,
			accounts_make, accounts_remove),
		cmocka_unit_test(jvm_symbols_of_one_file_are_parsed_once),
		cmocka_unit_test_setup_teardown(jvm_symbols_that_one_account_had_are_not_anothers,
						accounts_make, accounts_remove),
		cmocka_unit_test(containers_of_users_are_read_as_one_would_here),
		cmocka_unit_test(containers_that_make_no_sense_are_not_believed),
		cmocka_unit_test_setup_teardown(
			a_library_that_cannot_be_parsed_for_ones_debug_file_can_be_for_others,
			accounts_make, accounts_remove),
		cmocka_unit_test_setup_teardown(
			file_that_does_not_come_in_time_rests_and_is_asked_for_again, accounts_make,
			accounts_remove),
		cmocka_unit_test_setup_teardown(
			file_whose_reader_cannot_be_ended_is_not_asked_for_again, accounts_make,
			accounts_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
