/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of `jbpfd --check` about capabilities and the kernel's switches. Pure: facts of the
 * host come in as arguments.
 */
#ifndef JBPF_DAEMON_HOST_CHECK_RIGHTS_H
#define JBPF_DAEMON_HOST_CHECK_RIGHTS_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

enum check_result {
	CHECK_OK,
	CHECK_LESS,   /* works, with a loss that the line names */
	CHECK_FAILED, /* nothing can be profiled */
};

#define HOST_SWITCH_UNKNOWN INT_MAX

struct host_facts {
	uint64_t capabilities; /* effective */
	/* Values below /proc/sys/kernel; HOST_SWITCH_UNKNOWN when not readable. */
	int perf_event_paranoid;
	int kptr_restrict;
	int unprivileged_bpf_disabled;
};

enum capability_time {
	CAPABILITY_AT_LOADING, /* given up then */
	CAPABILITY_RUNNING,    /* kept */
	CAPABILITY_ATTACHING,  /* kept for the child that asks a JVM for its map; see --jit */
};

struct capability_use {
	unsigned int cap;
	enum capability_time time;
	const char *use;
	const char *loss; /* the effect of its absence */
};

/* Those that jbpfd makes use of, in the order of their use; the systemd unit has the same. */
const struct capability_use *host_check_uses(size_t *cnt_out);

/* One line without its beginning in `detail`. */
enum check_result host_check_capability(const struct capability_use *use,
					const struct host_facts *facts, char *detail,
					size_t detail_len);
enum check_result host_check_paranoid(const struct host_facts *facts, char *detail,
				      size_t detail_len);
enum check_result host_check_kptr(const struct host_facts *facts, char *detail, size_t detail_len);
/* `kept`: capabilities in force while running, of which CAP_BPF is one where it must. */
enum check_result host_check_unprivileged_bpf(const struct host_facts *facts, uint64_t kept,
					      char *detail, size_t detail_len);
/* `version`: as landlock_version() says. */
enum check_result host_check_landlock(int version, char *detail, size_t detail_len);
/* How stacks are walked on such a machine, by uname()'s name of it. */
enum check_result host_check_walk(const struct host_facts *facts, const char *machine, char *detail,
				  size_t detail_len);

#endif
