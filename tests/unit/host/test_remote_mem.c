// SPDX-License-Identifier: Apache-2.0
/*
 * Reading many pieces at once: of this process itself, which needs no rights, around a page that
 * cannot be read, and through the function of a test. What a piece gives must not depend on its
 * neighbours.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/host/remote_batch.h"
#include "user/host/remote_mem.h"
#include "tests/unit/fake_proc.h"
#include "user/util/cleanup.h"

#define PAGE_CNT  8u
#define PIECE_CNT 3000u

/* Pages with a pattern; the fourth one cannot be read. */
struct pages {
	uint8_t *bytes;
	size_t page_bytes;
};

static uint8_t pattern(size_t at)
{
	return (uint8_t)(at * 31 + (at >> 8));
}

static struct pages pages_make(void)
{
	struct pages pages = { .page_bytes = (size_t)sysconf(_SC_PAGESIZE) };
	__cleanup_fd int empty_fd = memfd_create("empty", MFD_CLOEXEC);

	pages.bytes = mmap(NULL, PAGE_CNT * pages.page_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(pages.bytes != MAP_FAILED);
	for (size_t i = 0; i < PAGE_CNT * pages.page_bytes; i++)
		pages.bytes[i] = pattern(i);
	/* Of a file that ends before it: not even who may ignore a protection can read that. */
	assert_true(empty_fd >= 0);
	assert_true(mmap(pages.bytes + 3 * pages.page_bytes, pages.page_bytes, PROT_READ,
			 MAP_PRIVATE | MAP_FIXED, empty_fd, 0) != MAP_FAILED);
	return pages;
}

static void pages_free(struct pages *pages)
{
	munmap(pages->bytes, PAGE_CNT * pages->page_bytes);
}

static bool is_readable(const struct pages *pages, size_t offset, size_t len)
{
	size_t begin = 3 * pages->page_bytes, end = begin + pages->page_bytes;

	return offset + len <= PAGE_CNT * pages->page_bytes &&
	       (offset + len <= begin || offset >= end);
}

static int loop_read(const struct remote_mem *mem, uint64_t address, void *out, size_t len)
{
	const struct pages *pages = mem->ctx;
	uint64_t base = (uintptr_t)pages->bytes;

	if (address < base || !is_readable(pages, (size_t)(address - base), len))
		return -EFAULT;
	memcpy(out, (const void *)(uintptr_t)address, len);
	return 0;
}

enum way {
	WAY_PROCESS,
	WAY_FILE,
	WAY_LOOP,
	WAY_PROCESS_BATCH,
	WAY_FILE_BATCH,
	WAY_LOOP_BATCH,
	WAY_CNT
};

/* A /proc that says of this process whether it could keep its reader waiting. */
static struct fake_proc tree;

static void say(const char *setting, const char *bounding)
{
	char path[40];

	(void)unlinkat(tree.fd, "sys/vm/unprivileged_userfaultfd", 0);
	if (setting)
		fake_proc_text(&tree, "sys/vm/unprivileged_userfaultfd", "%s", setting);
	snprintf(path, sizeof(path), "%d/status", getpid());
	fake_proc_text(&tree, path, "Tgid:\t7\nUid:\t1\t1\t1\t1\nGid:\t2\t2\t2\t2\n%s", bounding);
}

static int tree_make(void **state)
{
	(void)state;
	return fake_proc_make(&tree);
}

static int tree_remove(void **state)
{
	(void)state;
	return fake_proc_remove(&tree);
}

static bool is_read_by_file(void)
{
	return remote_mem_of_process(tree.fd, (uint32_t)getpid()).read ==
	       remote_mem_of_file(tree.fd, (uint32_t)getpid()).read;
}

#define WITHOUT_PTRACE "CapBnd:\t00000000a80425fb\n" /* what Docker leaves */
#define WITH_PTRACE    "CapBnd:\t00000000a80c25fb\n"

static void only_who_cannot_serve_its_own_page_faults_is_read_fast(void **state)
{
	(void)state;
	say("0\n", WITHOUT_PTRACE);
	assert_false(is_read_by_file());
	say("0\n", WITH_PTRACE);
	assert_true(is_read_by_file());
	say("1\n", WITHOUT_PTRACE);
	assert_true(is_read_by_file());
	/* What cannot be known. */
	say(NULL, WITHOUT_PTRACE);
	assert_true(is_read_by_file());
	say("0\n", "CapBnd:\n");
	assert_true(is_read_by_file());
	assert_true(remote_mem_of_process(tree.fd, 0x7ffffff0).read ==
		    remote_mem_of_file(tree.fd, 1).read);
}

static int read_all(enum way way, const struct pages *pages, struct remote_piece *pieces,
		    size_t cnt)
{
	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct remote_mem mem = remote_mem_of_file(proc_fd, (uint32_t)getpid());
	struct remote_batch *batch;
	int err;

	if (way == WAY_PROCESS || way == WAY_PROCESS_BATCH) {
		say("0\n", WITHOUT_PTRACE);
		mem = remote_mem_of_process(tree.fd, (uint32_t)getpid());
		assert_true(mem.read != remote_mem_of_file(proc_fd, 1).read);
	}
	if (way == WAY_LOOP || way == WAY_LOOP_BATCH)
		mem = (struct remote_mem){ .read = loop_read, .ctx = pages };
	if (way == WAY_PROCESS || way == WAY_FILE || way == WAY_LOOP)
		return remote_mem_read_pieces(&mem, pieces, cnt);
	batch = remote_batch__new(&mem);
	assert_non_null(batch);
	err = remote_batch__read(batch, pieces, cnt);
	remote_batch__free(batch);
	return err;
}

static void check_piece(const struct pages *pages, const struct remote_piece *piece, size_t offset)
{
	const uint8_t *bytes = piece->out;

	if (!is_readable(pages, offset, piece->len) && piece->len) {
		assert_int_equal(piece->err, -EFAULT);
		return;
	}
	assert_int_equal(piece->err, 0);
	for (size_t i = 0; i < piece->len; i++)
		assert_int_equal(bytes[i], pattern(offset + i));
}

static void pieces_do_not_depend_on_their_neighbours(void **state)
{
	static struct remote_piece pieces[PIECE_CNT];
	static size_t offsets[PIECE_CNT];
	uint8_t *out = malloc(PIECE_CNT * 1024);
	struct pages pages = pages_make();

	(void)state;
	assert_non_null(out);
	for (int way = 0; way < WAY_CNT; way++) {
		uint64_t random = 88172645463325252ull + (uint64_t)way;

		for (size_t i = 0; i < PIECE_CNT; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			offsets[i] = (size_t)(random % (PAGE_CNT * pages.page_bytes - 1024));
			pieces[i] = (struct remote_piece){
				.address = (uintptr_t)pages.bytes + offsets[i],
				.out = out + i * 1024,
				/* none, a few, some that are long for a batch */
				.len = (uint32_t)(random >> 40) % (i % 5 == 0 ? 1024 : 40),
				.err = 99,
			};
		}
		assert_int_equal(read_all((enum way)way, &pages, pieces, PIECE_CNT), 0);
		for (size_t i = 0; i < PIECE_CNT; i++)
			check_piece(&pages, &pieces[i], offsets[i]);
		assert_int_equal(read_all((enum way)way, &pages, NULL, 0), 0);
	}
	free(out);
	pages_free(&pages);
}

static void pieces_that_lead_nowhere_fail_alone(void **state)
{
	static const uint64_t addresses[] = { 0, 8, UINT64_MAX, UINT64_MAX - 7,
					      0xffffffff81000000 };
	struct pages pages = pages_make();

	(void)state;
	for (int way = 0; way < WAY_CNT; way++) {
		struct remote_piece pieces[2 * ARRAY_SIZE(addresses)];
		uint64_t out[2 * ARRAY_SIZE(addresses)];

		for (size_t i = 0; i < ARRAY_SIZE(pieces); i++)
			pieces[i] = (struct remote_piece){
				.address = i % 2 ? (uintptr_t)pages.bytes + 8 * i :
						   addresses[i / 2],
				.out = &out[i],
				.len = 8,
			};
		assert_int_equal(read_all((enum way)way, &pages, pieces, ARRAY_SIZE(pieces)), 0);
		for (size_t i = 0; i < ARRAY_SIZE(pieces); i++)
			assert_int_equal(pieces[i].err, i % 2 ? 0 : -EFAULT);
	}
	pages_free(&pages);
}

static int gone_read(const struct remote_mem *mem, uint64_t address, void *out, size_t len)
{
	(void)mem;
	memset(out, 0, len);
	return address >= 0x5000 ? -ESRCH : 0;
}

static void a_process_that_goes_away_fails_all_that_follows(void **state)
{
	struct remote_mem mem = { .read = gone_read };
	struct remote_piece pieces[8];
	uint64_t out[8];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++)
		pieces[i] = (struct remote_piece){ .address = 0x1000 + i * 0x1000,
						   .out = &out[i],
						   .len = 8 };
	assert_int_equal(remote_mem_read_pieces(&mem, pieces, ARRAY_SIZE(pieces)), -ESRCH);
	assert_int_equal(pieces[3].err, 0);
	for (size_t i = 4; i < ARRAY_SIZE(pieces); i++)
		assert_int_equal(pieces[i].err, -ESRCH);

	/* A process that never was: pids end far below. */
	fake_proc_text(&tree, "2147483632/status",
		       "Tgid:\t7\nUid:\t1\t1\t1\t1\nGid:\t2\t2\t2\t2\n" WITHOUT_PTRACE);
	say("0\n", WITHOUT_PTRACE);
	mem = remote_mem_of_process(tree.fd, 0x7ffffff0);
	assert_int_equal(remote_mem_read_pieces(&mem, pieces, ARRAY_SIZE(pieces)), -ESRCH);
	assert_int_equal(pieces[0].err, -ESRCH);
	mem = remote_mem_of_file(tree.fd, 0x7ffffff0);
	assert_int_equal(remote_mem_read_pieces(&mem, pieces, ARRAY_SIZE(pieces)), -ESRCH);
	assert_int_equal(pieces[7].err, -ESRCH);
	assert_int_equal(remote_mem_read(&mem, 8, out, 8), -ESRCH);
}

static void memory_that_is_held_ends_with_its_process(void **state)
{
	static uint64_t word = 0x1122334455667788ull;
	int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t child = fork();
	struct remote_mem held = remote_mem_of_file(proc_fd, (uint32_t)child);
	uint64_t out[2] = { 0 };
	struct remote_piece pieces[2] = {
		{ .address = (uintptr_t)&word, .out = &out[0], .len = 8 },
		{ .address = (uintptr_t)&word, .out = &out[1], .len = 8 },
	};

	(void)state;
	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_true(child > 0);
	remote_mem_hold(&held);
	assert_true(held.is_held);
	assert_int_equal(remote_mem_read(&held, (uintptr_t)&word, &out[0], 8), 0);
	assert_true(out[0] == word);
	assert_int_equal(remote_mem_read(&held, 8, &out[0], 8), -EFAULT);
	assert_int_equal(remote_mem_read_pieces(&held, pieces, 2), 0);
	assert_true(out[1] == word);
	/* Its number may be another one's from now on; what is held is nobody else's. */
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(remote_mem_read(&held, (uintptr_t)&word, &out[0], 8), -ESRCH);
	assert_int_equal(remote_mem_read_pieces(&held, pieces, 2), -ESRCH);
	assert_int_equal(pieces[1].err, -ESRCH);
	remote_mem_release(&held);
	remote_mem_release(&held);
	remote_mem_hold(&held);
	assert_false(held.is_held);
	close(proc_fd);
}

static void some_of_a_range_is_read_up_to_what_cannot_be(void **state)
{
	struct pages pages = pages_make();
	const struct remote_mem mem = { .read = loop_read, .ctx = &pages };
	uint64_t hole = (uintptr_t)pages.bytes + 3 * pages.page_bytes;
	uint8_t out[600];

	(void)state;
	assert_int_equal(remote_mem_read_some(&mem, hole - 600, out, sizeof(out)), 600);
	assert_int_equal(remote_mem_read_some(&mem, hole - 5, out, sizeof(out)), 5);
	assert_int_equal(out[4], pattern(3 * pages.page_bytes - 1));
	assert_int_equal(remote_mem_read_some(&mem, hole - pages.page_bytes - 5, out, sizeof(out)),
			 600);
	assert_int_equal(remote_mem_read_some(&mem, hole, out, sizeof(out)), -EFAULT);
	assert_int_equal(remote_mem_read_some(&mem, UINT64_MAX - 2, out, sizeof(out)), -EFAULT);
	pages_free(&pages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_who_cannot_serve_its_own_page_faults_is_read_fast),
		cmocka_unit_test(pieces_do_not_depend_on_their_neighbours),
		cmocka_unit_test(pieces_that_lead_nowhere_fail_alone),
		cmocka_unit_test(a_process_that_goes_away_fails_all_that_follows),
		cmocka_unit_test(memory_that_is_held_ends_with_its_process),
		cmocka_unit_test(some_of_a_range_is_read_up_to_what_cannot_be),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
