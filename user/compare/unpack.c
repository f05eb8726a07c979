// SPDX-License-Identifier: Apache-2.0
/* See unpack.h. */
#include "user/compare/unpack.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define STEP_BYTES  (256u * 1024)
#define WINDOW_BITS (15 + 16) /* zlib.h: 16 more read gzip files */

static bool begins_with(const struct strbuf *bytes, size_t at, const char *begin, size_t len)
{
	return bytes->len - at >= len && memcmp(bytes->data + at, begin, len) == 0;
}

static bool is_gzip(const struct strbuf *bytes, size_t at)
{
	return begins_with(bytes, at, "\x1f\x8b", 2);
}

/* Room for a step more. */
static int make_room(struct strbuf *out, size_t max_bytes)
{
	return out->len > max_bytes ? -EFBIG : strbuf_reserve(out, STEP_BYTES);
}

/* One file; `*at` ends behind it. */
static int gunzip_one(const struct strbuf *packed, size_t *at, size_t max_bytes, struct strbuf *out)
{
	z_stream stream = { 0 };
	int err = 0, status = Z_OK;

	if (inflateInit2(&stream, WINDOW_BITS) != Z_OK)
		return -ENOMEM;
	while (!err && status == Z_OK) {
		size_t left = packed->len - *at;
		uInt step = left < UINT_MAX ? (uInt)left : UINT_MAX;

		err = make_room(out, max_bytes);
		if (err)
			break;
		stream.next_in = (z_const Bytef *)packed->data + *at;
		stream.avail_in = step;
		stream.next_out = (Bytef *)out->data + out->len;
		stream.avail_out = STEP_BYTES;
		/* Z_BUF_ERROR: it ended too early. */
		status = inflate(&stream, Z_NO_FLUSH);
		*at += step - stream.avail_in;
		out->len += STEP_BYTES - stream.avail_out;
	}
	(void)inflateEnd(&stream);
	if (!err && status != Z_STREAM_END)
		err = status == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
	return err;
}

static int gunzip(const struct strbuf *packed, size_t max_bytes, struct strbuf *out)
{
	size_t at = 0;
	int err;

	/* What follows the last file is padding, as gzip says itself. */
	do
		err = gunzip_one(packed, &at, max_bytes, out);
	while (!err && is_gzip(packed, at));
	return err;
}

static int unzstd(const struct strbuf *packed, size_t max_bytes, struct strbuf *out)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	ZSTD_inBuffer in = { packed->data, packed->len, 0 };
	size_t left = 1; /* 0: a frame has ended */
	int err = stream ? 0 : -ENOMEM;

	while (!err && (in.pos < in.size || left)) {
		ZSTD_outBuffer step = { NULL, STEP_BYTES, 0 };
		size_t before = in.pos;

		err = make_room(out, max_bytes);
		if (err)
			break;
		step.dst = out->data + out->len;
		left = ZSTD_decompressStream(stream, &step, &in);
		if (ZSTD_isError(left) || (left && in.pos == before && !step.pos))
			err = -EBADMSG;
		else
			out->len += step.pos;
	}
	(void)ZSTD_freeDStream(stream);
	return err;
}

int unpack(struct strbuf *bytes, size_t max_bytes)
{
	struct strbuf out = STRBUF_INIT;
	bool is_zstd = begins_with(bytes, 0, "\x28\xb5\x2f\xfd", 4);
	int err;

	if (!is_zstd && !is_gzip(bytes, 0))
		return 0;
	err = is_zstd ? unzstd(bytes, max_bytes, &out) : gunzip(bytes, max_bytes, &out);
	if (!err && out.len > max_bytes)
		err = -EFBIG;
	if (err) {
		strbuf_release(&out);
		return err;
	}
	if (out.data)
		strbuf_truncate(&out, out.len);
	strbuf_release(bytes);
	*bytes = out;
	return 0;
}
