/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that names (naming.h): a child of the launcher, with a socket to the sampler and one to
 * the launcher, and nothing else. It may hang or die of what it looks into; the sampler sees that
 * and has another one started (namer_link.h).
 */
#ifndef JBPF_COLLECT_NAMER_H
#define JBPF_COLLECT_NAMER_H

#include <stdbool.h>

#include "user/collect/launcher.h"
#include "user/collect/work_note.h"

/* What the launcher's children share; set before the launcher is forked. */
struct namer_context {
	struct work_note *note;
	int kallsyms_fd; /* opened while its opener had the right to see addresses; -1 = none */
	bool attaches;	 /* JVMs may be asked for their maps */
	/* Gives up what no child needs, in the launcher. As below. */
	int (*confine_launcher)(bool attaches);
	/* Gives up what naming does not need, in the child. 0 or -errno. NULL: nothing is given up. */
	int (*confine)(void);
	/* The same in the child that talks to a JVM: see struct jvm_attach_request. */
	int (*confine_asker)(int tmp_fd);
};

/* Of namer__main(), as given to launcher__start(). */
enum namer_number {
	NAMER_JIT, /* enum jit_mode */
	NAMER_IGNORES_OPT_OUT,
	NAMER_WANTS_TICKS,
	NAMER_LOG_LEVEL,
};

/* LAUNCHER_NAMER: `ctx` is a struct namer_context. Its exit status. */
int namer__main(const struct launcher_child *child);

#endif
