/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When within a window the samples were taken: counts per cell of 20 ms, so that a heat map can be
 * drawn later. Cells are numbered by wall time (Unix time / 20 ms), so those of all streams, windows
 * and hosts lie on one grid; a window keeps them relative to the cell it begins in. Encoded as
 * pairs of LEB128 numbers, (cells skipped since the one before, samples), empty cells left out:
 * about two bytes per cell that is not empty. No I/O.
 *
 * The cells of a window add up to its samples or to fewer: WINDOW_LOSS_CELLS in the host's record
 * counts samples of which no moment is known. A window without cells was recorded without them, or
 * what was kept of them could not be told apart or did not fit (rare, and in the same counter).
 */
#ifndef JBPF_MODEL_CELLS_H
#define JBPF_MODEL_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

#define CELL_NS	      (20ull * 1000 * 1000)
#define CELLS_MAX     (3600ull * 1000 * 1000 * 1000 / CELL_NS + 1) /* of one window */
#define CELLS_MAX_LEN (48u * 1024)				   /* encoded, of one window */

struct cell {
	uint32_t index; /* cells since the one in which the window begins; below CELLS_MAX */
	uint32_t count; /* samples, above 0 */
};

/* The number of the cell a moment is in. */
static inline uint64_t cell_of(uint64_t unix_ns)
{
	return unix_ns / CELL_NS;
}

/* Appends the code of cells in ascending order. 0, -EINVAL (order, count 0, index), or -ENOMEM. */
__must_check int cells_encode(const struct cell *cells, size_t cnt, struct strbuf *out);

struct cells_reader {
	const uint8_t *at;
	const uint8_t *end;
	uint32_t next; /* index the next one's skip is counted from */
	bool is_bad;   /* what is left is no code of cells */
};

struct cells_reader cells_reader_init(const uint8_t *cells, size_t len);
/* The next cell; false at the end, or where the code is broken (reader->is_bad). */
bool cells_next(struct cells_reader *reader, struct cell *out);

/* A sum of cells of windows that begin at different times. */
struct cells_sum;

struct cell_total {
	uint64_t number; /* cell_of() of its time */
	uint64_t count;	 /* samples, above 0 */
};

struct cells_sum *cells_sum__new(void);	     /* NULL only when memory is short */
void cells_sum__free(struct cells_sum *sum); /* NULL is fine */
/* Adds the cells of a window that begins at `start_unix_ns`. 0, -EINVAL (broken), or -ENOMEM; then
 * nothing of it was added. */
__must_check int cells_sum__add(struct cells_sum *sum, uint64_t start_unix_ns, const uint8_t *cells,
				size_t len);
/* All of them in order of time, borrowed until the next call. */
const struct cell_total *cells_sum__view(struct cells_sum *sum, size_t *cnt_out);
/*
 * Appends the code relative to a window that begins there, and empties the sum. As cells_encode():
 * -EINVAL when the sum reaches beyond CELLS_MAX from there, or before it; then nothing is changed.
 */
__must_check int cells_sum__take(struct cells_sum *sum, uint64_t start_unix_ns, struct strbuf *out);

#endif
