// SPDX-License-Identifier: Apache-2.0
/* See ticks.h. The code may come from a damaged or hostile file. */
#include "user/model/ticks.h"

#include <errno.h>

int ticks_compare(const void *left, const void *right)
{
	const struct tick *a = left, *b = right;

	if (a->ms != b->ms)
		return a->ms > b->ms ? 1 : -1;
	return (a->line > b->line) - (a->line < b->line);
}

int ticks_encode(const struct tick *ticks, size_t cnt, uint32_t line_cnt, struct strbuf *out)
{
	struct strbuf_mark before = strbuf_mark(out);
	uint32_t ms = 0;

	varint_put(out, line_cnt);
	varint_put(out, cnt);
	for (size_t i = 0; i < cnt; i++) {
		if (ticks[i].ms < ms || ticks[i].ms > TICKS_MAX_MS || ticks[i].line >= line_cnt)
			return strbuf_settle(out, before, -EINVAL);
		varint_put(out, ticks[i].ms - ms);
		ms = ticks[i].ms;
	}
	for (size_t i = 0; i < cnt; i++)
		varint_put(out, ticks[i].line);
	return strbuf_settle(out, before, 0);
}

int ticks_reader_open(struct ticks_reader *reader, const uint8_t *code, size_t len)
{
	struct varint_reader at = varint_reader_init(code, len);
	uint64_t line_cnt = varint_get(&at), cnt = varint_get(&at), ms = 0;
	struct ticks_reader opened;

	/* Each takes two bytes at least. */
	if (at.failed || line_cnt > UINT32_MAX || cnt > (size_t)(at.end - at.at) / 2)
		return -EINVAL;
	opened = (struct ticks_reader){ .deltas = at, .left = cnt, .line_cnt = line_cnt };
	for (uint64_t i = 0; i < cnt; i++) {
		uint64_t delta = varint_get(&at);

		if (delta > TICKS_MAX_MS - ms)
			return -EINVAL;
		ms += delta;
	}
	opened.lines = at;
	for (uint64_t i = 0; i < cnt; i++) {
		if (varint_get(&at) >= line_cnt)
			return -EINVAL;
	}
	if (at.failed || at.at != at.end)
		return -EINVAL;
	*reader = opened;
	return 0;
}

bool ticks_next(struct ticks_reader *reader, struct tick *out)
{
	if (!reader->left)
		return false;
	reader->left--;
	reader->ms += (uint32_t)varint_get(&reader->deltas);
	*out = (struct tick){
		.ms = reader->ms,
		.line = (uint32_t)varint_get(&reader->lines),
	};
	return true;
}

bool ticks_take(struct varint_reader *codes, const uint8_t **code, size_t *len)
{
	uint64_t bytes = varint_get(codes);
	const uint8_t *at = varint_reader_take(codes, bytes);
	struct ticks_reader reader;

	if (codes->failed || (bytes && ticks_reader_open(&reader, at, (size_t)bytes)))
		return false;
	*code = bytes ? at : NULL;
	*len = (size_t)bytes;
	return true;
}
