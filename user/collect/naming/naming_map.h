/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All code that one process has compiled, with the names that profiles give it: what `jbpf maps`
 * writes. It is read where windows are named, since a process that is read may hang its reader.
 *
 * In: the question of a command (naming_wire.h). Out: ranges of code, which are borrowed for the call,
 * and an answer.
 */
#ifndef JBPF_NAMING_NAMING_MAP_H
#define JBPF_NAMING_NAMING_MAP_H

#include <stdint.h>

#include "user/util/attributes.h"
#include "user/collect/naming/naming_wire.h"

struct naming;

/* A range of code, in any order. 0, or what ends the reading. */
typedef int naming_map_fn(void *ctx, uint64_t start, uint64_t len, const char *name);

/*
 * Looks at the process; calls `add` if its code is asked for and may be told. What is wrong is said in
 * the answer.
 */
void naming__map(struct naming *naming, const struct naming_map *question, naming_map_fn *add,
		 void *ctx, struct naming_map_answer *out) __no_null;

#endif
