/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampled processes: identity, labels and JVM state of each, captured at first sight and kept
 * until its last window is written, so that names and labels survive the process and its container.
 */
#ifndef JBPF_NAMING_PROCESS_H
#define JBPF_NAMING_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "bpf/jbpf_user.h"
#include "bpf/jbpf_hotspot.h"
#include "symbols/symbols.h"
#include "user/collect/container/container.h"
#include "user/collect/naming/jvm.h"
#include "user/collect/naming/jvm_threads.h"
#include "user/collect/container/opt_out.h"

struct process {
	struct process_life id;
	uint64_t cgroup_id; /* of `container` */
	uint32_t ns_pid;
	char comm[JBPF_COMM_LEN];
	char *exe; /* path of the program as its container sees it; NULL = not known */
	struct container_info container; /* "" strings when it is in none */
	enum opt_out opt_out;		 /* OPT_OUT_NONE, or nothing of it is recorded */
	bool is_environment_read; /* ... by us, in this window: it may be that of a later exec */
	/* What is known of its addresses; NULL when it opted out or is banned. */
	struct symbols_process *symbols;
	struct jvm jvm;
	struct jvm_threads threads;
	struct symbols_code_range code_range; /* as the probe knows it; all 0 = not */
	struct jbpf_hotspot hotspot;	      /* likewise */
	uint64_t account;		      /* who pays for it; 0 = not known */
	uint64_t account_cgroup; /* id of the cgroup that stands for the account; 0 = not known */
	size_t account_len;	 /* bytes of container.cgroup_path that name the account */
	bool is_banned;		 /* nothing of it is looked into: `symbols` is NULL */
	bool exited;
	bool has_execed;       /* it runs another program by now, which is another process here */
	uint32_t idle_windows; /* windows in a row without a sample */
};

struct process_table;

struct process_table_options {
	int proc_fd;
	struct symbolizer *symbolizer;	       /* borrowed for the table's life */
	struct container_resolver *containers; /* borrowed */
	struct accounts *accounts;	       /* borrowed */
	/*
	 * Called with what is known of a new process before anything of it is opened; NULL = not
	 * called.
	 */
	void (*meet)(void *ctx, struct process *process);
	void *ctx;
	bool ignores_opt_out;
};

/* What the kernel says of a sampled process; serves when /proc has no such process any more. */
struct process_sight {
	struct process_life id;
	uint64_t cgroup_id;
	const char *comm;
	uint32_t ns_pid;
	bool may_be_recorded; /* it is known not to opt out by its environment */
	bool is_any_program;  /* it was not sampled: whatever runs there now is meant, comm is "" */
};

/* 0 or -errno; -EINVAL without a symbolizer, accounts or containers. */
__must_check int process_table__new(const struct process_table_options *options,
				    struct process_table **out);
void process_table__free(struct process_table *table); /* NULL is fine */

/*
 * The process, made and read (opt-out, mappings, labels) when it is new. Borrowed until
 * process_table__expire(). 0 or -ENOMEM.
 */
__must_check int process_table__get(struct process_table *table, const struct process_sight *sight,
				    struct process **out);

/*
 * It runs another program now, as the kernel says: what was read of its environment in this window
 * may have been the other's. NULL is fine.
 */
void process_execed(struct process *process);

/*
 * May what was read of it be told, or was that another program's, which may have opted out? From the
 * middle of execve() on /proc/PID shows the new program, while the kernel says so at its end
 * (begin_new_exec() and exec_binprm() in fs/exec.c); the name changes first.
 */
bool process_is_as_sampled(int proc_fd, const struct process *process);

/*
 * Reads the names of its container again, once per window: containers are renamed. Cheap when
 * nothing changed; a container that is gone keeps what was known. 0 or -ENOMEM.
 */
__must_check int process_table__relabel(struct process_table *table, struct process *process);

/*
 * Closes what was opened of the processes for which that is so: they have no symbols from here on.
 */
void process_table__ban(struct process_table *table,
			bool (*is_banned)(const void *ctx, const struct process *process),
			const void *ctx);

/* A process that was banned is opened and read again. 0, or -ENOMEM: it still is banned. */
__must_check int process_table__lift_ban(struct process_table *table, struct process *process);

/* NULL when it was never seen. */
struct process *process_table__find(struct process_table *table, const struct process_life *id);

/* Marks every process as one window older and drops those that ended or were silent for long. */
void process_table__expire(struct process_table *table);

size_t process_table__count(const struct process_table *table);

#endif
