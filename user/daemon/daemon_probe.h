/* SPDX-License-Identifier: Apache-2.0 */
/* jbpfd --probe: whether the jbpfd that serves --metrics lives, or is well, without use of a disk. */
#ifndef JBPF_DAEMON_DAEMON_PROBE_H
#define JBPF_DAEMON_DAEMON_PROBE_H

#include <stdio.h>

#include "user/daemon/daemon_options.h"
#include "user/util/attributes.h"

/* Says it in a line. 0: yes; -EAGAIN: no; -errno: nobody answers, which is logged. */
__must_check int daemon_probe(const struct daemon_options *options, FILE *out);

#endif
