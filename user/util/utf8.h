/* SPDX-License-Identifier: Apache-2.0 */
/* Text of strangers, one code point at a time, as RFC 3629 has it. */
#ifndef JBPF_UTIL_UTF8_H
#define JBPF_UTIL_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

#define UTF8_BAD_BYTE UINT32_MAX

/*
 * Code point at `text` and the bytes it takes (1 to 4; `len` is at least 1). Overlong forms,
 * surrogates and what is past U+10FFFF are UTF8_BAD_BYTE, 1 byte.
 */
size_t utf8_next(const char *text, size_t len, uint32_t *code_out) __no_null;

/*
 * What a name must not hold where people read it: control characters, which terminals obey, what
 * reorders or breaks a line, and what cannot be seen at all, so that two names that differ look the
 * same (Unicode's General_Category Cc, Zl, Zp, and of Cf all but what is written; fillers; tags).
 */
bool utf8_is_deceptive(uint32_t code);

#endif
