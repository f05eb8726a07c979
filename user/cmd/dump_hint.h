/* SPDX-License-Identifier: Apache-2.0 */
/* When no samples match: a hint at the samples that the store has. */
#ifndef JBPF_CMD_DUMP_HINT_H
#define JBPF_CMD_DUMP_HINT_H

#include "user/util/attributes.h"
#include "user/cli/streams.h"
#include "user/cmd/dump_options.h"
#include "user/store/store_source.h"
#include "user/util/strbuf.h"

/*
 * Appends one clause, without newline. Reads labels, and names of threads when one is asked for, never stacks. 0 or
 * -errno.
 */
__must_check int dump_hint(struct store_source *reader, const struct dump_options *options,
			   struct strbuf *out);
/*
 * The same of a recording, by the streams that were sampled but not selected: the selector that none of them
 * matches. Appends nothing when each alone matches some. 0 or -ENOMEM.
 */
__must_check int dump_hint_unmatched(const struct selection *selection,
				     const struct streams *others, struct strbuf *out);

#endif
