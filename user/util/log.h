/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Talk on stderr. Libraries return -errno and stay silent, except pr_debug and one pr_warn where
 * a failure is survived; commands and the daemon print errors once, with subject and reason.
 */
#ifndef JBPF_UTIL_LOG_H
#define JBPF_UTIL_LOG_H

#include <stdbool.h>

enum log_level {
	LOG_LEVEL_ERR = 0,
	LOG_LEVEL_WARN = 1,
	LOG_LEVEL_INFO = 2,
	LOG_LEVEL_DEBUG = 3,
};

/* Messages above this level are dropped. Default LOG_LEVEL_INFO. */
void log_set_level(enum log_level level);
enum log_level log_level(void);

/* "err", "warn", "info", "debug" -> *out; -EINVAL for anything else. */
int log_level_parse(const char *text, enum log_level *out);

/* Name printed before each line ("jbpfd"); borrowed for ever. With journald on stderr a "<N>" prefix is used. */
void log_set_program(const char *name);

void log_print(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define pr_err(...)   log_print(LOG_LEVEL_ERR, __VA_ARGS__)
#define pr_warn(...)  log_print(LOG_LEVEL_WARN, __VA_ARGS__)
#define pr_info(...)  log_print(LOG_LEVEL_INFO, __VA_ARGS__)
#define pr_debug(...) log_print(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* Text of a positive or negative errno; valid until the thread's next call. */
const char *errstr(int err);

#endif
