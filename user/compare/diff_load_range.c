// SPDX-License-Identifier: Apache-2.0
/*
 * One side of one range of the store, see diff_load.h; read twice when it has more different stacks
 * than are wanted (diff_heavy.h).
 */
#include <errno.h>

#include "user/compare/diff_heavy.h"
#include "user/compare/diff_load.h"

static int only_loader(void *ctx, const struct window *window, struct diff_loader **out)
{
	(void)window;
	*out = ctx;
	return 0;
}

/* 1: the heaviest stacks are to be chosen, and all to be read again. */
static int load_once(struct store_source *reader, const struct diff_load *what,
		     struct diff_catalog *catalog, struct cmd_store_damage *damage,
		     struct diff_loaded *out)
{
	struct diff_loader *loader;
	int err = diff_loader__new(what, catalog, &loader);

	if (err)
		return err;
	err = diff_load_walk(reader, what, only_loader, loader, damage);
	if (!err && what->heavy && diff_heavy__must_choose(what->heavy))
		err = 1;
	if (!err)
		err = diff_loader__finish(loader, out);
	diff_loader__free(loader);
	return err;
}

int diff_load_range(struct store_source *reader, const struct diff_load *what,
		    struct diff_catalog *catalog, struct cmd_store_damage *damage,
		    struct diff_loaded *out)
{
	struct diff_load limited = *what;
	int err;

	if (!what->stacks_max)
		return load_once(reader, what, catalog, damage, out);
	limited.heavy = diff_heavy__new(what->stacks_max, what->expects_more_stacks);
	if (!limited.heavy)
		return -ENOMEM;
	err = load_once(reader, &limited, catalog, damage, out);
	if (err > 0) {
		err = diff_heavy__choose(limited.heavy);
		if (!err)
			err = load_once(reader, &limited, catalog, damage, out);
	}
	diff_heavy__free(limited.heavy);
	return err;
}
