/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that names (naming.h): a child of the launcher, with a socket to the sampler and one
 * to the launcher, and nothing else. A process that it looks into may make it hang or crash; the
 * sampler sees that and has another one started (namer_link.h).
 */
#ifndef JBPF_NAMER_NAMER_H
#define JBPF_NAMER_NAMER_H

#include "user/sandbox/launcher.h"
#include "user/collect/naming/namer_context.h"

/* Of namer__main(), as given to launcher__start(). */
enum namer_number {
	NAMER_JIT, /* enum jit_mode */
	NAMER_IGNORES_OPT_OUT,
	NAMER_WANTS_TICKS,
	NAMER_LOG_LEVEL,
	NAMER_KEEPS_PARAMETERS,
};

/* LAUNCHER_NAMER: `ctx` is a struct namer_context. Its exit status. */
int namer__main(const struct launcher_child *child);

#endif
