// SPDX-License-Identifier: Apache-2.0
/*
 * From rows to windows; see merged_unit.h. A choice is a window that will be handed out: one row,
 * or several of one track whose counts are added up. Rows are visited once, in order, with cursors
 * over their lines; at any time at most one choice of several rows is being added up.
 */
#include "user/store/segment/merged_unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/cells.h"
#include "user/model/thread_counts.h"
#include "user/model/ticks.h"
#include "user/store/format/line_table.h"
#include "user/store/format/limits.h"
#include "user/util/cleanup.h"
#include "user/util/vec.h"

#define NO_CHOICE UINT32_MAX

struct choice {
	struct window window;
	uint32_t last_row;
	uint32_t row_cnt;
	bool is_wanted;
};

enum track_verdict {
	TRACK_NOT_WANTED = 0,
	TRACK_WHOLE = 1, /* wanted as one window, which was asked about */
	TRACK_ROWS = 2,	 /* its windows are to be asked about */
};

struct merged_unit {
	struct strbuf body; /* the table; its windows borrow from here */
	struct rows_table table;
	uint8_t *verdicts; /* enum track_verdict, by track */
	size_t verdict_cap;
	uint32_t track_cnt;
	struct window whole; /* of MERGED_WANTED_WHOLE */
	bool is_whole;
	struct choice *choices;
	size_t choice_cnt;
	size_t choice_cap;
	uint32_t *row_choice; /* by row; NO_CHOICE = it is in none */
	struct line_table stacks;
	struct line_table sources;
	struct strbuf cells;
	struct thread_counts *threads; /* of a choice; NULL = not wanted so far */
	struct strbuf thread_code;
	uint32_t *homes; /* threads by line of the unit's text */
	size_t home_cap;
};

struct merged_unit *merged_unit__new(void)
{
	return calloc(1, sizeof(struct merged_unit));
}

void merged_unit__free(struct merged_unit *unit)
{
	if (!unit)
		return;
	rows_table_release(&unit->table);
	strbuf_release(&unit->body);
	strbuf_release(&unit->cells);
	strbuf_release(&unit->thread_code);
	thread_counts__free(unit->threads);
	free(unit->homes);
	line_table_release(&unit->stacks);
	line_table_release(&unit->sources);
	free(unit->verdicts);
	free(unit->choices);
	free(unit->row_choice);
	free(unit);
}

int merged_unit__load(struct merged_unit *unit, const struct merged_rows_head *head,
		      const uint8_t *frame, size_t frame_len)
{
	int err;

	rows_table_release(&unit->table);
	err = merged_decompress(frame, frame_len, head->body_len, &unit->body);
	if (!err)
		err = rows_table_parse((const uint8_t *)strbuf_str(&unit->body), unit->body.len,
				       head->track_cnt, head->row_cnt, &unit->table);
	return err;
}

/* ---- choosing ---- */

static uint64_t range_end(const struct segment_visitor *visitor)
{
	return visitor->until_unix_ns ? visitor->until_unix_ns : UINT64_MAX;
}

/* As selection_covers(): a window of no length is a moment. */
static bool overlaps(const struct segment_visitor *visitor, const struct window *window)
{
	uint64_t end = window_end_unix_ns(window);

	return window->start_unix_ns < range_end(visitor) &&
	       (end > visitor->since_unix_ns || window->start_unix_ns >= visitor->since_unix_ns);
}

static bool is_inside(const struct segment_visitor *visitor, const struct window *window)
{
	return window->start_unix_ns >= visitor->since_unix_ns &&
	       window_end_unix_ns(window) <= range_end(visitor);
}

static bool is_asked_for(const struct segment_visitor *visitor, const struct window *window)
{
	return visitor->want && visitor->want(visitor->ctx, window);
}

static int reserve_verdicts(struct merged_unit *unit, uint32_t cnt)
{
	uint8_t *verdicts;

	if (cnt > unit->verdict_cap) {
		verdicts = realloc(unit->verdicts, cnt);
		if (!verdicts)
			return -ENOMEM;
		unit->verdicts = verdicts;
		unit->verdict_cap = cnt;
	}
	unit->track_cnt = cnt;
	return 0;
}

static enum track_verdict judge_track(const struct segment_visitor *visitor,
				      const struct window *sum)
{
	if (!visitor->want || !overlaps(visitor, sum) ||
	    (visitor->may_want && !visitor->may_want(visitor->ctx, sum)))
		return TRACK_NOT_WANTED;
	if (visitor->merge_ns != UINT64_MAX || !is_inside(visitor, sum))
		return TRACK_ROWS;
	return is_asked_for(visitor, sum) ? TRACK_WHOLE : TRACK_NOT_WANTED;
}

int merged_unit__choose_tracks(struct merged_unit *unit, const struct segment_visitor *visitor,
			       const struct rows_table *sums, enum merged_wanted *out)
{
	int err = reserve_verdicts(unit, sums->row_cnt);
	bool is_wanted = false;

	if (err)
		return err;
	unit->is_whole = false;
	for (uint32_t i = 0; i < sums->row_cnt; i++) {
		unit->verdicts[i] = (uint8_t)judge_track(visitor, &sums->rows[i]);
		is_wanted |= unit->verdicts[i] != TRACK_NOT_WANTED;
	}
	*out = is_wanted ? MERGED_WANTED_ROWS : MERGED_WANTED_NOTHING;
	/* Without cells and threads, the unit's text and the sum are all there is to say. */
	if (sums->row_cnt == 1 && unit->verdicts[0] == TRACK_WHOLE && !visitor->wants_cells &&
	    !visitor->wants_threads) {
		unit->whole = sums->rows[0];
		unit->is_whole = true;
		*out = MERGED_WANTED_WHOLE;
	}
	return 0;
}

int merged_unit__choose_loaded(struct merged_unit *unit, const struct segment_visitor *visitor,
			       enum merged_wanted *out)
{
	const struct rows_table *table = &unit->table;
	__cleanup_free struct window *rows = calloc(table->track_cnt + 1ul, sizeof(*rows));
	__cleanup_free bool *seen = calloc(table->track_cnt + 1ul, sizeof(*seen));
	struct rows_table sums = { .rows = rows, .row_cnt = table->track_cnt };

	if (!rows || !seen)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->row_cnt; i++) {
		uint32_t track = table->row_track[i];

		if (seen[track])
			rows_merge_window(&rows[track], &table->rows[i]);
		else
			rows[track] = table->rows[i];
		seen[track] = true;
		rows[track].cells = NULL;
		rows[track].cells_len = 0;
	}
	return merged_unit__choose_tracks(unit, visitor, &sums, out);
}

static struct choice *add_choice(struct merged_unit *unit, uint32_t row)
{
	if (vec_room(unit->choices, unit->choice_cnt, unit->choice_cap, 64))
		return NULL;
	unit->row_choice[row] = (uint32_t)unit->choice_cnt;
	unit->choices[unit->choice_cnt] = (struct choice){
		.window = unit->table.rows[row],
		.last_row = row,
		.row_cnt = 1,
	};
	return &unit->choices[unit->choice_cnt++];
}

static bool is_same_slot(const struct segment_visitor *visitor, const struct window *a,
			 const struct window *b)
{
	return visitor->merge_ns &&
	       a->start_unix_ns / visitor->merge_ns == b->start_unix_ns / visitor->merge_ns;
}

/* The row goes to the choice that is open, or makes one. *open is NO_CHOICE or such a choice. */
static int choose_row(struct merged_unit *unit, const struct segment_visitor *visitor, uint32_t row,
		      uint32_t *open)
{
	const struct window *window = &unit->table.rows[row];
	bool is_whole_track = unit->verdicts[unit->table.row_track[row]] == TRACK_WHOLE;
	struct choice *choice = *open == NO_CHOICE ? NULL : &unit->choices[*open];

	if (!is_whole_track && !overlaps(visitor, window))
		return 0;
	if (!is_whole_track && (!visitor->merge_ns || !is_inside(visitor, window)))
		return add_choice(unit, row) ? 0 : -ENOMEM;
	if (choice && (is_whole_track || is_same_slot(visitor, &choice->window, window))) {
		rows_merge_window(&choice->window, window);
		choice->last_row = row;
		choice->row_cnt++;
		unit->row_choice[row] = *open;
		return 0;
	}
	choice = add_choice(unit, row);
	if (!choice)
		return -ENOMEM;
	choice->is_wanted = is_whole_track;
	*open = (uint32_t)(choice - unit->choices);
	return 0;
}

int merged_unit__choose_rows(struct merged_unit *unit, const struct segment_visitor *visitor,
			     bool *out)
{
	const struct rows_table *table = &unit->table;
	uint32_t *row_choice =
		reallocarray(unit->row_choice, table->row_cnt + 1ul, sizeof(*row_choice));
	uint32_t open = NO_CHOICE;
	bool is_wanted = false;

	if (!row_choice)
		return -ENOMEM;
	unit->row_choice = row_choice;
	unit->choice_cnt = 0;
	for (uint32_t i = 0; i < table->row_cnt; i++) {
		uint32_t track = table->row_track[i];
		int err;

		row_choice[i] = NO_CHOICE;
		if (i && track != table->row_track[i - 1])
			open = NO_CHOICE;
		if (track >= unit->track_cnt || unit->verdicts[track] == TRACK_NOT_WANTED)
			continue;
		err = choose_row(unit, visitor, i, &open);
		if (err)
			return err;
	}
	for (size_t i = 0; i < unit->choice_cnt; i++) {
		struct choice *choice = &unit->choices[i];

		choice->window.cells = NULL;
		choice->window.cells_len = 0;
		if (!choice->is_wanted)
			choice->is_wanted = is_asked_for(visitor, &choice->window);
		is_wanted |= choice->is_wanted;
	}
	*out = is_wanted;
	return 0;
}

/* ---- handing out ---- */

/* The samples of a line that another thread than its home has. */
struct part {
	uint64_t line;
	uint64_t thread;
	uint64_t samples;
};

struct delivery {
	struct merged_unit *unit;
	const struct segment_visitor *visitor;
	bool has_sources;
	struct rows_entries stacks;
	struct rows_entries sources;
	bool has_threads;
	struct rows_entries thread_parts; /* at the next row */
	struct varint_reader threads;	  /* of these */
	struct part next;		  /* of the row being taken */
	uint64_t part_cnt;		  /* that are left of it, with `next` */
	struct varint_reader ticks;	  /* of the next row and those behind it */
	bool has_ticks;
	struct cells_sum *cells; /* of the choice that is being added up; NULL = not wanted */
};

static void next_part(struct delivery *delivery)
{
	if (!delivery->part_cnt)
		return;
	delivery->next.line = rows_entries_next(&delivery->thread_parts, &delivery->next.samples);
	delivery->next.thread = varint_get(&delivery->threads);
}

/* The name of a thread's number. -EINVAL: there is none. */
static int add_thread(struct merged_unit *unit, uint64_t line, uint64_t thread, uint64_t samples)
{
	const struct rows_name *name = NULL;

	if (thread > unit->table.thread_name_cnt || line >= unit->stacks.line_cnt)
		return -EINVAL;
	if (thread)
		name = &unit->table.thread_names[thread - 1];
	return thread_counts__add(unit->threads, (uint32_t)line, name ? name->text : NULL,
				  name ? name->len : 0, samples);
}

/* A line's threads: the others as the parts say, and its home with the rest. */
static int take_line_threads(struct delivery *delivery, uint64_t line, uint64_t samples)
{
	struct merged_unit *unit = delivery->unit;
	int err = 0;

	while (!err && delivery->part_cnt && delivery->next.line == line) {
		const struct part *part = &delivery->next;

		if (part->samples > samples || delivery->threads.failed)
			return -EINVAL;
		samples -= part->samples;
		err = add_thread(unit, line, part->thread, part->samples);
		delivery->part_cnt--;
		next_part(delivery);
	}
	if (err || line >= unit->stacks.line_cnt)
		return err ? err : -EINVAL;
	return add_thread(unit, line, unit->homes[line], samples);
}

/* Rows whose lines are in order of the text, as all of ours are, know their threads. */
static int take_threads(struct delivery *delivery, const struct choice *choice)
{
	struct rows_entries entries = delivery->stacks;
	uint64_t cnt = rows_entries_begin_row(&entries), before = UINT64_MAX;
	int err = 0;

	delivery->part_cnt = rows_entries_begin_row(&delivery->thread_parts);
	next_part(delivery);
	for (uint64_t i = 0; choice && i < cnt && !err && !rows_entries_failed(&entries); i++) {
		uint64_t samples, line = rows_entries_next(&entries, &samples);

		if (before != UINT64_MAX && line <= before)
			return -EINVAL;
		before = line;
		err = take_line_threads(delivery, line, samples);
	}
	if (choice && delivery->part_cnt && !err)
		err = -EINVAL;
	/* Steps over the lines of a row that is not wanted. */
	while (delivery->part_cnt && !rows_entries_failed(&delivery->thread_parts)) {
		delivery->part_cnt--;
		next_part(delivery);
	}
	return rows_entries_failed(&delivery->thread_parts) || delivery->threads.failed ? -EINVAL :
											  err;
}

static int begin_threads(struct delivery *delivery, uint32_t line_cnt)
{
	struct merged_unit *unit = delivery->unit;
	struct varint_reader homes = unit->table.thread_homes;

	delivery->has_threads = delivery->visitor->wants_threads && unit->table.thread_name_cnt;
	if (!delivery->has_threads)
		return 0;
	delivery->thread_parts = unit->table.thread_parts;
	delivery->threads = unit->table.threads;
	if (!unit->threads)
		unit->threads = thread_counts__new(0);
	if (!unit->threads || vec_reserve(unit->homes, line_cnt + 1ul, unit->home_cap, 256))
		return -ENOMEM;
	thread_counts__clear(unit->threads);
	for (uint32_t i = 0; i < line_cnt; i++) {
		uint64_t home = homes.at ? varint_get(&homes) : 0;

		if (home > unit->table.thread_name_cnt)
			return -EINVAL;
		unit->homes[i] = (uint32_t)home;
	}
	return homes.failed ? -EINVAL : 0;
}

static int finish_threads(struct delivery *delivery, struct choice *choice)
{
	struct merged_unit *unit = delivery->unit;
	int err;

	if (!delivery->has_threads)
		return 0;
	strbuf_clear(&unit->thread_code);
	err = thread_counts__encode(unit->threads, NULL, &unit->thread_code);
	thread_counts__clear(unit->threads);
	if (!err && unit->thread_code.len) {
		choice->window.threads = (const uint8_t *)unit->thread_code.data;
		choice->window.threads_len = unit->thread_code.len;
	}
	return err;
}

/* One row's lines: to the sums, to the text, or past them. */
static int take_row(struct rows_entries *entries, struct line_table *table,
		    const struct choice *choice)
{
	uint64_t cnt = rows_entries_begin_row(entries);

	for (uint64_t i = 0; i < cnt && !rows_entries_failed(entries); i++) {
		uint64_t count;
		uint64_t line = rows_entries_next(entries, &count);
		int err = 0;

		if (choice && choice->row_cnt > 1)
			err = line_table_add(table, line, count);
		else if (choice)
			err = line_table_put(table, line, count);
		if (err)
			return err;
	}
	return rows_entries_failed(entries) ? -EINVAL : 0;
}

/* Broken cells are left out, the window counts. */
static int take_cells(struct delivery *delivery, uint32_t row, struct choice *choice)
{
	const struct window *window = &delivery->unit->table.rows[row];
	int err;

	if (!delivery->visitor->wants_cells || !window->cells_len)
		return 0;
	if (choice->row_cnt == 1) {
		choice->window.cells = window->cells;
		choice->window.cells_len = window->cells_len;
		return 0;
	}
	if (choice->window.duration_ns > STORE_WINDOW_MAX_NS)
		return 0; /* more than cells.h can number */
	if (!delivery->cells)
		delivery->cells = cells_sum__new();
	if (!delivery->cells)
		return -ENOMEM;
	err = cells_sum__add(delivery->cells, window->start_unix_ns, window->cells,
			     window->cells_len);
	return err == -ENOMEM ? err : 0;
}

static int finish_cells(struct delivery *delivery, struct choice *choice)
{
	struct strbuf *cells = &delivery->unit->cells;
	int err;

	strbuf_clear(cells);
	if (!delivery->cells || choice->row_cnt == 1)
		return 0;
	err = cells_sum__take(delivery->cells, choice->window.start_unix_ns, cells);
	if (err) {
		cells_sum__free(delivery->cells);
		delivery->cells = NULL;
		return err == -ENOMEM ? err : 0;
	}
	if (cells->len && cells->len <= UINT32_MAX) {
		choice->window.cells = (const uint8_t *)cells->data;
		choice->window.cells_len = (uint32_t)cells->len;
	}
	return 0;
}

/* Those of windows that are added up are not handed out: their lines have other numbers. */
static int take_ticks(struct delivery *delivery, struct choice *choice)
{
	const uint8_t *code;
	size_t len;

	if (!delivery->has_ticks)
		return 0;
	if (!ticks_take(&delivery->ticks, &code, &len))
		return -EINVAL;
	if (choice && choice->row_cnt == 1 && len) {
		choice->window.ticks = code;
		choice->window.ticks_len = len;
	}
	return 0;
}

/* All rows of a choice were taken: the visitor gets it. */
static int finish_choice(struct delivery *delivery, struct choice *choice, int *result)
{
	struct merged_unit *unit = delivery->unit;
	int err = 0;

	if (choice->row_cnt > 1)
		err = line_table_put_sums(&unit->stacks);
	if (!err && choice->row_cnt > 1 && delivery->has_sources)
		err = line_table_put_sums(&unit->sources);
	if (!err)
		err = finish_cells(delivery, choice);
	if (!err)
		err = finish_threads(delivery, choice);
	if (err)
		return err;
	if (unit->sources.out.len) {
		choice->window.lines = unit->sources.out.data;
		choice->window.lines_len = unit->sources.out.len;
	}
	*result = delivery->visitor->window(delivery->visitor->ctx, &choice->window,
					    strbuf_str(&unit->stacks.out), unit->stacks.out.len);
	strbuf_clear(&unit->stacks.out);
	strbuf_clear(&unit->sources.out);
	return 0;
}

static int deliver_row(struct delivery *delivery, uint32_t row, int *result)
{
	struct merged_unit *unit = delivery->unit;
	uint32_t number = unit->row_choice[row];
	struct choice *choice = number == NO_CHOICE ? NULL : &unit->choices[number];
	int err;

	if (choice && !choice->is_wanted)
		choice = NULL;
	err = delivery->has_threads ? take_threads(delivery, choice) : 0;
	if (!err)
		err = take_row(&delivery->stacks, &unit->stacks, choice);
	if (!err && delivery->has_sources)
		err = take_row(&delivery->sources, &unit->sources, choice);
	if (!err)
		err = take_ticks(delivery, choice);
	if (!err && choice)
		err = take_cells(delivery, row, choice);
	if (!err && choice && choice->last_row == row)
		err = finish_choice(delivery, choice, result);
	return err;
}

static int deliver_rows(struct delivery *delivery, const struct merged_texts *texts, int *result)
{
	struct merged_unit *unit = delivery->unit;
	int err = line_table_load(&unit->stacks, texts->stacks, texts->stacks_len,
				  texts->head->line_cnt);

	if (!err && delivery->has_sources)
		err = line_table_load(&unit->sources, texts->sources, texts->sources_len,
				      texts->head->source_line_cnt);
	if (!err)
		err = begin_threads(delivery, texts->head->line_cnt);
	delivery->stacks = unit->table.stacks;
	delivery->sources = unit->table.sources;
	strbuf_clear(&unit->stacks.out);
	strbuf_clear(&unit->sources.out);
	for (uint32_t i = 0; i < unit->table.row_cnt && !err && !*result; i++)
		err = deliver_row(delivery, i, result);
	return err;
}

int merged_unit__deliver(struct merged_unit *unit, const struct segment_visitor *visitor,
			 const struct merged_texts *texts, int *result)
{
	struct delivery delivery = {
		.unit = unit,
		.visitor = visitor,
		.has_sources = texts->sources != NULL,
		.has_ticks = texts->ticks_len != 0,
		.ticks = varint_reader_init(texts->ticks, texts->ticks_len),
	};
	int err;

	*result = 0;
	if (unit->is_whole) {
		if (texts->sources && texts->sources_len) {
			unit->whole.lines = texts->sources;
			unit->whole.lines_len = texts->sources_len;
		}
		*result = visitor->window(visitor->ctx, &unit->whole, texts->stacks,
					  texts->stacks_len);
		return 0;
	}
	err = deliver_rows(&delivery, texts, result);
	cells_sum__free(delivery.cells);
	return err;
}
