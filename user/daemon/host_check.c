// SPDX-License-Identifier: Apache-2.0
/*
 * Each line is the result of trying the thing itself where that is possible: the real BPF object is
 * loaded, the real events are opened, real files are read; actions of a running jbpfd are tried
 * with the rights that it has then. Capability bits are shown too, since an administrator can
 * change them.
 */
#include "user/daemon/host_check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "user/files/container_file.h"
#include "user/sandbox/daemon_sandbox.h"
#include "user/daemon/host_check_rights.h"
#include "user/daemon/host_check_roots.h"
#include "user/collect/container/container_cgroup.h"
#include "user/collect/probe/probe.h"
#include "user/sandbox/capabilities.h"
#include "user/host/pid_namespace.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/sandbox/landlock.h"
#include "user/util/log.h"
#include "user/util/parse.h"
#include "user/util/strbuf.h"

#define SWITCH_MAX_BYTES 32 /* a number of /proc/sys */

struct check_run {
	FILE *out;
	const struct host_check_options *options;
	struct host_facts facts;
	struct capabilities kept; /* while running */
	bool failed;
	bool less;
};

static void check_line(struct check_run *run, enum check_result result, const char *what,
		       const char *detail)
{
	static const char *const words[] = { "ok  ", "less", "FAIL" };

	run->failed |= result == CHECK_FAILED;
	run->less |= result == CHECK_LESS;
	fprintf(run->out, "%s  %-22s %s\n", words[result], what, detail);
}

static int read_switch(const char *name)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	const char *at;
	uint64_t number;
	bool is_negative;

	if (fs_read_filef(AT_FDCWD, SWITCH_MAX_BYTES, &text, "/proc/sys/kernel/%s", name))
		return HOST_SWITCH_UNKNOWN;
	at = strbuf_str(&text);
	is_negative = *at == '-';
	at += is_negative;
	if (parse_u64_n(at, strcspn(at, "\n"), 10, &number) || number >= HOST_SWITCH_UNKNOWN)
		return HOST_SWITCH_UNKNOWN;
	return is_negative ? -(int)number : (int)number;
}

static void read_facts(struct host_facts *facts)
{
	struct capabilities held = { 0 };

	(void)capabilities_read(&held);
	*facts = (struct host_facts){
		.capabilities = held.effective,
		.perf_event_paranoid = read_switch("perf_event_paranoid"),
		.kptr_restrict = read_switch("kptr_restrict"),
		.unprivileged_bpf_disabled = read_switch("unprivileged_bpf_disabled"),
	};
}

static bool has_cap(const struct check_run *run, int cap)
{
	return run->facts.capabilities & CAPABILITY_BIT(cap);
}

static void check_capabilities(struct check_run *run)
{
	size_t cnt;
	const struct capability_use *uses = host_check_uses(&cnt);

	for (size_t i = 0; i < cnt; i++) {
		char detail[512];
		/* The other lines try the thing itself. */
		enum check_result result =
			host_check_capability(&uses[i], &run->facts, detail, sizeof(detail));

		check_line(run, result, capabilities_name(uses[i].cap), detail);
	}
}

static void check_kernel(struct check_run *run)
{
	struct utsname name;
	char detail[512];

	uname(&name);
	snprintf(detail, sizeof(detail), "%s %s", name.release, name.machine);
	check_line(run, CHECK_OK, "kernel", detail);
	if (access("/sys/kernel/btf/vmlinux", R_OK) == 0)
		check_line(run, CHECK_OK, "BTF", "/sys/kernel/btf/vmlinux is there");
	else
		check_line(
			run, CHECK_FAILED, "BTF",
			"/sys/kernel/btf/vmlinux is missing: the kernel needs CONFIG_DEBUG_INFO_BTF=y");
}

static int try_maps(const void *ctx)
{
	return probe__try_maps(ctx);
}

/* The unit has a user of its own, whose store it is, and root asks in its place. */
static bool is_of_the_units_user(const struct stat *store)
{
	return geteuid() == 0 && store->st_uid != 0;
}

/* The rights that jbpfd keeps when all is open, tried with the maps of this probe. */
static void check_kept(struct check_run *run, const struct probe *probe)
{
	const char *dir = run->options->store_dir;
	struct stat st;
	const struct daemon_sandbox_needs needs = {
		.names = true,
		.attaches = run->options->attaches,
		.store_dir = stat(dir, &st) || is_of_the_units_user(&st) ? NULL : dir,
		.try_maps = try_maps,
		.ctx = probe,
	};
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	char why[512];
	uint64_t aside;

	if (daemon_sandbox_plan(&needs, &run->kept, why, sizeof(why))) {
		check_line(run, CHECK_FAILED, "while running", why);
		return;
	}
	aside = run->kept.permitted & ~run->kept.effective;
	strbuf_puts(&text, "keeps ");
	strbuf_fail(&text, capabilities_append_names(run->kept.effective, &text));
	if (aside) {
		strbuf_puts(&text, "; for children that ask JVMs ");
		strbuf_fail(&text, capabilities_append_names(aside, &text));
	}
	strbuf_puts(&text, "; all else is given up");
	if (strbuf_error(&text))
		return;
	check_line(run, CHECK_OK, "while running", strbuf_str(&text));
}

/* Of these events; 0 is that of CPU time. As probe__open(). */
static int try_probe(uint32_t events, struct probe **out, char *why, size_t why_len)
{
	const struct probe_options options = {
		.frequency_hz = 99,
		.events = events,
		.max_depth = JBPF_MAX_DEPTH,
		.window_ns = 10000000000ull,
	};

	return probe__open(&options, out, why, why_len);
}

/* Of an event that this host allows: is it wanted, too? */
static void check_event_line(struct check_run *run, enum event event, const char *what)
{
	bool is_on = run->options->events & EVENT_BIT(event);
	char detail[256];

	snprintf(detail, sizeof(detail), "%s; %s", what,
		 is_on ? "on" : "off, as --event does not name it");
	check_line(run, CHECK_OK, event_name(event), detail);
}

/* CPU time is sampled where this is not. */
static void check_event(struct check_run *run, enum event event, const char *what)
{
	struct probe *probe;
	char detail[1024];

	if (try_probe(EVENT_BIT(event), &probe, detail, sizeof(detail))) {
		check_line(run, CHECK_LESS, event_name(event), detail);
		return;
	}
	check_event_line(run, event, what);
	probe__free(probe);
}

static void check_probe(struct check_run *run)
{
	struct probe *probe;
	char detail[1024];

	if (try_probe(0, &probe, detail, sizeof(detail))) {
		check_line(run, CHECK_FAILED, "sampling", detail);
		return;
	}
	snprintf(detail, sizeof(detail), "programs loaded, events opened, %.1f MiB of maps",
		 (double)probe__map_bytes(probe) / (1 << 20));
	check_line(run, CHECK_OK, "sampling", detail);
	check_kept(run, probe);
	probe__free(probe);
	check_event_line(run, EVENT_CPU, "what has a CPU can be sampled");
	check_event(
		run, EVENT_OFF_CPU,
		"waiting threads can be visited, but no virtual threads that are parked (JDK 21 "
		"and later)");
	check_event(run, EVENT_PAGE_FAULTS, "page faults can be sampled");
}

static void check_switches(struct check_run *run)
{
	char detail[512];
	enum check_result result;

	result = host_check_paranoid(&run->facts, detail, sizeof(detail));
	check_line(run, result, "perf_event_paranoid", detail);
	result = host_check_kptr(&run->facts, detail, sizeof(detail));
	check_line(run, result, "kptr_restrict", detail);
	result = host_check_unprivileged_bpf(&run->facts, run->kept.effective, detail,
					     sizeof(detail));
	check_line(run, result, "unprivileged_bpf", detail);
	result = host_check_landlock(landlock_version(), detail, sizeof(detail));
	check_line(run, result, "Landlock", detail);
}

static void check_walk(struct check_run *run)
{
	struct utsname name;
	char detail[512];
	enum check_result result;

	uname(&name);
	result = host_check_walk(&run->facts, name.machine, detail, sizeof(detail));
	check_line(run, result, "stack walk", detail);
}

static void check_seccomp(struct check_run *run)
{
	uint32_t action = SECCOMP_RET_ERRNO;

	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action))
		check_line(run, CHECK_LESS, "seccomp",
			   "not in this kernel: system calls of jbpfd are not filtered");
	else
		check_line(run, CHECK_OK, "seccomp",
			   "while running, system calls are filtered by a list");
}

/* On older kernels the first ones are 0, hidden or not: offsets of per-CPU variables. */
static bool shows_addresses(FILE *kallsyms)
{
	char line[1024];

	while (fgets(line, sizeof(line), kallsyms)) {
		if (strncmp(line, "0000000000000000 ", 17) != 0)
			return true;
	}
	return false;
}

static void check_kallsyms(struct check_run *run)
{
	__cleanup_file FILE *file = fopen("/proc/kallsyms", "re");

	if (!file)
		check_line(run, CHECK_LESS, "kernel names",
			   "/proc/kallsyms cannot be read: kernel frames have no names");
	else if (!shows_addresses(file))
		check_line(
			run, CHECK_LESS, "kernel names",
			"addresses are hidden: set kernel.kptr_restrict=1 and hold CAP_SYSLOG, or 0");
	else
		check_line(run, CHECK_OK, "kernel names", "/proc/kallsyms shows addresses");
}

/*
 * A process in a user namespace that we own is open to us without the capability. Its namespace may
 * not be looked at without it either; the map of its user ids may, by all.
 */
static bool is_in_our_user_namespace(int proc_fd, uint32_t pid, const struct strbuf *our_uid_map)
{
	__cleanup_strbuf struct strbuf uid_map = STRBUF_INIT;

	return fs_read_filef(proc_fd, 1 << 16, &uid_map, "%u/uid_map", pid) == 0 &&
	       uid_map.len == our_uid_map->len &&
	       memcmp(uid_map.data, our_uid_map->data, uid_map.len) == 0;
}

/*
 * A process of another user, since such ones need the capability; init when there is none. Init
 * alone proves little: where it holds more than we do, it may be closed when all others are open.
 */
static uint32_t find_foreign_pid(int proc_fd)
{
	__cleanup_strbuf struct strbuf our_uid_map = STRBUF_INIT;
	__cleanup_dir DIR *proc = opendir("/proc");
	struct dirent *entry;
	struct stat st;
	uint32_t pid;

	if (fs_read_filef(proc_fd, 1 << 16, &our_uid_map, "self/uid_map"))
		return 1;
	while (proc && (entry = readdir(proc))) {
		if (parse_u32_range(entry->d_name, 2, INT32_MAX, &pid) == 0 &&
		    fstatat(proc_fd, entry->d_name, &st, 0) == 0 && st.st_uid != geteuid() &&
		    is_in_our_user_namespace(proc_fd, pid, &our_uid_map))
			return pid;
	}
	return 1;
}

static void check_foreign_process(struct check_run *run)
{
	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__cleanup_fd int root_fd = -1;
	__cleanup_strbuf struct strbuf maps = STRBUF_INIT;
	uint32_t pid = find_foreign_pid(proc_fd);
	struct host_roots roots;
	enum check_result result;
	bool reads_maps;
	char detail[256];

	/* Some kernels let a stranger open it and show nothing. */
	(void)fs_read_filef(proc_fd, 1 << 20, &maps, "%u/maps", pid);
	reads_maps = maps.len > 0;
	snprintf(detail, sizeof(detail), "/proc/%u/maps can%s be read%s", pid,
		 reads_maps ? "" : "not",
		 reads_maps		      ? "" :
		 has_cap(run, CAP_SYS_PTRACE) ? ": a security module or its own rights close it" :
						": CAP_SYS_PTRACE is missing");
	check_line(run, reads_maps ? CHECK_OK : CHECK_LESS, "other users' mappings", detail);

	root_fd = container_root_open(proc_fd, pid);
	if (host_check_roots(proc_fd, &roots))
		roots = (struct host_roots){ 0 };
	result = host_check_roots_line(&roots, pid, root_fd >= 0, detail, sizeof(detail));
	check_line(run, result, "container roots", detail);
}

static void check_pid_namespace(struct check_run *run)
{
	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (proc_fd < 0 || pid_namespace_is_the_hosts(proc_fd))
		check_line(run, CHECK_OK, "pid namespace", "the host's");
	else
		check_line(run, CHECK_LESS, "pid namespace", PID_NAMESPACE_PROBLEM);
}

/* A link of map_files asks for more than the process's own rights, so our own will do. */
static void check_map_files(struct check_run *run)
{
	__cleanup_dir DIR *dir = opendir("/proc/self/map_files");
	struct dirent *entry = NULL;
	int fd = -1;

	while (dir && (entry = readdir(dir)) && entry->d_name[0] == '.')
		;
	if (entry)
		fd = openat(dirfd(dir), entry->d_name, O_PATH | O_CLOEXEC);
	if (fd < 0) {
		check_line(
			run, CHECK_LESS, "replaced files",
			"/proc/PID/map_files cannot be read: files replaced while mapped have no names");
		return;
	}
	close(fd);
	check_line(run, CHECK_OK, "replaced files", "/proc/PID/map_files can be read");
}

static void check_cgroups(struct check_run *run)
{
	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__cleanup_fd int mount_fd = container_cgroup_mount_open(proc_fd, "/sys/fs/cgroup");
	char path[4096];
	/* 1 is the root of the hierarchy on every kernel. */
	int err = mount_fd < 0 ? mount_fd : container_cgroup_by_id(mount_fd, 1, path, sizeof(path));

	if (err)
		check_line(
			run, CHECK_LESS, "cgroup ids",
			"no cgroup v2 mount or no right to open handles: processes that end before they are seen have no container name");
	else
		check_line(run, CHECK_OK, "cgroup ids", "cgroup v2 ids lead to paths");
}

/* Of a store that is still to be made: the nearest directory that is there. */
static void nearest_parent(const char *dir, char out[PATH_MAX])
{
	struct stat st;
	char *slash;

	(void)snprintf(out, PATH_MAX, "%s", dir);
	while (stat(out, &st) && (slash = strrchr(out, '/')) && slash > out)
		*slash = '\0';
	if (stat(out, &st))
		(void)snprintf(out, PATH_MAX, "%s", *dir == '/' ? "/" : ".");
}

static void check_store_to_make(struct check_run *run, const char *dir)
{
	char parent[PATH_MAX], detail[PATH_MAX + 512];
	bool can_make;

	nearest_parent(dir, parent);
	can_make = access(parent, W_OK | X_OK) == 0;
	if (can_make)
		snprintf(detail, sizeof(detail), "'%s' does not exist yet: jbpfd makes it", dir);
	else
		snprintf(
			detail, sizeof(detail),
			"'%s' does not exist, and cannot be made in '%s': %s; give --store a directory that can be written",
			dir, parent, errstr(errno));
	check_line(run, can_make ? CHECK_OK : CHECK_FAILED, "store", detail);
}

static void check_store(struct check_run *run, const char *dir)
{
	char detail[512];
	struct stat st;

	if (stat(dir, &st)) {
		check_store_to_make(run, dir);
	} else if (S_ISDIR(st.st_mode) && is_of_the_units_user(&st) &&
		   (st.st_mode & S_IRWXU) == S_IRWXU) {
		snprintf(
			detail, sizeof(detail),
			"'%s' belongs to user %u: a jbpfd that runs as that user writes it, one of root cannot",
			dir, (unsigned)st.st_uid);
		check_line(run, CHECK_OK, "store", detail);
	} else if (!S_ISDIR(st.st_mode) || access(dir, W_OK)) {
		snprintf(detail, sizeof(detail), "'%s' is not a writable directory", dir);
		check_line(run, CHECK_FAILED, "store", detail);
	} else {
		snprintf(detail, sizeof(detail), "'%s' can be written", dir);
		check_line(run, CHECK_OK, "store", detail);
	}
}

int host_check(const struct host_check_options *options, FILE *out)
{
	struct check_run run = { .out = out, .options = options };
	int err;

	read_facts(&run.facts);
	check_kernel(&run);
	check_probe(&run);
	check_walk(&run);
	check_switches(&run);
	check_seccomp(&run);
	check_capabilities(&run);
	check_kallsyms(&run);
	if (run.kept.effective)
		(void)capabilities_limit(&run.kept);
	check_pid_namespace(&run);
	check_foreign_process(&run);
	check_map_files(&run);
	check_cgroups(&run);
	check_store(&run, options->store_dir);
	fprintf(out, "\n%s\n",
		run.failed ? "This host cannot be profiled: see the lines marked FAIL." :
		run.less ? "This host can be profiled, with the losses of the lines marked less." :
			   "This host can be profiled, nothing is missing.");
	/* Whatever the host allows: nobody has been told. */
	errno = 0;
	if (fflush(out) || ferror(out)) {
		err = errno ? -errno : -EIO;
		pr_err("standard output: %s\n", errstr(err));
		return err;
	}
	return run.failed ? -EPERM : 0;
}
