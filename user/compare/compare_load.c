// SPDX-License-Identifier: Apache-2.0
/*
 * Windows into blocks; see compare_load.h: which are taken, and what of them is counted. The counts are kept by
 * diff_tally.h.
 */
#include "user/compare/compare_load.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/compare/compare_cover.h"
#include "user/compare/compare_heavy.h"
#include "user/compare/compare_records.h"
#include "user/compare/compare_warm_up.h"
#include "user/diff/diff_tally.h"
#include "user/model/event_view.h"
#include "user/model/folded_line.h"
#include "user/model/stack_text.h"
#include "user/model/thread_counts.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/lines.h"
#include "user/util/saturate.h"
#include "user/util/vec.h"

#define DAY_NS	       (86400 * CLOCK_NS_PER_S)
#define AGE_UNKNOWN    UINT64_MAX
#define COLD_SHARE_MAX 0.05 /* of a block that is compared although its JVMs are young */

/*
 * A count of EVENT_WALL, and of waiting. The statistics want counts of equal weight, and few large ones
 * are what is known least: a sample of CPU time is a part of one. A thread that waits is visited ten times a
 * second, or as often as its host has time for; where --off-cpu-rate asks for more, samples are as they are.
 */
#define WAIT_SAMPLE_NS (100 * CLOCK_NS_PER_MS)

#define EVENTS_OF_RATE 1000000ull /* as DIFF_EVENTS_OF_RATE */

struct load_block {
	uint64_t taken_samples;		  /* what its counts come from */
	struct compare_recorded recorded; /* by the hosts' records */
	uint64_t union_ns;		  /* by the streams' windows */
	/* Of all windows that match, also of those that are left out. */
	uint64_t jvm_samples;
	uint64_t cold_samples;	/* of those JVMs' that were warming up */
	uint64_t other_samples; /* of processes that are no JVMs */
	uint64_t jvm_age_ns;	/* of the oldest JVM when the block began */
};

/* The window that is being added. */
struct load_window {
	uint32_t block;
	uint16_t rate;	  /* its number */
	uint64_t period;  /* what one of its samples stands for; 0 = not known */
	uint64_t samples; /* that were counted so far */
};

struct compare_loader {
	struct compare_load what;
	struct diff_catalog *catalog;
	struct load_block *blocks;
	size_t block_cnt;
	uint64_t first_block; /* number since 1970 */
	struct diff_tally *tally;
	struct compare_records records;
	struct compare_cover cover;   /* of the streams' windows that were taken */
	struct compare_loaded loaded; /* all but the side */
	struct thread_reader
		threads; /* of the window being added; only where threads are asked for */
	struct event_stacks *known;
	bool is_of_waits;    /* the window being added */
	struct strbuf other; /* scratch */
	struct strbuf cpu_wait;
	int err; /* first failure of want() */
};

int compare_loader__new(const struct compare_load *what, struct diff_catalog *catalog,
			struct compare_loader **out)
{
	if (what->block_ns < CLOCK_NS_PER_S || what->block_ns > DAY_NS ||
	    what->block_ns % CLOCK_NS_PER_S || what->since_unix_ns >= what->until_unix_ns ||
	    what->until_unix_ns - what->since_unix_ns > COMPARE_LOAD_SPAN_MAX_NS)
		return -EINVAL;

	uint64_t first = what->since_unix_ns / what->block_ns;
	uint64_t last = (what->until_unix_ns - 1) / what->block_ns;

	if (last - first >= DIFF_SIDE_BLOCKS_MAX)
		return -EINVAL;

	struct compare_loader *loader = calloc(1, sizeof(*loader));

	if (!loader)
		return -ENOMEM;
	loader->what = *what;
	loader->catalog = catalog;
	loader->first_block = first;
	loader->block_cnt = (size_t)(last - first) + 1;
	loader->blocks = calloc(loader->block_cnt, sizeof(*loader->blocks));
	loader->tally = diff_tally__new(loader->block_cnt, catalog);
	loader->known = event_stacks__new(what->event);
	if (!loader->blocks || !loader->tally || !loader->known) {
		compare_loader__free(loader);
		return -ENOMEM;
	}
	/* Not all hosts keep them, and not at all times: else each overload is another method. */
	diff_catalog__leave_out_parameters(catalog);
	*out = loader;
	return 0;
}

void compare_loader__free(struct compare_loader *loader)
{
	if (!loader)
		return;
	free(loader->blocks);
	event_stacks__free(loader->known);
	diff_tally__free(loader->tally);
	compare_records_release(&loader->records);
	compare_cover_release(&loader->cover);
	thread_reader_release(&loader->threads);
	strbuf_release(&loader->other);
	strbuf_release(&loader->cpu_wait);
	compare_loaded_release(&loader->loaded);
	free(loader);
}

void compare_loaded_release(struct compare_loaded *loaded)
{
	diff_side__free(loaded->side);
	streams_release(&loaded->streams);
	memset(loaded, 0, sizeof(*loaded));
}

/* ---- which windows ---- */

static uint32_t block_of(const struct compare_loader *loader, const struct window *window)
{
	return (uint32_t)(window->start_unix_ns / loader->what.block_ns - loader->first_block);
}

static bool has_labels(const char *const *labels, const struct window *window)
{
	for (int by = 0; by < SELECT_BY_CNT; by++)
		if (labels[by] && !select_by_matches((enum select_by)by, labels[by], window))
			return false;
	return true;
}

static bool is_of_group(const struct compare_load *what, const struct window *window)
{
	return (!what->labels || has_labels(what->labels, window)) &&
	       (!what->others || !has_labels(what->others, window));
}

static uint64_t subtract(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* 0 also when the process began within the window. */
static uint64_t age_ns(const struct window *window)
{
	if (!window->process_start_ns || !window->start_boot_ns)
		return AGE_UNKNOWN;
	return subtract(window->start_boot_ns, window->process_start_ns);
}

static bool is_young(const struct compare_loader *loader, uint64_t jvm_age_ns)
{
	return jvm_age_ns < loader->what.warm_up_s * CLOCK_NS_PER_S;
}

/* How old was its process when the block began, or the side within it? */
static uint64_t age_at_block_ns(const struct compare_loader *loader, const struct window *window)
{
	uint64_t begin = (loader->first_block + block_of(loader, window)) * loader->what.block_ns;
	uint64_t age = age_ns(window);

	if (begin < loader->what.since_unix_ns)
		begin = loader->what.since_unix_ns;
	return age == AGE_UNKNOWN ? age : subtract(age, window->start_unix_ns - begin);
}

static void note_age(struct compare_loader *loader, const struct window *window)
{
	struct load_block *block = &loader->blocks[block_of(loader, window)];

	if (!window->is_jvm) {
		block->other_samples += window->counts.samples;
		return;
	}

	uint64_t age = age_at_block_ns(loader, window);

	block->jvm_samples += window->counts.samples;
	if (age > block->jvm_age_ns)
		block->jvm_age_ns = age;
}

static bool is_young_window(const struct compare_loader *loader, const struct window *window)
{
	return window->is_jvm && is_young(loader, age_ns(window));
}

/* Only CPU time says what a JVM's code is; waiting is of one kind with the CPU time beside it. */
static bool shows_warm_up(const struct compare_loader *loader)
{
	return loader->what.event == EVENT_CPU;
}

static void leave_out_cold(struct compare_loader *loader, const struct window *window)
{
	loader->loaded.warm_up_samples += window->counts.samples;
	loader->blocks[block_of(loader, window)].cold_samples += window->counts.samples;
}

static void note_stream(struct compare_loader *loader, const struct window *window)
{
	struct compare_loaded *loaded = &loader->loaded;
	uint64_t end = window_end_unix_ns(window);

	/* Parts are counted as the text is read. */
	if (!selection_is_of_parts(loader->what.selection))
		window_counts_add(&loaded->counts, &window->counts);
	if (!loaded->last_unix_ns || window->start_unix_ns < loaded->first_unix_ns)
		loaded->first_unix_ns = window->start_unix_ns;
	if (end > loaded->last_unix_ns)
		loaded->last_unix_ns = end;
	if (end - window->start_unix_ns > loaded->window_ns)
		loaded->window_ns = end - window->start_unix_ns;
	if (loader->what.wants_streams && !loader->err)
		loader->err = streams_add(&loaded->streams, window);
}

static bool is_asked_for(const struct compare_load *what, const struct window *window)
{
	return window->start_unix_ns >= what->since_unix_ns &&
	       window->start_unix_ns < what->until_unix_ns &&
	       selection_takes(what->selection, window);
}

bool compare_load_takes(const struct compare_load *what, const struct window *window)
{
	return window->pid && is_asked_for(what, window) &&
	       (window->counts.samples ||
		event_cpu_wait_ns(what->event, what->selection, window)) &&
	       is_of_group(what, window);
}

bool compare_loader__want(struct compare_loader *loader, const struct window *window)
{
	const struct compare_load *what = &loader->what;

	if (!window->pid && is_asked_for(what, window) && event_counts_time(what->event, window) &&
	    !loader->err)
		loader->err =
			compare_records_add(&loader->records, block_of(loader, window), window);
	if (!compare_load_takes(what, window))
		return false;
	note_stream(loader, window);
	note_age(loader, window);
	if (is_young_window(loader, window) && !shows_warm_up(loader)) {
		leave_out_cold(loader, window);
		return false;
	}
	return !loader->err;
}

/* ---- counting ---- */

/* Of a line's samples those of the threads that are wanted. */
static uint64_t samples_of_threads(struct compare_loader *loader, uint64_t count)
{
	const struct selection *selection = loader->what.selection;
	struct thread_part part;
	uint64_t samples = 0;

	if (!selection_is_of_threads(selection))
		return count;
	thread_reader_line(&loader->threads, count);
	while (thread_reader_next(&loader->threads, &part)) {
		if (selection_takes_thread(selection, part.name ? part.name : THREAD_NAME_UNKNOWN))
			samples += part.count;
	}
	return samples;
}

static int open_threads(struct compare_loader *loader, const struct window *window)
{
	int err;

	if (!selection_is_of_threads(loader->what.selection))
		return 0;
	err = thread_reader_open(&loader->threads, window->threads, (size_t)window->threads_len);
	if (err != -EINVAL)
		return err;
	loader->loaded.bad_line_cnt++;
	return 0;
}

/* Its process with one frame in place of all. */
static int learn_other(struct compare_loader *loader, const char *stack, size_t len,
		       uint32_t *id_out)
{
	const char *end = memchr(stack, ';', len);
	int err;

	strbuf_clear(&loader->other);
	strbuf_append(&loader->other, stack, end ? (size_t)(end - stack) : len);
	strbuf_puts(&loader->other, ";" COMPARE_LOAD_OTHER_STACKS);
	err = strbuf_error(&loader->other);
	return err ? err :
		     diff_catalog__learn(loader->catalog, loader->other.data, loader->other.len,
					 id_out);
}

static int add_stack(struct compare_loader *loader, const struct load_window *at, const char *stack,
		     size_t len, uint64_t samples)
{
	/* The heaviest are those of most time. */
	uint64_t weight = multiply_saturated(samples, at->period ? at->period : 1);
	int part = loader->what.heavy ?
			   compare_heavy__meet(loader->what.heavy, stack, len, weight) :
			   COMPARE_HEAVY_TAKEN;
	uint32_t id = 0;
	int err;

	if (part < 0 || part == COMPARE_HEAVY_SKIPPED)
		return part < 0 ? part : 0;
	err = part == COMPARE_HEAVY_OTHER ? learn_other(loader, stack, len, &id) :
					    diff_catalog__learn(loader->catalog, stack, len, &id);
	if (!err)
		err = diff_tally__add(loader->tally, at->block, at->rate, id, samples);
	if (!err && part == COMPARE_HEAVY_OTHER)
		diff_tally__sums(loader->tally, at->block, at->rate)->other_stack_samples +=
			samples;
	return err;
}

/* "stack count"; what is not that is counted, and what is of another kind of code left out. */
static int add_line(struct compare_loader *loader, struct load_window *at, const char *line,
		    size_t len)
{
	struct stack_frame leaf;
	size_t stack_len;
	uint64_t count;

	if (!folded_line_split(line, len, &stack_len, &count) || !count) {
		loader->loaded.bad_line_cnt++;
		return 0;
	}
	count = samples_of_threads(loader, count);
	/* Waiting for work would be most of all waiting, and differs with the size of every pool. */
	if (!count)
		return 0;
	if (loader->is_of_waits) {
		struct event_stack found = event_stacks__get(loader->known, line, stack_len);

		if (!found.is_taken || found.place != WAITING_PLACE_CNT)
			return 0;
	}
	if (loader->what.selection->kind != SELECT_KIND_ANY &&
	    (!stack_text_leaf(line, stack_len, &leaf) ||
	     !select_kind_matches(loader->what.selection->kind, leaf.kind)))
		return 0;
	at->samples += count;
	return add_stack(loader, at, line, stack_len, count);
}

/* What of a window's counts goes with the samples that were counted; all without --kind. */
static uint64_t scaled(uint64_t value, uint64_t part, uint64_t whole)
{
	if (part >= whole)
		return value;
	return (uint64_t)((double)value * (double)part / (double)whole);
}

static void add_counts(struct compare_loader *loader, const struct window *window,
		       const struct load_window *at)
{
	struct diff_sums *sums = diff_tally__sums(loader->tally, at->block, at->rate);
	const struct window_counts *counts = &window->counts;
	const struct window_counts taken = {
		.samples = at->samples,
		.frames = scaled(counts->frames, at->samples, counts->samples),
		.unknown_frames = scaled(counts->unknown_frames, at->samples, counts->samples),
		.truncated_samples =
			scaled(counts->truncated_samples, at->samples, counts->samples),
	};

	sums->frames += taken.frames;
	sums->unknown_frames += taken.unknown_frames;
	sums->truncated_samples += taken.truncated_samples;
	loader->blocks[at->block].taken_samples += taken.samples;
	if (selection_is_of_parts(loader->what.selection))
		window_counts_add(&loader->loaded.counts, &taken);
}

static struct diff_rate rate_of_time(uint64_t period_ns, uint64_t unit_ns)
{
	return (struct diff_rate){
		.period = period_ns,
		.unit = { .size = unit_ns,
			  .frequency_hz = unit_ns ? (uint32_t)(CLOCK_NS_PER_S / unit_ns) : 0 },
	};
}

/* Samples per second of CPU time; of other events, per million of them. */
static struct diff_rate rate_of(const struct compare_loader *loader, const struct window *window)
{
	uint64_t period = window_period(window);

	if (loader->what.event == EVENT_WALL)
		return rate_of_time(period ? period : WAIT_SAMPLE_NS, WAIT_SAMPLE_NS);
	if (window->event == EVENT_OFF_CPU)
		return rate_of_time(period, min_u64(period, WAIT_SAMPLE_NS));
	if (window->event == EVENT_CPU) {
		period = window->frequency_hz ? CLOCK_NS_PER_S / window->frequency_hz : 0;
		return (struct diff_rate){ period, { period, window->frequency_hz } };
	}
	return (struct diff_rate){
		.period = period,
		.unit = { .size = period,
			  .frequency_hz = period && period < EVENTS_OF_RATE ?
						  (uint32_t)(EVENTS_OF_RATE / period) :
						  1 },
	};
}

/* What its threads waited for a CPU is in no line: milliseconds of it are samples. */
static int add_cpu_wait(struct compare_loader *loader, const struct window *window,
			uint64_t *amount)
{
	const struct diff_rate rate = rate_of_time(CLOCK_NS_PER_MS, WAIT_SAMPLE_NS);
	struct load_window at = { .block = block_of(loader, window), .period = rate.period };
	uint64_t wait_ns = event_cpu_wait_ns(loader->what.event, loader->what.selection, window);
	uint64_t wait_ms =
		wait_ns / CLOCK_NS_PER_MS + (wait_ns % CLOCK_NS_PER_MS * 2 > CLOCK_NS_PER_MS);
	int err;

	if (!wait_ms)
		return 0;
	strbuf_clear(&loader->cpu_wait);
	err = event_cpu_wait_stack(&loader->cpu_wait, window);
	if (!err)
		err = diff_tally__rate(loader->tally, &rate, &at.rate);
	if (err)
		return err;
	*amount = add_saturated(*amount, multiply_saturated(wait_ms, rate.period));
	return add_stack(loader, &at, loader->cpu_wait.data, loader->cpu_wait.len, wait_ms);
}

static int add_lines(struct compare_loader *loader, const struct window *window, const char *text,
		     size_t len, struct load_window *at)
{
	const struct diff_rate rate = rate_of(loader, window);
	struct lines lines = lines_init(text, len);
	struct line line;
	int err = diff_tally__rate(loader->tally, &rate, &at->rate);

	at->block = block_of(loader, window);
	at->period = rate.period;
	loader->is_of_waits = event_has_waits(window->event);
	if (!err)
		err = open_threads(loader, window);
	while (!err && lines_next(&lines, &line))
		err = add_line(loader, at, line.at, line.len);
	if (!err)
		add_counts(loader, window, at);
	return err;
}

int compare_loader__add(struct compare_loader *loader, const struct window *window,
			const char *text, size_t len)
{
	struct load_window at = { 0 };
	uint64_t amount;

	if (is_young_window(loader, window) && !compare_warm_up_is_over(text, len)) {
		leave_out_cold(loader, window);
		return 0;
	}

	int err = compare_cover_add(&loader->cover, window);

	if (!err)
		err = add_lines(loader, window, text, len, &at);
	amount = multiply_saturated(at.samples, at.period);
	if (!err)
		err = add_cpu_wait(loader, window, &amount);
	if (!event_counts_time(loader->what.event, window))
		at.samples = 0; /* no host's record has them */
	return err ? err :
		     compare_records_take(&loader->records, at.block, window, at.samples, amount);
}

/* ---- the side ---- */

/* How long streams were recorded in each block: overlaps count once, to where they begin. */
static void measure_union(struct compare_loader *loader)
{
	uint64_t covered = 0;

	compare_cover_finish(&loader->cover);
	for (size_t i = 0; i < loader->cover.cnt; i++) {
		const struct compare_cover_stretch *at = &loader->cover.items[i];
		uint64_t number = at->start_unix_ns / loader->what.block_ns - loader->first_block;
		uint64_t from = at->start_unix_ns > covered ? at->start_unix_ns : covered;

		if (at->end_unix_ns <= from)
			continue;
		loader->blocks[number].union_ns += at->end_unix_ns - from;
		covered = at->end_unix_ns;
	}
}

static void add_up_records(struct compare_loader *loader)
{
	const struct compare_records *records = &loader->records;

	for (size_t i = 0; i < records->cnt; i++) {
		const struct compare_record *record = &records->items[i];

		compare_record_add_up(record, diff_tally__unit(loader->tally, record->block).size,
				      &loader->blocks[record->block].recorded);
	}
}

/*
 * The hosts' records also know when these processes slept; what is before or behind them is not theirs.
 * Several hosts recorded at the same time.
 */
static uint64_t block_length_ns(const struct compare_loader *loader, const struct load_block *block)
{
	const struct compare_recorded *recorded = &block->recorded;
	uint64_t length_ns = recorded->recorded_ns ? recorded->recorded_ns : block->union_ns;
	uint64_t stretch_ns = recorded->stretch.end_unix_ns - recorded->stretch.start_unix_ns;

	if (recorded->recorded_ns && stretch_ns && length_ns > stretch_ns)
		length_ns = stretch_ns;
	if (length_ns > loader->what.block_ns)
		length_ns = loader->what.block_ns;
	if (recorded->recorded_ns && stretch_ns) {
		struct compare_cover_stretch at =
			compare_cover_within(&loader->cover, recorded->stretch);

		length_ns =
			(uint64_t)((double)length_ns * (double)(at.end_unix_ns - at.start_unix_ns) /
				   (double)stretch_ns);
	}
	return length_ns ? length_ns : 1;
}

/* By the clock on the wall of this host; the rhythm of people's days. */
static uint32_t time_of_day_s(uint64_t unix_ns)
{
	time_t seconds = (time_t)(unix_ns / CLOCK_NS_PER_S);
	struct tm tm;

	if (!localtime_r(&seconds, &tm))
		return (uint32_t)(unix_ns / CLOCK_NS_PER_S % 86400);
	return (uint32_t)(tm.tm_hour * 3600 + tm.tm_min * 60 + (tm.tm_sec > 59 ? 59 : tm.tm_sec));
}

/*
 * A block most of whose samples are of JVMs that were all young when it began, and warming up for
 * more than a little of it. A shell beside the JVM does not make it old, and build jobs do not make
 * the database beside them young.
 */
static bool is_young_block(const struct compare_loader *loader, const struct load_block *block)
{
	return block->jvm_samples > block->other_samples && is_young(loader, block->jvm_age_ns) &&
	       (double)block->cold_samples > COLD_SHARE_MAX * (double)block->jvm_samples;
}

/* Something is better than nothing: then the rest of young blocks is taken. */
static bool has_older_blocks(const struct compare_loader *loader)
{
	for (size_t i = 0; i < loader->block_cnt; i++)
		if (!diff_tally__is_empty(loader->tally, i) &&
		    !is_young_block(loader, &loader->blocks[i]))
			return true;
	return false;
}

static struct diff_block make_block(struct compare_loader *loader, size_t number,
				    const struct diff_sums *sums)
{
	const struct load_block *at = &loader->blocks[number];
	uint64_t start = (loader->first_block + number) * loader->what.block_ns;
	uint32_t frequency_hz = diff_tally__unit(loader->tally, number).frequency_hz;

	return (struct diff_block){
		.start_unix_ns = start,
		.length_ns = block_length_ns(loader, at),
		.time_of_day_s = time_of_day_s(start),
		.frequency_hz = frequency_hz,
		.samples = sums->samples,
		.cpu_s = frequency_hz ? (double)sums->samples / frequency_hz : 0,
		.lost_samples = (uint64_t)llround(at->recorded.lost),
		.frames = sums->frames,
		.unknown_frames = sums->unknown_frames,
		.truncated_samples = sums->truncated_samples,
		.other_stack_samples = sums->other_stack_samples,
	};
}

static int fill_block(struct compare_loader *loader, size_t number, struct diff_side *side)
{
	struct diff_sums sums;
	int err = diff_tally__fill(loader->tally, number, side, &sums);

	if (err || !sums.samples)
		return err;

	struct diff_block block = make_block(loader, number, &sums);

	loader->loaded.lost_samples +=
		(uint64_t)llround(loader->blocks[number].recorded.lost_samples);
	loader->loaded.other_stack_samples += block.other_stack_samples;
	return diff_side__close_block(side, &block);
}

static int fill_side(struct compare_loader *loader, struct diff_side *side)
{
	bool has_older = has_older_blocks(loader);
	int err = diff_tally__sort(loader->tally);

	for (size_t i = 0; !err && i < loader->block_cnt; i++) {
		bool is_empty = diff_tally__is_empty(loader->tally, i);

		if (is_young_block(loader, &loader->blocks[i]) && (has_older || is_empty)) {
			loader->loaded.warm_up_samples += loader->blocks[i].taken_samples;
			diff_side__leave_out_young(side);
		} else if (!is_empty) {
			err = fill_block(loader, i, side);
		}
	}
	return err;
}

void compare_loaders_agree(struct compare_loader *const *loaders, size_t cnt)
{
	for (size_t block = 0; cnt && block < loaders[0]->block_cnt; block++) {
		struct diff_unit unit = { 0 };

		for (size_t i = 0; i < cnt; i++) {
			struct diff_unit own = diff_tally__unit(loaders[i]->tally, block);

			if (own.size > unit.size)
				unit = own;
		}
		for (size_t i = 0; i < cnt; i++)
			diff_tally__raise_unit(loaders[i]->tally, block, &unit);
	}
}

int compare_loader__finish(struct compare_loader *loader, struct compare_loaded *out)
{
	struct diff_side *side;

	if (loader->err)
		return loader->err;
	side = diff_side__new(COMPARE_LOAD_EVENT_CPU);
	measure_union(loader);
	add_up_records(loader);

	int err = side ? fill_side(loader, side) : -ENOMEM;

	if (err) {
		diff_side__free(side);
		return err;
	}
	*out = loader->loaded;
	out->side = side;
	memset(&loader->loaded, 0, sizeof(loader->loaded));
	return 0;
}

/* ---- words ---- */

/* The label that all streams have, "several", or NULL. */
static const char *common_label(const struct streams *streams, enum window_label label)
{
	const char *common = NULL;

	for (size_t i = 0; i < streams->cnt; i++) {
		const char *text = streams->items[i].latest.labels[label];

		if (!text || !*text)
			continue;
		if (common && strcmp(common, text) != 0)
			return "several";
		common = text;
	}
	return common;
}

void compare_loaded_describe(const struct compare_loaded *loaded, struct diff_output_side *out)
{
	out->counts = loaded->counts;
	out->lost_samples = loaded->lost_samples;
	out->stream_cnt = loaded->streams.cnt;
	out->jvm_version = common_label(&loaded->streams, WINDOW_LABEL_JVM_VERSION);
	out->image = common_label(&loaded->streams, WINDOW_LABEL_IMAGE);
}
