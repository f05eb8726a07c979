/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of a time line, as a command line: of the store's, and of that of the window that runs. Pure. */
#ifndef JBPF_WEB_WEB_TIMELINE_REQUEST_H
#define JBPF_WEB_WEB_TIMELINE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/cli/option_groups.h"
#include "user/model/select.h"
#include "user/util/attributes.h"
#include "user/web/web_timeline.h"

/* Texts are borrowed from argv. */
struct web_timeline_request {
	struct selection selection;
	struct option_stores stores; /* one, or --from */
	enum event event;
	enum window_label by;
	uint64_t step_ns;   /* 0 = by the range */
	const char *method; /* only samples with it; NULL = all */
	bool has_idle;	    /* of waits: those that wait for work, too */
};

/* argv as of a main(). 0, or -EINVAL with one line in `why`. */
__must_check int web_timeline_request_parse(int argc, char **argv,
					    struct web_timeline_request *options, char *why,
					    size_t why_len);

/* Whole steps, so that a window that the store has merged lies in one of them. */
struct web_timeline_options
web_timeline_request_aligned(const struct web_timeline_request *options);

#endif
