/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the windows of jbpf top come from: one small interface, two makers.
 *
 * In: a store's directory, or the host. Out: windows, added to the model that step() is given. `jbpf top` owns
 * the source.
 */
#ifndef JBPF_TOP_SOURCE_H
#define JBPF_TOP_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/event.h"
#include "user/top/top_model.h"
#include "user/util/attributes.h"

struct top_source;

struct top_source_ops {
	/* Adds what there is now of the event to the model. 0, or -errno and a line in source->why. */
	int (*step)(struct top_source *source, enum event event, struct top_model *model);
	void (*free)(struct top_source *source);
};

/* What both have; the makers put it in front of what is theirs. */
struct top_source {
	const struct top_source_ops *ops;
	int fd;		      /* readable: step() has something to do; -1 = only time tells */
	uint64_t due_boot_ns; /* when step() is to be called even if nothing is readable */
	uint32_t events;      /* EVENT_BIT() of those that it has */
	bool is_idle;	      /* after a step: the model has all that there is */
	uint64_t
		fills_ns; /* a plain table waits for so much time of samples; 0: for is_idle alone */
	bool is_sampling; /* the samples are our own */
	char text[300];	  /* what it is, for the head */
	char note[200];	  /* what needs attention; "" = nothing */
	char why[1024];
};

/*
 * Does a jbpfd write to this store now: does it listen beside it, or is its newest window so young? Silent;
 * false when it cannot be read.
 */
bool top_store_is_alive(const char *dir);

/*
 * Windows of a store, and where it `reads_along` what its jbpfd tells of the one that runs, beside which
 * an empty store is fine. Prints why it fails. 0 or -errno (-ENODATA: there is a store, but nothing of the
 * event).
 */
__must_check int top_store__open(const char *dir, enum event event, bool reads_along,
				 struct top_source **out);

/*
 * Adds the windows of a range to a model of TOP_SPAN_WHOLE. Prints damage and errors. The exit code
 * (enum cmd_exit) that a command has which would end with `CMD_EXIT_DONE`.
 */
int top_store_read(const char *dir, enum event event, uint64_t since_unix_ns,
		   uint64_t until_unix_ns, struct top_model *model);

/* Starts a process that samples this host. 0, or -errno and a line in `why`. */
__must_check int top_sampler__open(enum event event, struct top_source **out, char *why,
				   size_t why_len);

static inline void top_source_free(struct top_source *source)
{
	if (source)
		source->ops->free(source);
}

#endif
