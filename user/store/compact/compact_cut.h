/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the store is nearly full, a container that wrote far more than is usual pays with its own
 * history: in the hour or day that it made so large, its stacks become process and leaf, without
 * source lines. Samples and all other containers stay as they are. Files are rewritten as every
 * merge does it: nothing is lost when that is killed.
 */
#ifndef JBPF_COMPACT_COMPACT_CUT_H
#define JBPF_COMPACT_COMPACT_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/store/compact/compact_sources.h"
#include "user/util/strbuf.h"

/*
 * Whose windows are cut: the hash of its container id, or of its cgroup where there is no container. 0 =
 * nobody's.
 */
uint64_t compact_cut_key(const struct window *window);

/* Is there a window in the file that was cut already? Decodes no text. 0 or -errno. */
__must_check int compact_cut_was_cut(struct segment_reader *reader, int fd, bool *was_cut);

/*
 * Which container has more than half of the bytes in the source, when there are others, not
 * counting what was cut already; 0 = none. 0 in *key, -ECANCELED or -errno otherwise.
 */
__must_check int compact_cut_find(struct segment_reader *reader,
				  const struct compact_source *source,
				  bool (*should_stop)(void *ctx), void *stop_ctx, uint64_t *key,
				  struct strbuf *name);

/* Replaces `out` by the text with stacks of process and leaf, sums of equal ones, sorted. 0 or -ENOMEM. */
__must_check int compact_cut_text(const char *text, size_t len, struct strbuf *out);

/*
 * Which files stand out: more than four times as many bytes an hour as the one in the middle, the largest
 * first. `bytes` are those of the files; fills `order` (as long) with indices. Their number.
 */
size_t compact_cut_order(const struct segment_file *files, const uint64_t *bytes, size_t cnt,
			 size_t *order);

#endif
