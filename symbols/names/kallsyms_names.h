/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of a table of kernel symbols: 1.4 MiB of text of which hardly any is asked for, kept as 0.4 MiB of
 * compressed blocks.
 */
#ifndef JBPF_NAMES_KALLSYMS_NAMES_H
#define JBPF_NAMES_KALLSYMS_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

struct kallsyms_names;

struct kallsyms_names *kallsyms_names__new(void);	 /* NULL: no memory */
void kallsyms_names__free(struct kallsyms_names *names); /* NULL is fine */

/* Not after kallsyms_names__pack(). 0, -ENOMEM, -E2BIG: it or all of them are too long. `text` has no NUL. */
__must_check int kallsyms_names__add(struct kallsyms_names *names, const char *text, size_t len,
				     uint32_t *at_out);
/* No more names come. 0, or -ENOMEM: they are as they were, and may be packed or freed. */
__must_check int kallsyms_names__pack(struct kallsyms_names *names);

/* That at `at`, as it was added; of a packed one valid until the next call. NULL: no memory. */
const char *kallsyms_names__get(struct kallsyms_names *names, uint32_t at);

size_t kallsyms_names__bytes(const struct kallsyms_names *names);

#endif
