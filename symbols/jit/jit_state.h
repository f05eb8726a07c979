/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When was it there? The life of one version of code, or of one method: what is known of it, and
 * what that says about samples. Nothing here reads anything; jit_state.c draws the states.
 */
#ifndef JBPF_JIT_JIT_STATE_H
#define JBPF_JIT_JIT_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/jit/jit_vm.h"

/* How it was first read, and whether it is still there; see jit_state.c. */
enum jit_state {
	JIT_STATE_UNREAD = 0,
	JIT_STATE_PROMPT,   /* there; first read soon after a sample of it */
	JIT_STATE_LATE,	    /* there; first read later: others may have been there at the sample */
	JIT_STATE_DOUBTFUL, /* there; it was read because of a sample that was another's */
	JIT_STATE_DISPROVED, /* there; a class was unloaded before: an older sample may be another's */
	JIT_STATE_PROMPT_GONE,
	JIT_STATE_LATE_GONE,
	JIT_STATE_DOUBTFUL_GONE,
	JIT_STATE_DISPROVED_GONE,
	JIT_STATE_CNT,
};

enum jit_event {
	JIT_EVENT_READ_PROMPT =
		0,	     /* read for the first time, soon after the sample that asked for it */
	JIT_EVENT_READ_LATE, /* read for the first time, otherwise */
	JIT_EVENT_SEEN,	     /* read again: it is the same */
	JIT_EVENT_UNWATCHED, /* the place was not watched for long before the first reading */
	JIT_EVENT_MISTAKEN,  /* the sample's code is not its code */
	JIT_EVENT_UNLOADED,  /* a class was unloaded before the first reading */
	JIT_EVENT_LOST,	     /* found gone, or replaced */
	JIT_EVENT_CNT,
};

/* It was there certainly from first_seen_ns to alive_ns, possibly from born_after_ns to gone_ns. */
struct jit_life {
	uint64_t born_after_ns; /* something else was there then; 0 = not known */
	uint64_t first_seen_ns;
	uint64_t alive_ns;
	uint64_t gone_ns;      /* 0 = it is there */
	uint64_t sure_from_ns; /* while it is there no other can own samples that are younger */
	/* Methods: no class was unloaded between then and the first reading; UINT64_MAX: not known. */
	uint64_t proved_from_ns;
	enum jit_state state;
	bool was_restless; /* the JVM, at the first reading */
	/* Code: a class, and code with it, was last unloaded then; 0 = not known. */
	uint64_t unloaded_ns;
};

/* Between these times the samples of a question were taken. */
struct jit_span {
	uint64_t since;
	uint64_t until;
};

struct jit_span jit_span_of(const struct jit_vm_query *query);

/* The state after an event; JIT_STATE_UNREAD: it cannot happen in this state. */
enum jit_state jit_state_after(enum jit_state state, enum jit_event event);

/* A life begins: it was read just now, between these times, for a question of this mode. */
void jit_life_begin(struct jit_life *life, enum jit_vm_mode mode, bool is_restless,
		    uint64_t read_ns, uint64_t read_end_ns);
/* Any other event. False, and nothing is done: it cannot happen in this state. */
bool jit_life_event(struct jit_life *life, enum jit_event event, uint64_t at_ns);
/* Of a method that was read just now: no class was unloaded from then on till the first reading. */
void jit_life_prove(struct jit_life *life, uint64_t from_ns);
/* What was at the same place before. */
void jit_life_follows(struct jit_life *life, const struct jit_life *before);
/* Before this others may have been there. */
void jit_life_sure_from(struct jit_life *life, uint64_t from_ns);

bool jit_life_is_gone(const struct jit_life *life);
/* PROMPT, LATE, DOUBTFUL or DISPROVED, gone or not. */
enum jit_state jit_life_evidence(const struct jit_life *life);

bool jit_life_is_possible(const struct jit_life *life, const struct jit_span *span);
/* `is_there`: it was verified after all samples that are asked for. */
bool jit_life_is_certain(const struct jit_life *life, const struct jit_span *span, bool is_there);
/*
 * If no other can be meant: was it there when the samples were taken? `restless_until_ns`: until
 * then the JVM was restless, as far as is known.
 */
bool jit_life_is_credible(const struct jit_life *life, const struct jit_span *span, bool is_there,
			  uint64_t restless_until_ns);

#endif
