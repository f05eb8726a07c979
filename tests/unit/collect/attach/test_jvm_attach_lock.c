// SPDX-License-Identifier: Apache-2.0
/*
 * Who can keep jbpf from asking a JVM. The process is this test itself, in the real /proc: it is the
 * kernel that says who may open what there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/collect/attach/jvm_attach_lock.h"
#include "user/util/cleanup.h"

#define NOBODY 65534

static int open_proc(void)
{
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void one_at_a_time_has_the_lock(void **state)
{
	__cleanup_fd int proc_fd = open_proc();
	uint32_t pid = (uint32_t)getpid();
	int fd = jvm_attach_lock(proc_fd, pid);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(jvm_attach_lock(proc_fd, pid), -EWOULDBLOCK);
	close(fd);
	fd = jvm_attach_lock(proc_fd, pid);
	assert_true(fd >= 0);
	close(fd);
}

static void a_process_that_is_gone_has_no_lock(void **state)
{
	__cleanup_fd int proc_fd = open_proc();

	(void)state;
	assert_int_equal(jvm_attach_lock(proc_fd, 0x7fffffff), -ESRCH);
}

/* Locks all that it can open below the process's directory, and that. How many these are. */
static int lock_all(int proc_fd, uint32_t pid)
{
	char path[32];
	struct dirent *entry;
	int dir_fd, cnt = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%u", pid);
	dir_fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY);
	dir = dir_fd < 0 ? NULL : fdopendir(dir_fd);
	if (!dir)
		return -1;
	cnt += flock(dir_fd, LOCK_EX | LOCK_NB) == 0;
	while ((entry = readdir(dir))) {
		int fd = openat(dir_fd, entry->d_name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);

		cnt += fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
	}
	return cnt;
}

/* What it locks stays so until its socket is closed. */
static void __attribute__((noreturn)) be_another_user(int proc_fd, uint32_t pid, int socket_fd)
{
	char byte = 'n';

	if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		_exit(1);
	if (lock_all(proc_fd, pid) > 1)
		byte = 'y';
	if (send(socket_fd, &byte, 1, MSG_NOSIGNAL) == 1)
		(void)recv(socket_fd, &byte, 1, 0);
	_exit(0);
}

static void another_user_cannot_keep_it_away(void **state)
{
	__cleanup_fd int proc_fd = open_proc();
	uint32_t pid = (uint32_t)getpid();
	int ends[2], fd;
	pid_t other;
	char byte;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(prctl(PR_SET_DUMPABLE, 1), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	other = fork();
	if (other == 0) {
		close(ends[0]);
		be_another_user(proc_fd, pid, ends[1]);
	}
	assert_true(other > 0);
	close(ends[1]);
	assert_int_equal(recv(ends[0], &byte, 1, 0), 1);
	assert_int_equal(byte, 'y');
	fd = jvm_attach_lock(proc_fd, pid);
	assert_true(fd >= 0);
	close(fd);
	close(ends[0]);
	assert_int_equal(waitpid(other, NULL, 0), other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_at_a_time_has_the_lock),
		cmocka_unit_test(a_process_that_is_gone_has_no_lock),
		cmocka_unit_test(another_user_cannot_keep_it_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
