// SPDX-License-Identifier: Apache-2.0
/* See window_texts.h. */
#include "user/source/window_texts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/util/saturate.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

struct line {
	const char *stack; /* of window_texts.stacks: equal ones are one text */
	size_t len;
	uint64_t samples;
	bool is_ambiguous;
};

/* What a key stands for. */
struct key_stack {
	uint32_t number; /* of the stack's text */
	bool is_ambiguous;
};

struct window_texts {
	struct strtab *keys;   /* hash and service -> number */
	struct strtab *stacks; /* their texts */
	struct key_stack *of;  /* by the key's number */
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
	free(texts->of);
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

static size_t process_len(const char *stack, size_t len)
{
	const char *separator = memchr(stack, ';', len);

	return separator ? (size_t)(separator - stack) : 0;
}

/* The key has another text already. 0 or -ENOMEM. */
static int make_ambiguous(struct window_texts *texts, struct key_stack *of, const char *stack,
			  size_t len)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	size_t known_len, process = process_len(stack, len);
	const char *known = strtab__get(texts->stacks, of->number, &known_len);
	uint32_t number;

	if (process && process == process_len(known, known_len) &&
	    memcmp(known, stack, process) == 0)
		strbuf_append(&text, stack, process + 1);
	strbuf_puts(&text, WINDOW_TEXTS_AMBIGUOUS);
	if (strbuf_error(&text) || strtab__intern(texts->stacks, text.data, text.len, &number))
		return -ENOMEM;
	*of = (struct key_stack){ .number = number, .is_ambiguous = true };
	return 0;
}

int window_texts__add_stack(struct window_texts *texts, const char *service, size_t service_len,
			    uint64_t hash, const char *stack, size_t len)
{
	uint32_t key, number;
	int err = make_key(texts, service, service_len, hash);

	/* Room first: what is in one table is in the others. */
	if (!err)
		err = vec_room(texts->of, texts->cnt, texts->cap, 1024);
	if (!err)
		err = strtab__intern(texts->stacks, stack, len, &number);
	if (!err)
		err = strtab__intern(texts->keys, texts->key.data, texts->key.len, &key);
	if (err)
		return err == -E2BIG ? -ENOMEM : err;
	if (key == texts->cnt)
		texts->of[texts->cnt++] = (struct key_stack){ .number = number };
	else if (texts->of[key].number != number)
		return make_ambiguous(texts, &texts->of[key], stack, len);
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
	line->stack = strtab__get(texts->stacks, texts->of[key].number, &line->len);
	line->samples = samples;
	line->is_ambiguous = texts->of[key].is_ambiguous;
	return 0;
}

static int compare_lines(const void *left, const void *right)
{
	const struct line *a = left, *b = right;

	return strcmp(a->stack, b->stack);
}

/* Lines of one text become one, which only those of ambiguous stacks have. */
static void add_equal_lines(struct window_texts *texts)
{
	size_t cnt = 0;

	for (size_t i = 0; i < texts->line_cnt; i++) {
		struct line *last = cnt ? &texts->lines[cnt - 1] : NULL;

		if (last && last->is_ambiguous && last->stack == texts->lines[i].stack)
			last->samples = add_saturated(last->samples, texts->lines[i].samples);
		else
			texts->lines[cnt++] = texts->lines[i];
	}
	texts->line_cnt = cnt;
}

int window_texts__take(struct window_texts *texts, const struct strbuf **text,
		       struct window_texts_sum *sum)
{
	struct window_texts_sum all = { 0 };

	strbuf_clear(&texts->text);
	if (texts->line_cnt)
		qsort(texts->lines, texts->line_cnt, sizeof(*texts->lines), compare_lines);
	add_equal_lines(texts);
	for (size_t i = 0; i < texts->line_cnt; i++) {
		/* Not by a format: a stack has a thousand bytes, which printf copies one by one. */
		strbuf_append(&texts->text, texts->lines[i].stack, texts->lines[i].len);
		strbuf_printf(&texts->text, " %" PRIu64 "\n", texts->lines[i].samples);
		all.samples = add_saturated(all.samples, texts->lines[i].samples);
		if (texts->lines[i].is_ambiguous)
			all.ambiguous = add_saturated(all.ambiguous, texts->lines[i].samples);
	}
	texts->line_cnt = 0;
	if (strbuf_error(&texts->text))
		return strbuf_error(&texts->text);
	*text = &texts->text;
	*sum = all;
	return 0;
}
