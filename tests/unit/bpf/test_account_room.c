// SPDX-License-Identifier: Apache-2.0
/*
 * Who may still send stacks when bytes run short: accounts that fill what all share, with CPU time and with
 * other events. No stack is sent here, what it would take is charged.
 */
#include "tests/unit/bpf/walk_host.h"

static __u64 bpf_ktime_get_boot_ns(void);
static __u64 bpf_get_current_cgroup_id(void);
static __u32 bpf_get_smp_processor_id(void);
#define BPF_CORE_READ_STR_INTO(to, from, field) memcpy(to, (from)->field, sizeof(*(to)))

#include "bpf/sample.bpf.h"

#define BYTES_MAX 1000000ull
#define DEPTH	  200u
#define STACKS	  10000 /* many more than there is room for */
#define ACCOUNTS  64

static __u64 bpf_ktime_get_boot_ns(void)
{
	return 1;
}

static __u64 bpf_get_current_cgroup_id(void)
{
	return 1;
}

static __u32 bpf_get_smp_processor_id(void)
{
	return 0;
}

static uint64_t next_hash_;

static int begin(void **state)
{
	stack_bytes_max = BYTES_MAX;
	memset(all_entries, 0, sizeof(all_entries));
	memset(all_stack_bytes, 0, sizeof(all_stack_bytes));
	memset(all_event_bytes, 0, sizeof(all_event_bytes));
	next_hash_ = 100;
	return host_begin(state);
}

/* Another stack of this kind. How many words of it may be sent. */
static uint32_t stack_put(struct jbpf_account *account, uint32_t kind)
{
	struct scratch *own = host_.scratch;
	uint32_t cnt;

	own->key = (struct jbpf_key){ .pid = HOST_PID, .kind = kind, .user_hash = next_hash_++ };
	own->user.head = (struct jbpf_stack){ .frame_cnt = DEPTH, .hash = own->key.user_hash };
	(void)key_fit(NULL, own, account, 0);
	if (own->key.user_hash == JBPF_HASH_CUT_ALL)
		return 0;
	cnt = own->user.head.frame_cnt;
	stack_charge(account, 0, sizeof(own->user.head) + cnt * sizeof(uint64_t), kind);
	return cnt;
}

/* Stacks of one account until it gets no whole one any more. */
static void fill(struct jbpf_account *account, uint32_t kind)
{
	for (int i = 0; i < STACKS; i++)
		if (stack_put(account, kind) < DEPTH)
			return;
	fail_msg("there is no end of the room");
}

static void events_of_one_account_take_no_room_from_those_of_others(void **state)
{
	struct jbpf_account one = { 0 }, other = { 0 };

	for (int i = 0; i < 1000; i++)
		(void)stack_put(&one, JBPF_KEY_OFF_CPU);
	assert_int_equal(stack_put(&one, JBPF_KEY_OFF_CPU), 1);
	assert_int_equal(stack_put(&other, JBPF_KEY_OFF_CPU), DEPTH);
}

static void cpu_time_of_one_account_takes_no_room_from_events_of_others(void **state)
{
	struct jbpf_account one = { 0 }, other = { 0 };

	fill(&one, JBPF_KEY_SAMPLE);
	assert_true(one.stack_bytes > BYTES_MAX / 2);
	assert_int_equal(stack_put(&other, JBPF_KEY_OFF_CPU), DEPTH);
}

static void half_of_the_bytes_is_kept_for_cpu_time(void **state)
{
	struct jbpf_account accounts[ACCOUNTS] = { 0 }, other = { 0 };

	for (int i = 0; i < ACCOUNTS; i++)
		fill(&accounts[i], JBPF_KEY_OFF_CPU);
	assert_true(all_stack_bytes[0] <= BYTES_MAX / 20 * 11);
	fill(&other, JBPF_KEY_SAMPLE);
	assert_true(other.stack_bytes > BYTES_MAX / 4);
}

static void a_stack_that_was_sent_is_kept_however_little_room_there_is(void **state)
{
	struct jbpf_account one = { 0 };
	struct scratch *own = host_.scratch;
	uint64_t hash = 7;
	uint8_t here = 1;

	stack_bytes_max = 0;
	MAP_PUT(seen, &hash, &here);
	own->key = (struct jbpf_key){ .pid = HOST_PID, .kind = JBPF_KEY_OFF_CPU, .user_hash = 7 };
	own->user.head = (struct jbpf_stack){ .frame_cnt = DEPTH, .hash = 7 };
	assert_false(key_fit(NULL, own, &one, 0));
	assert_int_equal(own->key.user_hash, 7);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, host_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(events_of_one_account_take_no_room_from_those_of_others),
		TEST(cpu_time_of_one_account_takes_no_room_from_events_of_others),
		TEST(half_of_the_bytes_is_kept_for_cpu_time),
		TEST(a_stack_that_was_sent_is_kept_however_little_room_there_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
