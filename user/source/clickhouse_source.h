/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles that jbpf push has sent to ClickHouse, as a source of windows. A window is what began in one
 * minute in one stream. Windows that are the same to the reader come as one, whose samples the server has
 * added up; others hour by hour. What the server gives is counted against what it says there is, and samples
 * against those that the windows count, so that nothing that a limit of the server cuts off, or that was sent
 * again, is missing or there twice silently.
 *
 * In: a URL and an event. Out: a store_source, which the caller owns and reads as that of a store.
 */
#ifndef JBPF_SOURCE_CLICKHOUSE_SOURCE_H
#define JBPF_SOURCE_CLICKHOUSE_SOURCE_H

#include <stddef.h>

#include "user/model/event.h"
#include "user/store/store_source.h"
#include "user/util/attributes.h"

/*
 * `url` as remote_url.h has it; the event may be a view. 0, or -errno with one line for people in `why`:
 * a wrong URL, a server that does not answer or refuses, tables of another version.
 */
__must_check int clickhouse_source__open(const char *url, enum event event,
					 struct store_source **out, char *why, size_t why_len);
/* EVENT_BIT() of the events that it has samples of; 0 = it has none at all. Results as above. */
__must_check int clickhouse_source_events(const char *url, uint32_t *events, char *why,
					  size_t why_len);

#endif
