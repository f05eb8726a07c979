// SPDX-License-Identifier: Apache-2.0
/* When naming is called dead, and whether a restart would mend it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "user/collect/naming_beat.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define START_NS (100 * CLOCK_NS_PER_S)
#define BANS	 7u

static const struct naming_beat_facts well = { .is_up = true, .ban_cnt = BANS, .hanging = "" };

/* So many windows were given up since the last beat. */
static struct naming_beat missed(uint32_t cnt)
{
	struct naming_beat beat = { 0 };

	naming_beat_note(&beat, START_NS, BANS);
	for (uint32_t i = 0; i < cnt; i++)
		naming_beat_miss(&beat);
	return beat;
}

static void naming_is_dead_after_three_windows_in_a_row_and_alive_with_the_next_answer(void **state)
{
	struct naming_beat beat = missed(NAMING_BEAT_MISSES - 1);

	(void)state;
	assert_int_equal(naming_beat_state(&beat, START_NS, &well), NAMING_BEAT_GOES_ON);
	naming_beat_miss(&beat);
	assert_int_equal(naming_beat_state(&beat, START_NS, &well), NAMING_BEAT_DEAD);
	naming_beat_note(&beat, START_NS + 1, BANS);
	assert_int_equal(naming_beat_state(&beat, START_NS + 1, &well), NAMING_BEAT_GOES_ON);
}

/* A jbpfd that was stopped for a day owes the windows that it had, and no more. */
static void time_alone_kills_nothing(void **state)
{
	const struct naming_beat beat = missed(NAMING_BEAT_MISSES - 1), none = missed(0);
	char text[NAMING_BEAT_BYTES];

	(void)state;
	assert_int_equal(naming_beat_state(&beat, START_NS + 86400 * CLOCK_NS_PER_S, &well),
			 NAMING_BEAT_GOES_ON);
	naming_beat_text(&beat, START_NS + 86400 * CLOCK_NS_PER_S, &well, text);
	assert_string_equal(text, "");
	assert_int_equal(naming_beat_silent_ns(&beat, START_NS + 5), 5);
	assert_int_equal(naming_beat_silent_ns(&beat, START_NS - 5), 0);
	assert_int_equal(naming_beat_silent_ns(&none, START_NS + 5), 0);
}

static void a_restart_is_for_faults_of_our_own(void **state)
{
	static const struct {
		struct naming_beat_facts facts;
		uint64_t after_ns;
		enum naming_beat_state is;
		const char *says;
	} rows[] = {
		{ { true, BANS, "" },
		  NAMING_BEAT_STUCK_NS,
		  NAMING_BEAT_STUCK,
		  "naming is dead, nothing was named for 600 s: a process that names is there and "
		  "answers nothing; restart jbpfd, and report it" },
		{ { true, BANS, "" }, NAMING_BEAT_STUCK_NS - 1, NAMING_BEAT_DEAD, "restart jbpfd" },
		{ { true, BANS + 1, "" }, NAMING_BEAT_STUCK_NS, NAMING_BEAT_DEAD, "over whom" },
		{ { false, BANS, "" }, NAMING_BEAT_STUCK_NS, NAMING_BEAT_DEAD, "process ids" },
		{ { true, BANS, "3 hang over /shop" },
		  NAMING_BEAT_STUCK_NS,
		  NAMING_BEAT_DEAD,
		  "600 s: 3 hang over /shop; end the file server" },
		{ { false, BANS, "64 hang" },
		  NAMING_BEAT_STUCK_NS,
		  NAMING_BEAT_DEAD,
		  "a restart of jbpfd frees none of them" },
	};
	const struct naming_beat beat = missed(NAMING_BEAT_MISSES);
	char text[NAMING_BEAT_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(naming_beat_state(&beat, START_NS + rows[i].after_ns,
						   &rows[i].facts),
				 rows[i].is);
		naming_beat_text(&beat, START_NS + rows[i].after_ns, &rows[i].facts, text);
		if (!strstr(text, rows[i].says))
			fail_msg("'%s' is not in '%s'", rows[i].says, text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			naming_is_dead_after_three_windows_in_a_row_and_alive_with_the_next_answer),
		cmocka_unit_test(time_alone_kills_nothing),
		cmocka_unit_test(a_restart_is_for_faults_of_our_own),
	};

	return cmocka_run_group_tests_name("naming_beat", tests, NULL, NULL);
}
