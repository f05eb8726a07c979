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
	ssize_t len = read(fd, &now, sizeof(now));

	/* The kernel does not say. Whoever gave up the right to open another one keeps what there is. */
	if (len < 0)
		return true;
	if (len != (ssize_t)sizeof(now))
		return false;
	has_run = now.enabled_ns > *enabled_ns;
	*enabled_ns = now.enabled_ns;
	return has_run;
}
