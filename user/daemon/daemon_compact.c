// SPDX-License-Identifier: Apache-2.0
/*
 * Life of the merging child (sandbox/child_process.h). It gives up every right but that to the
 * store. Its exit code is an errno; the parent logs the reason, once.
 */
#include "user/daemon/daemon_compact.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/wait.h>

#include "user/sandbox/child_process.h"
#include "user/sandbox/daemon_sandbox.h"
#include "user/store/store.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define COMPACT_FIRST_NS (5 * CLOCK_NS_PER_S)
/* Behind the hour's last window; and not on all hosts of a rack, with their one disk, at once. */
#define COMPACT_DELAY_S	 240
#define COMPACT_JITTER_S 300
#define COMPACT_NAME	 "jbpfd-compact" /* at most 15 bytes */

/* Its buffers are large, and live as long as it does. */
#define CHILD_MMAP_THRESHOLD (32 * 1024 * 1024)

void daemon_compactor_init(struct daemon_compactor *compactor, uint64_t now_boot_ns)
{
	*compactor = (struct daemon_compactor){ .next_boot_ns = now_boot_ns + COMPACT_FIRST_NS };
}

/* ---- the child ---- */

struct merge {
	const char *store;
	struct store_compaction how;
};

static int child_main(int none, const void *ctx)
{
	static const struct child_options options = {
		.name = COMPACT_NAME,
		.signals = CHILD_SIGNALS_PLAIN,
		.fds = CHILD_FDS_STANDARD,
		.ends_first = true,
		.is_idle = true,
	};
	const struct merge *merge = ctx;
	const char *store = merge->store;
	struct store_compaction_stats stats;
	int err = child_process_become(&options);

	(void)none;
	(void)mallopt(M_MMAP_THRESHOLD, CHILD_MMAP_THRESHOLD);
	(void)mallopt(M_TRIM_THRESHOLD, CHILD_MMAP_THRESHOLD);
	if (!err)
		err = daemon_sandbox_confine(store);
	if (err)
		return err;
	err = store_compact(store, &merge->how, &stats);
	if (stats.hours || stats.days)
		pr_debug("store '%s': %" PRIu64 " hours and %" PRIu64 " days merged, %" PRIu64
			 " bytes are now %" PRIu64 "\n",
			 store, stats.hours, stats.days, stats.bytes_before, stats.bytes_after);
	if (stats.ticks_dropped)
		pr_info("store '%s': when each stack was sampled is not kept any longer of %" PRIu64
			" hour%s (--keep-moments)\n",
			store, stats.ticks_dropped, stats.ticks_dropped == 1 ? "" : "s");
	return err;
}

/* ---- the parent ---- */

static void child_start(struct daemon_compactor *compactor, const char *store, uint64_t now_unix_ns)
{
	const struct merge merge = {
		.store = store,
		.how = { .now_unix_ns = now_unix_ns,
			 .keep_bytes = compactor->keep_bytes,
			 .keep_ticks_ns = compactor->keep_ticks_ns },
	};
	int err = child_process_start(child_main, &merge, NULL, &compactor->pid);

	if (err)
		pr_debug("store '%s': no process to merge hours in: %s\n", store, errstr(err));
}

static const char *advice(int err)
{
	switch (err) {
	case ENOSPC:
	case EDQUOT:
		return "free space or give a smaller --keep-bytes";
	case EROFS:
	case EACCES:
	case EPERM:
		return "make the directory writable";
	case ENOMEM:
		return "give it more memory";
	default:
		return "see what 'jbpf store check' and 'jbpf store compact' say";
	}
}

static void child_ended(struct daemon_compactor *compactor, const char *store, int status)
{
	int err = -child_process_err(status);

	/* Somebody else is at it, or there is nothing yet. */
	if (err == EWOULDBLOCK || err == ENOENT)
		return;
	if (WIFEXITED(status) && err == 0) {
		compactor->done_cnt++;
		compactor->done_unix_ns = clock_unix_ns();
		if (compactor->is_failing)
			pr_info("store '%s': closed hours are merged again\n", store);
		compactor->is_failing = false;
		return;
	}
	compactor->failed_cnt++;
	if (compactor->is_failing)
		return;
	compactor->is_failing = true;
	pr_warn("store '%s': closed hours are not merged: %s; nothing is lost, but it takes more space; %s\n",
		store, child_process_why(status), advice(err));
}

/* Minutes behind the next full hour in wall time, as CLOCK_BOOTTIME. */
static uint64_t next_start_ns(uint64_t now_boot_ns, uint64_t now_unix_ns)
{
	const uint64_t hour_ns = 3600 * CLOCK_NS_PER_S;
	uint16_t random = 0;

	(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
	return now_boot_ns + hour_ns - now_unix_ns % hour_ns + COMPACT_DELAY_S * CLOCK_NS_PER_S +
	       (uint64_t)random * COMPACT_JITTER_S * CLOCK_NS_PER_S / UINT16_MAX;
}

/* True: it has just ended by itself, with that wait status. */
static bool reap(struct daemon_compactor *compactor, int *status_out)
{
	bool was_cancelled = compactor->is_cancelled;

	if (!compactor->pid || !child_process_has_ended(compactor->pid, status_out))
		return false;
	compactor->pid = 0;
	compactor->is_cancelled = false;
	return !was_cancelled;
}

void daemon_compactor_tick(struct daemon_compactor *compactor, const char *store,
			   uint64_t now_boot_ns, uint64_t now_unix_ns)
{
	int status;

	if (reap(compactor, &status))
		child_ended(compactor, store, status);
	if (compactor->pid || now_boot_ns < compactor->next_boot_ns)
		return;
	compactor->next_boot_ns = next_start_ns(now_boot_ns, now_unix_ns);
	child_start(compactor, store, now_unix_ns);
}

void daemon_compactor_cancel(struct daemon_compactor *compactor)
{
	int status;

	(void)reap(compactor, &status);
	if (!compactor->pid)
		return;
	compactor->is_cancelled = true;
	(void)kill(compactor->pid, SIGKILL);
}

void daemon_compactor_stop(struct daemon_compactor *compactor)
{
	if (compactor->pid)
		(void)child_process_end(compactor->pid, CHILD_WAITS_FOREVER);
	compactor->pid = 0;
}
