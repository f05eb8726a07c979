/* SPDX-License-Identifier: Apache-2.0 */
/* Options of jbpf-store: one verb and its options. */
#ifndef JBPF_CMD_STORE_OPTIONS_H
#define JBPF_CMD_STORE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "user/util/attributes.h"
#include "user/cli/option_groups.h"

enum store_verb {
	STORE_VERB_NONE = 0,
	STORE_VERB_CHECK,
	STORE_VERB_COMPACT,
};

struct store_options {
	enum store_verb verb;
	const char *store;
	bool json;
	struct option_info info;
};

/* 0, or -EINVAL with one line for the user in `why`. Texts are borrowed from argv. */
__must_check int store_options_parse(int argc, char **argv, struct store_options *out, char *why,
				     size_t why_len);

extern const struct option_table store_option_table;

#endif
