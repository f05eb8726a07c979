/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol buffers into a strbuf: as much of the wire format as pprof needs. A message inside a
 * message is written to a strbuf of its own first and then appended as bytes, for its length comes
 * first. The first error sticks and every later call does nothing, so callers check once.
 *
 *     struct protobuf message = { .out = out };
 *     protobuf_u64(&message, 1, 12);
 *     return message.err;
 */
#ifndef JBPF_OUTPUT_PROTOBUF_H
#define JBPF_OUTPUT_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/strbuf.h"

struct protobuf {
	struct strbuf *out; /* borrowed */
	int err;	    /* 0 or -ENOMEM */
};

/* A number that is not negative (any of the integer types and bool); 0 is the default: left out. */
void protobuf_u64(struct protobuf *message, uint32_t field, uint64_t value);
/* A string, bytes or a message; written when empty, too. */
void protobuf_bytes(struct protobuf *message, uint32_t field, const void *bytes, size_t len);
void protobuf_buf(struct protobuf *message, uint32_t field, const struct strbuf *bytes);
/* A repeated number, packed. Nothing is written for none. */
void protobuf_packed(struct protobuf *message, uint32_t field, const uint64_t *values, size_t cnt);

#endif
