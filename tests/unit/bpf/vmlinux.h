/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In place of the kernel's types and helpers, libbpf's macros and bpf/verifier.bpf.h, where a test
 * compiles BPF programs' code for itself (tests/unit/bpf/walk_host.h): only what the walk of stacks and
 * what it includes need. Fields are read as they are: the test makes the tasks.
 */
#ifndef JBPF_TESTS_WALK_VMLINUX_H
#define JBPF_TESTS_WALK_VMLINUX_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>
#include <linux/types.h>

/* BPF programs are not written for these. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wpointer-arith"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunknown-pragmas"

/* Their real headers are not included then. */
#define __BPF_HELPERS__
#define __BPF_CORE_READ_H__
#define JBPF_VERIFIER_BPF_H

#define __TARGET_ARCH_x86

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define __noinline __attribute__((noinline))
#define SEC(name)
#define __uint(name, val)  int(*name)[val]
#define __type(name, val)  typeof(val) *name
#define __array(name, val) typeof(val) *name[]

#define KEEP_BITS(number, mask)	   ((number) &= (mask))
#define KEEP_BELOW(number, max)	   ((number) = (number) <= (max) ? (number) : (max))
#define FORGET_BOUNDS(number, any) ((void)(any))
#define SIGN_MASK(number)	   ((number) = (__u64)((__s64)(number) >> 63))

typedef struct {
	__u64 ip, sp, bp, cs, orig_ax;
} bpf_user_pt_regs_t;

struct pt_regs {
	bpf_user_pt_regs_t regs;
};

struct bpf_perf_event_data {
	bpf_user_pt_regs_t regs;
};

struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[1];
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct mm_struct {
	unsigned long env_start, env_end;
};

struct task_struct {
	/* First, and as struct task_struct___offcpu has them: that is read through a cast. */
	unsigned int __state, exit_state, on_cpu;
	unsigned long nvcsw, nivcsw;
	unsigned int frozen : 1;
	int pid, tgid;
	char comm[16];
	struct task_struct *group_leader;
	struct css_set *cgroups;
	struct pid *thread_pid;
	void *stack;
	struct mm_struct *mm;
	__u64 start_boottime;
	__u64 self_exec_id;
	unsigned int flags;
	unsigned int in_execve;
};

#define READ_1(from, a)			(from)->a
#define READ_2(from, a, b)		(from)->a->b
#define READ_3(from, a, b, c)		(from)->a->b->c
#define READ_4(from, a, b, c, d)	(from)->a->b->c->d
#define READ_OF(a, b, c, d, which, ...) which
#define BPF_CORE_READ(from, ...) \
	READ_OF(__VA_ARGS__, READ_4, READ_3, READ_2, READ_1)(from, __VA_ARGS__)

#define BPF_CORE_READ_BITFIELD_PROBED(from, field) (from)->field
#define bpf_core_field_exists(field)		   ((void)sizeof(field), false)
#define bpf_core_field_offset(type, field)	   offsetof(type, field)
#define bpf_core_type_size(type)		   sizeof(type)
#define preserve_access_index

/* ---- helpers: 0 or -errno as the kernel's ---- */

static void *bpf_map_lookup_elem(void *map, const void *key);
static long bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags);
static long bpf_map_delete_elem(void *map, const void *key);
static long bpf_probe_read_user(void *to, __u32 len, const void *from);
static long bpf_probe_read_kernel(void *to, __u32 len, const void *from);
static __u64 bpf_get_current_pid_tgid(void);
static __u64 bpf_get_current_task(void);
static long bpf_get_stack(void *ctx, void *to, __u32 bytes, __u64 flags);
static __u64 bpf_ringbuf_query(void *ring, __u64 flags);
static long bpf_ringbuf_output(void *ring, void *bytes, __u64 len, __u64 flags);

#endif
