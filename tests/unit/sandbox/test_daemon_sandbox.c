// SPDX-License-Identifier: Apache-2.0
/* What is kept and what is refused. All that cannot be undone happens in children. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/sandbox/child_sandbox.h"
#include "user/sandbox/daemon_sandbox.h"
#include "user/sandbox/role_sandbox.h"
#include "user/sandbox/sandbox_filter.h"
#include "user/sandbox/landlock.h"

#define BIT(cap) CAPABILITY_BIT(cap)
#define NAMING	 (BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_CHECKPOINT_RESTORE))

static int in_child(int (*run)(const char *dir), const char *dir)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit(run(dir));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int make_dir(void **state)
{
	char *dir = strdup("/tmp/jbpf-sandbox.XXXXXX");

	*state = dir;
	return dir && mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	int err = rmdir(*state);

	free(*state);
	return err;
}

static void naming_keeps_what_naming_needs_and_nothing_else(void **state)
{
	struct capabilities naming = daemon_sandbox_naming(false);
	struct capabilities attaching = daemon_sandbox_naming(true);

	(void)state;
	assert_true(naming.effective == NAMING && naming.permitted == NAMING);
	assert_true(attaching.effective == NAMING);
	assert_true(attaching.permitted == (NAMING | BIT(CAP_SETUID) | BIT(CAP_SETGID)));
}

static int always(const void *ctx)
{
	return *(const int *)ctx;
}

static void plan_says_what_would_not_work(void **state)
{
	static const struct {
		int maps_err;
		const char *store;
		int err;
		const char *why;
	} rows[] = {
		{ 0, NULL, 0, "" },
		{ 0, "/nonexistent/store", 0, "" }, /* jbpfd has made it by then, or says why not */
		{ -EPERM, NULL, -EPERM, "BPF maps cannot be read" },
		{ -EIO, NULL, -EIO, "BPF maps cannot be read" },
		{ 0, "/proc/self/status", -EACCES, "cannot be written" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct daemon_sandbox_needs needs = {
			.names = true,
			.store_dir = rows[i].store,
			.try_maps = always,
			.ctx = &rows[i].maps_err,
		};
		struct capabilities kept = { 0 };
		char why[512] = "";

		assert_int_equal(daemon_sandbox_plan(&needs, &kept, why, sizeof(why)), rows[i].err);
		assert_non_null(strstr(why, rows[i].why));
		/* No more than what naming needs, and no more than there was. */
		assert_true((kept.effective & ~NAMING) == 0);
	}
}

/* A kernel before 5.19: the call is refused to whoever lacks CAP_BPF. */
static int asks_for_bpf(const void *ctx)
{
	struct capabilities held;

	(void)ctx;
	return capabilities_read(&held) == 0 && held.effective & BIT(CAP_BPF) ? 0 : -EPERM;
}

static void bpf_capability_is_kept_only_where_maps_cannot_be_read_without(void **state)
{
	const struct daemon_sandbox_needs needs = { .names = true, .try_maps = asks_for_bpf };
	struct capabilities held, kept = { 0 };
	char why[512] = "";
	int err;

	(void)state;
	assert_int_equal(capabilities_read(&held), 0);
	err = daemon_sandbox_plan(&needs, &kept, why, sizeof(why));
	if (held.effective & BIT(CAP_BPF)) {
		assert_int_equal(err, 0);
		assert_true(kept.effective == ((NAMING | BIT(CAP_BPF)) & held.effective));
	} else {
		assert_int_equal(err, -EPERM);
	}
}

static int filter_refuses(const char *dir)
{
	int fd;

	(void)dir;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || sandbox_filter_load())
		return 1;
	if (syscall(SYS_execve, NULL, NULL, NULL) == 0 || errno != ENOSYS)
		return 2;
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != ENOSYS)
		return 3;
	if (syscall(SYS_unshare, 0) == 0 || errno != ENOSYS)
		return 4;
	if (syscall(SYS_bpf, 5 /* BPF_PROG_LOAD */, NULL, 0) >= 0 || errno != ENOSYS)
		return 5;
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd < 0)
		return 6;
	/* An allowed command, refused by the kernel for its arguments. */
	if (syscall(SYS_bpf, 1 /* BPF_MAP_LOOKUP_ELEM */, NULL, 0) >= 0 || errno == ENOSYS)
		return 7;
	return 0;
}

static void filter_refuses_what_is_not_in_the_list(void **state)
{
	(void)state;
	assert_int_equal(in_child(filter_refuses, NULL), 0);
}

static int opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int files_below_only(const char *dir)
{
	char path[256], moved[256];

	(void)snprintf(path, sizeof(path), "%s/a", dir);
	(void)snprintf(moved, sizeof(moved), "%s/b", dir);
	if (daemon_sandbox_confine(dir))
		return 1;
	if (opens(path, O_WRONLY | O_CREAT) || opens(path, O_RDONLY) || rename(path, moved) ||
	    unlink(moved))
		return 2;
	if (landlock_version() < 2)
		return 0; /* this kernel cannot: capabilities are all that was given up */
	if (opens("/etc/passwd", O_RDONLY) != -EACCES || opens("/dev/null", O_WRONLY) != -EACCES)
		return 3;
	return opens("/tmp/jbpf-outside", O_WRONLY | O_CREAT) == -EACCES ? 0 : 4;
}

/* The process that has the store. */
static int sampler_in(const char *dir)
{
	const struct daemon_sandbox_needs needs = { .store_dir = dir };
	struct daemon_sandbox sandbox;
	char path[256], why[256];

	(void)snprintf(path, sizeof(path), "%s/c", dir);
	if (daemon_sandbox_enter(&needs, &sandbox, why, sizeof(why)))
		return 1;
	if (opens(path, O_WRONLY | O_CREAT) || unlink(path) || opens("/etc/passwd", O_RDONLY))
		return 2;
	if (connect(-1, NULL, 0) == 0 || errno != EPERM || setresuid(1, 1, 1) == 0)
		return 3;
	if (syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0) >= 0 || errno != EPERM)
		return 4;
	if (landlock_version() < 2)
		return 0;
	if (opens("/tmp/jbpf-outside", O_WRONLY | O_CREAT) != -EACCES ||
	    opens("/dev/null", O_WRONLY) != -EACCES)
		return 5;
	return opens("/proc/self/mem", O_RDWR) == -EACCES ? 0 : 6;
}

static void sampler_writes_below_the_store_only(void **state)
{
	assert_int_equal(in_child(sampler_in, *state), 0);
}

/* By the calls beside open() and openat(). */
static int opens_in_other_ways(const char *dir)
{
	const struct open_how how = { .flags = O_RDONLY };
	struct {
		struct file_handle head;
		unsigned char bytes[MAX_HANDLE_SZ];
	} handle = { .head = { .handle_bytes = MAX_HANDLE_SZ } };
	int mount_id;

	if (syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", &how, sizeof(how)) >= 0 || errno != EPERM)
		return 1;
	/* Some file systems have no handles; one may want a right that we lack. */
	if (name_to_handle_at(AT_FDCWD, dir, &handle.head, &mount_id, 0))
		return 0;
	return open_by_handle_at(AT_FDCWD, &handle.head, O_RDWR) >= 0 || errno != EPERM;
}

static void *thread_main(void *arg)
{
	return arg;
}

static int makes_threads(void)
{
	const unsigned long shares = CLONE_VM | CLONE_VFORK | SIGCHLD;
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_main, NULL) != EPERM)
		return 1;
	return syscall(SYS_clone, shares, NULL, NULL, NULL, NULL) >= 0 || errno != EPERM;
}

static int namer_in(const char *dir)
{
	char path[256];
	pid_t copy;

	(void)snprintf(path, sizeof(path), "%s/d", dir);
	if (role_sandbox_launcher(true) || role_sandbox_namer())
		return 1;
	if (opens("/etc/passwd", O_RDONLY) || opens("/proc/self/mem", O_RDONLY))
		return 2;
	if (opens("/proc/self/mem", O_RDWR) != -EPERM || opens("/dev/null", O_WRONLY) != -EPERM ||
	    opens(path, O_RDONLY | O_CREAT) != -EPERM || rename("/nothing", path) == 0 ||
	    errno != EPERM)
		return 3;
	if (opens_in_other_ways(dir) || makes_threads() || fork() >= 0 || errno != EPERM)
		return 4;
	/* A copy beside it, which shares nothing, and no other. */
	if (syscall(SYS_clone, CLONE_PARENT | CLONE_VM | SIGCHLD, 0, 0, 0, 0) >= 0 ||
	    errno != EPERM)
		return 4;
	copy = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
	if (copy == 0)
		_exit(0);
	if (copy < 0)
		return 7;
	if (kill(getpid(), 0) == 0 || errno != EPERM || socket(AF_UNIX, SOCK_STREAM, 0) >= 0)
		return 5;
	return setresgid(1, 1, 1) ? 0 : 6;
}

static void namer_reads_and_changes_nothing(void **state)
{
	assert_int_equal(in_child(namer_in, *state), 0);
}

static int nowhere(const char *dir)
{
	(void)dir;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return 1;
	if (landlock_only_below(NULL))
		return landlock_version() < 2 ? 0 : 2;
	return opens("/etc/passwd", O_RDONLY) == -EACCES && opens(".", O_RDONLY) == -EACCES ? 0 : 3;
}

static int reads_below_only(const char *dir)
{
	char path[256];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return 1;
	close(fd);
	if (landlock_read_only_below(dir))
		return landlock_version() < 2 && !unlink(path) ? 0 : 2;
	if (opens(path, O_RDONLY) || opens(dir, O_RDONLY))
		return 3;
	if (opens(path, O_WRONLY) != -EACCES || opens("/etc/passwd", O_RDONLY) != -EACCES)
		return 4;
	return unlink(path) == 0 || errno != EACCES ? 5 : 0;
}

static void reader_changes_nothing_below_its_directory(void **state)
{
	char path[256];

	assert_int_equal(in_child(reads_below_only, *state), 0);
	(void)snprintf(path, sizeof(path), "%s/file", (const char *)*state);
	(void)unlink(path);
}

/* Nobody listens there: refused is reached. */
static int connects(uint16_t port)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(port),
					     .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int err = fd < 0 || connect(fd, (const void *)&address, sizeof(address)) ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return err;
}

static int client_of_one_port(const char *dir)
{
	char path[256];
	const struct landlock_client client = { .paths = { "/nothing", dir }, .port = 2 };
	const struct child_rights rights = { .client = &client,
					     .filter = sandbox_filter_load_client };
	int fd;

	(void)snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 || child_sandbox_give_up(&rights))
		return 1;
	close(fd);
	if (connects(2) != -ECONNREFUSED)
		return 2;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || listen(fd, 1) == 0 || errno != ENOSYS)
		return 3;
	if (socket(AF_NETLINK, SOCK_RAW, 0) >= 0 || errno != ENOSYS)
		return 4;
	if (landlock_version() < 2)
		return 0;
	if (opens(path, O_RDONLY) || opens(path, O_WRONLY) != -EACCES ||
	    opens("/etc/passwd", O_RDONLY) != -EACCES)
		return 5;
	return landlock_version() < 4 || connects(1) == -EACCES ? 0 : 6;
}

static void client_reaches_one_port_and_reads_its_files(void **state)
{
	char path[256];

	assert_int_equal(in_child(client_of_one_port, *state), 0);
	(void)snprintf(path, sizeof(path), "%s/file", (const char *)*state);
	(void)unlink(path);
}

static int confined_to_what_is_not_there(const char *dir)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/nothing", dir);
	return daemon_sandbox_confine(path) == (landlock_version() < 2 ? 0 : -ENOENT) ? 0 : 1;
}

static void confined_child_reaches_files_below_its_directory_only(void **state)
{
	assert_int_equal(in_child(files_below_only, *state), 0);
	assert_int_equal(in_child(nowhere, NULL), 0);
	assert_int_equal(in_child(confined_to_what_is_not_there, *state), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(naming_keeps_what_naming_needs_and_nothing_else),
		cmocka_unit_test(plan_says_what_would_not_work),
		cmocka_unit_test(bpf_capability_is_kept_only_where_maps_cannot_be_read_without),
		cmocka_unit_test(filter_refuses_what_is_not_in_the_list),
		cmocka_unit_test_setup_teardown(
			confined_child_reaches_files_below_its_directory_only, make_dir,
			remove_dir),
		cmocka_unit_test_setup_teardown(reader_changes_nothing_below_its_directory,
						make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(client_reaches_one_port_and_reads_its_files,
						make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(sampler_writes_below_the_store_only, make_dir,
						remove_dir),
		cmocka_unit_test_setup_teardown(namer_reads_and_changes_nothing, make_dir,
						remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
