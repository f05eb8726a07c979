// SPDX-License-Identifier: Apache-2.0
/* Command line of jbpf-store; see store_options.h. */
#include "user/cmd/store_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/cli/arguments.h"
#include "user/store/store.h"
#include "user/util/cleanup.h"

const char store_options_usage[] =
	"usage: jbpf-store check [--store DIR] [--format text|json]\n"
	"       jbpf-store compact [--store DIR]\n"
	"Looks after the files of the store. jbpfd and readers may go on meanwhile.\n"
	"\n"
	"  check         reads every byte and decodes every profile; names each damaged stretch, and\n"
	"                says how much there is\n"
	"  compact       rewrites closed hours merged, and hours of old days as days, as jbpfd does by\n"
	"                itself every hour: the same profiles in a fraction of the space\n"
	"\n"
	"  --store DIR   where the profiles are (" STORE_DEFAULT_DIR ")\n"
	"  --format F    of check: text or json (text)\n"
	"  --help, --version\n"
	"\n"
	"Exit codes: 0 done and nothing is damaged, 1 damage or failure, 2 wrong usage.\n";

enum option_id {
	OPTION_STORE = 256,
	OPTION_FORMAT,
	OPTION_HELP,
	OPTION_VERSION,
};

static const struct option long_options[] = {
	{ "store", required_argument, NULL, OPTION_STORE },
	{ "format", required_argument, NULL, OPTION_FORMAT },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

static const struct {
	const char *name;
	enum store_verb verb;
} verbs[] = {
	{ "check", STORE_VERB_CHECK },
	{ "compact", STORE_VERB_COMPACT },
};

struct parsing {
	struct store_options *out;
	struct arguments arguments;
};

static int take_option(void *ctx, int id, const char *value)
{
	struct parsing *parsing = ctx;
	struct store_options *out = parsing->out;

	switch (id) {
	case OPTION_STORE:
		out->store = value;
		return 0;
	case OPTION_FORMAT:
		out->json = strcmp(value, "json") == 0;
		if (out->json || strcmp(value, "text") == 0)
			return 0;
		return arguments_refuse(&parsing->arguments,
					"--format: '%s' is not one of text, json", value);
	case OPTION_HELP:
		out->help = true;
		return 0;
	default:
		out->version = true;
		return 0;
	}
}

static int take_verb(struct parsing *parsing, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i].name, name) == 0) {
			parsing->out->verb = verbs[i].verb;
			return 0;
		}
	}
	return arguments_refuse_see_help(&parsing->arguments, "'%s' is not one of check, compact",
					 name);
}

int store_options_parse(int argc, char **argv, struct store_options *out, char *why, size_t why_len)
{
	struct parsing parsing = {
		.out = out,
		.arguments = {
			.program = "jbpf-store",
			.letters = ":",
			.options = long_options,
			.ctx = &parsing,
			.take = take_option,
			.why = why,
			.why_len = why_len,
		},
	};
	int err;

	*out = (struct store_options){ .store = STORE_DEFAULT_DIR };
	err = arguments_walk(&parsing.arguments, argc, argv);
	if (err || out->help || out->version)
		return err;
	if (optind == argc)
		return arguments_refuse(&parsing.arguments,
					"check or compact? see jbpf-store --help");
	err = take_verb(&parsing, argv[optind]);
	if (err)
		return err;
	if (optind + 1 < argc)
		return arguments_refuse_see_help(&parsing.arguments, "'%s' is too much",
						 argv[optind + 1]);
	if (out->json && out->verb != STORE_VERB_CHECK)
		return arguments_refuse_see_help(&parsing.arguments, "--format is for check only");
	return 0;
}
