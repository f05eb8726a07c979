// SPDX-License-Identifier: Apache-2.0
/*
 * See child_process.h. The order in child_process_become() matters: descriptors are closed early,
 * since BPF objects and the store's lock live as long as a process has them open. Files below /proc
 * are opened before the limits are set, and before the process is undumpable: from then on its
 * files in /proc belong to root (fs/proc/base.c, task_dump_owner()).
 */
#include "user/sandbox/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/lines.h"
#include "user/util/log.h"
#include "user/util/parse.h"
#include "user/util/procmaps_line.h"
#include "user/util/strbuf.h"

#define MAPS_BYTES  (16u << 20)
#define STATM_BYTES 256u
#define IDLE_NICE   19

/* Not in the headers of libc: linux/ioprio.h. */
#define IOPRIO_WHO_PROCESS_ 1
#define IOPRIO_IDLE_	    (3 << 13)

/* ---- starting ---- */

int child_process_end_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		return -errno;
	/* It may have ended before that. */
	return getppid() == parent ? 0 : -ESRCH;
}

static int exit_status(int result)
{
	return (result < 0 ? -result : result) & 0xff;
}

static void __attribute__((noreturn))
child_begin(child_main_fn main, const void *ctx, const int sockets[2], pid_t parent)
{
	int err = child_process_end_with(parent);

	log_limits_begin_child();
	if (sockets[0] >= 0)
		close(sockets[0]);
	_exit(exit_status(err ? err : main(sockets[1], ctx)));
}

int child_process_start(child_main_fn main, const void *ctx, int *socket_out, pid_t *pid_out)
{
	int sockets[2] = { -1, -1 };
	pid_t parent = getpid(), pid;
	int err;

	if (socket_out && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	pid = fork();
	if (pid == 0)
		child_begin(main, ctx, sockets, parent);
	err = pid < 0 ? -errno : 0;
	if (socket_out)
		close(sockets[1]);
	if (socket_out && err)
		close(sockets[0]);
	if (err)
		return err;
	if (socket_out)
		*socket_out = sockets[0];
	*pid_out = pid;
	return 0;
}

pid_t child_process_copy(void)
{
	pid_t parent = getppid(), pid;

	pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
	if (pid < 0)
		return -errno;
	if (pid == 0 && child_process_end_with(parent))
		_exit(1);
	return pid;
}

bool child_process_has_one_thread(void)
{
	struct stat st;

	/* "." and "..", and one for each thread. */
	return stat("/proc/self/task", &st) == 0 && st.st_nlink == 3;
}

/* ---- signals ---- */

static void become_signals(enum child_signals signals)
{
	static const int of_parent[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t blocked;

	if (signals == CHILD_SIGNALS_INHERITED)
		return;
	for (int signo = 1; signo < NSIG; signo++)
		(void)signal(signo, SIG_DFL);
	if (signals == CHILD_SIGNALS_NO_PIPE || signals == CHILD_SIGNALS_OF_PARENT)
		(void)signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; signals == CHILD_SIGNALS_OF_PARENT && i < ARRAY_SIZE(of_parent); i++)
		(void)signal(of_parent[i], SIG_IGN);
	if (signals == CHILD_SIGNALS_BLOCKED)
		sigfillset(&blocked);
	else
		sigemptyset(&blocked);
	(void)sigprocmask(SIG_SETMASK, &blocked, NULL);
}

/* ---- descriptors ---- */

static int close_from(int first)
{
	if (close_range((unsigned int)first, ~0u, 0) == 0)
		return 0;
	/* A container's filter of system calls may be older than this one. */
	if (errno != ENOSYS)
		return -errno;
	for (long fd = first, max = sysconf(_SC_OPEN_MAX); fd < max; fd++)
		(void)close((int)fd);
	return 0;
}

/* They become `first`, first + 1, ...; all others from there on are closed. */
static int keep_from(int first, int *const kept[], size_t cnt)
{
	int next = first;
	int aside = first + (int)cnt; /* no place of one that is kept */

	for (size_t i = 0; i < cnt; i++) {
		if (*kept[i] < 0)
			continue;
		*kept[i] = fcntl(*kept[i], F_DUPFD_CLOEXEC, aside);
		if (*kept[i] < 0)
			return -errno;
	}
	for (size_t i = 0; i < cnt; i++) {
		if (*kept[i] < 0)
			continue;
		if (dup3(*kept[i], next, O_CLOEXEC) < 0)
			return -errno;
		*kept[i] = next++;
	}
	return close_from(next);
}

static int become_fds(const struct child_options *options)
{
	int err;

	switch (options->fds) {
	case CHILD_FDS_INHERITED:
		return 0;
	case CHILD_FDS_KEPT:
		return keep_from(0, options->kept, options->kept_cnt);
	default:
		err = keep_from(STDERR_FILENO + 1, options->kept, options->kept_cnt);
	}
	if (!err && options->fds == CHILD_FDS_ERRORS) {
		(void)close(STDIN_FILENO);
		(void)close(STDOUT_FILENO);
	}
	return err;
}

/* ---- memory ---- */

/* BPF maps that the profiler has mapped are writable, and a fork shares them. */
static int unmap_shared(void)
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

static void end_first(void)
{
	static const char worst[] = "1000"; /* proc(5): /proc/PID/oom_score_adj */
	__cleanup_fd int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)fs_write_all(fd, worst, strlen(worst));
}

/* The first number of statm: all of its address space. 0 = not known. */
static uint64_t memory_now(void)
{
	__cleanup_fd int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	char text[STATM_BYTES] = "";
	uint64_t page_cnt = 0;

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		(void)parse_u64_n(text, strspn(text, "0123456789"), 10, &page_cnt);
	return page_cnt * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- limits ---- */

static int limit(int resource, uint64_t value)
{
	struct rlimit limit = { .rlim_cur = value, .rlim_max = value };
	struct rlimit now;

	/* A lower limit that is there already is as good, and may not be raised. */
	if (getrlimit((__rlimit_resource_t)resource, &now) == 0 && now.rlim_max < value)
		limit.rlim_cur = limit.rlim_max = now.rlim_max;
	return setrlimit((__rlimit_resource_t)resource, &limit) ? -errno : 0;
}

static int become_limited(const struct child_options *options)
{
	int err = 0;

	for (size_t i = 0; i < options->limit_cnt && !err; i++)
		err = limit(options->limits[i].resource, options->limits[i].value);
	if (!err && options->memory_bytes)
		err = limit(RLIMIT_AS, memory_now() + options->memory_bytes);
	return err;
}

static void become_idle(void)
{
	const struct sched_param param = { 0 };

	(void)setpriority(PRIO_PROCESS, 0, IDLE_NICE);
	(void)sched_setscheduler(0, SCHED_IDLE, &param);
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS_, 0, IOPRIO_IDLE_);
}

int child_process_become(const struct child_options *options)
{
	int err;

	become_signals(options->signals);
	if (options->name && prctl(PR_SET_NAME, options->name))
		return -errno;
	err = become_fds(options);
	if (!err && options->unmaps_shared)
		err = unmap_shared();
	if (options->ends_first)
		end_first();
	if (options->is_idle)
		become_idle();
	if (!err)
		err = become_limited(options);
	if (!err && options->is_undumpable && prctl(PR_SET_DUMPABLE, 0))
		err = -errno;
	return err;
}

/* ---- ending ---- */

/* 0: it has not ended. Else as waitpid(). */
static pid_t reap(pid_t pid, int flags, int *status)
{
	pid_t reaped;

	do
		reaped = waitpid(pid, status, flags);
	while (reaped < 0 && errno == EINTR);
	return reaped;
}

int child_process_end(pid_t pid, uint32_t wait_ms)
{
	const struct timespec pause = { .tv_nsec = (long)CLOCK_NS_PER_MS };
	int status;

	(void)kill(pid, SIGKILL);
	if (wait_ms == CHILD_WAITS_FOREVER)
		return reap(pid, 0, &status) == pid ? status : -1;
	for (uint32_t i = 0; i < wait_ms; i++) {
		pid_t reaped = reap(pid, WNOHANG, &status);

		if (reaped)
			return reaped == pid ? status : -1;
		(void)nanosleep(&pause, NULL);
	}
	return -1;
}

bool child_process_has_ended(pid_t pid, int *status_out)
{
	return reap(pid, WNOHANG, status_out) == pid;
}

int child_process_err(int status)
{
	return status >= 0 && WIFEXITED(status) ? -WEXITSTATUS(status) : 0;
}

const char *child_process_why(int status)
{
	return WIFEXITED(status) ? errstr(WEXITSTATUS(status)) : strsignal(WTERMSIG(status));
}

int child_process_run(child_main_fn main, const void *ctx)
{
	int status, err;
	pid_t pid;

	err = child_process_start(main, ctx, NULL, &pid);
	if (err)
		return err;
	if (reap(pid, 0, &status) != pid)
		return -errno;
	return WIFEXITED(status) ? child_process_err(status) : -EIO;
}
