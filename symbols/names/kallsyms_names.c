// SPDX-License-Identifier: Apache-2.0
/* See kallsyms_names.h. No name lies across the border of two blocks. */
#include "symbols/names/kallsyms_names.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "user/util/cleanup.h"
#include "user/util/strbuf.h"

#define BLOCK_BYTES	  4096u
#define MAX_BYTES	  (128u << 20)
#define COMPRESSION_LEVEL 3

struct kallsyms_names {
	struct strbuf text;   /* until they are packed: all; then: one block */
	struct strbuf packed; /* frames of zstd */
	uint32_t *ends;	      /* of the blocks, in `packed`; NULL: not packed */
	size_t block_cnt;
	size_t block;	    /* that is in `text`; block_cnt: none */
	ZSTD_DCtx *decoder; /* NULL: nothing was unpacked yet */
};

struct kallsyms_names *kallsyms_names__new(void)
{
	return calloc(1, sizeof(struct kallsyms_names));
}

void kallsyms_names__free(struct kallsyms_names *names)
{
	if (!names)
		return;
	strbuf_release(&names->text);
	strbuf_release(&names->packed);
	free(names->ends);
	(void)ZSTD_freeDCtx(names->decoder);
	free(names);
}

/* ---- packing ---- */

int kallsyms_names__add(struct kallsyms_names *names, const char *text, size_t len,
			uint32_t *at_out)
{
	static const char zeros[BLOCK_BYTES];
	size_t left = BLOCK_BYTES - names->text.len % BLOCK_BYTES;

	if (len >= BLOCK_BYTES || names->text.len > MAX_BYTES)
		return -E2BIG;
	if (len >= left)
		strbuf_append(&names->text, zeros, left);
	*at_out = (uint32_t)names->text.len;
	strbuf_append(&names->text, text, len);
	strbuf_putc(&names->text, '\0');
	return strbuf_error(&names->text);
}

static size_t block_bytes(const struct strbuf *text, size_t block)
{
	size_t left = text->len - block * BLOCK_BYTES;

	return left < BLOCK_BYTES ? left : BLOCK_BYTES;
}

static int pack_block(ZSTD_CCtx *encoder, const struct strbuf *text, size_t block,
		      struct strbuf *packed)
{
	char frame[ZSTD_COMPRESSBOUND(BLOCK_BYTES)];
	size_t len = ZSTD_compressCCtx(encoder, frame, sizeof(frame),
				       text->data + block * BLOCK_BYTES, block_bytes(text, block),
				       COMPRESSION_LEVEL);

	if (ZSTD_isError(len))
		return -ENOMEM;
	strbuf_append(packed, frame, len);
	return strbuf_error(packed);
}

int kallsyms_names__pack(struct kallsyms_names *names)
{
	__cleanup_strbuf struct strbuf packed = STRBUF_INIT;
	size_t cnt = (names->text.len + BLOCK_BYTES - 1) / BLOCK_BYTES;
	__cleanup_free uint32_t *ends = calloc(cnt + 1, sizeof(*ends));
	ZSTD_CCtx *encoder = ZSTD_createCCtx();
	int err = ends && encoder ? 0 : -ENOMEM;

	for (size_t i = 0; i < cnt && !err; i++) {
		err = pack_block(encoder, &names->text, i, &packed);
		ends[i] = (uint32_t)packed.len;
	}
	(void)ZSTD_freeCCtx(encoder);
	if (err)
		return err;
	strbuf_release(&names->text);
	names->packed = packed;
	names->ends = ends;
	names->block_cnt = names->block = cnt;
	packed = (struct strbuf)STRBUF_INIT;
	ends = NULL;
	return 0;
}

/* ---- looking up ---- */

static int unpack_block(struct kallsyms_names *names, size_t block)
{
	size_t begin = block ? names->ends[block - 1] : 0, len;
	int err = strbuf_reserve(&names->text, BLOCK_BYTES);

	if (!names->decoder)
		names->decoder = ZSTD_createDCtx();
	if (err || !names->decoder)
		return -ENOMEM;
	names->block = names->block_cnt;
	len = ZSTD_decompressDCtx(names->decoder, names->text.data, BLOCK_BYTES,
				  names->packed.data + begin, names->ends[block] - begin);
	if (ZSTD_isError(len))
		return -ENOMEM;
	names->block = block;
	return 0;
}

const char *kallsyms_names__get(struct kallsyms_names *names, uint32_t at)
{
	size_t block = at / BLOCK_BYTES;

	if (!names->ends)
		return names->text.data + at;
	if (block != names->block && unpack_block(names, block))
		return NULL;
	return names->text.data + at % BLOCK_BYTES;
}

size_t kallsyms_names__bytes(const struct kallsyms_names *names)
{
	return sizeof(*names) + names->text.cap + names->packed.cap +
	       names->block_cnt * sizeof(*names->ends) +
	       (names->decoder ? ZSTD_sizeof_DCtx(names->decoder) : 0);
}
