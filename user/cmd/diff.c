// SPDX-License-Identifier: Apache-2.0
/*
 * jbpf diff: reports which methods need more or less CPU than before, and how sure that is. It
 * compares two times or two groups of processes from the store, two folded files, or, day by day, every service
 * (daily.c).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "user/cmd/cmd.h"
#include "user/cli/cmd_store.h"
#include "user/cli/cmd_stores.h"
#include "user/cli/cmd_write.h"
#include "user/cli/option_usage.h"
#include "user/compare/compare_alarms.h"
#include "user/compare/comparison.h"
#include "user/compare/compare_hosts.h"
#include "user/daily/daily.h"
#include "user/compare/compare_images.h"
#include "user/compare/compare_outliers.h"
#include "user/cmd/diff_options.h"
#include "user/cmd/dump_hint.h"
#include "user/output/diff/diff_output.h"
#include "user/output/diff/diff_sentence.h"
#include "user/output/escape.h"
#include "user/output/info.h"
#include "user/store/store_source.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/util/strbuf.h"

#define LIST_HINT "; see --list"

/* `source` is NULL when files are compared. */
static int diff_fail(const struct diff_cmd_options *options, const struct store_source *source,
		     int err)
{
	if (err == -ENOMEM)
		pr_err("out of memory; take shorter times or fewer processes\n");
	else if (err == -E2BIG)
		pr_err("too many different stacks; take shorter times or fewer processes\n");
	else if (options->mode == DIFF_CMD_MODE_FILES)
		pr_err("the files cannot be compared: %s\n", errstr(err));
	else
		pr_err("the store in '%s' cannot be read: %s\n", store_source__name(source),
		       store_source__failure(source, err));
	return CMD_EXIT_FAILED;
}

/* ---- sides without samples ---- */

static bool is_empty(const struct compare_loaded *side)
{
	return diff_side__block_count(side->side) == 0;
}

static void append_side(const struct diff_cmd_side *side, struct strbuf *out)
{
	if (side->file) {
		strbuf_printf(out, ", '%s'", side->file);
		return;
	}
	strbuf_puts(out, " (");
	for (int by = 0; by < SELECT_BY_CNT; by++)
		if (side->labels[by])
			strbuf_printf(out, "%s %s, ", select_by_name((enum select_by)by),
				      side->labels[by]);
	info_append_local_time(out, side->range.since_unix_ns);
	strbuf_puts(out, " to ");
	info_append_local_time(out, side->range.until_unix_ns);
	strbuf_putc(out, ')');
}

static int append_hint(struct store_source *reader, const struct diff_cmd_options *options,
		       const struct diff_cmd_side *side, const struct compare_loaded *loaded,
		       struct strbuf *out)
{
	struct dump_options asked = { .selection = options->selection };
	size_t before;
	int err;

	if (side->file)
		return 0;
	strbuf_puts(out, "; ");
	if (loaded->warm_up_samples) {
		strbuf_puts(out, "all that there are come from JVMs that were warming up in "
				 "their first 10 minutes, which are left out");
		return strbuf_error(out);
	}
	before = out->len;
	err = side->labels[SELECT_BY_IMAGE] ? compare_images_hint(reader, options, out) : 0;
	if (err || out->len > before)
		return err;
	asked.selection.since_unix_ns = side->range.since_unix_ns;
	asked.selection.until_unix_ns = side->range.until_unix_ns;
	err = dump_hint(reader, &asked, out);
	/* That option is the other command's. */
	if (!err && out->len > strlen(LIST_HINT) &&
	    strcmp(out->data + out->len - strlen(LIST_HINT), LIST_HINT) == 0) {
		strbuf_truncate(out, out->len - strlen(LIST_HINT));
		strbuf_puts(out, "; see jbpf-dump --list");
	}
	return err ? err : strbuf_error(out);
}

static int say_empty(struct store_source *reader, const struct diff_cmd_options *options,
		     const struct comparison *compare)
{
	bool is_before = is_empty(&compare->before);
	const struct diff_cmd_side *side = is_before ? &options->before : &options->after;
	const struct compare_loaded *loaded = is_before ? &compare->before : &compare->after;
	__cleanup_strbuf struct strbuf where = STRBUF_INIT, hint = STRBUF_INIT;

	append_side(side, &where);
	if (strbuf_error(&where))
		strbuf_clear(&where);
	if (append_hint(reader, options, side, loaded, &hint))
		strbuf_clear(&hint);
	pr_err("no samples on the side %s%s%s\n", is_before ? "before" : "after",
	       strbuf_str(&where), strbuf_str(&hint));
	return CMD_EXIT_NO_SAMPLES;
}

/* ---- output ---- */

static int render(const struct diff_cmd_options *options, const struct comparison *compare,
		  struct strbuf *out)
{
	int err;

	switch (options->format) {
	case DIFF_CMD_FORMAT_FOLDED:
		err = diff_output_folded(&compare->output, out);
		return err ? err : cmd_write_prepare_lines(options->output, out);
	case DIFF_CMD_FORMAT_HTML:
		return diff_output_html(&compare->output, out);
	case DIFF_CMD_FORMAT_JSON:
		return diff_output_json(&compare->output, out);
	case DIFF_CMD_FORMAT_TOP:
		break;
	}
	return diff_output_table(&compare->output, options->row_max, out);
}

/* Why nothing was judged; of what is too short, how much is missing. */
static void tell_obstacle(const struct comparison *compare, const char *obstacle)
{
	const struct diff_gate_result *blocks = &compare->result->summary.gates[DIFF_GATE_BLOCKS];
	double minutes = (double)compare->block_ns / 60 / (double)CLOCK_NS_PER_S;

	if (blocks->passed)
		pr_warn("no regression could be confirmed: %s\n", obstacle);
	else
		pr_warn("no regression could be confirmed: %s: %.0f min before and %.0f min after can be compared, %.0f min of each are needed\n",
			obstacle, blocks->a * minutes, blocks->b * minutes,
			blocks->limit * minutes);
}

/*
 * A deployment gets slower by new methods, too, which are no alarms: they must be as sure as an alarm, and the whole
 * must need more. Then the sentence is the line.
 */
static int judge_new(const struct comparison *compare, size_t *cnt)
{
	__cleanup_strbuf struct strbuf sentence = STRBUF_INIT, text = STRBUF_INIT;
	int err;

	if (!diff_sentence_says_more(&compare->output) ||
	    !compare_alarms_has_new(compare->result, compare->catalog, &compare->statistics))
		return 0;
	diff_sentence(&compare->output, &sentence);
	escape_terminal(&text, strbuf_str(&sentence), sentence.len);
	err = strbuf_error(&sentence) ? strbuf_error(&sentence) : strbuf_error(&text);
	if (err)
		return err;
	pr_err("slower: %s\n", strbuf_str(&text));
	*cnt = 1;
	return 0;
}

/* --fail-on: one line per cause, and the exit code. */
static int judge(struct store_source *reader, const struct diff_cmd_options *options,
		 const struct comparison *compare)
{
	const char *obstacle =
		compare_alarms_obstacle(&compare->result->summary, &compare->statistics);
	__cleanup_free struct compare_alarm *alarms = NULL;
	const char *word = options->fail_on == DIFF_CMD_FAIL_ON_SLOWER ? "slower" : "regression";
	size_t cnt = 0;
	int err = compare_alarms_list(compare->result, compare->catalog, &alarms, &cnt);

	for (size_t i = 0; !err && i < cnt; i++) {
		__cleanup_strbuf struct strbuf text = STRBUF_INIT;

		err = compare_alarms_text(compare->result, compare->catalog, &alarms[i], &text);
		if (!err)
			pr_err("%s: %s\n", word, strbuf_str(&text));
	}
	if (!err && !cnt && !*obstacle && options->fail_on == DIFF_CMD_FAIL_ON_SLOWER)
		err = judge_new(compare, &cnt);
	if (err)
		return diff_fail(options, reader, err);
	if (*obstacle)
		tell_obstacle(compare, obstacle);
	if (cnt)
		return CMD_EXIT_REGRESSION;
	return *obstacle && options->fail_on_unjudged ? CMD_EXIT_UNJUDGED : CMD_EXIT_DONE;
}

static int finish(struct store_source *reader, const struct diff_cmd_options *options,
		  struct comparison *compare)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	int code, err;

	if (is_empty(&compare->before) || is_empty(&compare->after))
		return say_empty(reader, options, compare);
	err = comparison_run(reader, options, compare);
	if (!err)
		err = render(options, compare, &out);
	if (err)
		return diff_fail(options, reader, err);
	code = cmd_write_paged(options->output, options->no_pager, &out);
	if (code == CMD_EXIT_DONE && options->fail_on)
		code = judge(reader, options, compare);
	return code;
}

static int compare_files(const struct diff_cmd_options *options)
{
	struct comparison compare = { 0 };
	int err = comparison_load_files(options, &compare);
	int code = err ? CMD_EXIT_FAILED : finish(NULL, options, &compare);

	comparison_release(&compare);
	return code;
}

static int compare_store(const struct diff_cmd_options *options)
{
	struct comparison compare = { 0 };
	struct store_source *reader;
	int code, err;

	err = cmd_stores_open_all(&options->stores, options->event, &reader);
	if (err)
		return err == -ENODATA ? CMD_EXIT_NO_SAMPLES : CMD_EXIT_FAILED;
	err = comparison_load(reader, options, 0, &compare);
	code = err ? diff_fail(options, reader, err) : finish(reader, options, &compare);
	cmd_store_damage_end(&compare.damage);
	comparison_release(&compare);
	store_source__free(reader);
	return code;
}

/* ---- hosts beside each other ---- */

static int say_few_hosts(struct store_source *reader, const struct diff_cmd_options *options,
			 size_t hosts)
{
	struct dump_options asked = { .selection = options->selection };
	__cleanup_strbuf struct strbuf hint = STRBUF_INIT;

	if (hosts) {
		pr_err("%zu host%s samples of that, at least %d are needed to tell which one "
		       "differs; give more of --store, or another time\n",
		       hosts, hosts == 1 ? " has" : "s have", COMPARE_HOSTS_MIN);
		return CMD_EXIT_FAILED;
	}
	if (dump_hint(reader, &asked, &hint))
		strbuf_clear(&hint);
	pr_err("no samples match%s%s\n", hint.len ? "; " : "", strbuf_str(&hint));
	return CMD_EXIT_NO_SAMPLES;
}

static int find_outliers(const struct diff_cmd_options *options)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct cmd_store_damage damage = { 0 };
	struct compare_outliers found = { 0 };
	struct store_source *reader;
	int code;
	int err = cmd_stores_open_all(&options->stores, options->event, &reader);

	if (err)
		return err == -ENODATA ? CMD_EXIT_NO_SAMPLES : CMD_EXIT_FAILED;
	err = compare_outliers_find(reader, options, &damage, &out, &found);
	if (err)
		code = diff_fail(options, reader, err);
	else if (found.hosts < COMPARE_HOSTS_MIN)
		code = say_few_hosts(reader, options, found.hosts);
	else
		code = cmd_write_paged(options->output, options->no_pager, &out);
	if (code == CMD_EXIT_DONE && options->fail_on && found.slower)
		code = CMD_EXIT_REGRESSION;
	cmd_store_damage_end(&damage);
	store_source__free(reader);
	return code;
}

int cmd_diff(int argc, char **argv)
{
	struct diff_cmd_options options;
	char why[512];

	if (diff_options_parse(argc, argv, clock_unix_ns(), &options, why, sizeof(why))) {
		pr_err("%s\n", why);
		return CMD_EXIT_USAGE;
	}
	if (options.info.help || options.info.version)
		return option_usage_print(&diff_option_table, &options.info);
	if (options.format == DIFF_CMD_FORMAT_HTML && !options.output && isatty(STDOUT_FILENO)) {
		pr_err("that is a picture, not for a terminal; give -o FILE\n");
		return CMD_EXIT_USAGE;
	}
	switch (options.mode) {
	case DIFF_CMD_MODE_FILES:
		return compare_files(&options);
	case DIFF_CMD_MODE_OUTLIERS:
		return find_outliers(&options);
	case DIFF_CMD_MODE_DAYS:
		return daily_run(&options);
	default:
		return compare_store(&options);
	}
}
