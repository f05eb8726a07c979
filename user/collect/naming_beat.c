// SPDX-License-Identifier: Apache-2.0
/* See naming_beat.h. */
#include "user/collect/naming_beat.h"

#include <inttypes.h>
#include <stdio.h>

#include "user/util/clock.h"

void naming_beat_note(struct naming_beat *beat, uint64_t now_ns, uint64_t ban_cnt)
{
	*beat = (struct naming_beat){ .last_ns = now_ns, .ban_cnt = ban_cnt };
}

void naming_beat_miss(struct naming_beat *beat)
{
	if (beat->misses < UINT32_MAX)
		beat->misses++;
}

bool naming_beat_is_dead(const struct naming_beat *beat)
{
	return beat->misses >= NAMING_BEAT_MISSES;
}

uint64_t naming_beat_silent_ns(const struct naming_beat *beat, uint64_t now_ns)
{
	return beat->misses && now_ns > beat->last_ns ? now_ns - beat->last_ns : 0;
}

enum naming_beat_state naming_beat_state(const struct naming_beat *beat, uint64_t now_ns,
					 const struct naming_beat_facts *facts)
{
	if (!naming_beat_is_dead(beat))
		return NAMING_BEAT_GOES_ON;
	if (!facts->is_up || *facts->hanging || facts->ban_cnt != beat->ban_cnt ||
	    naming_beat_silent_ns(beat, now_ns) < NAMING_BEAT_STUCK_NS)
		return NAMING_BEAT_DEAD;
	return NAMING_BEAT_STUCK;
}

static const char *what_to_do(const struct naming_beat *beat, const struct naming_beat_facts *facts)
{
	if (*facts->hanging)
		return "; end the file server that they wait for, or the container: a restart of jbpfd frees none of them";
	if (!facts->is_up)
		return "no process that names can be started; the log of jbpfd has the reason: free memory, or process ids";
	if (facts->ban_cnt != beat->ban_cnt)
		return "each process that names hangs or dies; the log of jbpfd says over whom: end these";
	return "a process that names is there and answers nothing; restart jbpfd, and report it";
}

void naming_beat_text(const struct naming_beat *beat, uint64_t now_ns,
		      const struct naming_beat_facts *facts, char out[NAMING_BEAT_BYTES])
{
	*out = '\0';
	if (!naming_beat_is_dead(beat))
		return;
	(void)snprintf(out, NAMING_BEAT_BYTES,
		       "naming is dead, nothing was named for %" PRIu64 " s: %s%s",
		       (uint64_t)(naming_beat_silent_ns(beat, now_ns) / CLOCK_NS_PER_S),
		       facts->hanging, what_to_do(beat, facts));
}
