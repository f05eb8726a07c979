/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the command line of jbpf diff. Pure. */
#ifndef JBPF_CMD_DIFF_OPTIONS_H
#define JBPF_CMD_DIFF_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/compare/compare_options.h"

extern const struct option_table diff_option_table;

/*
 * 0, or -EINVAL with one line for the user in `why`. Times are taken relative to `now_unix_ns`.
 */
__must_check int diff_options_parse(int argc, char **argv, uint64_t now_unix_ns,
				    struct diff_cmd_options *out, char *why, size_t why_len);

#endif
