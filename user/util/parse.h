/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict number parsing: the whole string, in range, or -EINVAL (-ERANGE when it overflows).
 * Outputs are untouched on error.
 */
#ifndef JBPF_UTIL_PARSE_H
#define JBPF_UTIL_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

/* Of ASCII, whatever the locale says. */
static inline bool parse_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool parse_is_hex(char c)
{
	return parse_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Digits only, no sign, no blanks; base 10 or 16 ("0x" accepted for 16). `len` bytes of text. */
__must_check int parse_u64_n(const char *text, size_t len, int base, uint64_t *out) __no_null;
__must_check int parse_u64(const char *text, uint64_t *out) __no_null;
/* Decimal within [min, max]. */
__must_check int parse_u32_range(const char *text, uint32_t min, uint32_t max,
				 uint32_t *out) __no_null;

/*
 * "90s", "15m", "1h30m", "2d", "1w", "250ms": each unit once, the largest first; a bare number is
 * refused. Result in nanoseconds.
 */
__must_check int parse_duration_ns(const char *text, uint64_t *ns_out) __no_null;

/* "5G", "512M", "64K", "1000": powers of 1024. Result in bytes. */
__must_check int parse_size_bytes(const char *text, uint64_t *bytes_out) __no_null;

/*
 * A point in time as commands take it: a duration back from now ("1h30m", "20 minutes ago",
 * "1h30m ago"), RFC 3339 ("2026-11-21T13:00:00Z"; a blank may stand for the T, seconds may be left
 * out), a date (when it begins), a clock time (when it was last), "today", "yesterday" (when they
 * began), "now", or "@EPOCH" (seconds, fraction allowed). It is local time where no zone is given. A zone is Z, UTC,
 * an offset, or a name of the local one. Unix nanoseconds.
 */
__must_check int parse_time_ns(const char *text, uint64_t now_unix_ns,
			       uint64_t *unix_ns_out) __no_null;

#endif
