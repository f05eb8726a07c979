/* SPDX-License-Identifier: Apache-2.0 */
/* The part of user/store/FORMAT.md that comes from window_fields. */
#ifndef JBPF_TESTS_FORMAT_FIELDS_H
#define JBPF_TESTS_FORMAT_FIELDS_H

#include "user/cli/options.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

/*
 * Appends the document, in which what stands between <!-- begin fields --> and <!-- end --> is replaced by the
 * table of today. The tables of options are not used. 0; -EINVAL: a mark is wrong; -ENOMEM.
 */
__must_check int format_fields_fill(const struct option_table *const *tables, const char *document,
				    struct strbuf *out);

#endif
