/* SPDX-License-Identifier: Apache-2.0 */
/* `jbpfd --check`: reports the rights and features of this host, and the losses where one is missing. */
#ifndef JBPF_DAEMON_HOST_CHECK_H
#define JBPF_DAEMON_HOST_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "user/util/attributes.h"

struct host_check_options {
	const char *store_dir;
	uint32_t events; /* EVENT_BIT() of what jbpfd would sample with these options */
	bool attaches;	 /* by --jit, JVMs may be asked for their maps */
};

/*
 * Prints one line per capability and feature. 0 when the host can be profiled (some names may
 * still be missing), -EPERM when it cannot, or -errno when `out` could not be written, which is said.
 */
__must_check int host_check(const struct host_check_options *options, FILE *out);

#endif
