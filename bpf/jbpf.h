/*
 * SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
 *
 * In: rodata and maps that user/collect/probe sets. Out: counts, stacks and notices in maps and rings.
 * The maps are the kernel's; user space empties the idle ones.
 */
/*
 * The contract between the BPF programs and user space. Fixed-width types, no holes: every pad is
 * named and zeroed, because keys are compared as bytes. Includes nothing; the includer supplies
 * __u32 and __u64 (vmlinux.h in BPF, linux/types.h in user space).
 *
 * How a sample travels:
 *   oncpu program -> walks the user stack, takes the kernel stack
 *                 -> a stack whose content hash is not in `seen` goes out once over `stacks`
 *                 -> counts[key]++ in the active one of two hash maps (`counts` is an outer map)
 *                 -> notes the moment in the active one of two logs of this CPU (`ticks`)
 *   user space    -> swaps both, drains the idle map by batch, joins it with the stacks it has.
 */
#ifndef JBPF_H
#define JBPF_H

#define JBPF_MAX_DEPTH	       1024 /* words of a user stack; power of two */
#define JBPF_MAX_KERNEL_DEPTH  127  /* kernel.perf_event_max_stack default */
#define JBPF_COMM_LEN	       16
#define JBPF_CGROUP_FILTER_MAX 16

/* What one count belongs to. 48 bytes, no padding. */
struct jbpf_key {
	__u64 start_ns; /* group leader's start_boottime, CLOCK_BOOTTIME ns; with pid the process's life */
	__u64 cgroup_id; /* cgroup v2 id; 1 (the root) where only v1 is used */
	__u64 user_hash; /* hash of life and user stack; 0 = none (kernel thread) */
	/* Content hash of the kernel stack; 0 = interrupted in user mode. Of JBPF_KEY_ALLOC the object's Klass*. */
	__u64 kernel_hash;
	__u32 pid;     /* host tgid */
	__u32 exec_id; /* low half of task->self_exec_id: an exec makes another program of it */
	__u32 kind;    /* JBPF_KEY_* */
	__u32 thread; /* tag of the name in jbpf_value; 0 = not known, as where only the process is */
};

#define JBPF_KEY_SAMPLE	 0
#define JBPF_KEY_OFF_CPU 2 /* a thread that waits; see jbpf_offcpu.h */
#define JBPF_KEY_SCHED	 3 /* a wait that has ended, counted by its length; see jbpf_sched.h */
#define JBPF_KEY_ALLOC	 4 /* memory that a JVM took from its heap, in KiB; see alloc.bpf.c */
#define JBPF_KEY_ACCOUNT 1 /* start_ns holds an account, all else is 0; see struct jbpf_account */
/* Larger values: a sample of an event other than the CPU clock, this plus its PERF_COUNT_SW_*. */
#define JBPF_KEY_SOFTWARE 16

/*
 * Of JBPF_KEY_OFF_CPU and JBPF_KEY_SCHED, a kernel_hash below this is the number of the system call that the thread is
 * in, plus 1. All others are of threads in uninterruptible sleep, of JBPF_KEY_OFF_CPU only: the last number where there
 * is no stack to be had.
 */
#define JBPF_SYSCALLS_END 4096
#define JBPF_DISK_SLEEP	  (JBPF_SYSCALLS_END - 1)

/* In place of user_hash: only the process of this sample is recorded. No stack has this hash. */
#define JBPF_HASH_CUT_ALL (~0ull)
/* The same, of JBPF_KEY_OFF_CPU: no samples, but run_delay_ns of the process. */
#define JBPF_HASH_RUN_DELAY (~1ull)

/*
 * The array `ticks` of 64-bit words: for each set, for each CPU, `ticks_stride` words, of which the
 * first says how many of the others are filled. Such a word is a tick: what was counted, and when.
 * The time is CLOCK_BOOTTIME >> JBPF_TICK_SHIFT, modulo 2^32: some 65 us in three days.
 */
#define JBPF_TICK_SHIFT 16

static inline __attribute__((always_inline)) __u64 jbpf_tick(__u32 tag, __u64 boot_ns)
{
	return (__u64)tag << 32 | (__u32)(boot_ns >> JBPF_TICK_SHIFT);
}

#define JBPF_FNV_PRIME 0x100000001b3ull
#define JBPF_MIX_1     0xff51afd7ed558ccdull /* murmur3's finalizer */
#define JBPF_MIX_2     0xc4ceb9fe1a85ec53ull

/*
 * A key in 32 bits: whose sample it was, and with which stacks. Two keys may have one tag; a reader of
 * the log sees it, because it has the keys. `seed` keeps programs from choosing that.
 */
static inline __attribute__((always_inline)) __u32 jbpf_key_tag(const struct jbpf_key *key,
								__u64 seed)
{
	__u64 hash = (seed ^ key->start_ns) * JBPF_FNV_PRIME;

	hash = (hash ^ key->cgroup_id) * JBPF_FNV_PRIME;
	hash = (hash ^ ((__u64)key->exec_id << 32 | key->pid)) * JBPF_FNV_PRIME;
	hash = (hash ^ key->user_hash) * JBPF_FNV_PRIME;
	hash = (hash ^ key->kernel_hash) * JBPF_FNV_PRIME;
	hash = (hash ^ ((__u64)key->kind << 32 | key->thread)) * JBPF_FNV_PRIME;
	hash ^= hash >> 33;
	hash *= JBPF_MIX_1;
	return (__u32)(hash >> 32);
}

#define JBPF_VALUE_KERNEL_THREAD (1u << 0)
#define JBPF_VALUE_COMPAT	 (1u << 1) /* 32-bit program: only the leaf was taken */
#define JBPF_VALUE_STACK_UNSENT	 (1u << 2) /* `stacks` was full: the next sample sends it again */
#define JBPF_VALUE_OPT_OUT_NONE	 (1u << 3) /* as JBPF_KNOWN_OPT_OUT_NONE, when the key was made */
#define JBPF_VALUE_IDLE		 (1u << 4) /* set by user space: of a thread that never ran in the window */

struct jbpf_value {
	__u64 count;		  /* samples */
	char comm[JBPF_COMM_LEN]; /* of the group leader when the key was made; NUL-terminated */
	__u32 ns_pid;		  /* tgid in the innermost pid namespace */
	__u32 flags;		  /* JBPF_VALUE_* */
	union {
		__u64 first_ns;	    /* first and last of these samples, CLOCK_BOOTTIME */
		__u64 run_delay_ns; /* of JBPF_HASH_RUN_DELAY: its threads were ready and had no CPU */
	};
	__u64 last_ns;
	/*
	 * Name of the thread, of which the tag in the key is made; NUL-terminated. Runs of digits
	 * are '#', unless `keeps_digits`.
	 */
	char thread[JBPF_COMM_LEN];
};

/*
 * What one account (a container, or whatever else user space gives one) used in a window, and what
 * was cut because of that. It lies in the count map among the samples, so that it starts with a
 * window and is drained with the very samples it is about. Account 0 is for all cgroups that have
 * no account of their own. Several CPUs write it at once; sums may be a few too low.
 */
struct jbpf_account {
	__u64 stack_bytes;  /* of its new stacks, as they went over `stacks` */
	__u32 entries;	    /* of the count map, this one not among them */
	__u32 processes;    /* new ones in `known` */
	__u32 cut_samples;  /* JBPF_END_CUT_DEPTH */
	__u32 leaf_samples; /* JBPF_END_CUT_LEAF */
	__u32 bare_samples; /* JBPF_END_CUT_ALL */
	__u32 lost_samples; /* not even that had room */
	__u64 pad0[4];	    /* 0 */
};

/* Cgroups that have an account of their own; those below them share it. */
#define JBPF_ACCOUNTS_OF_MAX 2048

/* Why the walk of a stack ended. Part of the stack's content, hence of its hash. */
enum jbpf_stack_end {
	JBPF_END_ROOT = 0,	/* frame pointer or return address 0: the thread's first frame */
	JBPF_END_MAX_DEPTH = 1, /* more frames than max_depth: the root is missing */
	JBPF_END_FAULT = 2,	/* memory at the frame pointer not readable */
	JBPF_END_BAD_FP = 3,	/* frame pointer does not rise */
	JBPF_END_LEAF_ONLY = 4, /* no walk was possible (32-bit program, no registers) */
	/* The account is over its budget: there are more words, but they were not taken. */
	JBPF_END_CUT_DEPTH = 5, /* JBPF_CUT_DEPTH words, and the Method* of the last, are left */
	JBPF_END_CUT_LEAF = 6,	/* 1 word, and its Method* */
	JBPF_END_CUT_ALL = 7,	/* none: of JBPF_HASH_CUT_ALL */
	/*
	 * Only of processes whose mappings are known (struct jbpf_space); the last word is the
	 * address.
	 */
	JBPF_END_NO_RULE = 8,	   /* its file has no table, or the table no rule for it */
	JBPF_END_NO_MAPPING = 9,   /* it lies in no executable mapping that is known */
	JBPF_END_UNSUPPORTED = 10, /* there is a rule, which no row can hold */
	JBPF_END_JIT = 11,	   /* in JIT code, where no frame was found */
	JBPF_END_BAD_CFA = 12,	   /* the rule leads to no frame: below sp, or not aligned */
	JBPF_END_FROZEN = 13,	   /* a virtual thread's frames below are on the heap */
	JBPF_END_LEAF = 14,	   /* the leaf's frame is not proved: it alone is left */
	JBPF_END_MAX_RULES = 15,   /* JBPF_UNWIND_SEARCHES_MAX: the root is missing */
};

#define JBPF_CUT_DEPTH 64

#define JBPF_STACK_USER	  1
#define JBPF_STACK_KERNEL 2

/*
 * Where one HotSpot JVM keeps its JIT code: value of the map `code_ranges`, key is the host tgid.
 * User space writes it, programs use it only for the very run of the program it was written for.
 * All ranges are [low, high); both 0: not known.
 */
struct jbpf_code_range {
	__u64 start_ns;
	__u64 code_low; /* leaf words and leaf code are taken when ip lies here */
	__u64 code_high;
	__u64 interpreter_low; /* within the code; of frames in here the Method* is taken, too */
	__u64 interpreter_high;
	__u32 exec_id;
	__u32 pad0; /* 0 */
};

#define JBPF_CODE_RANGES_MAX 4096

/* Above every user address: 57-bit addresses on x86_64 end at 2^56, arm64's at 2^52. */
#define JBPF_USER_ADDRESS_END (1ull << 56)

/*
 * This bit marks a word of a stack that is no address but the Method* of the frame before it,
 * whose address lies in the interpreter: the word at [fp - 24] of that frame (x86_64 and aarch64,
 * JDK 8 to 25; frame_x86.hpp, frame_aarch64.hpp). A word that is no user address is not taken.
 */
#define JBPF_WORD_METHOD (1ull << 63)

#define JBPF_LEAF_CODE_BYTES 16

#define JBPF_STACK_LEAF_WORDS (1u << 0) /* leaf_words were taken */
#define JBPF_STACK_LEAF_CODE  (1u << 1) /* leaf_code was taken */

/* How the leaf's caller was found where the leaf lies in JIT code without frame pointers. */
#define JBPF_STACK_LEAF_RULE_SHIFT 2
#define JBPF_STACK_LEAF_RULE_MASK  (7u << JBPF_STACK_LEAF_RULE_SHIFT)

enum jbpf_leaf_rule {
	JBPF_LEAF_RULE_NONE = 0,  /* not by one of these; or JBPF_END_LEAF */
	JBPF_LEAF_RULE_SP = 1,	  /* return address at [sp] */
	JBPF_LEAF_RULE_SP_8 = 2,  /* at [sp + 8], the caller's frame pointer at [sp] */
	JBPF_LEAF_RULE_FRAME = 3, /* by the blob's frame size */
	JBPF_LEAF_RULE_FRAME_FP =
		4,		   /* the same, but the caller's frame pointer is in its register */
	JBPF_LEAF_RULE_PROVED = 5, /* as user space has proved it: bpf/jbpf_leaf.h */
	/* A guess, see below: all callers are void unless the code proves it. */
	JBPF_LEAF_RULE_GUESSED = 6,
};

/* Of JBPF_LEAF_RULE_GUESSED, else 0. */
#define JBPF_STACK_LEAF_GUESS_SHIFT 5
#define JBPF_STACK_LEAF_GUESS_MASK  (0x7ffu << JBPF_STACK_LEAF_GUESS_SHIFT)
/* Which word from sp on was taken for the return address; the first is 1. */
#define JBPF_LEAF_GUESS_WORD_MASK 0x1ffu
/* The caller's frame pointer was taken from right below it; else it is in its register. */
#define JBPF_LEAF_GUESS_FP_SAVED 0x200u
/* The frame pointer led there. */
#define JBPF_LEAF_GUESS_BY_FP 0x400u

static inline __attribute__((always_inline)) enum jbpf_leaf_rule jbpf_leaf_rule_of(__u16 flags)
{
	return (enum jbpf_leaf_rule)((flags & JBPF_STACK_LEAF_RULE_MASK) >>
				     JBPF_STACK_LEAF_RULE_SHIFT);
}

static inline __attribute__((always_inline)) __u16 jbpf_leaf_guess_of(__u16 flags)
{
	return (flags & JBPF_STACK_LEAF_GUESS_MASK) >> JBPF_STACK_LEAF_GUESS_SHIFT;
}

/*
 * One distinct stack, on the `stacks` ring buffer: this head and `frame_cnt` words, __u64 each.
 * Leaf first. The first word is the interrupted instruction, never a Method*; the others are return
 * addresses, and Method* words. For a signal's frame, and for the frame that the signal
 * interrupted, the word is the instruction's address plus one, so that subtracting one
 * always gives an address inside the right instruction. The hash covers everything but cgroup and
 * time: a user stack belongs to one process, kernel stacks are shared.
 */
struct jbpf_stack {
	__u64 hash;
	__u32 frame_cnt; /* words */
	__u8 kind;	 /* JBPF_STACK_USER or _KERNEL */
	__u8 end;	 /* enum jbpf_stack_end */
	__u16 flags;	 /* JBPF_STACK_LEAF_*, enum jbpf_leaf_rule among them */
	/* The process that had it; all 0 in kernel stacks. */
	__u64 start_ns;
	__u32 pid;
	__u32 exec_id;
	/* Taken when the first address lies in JIT code (struct jbpf_code_range); else 0. */
	/*
	 * [sp], [sp + 8]; where the code stores the frame pointer at [sp + d] the second is
	 * [sp + d + 8]. 0 where that is no address in JIT code. Where one is of the interpreter, the
	 * other may be the Method* of that frame, marked by JBPF_WORD_METHOD.
	 */
	__u64 leaf_words[2];
	__u8 leaf_code[JBPF_LEAF_CODE_BYTES]; /* at the first address */
};

/*
 * A process opts out of profiling by JBPF_PROFILE=off in its environment. The first sample of each
 * run of a program searches the process's memory for it; a process that opted out is not even
 * counted under its name. Where that memory cannot be read, and for a container's label, user space
 * decides and sets the flag.
 */
#define JBPF_KNOWN_OPT_OUT_NONE (1u << 0) /* the environment was read, and says nothing of it */
#define JBPF_KNOWN_OPTED_OUT	(1u << 1)

/* Value of the map `known`, of the sampled processes that have not ended; key is the host tgid. */
struct jbpf_known {
	__u64 start_ns;
	__u64 cgroup_id;
	__u32 exec_id;
	__u32 ns_pid;
	__u32 flags; /* JBPF_KNOWN_* */
	__u32 told;  /* recent notices: the time above, how many below; begins with 0 */
};

/*
 * What happened to a process, on the `notices` ring buffer. Only sampled processes; no kernel
 * threads, and none that opted out. A process that renames itself, or executes, again and again is
 * reported a few times and then not for some seconds; the same holds for all processes of an
 * account together. SEEN may come twice where thousands of processes are sampled; a process that is
 * first sampled while it exits gives none.
 */
enum jbpf_notice_kind {
	JBPF_NOTICE_NONE = 0,
	JBPF_NOTICE_SEEN = 1,	/* first sample of this (pid, start_ns, exec_id): look at it now */
	JBPF_NOTICE_EXEC = 2,	/* runs another program from here on: exec_id, comm are its */
	JBPF_NOTICE_EXIT = 3,	/* its last thread ended */
	JBPF_NOTICE_RENAME = 4, /* the group leader has a new comm (execve gives EXEC only) */
};

struct jbpf_notice {
	__u32 kind; /* enum jbpf_notice_kind */
	__u32 pid;
	__u32 exec_id;
	__u32 ns_pid;
	__u64 start_ns;
	__u64 cgroup_id;
	char comm[JBPF_COMM_LEN];
	__u32 flags; /* JBPF_KNOWN_* */
	__u32 pad0;  /* 0 */
};

/*
 * Index into the per-CPU array `cnt` of `counters`, never cleared: user space takes differences.
 * Samples and each reason why one, or a part of one, was lost. Append only.
 */
enum jbpf_counter {
	JBPF_CNT_SAMPLES = 0,		/* counted */
	JBPF_CNT_SAMPLES_KERNEL = 1,	/* of these, interrupted in kernel mode */
	JBPF_CNT_FILTERED = 2,		/* not a target; not lost */
	JBPF_CNT_LOST_COUNTS_FULL = 3,	/* count map full: sample lost */
	JBPF_CNT_LOST_NO_MAP = 4,	/* scratch or inner map missing: sample lost */
	JBPF_CNT_STACK_BUFFER_FULL = 5, /* counted, but its new stack did not fit into `stacks` */
	JBPF_CNT_SEEN_FULL = 6,		/* `seen` full: the stack crossed once more than needed */
	JBPF_CNT_NOTICE_LOST = 7,	/* `notices` full */
	JBPF_CNT_END_MAX_DEPTH = 8,	/* samples by how their user walk ended */
	JBPF_CNT_END_FAULT = 9,
	JBPF_CNT_END_BAD_FP = 10,
	JBPF_CNT_END_LEAF_ONLY = 11,
	JBPF_CNT_KERNEL_STACK_ERROR = 12, /* bpf_get_stack failed: counted without kernel frames */
	JBPF_CNT_LOST_UPDATE = 13,	  /* count map refused the key (busy lock): sample lost */
	JBPF_CNT_LEAF_UNREAD = 14,	  /* leaf words or leaf code were wanted and not readable */
	JBPF_CNT_TICKS_FULL = 15, /* counted, but its moment was not noted: log full, new CPU */
	JBPF_CNT_OPTED_OUT = 16,  /* left out, as the process wants; not lost */
	JBPF_CNT_CUT_DEPTH = 17,  /* samples by JBPF_END_CUT_*, counted by their walk's end, too */
	JBPF_CNT_CUT_LEAF = 18,
	JBPF_CNT_CUT_ALL = 19,
	JBPF_CNT_NOTICE_HELD =
		20, /* RENAME or EXEC that was held back: a process or account had too many */
	JBPF_CNT_FRAMES_TABLE = 21, /* frames taken by rows of unwind tables */
	JBPF_CNT_FRAMES_JIT = 22,   /* frames taken by the sizes of HotSpot's CodeBlobs */
	JBPF_CNT_RULE_MISS = 23, /* rows that were searched, as the CPU's memo did not have them */
	JBPF_CNT_END_NO_RULE = 24, /* samples by how their user walk ended, goes on */
	JBPF_CNT_END_NO_MAPPING = 25,
	JBPF_CNT_END_UNSUPPORTED = 26,
	JBPF_CNT_END_JIT = 27,
	JBPF_CNT_END_BAD_CFA = 28,
	JBPF_CNT_END_FROZEN = 29,
	JBPF_CNT_END_LEAF = 30,
	JBPF_CNT_END_MAX_RULES = 31,
	JBPF_CNT_EVENT_SAMPLES =
		32,		  /* of the samples, those of other events than the CPU's clock */
	JBPF_CNT_EVENT_LOST = 33, /* of those that were lost, these */
	JBPF_CNT_MAX = 34,
};

#define JBPF_COUNTER_SLOTS 64 /* size of the array: JBPF_CNT_MAX and room; power of two */

_Static_assert(sizeof(struct jbpf_key) == 48, "jbpf_key has no padding");
_Static_assert(sizeof(struct jbpf_value) == 64, "jbpf_value has no padding");
_Static_assert(sizeof(struct jbpf_account) == sizeof(struct jbpf_value), "they share a map");
_Static_assert(sizeof(struct jbpf_stack) == 64, "jbpf_stack header has no padding");
_Static_assert(sizeof(struct jbpf_code_range) == 48, "jbpf_code_range has no padding");
_Static_assert(sizeof(struct jbpf_known) == 32, "jbpf_known has no padding");
_Static_assert(sizeof(struct jbpf_notice) == 56, "jbpf_notice has no padding");

#endif
