/* SPDX-License-Identifier: Apache-2.0 */
/* When no samples match: a hint at the samples that the store has. */
#ifndef JBPF_CMD_DUMP_HINT_H
#define JBPF_CMD_DUMP_HINT_H

#include "user/util/attributes.h"
#include "user/cmd/dump_options.h"
#include "user/store/store_source.h"
#include "user/util/strbuf.h"

/*
 * Appends one clause, without newline. Reads labels, and names of threads when one is asked for, never stacks. 0 or
 * -errno.
 */
__must_check int dump_hint(struct store_source *reader, const struct dump_options *options,
			   struct strbuf *out);

#endif
