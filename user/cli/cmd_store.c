// SPDX-License-Identifier: Apache-2.0
/* The store as the commands meet it; see cmd_store.h. */
#include "user/cli/cmd_store.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "user/cli/exit_codes.h"
#include "user/cli/streams.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define RANGE_FIRST_STEP_NS (3600 * CLOCK_NS_PER_S)
#define RANGE_FUTURE_NS	    (86400 * CLOCK_NS_PER_S) /* clocks step */

int cmd_store_open(const char *dir, struct store_reader **out)
{
	int err = store_reader__open(dir, out);

	if (err == -ENOENT || err == -ENOTDIR)
		pr_err("there is no store in '%s'; is jbpfd running, or is it another --store?\n",
		       dir);
	else if (err == -EACCES || err == -EPERM)
		pr_err("the store in '%s' cannot be read: %s; try as root\n", dir, errstr(err));
	else if (err)
		pr_err("the store in '%s' cannot be opened: %s\n", dir, errstr(err));
	return err;
}

static bool want_samples(void *ctx, const struct window *window)
{
	(void)ctx;
	return window->pid && window->counts.samples;
}

static int take_first(void *ctx, const struct window *window, const char *text, size_t len)
{
	uint64_t *first_unix_ns = ctx;

	(void)text;
	(void)len;
	*first_unix_ns = window->start_unix_ns;
	return 1;
}

struct newest {
	uint64_t last_unix_ns;
	bool is_unreadable;
};

/* Refuses every window, so that no text is decoded. */
static bool look_at_end(void *ctx, const struct window *window)
{
	struct newest *newest = ctx;

	if (want_samples(NULL, window) && window_end_unix_ns(window) > newest->last_unix_ns)
		newest->last_unix_ns = window_end_unix_ns(window);
	return false;
}

static void look_at_damage(void *ctx, const struct store_damage *damage)
{
	((struct newest *)ctx)->is_unreadable |= damage->is_unreadable;
}

/* Backwards in steps that double, so that a store of a month is not read. 0 or -errno. */
static int find_newest(struct store_reader *reader, struct newest *newest)
{
	const struct store_visitor visitor = {
		.ctx = newest,
		.merge_ns = UINT64_MAX,
		.want = look_at_end,
		.damage = look_at_damage,
	};
	uint64_t now = clock_unix_ns(), since = now;

	for (uint64_t step = RANGE_FIRST_STEP_NS; since && !newest->last_unix_ns; step *= 2) {
		int err;

		since = step < now ? now - step : 0;
		err = store_reader__visit(reader, since, since ? now + RANGE_FUTURE_NS : UINT64_MAX,
					  &visitor);
		if (err)
			return err;
	}
	return newest->is_unreadable ? -EIO : 0;
}

int cmd_store_range(struct store_reader *reader, uint64_t *first_unix_ns, uint64_t *last_unix_ns)
{
	uint64_t first = 0;
	struct newest newest = { .last_unix_ns = 0 };
	const struct store_visitor oldest = {
		.ctx = &first,
		.want = want_samples,
		.window = take_first,
	};
	int found = store_reader__visit(reader, 0, UINT64_MAX, &oldest);
	int err = found > 0 ? find_newest(reader, &newest) : found;

	if (err)
		return err;
	*first_unix_ns = first;
	*last_unix_ns = newest.last_unix_ns ? newest.last_unix_ns : first;
	return 0;
}

void cmd_store_damage_note(struct cmd_store_damage *damage, const struct store_damage *stretch)
{
	uint64_t hash = XXH3_64bits_withSeed(stretch->path, strlen(stretch->path), stretch->offset);

	damage->is_unreadable |= stretch->is_unreadable;
	for (size_t i = 0; i < damage->cnt && i < CMD_STORE_DAMAGE_NAMED; i++)
		if (damage->named[i] == hash)
			return;
	if (damage->cnt++ >= CMD_STORE_DAMAGE_NAMED)
		return;
	damage->named[damage->cnt - 1] = hash;
	pr_warn("damage in the store, skipped: %s, %" PRIu64 " bytes from byte %" PRIu64 ": %s\n",
		stretch->path, stretch->bytes, stretch->offset, stretch->what);
}

void cmd_store_damage_end(const struct cmd_store_damage *damage)
{
	if (damage->cnt > CMD_STORE_DAMAGE_NAMED)
		pr_warn("damage in the store: and %zu more places\n",
			damage->cnt - CMD_STORE_DAMAGE_NAMED);
}

int cmd_store_damage_code(const struct cmd_store_damage *damage, int code)
{
	if (code != CMD_EXIT_DONE || !damage->is_unreadable)
		return code;
	pr_err("the result is not complete: part of the store could not be read\n");
	return CMD_EXIT_FAILED;
}
