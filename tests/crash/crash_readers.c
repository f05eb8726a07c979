// SPDX-License-Identifier: Apache-2.0
/*
 * Two readers read all of a store, over and over, while windows are written into it, hours and days
 * are merged, and the oldest are deleted. Each time they must see every window once.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/crash/crash_store.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define READERS	       2
#define ROUNDS	       5
#define ROUND_NUMBERS  500 /* 16 hours and 40 minutes */
#define WRITER_NUMBERS 40
#define HOUR_S	       3600ull
#define KEEP_S	       (36 * HOUR_S)
#define FAR_S	       (1000 * HOUR_S)

/*
 * Windows that a deletion may have taken may be there or not, but never in part. Those that were
 * written while it was read may be there.
 */
static bool is_whole(const struct crash_seen *seen, uint32_t deleted, uint32_t committed)
{
	for (uint32_t number = 0; number < CRASH_NUMBERS_MAX; number++) {
		bool is_there = seen->own[number] == crash_own_samples(number);

		if (is_there ? true :
			       !seen->own[number] && (number < deleted || number >= committed))
			continue;
		fprintf(stderr, "reader: window %u of %u: %u samples of its own, not %u\n", number,
			committed, seen->own[number], crash_own_samples(number));
		return false;
	}
	return true;
}

static void be_reader(const char *dir, struct crash_shared *shared, uint64_t merge_ns)
{
	struct crash_seen *seen = malloc(sizeof(*seen));

	while (seen && !shared->is_over) {
		uint32_t committed = shared->committed;
		int err = crash_read(dir, merge_ns, seen);

		if (err)
			crash_die("reader: %s", errstr(err));
		if (seen->damage_cnt)
			crash_die("reader: %s", seen->damage);
		if (seen->samples != seen->text_samples ||
		    (seen->has_cells && seen->samples != seen->cell_samples))
			crash_die("reader: %" PRIu64 " samples, %" PRIu64 " in stacks, %" PRIu64
				  " in cells",
				  seen->samples, seen->text_samples, seen->cell_samples);
		if (!is_whole(seen, shared->deleted, committed))
			_exit(1);
		shared->reads++;
	}
	_exit(0);
}

static struct store_writer *open_writer(const char *dir, uint64_t keep_s)
{
	const struct store_writer_options options = { .keep_age_ns = keep_s * CLOCK_NS_PER_S,
						      .keeps_ticks = true };
	struct store_writer *writer;
	int err = store_writer__open(dir, &options, &writer);

	if (err)
		crash_die("writer: %s", errstr(err));
	return writer;
}

static void write_round(const char *dir, struct crash_shared *shared,
			const struct crash_clock *clock)
{
	struct store_writer *writer = open_writer(dir, 0);

	for (uint32_t i = 1; i <= ROUND_NUMBERS; i++) {
		uint64_t lost;
		int err;

		crash_add(writer, clock, shared->committed);
		err = store_writer__commit(writer, &lost);
		if (err)
			crash_die("commit: %s", errstr(err));
		shared->committed++;
		if (i % WRITER_NUMBERS == 0) {
			store_writer__free(writer);
			writer = open_writer(dir, 0);
		}
		/* While it is written, as it happens to a daemon whose clock was wrong. */
		if (i % 100 == 0)
			crash_compact(dir, crash_time_s(clock, shared->committed) + FAR_S,
				      FAR_S * 2);
	}
	store_writer__free(writer);
}

static void delete_round(const char *dir, struct crash_shared *shared,
			 const struct crash_clock *clock)
{
	struct store_writer *writer;
	uint64_t now_s = crash_time_s(clock, shared->committed);
	/*
	 * Times of neighbours differ by two hours where the clock steps, and age counts from the end of
	 * the newest hour.
	 */
	uint64_t until_s = now_s - KEEP_S + 5 * HOUR_S;
	int err;

	/* Opening deletes, too. */
	if (until_s > CRASH_T0_S)
		shared->deleted = (uint32_t)((until_s - CRASH_T0_S) / CRASH_STEP_S);
	writer = open_writer(dir, KEEP_S);
	err = store_writer__retain(writer, now_s * CLOCK_NS_PER_S);
	if (err)
		crash_die("retention: %s", errstr(err));
	store_writer__free(writer);
}

/* Waits until every reader has read all of it at least once more. */
static void wait_for_reads(struct crash_shared *shared, const pid_t *readers)
{
	uint32_t target = shared->reads + 2 * READERS;
	int status;

	while (shared->reads < target) {
		for (int i = 0; i < READERS; i++) {
			if (waitpid(readers[i], &status, WNOHANG) != 0)
				crash_die("a reader has found something wrong");
		}
		crash_sleep_us(2000);
	}
}

static void run_rounds(const char *dir, struct crash_shared *shared, const pid_t *readers)
{
	const struct crash_clock clock = { .steps = true };

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t now_s;

		write_round(dir, shared, &clock);
		now_s = crash_time_s(&clock, shared->committed);
		crash_compact(dir, now_s + 2 * HOUR_S, FAR_S);
		crash_compact(dir, now_s + FAR_S, 1);
		wait_for_reads(shared, readers);
		delete_round(dir, shared, &clock);
	}
}

int crash_readers(void)
{
	struct crash_shared *shared = crash_shared_make();
	pid_t readers[READERS];
	char dir[CRASH_DIR_BYTES];
	bool is_right = true;

	crash_make_dir(dir);
	store_writer__free(open_writer(dir, 0));
	for (int i = 0; i < READERS; i++) {
		readers[i] = crash_fork();
		if (readers[i] == 0)
			be_reader(dir, shared, i % 2 ? UINT64_MAX : 0);
	}
	run_rounds(dir, shared, readers);
	shared->is_over = true;
	for (int i = 0; i < READERS; i++) {
		int status;

		if (waitpid(readers[i], &status, 0) != readers[i] || status)
			is_right = false;
	}
	printf("%u windows, %u of them deleted, read %u times\n%d passed, %d failed\n",
	       shared->committed, shared->deleted, shared->reads, is_right, !is_right);
	crash_remove(dir);
	return !is_right;
}
