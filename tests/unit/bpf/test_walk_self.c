// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel's walk of this very program's stacks, by the tables that user space makes of its files,
 * libc's and cmocka's (which keep no frame pointers), against libgcc's unwinder: while it recurses, in
 * a callback of libc, in a signal's handler, in a thread.
 */
#include "tests/unit/bpf/walk_host.h"

#include <alloca.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

#include "symbols/elf/elf_file.h"
#include "symbols/unwind/unwind_table.h"
#include "user/util/cleanup.h"

#if defined(__x86_64__)

#define FRAMES_MAX 128

static struct jbpf_space space;
static uint32_t table_cnt;

/* What cannot be read fails, as in the kernel. */
static bool own_memory(uint64_t at, void *to, size_t len)
{
	const struct iovec local = { to, len };
	const struct iovec remote = { (void *)(uintptr_t)at, len };

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)len;
}

/* ---- what the namer tells the kernel of this process ---- */

static void table_put(const struct unwind_table *table)
{
	for (uint32_t at = 0; at < table->word_cnt; at += JBPF_UNWIND_CHUNK_WORDS) {
		const uint32_t key = table_cnt << JBPF_UNWIND_CHUNK_BITS |
				     at / JBPF_UNWIND_CHUNK_WORDS;
		const uint32_t left = table->word_cnt - at;
		struct unwind_chunk chunk = { 0 };

		memcpy(chunk.words, table->words + at,
		       4ull * (left < JBPF_UNWIND_CHUNK_WORDS ? left : JBPF_UNWIND_CHUNK_WORDS));
		MAP_PUT(unwind_chunks, &key, &chunk);
	}
}

/* Mappings are in ascending order. */
static void mapping_put(uint64_t start, const struct unwind_table *table)
{
	uint32_t at = space.mapping_cnt++;

	assert_true(at < JBPF_SPACE_MAX_MAPPINGS);
	for (; at && space.start[at - 1] > start; at--) {
		space.start[at] = space.start[at - 1];
		space.mappings[at] = space.mappings[at - 1];
	}
	space.start[at] = start;
	space.mappings[at] =
		(struct jbpf_mapping){ .page_cnt = table->page_cnt, .table = table_cnt };
}

static int object_put(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const char *path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
	struct unwind_table table = { 0 };
	struct elf_file file;
	struct stat status;

	/* The vdso is no file. */
	if (strncmp(path, "linux-vdso", 10) == 0)
		return 0;

	__cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && fstat(fd, &status) == 0);
	assert_int_equal(elf_file_open_sized(fd, (uint64_t)status.st_size, &file), 0);
	if (unwind_table_build(&file, &table) == 0) {
		assert_true(unwind_table_is_valid(&table));
		table_cnt++;
		table_put(&table);
		mapping_put(info->dlpi_addr + table.address, &table);
	}
	unwind_table_release(&table);
	elf_file_release(&file);
	return 0;
}

static int begin(void **state)
{
	const uint32_t pid = HOST_PID;

	if (host_begin(state))
		return -1;
	host_.elsewhere = own_memory;
	space = (struct jbpf_space){ .start_ns = HOST_START_NS,
				     .exec_id = HOST_EXEC_ID,
				     .generation = 1 };
	memset(space.start, 0xff, sizeof(space.start));
	table_cnt = 0;
	(void)dl_iterate_phdr(object_put, NULL);
	MAP_PUT(spaces, &pid, &space);
	return 0;
}

/* ---- both unwinders, of whoever calls ---- */

static size_t judged; /* frames of the stack that was judged last */

struct frames {
	uint64_t ips[FRAMES_MAX];
	size_t cnt;
};

/* Not backtrace(), in whose place sanitizers have a function of theirs. */
static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *ctx)
{
	struct frames *frames = ctx;

	if (frames->cnt == FRAMES_MAX)
		return _URC_END_OF_STACK;
	frames->ips[frames->cnt++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

static __attribute__((noinline)) void judge(void)
{
	struct frames frames = { .cnt = 0 };
	uint64_t ip, sp, fp;

	__asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
			 : "=&r"(ip), "=&r"(sp), "=&r"(fp));
	(void)_Unwind_Backtrace(note_frame, &frames);
	const struct walked walked = walk(ip, sp, fp);

	assert_int_equal(walked.head.end, JBPF_END_ROOT);
	/* At the thread's first function libgcc may say so by an address of 0. */
	frames.cnt -= frames.ips[frames.cnt - 1] == 0;
	assert_int_equal(walked.head.frame_cnt, frames.cnt);
	for (size_t i = 1; i < frames.cnt; i++) {
		/* Around a signal a word is one more than the address. */
		if (walked.words[i] != frames.ips[i] && walked.words[i] != frames.ips[i] + 1)
			fail_msg("frame %zu is %#llx and not %#llx", i,
				 (unsigned long long)walked.words[i],
				 (unsigned long long)frames.ips[i]);
	}
	judged = frames.cnt;
}

static __attribute__((noinline)) void recurse(unsigned int depth)
{
	char *room = alloca(1 + depth % 5 * 40); /* frames of several sizes */

	room[0] = 0;
	__asm__ volatile("" ::"r"(room) : "memory");
	if (depth)
		recurse(depth - 1);
	else
		judge();
	__asm__ volatile("" ::: "memory");
}

static void test_a_recursion_is_walked_to_the_end(void **state)
{
	for (unsigned int depth = 0; depth < 100; depth += 9) {
		recurse(depth);
		assert_true(judged > depth + 4);
	}
}

static int compare(const void *a, const void *b)
{
	judge();
	return *(const int *)a - *(const int *)b;
}

static void test_a_callback_of_libc_is_walked_through_libc(void **state)
{
	int numbers[] = { 3, 1, 2, 5, 4 };
	size_t before;

	judge();
	before = judged;
	qsort(numbers, 5, sizeof(numbers[0]), compare);
	assert_int_equal(numbers[4], 5);
	assert_true(judged > before + 2);
}

static void handle(int number)
{
	recurse(3);
}

static void test_a_handler_is_walked_through_its_signal(void **state)
{
	struct sigaction action = { .sa_handler = handle }, old;
	size_t before;

	judge();
	before = judged;
	assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
	assert_int_equal(raise(SIGUSR1), 0);
	assert_int_equal(sigaction(SIGUSR1, &old, NULL), 0);
	assert_true(judged > before + 6);
}

static void *thread_main(void *arg)
{
	recurse(5);
	return NULL;
}

static void test_a_threads_stack_ends_where_it_began(void **state)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, thread_main, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(judged > 7);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, host_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_recursion_is_walked_to_the_end),
		TEST(test_a_callback_of_libc_is_walked_through_libc),
		TEST(test_a_handler_is_walked_through_its_signal),
		TEST(test_a_threads_stack_ends_where_it_began),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void test_registers_of_this_machine_are_not_read_here(void **state)
{
	skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registers_of_this_machine_are_not_read_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
