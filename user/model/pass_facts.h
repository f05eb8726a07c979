/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a window's passes over waiting threads were and took: what the label `passes` of the host's
 * records of EVENT_OFF_CPU says. It is text of words NAME=NUMBER with one blank between them, as
 * FORMAT.md has them. No I/O.
 */
#ifndef JBPF_MODEL_PASS_FACTS_H
#define JBPF_MODEL_PASS_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "user/util/strbuf.h"

struct pass_facts {
	uint64_t passes;   /* of the window */
	uint64_t threads;  /* that the last pass met, running or not */
	uint64_t cpu_ppm;  /* CPU time of their process: millionths of one CPU */
	uint64_t put_off;  /* samples that waited for a walk, as others had to be walked first */
	uint64_t restarts; /* of their process, since jbpfd began */
	uint64_t unread; /* processes whose memory is not read for a while, as a pass hung on it */
	uint64_t has_run_delay; /* 1: the kernel says how long threads were ready and had no CPU */
};

/* Errors are the buffer's. */
void pass_facts_append(const struct pass_facts *facts, struct strbuf *out);
/* What is not said is 0. False: nothing is. */
bool pass_facts_read(const char *text, struct pass_facts *out);

#endif
