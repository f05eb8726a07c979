// SPDX-License-Identifier: Apache-2.0
/* See host_name.h. */
#include "user/host/host_name.h"

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
