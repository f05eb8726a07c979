// SPDX-License-Identifier: Apache-2.0
/*
 * Life of the merging child. It is forked, not exec'd, so that it is the same program whatever was
 * installed since; it closes all that it inherits, gives up every right but that to the store, and
 * dies with its parent. Its exit code is an errno; the parent says what is wrong, once.
 */
#include "user/daemon/daemon_compact.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/sandbox/daemon_sandbox.h"
#include "user/store/store.h"
#include "user/sandbox/child_process.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/log.h"

#define COMPACT_FIRST_NS (5 * CLOCK_NS_PER_S)
/* Behind the hour's last window; and not on all hosts of a rack, with their one disk, at once. */
#define COMPACT_DELAY_S	 240
#define COMPACT_JITTER_S 300
#define COMPACT_NICE	 19
#define COMPACT_NAME	 "jbpfd-compact" /* at most 15 bytes */

/* Not in the headers of libc. */
#define IOPRIO_WHO_PROCESS_ 1
#define IOPRIO_IDLE_	    (3 << 13)

/* Its buffers are large, and live as long as it does. */
#define CHILD_MMAP_THRESHOLD (32 * 1024 * 1024)

void daemon_compactor_init(struct daemon_compactor *compactor, uint64_t now_boot_ns)
{
	*compactor = (struct daemon_compactor){ .next_boot_ns = now_boot_ns + COMPACT_FIRST_NS };
}

/* ---- the child ---- */

/* What of it the kernel does not allow is left as it is: then it is only a little less modest. */
static void child_step_back(void)
{
	const struct sched_param param = { 0 };

	child_process_offer_to_oom();
	(void)prctl(PR_SET_NAME, COMPACT_NAME);
	(void)setpriority(PRIO_PROCESS, 0, COMPACT_NICE);
	(void)sched_setscheduler(0, SCHED_IDLE, &param);
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS_, 0, IOPRIO_IDLE_);
}

static int child_run(const char *store, pid_t parent, uint64_t keep_bytes, uint64_t now_unix_ns)
{
	const struct store_compaction how = { .now_unix_ns = now_unix_ns,
					      .keep_bytes = keep_bytes };
	struct store_compaction_stats stats;
	int err;

	/* First of all: BPF objects and locks live as long as somebody has them open. */
	if (close_range(STDERR_FILENO + 1, ~0u, 0))
		return -errno;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		return -ESRCH;
	child_process_reset_signals(NULL, 0);
	child_step_back();
	(void)mallopt(M_MMAP_THRESHOLD, CHILD_MMAP_THRESHOLD);
	(void)mallopt(M_TRIM_THRESHOLD, CHILD_MMAP_THRESHOLD);
	err = daemon_sandbox_confine(store);
	if (err)
		return err;
	err = store_compact(store, &how, &stats);
	if (stats.hours || stats.days)
		pr_debug("store '%s': %" PRIu64 " hours and %" PRIu64 " days merged, %" PRIu64
			 " bytes are now %" PRIu64 "\n",
			 store, stats.hours, stats.days, stats.bytes_before, stats.bytes_after);
	return err;
}

/* ---- the parent ---- */

static void child_start(struct daemon_compactor *compactor, const char *store, uint64_t now_unix_ns)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid == 0)
		_exit(-child_run(store, parent, compactor->keep_bytes, now_unix_ns) & 0xff);
	if (pid > 0)
		compactor->pid = pid;
	else
		pr_debug("store '%s': no process to merge hours in: %s\n", store, errstr(errno));
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
	int err = WIFEXITED(status) ? WEXITSTATUS(status) : 0;

	/* Somebody else is at it, or there is nothing yet. */
	if (WIFEXITED(status) && (err == EWOULDBLOCK || err == ENOENT))
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
		store, WIFEXITED(status) ? errstr(err) : strsignal(WTERMSIG(status)), advice(err));
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

void daemon_compactor_tick(struct daemon_compactor *compactor, const char *store,
			   uint64_t now_boot_ns, uint64_t now_unix_ns)
{
	int status;

	if (compactor->pid && waitpid(compactor->pid, &status, WNOHANG) == compactor->pid) {
		compactor->pid = 0;
		child_ended(compactor, store, status);
	}
	if (compactor->pid || now_boot_ns < compactor->next_boot_ns)
		return;
	compactor->next_boot_ns = next_start_ns(now_boot_ns, now_unix_ns);
	child_start(compactor, store, now_unix_ns);
}

void daemon_compactor_stop(struct daemon_compactor *compactor)
{
	int status;

	if (!compactor->pid)
		return;
	(void)kill(compactor->pid, SIGKILL);
	while (waitpid(compactor->pid, &status, 0) < 0 && errno == EINTR)
		;
	compactor->pid = 0;
}
