/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jbpf diff --days: the daily job. The last whole days of local time against those before them, for
 * each service of the store; pages and JSON go to a directory, what an on-call engineer should know
 * to standard output.
 *
 * In: a store, how many days, and the series of the days before. Out: files, lines, and the exit code.
 */
#ifndef JBPF_DAILY_H
#define JBPF_DAILY_H

#include "user/compare/compare_options.h"

/* The exit code; what went wrong is printed. */
int daily_run(const struct diff_cmd_options *options);

#endif
