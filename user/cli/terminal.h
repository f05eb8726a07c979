/* SPDX-License-Identifier: Apache-2.0 */
/* Standard output where it is a terminal: how wide it is, and a pager for text longer than it. */
#ifndef JBPF_CLI_TERMINAL_H
#define JBPF_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "user/util/strbuf.h"

/*
 * The columns that text has which goes to `path`, NULL = standard output: of the terminal, or those of
 * $COLUMNS. 0 = as many as it likes: it goes to a file or a pipe, or the terminal does not tell.
 */
size_t terminal_columns(const char *path);

/*
 * Shows the text with $PAGER, or less, and waits for its end. False: it is still to be written, because
 * standard output is no terminal or has room for all of it, or the pager cannot be run. In the hands of
 * root less runs no commands (LESSSECURE), and $PAGER does not count for a user of sudo, who may be
 * allowed jbpf and nothing else.
 */
bool terminal_page(const struct strbuf *text);

#endif
