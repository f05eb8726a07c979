/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the records of hosts say of each block of a side: how long was recorded, and what was lost. Records are of all
 * that runs on a host, so each host counts by itself, where the side ran on it, and with its losses by the side's share
 * of its samples. What has no host label is of one host.
 */
#ifndef JBPF_COMPARE_COMPARE_RECORDS_H
#define JBPF_COMPARE_COMPARE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/compare/compare_cover.h"
#include "user/model/window.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

struct strtab;

/* Of one block, the hosts on which the side ran. All 0: there are no records of them. */
struct compare_recorded {
	uint64_t recorded_ns; /* of all of them together */
	struct compare_cover_stretch
		stretch;     /* from their first record's begin to the last one's end */
	double lost;	     /* as many counts of the side */
	double lost_samples; /* the same, in samples of the hosts */
};

/* One host in one block. */
struct compare_record {
	uint32_t block;
	bool is_of_side;
	struct compare_recorded host; /* `lost` are samples, of all that ran there */
	uint64_t host_samples;
	uint64_t own_samples; /* the side's, as far as they are among those of the host */
	uint64_t own_amount;  /* what all of the side's there stand for, as the block's unit */
};

/* Zero-initialise; end with compare_records_release(). */
struct compare_records {
	struct compare_record *items;
	size_t cnt;
	size_t cap;
	struct strtab *keys; /* by block and host: index of the item */
	struct strbuf key;   /* scratch */
};

void compare_records_release(struct compare_records *records);
/* A host's record. 0 or -ENOMEM. */
__must_check int compare_records_add(struct compare_records *records, uint32_t block,
				     const struct window *window);
/*
 * A window of the side was taken, in any order with its host's record: it stands for `amount`, and of its samples
 * `samples` are among those of the host's records. 0 or -ENOMEM.
 */
__must_check int compare_records_take(struct compare_records *records, uint32_t block,
				      const struct window *window, uint64_t samples,
				      uint64_t amount);
/* Adds a host to its block, when the side ran there. `unit` is a count's size there; 0: each sample is a count. */
void compare_record_add_up(const struct compare_record *record, uint64_t unit,
			   struct compare_recorded *block);

#endif
