// SPDX-License-Identifier: Apache-2.0
/* The moving view over a segment; see segment_source.h. */
#include "user/store/segment/segment_source.h"

#include <errno.h>
#include <stdlib.h>

#include "user/util/fs.h"

void segment_source_reset(struct segment_source *source, int fd, uint64_t size)
{
	source->fd = fd;
	source->size = size;
	source->start = 0;
	source->len = 0;
	source->step = SEGMENT_SOURCE_STEP_BYTES;
	source->err = 0;
}

void segment_source_release(struct segment_source *source)
{
	free(source->buf);
	*source = (struct segment_source){ .fd = -1 };
}

static int source_reserve(struct segment_source *source, size_t len)
{
	uint8_t *buf;

	if (len <= source->cap)
		return 0;
	/* The content is about to be replaced: no need to copy it. */
	buf = malloc(len);
	if (!buf)
		return -ENOMEM;
	free(source->buf);
	source->buf = buf;
	source->cap = len;
	source->len = 0;
	return 0;
}

static int source_fill(struct segment_source *source, uint64_t offset, size_t len)
{
	int err = source_reserve(source, len);
	ssize_t got;

	if (err)
		return err;
	source->start = offset;
	source->len = 0;
	got = fs_read_at(source->fd, source->buf, len, offset);
	if (got < 0)
		return (int)got;
	source->len = (size_t)got;
	if (source->len < len)
		source->size = offset + source->len;
	return 0;
}

const uint8_t *segment_source_view(struct segment_source *source, uint64_t offset, size_t len,
				   size_t *available)
{
	if (source->err || offset > source->size || len > source->size - offset)
		return NULL;
	if (offset < source->start || offset - source->start > source->len ||
	    len > source->len - (size_t)(offset - source->start)) {
		uint64_t rest = source->size - offset;
		size_t want = len > source->step ? len : source->step;

		source->err = source_fill(source, offset, rest < want ? (size_t)rest : want);
		if (source->err || source->len < len)
			return NULL;
	}
	*available = source->len - (size_t)(offset - source->start);
	return source->buf + (offset - source->start);
}
