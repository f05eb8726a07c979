/* SPDX-License-Identifier: Apache-2.0 */
/* Of opener.h, for tests that stand in for the opener process; nobody else includes this. */
#ifndef JBPF_FILES_OPENER_INTERNAL_H
#define JBPF_FILES_OPENER_INTERNAL_H

#include "user/files/opener.h"

/* Time passes in ticks, so that a suspended host or a frozen cgroup is no reason to give up. */
struct opener_limits {
	uint32_t tick_ms;
	uint32_t max_ticks;	  /* of one request, and of the time until it is free again */
	uint32_t max_ready_ticks; /* of the start */
	uint32_t max_busy_ticks;  /* it could go on and gets no CPU: these are not counted above */
};

/* opener__new() with other limits. */
struct opener *opener__new_with(const struct child_starter *starter,
				const struct opener_limits *limits) __no_null;

#endif
