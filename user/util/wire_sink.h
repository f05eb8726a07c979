/* SPDX-License-Identifier: Apache-2.0 */
/* Where a table's bytes go on their way out of the parser process. */
#ifndef JBPF_UTIL_WIRE_SINK_H
#define JBPF_UTIL_WIRE_SINK_H

#include <stddef.h>

struct wire_sink {
	/* All of the bytes or -errno. */
	int (*write)(void *ctx, const void *bytes, size_t len);
	void *ctx;
};

static inline int wire_sink_write(const struct wire_sink *sink, const void *bytes, size_t len)
{
	return len ? sink->write(sink->ctx, bytes, len) : 0;
}

#endif
