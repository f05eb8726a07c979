/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which minutes a round of jbpf push sends. The wall clock may be wrong, by hours, and right again a minute later: it
 * alone moves nothing past time for which nothing is stored yet.
 *
 * In: the cursor, what is stored, the clocks. Out: begin and end. Pure: no I/O, no clock is read.
 */
#ifndef JBPF_PUSH_PUSH_SPAN_H
#define JBPF_PUSH_PUSH_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#include "user/model/window.h"

/* One moment. */
struct push_clock {
	uint64_t unix_ns;      /* may step */
	uint64_t boot_ns;      /* CLOCK_BOOTTIME: never steps */
	uint64_t suspended_ns; /* of boot_ns */
};

/* The window of the store that ends last, of those that have ended by the clock. Zero-initialise. */
struct push_newest {
	uint64_t end_ns;      /* Unix; 0 = there is none */
	uint64_t end_boot_ns; /* 0 = not known */
	uint64_t duration_ns;
};

struct push_place {
	uint64_t cursor_ns;	/* Unix; confirmed until then; 0 = nothing was sent yet */
	uint64_t saved_ns;	/* the highest that the file ever said */
	uint64_t since_boot_ns; /* the clock was found behind saved_ns then; 0 = it is not */
};

enum push_turn {
	PUSH_TURN_NONE = 0,
	/* The clock is behind what was sent: the cursor was set back, which is to be told. */
	PUSH_TURN_BACK,
	/* It was the clock that was behind, and it is right again: the cursor is saved_ns. */
	PUSH_TURN_RETURN,
};

/* How much of the past PUSH_TURN_BACK sends again: no time zone is further off. */
#define PUSH_SPAN_BACK_NS (24ull * 3600 * 1000000000)

void push_span_note(struct push_newest *newest, const struct window *window, uint64_t now_ns);
/*
 * Does nothing more come for the minute in which the newest window ended, because jbpfd has stopped? Unix ns before
 * which nothing will be stored any more; 0 = something may.
 */
uint64_t push_span_quiet(const struct push_newest *newest, const struct push_clock *clock);
/* The first minute that is not complete; 0: none is. */
uint64_t push_span_end(const struct push_newest *newest, const struct push_clock *clock);
/* Before each round that finds windows before now. `adds_up` as of push_server_ops. */
enum push_turn push_span_turn(struct push_place *place, const struct push_clock *clock,
			      bool adds_up);
/* Where the first round of the process, or the one after a failure, begins. */
uint64_t push_span_begin(const struct push_place *place, uint64_t first_ns, uint64_t now_ns,
			 bool adds_up);
/*
 * For servers that add up: has none of the window been sent? After PUSH_TURN_BACK some of the time before
 * saved_ns has, and only what was recorded since then has not.
 */
bool push_span_is_new(const struct push_place *place, const struct window *window,
		      const struct push_clock *clock);

#endif
