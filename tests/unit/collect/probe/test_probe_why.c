// SPDX-License-Identifier: Apache-2.0
/* The one line a user gets when the BPF side does not start. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "user/collect/probe/probe_why.h"
#include "user/util/cleanup.h"

#define SYS_ADMIN (1ull << 21)
#define PERFMON	  (1ull << 38)
#define BPF	  (1ull << 39)

static void each_failure_says_why_and_what_to_do(void **state)
{
	static const struct {
		struct probe_failure failure;
		struct probe_host host;
		const char *says[3];
	} rows[] = {
		{ { .step = PROBE_STEP_LOAD, .err = -EPERM },
		  { .has_btf = true, .perf_event_paranoid = 2 },
		  { "CAP_BPF", "CAP_PERFMON", "root" } },
		{ { .step = PROBE_STEP_LOAD, .err = -EPERM },
		  { .has_btf = true, .capabilities = BPF },
		  { "programs: CAP_PERFMON (or CAP_SYS_ADMIN) is missing" } },
		{ { .step = PROBE_STEP_LOAD, .err = -EPERM },
		  { .has_btf = true, .capabilities = PERFMON },
		  { "programs: CAP_BPF (or CAP_SYS_ADMIN) is missing" } },
		{ { .step = PROBE_STEP_LOAD, .err = -ESRCH },
		  { .has_btf = false, .capabilities = SYS_ADMIN },
		  { "/sys/kernel/btf/vmlinux", "CONFIG_DEBUG_INFO_BTF" } },
		{ { .step = PROBE_STEP_LOAD, .err = -EPERM },
		  { .has_btf = true, .capabilities = BPF | PERFMON },
		  { "lockdown", "RLIMIT_MEMLOCK" } },
		{ { .step = PROBE_STEP_LOAD, .err = -EACCES, .log = "R1 is not a pointer" },
		  { .has_btf = true, .capabilities = SYS_ADMIN },
		  { "Permission denied", "R1 is not a pointer" } },
		{ { .step = PROBE_STEP_LOAD, .err = -ENOMEM },
		  { .has_btf = true, .capabilities = SYS_ADMIN },
		  { "Cannot allocate memory" } },
		{ { .step = PROBE_STEP_MAPS, .err = -ENOMEM },
		  { .has_btf = true, .capabilities = SYS_ADMIN },
		  { "BPF maps", "Cannot allocate memory" } },
		{ { .step = PROBE_STEP_EVENT, .err = -EACCES, .subject = "0" },
		  { .has_btf = true, .capabilities = BPF | PERFMON, .perf_event_paranoid = 3 },
		  { "perf_event_paranoid is 3", "CAP_SYS_ADMIN", "CAP_PERFMON" } },
		{ { .step = PROBE_STEP_EVENT, .err = -EACCES, .subject = "7" },
		  { .has_btf = true, .capabilities = BPF, .perf_event_paranoid = 2 },
		  { "CPU 7", "CAP_PERFMON" } },
		{ { .step = PROBE_STEP_EVENT, .err = -EPERM, .subject = "0" },
		  { .has_btf = true, .capabilities = SYS_ADMIN, .perf_event_paranoid = 4 },
		  { "seccomp", "CPU 0" } },
		{ { .step = PROBE_STEP_EVENT,
		    .err = -EINVAL,
		    .frequency_hz = 9999,
		    .subject = "0" },
		  { .has_btf = true, .capabilities = SYS_ADMIN, .max_sample_rate = 5000 },
		  { "9999 Hz", "perf_event_max_sample_rate", "5000" } },
		{ { .step = PROBE_STEP_EVENT, .err = -EINVAL, .frequency_hz = 99, .subject = "1" },
		  { .has_btf = true, .capabilities = SYS_ADMIN, .max_sample_rate = 5000 },
		  { "CPU 1", "Invalid argument" } },
		{ { .step = PROBE_STEP_FILTER, .err = -ENOENT, .subject = "/sys/fs/cgroup/x" },
		  { .has_btf = true },
		  { "/sys/fs/cgroup/x", "No such file", "cgroup v2" } },
		{ { .step = PROBE_STEP_ATTACH, .err = -ENOENT, .subject = "raw_tp/x" },
		  { .has_btf = true },
		  { "raw_tp/x", "No such file" } },
		{ { .step = PROBE_STEP_NO_CPU, .err = -ENODEV },
		  { .has_btf = true },
		  { "no CPU", "/sys" } },
		{ { .step = PROBE_STEP_OPEN, .err = -EINVAL },
		  { .has_btf = true },
		  { "Invalid argument" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char why[512] = "";

		probe_why(&rows[i].failure, &rows[i].host, why, sizeof(why));
		assert_null(strchr(why, '\n'));
		for (size_t part = 0; part < 3 && rows[i].says[part]; part++) {
			if (!strstr(why, rows[i].says[part]))
				fail_msg("row %zu: '%s' lacks '%s'", i, why, rows[i].says[part]);
		}
	}
}

static void a_small_buffer_cuts_the_line_and_ends_it(void **state)
{
	const struct probe_failure failure = { .step = PROBE_STEP_LOAD, .err = -EPERM };
	const struct probe_host host = { .has_btf = true };
	char why[9];

	(void)state;
	memset(why, 'x', sizeof(why));
	probe_why(&failure, &host, why, sizeof(why));
	assert_string_equal(why, "cannot l");
}

static void capabilities_are_read_from_a_status_file(void **state)
{
	static const struct {
		const char *text;
		int err;
		uint64_t capabilities;
	} rows[] = {
		{ "Name:\tx\nCapPrm:\t0\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n", 0,
		  0x1ffffffffff },
		{ "Name:\tx\nCapEff:\t0000000000000000\n", 0, 0 },
		{ "Name:\tCapEff:\t1\n", -EINVAL, 42 },
		{ "Name:\tx\nCapEff:\n", -EINVAL, 42 },
		{ "Name:\tx\nCapEff:\txyz\n", -EINVAL, 42 },
		{ "", -EINVAL, 42 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t capabilities = 42;

		assert_int_equal(probe_why_capabilities(rows[i].text, &capabilities), rows[i].err);
		assert_int_equal(capabilities, rows[i].capabilities);
	}
}

static void the_verifiers_last_word_is_kept_over_what_follows_and_precedes(void **state)
{
	static const char *const messages[] = {
		"libbpf: prog 'oncpu': BPF program load failed: Permission denied\n",
		"libbpf: prog 'oncpu': -- BEGIN PROG LOAD LOG --\n"
		"0: (bf) r6 = r1\n"
		"R1 invalid mem access 'scalar'\n"
		"verification time 12 usec\n"
		"stack depth 0\n"
		"processed 1 insns (limit 1000000)\n"
		"-- END PROG LOAD LOG --\n",
		"libbpf: prog 'oncpu': failed to load: -13\n",
		"libbpf: failed to load object 'jbpf_bpf'\n",
	};
	char log[256] = "";

	(void)state;
	probe_why_keep_log(messages[0], log, sizeof(log));
	assert_string_equal(log, "prog 'oncpu': BPF program load failed: Permission denied");
	for (size_t i = 1; i < ARRAY_SIZE(messages); i++)
		probe_why_keep_log(messages[i], log, sizeof(log));
	assert_string_equal(log, "R1 invalid mem access 'scalar'");
}

static void odd_messages_of_libbpf_do_no_harm(void **state)
{
	char log[8] = "";

	(void)state;
	probe_why_keep_log("", log, sizeof(log));
	assert_string_equal(log, "");
	probe_why_keep_log("\n\n", log, sizeof(log));
	assert_string_equal(log, "");
	probe_why_keep_log("\nprocessed 3", log, sizeof(log));
	assert_string_equal(log, "");
	probe_why_keep_log("a line that is too long", log, sizeof(log));
	assert_string_equal(log, "a line ");
	probe_why_keep_log("anything", log, 0);
	assert_string_equal(log, "a line ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_failure_says_why_and_what_to_do),
		cmocka_unit_test(a_small_buffer_cuts_the_line_and_ends_it),
		cmocka_unit_test(capabilities_are_read_from_a_status_file),
		cmocka_unit_test(the_verifiers_last_word_is_kept_over_what_follows_and_precedes),
		cmocka_unit_test(odd_messages_of_libbpf_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
