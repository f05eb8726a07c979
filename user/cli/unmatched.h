/* SPDX-License-Identifier: Apache-2.0 */
/* When no samples match: the selector that nothing matches, and the names that come near. Pure. */
#ifndef JBPF_CLI_UNMATCHED_H
#define JBPF_CLI_UNMATCHED_H

#include <stddef.h>
#include <stdint.h>

#include "user/cli/streams.h"
#include "user/model/select.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

/*
 * Appends one clause on the first selector that none of these streams matches. Appends nothing when each
 * alone matches some. `see`: what tells all names, or "". 0 or -ENOMEM.
 */
__must_check int unmatched_hint(const struct selection *selection, const struct streams *streams,
				const char *see, struct strbuf *out);

/* A name that there is, and how near it comes. */
struct hint_name {
	const char *name;
	uint32_t near;
	uint64_t samples;
};

/* The nearest first, then the busiest; for qsort(). */
int hint_names_compare(const void *left, const void *right);
/*
 * "no container 'shpo'; did you mean 'shop'?", or what there is. `names` are in the order of
 * hint_names_compare(); `by`: what is named. 0 or -ENOMEM.
 */
__must_check int hint_names_append(const char *by, const char *wanted,
				   const struct hint_name *names, size_t cnt, const char *see,
				   struct strbuf *out);

#endif
