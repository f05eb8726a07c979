/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The perf maps of one process, from its container, with names of its JIT code and their validity: the map
 * before the present one is kept as long as samples may be older than the present one.
 */
#ifndef JBPF_JIT_JIT_PERFMAPS_H
#define JBPF_JIT_JIT_PERFMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "symbols/parser/parser.h"
#include "symbols/perfmap/perfmap.h"
#include "user/model/jvm_facts.h"

/* Two, because a map that was found and one that was asked for may come within one window. */
#define JIT_PERFMAPS_PREVIOUS  2
#define JIT_PERFMAPS_HELD_BITS 2 /* of their number */

struct account;

/* A map that was replaced. */
struct jit_old_map {
	struct perfmap *map; /* NULL = none */
	uint64_t replaced_boot_ns;
};

/* Zero-initialise, except for `parser` and `account`; end with jit_perfmaps_release(). */
struct jit_perfmaps {
	struct parser *parser;	 /* borrowed */
	struct account *account; /* borrowed; whose process it is: ACCOUNT_POOL_MAPS */
	struct perfmap *current; /* NULL = none */
	struct jit_old_map previous[JIT_PERFMAPS_PREVIOUS]; /* the latest first */
	uint64_t file_inode; /* of the file read last, to see changes */
	uint64_t file_bytes;
	uint64_t file_mtime_ns;
	uint64_t read_boot_ns; /* of the last attempt to read it; 0 = never */
	uint64_t read_cost_ns;
	uint64_t loaded_boot_ns; /* when `current` was read; 0 = never */
	size_t entry_cnt;
	uint64_t rejected_cnt;
	uint32_t generation; /* counts changes of what is known */
	int read_err;	     /* what came of reading the file */
	int last_err;	     /* what came of the last refresh */
	enum jit_source source;
	const char *problem; /* static text; NULL = none */
};

enum jit_perfmaps_force {
	JIT_PERFMAPS_WHEN_CHANGED = 0,
	JIT_PERFMAPS_ALWAYS = 1,
};

void jit_perfmaps_release(struct jit_perfmaps *names);

/*
 * Looks at /tmp/perf-<innermost pid>.map of the process and reads it when it changed. A map that
 * is missing or refused leaves what was known; `problem` says why. 0, -ENOMEM, -ESRCH.
 */
__must_check int jit_perfmaps_refresh(struct jit_perfmaps *names, int proc_fd, uint32_t pid,
				      enum jit_source source, enum jit_perfmaps_force force);

/*
 * Forgets maps that were replaced before `oldest_boot_ns`: no sample that is still to be named is older. Not by counting
 * refreshes: a window may need any number of them.
 */
void jit_perfmaps_age(struct jit_perfmaps *names, uint64_t oldest_boot_ns);

/* How many of the previous maps, the latest first, may samples that began at `since_boot_ns` be of? */
uint32_t jit_perfmaps_held_cnt(const struct jit_perfmaps *names, uint64_t since_boot_ns);

/* Did this one still hold when a window began at `since_boot_ns`? */
bool jit_old_map_holds(const struct jit_old_map *old, uint64_t since_boot_ns);

size_t jit_perfmaps_bytes(const struct jit_perfmaps *names);

#endif
