/* SPDX-License-Identifier: Apache-2.0 */
/* The part of user/store/FORMAT.md that comes from window_fields. */
#ifndef JBPF_TESTS_FORMAT_FIELDS_H
#define JBPF_TESTS_FORMAT_FIELDS_H

#include "user/cli/options.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

/*
 * Appends the document with the table between <!-- begin fields --> and <!-- end --> made anew. Of no
 * use to it are the tables of options. 0; -EINVAL: a mark is wrong; -ENOMEM.
 */
__must_check int format_fields_fill(const struct option_table *const *tables, const char *document,
				    struct strbuf *out);

#endif
