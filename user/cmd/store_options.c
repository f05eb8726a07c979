// SPDX-License-Identifier: Apache-2.0
/* Command line of jbpf-store; see store_options.h. */
#include "user/cmd/store_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "user/store/store.h"
#include "user/util/cleanup.h"

#define SEE_HELP "see jbpf-store --help"

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
	OPTION_STORE = 1,
	OPTION_FORMAT,
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_END,
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

static int take_option(int id, const char *value, struct store_options *out, char *why,
		       size_t why_len)
{
	switch (id) {
	case OPTION_STORE:
		out->store = value;
		return 0;
	case OPTION_FORMAT:
		out->json = strcmp(value, "json") == 0;
		if (out->json || strcmp(value, "text") == 0)
			return 0;
		snprintf(why, why_len, "--format: '%s' is none of text, json", value);
		return -EINVAL;
	case OPTION_HELP:
		out->help = true;
		return 0;
	default:
		out->version = true;
		return 0;
	}
}

static int take_options(int argc, char **argv, struct store_options *out, char *why, size_t why_len)
{
	bool seen[OPTION_END] = { false };
	int id, index;

	optind = 0; /* glibc: begin anew */
	opterr = 0;
	while ((id = getopt_long(argc, argv, ":", long_options, &index)) != -1) {
		if (id == '?' || id == ':') {
			snprintf(why, why_len,
				 id == ':' ? "%s wants a value; " SEE_HELP :
					     "there is no option %s; " SEE_HELP,
				 argv[optind - 1]);
			return -EINVAL;
		}
		if (seen[id]) {
			snprintf(why, why_len, "--%s is given twice; " SEE_HELP,
				 long_options[index].name);
			return -EINVAL;
		}
		seen[id] = true;
		if (take_option(id, optarg, out, why, why_len))
			return -EINVAL;
	}
	return 0;
}

static int take_verb(const char *name, struct store_options *out, char *why, size_t why_len)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i].name, name) == 0) {
			out->verb = verbs[i].verb;
			return 0;
		}
	}
	snprintf(why, why_len, "'%s' is none of check, compact; " SEE_HELP, name);
	return -EINVAL;
}

int store_options_parse(int argc, char **argv, struct store_options *out, char *why, size_t why_len)
{
	int err;

	*out = (struct store_options){ .store = STORE_DEFAULT_DIR };
	err = take_options(argc, argv, out, why, why_len);
	if (err || out->help || out->version)
		return err;
	if (optind == argc) {
		snprintf(why, why_len, "check or compact? " SEE_HELP);
		return -EINVAL;
	}
	err = take_verb(argv[optind], out, why, why_len);
	if (err)
		return err;
	if (optind + 1 < argc) {
		snprintf(why, why_len, "'%s' is too much; " SEE_HELP, argv[optind + 1]);
		return -EINVAL;
	}
	if (out->json && out->verb != STORE_VERB_CHECK) {
		snprintf(why, why_len, "--format is for check only; " SEE_HELP);
		return -EINVAL;
	}
	return 0;
}
