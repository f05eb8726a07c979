/* SPDX-License-Identifier: Apache-2.0 */
/* How jbpf push is doing, as a file that the node exporter's textfile collector reads: docs/fleet.md lists it. */
#ifndef JBPF_PUSH_PUSH_METRICS_H
#define JBPF_PUSH_PUSH_METRICS_H

#include <stdint.h>

#include "user/push/push_round.h"
#include "user/util/attributes.h"

/* Replaces the file by rename. 0 or -errno. */
__must_check int push_metrics_write(const char *path, const struct push_round *round,
				    uint64_t failure_cnt);

#endif
