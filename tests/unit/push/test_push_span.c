// SPDX-License-Identifier: Apache-2.0
/* Which minutes are sent: by what is stored, whatever the wall clock says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "user/push/push_span.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define S      CLOCK_NS_PER_S
#define NOW_S  1700000040ull /* a minute */
#define BOOT_S 500000ull     /* of the same moment */

static struct push_clock clock_at(int64_t unix_s, int64_t boot_s, uint64_t suspended_s)
{
	return (struct push_clock){ .unix_ns = (NOW_S + (uint64_t)unix_s) * S,
				    .boot_ns = (BOOT_S + (uint64_t)boot_s) * S,
				    .suspended_ns = suspended_s * S };
}

/* Seconds are from NOW_S and BOOT_S on. */
static void end_goes_by_what_is_stored(void **state)
{
	static const struct {
		const char *what;
		int64_t end_s, end_boot_s;
		uint64_t duration_s;
		int64_t unix_s, boot_s;
		uint64_t suspended_s;
		int64_t wanted_s;
		bool is_quiet;
	} rows[] = {
		{ "jbpfd is at it", -5, -5, 10, 0, 0, 0, -120, false },
		{ "the last minute waits for its rest", -100, -100, 10, 0, 0, 0, -120, false },
		{ "jbpfd has stopped: its last minute", -700, -700, 10, 0, 0, 0, -660, true },
		{ "... that ended with it", -720, -720, 10, 0, 0, 0, -720, true },
		{ "... on a host that was suspended before", -7000, -7000, 10, 0, 0, 6000, -6960,
		  true },
		{ "... and in another boot", -700, 100, 10, 0, 0, 0, -660, true },
		{ "... in one that is not known", -700, -500000, 10, 0, 0, 0, -660, true },
		{ "the clock is ahead, the future is empty", -5, -5, 10, 3600, 0, 0, -60, false },
		{ "the host was suspended", -3605, -3605, 10, 0, 0, 3600, -3660, false },
		{ "a window of ten minutes", -700, -700, 600, 0, 0, 0, -720, false },
		{ "... that has stopped", -1300, -1300, 600, 0, 0, 0, -1260, true },
		{ "... beside those of a clock that was ahead", -5, -5, 600, 0, 0, 0, -660, false },
		{ "nothing is stored", -1700000040, -500000, 0, 0, 0, 0, -1700000040, false },
		{ "the clock says 1970", -1700000010, 0, 10, -1700000000, 0, 0, -1700000040,
		  false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct push_clock clock =
			clock_at(rows[i].unix_s, rows[i].boot_s, rows[i].suspended_s);
		const struct push_newest newest = {
			.end_ns = (NOW_S + (uint64_t)rows[i].end_s) * S,
			.end_boot_ns = (BOOT_S + (uint64_t)rows[i].end_boot_s) * S,
			.duration_ns = rows[i].duration_s * S,
		};
		uint64_t end = push_span_end(&newest, &clock);

		if (end != (NOW_S + (uint64_t)rows[i].wanted_s) * S)
			fail_msg("%s: %lld", rows[i].what, (long long)(end / S) - (long long)NOW_S);
		if ((push_span_quiet(&newest, &clock) != 0) != rows[i].is_quiet)
			fail_msg("%s: quiet or not", rows[i].what);
	}
}

static void newest_window_is_none_of_the_future(void **state)
{
	const struct window windows[] = {
		{ .start_unix_ns = 100 * S, .duration_ns = 10 * S, .start_boot_ns = 7 * S },
		{ .start_unix_ns = 900 * S, .duration_ns = 10 * S, .start_boot_ns = 8 * S },
		{ .start_unix_ns = 90 * S, .duration_ns = 10 * S, .start_boot_ns = 9 * S },
	};
	struct push_newest newest = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(windows); i++)
		push_span_note(&newest, &windows[i], 200 * S);
	assert_true(newest.end_ns == 110 * S && newest.end_boot_ns == 17 * S);
}

static void place_that_is_ahead_of_the_clock_is_set_back(void **state)
{
	static const struct {
		const char *what;
		int64_t cursor_s;
		bool adds_up;
		enum push_turn turn;
		int64_t wanted_s;
	} rows[] = {
		{ "as always", -120, false, PUSH_TURN_NONE, -120 },
		{ "as always, adding up", -120, true, PUSH_TURN_NONE, -120 },
		{ "at the clock", 30, false, PUSH_TURN_NONE, 30 },
		{ "ahead", 3600, false, PUSH_TURN_BACK, 30 - 86400 },
		{ "ahead, adding up", 3600, true, PUSH_TURN_BACK, 0 },
	};
	const struct push_clock clock = clock_at(30, 30, 0);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const uint64_t cursor_ns = (NOW_S + (uint64_t)rows[i].cursor_s) * S;
		struct push_place place = { .cursor_ns = cursor_ns, .saved_ns = cursor_ns };

		if (push_span_turn(&place, &clock, rows[i].adds_up) != rows[i].turn ||
		    place.cursor_ns != (NOW_S + (uint64_t)rows[i].wanted_s) * S)
			fail_msg("%s: %lld", rows[i].what,
				 (long long)(place.cursor_ns / S) - (long long)NOW_S);
		assert_true(place.saved_ns == cursor_ns);
	}
}

/* The clock was an hour behind for a minute; or it is what was sent that is ahead, for an hour. */
static void place_returns_when_the_clock_was_behind(void **state)
{
	const struct push_clock now = clock_at(0, 0, 0), later = clock_at(60, 60, 0),
				right = clock_at(3660, 60, 0), passed = clock_at(3660, 3660, 0);
	struct push_place place = { .cursor_ns = (NOW_S + 3500) * S,
				    .saved_ns = (NOW_S + 3500) * S };

	(void)state;
	assert_int_equal(push_span_turn(&place, &now, false), PUSH_TURN_BACK);
	assert_int_equal(push_span_turn(&place, &later, false), PUSH_TURN_NONE);
	assert_int_equal(push_span_turn(&place, &passed, false), PUSH_TURN_NONE);
	assert_int_equal(push_span_turn(&place, &right, false), PUSH_TURN_RETURN);
	assert_true(place.cursor_ns == (NOW_S + 3500) * S && !place.since_boot_ns);
}

static void first_round_begins_at_the_cursor_or_before_it(void **state)
{
	static const struct {
		const char *what;
		int64_t cursor_s, first_s;
		bool adds_up;
		int64_t wanted_s;
	} rows[] = {
		{ "ten minutes again", -120, -90000, false, -720 },
		{ "adding up", -120, -90000, true, -120 },
		{ "after an outage", -80000, -90000, false, -80640 },
		{ "where days are merged already", -600000, -700000, false, -600000 },
		{ "the store begins later, in its hour", -90000, -2040, false, -2040 },
		{ "nothing was sent yet", -1700000040, -2040, true, -2040 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct push_place place = {
			.cursor_ns = (NOW_S + (uint64_t)rows[i].cursor_s) * S
		};
		uint64_t first_ns = (NOW_S + (uint64_t)rows[i].first_s) * S;
		uint64_t begin = push_span_begin(&place, first_ns, NOW_S * S, rows[i].adds_up);
		uint64_t wanted = (NOW_S + (uint64_t)rows[i].wanted_s) * S;

		if (begin > wanted || begin + 3600 * S <= wanted ||
		    (rows[i].cursor_s > rows[i].first_s && begin + 60 * S <= wanted))
			fail_msg("%s: %lld", rows[i].what,
				 (long long)(begin / S) - (long long)NOW_S);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(end_goes_by_what_is_stored),
		cmocka_unit_test(newest_window_is_none_of_the_future),
		cmocka_unit_test(place_that_is_ahead_of_the_clock_is_set_back),
		cmocka_unit_test(place_returns_when_the_clock_was_behind),
		cmocka_unit_test(first_round_begins_at_the_cursor_or_before_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
