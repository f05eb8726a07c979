/* SPDX-License-Identifier: Apache-2.0 */
/* What the helper processes are given that name and that ask JVMs: the ctx of launcher.h. */
#ifndef JBPF_NAMING_NAMER_CONTEXT_H
#define JBPF_NAMING_NAMER_CONTEXT_H

#include <stdbool.h>

#include "user/collect/naming/work_note.h"

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

#endif
