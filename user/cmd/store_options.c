// SPDX-License-Identifier: Apache-2.0
/* Command line of jbpf-store; see store_options.h. */
#include "user/cmd/store_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/store/store.h"

/* The uses, in the order of enum store_verb. */
enum store_use { STORE_USE_CHECK, STORE_USE_COMPACT };

static const struct option_use uses[] = {
	[STORE_USE_CHECK] = { .name = "check", .verb = "check" },
	[STORE_USE_COMPACT] = { .name = "compact", .verb = "compact" },
	{ .name = NULL },
};

static const char *const format_words[] = { "text", "json", NULL };

static const struct option_row rows[] = {
	{ OPTION_ROW_STORE(struct store_options, store) },
	{ .name = "format",
	  .kind = OPTION_KIND_WORD,
	  .metavar = "FORMAT",
	  .help = "form of the report of check",
	  .fallback = "text",
	  .words = format_words,
	  .uses = OPTION_USE(STORE_USE_CHECK),
	  OPTION_FIELD(struct store_options, json) },
	{ .name = NULL },
};

static const struct option_group groups[] = {
	{ .rows = rows },
	{ OPTION_GROUP_INFO(struct store_options, info) },
	{ .rows = NULL },
};

const struct option_table store_option_table = {
	.program = "jbpf-store",
	.summary =
		"Looks after the files of the store. jbpfd and readers may go on meanwhile.\n"
		"\n"
		"check reads every byte, decodes every profile, and reports each damaged stretch and "
		"the size of the store.\n"
		"compact merges closed hours, and hours of old days to days, as jbpfd does by itself "
		"every hour: the same profiles in a fraction of the space.",
	.groups = groups,
	.uses = uses,
	.notes = "Exit codes: 0 done and nothing is damaged, 1 damage or failure, 2 wrong usage.",
};

static int take_verb(struct option_walk *walk, struct store_options *out, const char *name)
{
	for (size_t use = 0; uses[use].name; use++) {
		if (strcmp(uses[use].verb, name) == 0) {
			out->verb = (enum store_verb)(STORE_VERB_CHECK + use);
			return options_check_use(walk, use);
		}
	}
	return options_refuse_see_help(walk, "'%s' is not one of check, compact", name);
}

int store_options_parse(int argc, char **argv, struct store_options *out, char *why, size_t why_len)
{
	struct option_walk walk = {
		.table = &store_option_table,
		.options = out,
		.why = why,
		.why_len = why_len,
	};
	int err;

	*out = (struct store_options){ .store = STORE_DEFAULT_DIR };
	err = options_walk(&walk, argc, argv);
	if (err || out->info.help || out->info.version)
		return err;
	if (walk.operands == argc)
		return options_refuse(&walk, "check or compact? see jbpf-store --help");
	if (walk.operands + 1 < argc)
		return options_refuse_see_help(&walk, "'%s' is too much", argv[walk.operands + 1]);
	return take_verb(&walk, out, argv[walk.operands]);
}
