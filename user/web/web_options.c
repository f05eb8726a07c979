// SPDX-License-Identifier: Apache-2.0
/* Options of jbpf web. */
#include "user/web/web_options.h"

#include <errno.h>

#include "user/store/store.h"

#define DEFAULT_LISTEN "127.0.0.1:7099"

static const struct option_row rows[] = {
	{ OPTION_ROW_STORE(struct web_options, source.store) },
	{ OPTION_ROW_FROM(struct web_options, source) },
	{ .name = "listen",
	  .kind = OPTION_KIND_TEXT,
	  .metavar = "ADDRESS",
	  .help = "where the page is served: 127.0.0.1:PORT, [::1]:PORT, or unix:PATH",
	  .fallback = DEFAULT_LISTEN,
	  .min = 1,
	  OPTION_FIELD(struct web_options, listen) },
	{ .name = NULL },
};

static const struct option_group groups[] = {
	{ .rows = rows },
	{ OPTION_GROUP_INFO(struct web_options, info) },
	{ .rows = NULL },
};

const struct option_table web_option_table = {
	.program = "jbpf-web",
	.summary =
		"Shows the store, or with --from what all hosts have sent to a server, in a "
		"browser of this host: a time line, the flame graph of what is marked on it, and "
		"comparisons. It prints the address to open.",
	.groups = groups,
	.notes = "Exit codes: 0 ended by a signal, 1 failed, 2 wrong usage.",
};

static int check_source(struct option_walk *walk, struct web_source *source)
{
	const struct option_stores stores = {
		.dirs = { source->store },
		.cnt = options_given(walk, "store"),
		.from = source->from,
	};
	int err = option_check_stores(walk, &stores);

	if (!err && source->from)
		source->store = NULL;
	return err;
}

int web_options_parse(int argc, char **argv, struct web_options *out, char *why, size_t why_len)
{
	struct option_walk walk = {
		.table = &web_option_table,
		.options = out,
		.why = why,
		.why_len = why_len,
	};
	int err;

	*out = (struct web_options){ .source.store = STORE_DEFAULT_DIR, .listen = DEFAULT_LISTEN };
	err = options_walk_all(&walk, argc, argv);
	if (err || out->info.help || out->info.version)
		return err;
	err = check_source(&walk, &out->source);
	if (err)
		return err;
	if (serve_address_parse(out->listen, &out->address))
		return options_refuse(
			&walk,
			"--listen '%s' is not 127.0.0.1:PORT, [::1]:PORT or unix:PATH; jbpf web has no login: for others put a proxy that has one in front",
			out->listen);
	return 0;
}
