/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF side of jbpf as an object: load, sample, drain. The only module that knows the skeleton.
 *
 *     probe__open -> probe__start -> { poll probe__fd, probe__consume; every window probe__drain }
 *     -> probe__free
 *
 * One thread drives it. Nothing is printed except pr_debug and warnings that are survived.
 *
 * In: options, and maps' contents from the namer (code ranges, unwind tables, leaf rules). Out: batches of
 * counts and stacks, borrowed until the next drain. The recorder owns the probe.
 */
#ifndef JBPF_PROBE_PROBE_H
#define JBPF_PROBE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "bpf/jbpf_user.h"
#include "bpf/jbpf_hotspot.h"
#include "bpf/jbpf_leaf.h"
#include "bpf/jbpf_unwind.h"
#include "user/collect/offcpu/alloc.h"
#include "user/model/event.h"
#include "user/model/pass_facts.h"
#include "user/model/process_life.h"

#include "user/collect/probe/tick_log.h"

struct probe;

struct probe_options {
	uint32_t frequency_hz; /* samples of CPU time per second and CPU; map sizes follow it */
	uint32_t events;       /* EVENT_BIT() of what is sampled; 0 = CPU time alone */
	/* Of each event that is sampled by a counter of the CPUs; 0 = event_default_period(). */
	uint64_t periods[EVENT_CNT];
	uint32_t
		off_cpu_rate; /* visits of a waiting thread per second, at most; 0 = OFFCPU_RATE_MAX */
	/* Of EVENT_SCHED, see user/collect/offcpu/sched.h. */
	uint64_t sched_threshold_ns;
	bool sched_of_wakers;
	struct alloc_target alloc; /* of EVENT_ALLOC */
	uint32_t max_depth;	   /* user frames, 1..JBPF_MAX_DEPTH */
	uint64_t window_ns;	   /* expected time between drains: sizes count maps and tick log */
	bool wants_ticks;	   /* batches say when each sample was taken */
	const uint32_t *pids;	   /* only these host pids; NULL = all. Borrowed during open.
				* With cgroup_paths, too: a process must pass both. */
	size_t pid_cnt;
	const char *const *cgroup_paths; /* only below these cgroup v2 directories; NULL = all */
	size_t cgroup_cnt;		 /* <= JBPF_CGROUP_FILTER_MAX */
	bool ignores_opt_out;		 /* of environments; see probe__opt_out() */
	bool keeps_digits;		 /* names of threads as they are: no pools */
	bool force_compat;  /* the program for kernels below 5.15 even here: for tests */
	uint64_t hash_seed; /* of the stacks' hashes: for tests; 0: random, as it must be in life */
};

/* What is sampled: the options' events, CPU time if they name none. */
uint32_t probe_events(const struct probe_options *options);
/* What one sample of an event stands for, as struct window has it: ns of CPU time, or events. */
uint64_t probe_period(const struct probe_options *options, enum event event);

/* Called from probe__consume() and probe__drain(). The notice is borrowed for the call. */
typedef void (*probe_notice_fn)(void *ctx, const struct jbpf_notice *notice);

/*
 * Loads programs and maps and opens one event per CPU, disabled. On failure returns -errno and
 * fills `why` (one line for the user: what failed, why, what to do; no newline).
 */
__must_check int probe__open(const struct probe_options *options, struct probe **out, char *why,
			     size_t why_len);
void probe__free(struct probe *probe); /* NULL is fine */

/*
 * Other options for a probe that runs, privileges or not: frequency, window, pids and cgroups, as
 * far as they fit into what was loaded. probe__may_change() looks at all of them and changes
 * nothing; call it, drain, then probe__change(). 0; -EOPNOTSUPP: only a new probe can; else -errno.
 * On error `why` holds a line for the user, and everything is as before.
 */
__must_check int probe__may_change(const struct probe *probe, const struct probe_options *options,
				   char *why, size_t why_len);
__must_check int probe__change(struct probe *probe, const struct probe_options *options, char *why,
			       size_t why_len);

/* Sampling begins. 0 or -errno. */
__must_check int probe__start(struct probe *probe);
/* Sampling ends; what was counted can still be drained. */
void probe__stop(struct probe *probe);

/* Readable when probe__consume() has something to do. */
int probe__fd(const struct probe *probe);
/*
 * Takes stacks and notices out of the ring buffers. A stack for which there is no memory is sent
 * again later, counted in JBPF_CNT_STACK_BUFFER_FULL. 0 or -errno: what is left is taken next time.
 */
__must_check int probe__consume(struct probe *probe, probe_notice_fn notice, void *ctx);

struct probe_count {
	struct jbpf_key key;
	struct jbpf_value value;
};

/*
 * What one account used of what all share in a window, and what was cut for that (bpf/jbpf.h,
 * JBPF_END_CUT_*). Figures may lack a few where several CPUs wrote at once. Only accounts that had a
 * stack or a key of which there was none before are there.
 */
struct probe_account {
	uint64_t account_id;   /* 0: of all cgroups for which none was set */
	uint64_t stack_bytes;  /* new stacks */
	uint32_t entries;      /* distinct keys */
	uint32_t processes;    /* first sampled in this window */
	uint32_t cut_samples;  /* of these the stack's root is missing, */
	uint32_t leaf_samples; /* all but the leaf, */
	uint32_t bare_samples; /* all but the process */
	uint32_t lost_samples; /* not counted; in JBPF_CNT_LOST_*, too */
};

struct probe_batch {
	const struct probe_count *counts; /* sorted by start_ns, pid, exec_id, cgroup_id, kind */
	size_t count_cnt;
	/*
	 * The moments of those samples that are CPU time, sorted by tag, then time. Fewer when
	 * the log was full (JBPF_CNT_TICKS_FULL) or a count could not be read and comes with a
	 * later batch.
	 */
	const struct probe_tick *ticks;
	size_t tick_cnt;
	const struct probe_account *accounts; /* sorted by account_id */
	size_t account_cnt;
	uint64_t start_boot_ns;		 /* from when ... */
	uint64_t end_boot_ns;		 /* ... to when these were counted, CLOCK_BOOTTIME */
	uint64_t counters[JBPF_CNT_MAX]; /* what was added since the last drain */
	uint64_t stack_records; /* stacks that crossed from the kernel since the last drain */
	uint64_t stack_bytes;	/* memory of the stacks kept in user space */
	uint64_t
		wait_period_ns; /* of probe__end_window(): what a sample of EVENT_OFF_CPU stands for; else 0 */
	struct pass_facts passes; /* the same */
	uint64_t missed_samples;  /* the same: of it, for want of passes */
};

/*
 * Swaps the count maps, empties the idle one and consumes the ring buffers. The batch is borrowed
 * until the next drain or free. Also picks up CPUs that came online.
 *
 * 0: `out` is filled. Whatever could not be read of it is missing there, with a warning, and
 * comes with a later batch: counts that the kernel did not hand out, counters of losses.
 * -errno (-ENOMEM, -EINTR): the maps could not be swapped. Nothing is lost and `out` is not touched:
 * this window goes on, the next drain brings it, longer. Ring buffers were emptied. No error is a
 * reason to end.
 *
 * A window may be of any length. One that is much longer than planned (the process was stopped) has
 * no moments of its later samples, and accounts over their share have these cut or lost, counted.
 */
__must_check int probe__drain(struct probe *probe, probe_notice_fn notice, void *ctx,
			      struct probe_batch *out);

/* What was counted since the last drain, so far. Borrowed until the next call into the probe. */
struct probe_peek {
	const struct jbpf_key *keys; /* in no order; of JBPF_KEY_ACCOUNT, too */
	const struct jbpf_value *values;
	uint32_t cnt;
	uint64_t start_boot_ns; /* of that drain; another one: counting began again */
};

/*
 * Looks at the counts of the present window while programs write to them, and changes nothing: each is
 * of some moment of this call. A new key that a program makes meanwhile waits for one bucket's copy at
 * most; only an event that comes as an NMI could find its bucket taken, on this very CPU
 * (htab_lock_bucket() in kernel/bpf/hashtab.c), and is counted in JBPF_CNT_LOST_UPDATE: none of ours does.
 * Some 0.1 us for each place in the map, taken or not. 0 or -errno: this kernel has no batches.
 */
__must_check int probe__peek(struct probe *probe, struct probe_peek *out);

/*
 * After the last drain of a window: what of EVENT_OFF_CPU is known at its end only. `out` has
 * counts, most of threads that never ran in the window (JBPF_VALUE_IDLE), and their period, which
 * is of all counts of that event in the window. Borrowed until the next call. Stacks that were used
 * neither in these nor in the drains of some windows are forgotten.
 */
void probe__end_window(struct probe *probe, struct probe_batch *out);
struct ksymbol_changes;

/* As ksymbol_watch__take(). Of the CPUs that the last drain saw. */
void probe__take_ksymbols(struct probe *probe, struct ksymbol_changes *out);
/* When to consume at the latest, CLOCK_BOOTTIME; UINT64_MAX: when there is something. */
uint64_t probe__due_boot_ns(const struct probe *probe);

/* What jbpf_key_tag() begins with here: by its result the ticks of a key are found. */
uint64_t probe__tick_seed(const struct probe *probe);

/*
 * The account of a cgroup and, unless they have one of their own, of all below it, down to the
 * twelfth level. Set it for the cgroup that stands for the account (a container's own, 1 for the
 * root), as soon as one of its processes was reported: until then it shares the budget of account
 * 0. Set it again with each window that has samples of it, which costs nothing where it is set.
 * account_id 0 takes it back. Where there are JBPF_ACCOUNTS_OF_MAX, one without samples of late is
 * taken back for it; one that has them stays. 0, -ENOSPC: all have samples; -errno: it stays with
 * the account it had.
 */
__must_check int probe__set_account(struct probe *probe, uint64_t cgroup_id, uint64_t account_id);

struct probe_stack {
	const uint64_t *ips; /* leaf first; words marked by JBPF_WORD_METHOD among them */
	uint32_t frame_cnt;  /* words */
	enum jbpf_stack_end end;
	const uint64_t *leaf_words; /* 2 words as struct jbpf_stack has them; NULL = not taken */
	const uint8_t *leaf_code;   /* JBPF_LEAF_CODE_BYTES; NULL = not taken */
	enum jbpf_leaf_rule leaf_rule;
	uint16_t leaf_guess; /* JBPF_LEAF_GUESS_*, of JBPF_LEAF_RULE_GUESSED */
};

/*
 * The stack of a hash found in the present batch. -ENOENT when its record was lost (counted in
 * JBPF_CNT_STACK_BUFFER_FULL). Borrowed until the window ends. That of JBPF_HASH_CUT_ALL has no words
 * and ends with JBPF_END_CUT_ALL.
 */
__must_check int probe__stack(const struct probe *probe, uint64_t hash, struct probe_stack *out);

/* A user stack that user space did not have before, and its process. */
struct probe_new_stack {
	struct process_life life;
	uint64_t since_boot_ns; /* it was sampled after this (when the buffer was emptied before) */
	struct probe_stack stack;
};

/*
 * Takes the next user stack that arrived by probe__consume() or probe__drain(). False: no more.
 * Meant to be called until then after each of them; some thousands are kept, then the oldest are
 * left out. Borrowed until the next call into the probe.
 */
bool probe__next_new_stack(struct probe *probe, struct probe_new_stack *out);

/*
 * From now on samples of this run of a program carry what lies in these ranges (see struct
 * jbpf_code_range). Ends by itself when the process execs or exits. 0; -EDQUOT: the account of the
 * process (0: not known) has as many as are left for all others; -ENOSPC: too many; -errno.
 */
__must_check int probe__set_code_range(struct probe *probe, uint32_t pid, uint64_t account_id,
				       const struct jbpf_code_range *range);

/*
 * How frames of its JIT code are found in this run of a program (see struct jbpf_hotspot). As
 * probe__set_code_range(); -EINVAL: it says what no HotSpot does.
 */
__must_check int probe__set_hotspot(struct probe *probe, uint32_t pid, uint64_t account_id,
				    const struct jbpf_hotspot *hotspot);

/*
 * Where the caller of a leaf is found (bpf/jbpf_leaf.h). When an account has as many rules as are left
 * for all others, one of its own goes for it. 0; -EINVAL: it says what no code does; -EDQUOT; -errno.
 */
__must_check int probe__set_leaf_rule(struct probe *probe, uint64_t account_id,
				      const struct jbpf_leaf_key *key,
				      const struct jbpf_leaf_proof *proof);

/*
 * The rules of one file's code (bpf/jbpf_unwind.h), under an id the caller chose; the words were
 * checked. 0; -EINVAL; -ENOSPC: there is no room, as few tables or all that there is; -errno. On error
 * there is none of this id. Replacing one that a space names is no good: what was found in it stays.
 */
__must_check int probe__set_unwind_table(struct probe *probe, uint32_t table_id,
					 const uint32_t *words, uint32_t word_cnt);
/*
 * A walk may still be at it that began before the last space that names it was dropped or replaced:
 * drop tables after the drain that follows.
 */
void probe__drop_unwind_table(struct probe *probe, uint32_t table_id);

/*
 * From now on stacks of this run of a program are walked by its mappings (see struct jbpf_space; its
 * generation is filled in here), no longer by frame pointers alone. Its tables were set before. Ends
 * by itself when the process execs or exits. 0; -EINVAL; -EDQUOT: the account of the process (0: not
 * known) has as many as are left for all others; -ENOSPC: too many; -errno.
 */
__must_check int probe__set_space(struct probe *probe, uint32_t pid, uint64_t account_id,
				  const struct jbpf_space *space);
/* Those of all processes. */
void probe__drop_spaces(struct probe *probe);
/* So many chunks of JBPF_UNWIND_CHUNK_WORDS all tables together may have. */
uint32_t probe__unwind_chunks(const struct probe *probe);

/*
 * One bpf() call as every drain makes them: 0, or -EPERM when this process lacks what the kernel
 * asks for. Call it before privileges are dropped.
 */
__must_check int probe__try_maps(const struct probe *probe);

/* CPUs that were online when counts were last drained. */
uint32_t probe__cpus(const struct probe *probe);
/* CPUs that are online and not sampled: they came later, and perf_event_open() was refused. */
uint32_t probe__unsampled_cpus(const struct probe *probe);

/*
 * Stops the sampling of this run of a program; a few samples may still arrive. It serves where the
 * BPF programs cannot find out by themselves: see struct jbpf_known. 0 or -errno.
 */
__must_check int probe__opt_out(struct probe *probe, uint32_t pid,
				const struct jbpf_known *process);

/* Memory of all maps and ring buffers as the kernel charges it (fdinfo memlock), in bytes. */
uint64_t probe__map_bytes(const struct probe *probe);

/* As sched__kernel_ns(). */
uint64_t probe__kernel_wakes_ns(const struct probe *probe);

#endif
