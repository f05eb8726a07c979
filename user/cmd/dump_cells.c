// SPDX-License-Identifier: Apache-2.0
/* See dump_cells.h. */
#include "user/cmd/dump_cells.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "user/util/clock.h"

#define CELLS_PER_S (CLOCK_NS_PER_S / CELL_NS)
#define CELL_MS	    (CELL_NS / CLOCK_NS_PER_MS)

int dump_cells_init(struct dump_cells *cells)
{
	*cells = (struct dump_cells){ .sum = cells_sum__new() };
	return cells->sum ? 0 : -ENOMEM;
}

void dump_cells_release(struct dump_cells *cells)
{
	cells_sum__free(cells->sum);
	cells->sum = NULL;
}

static uint64_t samples_in(const struct window *window)
{
	struct cells_reader reader = cells_reader_init(window->cells, window->cells_len);
	uint64_t samples = 0;
	struct cell cell;

	while (cells_next(&reader, &cell))
		samples += cell.count;
	return samples;
}

int dump_cells_add(struct dump_cells *cells, const struct window *window)
{
	int err =
		cells_sum__add(cells->sum, window->start_unix_ns, window->cells, window->cells_len);

	if (err == -ENOMEM)
		return err;
	cells->samples += window->counts.samples;
	if (err)
		cells->bad_cnt++;
	else
		cells->in_cells += samples_in(window);
	return 0;
}

/* Most cells are of the same second as the one before: its text is kept. */
struct second {
	time_t unix_s;
	char text[64];
};

static void line_put(const struct cell_total *cell, struct second *second, struct strbuf *out)
{
	const time_t unix_s = (time_t)(cell->number / CELLS_PER_S);
	struct tm parts;

	if (unix_s != second->unix_s || !second->text[0]) {
		second->unix_s = unix_s;
		if (!gmtime_r(&unix_s, &parts) ||
		    !strftime(second->text, sizeof(second->text), "%Y-%m-%dT%H:%M:%S", &parts))
			return; /* no store has such a second */
	}
	strbuf_printf(out, "%s.%03uZ %" PRIu64 "\n", second->text,
		      (unsigned int)(cell->number % CELLS_PER_S * CELL_MS), cell->count);
}

int dump_cells_text(struct dump_cells *cells, const struct selection *range, struct strbuf *out)
{
	uint64_t since = range->since_unix_ns, until = range->until_unix_ns;
	struct second second = { 0 };
	size_t cnt;
	const struct cell_total *totals = cells_sum__view(cells->sum, &cnt);

	for (size_t i = 0; i < cnt; i++) {
		uint64_t begin = totals[i].number * CELL_NS;

		if (begin + CELL_NS > since && begin < until)
			line_put(&totals[i], &second, out);
	}
	return strbuf_error(out);
}
