/* SPDX-License-Identifier: Apache-2.0 */
/* Where a command's data goes: a file, all or nothing, or standard output. */
#ifndef JBPF_CMD_CMD_WRITE_H
#define JBPF_CMD_CMD_WRITE_H

#include "user/util/strbuf.h"

/*
 * Writes to `path`, or to standard output when it is NULL. A reader that went away is no failure.
 * Prints what went wrong; the exit code (enum cmd_exit).
 */
int cmd_write(const char *path, const struct strbuf *text);

#endif
