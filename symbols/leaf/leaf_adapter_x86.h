/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adapters between interpreted and compiled code, on x86-64:
 * SharedRuntime::generate_i2c2i_adapters(). A blob begins with the way of interpreted callers to
 * compiled code, which ends in an indirect jump; behind that are the ways of compiled callers to
 * the interpreter. Both hold the return address in rax while they make room for arguments, and put
 * it below them. Pure.
 */
#ifndef JBPF_LEAF_LEAF_ADAPTER_X86_H
#define JBPF_LEAF_LEAF_ADAPTER_X86_H

#include <stdbool.h>

#include "symbols/leaf/leaf_rule.h"

bool leaf_adapter_is_one(const struct hotspot_blob *blob);

/* leaf->entry has to begin with the blob's code. */
struct leaf_rule leaf_adapter_x86_prove(const struct leaf_code *leaf);

#endif
