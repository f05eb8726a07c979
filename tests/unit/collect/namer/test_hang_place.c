// SPDX-License-Identifier: Apache-2.0
/* Which file a process waits for that reads another's memory: from what /proc says of both. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/unit/fake_proc.h"
#include "user/collect/namer/hang_place.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define HANGING	  10u
#define OVER	  20u
#define PRESENT	  (1ull << 63)
#define IOV_AT	  0x2000u
#define FILE_PAGE 0x7000u
#define MAPS                                                              \
	"5000-7000 rw-p 00000000 00:00 0 \n"                              \
	"7000-8000 rw-s 00001000 00:2a 2        /tmp/hang/program\n"      \
	"8000-9000 r--p 00000000 00:2b 3        /usr/lib/a b (deleted)\n" \
	"9000-a000 rw-p 00000000 00:00 0        [heap]\n"

static struct fake_proc proc;
static uint64_t tick_ns;

/* The page of an address is there, or not. */
static void put_page(uint64_t address, uint64_t entry)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	int fd = openat(proc.fd, "20/pagemap", O_RDWR);

	assert_int_equal(pwrite(fd, &entry, sizeof(entry), (off_t)(address / page_bytes * 8)), 8);
	close(fd);
}

static int setup(void **state)
{
	(void)state;
	if (fake_proc_make(&proc))
		return -1;
	tick_ns = CLOCK_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	fake_proc_process(&proc, HANGING, 5, HANGING, 0);
	fake_proc_process(&proc, OVER, 7, 1, 1000);
	fake_proc_text(&proc, "20/maps", "%s", MAPS);
	fake_proc_text(&proc, "20/pagemap", "%s", "");
	for (uint64_t at = 0x5000; at < 0xa000; at += 0x1000)
		put_page(at, at == FILE_PAGE ? 0 : PRESENT);
	fake_proc_text(&proc, "10/fd/.keep", "%s", "");
	return symlinkat("/proc/20/mem", proc.fd, "10/fd/3") ||
	       symlinkat("/proc/21/mem", proc.fd, "10/fd/4") ||
	       symlinkat("/var/lib/20/mem", proc.fd, "10/fd/5");
}

static int teardown(void **state)
{
	(void)state;
	return fake_proc_remove(&proc);
}

static void in_call(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	fake_proc_text(&proc, "10/syscall",
		       "%ld 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64
		       " 0x0 0x7ffd00 0x7f0012\n",
		       number, a, b, c, d, e);
}

static const char *found_since(uint64_t start_ns)
{
	const struct hang_question question = { .hanging = HANGING,
						.over = OVER,
						.start_ns = start_ns };
	static char place[HANG_PLACE_BYTES];

	hang_place_find(proc.fd, &question, place);
	return place;
}

static const char *found(void)
{
	return found_since(7 * tick_ns + 1);
}

static void one_that_reads_the_memory_file_waits_for_what_is_mapped_there(void **state)
{
	(void)state;
	in_call(SYS_pread64, 3, 0x100000, 64, 0x7100, 0);
	assert_string_equal(found(), "/tmp/hang/program");
}

/* Those before it were read, which brought their pages in. */
static void of_many_pieces_it_is_the_first_that_is_not_there(void **state)
{
	const struct iovec pieces[] = {
		{ (void *)0x6000, 16 },
		{ (void *)0x9f00, 0x10 },
		{ (void *)0x6ff0, 0x20 },
		{ (void *)0x8000, 8 },
	};
	uint8_t memory[IOV_AT + sizeof(pieces)] = { 0 };

	(void)state;
	memcpy(memory + IOV_AT, pieces, sizeof(pieces));
	fake_proc_put(&proc, "10/mem", memory, sizeof(memory));
	in_call(SYS_process_vm_readv, OVER, 0x1000, ARRAY_SIZE(pieces), IOV_AT, ARRAY_SIZE(pieces));
	assert_string_equal(found(), "/tmp/hang/program");
	/* All are there: it is not said which. */
	put_page(FILE_PAGE, PRESENT);
	assert_string_equal(found(), "");
	put_page(0x8000, 0);
	assert_string_equal(found(), "/usr/lib/a b");
}

static void what_is_no_file_and_no_read_of_that_process_is_not_told(void **state)
{
	(void)state;
	in_call(SYS_pread64, 3, 0x100000, 64, 0x9100, 0);
	assert_string_equal(found(), "");
	in_call(SYS_pread64, 3, 0x100000, 64, 0xb100, 0);
	assert_string_equal(found(), "");
	for (uint64_t fd = 4; fd < 7; fd++) {
		in_call(SYS_pread64, fd, 0x100000, 64, 0x7100, 0);
		assert_string_equal(found(), "");
	}
	in_call(SYS_close, 3, 0x100000, 64, 0x7100, 0);
	assert_string_equal(found(), "");
	in_call(SYS_process_vm_readv, OVER + 1, 0x1000, 1, IOV_AT, 1);
	assert_string_equal(found(), "");
	in_call(SYS_process_vm_readv, OVER, 0x1000, 1, IOV_AT, 1u << 20);
	assert_string_equal(found(), "");
	fake_proc_text(&proc, "10/syscall", "%s", "running\n");
	assert_string_equal(found(), "");
	fake_proc_text(&proc, "10/syscall", "%s", "-1 0x7ffd00 0x7f0012\n");
	assert_string_equal(found(), "");
	fake_proc_text(&proc, "10/syscall", "%ld 0x3 0x7f0012\n", (long)SYS_pread64);
	assert_string_equal(found(), "");
}

static void another_process_with_that_number_says_nothing(void **state)
{
	(void)state;
	in_call(SYS_pread64, 3, 0x100000, 64, 0x7100, 0);
	assert_string_equal(found_since(8 * tick_ns + 1), "");
}

static void a_long_path_keeps_its_end(void **state)
{
	char name[300];

	(void)state;
	memset(name, 'a', sizeof(name));
	memcpy(name + sizeof(name) - 5, "/end", 5);
	fake_proc_text(&proc, "20/maps", "7000-8000 rw-s 00001000 00:2a 2        /%s\n", name);
	in_call(SYS_pread64, 3, 0x100000, 64, 0x7100, 0);
	assert_int_equal(strlen(found()), HANG_PLACE_BYTES - 1);
	assert_string_equal(found() + HANG_PLACE_BYTES - 1 - 5, "a/end");
}

/* ---- the process that looks ---- */

static int not_confined(void *ctx)
{
	(void)ctx;
	return 0;
}

static int looker_that_says(const struct launcher_child *child)
{
	(void)send(child->socket_fd, "/a/file", 8, 0);
	return 0;
}

static int looker_that_hangs(const struct launcher_child *child)
{
	(void)child;
	while (pause() == -1)
		;
	return 0;
}

static void look_with(launcher_main_fn program, uint64_t later_ns, const char *answer)
{
	const struct launcher_options options = { .programs = { [LAUNCHER_LOOKER] = program },
						  .confine = not_confined };
	const struct hang_question question = { .hanging = 1, .over = 1 };
	uint64_t now_ns = clock_boot_ns(), end_ns = now_ns + 60 * CLOCK_NS_PER_S;
	char place[HANG_PLACE_BYTES] = "x";
	struct hang_look look = { 0 };
	struct launcher *launcher;

	assert_int_equal(launcher__open(&options, &launcher), 0);
	assert_int_equal(hang_look_start(&look, launcher, &question, now_ns), 0);
	assert_true(look.pid > 0);
	while (!hang_look_take(&look, launcher, now_ns + later_ns, place) &&
	       clock_boot_ns() < end_ns)
		(void)poll(NULL, 0, 1);
	assert_string_equal(place, answer);
	assert_int_equal(look.pid, 0);
	launcher__free(launcher);
}

static void what_the_looker_says_is_the_answer(void **state)
{
	(void)state;
	look_with(looker_that_says, 0, "/a/file");
}

static void a_looker_that_does_not_answer_is_ended(void **state)
{
	(void)state;
	look_with(looker_that_hangs, 10 * CLOCK_NS_PER_S, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_that_reads_the_memory_file_waits_for_what_is_mapped_there),
		TEST(of_many_pieces_it_is_the_first_that_is_not_there),
		TEST(what_is_no_file_and_no_read_of_that_process_is_not_told),
		TEST(another_process_with_that_number_says_nothing),
		TEST(a_long_path_keeps_its_end),
		cmocka_unit_test(what_the_looker_says_is_the_answer),
		cmocka_unit_test(a_looker_that_does_not_answer_is_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
