// SPDX-License-Identifier: Apache-2.0
/*
 * The store into loaders, see compare_load.h. One side of one range is read twice when it has more
 * different stacks than are wanted (compare_heavy.h).
 */
#include <errno.h>

#include "user/compare/compare_heavy.h"
#include "user/compare/compare_load.h"

struct load_walk {
	compare_loader_of_fn loader_of;
	void *ctx;
	struct cmd_store_damage *damage;
	int err;
};

static bool walk_want(void *ctx, const struct window *window)
{
	struct load_walk *walk = ctx;
	struct compare_loader *loader = NULL;

	if (!walk->err)
		walk->err = walk->loader_of(walk->ctx, window, &loader);
	return !walk->err && loader && compare_loader__want(loader, window);
}

static int walk_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct load_walk *walk = ctx;
	struct compare_loader *loader = NULL;
	int err = walk->loader_of(walk->ctx, window, &loader);

	return err ? err : compare_loader__add(loader, window, text, len);
}

static void walk_damage(void *ctx, const struct store_damage *stretch)
{
	cmd_store_damage_note(((struct load_walk *)ctx)->damage, stretch);
}

int compare_load_walk(struct store_source *reader, const struct compare_load *what,
		      compare_loader_of_fn loader_of, void *ctx, struct cmd_store_damage *damage)
{
	struct load_walk walk = { .loader_of = loader_of, .ctx = ctx, .damage = damage };
	const struct store_visitor visitor = {
		.ctx = &walk,
		.wants_threads = selection_is_of_threads(what->selection),
		.merge_ns = what->block_ns,
		.selection = what->selection,
		.want = walk_want,
		.window = walk_window,
		.damage = walk_damage,
	};
	int err = store_source__visit(reader, what->since_unix_ns, what->until_unix_ns, &visitor);

	if (!err)
		err = walk.err;
	/* A comparison with something that is not all of it is worth nothing. */
	return !err && damage->is_unreadable ? -EIO : err;
}

static int only_loader(void *ctx, const struct window *window, struct compare_loader **out)
{
	(void)window;
	*out = ctx;
	return 0;
}

/* 1: the heaviest stacks are to be chosen, and all to be read again. */
static int load_once(struct store_source *reader, const struct compare_load *what,
		     struct diff_catalog *catalog, struct cmd_store_damage *damage,
		     struct compare_loaded *out)
{
	struct compare_loader *loader;
	int err = compare_loader__new(what, catalog, &loader);

	if (err)
		return err;
	err = compare_load_walk(reader, what, only_loader, loader, damage);
	if (!err && what->heavy && compare_heavy__must_choose(what->heavy))
		err = 1;
	if (!err)
		err = compare_loader__finish(loader, out);
	compare_loader__free(loader);
	return err;
}

int compare_load_range(struct store_source *reader, const struct compare_load *what,
		       struct diff_catalog *catalog, struct cmd_store_damage *damage,
		       struct compare_loaded *out)
{
	struct compare_load limited = *what;
	int err;

	if (!what->stacks_max)
		return load_once(reader, what, catalog, damage, out);
	limited.heavy = compare_heavy__new(what->stacks_max, what->expects_more_stacks);
	if (!limited.heavy)
		return -ENOMEM;
	err = load_once(reader, &limited, catalog, damage, out);
	if (err > 0) {
		err = compare_heavy__choose(limited.heavy);
		if (!err)
			err = load_once(reader, &limited, catalog, damage, out);
	}
	compare_heavy__free(limited.heavy);
	return err;
}
