/* SPDX-License-Identifier: Apache-2.0 */
/* Text in which stretches between marks are made by a program, and the rest by hand. */
#ifndef JBPF_TESTS_MARKED_TEXT_H
#define JBPF_TESTS_MARKED_TEXT_H

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

struct marked_text {
	const char *comment; /* first characters of a mark's line: ".\\\" " */
	void *ctx;
	/* Appends the lines of the stretch "begin WHAT". 0 or -errno. */
	int (*fill)(void *ctx, const char *what, struct strbuf *out);
};

/*
 * Appends `text` with the lines between each "begin WHAT" and the next "end" replaced. 0; -EINVAL:
 * one mark lacks the other; or the error of fill().
 */
__must_check int marked_text_fill(const struct marked_text *marked, const char *text,
				  struct strbuf *out);

#endif
