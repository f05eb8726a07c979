// SPDX-License-Identifier: Apache-2.0
/*
 * Which memory of a visited thread is read, and which is left alone: pieces over mappings that the test lays
 * out. What would be copied from a file's mapping, or where nothing was found, fails the test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/unit/bpf/vmlinux.h"

static long bpf_find_vma(struct task_struct *task, __u64 at, void *callback, void *ctx,
			 __u64 flags);
static long bpf_copy_from_user_task(void *to, __u32 len, const void *from, struct task_struct *task,
				    __u64 flags);
#define BPF_CORE_READ_INTO(to, from, field) bpf_probe_read_kernel(to, sizeof(*(to)), (from)->field)

#include "bpf/core_compat.bpf.h"
#define const
#include "bpf/maps.bpf.h"
#undef const
#include "bpf/offcpu_memory.bpf.h"

#define PAGE	  ((uint64_t)PAGE_BYTES)
#define STACK	  0x7f0000000000ull
#define AREAS_MAX 4

struct area {
	uint64_t begin, end;
	bool is_of_file;
};

static struct {
	struct area areas[AREAS_MAX];
	struct visited visited;
	struct task_struct task;
	struct mm_struct mm;
	unsigned int busy_cnt; /* so many questions are not answered */
	unsigned int copy_cnt;
	uint64_t copied; /* bytes of the last piece */
} host;

static const struct area *area_at(uint64_t at)
{
	for (size_t i = 0; i < AREAS_MAX; i++)
		if (at >= host.areas[i].begin && at < host.areas[i].end)
			return &host.areas[i];
	return NULL;
}

/* kernel/bpf/task_iter.c */
static long bpf_find_vma(struct task_struct *task, __u64 at, void *callback, void *ctx, __u64 flags)
{
	const struct area *area = area_at(at);
	struct vm_area_struct___offcpu view;

	assert_int_equal(flags, 0);
	if (host.busy_cnt) {
		host.busy_cnt--;
		return -EBUSY;
	}
	if (!area)
		return -ENOENT;
	view.vm_end = area->end;
	view.vm_file = area->is_of_file ? (void *)&host : NULL;
	assert_ptr_equal(callback, area_note);
	area_note(task, (void *)&view, ctx);
	return 0;
}

static long bpf_copy_from_user_task(void *to, __u32 len, const void *from, struct task_struct *task,
				    __u64 flags)
{
	for (uint64_t at = (uint64_t)from; at < (uint64_t)from + len; at++) {
		assert_non_null(area_at(at));
		assert_false(area_at(at)->is_of_file);
	}
	assert_int_equal(pass_state_shared.tgid, 4711);
	memset(to, 0x5a, len);
	host.copy_cnt++;
	host.copied = len;
	return 0;
}

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	return map == &visited_task ? &host.visited : NULL;
}

static long bpf_probe_read_kernel(void *to, __u32 len, const void *from)
{
	memcpy(to, from, len);
	return 0;
}

/* Two pages of no file, and what follows them. */
static int begin(void **state)
{
	memset(&host, 0, sizeof(host));
	host.task.tgid = 4711;
	host.task.mm = &host.mm;
	host.areas[0] = (struct area){ STACK, STACK + 2 * PAGE, false };
	host.areas[1] = (struct area){ STACK + 2 * PAGE, STACK + 4 * PAGE, true };
	return 0;
}

static void piece_that_would_end_in_a_file_is_not_read(void **state)
{
	static const struct {
		uint64_t before, len; /* the border to the file */
		uint64_t copied;      /* 0: nothing */
	} rows[] = {
		{ 8, 8, 8 },
		{ 4, 8, 0 },
		{ 1, 8, 0 },
		{ 16, 16, 16 },
		{ 8, 16, 0 },
		{ 128, 128, 128 },
		{ 127, 128, 0 },
		{ 511, 8, 511 },
		{ 600, 8, 600 },
		{ PAGE, 8, PAGE },
		{ PAGE + 8, 8, PAGE + 8 },
		{ PAGE + 600, 8, 600 },
		{ (uint64_t)-8, 8, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t at = STACK + 2 * PAGE - rows[i].before;

		host.copied = 0;
		assert_int_equal(memory_stack(&host.visited, &host.task, at, rows[i].len),
				 rows[i].copied ? 0 : -EFAULT);
		assert_int_equal(host.copied, rows[i].copied);
		assert_int_equal(host.visited.stack_len, rows[i].copied);
		host.copied = 0;
		assert_int_equal(memory_line(&host.visited, &host.task, at, rows[i].len),
				 rows[i].copied ? 0 : -EFAULT);
		assert_int_equal(host.copied, rows[i].copied ? rows[i].len : 0);
	}
	assert_int_equal(pass_state_shared.tgid, 0);
}

static void piece_may_lie_in_two_mappings_without_a_file(void **state)
{
	host.areas[1].is_of_file = false;
	assert_int_equal(memory_stack(&host.visited, &host.task, STACK + 2 * PAGE - 4, 8), 0);
	assert_int_equal(host.copied, 4 + PAGE);
	host.areas[1] = (struct area){ 0 };
	assert_int_equal(memory_stack(&host.visited, &host.task, STACK + 2 * PAGE - 4, 8), -EFAULT);
	assert_int_equal(memory_stack(&host.visited, &host.task, STACK + 2 * PAGE - 8, 8), 0);
	assert_int_equal(host.copied, 8);
}

static void environment_with_a_file_in_it_is_not_read(void **state)
{
	host.mm = (struct mm_struct){ STACK + 100, STACK + 2 * PAGE };
	memory_environment(&host.visited, &host.task);
	assert_int_equal(host.copied, 2 * PAGE - 100);
	assert_int_equal(host.visited.environment_len, 2 * PAGE - 100);
	host.mm.env_end = STACK + 5 * PAGE;
	host.areas[2] = (struct area){ STACK + 4 * PAGE, STACK + 8 * PAGE, false };
	memory_environment(&host.visited, &host.task);
	assert_int_equal(host.visited.environment_len, 0);
	assert_int_equal(host.copy_cnt, 1);
}

/* Wants those bytes as a walk does. */
static bool read_wanted(uint64_t at, uint64_t len)
{
	host.visited.miss_at = at;
	host.visited.miss_len = len;
	return memory_read(&host.visited, &host.task);
}

static void mappings_that_are_being_changed_are_asked_for_again(void **state)
{
	host.busy_cnt = BUSY_TRIES - 1;
	while (host.busy_cnt) {
		assert_true(read_wanted(STACK, 16));
		assert_int_equal(host.visited.denied_at, 0);
	}
	assert_int_equal(host.copy_cnt, 0);
	assert_true(read_wanted(STACK, 16));
	assert_int_equal(host.copied, 16);
	/* So many of a walk: then it cannot be taken now. */
	host.busy_cnt = 1;
	assert_false(read_wanted(STACK, 16));
	assert_int_equal(host.copy_cnt, 1);
}

static void what_is_not_to_be_had_is_not_asked_for_again(void **state)
{
	assert_true(read_wanted(STACK + 2 * PAGE, 16));
	assert_int_equal(host.visited.denied_at, STACK + 2 * PAGE);
	assert_int_equal(host.copy_cnt, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(piece_that_would_end_in_a_file_is_not_read, begin),
		cmocka_unit_test_setup(piece_may_lie_in_two_mappings_without_a_file, begin),
		cmocka_unit_test_setup(environment_with_a_file_in_it_is_not_read, begin),
		cmocka_unit_test_setup(mappings_that_are_being_changed_are_asked_for_again, begin),
		cmocka_unit_test_setup(what_is_not_to_be_had_is_not_asked_for_again, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
