/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of some time, whose samples and stacks are asked for at once.
 *
 * In: rows of windows that are wanted. Out: the windows with their texts, to the visitor; one by one, or what is the same to it as one (clickhouse_sums.h).
 */
#ifndef JBPF_SOURCE_CLICKHOUSE_PART_H
#define JBPF_SOURCE_CLICKHOUSE_PART_H

#include <stddef.h>
#include <stdint.h>

#include "user/remote/window_row.h"
#include "user/source/clickhouse_select.h"
#include "user/source/clickhouse_session.h"
#include "user/source/window_texts.h"
#include "user/store/store.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

struct clickhouse_kept {
	struct window_row row;
	char bytes[]; /* its fields' texts; the window borrows */
};

struct clickhouse_part {
	struct clickhouse_session *session;
	const struct store_visitor *visitor;
	struct clickhouse_select select;
	uint64_t least_unix_s, most_unix_s; /* minutes of the windows; 0 = there is none */
	struct clickhouse_kept **kept;
	size_t cnt;
	size_t cap;
	size_t at;			 /* of kept, whose samples come now */
	struct window_texts *texts;	 /* NULL = no stack is there */
	struct strbuf services, streams; /* `select` borrows them */
};

/* Begin of the minute in which it began, Unix s: the ts of its row. */
uint64_t clickhouse_minute_of(const struct window *window);

/* Samples of this minute are wanted. */
void clickhouse_part_meet(struct clickhouse_part *part, uint64_t minute_unix_s);
/* A window that is wanted, copied. 0, -EBADMSG, -ENOMEM. */
__must_check int clickhouse_part_keep(struct clickhouse_part *part,
				      const struct clickhouse_field *fields);
/* From now on only what is of these windows is asked for. 0 or -errno, as below. */
__must_check int clickhouse_part_narrow(struct clickhouse_part *part);
/* Stacks of these hashes, "1,2"; NULL = of all samples. */
__must_check int clickhouse_part_read_stacks(struct clickhouse_part *part, const char *hashes);
/* Hands out all of them, window by window. They are put in order. */
__must_check int clickhouse_part_read_samples(struct clickhouse_part *part);
/* Tells the visitor so many samples of the window, of stacks that are WINDOW_TEXTS_AMBIGUOUS. */
void clickhouse_part_tell_ambiguous(const struct clickhouse_part *part, const struct window *window,
				    uint64_t samples);
/* The part itself is the caller's; it holds nothing any more. */
void clickhouse_part_release(struct clickhouse_part *part);

#endif
