// SPDX-License-Identifier: Apache-2.0
/* What is remembered of sampled processes, for whom, and until when. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "user/collect/namer/sight_table.h"
#include "user/util/clock.h"

#define IDLE_WINDOWS 8
#define MANY	     40000u

static struct sight_table *table;

static int setup(void **state)
{
	(void)state;
	table = sight_table__new();
	return table ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	sight_table__free(table);
	return 0;
}

static struct process_life life_of(uint32_t pid, uint32_t exec_id)
{
	return (struct process_life){ pid * 10ull, pid, exec_id };
}

static struct jbpf_notice notice_of(uint32_t kind, uint32_t pid, uint32_t exec_id)
{
	return (struct jbpf_notice){ .kind = kind,
				     .pid = pid,
				     .exec_id = exec_id,
				     .start_ns = pid * 10ull,
				     .comm = "java" };
}

static void note(uint32_t kind, uint32_t pid, uint32_t exec_id)
{
	const struct jbpf_notice notice = notice_of(kind, pid, exec_id);

	sight_table__note(table, &notice);
}

struct seen {
	struct jbpf_notice last;
	size_t cnt;
	size_t stop_at;
};

static int see(void *ctx, const struct jbpf_notice *notice)
{
	struct seen *seen = ctx;

	assert_int_equal(notice->kind, JBPF_NOTICE_SEEN);
	seen->last = *notice;
	return ++seen->cnt == seen->stop_at ? -5 : 0;
}

static struct seen see_all(void)
{
	struct seen seen = { .cnt = 0 };

	assert_int_equal(sight_table__each(table, see, &seen), 0);
	return seen;
}

static void processes_that_live_are_shown_as_they_were_seen(void **state)
{
	struct seen seen;

	(void)state;
	assert_int_equal(see_all().cnt, 0);
	note(JBPF_NOTICE_SEEN, 1, 1);
	note(JBPF_NOTICE_SEEN, 1, 1);
	seen = see_all();
	assert_int_equal(seen.cnt, 1);
	assert_int_equal(seen.last.pid, 1);
	assert_int_equal(seen.last.start_ns, 10);
	assert_string_equal(seen.last.comm, "java");
	/* Another program of the same process, another process. */
	note(JBPF_NOTICE_SEEN, 1, 2);
	note(JBPF_NOTICE_SEEN, 2, 1);
	assert_int_equal(see_all().cnt, 3);
	assert_int_equal(sight_table__count(table), 3);
}

static void what_has_ended_or_runs_another_program_is_not_shown(void **state)
{
	(void)state;
	note(JBPF_NOTICE_SEEN, 1, 1);
	note(JBPF_NOTICE_SEEN, 2, 5);
	note(JBPF_NOTICE_EXIT, 1, 1);
	assert_int_equal(see_all().last.pid, 2);
	assert_int_equal(see_all().cnt, 1);
	/* Its notice has the new program's number. */
	note(JBPF_NOTICE_EXEC, 2, 6);
	assert_int_equal(see_all().cnt, 0);
	/* Strangers do no harm. */
	note(JBPF_NOTICE_EXIT, 77, 1);
	note(JBPF_NOTICE_EXEC, 77, 1);
	note(JBPF_NOTICE_RENAME, 77, 1);
	assert_int_equal(sight_table__count(table), 2);
}

static void a_new_name_is_told_to_those_who_come_later(void **state)
{
	struct jbpf_notice rename = notice_of(JBPF_NOTICE_RENAME, 1, 1);

	(void)state;
	note(JBPF_NOTICE_SEEN, 1, 1);
	strcpy(rename.comm, "shop");
	sight_table__note(table, &rename);
	assert_string_equal(see_all().last.comm, "shop");
}

static void those_whose_mappings_are_not_told_yet_are_counted_while_they_live(void **state)
{
	(void)state;
	assert_int_equal(sight_table__without_space(table), 0);
	for (uint32_t pid = 1; pid <= 4; pid++)
		note(JBPF_NOTICE_SEEN, pid, 1);
	assert_int_equal(sight_table__without_space(table), 4);
	sight_table__note_space(table, life_of(1, 1));
	sight_table__note_space(table, life_of(2, 7)); /* another run of it, and nobody */
	sight_table__note_space(table, life_of(77, 1));
	assert_int_equal(sight_table__without_space(table), 3);
	sight_table__note_opted_out(table, life_of(3, 1));
	note(JBPF_NOTICE_EXIT, 4, 1);
	assert_int_equal(sight_table__without_space(table), 1);
	note(JBPF_NOTICE_SEEN, 1, 1);
	sight_table__note_space(table, life_of(2, 1));
	assert_int_equal(sight_table__without_space(table), 0);
}

static void silent_ones_are_forgotten_after_some_windows_and_ended_ones_soon(void **state)
{
	(void)state;
	for (uint32_t pid = 1; pid <= 3; pid++)
		note(JBPF_NOTICE_SEEN, pid, 1);
	note(JBPF_NOTICE_EXIT, 3, 1);
	sight_table__expire(table);
	assert_int_equal(sight_table__count(table), 3); /* its last window may still be named */
	sight_table__expire(table);
	assert_int_equal(sight_table__count(table), 2);
	for (int i = 2; i < IDLE_WINDOWS; i++) {
		sight_table__use(table, life_of(1, 1));
		sight_table__expire(table);
	}
	assert_int_equal(sight_table__count(table), 2);
	sight_table__use(table, life_of(1, 1));
	sight_table__expire(table);
	assert_int_equal(sight_table__count(table), 1);
	assert_int_equal(see_all().last.pid, 1);
}

static void what_was_recorded_is_known_of_one_run_of_a_program(void **state)
{
	(void)state;
	note(JBPF_NOTICE_SEEN, 1, 1);
	assert_false(sight_table__is_recorded(table, life_of(1, 1)));
	sight_table__note_recorded(table, life_of(1, 1));
	assert_true(sight_table__is_recorded(table, life_of(1, 1)));
	assert_false(sight_table__is_recorded(table, life_of(1, 2)));
	assert_false(sight_table__is_recorded(table, (struct process_life){ 11, 1, 1 }));
	/* Seen again, or ended: it still was recorded. */
	note(JBPF_NOTICE_SEEN, 1, 1);
	note(JBPF_NOTICE_EXIT, 1, 1);
	assert_true(sight_table__is_recorded(table, life_of(1, 1)));
	sight_table__note_recorded(table, life_of(5, 1));
	assert_false(sight_table__is_recorded(table, life_of(5, 1)));
}

static bool is_called(uint32_t pid, uint64_t cgroup_id, const char *name)
{
	struct sight_called called = { .stream = { .life = life_of(pid, 0),
						   .cgroup_id = cgroup_id } };

	if (!sight_table__called(table, &called))
		return false;
	assert_int_equal(called.labels_len, strlen(name) + 1);
	assert_string_equal(called.labels, name);
	return true;
}

static void call(uint32_t pid, uint64_t cgroup_id, const char *name)
{
	const struct sight_called called = {
		.stream = { .life = life_of(pid, 0), .cgroup_id = cgroup_id },
		.labels = name,
		.labels_len = (uint32_t)strlen(name) + 1,
	};

	sight_table__note_called(table, &called);
}

static void names_are_those_of_the_cgroup_that_it_was_met_in(void **state)
{
	(void)state;
	call(1, 5, "nobody has seen it");
	assert_false(is_called(1, 5, ""));
	note(JBPF_NOTICE_SEEN, 1, 0);
	assert_false(is_called(1, 5, ""));
	call(1, 5, "shop");
	assert_true(is_called(1, 5, "shop"));
	assert_false(is_called(1, 6, ""));
	call(1, 5, "shop");
	call(1, 6, "shop");
	assert_true(is_called(1, 6, "shop"));
	call(1, 6, "till");
	assert_true(is_called(1, 6, "till"));
	sight_table__note_opted_out(table, life_of(1, 0));
	assert_false(is_called(1, 6, ""));
	assert_true(sight_table__is_opted_out(table, life_of(1, 0)));
	assert_false(sight_table__is_opted_out(table, life_of(1, 1)));
}

static void thousands_are_found_and_each_is_shown_once(void **state)
{
	struct seen seen = { .stop_at = 100 };

	(void)state;
	for (uint32_t pid = 1; pid <= 5000; pid++)
		note(JBPF_NOTICE_SEEN, pid, pid);
	for (uint32_t pid = 1; pid <= 5000; pid += 2) {
		sight_table__note_recorded(table, life_of(pid, pid));
		note(JBPF_NOTICE_SEEN, pid, pid);
	}
	assert_int_equal(sight_table__count(table), 5000);
	assert_int_equal(see_all().cnt, 5000);
	for (uint32_t pid = 1; pid <= 5000; pid++)
		assert_int_equal(sight_table__is_recorded(table, life_of(pid, pid)), pid & 1);
	/* Ends when it is told to. */
	assert_int_equal(sight_table__each(table, see, &seen), -5);
	assert_int_equal(seen.cnt, 100);
	for (int i = 0; i <= IDLE_WINDOWS; i++)
		sight_table__expire(table);
	assert_int_equal(sight_table__count(table), 0);
}

/* CPU time of taking note of so many runs of programs, of one process or of as many. */
static uint64_t note_many_ns(uint32_t cnt, bool is_one_process)
{
	uint64_t begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	for (uint32_t i = 1; i <= cnt; i++)
		note(JBPF_NOTICE_SEEN, is_one_process ? 1 : i, i);
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns;
}

/* A process that executes without end is another one each time; its notices may be held back. */
static void one_process_with_many_programs_costs_no_more_than_many_processes(void **state)
{
	uint64_t one_ns = note_many_ns(MANY, true), many_ns;

	(void)state;
	assert_int_equal(sight_table__count(table), MANY);
	sight_table__free(table);
	table = sight_table__new();
	assert_non_null(table);
	many_ns = note_many_ns(MANY, false);
	assert_int_equal(sight_table__count(table), MANY);
	/* A walk over all of them each time would take a thousand times as long. */
	assert_true(one_ns < 50 * many_ns);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(processes_that_live_are_shown_as_they_were_seen),
		TEST(what_has_ended_or_runs_another_program_is_not_shown),
		TEST(a_new_name_is_told_to_those_who_come_later),
		TEST(those_whose_mappings_are_not_told_yet_are_counted_while_they_live),
		TEST(silent_ones_are_forgotten_after_some_windows_and_ended_ones_soon),
		TEST(what_was_recorded_is_known_of_one_run_of_a_program),
		TEST(names_are_those_of_the_cgroup_that_it_was_met_in),
		TEST(thousands_are_found_and_each_is_shown_once),
		TEST(one_process_with_many_programs_costs_no_more_than_many_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
