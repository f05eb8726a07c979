// SPDX-License-Identifier: Apache-2.0
/*
 * One attach = one forked child. The gates that need only /proc, and the check for HotSpot, are in
 * jvm_attach_check(); everything that touches the JVM's /tmp happens in the child, so that a hang or
 * a crash there ends with the child. The child checks and opens files as root, then takes on the
 * JVM's effective ids as the host sees them: JDK 8 answers no other user, and below a user
 * namespace nothing else works. The real uid stays root, so processes of that uid may not signal
 * the child, and the change of ids makes it undumpable. The right to change ids is in force only in
 * the child, and only until it is used: from then on the child has no capability at all.
 */
#include "user/collect/attach/jvm_attach.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/files/container_file.h"
#include "user/collect/attach/jvm_attach_lock.h"
#include "user/collect/attach/jvm_attach_talk.h"
#include "user/collect/attach/jvm_attach_tmp.h"
#include "user/collect/attach/jvm_gates.h"
#include "user/sandbox/capabilities.h"
#include "user/sandbox/child_process.h"
#include "user/sandbox/role_sandbox.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/host/proc_stat.h"

#define TIMEOUT_MAX_MS (10u * 60 * 1000)

/* One conversation, or the removal of one map. */
struct child_task {
	int (*run)(const struct child_task *task, struct jvm_attach_result *result);
	const struct jvm_attach_request *request;
	int pid_fd;  /* of the JVM */
	int feature; /* its release: 17, ...; 0 = not known */
	uint64_t deadline_ns;
};

static int pidfd_open(uint32_t pid)
{
	long fd = syscall(SYS_pidfd_open, (pid_t)pid, 0);

	return fd < 0 ? -errno : (int)fd;
}

static bool process_has_ended(int pid_fd)
{
	struct pollfd poll_fd = { .fd = pid_fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) != 0;
}

/* ---- child: identity ---- */

/* Dies with its parent, and by itself some time after the deadline. */
static void child_bind_life(pid_t parent, uint64_t deadline_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;

	(void)alarm((unsigned int)(left_ns / CLOCK_NS_PER_S) + 2);
	if (child_process_end_with(parent))
		_exit(1);
}

static int child_take_ids(const struct proc_status *status, pid_t parent, uint64_t deadline_ns)
{
	const struct capabilities none = { 0 };
	int err;

	if (setgroups(0, NULL) || setegid(status->egid) || seteuid(status->euid))
		return -errno;
	/* Of a JVM that runs as root, too: file permissions are all that is left to it. */
	err = capabilities_limit(&none);
	if (err)
		return err;
	/* A change of credentials clears the death signal. */
	child_bind_life(parent, deadline_ns);
	return 0;
}

/* ---- child: look ---- */

/* Descriptors that can be opened only as root. */
struct child_view {
	struct proc_status status;
	int tmp_fd;
	int status_fd;
	int lock_fd;
	struct jvm_tmp tmp;
};

static void child_view_release(struct child_view *view)
{
	cleanup_fd_(&view->tmp_fd);
	cleanup_fd_(&view->status_fd);
	cleanup_fd_(&view->lock_fd);
}

#define __cleanup_view __attribute__((cleanup(child_view_release)))
#define CHILD_VIEW_INIT                                      \
	{                                                    \
		.tmp_fd = -1, .status_fd = -1, .lock_fd = -1 \
	}

static int open_below_pid(const struct jvm_attach_request *request, const char *name, int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%u%s", request->pid, name);
	fd = openat(request->proc_fd, path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Opens /tmp of the JVM and reads the JVM's ids. 0 or -errno. */
static int child_view_open(const struct jvm_attach_request *request, struct child_view *view)
{
	int err = proc_status_read(request->proc_fd, request->pid, &view->status);

	if (err)
		return err == -ENOENT ? -ESRCH : err;
	if (view->status.tgid != request->pid)
		return -EINVAL;
	__cleanup_fd int root_fd = container_root_open(request->proc_fd, request->pid);
	if (root_fd < 0)
		return root_fd == -ENOENT ? -ESRCH : root_fd;
	view->tmp_fd = container_dir_open(root_fd, "/tmp");
	if (view->tmp_fd < 0)
		return view->tmp_fd == -ENOENT ? -ENOTDIR : view->tmp_fd;
	jvm_tmp_init(&view->tmp, view->tmp_fd, view->status.ns_pid, view->status.euid);
	return 0;
}

static enum jvm_attach_outcome outcome_of_view_error(int err)
{
	switch (err) {
	case -ESRCH:
		return JVM_ATTACH_GONE;
	case -ENOTDIR: /* there is no /tmp */
		return JVM_ATTACH_TMP_NOT_WRITABLE;
	case -ELOOP:
		return JVM_ATTACH_TMP_HOSTILE;
	default:
		return JVM_ATTACH_ERROR;
	}
}

/* All gates that the parent did not check, as root. JVM_ATTACH_OK: go ahead. */
static enum jvm_attach_outcome child_check(const struct child_task *task, struct child_view *view)
{
	const struct jvm_attach_request *request = task->request;
	enum jvm_attach_outcome outcome;
	int err = child_view_open(request, view);

	if (err)
		return outcome_of_view_error(err);
	/* It goes with the process. */
	view->lock_fd = jvm_attach_lock(request->proc_fd, request->pid);
	if (view->lock_fd < 0)
		return JVM_ATTACH_ERROR;
	outcome = jvm_tmp_check(&view->tmp);
	if (outcome != JVM_ATTACH_OK || view->tmp.has_socket)
		return outcome;
	outcome = jvm_gate_signal(request->proc_fd, request->pid, &view->status, task->feature);
	if (outcome != JVM_ATTACH_OK)
		return outcome;
	return jvm_gate_thread_room(request->proc_fd, request->pid, view->status.uid);
}

/* ---- child: tasks ---- */

static int run_request_map(const struct child_task *task, struct jvm_attach_result *result)
{
	__cleanup_view struct child_view view = CHILD_VIEW_INIT;
	pid_t parent = getppid();
	struct jvm_talk talk;

	result->outcome = child_check(task, &view);
	result->map_existed = view.tmp.map_existed;
	if (result->outcome != JVM_ATTACH_OK)
		return 0;
	view.status_fd = open_below_pid(task->request, "/status", O_RDONLY);
	/* All of the above was about the process behind pid_fd if that one still lives. */
	if (view.status_fd < 0 || process_has_ended(task->pid_fd)) {
		result->outcome = JVM_ATTACH_GONE;
		return 0;
	}
	if (child_take_ids(&view.status, parent, task->deadline_ns)) {
		result->outcome = JVM_ATTACH_ERROR;
		return 0;
	}
	talk = (struct jvm_talk){ .tmp = &view.tmp,
				  .pid_fd = task->pid_fd,
				  .status_fd = view.status_fd,
				  .pid = (pid_t)task->request->pid,
				  .deadline_ns = task->deadline_ns };
	result->outcome = jvm_talk_request_map(&talk);
	result->command_ms = talk.command_ms;
	result->listener_started = talk.listener_started;
	return 0;
}

/* With the JVM's ids and no way out of its /tmp. 0 or -errno. */
static int enter_tmp(const struct child_task *task, struct child_view *view)
{
	pid_t parent = getppid();
	int err = child_view_open(task->request, view);

	if (!err && process_has_ended(task->pid_fd))
		err = -ESRCH;
	if (!err)
		err = child_take_ids(&view->status, parent, task->deadline_ns);
	return err ? err : role_sandbox_asker(view->tmp_fd);
}

static int run_remove_map(const struct child_task *task, struct jvm_attach_result *result)
{
	__cleanup_view struct child_view view = CHILD_VIEW_INIT;
	int err = enter_tmp(task, &view);

	(void)result;
	return err ? err : jvm_tmp_remove_map(&view.tmp);
}

static int run_remove_trigger(const struct child_task *task, struct jvm_attach_result *result)
{
	__cleanup_view struct child_view view = CHILD_VIEW_INIT;
	int err = enter_tmp(task, &view);
	const struct jvm_talk talk = { .tmp = &view.tmp,
				       .pid_fd = task->pid_fd,
				       .deadline_ns = task->deadline_ns };

	(void)result;
	if (!err)
		jvm_talk_end_trigger(&talk);
	return err;
}

static void __attribute__((noreturn)) child_main(const struct child_task *task, int report_fd)
{
	/* A JVM that rejects us closes early. */
	static const struct child_options options = { .signals = CHILD_SIGNALS_NO_PIPE };
	struct jvm_attach_report report;

	memset(&report, 0, sizeof(report));
	(void)child_process_become(&options);
	child_bind_life(getppid(), task->deadline_ns);
	/* Where they are missing the switch fails, and says so. */
	(void)capabilities_raise(CAPABILITY_BIT(CAP_SETUID) | CAPABILITY_BIT(CAP_SETGID), NULL);
	report.err = task->run(task, &report.result);
	/* Smaller than PIPE_BUF: all or nothing. */
	_exit(write(report_fd, &report, sizeof(report)) == sizeof(report) ? 0 : 1);
}

/* ---- parent, and the start of the child ---- */

enum jvm_attach_outcome jvm_attach_check(const struct jvm_attach_request *request, int *feature_out)
{
	enum jvm_attach_outcome outcome = jvm_gate_process(request, clock_boot_ns());

	*feature_out = 0;
	return outcome == JVM_ATTACH_OK ? jvm_gate_hotspot(request, feature_out) : outcome;
}

static uint64_t deadline_after_ms(uint32_t timeout_ms)
{
	if (timeout_ms > TIMEOUT_MAX_MS)
		timeout_ms = TIMEOUT_MAX_MS;
	return clock_monotonic_ns() + timeout_ms * CLOCK_NS_PER_MS;
}

int jvm_attach_main(const struct jvm_attach_job *job, int report_fd)
{
	static int (*const runs[])(const struct child_task *, struct jvm_attach_result *) = {
		[JVM_ATTACH_REMOVES_NOTHING] = run_request_map,
		[JVM_ATTACH_REMOVES_MAP] = run_remove_map,
		[JVM_ATTACH_REMOVES_TRIGGER] = run_remove_trigger,
	};
	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct jvm_attach_request request = {
		.proc_fd = proc_fd,
		.pid = job->pid,
		.start_ns = job->start_ns,
		.timeout_ms = job->timeout_ms,
	};
	__cleanup_fd int pid_fd = pidfd_open(job->pid);
	const struct child_task task = {
		.run = runs[job->removes],
		.request = &request,
		.pid_fd = pid_fd,
		.feature = job->feature,
		.deadline_ns = deadline_after_ms(job->timeout_ms),
	};
	struct jvm_attach_report gone = { .result.outcome = JVM_ATTACH_GONE };

	/* From here on it cannot be mistaken for another one. */
	if (proc_fd >= 0 && pid_fd >= 0 &&
	    proc_stat_check_start(proc_fd, job->pid, job->start_ns) == 0)
		child_main(&task, report_fd);
	gone.err = -ESRCH;
	return write(report_fd, &gone, sizeof(gone)) == sizeof(gone) ? 0 : 1;
}
