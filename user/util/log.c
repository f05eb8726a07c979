// SPDX-License-Identifier: Apache-2.0
/* One line per message, written with a single call so that lines of two threads do not mix. */
#include "user/util/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_LINE_MAX_BYTES 2048

static enum log_level current_level = LOG_LEVEL_INFO;
static const char *program_name = "jbpf";

/* syslog priorities that journald reads from a "<N>" prefix (sd-daemon(3)). */
static const int syslog_priority[] = { 3, 4, 6, 7 };

void log_set_level(enum log_level level)
{
	current_level = level;
}

enum log_level log_level(void)
{
	return current_level;
}

void log_set_program(const char *name)
{
	program_name = name;
}

int log_level_parse(const char *text, enum log_level *out)
{
	static const char *const names[] = { "err", "warn", "info", "debug" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]) == 0) {
			*out = (enum log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

void log_print(enum log_level level, const char *format, ...)
{
	char line[LOG_LINE_MAX_BYTES];
	int used = 0;
	int body;
	va_list args;

	if (level > current_level)
		return;
	if (getenv("JOURNAL_STREAM"))
		used = snprintf(line, sizeof(line), "<%d>", syslog_priority[level]);
	else
		used = snprintf(line, sizeof(line), "%s: ", program_name);

	va_start(args, format);
	body = vsnprintf(line + used, sizeof(line) - used - 1, format, args);
	va_end(args);
	if (body < 0)
		return;
	used += body;
	if ((size_t)used > sizeof(line) - 2)
		used = sizeof(line) - 2;
	if (line[used - 1] != '\n')
		line[used++] = '\n';
	if (write(STDERR_FILENO, line, used) < 0)
		return; /* nobody is left to tell */
}

const char *errstr(int err)
{
	static __thread char text[128];

	/* GNU strerror_r: may return a static string instead of filling the buffer. */
	return strerror_r(err < 0 ? -err : err, text, sizeof(text));
}
