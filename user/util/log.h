/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Talk on stderr. Libraries return -errno and stay silent, except pr_debug and one pr_warn where
 * a failure is survived; commands and the daemon print errors once, with subject and reason.
 */
#ifndef JBPF_UTIL_LOG_H
#define JBPF_UTIL_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

enum log_level {
	LOG_LEVEL_ERR = 0,
	LOG_LEVEL_WARN = 1,
	LOG_LEVEL_INFO = 2,
	LOG_LEVEL_DEBUG = 3,
};

/* Messages above this level are dropped. Default LOG_LEVEL_INFO. */
void log_set_level(enum log_level level);
enum log_level log_level(void);

/*
 * Name printed before each line ("jbpfd"); borrowed for ever. When stderr is the journal's own
 * stream (JOURNAL_STREAM of systemd.exec(5) names it), a "<N>" prefix is used instead: sd-daemon(3).
 */
void log_set_program(const char *name);
/* Lines keep the form that stderr as it is now wants: it becomes a pipe to who passes them on to it. */
void log_keep_form(void);

/*
 * Names in a message may be hostile: control bytes, what turns the direction of writing and bytes
 * that are no UTF-8 are shown as \xNN. A message is one line, at most 2 KiB.
 */
void log_print(enum log_level level, const char *format, ...) __printf_like(2, 3);

#define pr_err(...)   log_print(LOG_LEVEL_ERR, __VA_ARGS__)
#define pr_warn(...)  log_print(LOG_LEVEL_WARN, __VA_ARGS__)
#define pr_info(...)  log_print(LOG_LEVEL_INFO, __VA_ARGS__)
#define pr_debug(...) log_print(LOG_LEVEL_DEBUG, __VA_ARGS__)

/*
 * For what a container can bring about as often as it likes: LOG_LIMIT_BURST messages in
 * LOG_LIMIT_NS, then one line says how many more there were. One limit per site; zero-initialise.
 */
#define LOG_LIMIT_BURST 5
#define LOG_LIMIT_NS	(600 * 1000000000ull)

struct log_limit {
	uint64_t since_ns;    /* CLOCK_BOOTTIME; begin of the present span */
	uint32_t printed_cnt; /* in it */
	uint32_t held_cnt;    /* in it, not printed */
	const char *format;   /* of the site; NULL until its first message */
	enum log_level level;
	struct log_limit *next; /* sites that have printed */
};

/* May another message be printed? False: it was counted. *held: how many were not in a span that is over. */
bool log_limit_pass(struct log_limit *limit, uint64_t now_ns, uint32_t *held);

void log_print_limited(struct log_limit *limit, enum log_level level, const char *format, ...)
	__printf_like(3, 4);

/*
 * In a child that was forked beside another thread, before it logs: that one may have had the lock of the
 * limits, and is not there to give it back.
 */
void log_limits_begin_child(void);

/* Says what was held back in spans that are over; to be called now and then. */
void log_limits_report(uint64_t now_ns);

#define pr_warn_limited(...)                                             \
	do {                                                             \
		static struct log_limit limit_;                          \
		log_print_limited(&limit_, LOG_LEVEL_WARN, __VA_ARGS__); \
	} while (0)

/* Text of a positive or negative errno; valid until the thread's next call. */
const char *errstr(int err);

#endif
