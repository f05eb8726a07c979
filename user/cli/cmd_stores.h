/* SPDX-License-Identifier: Apache-2.0 */
/* What a command reads from by its options: the store of --store, the sum of several, or the server of --from. */
#ifndef JBPF_CLI_CMD_STORES_H
#define JBPF_CLI_CMD_STORES_H

#include "user/cli/cmd_store.h"
#include "user/cli/option_groups.h"
#include "user/model/event.h"
#include "user/store/store_source.h"
#include "user/util/attributes.h"

/*
 * Opens them all, or prints why that failed. Of several those that can be opened, unless there are
 * none: each of the others is told, and noted in *damage, so that cmd_store_damage_code() fails; but
 * not those that only have none of the event. 0 or -errno as cmd_store_open_event(), -EEXIST: one is
 * there twice.
 */
__must_check int cmd_stores_open(const struct option_stores *stores, enum event event,
				 struct store_source **out, struct cmd_store_damage *damage);
/* The same, but a failure when one of them cannot be opened. */
__must_check int cmd_stores_open_all(const struct option_stores *stores, enum event event,
				     struct store_source **out);
/* EVENT_BIT() of the events that the first of them, or the server, has. 0 or -errno; opening tells what is wrong. */
__must_check int cmd_stores_events(const struct option_stores *stores, uint32_t *events);

#endif
