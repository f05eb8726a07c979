// SPDX-License-Identifier: Apache-2.0
/*
 * Nothing that was committed to a store is ever lost, seen twice, or seen half, whoever is killed
 * when. Writers and compactors are killed with SIGKILL, the store is read in between. Three ways:
 *
 *     store_crash kill RUNS SEED   a writer and a compactor killed at random moments, again and again
 *     store_crash sweep            a compactor killed at each of its system calls that changes a file
 *     store_crash readers          two readers while hours and days are merged and deleted
 *
 * The last line is "N passed, N failed".
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/crash/crash_store.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/util/parse.h"

#define RUNS_PER_STORE	25
#define WRITER_PAUSE_US 500
#define WRITER_LIFE_US	40000
#define HOUR_S		3600u

struct kill_run {
	char dir[CRASH_DIR_BYTES];
	struct crash_clock clock;
	struct crash_shared *shared;
	uint64_t seed;
	uint64_t compactor_now_s;
	uint64_t day_age_s;
	uint32_t writer_kills; /* in this store */
	uint32_t cut_commits;  /* of them in the middle of a commit: no row of the host */
};

static void be_writer(const struct kill_run *run)
{
	const struct store_writer_options options = { .keeps_ticks = true };
	struct store_writer *writer;
	uint64_t lost;
	int err = store_writer__open(run->dir, &options, &writer);

	if (err)
		crash_die("writer: %s", errstr(err));
	for (uint32_t number = run->shared->committed; number < CRASH_NUMBERS_MAX; number++) {
		crash_add(writer, &run->clock, number);
		err = store_writer__commit(writer, &lost);
		if (err || lost)
			crash_die("commit of %u: %s", number, errstr(err));
		run->shared->committed = number + 1;
		crash_sleep_us(WRITER_PAUSE_US);
	}
	_exit(0);
}

static void be_compactor(const struct kill_run *run)
{
	for (;;) {
		crash_compact(run->dir, run->compactor_now_s, run->day_age_s);
		crash_sleep_us(1000);
	}
}

/* Ends it by SIGKILL. A process that has ended by itself has found something wrong. */
static void end_child(pid_t pid)
{
	int status;

	(void)kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		crash_die("waitpid: %s", strerror(errno));
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		crash_die("a process ended by itself, status %x", status);
}

/*
 * After a kill: all committed windows, and at most the one that was on its way. Of that one the
 * host's row may be missing: it is the second record of the commit, and the kernel ends a write(2)
 * of somebody who was killed between two pages (mm/filemap.c, generic_perform_write()).
 */
static bool check_store(struct kill_run *run, struct crash_seen *seen)
{
	uint32_t committed = run->shared->committed;
	int err = crash_read(run->dir, crash_random(&run->seed, 2) ? UINT64_MAX : 0, seen);

	/* Killed before it could make the directories. */
	if (err == -ENOENT && committed == 0)
		return true;
	if (err) {
		fprintf(stderr, "read: %s\n", errstr(err));
		return false;
	}
	if (committed < CRASH_NUMBERS_MAX && seen->own[committed]) {
		if (seen->host_windows + run->cut_commits == committed)
			run->cut_commits++;
		run->shared->committed = ++committed;
	}
	seen->cut_commits = run->cut_commits;
	if (seen->damage_cnt > run->writer_kills) {
		fprintf(stderr, "%" PRIu64 " damaged places after %u kills: %s\n", seen->damage_cnt,
			run->writer_kills, seen->damage);
		return false;
	}
	return crash_is_exactly(seen, 0, committed);
}

static void choose_times(struct kill_run *run)
{
	uint64_t written_s = crash_time_s(&run->clock, run->shared->committed);

	/* Everything is over but what is being written; or the last hours are not. */
	run->compactor_now_s = crash_random(&run->seed, 2) ? written_s + 1000 * HOUR_S :
							     written_s + 2 * HOUR_S;
	run->day_age_s = crash_random(&run->seed, 2) ? 1 : 10000 * HOUR_S;
}

static bool kill_once(struct kill_run *run, struct crash_seen *seen)
{
	uint32_t first_us = crash_random(&run->seed, WRITER_LIFE_US);
	uint32_t second_us = crash_random(&run->seed, WRITER_LIFE_US);
	bool is_writer_first = crash_random(&run->seed, 2);
	pid_t writer, compactor;

	choose_times(run);
	writer = crash_fork();
	if (writer == 0)
		be_writer(run);
	compactor = crash_fork();
	if (compactor == 0)
		be_compactor(run);
	crash_sleep_us(first_us);
	end_child(is_writer_first ? writer : compactor);
	crash_sleep_us(second_us);
	end_child(is_writer_first ? compactor : writer);
	run->writer_kills++;
	return check_store(run, seen);
}

/* Nobody disturbs it any more: every window in as few files as there are days. */
static bool finish_store(struct kill_run *run, struct crash_seen *seen)
{
	char tmp[CRASH_DIR_BYTES + 32];

	crash_compact(run->dir, crash_time_s(&run->clock, run->shared->committed) + 1000 * HOUR_S,
		      1);
	snprintf(tmp, sizeof(tmp), "%s/v1/cpu/.compact.tmp", run->dir);
	if (access(tmp, F_OK) == 0) {
		fprintf(stderr, "%s is left\n", tmp);
		return false;
	}
	return check_store(run, seen);
}

static int crash_kills(uint32_t runs, uint64_t seed)
{
	struct kill_run run = { .shared = crash_shared_make(), .seed = seed };
	struct crash_seen *seen = malloc(sizeof(*seen));
	uint64_t windows = 0;
	uint32_t passed = 0, cut = 0;

	if (!seen)
		crash_die("out of memory");
	printf("%u kills, seed %" PRIu64 "\n", runs, seed);
	for (uint32_t i = 0; i < runs; i++) {
		if (i % RUNS_PER_STORE == 0) {
			crash_make_dir(run.dir);
			run.clock.steps = crash_random(&run.seed, 2);
			run.shared->committed = 0;
			run.writer_kills = 0;
			run.cut_commits = 0;
		}
		if (!kill_once(&run, seen)) {
			fprintf(stderr, "run %u of seed %" PRIu64 ": see %s\n", i, seed, run.dir);
			break;
		}
		if (i % RUNS_PER_STORE == RUNS_PER_STORE - 1 || i == runs - 1) {
			windows += run.shared->committed;
			cut += run.cut_commits;
			if (!finish_store(&run, seen)) {
				fprintf(stderr, "after run %u of seed %" PRIu64 ": see %s\n", i,
					seed, run.dir);
				break;
			}
			crash_remove(run.dir);
		}
		passed++;
	}
	printf("%" PRIu64 " windows, %u without their host's row\n%u passed, %u failed\n", windows,
	       cut, passed, passed < runs);
	free(seen);
	return passed < runs;
}

int main(int argc, char **argv)
{
	uint64_t runs = 0, seed = 0;

	log_set_level(LOG_LEVEL_ERR);
	if (argc == 4 && strcmp(argv[1], "kill") == 0 && parse_u64(argv[2], &runs) == 0 &&
	    parse_u64(argv[3], &seed) == 0)
		return crash_kills((uint32_t)runs, seed);
	if (argc == 2 && strcmp(argv[1], "sweep") == 0)
		return crash_sweep();
	if (argc == 2 && strcmp(argv[1], "readers") == 0)
		return crash_readers();
	fprintf(stderr, "usage: store_crash kill RUNS SEED | sweep | readers\n");
	return 2;
}
