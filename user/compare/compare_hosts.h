/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts of one service at one time: a side of each, and what they differ from each other by although they
 * run the same. A host is what the host label says; the caller owns all. Replicas of one image likewise: each
 * JVM compiles the same code a little differently, whatever host it runs on.
 */
#ifndef JBPF_COMPARE_COMPARE_HOSTS_H
#define JBPF_COMPARE_COMPARE_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "user/cli/cmd_store.h"
#include "user/cli/streams.h"
#include "user/compare/compare_load.h"
#include "user/diff/diff.h"
#include "user/diff/diff_catalog.h"
#include "user/diff/diff_history.h"
#include "user/store/store_source.h"
#include "user/util/attributes.h"
#include "user/util/strtab.h"

#define COMPARE_HOSTS_MIN    4	/* fewer do not tell what hosts differ by */
#define COMPARE_REPLICAS_MAX 64 /* what is beyond tells nothing new */

enum compare_hosts_unit {
	COMPARE_HOSTS_BY_HOST,
	COMPARE_HOSTS_BY_REPLICA, /* a container, or a process outside of any */
};

struct compare_hosts_item {
	struct compare_loader *loader; /* NULL once it has finished */
	struct compare_loaded loaded;
	struct diff_history_row
		*rows;	 /* this host against the others; by compare_hosts_measure() */
	size_t row_cnt;	 /* 0: too little is known of it */
	bool has_blocks; /* enough of them: it counts, also when there are no others */
};

/* Zero-initialise; end with compare_hosts_release(). */
struct compare_hosts {
	struct strtab *names; /* number of a host: its index */
	struct compare_hosts_item *items;
	size_t cnt;
	size_t cap;
	struct diff_side *sum;	       /* of all; by compare_hosts_measure() */
	struct diff_history_set *sets; /* room for all hosts */
};

void compare_hosts_release(struct compare_hosts *hosts);

/* Reads a side of each host or replica. 0 or -errno. */
__must_check int compare_hosts_load(struct store_source *reader, const struct compare_load *what,
				    enum compare_hosts_unit unit, struct diff_catalog *catalog,
				    struct cmd_store_damage *damage, struct compare_hosts *out);
/* Sets each host against the others, where both have at least `blocks_min` blocks. 0 or -ENOMEM. */
__must_check int compare_hosts_measure(uint32_t item_cnt, size_t blocks_min,
				       struct compare_hosts *hosts);
/*
 * What hosts differ by, without number `but` (SIZE_MAX = of all), for one host against the others.
 * Borrowed, until it is called again.
 */
struct diff_history compare_hosts_history(struct compare_hosts *hosts, size_t but);

/*
 * What replicas of two sides differ by within each side, for one side against the other; without any set when
 * there are too few. Borrowed from `before`, until either is asked again. 0 or -ENOMEM.
 */
__must_check int compare_replicas_history(struct compare_hosts *before,
					  const struct compare_hosts *after,
					  struct diff_history *out);
/* How many sets that has at most. 0 or -ENOMEM. */
__must_check int compare_replicas_sets_max(const struct streams *before,
					   const struct streams *after, size_t *out);

/*
 * So many hosts are judged that one of them would often look odd by chance: the rates at which the options let
 * that happen become those of all of them together.
 */
void compare_hosts_share_errors(const struct compare_hosts *hosts, struct diff_options *options);
/*
 * Compares a host (after) with all others (before), by what these differ by. 0 and a result for
 * diff_result__free(), or -errno as diff_run(). After compare_hosts_measure().
 */
__must_check int compare_hosts_compare(struct compare_hosts *hosts, size_t host,
				       const struct diff_item *items, uint32_t item_cnt,
				       const struct diff_options *options,
				       struct diff_result **out);

/*
 * How the drift of two groups of hosts compares with that of one of the `before` against the others: less
 * with more hosts. 0 when it says nothing: the groups share a host, or there are too few before.
 */
__must_check int compare_hosts_averaging(const struct streams *before, const struct streams *after,
					 double *out);

#endif
