/* SPDX-License-Identifier: Apache-2.0 */
/* For tests: a link to namers that misbehave on order. */
#ifndef JBPF_NAMER_NAMER_LINK_INTERNAL_H
#define JBPF_NAMER_NAMER_LINK_INTERNAL_H

#include "user/sandbox/launcher.h"
#include "user/collect/namer/namer_link.h"

/*
 * As namer_link__open(), with the programs that the launcher is to run, one for each kind. They get
 * a struct namer_context.
 */
int namer_link_open_with(const struct namer_link_options *options, const launcher_main_fn *programs,
			 struct namer_link **out, char *why, size_t why_len);

#endif
