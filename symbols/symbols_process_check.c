// SPDX-License-Identifier: Apache-2.0
/*
 * Is it still the same process? The pid may have gone to another one, or another program may run in
 * it: what is read of it then must not count.
 */
#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "symbols/symbols_process.h"
#include "user/host/proc_stat.h"

/* File descriptors above are for others: a host may run as many JVMs as it likes. */
#define PROCESS_PID_FD_MAX 512

/*
 * A pid that is held cannot go to another process unseen: the descriptor reports its end before the
 * number is free. Asking it costs a system call; the kernel adds up all threads for /proc/PID/stat.
 */
void symbols_process_hold(struct symbols_process *process)
{
	long fd;

	if (process->pid_fd >= 0)
		return;
	fd = syscall(SYS_pidfd_open, (pid_t)process->id.pid, 0);
	/* Only now it is known whose descriptor it is. */
	if (fd >= 0 && (fd > PROCESS_PID_FD_MAX || symbols_process_check(process)))
		close((int)fd);
	else if (fd >= 0)
		process->pid_fd = (int)fd;
}

int symbols_process_check(const struct symbols_process *process)
{
	struct pollfd held = { .fd = process->pid_fd, .events = POLLIN };
	int err;

	if (process->pid_fd >= 0 && poll(&held, 1, 0) >= 0)
		err = held.revents ? -ESRCH : 0;
	else
		err = proc_stat_check_start(process->shared->options.proc_fd, process->id.pid,
					    process->id.start_ns);
	if (err)
		return err;
	return process->is_superseded ? -ESRCH : 0;
}
