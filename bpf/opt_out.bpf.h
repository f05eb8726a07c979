/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does the running process opt out of profiling? Its environment is searched once for each run of a
 * program, in its own memory at its first sample: later it may have ended, and a process that could
 * not be asked must not be in a profile. Takes some 3 us for each KiB of environment.
 */
#ifndef JBPF_OPT_OUT_BPF_H
#define JBPF_OPT_OUT_BPF_H

#include "bpf/core_compat.bpf.h"
#include "bpf/maps.bpf.h"

#define ENVIRONMENT_STEP     960 /* begins of variables looked at in one part */
#define ENVIRONMENT_TAIL     32	 /* name and value of one that begins last are in the part, too */
#define ENVIRONMENT_PIECE    60	 /* of a part, looked at by one call */
#define ENVIRONMENT_PARTS    34	 /* 32 KiB; what is longer, user space reads */
#define ENVIRONMENT_NAME_LEN 13	 /* "JBPF_PROFILE=" */

_Static_assert(ENVIRONMENT_STEP + ENVIRONMENT_TAIL < WINDOW_BYTES, "a part fits into the window");
_Static_assert(ENVIRONMENT_STEP % ENVIRONMENT_PIECE == 0, "a part is whole pieces");

/* ASCII, as it lies in memory: both architectures are little-endian. */
#define NAME_FIRST_8 0x4f52505f4650424aull /* JBPF_PRO */
#define NAME_LAST_5  0x3d454c4946ull	   /* FILE= */
#define VALUE_OFF    0x66666full
#define VALUE_NO     0x6f6eull
#define VALUE_0	     0x30ull
#define VALUE_FALSE  0x65736c6166ull

/* off, no, 0 or false, whatever the case of letters, and the NUL behind it. */
static __always_inline bool value_is_off(__u64 word)
{
	return ((word & 0xffffffff) | 0x202020) == VALUE_OFF ||
	       ((word & 0xffffff) | 0x2020) == VALUE_NO || (word & 0xffff) == VALUE_0 ||
	       ((word & 0xffffffffffff) | 0x2020202020) == VALUE_FALSE;
}

static __always_inline __u64 word_at(const __u8 *at)
{
	return *(const __u64 *)at;
}

/*
 * Scans what begins in the next ENVIRONMENT_PIECE bytes of the part. Returns JBPF_KNOWN_*, 0 = the
 * variable does not. The verifier walks through each turn of a loop, of a global function once.
 */
__noinline int environment_scan_piece(struct bpf_perf_event_data *ctx)
{
	struct scratch *state;
	__u64 from, len;

	/* The compiler drops an unused argument, but the verifier wants ctx to be passed. */
	asm volatile("" ::"r"(ctx));
	state = scratch_get();
	if (!state)
		return 0;
	len = state->environment_len;
	from = state->environment_from;
	if (from > ENVIRONMENT_STEP - ENVIRONMENT_PIECE)
		return 0;
	state->environment_from = from + ENVIRONMENT_PIECE;
	for (int i = 0; i < ENVIRONMENT_PIECE; i++) {
		const __u8 *at = state->window + from + i;

		if (from + i >= len)
			break;
		if (word_at(at + 1) != NAME_FIRST_8)
			continue;
		if ((word_at(at + 9) & 0xffffffffff) != NAME_LAST_5 || *at)
			continue;
		return value_is_off(word_at(at + 1 + ENVIRONMENT_NAME_LEN)) ?
			       JBPF_KNOWN_OPTED_OUT :
			       JBPF_KNOWN_OPT_OUT_NONE;
	}
	return 0;
}

/*
 * Reads the next part behind window[0], which is the byte before it, and scans it. Returns
 * JBPF_KNOWN_*, 0 = the variable does not begin there, -1 = it could not be read.
 */
__noinline int environment_scan(struct bpf_perf_event_data *ctx)
{
	struct scratch *state;
	__u64 len;

	asm volatile("" ::"r"(ctx));
	state = scratch_get();
	if (!state)
		return -1;
	len = state->environment_end - state->environment_at;
	if (len > ENVIRONMENT_STEP + ENVIRONMENT_TAIL)
		len = ENVIRONMENT_STEP + ENVIRONMENT_TAIL;
	if (bpf_probe_read_user(state->window + 1, len, (void *)state->environment_at))
		return -1;
	state->environment_len = len;
	state->environment_from = 0;
	for (int i = 0; i < ENVIRONMENT_STEP / ENVIRONMENT_PIECE; i++) {
		int found = environment_scan_piece(ctx);

		if (found)
			return found;
	}
	state->window[0] = state->window[ENVIRONMENT_STEP];
	state->environment_at += ENVIRONMENT_STEP;
	return 0;
}

/*
 * Searches the environment from state->environment_at on, part by part. JBPF_KNOWN_*; 0 = it could
 * not be read, or not all of it.
 */
__noinline int environment_search(struct bpf_perf_event_data *ctx)
{
	struct scratch *state;

	asm volatile("" ::"r"(ctx));
	state = scratch_get();
	if (!state)
		return 0;
	state->window[0] = 0;
	for (int i = 0; i < ENVIRONMENT_PARTS; i++) {
		int found;

		if (state->environment_at >= state->environment_end)
			return JBPF_KNOWN_OPT_OUT_NONE;
		found = environment_scan(ctx);
		if (found)
			return found > 0 ? found : 0;
	}
	return 0;
}

/*
 * Is the old program's memory gone, and the new one's environment not yet there? For a moment of
 * that time the task has its new name, but still the execution id of the old program
 * (begin_new_exec() in fs/exec.c).
 */
static __always_inline bool is_between_programs(struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	return task_in_execve(task) && (!mm || !BPF_CORE_READ(mm, env_start));
}

/* JBPF_KNOWN_*, 0 = could not be read, or not all of it. */
static __always_inline __u32 opt_out_read(struct bpf_perf_event_data *ctx, struct scratch *state,
					  struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	__u64 at, end;

	if (!mm)
		return 0;
	at = BPF_CORE_READ(mm, env_start);
	end = BPF_CORE_READ(mm, env_end);
	/*
	 * In the middle of execve() there is none yet; while its variables are counted it seems empty
	 * (create_elf_tables() in fs/binfmt_elf.c), and the task has its new name already.
	 */
	if (!at || (at >= end && task_in_execve(task)))
		return 0;
	state->environment_at = at;
	state->environment_end = end;
	return environment_search(ctx);
}

/* Was this run of the program found to have opted out? */
static __always_inline bool opt_out_is_known(const struct jbpf_key *key)
{
	const struct jbpf_known *process = bpf_map_lookup_elem(&known, &key->pid);

	return process && process->flags & JBPF_KNOWN_OPTED_OUT &&
	       process->start_ns == key->start_ns && process->exec_id == key->exec_id;
}

#endif
