/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol buffers into a strbuf: as much of the wire format as pprof and OTLP need. A message inside a
 * message is written to a strbuf of its own first and then appended as bytes, for its length comes
 * first. Errors are the buffer's (see strbuf.h), so callers check once, at the end.
 *
 *     struct protobuf message = { .out = out };
 *     protobuf_u64(&message, 1, 12);
 *     return strbuf_error(out);
 */
#ifndef JBPF_OUTPUT_PROTOBUF_H
#define JBPF_OUTPUT_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/strbuf.h"

struct protobuf {
	struct strbuf *out; /* borrowed */
};

/* What fits into an int64, of which there are no negative ones here. */
static inline uint64_t protobuf_clamp_i64(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : value;
}

/* A number that is not negative (any of the integer types and bool); 0 is the default: left out. */
void protobuf_u64(struct protobuf *message, uint32_t field, uint64_t value);
/* A number of type fixed64; 0 is left out. */
void protobuf_fixed64(struct protobuf *message, uint32_t field, uint64_t value);
/* A string, bytes or a message; written when empty, too. */
void protobuf_bytes(struct protobuf *message, uint32_t field, const void *bytes, size_t len);
/* ... and its error. */
void protobuf_buf(struct protobuf *message, uint32_t field, const struct strbuf *bytes);
/* A repeated number, packed. Nothing is written for none. */
void protobuf_packed(struct protobuf *message, uint32_t field, const uint64_t *values, size_t cnt);

#endif
