// SPDX-License-Identifier: Apache-2.0
/* Protocol buffers into a strbuf, see protobuf.h. */
#include "user/output/protobuf.h"

#include <endian.h>

#include "user/util/varint.h"

#define WIRE_VARINT  0
#define WIRE_FIXED64 1
#define WIRE_BYTES   2

static void append_varint(struct protobuf *message, uint64_t value)
{
	varint_put(message->out, value);
}

static void append_tag(struct protobuf *message, uint32_t field, uint32_t wire)
{
	append_varint(message, (uint64_t)field << 3 | wire);
}

void protobuf_u64(struct protobuf *message, uint32_t field, uint64_t value)
{
	if (value == 0)
		return;
	append_tag(message, field, WIRE_VARINT);
	append_varint(message, value);
}

void protobuf_fixed64(struct protobuf *message, uint32_t field, uint64_t value)
{
	uint64_t little = htole64(value);

	if (value == 0)
		return;
	append_tag(message, field, WIRE_FIXED64);
	strbuf_append(message->out, &little, sizeof(little));
}

void protobuf_bytes(struct protobuf *message, uint32_t field, const void *bytes, size_t len)
{
	append_tag(message, field, WIRE_BYTES);
	append_varint(message, len);
	strbuf_append(message->out, bytes, len);
}

void protobuf_buf(struct protobuf *message, uint32_t field, const struct strbuf *bytes)
{
	strbuf_fail(message->out, strbuf_error(bytes));
	protobuf_bytes(message, field, strbuf_str(bytes), bytes->len);
}

void protobuf_packed(struct protobuf *message, uint32_t field, const uint64_t *values, size_t cnt)
{
	size_t len = 0;

	if (cnt == 0)
		return;
	for (size_t i = 0; i < cnt; i++)
		len += varint_len(values[i]);
	append_tag(message, field, WIRE_BYTES);
	append_varint(message, len);
	for (size_t i = 0; i < cnt; i++)
		append_varint(message, values[i]);
}
