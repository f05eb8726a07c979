// SPDX-License-Identifier: Apache-2.0
/* See push_span.h. */
#include "user/push/push_span.h"

#include "user/remote/clickhouse_schema.h"
#include "user/store/store.h"
#include "user/util/clock.h"

#define AGAIN_NS (10 * CLICKHOUSE_MINUTE_NS)
/*
 * Minutes of a day file begin five minutes apart: sent again they would be other rows than those that the
 * server has of the same time.
 */
#define AGAIN_MAX_AGE_NS (STORE_DAY_FILE_AGE_NS - 24 * STORE_WINDOW_MAX_NS)
/* A window is stored some seconds after its end; later ones are waited for while the daemon is behind ... */
#define SETTLE_NS (90 * CLOCK_NS_PER_S)
#define NAMING_NS (30 * CLOCK_NS_PER_S)
/* ... or has stopped: then nothing more comes. */
#define STOPPED_NS (10 * CLICKHOUSE_MINUTE_NS)
/* Windows whose times of both clocks agree so far were labelled by the clock as it is now. */
#define SAME_CLOCK_NS CLICKHOUSE_MINUTE_NS

static uint64_t minute_of(uint64_t ns)
{
	return ns - ns % CLICKHOUSE_MINUTE_NS;
}

/* A clock may say 1970. */
static uint64_t before(uint64_t ns, uint64_t by_ns)
{
	return ns > by_ns ? ns - by_ns : 0;
}

void push_span_note(struct push_newest *newest, const struct window *window, uint64_t now_ns)
{
	uint64_t end_ns = window_end_unix_ns(window);

	/* One that ends later was labelled by a clock that was ahead: of now it says nothing. */
	if (end_ns > now_ns || end_ns <= newest->end_ns)
		return;
	*newest = (struct push_newest){
		.end_ns = end_ns,
		.end_boot_ns = window->start_boot_ns ? window->start_boot_ns + window->duration_ns :
						       0,
		.duration_ns = window->duration_ns,
	};
}

/*
 * Both clocks must say so. The wall clock steps, and a host that was suspended has yet to store the window that was
 * interrupted; when it was suspended is not known, so all of it is taken off. A time since boot that is still to come is
 * of another boot or host: that jbpfd has ended.
 */
uint64_t push_span_quiet(const struct push_newest *newest, const struct push_clock *clock)
{
	uint64_t quiet_ns = STOPPED_NS + newest->duration_ns;

	if (!newest->end_ns || clock->unix_ns <= newest->end_ns + quiet_ns)
		return 0;
	if (newest->end_boot_ns && newest->end_boot_ns <= clock->boot_ns &&
	    before(clock->boot_ns, clock->suspended_ns) <= newest->end_boot_ns + quiet_ns)
		return 0;
	return clock->unix_ns - STOPPED_NS;
}

uint64_t push_span_end(const struct push_newest *newest, const struct push_clock *clock)
{
	uint64_t settle_ns = newest->duration_ns + NAMING_NS;
	uint64_t end = newest->end_ns;

	if (push_span_quiet(newest, clock))
		end += CLICKHOUSE_MINUTE_NS - 1;
	/* Windows of a clock that was ahead may end before those that jbpfd is at now. */
	settle_ns = before(clock->unix_ns, settle_ns > SETTLE_NS ? settle_ns : SETTLE_NS);
	return minute_of(end < settle_ns ? end : settle_ns);
}

enum push_turn push_span_turn(struct push_place *place, const struct push_clock *clock,
			      bool adds_up)
{
	uint64_t now_ns = clock->unix_ns;

	/* By the clock of now what was sent was not ahead when it seemed so. */
	if (place->since_boot_ns &&
	    before(now_ns, clock->boot_ns - place->since_boot_ns) >= place->saved_ns) {
		place->cursor_ns = place->saved_ns;
		place->since_boot_ns = 0;
		return PUSH_TURN_RETURN;
	}
	if (place->cursor_ns <= now_ns)
		return PUSH_TURN_NONE;
	place->cursor_ns = adds_up ? minute_of(now_ns) : before(now_ns, PUSH_SPAN_BACK_NS);
	place->since_boot_ns = clock->boot_ns;
	return PUSH_TURN_BACK;
}

uint64_t push_span_begin(const struct push_place *place, uint64_t first_ns, uint64_t now_ns,
			 bool adds_up)
{
	uint64_t begin = place->cursor_ns;

	if (!adds_up && begin > AGAIN_NS && before(now_ns, begin) < AGAIN_MAX_AGE_NS)
		begin -= AGAIN_NS;
	/* Host records may come before the first samples of all. */
	first_ns -= first_ns % STORE_WINDOW_MAX_NS;
	return minute_of(begin > first_ns ? begin : first_ns);
}

bool push_span_is_new(const struct push_place *place, const struct window *window,
		      const struct push_clock *clock)
{
	uint64_t start_ns;

	if (!place->since_boot_ns || window->start_unix_ns >= place->saved_ns)
		return true;
	if (window->start_boot_ns < place->since_boot_ns || window->start_boot_ns > clock->boot_ns)
		return false;
	/* Of another boot it may be as well. */
	start_ns = before(clock->unix_ns, clock->boot_ns - window->start_boot_ns);
	return before(window->start_unix_ns, start_ns) < SAME_CLOCK_NS &&
	       before(start_ns, window->start_unix_ns) < SAME_CLOCK_NS;
}
