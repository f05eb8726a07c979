// SPDX-License-Identifier: Apache-2.0
/* Records of merged segments; see merged_format.h. */
#include "user/store/merged_format.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "user/util/byte_reader.h"
#include "user/util/cleanup.h"

static int put_uint(struct strbuf *out, uint64_t value, size_t size)
{
	value = htole64(value);
	return strbuf_append(out, &value, size);
}

int merged_encode_sources(const uint8_t (*ids)[FORMAT_ID_BYTES], size_t cnt, struct strbuf *out)
{
	__cleanup_strbuf struct strbuf payload = STRBUF_INIT;
	int err;

	if (cnt > MERGED_SOURCES_MAX)
		return -E2BIG;
	err = put_uint(&payload, cnt, 4);
	if (!err && cnt)
		err = strbuf_append(&payload, ids, cnt * FORMAT_ID_BYTES);
	return err ? err :
		     format_encode_record(FORMAT_TYPE_SOURCES, payload.data, payload.len, out);
}

int merged_decode_sources(const struct format_record *record,
			  const uint8_t (**ids)[FORMAT_ID_BYTES], size_t *cnt_out)
{
	struct byte_reader reader = byte_reader_init(record->payload, record->payload_len);
	size_t cnt = byte_reader_u32(&reader);
	const void *bytes;

	if (cnt > MERGED_SOURCES_MAX)
		return -EINVAL;
	bytes = byte_reader_take(&reader, cnt * FORMAT_ID_BYTES);
	if (reader.failed)
		return -EINVAL;
	*ids = bytes;
	*cnt_out = cnt;
	return 0;
}
