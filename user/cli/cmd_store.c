// SPDX-License-Identifier: Apache-2.0
/* The store as the commands meet it; see cmd_store.h. */
#include "user/cli/cmd_store.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "user/cli/exit_codes.h"
#include "user/cli/streams.h"
#include "user/model/event_view.h"
#include "user/output/info.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define RANGE_FIRST_STEP_NS (3600 * CLOCK_NS_PER_S)
#define RANGE_FUTURE_NS	    (86400 * CLOCK_NS_PER_S) /* clocks step */

int cmd_store_open(const char *dir, struct store_source **out)
{
	return cmd_store_open_event(dir, EVENT_CPU, out);
}

int cmd_store_open_event(const char *dir, enum event event, struct store_source **out)
{
	int err = store_source__open(dir, event, out);
	char names[EVENT_NAMES_MAX], missing[EVENT_NAMES_MAX];
	uint32_t events = 0;

	if (err == -ENOENT)
		err = store_events(dir, &events) ?: -ENOENT;
	if (err == -ENOENT && events) {
		event_names(event_sources(event) & ~events, missing);
		event_names(events, names);
		pr_err("no samples match: the store in '%s' has none of %s, only of %s; jbpfd --event says what is sampled\n",
		       dir, missing, names);
		return -ENODATA;
	}
	if (err == -ENOENT || err == -ENOTDIR)
		pr_err("there is no store in '%s'; is jbpfd running, or is it another --store?\n",
		       dir);
	else if (err == -EACCES || err == -EPERM)
		pr_err("the store in '%s' cannot be read: %s; try as root, or as a member of its group\n",
		       dir, errstr(err));
	else if (err)
		pr_err("the store in '%s' cannot be opened: %s\n", dir, errstr(err));
	return err;
}

static bool want_samples(void *ctx, const struct window *window)
{
	(void)ctx;
	return window->pid && window->counts.samples;
}

struct oldest {
	uint64_t first_unix_ns;
	bool is_unreadable; /* an older one may be there */
};

static int take_first(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct oldest *oldest = ctx;

	(void)text;
	(void)len;
	oldest->first_unix_ns = window->start_unix_ns;
	return 1;
}

/* Refuses every window, so that no text is decoded. */
static bool note_begin(void *ctx, const struct window *window)
{
	struct oldest *oldest = ctx;

	if (want_samples(NULL, window) && window->start_unix_ns < oldest->first_unix_ns)
		oldest->first_unix_ns = window->start_unix_ns;
	return false;
}

static void note_damage_of_oldest(void *ctx, const struct store_damage *damage)
{
	((struct oldest *)ctx)->is_unreadable |= damage->is_unreadable;
}

struct newest {
	bool takes_all; /* also windows in which nothing ran */
	uint64_t last_unix_ns;
	bool is_unreadable;
};

/* As note_begin(). */
static bool note_end(void *ctx, const struct window *window)
{
	struct newest *newest = ctx;

	if ((newest->takes_all || want_samples(NULL, window)) &&
	    window_end_unix_ns(window) > newest->last_unix_ns)
		newest->last_unix_ns = window_end_unix_ns(window);
	return false;
}

static void note_damage_of_newest(void *ctx, const struct store_damage *damage)
{
	((struct newest *)ctx)->is_unreadable |= damage->is_unreadable;
}

/* Backwards in steps that double, so that a store of a month is not read. 0 or -errno. */
static int find_newest(struct store_source *reader, struct newest *newest)
{
	const struct store_visitor visitor = {
		.ctx = newest,
		.merge_ns = UINT64_MAX,
		.want = note_end,
		.damage = note_damage_of_newest,
	};
	uint64_t now = clock_unix_ns(), since = now;

	for (uint64_t step = RANGE_FIRST_STEP_NS; since && !newest->last_unix_ns; step *= 2) {
		int err;

		since = step < now ? now - step : 0;
		err = store_source__visit(reader, since, since ? now + RANGE_FUTURE_NS : UINT64_MAX,
					  &visitor);
		if (err)
			return err;
	}
	return 0;
}

/* 0 or -errno. */
static int find_oldest(struct store_source *reader, struct oldest *oldest)
{
	const struct store_visitor first = {
		.ctx = oldest,
		.want = want_samples,
		.window = take_first,
		.damage = note_damage_of_oldest,
	};
	const struct store_visitor earlier = {
		.ctx = oldest,
		.want = note_begin,
		.damage = note_damage_of_oldest,
	};
	int err = store_source__visit(reader, 0, UINT64_MAX, &first);

	/* A merged file has one stream behind the other, not in order of time. */
	return err > 0 ? store_source__visit(reader, 0, oldest->first_unix_ns, &earlier) : err;
}

static int part_range(struct store_source *part, struct cmd_store_range *out)
{
	struct oldest oldest = { .first_unix_ns = 0 };
	struct newest newest = { .last_unix_ns = 0 };
	int err = store_source__range(part, &out->first_unix_ns, &out->last_unix_ns);

	if (err != -EOPNOTSUPP)
		return err;
	err = find_oldest(part, &oldest);
	if (!err && oldest.first_unix_ns)
		err = find_newest(part, &newest);
	out->first_unix_ns = oldest.first_unix_ns;
	out->last_unix_ns = newest.last_unix_ns ? newest.last_unix_ns : oldest.first_unix_ns;
	out->is_first_unsure = oldest.is_unreadable;
	out->is_last_unsure = newest.is_unreadable;
	return err;
}

int cmd_store_range_known(struct store_source *source, struct cmd_store_range *out)
{
	struct cmd_store_range all = { .last_unix_ns = 0 };
	struct store_source *part;
	int err = 0;

	for (size_t i = 0; !err && (part = store_source__part(source, i)); i++) {
		struct cmd_store_range of_part = { .last_unix_ns = 0 };

		err = part_range(part, &of_part);
		all.is_first_unsure |= of_part.is_first_unsure;
		all.is_last_unsure |= of_part.is_last_unsure;
		if (err || !of_part.last_unix_ns)
			continue;
		if (!all.first_unix_ns || of_part.first_unix_ns < all.first_unix_ns)
			all.first_unix_ns = of_part.first_unix_ns;
		if (of_part.last_unix_ns > all.last_unix_ns)
			all.last_unix_ns = of_part.last_unix_ns;
	}
	if (!err)
		*out = all;
	return err;
}

int cmd_store_range(struct store_source *source, struct cmd_store_range *out)
{
	struct cmd_store_range range;
	int err = cmd_store_range_known(source, &range);

	if (err)
		return err;
	if (range.is_last_unsure)
		return -EIO;
	*out = range;
	return 0;
}

int cmd_store_last_window(struct store_source *source, uint64_t *last_unix_ns_out)
{
	struct newest newest = { .takes_all = true };
	int err = find_newest(source, &newest);

	if (err)
		return err;
	if (newest.is_unreadable)
		return -EIO;
	*last_unix_ns_out = newest.last_unix_ns;
	return 0;
}

uint64_t cmd_store_damage_place(const struct store_damage *stretch)
{
	return XXH3_64bits_withSeed(stretch->path, strlen(stretch->path), stretch->offset);
}

void cmd_store_damage_note(struct cmd_store_damage *damage, const struct store_damage *stretch)
{
	uint64_t hash = cmd_store_damage_place(stretch);

	damage->is_unreadable |= stretch->is_unreadable;
	for (size_t i = 0; i < damage->cnt && i < CMD_STORE_DAMAGE_NAMED; i++)
		if (damage->named[i] == hash)
			return;
	if (damage->cnt++ >= CMD_STORE_DAMAGE_NAMED)
		return;
	damage->named[damage->cnt - 1] = hash;
	pr_warn("damage in the store, skipped: %s, %" PRIu64 " byte%s from byte %" PRIu64 ": %s\n",
		stretch->path, stretch->bytes, info_plural(stretch->bytes), stretch->offset,
		stretch->what);
}

void cmd_store_damage_end(const struct cmd_store_damage *damage)
{
	if (damage->cnt > CMD_STORE_DAMAGE_NAMED)
		pr_warn("damage in the store: and %zu more place%s\n",
			damage->cnt - CMD_STORE_DAMAGE_NAMED,
			info_plural(damage->cnt - CMD_STORE_DAMAGE_NAMED));
}

int cmd_store_damage_code(const struct cmd_store_damage *damage, int code)
{
	if (code != CMD_EXIT_DONE || !damage->is_unreadable)
		return code;
	pr_err("the result is not complete: part of the store could not be read\n");
	return CMD_EXIT_FAILED;
}
