/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdicts of leaf_repair.h for x86-64 code. Compiles and can be tested everywhere. Callers have
 * checked that the address lies in the blob's code.
 */
#ifndef JBPF_LEAF_LEAF_REPAIR_X86_JUDGE_H
#define JBPF_LEAF_LEAF_REPAIR_X86_JUDGE_H

#include <stdbool.h>

#include "symbols/leaf/leaf_repair.h"
#include "symbols/leaf/leaf_rule.h"

/* Compiled methods and wrappers of native methods. */
enum leaf_verdict leaf_repair_x86_judge_compiled(const struct leaf_code *leaf);

/* Any other code, whose entry is not known. */
enum leaf_verdict leaf_repair_x86_judge_stub(const struct leaf_code *leaf);

/*
 * Follows the code from the leaf to a return, and says where the return address and the caller's
 * frame pointer lay at the leaf. False: nothing is proved.
 */
bool leaf_repair_x86_follow(const struct leaf_code *leaf, struct leaf_rule *out);

#endif
