// SPDX-License-Identifier: Apache-2.0
/*
 * What an attacker who took over jbpfd would try, before and after it gave up its privileges by the
 * very functions that jbpfd calls. Each call's arguments do no harm where it is allowed.
 *
 *     sandbox_probe enter FILE           FILE: of another user, writable by that one only
 *     sandbox_probe confine DIR OUTSIDE  as the child that merges hours; OUTSIDE: a file elsewhere
 *
 * One line per try: "BEFORE AFTER NAME", 0 or an errno. Exit code 0 unless it could not try.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/sandbox/daemon_sandbox.h"
#include "user/util/cleanup.h"

#define PAGE 4096

static const char *first, *second; /* arguments */

/* One system call with arguments that are refused for what they are, wherever it is allowed. */
struct call {
	const char *name;
	long number;
	unsigned long arguments[6];
};

static const struct call calls[] = {
	{ "execve", SYS_execve, { 0 } },
	{ "execveat", SYS_execveat, { (unsigned long)-1 } },
	{ "process_vm_writev", SYS_process_vm_writev, { 0, 0, 0, 0, 0, 1 } },
	{ "process_madvise", SYS_process_madvise, { (unsigned long)-1 } },
	{ "pidfd_getfd", SYS_pidfd_getfd, { (unsigned long)-1 } },
	{ "unshare", SYS_unshare, { 0 } },
	{ "setns", SYS_setns, { (unsigned long)-1 } },
	{ "clone with namespaces", SYS_clone, { CLONE_NEWUSER | CLONE_FS | CLONE_NEWNS } },
	{ "clone3", SYS_clone3, { 0 } },
	{ "mount", SYS_mount, { 0 } },
	{ "umount2", SYS_umount2, { 0 } },
	{ "pivot_root", SYS_pivot_root, { 0 } },
	{ "chroot", SYS_chroot, { 0 } },
	{ "open_tree", SYS_open_tree, { (unsigned long)-1 } },
	{ "move_mount", SYS_move_mount, { (unsigned long)-1, 0, (unsigned long)-1 } },
	{ "fsopen", SYS_fsopen, { 0 } },
	{ "mknodat", SYS_mknodat, { (unsigned long)-1 } },
	{ "symlinkat", SYS_symlinkat, { 0, (unsigned long)-1 } },
	{ "fchmodat", SYS_fchmodat, { (unsigned long)-1 } },
	{ "fchownat", SYS_fchownat, { (unsigned long)-1 } },
	{ "setxattr", SYS_setxattr, { 0 } },
	{ "init_module", SYS_init_module, { 0 } },
	{ "finit_module", SYS_finit_module, { (unsigned long)-1 } },
	{ "delete_module", SYS_delete_module, { 0 } },
	{ "kexec_load", SYS_kexec_load, { 0, 1, 0, (unsigned long)-1 } },
	{ "reboot", SYS_reboot, { 0 } },
	{ "swapon", SYS_swapon, { 0 } },
	{ "swapoff", SYS_swapoff, { 0 } },
	{ "sethostname", SYS_sethostname, { 0, (unsigned long)-1 } },
	{ "settimeofday", SYS_settimeofday, { 1, 1 } },
	{ "clock_settime", SYS_clock_settime, { (unsigned long)-1, 1 } },
	{ "adjtimex", SYS_adjtimex, { 0 } },
	{ "quotactl", SYS_quotactl, { (unsigned long)-1 } },
	{ "add_key", SYS_add_key, { 0 } },
	{ "request_key", SYS_request_key, { 0 } },
	{ "keyctl", SYS_keyctl, { 0xffff } },
	{ "userfaultfd", SYS_userfaultfd, { 0xffff } },
	{ "io_uring_setup", SYS_io_uring_setup, { 0 } },
	{ "personality", SYS_personality, { 0xffffffff } },
	{ "bpf PROG_LOAD", SYS_bpf, { BPF_PROG_LOAD, 0, 0 } },
	{ "bpf MAP_CREATE", SYS_bpf, { BPF_MAP_CREATE, 0, 0 } },
	{ "bpf MAP_GET_FD_BY_ID", SYS_bpf, { BPF_MAP_GET_FD_BY_ID, 0, 0 } },
	{ "bpf OBJ_PIN", SYS_bpf, { BPF_OBJ_PIN, 0, 0 } },
	{ "socket AF_INET", SYS_socket, { AF_INET, SOCK_STREAM, 0 } },
	{ "socket AF_INET6", SYS_socket, { AF_INET6, SOCK_DGRAM, 0 } },
	{ "socket AF_NETLINK", SYS_socket, { AF_NETLINK, SOCK_RAW, 0 } },
	{ "socket AF_PACKET", SYS_socket, { AF_PACKET, SOCK_RAW, 0 } },
	{ "bind", SYS_bind, { (unsigned long)-1 } },
	{ "listen", SYS_listen, { (unsigned long)-1 } },
	{ "ioctl TIOCSTI", SYS_ioctl, { (unsigned long)-1, TIOCSTI } },
	{ "mmap PROT_EXEC",
	  SYS_mmap,
	  { 0, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
	    (unsigned long)-1, 0 } },
#if !defined(__SANITIZE_ADDRESS__) /* the leak checker's own, see sandbox_filter.c */
	{ "ptrace", SYS_ptrace, { 0xffff } },
#endif
};

static int call_run(const struct call *call)
{
	const unsigned long *a = call->arguments;

	return syscall(call->number, a[0], a[1], a[2], a[3], a[4], a[5]) < 0 ? errno : 0;
}

/* ---- what is more than one call ---- */

static int open_to_write(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int write_foreign_file(void)
{
	return open_to_write(first);
}

static int read_foreign_file(void)
{
	int fd = open(first, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int signal_foreign_process(void)
{
	pid_t child = fork();
	int result;

	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	result = child > 0 && kill(child, SIGKILL) == 0 ? 0 : errno;
	(void)waitpid(child, NULL, 0);
	return result;
}

static int read_memory(void)
{
	uint64_t from = 42, to = 0;
	struct iovec local = { &to, sizeof(to) }, remote = { &from, sizeof(from) };

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof(to) && to == 42 ?
		       0 :
		       errno;
}

static int make_unix_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int change_ids(void)
{
	return seteuid(12345) ? errno : 0;
}

/* As the child that asks a JVM does. */
static int change_ids_after_raising(void)
{
	(void)capabilities_raise(CAPABILITY_BIT(CAP_SETUID), NULL);
	return change_ids();
}

static int raise_bpf(void)
{
	struct capabilities held;
	const uint64_t gone = CAPABILITY_BIT(CAP_BPF) | CAPABILITY_BIT(CAP_SYS_ADMIN);

	if (capabilities_raise(gone, NULL) || capabilities_read(&held))
		return EIO;
	return held.effective & gone ? 0 : EPERM;
}

static int write_below(void)
{
	char path[PATH_MAX];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/made", first);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	close(fd);
	return unlink(path) ? errno : 0;
}

static int write_outside(void)
{
	return open_to_write(second);
}

static int read_outside(void)
{
	int fd = open(second, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

struct act {
	const char *name;
	int (*run)(void);
};

static const struct act entered_acts[] = {
	{ "write a file of another user", write_foreign_file },
	{ "take back CAP_BPF or CAP_SYS_ADMIN", raise_bpf },
	{ "change ids", change_ids },
	{ "allowed: change ids in a child that raised", change_ids_after_raising },
	{ "allowed: read a file of another user", read_foreign_file },
	{ "allowed: fork, kill and wait for a child", signal_foreign_process },
	{ "allowed: read memory", read_memory },
	{ "allowed: socket AF_UNIX", make_unix_socket },
};

static const struct act confined_acts[] = {
	{ "write outside", write_outside },
	{ "read outside", read_outside },
	{ "allowed: make and remove a file below", write_below },
};

/* ---- trying ---- */

#define RESULTS_MAX 128

/* In a child each, so that nothing that succeeds lasts. */
static int in_child(int (*run)(const void *ctx), const void *ctx)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(run(ctx));
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return EIO;
	return WEXITSTATUS(status);
}

static int run_act(const void *ctx)
{
	return ((const struct act *)ctx)->run();
}

static int run_call(const void *ctx)
{
	return call_run(ctx);
}

struct tries {
	const struct act *acts;
	size_t act_cnt;
	size_t call_cnt;
};

static void try_all(const struct tries *tries, int *results)
{
	for (size_t i = 0; i < tries->act_cnt; i++)
		results[i] = in_child(run_act, &tries->acts[i]);
	for (size_t i = 0; i < tries->call_cnt; i++)
		results[tries->act_cnt + i] = in_child(run_call, &calls[i]);
}

static void print_all(const struct tries *tries, const int *before, const int *after)
{
	for (size_t i = 0; i < tries->act_cnt + tries->call_cnt; i++)
		printf("%d %d %s\n", before[i], after[i],
		       i < tries->act_cnt ? tries->acts[i].name : calls[i - tries->act_cnt].name);
}

static int enter(void)
{
	const struct daemon_sandbox_needs needs = { .names = true, .attaches = true };
	struct daemon_sandbox sandbox;
	char why[256];

	if (daemon_sandbox_enter(&needs, &sandbox, why, sizeof(why))) {
		fprintf(stderr, "sandbox_probe: %s\n", why);
		return 1;
	}
	if (sandbox.filter_err)
		fprintf(stderr, "sandbox_probe: no filter: %s\n", strerror(-sandbox.filter_err));
	return sandbox.filter_err != 0;
}

static int confine(void)
{
	int err = daemon_sandbox_confine(first);

	if (err)
		fprintf(stderr, "sandbox_probe: %s\n", strerror(-err));
	return err != 0;
}

int main(int argc, char **argv)
{
	int before[RESULTS_MAX], after[RESULTS_MAX];
	bool is_enter = argc == 3 && strcmp(argv[1], "enter") == 0;
	const struct tries tries = {
		.acts = is_enter ? entered_acts : confined_acts,
		.act_cnt = is_enter ? ARRAY_SIZE(entered_acts) : ARRAY_SIZE(confined_acts),
		.call_cnt = is_enter ? ARRAY_SIZE(calls) : 0,
	};

	_Static_assert(ARRAY_SIZE(calls) + ARRAY_SIZE(entered_acts) <= RESULTS_MAX, "they fit");
	if (!is_enter && (argc != 4 || strcmp(argv[1], "confine") != 0)) {
		fprintf(stderr, "usage: sandbox_probe enter FILE | confine DIR OUTSIDE\n");
		return 2;
	}
	first = argv[2];
	second = argv[argc - 1];
	try_all(&tries, before);
	if (is_enter ? enter() : confine())
		return 1;
	try_all(&tries, after);
	print_all(&tries, before, after);
	return 0;
}
