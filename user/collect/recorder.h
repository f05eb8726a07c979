/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins samples and names: owns probe, symbolizer and process table, and hands out one named
 * profile per process and window. Where the profiles go is the sink's business.
 *
 *     recorder__open -> recorder__start -> { poll recorder__fd, recorder__consume;
 *     every window recorder__window } -> recorder__free
 */
#ifndef JBPF_COLLECT_RECORDER_H
#define JBPF_COLLECT_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#include "symbols/symbols.h"
#include "user/collect/probe.h"
#include "user/model/window.h"

struct recorder;

struct recorder_options {
	struct probe_options probe;
	enum jit_mode jit;
	bool ignores_opt_out; /* also processes that do not want to be profiled */
};

/* -errno and a line for the user in `why` (see probe__open). */
int recorder__open(const struct recorder_options *options, struct recorder **out, char *why,
		   size_t why_len);
void recorder__free(struct recorder *recorder); /* NULL is fine */

/*
 * Other options for a recorder that runs: see probe__change(). Sampling changes at once; the caller
 * ends the window right after it, which is still named by the old rules. So what is counted while
 * a window is being named is already counted as the next one says. Another `jit` makes it meet all
 * processes anew. Arrays of `options` must live as long as they are in force.
 */
int recorder__may_change(const struct recorder *recorder, const struct recorder_options *options,
			 char *why, size_t why_len);
int recorder__change(struct recorder *recorder, const struct recorder_options *options, char *why,
		     size_t why_len);

/* See probe__try_maps(). */
int recorder__try_maps(const struct recorder *recorder);

int recorder__start(struct recorder *recorder);
void recorder__stop(struct recorder *recorder);
int recorder__fd(const struct recorder *recorder);
/*
 * Looks at processes that were sampled for the first time, while they live, and once more at those
 * whose second look is due. 0 or -errno.
 */
int recorder__consume(struct recorder *recorder);
/* When recorder__consume() is to be called even if nothing is readable; CLOCK_BOOTTIME ns, or
 * UINT64_MAX. */
uint64_t recorder__due_boot_ns(const struct recorder *recorder);

/*
 * Takes one stream's window; everything is borrowed for the call. A host record (pid 0, no text)
 * comes last. A negative return ends the window with it.
 */
typedef int (*recorder_sink_fn)(void *ctx, const struct window *window, const char *text,
				size_t len);

/*
 * Ends the window that began at the last call (or at the start): drains, names, hands out.
 * `lost_samples`: samples of the window before that the sink could not keep; they go into the host
 * record. May take a few seconds while a JVM is asked for its map; sampling goes on meanwhile.
 * 0 or -errno.
 */
int recorder__window(struct recorder *recorder, uint64_t lost_samples, recorder_sink_fn sink,
		     void *ctx);

struct recorder_stats {
	size_t process_cnt;
	size_t symbol_bytes;
	uint64_t map_bytes;
	uint64_t parser_failures;   /* files that could not be parsed: see symbols/parser.h */
	uint64_t parser_restarts;   /* of the process that parses */
	uint64_t stack_bytes;	    /* of stacks kept in user space, at the last window's end */
	uint32_t unsampled_cpu_cnt; /* online, but came after privileges were given up */
};

void recorder__stats(const struct recorder *recorder, struct recorder_stats *out);

#endif
