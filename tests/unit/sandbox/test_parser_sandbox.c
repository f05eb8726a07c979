// SPDX-License-Identifier: Apache-2.0
/*
 * What a process in the parser's sandbox can still do: each thing is tried by a child of its own
 * that has entered it for real. Needs no root; layers that this kernel lacks are left out.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/sandbox/parser_sandbox.h"
#include "user/util/cleanup.h"
#include "user/sandbox/landlock.h"

typedef void (*deed_fn)(void);

#define ENTER_FAILED 99

/* Wait status of a child that does the deed inside. */
static int status_of(uint32_t wanted, deed_fn deed)
{
	int sockets[2];
	int status = -1;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		uint32_t features;

		if (parser_sandbox_enter(&sockets[1], wanted, &features))
			_exit(ENTER_FAILED);
		deed();
		_exit(0);
	}
	close(sockets[0]);
	close(sockets[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* ---- what the list of calls forbids ---- */

static void do_open(void)
{
	(void)open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void do_openat2(void)
{
	(void)syscall(SYS_openat2, AT_FDCWD, "/dev/null", NULL, 0);
}

static void do_stat(void)
{
	struct stat st;

	(void)stat("/etc/passwd", &st);
}

static void do_socket(void)
{
	(void)syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
}

static void do_connect(void)
{
	(void)syscall(SYS_connect, 0, NULL, 0);
}

static void do_exec(void)
{
	(void)execl("/bin/true", "true", NULL);
}

static void do_fork(void)
{
	(void)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void do_kill(void)
{
	(void)kill(getppid(), 0);
}

static void do_kill_self(void)
{
	(void)kill(getpid(), SIGUSR1);
}

static void do_ptrace(void)
{
	(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static void do_prctl(void)
{
	(void)prctl(PR_SET_NAME, "other", 0, 0, 0);
}

static void do_setuid(void)
{
	(void)syscall(SYS_setuid, 0);
}

static void do_limit(void)
{
	struct rlimit limit = { 0 };

	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static void do_mount(void)
{
	(void)syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, NULL);
}

static void do_unlink(void)
{
	(void)unlink("/tmp/jbpf-test-none");
}

static void do_bpf(void)
{
	(void)syscall(SYS_bpf, 0, NULL, 0);
}

static void do_perf(void)
{
	(void)syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0);
}

static void do_read_memory(void)
{
	(void)syscall(SYS_process_vm_readv, 1, NULL, 0, NULL, 0, 0);
}

static void do_io_uring(void)
{
	(void)syscall(SYS_io_uring_setup, 1, NULL);
}

static void do_memfd(void)
{
	(void)memfd_create("x", MFD_CLOEXEC);
}

static void do_ioctl(void)
{
	(void)syscall(SYS_ioctl, 0, 0x541b, NULL);
}

static void do_dup(void)
{
	(void)dup(0);
}

static void do_map_file(void)
{
	(void)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 0, 0);
}

static void do_map_code(void)
{
	(void)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void do_make_code(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static void sandbox_kills_whoever_tries_to_act(void **state)
{
	static const struct {
		const char *name;
		deed_fn deed;
	} rows[] = {
		{ "open", do_open },
		{ "openat2", do_openat2 },
		{ "stat", do_stat },
		{ "socket", do_socket },
		{ "connect", do_connect },
		{ "execve", do_exec },
		{ "clone", do_fork },
		{ "kill the parent", do_kill },
		{ "kill itself", do_kill_self },
		{ "ptrace", do_ptrace },
		{ "prctl", do_prctl },
		{ "setuid", do_setuid },
		{ "setrlimit", do_limit },
		{ "mount", do_mount },
		{ "unlink", do_unlink },
		{ "bpf", do_bpf },
		{ "perf_event_open", do_perf },
		{ "process_vm_readv", do_read_memory },
		{ "io_uring_setup", do_io_uring },
		{ "memfd_create", do_memfd },
		{ "ioctl", do_ioctl },
		{ "dup", do_dup },
		{ "mmap of a file", do_map_file },
		{ "mmap of code", do_map_code },
		{ "mprotect to code", do_make_code },
	};

	(void)state;
	if (!(parser_sandbox_features() & PARSER_SANDBOX_SECCOMP))
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int status = status_of(PARSER_SANDBOX_ALL, rows[i].deed);

		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
			fail_msg("%s: status %#x instead of SIGSYS", rows[i].name,
				 (unsigned int)status);
	}
}

/* ---- what must go on ---- */

static void do_compute(void)
{
	char *bytes = malloc(64u << 20);

	if (!bytes)
		_exit(1);
	for (size_t at = 0; at < 64u << 20; at += 4096)
		bytes[at] = 1;
	bytes = realloc(bytes, 128u << 20);
	if (!bytes || bytes[4096] != 1)
		_exit(2);
	free(bytes);
}

static void sandbox_leaves_memory(void **state)
{
	(void)state;
	assert_int_equal(status_of(PARSER_SANDBOX_ALL, do_compute), 0);
}

/* ---- each layer without the others ---- */

static void check_closed(void)
{
	for (int fd = 1; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			_exit(1);
	if (fcntl(0, F_GETFD) < 0)
		_exit(2);
}

static void sandbox_has_one_descriptor(void **state)
{
	__cleanup_fd int other = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(other > 0);
	assert_int_equal(status_of(0, check_closed), 0);
}

static void check_powers(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
	struct rlimit limit;

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		_exit(1);
	if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
		_exit(2);
	if (syscall(SYS_capget, &header, caps) || caps[0].permitted || caps[1].permitted ||
	    caps[0].effective || caps[1].effective || caps[0].inheritable || caps[1].inheritable)
		_exit(3);
	if (getrlimit(RLIMIT_CORE, &limit) || limit.rlim_max != 0)
		_exit(4);
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_max > 64)
		_exit(5);
}

static void sandbox_has_no_capability_and_gains_none(void **state)
{
	(void)state;
	assert_int_equal(status_of(0, check_powers), 0);
}

/* Sanitizers need the address space. */
#if !defined(__SANITIZE_ADDRESS__)
static void check_memory(void)
{
	void *bytes = mmap(NULL, PARSER_SANDBOX_MEMORY_BYTES * 2, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (bytes != MAP_FAILED || errno != ENOMEM)
		_exit(1);
}

static void sandbox_has_a_limit_on_memory(void **state)
{
	(void)state;
	assert_int_equal(status_of(0, check_memory), 0);
}
#endif

/* Not called inside: its address must be the same before and after the fork. */
static uint8_t *shared_page;

static void touch_shared(void)
{
	*(volatile uint8_t *)shared_page = 1;
}

static void sandbox_has_no_shared_memory(void **state)
{
	int status;

	(void)state;
	shared_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(shared_page != MAP_FAILED);
	status = status_of(0, touch_shared);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
	assert_int_equal(*shared_page, 0);
	munmap(shared_page, 4096);
}

static void check_no_file(void)
{
	if (open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0 || errno != EACCES)
		_exit(1);
	if (open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0 || errno != EACCES)
		_exit(2);
	if (mkdir("/tmp/jbpf-test-sandbox", 0700) == 0 || errno != EACCES)
		_exit(3);
	(void)execl("/bin/true", "true", NULL);
	if (errno != EACCES)
		_exit(4);
}

static void landlock_alone_keeps_files_shut(void **state)
{
	(void)state;
	if (!(parser_sandbox_features() & PARSER_SANDBOX_LANDLOCK))
		skip();
	assert_int_equal(status_of(PARSER_SANDBOX_LANDLOCK, check_no_file), 0);
}

static void check_no_network(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(9) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0)
		_exit(1);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 || errno != EACCES)
		_exit(2);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 || errno != EACCES)
		_exit(3);
}

static void landlock_alone_keeps_the_network_shut(void **state)
{
	(void)state;
	if (landlock_version() < 4)
		skip();
	assert_int_equal(status_of(PARSER_SANDBOX_LANDLOCK, check_no_network), 0);
}

static void check_no_signal(void)
{
	if (kill(getppid(), 0) == 0 || errno != EPERM)
		_exit(1);
}

static void landlock_alone_keeps_signals_inside(void **state)
{
	(void)state;
	if (landlock_version() < 6)
		skip();
	assert_int_equal(status_of(PARSER_SANDBOX_LANDLOCK, check_no_signal), 0);
}

/* ---- signals ---- */

static void check_signals(void)
{
	sigset_t blocked;

	if (sigprocmask(SIG_SETMASK, NULL, &blocked) || !sigismember(&blocked, SIGTERM) ||
	    !sigismember(&blocked, SIGINT))
		_exit(1);
}

static void sandbox_leaves_signals_to_the_profiler(void **state)
{
	(void)state;
	assert_int_equal(status_of(0, check_signals), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sandbox_kills_whoever_tries_to_act),
		cmocka_unit_test(sandbox_leaves_memory),
		cmocka_unit_test(sandbox_has_one_descriptor),
		cmocka_unit_test(sandbox_has_no_capability_and_gains_none),
#if !defined(__SANITIZE_ADDRESS__)
		cmocka_unit_test(sandbox_has_a_limit_on_memory),
#endif
		cmocka_unit_test(sandbox_has_no_shared_memory),
		cmocka_unit_test(landlock_alone_keeps_files_shut),
		cmocka_unit_test(landlock_alone_keeps_the_network_shut),
		cmocka_unit_test(landlock_alone_keeps_signals_inside),
		cmocka_unit_test(sandbox_leaves_signals_to_the_profiler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
