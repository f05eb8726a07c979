/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names windows: owns symbolizer, process table and container resolver, takes what the kernel said of
 * processes and stacks, and hands out one named profile per process and window. It knows neither
 * probe nor store: in life it works in a process of its own (namer.h), which may hang or die of what
 * it looks into. One thread.
 *
 * In: packets of the sampler: notices, stacks, windows (naming_wire.h). Out: named streams, and what the
 * kernel part should know of processes, through a listener that borrows them. The namer owns it.
 */
#ifndef JBPF_NAMING_NAMING_H
#define JBPF_NAMING_NAMING_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "symbols/symbols.h"
#include "user/sandbox/launcher.h"
#include "user/collect/naming/naming_wire.h"
#include "user/collect/naming/work_note.h"
#include "user/model/window.h"

struct naming;

/* What naming reports. Everything is borrowed for the call. */
struct naming_listener {
	void *ctx;
	/* A stream's window. */
	int (*stream)(void *ctx, const struct window *window, const char *text, size_t len);
	/* A process that was met and wants to be recorded: its identity and labels, no samples. */
	void (*met)(void *ctx, const struct window *window);
	void (*code_range)(void *ctx, const struct naming_code_range *range);
	void (*hotspot)(void *ctx, const struct naming_hotspot *hotspot);
	void (*leaf_rule)(void *ctx, const struct naming_leaf_rule *rule);
	void (*opt_out)(void *ctx, const struct naming_opt_out *opt_out);
	void (*account)(void *ctx, const struct naming_account *account);
	/* What the kernel is to know of code; `space` NULL: nothing is done about it. */
	void (*unwind_table)(void *ctx, const struct naming_unwind_id *id,
			     const struct unwind_table *table);
	void (*unwind_drop)(void *ctx, const struct naming_unwind_id *id);
	void (*space)(void *ctx, const struct naming_space *space);
	/* Called between streams: news of processes that start meanwhile should not wait. NULL = none. */
	void (*pause)(void *ctx);
};

struct naming_config {
	enum jit_mode jit;
	const char *proc;	   /* "/proc", or a tree like it that a test has made */
	bool keeps_parameters;	   /* see symbolizer_options */
	bool ignores_opt_out;	   /* also processes that do not want to be profiled */
	bool wants_ticks;	   /* windows say when their samples were taken */
	struct launcher *launcher; /* borrowed; starts the helpers and the process that asks JVMs */
	struct work_note *note;	   /* borrowed; NULL = nobody watches */
	int kallsyms_fd;	   /* see symbolizer_options; taken over */
	struct naming_listener listener;
};

/* -errno and a line for the user in `why`; -EINVAL without a launcher. */
__must_check int naming__open(const struct naming_config *config, struct naming **out, char *why,
			      size_t why_len);
void naming__free(struct naming *naming); /* NULL is fine */

/* Other options; with `forgets` all processes are met again. 0 or -ENOMEM: all as before. */
__must_check int naming__change(struct naming *naming, const struct naming_options *options);

/*
 * In a copy of the process that opened it: lets go of what belongs to that one, the parser first of
 * all, and keeps what was learnt of processes.
 */
void naming__become_copy(struct naming *naming);
/* The copy takes over, with these options; what was named by other rules is forgotten. As above. */
int naming__awake(struct naming *naming, const struct naming_options *options);

/*
 * Nothing of these processes is opened or read any more; those that are known already lose their
 * names.
 */
void naming__ban(struct naming *naming, const struct naming_banned *banned);

void naming__notice(struct naming *naming, const struct jbpf_notice *notice);

/*
 * Prefetches the names of new stacks (records of naming_stack_put()). Returns how soon after a sample
 * the next call should come, in ns; 0: there is no process for which that matters.
 */
uint64_t naming__prefetch(struct naming *naming, const void *records, size_t len);

/* Which BPF programs came and went. */
void naming__note_ksymbols(struct naming *naming, const struct ksymbol_changes *changes);

/* Which tables the kernel has: a namer begins with that. Until then it builds none. */
void naming__begin_unwind(struct naming *naming, const struct naming_unwind *head,
			  const uint32_t *ids);
void naming__refuse_unwind(struct naming *naming, const struct naming_unwind_id *id);
/*
 * Builds one of the tables that are wanted now, or reports where a process has which; it parses one
 * file at most. Never in the middle of a window. False: there is nothing to do.
 */
bool naming__build_unwind(struct naming *naming);

/* Second looks that are due, JVMs that have answered. */
void naming__tick(struct naming *naming);
/* When naming__tick() is to be called even if nothing happens; CLOCK_BOOTTIME ns or UINT64_MAX. */
uint64_t naming__due_boot_ns(const struct naming *naming);

/*
 * Names the window, stream after stream; what cannot be named becomes "comm;[not named]". May take a
 * few seconds while a JVM is asked for its map. `out` is filled but for window_id.
 */
void naming__window(struct naming *naming, const struct naming_batch *batch,
		    struct naming_end *out);

#endif
