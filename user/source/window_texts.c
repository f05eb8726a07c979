// SPDX-License-Identifier: Apache-2.0
/* See window_texts.h. */
#include "user/source/window_texts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/saturate.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

struct line {
	const char *stack; /* of window_texts.stacks */
	size_t len;
	uint64_t samples;
};

struct window_texts {
	struct strtab *keys;   /* hash and service -> number */
	struct strtab *stacks; /* their texts */
	uint32_t *numbers;     /* from a key's to its stack's */
	size_t cnt;
	size_t cap;
	struct line *lines; /* of the window */
	size_t line_cnt;
	size_t line_cap;
	struct strbuf key;
	struct strbuf text;
};

struct window_texts *window_texts__new(void)
{
	struct window_texts *texts = calloc(1, sizeof(*texts));

	if (!texts)
		return NULL;
	texts->keys = strtab__new();
	texts->stacks = strtab__new();
	if (texts->keys && texts->stacks)
		return texts;
	window_texts__free(texts);
	return NULL;
}

void window_texts__free(struct window_texts *texts)
{
	if (!texts)
		return;
	strtab__free(texts->keys);
	strtab__free(texts->stacks);
	free(texts->numbers);
	free(texts->lines);
	strbuf_release(&texts->key);
	strbuf_release(&texts->text);
	free(texts);
}

static int make_key(struct window_texts *texts, const char *service, size_t len, uint64_t hash)
{
	strbuf_clear(&texts->key);
	strbuf_append(&texts->key, &hash, sizeof(hash));
	strbuf_append(&texts->key, service, len);
	return strbuf_error(&texts->key);
}

int window_texts__add_stack(struct window_texts *texts, const char *service, size_t service_len,
			    uint64_t hash, const char *stack, size_t len)
{
	uint32_t key, number;
	int err = make_key(texts, service, service_len, hash);

	/* Room first: what is in one table is in the others. */
	if (!err)
		err = vec_room(texts->numbers, texts->cnt, texts->cap, 1024);
	if (!err)
		err = strtab__intern(texts->stacks, stack, len, &number);
	if (!err)
		err = strtab__intern(texts->keys, texts->key.data, texts->key.len, &key);
	if (err)
		return err == -E2BIG ? -ENOMEM : err;
	if (key < texts->cnt)
		return texts->numbers[key] == number ? 0 : -EEXIST;
	texts->numbers[texts->cnt++] = number;
	return 0;
}

bool window_texts__has(struct window_texts *texts, const char *service, size_t service_len,
		       uint64_t hash)
{
	return !make_key(texts, service, service_len, hash) &&
	       strtab__find(texts->keys, texts->key.data, texts->key.len) != STRTAB_NONE;
}

int window_texts__add_samples(struct window_texts *texts, const char *service, size_t service_len,
			      uint64_t hash, uint64_t samples)
{
	int err = make_key(texts, service, service_len, hash);
	struct line *line;
	uint32_t key;

	if (err)
		return err;
	key = strtab__find(texts->keys, texts->key.data, texts->key.len);
	if (key == STRTAB_NONE)
		return -ENOENT;
	err = vec_room(texts->lines, texts->line_cnt, texts->line_cap, 256);
	if (err)
		return err;
	line = &texts->lines[texts->line_cnt++];
	line->stack = strtab__get(texts->stacks, texts->numbers[key], &line->len);
	line->samples = samples;
	return 0;
}

static int compare_lines(const void *left, const void *right)
{
	const struct line *a = left, *b = right;

	return strcmp(a->stack, b->stack);
}

int window_texts__take(struct window_texts *texts, const struct strbuf **text, uint64_t *samples)
{
	uint64_t sum = 0;

	strbuf_clear(&texts->text);
	if (texts->line_cnt)
		qsort(texts->lines, texts->line_cnt, sizeof(*texts->lines), compare_lines);
	for (size_t i = 0; i < texts->line_cnt; i++) {
		/* Not by a format: a stack has a thousand bytes, which printf copies one by one. */
		strbuf_append(&texts->text, texts->lines[i].stack, texts->lines[i].len);
		strbuf_printf(&texts->text, " %" PRIu64 "\n", texts->lines[i].samples);
		sum = add_saturated(sum, texts->lines[i].samples);
	}
	texts->line_cnt = 0;
	if (strbuf_error(&texts->text))
		return strbuf_error(&texts->text);
	*text = &texts->text;
	*samples = sum;
	return 0;
}
