/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For a command that wants the code of processes: has it read by a namer of its own, as jbpfd has its
 * windows named, so that a process that hangs whoever reads it does not hang the command
 * (namer/namer_link.h).
 *
 * In: pids. Out: ranges of code, and answers. The command owns the reader. One thread.
 */
#ifndef JBPF_COLLECT_MAP_READER_H
#define JBPF_COLLECT_MAP_READER_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/collect/naming/naming_wire.h"

struct map_reader;

/* Forks, before the caller gives up its rights. 0, or -errno and a line for the user in `why`. */
__must_check int map_reader__open(struct map_reader **out, char *why, size_t why_len);
void map_reader__free(struct map_reader *reader); /* NULL is fine */

/* A range of code, in any order; the name is borrowed for the call. 0, or what ends the reading. */
typedef int map_reader_fn(void *ctx, uint64_t start, uint64_t len, const char *name);

/*
 * Asks and waits for the answer. 0; -ETIME: what reads it hung, or was not done in time; -EPIPE: it
 * ended; -EAGAIN: there is none that could be asked; what `add` returned; -errno.
 */
__must_check int map_reader__ask(struct map_reader *reader, const struct naming_map *question,
				 map_reader_fn *add, void *ctx, struct naming_map_answer *out);

#endif
