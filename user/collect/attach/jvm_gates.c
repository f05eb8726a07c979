// SPDX-License-Identifier: Apache-2.0
/*
 * Why each gate is there: an attach makes the JVM create a thread, and a JVM that cannot create
 * one exits; SIGQUIT kills a JVM that does not catch it (-Xrs) and makes others write a thread
 * dump into the user's log when the attach files are not in order.
 */
#include "user/collect/attach/jvm_gates.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "symbols/hotspot/hotspot_vm.h"
#include "user/collect/attach/jvm_cgroup.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/parse.h"

#define PROC_TEXT_MAX_BYTES (64u << 10)
#define QUIT_BIT	    (1ull << (SIGQUIT - 1))
/* From here on a listener without socket file opens a new one on SIGQUIT (JDK-8225690). */
#define FEATURE_REOPENS_SOCKET 14

static enum jvm_attach_outcome outcome_of_read_error(int err)
{
	return err == -ESRCH || err == -ENOENT ? JVM_ATTACH_GONE : JVM_ATTACH_ERROR;
}

/* ---- process ---- */

enum jvm_attach_outcome jvm_gate_process(const struct jvm_attach_request *request,
					 uint64_t now_boot_ns)
{
	struct proc_stat stat;
	bool is_frozen;
	int err;

	err = proc_stat_check_start(request->proc_fd, request->pid, request->start_ns);
	if (!err)
		err = proc_stat_read(request->proc_fd, request->pid, &stat);
	if (err)
		return outcome_of_read_error(err);
	if (!strchr("RSDI", stat.state))
		return JVM_ATTACH_NOT_RUNNING;
	if (now_boot_ns < request->start_ns ||
	    now_boot_ns - request->start_ns < JVM_GATE_MIN_AGE_NS)
		return JVM_ATTACH_TOO_YOUNG;
	err = jvm_cgroup_is_frozen(request->proc_fd, request->pid, &is_frozen);
	if (err)
		return outcome_of_read_error(err);
	return is_frozen ? JVM_ATTACH_NOT_RUNNING : JVM_ATTACH_OK;
}

/* ---- HotSpot ---- */

static enum jvm_attach_outcome outcome_of_vm_error(int err)
{
	switch (err) {
	case -ENOENT:
	case -ENOTSUP:
		return JVM_ATTACH_NOT_HOTSPOT;
	case -EAGAIN:
		return JVM_ATTACH_TOO_YOUNG;
	case -ESRCH:
		return JVM_ATTACH_GONE;
	default:
		return JVM_ATTACH_ERROR;
	}
}

enum jvm_attach_outcome jvm_gate_hotspot(const struct jvm_attach_request *request, int *feature_out)
{
	bool is_disabled = false;
	int err;

	if (!request->vm)
		return outcome_of_vm_error(request->vm_err);
	*feature_out = hotspot_vm__feature_version(request->vm);
	err = hotspot_vm__bool_flag(request->vm, "DisableAttachMechanism", &is_disabled, NULL);
	if (err)
		return err == -EAGAIN ? JVM_ATTACH_TOO_YOUNG : JVM_ATTACH_ERROR;
	return is_disabled ? JVM_ATTACH_DISABLED : JVM_ATTACH_OK;
}

/* ---- signal ---- */

/* Facts from the names and masks of a process's threads. */
struct thread_facts {
	bool has_dispatcher; /* "Signal Dispatcher" */
	bool has_listener;   /* "Attach Listener" */
	bool quit_is_open;   /* one thread at least does not block SIGQUIT */
};

static void thread_note(int task_fd, uint32_t tid, struct thread_facts *facts)
{
	__cleanup_strbuf struct strbuf comm = STRBUF_INIT;
	struct proc_status status;

	if (fs_read_filef(task_fd, PROC_TEXT_MAX_BYTES, &comm, "%u/comm", tid))
		return; /* it ended meanwhile */
	/* The kernel keeps 15 characters. */
	if (strcmp(strbuf_str(&comm), "Signal Dispatch\n") == 0)
		facts->has_dispatcher = true;
	if (strcmp(strbuf_str(&comm), "Attach Listener\n") == 0)
		facts->has_listener = true;
	/* In a JVM only the VM thread, and threads that are not Java's, leave SIGQUIT open. */
	if (!facts->quit_is_open && proc_status_read(task_fd, tid, &status) == 0)
		facts->quit_is_open = !(status.sig_blocked & QUIT_BIT);
}

static DIR *dir_open_at(int dir_fd, const char *path)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

static int threads_read(int proc_fd, uint32_t pid, struct thread_facts *facts)
{
	struct dirent *entry;
	char path[32];

	snprintf(path, sizeof(path), "%u/task", pid);
	__cleanup_dir DIR *dir = dir_open_at(proc_fd, path);
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		uint32_t tid;

		if (parse_u32_range(entry->d_name, 1, UINT32_MAX, &tid) == 0)
			thread_note(dirfd(dir), tid, facts);
	}
	return 0;
}

enum jvm_attach_outcome jvm_gate_signal(int proc_fd, uint32_t pid, const struct proc_status *status,
					int feature)
{
	struct thread_facts facts = { 0 };
	int err;

	if (!(status->sig_caught & QUIT_BIT) || (status->sig_ignored & QUIT_BIT))
		return JVM_ATTACH_NO_SIGNAL;
	err = threads_read(proc_fd, pid, &facts);
	if (err)
		return outcome_of_read_error(err);
	if (!facts.has_dispatcher || !facts.quit_is_open)
		return JVM_ATTACH_NO_SIGNAL;
	if (facts.has_listener && feature < FEATURE_REOPENS_SOCKET)
		return JVM_ATTACH_NO_SIGNAL;
	return JVM_ATTACH_OK;
}

/* Text behind "\nKEY:\t" up to the end of its line; NULL when there is none. */
static const char *status_value(const char *text, const char *key, size_t *len_out)
{
	char needle[32];
	const char *at;

	snprintf(needle, sizeof(needle), "\n%s:\t", key);
	at = strstr(text, needle);
	if (!at)
		return NULL;
	at += strlen(needle);
	*len_out = strcspn(at, "\n");
	return at;
}

static bool status_mask(const char *text, const char *key, uint64_t *out)
{
	size_t len = 0;
	const char *at = status_value(text, key, &len);

	return at && parse_u64_n(at, len, 16, out) == 0;
}

bool jvm_gate_status_catches_quit(const char *text)
{
	uint64_t caught, ignored;
	size_t len = 0;
	const char *state = status_value(text, "State", &len);

	return state && len > 0 && strchr("RSDI", *state) && status_mask(text, "SigCgt", &caught) &&
	       status_mask(text, "SigIgn", &ignored) && (caught & QUIT_BIT) &&
	       !(ignored & QUIT_BIT);
}

/* ---- room for a thread ---- */

/* The first number of a file below /proc. */
static int proc_number(int proc_fd, const char *path, uint64_t *out)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int err = fs_read_file(proc_fd, path, PROC_TEXT_MAX_BYTES, &text);

	if (err)
		return err;
	return parse_u64_n(strbuf_str(&text), strspn(strbuf_str(&text), "0123456789"), 10, out);
}

/* Threads on the host: "0.00 0.01 0.05 2/345 6789" -> 345 */
static int host_thread_cnt(int proc_fd, uint64_t *out)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int err = fs_read_file(proc_fd, "loadavg", PROC_TEXT_MAX_BYTES, &text);
	const char *slash;

	if (err)
		return err;
	slash = strchr(strbuf_str(&text), '/');
	if (!slash)
		return -EINVAL;
	return parse_u64_n(slash + 1, strspn(slash + 1, "0123456789"), 10, out);
}

/* Soft limit of "Max processes"; UINT64_MAX for "unlimited". */
static int process_limit(int proc_fd, uint32_t pid, uint64_t *out)
{
	static const char key[] = "Max processes";
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	const char *at;
	int err;

	err = fs_read_filef(proc_fd, PROC_TEXT_MAX_BYTES, &text, "%u/limits", pid);
	if (err)
		return err;
	at = strstr(strbuf_str(&text), key);
	if (!at)
		return -EINVAL;
	at += sizeof(key) - 1;
	at += strspn(at, " ");
	if (strncmp(at, "unlimited", 9) == 0) {
		*out = UINT64_MAX;
		return 0;
	}
	return parse_u64_n(at, strspn(at, "0123456789"), 10, out);
}

/* Threads of process `pid` if its real uid is `uid`, else 0; processes that ended count 0. */
static uint64_t threads_of_uid(int proc_fd, uint32_t pid, uid_t uid)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	uint64_t real_uid, thread_cnt;
	const char *at;
	size_t len;

	if (fs_read_filef(proc_fd, PROC_TEXT_MAX_BYTES, &text, "%u/status", pid))
		return 0;
	at = status_value(strbuf_str(&text), "Uid", &len);
	if (!at || parse_u64_n(at, strspn(at, "0123456789"), 10, &real_uid) || real_uid != uid)
		return 0;
	at = status_value(strbuf_str(&text), "Threads", &len);
	return at && parse_u64_n(at, len, 10, &thread_cnt) == 0 ? thread_cnt : 1;
}

static int user_thread_cnt(int proc_fd, uid_t uid, uint64_t *out)
{
	struct dirent *entry;
	uint64_t cnt = 0;

	__cleanup_dir DIR *dir = dir_open_at(proc_fd, ".");
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		uint32_t pid;

		if (parse_u32_range(entry->d_name, 1, UINT32_MAX, &pid) == 0)
			cnt += threads_of_uid(proc_fd, pid, uid);
	}
	*out = cnt;
	return 0;
}

static bool has_room(uint64_t limit, uint64_t used)
{
	return limit > used && limit - used >= JVM_GATE_MIN_THREAD_ROOM;
}

/* RLIMIT_NPROC counts the threads of the real uid on the whole host. 1 room, 0 none, -errno. */
static int user_has_room(int proc_fd, uint32_t pid, uid_t uid, uint64_t host_cnt)
{
	uint64_t limit, used = 0;
	int err = process_limit(proc_fd, pid, &limit);

	if (err)
		return err;
	/* The limit does not bind the host's root, and cannot bind before all threads together do. */
	if (uid == 0 || has_room(limit, host_cnt))
		return 1;
	err = user_thread_cnt(proc_fd, uid, &used);
	return err ? err : has_room(limit, used);
}

/* The whole host: kernel.threads-max and kernel.pid_max. 1 room, 0 none, -errno. */
static int host_has_room(int proc_fd, uint64_t host_cnt)
{
	uint64_t threads_max, pid_max;
	int err = proc_number(proc_fd, "sys/kernel/threads-max", &threads_max);

	if (!err)
		err = proc_number(proc_fd, "sys/kernel/pid_max", &pid_max);
	if (err)
		return err;
	return has_room(threads_max, host_cnt) && has_room(pid_max, host_cnt);
}

enum jvm_attach_outcome jvm_gate_thread_room(int proc_fd, uint32_t pid, uid_t real_uid)
{
	uint64_t cgroup_room, host_cnt;
	int room;
	int err = jvm_cgroup_pids_room(proc_fd, pid, &cgroup_room);

	if (err)
		return err == -ESRCH ? JVM_ATTACH_GONE : JVM_ATTACH_ERROR;
	if (cgroup_room < JVM_GATE_MIN_THREAD_ROOM)
		return JVM_ATTACH_NO_THREAD_ROOM;
	if (host_thread_cnt(proc_fd, &host_cnt))
		return JVM_ATTACH_ERROR;
	room = host_has_room(proc_fd, host_cnt);
	if (room == 1)
		room = user_has_room(proc_fd, pid, real_uid, host_cnt);
	if (room < 0)
		return JVM_ATTACH_ERROR;
	return room ? JVM_ATTACH_OK : JVM_ATTACH_NO_THREAD_ROOM;
}
