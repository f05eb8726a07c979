/* SPDX-License-Identifier: Apache-2.0 */
/* Of opener.h, for tests that stand in for the opener process; nobody else includes this. */
#ifndef JBPF_FILES_OPENER_INTERNAL_H
#define JBPF_FILES_OPENER_INTERNAL_H

#include "user/files/opener.h"

struct opener_limits {
	struct helper_limits start;
	struct helper_limits work; /* of one request, and of the time until it is free again */
};

/* opener__new() with other limits. */
struct opener *opener__new_with(const struct child_starter *starter,
				const struct opener_limits *limits) __no_null;

#endif
