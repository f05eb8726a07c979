// SPDX-License-Identifier: Apache-2.0
/* See probe_log.h. */
#include "user/collect/probe/probe_log.h"

#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/collect/probe/probe_why.h"
#include "user/util/log.h"

#define PROBE_LOG_BYTES 256

/*
 * libbpf's print function gets no context, so its last complaint has to be kept here; written and
 * read by the thread that opens a probe.
 */
static __thread char libbpf_log[PROBE_LOG_BYTES];

static int libbpf_print(enum libbpf_print_level level, const char *format, va_list args)
{
	char *message = NULL;
	int len;

	if (level == LIBBPF_DEBUG && log_level() < LOG_LEVEL_DEBUG)
		return 0;
	len = vasprintf(&message, format, args);
	if (len < 0)
		return 0;
	if (level == LIBBPF_WARN)
		probe_why_keep_log(message, libbpf_log, sizeof(libbpf_log));
	/* A verifier's log has many lines. */
	for (char *rest = message, *line; (line = strsep(&rest, "\n"));) {
		if (*line)
			pr_debug("%s\n", line);
	}
	free(message);
	return len;
}

void probe_log_take(void)
{
	libbpf_set_print(libbpf_print);
}

void probe_log_clear(void)
{
	libbpf_log[0] = '\0';
}

const char *probe_log_last(void)
{
	return libbpf_log[0] ? libbpf_log : NULL;
}
