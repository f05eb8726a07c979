/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of jbpf dump as a value. Pure. */
#ifndef JBPF_CMD_DUMP_OPTIONS_H
#define JBPF_CMD_DUMP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/cli/option_groups.h"
#include "user/cmd/dump_view.h"
#include "user/model/select.h"

/* Texts are borrowed from argv. */
struct dump_options {
	struct selection selection;
	struct option_stores stores;
	enum event event;
	struct dump_view view;
	bool no_pager;
	bool list;
	bool is_default_since; /* no --since: the last hour */
	struct option_info info;
};

extern const struct option_table dump_option_table;

/*
 * 0, or -EINVAL with one line for the user in `why`. Times are taken relative to `now_unix_ns`.
 */
__must_check int dump_options_parse(int argc, char **argv, uint64_t now_unix_ns,
				    struct dump_options *out, char *why, size_t why_len);

#endif
