/* SPDX-License-Identifier: Apache-2.0 */
/* Who used the CPU: a table of containers, pods, ..., as jbpf dump --by has it. Pure. */
#ifndef JBPF_CLI_BY_TABLE_H
#define JBPF_CLI_BY_TABLE_H

#include <stddef.h>

#include "user/output/output.h"

/*
 * `labels` is a profile whose stacks are nothing but values of info->labels. Rows by samples, at most
 * `limit` (0 = all), below the header of info. Sorts the profile. 0 or -ENOMEM.
 */
__must_check int by_table(struct profile *labels, const struct output_info *info, size_t limit,
			  struct strbuf *out);

#endif
