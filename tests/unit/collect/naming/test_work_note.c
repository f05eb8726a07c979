// SPDX-License-Identifier: Apache-2.0
/* The page on which the namer says whom it works on: read at any moment, by another process. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/collect/naming/work_note.h"

#define READS 200000

static struct work work_of(uint32_t number)
{
	return (struct work){ .id = { .pid = number, .start_ns = number }, .account = number };
}

static void a_note_says_whom_and_whether(void **state)
{
	struct work_note *note = work_note__new();
	const struct work seven = work_of(7);
	bool is_busy = true;
	uint64_t first, second;
	struct work work;

	(void)state;
	assert_non_null(note);
	(void)work_note__read(note, &work, &is_busy);
	assert_false(is_busy);
	work_note__on(note, &seven);
	first = work_note__read(note, &work, &is_busy);
	assert_true(is_busy);
	assert_int_equal(work.id.pid, 7);
	assert_int_equal(work.id.start_ns, 7);
	assert_int_equal(work.account, 7);
	assert_true(work_note__read(note, &work, &is_busy) == first);
	/* The same one again is a change, too: it goes on. */
	work_note__on(note, &seven);
	second = work_note__read(note, &work, &is_busy);
	assert_true(second != first);
	work_note__on(note, NULL);
	assert_true(work_note__read(note, &work, &is_busy) != second);
	assert_true(is_busy);
	assert_int_equal(work.id.pid, 0);
	work_note__idle(note);
	(void)work_note__read(note, &work, &is_busy);
	assert_false(is_busy);
	/* Whoever wrote it may have been taken over. */
	memset(work.comm, 'x', sizeof(work.comm));
	memset(work.owner, 'y', sizeof(work.owner));
	work_note__on(note, &work);
	(void)work_note__read(note, &work, &is_busy);
	assert_int_equal(strlen(work.comm), WORK_COMM_BYTES - 1);
	assert_int_equal(strlen(work.owner), WORK_OWNER_BYTES - 1);
	work_note__on(NULL, &seven);
	work_note__idle(NULL);
	work_note__free(note);
	work_note__free(NULL);
}

static void __attribute__((noreturn)) write_for_ever(struct work_note *note)
{
	for (uint32_t number = 1;; number++) {
		const struct work work = work_of(number);

		work_note__on(note, &work);
	}
}

static void a_reader_never_sees_half_of_a_note(void **state)
{
	struct work_note *note = work_note__new();
	pid_t parent = getpid(), writer = fork();
	uint64_t changes = 0, before = 0;

	(void)state;
	if (writer == 0) {
		(void)alarm(60);
		write_for_ever(note);
	}
	assert_true(writer > 0 && parent == getpid());
	for (int i = 0; i < READS || changes < 2; i++) {
		struct work work;
		bool is_busy;
		uint64_t sequence = work_note__read(note, &work, &is_busy);

		if (sequence & 1)
			continue; /* given up: it says itself that it is no answer */
		assert_int_equal(work.id.start_ns, work.id.pid);
		assert_int_equal(work.account, work.id.pid);
		changes += sequence != before;
		before = sequence;
	}
	assert_int_equal(kill(writer, SIGKILL), 0);
	assert_int_equal(waitpid(writer, NULL, 0), writer);
	work_note__free(note);
}

/* Killed in the midst of it, or taken over: the first word stays odd. */
static void a_writer_that_died_while_writing_stops_neither_reader_nor_next_writer(void **state)
{
	struct work_note *note = work_note__new();
	const struct work seven = work_of(7);
	uint64_t odd = 41, sequence;
	struct work work;
	bool is_busy;

	(void)state;
	memcpy(note, &odd, sizeof(odd));
	assert_true(work_note__read(note, &work, &is_busy) == odd);
	work_note__on(note, &seven);
	sequence = work_note__read(note, &work, &is_busy);
	assert_true(sequence == 42);
	assert_int_equal(work.id.pid, 7);
	work_note__free(note);
}

static void windows_are_given_up_up_to_one(void **state)
{
	struct work_note *note = work_note__new();
	pid_t child;
	int status;

	(void)state;
	assert_false(work_note__is_given_up(NULL, 1));
	assert_false(work_note__is_given_up(note, 1));
	child = fork();
	if (child == 0) {
		work_note__give_up(note, 5);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(work_note__is_given_up(note, 4));
	assert_true(work_note__is_given_up(note, 5));
	assert_false(work_note__is_given_up(note, 6));
	work_note__free(note);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_note_says_whom_and_whether),
		cmocka_unit_test(a_reader_never_sees_half_of_a_note),
		cmocka_unit_test(
			a_writer_that_died_while_writing_stops_neither_reader_nor_next_writer),
		cmocka_unit_test(windows_are_given_up_up_to_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
