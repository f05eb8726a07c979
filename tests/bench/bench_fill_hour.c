// SPDX-License-Identifier: Apache-2.0
/*
 * Makes a store that holds the last hour out of one that holds a minute: its windows are repeated,
 * with their times moved. Usage: bench_fill_hour FROM TO
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/store/store.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define HOUR_NS (3600 * CLOCK_NS_PER_S)

struct copy {
	struct window window;
	char *text;
	size_t len;
};

struct copies {
	struct copy *items;
	size_t cnt;
	size_t cap;
};

static int keep(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct copies *copies = ctx;
	struct copy *copy;

	if (copies->cnt == copies->cap) {
		size_t cap = copies->cap ? copies->cap * 2 : 64;
		struct copy *items = reallocarray(copies->items, cap, sizeof(*items));

		if (!items)
			return -ENOMEM;
		copies->items = items;
		copies->cap = cap;
	}
	copy = &copies->items[copies->cnt];
	copy->window = *window;
	copy->text = malloc(len + 1);
	if (!copy->text)
		return -ENOMEM;
	memcpy(copy->text, text, len);
	copy->len = len;
	for (size_t i = 0; i < WINDOW_LABEL_CNT; i++) {
		if (window->labels[i])
			copy->window.labels[i] = strdup(window->labels[i]);
	}
	copies->cnt++;
	return 0;
}

/* Streams of one window follow each other; returns the index behind the window's last one. */
static size_t window_end(const struct copies *copies, size_t from)
{
	size_t at = from + 1;

	while (at < copies->cnt &&
	       copies->items[at].window.start_unix_ns == copies->items[from].window.start_unix_ns)
		at++;
	return at;
}

static int fill(const struct copies *copies, struct store_writer *writer)
{
	uint64_t end_ns = clock_unix_ns();
	uint64_t at_ns = end_ns - HOUR_NS;
	size_t index = 0;

	while (at_ns < end_ns) {
		size_t end = window_end(copies, index);
		uint64_t lost_samples;
		int err = 0;

		for (; index < end && !err; index++) {
			const struct copy *copy = &copies->items[index];
			struct window window = copy->window;

			window.start_unix_ns = at_ns;
			err = store_writer__add(writer, &window, copy->text, copy->len);
		}
		if (!err)
			err = store_writer__commit(writer, &lost_samples);
		if (err)
			return err;
		at_ns += copies->items[end - 1].window.duration_ns;
		index = end == copies->cnt ? 0 : end;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct store_writer_options options = { .keeps_ticks = true };
	struct copies copies = { 0 };
	struct store_visitor visitor = { .ctx = &copies, .window = keep };
	struct store_reader *reader;
	struct store_writer *writer;
	int err;

	if (argc != 3) {
		fprintf(stderr, "usage: bench_fill_hour FROM TO\n");
		return 2;
	}
	err = store_reader__open(argv[1], &reader);
	if (!err)
		err = store_reader__visit(reader, 0, UINT64_MAX, &visitor);
	if (!err && copies.cnt == 0)
		err = -ENODATA;
	if (!err)
		err = store_writer__open(argv[2], &options, &writer);
	if (!err)
		err = fill(&copies, writer);
	if (err) {
		pr_err("%s -> %s: %s\n", argv[1], argv[2], errstr(err));
		return 1;
	}
	store_writer__free(writer);
	return 0;
}
