/* SPDX-License-Identifier: Apache-2.0 */
/* Of parser.h, for tests that stand in for the parser process; nobody else includes this. */
#ifndef JBPF_PARSER_PARSER_INTERNAL_H
#define JBPF_PARSER_PARSER_INTERNAL_H

#include "symbols/parser/parser.h"
#include "symbols/parser/parser_process.h"

/* parser__open() with other limits. */
int parser__open_with(const struct child_starter *starter, const struct parser_limits *limits,
		      struct opener *opener, struct parser **out) __no_null;

#endif
