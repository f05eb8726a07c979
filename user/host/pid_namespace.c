// SPDX-License-Identifier: Apache-2.0
/*
 * The host's namespace has a fixed inode number, PROC_PID_INIT_INO in include/linux/proc_ns.h, since 3.8.
 * Process 1 of a /proc is in the namespace that this /proc shows. Both are asked: /proc says which files
 * are opened, our own namespace whom pidfd_open() and process_vm_readv() mean.
 */
#include "user/host/pid_namespace.h"

#include <fcntl.h>
#include <sys/stat.h>

#define PID_INIT_INO 0xeffffffcu

static bool is_the_hosts(int proc_fd, const char *path)
{
	struct stat st;

	return fstatat(proc_fd, path, &st, 0) != 0 || st.st_ino == PID_INIT_INO;
}

bool pid_namespace_is_the_hosts(int proc_fd)
{
	return is_the_hosts(proc_fd, "1/ns/pid") && is_the_hosts(proc_fd, "self/ns/pid");
}
