// SPDX-License-Identifier: Apache-2.0
/*
 * Feeds stacks of any bytes to what makes names canonical. Whatever comes in: no frame is empty, has control
 * bytes or is longer than a name may be, and the same stack gives the same frames again.
 *
 *     make fuzz                        runs every target for FUZZ_SECONDS (60)
 *     build-fuzz/fuzz_diff_spelling FILE  runs one input again
 *
 * Input: stacks, one a line.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "user/diff/diff_spelling.h"
#include "user/model/stack_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool is_true)
{
	if (!is_true)
		abort();
}

static void check_frame(const struct stack_frame *frame)
{
	require(frame->text_len > 0 && frame->name_len <= STACK_TEXT_NAME_BYTES);
	for (size_t i = 0; i < frame->text_len; i++) {
		require((uint8_t)frame->text[i] >= 0x20 && frame->text[i] != 0x7f);
		require(frame->text[i] != ';');
	}
}

/* Twice, and the second time each frame is the one that it was. */
static void check(struct diff_spelling *spelling, const char *stack, size_t len)
{
	struct diff_spelling_walk first, again;
	struct stack_frame frame;
	uint32_t id = 0, same = 0;

	(void)diff_spelling_begins_with_code(stack, len);
	diff_spelling_walk(&first, stack, len);
	diff_spelling_walk(&again, stack, len);
	while (diff_spelling__next(spelling, &first, &id) == 1) {
		require(diff_spelling__next(spelling, &again, &same) == 1 && same == id);
		diff_spelling__frame(spelling, id, &frame);
		check_frame(&frame);
	}
	require(diff_spelling__next(spelling, &again, &same) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct diff_spelling *spelling = diff_spelling__new();
	const char *text = (const char *)data;
	const char *end = text + len;

	if (!spelling)
		return 0;
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t line_len = newline ? (size_t)(newline - text) : (size_t)(end - text);

		check(spelling, text, line_len);
		text += line_len + 1;
	}
	diff_spelling__free(spelling);
	return 0;
}
