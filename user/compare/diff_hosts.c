// SPDX-License-Identifier: Apache-2.0
/* See diff_hosts.h: one walk feeds a loader per host. */
#include "user/compare/diff_hosts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/util/vec.h"

#define SHARE_MIN 0.001 /* items below have no history of their own */

void diff_hosts_release(struct diff_hosts *hosts)
{
	for (size_t i = 0; i < hosts->cnt; i++) {
		diff_loader__free(hosts->items[i].loader);
		diff_loaded_release(&hosts->items[i].loaded);
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
	const struct diff_load *what;
	struct diff_catalog *catalog;
	struct diff_hosts hosts;
};

static int loader_of_host(void *ctx, const struct window *window, struct diff_loader **out)
{
	struct hosts_walk *walk = ctx;
	struct diff_hosts *hosts = &walk->hosts;
	const char *name = window_label(window, WINDOW_LABEL_HOST);
	uint32_t id = 0;
	int err = vec_room(hosts->items, hosts->cnt, hosts->cap, 16);

	if (!err)
		err = strtab__intern(hosts->names, name, strlen(name), &id);
	if (!err && id == hosts->cnt) {
		hosts->items[id] = (struct diff_hosts_item){ 0 };
		hosts->cnt++;
		err = diff_loader__new(walk->what, walk->catalog, &hosts->items[id].loader);
	}
	if (!err)
		*out = hosts->items[id].loader;
	return err;
}

static int finish_hosts(struct diff_hosts *hosts)
{
	int err = 0;

	for (size_t i = 0; !err && i < hosts->cnt; i++) {
		struct diff_hosts_item *host = &hosts->items[i];

		err = diff_loader__finish(host->loader, &host->loaded);
		diff_loader__free(host->loader);
		host->loader = NULL;
	}
	return err;
}

int diff_hosts_load(struct store_source *reader, const struct diff_load *what,
		    struct diff_catalog *catalog, struct cmd_store_damage *damage,
		    struct diff_hosts *out)
{
	struct hosts_walk walk = { .what = what, .catalog = catalog };
	int err;

	walk.hosts.names = strtab__new();
	err = walk.hosts.names ? diff_load_walk(reader, what, loader_of_host, &walk, damage) :
				 -ENOMEM;
	if (!err)
		err = finish_hosts(&walk.hosts);
	if (err) {
		diff_hosts_release(&walk.hosts);
		return err;
	}
	*out = walk.hosts;
	return 0;
}

/* ---- what they differ by ---- */

static int sum_hosts(struct diff_hosts *hosts)
{
	__cleanup_free const struct diff_side **parts =
		reallocarray(NULL, hosts->cnt + 1, sizeof(*parts));

	if (!parts)
		return -ENOMEM;
	for (size_t i = 0; i < hosts->cnt; i++)
		parts[i] = hosts->items[i].loaded.side;
	return diff_side_sum(parts, hosts->cnt, &hosts->sum);
}

static int measure_host(const struct diff_hosts *hosts, uint32_t item_cnt, size_t blocks_min,
			struct diff_hosts_item *host)
{
	struct diff_side *rest = NULL;
	int err;

	if (diff_side__block_count(host->loaded.side) < blocks_min)
		return 0;
	err = diff_side_without(hosts->sum, host->loaded.side, item_cnt, &rest);
	if (!err && diff_side__block_count(rest) >= blocks_min)
		err = diff_history_measure_pair(rest, host->loaded.side, item_cnt, SHARE_MIN,
						&host->rows, &host->row_cnt);
	diff_side__free(rest);
	return err;
}

int diff_hosts_measure(uint32_t item_cnt, size_t blocks_min, struct diff_hosts *hosts)
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

struct diff_history diff_hosts_history(struct diff_hosts *hosts, size_t but)
{
	struct diff_history history = {
		.kind = DIFF_HISTORY_HOSTS,
		.sets = hosts->sets,
		.averaging = 1,
	};

	for (size_t i = 0; i < hosts->cnt; i++) {
		const struct diff_hosts_item *host = &hosts->items[i];

		if (i != but && host->row_cnt)
			hosts->sets[history.set_cnt++] =
				(struct diff_history_set){ host->rows, host->row_cnt };
	}
	return history;
}

void diff_hosts_share_errors(const struct diff_hosts *hosts, struct diff_options *options)
{
	if (!hosts->cnt)
		return;
	options->q_shown /= (double)hosts->cnt;
	options->q_alarm /= (double)hosts->cnt;
}

int diff_hosts_compare(struct diff_hosts *hosts, size_t host, const struct diff_item *items,
		       uint32_t item_cnt, const struct diff_options *options,
		       struct diff_result **out)
{
	const struct diff_history history = diff_hosts_history(hosts, host);
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

static int add_hosts(struct strtab *names, const struct streams *streams)
{
	int err = 0;

	for (size_t i = 0; !err && i < streams->cnt; i++) {
		const char *name = window_label(&streams->items[i].latest, WINDOW_LABEL_HOST);
		uint32_t id;

		err = strtab__intern(names, name, strlen(name), &id);
	}
	return err;
}

int diff_hosts_averaging(const struct streams *before, const struct streams *after, double *out)
{
	struct strtab *names = strtab__new(), *after_names = strtab__new();
	int err = names && after_names ? add_hosts(names, before) : -ENOMEM;

	*out = 0;
	if (!err)
		err = add_hosts(after_names, after);
	if (!err) {
		double a = strtab__count(names), b = strtab__count(after_names);

		err = add_hosts(names, after);
		/* Means of a and b hosts, against one host and the mean of the other a - 1. */
		if (!err && a >= DIFF_HOSTS_MIN && b && strtab__count(names) == a + b)
			*out = (1 / a + 1 / b) / (1 + 1 / (a - 1));
	}
	strtab__free(names);
	strtab__free(after_names);
	return err;
}
