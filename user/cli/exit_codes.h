/* SPDX-License-Identifier: Apache-2.0 */
/* The exit codes of the commands; the man pages list them for scripts. */
#ifndef JBPF_CLI_EXIT_CODES_H
#define JBPF_CLI_EXIT_CODES_H

enum cmd_exit {
	CMD_EXIT_DONE = 0,
	CMD_EXIT_FAILED = 1,
	CMD_EXIT_USAGE = 2,
	CMD_EXIT_NO_SAMPLES = 3,
	CMD_EXIT_NOT_WELL = 4,	 /* status --check */
	CMD_EXIT_REGRESSION = 4, /* diff --fail-on regression */
	CMD_EXIT_UNJUDGED = 5,	 /* diff --fail-on regression-or-unjudged */
};

#endif
