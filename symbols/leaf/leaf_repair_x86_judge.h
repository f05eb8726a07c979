/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdicts of leaf_repair.h for x86-64 code. Compiles and can be tested everywhere. Callers have
 * checked that the address lies in the blob's code.
 */
#ifndef JBPF_LEAF_LEAF_REPAIR_X86_JUDGE_H
#define JBPF_LEAF_LEAF_REPAIR_X86_JUDGE_H

#include "symbols/leaf/leaf_repair.h"

/* Compiled methods and wrappers of native methods. */
enum leaf_verdict leaf_repair_x86_judge_compiled(const struct leaf_code *leaf);

/* Anything else that has no entry that is known. */
enum leaf_verdict leaf_repair_x86_judge_stub(const struct leaf_code *leaf);

#endif
