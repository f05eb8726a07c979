/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampler's end of the conversation with the namer: has it started, watches it, and replaces it
 * when it hangs or dies: by the copy that it made of itself (namer_copy.h) when it hung or was
 * killed, else, and when there is none, by a new one. The process that it worked on then is banned
 * for a while: nothing of it is opened, read or asked. So is its container when that was not the first
 * time within ten minutes, and as long as the old namer has not ended. Who was worked on when somebody
 * else killed it is banned only when that comes again.
 *
 * Hanging means: at work on one process, without CPU time, and not waiting for the CPU either, over
 * NAMER_LINK_HANGS_TICKS looks in a row. Looks and not a clock, so that a suspended host or a
 * stopped jbpfd is no reason.
 *
 * In: packets for the namer. Out: its answers, checked, borrowed until the next. The recorder owns the link.
 */
#ifndef JBPF_NAMER_NAMER_LINK_H
#define JBPF_NAMER_NAMER_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/util/attributes.h"
#include "symbols/symbols.h"
#include "user/util/packet_stream.h"

#define NAMER_LINK_TICK_NS     (100 * 1000000ull) /* between looks while it is at work */
#define NAMER_LINK_HANGS_TICKS 20u

struct namer_link;

struct namer_link_options {
	enum jit_mode jit;
	bool keeps_parameters; /* see symbolizer_options */
	bool ignores_opt_out;
	bool wants_ticks;
	bool attaches; /* JVMs may be asked for their maps */
};

/*
 * Forks the launcher, which starts the namer: early, while this process is small and has all its
 * rights. 0, or -errno and a line for the user in `why`.
 */
__must_check int namer_link__open(const struct namer_link_options *options, struct namer_link **out,
				  char *why, size_t why_len);
void namer_link__free(struct namer_link *link); /* NULL is fine */

/* Where packets are put for the namer, and come from it. Valid until the next namer_link__tick(). */
struct packet_stream *namer_link__stream(struct namer_link *link);
/* False: there is none just now; packets that are put into the stream are lost. */
bool namer_link__is_up(const struct namer_link *link);

/*
 * Other options for this namer and all that follow; `forgets`: also for what has its names already. Whether JVMs may
 * be asked for their maps stays as it is. 0 or -ENOMEM.
 */
__must_check int namer_link__change(struct namer_link *link,
				    const struct namer_link_options *options, bool forgets);

/* The sampler does not wait any more for windows up to this one. */
void namer_link__give_up(struct namer_link *link, uint64_t window_id);

/* The conversation broke (-EPIPE, -EBADMSG): the next tick replaces it. */
void namer_link__broke(struct namer_link *link, int err);

/*
 * Looks after it. True: another namer is there, which knows nothing, or nothing since its copy was
 * made: send it all processes and all pending windows again.
 */
bool namer_link__tick(struct namer_link *link, uint64_t now_boot_ns);
/* Is it the copy of the one before, and not one that knows nothing? */
bool namer_link__is_copy(const struct namer_link *link);
/* When the next tick is due; CLOCK_BOOTTIME ns. */
uint64_t namer_link__due_boot_ns(const struct namer_link *link, uint64_t now_boot_ns);

/* What all of them say on stderr: for poll(), -1 = nothing more; passes on what has come. */
int namer_link__log_fd(const struct namer_link *link);
void namer_link__relay(struct namer_link *link);

/* False: the launcher has ended, which it never does by itself. */
bool namer_link__has_launcher(const struct namer_link *link);

/* One line: over which files of whom namers hang that were killed and do not end; "" = none does. */
#define NAMER_LINK_HANGING_BYTES 896u
void namer_link__hanging(const struct namer_link *link, char *out, size_t len);

struct namer_link_stats {
	pid_t launcher_pid;
	pid_t namer_pid;      /* 0: none just now */
	uint64_t restart_cnt; /* of the namer */
	uint64_t ban_cnt;     /* containers and processes that were banned, so far */
};

void namer_link__stats(const struct namer_link *link, struct namer_link_stats *out);

#endif
