/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does naming go on? Every window that whoever names is through with, in time or late, is a beat; a
 * window that was given up is a miss. Windows are counted, and not only time, so that a suspended host
 * or a stopped jbpfd is no reason to call naming dead. The disk has no part in it. Pure.
 *
 * In: beats and misses, and what the recorder knows of the process that names. Out: a state, which the
 * watchdog and the probes judge, and a line for people. The recorder owns it.
 */
#ifndef JBPF_COLLECT_NAMING_BEAT_H
#define JBPF_COLLECT_NAMING_BEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMING_BEAT_MISSES   3u			   /* in a row, and naming is dead */
#define NAMING_BEAT_STUCK_NS (600 * 1000000000ull) /* without a beat */
#define NAMING_BEAT_BYTES    1216u		   /* of the line */

/* Zero-initialise, and note the first beat at the start. */
struct naming_beat {
	uint64_t last_ns; /* CLOCK_MONOTONIC */
	uint32_t misses;  /* since then */
	uint64_t ban_cnt; /* as it was then */
};

/* What there is to know besides. */
struct naming_beat_facts {
	bool is_up;	     /* there is a process that names */
	uint64_t ban_cnt;    /* containers and processes that were banned, so far */
	const char *hanging; /* as namer_link__hanging(); "" = nothing hangs */
};

enum naming_beat_state {
	NAMING_BEAT_GOES_ON = 0,
	/*
	 * Dead, and a restart of jbpfd would not mend it. Processes that hang in the kernel outlive jbpfd:
	 * a restart gives it free places for more of them, forgets over whom they hang, and so lets the
	 * same containers hang as many again, while nothing is sampled. Nor does a kernel that has no
	 * memory or process ids for another process have them for another jbpfd, and that one does
	 * not even begin. A restart is what a hostile neighbour could cause; it shall gain nothing.
	 */
	NAMING_BEAT_DEAD = 1,
	/*
	 * Dead for NAMING_BEAT_STUCK_NS, while there is a process that names, nothing hangs, and nobody
	 * was banned since: the fault is jbpf's own, and a new one may not have it.
	 */
	NAMING_BEAT_STUCK = 2,
};

void naming_beat_note(struct naming_beat *beat, uint64_t now_ns, uint64_t ban_cnt);
void naming_beat_miss(struct naming_beat *beat);

/* Is naming dead? Cheap: the facts are only asked for then. */
bool naming_beat_is_dead(const struct naming_beat *beat);
/* Since the last beat; 0 while no window was missed since. */
uint64_t naming_beat_silent_ns(const struct naming_beat *beat, uint64_t now_ns);
enum naming_beat_state naming_beat_state(const struct naming_beat *beat, uint64_t now_ns,
					 const struct naming_beat_facts *facts);

/* What is wrong, why, and what to do, without a line feed; "" while naming goes on. */
void naming_beat_text(const struct naming_beat *beat, uint64_t now_ns,
		      const struct naming_beat_facts *facts, char out[NAMING_BEAT_BYTES]);

#endif
