/* SPDX-License-Identifier: Apache-2.0 */
/* Which process, and which stream: what is compared and hashed where samples are told apart. Pure. */
#ifndef JBPF_MODEL_PROCESS_LIFE_H
#define JBPF_MODEL_PROCESS_LIFE_H

#include <stdint.h>

/*
 * One run of one program: an exec makes another one of the same pid and start time. No padding: it may
 * be hashed as bytes.
 */
struct process_life {
	uint64_t start_ns; /* CLOCK_BOOTTIME ns of the process's start */
	uint32_t pid;	   /* host pid */
	uint32_t exec_id;
};

/* A life in one cgroup: what gets windows of its own. No padding, as above. */
struct stream_id {
	struct process_life life;
	uint64_t cgroup_id;
	uint8_t boot_id
		[16]; /* a pid and its start time come again after a reboot; 0: of one boot */
};

/* Of what the kernel says: struct jbpf_key, jbpf_notice, jbpf_stack, and what has their fields. */
#define process_life_of(from)                 \
	((struct process_life){               \
		.start_ns = (from)->start_ns, \
		.pid = (from)->pid,           \
		.exec_id = (from)->exec_id,   \
	})

/* The order of lives: <0, 0 (the same one) or >0. */
static inline int process_life_compare(const struct process_life *a, const struct process_life *b)
{
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->exec_id > b->exec_id) - (a->exec_id < b->exec_id);
}

#endif
