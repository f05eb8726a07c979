/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of jbpf. Each parses its own options, prints its own errors (once, on stderr) and
 * returns the program's exit code.
 */
#ifndef JBPF_CMD_CMD_H
#define JBPF_CMD_CMD_H

enum cmd_exit {
	CMD_EXIT_DONE = 0,
	CMD_EXIT_FAILED = 1,
	CMD_EXIT_USAGE = 2,
	CMD_EXIT_NO_SAMPLES = 3,
	CMD_EXIT_NOT_WELL = 4,	 /* status --check */
	CMD_EXIT_REGRESSION = 4, /* diff --fail-on regression */
};

struct cmd {
	const char *name;
	const char *help; /* one line for `jbpf --help` */
	/* argv[0] is the command's name; getopt must be reset by the callee (optind = 0). */
	int (*run)(int argc, char **argv);
};

int cmd_diff(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_maps(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_store(int argc, char **argv);

/* Prints `usage`, or without one "PROGRAM VERSION". The exit code. */
int cmd_print_info(const char *program, const char *usage);

/* `jbpf CMD ...` and, by the name it was called with, `jbpf-CMD ...`. The exit code. */
int cmd_main(int argc, char **argv);

#endif
