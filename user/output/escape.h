/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names come from hostile processes. Each function here appends them in a form that is inert where
 * it goes: nothing in a name can end a string, open an element or move a cursor. Bytes that are
 * not UTF-8 become '?'; what is deceptive (utf8_is_deceptive()) becomes '_'.
 */
#ifndef JBPF_OUTPUT_ESCAPE_H
#define JBPF_OUTPUT_ESCAPE_H

#include <stddef.h>

#include "user/util/strbuf.h"

/* Text and attribute values of HTML and XML. */
void escape_html(struct strbuf *out, const char *text, size_t len);

/*
 * What goes between the quotes of a JSON string. <, > and & are \u-escaped too, so the text may
 * stand inside a <script> element.
 */
void escape_json(struct strbuf *out, const char *text, size_t len);

/* A terminal's line. */
void escape_terminal(struct strbuf *out, const char *text, size_t len);
/*
 * The same in at most so many columns, one for each character: a longer text loses its middle to an
 * ellipsis, as names that begin alike differ in their ends. 0 = as many as it needs.
 */
void escape_terminal_within(struct strbuf *out, const char *text, size_t len, size_t columns);

#endif
