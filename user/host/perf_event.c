// SPDX-License-Identifier: Apache-2.0
/* See perf_event.h. */
#include "user/host/perf_event.h"

#include <unistd.h>

bool perf_event_has_run(int fd, uint64_t *enabled_ns)
{
	struct {
		uint64_t value;
		uint64_t enabled_ns;
	} now;
	bool has_run;

	if (read(fd, &now, sizeof(now)) != (ssize_t)sizeof(now))
		return false;
	has_run = now.enabled_ns > *enabled_ns;
	*enabled_ns = now.enabled_ns;
	return has_run;
}
