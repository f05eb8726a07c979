/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of jbpf top as a value. Pure. */
#ifndef JBPF_TOP_OPTIONS_H
#define JBPF_TOP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/cli/option_groups.h"
#include "user/model/select.h"
#include "user/util/attributes.h"

/* Where the samples come from. */
enum top_from {
	TOP_FROM_BEST =
		0, /* the default store where a jbpfd writes to it; else by sampling, as root */
	TOP_FROM_STORE = 1,
	TOP_FROM_SAMPLING = 2,
};

/* Texts are borrowed from argv. */
struct top_options {
	struct selection selection; /* times: of --since; since 0 = live */
	const char *store;
	enum top_from from;
	bool samples; /* --sample */
	enum event event;
	bool once;
	bool has_selection;
	uint32_t rows; /* of a plain table; 0 = all */
	struct option_info info;
};

extern const struct option_table top_option_table;

/* 0, or -EINVAL with one line for the user in `why`. */
__must_check int top_options_parse(int argc, char **argv, uint64_t now_unix_ns,
				   struct top_options *out, char *why, size_t why_len);

#endif
