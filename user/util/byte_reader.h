/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds-checked little-endian cursor over foreign bytes. Every read that would pass the end sets
 * `failed`, returns zeros and moves nothing; so a parser may read a whole record and check once.
 */
#ifndef JBPF_UTIL_BYTE_READER_H
#define JBPF_UTIL_BYTE_READER_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct byte_reader {
	const uint8_t *at;
	size_t left; /* bytes from `at` to the end */
	bool failed; /* sticky */
};

static inline struct byte_reader byte_reader_init(const void *bytes, size_t len)
{
	return (struct byte_reader){ .at = bytes, .left = len, .failed = false };
}

/* `len` bytes, borrowed from the source, or NULL. */
static inline const void *byte_reader_take(struct byte_reader *reader, size_t len)
{
	const void *bytes = reader->at;

	if (reader->failed || len > reader->left) {
		reader->failed = true;
		return NULL;
	}
	reader->at += len;
	reader->left -= len;
	return bytes;
}

static inline uint64_t byte_reader_uint(struct byte_reader *reader, size_t size)
{
	const uint8_t *bytes = byte_reader_take(reader, size);
	uint64_t value = 0;

	if (bytes)
		memcpy(&value, bytes, size);
	return le64toh(value);
}

static inline uint8_t byte_reader_u8(struct byte_reader *reader)
{
	return (uint8_t)byte_reader_uint(reader, 1);
}

static inline uint16_t byte_reader_u16(struct byte_reader *reader)
{
	return (uint16_t)byte_reader_uint(reader, 2);
}

static inline uint32_t byte_reader_u32(struct byte_reader *reader)
{
	return (uint32_t)byte_reader_uint(reader, 4);
}

static inline uint64_t byte_reader_u64(struct byte_reader *reader)
{
	return byte_reader_uint(reader, 8);
}

#endif
