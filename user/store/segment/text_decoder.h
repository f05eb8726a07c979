/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes texts of windows, and rows of units, one or two ahead of the one being looked at, in a thread
 * of its own: decoding costs as much as merging what was decoded, or twice as much. A queue: what goes in first comes out first. Everything but the decoding itself,
 * visitors above all, stays in the caller's thread.
 */
#ifndef JBPF_SEGMENT_TEXT_DECODER_H
#define JBPF_SEGMENT_TEXT_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/window.h"
#include "user/store/format/merged_format.h"
#include "user/util/strbuf.h"

struct merged_unit;
struct text_decoder;

struct text_job {
	/* Filled by the caller before the submission. */
	struct window window; /* its labels and cells borrow from `labels` */
	struct strbuf labels;
	struct strbuf lines;   /* source lines, as text already; empty = none */
	struct strbuf threads; /* their code; empty = none */
	struct strbuf ticks;   /* code, of a unit those of its rows; empty = none */
	struct strbuf frame;   /* compressed; empty = there is no text */
	struct strbuf rows; /* the same of a unit's rows; empty = they are loaded, or not needed */
	uint64_t text_len;  /* that the frame must have */
	bool is_unit;	    /* of a merged segment: `unit` and `head` instead of a window */
	struct merged_rows_head head;
	struct merged_unit *unit; /* kept between jobs; NULL = none yet */
	uint64_t offset;	  /* of the unit in the file */
	uint64_t end;
	/* Valid when the job was taken. */
	int err;	      /* -EINVAL: a frame does not hold what its record says; -ENOMEM */
	bool has_broken_rows; /* -EINVAL is for these */
	char *text;	      /* text_len bytes */
	size_t text_cap;
};

/* Starts no thread yet. NULL only when memory is short. */
struct text_decoder *text_decoder__new(void);
void text_decoder__free(struct text_decoder *decoder); /* NULL is fine */

/* A job to fill and submit, or NULL: the queue is full, take one first. */
struct text_job *text_decoder__claim(struct text_decoder *decoder);
/* The job that was claimed last. Small texts are decoded at once, by the caller. */
void text_decoder__submit(struct text_decoder *decoder);

/* The oldest submitted job, decoded, valid until it is dropped; NULL when the queue is empty. */
struct text_job *text_decoder__take(struct text_decoder *decoder);
/* Done with the oldest job. */
void text_decoder__drop(struct text_decoder *decoder);

#endif
