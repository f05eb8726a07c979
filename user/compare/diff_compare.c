// SPDX-License-Identifier: Apache-2.0
/* The steps of one comparison; see diff_compare.h. */
#include "user/compare/diff_compare.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "user/compare/diff_alarms.h"
#include "user/compare/diff_foreign.h"
#include "user/compare/diff_images.h"
#include "user/cli/selection_title.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

void diff_compare_release(struct diff_compare *compare)
{
	diff_result__free(compare->result);
	diff_past_release(&compare->past);
	diff_loaded_release(&compare->before);
	diff_loaded_release(&compare->after);
	diff_catalog__free(compare->catalog);
	diff_notes_release(&compare->notes);
	strbuf_release(&compare->title);
	strbuf_release(&compare->subtitle);
	strbuf_release(&compare->name_before);
	strbuf_release(&compare->name_after);
	memset(compare, 0, sizeof(*compare));
}

/* ---- sides ---- */

static struct diff_load load_of(const struct diff_cmd_options *options,
				const struct diff_cmd_side *side,
				const struct diff_compare *compare)
{
	return (struct diff_load){
		.selection = &options->selection,
		.image = side->image,
		.since_unix_ns = side->range.since_unix_ns,
		.until_unix_ns = side->range.until_unix_ns,
		.block_ns = compare->block_ns,
		.warm_up_s = compare->statistics.warm_up_s,
		.wants_streams = true,
	};
}

static int load_sides(struct store_reader *reader, const struct diff_cmd_options *options,
		      struct cmd_store_damage *damage, struct diff_compare *compare)
{
	struct diff_load before = load_of(options, &options->before, compare);
	struct diff_load after = load_of(options, &options->after, compare);

	diff_loaded_release(&compare->before);
	diff_loaded_release(&compare->after);
	diff_catalog__free(compare->catalog);
	compare->catalog = diff_catalog__new();
	if (!compare->catalog)
		return -ENOMEM;

	int err = diff_load_range(reader, &before, compare->catalog, damage, &compare->before);

	if (!err)
		err = diff_load_range(reader, &after, compare->catalog, damage, &compare->after);
	return err;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Of what was asked for, or of what there is. */
static uint64_t shorter_asked_ns(const struct diff_cmd_options *options)
{
	const struct diff_cmd_range *a = &options->before.range;
	const struct diff_cmd_range *b = &options->after.range;

	return min_u64(a->until_unix_ns - a->since_unix_ns, b->until_unix_ns - b->since_unix_ns);
}

static uint64_t shorter_loaded_ns(const struct diff_compare *compare)
{
	const struct diff_loaded *a = &compare->before;
	const struct diff_loaded *b = &compare->after;

	return min_u64(a->last_unix_ns - a->first_unix_ns, b->last_unix_ns - b->first_unix_ns);
}

int diff_compare_load(struct store_reader *reader, const struct diff_cmd_options *options,
		      uint64_t block_ns, struct diff_compare *compare)
{
	struct cmd_store_damage said = { .cnt = SIZE_MAX / 2 }; /* nothing is named again */
	bool is_given = block_ns != 0;
	int err;

	compare->statistics = options->statistics;
	compare->block_ns = is_given ? block_ns :
				       diff_side_block_length_ns(shorter_asked_ns(options));
	err = load_sides(reader, options, &compare->damage, compare);
	if (err || is_given || !diff_side__block_count(compare->before.side) ||
	    !diff_side__block_count(compare->after.side))
		return err;
	/* A day was asked for and only some hours of it were recorded. */
	block_ns = diff_side_block_length_ns(shorter_loaded_ns(compare));
	if (block_ns >= compare->block_ns)
		return 0;
	compare->block_ns = block_ns;
	return load_sides(reader, options, &said, compare);
}

int diff_compare_load_files(const struct diff_cmd_options *options, struct diff_compare *compare)
{
	compare->statistics = options->statistics;
	compare->catalog = diff_catalog__new();
	if (!compare->catalog)
		return -ENOMEM;
	return diff_foreign_load(options->before.file, options->after.file, compare->catalog,
				 &compare->notes, &compare->before, &compare->after);
}

/* ---- words ---- */

/* A time needs no name. */
static int name_side(const struct diff_cmd_side *side, struct strbuf *out)
{
	if (side->file)
		return strbuf_puts(out, side->file);
	return side->image ? strbuf_printf(out, "image %s", side->image) : 0;
}

static int name_everything(const struct diff_cmd_options *options, struct diff_compare *compare)
{
	int err = name_side(&options->before, &compare->name_before);

	if (!err)
		err = name_side(&options->after, &compare->name_after);
	if (!err && options->mode == DIFF_CMD_MODE_FILES)
		return strbuf_puts(&compare->title, "two folded files");
	if (!err)
		err = selection_title(&options->selection, &compare->title);
	return err ? err : selection_subtitle(&options->selection, NULL, 0, &compare->subtitle);
}

/* What of one side is not compared, and why. */
static int note_side(const struct diff_loaded *side, const char *name, struct diff_notes *notes)
{
	int err = 0;

	if (side->warm_up_samples)
		err = diff_notes_add(notes,
				     "%s: %" PRIu64 " samples of JVMs in their first 10 minutes, "
				     "and of blocks of time that began with such JVMs alone, "
				     "were left out",
				     name, side->warm_up_samples);
	if (!err && side->other_rate_samples)
		err = diff_notes_add(
			notes,
			"%s: %" PRIu64
			" samples were left out because the sampling rate changed within a block of time",
			name, side->other_rate_samples);
	if (!err && side->bad_line_cnt)
		err = diff_notes_add(notes, "%s: %zu lines of the store are no stacks, skipped",
				     name, side->bad_line_cnt);
	return err;
}

static int note_calibration(struct diff_compare *compare)
{
	const struct diff_summary *summary = &compare->result->summary;

	if (summary->mode != DIFF_MODE_STATISTICAL ||
	    summary->calibration == DIFF_CALIBRATION_HISTORY)
		return 0;
	if (summary->calibration == DIFF_CALIBRATION_NONE)
		return diff_notes_add(&compare->notes,
				      "too few methods to tell noise from change, and too few "
				      "earlier days in the store: no verdicts");
	return diff_notes_add(&compare->notes,
			      "calibrated from this pair only: the store has %" PRIu32
			      " earlier pairs of such times, %" PRIu32
			      " are needed to raise alarms",
			      summary->history_pairs, compare->statistics.history_min);
}

static int note_times(struct store_reader *reader, const struct diff_cmd_options *options,
		      struct diff_compare *compare)
{
	int err;

	if (!reader)
		return 0;
	err = note_side(&compare->before, "before", &compare->notes);
	if (!err)
		err = note_side(&compare->after, "after", &compare->notes);
	if (!err && compare->damage.cnt)
		err = diff_notes_add(&compare->notes,
				     "the store is damaged in %zu places, which were skipped",
				     compare->damage.cnt);
	if (!err)
		err = note_calibration(compare);
	if (!err && options->mode == DIFF_CMD_MODE_TIMES)
		err = diff_images_note(options, &compare->before.streams, &compare->after.streams,
				       &compare->notes);
	return err;
}

/* ---- result ---- */

static int load_past(struct store_reader *reader, const struct diff_cmd_options *options,
		     struct diff_compare *compare)
{
	struct diff_load what = load_of(options, &options->before, compare);

	/* Descriptive anyway: nothing to calibrate. */
	if (diff_side__block_count(compare->before.side) < compare->statistics.blocks_min ||
	    diff_side__block_count(compare->after.side) < compare->statistics.blocks_min)
		return 0;

	return diff_past_load(reader, &what, compare->catalog, compare->before.side,
			      compare->after.side, &compare->damage, &compare->past);
}

static void fill_output(const struct diff_cmd_options *options, struct diff_compare *compare)
{
	struct diff_output *output = &compare->output;

	output->title = strbuf_str(&compare->title);
	output->subtitle = strbuf_str(&compare->subtitle);
	output->before.name = compare->name_before.data;
	output->after.name = compare->name_after.data;
	output->before.since_unix_ns = options->before.range.since_unix_ns;
	output->before.until_unix_ns = options->before.range.until_unix_ns;
	output->after.since_unix_ns = options->after.range.since_unix_ns;
	output->after.until_unix_ns = options->after.range.until_unix_ns;
	diff_loaded_describe(&compare->before, &output->before);
	diff_loaded_describe(&compare->after, &output->after);
	output->result = compare->result;
	output->catalog = compare->catalog;
	output->options = &compare->statistics;
	output->notes = (const char *const *)compare->notes.items;
	output->note_cnt = compare->notes.cnt;
}

int diff_compare_run(struct store_reader *reader, const struct diff_cmd_options *options,
		     struct diff_compare *compare)
{
	struct diff_input input = {
		.a = compare->before.side,
		.b = compare->after.side,
		.history = &compare->past.history,
	};
	int err = reader ? load_past(reader, options, compare) : 0;

	if (err)
		return err;
	input.items = diff_catalog__items(compare->catalog, &input.item_cnt);
	err = diff_run(&input, &compare->statistics, &compare->result);
	if (!err)
		err = name_everything(options, compare);
	if (!err)
		err = note_times(reader, options, compare);
	if (!err)
		fill_output(options, compare);
	return err;
}
