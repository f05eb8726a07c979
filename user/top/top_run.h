/* SPDX-License-Identifier: Apache-2.0 */
/* jbpf top as a command: its options are top_options.h's. */
#ifndef JBPF_TOP_RUN_H
#define JBPF_TOP_RUN_H

/* Parses, shows, prints errors. The exit code (enum cmd_exit). */
int top_main(int argc, char **argv);

#endif
