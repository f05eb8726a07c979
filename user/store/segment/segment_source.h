/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A view that moves over a file: the bytes at an offset, in memory. Read with pread and not mapped,
 * because a writer that runs out of disk shortens the file, and a mapping would then kill the
 * reader with SIGBUS.
 */
#ifndef JBPF_SEGMENT_SEGMENT_SOURCE_H
#define JBPF_SEGMENT_SEGMENT_SOURCE_H

#include <stddef.h>
#include <stdint.h>

struct segment_source {
	int fd;	       /* borrowed */
	uint64_t size; /* bytes to look at; shrinks when the file does */
	uint8_t *buf;
	size_t cap;
	uint64_t start; /* offset of buf[0] in the file */
	size_t len;	/* bytes in buf */
	size_t step;	/* bytes to read at least; the user may change it */
	int err;	/* sticky: -ENOMEM or of pread() */
};

/* Large enough that reading is a copy from the page cache, small enough to stay in L2. */
#define SEGMENT_SOURCE_STEP_BYTES (512 * 1024)

/* Sets the file, and the step for reading all of it; keeps the memory. */
void segment_source_reset(struct segment_source *source, int fd, uint64_t size);
void segment_source_release(struct segment_source *source);

/*
 * At least `len` bytes from `offset` on, as many as are in memory anyway in *available; valid
 * until the next call. NULL when the file is too short or source->err is set.
 */
const uint8_t *segment_source_view(struct segment_source *source, uint64_t offset, size_t len,
				   size_t *available);

#endif
