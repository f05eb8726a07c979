// SPDX-License-Identifier: Apache-2.0
/* See cmd_stores.h. */
#include "user/cli/cmd_stores.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "user/source/clickhouse_source.h"
#include "user/util/log.h"

/* The samples of a store that is given twice, by two of its paths, would count twice. */
static int check_twice(const struct option_stores *stores)
{
	struct stat seen[OPTION_STORES_MAX];
	size_t cnt = 0;

	for (size_t i = 0; i < stores->cnt; i++) {
		if (stat(stores->dirs[i], &seen[cnt]))
			continue; /* opening it tells why */
		for (size_t j = 0; j < cnt; j++) {
			if (seen[j].st_dev != seen[cnt].st_dev ||
			    seen[j].st_ino != seen[cnt].st_ino)
				continue;
			pr_err("--store: the store in '%s' is given twice; its samples would count twice\n",
			       stores->dirs[i]);
			return -EEXIST;
		}
		cnt++;
	}
	return 0;
}

/* The parts that can be opened. 0, or the first failure among those that are none but of the event. */
static int open_parts(const struct option_stores *stores, enum event event,
		      struct store_source **parts, size_t *cnt)
{
	int failed = 0;

	for (size_t i = 0; i < stores->cnt; i++) {
		int err = cmd_store_open_event(stores->dirs[i], event, &parts[*cnt]);

		if (!err)
			(*cnt)++;
		else if (!failed || failed == -ENODATA)
			failed = err;
	}
	return failed;
}

static void free_parts(struct store_source *const *parts, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		store_source__free(parts[i]);
}

static int open_several(const struct option_stores *stores, enum event event,
			struct store_source **out, bool *is_partial)
{
	struct store_source *parts[OPTION_STORES_MAX];
	size_t cnt = 0;
	int failed, err = check_twice(stores);

	if (err)
		return err;
	failed = open_parts(stores, event, parts, &cnt);
	if (!cnt)
		return failed;
	err = store_source__join(parts, cnt, out);
	if (err) {
		pr_err("out of memory\n");
		free_parts(parts, cnt);
		return err;
	}
	*is_partial = failed && failed != -ENODATA;
	return 0;
}

static int open_server(const char *url, enum event event, struct store_source **out)
{
	char why[768];
	int err = clickhouse_source__open(url, event, out, why, sizeof(why));

	if (err)
		pr_err("--from: %s\n", why);
	return err == -ENODATA ? -EIO : err;
}

static int open_any(const struct option_stores *stores, enum event event, struct store_source **out,
		    bool *is_partial)
{
	*is_partial = false;
	if (stores->from)
		return open_server(stores->from, event, out);
	if (stores->cnt > 1)
		return open_several(stores, event, out, is_partial);
	return cmd_store_open_event(option_stores_first(stores), event, out);
}

int cmd_stores_open(const struct option_stores *stores, enum event event, struct store_source **out,
		    struct cmd_store_damage *damage)
{
	bool is_partial;
	int err = open_any(stores, event, out, &is_partial);

	if (!err)
		damage->is_unreadable |= is_partial;
	return err;
}

int cmd_stores_open_all(const struct option_stores *stores, enum event event,
			struct store_source **out)
{
	bool is_partial;
	int err = open_any(stores, event, out, &is_partial);

	if (err || !is_partial)
		return err;
	store_source__free(*out);
	pr_err("nothing is compared: not all of the stores can be read\n");
	return -EIO;
}

int cmd_stores_events(const struct option_stores *stores, uint32_t *events)
{
	char why[768];

	if (stores->from)
		return clickhouse_source_events(stores->from, events, why, sizeof(why));
	return store_events(option_stores_first(stores), events);
}
