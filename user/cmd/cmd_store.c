// SPDX-License-Identifier: Apache-2.0
/* The store as the commands meet it; see cmd_store.h. */
#include "user/cmd/cmd_store.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "user/cmd/streams.h"
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

/* Refuses every window, so that no text is decoded. */
static bool look_at_end(void *ctx, const struct window *window)
{
	uint64_t *last_unix_ns = ctx;

	if (want_samples(NULL, window) && window_end_unix_ns(window) > *last_unix_ns)
		*last_unix_ns = window_end_unix_ns(window);
	return false;
}

int cmd_store_range(struct store_reader *reader, uint64_t *first_unix_ns, uint64_t *last_unix_ns)
{
	uint64_t first = 0, last = 0, now = clock_unix_ns();
	const struct store_visitor oldest = {
		.ctx = &first,
		.want = want_samples,
		.window = take_first,
	};
	const struct store_visitor newest = { .ctx = &last,
					      .merge_ns = UINT64_MAX,
					      .want = look_at_end };
	int err = store_reader__visit(reader, 0, UINT64_MAX, &oldest);

	if (err < 0)
		return err;
	/* Backwards in steps that double, so that a store of a month is not read. */
	for (uint64_t step = RANGE_FIRST_STEP_NS; err && !last; step *= 2) {
		uint64_t since = step < now ? now - step : 0;

		if (store_reader__visit(reader, since, since ? now + RANGE_FUTURE_NS : UINT64_MAX,
					&newest) < 0 ||
		    since == 0)
			break;
	}
	*first_unix_ns = first;
	*last_unix_ns = last ? last : first;
	return 0;
}

void cmd_store_damage_note(struct cmd_store_damage *damage, const struct store_damage *stretch)
{
	uint64_t hash = XXH3_64bits_withSeed(stretch->path, strlen(stretch->path), stretch->offset);

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
