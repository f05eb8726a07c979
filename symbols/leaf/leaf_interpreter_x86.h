/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interpreted frames that are being made, on x86-64. The template interpreter makes all of them
 * alike (TemplateInterpreterGenerator::generate_fixed_frame()): push rbp; mov rbp, rsp; push r13,
 * which is the caller's stack pointer; then more words, Method* the third. Pure.
 */
#ifndef JBPF_LEAF_LEAF_INTERPRETER_X86_H
#define JBPF_LEAF_LEAF_INTERPRETER_X86_H

#include "symbols/leaf/leaf_rule.h"

/*
 * All of that code is shorter than this: so many bytes are wanted before the leaf, and behind it.
 */
#define LEAF_INTERPRETER_BYTES 96

/* LEAF_RULE_INTERPRETED: the leaf is behind push r13, and so many bytes lie below rbp. Or not proved. */
struct leaf_rule leaf_interpreter_x86_prove(const struct leaf_code *leaf);

#endif
