// SPDX-License-Identifier: Apache-2.0
/* See parser_sandbox.h. */
#include "user/sandbox/parser_sandbox.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/sandbox/child_process.h"
#include "user/sandbox/child_sandbox.h"
#include "user/sandbox/landlock.h"
#include "user/sandbox/seccomp_rules.h"
#include "user/util/cleanup.h"

#define SANDBOX_NAME "jbpfd-parser"
/* See landlock_only_below(). */
#define LANDLOCK_WANTED_VERSION 2

/* Sanitizers reserve terabytes of address space and make calls of their own. */
#if defined(__SANITIZE_ADDRESS__)
#define SANDBOX_IS_SANITIZED 1
#else
#define SANDBOX_IS_SANITIZED 0
#endif

/* ---- features of the kernel ---- */

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

/* ---- seccomp ---- */

/* No call that opens, connects, makes or signals anything. */
static int seccomp_add_calls(scmp_filter_ctx filter)
{
	static const int calls[] = {
		/* requests, their files, and answers */
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
		/* calls of qsort, malloc and the like; they change nothing */
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
		err = seccomp_rules_allow_fresh_memory(filter);
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

int parser_sandbox_enter(int *socket_fd, uint32_t wanted, uint32_t *features_out)
{
	static const struct child_limit limits[] = {
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_NOFILE, CHILD_SANDBOX_MAX_FDS },
		{ RLIMIT_FSIZE, PARSER_SANDBOX_FILE_BYTES },
	};
	int *const kept[] = { socket_fd };
	const struct child_options options = {
		CHILD_OPTIONS_CONFINED,
		.name = SANDBOX_NAME,
		.kept = kept,
		.kept_cnt = ARRAY_SIZE(kept),
		.limits = limits,
		.limit_cnt = ARRAY_SIZE(limits),
		.memory_bytes = SANDBOX_IS_SANITIZED ? 0 : PARSER_SANDBOX_MEMORY_BYTES,
	};
	uint32_t features = parser_sandbox_features() & wanted;
	const struct child_rights none = {
		.landlock = features & PARSER_SANDBOX_LANDLOCK ? landlock_only_below : NULL,
		.filter = features & PARSER_SANDBOX_SECCOMP ? sandbox_seccomp : NULL,
		.needs_kernel = true,
	};
	int err = child_process_become(&options);

	if (!err)
		err = child_sandbox_give_up(&none);
	if (!err)
		*features_out = features;
	return err;
}
