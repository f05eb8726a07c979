// SPDX-License-Identifier: Apache-2.0
/*
 * Giving up rights; see parser_sandbox.h. The order matters: what needs a right comes before it is
 * given up, seccomp comes last because nothing of this is on its list.
 */
#include "symbols/parser_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/util/capabilities.h"
#include "user/util/child_process.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/landlock.h"
#include "user/util/parse.h"
#include "user/util/strbuf.h"

#define SANDBOX_NAME	   "jbpfd-parser"
#define SANDBOX_MAX_FDS	   16u
#define SANDBOX_MAPS_BYTES (16u << 20)
/* See landlock_only_below(). */
#define LANDLOCK_WANTED_VERSION 2

/* Sanitizers reserve terabytes of address space and make calls of their own. */
#if defined(__SANITIZE_ADDRESS__)
#define SANDBOX_IS_SANITIZED 1
#else
#define SANDBOX_IS_SANITIZED 0
#endif

/* ---- what the kernel has ---- */

static bool seccomp_can_kill(void)
{
	uint32_t action = SECCOMP_RET_KILL_PROCESS;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

uint32_t parser_sandbox_features(void)
{
	return (seccomp_can_kill() ? PARSER_SANDBOX_SECCOMP : 0u) |
	       (landlock_version() >= LANDLOCK_WANTED_VERSION ? PARSER_SANDBOX_LANDLOCK : 0u);
}

/* ---- memory ---- */

/* "START-END rwxs ...": the range of a line of /proc/self/maps that is shared memory. */
static bool maps_line_is_shared(const char *line, size_t len, uint64_t *start, uint64_t *end)
{
	const char *dash = memchr(line, '-', len);
	const char *blank = memchr(line, ' ', len);

	return dash && blank && dash < blank && (size_t)(line + len - blank) > 5 &&
	       blank[4] == 's' && parse_u64_n(line, (size_t)(dash - line), 16, start) == 0 &&
	       parse_u64_n(dash + 1, (size_t)(blank - dash - 1), 16, end) == 0;
}

/* BPF maps that the profiler has mapped are writable, and a fork shares them. */
static int sandbox_unmap_shared(void)
{
	__cleanup_strbuf struct strbuf maps = STRBUF_INIT;
	const char *line;
	int err = fs_read_file(AT_FDCWD, "/proc/self/maps", SANDBOX_MAPS_BYTES, &maps);

	for (line = strbuf_str(&maps); !err && *line;) {
		const char *newline = strchr(line, '\n');
		size_t len = newline ? (size_t)(newline - line) : strlen(line);
		uint64_t start, end;

		if (maps_line_is_shared(line, len, &start, &end) &&
		    munmap((void *)(uintptr_t)start, (size_t)(end - start)))
			err = -errno;
		line += newline ? len + 1 : len;
	}
	return err;
}

static uint64_t sandbox_memory_now(void)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	uint64_t page_cnt = 0;

	if (!fs_read_file(AT_FDCWD, "/proc/self/statm", 256, &text))
		(void)parse_u64_n(strbuf_str(&text), strspn(strbuf_str(&text), "0123456789"), 10,
				  &page_cnt);
	return page_cnt * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- limits ---- */

static int sandbox_limit(int resource, uint64_t value)
{
	struct rlimit limit = { .rlim_cur = value, .rlim_max = value };
	struct rlimit now;

	/* A lower limit that is there already is as good, and may not be raised. */
	if (getrlimit((__rlimit_resource_t)resource, &now) == 0 && now.rlim_max < value)
		limit.rlim_cur = limit.rlim_max = now.rlim_max;
	return setrlimit((__rlimit_resource_t)resource, &limit) ? -errno : 0;
}

static int sandbox_limits(void)
{
	int err = sandbox_limit(RLIMIT_CORE, 0);

	if (!err)
		err = sandbox_limit(RLIMIT_NOFILE, SANDBOX_MAX_FDS);
	if (!err)
		err = sandbox_limit(RLIMIT_FSIZE, PARSER_SANDBOX_FILE_BYTES);
	if (!err && !SANDBOX_IS_SANITIZED)
		err = sandbox_limit(RLIMIT_AS, sandbox_memory_now() + PARSER_SANDBOX_MEMORY_BYTES);
	return err;
}

/* ---- descriptors ---- */

static int sandbox_close_from(unsigned int first)
{
#ifdef SYS_close_range
	if (syscall(SYS_close_range, first, ~0u, 0) == 0)
		return 0;
	if (errno != ENOSYS)
		return -errno;
#endif
	for (long fd = (long)first, max = sysconf(_SC_OPEN_MAX); fd < max; fd++)
		(void)close((int)fd);
	return 0;
}

static int sandbox_descriptors(int keep_fd)
{
	if (keep_fd != STDIN_FILENO && dup3(keep_fd, STDIN_FILENO, O_CLOEXEC) < 0)
		return -errno;
	return sandbox_close_from(STDIN_FILENO + 1);
}

/* ---- seccomp ---- */

/* No call that opens, connects, makes or signals anything. */
static int seccomp_add_calls(scmp_filter_ctx filter)
{
	static const int calls[] = {
		/* what is handed over, and what is handed back */
		SCMP_SYS(read),
		SCMP_SYS(pread64),
		SCMP_SYS(write),
		SCMP_SYS(sendmsg),
		SCMP_SYS(recvmsg),
		SCMP_SYS(close),
		/* malloc; mmap and mprotect follow below */
		SCMP_SYS(munmap),
		SCMP_SYS(mremap),
		SCMP_SYS(brk),
		SCMP_SYS(madvise),
		SCMP_SYS(futex),
		/* what a C library may ask in qsort, malloc and the like; none of it acts */
		SCMP_SYS(sysinfo),
		SCMP_SYS(getrandom),
		SCMP_SYS(clock_gettime),
		SCMP_SYS(getpid),
		SCMP_SYS(gettid),
		SCMP_SYS(sched_yield),
		SCMP_SYS(restart_syscall),
		SCMP_SYS(exit_group),
#if SANDBOX_IS_SANITIZED
		SCMP_SYS(sigaltstack),
		SCMP_SYS(rt_sigprocmask),
#endif
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(calls) && !err; i++)
		err = seccomp_rule_add_exact(filter, SCMP_ACT_ALLOW, calls[i], 0);
	/* Memory, but none that runs. */
	if (!err)
		err = seccomp_rule_add_exact(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
					     SCMP_A2_64(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
					     SCMP_A3_64(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS,
							MAP_ANONYMOUS));
	if (!err)
		err = seccomp_rule_add_exact(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
					     SCMP_A2_64(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	return err;
}

static int sandbox_seccomp(void)
{
	scmp_filter_ctx filter;
	int err;

	filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	if (!filter)
		return -ENOMEM;
	err = seccomp_add_calls(filter);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	(void)malloc_trim(0);
	return err;
}

/* ---- all of it ---- */

/* Signals to the whole process group or service are for the profiler, which may still need names. */
static int sandbox_life(pid_t parent)
{
	sigset_t all;

	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL) || prctl(PR_SET_NAME, SANDBOX_NAME, 0, 0, 0) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}

int parser_sandbox_enter(int keep_fd, pid_t parent, uint32_t wanted, uint32_t *features_out)
{
	const struct capabilities none = { 0 };
	uint32_t features = parser_sandbox_features() & wanted;
	int err = sandbox_life(parent);

	if (!err)
		err = sandbox_unmap_shared();
	child_process_offer_to_oom();
	if (!err)
		err = sandbox_descriptors(keep_fd);
	if (!err)
		err = sandbox_limits();
	if (!err && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		err = -errno;
	if (!err)
		err = capabilities_limit(&none);
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	if (!err && features & PARSER_SANDBOX_LANDLOCK)
		err = landlock_only_below(NULL);
	if (!err && features & PARSER_SANDBOX_SECCOMP)
		err = sandbox_seccomp();
	if (!err)
		*features_out = features;
	return err;
}
