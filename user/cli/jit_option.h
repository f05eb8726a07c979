/* SPDX-License-Identifier: Apache-2.0 */
/* The value of --jit, which jbpfd and jbpf record share. */
#ifndef JBPF_CLI_JIT_OPTION_H
#define JBPF_CLI_JIT_OPTION_H

#include "symbols/symbols.h"

/* "auto", "vmstructs", "perfmap", "attach", "off" -> *out; 0 or -EINVAL. */
int jit_option_parse(const char *text, enum jit_mode *out);

#endif
