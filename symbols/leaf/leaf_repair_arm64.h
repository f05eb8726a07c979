/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdicts of leaf_repair.h for aarch64 code. Compiles and can be tested everywhere. Callers have
 * checked that the address lies in the blob's code.
 */
#ifndef JBPF_LEAF_LEAF_REPAIR_ARM64_H
#define JBPF_LEAF_LEAF_REPAIR_ARM64_H

#include "symbols/leaf/leaf_repair.h"

/* Compiled methods and wrappers of native methods. */
enum leaf_verdict leaf_repair_arm64_judge_compiled(const struct leaf_code *leaf);

#endif
