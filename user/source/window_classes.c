// SPDX-License-Identifier: Apache-2.0
/* See window_classes.h. */
#include "user/source/window_classes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/saturate.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

struct window_classes {
	const struct store_visitor *visitor;
	struct strtab *streams;
	uint32_t *numbers; /* of the class of each stream */
	size_t stream_cnt;
	size_t stream_cap;
	struct window_class *items;
	size_t cnt;
	size_t cap;
};

struct window_classes *window_classes__new(const struct store_visitor *visitor)
{
	struct window_classes *classes = calloc(1, sizeof(*classes));

	if (!classes)
		return NULL;
	classes->visitor = visitor;
	classes->streams = strtab__new();
	if (classes->streams)
		return classes;
	free(classes);
	return NULL;
}

void window_classes__free(struct window_classes *classes)
{
	if (!classes)
		return;
	strtab__free(classes->streams);
	free(classes->numbers);
	free(classes->items);
	free(classes);
}

static bool is_of(const struct window_classes *classes, size_t number, const struct window *window)
{
	const struct window *first = classes->items[number].window;

	return strcmp(window_row_service(first), window_row_service(window)) == 0 &&
	       classes->visitor->same(classes->visitor->ctx, first, window);
}

/* The class of a stream that is new. */
static int find_class(struct window_classes *classes, const struct window *window, uint32_t *out)
{
	size_t number = 0;

	while (number < classes->cnt && !is_of(classes, number, window))
		number++;
	if (number == classes->cnt) {
		if (classes->cnt == WINDOW_CLASSES_MAX)
			return -ENOTSUP;
		if (vec_room(classes->items, classes->cnt, classes->cap, 16))
			return -ENOMEM;
		classes->items[classes->cnt++] = (struct window_class){ .window = window };
	}
	*out = (uint32_t)number;
	return 0;
}

bool window_classes__has(const struct window_classes *classes, uint64_t stream)
{
	return strtab__find(classes->streams, &stream, sizeof(stream)) != STRTAB_NONE;
}

int window_classes__add(struct window_classes *classes, const struct window_row *row)
{
	struct window_class *found;
	uint32_t stream;
	int err = strtab__intern(classes->streams, &row->stream, sizeof(row->stream), &stream);

	if (!err && stream == classes->stream_cnt) {
		err = vec_room(classes->numbers, classes->stream_cnt, classes->stream_cap, 64);
		if (!err)
			err = find_class(classes, &row->window, &classes->numbers[stream]);
		if (!err)
			classes->stream_cnt++;
	} else if (!err && !is_of(classes, classes->numbers[stream], &row->window)) {
		err = -ENOTSUP;
	}
	if (err)
		return err;
	found = &classes->items[classes->numbers[stream]];
	found->samples = add_saturated(found->samples, row->window.counts.samples);
	return 0;
}

size_t window_classes__cnt(const struct window_classes *classes)
{
	return classes->cnt;
}

const struct window_class *window_classes__get(const struct window_classes *classes, size_t number)
{
	return &classes->items[number];
}

size_t window_classes__of_service(const struct window_classes *classes, const char *service)
{
	size_t found = SIZE_MAX, cnt = 0;

	for (size_t i = 0; i < classes->cnt; i++) {
		if (strcmp(window_row_service(classes->items[i].window), service) != 0)
			continue;
		found = i;
		cnt++;
	}
	return cnt == 1 ? found : SIZE_MAX;
}

bool window_classes__are_services(const struct window_classes *classes)
{
	for (size_t i = 0; i < classes->cnt; i++)
		if (window_classes__of_service(
			    classes, window_row_service(classes->items[i].window)) == SIZE_MAX)
			return false;
	return true;
}

void window_classes__put_streams(const struct window_classes *classes, struct strbuf *streams,
				 struct strbuf *numbers)
{
	char sign = '[';

	for (size_t i = 0; i < classes->stream_cnt; i++) {
		uint64_t stream;

		memcpy(&stream, strtab__get(classes->streams, (uint32_t)i, NULL), sizeof(stream));
		/* So that all of them have the type of the column. */
		strbuf_printf(streams, "%ctoUInt64(%" PRIu64 ")", sign, stream);
		strbuf_printf(numbers, "%ctoUInt64(%" PRIu32 ")", sign, classes->numbers[i]);
		sign = ',';
	}
	strbuf_putc(streams, ']');
	strbuf_putc(numbers, ']');
}
