// SPDX-License-Identifier: Apache-2.0
/* See offcpu_sandbox.h. */
#include "user/sandbox/offcpu_sandbox.h"

#include <errno.h>
#include <linux/bpf.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/resource.h>

#include "user/sandbox/child_process.h"
#include "user/sandbox/child_sandbox.h"
#include "user/sandbox/landlock.h"
#include "user/sandbox/seccomp_rules.h"
#include "user/util/cleanup.h"

#define CHILD_NAME "jbpfd-offcpu" /* at most 15 bytes */

static const int calls[] = {
	SCMP_SYS(read),
	SCMP_SYS(close),
	SCMP_SYS(fcntl), /* libbpf makes an iterator's descriptor 3 or more */
	SCMP_SYS(recvfrom),
	SCMP_SYS(ppoll),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(futex),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(getrandom),
	SCMP_SYS(munmap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(exit_group),
#if defined(__SANITIZE_ADDRESS__)
	SCMP_SYS(sigaltstack),
	SCMP_SYS(mmap),
	SCMP_SYS(rt_sigprocmask),
#endif
};

static int filter_calls(void)
{
	static const enum bpf_cmd commands[] = { BPF_PROG_TEST_RUN, BPF_ITER_CREATE };
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int err = filter ? seccomp_rules_allow(filter, calls, ARRAY_SIZE(calls)) : -ENOMEM;

	for (size_t i = 0; !err && i < ARRAY_SIZE(commands); i++) {
		const struct scmp_arg_cmp is = { .op = SCMP_CMP_EQ, .datum_a = commands[i] };

		err = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(bpf), 1, &is);
	}
	if (!err)
		err = seccomp_load(filter);
	if (filter)
		seccomp_release(filter);
	return err;
}

int offcpu_sandbox_enter(int *socket_fd, int *program_fd)
{
	static const struct child_limit limits[] = {
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_NOFILE, CHILD_SANDBOX_MAX_FDS },
	};
	static const struct child_rights none = {
		.landlock = landlock_only_below,
		.filter = filter_calls,
	};
	int *const kept[] = { socket_fd, program_fd };
	const struct child_options options = {
		CHILD_OPTIONS_CONFINED,	      .name = CHILD_NAME, .kept = kept,
		.kept_cnt = ARRAY_SIZE(kept), .limits = limits,	  .limit_cnt = ARRAY_SIZE(limits),
	};
	int err = child_process_become(&options);

	return err ? err : child_sandbox_give_up(&none);
}
