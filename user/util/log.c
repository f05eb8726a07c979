// SPDX-License-Identifier: Apache-2.0
/*
 * One line per message, written with a single call so that lines of two threads do not mix, and
 * with nothing in it that a terminal would obey.
 */
#include "user/util/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/util/clock.h"
#include "user/util/parse.h"
#include "user/util/utf8.h"

#define LOG_LINE_MAX_BYTES 2048

static enum log_level current_level = LOG_LEVEL_INFO;
static const char *program_name = "jbpf";

/* How lines begin. */
static enum { FORM_OF_STDERR, FORM_PLAIN, FORM_JOURNAL } form;

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

/* Is stderr the stream that systemd connected to its journal? It may have been turned since. */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	const char *colon = stream ? strchr(stream, ':') : NULL;
	uint64_t dev, ino;
	struct stat st;

	if (!colon || parse_u64_n(stream, (size_t)(colon - stream), 10, &dev) ||
	    parse_u64(colon + 1, &ino) || fstat(STDERR_FILENO, &st))
		return false;
	return st.st_dev == dev && st.st_ino == ino;
}

static bool for_journal(void)
{
	return form == FORM_OF_STDERR ? is_journal() : form == FORM_JOURNAL;
}

void log_keep_form(void)
{
	form = is_journal() ? FORM_JOURNAL : FORM_PLAIN;
}

/* Copies what can be shown; returns how much, at most `cap`. */
static size_t escape(char *out, size_t cap, const char *text, size_t len)
{
	size_t used = 0;

	for (size_t at = 0; at < len;) {
		uint32_t code;
		size_t take = utf8_next(text + at, len - at, &code);
		bool is_plain = code != UTF8_BAD_BYTE && !utf8_is_deceptive(code);
		size_t need = is_plain ? take : take * strlen("\\xNN");

		if (used + need > cap)
			break;
		for (size_t i = 0; i < take; i++) {
			if (is_plain)
				out[used++] = text[at + i];
			else
				used += (size_t)sprintf(out + used, "\\x%02x",
							(uint8_t)text[at + i]);
		}
		at += take;
	}
	return used;
}

static void print(enum log_level level, const char *format, va_list args)
{
	char message[LOG_LINE_MAX_BYTES];
	/* And room for the NUL that sprintf() adds. */
	char line[LOG_LINE_MAX_BYTES + 1];
	size_t used, len;
	int body = vsnprintf(message, sizeof(message), format, args);

	if (body < 0)
		return;
	len = (size_t)body < sizeof(message) ? (size_t)body : sizeof(message) - 1;
	if (len && message[len - 1] == '\n')
		len--;
	if (for_journal())
		used = (size_t)snprintf(line, sizeof(line), "<%d>", syslog_priority[level]);
	else
		used = (size_t)snprintf(line, sizeof(line), "%.64s: ", program_name);
	used += escape(line + used, LOG_LINE_MAX_BYTES - 1 - used, message, len);
	line[used++] = '\n';
	if (write(STDERR_FILENO, line, used) < 0)
		return; /* nobody is left to tell */
}

void log_print(enum log_level level, const char *format, ...)
{
	va_list args;

	if (level > current_level)
		return;
	va_start(args, format);
	print(level, format, args);
	va_end(args);
}

/* ---- limits ---- */

/*
 * Of all limits: jbpfd has two threads. Not held while a line is written, which may wait. A child that is
 * forked beside another thread gets a fresh one: that one may have had it.
 */
static pthread_mutex_t limits_lock = PTHREAD_MUTEX_INITIALIZER;
static struct log_limit *limits; /* that have let something through */

void log_limits_begin_child(void)
{
	/* What it was about to change is a count, or a site that is not in the list: both do no harm. */
	(void)pthread_mutex_init(&limits_lock, NULL);
}

bool log_limit_pass(struct log_limit *limit, uint64_t now_ns, uint32_t *held)
{
	*held = 0;
	if (!limit->since_ns || now_ns - limit->since_ns >= LOG_LIMIT_NS) {
		*held = limit->held_cnt;
		limit->since_ns = now_ns;
		limit->printed_cnt = 0;
		limit->held_cnt = 0;
	}
	if (limit->printed_cnt >= LOG_LIMIT_BURST) {
		if (limit->held_cnt < UINT32_MAX)
			limit->held_cnt++;
		return false;
	}
	limit->printed_cnt++;
	return true;
}

/* The site's own words, up to what differs from message to message. */
static void print_held(const struct log_limit *limit, uint32_t held)
{
	if (held)
		log_print(limit->level, "%u more like this in 10 minutes: %.*s...\n", held,
			  (int)strcspn(limit->format, "%\n"), limit->format);
}

void log_print_limited(struct log_limit *limit, enum log_level level, const char *format, ...)
{
	uint32_t held;
	bool passes;
	va_list args;

	if (level > current_level)
		return;
	pthread_mutex_lock(&limits_lock);
	if (!limit->format) {
		limit->format = format;
		limit->level = level;
		limit->next = limits;
		limits = limit;
	}
	passes = log_limit_pass(limit, clock_boot_ns(), &held);
	pthread_mutex_unlock(&limits_lock);
	if (!passes)
		return;
	print_held(limit, held);
	va_start(args, format);
	print(level, format, args);
	va_end(args);
}

void log_limits_report(uint64_t now_ns)
{
	struct log_limit *limit;
	uint32_t held;

	pthread_mutex_lock(&limits_lock);
	limit = limits;
	pthread_mutex_unlock(&limits_lock);
	/* What is behind one of them was there before it, and stays. */
	for (; limit; limit = limit->next) {
		pthread_mutex_lock(&limits_lock);
		held = now_ns - limit->since_ns < LOG_LIMIT_NS ? 0 : limit->held_cnt;
		limit->held_cnt -= held;
		pthread_mutex_unlock(&limits_lock);
		print_held(limit, held);
	}
}

const char *errstr(int err)
{
	static __thread char text[128];

	/* GNU strerror_r: may return a static string instead of filling the buffer. */
	return strerror_r(err < 0 ? -err : err, text, sizeof(text));
}
