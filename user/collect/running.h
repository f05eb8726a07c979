/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the window that runs has counted since the last snapshot, by process, as a packet for live readers
 * (running_wire.h). It changes nothing of the window, and nothing is kept or paid where nobody asks,
 * but the names of processes (sight_table__note_called()). A process is told of only when it is known to
 * want to be recorded; until then its samples are in the sum of all.
 *
 * In: a source of samples and the table of sights, borrowed. Out: bytes. The recorder owns it.
 */
#ifndef JBPF_COLLECT_RUNNING_H
#define JBPF_COLLECT_RUNNING_H

#include <stdint.h>

#include "user/collect/namer/sight_table.h"
#include "user/collect/probe/sample_source.h"
#include "user/model/window.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

/* Events whose counts are whole while a window runs: of waits some are known at its end only. */
#define RUNNING_EVENTS (~(EVENT_BIT(EVENT_OFF_CPU) | EVENT_BIT(EVENT_SCHED)))

struct running;

/* What a snapshot says beside the counts. Borrowed. */
struct running_facts {
	const char *host;
	const uint8_t *boot_id; /* 16 bytes */
	const struct probe_options *options;
	uint32_t cpu_cnt;
};

/* NULL when memory is short. */
struct running *running__new(const struct sample_source *source, struct sight_table *sights);
void running__free(struct running *running); /* NULL is fine */

/*
 * Appends the packet's bytes: what was counted since the last snapshot, or since counting began where that was
 * later: the first one gives all of the window so far. 0 or -errno: nothing was appended.
 */
__must_check int running__snapshot(struct running *running, const struct running_facts *facts,
				   struct strbuf *out);

/* The namer has named this stream, or met the process: that is what it is called. */
void running_note_called(struct sight_table *sights, const struct window *window);

#endif
