/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One merged file out of its sources: written in units of bounded size, then read back and compared
 * with what the sources hold. The rest of the room is behind store_compact() (store.h): compact.c lists
 * what is to be merged, the other files do a step each.
 *
 * In: files of the store, open and locked. Out: a file in their place. compact.c owns both.
 */
#ifndef JBPF_COMPACT_COMPACT_MERGE_H
#define JBPF_COMPACT_COMPACT_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/store/compact/compact_digest.h"
#include "user/store/compact/compact_sources.h"
#include "user/store/segment/segment_reader.h"
#include "user/store/store.h"

struct compact_merge {
	const struct store_compaction *how;
	struct segment_reader *reader;
	struct compact_sources *sources; /* those that turn out damaged are marked */
	uint64_t cut_key;		 /* whose stacks are cut (compact_cut.h); 0 = nobody's */
	enum event event;		 /* whose files they are */
	uint64_t row_ns;		 /* 0 = the sources' windows stay what they are */
	bool keeps_ticks;		 /* only where row_ns is 0 */
};

struct compact_merge_result {
	struct compact_digest digest;
	uint64_t damaged; /* stretches that are noted for the first time */
};

/*
 * Writes the merged file to `fd`, which is empty, readable and borrowed. 0; -ECANCELED; -EBADMSG:
 * what was written is not what was read; -EIO: the disk does not give all of a source; or -errno.
 */
__must_check int compact_merge(const struct compact_merge *merge, int fd,
			       struct compact_merge_result *out);

#endif
