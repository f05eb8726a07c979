/* SPDX-License-Identifier: Apache-2.0 */
/* The time line of the window that runs, as a command: options in, JSON out; WEB-API.md describes it. */
#ifndef JBPF_WEB_WEB_RUNNING_RUN_H
#define JBPF_WEB_WEB_RUNNING_RUN_H

#include "user/util/attributes.h"
#include "user/util/strbuf.h"
#include "user/web/web_running.h"
#include "user/web/web_timeline_request.h"

/*
 * JSON on standard output; argv as of a main(), with --since, where stored windows end, --event, --by, --step
 * and selectors. An exit code.
 */
int web_running_run(int argc, char **argv, const struct web_running *running);

/* The same as a value. 0 or -ENOMEM. */
__must_check int web_running_json(const struct web_running *running,
				  const struct web_timeline_request *request, struct strbuf *out);

#endif
