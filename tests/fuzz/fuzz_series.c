// SPDX-License-Identifier: Apache-2.0
/*
 * Feeds the reader of the daily series files, and texts of sections in a sound envelope (zstd frame and
 * checksums are made right), so that what lies behind the checksums is reached. What is decoded must
 * be what a series may hold, and come out the same when it is written and read again.
 *
 *     make fuzz                      runs every target for FUZZ_SECONDS (60)
 *     build-fuzz/fuzz_series FILE    runs one input again
 *
 * Input: one byte (odd: the rest is a file, even: a section's text), then the rest.
 */
#include <endian.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "user/store/format/crc32c.h"
#include "user/store/series/series_format.h"
#include "user/util/strbuf.h"

#define KEY	     "service=shop"
#define TEXT_MAX     (1u << 20)
#define HEADER_BYTES 28

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool is_true)
{
	if (!is_true)
		abort();
}

static void put_u32(uint8_t *to, uint32_t value)
{
	value = htole32(value);
	memcpy(to, &value, sizeof(value));
}

static void wrap(const uint8_t *text, size_t len, struct strbuf *out)
{
	uint8_t header[HEADER_BYTES] = "JBPFSER\x01\0\0\1";
	size_t bound = ZSTD_compressBound(len);
	void *frame = malloc(bound);
	size_t frame_len;

	require(frame != NULL);
	frame_len = ZSTD_compress(frame, bound, text, len, 1);
	require(!ZSTD_isError(frame_len));
	put_u32(header + 12, (uint32_t)frame_len);
	put_u32(header + 16, (uint32_t)len);
	put_u32(header + 20, crc32c(frame, frame_len));
	put_u32(header + 24, crc32c(header, 24));
	strbuf_append(out, header, sizeof(header));
	strbuf_append(out, frame, frame_len);
	free(frame);
}

static void check_days(const struct series *series)
{
	size_t cnt = 0;
	const struct series_day *days = series__days(series, &cnt);

	require(cnt <= SERIES_DAYS_MAX);
	for (size_t i = 0; i < cnt; i++) {
		require(i == 0 || days[i].day > days[i - 1].day);
		require(days[i].row_cnt <= SERIES_ROWS_MAX);
		for (size_t r = 0; r < days[i].row_cnt; r++) {
			const struct series_row *row = &days[i].rows[r];

			require(row->item < series__item_count(series));
			require(r == 0 || row->item > row[-1].item);
			require(isfinite(row->value) && row->variance >= 0);
			require(series__item(series, row->item).name_len <= SERIES_NAME_MAX);
		}
	}
}

static void check_again(const struct series *series)
{
	struct series_damage damage;
	struct series *again = series__new();
	struct strbuf bytes = STRBUF_INIT;
	size_t cnt = 0, again_cnt = 0;

	require(again != NULL && series_format_encode(series, KEY, &bytes) == 0);
	require(series_format_decode(bytes.data, bytes.len, KEY, again, &damage) == 0);
	(void)series__days(series, &cnt);
	(void)series__days(again, &again_cnt);
	require(cnt == again_cnt);
	strbuf_release(&bytes);
	series__free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct series_damage damage;
	struct series *series;
	struct strbuf bytes = STRBUF_INIT;
	int result;

	if (len < 1 || len > TEXT_MAX)
		return 0;
	series = series__new();
	require(series != NULL);
	if (*data & 1)
		strbuf_append(&bytes, data + 1, len - 1);
	else
		wrap(data + 1, len - 1, &bytes);
	result = series_format_decode(strbuf_str(&bytes), bytes.len, KEY, series, &damage);
	check_days(series);
	if (result == 0 || result == 1)
		check_again(series);
	series__free(series);
	strbuf_release(&bytes);
	return 0;
}
