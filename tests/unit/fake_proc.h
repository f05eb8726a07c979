/* SPDX-License-Identifier: Apache-2.0 */
/* A /proc tree in a temporary directory, for tests of what reads processes. */
#ifndef JBPF_TESTS_FAKE_PROC_H
#define JBPF_TESTS_FAKE_PROC_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/remove_tree.h"

struct fake_proc {
	char path[64];
	int fd;
	int64_t clock_s; /* change time of the next file: every write is a change */
};

static inline int fake_proc_make(struct fake_proc *proc)
{
	strcpy(proc->path, "/tmp/jbpf-proc-XXXXXX");
	if (!mkdtemp(proc->path))
		return -1;
	proc->fd = open(proc->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	proc->clock_s = 1000000000;
	return proc->fd < 0;
}

static inline int fake_proc_remove(struct fake_proc *proc)
{
	close(proc->fd);
	return remove_tree(proc->path);
}

/* Directories of `path`, and the file with these bytes in them. */
static inline void fake_proc_put(struct fake_proc *proc, const char *path, const void *bytes,
				 size_t len)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = proc->clock_s++ } };
	char part[256];
	int fd;

	for (size_t i = 0; path[i]; i++) {
		if (path[i] != '/')
			continue;
		snprintf(part, sizeof(part), "%.*s", (int)i, path);
		(void)mkdirat(proc->fd, part, 0755);
	}
	fd = openat(proc->fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static inline void fake_proc_text(struct fake_proc *proc, const char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static inline void fake_proc_text(struct fake_proc *proc, const char *path, const char *format, ...)
{
	char text[4096];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	assert_true(len >= 0 && (size_t)len < sizeof(text));
	fake_proc_put(proc, path, text, (size_t)len);
}

/* stat and status of a process that began `start_ticks` after boot and is `ns_pid` in its container. */
static inline void fake_proc_process(struct fake_proc *proc, uint32_t pid, uint64_t start_ticks,
				     uint32_t ns_pid, uint32_t euid)
{
	char path[64];

	snprintf(path, sizeof(path), "%u/stat", pid);
	fake_proc_text(proc, path,
		       "%u (a) b (c) S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 12 0 %llu 1000 22\n",
		       pid, (unsigned long long)start_ticks);
	snprintf(path, sizeof(path), "%u/status", pid);
	fake_proc_text(proc, path,
		       "Name:\tx\nTgid:\t%u\nPid:\t%u\nUid:\t1\t%u\t1\t1\nGid:\t1\t1\t1\t1\n"
		       "NStgid:\t%u\t%u\nNSpid:\t%u\t%u\nSigBlk:\t0000000000000000\n"
		       "SigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\n",
		       pid, pid, euid, pid, ns_pid, pid, ns_pid);
	snprintf(path, sizeof(path), "%u/statm", pid);
	fake_proc_text(proc, path, "1000 1 1 1 1 1 0\n");
	snprintf(path, sizeof(path), "%u/root/tmp/.keep", pid);
	fake_proc_text(proc, path, "%s", "");
}

#endif
