// SPDX-License-Identifier: Apache-2.0
/* See gzip.h. */
#include "user/util/gzip.h"

#include <errno.h>
#include <limits.h>
#include <zlib.h>

#define STEP_BYTES  (64u * 1024)
#define WINDOW_BITS (15 + 16) /* zlib.h: 16 more make a gzip file */
#define MEMORY	    8	      /* zlib.h: the default */

int gzip_append(struct strbuf *out, const void *bytes, size_t len, int level)
{
	z_stream stream = { .next_in = (z_const Bytef *)bytes };
	struct strbuf_mark before = strbuf_mark(out);
	int err = 0, status = Z_OK;

	if (deflateInit2(&stream, level, Z_DEFLATED, WINDOW_BITS, MEMORY, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return -ENOMEM;
	while (!err && status == Z_OK) {
		uInt step = len < UINT_MAX ? (uInt)len : UINT_MAX;

		err = strbuf_reserve(out, STEP_BYTES);
		if (err)
			break;
		stream.avail_in = step;
		stream.next_out = (Bytef *)out->data + out->len;
		stream.avail_out = STEP_BYTES;
		status = deflate(&stream, step == len ? Z_FINISH : Z_NO_FLUSH);
		len -= step - stream.avail_in;
		out->len += STEP_BYTES - stream.avail_out;
	}
	(void)deflateEnd(&stream);
	if (!err && status != Z_STREAM_END)
		err = -EINVAL;
	strbuf_truncate(out, out->len);
	return strbuf_settle(out, before, err);
}
