/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Least privilege: the rights that jbpfd (and jbpf record, jbpf maps) give up once everything is
 * open.
 *
 * Loading programs, making maps and opening events need CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN),
 * kernel addresses CAP_SYSLOG; the descriptors last, so none of these is needed afterwards.
 * Naming needs these for every process that is yet to come, so they stay:
 *
 *     CAP_SYS_PTRACE          /proc/PID/{maps,root,exe,map_files}, memory of JVMs
 *     CAP_DAC_READ_SEARCH     files of other users in containers; cgroup id to path
 *     CAP_CHECKPOINT_RESTORE  files behind /proc/PID/map_files (kernel 5.9; else CAP_SYS_ADMIN)
 *     CAP_SETUID, CAP_SETGID  not in force; raised in the forked child that asks a JVM for its map
 *     CAP_BPF                 only where the kernel asks for it at every bpf() call: before 5.19,
 *                             and kernel.unprivileged_bpf_disabled is not 0. Found by trying
 *
 * None of this is kept by the process that samples and has the store: it leaves naming to another
 * one (sandbox/launcher.h, collect/namer/namer.h), which was forked before. Then no_new_privs and a
 * filter of system calls (sandbox_filter.h) for each, and Landlock for the one with the store: it
 * writes there and nowhere else. Landlock also takes away looking into other processes
 * (security/landlock/ptrace.c), so the namer has a filter instead that lets it open files for
 * reading only.
 */
#ifndef JBPF_SANDBOX_DAEMON_SANDBOX_H
#define JBPF_SANDBOX_DAEMON_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/sandbox/capabilities.h"

/* For output files at any place that the user names: in force only while they are written. */
#define DAEMON_SANDBOX_WRITING (CAPABILITY_BIT(CAP_DAC_OVERRIDE) | CAPABILITY_BIT(CAP_FOWNER))

struct daemon_sandbox_needs {
	bool names;	/* looks into other processes itself, and does not leave that to a namer */
	bool attaches;	/* JVMs may be asked for their maps */
	uint64_t aside; /* capabilities that stay permitted, but not in force */
	const char *store_dir; /* will be written to, and nothing else; NULL = no such limit */
	/* One bpf() call on a map that is open: 0 or -errno. Called in a child. NULL = none are. */
	int (*try_maps)(const void *ctx);
	const void *ctx;
};

/* For a process that names and nothing else. Pure. */
struct capabilities daemon_sandbox_naming(bool attaches);

/*
 * Finds the capabilities that must be kept by trying in children. 0, or -errno and a line for the
 * user in `why`: something that is needed would not work any more.
 */
__must_check int daemon_sandbox_plan(const struct daemon_sandbox_needs *needs,
				     struct capabilities *out, char *why, size_t why_len);

struct daemon_sandbox {
	struct capabilities held; /* before */
	struct capabilities kept;
	int landlock_err; /* 0: files are written below the store only; -errno: this kernel could not */
	int filter_err; /* 0: system calls are filtered; -errno: this kernel could not */
};

/* Gives up the rest, for ever. One thread only. 0, or -errno and a line in `why`. */
__must_check int daemon_sandbox_enter(const struct daemon_sandbox_needs *needs,
				      struct daemon_sandbox *out, char *why, size_t why_len);

/* Logs which process has kept which rights, and which could not be given up. */
void daemon_sandbox_log(const struct daemon_sandbox *sandbox, bool attaches);

/*
 * For a child that works on files below `dir` and on nothing else: no capability, no other file.
 * Where the kernel has no Landlock, its files are as the parent's. 0 or -errno.
 */
__must_check int daemon_sandbox_confine(const char *dir);

#endif
