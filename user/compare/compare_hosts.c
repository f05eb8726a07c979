// SPDX-License-Identifier: Apache-2.0
/* See compare_hosts.h: one walk feeds a loader per host. */
#include "user/compare/compare_hosts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/util/strbuf.h"
#include "user/util/vec.h"

#define SHARE_MIN 0.001 /* items below have no history of their own */

void compare_hosts_release(struct compare_hosts *hosts)
{
	for (size_t i = 0; i < hosts->cnt; i++) {
		compare_loader__free(hosts->items[i].loader);
		compare_loaded_release(&hosts->items[i].loaded);
		free(hosts->items[i].rows);
	}
	free(hosts->items);
	free(hosts->sets);
	diff_side__free(hosts->sum);
	strtab__free(hosts->names);
	memset(hosts, 0, sizeof(*hosts));
}

/* ---- reading ---- */

struct hosts_walk {
	const struct compare_load *what;
	enum compare_hosts_unit unit;
	struct diff_catalog *catalog;
	struct compare_hosts hosts;
	struct strbuf name; /* scratch */
};

/* "web-7", or "web-7 7f3a..." of a container. 0 or -ENOMEM. */
static int put_name(enum compare_hosts_unit unit, const struct window *window, struct strbuf *out)
{
	const char *container = window_label(window, WINDOW_LABEL_CONTAINER_ID);

	strbuf_clear(out);
	strbuf_puts(out, window_label(window, WINDOW_LABEL_HOST));
	if (unit == COMPARE_HOSTS_BY_REPLICA && *container)
		strbuf_printf(out, " %s", container);
	else if (unit == COMPARE_HOSTS_BY_REPLICA)
		strbuf_printf(out, " %" PRIu32 " %" PRIu64, window->pid, window->process_start_ns);
	return strbuf_error(out);
}

/*
 * A host's record is of no replica: its time is that in which it was sampled. What else runs there is
 * none either, and would take the places of those that are.
 */
static bool is_counted(const struct hosts_walk *walk, const struct window *window)
{
	return walk->unit == COMPARE_HOSTS_BY_HOST ||
	       (compare_load_takes(walk->what, window) &&
		(walk->hosts.cnt < COMPARE_REPLICAS_MAX ||
		 strtab__find(walk->hosts.names, strbuf_str(&walk->name), walk->name.len) !=
			 STRTAB_NONE));
}

static int loader_of_host(void *ctx, const struct window *window, struct compare_loader **out)
{
	struct hosts_walk *walk = ctx;
	struct compare_hosts *hosts = &walk->hosts;
	uint32_t id = 0;
	int err = vec_room(hosts->items, hosts->cnt, hosts->cap, 16);

	*out = NULL;
	if (!err)
		err = put_name(walk->unit, window, &walk->name);
	if (err || !is_counted(walk, window))
		return err;
	err = strtab__intern(hosts->names, strbuf_str(&walk->name), walk->name.len, &id);
	if (!err && id == hosts->cnt) {
		hosts->items[id] = (struct compare_hosts_item){ 0 };
		hosts->cnt++;
		err = compare_loader__new(walk->what, walk->catalog, &hosts->items[id].loader);
	}
	if (!err)
		*out = hosts->items[id].loader;
	return err;
}

/* Each is compared with the sum of the others, so that their counts must add up. */
static int agree(const struct compare_hosts *hosts)
{
	__cleanup_free struct compare_loader **loaders =
		reallocarray(NULL, hosts->cnt + 1, sizeof(*loaders));

	if (!loaders)
		return -ENOMEM;
	for (size_t i = 0; i < hosts->cnt; i++)
		loaders[i] = hosts->items[i].loader;
	compare_loaders_agree(loaders, hosts->cnt);
	return 0;
}

static int finish_hosts(struct compare_hosts *hosts)
{
	int err = agree(hosts);

	for (size_t i = 0; !err && i < hosts->cnt; i++) {
		struct compare_hosts_item *host = &hosts->items[i];

		err = compare_loader__finish(host->loader, &host->loaded);
		compare_loader__free(host->loader);
		host->loader = NULL;
	}
	return err;
}

int compare_hosts_load(struct store_source *reader, const struct compare_load *what,
		       enum compare_hosts_unit unit, struct diff_catalog *catalog,
		       struct cmd_store_damage *damage, struct compare_hosts *out)
{
	struct hosts_walk walk = { .what = what, .unit = unit, .catalog = catalog };
	int err;

	walk.hosts.names = strtab__new();
	err = walk.hosts.names ? compare_load_walk(reader, what, loader_of_host, &walk, damage) :
				 -ENOMEM;
	strbuf_release(&walk.name);
	if (!err)
		err = finish_hosts(&walk.hosts);
	if (err) {
		compare_hosts_release(&walk.hosts);
		return err;
	}
	*out = walk.hosts;
	return 0;
}

/* ---- what they differ by ---- */

static int sum_hosts(struct compare_hosts *hosts)
{
	__cleanup_free const struct diff_side **parts =
		reallocarray(NULL, hosts->cnt + 1, sizeof(*parts));

	if (!parts)
		return -ENOMEM;
	for (size_t i = 0; i < hosts->cnt; i++)
		parts[i] = hosts->items[i].loaded.side;
	return diff_side_sum(parts, hosts->cnt, &hosts->sum);
}

static int measure_host(const struct compare_hosts *hosts, uint32_t item_cnt, size_t blocks_min,
			struct compare_hosts_item *host)
{
	struct diff_side *rest = NULL;
	int err;

	host->has_blocks = diff_side__block_count(host->loaded.side) >= blocks_min;
	if (!host->has_blocks)
		return 0;
	err = diff_side_without(hosts->sum, host->loaded.side, item_cnt, &rest);
	if (!err && diff_side__block_count(rest) >= blocks_min)
		err = diff_history_measure_pair(rest, host->loaded.side, item_cnt, SHARE_MIN,
						&host->rows, &host->row_cnt);
	diff_side__free(rest);
	return err;
}

int compare_hosts_measure(uint32_t item_cnt, size_t blocks_min, struct compare_hosts *hosts)
{
	int err = sum_hosts(hosts);

	if (!err) {
		hosts->sets = calloc(hosts->cnt + 1, sizeof(*hosts->sets));
		err = hosts->sets ? 0 : -ENOMEM;
	}
	for (size_t i = 0; !err && i < hosts->cnt; i++)
		err = measure_host(hosts, item_cnt, blocks_min, &hosts->items[i]);
	return err;
}

struct diff_history compare_hosts_history(struct compare_hosts *hosts, size_t but)
{
	struct diff_history history = {
		.kind = DIFF_HISTORY_HOSTS,
		.sets = hosts->sets,
		.averaging = 1,
	};

	for (size_t i = 0; i < hosts->cnt; i++) {
		const struct compare_hosts_item *host = &hosts->items[i];

		if (i != but && host->row_cnt)
			hosts->sets[history.set_cnt++] =
				(struct diff_history_set){ host->rows, host->row_cnt };
	}
	return history;
}

void compare_hosts_share_errors(const struct compare_hosts *hosts, struct diff_options *options)
{
	size_t judged = 0;

	/* A host that runs other things has an item, for its record, and nothing to be odd in. */
	for (size_t i = 0; i < hosts->cnt; i++)
		judged += diff_side__block_count(hosts->items[i].loaded.side) > 0;
	if (!judged)
		return;
	options->q_shown /= (double)judged;
	options->q_alarm /= (double)judged;
}

int compare_hosts_compare(struct compare_hosts *hosts, size_t host, const struct diff_item *items,
			  uint32_t item_cnt, const struct diff_options *options,
			  struct diff_result **out)
{
	const struct diff_history history = compare_hosts_history(hosts, host);
	struct diff_side *rest = NULL;
	int err = diff_side_without(hosts->sum, hosts->items[host].loaded.side, item_cnt, &rest);
	struct diff_input input = {
		.items = items,
		.item_cnt = item_cnt,
		.a = rest,
		.b = hosts->items[host].loaded.side,
		.history = &history,
	};

	if (!err)
		err = diff_run(&input, options, out);
	diff_side__free(rest);
	return err;
}

static int add_hosts(struct strtab *names, enum compare_hosts_unit unit,
		     const struct streams *streams)
{
	__cleanup_strbuf struct strbuf name = STRBUF_INIT;
	int err = 0;

	for (size_t i = 0; !err && i < streams->cnt; i++) {
		uint32_t id;

		err = put_name(unit, &streams->items[i].latest, &name);
		if (!err)
			err = strtab__intern(names, strbuf_str(&name), name.len, &id);
	}
	return err;
}

/* Of two replicas one comparison is the other the other way round. */
static size_t sets_of(size_t replicas)
{
	return replicas < 2 ? 0 : replicas == 2 ? 1 : replicas;
}

static int count_replicas(const struct streams *streams, size_t *out)
{
	struct strtab *names = strtab__new();
	int err = names ? add_hosts(names, COMPARE_HOSTS_BY_REPLICA, streams) : -ENOMEM;

	*out = err ? 0 : strtab__count(names);
	strtab__free(names);
	return err;
}

int compare_replicas_sets_max(const struct streams *before, const struct streams *after,
			      size_t *out)
{
	size_t a = 0, b = 0;
	int err = count_replicas(before, &a);

	if (!err)
		err = count_replicas(after, &b);
	*out = sets_of(a) + sets_of(b);
	return err;
}

static size_t count_with_blocks(const struct compare_hosts *hosts)
{
	size_t cnt = 0;

	for (size_t i = 0; i < hosts->cnt; i++)
		cnt += hosts->items[i].has_blocks;
	return cnt;
}

static void add_sets(const struct compare_hosts *hosts, size_t replicas,
		     struct diff_history_set *sets, size_t *cnt)
{
	size_t left = sets_of(replicas);

	for (size_t i = 0; left && i < hosts->cnt; i++) {
		const struct compare_hosts_item *one = &hosts->items[i];

		if (!one->row_cnt)
			continue;
		sets[(*cnt)++] = (struct diff_history_set){ one->rows, one->row_cnt };
		left--;
	}
}

/* Of n replicas one against the mean of the others varies so many times as much as one alone. */
static double one_against_others(size_t n)
{
	return n > 1 ? (double)n / (double)(n - 1) : 0;
}

int compare_replicas_history(struct compare_hosts *before, const struct compare_hosts *after,
			     struct diff_history *out)
{
	size_t a = count_with_blocks(before), b = count_with_blocks(after);
	size_t from_before;

	*out = (struct diff_history){ .kind = DIFF_HISTORY_REPLICAS };
	/* What a side is the mean of is not known where each of its replicas lived too short. */
	if (!a || !b)
		return 0;
	free(before->sets);
	before->sets = calloc(before->cnt + after->cnt + 1, sizeof(*before->sets));
	if (!before->sets)
		return -ENOMEM;
	out->sets = before->sets;
	add_sets(before, a, before->sets, &out->set_cnt);
	from_before = out->set_cnt;
	add_sets(after, b, before->sets, &out->set_cnt);
	if (!out->set_cnt)
		return 0;

	double one = (double)from_before * one_against_others(a) +
		     (double)(out->set_cnt - from_before) * one_against_others(b);

	out->averaging = (1 / (double)a + 1 / (double)b) / (one / (double)out->set_cnt);
	return 0;
}

int compare_hosts_averaging(const struct streams *before, const struct streams *after, double *out)
{
	struct strtab *names = strtab__new(), *after_names = strtab__new();
	int err = names && after_names ? add_hosts(names, COMPARE_HOSTS_BY_HOST, before) : -ENOMEM;

	*out = 0;
	if (!err)
		err = add_hosts(after_names, COMPARE_HOSTS_BY_HOST, after);
	if (!err) {
		double a = strtab__count(names), b = strtab__count(after_names);

		err = add_hosts(names, COMPARE_HOSTS_BY_HOST, after);
		/* Means of a and b hosts, against one host and the mean of the other a - 1. */
		if (!err && a >= COMPARE_HOSTS_MIN && b && strtab__count(names) == a + b)
			*out = (1 / a + 1 / b) / (1 + 1 / (a - 1));
	}
	strtab__free(names);
	strtab__free(after_names);
	return err;
}
