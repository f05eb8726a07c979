// SPDX-License-Identifier: Apache-2.0
/*
 * Folded text of any bytes into a profile and out again. No sample is lost or made, what is written
 * is what flamegraph.pl and Pyroscope can read, and reading it again changes nothing. Names of
 * frames come back from a stack as they went in, escaped once.
 *
 * Input: one byte (modulo 3: a text of stacks, names of frames with a byte of their kind in front,
 * a text of source lines), then that.
 */
#include "tests/fuzz/fuzz.h"
#include "user/model/profile.h"
#include "user/model/source_lines.h"
#include "user/model/stack_text.h"
#include "user/output/output.h"

#define LINE_MAX_BYTES (64u * 1024) /* Pyroscope's */

/* "12" behind the last blank. */
static bool ends_in_count(const char *text, size_t len, size_t *stack_len, uint64_t *count)
{
	size_t at = len;

	*count = 0;
	while (at && text[at - 1] >= '0' && text[at - 1] <= '9')
		at--;
	for (size_t i = at; i < len; i++) {
		if (__builtin_mul_overflow(*count, 10, count) ||
		    __builtin_add_overflow(*count, (uint64_t)(text[i] - '0'), count))
			return false;
	}
	*stack_len = at ? at - 1 : 0;
	return at < len && at > 1 && text[at - 1] == ' ' && len - at <= 20;
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

/* Samples of the lines that are "stack count"; *is_huge: counts did not fit. */
static uint64_t count_samples(const char *text, size_t len, size_t *bad_cnt)
{
	uint64_t sum = 0;

	*bad_cnt = 0;
	while (len) {
		const char *newline = memchr(text, '\n', len);
		size_t line = newline ? (size_t)(newline - text) : len, stack_len;
		uint64_t count;

		if (newline && ends_in_count(text, line, &stack_len, &count) &&
		    (!count || !memchr(text, '\0', stack_len)))
			sum = add(sum, count);
		else
			(*bad_cnt)++;
		text += line + (newline != NULL);
		len -= line + (newline != NULL);
	}
	return sum;
}

/* One line as the tools want it. */
static void check_line(const char *line, size_t len)
{
	const char *at = line;
	size_t stack_len, left;
	struct stack_frame frame;
	uint64_t count;

	must(len < LINE_MAX_BYTES && line[0] != '#');
	must(ends_in_count(line, len, &stack_len, &count) && count);
	must(fuzz_is_clean(line, stack_len, ""));
	/* Two columns would be a comparison. */
	must(!ends_in_count(line, stack_len, &left, &count));
	must(line[0] != ';' && line[stack_len - 1] != ';');
	must(!memmem(line, stack_len, ";;", 2));
	for (left = stack_len; stack_text_next(&at, &left, &frame);)
		must(frame.text_len && frame.name_len <= frame.text_len);
}

static void check_text(const char *text, size_t len)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT, again __cleanup_strbuf = STRBUF_INIT;
	struct profile *profile = profile__new(), *second = profile__new();
	size_t bad_cnt, wanted_bad_cnt;
	uint64_t samples = count_samples(text, len, &wanted_bad_cnt);
	const char *previous = NULL;

	must(profile && second);
	must(profile__add_folded(profile, text, len, &bad_cnt) == 0);
	must(bad_cnt == wanted_bad_cnt && profile__sample_count(profile) == samples);
	must(output_folded(profile, &out) == 0);
	for (const char *at = strbuf_str(&out); *at; at = strchr(at, '\n') + 1) {
		const char *newline = strchr(at, '\n');

		must(newline);
		check_line(at, (size_t)(newline - at));
		previous = at;
	}
	must(!previous == !samples);
	must(profile__add_folded(second, strbuf_str(&out), out.len, &bad_cnt) == 0);
	must(bad_cnt == 0);
	if (samples < UINT64_MAX)
		must(profile__sample_count(second) == samples);
	must(output_folded(second, &again) == 0);
	must(strcmp(strbuf_str(&out), strbuf_str(&again)) == 0);
	profile__sort(second);
	for (size_t i = 1; i < profile__stack_count(second); i++)
		must(strcmp(profile__stack(second, i - 1).text, profile__stack(second, i).text) <
		     0);
	profile__free(profile);
	profile__free(second);
}

/* Appended names come back, and appending what came back changes nothing. */
static void check_names(struct fuzz_input input)
{
	struct strbuf stack __cleanup_strbuf = STRBUF_INIT, again __cleanup_strbuf = STRBUF_INIT;
	size_t cnt = 0, left;
	struct stack_frame frame, leaf;
	const char *at;

	while (input.left) {
		enum frame_kind kind = (enum frame_kind)(fuzz_u8(&input) % FRAME_KIND_CNT);
		char *name = fuzz_text(&input, '\n');
		size_t before = stack.len;
		int err = stack_text_append(&stack, name, kind);

		free(name);
		must(err == 0 || err == -E2BIG);
		must(stack.len <= STACK_TEXT_MAX_BYTES && (!err || stack.len == before));
		if (err)
			break;
		cnt++;
		must(stack_text_leaf(stack.data, stack.len, &leaf) && leaf.kind == kind);
		must(leaf.name_len && leaf.name_len <= STACK_TEXT_NAME_BYTES);
	}
	must(fuzz_is_clean(strbuf_str(&stack), stack.len, ""));
	at = strbuf_str(&stack);
	for (left = stack.len; stack_text_next(&at, &left, &frame); cnt--) {
		char *name = strndup(frame.name, frame.name_len);

		must(name && frame.name_len);
		must(stack_text_append(&again, name, frame.kind) == 0);
		free(name);
	}
	must(cnt == 0 && again.len == stack.len);
	must(strcmp(strbuf_str(&again), strbuf_str(&stack)) == 0);
}

static void check_source_lines(const char *text, size_t len)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT, again __cleanup_strbuf = STRBUF_INIT;
	struct source_lines *lines = source_lines__new(16), *second = source_lines__new(0);
	size_t bad_cnt = 0;

	must(lines && second);
	must(source_lines__add_text(lines, text, len, &bad_cnt) == 0);
	must(source_lines__count(lines) <= 16);
	must(source_lines__sort(lines) == 0);
	for (size_t i = 0; i < source_lines__count(lines); i++) {
		struct source_line row = source_lines__get(lines, i);

		must(row.samples && row.name_len && row.file_len);
		must(!i || row.samples <= source_lines__get(lines, i - 1).samples);
	}
	must(source_lines__to_text(lines, &out) == 0);
	bad_cnt = 0;
	must(source_lines__add_text(second, strbuf_str(&out), out.len, &bad_cnt) == 0);
	must(bad_cnt == 0 && source_lines__count(second) == source_lines__count(lines));
	must(source_lines__left_out(second) == source_lines__left_out(lines));
	must(source_lines__to_text(second, &again) == 0);
	must(out.len == again.len && strcmp(strbuf_str(&out), strbuf_str(&again)) == 0);
	source_lines__free(lines);
	source_lines__free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_input input = { data, len };

	switch (fuzz_u8(&input) % 3) {
	case 0:
		check_text((const char *)input.at, input.left);
		break;
	case 1:
		check_names(input);
		break;
	default:
		check_source_lines((const char *)input.at, input.left);
	}
	return 0;
}
