// SPDX-License-Identifier: Apache-2.0
/*
 * Each line is the result of trying the thing itself where that is possible: the real BPF object is
 * loaded, the real events are opened, real files are read. Capability bits are shown beside, since
 * they are what an administrator can change.
 */
#include "user/cmd/host_check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "symbols/container_file.h"
#include "user/collect/container.h"
#include "user/collect/probe.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/parse.h"
#include "user/util/strbuf.h"

enum check_result {
	CHECK_OK,
	CHECK_LESS,   /* works, with a loss that the line names */
	CHECK_FAILED, /* nothing can be profiled */
};

struct check_run {
	FILE *out;
	uint64_t caps; /* effective */
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

static uint64_t read_effective_caps(void)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	uint64_t caps = 0;
	const char *line;

	if (fs_read_file(AT_FDCWD, "/proc/self/status", 65536, &text))
		return 0;
	line = strstr(strbuf_str(&text), "CapEff:\t");
	if (line)
		(void)parse_u64_n(line + 8, strspn(line + 8, "0123456789abcdef"), 16, &caps);
	return caps;
}

static bool has_cap(const struct check_run *run, int cap)
{
	return run->caps >> cap & 1;
}

static void check_caps(struct check_run *run)
{
	static const struct {
		int cap;
		const char *name;
		const char *use;
		const char *loss;
	} caps[] = {
		{ CAP_BPF, "CAP_BPF", "loads the BPF programs", "CAP_SYS_ADMIN can stand in" },
		{ CAP_PERFMON, "CAP_PERFMON", "opens the sampling events",
		  "CAP_SYS_ADMIN can stand in" },
		{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN",
		  "perf_event_paranoid 3, replaced files, cgroup ids of ended processes",
		  "these are lost; with perf_event_paranoid 3 (Debian) nothing can be sampled" },
		{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE",
		  "sees other users' mappings, container roots and JVM memory",
		  "native and JIT frames of other users have no names" },
		{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH",
		  "reads files in containers, Docker's names, cgroup handles",
		  "libraries and names that only others may read are missing" },
		{ CAP_SETUID, "CAP_SETUID", "asks a JVM for its map with the JVM's own user id",
		  "JVMs without a perf map stay unnamed" },
		{ CAP_SETGID, "CAP_SETGID", "the same with its group id",
		  "JVMs without a perf map stay unnamed" },
		{ CAP_KILL, "CAP_KILL", "opens a JVM's attach listener",
		  "JVMs whose listener is not open yet stay unnamed" },
		{ CAP_SYSLOG, "CAP_SYSLOG", "reads kernel addresses with kptr_restrict 1",
		  "kernel frames have no names when kptr_restrict is 1" },
		{ CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE", "raises RLIMIT_MEMLOCK before kernel 5.11",
		  "not needed from kernel 5.11 on" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(caps); i++) {
		char detail[256];
		bool is_held = has_cap(run, caps[i].cap);

		if (is_held)
			snprintf(detail, sizeof(detail), "held: %s", caps[i].use);
		else
			snprintf(detail, sizeof(detail), "missing (%s): %s", caps[i].use,
				 caps[i].loss);
		/* What truly fails is found by trying, below. */
		check_line(run, is_held || caps[i].cap == CAP_SYS_RESOURCE ? CHECK_OK : CHECK_LESS,
			   caps[i].name, detail);
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

static void check_probe(struct check_run *run)
{
	struct probe_options options = {
		.frequency_hz = 99,
		.max_depth = JBPF_MAX_DEPTH,
		.window_ns = 10000000000ull,
	};
	struct probe *probe;
	char detail[1024];

	if (probe__open(&options, &probe, detail, sizeof(detail))) {
		check_line(run, CHECK_FAILED, "sampling", detail);
		return;
	}
	snprintf(detail, sizeof(detail), "programs loaded, events opened, %.1f MiB of maps",
		 (double)probe__map_bytes(probe) / (1 << 20));
	check_line(run, CHECK_OK, "sampling", detail);
	probe__free(probe);
}

static void check_paranoid(struct check_run *run)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	char detail[256];
	int level;

	if (fs_read_file(AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid", 32, &text))
		return;
	level = atoi(strbuf_str(&text)); /* the kernel's own number, may be negative */
	snprintf(detail, sizeof(detail), "%d%s", level,
		 level > 2 ? ": CAP_PERFMON is not enough, CAP_SYS_ADMIN is needed" : "");
	check_line(run, level > 2 && !has_cap(run, CAP_SYS_ADMIN) ? CHECK_FAILED : CHECK_OK,
		   "perf_event_paranoid", detail);
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
 * A process of another user, which is what needs the capability; init when there is none. Init
 * alone proves little: where it holds more than we do, it may be closed when all others are open.
 */
static uint32_t find_foreign_pid(int proc_fd)
{
	__cleanup_dir DIR *proc = opendir("/proc");
	struct dirent *entry;
	struct stat st;
	uint32_t pid;

	while (proc && (entry = readdir(proc))) {
		if (parse_u32_range(entry->d_name, 2, INT32_MAX, &pid) == 0 &&
		    fstatat(proc_fd, entry->d_name, &st, 0) == 0 && st.st_uid != geteuid())
			return pid;
	}
	return 1;
}

static void check_foreign_process(struct check_run *run)
{
	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__cleanup_fd int root_fd = -1;
	__cleanup_dir DIR *files = NULL;
	__cleanup_strbuf struct strbuf maps = STRBUF_INIT;
	uint32_t pid = find_foreign_pid(proc_fd);
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
	snprintf(detail, sizeof(detail), "/proc/%u/root can%s be opened%s", pid,
		 root_fd < 0 ? "not" : "",
		 root_fd < 0 ? ": no perf maps, no libraries of containers" : "");
	check_line(run, root_fd < 0 ? CHECK_LESS : CHECK_OK, "container roots", detail);

	snprintf(detail, sizeof(detail), "/proc/%u/map_files", pid);
	files = opendir(detail);
	snprintf(detail, sizeof(detail), "/proc/%u/map_files can%s be read%s", pid,
		 files ? "" : "not", files ? "" : ": files replaced while mapped have no names");
	check_line(run, files ? CHECK_OK : CHECK_LESS, "replaced files", detail);
}

static void check_cgroups(struct check_run *run)
{
	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__cleanup_fd int root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct container_resolver_options options = {
		.proc_fd = proc_fd,
		.root_fd = root_fd,
		.cgroup_root = "/sys/fs/cgroup",
	};
	struct container_resolver *resolver;
	char path[4096];
	int err = container_resolver__new(&options, &resolver);

	if (!err) {
		/* 1 is the root of the hierarchy on every kernel. */
		err = container_cgroup_path(resolver, 1, path, sizeof(path));
		container_resolver__free(resolver);
	}
	if (err)
		check_line(
			run, CHECK_LESS, "cgroup ids",
			"no cgroup v2 mount or no right to open handles: processes that end before they are seen have no container name");
	else
		check_line(run, CHECK_OK, "cgroup ids", "cgroup v2 ids lead to paths");
}

static void check_store(struct check_run *run, const char *dir)
{
	char detail[512];
	struct stat st;

	if (stat(dir, &st)) {
		snprintf(detail, sizeof(detail), "'%s' does not exist yet: jbpfd makes it", dir);
		check_line(run, CHECK_OK, "store", detail);
	} else if (!S_ISDIR(st.st_mode) || access(dir, W_OK)) {
		snprintf(detail, sizeof(detail), "'%s' is not a writable directory", dir);
		check_line(run, CHECK_FAILED, "store", detail);
	} else {
		snprintf(detail, sizeof(detail), "'%s' can be written", dir);
		check_line(run, CHECK_OK, "store", detail);
	}
}

int host_check(const char *store_dir, FILE *out)
{
	struct check_run run = { .out = out, .caps = read_effective_caps() };

	check_kernel(&run);
	check_paranoid(&run);
	check_probe(&run);
	check_caps(&run);
	check_kallsyms(&run);
	check_foreign_process(&run);
	check_cgroups(&run);
	check_store(&run, store_dir);
	fprintf(out, "\n%s\n",
		run.failed ? "This host cannot be profiled: see the lines marked FAIL." :
		run.less ? "This host can be profiled, with the losses of the lines marked less." :
			   "This host can be profiled, nothing is missing.");
	return run.failed ? -EPERM : 0;
}
