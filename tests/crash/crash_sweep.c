// SPDX-License-Identifier: Apache-2.0
/*
 * A compactor is killed at each of its system calls that changes something on disk, one after the
 * other, before the call is carried out. Each time the store must read as before, and the next
 * compaction must bring it to its end.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/crash/crash_store.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define HOUR_S	   3600ull
#define WINDOWS	   130 /* a bit more than four hours */
#define STEPS_MAX  2000
#define FIRST_PART 65

/* What is merged in a sweep, and with which files it begins. */
struct scene {
	const char *name;
	bool steps;	    /* late windows: hours of several files */
	bool begins_merged; /* hours are merged before, then come late windows */
	uint64_t day_age_s;
};

static const struct scene scenes[] = {
	{ "hours of one file", false, false, 100 * HOUR_S },
	{ "hours of several files", true, false, 100 * HOUR_S },
	{ "late windows beside merged hours", true, true, 100 * HOUR_S },
	{ "a day of hours of several files", true, false, 1 },
	{ "a day of merged hours and late windows", true, true, 1 },
};

static uint64_t far_s(void)
{
	return CRASH_T0_S + 90 * 24 * HOUR_S;
}

static void write_windows(const char *dir, const struct crash_clock *clock, uint32_t first,
			  uint32_t last)
{
	const struct store_writer_options options = { .keeps_ticks = true };
	struct store_writer *writer;
	uint64_t lost;
	int err = store_writer__open(dir, &options, &writer);

	for (uint32_t number = first; number < last && !err; number++) {
		crash_add(writer, clock, number);
		err = store_writer__commit(writer, &lost);
	}
	if (err)
		crash_die("writer: %s", errstr(err));
	store_writer__free(writer);
}

static void make_scene(const char *dir, const struct scene *scene)
{
	const struct crash_clock clock = { .steps = scene->steps };

	write_windows(dir, &clock, 0, FIRST_PART);
	if (scene->begins_merged)
		crash_compact(dir, far_s(), 1000 * 24 * HOUR_S);
	write_windows(dir, &clock, FIRST_PART, WINDOWS);
}

static const char *copy_from, *copy_to; /* nftw() has no context */

static int copy_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char to[2 * CRASH_DIR_BYTES];

	(void)st;
	(void)ftw;
	snprintf(to, sizeof(to), "%s%s", copy_to, path + strlen(copy_from));
	if (type == FTW_D)
		return mkdir(to, 0755) && errno != EEXIST;
	return link(path, to);
}

/* Files of a scene are replaced and deleted, never written to: links are copies enough. */
static void copy_scene(const char *from, const char *to)
{
	copy_from = from;
	copy_to = to;
	if (nftw(from, copy_one, 16, FTW_PHYS))
		crash_die("copy: %s", strerror(errno));
}

static bool changes_files(uint64_t number)
{
	switch (number) {
	case SYS_write:
	case SYS_pwrite64:
	case SYS_ftruncate:
	case SYS_fsync:
	case SYS_fdatasync:
	case SYS_linkat:
	case SYS_unlinkat:
	case SYS_renameat2:
#ifdef SYS_renameat
	case SYS_renameat:
#endif
		return true;
	default:
		return false;
	}
}

static void be_traced_compactor(const char *dir, const struct scene *scene)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) || raise(SIGSTOP))
		_exit(3);
	crash_compact(dir, far_s(), scene->day_age_s);
	_exit(0);
}

static bool is_entry_of_change(pid_t pid)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) < 0)
		crash_die("ptrace: %s", strerror(errno));
	return info.op == PTRACE_SYSCALL_INFO_ENTRY && changes_files(info.entry.nr);
}

/* Runs it up to its change number `step` and kills it there. false: it ended before. */
static bool compact_up_to(const char *dir, const struct scene *scene, uint32_t step)
{
	pid_t pid = crash_fork();
	uint32_t changes = 0;
	int status;

	if (pid == 0)
		be_traced_compactor(dir, scene);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		crash_die("the compactor cannot be traced");
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))
		crash_die("ptrace: %s", strerror(errno));
	for (;;) {
		int signo = 0;

		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL))
			crash_die("ptrace: %s", strerror(errno));
		if (waitpid(pid, &status, 0) != pid)
			crash_die("waitpid: %s", strerror(errno));
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			return false;
		if (!WIFSTOPPED(status))
			crash_die("the compactor ended with status %x", status);
		signo = WSTOPSIG(status);
		if (signo != (SIGTRAP | 0x80) || !is_entry_of_change(pid) || ++changes < step)
			continue;
		(void)kill(pid, SIGKILL);
		if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
			crash_die("the compactor was not killed");
		return true;
	}
}

static bool is_all_there(const char *dir, uint64_t merge_ns, struct crash_seen *seen)
{
	int err = crash_read(dir, merge_ns, seen);

	if (err)
		crash_die("read: %s", errstr(err));
	if (seen->damage_cnt)
		fprintf(stderr, "%s\n", seen->damage);
	return !seen->damage_cnt && crash_is_exactly(seen, 0, WINDOWS);
}

/* Everything is there at once, after a writer has begun, and when the next compaction has ended. */
static bool check_step(const char *dir, const struct scene *scene, struct crash_seen *seen)
{
	if (!is_all_there(dir, 0, seen) || !is_all_there(dir, UINT64_MAX, seen))
		return false;
	crash_compact(dir, far_s(), scene->day_age_s);
	return is_all_there(dir, 0, seen);
}

/* How many steps were right; *failed_out when one was not. */
static uint32_t sweep_scene(const struct scene *scene, struct crash_seen *seen, bool *failed_out)
{
	uint32_t step = 1;
	bool was_killed = true;
	char scene_dir[CRASH_DIR_BYTES];

	crash_make_dir(scene_dir);
	make_scene(scene_dir, scene);
	for (; was_killed; step++) {
		char dir[CRASH_DIR_BYTES];

		if (step > STEPS_MAX)
			crash_die("the compactor comes to no end");
		crash_make_dir(dir);
		copy_scene(scene_dir, dir);
		was_killed = compact_up_to(dir, scene, step);
		if (!check_step(dir, scene, seen)) {
			fprintf(stderr, "%s, killed at step %u: see %s\n", scene->name, step, dir);
			*failed_out = true;
			break;
		}
		crash_remove(dir);
	}
	crash_remove(scene_dir);
	printf("%s: %u steps\n", scene->name, step - 1);
	return step - 1;
}

int crash_sweep(void)
{
	struct crash_seen *seen = malloc(sizeof(*seen));
	uint32_t passed = 0, failed = 0;

	if (!seen)
		crash_die("out of memory");
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		bool has_failed = false;

		passed += sweep_scene(&scenes[i], seen, &has_failed);
		failed += has_failed;
	}
	printf("%u passed, %u failed\n", passed, failed);
	free(seen);
	return failed != 0;
}
