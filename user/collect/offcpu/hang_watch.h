/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a pass over waiting threads hangs, on whose memory, and for how long that is left alone. It hangs when
 * it reads one and the same piece of memory at several polls, with time between them: a whole pass may take
 * long on a host that is overloaded, as each piece waits for a CPU, and the poller may be late, too. A lock
 * that was held for long is released some time, so that no process is left alone for good. Pure.
 */
#ifndef JBPF_OFFCPU_HANG_WATCH_H
#define JBPF_OFFCPU_HANG_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/jbpf_user.h"
#include "bpf/jbpf_offcpu.h"

#define HANG_WATCH_POLLS    3		     /* after the first one */
#define HANG_WATCH_POLL_NS  500000000ull     /* polls that follow sooner do not count */
#define HANG_WATCH_FIRST_NS 60000000000ull   /* left alone after the first time, ... */
#define HANG_WATCH_MAX_NS   3600000000000ull /* ... ten times as long after each other one, at most */

struct hang_watch_ban {
	uint64_t since_ns;
	uint64_t for_ns;
	uint32_t tgid; /* 0: of nobody */
};

/* Zero-initialise. Times are CLOCK_BOOTTIME. */
struct hang_watch {
	/* The piece of memory that was being read at the last poll. */
	uint64_t begin_ns; /* of its pass */
	uint64_t copies;
	uint64_t poll_ns; /* of the last poll that counts */
	uint32_t polls;	  /* that saw it */
	uint32_t tgid;	  /* 0: none was */
	struct hang_watch_ban bans[JBPF_HUNG_MAX];
};

/* Looks at the pass. The process on whose memory it hangs; 0: it does not. */
uint32_t hang_watch_poll(struct hang_watch *watch, const volatile struct jbpf_pass *pass,
			 uint64_t now_ns);

/* The process's memory is left alone from now on; of many such, that of the last ones. */
void hang_watch_ban(struct hang_watch *watch, uint32_t tgid, uint64_t now_ns);

/* Whose memory is left alone. Returns how many they are. */
size_t hang_watch_banned(const struct hang_watch *watch, uint64_t now_ns,
			 uint32_t out[static JBPF_HUNG_MAX]);

#endif
