/* SPDX-License-Identifier: Apache-2.0 */
/* The report of jbpf status: a table of streams with advice below the rows, or JSON. Pure. */
#ifndef JBPF_CMD_STATUS_REPORT_H
#define JBPF_CMD_STATUS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/cli/streams.h"
#include "user/util/strbuf.h"

struct status_report {
	uint64_t since_unix_ns;
	uint64_t until_unix_ns;
	uint64_t now_unix_ns;
	bool is_check; /* only the health is asked for */
	bool all;      /* also processes that are neither JVMs nor in containers */
};

/*
 * Is jbpfd running and well? Appends a line for each reason why not, such as "no window was written
 * for 42 s: is jbpfd running?". 0 or -ENOMEM.
 */
__must_check int status_report_health(const struct status_report *report,
				      const struct streams *streams, struct strbuf *problems);

/* Both sort the streams. 0 or -ENOMEM. */
__must_check int status_report_table(const struct status_report *report, struct streams *streams,
				     struct strbuf *out);
__must_check int status_report_json(const struct status_report *report, struct streams *streams,
				    struct strbuf *out);

#endif
