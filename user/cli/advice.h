/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong with a process's stacks or names, and what to change: one line each, for
 * jbpf status and for the word that jbpf dump and jbpf record add.
 */
#ifndef JBPF_CLI_ADVICE_H
#define JBPF_CLI_ADVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "user/cli/streams.h"
#include "user/util/strbuf.h"

#define ADVICE_LINES_MAX 6

/* Lines hold foreign names as they are: escape them where they go. */
struct advice {
	char lines[ADVICE_LINES_MAX][512];
	size_t cnt;
};

/* The most important first; none when all is well. */
void advice_find(const struct stream *stream, struct advice *out);

/*
 * Appends one line, without newline and inert on a terminal, when JVMs among the streams run
 * without frame pointers: the busiest one's, and how many more there are. 0 or -ENOMEM.
 */
int advice_frame_pointers(const struct streams *streams, struct strbuf *out);

/* That line on stderr, for commands whose data would look whole. True when there was one. */
bool advice_warn(const struct streams *streams);

#endif
