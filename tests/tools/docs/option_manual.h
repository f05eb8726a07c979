/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a man page that come from the table of options: its synopsis, and of each option the
 * head and first sentence of its entry. Prose is written by hand around them.
 */
#ifndef JBPF_TESTS_OPTION_MANUAL_H
#define JBPF_TESTS_OPTION_MANUAL_H

#include "user/util/attributes.h"
#include "user/cli/options.h"
#include "user/util/strbuf.h"

/*
 * Appends the page (mdoc) with the lines between these marks made from the table:
 *	.\" begin synopsis		.\" begin options since until
 *	.\" end				.\" end
 * 0; -EINVAL: a mark is wrong, or an option has no entry or two, and `why` says which; -ENOMEM.
 */
__must_check int option_manual_fill(const struct option_table *table, const char *page,
				    struct strbuf *out, char *why, size_t why_len);

#endif
