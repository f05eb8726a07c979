/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every map and knob. Sizes that depend on the host are set by user space before loading; all maps
 * are preallocated, which perf_event programs need on 5.10, but those of unwind_maps.bpf.h.
 */
#ifndef JBPF_MAPS_BPF_H
#define JBPF_MAPS_BPF_H

#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "bpf/core_compat.bpf.h"
#include "bpf/jbpf.h"
#include "bpf/jbpf_hotspot.h"
#include "bpf/jbpf_leaf.h"

/* Knobs, constant once loaded. */
const volatile __u32 honours_opt_out = 1;
const volatile __u32 max_depth = JBPF_MAX_DEPTH; /* user frames, 1..JBPF_MAX_DEPTH */
const volatile __u32 filter_pid_cnt = 0;	 /* > 0: only the processes in filter_pids */
const volatile __u32 filter_cgroup_cnt = 0;	 /* > 0: only below filter_cgroups[0..cnt) */
const volatile __u64 hash_seed =
	0xcbf29ce484222325; /* FNV's basis; random in life, see stack.bpf.h */
const volatile __u64 stacks_wakeup_bytes = 1 << 18; /* wake the reader of `stacks` from here on */
const volatile __u32 ticks_stride = 0;	/* words per CPU and set; 0: no moments are noted */
const volatile __u32 ticks_cpu_cnt = 0; /* CPUs from 0 on that have a log */
const volatile __u32 keeps_digits = 0;	/* names of threads are taken as they are */

/* What accounts share, see account.bpf.h; the defaults are more than anybody can use. */
const volatile __u64 entries_max = 1ull << 32; /* of a count map */
const volatile __u64 event_entries_max = 1ull
					 << 32;	   /* of these, before only CPU time enters more */
const volatile __u64 stack_bytes_max = 1ull << 32; /* of new stacks in a window */
const volatile __u64 stacks_size = 1ull << 32;	   /* bytes of the `stacks` buffer */
const volatile __u64 known_max = 1ull << 32;	   /* entries of `known` */

/*
 * Which of the two count maps and logs are in use: written by user space, read once per sample.
 * Both then are of the same set. Volatile, as it changes under a running program.
 */
volatile __u32 active_set = 0;

/*
 * What all accounts used together in a window, by set: entries of the count map, their own records
 * among them, and bytes of new stacks, also of those of events other than the CPU clock alone. User
 * space clears those of the next window.
 */
__u64 all_entries[2] = {};
__u64 all_stack_bytes[2] = {};
__u64 all_event_bytes[2] = {};

/* Another one after each change of accounts_of, by user space. */
volatile __u32 accounts_generation = 0;

/*
 * Set for good when the first process that opted out is found; until then, no sample searches for
 * one.
 */
volatile __u32 has_opted_out = 0;

/*
 * Bytes of user memory taken in one read. A read costs about 40 ns whatever its size, so a window
 * with many frames in it beats a read per frame by far. With frames 96 bytes apart, 2 KiB against
 * 1 KiB: -20 % at 128 frames, -28 % at 512, +100 ns at 16. Power of two.
 */
#define WINDOW_BYTES 2048
#define WINDOW_SLACK 16

#define MAP_MMAPABLE (1u << 10) /* BPF_F_MMAPABLE of linux/bpf.h */

/* Where the process of a sample has its JIT code; a length of 0: none, or not known. */
struct code_view {
	__u64 low;
	__u64 len;
	__u64 interpreter_low;
	__u64 interpreter_len;
};

/*
 * State of a walk by rules between two frames. The frame's address is scratch's `address`, the frame
 * pointer's register its `fp`.
 */
struct unwind_state {
	__u64 sp;
	__u64 hash;	   /* as it was before the last word */
	__u64 lr;	   /* the link register of what was interrupted */
	__u64 pc;	   /* whose row is looked for */
	__u64 window_base; /* what `window` holds; a base of ~0: nothing */
	__u64 window_len;
	__u32 generation; /* of the process's mappings */
	__u32 row;	  /* what was found */
	__u32 frame_cnt;  /* by tables */
	__u32 search_cnt; /* of rows, which the memo did not have */
	__u32 is_exact;	  /* the address was interrupted there: it is no return address */
};

/* State of frames of JIT code that are found by their sizes. */
struct jit_state {
	__u64 pc;    /* that is looked for */
	__u64 block; /* in which it lies; 0: in none */
	__u32 frame_cnt;
	__u32 frame_words; /* of a leaf's frame whose return address is none; 0: no such */
	__u8 header[JBPF_HOTSPOT_HEADER_BYTES + 8]; /* of that block */
	__u8 code[2 * JBPF_LEAF_CODE_BYTES];	    /* before and from the leaf's address on */
};

/* Whose account is in account_key, and of which accounts_generation. */
struct account_memo {
	__u64 cgroup_id;
	__u32 generation;
	__u32 pad;
};

/* The name that was folded last, and what it became. */
struct thread_memo {
	__u64 name[2];
	__u64 folded[2];
	__u32 tag; /* 0: none was */
	__u32 pad;
};

struct scratch {
	struct jbpf_key key;
	struct jbpf_value value;
	struct code_view code;
	struct thread_memo thread_memo;

	/* Whose budget it is: the key of its record, and the record as it begins. */
	struct jbpf_key account_key;
	struct account_memo account_memo;
	struct jbpf_account account;

	/* State of the search through an environment; `window` holds the part. */
	__u64 environment_at;
	__u64 environment_end;
	__u64 environment_len;	/* of the part */
	__u64 environment_from; /* of it is looked at next */

	struct unwind_state unwind;
	struct jit_state jit;
	struct jbpf_hotspot hotspot; /* flags are 0: not known */
	struct jbpf_leaf_proof proof;

	struct user_regs regs; /* what the user walk begins with */

	/* State of the user walk between two windows. */
	__u64 fp;
	__u64 address; /* the last one taken: `fp` is the frame pointer of its code */
	__u64 hash;
	__u32 depth; /* words taken; when a stack is cut, so many are to be left */
	__u32 end;

	/* Two records as they go out over `stacks`: the head, its words right behind. */
	struct {
		struct jbpf_stack head;
		__u64 ips[JBPF_MAX_DEPTH];
	} user;
	struct {
		struct jbpf_stack head;
		__u64 ips[JBPF_MAX_KERNEL_DEPTH + 1];
	} kernel;

	__u8 window[WINDOW_BYTES + WINDOW_SLACK] __attribute__((aligned(8)));
};

/* The sample being taken. A perf_event program is not interrupted by another on its CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

struct counters {
	__u64 cnt[JBPF_COUNTER_SLOTS];
};

/* enum jbpf_counter. Programs add, user space reads; never cleared. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counters);
} counters SEC(".maps");

/*
 * By sizes, not types: user space makes its maps without BTF, and 5.15 to 6.1 take only maps into
 * `counts` whose BTF says the same as this one's, down to the error for "no timer in it".
 */
struct counts_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(struct jbpf_key));
	__uint(value_size, sizeof(struct jbpf_value));
};

/*
 * Slots 0 and 1 hold the count maps of the two sets. User space changes active_set, then writes a
 * slot again: once that returns, no program uses the other set (the kernel waits for that after each
 * update of such a map), and it can be drained.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct counts_map);
} counts SEC(".maps");

/* See jbpf_tick(). No key, no hash, no lock: programs of a CPU do not interrupt each other. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, MAP_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} ticks SEC(".maps");

/* Hashes of the stacks user space has. Programs insert, user space deletes what it forgets. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, __u8);
} seen SEC(".maps");

/* struct jbpf_stack, each once. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} stacks SEC(".maps");

/* struct jbpf_notice. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);
} notices SEC(".maps");

/* By pid. An entry that was evicted costs a second reading of its environment and a second SEEN. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct jbpf_known);
} known SEC(".maps");

/* By tgid; written by user space. Programs delete entries whose process has executed or exited. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JBPF_CODE_RANGES_MAX);
	__type(key, __u32);
	__type(value, struct jbpf_code_range);
} code_ranges SEC(".maps");

/* By tgid; written by user space. Programs delete entries whose process has executed or exited. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JBPF_HOTSPOTS_MAX);
	__type(key, __u32);
	__type(value, struct jbpf_hotspot);
} hotspots SEC(".maps");

/* Proved for single addresses of processes; written by user space, which also deletes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JBPF_LEAF_RULES_MAX);
	__type(key, struct jbpf_leaf_key);
	__type(value, struct jbpf_leaf_proof);
} leaf_rules SEC(".maps");

/* Account of a cgroup, by its id; written by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JBPF_ACCOUNTS_OF_MAX);
	__type(key, __u64);
	__type(value, __u64);
} accounts_of SEC(".maps");

/* Targets; written by user space before sampling begins. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} filter_pids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, JBPF_CGROUP_FILTER_MAX);
	__type(key, __u32);
	__type(value, __u32);
} filter_cgroups SEC(".maps");

static __always_inline struct scratch *scratch_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&scratch, &zero);
}

#endif
