// SPDX-License-Identifier: Apache-2.0
/* Who opts out of profiling: values, environments in pieces, and what /proc has of a process. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/remove_tree.h"
#include "user/collect/container/opt_out.h"
#include "user/util/cleanup.h"

static void values_that_opt_out_are_few_and_in_any_case(void **state)
{
	static const struct {
		const char *value;
		bool is_off;
	} rows[] = {
		{ "off", true },   { "OFF", true },	{ "oFf", true },   { "0", true },
		{ "no", true },	   { "NO", true },	{ "false", true }, { "False", true },
		{ "", false },	   { "on", false },	{ "1", false },	   { "yes", false },
		{ "true", false }, { "off ", false },	{ " off", false }, { "offer", false },
		{ "00", false },   { "falsee", false }, { "n", false },	   { NULL, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (opt_out_value(rows[i].value) != rows[i].is_off)
			fail_msg("'%s'", rows[i].value);
	}
}

#define TEXT(literal) (literal), sizeof(literal) - 1

static const struct {
	const char *bytes;
	size_t len;
	bool opts_out;
} environments[] = {
	{ TEXT(""), false },
	{ TEXT("JBPF_PROFILE=off\0"), true },
	{ TEXT("JBPF_PROFILE=off"), true }, /* a process may have overwritten the NUL */
	{ TEXT("A=b\0JBPF_PROFILE=0\0C=d\0"), true },
	{ TEXT("A=b\0JBPF_PROFILE=\0"), false },
	{ TEXT("A=b\0JBPF_PROFILE\0"), false },
	{ TEXT("XJBPF_PROFILE=off\0"), false },
	{ TEXT("JBPF_PROFILES=off\0"), false },
	{ TEXT("A=JBPF_PROFILE=off\0"), false },
	{ TEXT("A=\nJBPF_PROFILE=off\0"), false },
	{ TEXT("JBPF_PROFILE=offoffoffoff\0"), false },
	{ TEXT("JBPF_PROFILE=falsefalse\0"), false },
	{ TEXT("JBPF_PROFILE=on\0JBPF_PROFILE=off\0"), false }, /* as getenv() has it */
	{ TEXT("JBPF_PROFILE=off\0JBPF_PROFILE=on\0"), true },
	{ TEXT("\0\0\0JBPF_PROFILE=no\0"), true },
	{ TEXT("JBPF_JBPF_PROFILE=off\0"), false },
};

static void a_variable_is_found_however_its_environment_is_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(environments); i++) {
		for (size_t cut = 0; cut <= environments[i].len; cut++) {
			struct opt_out_scan scan = { .name_len = 0 };

			opt_out_scan_add(&scan, environments[i].bytes, cut);
			opt_out_scan_add(&scan, environments[i].bytes + cut,
					 environments[i].len - cut);
			if (opt_out_scan_result(&scan) != environments[i].opts_out)
				fail_msg("environment %zu, cut at %zu", i, cut);
		}
	}
}

/* A folder that stands for /proc, with process 1. */
static int proc_setup(void **state)
{
	static char folder[] = "/tmp/jbpf-test-XXXXXX";

	strcpy(folder, "/tmp/jbpf-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	*state = folder;
	return 0;
}

static int proc_remove(void **state)
{
	return remove_tree((const char *)*state);
}

static int proc_with(const char *folder, const char *bytes, size_t len)
{
	int proc_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)mkdirat(proc_fd, "1", 0755);

	__cleanup_fd int fd =
		openat(proc_fd, "1/environ", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	return proc_fd;
}

static void what_a_process_was_started_with_decides(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(environments); i++) {
		__cleanup_fd int proc_fd =
			proc_with(*state, environments[i].bytes, environments[i].len);
		enum opt_out expected = environments[i].opts_out ? OPT_OUT_BY_ENVIRONMENT :
					environments[i].len	 ? OPT_OUT_NONE :
								   OPT_OUT_UNDECIDED;

		assert_int_equal(opt_out_read(proc_fd, 1), expected);
	}
}

static void of_a_process_that_is_gone_nothing_is_known(void **state)
{
	__cleanup_fd int proc_fd = proc_with(*state, "", 0);

	assert_int_equal(opt_out_read(proc_fd, 2), OPT_OUT_UNDECIDED);
}

static void an_environment_without_end_is_not_read_to_its_end(void **state)
{
	__cleanup_fd int proc_fd = proc_with(*state, "", 0);
	__cleanup_fd int fd = openat(proc_fd, "1/environ", O_WRONLY | O_CLOEXEC);

	/* Far behind the limit. */
	assert_int_equal(pwrite(fd, TEXT("\0JBPF_PROFILE=off\0"), 64 << 20), 18);
	assert_int_equal(opt_out_read(proc_fd, 1), OPT_OUT_UNDECIDED);
	assert_int_equal(pwrite(fd, TEXT("A=b\0JBPF_PROFILE=off\0"), 0), 21);
	assert_int_equal(opt_out_read(proc_fd, 1), OPT_OUT_BY_ENVIRONMENT);
}

static void reasons_are_for_those_who_opted_out(void **state)
{
	(void)state;
	assert_null(opt_out_reason(OPT_OUT_NONE));
	assert_null(opt_out_reason(OPT_OUT_UNDECIDED));
	assert_non_null(strstr(opt_out_reason(OPT_OUT_BY_ENVIRONMENT), "JBPF_PROFILE"));
	assert_non_null(strstr(opt_out_reason(OPT_OUT_BY_LABEL), "jbpf.profile"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_that_opt_out_are_few_and_in_any_case),
		cmocka_unit_test(a_variable_is_found_however_its_environment_is_cut),
		cmocka_unit_test_setup_teardown(what_a_process_was_started_with_decides, proc_setup,
						proc_remove),
		cmocka_unit_test_setup_teardown(of_a_process_that_is_gone_nothing_is_known,
						proc_setup, proc_remove),
		cmocka_unit_test_setup_teardown(an_environment_without_end_is_not_read_to_its_end,
						proc_setup, proc_remove),
		cmocka_unit_test(reasons_are_for_those_who_opted_out),
	};

	return cmocka_run_group_tests_name("opt_out", tests, NULL, NULL);
}
