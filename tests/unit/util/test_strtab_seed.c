// SPDX-License-Identifier: Apache-2.0
/* Nobody outside knows it, and all of a process agree on it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/util/strtab.h"

#define TELL "tell"

/* What a child reports: this program, run again, or only forked. */
static uint64_t seed_of_child(int is_new)
{
	uint64_t seed = 0;
	int ends[2], status;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(ends[1], STDOUT_FILENO);
		if (is_new)
			(void)execl("/proc/self/exe", "test_strtab_seed", TELL, (char *)NULL);
		seed = strtab_seed();
		_exit(is_new || write(STDOUT_FILENO, &seed, sizeof(seed)) != sizeof(seed));
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &seed, sizeof(seed)), sizeof(seed));
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return seed;
}

static void seed_is_of_the_program_that_runs_and_of_its_forks(void **state)
{
	(void)state;
	assert_true(strtab_seed() != 0);
	assert_true(strtab_seed() == strtab_seed());
	assert_true(seed_of_child(0) == strtab_seed());
	assert_true(seed_of_child(1) != strtab_seed());
	assert_true(seed_of_child(1) != seed_of_child(1));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seed_is_of_the_program_that_runs_and_of_its_forks),
	};

	if (argc > 1 && strcmp(argv[1], TELL) == 0) {
		uint64_t seed = strtab_seed();

		return write(STDOUT_FILENO, &seed, sizeof(seed)) != sizeof(seed);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
