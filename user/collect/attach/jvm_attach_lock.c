// SPDX-License-Identifier: Apache-2.0
/*
 * See jvm_attach_lock.h. The lock is on a file that only they can open who may look into the process, as
 * its own user and root: else any user could hold it, and so keep names away from all JVMs. A file of
 * jbpf's own would not be the same one in all containers.
 *
 * That of /proc/PID itself was tried, which everybody may open. Nor does the mode of a file below it
 * suffice where jbpfd has no CAP_DAC_READ_SEARCH: `maps` may be read by all, and asks for the right
 * to trace when it is opened (proc_maps_open(), fs/proc/task_mmu.c), which attaching takes anyway.
 */
#include "user/collect/attach/jvm_attach_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>

#include "user/util/cleanup.h"

int jvm_attach_lock(int proc_fd, uint32_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "%u/maps", pid);
	__cleanup_fd int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return flock(fd, LOCK_EX | LOCK_NB) ? -errno : take_fd(&fd);
}
