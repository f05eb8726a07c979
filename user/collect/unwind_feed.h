/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel knows of how code is unwound, as the namer says it: tables of files, and where
 * each process has which (bpf/jbpf_unwind.h). The namer is a stranger here: a table must be one
 * that programs can walk by, a space must name tables that are there and pages that they have.
 *
 * The namer makes the ids. The one that follows it must know which there are, or one id would name
 * two contents: a copy is told the ids and goes on with those that it knows, all others are
 * dropped; a namer that begins from nothing finds nothing, and its ids begin where those before
 * ended. What was said before it was told that is of another epoch, and is not heard any more.
 */
#ifndef JBPF_COLLECT_UNWIND_FEED_H
#define JBPF_COLLECT_UNWIND_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/collect/namer/namer_link.h"
#include "user/collect/probe/sample_source.h"
#include "user/util/packet_stream.h"

struct unwind_feed_table {
	uint32_t id;
	uint32_t page_cnt;
	uint32_t chunk_cnt;
	bool is_left; /* no space names it; a walk that began before may */
};

/* Fields are private. */
struct unwind_feed {
	const struct sample_source *source;
	struct namer_link *link;
	bool is_on;
	uint32_t epoch;
	uint32_t next_id;
	uint32_t chunk_cnt;		  /* of those that are left, too */
	struct unwind_feed_table *tables; /* by id */
	size_t table_cnt;
	size_t table_cap;
	size_t left_cnt; /* that go when the window ends */
};

/* Borrows both. */
void unwind_feed_init(struct unwind_feed *feed, const struct sample_source *source,
		      struct namer_link *link);
void unwind_feed_release(struct unwind_feed *feed); /* one that is all 0 is fine */

enum unwind_feed_namer {
	UNWIND_FEED_NEW_NAMER, /* it knows nothing: what the kernel has is forgotten */
	UNWIND_FEED_COPY,      /* it knows what there was when it was made */
};

/* Tells a namer how it begins, before anything else; and whenever `mode` changed, as a new one. */
void unwind_feed_begin(struct unwind_feed *feed, enum unwind_mode mode, enum unwind_feed_namer who);

/* Is anything walked by rules? */
bool unwind_feed_is_on(const struct unwind_feed *feed);

/* After a drain. */
void unwind_feed_end_window(struct unwind_feed *feed);

/* What it says. 0, or -EBADMSG: it makes no sense. */
__must_check int unwind_feed_take_table(struct unwind_feed *feed, const struct packet *packet);
__must_check int unwind_feed_take_drop(struct unwind_feed *feed, const struct packet *packet);
__must_check int unwind_feed_take_space(struct unwind_feed *feed, const struct packet *packet);

#endif
