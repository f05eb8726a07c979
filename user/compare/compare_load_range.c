// SPDX-License-Identifier: Apache-2.0
/*
 * One side of one range of the store, see compare_load.h; read twice when it has more different stacks
 * than are wanted (compare_heavy.h).
 */
#include <errno.h>

#include "user/compare/compare_heavy.h"
#include "user/compare/compare_load.h"

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
