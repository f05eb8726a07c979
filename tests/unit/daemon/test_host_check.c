// SPDX-License-Identifier: Apache-2.0
/* What --check says of rights: each line's judgement and its advice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "user/sandbox/daemon_sandbox.h"
#include "user/daemon/host_check_rights.h"
#include "user/sandbox/capabilities.h"

#define BIT(cap) CAPABILITY_BIT(cap)
#define ALL	 UINT64_MAX

static const struct capability_use *use_of(unsigned int cap)
{
	size_t cnt;
	const struct capability_use *uses = host_check_uses(&cnt);

	for (size_t i = 0; i < cnt; i++) {
		if (uses[i].cap == cap)
			return &uses[i];
	}
	return NULL;
}

static struct host_facts facts_of(uint64_t capabilities, int paranoid, int kptr)
{
	return (struct host_facts){
		.capabilities = capabilities,
		.perf_event_paranoid = paranoid,
		.kptr_restrict = kptr,
		.unprivileged_bpf_disabled = 2,
	};
}

static void each_missing_capability_tells_its_loss_or_why_there_is_none(void **state)
{
	static const struct {
		unsigned int cap;
		uint64_t held;
		int paranoid, kptr;
		enum check_result result;
		const char *says;
	} rows[] = {
		{ CAP_BPF, ALL, 2, 0, CHECK_OK, "held; at loading: " },
		{ CAP_BPF, BIT(CAP_SYS_ADMIN), 2, 0, CHECK_OK, "CAP_SYS_ADMIN stands in" },
		{ CAP_BPF, BIT(CAP_PERFMON), 2, 0, CHECK_LESS, "nothing can be profiled" },
		{ CAP_PERFMON, BIT(CAP_SYS_ADMIN), 3, 0, CHECK_OK, "CAP_SYS_ADMIN stands in" },
		{ CAP_PERFMON, 0, 2, 0, CHECK_LESS, "nothing can be profiled" },
		{ CAP_SYS_ADMIN, 0, 2, 0, CHECK_OK, "not needed" },
		{ CAP_SYS_ADMIN, 0, 3, 0, CHECK_LESS, "paranoid 3 or more nothing" },
		{ CAP_SYS_ADMIN, 0, HOST_SWITCH_UNKNOWN, 0, CHECK_OK, "not needed" },
		{ CAP_SYSLOG, 0, 2, 0, CHECK_LESS, "kernel frames have no names" },
		{ CAP_SYSLOG, 0, 1, 0, CHECK_OK, "not needed" },
		{ CAP_SYSLOG, 0, 1, 1, CHECK_LESS, "kernel frames have no names" },
		{ CAP_SETPCAP, 0, 2, 0, CHECK_OK, "no harm" },
		{ CAP_SYS_RESOURCE, 0, 2, 0, CHECK_OK, "5.11" },
		{ CAP_SYS_PTRACE, BIT(CAP_SYS_ADMIN), 2, 0, CHECK_LESS, "while running" },
		{ CAP_SYS_PTRACE, ALL, 2, 0, CHECK_OK, "held; while running: " },
		{ CAP_DAC_READ_SEARCH, 0, 2, 0, CHECK_LESS, "have no names" },
		{ CAP_CHECKPOINT_RESTORE, BIT(CAP_SYS_ADMIN), 2, 0, CHECK_LESS, "replaced" },
		{ CAP_SETUID, 0, 2, 0, CHECK_LESS, "stay unnamed" },
		{ CAP_SETGID, 0, 2, 0, CHECK_LESS, "stay unnamed" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host_facts facts = facts_of(rows[i].held, rows[i].paranoid, rows[i].kptr);
		char detail[512] = "";

		assert_non_null(use_of(rows[i].cap));
		assert_int_equal(host_check_capability(use_of(rows[i].cap), &facts, detail,
						       sizeof(detail)),
				 rows[i].result);
		assert_non_null(strstr(detail, rows[i].says));
	}
}

/* What the table says is kept is what is kept. */
static void uses_agree_with_the_sandbox(void **state)
{
	struct capabilities naming = daemon_sandbox_naming(true);
	uint64_t running = 0, attaching = 0;
	size_t cnt;
	const struct capability_use *uses = host_check_uses(&cnt);

	(void)state;
	for (size_t i = 0; i < cnt; i++) {
		assert_non_null(capabilities_name(uses[i].cap));
		if (uses[i].time == CAPABILITY_RUNNING)
			running |= BIT(uses[i].cap);
		if (uses[i].time == CAPABILITY_ATTACHING)
			attaching |= BIT(uses[i].cap);
	}
	assert_true(running == naming.effective);
	assert_true((running | attaching) == naming.permitted);
}

static void levels_of_perf_event_paranoid_are_explained(void **state)
{
	static const struct {
		int level;
		uint64_t held;
		enum check_result result;
		const char *says;
	} rows[] = {
		{ -1, 0, CHECK_OK, "everybody" },
		{ 0, 0, CHECK_OK, "everybody" },
		{ 1, BIT(CAP_PERFMON), CHECK_OK, "need CAP_PERFMON" },
		{ 2, BIT(CAP_SYS_ADMIN), CHECK_OK, "need CAP_PERFMON" },
		{ 2, BIT(CAP_BPF), CHECK_FAILED, "which is missing" },
		{ 3, BIT(CAP_PERFMON) | BIT(CAP_BPF), CHECK_FAILED, "set the sysctl to 2" },
		{ 3, BIT(CAP_SYS_ADMIN), CHECK_OK, "CAP_PERFMON is not enough" },
		{ 4, BIT(CAP_PERFMON), CHECK_FAILED, "CAP_SYS_ADMIN is needed" },
		{ HOST_SWITCH_UNKNOWN, 0, CHECK_OK, "cannot be read" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host_facts facts = facts_of(rows[i].held, rows[i].level, 0);
		char detail[512] = "";

		assert_int_equal(host_check_paranoid(&facts, detail, sizeof(detail)),
				 rows[i].result);
		assert_non_null(strstr(detail, rows[i].says));
	}
}

static void other_switches_are_explained(void **state)
{
	static const struct {
		int kptr;
		enum check_result result;
		const char *says;
	} rows[] = {
		{ 0, CHECK_OK, "CAP_SYSLOG" },
		{ 1, CHECK_OK, "CAP_SYSLOG" },
		{ 2, CHECK_LESS, "set it to 1" },
		{ HOST_SWITCH_UNKNOWN, CHECK_OK, "cannot be read" },
	};
	struct host_facts facts = facts_of(ALL, 2, 0);
	char detail[512];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		facts.kptr_restrict = rows[i].kptr;
		assert_int_equal(host_check_kptr(&facts, detail, sizeof(detail)), rows[i].result);
		assert_non_null(strstr(detail, rows[i].says));
	}
	host_check_unprivileged_bpf(&facts, BIT(CAP_SYS_PTRACE), detail, sizeof(detail));
	assert_non_null(strstr(detail, "2: maps that are open are read without CAP_BPF"));
	host_check_unprivileged_bpf(&facts, BIT(CAP_BPF), detail, sizeof(detail));
	assert_non_null(strstr(detail, "it is kept"));
	assert_int_equal(host_check_landlock(7, detail, sizeof(detail)), CHECK_OK);
	assert_int_equal(host_check_landlock(1, detail, sizeof(detail)), CHECK_LESS);
	assert_non_null(strstr(detail, "5.19"));
	assert_int_equal(host_check_landlock(-ENOSYS, detail, sizeof(detail)), CHECK_LESS);
}

static void ways_to_walk_stacks_are_explained(void **state)
{
	const struct host_facts all = { .capabilities = BIT(CAP_SYS_PTRACE) };
	const struct host_facts none = { .capabilities = BIT(CAP_BPF) };
	char detail[512];

	(void)state;
	assert_int_equal(host_check_walk(&all, "x86_64", detail, sizeof(detail)), CHECK_OK);
	assert_non_null(strstr(detail, "by unwind tables"));
	assert_int_equal(host_check_walk(&none, "x86_64", detail, sizeof(detail)), CHECK_LESS);
	assert_non_null(strstr(detail, "CAP_SYS_PTRACE is missing"));
	assert_int_equal(host_check_walk(&all, "aarch64", detail, sizeof(detail)), CHECK_LESS);
	assert_non_null(strstr(detail, "JVMs need -XX:+PreserveFramePointer on aarch64"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_missing_capability_tells_its_loss_or_why_there_is_none),
		cmocka_unit_test(uses_agree_with_the_sandbox),
		cmocka_unit_test(levels_of_perf_event_paranoid_are_explained),
		cmocka_unit_test(other_switches_are_explained),
		cmocka_unit_test(ways_to_walk_stacks_are_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
