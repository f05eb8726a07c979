// SPDX-License-Identifier: Apache-2.0
/*
 * An allow-list. Other calls fail with ENOSYS, as on a kernel that does not have them: a later libc
 * that tries a newer call first then takes the older one, which is on the list. Refusals are
 * written to the audit log, where the kernel keeps one (type=1326, with the number of the call).
 *
 * Left out on purpose, and tested to be refused: everything that runs a program (execve), traces or
 * writes to another process (ptrace, process_vm_writev, pidfd_getfd, process_madvise), makes or
 * joins namespaces, mounts, loads modules, kernels or BPF programs, keyrings, io_uring and
 * userfaultfd (whose work no filter sees), sockets but AF_UNIX, bind and listen, executable memory,
 * and typing into a terminal (TIOCSTI). A client has sockets of the Internet, too.
 */
#include "user/sandbox/sandbox_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "user/util/cleanup.h"
#include "user/sandbox/seccomp_rules.h"

/* linux/fs.h, from 6.11 on: one mapping of /proc/PID/maps; the structure has 104 bytes. */
#define PROCMAP_QUERY_ _IOC(_IOC_READ | _IOC_WRITE, 'f', 17, 104)

#define CLONE_NEW_ANY                                                                  \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)

/* Without a look at their arguments. */
static const int plain_calls[] = {
	/* memory; mmap and mprotect are below */
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(msync),
	SCMP_SYS(membarrier),
	SCMP_SYS(memfd_create),
	/* files */
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(readv),
	SCMP_SYS(writev),
	SCMP_SYS(pread64),
	SCMP_SYS(pwrite64),
	SCMP_SYS(preadv),
	SCMP_SYS(pwritev),
	SCMP_SYS(lseek),
	SCMP_SYS(open),
	SCMP_SYS(openat),
	SCMP_SYS(openat2),
	SCMP_SYS(close),
	SCMP_SYS(close_range),
	SCMP_SYS(dup),
	SCMP_SYS(dup2),
	SCMP_SYS(dup3),
	SCMP_SYS(pipe),
	SCMP_SYS(pipe2),
	SCMP_SYS(fcntl),
	SCMP_SYS(flock),
	SCMP_SYS(fsync),
	SCMP_SYS(fdatasync),
	SCMP_SYS(sync_file_range),
	SCMP_SYS(ftruncate),
	SCMP_SYS(fallocate),
	SCMP_SYS(fadvise64),
	SCMP_SYS(copy_file_range),
	SCMP_SYS(sendfile),
	SCMP_SYS(splice),
	SCMP_SYS(fchmod),
	SCMP_SYS(umask),
	/* names of files */
	SCMP_SYS(stat),
	SCMP_SYS(fstat),
	SCMP_SYS(lstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(statfs),
	SCMP_SYS(fstatfs),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getdents64),
	SCMP_SYS(getcwd),
	SCMP_SYS(chdir),
	SCMP_SYS(fchdir),
	SCMP_SYS(mkdir),
	SCMP_SYS(mkdirat),
	SCMP_SYS(rename),
	SCMP_SYS(renameat),
	SCMP_SYS(renameat2),
	SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),
	SCMP_SYS(rmdir),
	SCMP_SYS(link),
	SCMP_SYS(linkat),
	SCMP_SYS(name_to_handle_at),
	SCMP_SYS(open_by_handle_at), /* cgroup id to path */
	/* waiting */
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(select),
	SCMP_SYS(pselect6),
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_pwait2),
	SCMP_SYS(eventfd2),
	SCMP_SYS(signalfd4),
	SCMP_SYS(timerfd_create),
	SCMP_SYS(timerfd_settime),
	SCMP_SYS(timerfd_gettime),
	SCMP_SYS(futex),
	SCMP_SYS(restart_syscall),
	/* time */
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_getres),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(times),
	SCMP_SYS(alarm),
	SCMP_SYS(setitimer),
	SCMP_SYS(getitimer),
	/* signals */
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigpending),
	SCMP_SYS(rt_sigtimedwait),
	SCMP_SYS(rt_sigsuspend),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(kill),
	SCMP_SYS(tgkill),
	SCMP_SYS(pidfd_open),
	SCMP_SYS(pidfd_send_signal), /* SIGQUIT to a JVM */
	/* own processes and threads */
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(wait4),
	SCMP_SYS(waitid),
	SCMP_SYS(getpid),
	SCMP_SYS(getppid),
	SCMP_SYS(gettid),
	SCMP_SYS(getpgrp),
	SCMP_SYS(getpgid),
	SCMP_SYS(set_tid_address),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_setscheduler),
	SCMP_SYS(sched_getscheduler),
	SCMP_SYS(sched_getparam),
	SCMP_SYS(getpriority),
	SCMP_SYS(setpriority),
	SCMP_SYS(ioprio_set),
	SCMP_SYS(getrlimit),
	SCMP_SYS(setrlimit),
	SCMP_SYS(getrusage),
	SCMP_SYS(sysinfo),
	SCMP_SYS(uname),
	SCMP_SYS(getcpu),
	SCMP_SYS(getrandom),
	/* giving up rights, and taking on a JVM's ids: the kernel asks for capabilities where needed */
	SCMP_SYS(prctl),
	SCMP_SYS(capget),
	SCMP_SYS(capset),
	SCMP_SYS(seccomp),
	SCMP_SYS(landlock_create_ruleset),
	SCMP_SYS(landlock_add_rule),
	SCMP_SYS(landlock_restrict_self),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(getresuid),
	SCMP_SYS(getresgid),
	SCMP_SYS(getgroups),
	SCMP_SYS(setgroups),
	SCMP_SYS(setuid),
	SCMP_SYS(setgid),
	SCMP_SYS(setresuid),
	SCMP_SYS(setresgid),
	/* conversations: with JVMs, with children, and of the metrics' readers */
	SCMP_SYS(connect),
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(shutdown),
	SCMP_SYS(getsockopt),
	SCMP_SYS(setsockopt),
	SCMP_SYS(getsockname),
	SCMP_SYS(getpeername),
	SCMP_SYS(sendto),
	SCMP_SYS(recvfrom),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),
	/* sampling and reading memory */
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(perf_event_open), /* a CPU that came online: the kernel decides */
#if defined(__SANITIZE_ADDRESS__)
	/* The leak checker stops the threads of its own process at the end. */
	SCMP_SYS(ptrace),
	SCMP_SYS(getdents),
#endif
};

/* Work on maps and programs whose descriptor is open already; nothing that makes, loads or looks up by id. */
static const enum bpf_cmd bpf_commands[] = {
	BPF_MAP_LOOKUP_ELEM,
	BPF_MAP_UPDATE_ELEM,
	BPF_MAP_DELETE_ELEM,
	BPF_MAP_GET_NEXT_KEY,
	BPF_MAP_LOOKUP_AND_DELETE_ELEM,
	BPF_MAP_LOOKUP_BATCH,
	BPF_MAP_LOOKUP_AND_DELETE_BATCH,
	BPF_MAP_UPDATE_BATCH,
	BPF_MAP_DELETE_BATCH,
	BPF_OBJ_GET_INFO_BY_FD,
	/* of the process that runs the pass over waiting threads, and is begun again when it hangs */
	BPF_PROG_TEST_RUN,
	BPF_ITER_CREATE,
};

static const unsigned long ioctls[] = {
	PERF_EVENT_IOC_ENABLE,
	PERF_EVENT_IOC_DISABLE,
	PERF_EVENT_IOC_PERIOD,
	PERF_EVENT_IOC_SET_BPF,
	PROCMAP_QUERY_,
	TCGETS, /* isatty() */
	TIOCGWINSZ,
	FIONREAD,
	FIONBIO,
};

/* `call` when its argument `index` has this value; may be given several times. */
static int allow_value(scmp_filter_ctx filter, int call, unsigned int index, uint64_t value)
{
	const struct scmp_arg_cmp is = { .arg = index, .op = SCMP_CMP_EQ, .datum_a = value };

	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 1, &is);
}

static int allow_by_argument(scmp_filter_ctx filter)
{
	int err = 0;

	for (size_t i = 0; !err && i < ARRAY_SIZE(bpf_commands); i++)
		err = allow_value(filter, SCMP_SYS(bpf), 0, bpf_commands[i]);
	for (size_t i = 0; !err && i < ARRAY_SIZE(ioctls); i++)
		err = allow_value(filter, SCMP_SYS(ioctl), 1, ioctls[i]);
	if (!err)
		err = allow_value(filter, SCMP_SYS(socket), 0, AF_UNIX);
	if (!err)
		err = allow_value(filter, SCMP_SYS(socketpair), 0, AF_UNIX);
	/* Its own limits, not those of other processes of its user. */
	if (!err)
		err = allow_value(filter, SCMP_SYS(prlimit64), 0, 0);
	/* fork() and threads; clone3() hides its flags in memory, so libc is left with clone(). */
	if (!err)
		err = seccomp_rules_allow_without(filter, SCMP_SYS(clone), 0, CLONE_NEW_ANY);
	if (!err)
		err = seccomp_rules_allow_memory(filter);
	return err;
}

/*
 * Attributes of later libseccomp versions and kernels: without them the filter is slower or silent,
 * not weaker. SSB: a filter would switch on a mitigation for processes that run code of others
 * (kernels before 5.16), which costs per cent; there is no such code here.
 */
static void set_attributes(scmp_filter_ctx filter)
{
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1);
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
}

/*
 * libc tries clone3() for each thread and process, and takes clone() when it is refused. That is no
 * attack to be logged. Of filters that refuse alike the kernel takes the one that
 * was loaded last, with its flags, so that this one, which does not log, answers.
 */
static int load_quiet_clone3(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int err;

	if (!filter)
		return -ENOMEM;
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
	err = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	if (!err)
		err = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0,
					     NULL);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

/* To look up a host's name and to talk to it. */
static int allow_internet(scmp_filter_ctx filter)
{
	int err = allow_value(filter, SCMP_SYS(socket), 0, AF_INET);

	if (!err)
		err = allow_value(filter, SCMP_SYS(socket), 0, AF_INET6);
	/* glibc asks for both kinds of addresses at once. */
	return err ? err : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sendmmsg), 0);
}

static int load(bool is_client)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int err;

	if (!filter)
		return -ENOMEM;
	set_attributes(filter);
	err = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	if (!err)
		err = seccomp_rules_allow(filter, plain_calls, ARRAY_SIZE(plain_calls));
	if (!err)
		err = allow_by_argument(filter);
	if (!err && is_client)
		err = allow_internet(filter);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err ? err : load_quiet_clone3();
}

int sandbox_filter_load(void)
{
	return load(false);
}

int sandbox_filter_load_client(void)
{
	return load(true);
}

/* ---- roles ---- */

/* An attacker in the sampler could change ids with them, connect, or read other processes. */
static const int not_for_sampler[] = {
	SCMP_SYS(setuid),
	SCMP_SYS(setgid),
	SCMP_SYS(setresuid),
	SCMP_SYS(setresgid),
	SCMP_SYS(setgroups),
	SCMP_SYS(socket),
	SCMP_SYS(connect),
	SCMP_SYS(openat2), /* with a mode and flags that no filter sees */
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(pidfd_open),
	SCMP_SYS(pidfd_send_signal),
	SCMP_SYS(open_by_handle_at),
};

/* Namer and asker read data of other processes. */
static const int not_for_readers[] = {
	/* a change of ids: the real user of an asker may be root */
	SCMP_SYS(setuid),
	SCMP_SYS(setgid),
	SCMP_SYS(setresuid),
	SCMP_SYS(setresgid),
	SCMP_SYS(setgroups),
	/* effects on other processes */
	SCMP_SYS(kill),
	SCMP_SYS(pidfd_send_signal),
	SCMP_SYS(setpriority),
	SCMP_SYS(sched_setscheduler),
	SCMP_SYS(ioprio_set),
	SCMP_SYS(setrlimit),
	/* new connections: the sockets that they need are open */
	SCMP_SYS(socket),
	SCMP_SYS(connect),
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	/* its flags are in memory, where no filter sees them; the opener has Landlock for that */
	SCMP_SYS(openat2),
	/* changing files by their names */
	SCMP_SYS(mkdir),
	SCMP_SYS(mkdirat),
	SCMP_SYS(rename),
	SCMP_SYS(renameat),
	SCMP_SYS(renameat2),
	SCMP_SYS(rmdir),
	SCMP_SYS(link),
	SCMP_SYS(linkat),
	SCMP_SYS(fchmod),
	SCMP_SYS(bpf),
	SCMP_SYS(perf_event_open),
};

static const int not_for_namer[] = {
	SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),
};

/* It removes the JVM's map, if it made it; looks into nobody, and takes no descriptors. */
static const int not_for_asker[] = {
	SCMP_SYS(tgkill), SCMP_SYS(pidfd_open), SCMP_SYS(process_vm_readv),
	SCMP_SYS(clone),  SCMP_SYS(socketpair), SCMP_SYS(recvmsg),
};

static int deny(scmp_filter_ctx filter, const int *calls, size_t cnt)
{
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), calls[i], 0);
	return err;
}

/* `call` when one of these bits is set in its argument. */
static int deny_bit(scmp_filter_ctx filter, int call, unsigned int index, uint64_t bit)
{
	const struct scmp_arg_cmp is = {
		.arg = index, .op = SCMP_CMP_MASKED_EQ, .datum_a = bit, .datum_b = bit
	};

	return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), call, 1, &is);
}

/* All calls that open files may open them for reading only. */
static int deny_writing(scmp_filter_ctx filter)
{
	static const uint64_t writing[] = { O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND };
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(writing) && !err; i++) {
		err = deny_bit(filter, SCMP_SYS(open), 1, writing[i]);
		if (!err)
			err = deny_bit(filter, SCMP_SYS(openat), 2, writing[i]);
		if (!err)
			err = deny_bit(filter, SCMP_SYS(open_by_handle_at), 2, writing[i]);
	}
	return err;
}

/* A set-user-id program of root in the store would run as root for every user that can reach it. */
static int deny_set_id_programs(scmp_filter_ctx filter)
{
	static const uint64_t bits[] = { S_ISUID, S_ISGID };
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(bits) && !err; i++) {
		err = deny_bit(filter, SCMP_SYS(fchmod), 1, bits[i]);
		if (!err)
			err = deny_bit(filter, SCMP_SYS(open), 2, bits[i]);
		if (!err)
			err = deny_bit(filter, SCMP_SYS(openat), 3, bits[i]);
	}
	return err;
}

/* Each half of such a pair sends to any address. */
static int deny_datagrams(scmp_filter_ctx filter)
{
	const struct scmp_arg_cmp is = {
		.arg = 1, .op = SCMP_CMP_MASKED_EQ, .datum_a = 0xf, .datum_b = SOCK_DGRAM
	};

	return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socketpair), 1, &is);
}

/* It has one thread, and makes a copy of itself beside it (namer_copy.h), which shares nothing. */
static int deny_processes(scmp_filter_ctx filter)
{
	const struct scmp_arg_cmp other = { .arg = 0,
					    .op = SCMP_CMP_NE,
					    .datum_a = CLONE_PARENT | SIGCHLD };

	return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, &other);
}

static int narrow_sampler(scmp_filter_ctx filter)
{
	int err = deny(filter, not_for_sampler, ARRAY_SIZE(not_for_sampler));

	if (!err)
		err = deny_set_id_programs(filter);
	return err ? err : deny_datagrams(filter);
}

static int deny_all_but_reading(scmp_filter_ctx filter)
{
	int err = deny(filter, not_for_readers, ARRAY_SIZE(not_for_readers));

	return err ? err : deny_writing(filter);
}

static int narrow_namer(scmp_filter_ctx filter)
{
	int err = deny_all_but_reading(filter);

	if (!err)
		err = deny(filter, not_for_namer, ARRAY_SIZE(not_for_namer));
	if (!err)
		err = deny_datagrams(filter);
	return err ? err : deny_processes(filter);
}

static int narrow_asker(scmp_filter_ctx filter)
{
	int err = deny_all_but_reading(filter);

	return err ? err : deny(filter, not_for_asker, ARRAY_SIZE(not_for_asker));
}

int sandbox_filter_narrow(enum sandbox_role role)
{
	static int (*const narrow[])(scmp_filter_ctx filter) = {
		[SANDBOX_ROLE_SAMPLER] = narrow_sampler,
		[SANDBOX_ROLE_NAMER] = narrow_namer,
		[SANDBOX_ROLE_ASKER] = narrow_asker,
	};
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int err;

	if (!filter)
		return -ENOMEM;
	set_attributes(filter);
	err = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	if (!err)
		err = narrow[role](filter);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}
