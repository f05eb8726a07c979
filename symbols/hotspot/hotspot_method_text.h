/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the three symbols that name a method to one text: that of perf-map-agent, since in HotSpot's
 * own (Method::external_name) nobody can tell "int a.f(b).g()" from a method of "a" with a blank in
 * it. Pure; refuses what no JVM could have meant, since then the memory was something else.
 */
#ifndef JBPF_HOTSPOT_HOTSPOT_METHOD_TEXT_H
#define JBPF_HOTSPOT_HOTSPOT_METHOD_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

/*
 * Appends a Symbol's bytes (modified UTF-8) as UTF-8. 0; -EINVAL: empty, damaged
 * or with control characters (`out` unchanged then); -ENOMEM.
 */
__must_check int hotspot_symbol_text(const uint8_t *bytes, size_t len, struct strbuf *out);

/* Borrowed UTF-8. */
struct hotspot_text {
	const char *bytes;
	size_t len;
};

/*
 * "com/foo/Bar", "baz", "(ILjava/lang/String;)J" -> "Lcom/foo/Bar;::baz(ILjava/lang/String;)J",
 * appended. 0; -EINVAL: not names of a class and of a method, or not a signature (`out` unchanged);
 * -ENOMEM.
 */
__must_check int hotspot_method_text(struct hotspot_text class_name, struct hotspot_text name,
				     struct hotspot_text signature, struct strbuf *out);

#endif
