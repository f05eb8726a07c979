/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appends little-endian numbers and bytes: byte_reader.h the other way round. In: numbers, bytes and a
 * buffer, which stay the caller's. Out: what was appended to the buffer. Errors are the buffer's (see
 * strbuf.h), so a record is checked once, at its end; after one byte_writer_end() takes back all of it.
 */
#ifndef JBPF_UTIL_BYTE_WRITER_H
#define JBPF_UTIL_BYTE_WRITER_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/strbuf.h"

struct byte_writer {
	struct strbuf *out;	  /* borrowed */
	struct strbuf_mark start; /* where in `out` it began */
};

static inline struct byte_writer byte_writer_init(struct strbuf *out)
{
	return (struct byte_writer){ .out = out, .start = strbuf_mark(out) };
}

static inline void byte_writer_bytes(struct byte_writer *writer, const void *bytes, size_t len)
{
	strbuf_append(writer->out, bytes, len);
}

/* The low `size` bytes of a number, at most 8. */
static inline void byte_writer_uint(struct byte_writer *writer, uint64_t value, size_t size)
{
	value = htole64(value);
	byte_writer_bytes(writer, &value, size);
}

/* u16 length and bytes, at most UINT16_MAX of them. */
static inline void byte_writer_text(struct byte_writer *writer, const char *text, size_t len)
{
	byte_writer_uint(writer, len, 2);
	byte_writer_bytes(writer, text, len);
}

__must_check static inline int byte_writer_end(struct byte_writer *writer)
{
	return strbuf_settle(writer->out, writer->start, 0);
}

#endif
