// SPDX-License-Identifier: Apache-2.0
/* Perf maps of a process over time; see jit_perfmaps.h. */
#include "symbols/jit/jit_perfmaps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/files/container_file.h"
#include "user/files/opener.h"
#include "user/util/account.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/host/proc_stat.h"

/*
 * Some runtimes append to their map all the time. Reading it again costs what it cost last time;
 * waiting this many times as long keeps that below 1 % of one CPU.
 */
#define JIT_PERFMAPS_COST_FACTOR 100u
#define JIT_PERFMAPS_CHEAP_NS	 (5 * CLOCK_NS_PER_MS) /* not worth waiting for */
#define JIT_PERFMAPS_FAILURE_NS	 CLOCK_NS_PER_S	       /* what a map costs that ends the parser */

/* Frees a map that counted. NULL is fine. */
static void jit_perfmaps_drop(const struct jit_perfmaps *names, struct perfmap *map)
{
	if (map)
		account__give(names->account, ACCOUNT_POOL_MAPS, perfmap__bytes(map));
	perfmap__free(map);
}

/* Counts a map that is to be kept. 0 or -EDQUOT. */
static int jit_perfmaps_afford(const struct jit_perfmaps *names, const struct perfmap *map)
{
	int err = account__take(names->account, ACCOUNT_POOL_MAPS, perfmap__bytes(map));

	if (err)
		account__note_cut(names->account, ACCOUNT_CUT_MAPS, 1);
	return err;
}

void jit_perfmaps_release(struct jit_perfmaps *names)
{
	jit_perfmaps_drop(names, names->current);
	for (size_t i = 0; i < JIT_PERFMAPS_PREVIOUS; i++)
		jit_perfmaps_drop(names, names->previous[i].map);
	*names = (struct jit_perfmaps){ 0 };
}

static const char *jit_perfmaps_problem(int err)
{
	switch (err) {
	case -ENOENT:
		return "there is no perf map in the container's /tmp";
	case -ELOOP:
		return "the perf map is a symbolic link: refused";
	case -EINVAL:
		return "the perf map is not a regular file: refused";
	case -EPERM:
		return "the perf map belongs to another user: refused";
	case -EFBIG:
		return "the perf map is larger than 256 MiB: refused";
	case -E2BIG:
		return "the perf map has more than 2000000 entries or 64 MiB of names: refused";
	case -EDQUOT:
		return "the perf maps of the container's processes together are too large: refused";
	case -EACCES:
		return "no right to read the perf map (CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH are needed)";
	case -EIO:
		return "the perf map could not be read";
	case -ETIMEDOUT:
		return "the perf map could not be opened: its file system does not answer";
	case -EAGAIN:
		return "the perf map is not read yet: the parser rests after failures";
	case -ENOTRECOVERABLE:
		return "the perf map could not be parsed: see jbpfd's log";
	default:
		return "the perf map could not be opened";
	}
}

/* The file, opened and checked. fd or -errno; -ESRCH when it is the process that is gone. */
static int jit_perfmaps_open(const struct jit_perfmaps *names, int proc_fd, uint32_t pid,
			     struct stat *st)
{
	struct container_file_rules rules = { .max_bytes = PERFMAP_MAX_BYTES };
	struct proc_status status;
	char path[40];
	int err = proc_status_read(proc_fd, pid, &status);

	if (err)
		return err == -ENOENT ? -ESRCH : err;

	__cleanup_fd int root_fd = container_root_open(proc_fd, pid);

	if (root_fd < 0)
		return root_fd == -ENOENT ? -ESRCH : root_fd;
	rules.owner = status.euid;
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", status.ns_pid);
	parser__charge(names->parser, names->account);
	return opener__file(parser__opener(names->parser), root_fd, path, &rules, st, NULL);
}

static uint64_t stat_mtime_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * CLOCK_NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;
}

static bool jit_perfmaps_is_due(const struct jit_perfmaps *names, const struct stat *st,
				uint64_t now_ns)
{
	if (names->read_boot_ns == 0)
		return true;
	/* What there was no room for may find some later. */
	if (names->read_err != -EDQUOT && names->file_inode == st->st_ino &&
	    names->file_bytes == (uint64_t)st->st_size && names->file_mtime_ns == stat_mtime_ns(st))
		return false;
	return names->read_cost_ns < JIT_PERFMAPS_CHEAP_NS ||
	       now_ns - names->read_boot_ns >= names->read_cost_ns * JIT_PERFMAPS_COST_FACTOR;
}

static void jit_perfmaps_replace(struct jit_perfmaps *names, struct perfmap *fresh)
{
	names->loaded_boot_ns = clock_boot_ns();
	names->generation++;
	if (names->current) {
		jit_perfmaps_drop(names, names->previous[JIT_PERFMAPS_PREVIOUS - 1].map);
		for (size_t i = JIT_PERFMAPS_PREVIOUS - 1; i > 0; i--)
			names->previous[i] = names->previous[i - 1];
		names->previous[0] = (struct jit_old_map){
			.map = names->current,
			.replaced_boot_ns = names->loaded_boot_ns,
		};
	}
	names->current = fresh;
}

/* Does reading the same file again give the same? Else it was our lack, and the file is tried again. */
static bool is_of_file(int err)
{
	switch (err) {
	case 0:
	case -EFBIG:
	case -E2BIG:
	case -EINVAL:
	case -ENOTRECOVERABLE:
	case -EDQUOT:
		return true;
	default:
		return false;
	}
}

static int jit_perfmaps_load(struct jit_perfmaps *names, int fd, const struct stat *st)
{
	uint64_t begin_ns = clock_monotonic_ns();
	struct perfmap_stats stats = { 0 };
	struct perfmap *fresh;
	int err;

	parser__charge(names->parser, names->account);
	err = parser__perfmap(names->parser, fd, &fresh, &stats);

	if (!err) {
		err = jit_perfmaps_afford(names, fresh);
		if (err)
			perfmap__free(fresh);
	}
	if (err == -EAGAIN)
		return err;
	names->read_boot_ns = clock_boot_ns();
	names->read_cost_ns = clock_monotonic_ns() - begin_ns;
	if (!is_of_file(err))
		return err;
	/* As it was before reading: what is written meanwhile must show as a change next time. */
	names->file_inode = st->st_ino;
	names->file_bytes = (uint64_t)st->st_size;
	names->file_mtime_ns = stat_mtime_ns(st);
	if (err == -ENOTRECOVERABLE && names->read_cost_ns < JIT_PERFMAPS_FAILURE_NS)
		names->read_cost_ns = JIT_PERFMAPS_FAILURE_NS;
	names->read_err = err;
	if (err)
		return err;
	jit_perfmaps_replace(names, fresh);
	names->entry_cnt = stats.entry_cnt;
	names->rejected_cnt += stats.rejected_cnt;
	return 0;
}

void jit_perfmaps_age(struct jit_perfmaps *names, uint64_t oldest_boot_ns)
{
	for (size_t i = 0; i < JIT_PERFMAPS_PREVIOUS; i++) {
		struct jit_old_map *old = &names->previous[i];

		if (!old->map || jit_old_map_holds(old, oldest_boot_ns))
			continue;
		jit_perfmaps_drop(names, old->map);
		*old = (struct jit_old_map){ 0 };
		names->generation++;
	}
}

static void jit_perfmaps_note(struct jit_perfmaps *names, uint32_t pid, int err)
{
	if (err == 0) {
		names->problem = NULL;
	} else if (err != names->last_err) {
		/* Without a map before, its absence is no refusal. */
		names->rejected_cnt += err != -ENOENT && err != -EAGAIN;
		names->problem = jit_perfmaps_problem(err);
		pr_debug("perfmap: pid %u: %s\n", pid, names->problem);
	}
	/* Removed after it was read, as jbpfd does with maps it asked for: nothing is missing. */
	if (err == -ENOENT && names->current)
		names->problem = NULL;
	names->last_err = err;
}

int jit_perfmaps_refresh(struct jit_perfmaps *names, int proc_fd, uint32_t pid,
			 enum jit_source source, enum jit_perfmaps_force force)
{
	struct stat st;
	__cleanup_fd int fd = jit_perfmaps_open(names, proc_fd, pid, &st);
	int err = fd < 0 ? fd : 0;

	if (err == -ESRCH)
		return err;
	if (!err &&
	    (force == JIT_PERFMAPS_ALWAYS || jit_perfmaps_is_due(names, &st, clock_boot_ns()))) {
		err = jit_perfmaps_load(names, fd, &st);
		if (!err)
			names->source = source;
	} else if (!err) {
		err = names->read_err;
	}
	if (err == -ENOMEM)
		return err;
	jit_perfmaps_note(names, pid, err);
	return 0;
}

bool jit_old_map_holds(const struct jit_old_map *old, uint64_t since_boot_ns)
{
	return old->map && since_boot_ns < old->replaced_boot_ns;
}

uint32_t jit_perfmaps_held_cnt(const struct jit_perfmaps *names, uint64_t since_boot_ns)
{
	uint32_t cnt = 0;

	for (size_t i = 0; i < JIT_PERFMAPS_PREVIOUS; i++)
		cnt += jit_old_map_holds(&names->previous[i], since_boot_ns);
	return cnt;
}

size_t jit_perfmaps_bytes(const struct jit_perfmaps *names)
{
	size_t bytes = names->current ? perfmap__bytes(names->current) : 0;

	for (size_t i = 0; i < JIT_PERFMAPS_PREVIOUS; i++)
		if (names->previous[i].map)
			bytes += perfmap__bytes(names->previous[i].map);
	return bytes;
}
