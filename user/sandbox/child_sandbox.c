// SPDX-License-Identifier: Apache-2.0
/* See child_sandbox.h. */
#include "user/sandbox/child_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/sandbox/child_process.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/lines.h"
#include "user/util/procmaps_line.h"
#include "user/util/strbuf.h"

#define MAPS_BYTES (16u << 20)

/* Signals to the whole process group or service are for the profiler, which may still need names. */
static int child_life(const char *name, pid_t parent)
{
	sigset_t all;

	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, NULL) || prctl(PR_SET_NAME, name, 0, 0, 0) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}

/* BPF maps that the profiler has mapped are writable, and a fork shares them. */
static int child_unmap_shared(void)
{
	__cleanup_strbuf struct strbuf maps = STRBUF_INIT;
	int err = fs_read_file(AT_FDCWD, "/proc/self/maps", MAPS_BYTES, &maps);
	struct lines lines = lines_init(strbuf_str(&maps), maps.len);
	struct line line;

	while (!err && lines_next(&lines, &line)) {
		struct procmaps_line map;

		if (procmaps_line_parse(line.at, line.len, &map) && map.is_shared &&
		    munmap((void *)(uintptr_t)map.start, (size_t)(map.end - map.start)))
			err = -errno;
	}
	return err;
}

static int close_from(unsigned int first)
{
#ifdef SYS_close_range
	if (syscall(SYS_close_range, first, ~0u, 0) == 0)
		return 0;
	if (errno != ENOSYS)
		return -errno;
#endif
	for (long fd = (long)first, max = sysconf(_SC_OPEN_MAX); fd < max; fd++)
		(void)close((int)fd);
	return 0;
}

static int child_descriptors(int keep_fd)
{
	if (keep_fd != STDIN_FILENO && dup3(keep_fd, STDIN_FILENO, O_CLOEXEC) < 0)
		return -errno;
	return close_from(STDIN_FILENO + 1);
}

int child_sandbox_limit(int resource, uint64_t value)
{
	struct rlimit limit = { .rlim_cur = value, .rlim_max = value };
	struct rlimit now;

	/* A lower limit that is there already is as good, and may not be raised. */
	if (getrlimit((__rlimit_resource_t)resource, &now) == 0 && now.rlim_max < value)
		limit.rlim_cur = limit.rlim_max = now.rlim_max;
	return setrlimit((__rlimit_resource_t)resource, &limit) ? -errno : 0;
}

int child_sandbox_begin(const char *name, int keep_fd, pid_t parent)
{
	int err = child_life(name, parent);

	if (!err)
		err = child_unmap_shared();
	child_process_offer_to_oom();
	return err ? err : child_descriptors(keep_fd);
}

int child_sandbox_give_up(const struct child_sandbox_rights *rights)
{
	int err = prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ? -errno : 0;

	if (!err)
		err = capabilities_limit(&rights->capabilities);
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	if (!err && rights->landlock)
		err = rights->landlock(NULL);
	if (!err && rights->filter)
		err = rights->filter();
	return err;
}
