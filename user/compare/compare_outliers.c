// SPDX-License-Identifier: Apache-2.0
/* See compare_outliers.h. */
#include "user/compare/compare_outliers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/compare/compare_alarms.h"
#include "user/compare/compare_hosts.h"
#include "user/diff/diff_math.h"
#include "user/util/cleanup.h"
#include "user/output/escape.h"

#define LINES_MAX   5	 /* of a host */
#define LARGE_SHARE 0.01 /* methods whose smallest visible change is told */

struct search {
	const struct diff_options *statistics;
	struct diff_catalog *catalog;
	struct compare_hosts hosts;
	struct strbuf *text;
	double *visible; /* by judged host: the median method's smallest visible change */
	struct compare_outliers found;
};

static void put_host(struct search *search, size_t host)
{
	size_t len;
	const char *name = strtab__get(search->hosts.names, (uint32_t)host, &len);

	escape_terminal(search->text, len ? name : "(no name)", len ? len : strlen("(no name)"));
	strbuf_puts(search->text, ": ");
}

static int put_alarm(struct search *search, size_t host, const struct diff_result *result,
		     const struct compare_alarm *alarm)
{
	int err;

	put_host(search, host);
	err = compare_alarms_text(result, search->catalog, alarm, search->text);
	strbuf_putc(search->text, '\n');
	return err;
}

/* Less than the others: methods by themselves, as there is no list of causes for it. */
static int put_less(struct search *search, size_t host, const struct diff_result *result,
		    size_t *cnt)
{
	uint32_t item_cnt;
	const struct diff_item *items = diff_catalog__items(search->catalog, &item_cnt);
	int err = 0;

	for (uint32_t i = 0; !err && i < item_cnt && i < result->row_cnt; i++) {
		const struct diff_row *row = &result->rows[i];
		const struct compare_alarm less = { .item = i, .origin = items[i].method };

		if (items[i].kind != DIFF_KIND_METHOD_SELF ||
		    (row->verdict != DIFF_VERDICT_DOWN && row->verdict != DIFF_VERDICT_GONE))
			continue;
		if ((*cnt)++ < LINES_MAX)
			err = put_alarm(search, host, result, &less);
	}
	return err;
}

static int put_changes(struct search *search, size_t host, const struct diff_result *result)
{
	__cleanup_free struct compare_alarm *alarms = NULL;
	size_t cnt = 0;
	int err = compare_alarms_list(result, search->catalog, &alarms, &cnt);

	for (size_t i = 0; !err && i < cnt && i < LINES_MAX; i++)
		err = put_alarm(search, host, result, &alarms[i]);
	search->found.slower += cnt > 0;
	if (!err)
		err = put_less(search, host, result, &cnt);
	search->found.odd += cnt > 0;
	if (cnt > LINES_MAX) {
		put_host(search, host);
		strbuf_printf(search->text, "and %zu more methods\n", cnt - LINES_MAX);
	}
	return err;
}

static int note_visible(struct search *search, const struct diff_result *result)
{
	uint32_t item_cnt;
	const struct diff_item *items = diff_catalog__items(search->catalog, &item_cnt);
	__cleanup_free double *room = reallocarray(NULL, (size_t)item_cnt + 1, sizeof(*room));
	size_t cnt = 0;

	if (!room)
		return -ENOMEM;
	for (uint32_t i = 0; i < item_cnt; i++)
		if (items[i].kind == DIFF_KIND_METHOD_SELF &&
		    result->rows[i].share_a >= LARGE_SHARE && isfinite(result->rows[i].detectable))
			room[cnt++] = result->rows[i].detectable;
	search->visible[search->found.judged++] = cnt ? diff_math_median(room, cnt) : INFINITY;
	return 0;
}

static int judge_host(struct search *search, size_t host)
{
	struct diff_result *result = NULL;
	const char *obstacle;
	uint32_t item_cnt;
	const struct diff_item *items = diff_catalog__items(search->catalog, &item_cnt);
	int err = compare_hosts_compare(&search->hosts, host, items, item_cnt, search->statistics,
					&result);

	if (err)
		return err;
	obstacle = compare_alarms_obstacle(&result->summary, search->statistics);
	if (*obstacle) {
		put_host(search, host);
		strbuf_printf(search->text, "not judged: %s\n", obstacle);
	} else {
		err = note_visible(search, result);
		if (!err)
			err = put_changes(search, host, result);
	}
	diff_result__free(result);
	return err;
}

static void put_summary(struct search *search)
{
	const struct compare_outliers *found = &search->found;
	double visible = found->judged ? diff_math_median(search->visible, found->judged) :
					 INFINITY;

	if (found->odd)
		strbuf_printf(search->text, "%zu of %zu hosts differ%s from the others", found->odd,
			      found->judged, found->odd == 1 ? "s" : "");
	else if (found->judged)
		strbuf_printf(search->text, "none of %zu hosts differs from the others",
			      found->judged);
	else
		strbuf_puts(search->text, "no host could be judged");
	if (isfinite(visible))
		strbuf_printf(
			search->text,
			"; of methods of at least 1 %% a change of about %.0f %% could be seen",
			100 * visible);
	strbuf_putc(search->text, '\n');
}

/* ---- reading ---- */

static int load(struct store_source *reader, const struct compare_load *what,
		struct cmd_store_damage *damage, struct search *search)
{
	compare_hosts_release(&search->hosts);
	diff_catalog__free(search->catalog);
	search->catalog = diff_catalog__new();
	return search->catalog ? compare_hosts_load(reader, what, COMPARE_HOSTS_BY_HOST,
						    search->catalog, damage, &search->hosts) :
				 -ENOMEM;
}

/* From the first window of any host to the last, and the longest of them. False: there are none. */
static bool find_extent(const struct compare_hosts *hosts, uint64_t *extent_ns, uint64_t *window_ns)
{
	uint64_t first = UINT64_MAX, last = 0;

	*window_ns = 0;
	for (size_t i = 0; i < hosts->cnt; i++) {
		const struct compare_loaded *at = &hosts->items[i].loaded;

		if (!at->last_unix_ns)
			continue;
		first = at->first_unix_ns < first ? at->first_unix_ns : first;
		last = at->last_unix_ns > last ? at->last_unix_ns : last;
		*window_ns = at->window_ns > *window_ns ? at->window_ns : *window_ns;
	}
	*extent_ns = last ? last - first : 0;
	return last;
}

/* Nothing is named again. */
static int load_again(struct store_source *reader, uint64_t block_ns, struct compare_load *what,
		      struct search *search)
{
	struct cmd_store_damage said = { .cnt = CMD_STORE_DAMAGE_TOLD };

	if (block_ns == what->block_ns)
		return 0;
	what->block_ns = block_ns;
	return load(reader, what, &said, search);
}

/* As in a comparison of two sides. */
static int load_fitting(struct store_source *reader, const struct diff_cmd_options *options,
			struct cmd_store_damage *damage, struct search *search)
{
	struct compare_load what = {
		.selection = &options->selection,
		.event = options->event,
		.since_unix_ns = options->selection.since_unix_ns,
		.until_unix_ns = options->selection.until_unix_ns,
		.warm_up_s = options->statistics.warm_up_s,
	};
	uint64_t extent, window;
	int err;

	what.block_ns = diff_side_block_length_ns(what.until_unix_ns - what.since_unix_ns);
	err = load(reader, &what, damage, search);
	if (err || !find_extent(&search->hosts, &extent, &window))
		return err;
	err = load_again(reader, diff_side_block_fitting_ns(what.block_ns, extent), &what, search);
	if (!err && find_extent(&search->hosts, &extent, &window))
		err = load_again(reader, diff_side_block_holding_ns(what.block_ns, window), &what,
				 search);
	return err;
}

static int judge_all(struct search *search, struct diff_options *statistics)
{
	struct compare_hosts *hosts = &search->hosts;
	uint32_t item_cnt;
	int err;

	(void)diff_catalog__items(search->catalog, &item_cnt);
	search->visible = calloc(hosts->cnt, sizeof(*search->visible));
	err = search->visible ? compare_hosts_measure(item_cnt, statistics->blocks_min, hosts) :
				-ENOMEM;
	compare_hosts_share_errors(hosts, statistics);
	for (size_t i = 0; !err && i < hosts->cnt; i++)
		if (diff_side__block_count(hosts->items[i].loaded.side))
			err = judge_host(search, i);
	if (!err)
		put_summary(search);
	return err ? err : strbuf_error(search->text);
}

int compare_outliers_find(struct store_source *reader, const struct diff_cmd_options *options,
			  struct cmd_store_damage *damage, struct strbuf *text,
			  struct compare_outliers *out)
{
	struct diff_options statistics = options->statistics;
	struct search search = { .statistics = &statistics, .text = text };
	int err = load_fitting(reader, options, damage, &search);

	for (size_t i = 0; !err && i < search.hosts.cnt; i++)
		search.found.hosts += diff_side__block_count(search.hosts.items[i].loaded.side) > 0;
	if (!err && search.found.hosts >= COMPARE_HOSTS_MIN)
		err = judge_all(&search, &statistics);
	compare_hosts_release(&search.hosts);
	diff_catalog__free(search.catalog);
	free(search.visible);
	*out = search.found;
	return err;
}
