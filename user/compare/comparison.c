// SPDX-License-Identifier: Apache-2.0
/* The steps of one comparison; see comparison.h. */
#include "user/compare/comparison.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "user/compare/compare_alarms.h"
#include "user/compare/compare_foreign.h"
#include "user/compare/compare_images.h"
#include "user/cli/selection_title.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/saturate.h"

void comparison_release(struct comparison *compare)
{
	diff_result__free(compare->result);
	compare_past_release(&compare->past);
	compare_hosts_release(&compare->hosts);
	compare_hosts_release(&compare->replicas);
	compare_loaded_release(&compare->before);
	compare_loaded_release(&compare->after);
	diff_catalog__free(compare->catalog);
	compare_notes_release(&compare->notes);
	strbuf_release(&compare->title);
	strbuf_release(&compare->subtitle);
	strbuf_release(&compare->name_before);
	strbuf_release(&compare->name_after);
	memset(compare, 0, sizeof(*compare));
}

/* ---- sides ---- */

static bool has_groups(const struct diff_cmd_options *options)
{
	return options->mode == DIFF_CMD_MODE_GROUPS;
}

static struct compare_load load_of(const struct diff_cmd_options *options,
				   const struct diff_cmd_side *side,
				   const struct comparison *compare)
{
	return (struct compare_load){
		.selection = &options->selection,
		.event = options->event,
		.labels = has_groups(options) ? side->labels : NULL,
		/* What is in both is of the side after: the canary against the rest. */
		.others = has_groups(options) && side == &options->before ? options->after.labels :
									    NULL,
		.since_unix_ns = side->range.since_unix_ns,
		.until_unix_ns = side->range.until_unix_ns,
		.block_ns = compare->block_ns,
		.warm_up_s = compare->statistics.warm_up_s,
		.wants_streams = true,
	};
}

static int load_sides(struct store_source *reader, const struct diff_cmd_options *options,
		      struct cmd_store_damage *damage, struct comparison *compare)
{
	struct compare_load before = load_of(options, &options->before, compare);
	struct compare_load after = load_of(options, &options->after, compare);

	compare_loaded_release(&compare->before);
	compare_loaded_release(&compare->after);
	diff_catalog__free(compare->catalog);
	compare->catalog = diff_catalog__new();
	if (!compare->catalog)
		return -ENOMEM;

	int err = compare_load_range(reader, &before, compare->catalog, damage, &compare->before);

	if (!err)
		err = compare_load_range(reader, &after, compare->catalog, damage, &compare->after);
	return err;
}

/* Of what was asked for, or of what there is. */
static uint64_t shorter_asked_ns(const struct diff_cmd_options *options)
{
	const struct diff_cmd_range *a = &options->before.range;
	const struct diff_cmd_range *b = &options->after.range;

	return min_u64(a->until_unix_ns - a->since_unix_ns, b->until_unix_ns - b->since_unix_ns);
}

static uint64_t shorter_loaded_ns(const struct comparison *compare)
{
	const struct compare_loaded *a = &compare->before;
	const struct compare_loaded *b = &compare->after;

	return min_u64(a->last_unix_ns - a->first_unix_ns, b->last_unix_ns - b->first_unix_ns);
}

static uint64_t longest_window_ns(const struct comparison *compare)
{
	const struct compare_loaded *a = &compare->before;
	const struct compare_loaded *b = &compare->after;

	return a->window_ns > b->window_ns ? a->window_ns : b->window_ns;
}

/* Nothing is named again. */
static int load_again(struct store_source *reader, const struct diff_cmd_options *options,
		      uint64_t block_ns, struct comparison *compare)
{
	struct cmd_store_damage said = { .cnt = CMD_STORE_DAMAGE_TOLD };

	if (block_ns == compare->block_ns)
		return 0;
	compare->block_ns = block_ns;
	return load_sides(reader, options, &said, compare);
}

int comparison_load(struct store_source *reader, const struct diff_cmd_options *options,
		    uint64_t block_ns, struct comparison *compare)
{
	bool is_given = block_ns != 0;
	int err;

	compare->statistics = options->statistics;
	compare->block_ns = is_given ? block_ns :
				       diff_side_block_length_ns(shorter_asked_ns(options));
	err = load_sides(reader, options, &compare->damage, compare);
	if (err || is_given || !diff_side__block_count(compare->before.side) ||
	    !diff_side__block_count(compare->after.side))
		return err;
	err = load_again(reader, options,
			 diff_side_block_fitting_ns(compare->block_ns, shorter_loaded_ns(compare)),
			 compare);
	if (!err)
		err = load_again(reader, options,
				 diff_side_block_holding_ns(compare->block_ns,
							    longest_window_ns(compare)),
				 compare);
	return err;
}

int comparison_load_files(const struct diff_cmd_options *options, struct comparison *compare)
{
	compare->statistics = options->statistics;
	compare->catalog = diff_catalog__new();
	if (!compare->catalog)
		return -ENOMEM;
	return compare_foreign_load(options->before.file, options->after.file, compare->catalog,
				    &compare->notes, &compare->before, &compare->after);
}

/* ---- words ---- */

/* A time needs no name. */
static void name_side(const struct diff_cmd_side *side, struct strbuf *out)
{
	if (side->file)
		strbuf_puts(out, side->file);
	for (int by = 0; by < SELECT_BY_CNT; by++)
		if (side->labels[by])
			strbuf_printf(out, "%s%s %s", out->len ? ", " : "",
				      select_by_name((enum select_by)by), side->labels[by]);
}

static int name_everything(const struct diff_cmd_options *options, struct comparison *compare)
{
	const struct strbuf *const texts[] = { &compare->name_before, &compare->name_after,
					       &compare->title, &compare->subtitle };
	int err = 0;

	name_side(&options->before, &compare->name_before);
	name_side(&options->after, &compare->name_after);
	if (options->mode == DIFF_CMD_MODE_FILES) {
		strbuf_puts(&compare->title, "two folded files");
	} else {
		selection_title(options->event, &options->selection, &compare->title);
		selection_subtitle(&options->selection, NULL, 0, &compare->subtitle);
	}
	for (size_t i = 0; !err && i < ARRAY_SIZE(texts); i++)
		err = strbuf_error(texts[i]);
	return err;
}

/* What of one side is not compared, and why. */
static int note_side(const struct compare_loaded *side, const char *name,
		     struct compare_notes *notes)
{
	int err = 0;

	if (side->warm_up_samples)
		err = compare_notes_add(notes,
					"%s: %" PRIu64 " samples of JVMs that were warming up in "
					"their first 10 minutes, and of blocks of time with such "
					"JVMs alone, were left out",
					name, side->warm_up_samples);
	if (!err && side->bad_line_cnt)
		err = compare_notes_add(notes, "%s: %zu line%s of the store %s no stacks, skipped",
					name, side->bad_line_cnt,
					side->bad_line_cnt == 1 ? "" : "s",
					side->bad_line_cnt == 1 ? "is" : "are");
	return err;
}

static int note_calibration(struct comparison *compare)
{
	const struct diff_summary *summary = &compare->result->summary;

	if (summary->mode != DIFF_MODE_STATISTICAL ||
	    summary->calibration == DIFF_CALIBRATION_HISTORY ||
	    (summary->calibration == DIFF_CALIBRATION_PAIR &&
	     compare->statistics.alarm_without_history))
		return 0;
	if (summary->calibration == DIFF_CALIBRATION_NONE)
		return compare_notes_add(&compare->notes,
					 "too few methods to tell noise from change, and too few "
					 "earlier days in the store: no verdicts");
	return compare_notes_add(
		&compare->notes,
		"calibrated from this pair only: the store has %" PRIu32
		" earlier pairs of such times, %" PRIu32
		" are needed to raise alarms; --fail-on slower raises them without",
		summary->history_pairs, compare->statistics.history_min);
}

static int note_times(struct store_source *reader, const struct diff_cmd_options *options,
		      struct comparison *compare)
{
	int err;

	if (!reader)
		return 0;
	err = note_side(&compare->before, "before", &compare->notes);
	if (!err)
		err = note_side(&compare->after, "after", &compare->notes);
	if (!err && compare->damage.cnt)
		err = compare_notes_add(&compare->notes,
					"the store is damaged in %zu places, which were skipped",
					compare->damage.cnt);
	if (!err)
		err = note_calibration(compare);
	if (!err && options->mode == DIFF_CMD_MODE_TIMES)
		err = compare_images_note(options, &compare->before.streams,
					  &compare->after.streams, &compare->notes);
	return err;
}

/* ---- result ---- */

static int load_parts(struct store_source *reader, const struct compare_load *what,
		      enum compare_hosts_unit unit, struct cmd_store_damage *damage,
		      struct comparison *compare, struct compare_hosts *out)
{
	struct compare_load each = *what;
	uint32_t item_cnt;
	int err;

	each.wants_streams = false;
	err = compare_hosts_load(reader, &each, unit, compare->catalog, damage, out);
	(void)diff_catalog__items(compare->catalog, &item_cnt);
	return err ? err : compare_hosts_measure(item_cnt, compare->statistics.blocks_min, out);
}

/*
 * Groups of different hosts: what the hosts of the side before differ by although they run the same tells more
 * than earlier days.
 */
static int load_hosts(struct store_source *reader, const struct compare_load *what,
		      struct comparison *compare, double averaging)
{
	int err = load_parts(reader, what, COMPARE_HOSTS_BY_HOST, &compare->damage, compare,
			     &compare->hosts);

	if (err)
		return err;
	compare->past.history = compare_hosts_history(&compare->hosts, SIZE_MAX);
	compare->past.history.averaging = averaging;
	return 0;
}

/*
 * Replicas that share hosts: what those of one side differ by although they run the same, which nothing else tells
 * from a change. Leaves the history without sets when there are too few.
 */
static int load_replicas(struct store_source *reader, const struct diff_cmd_options *options,
			 struct comparison *compare)
{
	struct compare_load before = load_of(options, &options->before, compare);
	struct compare_load after = load_of(options, &options->after, compare);
	struct cmd_store_damage said = { .cnt = CMD_STORE_DAMAGE_TOLD };
	uint32_t enough = compare->statistics.history_min;
	size_t sets = 0;
	int err;

	/* Of hosts it is not the replicas that differ. */
	if (options->before.labels[SELECT_BY_HOST] || options->after.labels[SELECT_BY_HOST])
		return 0;
	err = compare_replicas_sets_max(&compare->before.streams, &compare->after.streams, &sets);
	if (err || sets < enough)
		return err;
	err = load_parts(reader, &before, COMPARE_HOSTS_BY_REPLICA, &said, compare,
			 &compare->hosts);
	if (!err)
		err = load_parts(reader, &after, COMPARE_HOSTS_BY_REPLICA, &said, compare,
				 &compare->replicas);
	if (!err)
		err = compare_replicas_history(&compare->hosts, &compare->replicas,
					       &compare->past.history);
	if (compare->past.history.set_cnt < enough)
		compare->past.history.set_cnt = 0;
	return err;
}

static int load_past(struct store_source *reader, const struct diff_cmd_options *options,
		     struct comparison *compare)
{
	struct compare_load what = load_of(options, &options->before, compare);
	double averaging = 0;
	int err;

	/* Descriptive anyway: nothing to calibrate. */
	if (diff_side__block_count(compare->before.side) < compare->statistics.blocks_min ||
	    diff_side__block_count(compare->after.side) < compare->statistics.blocks_min)
		return 0;
	err = has_groups(options) ? compare_hosts_averaging(&compare->before.streams,
							    &compare->after.streams, &averaging) :
				    0;
	if (err)
		return err;
	if (averaging > 0)
		return load_hosts(reader, &what, compare, averaging);
	if (has_groups(options))
		err = load_replicas(reader, options, compare);
	if (err || compare->past.history.set_cnt)
		return err;
	return compare_past_load(reader, &what, compare->catalog, compare->before.side,
				 compare->after.side, &compare->damage, &compare->past);
}

static void fill_output(const struct diff_cmd_options *options, struct comparison *compare)
{
	struct diff_output *output = &compare->output;

	output->title = strbuf_str(&compare->title);
	output->event = options->event;
	output->subtitle = strbuf_str(&compare->subtitle);
	output->before.name = compare->name_before.data;
	output->after.name = compare->name_after.data;
	output->before.since_unix_ns = options->before.range.since_unix_ns;
	output->before.until_unix_ns = options->before.range.until_unix_ns;
	output->after.since_unix_ns = options->after.range.since_unix_ns;
	output->after.until_unix_ns = options->after.range.until_unix_ns;
	compare_loaded_describe(&compare->before, &output->before);
	compare_loaded_describe(&compare->after, &output->after);
	output->result = compare->result;
	output->catalog = compare->catalog;
	output->options = &compare->statistics;
	output->notes = (const char *const *)compare->notes.items;
	output->note_cnt = compare->notes.cnt;
}

int comparison_run(struct store_source *reader, const struct diff_cmd_options *options,
		   struct comparison *compare)
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
