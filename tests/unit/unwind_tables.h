/* SPDX-License-Identifier: Apache-2.0 */
/* Unwind tables of a wanted size: each page has one row, that of a frame of some bytes. */
#ifndef JBPF_TESTS_UNWIND_TABLES_H
#define JBPF_TESTS_UNWIND_TABLES_H

#include <stdlib.h>

#include "symbols/unwind/unwind_table.h"

/* End with unwind_table_release(). Another `frame_words` (1 to 500) makes another content. */
static inline struct unwind_table unwind_table_of(uint32_t page_cnt, uint32_t frame_words)
{
	struct unwind_table table = {
		.words = calloc(2u * page_cnt, sizeof(uint32_t)),
		.word_cnt = 2 * page_cnt,
		.page_cnt = page_cnt,
		.row_cnt = page_cnt,
		.address = 0x1000,
	};

	assert_non_null(table.words);
	for (uint32_t i = 0; i < page_cnt; i++) {
		table.words[i] = (page_cnt + i) << JBPF_UNWIND_PAGE_CNT_BITS;
		table.words[page_cnt + i] = jbpf_row(0, JBPF_ROW_SP, 0, frame_words);
	}
	return table;
}

/* So many pages make a table of so many chunks. */
#define PAGES_OF_CHUNKS(cnt) ((cnt)*JBPF_UNWIND_CHUNK_WORDS / 2)

#endif
