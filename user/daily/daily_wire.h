/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service's outcome on its way from the process that compared it, which may end at any byte. Both
 * ends are the same program, so nothing is said of versions; what is read is checked all the same,
 * since that process had the texts of strangers in its memory.
 *
 * In: an outcome and the damage met so far. Out: bytes, and the way back.
 */
#ifndef JBPF_DAILY_WIRE_H
#define JBPF_DAILY_WIRE_H

#include <stddef.h>

#include "user/util/attributes.h"
#include "user/cli/cmd_store.h"
#include "user/daily/daily_report.h"
#include "user/util/strbuf.h"

#define DAILY_WIRE_BYTES_MAX (4u << 20)

/* Appends both, but for the outcome's service. 0 or -ENOMEM. */
__must_check int daily_wire_put(const struct daily_outcome *outcome,
				const struct cmd_store_damage *damage, struct strbuf *out);

/* 0, -EBADMSG: that is not all of it and nothing else, or -ENOMEM. `service` of *out becomes NULL. */
__must_check int daily_wire_get(const void *bytes, size_t len, struct daily_outcome *out,
				struct cmd_store_damage *damage_out);

#endif
