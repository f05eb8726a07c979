// SPDX-License-Identifier: Apache-2.0
/* Checks, searches and digests of unwind tables; see unwind_table.h. unwind_build.c makes them. */
#include "symbols/unwind/unwind_table.h"

#include <stdlib.h>

#include "symbols/unwind/sha256.h"

#define PAGE_BYTES (1ull << JBPF_UNWIND_PAGE_SHIFT)

void unwind_table_release(struct unwind_table *table)
{
	free(table->words);
	*table = (struct unwind_table){ .words = NULL };
}

static uint32_t page_first(uint32_t page)
{
	return page >> JBPF_UNWIND_PAGE_CNT_BITS;
}

static uint32_t page_rows(uint32_t page)
{
	return (page & ((1u << JBPF_UNWIND_PAGE_CNT_BITS) - 1)) + 1;
}

static bool row_is_valid(uint32_t row)
{
	uint32_t kind = row >> JBPF_ROW_KIND_SHIFT & JBPF_ROW_KIND_MASK;
	uint32_t slot = row >> JBPF_ROW_SLOT_SHIFT & JBPF_ROW_SLOT_MASK;
	uint32_t value = row >> JBPF_ROW_VALUE_SHIFT;

	if (kind != JBPF_ROW_SPECIAL)
		return kind <= JBPF_ROW_BIG;
	return value <= JBPF_SPECIAL_UNSUPPORTED && (slot == 0 || value == JBPF_SPECIAL_FRAME);
}

static bool rows_are_valid(const uint32_t *rows, uint32_t cnt)
{
	if ((rows[0] & JBPF_ROW_PC_MASK) != 0)
		return false;
	for (uint32_t i = 0; i < cnt; i++)
		if (!row_is_valid(rows[i]) ||
		    (i && (rows[i] & JBPF_ROW_PC_MASK) <= (rows[i - 1] & JBPF_ROW_PC_MASK)))
			return false;
	return true;
}

bool unwind_table_is_valid(const struct unwind_table *table)
{
	uint32_t end = table->page_cnt, row_cnt = 0;

	if (!table->words || table->page_cnt == 0 || table->word_cnt < table->page_cnt ||
	    table->word_cnt > JBPF_UNWIND_MAX_WORDS || table->address % PAGE_BYTES ||
	    table->address > UINT64_MAX - table->page_cnt * PAGE_BYTES)
		return false;
	for (uint32_t i = 0; i < table->page_cnt; i++) {
		uint32_t first = page_first(table->words[i]);
		uint32_t cnt = page_rows(table->words[i]);

		if (table->words[i] == 0)
			continue;
		/* No row belongs to two pages, so that looking at all of them takes no longer than reading. */
		if (first < end || first > table->word_cnt || cnt > table->word_cnt - first ||
		    first / JBPF_UNWIND_CHUNK_WORDS !=
			    (first + cnt - 1) / JBPF_UNWIND_CHUNK_WORDS ||
		    !rows_are_valid(table->words + first, cnt))
			return false;
		end = first + cnt;
		row_cnt += cnt;
	}
	return row_cnt == table->row_cnt;
}

uint32_t unwind_table_row(const struct unwind_table *table, uint64_t address)
{
	const uint32_t none = jbpf_row(0, JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_NONE);
	uint64_t page = (address - table->address) >> JBPF_UNWIND_PAGE_SHIFT;
	uint32_t pc = (uint32_t)address & JBPF_ROW_PC_MASK;
	uint32_t low = 0, high;
	const uint32_t *rows;

	if (address < table->address || page >= table->page_cnt || table->words[page] == 0)
		return none;
	rows = table->words + page_first(table->words[page]);
	high = page_rows(table->words[page]);
	/* The last one at or before pc; the first is of pc 0. */
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if ((rows[middle] & JBPF_ROW_PC_MASK) <= pc)
			low = middle;
		else
			high = middle;
	}
	return rows[low];
}

void unwind_table_digest(const struct unwind_table *table, uint8_t out[32])
{
	const uint64_t head[] = { table->address, table->page_cnt, table->word_cnt };
	struct sha256 sha;

	_Static_assert(SHA256_BYTES == 32, "a digest of SHA-256");
	sha256_init(&sha);
	sha256_add(&sha, head, sizeof(head));
	sha256_add(&sha, table->words, table->word_cnt * sizeof(*table->words));
	sha256_end(&sha, out);
}
