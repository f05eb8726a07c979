/* SPDX-License-Identifier: Apache-2.0 */
/* The output of a command: to a file, all or nothing, or to standard output. */
#ifndef JBPF_CLI_CMD_WRITE_H
#define JBPF_CLI_CMD_WRITE_H

#include <stdbool.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

/*
 * Writes to `path`, or to standard output when it is NULL. A reader that went away is not an error.
 * Prints errors. The exit code (enum cmd_exit).
 */
int cmd_write(const char *path, const struct strbuf *text);
/* The same; on a terminal that has no room for it, with a pager unless there shall be none. */
int cmd_write_paged(const char *path, bool no_pager, const struct strbuf *text);

/*
 * Prepares lines with names for cmd_write(): for a terminal, control characters are made visible.
 * Names were made inert when they were recorded, but the store may come from anywhere. 0 or -ENOMEM.
 */
__must_check int cmd_write_prepare_lines(const char *path, struct strbuf *text);

#endif
