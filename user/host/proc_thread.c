// SPDX-License-Identifier: Apache-2.0
/*
 * exit_mm() and exit_fs() of kernel/exit.c take a thread's memory and root away when it ends; the first
 * thread of a process then stays as a zombie until the last one has ended. Files are opened as
 * /proc/TID/NAME, which is there for each thread, though never listed (proc_pid_lookup() in
 * fs/proc/base.c), and has map_files, which /proc/PID/task/TID has not.
 */
#include "user/host/proc_thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "user/host/proc_stat.h"
#include "user/util/cleanup.h"
#include "user/util/parse.h"

#define THREADS_TRIED_MAX 64 /* each may end while it is tried */

static bool has_ended(int dir_fd, uint32_t tid)
{
	struct proc_stat stat;

	return proc_stat_read(dir_fd, tid, &stat) != 0 || stat.state == 'Z' || stat.state == 'X';
}

bool proc_first_thread_has_ended(int proc_fd, uint32_t pid)
{
	struct proc_stat stat;

	return proc_stat_read(proc_fd, pid, &stat) == 0 && (stat.state == 'Z' || stat.state == 'X');
}

static int open_of(int proc_fd, uint32_t pid, const char *name, int flags)
{
	char path[128];
	int len = snprintf(path, sizeof(path), "%" PRIu32 "/%s", pid, name);
	int fd;

	if (len < 0 || (size_t)len >= sizeof(path))
		return -ENAMETOOLONG;
	fd = openat(proc_fd, path, flags);
	return fd >= 0 ? fd : errno == ENOENT ? -ESRCH : -errno;
}

/* The number may have gone to a thread of another process before it was opened, not after that. */
static int open_of_thread(int proc_fd, int task_fd, uint32_t tid, const char *name, int flags)
{
	__cleanup_fd int fd = has_ended(task_fd, tid) ? -ESRCH : open_of(proc_fd, tid, name, flags);

	if (fd >= 0 && has_ended(task_fd, tid))
		return -ESRCH;
	return take_fd(&fd);
}

int proc_thread_open(int proc_fd, uint32_t pid, const char *name, int flags)
{
	int task_fd, err = -ESRCH;
	struct dirent *entry;
	uint32_t tid, tried = 0;

	if (!proc_first_thread_has_ended(proc_fd, pid))
		return -ESRCH;
	task_fd = open_of(proc_fd, pid, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (task_fd < 0)
		return task_fd;
	__cleanup_dir DIR *dir = fdopendir(task_fd);
	if (!dir) {
		close(task_fd);
		return -ENOMEM;
	}
	while (err == -ESRCH && tried < THREADS_TRIED_MAX && (entry = readdir(dir))) {
		if (parse_u32_range(entry->d_name, 1, UINT32_MAX, &tid) || tid == pid)
			continue;
		tried++;
		err = open_of_thread(proc_fd, dirfd(dir), tid, name, flags);
	}
	return err;
}

static int read_maps(int fd, struct procmaps *out)
{
	return fd < 0 ? fd : procmaps_read(fd, out);
}

int proc_read_maps(int proc_fd, uint32_t pid, struct procmaps *out)
{
	const int flags = O_RDONLY | O_CLOEXEC;
	__cleanup_fd int fd = open_of(proc_fd, pid, "maps", flags);
	int err = read_maps(fd, out);

	/* Newer kernels say -ESRCH, older ones show nothing: proc_mem_open() in fs/proc/base.c. */
	if ((err && err != -ESRCH) || out->cnt)
		return err;

	__cleanup_fd int thread_fd = proc_thread_open(proc_fd, pid, "maps", flags);

	return thread_fd < 0 ? err : read_maps(thread_fd, out);
}
