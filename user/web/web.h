/* SPDX-License-Identifier: Apache-2.0 */
/* jbpf web: the store in a browser. The command, for the table of commands. */
#ifndef JBPF_WEB_WEB_H
#define JBPF_WEB_WEB_H

#include "user/web/web_jobs.h"

/*
 * Serves until a signal ends it. Profiles and comparisons are made by `programs`, in child
 * processes. The exit code.
 */
int web_run(int argc, char **argv, const struct web_programs *programs);

#endif
