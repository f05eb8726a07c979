// SPDX-License-Identifier: Apache-2.0
/* Questions in processes of their own: how many at once, and what becomes of one that goes wrong. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/util/clock.h"
#include "user/web/web_jobs.h"

#define PATIENCE_S 60

static const struct web_source source = { .store = "/s" };
static struct web_jobs *jobs;

/* What the child does is in the service's name. */
static int play(int argc, char **argv)
{
	const char *act = strchr(argv[argc - 1], '=') + 1;

	if (strcmp(act, "answer") == 0) {
		puts("the answer");
		return 0;
	}
	if (strcmp(act, "none") == 0) {
		fputs("no samples match\n", stderr);
		return 3;
	}
	if (strcmp(act, "usage") == 0)
		return 2;
	if (strcmp(act, "crash") == 0)
		(void)raise(SIGKILL);
	if (strcmp(act, "large") == 0)
		(void)raise(SIGXFSZ);
	while (strcmp(act, "hang") == 0)
		pause();
	fputs("failed\n", stderr);
	return 1;
}

static const struct web_programs programs = { .profile = play, .diff = play };

static int open_jobs(void **state)
{
	(void)state;
	jobs = web_jobs__new(&programs, NULL, NULL);
	return jobs ? 0 : -1;
}

static int close_jobs(void **state)
{
	(void)state;
	web_jobs__free(jobs);
	return 0;
}

static int add(const char *act, struct web_job **out)
{
	struct web_query query = { .argument_cnt = 0 };
	char why[256];

	assert_int_equal(web_query_begin(&query, WEB_ENDPOINT_PROFILE, &source), 0);
	assert_int_equal(web_query_add(&query, "service", act, why, sizeof(why)), 0);
	return web_jobs__add(jobs, &query, NULL, out);
}

static struct web_job *await(void)
{
	uint64_t until_ns = clock_boot_ns() + PATIENCE_S * CLOCK_NS_PER_S;

	while (clock_boot_ns() < until_ns) {
		struct web_job *job = web_jobs__next_done(jobs, clock_boot_ns());
		struct pollfd fds[WEB_JOBS_RUNNING_MAX];

		if (job)
			return job;
		(void)poll(fds, web_jobs__poll(jobs, fds), 100);
	}
	fail_msg("no question was answered in time");
	return NULL;
}

static void an_answer_is_in_a_file(void **state)
{
	char line[256], text[64] = "";
	struct web_job *job;

	(void)state;
	assert_int_equal(add("answer", &job), 0);
	assert_ptr_equal(await(), job);
	assert_int_equal(web_job_result(job, line, sizeof(line)), 200);
	assert_true(pread(job->out_fd, text, sizeof(text) - 1, 0) > 0);
	assert_string_equal(text, "the answer\n");
	/* It is told once. */
	assert_null(web_jobs__next_done(jobs, clock_boot_ns()));
	web_jobs__end(jobs, job);
}

static void each_failure_has_its_status_and_a_line(void **state)
{
	static const struct {
		const char *act;
		unsigned int status;
		const char *words;
	} rows[] = {
		{ "none", 404, "no samples match\n" },
		{ "usage", 400, "without a word" },
		{ "fail", 500, "failed\n" },
		{ "crash", 500, "ended (Killed)" },
		{ "large", 500, "larger than 256 MiB" },
	};
	char line[256];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct web_job *job;

		assert_int_equal(add(rows[i].act, &job), 0);
		assert_ptr_equal(await(), job);
		assert_int_equal(web_job_result(job, line, sizeof(line)), rows[i].status);
		if (!strstr(line, rows[i].words))
			fail_msg("'%s' lacks '%s'", line, rows[i].words);
		web_jobs__end(jobs, job);
	}
}

static void one_that_hangs_is_ended_when_its_time_is_over(void **state)
{
	struct web_job *job;
	char line[256];

	(void)state;
	assert_int_equal(add("hang", &job), 0);
	assert_null(web_jobs__next_done(jobs, clock_boot_ns()));
	assert_int_equal(job->state, WEB_JOB_RUNS);
	assert_ptr_equal(web_jobs__next_done(jobs, job->until_boot_ns + 1), job);
	assert_int_equal(web_job_result(job, line, sizeof(line)), 504);
	web_jobs__end(jobs, job);
}

static void only_a_few_run_and_the_others_wait_in_order(void **state)
{
	struct web_job *hanging[WEB_JOBS_RUNNING_MAX], *next, *last;

	(void)state;
	for (size_t i = 0; i < WEB_JOBS_RUNNING_MAX; i++)
		assert_int_equal(add("hang", &hanging[i]), 0);
	assert_int_equal(add("answer", &next), 0);
	assert_int_equal(add("hang", &last), 0);
	assert_null(web_jobs__next_done(jobs, clock_boot_ns()));
	assert_int_equal(next->state, WEB_JOB_WAITS);
	web_jobs__end(jobs, hanging[0]);
	assert_null(web_jobs__next_done(jobs, clock_boot_ns()));
	assert_int_equal(next->state, WEB_JOB_RUNS);
	assert_int_equal(last->state, WEB_JOB_WAITS);
	assert_ptr_equal(await(), next);
}

static void there_is_an_end_to_questions(void **state)
{
	struct web_job *job;

	(void)state;
	for (size_t i = 0; i < WEB_JOBS_MAX; i++)
		assert_int_equal(add("answer", &job), 0);
	assert_int_equal(add("answer", &job), -EBUSY);
	web_jobs__end(jobs, await());
	assert_int_equal(add("answer", &job), 0);
}

static void at_the_end_all_are_done(void **state)
{
	struct web_job *job;
	char line[256];
	size_t cnt = 0;

	(void)state;
	for (size_t i = 0; i < WEB_JOBS_RUNNING_MAX + 2; i++)
		assert_int_equal(add("hang", &job), 0);
	assert_null(web_jobs__next_done(jobs, clock_boot_ns()));
	web_jobs__end_all(jobs);
	while ((job = web_jobs__next_done(jobs, clock_boot_ns()))) {
		assert_int_equal(web_job_result(job, line, sizeof(line)), 500);
		cnt++;
	}
	assert_int_equal(cnt, WEB_JOBS_RUNNING_MAX + 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_jobs, close_jobs)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_answer_is_in_a_file),
		TEST(each_failure_has_its_status_and_a_line),
		TEST(one_that_hangs_is_ended_when_its_time_is_over),
		TEST(only_a_few_run_and_the_others_wait_in_order),
		TEST(there_is_an_end_to_questions),
		TEST(at_the_end_all_are_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
