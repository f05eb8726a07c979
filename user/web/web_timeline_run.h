/* SPDX-License-Identifier: Apache-2.0 */
/* The time line of a store, as a command: options in, JSON out. */
#ifndef JBPF_WEB_WEB_TIMELINE_RUN_H
#define JBPF_WEB_WEB_TIMELINE_RUN_H

/*
 * JSON on standard output; argv as of a main(), with --store, --since, --until, --event, --by,
 * --step and selectors. An exit code.
 */
int web_timeline_run(int argc, char **argv);

#endif
