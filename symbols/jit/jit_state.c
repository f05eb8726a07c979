// SPDX-License-Identifier: Apache-2.0
/*
 * When was it there? Of code and methods it is known at some moments only. A sample belongs to
 * what was there before and after it; between a sample and the first reading, or the last one and a
 * sample, it is taken for the same, unless something else is known to have been there, or the JVM
 * reuses its memory so fast that it may have been. Of methods the number of unloaded classes says
 * more: see jit_vm_unloads.c.
 *
 *                      UNREAD
 *        READ_PROMPT  /      \  READ_LATE
 *                    v        v
 *                 PROMPT --> LATE          UNWATCHED
 *                    |        |
 *                    +---+----+
 *           MISTAKEN |        | UNLOADED
 *                    v        v
 *                DOUBTFUL  DISPROVED
 *
 *     SEEN and, in DOUBTFUL, MISTAKEN: the state stays
 *     LOST: each of these four leads to its ..._GONE, where it ends
 *
 * The states say how well the first reading vouches for samples that are older than it: PROMPT as
 * long as nothing else is known, LATE if samples go on after it, DOUBTFUL and DISPROVED not at all.
 * Code is never DISPROVED, a method never DOUBTFUL. What is read at the place of something that is
 * GONE has a life of its own, which follows the other one (jit_life_follows()).
 */
#include "symbols/jit/jit_state.h"

/* JIT_VM_PROMPT_NS in a restless JVM. */
#define RESTLESS_PROMPT_NS (150ull * 1000 * 1000)

/* ---- transitions ---- */

static void nothing(struct jit_life *life, uint64_t at_ns)
{
	(void)life;
	(void)at_ns;
}

static void note_alive(struct jit_life *life, uint64_t at_ns)
{
	life->alive_ns = at_ns;
}

static void sure_from_first_reading(struct jit_life *life, uint64_t at_ns)
{
	(void)at_ns;
	life->sure_from_ns = life->first_seen_ns;
}

/* What was read before may have been another's. */
static void first_seen_now(struct jit_life *life, uint64_t at_ns)
{
	life->first_seen_ns = at_ns;
	life->sure_from_ns = at_ns;
}

static void sure_from_unload(struct jit_life *life, uint64_t at_ns)
{
	life->proved_from_ns = at_ns;
	life->sure_from_ns = at_ns;
}

static void note_gone(struct jit_life *life, uint64_t at_ns)
{
	life->gone_ns = at_ns;
}

struct transition {
	uint8_t next[JIT_STATE_CNT]; /* by state; 0 (UNREAD): cannot happen */
	void (*act)(struct jit_life *life, uint64_t at_ns);
};

#define FROM(state, to) [JIT_STATE_##state] = JIT_STATE_##to
#define STAYS(state)	FROM(state, state)

static const struct transition transitions[JIT_EVENT_CNT] = {
	[JIT_EVENT_READ_PROMPT] = { { FROM(UNREAD, PROMPT) }, nothing },
	[JIT_EVENT_READ_LATE] = { { FROM(UNREAD, LATE) }, nothing },
	[JIT_EVENT_SEEN] = { { STAYS(PROMPT), STAYS(LATE), STAYS(DOUBTFUL), STAYS(DISPROVED) },
			     note_alive },
	[JIT_EVENT_UNWATCHED] = { { FROM(PROMPT, LATE) }, sure_from_first_reading },
	[JIT_EVENT_MISTAKEN] = { { FROM(PROMPT, DOUBTFUL), FROM(LATE, DOUBTFUL), STAYS(DOUBTFUL) },
				 first_seen_now },
	[JIT_EVENT_UNLOADED] = { { FROM(PROMPT, DISPROVED), FROM(LATE, DISPROVED) },
				 sure_from_unload },
	[JIT_EVENT_LOST] = { { FROM(PROMPT, PROMPT_GONE), FROM(LATE, LATE_GONE),
			       FROM(DOUBTFUL, DOUBTFUL_GONE), FROM(DISPROVED, DISPROVED_GONE) },
			     note_gone },
};

#undef FROM
#undef STAYS

enum jit_state jit_state_after(enum jit_state state, enum jit_event event)
{
	return (enum jit_state)transitions[event].next[state];
}

bool jit_life_event(struct jit_life *life, enum jit_event event, uint64_t at_ns)
{
	enum jit_state next = jit_state_after(life->state, event);

	if (next == JIT_STATE_UNREAD)
		return false;
	life->state = next;
	transitions[event].act(life, at_ns);
	return true;
}

void jit_life_begin(struct jit_life *life, enum jit_vm_mode mode, bool is_restless,
		    uint64_t read_ns, uint64_t read_end_ns)
{
	bool is_prompt = mode == JIT_VM_PREFETCH;

	*life = (struct jit_life){
		.first_seen_ns = read_end_ns,
		.alive_ns = read_ns,
		.sure_from_ns = is_prompt && !is_restless ? 0 : read_end_ns,
		.proved_from_ns = UINT64_MAX,
		.was_restless = is_restless,
	};
	(void)jit_life_event(life, is_prompt ? JIT_EVENT_READ_PROMPT : JIT_EVENT_READ_LATE,
			     read_ns);
}

void jit_life_prove(struct jit_life *life, uint64_t from_ns)
{
	life->proved_from_ns = from_ns;
	if (from_ns < life->sure_from_ns)
		life->sure_from_ns = from_ns;
}

void jit_life_follows(struct jit_life *life, const struct jit_life *before)
{
	/* No class was unloaded, and yet it was another one: redefined, so the number proves nothing. */
	if (before->alive_ns > life->proved_from_ns)
		life->proved_from_ns = UINT64_MAX;
	jit_life_sure_from(life, before->gone_ns);
	if (before->alive_ns > life->born_after_ns)
		life->born_after_ns = before->alive_ns;
}

void jit_life_sure_from(struct jit_life *life, uint64_t from_ns)
{
	if (from_ns > life->sure_from_ns)
		life->sure_from_ns = from_ns;
}

bool jit_life_is_gone(const struct jit_life *life)
{
	return life->state >= JIT_STATE_PROMPT_GONE;
}

enum jit_state jit_life_evidence(const struct jit_life *life)
{
	return jit_life_is_gone(life) ? life->state - JIT_STATE_PROMPT_GONE + JIT_STATE_PROMPT :
					life->state;
}

/* ---- questions ---- */

struct jit_span jit_span_of(const struct jit_vm_query *query)
{
	return (struct jit_span){
		.since = query->since_boot_ns,
		.until = query->until_boot_ns ? query->until_boot_ns : UINT64_MAX,
	};
}

bool jit_life_is_possible(const struct jit_life *life, const struct jit_span *span)
{
	return (!jit_life_is_gone(life) || life->gone_ns > span->since) &&
	       life->born_after_ns < span->until;
}

/* All samples are younger, or no other can own the older ones. */
static bool life_began_before(const struct jit_life *life, const struct jit_span *span)
{
	return life->first_seen_ns <= span->since || life->proved_from_ns <= span->since;
}

bool jit_life_is_certain(const struct jit_life *life, const struct jit_span *span, bool is_there)
{
	return life_began_before(life, span) && (is_there || life->alive_ns >= span->until);
}

/*
 * The samples go on after the first reading: what was read then is what was sampled, as sure as by a
 * prefetch of a sample that is moments old, where nothing else is known to have been.
 */
static bool samples_go_on(const struct jit_life *life, const struct jit_span *span)
{
	return jit_life_evidence(life) != JIT_STATE_DOUBTFUL && !life->born_after_ns &&
	       span->until != UINT64_MAX && life->first_seen_ns <= span->until;
}

/* Samples may be older than its first reading. */
static bool life_began_in_time(const struct jit_life *life, const struct jit_span *span)
{
	uint64_t slack_ns = life->first_seen_ns - span->since;
	enum jit_state evidence = jit_life_evidence(life);

	if (life_began_before(life, span))
		return true;
	if (evidence == JIT_STATE_DISPROVED ||
	    (evidence != JIT_STATE_PROMPT && !samples_go_on(life, span)))
		return false;
	/* It may have been put at the place of what went then. */
	if (span->since < life->unloaded_ns)
		return false;
	if (life->was_restless)
		return slack_ns <= RESTLESS_PROMPT_NS;
	return span->until > UINT64_MAX - JIT_VM_PROMPT_NS ||
	       life->first_seen_ns <= span->until + JIT_VM_PROMPT_NS;
}

bool jit_life_is_credible(const struct jit_life *life, const struct jit_span *span, bool is_there,
			  uint64_t restless_until_ns)
{
	bool is_to_the_end = is_there || life->alive_ns >= span->until;

	/* Gone, and others may have come and gone since: in a calm JVM it is the only one known. */
	if (!is_to_the_end && (life->was_restless || restless_until_ns > life->alive_ns))
		return false;
	return life_began_in_time(life, span);
}
