/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One side of a comparison: blocks of time and, sparse, how often each item was seen in each. An
 * item is whatever the caller counts (a method by itself, a method with what it calls, a package,
 * a place in the call tree); here it is a number 0, 1, 2, ... that both sides share. No I/O.
 *
 *     for each block:  diff_side__add() any number of times, then diff_side__close_block()
 *
 * Windows that lie in the same block may be added in any number and order before it is closed.
 */
#ifndef JBPF_DIFF_SIDE_H
#define JBPF_DIFF_SIDE_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

#define DIFF_NONE	     UINT32_MAX
#define DIFF_SIDE_ITEMS_MAX  (16u << 20)
#define DIFF_SIDE_BLOCKS_MAX 65535u

struct diff_block {
	uint64_t start_unix_ns;
	uint64_t length_ns;	 /* of the time that was recorded in it; above 0 */
	uint32_t time_of_day_s;	 /* of its start, where the program's users live; below 86400 */
	uint32_t frequency_hz;	 /* 0 = not known */
	uint64_t samples;	 /* all, whether or not an item got them */
	double cpu_s;		 /* CPU time behind the samples; 0 = samples / frequency */
	uint64_t lost_samples;	 /* on top of `samples` */
	uint64_t frames;	 /* all frames, times samples */
	uint64_t unknown_frames; /* of `frames`: without a name */
	/* Of `samples`: stacks that do not reach their thread's start. */
	uint64_t truncated_samples;
	uint64_t other_stack_samples; /* of `samples`: stacks that are not told apart */
};

struct diff_count {
	uint32_t item;
	uint32_t count; /* saturates */
};

struct diff_side;

/* `event` is any number that tells kinds of events (CPU time, allocation) apart. NULL: no memory. */
struct diff_side *diff_side__new(uint32_t event);
void diff_side__free(struct diff_side *side); /* NULL is fine */

/* Counts an item in the block that will be closed next. 0, -ENOMEM, or -E2BIG. */
__must_check int diff_side__add(struct diff_side *side, uint32_t item, uint64_t count);

/*
 * Ends the block; `block` is copied. Blocks come in order of time and do not overlap. 0, -ENOMEM,
 * -E2BIG past DIFF_SIDE_BLOCKS_MAX, or -EINVAL when a field makes no sense (order, length, time of
 * day, negative or non-finite cpu_s); the block stays open then.
 */
__must_check int diff_side__close_block(struct diff_side *side, const struct diff_block *block);

/*
 * In place of closing a block without counts: one in which nothing is to be compared, because its
 * JVMs were too young. Such blocks are only counted; the caller knows how old its JVMs are.
 */
void diff_side__leave_out_young(struct diff_side *side);
uint32_t diff_side__young_count(const struct diff_side *side);

/*
 * Between two blocks: item i becomes to[i], which is lower or the same, and rises; of those that become
 * DIFF_NONE the counts are forgotten. Items are below `item_cnt`.
 */
void diff_side__renumber(struct diff_side *side, const uint32_t *to, uint32_t item_cnt);

uint32_t diff_side__event(const struct diff_side *side);
size_t diff_side__block_count(const struct diff_side *side);
/* Valid until the next diff_side__close_block(). */
const struct diff_block *diff_side__block(const struct diff_side *side, size_t index);
/* Each item at most once, in no order; valid until the next diff_side__add(). */
const struct diff_count *diff_side__counts(const struct diff_side *side, size_t index,
					   size_t *cnt_out);

/*
 * The sum of sides of the same time, block by block: hosts that ran beside each other. A block is as long as
 * its longest part. 0 and a side to be freed, or -ENOMEM.
 */
__must_check int diff_side_sum(const struct diff_side *const *parts, size_t part_cnt,
			       struct diff_side **out);
/* Such a sum without one of its parts; items are below `item_cnt`. 0 and a side to be freed, or -ENOMEM. */
__must_check int diff_side_without(const struct diff_side *sum, const struct diff_side *part,
				   uint32_t item_cnt, struct diff_side **out);

/*
 * The block length for sides of which the shorter one lasts `shorter_ns`: 15 minutes, 5 when it is
 * under 4 hours, 1 when it is under 40 minutes. Blocks begin at multiples of it since midnight, so that days can be paired.
 */
uint64_t diff_side_block_length_ns(uint64_t shorter_ns);
/* An hour or a day was asked for, and `shorter_ns` was recorded: shorter blocks than `block_ns`, or the same. */
uint64_t diff_side_block_fitting_ns(uint64_t block_ns, uint64_t shorter_ns);
/*
 * Old days are kept in windows of five minutes, and --window may be long: the next longer block where one is shorter
 * than the longest window, which is seen once windows are not merged for longer blocks; else the same.
 */
uint64_t diff_side_block_holding_ns(uint64_t block_ns, uint64_t window_ns);

#endif
