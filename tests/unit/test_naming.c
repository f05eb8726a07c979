// SPDX-License-Identifier: Apache-2.0
/* What the namer says of accounts, with this test's own process as the one that is sampled. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "user/collect/naming/naming.h"
#include "user/util/clock.h"
#include "user/host/proc_stat.h"

#define LEAF_ID (1ull << 40) /* there is none; /proc says where the process is */

static struct naming_account last_account;
static size_t account_cnt, stream_cnt;

static int on_stream(void *ctx, const struct window *window, const char *text, size_t len)
{
	(void)ctx;
	(void)window;
	(void)text;
	(void)len;
	stream_cnt++;
	return 0;
}

static void on_code_range(void *ctx, const struct naming_code_range *range)
{
	(void)ctx;
	(void)range;
}

static void on_opt_out(void *ctx, const struct naming_opt_out *opt_out)
{
	(void)ctx;
	(void)opt_out;
}

static void on_account(void *ctx, const struct naming_account *account)
{
	(void)ctx;
	last_account = *account;
	account_cnt++;
}

static struct naming *naming_new(void)
{
	const struct naming_config config = {
		.jit = JIT_MODE_PERFMAP,
		.ignores_opt_out = true,
		.kallsyms_fd = -1,
		.listener = { .stream = on_stream,
			      .code_range = on_code_range,
			      .opt_out = on_opt_out,
			      .account = on_account },
	};
	struct naming *naming = NULL;
	char why[256] = "";

	assert_int_equal(naming__open(&config, &naming, why, sizeof(why)), 0);
	return naming;
}

static uint64_t own_start_ns(void)
{
	int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t start_ns = 0;

	assert_int_equal(proc_stat_start_ns(proc_fd, (uint32_t)getpid(), &start_ns), 0);
	close(proc_fd);
	return start_ns;
}

static void name_window(struct naming *naming, uint64_t start_ns)
{
	const struct probe_count count = {
		.key = { .start_ns = start_ns, .cgroup_id = LEAF_ID, .pid = (uint32_t)getpid() },
		.value = { .count = 1, .comm = "test" },
	};
	uint32_t slots[16] = { 0 };
	const struct naming_batch batch = {
		.head = { .start_boot_ns = clock_boot_ns() - 1,
			  .end_boot_ns = clock_boot_ns(),
			  .count_cnt = 1,
			  .frequency_hz = 99,
			  .cpu_cnt = 1 },
		.counts = &count,
		.slots = slots,
		.slot_cnt = 16,
	};
	struct naming_end end;

	naming__window(naming, &batch, &end);
}

static void an_account_is_told_by_one_cgroup_with_each_window_again(void **state)
{
	const struct jbpf_notice seen = {
		.kind = JBPF_NOTICE_SEEN,
		.pid = (uint32_t)getpid(),
		.start_ns = own_start_ns(),
		.cgroup_id = LEAF_ID,
		.comm = "test",
	};
	struct naming *naming = naming_new();
	struct naming_account first;

	(void)state;
	naming__notice(naming, &seen);
	assert_int_equal(account_cnt, 1);
	first = last_account;
	assert_true(first.cgroup_id && first.account);
	naming__notice(naming, &seen);
	assert_int_equal(account_cnt, 1);
	for (size_t i = 2; i < 5; i++) {
		name_window(naming, seen.start_ns);
		assert_int_equal(account_cnt, i);
		assert_memory_equal(&last_account, &first, sizeof(first));
	}
	assert_int_equal(stream_cnt, 3);
	naming__free(naming);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_account_is_told_by_one_cgroup_with_each_window_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
