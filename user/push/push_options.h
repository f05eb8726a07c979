/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of jbpf push as a value. Pure. */
#ifndef JBPF_PUSH_PUSH_OPTIONS_H
#define JBPF_PUSH_PUSH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/cli/option_groups.h"
#include "user/util/attributes.h"

/* Texts are borrowed from argv and the environment. */
struct push_options {
	const char *url;
	const char *store;
	const char *state;   /* directory */
	const char *metrics; /* file; NULL = none */
	uint64_t interval_ns;
	bool once;
	bool init; /* makes the tables, and nothing else */
	struct option_info info;
};

extern const struct option_table push_option_table;

/* 0, or -EINVAL with one line for the user in `why`. */
__must_check int push_options_parse(int argc, char **argv, struct push_options *out, char *why,
				    size_t why_len);

#endif
