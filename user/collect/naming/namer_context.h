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
};

#endif
