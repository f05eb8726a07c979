// SPDX-License-Identifier: Apache-2.0
/*
 * What a pass counts of threads that wait: visits of tasks that the test makes, pass by pass, over maps of its
 * own. Of user memory nothing is to be had: a stack is its first word.
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
static long bpf_loop(__u32 cnt, void *callback, void *ctx, __u64 flags);
static long bpf_get_task_stack(struct task_struct *task, void *to, __u32 bytes, __u64 flags);
static __u64 bpf_ktime_get_boot_ns(void);
static __u32 bpf_get_smp_processor_id(void);
static long bpf_current_task_under_cgroup(void *map, __u32 at);
#define BPF_CORE_READ_INTO(to, from, field)	bpf_probe_read_kernel(to, sizeof(*(to)), (from)->field)
#define BPF_CORE_READ_STR_INTO(to, from, field) memcpy(to, (from)->field, sizeof(*(to)))

#include "bpf/offcpu_task.bpf.h"

#define KERNEL_STACK_IS_SENT(key) ((key)->kernel_hash >= JBPF_SYSCALLS_END)

#include "bpf/core_compat.bpf.h"
#include "bpf/jbpf_hotspot.h"
#include "bpf/jbpf_leaf.h"
/* Knobs are constant once a program is loaded; a test sets them. */
#define const
#include "bpf/maps.bpf.h"
#undef const
#include "bpf/sample.bpf.h"
#include "bpf/offcpu_memory.bpf.h"

static void *bpf_task_pt_regs(struct task_struct *task);
#include "bpf/task_regs.bpf.h"
/* Asked of bit fields and with a type, too. */
#undef bpf_core_field_exists
#define bpf_core_field_exists(...) false
#include "bpf/offcpu_visit.bpf.h"

#define PID	 4711u
#define START_NS 1000u /* of the thread and its process */
#define CGROUP	 77u
#define CODE	 0x401000ull
#define MAPS_MAX 16
#define SENT_MAX 64

struct entry {
	struct entry *next;
	const void *map;
	uint8_t key[64];
	size_t key_len;
	uint64_t value[]; /* as the map's */
};

static struct {
	struct visited visited;
	struct scratch scratch;
	struct counters counters;
	struct rule_memo rule_memo;
	struct blob_memo blob_memo;
	struct task_view view;
	struct jbpf_visit first;
	struct entry *entries;
	bool is_full;	    /* `visits` */
	bool is_count_full; /* the count maps */

	struct kernfs_node node;
	struct cgroup cgroup;
	struct css_set cgroups;
	struct pid pid;
	struct mm_struct mm;
	struct task_struct task;
	struct pt_regs regs;

	bool is_busy; /* the mappings are being changed all the time */
	uint64_t now_ns;
	uint64_t copied_cnt;
	char memory[64];	 /* all that is read of user memory begins so */
	uint64_t sent[SENT_MAX]; /* hashes of stacks */
	size_t sent_cnt;
} host;

static char counts_maps[2]; /* their addresses are the maps' */

/* ---- maps ---- */

struct map_size {
	const void *map;
	size_t key_len, value_len;
};

#define MAP_SIZE(name)                                              \
	{                                                           \
		&(name), sizeof(*(name).key), sizeof(*(name).value) \
	}

static struct map_size size_of(const void *map)
{
	const struct map_size sizes[] = {
		MAP_SIZE(visits),
		MAP_SIZE(seen),
		MAP_SIZE(known),
		MAP_SIZE(spaces),
		MAP_SIZE(code_ranges),
		MAP_SIZE(hotspots),
		MAP_SIZE(leaf_rules),
		MAP_SIZE(accounts_of),
		MAP_SIZE(filter_pids),
		MAP_SIZE(unwind_chunks),
		{ &counts_maps[0], sizeof(struct jbpf_key), sizeof(struct jbpf_value) },
		{ &counts_maps[1], sizeof(struct jbpf_key), sizeof(struct jbpf_value) },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i].map == map)
			return sizes[i];
	fail_msg("a map that the test does not know");
	return sizes[0];
}

static struct entry **entry_at(const void *map, const void *key)
{
	struct entry **at = &host.entries;

	while (*at && ((*at)->map != map || memcmp((*at)->key, key, (*at)->key_len) != 0))
		at = &(*at)->next;
	return at;
}

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	struct entry *entry;

	if (map == &visited_task)
		return &host.visited;
	if (map == &scratch)
		return &host.scratch;
	if (map == &counters)
		return &host.counters;
	if (map == &rule_memo)
		return &host.rule_memo;
	if (map == &blob_memo)
		return &host.blob_memo;
	if (map == &visited_view)
		return &host.view;
	if (map == &visit_first)
		return &host.first;
	if (map == &counts)
		return &counts_maps[*(const __u32 *)key & 1];
	entry = *entry_at(map, key);
	return entry ? entry->value : NULL;
}

static long bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags)
{
	struct map_size size = size_of(map);
	struct entry **at = entry_at(map, key);

	if (*at && flags == BPF_NOEXIST)
		return -EEXIST;
	if (!*at && ((map == &visits && host.is_full) ||
		     (size.key_len == sizeof(struct jbpf_key) && host.is_count_full)))
		return -E2BIG;
	if (!*at) {
		*at = calloc(1, sizeof(**at) + size.value_len);
		assert_non_null(*at);
		(*at)->map = map;
		(*at)->key_len = size.key_len;
		memcpy((*at)->key, key, size.key_len);
	}
	memcpy((*at)->value, value, size.value_len);
	return 0;
}

static long bpf_map_delete_elem(void *map, const void *key)
{
	struct entry **at = entry_at(map, key), *entry = *at;

	if (!entry)
		return -ENOENT;
	*at = entry->next;
	free(entry);
	return 0;
}

/* ---- other helpers ---- */

static long bpf_find_vma(struct task_struct *task, __u64 at, void *callback, void *ctx, __u64 flags)
{
	struct vm_area_struct___offcpu view = { .vm_end = at + (1 << 20) };

	if (host.is_busy)
		return -EBUSY;
	if (!host.memory[0])
		return -ENOENT;
	assert_ptr_equal(callback, area_note);
	return area_note(task, (void *)&view, ctx);
}

static long bpf_copy_from_user_task(void *to, __u32 len, const void *from, struct task_struct *task,
				    __u64 flags)
{
	memset(to, 0, len);
	memcpy(to, host.memory, len < sizeof(host.memory) ? len : sizeof(host.memory));
	host.copied_cnt++;
	return 0;
}

static long bpf_loop(__u32 cnt, void *callback, void *ctx, __u64 flags)
{
	long (*turn)(__u32 number, struct walked * walked) = callback;

	for (__u32 i = 0; i < cnt; i++)
		if (turn(i, ctx))
			return i + 1;
	return cnt;
}

static void *bpf_task_pt_regs(struct task_struct *task)
{
	return &host.regs;
}

static long bpf_get_task_stack(struct task_struct *task, void *to, __u32 bytes, __u64 flags)
{
	return -ENOENT;
}

static __u64 bpf_ktime_get_boot_ns(void)
{
	return ++host.now_ns;
}

static __u32 bpf_get_smp_processor_id(void)
{
	return 0;
}

static long bpf_current_task_under_cgroup(void *map, __u32 at)
{
	return 0;
}

static long bpf_get_stack(void *ctx, void *to, __u32 bytes, __u64 flags)
{
	return -ENOENT;
}

static long bpf_probe_read_kernel(void *to, __u32 len, const void *from)
{
	memcpy(to, from, len);
	return 0;
}

static __u64 bpf_ringbuf_query(void *ring, __u64 flags)
{
	return 0;
}

static long bpf_ringbuf_output(void *ring, void *bytes, __u64 len, __u64 flags)
{
	if (ring != &stacks)
		return 0;
	assert_true(host.sent_cnt < SENT_MAX);
	host.sent[host.sent_cnt++] = ((const struct jbpf_stack *)bytes)->hash;
	return 0;
}

/* ---- a test ---- */

static void wait_begins(void)
{
	host.task.__state = 1;
	host.task.nvcsw++;
}

/* One thread, the first of its process, that waits at CODE. */
static int begin(void **state)
{
	memset(&host, 0, sizeof(host));
	memset(&pass_state_shared, 0, sizeof(pass_state_shared));
	host.node.id = CGROUP;
	host.cgroup = (struct cgroup){ .level = 0, .kn = &host.node };
	host.cgroups.dfl_cgrp = &host.cgroup;
	host.now_ns = START_NS * 2;
	host.task = (struct task_struct){
		.pid = PID,
		.tgid = PID,
		.comm = "waits",
		.group_leader = &host.task,
		.cgroups = &host.cgroups,
		.thread_pid = &host.pid,
		.start_boottime = START_NS,
	};
	host.regs.regs = (bpf_user_pt_regs_t){
		.ip = CODE, .sp = 0x7fff0000, .bp = 0, .cs = 0x33, .orig_ax = 7
	};
	pass_state.walk_room = WALKS_MAX;
	pass_state.walk_share = 1ull << 32;
	pass_state_shared.pass_walks = WALKS_MAX;
	pass_state_shared.window = 1;
	pass_state_shared.window_start_ns = host.now_ns;
	stack_bytes_max = 1ull << 32;
	event_entries_max = 1ull << 32;
	has_opted_out = 0;
	honours_opt_out = 0;
	memset(all_stack_bytes, 0, sizeof(all_stack_bytes));
	memset(all_event_bytes, 0, sizeof(all_event_bytes));
	memset(all_entries, 0, sizeof(all_entries));
	wait_begins();
	return 0;
}

static int end(void **state)
{
	while (host.entries) {
		struct entry *entry = host.entries;

		host.entries = entry->next;
		free(entry);
	}
	return 0;
}

static void window_ends(void)
{
	pass_state_shared.window++;
	pass_state_shared.window_start_ns = ++host.now_ns;
}

/* As pass_one() of offcpu.bpf.c. */
static void pass(void)
{
	struct visited *visited = pass_begin();

	assert_non_null(visited);
	if (visit(&host.task, visited))
		assert_int_equal(visit_walk(&host.task), 0);
	pass_end();
}

static struct jbpf_visit *visit_of_thread(void)
{
	__u32 pid = PID;

	return bpf_map_lookup_elem(&visits, &pid);
}

/* What is kept of the window with the thread. */
static const struct jbpf_wait *kept(void)
{
	assert_non_null(visit_of_thread());
	return &visit_of_thread()->waits[pass_state_shared.window & 1];
}

static void thread_that_does_not_run_is_walked_once(void **state)
{
	for (int i = 0; i < 5; i++)
		pass();
	assert_int_equal(pass_state_shared.walks, 1);
	assert_int_equal(kept()->value.count, 5);
	assert_int_equal(host.sent_cnt, 1);
	assert_int_equal(kept()->key.user_hash, host.sent[0]);
	assert_int_equal(kept()->key.cgroup_id, CGROUP);
	window_ends();
	pass();
	assert_int_equal(pass_state_shared.walks, 1);
	assert_int_equal(kept()->value.count, 1);
}

static void stack_that_was_cut_is_tried_again_in_the_next_window(void **state)
{
	event_entries_max = 0;
	for (int window = 0; window < 2; window++) {
		for (int i = 0; i < 3; i++)
			pass();
		assert_int_equal(pass_state_shared.walks, window + 1);
		assert_int_equal(kept()->value.count, 3);
		assert_true(kept()->key.user_hash == JBPF_HASH_CUT_ALL);
		window_ends();
	}
	event_entries_max = 1ull << 32;
	for (int i = 0; i < 3; i++)
		pass();
	assert_int_equal(pass_state_shared.walks, 3);
	assert_int_equal(host.sent_cnt, 1);
	assert_int_equal(kept()->key.user_hash, host.sent[0]);
}

static void ban(bool is_banned)
{
	pass_state_shared.hung_cnt = is_banned;
	pass_state_shared.hung_tgids[0] = PID;
}

static void process_that_hung_is_walked_when_it_may_be_read_again(void **state)
{
	ban(true);
	for (int window = 0; window < 3; window++) {
		pass();
		assert_int_equal(pass_state_shared.walks, 0);
		assert_true(kept()->key.user_hash == JBPF_HASH_CUT_ALL);
		window_ends();
	}
	ban(false);
	pass();
	assert_int_equal(pass_state_shared.walks, 1);
	assert_int_equal(kept()->key.user_hash, host.sent[0]);
}

/* Its rules change when its mappings do, whether it may be read or not. */
static void stack_that_is_known_is_kept_while_its_process_may_not_be_read(void **state)
{
	struct jbpf_code_range range = { .code_low = CODE * 2, .code_high = CODE * 3 };
	__u32 pid = PID;

	pass();
	ban(true);
	assert_int_equal(bpf_map_update_elem(&code_ranges, &pid, &range, BPF_ANY), 0);
	pass();
	window_ends();
	pass();
	assert_int_equal(pass_state_shared.walks, 1);
	assert_int_equal(kept()->key.user_hash, host.sent[0]);
	ban(false);
	pass();
	assert_int_equal(pass_state_shared.walks, 2);
}

/* Another process lies at the same addresses. */
static void environment_of_another_process_says_nothing(void **state)
{
	__u32 other = PID + 1;
	const struct jbpf_known *process;

	honours_opt_out = 1;
	strcpy(host.memory, "JBPF_PROFILE=off");
	host.mm = (struct mm_struct){ 0x7fff1000, 0x7fff1020 };
	host.task.mm = &host.mm;
	pass();
	assert_true(has_opted_out);
	host.task.pid = host.task.tgid = (int)other;
	pass_state_shared.hung_cnt = 1;
	pass_state_shared.hung_tgids[0] = other;
	pass();
	process = bpf_map_lookup_elem(&known, &other);
	assert_non_null(process);
	assert_int_equal(process->flags, 0); /* user space reads it */
}

static void sample_without_room_is_counted_as_lost(void **state)
{
	host.is_count_full = true;
	pass();
	assert_int_equal(host.counters.cnt[JBPF_CNT_LOST_COUNTS_FULL], 1);
	assert_int_equal(host.counters.cnt[JBPF_CNT_EVENT_LOST], 1);
	assert_int_equal(host.counters.cnt[JBPF_CNT_SAMPLES], 0);
	host.is_count_full = false;
	pass();
	assert_int_equal(kept()->value.count, 1);
}

static void first_sample_of_who_opted_out_is_counted_as_left_out(void **state)
{
	honours_opt_out = 1;
	strcpy(host.memory, "JBPF_PROFILE=off");
	host.mm = (struct mm_struct){ 0x7fff1000, 0x7fff1020 };
	host.task.mm = &host.mm;
	pass();
	assert_int_equal(host.counters.cnt[JBPF_CNT_OPTED_OUT], 1);
	pass();
	assert_int_equal(host.counters.cnt[JBPF_CNT_OPTED_OUT], 2);
	assert_int_equal(host.counters.cnt[JBPF_CNT_EVENT_LOST], 0);
}

static void idle_thread_is_counted_in_the_cgroup_that_it_is_in(void **state)
{
	pass();
	host.node.id = CGROUP + 1;
	window_ends();
	pass();
	assert_int_equal(pass_state_shared.walks, 1);
	assert_int_equal(kept()->key.cgroup_id, CGROUP + 1);
}

static void process_that_opts_out_while_it_waits_is_left_alone(void **state)
{
	struct jbpf_known process = { .start_ns = START_NS, .flags = JBPF_KNOWN_OPTED_OUT };
	__u32 pid = PID;

	pass();
	/* As probe__opt_out(). */
	assert_int_equal(bpf_map_update_elem(&known, &pid, &process, BPF_ANY), 0);
	has_opted_out = 1;
	for (int i = 0; i < 3; i++)
		pass();
	assert_int_equal(kept()->value.count, 1); /* user space leaves it out */
	assert_int_equal(host.counters.cnt[JBPF_CNT_OPTED_OUT], 3);
	window_ends();
	pass();
	assert_int_equal(kept()->value.count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(thread_that_does_not_run_is_walked_once),
		TEST(stack_that_was_cut_is_tried_again_in_the_next_window),
		TEST(process_that_hung_is_walked_when_it_may_be_read_again),
		TEST(stack_that_is_known_is_kept_while_its_process_may_not_be_read),
		TEST(environment_of_another_process_says_nothing),
		TEST(sample_without_room_is_counted_as_lost),
		TEST(first_sample_of_who_opted_out_is_counted_as_left_out),
		TEST(idle_thread_is_counted_in_the_cgroup_that_it_is_in),
		TEST(process_that_opts_out_while_it_waits_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
