/* SPDX-License-Identifier: Apache-2.0 */
/* A table of options as the text of --help. */
#ifndef JBPF_CLI_OPTION_USAGE_H
#define JBPF_CLI_OPTION_USAGE_H

#include "user/util/attributes.h"
#include "user/cli/option_groups.h"
#include "user/util/strbuf.h"

/* Appends the text; no line is longer than 98 columns. 0 or -ENOMEM. */
__must_check int option_usage_put(const struct option_table *table, struct strbuf *out);

/* Prints the help or "PROGRAM VERSION", as was asked. The exit code (enum cmd_exit). */
int option_usage_print(const struct option_table *table, const struct option_info *info);

#endif
