/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of jbpf. Each parses its own options, prints its own errors (once, on stderr) and
 * returns the program's exit code.
 *
 * In: a command line. Out: text on standard output, messages on standard error, an exit code. Each command
 * owns what it opens, for its run.
 */
#ifndef JBPF_CMD_CMD_H
#define JBPF_CMD_CMD_H

#include "user/cli/exit_codes.h"
#include "user/cli/options.h"

struct cmd {
	const char *name;
	const char *help; /* one line for `jbpf --help` */
	const struct option_table *options;
	int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

/* All of them; ends with one without a name. */
extern const struct cmd cmd_list[];

extern const struct option_table status_option_table;

int cmd_diff(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_maps(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_store(int argc, char **argv);

/* `jbpf CMD ...` and, by the name it was called with, `jbpf-CMD ...`. The exit code. */
int cmd_main(int argc, char **argv);

#endif
