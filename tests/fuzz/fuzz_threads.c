// SPDX-License-Identifier: Apache-2.0
/*
 * Codes of threads of any bytes: refused, or each line's parts add up to its samples under names
 * that end, and what is read is read again from a code made of it. See
 * tests/fuzz/fuzz_leaf_repair.c for how to run it.
 *
 * Input: samples of the lines (1 byte), how many lines the text has (1 byte), the code.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/must.h"
#include "user/model/thread_counts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Sum over all parts of name, line and samples, in whatever order; `counts`: all is put there, too. */
static uint64_t read_all(const uint8_t *code, size_t len, uint32_t line_cnt, uint64_t samples,
			 struct thread_counts *counts, int *err)
{
	struct thread_reader reader = { .names = NULL };
	struct thread_part part;
	uint64_t sum = 0;

	*err = thread_reader_open(&reader, code, len);
	must(*err == 0 || *err == -EINVAL);
	for (uint32_t line = 0; line < line_cnt; line++) {
		uint64_t left = samples;

		thread_reader_line(&reader, samples);
		while (thread_reader_next(&reader, &part)) {
			must(part.count <= left);
			left -= part.count;
			must(!part.name ||
			     (part.len <= THREAD_NAME_BYTES && strlen(part.name) == part.len));
			must(!*err || !part.name);
			for (size_t i = 0; part.name && i < part.len; i++)
				sum += part.count * (line + 1) * (i + 1) * (uint8_t)part.name[i];
			if (counts)
				must(thread_counts__add(counts, line, part.name, part.len,
							part.count) == 0);
		}
		must(left == 0);
	}
	thread_reader_release(&reader);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct thread_counts *counts = thread_counts__new(0);
	struct strbuf again = STRBUF_INIT;
	uint64_t samples, sum;
	uint32_t line_cnt;
	int err;

	must(counts != NULL);
	if (len >= 2) {
		samples = data[0] + 1u;
		line_cnt = data[1];
		sum = read_all(data + 2, len - 2, line_cnt, samples, counts, &err);
		must(thread_counts__encode(counts, NULL, &again) == 0);
		must(read_all((const uint8_t *)strbuf_str(&again), again.len, line_cnt, samples,
			      NULL, &err) == sum);
		must(err == 0);
	}
	strbuf_release(&again);
	thread_counts__free(counts);
	return 0;
}
