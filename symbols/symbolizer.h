/* SPDX-License-Identifier: Apache-2.0 */
/* The symbolizer from within; only symbolizer.c and tests include this. */
#ifndef JBPF_SYMBOLIZER_H
#define JBPF_SYMBOLIZER_H

#include "symbols/names/kallsyms.h"
#include "symbols/symbols_process.h"

struct symbolizer {
	struct symbols_shared shared;
	struct kallsyms *kallsyms;
	struct name_table *names; /* the kernel's: of the share of nobody's */
	struct addr_cache kernel_answers;
};

#endif
