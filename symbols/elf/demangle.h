/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One spelling for native symbols, stable from build to build: C++ and Rust names demangled,
 * symbol versions ("@@GLIBC_2.2.5") and the compiler's clone suffixes (".constprop.0") removed.
 */
#ifndef JBPF_ELF_DEMANGLE_H
#define JBPF_ELF_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

#define DEMANGLE_MAX_RAW_BYTES 4096u /* longer names are kept as they are */
#define DEMANGLE_MAX_BYTES     4096u /* a name that demangles to more is kept as it is */

/*
 * Appends the canonical form, which has no parameters. Foreign text is fine: what does not demangle,
 * or would become longer than DEMANGLE_MAX_BYTES, stays as it is. 0 or -ENOMEM. Not thread-safe.
 */
__must_check int demangle_native(const char *raw, size_t len, struct strbuf *out);

/* Would demangle_native() look into the name? Else it only trims it. */
bool demangle_is_mangled(const char *raw, size_t len);

/* How many of the `len` bytes are left without version and clone suffixes; at least 1 unless len is 0. */
size_t demangle_trim(const char *raw, size_t len);

#endif
