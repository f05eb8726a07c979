/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's notices of the sampled processes that live, for a namer that has to begin again. It
 * also remembers which of them have a profile in the store, for windows that no namer could name.
 * Pure except for memory.
 */
#ifndef JBPF_NAMER_SIGHT_TABLE_H
#define JBPF_NAMER_SIGHT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/jbpf_user.h"
#include "user/model/process_life.h"

struct sight_table;

/* A run of a program, and by which names: bytes that mean nothing here. */
struct sight_called {
	struct stream_id stream;
	const void *labels;
	uint32_t labels_len;
};

/* NULL when memory is short. */
struct sight_table *sight_table__new(void);
void sight_table__free(struct sight_table *table); /* NULL is fine */

/* Takes note of it. Short of memory: it is forgotten, and met by its next window. */
void sight_table__note(struct sight_table *table, const struct jbpf_notice *notice);
/* A profile of this run of a program was written: it does not want to be left out. */
void sight_table__note_recorded(struct sight_table *table, struct process_life life);
/* This run of a program wants to be left out, also when a profile was written before. */
void sight_table__note_opted_out(struct sight_table *table, struct process_life life);
/*
 * It wants to be recorded, and that is known before its first profile: with what it is called by while it
 * is in this cgroup, copied. Short of memory: nothing is known of it.
 */
void sight_table__note_called(struct sight_table *table, const struct sight_called *called);
/* False: that is not known, it is in another cgroup by now, or it wants to be left out. Borrowed. */
bool sight_table__called(const struct sight_table *table, struct sight_called *called);
bool sight_table__is_opted_out(const struct sight_table *table, struct process_life life);
bool sight_table__is_recorded(const struct sight_table *table, struct process_life life);
/* The same, and it has neither ended nor become another program: it is as when it was read then. */
bool sight_table__is_known(const struct sight_table *table, struct process_life life);
/* The kernel was told how the stacks of this run of a program are walked. */
void sight_table__note_space(struct sight_table *table, struct process_life life);
/* Those that live and are wanted, and of which it was not told (yet). */
size_t sight_table__without_space(const struct sight_table *table);
/* It was sampled in the present window. */
void sight_table__use(struct sight_table *table, struct process_life life);

/* Calls `fn` with a notice JBPF_NOTICE_SEEN of each that lives. Ends when it returns not 0. */
int sight_table__each(const struct sight_table *table,
		      int (*fn)(void *ctx, const struct jbpf_notice *notice), void *ctx);

/* A window is over: forgets processes that have ended, or were not sampled for a while. */
void sight_table__expire(struct sight_table *table);
size_t sight_table__count(const struct sight_table *table);

#endif
