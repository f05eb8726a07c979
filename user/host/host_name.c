// SPDX-License-Identifier: Apache-2.0
/* See host_name.h. */
#include "user/host/host_name.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void host_name(char *out, size_t len)
{
	const char *node = secure_getenv("NODE_NAME");

	out[0] = '\0';
	if (node && *node)
		(void)snprintf(out, len, "%s", node);
	else if (gethostname(out, len - 1))
		out[0] = '\0';
	out[len - 1] = '\0';
}

void host_name_update(const char *given, char *name, size_t len)
{
	char now[HOST_NAME_MAX + 1];

	if (given && *given) {
		(void)snprintf(name, len, "%s", given);
		return;
	}
	host_name(now, sizeof(now));
	if (*now)
		(void)snprintf(name, len, "%s", now);
}
