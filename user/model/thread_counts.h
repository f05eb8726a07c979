/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose samples the lines of a window's text are, by the names of threads. Kept beside the text,
 * which has every stack once: a line is its home thread's, the one that has most of it, but for
 * what is said of others. Encoded: names; for each line its home; then (line, thread, samples) of
 * others. No I/O.
 */
#ifndef JBPF_MODEL_THREAD_COUNTS_H
#define JBPF_MODEL_THREAD_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"
#include "user/util/varint.h"

#define THREAD_NAME_UNKNOWN "[unknown thread]" /* nothing is known of it: an old window */
#define THREAD_NAME_OTHERS  "[other threads]"  /* one of too many */
#define THREAD_NAME_BYTES   255
#define THREAD_NAMES_MAX    256 /* of a window; the samples of more are of THREAD_NAME_OTHERS */

/*
 * Names are kept with each run of digits as one '#', as thread_fold() in bpf/thread.bpf.h does it. `out` has
 * len + 1 bytes and may be `name`; its length is returned.
 */
size_t thread_name_fold(const char *name, size_t len, char *out);

/* ---- gathering ---- */

/* What a thread has of a line. Both are numbers that the caller gives them. */
struct thread_entry {
	uint32_t line;
	uint32_t thread;
	uint64_t samples;
};

/* Sorts by line, then thread; equal ones become one. Returns how many are left. */
size_t thread_entries_merge(struct thread_entry *entries, size_t cnt);

struct thread_counts;

/* `max_names`: names past it become THREAD_NAME_OTHERS; 0 = no limit. NULL when memory is short. */
struct thread_counts *thread_counts__new(size_t max_names);
void thread_counts__free(struct thread_counts *counts); /* NULL is fine */
void thread_counts__clear(struct thread_counts *counts);

/*
 * Adds samples of a thread to a line, by any number that the caller gives lines. A name that is
 * NULL is not known; one that is too long, or holds a NUL, is -EINVAL. 0 or -ENOMEM.
 */
__must_check int thread_counts__add(struct thread_counts *counts, uint32_t line, const char *name,
				    size_t len, uint64_t samples);

/* What the counts take of memory, about. */
size_t thread_counts__bytes(const struct thread_counts *counts);

/*
 * Appends the code. The line of the smallest number is the text's first, and so on: each line of
 * the text was added. `place`: what a line's number becomes before that; NULL = it stays. Nothing
 * is appended when no thread is known. 0 or -ENOMEM.
 */
__must_check int thread_counts__encode(struct thread_counts *counts, const uint32_t *place,
				       struct strbuf *out);

/* ---- reading ---- */

/* Samples of one thread. */
struct thread_part {
	const char *name; /* NUL-terminated; NULL = not known; borrowed from the code */
	size_t len;
	uint64_t count;
};

/* Goes over the lines of a text with its code. Zero-initialise: then all threads are unknown. */
struct thread_reader {
	const char **names;
	size_t *lens;
	size_t name_cnt;
	struct varint_reader homes; /* of the lines to come */
	struct varint_reader parts; /* of others, from the present line on */
	uint64_t line_cnt;	    /* that are left */
	uint64_t part_cnt;	    /* the same */
	uint64_t line;		    /* the present one */
	uint64_t part_line;	    /* where the next part belongs */
	uint64_t home;		    /* of the present line: number of its name + 1, 0 = not known */
	uint64_t left;		    /* of its samples */
};

#define __cleanup_thread_reader __attribute__((cleanup(thread_reader_release)))

void thread_reader_release(struct thread_reader *reader);
/* Replaces what it read. The code is borrowed; `len` 0: none. 0, -EINVAL (it is broken), -ENOMEM. */
__must_check int thread_reader_open(struct thread_reader *reader, const uint8_t *code, size_t len);
/* The next line of the text, which has so many samples. Lines behind the code's are nobody's. */
void thread_reader_line(struct thread_reader *reader, uint64_t samples);
/* The next thread of the line; its counts add up to the line's. False: there is no more. */
bool thread_reader_next(struct thread_reader *reader, struct thread_part *out);

#endif
