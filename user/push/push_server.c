// SPDX-License-Identifier: Apache-2.0
/* See push_server.h. */
#include "user/push/push_server.h"

#include "user/remote/remote_url.h"

const struct push_server_ops *push_server_ops_of(const char *url)
{
	if (remote_url_is_pyroscope(url))
		return &push_pyroscope_ops;
	return remote_url_is_otlp(url) ? &push_otlp_ops : &push_clickhouse_ops;
}
