// SPDX-License-Identifier: Apache-2.0
/* See otlp_answer.h. */
#include "user/remote/otlp_answer.h"

#include <string.h>

#include "user/remote/remote_words.h"
#include "user/util/varint.h"

/* Field numbers of ExportProfilesServiceResponse, ExportProfilesPartialSuccess and google.rpc.Status. */
enum {
	RESPONSE_PARTIAL_SUCCESS = 1,
	PARTIAL_REJECTED = 1,
	PARTIAL_MESSAGE = 2,
	STATUS_MESSAGE = 2,
};

/* Ways in which protocol buffers write a field. */
enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct field {
	uint64_t number;
	uint64_t value; /* of WIRE_VARINT */
	const char *bytes;
	size_t len;
};

/* False at the end, or when the rest is no field: reader->failed is set then. */
static bool next_field(struct varint_reader *reader, struct field *out)
{
	uint64_t tag, len = 0;

	if (reader->failed || reader->at == reader->end)
		return false;
	tag = varint_get(reader);
	*out = (struct field){ .number = tag >> 3 };
	switch (tag & 7) {
	case WIRE_VARINT:
		out->value = varint_get(reader);
		return !reader->failed;
	case WIRE_FIXED64:
		len = 8;
		break;
	case WIRE_BYTES:
		len = varint_get(reader);
		break;
	case WIRE_FIXED32:
		len = 4;
		break;
	default:
		reader->failed = true;
	}
	if (reader->failed || len > (uint64_t)(reader->end - reader->at)) {
		reader->failed = true;
		return false;
	}
	out->bytes = (const char *)reader->at;
	out->len = (size_t)len;
	reader->at += len;
	return true;
}

static bool read_partial(const struct field *partial, struct otlp_partial *out)
{
	struct varint_reader reader = varint_reader_init(partial->bytes, partial->len);
	struct field field;

	while (next_field(&reader, &field)) {
		if (field.number == PARTIAL_REJECTED)
			out->rejected_profiles = field.value;
		else if (field.number == PARTIAL_MESSAGE && field.bytes)
			remote_words(field.bytes, field.len, out->words, sizeof(out->words));
	}
	return !reader.failed;
}

bool otlp_answer_partial(const void *bytes, size_t len, struct otlp_partial *out)
{
	struct varint_reader reader = varint_reader_init(bytes, len);
	struct field field;
	bool is_one = true;

	*out = (struct otlp_partial){ 0 };
	while (is_one && next_field(&reader, &field)) {
		if (field.number == RESPONSE_PARTIAL_SUCCESS)
			is_one = field.bytes && read_partial(&field, out);
	}
	if (is_one && !reader.failed)
		return true;
	*out = (struct otlp_partial){ 0 };
	return false;
}

void otlp_answer_words(const char *body, char out[static OTLP_ANSWER_WORDS])
{
	size_t len = strlen(body);
	struct varint_reader reader = varint_reader_init(body, len);
	struct field field;

	out[0] = '\0';
	while (next_field(&reader, &field)) {
		if (field.number == STATUS_MESSAGE && field.bytes)
			remote_words(field.bytes, field.len, out, OTLP_ANSWER_WORDS);
	}
	if (reader.failed)
		remote_words(body, len, out, OTLP_ANSWER_WORDS);
}
