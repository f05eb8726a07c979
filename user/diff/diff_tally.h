/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples by block and stack, until all of a side are there. Hosts may sample at different rates, and one that was
 * started again at another, so that samples of one block stand for different times. They are kept by what they stand
 * for. At the end those of a block become counts of equal weight, its unit: what one sample of its lowest rate stands
 * for, since a larger number of counts would claim more certainty than there is. No I/O.
 *
 * What a stack has too much for whole counts goes to the next one, and to the next block, so that none is lost. Stacks
 * come in the order of their texts' hashes there: in which order samples came makes no difference.
 *
 *     any number of times  diff_tally__rate(), diff_tally__add(), diff_tally__sums();
 *     diff_tally__sort(), then diff_tally__fill() block by block
 */
#ifndef JBPF_DIFF_DIFF_TALLY_H
#define JBPF_DIFF_DIFF_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/diff/diff_catalog.h"
#include "user/diff/diff_side.h"
#include "user/util/attributes.h"

#define DIFF_TALLY_RATES_MAX 64 /* what comes after so many is of no known rate */

struct diff_unit {
	uint64_t size;	       /* ns, or events; 0 = not known */
	uint32_t frequency_hz; /* counts per second, or per million events */
};

/* What the samples of a window stand for. */
struct diff_rate {
	uint64_t period;       /* of one sample, as the unit's size; 0 = not known */
	struct diff_unit unit; /* the smallest in which they may be counted */
};

/* Of a block. */
struct diff_sums {
	uint64_t samples; /* set by diff_tally__fill() */
	uint64_t frames;
	uint64_t unknown_frames;
	uint64_t truncated_samples;
	uint64_t other_stack_samples;
};

struct diff_tally;

/* `catalog` is borrowed. NULL: no memory. */
struct diff_tally *diff_tally__new(size_t block_cnt, struct diff_catalog *catalog);
void diff_tally__free(struct diff_tally *tally); /* NULL is fine */

/* The number by which samples of that rate are added. 0 or -ENOMEM. */
__must_check int diff_tally__rate(struct diff_tally *tally, const struct diff_rate *rate,
				  uint16_t *out);
/* Samples of a stack of the catalog. 0, -ENOMEM or -E2BIG. */
__must_check int diff_tally__add(struct diff_tally *tally, uint32_t block, uint16_t rate,
				 uint32_t stack, uint64_t samples);
/* What is to be added up besides; valid until the next diff_tally__rate(). */
struct diff_sums *diff_tally__sums(struct diff_tally *tally, uint32_t block, uint16_t rate);

bool diff_tally__is_empty(const struct diff_tally *tally, size_t block);
/* Of what was added so far. Where samples of no known rate are among it, all are counted as they are. */
struct diff_unit diff_tally__unit(const struct diff_tally *tally, size_t block);
/* The block is to have a unit of at least this size. */
void diff_tally__raise_unit(struct diff_tally *tally, size_t block, const struct diff_unit *unit);

/* Once, when all is added. 0 or -ENOMEM. */
__must_check int diff_tally__sort(struct diff_tally *tally);
/*
 * Counts a block in `side`, which is to be closed when there are samples in it. Blocks in order of time; some may be
 * left out. 0, -ENOMEM or -E2BIG.
 */
__must_check int diff_tally__fill(struct diff_tally *tally, size_t block, struct diff_side *side,
				  struct diff_sums *out);

#endif
