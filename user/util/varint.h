/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers in as few bytes as they need (unsigned LEB128: 7 bits per byte, low ones first; protocol
 * buffers' varint is the same), and differences folded to small ones (zigzag: 0, -1, 1, -2 ...).
 * Written: numbers in, bytes out, appended to the caller's buffer, whose error sticks (strbuf.h).
 * Read: foreign bytes in, which stay the caller's; the reader is a bounds-checked cursor that
 * remembers a failure, as byte_reader.h.
 */
#ifndef JBPF_UTIL_VARINT_H
#define JBPF_UTIL_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/strbuf.h"

#define VARINT_MAX_BYTES 10

static inline size_t varint_encode(uint8_t *bytes, uint64_t value)
{
	size_t len = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[len++] = (uint8_t)(value | 0x80);
	bytes[len++] = (uint8_t)value;
	return len;
}

static inline size_t varint_len(uint64_t value)
{
	size_t len = 1;

	for (; value >= 0x80; value >>= 7)
		len++;
	return len;
}

static inline void varint_put(struct strbuf *out, uint64_t value)
{
	uint8_t bytes[VARINT_MAX_BYTES];

	strbuf_append(out, bytes, varint_encode(bytes, value));
}

static inline uint64_t zigzag(uint64_t difference)
{
	return (difference << 1) ^ (0 - (difference >> 63));
}

static inline uint64_t unzigzag(uint64_t code)
{
	return (code >> 1) ^ (0 - (code & 1));
}

struct varint_reader {
	const uint8_t *at;
	const uint8_t *end;
	bool failed; /* sticky: what was read since is 0 */
};

static inline struct varint_reader varint_reader_init(const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	return (struct varint_reader){ .at = at, .end = len ? at + len : at };
}

static inline uint64_t varint_get(struct varint_reader *reader)
{
	uint64_t value = 0;

	/* Most numbers are below 128. */
	if (reader->at < reader->end && *reader->at < 0x80)
		return *reader->at++;
	for (unsigned int shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
		uint8_t byte = *reader->at++;

		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	reader->failed = true;
	reader->at = reader->end;
	return 0;
}

/* `len` bytes, borrowed, or NULL. */
static inline const uint8_t *varint_reader_take(struct varint_reader *reader, uint64_t len)
{
	const uint8_t *bytes = reader->at;

	if (reader->failed || len > (size_t)(reader->end - reader->at)) {
		reader->failed = true;
		reader->at = reader->end;
		return NULL;
	}
	reader->at += len;
	return bytes;
}

#endif
