/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports the problems of a process's stacks and names, with the change that helps: one line each,
 * for jbpf status, jbpf dump and jbpf record.
 */
#ifndef JBPF_CLI_ADVICE_H
#define JBPF_CLI_ADVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "user/util/attributes.h"
#include "user/cli/streams.h"
#include "user/util/strbuf.h"

#define ADVICE_LINES_MAX 6

/* The lines hold foreign names as they are: escape them for their destination. */
struct advice {
	char lines[ADVICE_LINES_MAX][512];
	size_t cnt;
};

/* The most important first; none when all is well. */
void advice_find(const struct stream *stream, struct advice *out);

/*
 * Appends one line, without newline and inert on a terminal, when JVMs among the streams need the
 * flag that keeps frame pointers: it names the busiest one and counts the others, but for those that ran for
 * minutes only and were not seen since. 0 or -ENOMEM.
 */
__must_check int advice_frame_pointers(const struct streams *streams, struct strbuf *out);

/* Prints that line on stderr, for data that would look complete. True when there was one. */
bool advice_warn(const struct streams *streams);

#endif
