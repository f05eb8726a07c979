/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When within a window each stack was sampled: for each sample, in order of time, the millisecond and the
 * line of the window's text that its stack is. Milliseconds are numbered by wall time, as the cells of
 * cells.h are; a code keeps them relative to the one its window begins in. Encoded as LEB128: number
 * of lines of the text, number of samples; of each sample the milliseconds since the one before; of each its line.
 * No I/O.
 *
 * A line has as many samples here as in the text, or fewer: of some no moment is known.
 */
#ifndef JBPF_MODEL_TICKS_H
#define JBPF_MODEL_TICKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"
#include "user/util/varint.h"

#define TICK_MS_NS   (1000ull * 1000)
#define TICKS_MAX_MS (3600u * 1000) /* from the millisecond in which a window begins */

struct tick {
	uint32_t ms;   /* since the one in which the window begins; up to TICKS_MAX_MS */
	uint32_t line; /* of the text, from 0 on */
};

/* For qsort(): by time, then line. */
int ticks_compare(const void *left, const void *right);

/* Appends the code of ticks in order of time. 0, -EINVAL (order, ms, line), or -ENOMEM. */
__must_check int ticks_encode(const struct tick *ticks, size_t cnt, uint32_t line_cnt,
			      struct strbuf *out);

struct ticks_reader {
	struct varint_reader deltas;
	struct varint_reader lines;
	uint64_t left;
	uint64_t line_cnt; /* of the text */
	uint32_t ms;
};

/* All of it is looked at; nothing can fail later. The code is borrowed. 0 or -EINVAL: it is broken. */
__must_check int ticks_reader_open(struct ticks_reader *reader, const uint8_t *code, size_t len);
/* The next one; false at the end. */
bool ticks_next(struct ticks_reader *reader, struct tick *out);

/*
 * Codes of several windows one behind the other, each with its length in front; 0: it has none. Takes the next
 * one out. False: there is no more, or what is there is no such code.
 */
bool ticks_take(struct varint_reader *codes, const uint8_t **code, size_t *len);

#endif
