/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins samples and names: drains the probe, has another process name what was counted (namer_link.h),
 * and hands out one named profile per process and window, when it is there. It never waits: neither for
 * names nor for who takes the profiles. What nobody could name in time is handed out as "[not named]".
 *
 *     recorder__open -> recorder__start -> { poll recorder__fd, recorder__consume;
 *     every window recorder__end_window } -> recorder__free
 *
 * In: a source of samples (sample_source.h) and the options of naming. Out: windows, through a sink that
 * borrows them (struct recorder_sink). The daemon or `jbpf record` owns the recorder, and the recorder probe, intake and namer.
 */
#ifndef JBPF_COLLECT_RECORDER_H
#define JBPF_COLLECT_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "symbols/symbols.h"
#include "user/collect/naming_beat.h"
#include "user/collect/probe/probe.h"
#include "user/model/unwind_facts.h"
#include "user/model/window.h"

struct recorder;

struct recorder_options {
	struct probe_options probe;
	enum jit_mode jit;
	bool keeps_parameters; /* names of methods in Java have theirs */
	enum unwind_mode unwind;
	const char *host;     /* its name, as the label has it; NULL = as host_name() says */
	bool ignores_opt_out; /* also processes that do not want to be profiled */
};

struct recorder_stats {
	size_t process_cnt;
	size_t symbol_bytes;
	uint64_t map_bytes;	  /* 0: the caller asks recorder__map_bytes() when it wants it */
	uint64_t parser_failures; /* files that could not be parsed: see symbols/parser/parser.h */
	uint64_t parser_restarts; /* of the process that parses */
	uint64_t namer_restarts;  /* of the process that names: it hung or died */
	uint64_t bans;		  /* containers and processes that made it so */
	uint64_t naming_cpu_ns;	  /* CPU time of the processes that name and parse, so far */
	uint64_t naming_resident_bytes;		/* of the one that names */
	uint64_t naming_silent_ns;		/* since it was last through with a window */
	char naming_problem[NAMING_BEAT_BYTES]; /* as naming_beat_text() */
	uint64_t stack_bytes;	    /* of stacks kept in user space, at the last window's end */
	uint32_t unsampled_cpu_cnt; /* online, but came after privileges were given up */
	struct unwind_host unwind;  /* its bytes are part of map_bytes */
	uint64_t unwind_built;	    /* tables so far, by this namer */
	uint64_t begin_boot_ns;	    /* when the window that is handed out was over */
	uint32_t events;	    /* EVENT_BIT() of what is sampled */
	struct pass_facts passes;   /* over waiting threads, in the last window */
};

/* Takes what is recorded, while recorder__consume() runs. Everything is borrowed for the call. */
struct recorder_sink {
	void *ctx;
	/* One stream's window. */
	void (*stream)(void *ctx, const struct window *window, const char *text, size_t len);
	/*
	 * No more of this window: its host records (pid 0, no text), one for each event, at least
	 * one. To the first, that of CPU time if that is sampled, the sink may add what it lost
	 * itself.
	 */
	void (*end)(void *ctx, struct window *hosts, size_t host_cnt,
		    const struct recorder_stats *stats);
};

/* -errno and a line for the user in `why` (see probe__open). The sink is copied. */
__must_check int recorder__open(const struct recorder_options *options,
				const struct recorder_sink *sink, struct recorder **out, char *why,
				size_t why_len);
void recorder__free(struct recorder *recorder); /* NULL is fine */

/*
 * Other options for a recorder that runs: see probe__change(). Sampling changes at once; the caller
 * ends the window right after it, which is still named by the old rules. So what is counted while
 * a window is being named is already counted as the next one says. Another `jit` makes it meet all
 * processes again. Arrays of `options` must live as long as they are in force.
 */
int recorder__may_change(const struct recorder *recorder, const struct recorder_options *options,
			 char *why, size_t why_len);
int recorder__change(struct recorder *recorder, const struct recorder_options *options, char *why,
		     size_t why_len);
/*
 * The same where the probe is to go on as it does: nothing of it is touched, which may refuse or miss
 * samples meanwhile. The level of the log is that of this process when the window ends.
 */
void recorder__change_rest(struct recorder *recorder, const struct recorder_options *options);

/* See probe__try_maps(). */
int recorder__try_maps(const struct recorder *recorder);

int recorder__start(struct recorder *recorder);
void recorder__stop(struct recorder *recorder);
/* Readable when recorder__consume() has something to do. */
int recorder__fd(const struct recorder *recorder);
/*
 * Passes on what happened, and hands out what has been named. 0; -ECHILD: the launcher was killed, and
 * without it no namer can be replaced: end, and be started again; -errno.
 */
__must_check int recorder__consume(struct recorder *recorder);
/* When recorder__consume() is to be called even if nothing is readable; CLOCK_BOOTTIME ns. */
uint64_t recorder__due_boot_ns(const struct recorder *recorder);

/*
 * Ends the window that began at the last call (or at the start): what was counted is on its way to
 * be named. A window that could not be drained goes on into the next one: no error.
 */
void recorder__end_window(struct recorder *recorder);
/* The same, but what was counted is forgotten: it is as if sampling began now. */
void recorder__drop_window(struct recorder *recorder);

/*
 * Appends what the window that runs has counted since the last snapshot, as a packet for live readers: see
 * running.h. 0 or -errno.
 */
__must_check int recorder__snapshot(struct recorder *recorder, struct strbuf *out);
/* Nobody asks any more: what was kept for it is given back. */
void recorder__end_snapshots(struct recorder *recorder);

/* Does the kernel know how the stacks of those that were sampled are walked? */
enum recorder_settling {
	RECORDER_MET_NONE = 0, /* nothing was sampled yet */
	RECORDER_IS_SETTLING,  /* of some that live it does not: their stacks may be cut */
	RECORDER_IS_SETTLED,   /* it does, or all are walked by frame pointers anyway */
};

enum recorder_settling recorder__settling(const struct recorder *recorder);
/* Is everything handed out that was ended? */
bool recorder__is_idle(const struct recorder *recorder);
/* Hands out at once what is there of all windows that were ended. */
void recorder__give_up(struct recorder *recorder);

/* As namer_link__hanging(). */
#define RECORDER_HANGING_BYTES 896u
void recorder__hanging(const struct recorder *recorder, char *out, size_t len);

/* As sched__kernel_ns(). */
uint64_t recorder__kernel_wakes_ns(const struct recorder *recorder);

/* Does naming go on? For who watches jbpfd; see naming_beat.h. */
enum naming_beat_state recorder__naming(const struct recorder *recorder);

void recorder__stats(const struct recorder *recorder, struct recorder_stats *out);
/* As the kernel charges them: a file is read for each. */
uint64_t recorder__map_bytes(const struct recorder *recorder);

#endif
