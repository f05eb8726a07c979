// SPDX-License-Identifier: Apache-2.0
/* See push_server.h. */
#include "user/push/push_server.h"

#include "user/remote/remote_url.h"

struct push_failure push_failure_of(const struct remote_failure *failure)
{
	return (struct push_failure){ .is_passing = failure->fault == REMOTE_FAULT_PASSING,
				      .retry_after_s = failure->retry_after_s,
				      .words = failure->words };
}

const struct push_server_ops *push_server_ops_of(const char *url)
{
	if (remote_url_is_pyroscope(url))
		return &push_pyroscope_ops;
	return remote_url_is_otlp(url) ? &push_otlp_ops : &push_clickhouse_ops;
}
