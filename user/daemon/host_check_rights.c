// SPDX-License-Identifier: Apache-2.0
/*
 * See host_check_rights.h. Which call asks for which capability: capabilities(7), perf_allow_cpu()
 * and kallsyms_show_value() of the kernel; Debian adds levels of its own to the two settings.
 */
#include "user/daemon/host_check_rights.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "user/sandbox/capabilities.h"
#include "user/util/cleanup.h"

#define PARANOID_ADMIN	3 /* from here on, in Debian and Ubuntu, CAP_PERFMON is not enough */
#define PARANOID_KERNEL 1 /* up to here everybody may see kernel addresses (kptr_restrict 0) */

static const struct capability_use uses[] = {
	{ CAP_BPF, CAPABILITY_AT_LOADING, "loads the BPF programs and makes their maps",
	  "nothing can be profiled, unless CAP_SYS_ADMIN stands in" },
	{ CAP_PERFMON, CAPABILITY_AT_LOADING,
	  "opens an event on each CPU; programs that read stacks and tasks",
	  "nothing can be profiled, unless CAP_SYS_ADMIN stands in" },
	{ CAP_SYS_ADMIN, CAPABILITY_AT_LOADING,
	  "opens the events where kernel.perf_event_paranoid is 3 or more (Debian, Ubuntu)",
	  "with perf_event_paranoid 3 or more nothing can be profiled" },
	{ CAP_SYS_RESOURCE, CAPABILITY_AT_LOADING,
	  "raises RLIMIT_MEMLOCK for BPF maps before kernel 5.11",
	  "there the limit must be raised by others (LimitMEMLOCK=infinity)" },
	{ CAP_SYSLOG, CAPABILITY_AT_LOADING, "opens /proc/kallsyms with its addresses",
	  "kernel frames have no names" },
	{ CAP_SETPCAP, CAPABILITY_AT_LOADING, "empties the bounding set, too",
	  "it stays as it is; no program is executed that could use it" },
	{ CAP_SYS_PTRACE, CAPABILITY_RUNNING,
	  "other users' mappings, container roots and JVM memory",
	  "native and JIT frames of other users have no names" },
	{ CAP_DAC_READ_SEARCH, CAPABILITY_RUNNING,
	  "reads files in containers and Docker's names; cgroup id to path without a search",
	  "programs and libraries that only others may read, or that were replaced, have no names" },
	{ CAP_CHECKPOINT_RESTORE, CAPABILITY_RUNNING,
	  "reads programs and libraries that were replaced or deleted while mapped (map_files)",
	  "their frames have no names" },
	{ CAP_SETUID, CAPABILITY_ATTACHING, "asks a JVM for its map with the JVM's own user id",
	  "JVMs of other users whose tables cannot be read stay unnamed" },
	{ CAP_SETGID, CAPABILITY_ATTACHING, "the same with its group id",
	  "JVMs of other users whose tables cannot be read stay unnamed" },
};

const struct capability_use *host_check_uses(size_t *cnt_out)
{
	*cnt_out = ARRAY_SIZE(uses);
	return uses;
}

static bool has(const struct host_facts *facts, unsigned int cap)
{
	return facts->capabilities & CAPABILITY_BIT(cap);
}

static bool is_known(int value)
{
	return value != HOST_SWITCH_UNKNOWN;
}

static bool needs_admin(const struct host_facts *facts)
{
	return is_known(facts->perf_event_paranoid) && facts->perf_event_paranoid >= PARANOID_ADMIN;
}

/* Why it does no harm that a capability is missing; NULL: it does. */
static const char *excuse(unsigned int cap, const struct host_facts *facts)
{
	bool has_admin = has(facts, CAP_SYS_ADMIN);

	switch (cap) {
	case CAP_BPF:
	case CAP_PERFMON:
		return has_admin ? "CAP_SYS_ADMIN stands in" : NULL;
	case CAP_SYS_ADMIN:
		return needs_admin(facts) ? NULL : "not needed with this perf_event_paranoid";
	case CAP_SYS_RESOURCE:
		return "not needed from kernel 5.11 on";
	case CAP_SETPCAP:
		return "no program is executed that could use what stays in the bounding set";
	case CAP_SYSLOG:
		return facts->kptr_restrict == 0 && facts->perf_event_paranoid <= PARANOID_KERNEL ?
			       "not needed with kptr_restrict 0 and this perf_event_paranoid" :
			       NULL;
	default:
		return NULL;
	}
}

enum check_result host_check_capability(const struct capability_use *use,
					const struct host_facts *facts, char *detail,
					size_t detail_len)
{
	static const char *const times[] = {
		[CAPABILITY_AT_LOADING] = "at loading",
		[CAPABILITY_RUNNING] = "while running",
		[CAPABILITY_ATTACHING] = "while running, in children that ask JVMs",
	};
	const char *harmless = excuse(use->cap, facts);

	if (has(facts, use->cap)) {
		(void)snprintf(detail, detail_len, "held; %s: %s", times[use->time], use->use);
		return CHECK_OK;
	}
	if (harmless)
		(void)snprintf(detail, detail_len, "missing, which does no harm here: %s; %s: %s",
			       harmless, times[use->time], use->use);
	else
		(void)snprintf(detail, detail_len, "missing; %s: %s; without it: %s",
			       times[use->time], use->use, use->loss);
	return harmless ? CHECK_OK : CHECK_LESS;
}

enum check_result host_check_paranoid(const struct host_facts *facts, char *detail,
				      size_t detail_len)
{
	int level = facts->perf_event_paranoid;

	if (!is_known(level)) {
		(void)snprintf(detail, detail_len, "cannot be read");
		return CHECK_OK; /* the attempt to open the events decides */
	}
	if (needs_admin(facts)) {
		bool is_held = has(facts, CAP_SYS_ADMIN);

		(void)snprintf(
			detail, detail_len,
			"%d, a level of Debian and Ubuntu only: CAP_PERFMON is not enough to open events, CAP_SYS_ADMIN is needed at loading (%s); with 2 it is not",
			level, is_held ? "held" : "missing: grant it, or set the sysctl to 2");
		return is_held ? CHECK_OK : CHECK_FAILED;
	}
	if (level > 0)
		(void)snprintf(detail, detail_len, "%d: events of all CPUs need CAP_PERFMON%s",
			       level,
			       has(facts, CAP_PERFMON) || has(facts, CAP_SYS_ADMIN) ?
				       "" :
				       ", which is missing");
	else
		(void)snprintf(detail, detail_len, "%d: everybody may open events of all CPUs",
			       level);
	return level <= 0 || has(facts, CAP_PERFMON) || has(facts, CAP_SYS_ADMIN) ? CHECK_OK :
										    CHECK_FAILED;
}

enum check_result host_check_kptr(const struct host_facts *facts, char *detail, size_t detail_len)
{
	switch (facts->kptr_restrict) {
	case HOST_SWITCH_UNKNOWN:
		(void)snprintf(detail, detail_len, "cannot be read");
		return CHECK_OK;
	case 0:
		(void)snprintf(
			detail, detail_len,
			"0: kernel addresses are for CAP_SYSLOG, or for all with perf_event_paranoid 1 or less");
		return CHECK_OK;
	case 1:
		(void)snprintf(detail, detail_len, "1: kernel addresses are for CAP_SYSLOG");
		return CHECK_OK;
	default:
		(void)snprintf(
			detail, detail_len,
			"%d: nobody sees kernel addresses, kernel frames have no names; set it to 1",
			facts->kptr_restrict);
		return CHECK_LESS;
	}
}

enum check_result host_check_unprivileged_bpf(const struct host_facts *facts, uint64_t kept,
					      char *detail, size_t detail_len)
{
	bool keeps_bpf = kept & (CAPABILITY_BIT(CAP_BPF) | CAPABILITY_BIT(CAP_SYS_ADMIN));

	if (!is_known(facts->unprivileged_bpf_disabled))
		(void)snprintf(detail, detail_len, "cannot be read");
	else
		(void)snprintf(
			detail, detail_len, "%d: %s", facts->unprivileged_bpf_disabled,
			keeps_bpf ?
				"this kernel (before 5.19) asks for CAP_BPF at every look into a map, so it is kept while running" :
				"maps that are open are read without CAP_BPF, it is given up");
	return CHECK_OK;
}

enum check_result host_check_landlock(int version, char *detail, size_t detail_len)
{
	if (version >= 2) {
		(void)snprintf(detail, detail_len,
			       "version %d: children that work on files are confined to these",
			       version);
		return CHECK_OK;
	}
	(void)snprintf(
		detail, detail_len,
		"%s: children that work on files have no capabilities, but all files of root",
		version == 1 ? "version 1 cannot move files (kernel 5.19 can)" :
			       "not in this kernel, or switched off (lsm=)");
	return CHECK_LESS;
}

enum check_result host_check_walk(const struct host_facts *facts, const char *machine, char *detail,
				  size_t detail_len)
{
	if (strcmp(machine, "x86_64") != 0) {
		(void)snprintf(
			detail, detail_len,
			"by frame pointers and by unwind tables; JVMs need -XX:+PreserveFramePointer on %s",
			machine);
		return CHECK_LESS;
	}
	/* Tables are made from the files that other processes have mapped. */
	if (!(facts->capabilities & CAPABILITY_BIT(CAP_SYS_PTRACE))) {
		(void)snprintf(
			detail, detail_len,
			"by frame pointers; no unwind tables for processes of other users, nor their JVMs "
			"without -XX:+PreserveFramePointer: CAP_SYS_PTRACE is missing");
		return CHECK_LESS;
	}
	(void)snprintf(detail, detail_len,
		       "by frame pointers and by unwind tables, JVMs without "
		       "-XX:+PreserveFramePointer by the sizes of their frames");
	return CHECK_OK;
}
