// SPDX-License-Identifier: Apache-2.0
/* When a JVM may be asked for its map again, and the names of what came of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/collect/attach/jvm_attach.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

static struct jvm_attach_result result_of(enum jvm_attach_outcome outcome, uint32_t command_ms)
{
	return (struct jvm_attach_result){ .outcome = outcome, .command_ms = command_ms };
}

#define SECOND CLOCK_NS_PER_S

static void jvm_limiter_lets_the_first_request_through(void **state)
{
	struct jvm_attach_limiter limiter = { 0 };

	(void)state;
	assert_true(jvm_attach_limiter_may(&limiter, 0, 60 * SECOND));
	assert_true(jvm_attach_limiter_may(&limiter, 5, 60 * SECOND));
}

static void jvm_limiter_holds_a_jvm_up_a_thousandth_of_the_time_at_most(void **state)
{
	static const struct {
		uint32_t command_ms;
		uint64_t wait_s;
	} rows[] = { { 0, 10 }, { 3, 10 }, { 10, 10 }, { 11, 11 }, { 300, 300 }, { 7200, 7200 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct jvm_attach_limiter limiter = { 0 };
		struct jvm_attach_result result = result_of(JVM_ATTACH_OK, rows[i].command_ms);
		uint64_t now = 1000 * SECOND;

		jvm_attach_limiter_note(&limiter, now, &result);
		assert_int_equal(limiter.request_cnt, 1);
		assert_int_equal(limiter.total_command_ms, rows[i].command_ms);
		assert_false(jvm_attach_limiter_may(&limiter, now, 10 * SECOND));
		assert_false(jvm_attach_limiter_may(&limiter, now + rows[i].wait_s * SECOND - 1,
						    10 * SECOND));
		assert_true(jvm_attach_limiter_may(&limiter, now + rows[i].wait_s * SECOND,
						   10 * SECOND));
	}
}

static void jvm_limiter_doubles_per_failure_up_to_an_hour(void **state)
{
	struct jvm_attach_result failure = result_of(JVM_ATTACH_TIMEOUT, 0);
	struct jvm_attach_result ok = result_of(JVM_ATTACH_OK, 0);
	struct jvm_attach_limiter limiter = { 0 };
	uint64_t now = SECOND;
	uint64_t wait_s = 10;

	(void)state;
	for (int i = 0; i < 200; i++) {
		jvm_attach_limiter_note(&limiter, now, &failure);
		wait_s = wait_s * 2 > 3600 ? 3600 : wait_s * 2;
		assert_false(
			jvm_attach_limiter_may(&limiter, now + wait_s * SECOND - 1, 10 * SECOND));
		assert_true(jvm_attach_limiter_may(&limiter, now + wait_s * SECOND, 10 * SECOND));
		now += wait_s * SECOND;
	}
	/* A longer interval than the cap stays as long. */
	assert_false(jvm_attach_limiter_may(&limiter, now + 7199 * SECOND - 3600 * SECOND,
					    7200 * SECOND));
	jvm_attach_limiter_note(&limiter, now, &ok);
	assert_int_equal(limiter.failure_cnt, 0);
	assert_true(jvm_attach_limiter_may(&limiter, now + 10 * SECOND, 10 * SECOND));
}

static void jvm_limiter_knows_what_passes_and_what_is_for_ever(void **state)
{
	static const struct {
		enum jvm_attach_outcome outcome;
		bool never_again;
		bool is_failure;
	} rows[] = {
		{ JVM_ATTACH_OK, false, false },
		{ JVM_ATTACH_TOO_YOUNG, false, true },
		{ JVM_ATTACH_NOT_RUNNING, false, false },
		{ JVM_ATTACH_NOT_HOTSPOT, true, true },
		{ JVM_ATTACH_DISABLED, true, true },
		{ JVM_ATTACH_UNSUPPORTED, true, true },
		{ JVM_ATTACH_GONE, true, true },
		{ JVM_ATTACH_NO_SIGNAL, false, true },
		{ JVM_ATTACH_NO_THREAD_ROOM, false, true },
		{ JVM_ATTACH_TMP_HOSTILE, false, true },
		{ JVM_ATTACH_WRONG_PEER, false, true },
		{ JVM_ATTACH_ERROR, false, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct jvm_attach_limiter limiter = { 0 };
		struct jvm_attach_result result = result_of(rows[i].outcome, 0);

		jvm_attach_limiter_note(&limiter, SECOND, &result);
		assert_int_equal(limiter.never_again, rows[i].never_again);
		assert_int_equal(limiter.failure_cnt, rows[i].is_failure);
		assert_int_equal(jvm_attach_limiter_may(&limiter, UINT64_MAX, 10 * SECOND),
				 !rows[i].never_again);
		assert_false(jvm_attach_limiter_may(&limiter, 0, 10 * SECOND));
	}
}

static void jvm_outcomes_have_names_and_texts(void **state)
{
	(void)state;
	for (int i = 0; i < JVM_ATTACH_OUTCOME_CNT; i++) {
		const char *name = jvm_attach_outcome_name((enum jvm_attach_outcome)i);

		assert_true(strlen(name) > 0);
		assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz-"), strlen(name));
		assert_true(strlen(jvm_attach_outcome_text((enum jvm_attach_outcome)i)) > 0);
		for (int j = 0; j < i; j++)
			assert_string_not_equal(
				name, jvm_attach_outcome_name((enum jvm_attach_outcome)j));
	}
	assert_string_equal(jvm_attach_outcome_name(JVM_ATTACH_TOO_YOUNG), "too-young");
	assert_string_equal(jvm_attach_outcome_name(JVM_ATTACH_OUTCOME_CNT), "unknown");
	assert_non_null(jvm_attach_outcome_text(JVM_ATTACH_OUTCOME_CNT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jvm_limiter_lets_the_first_request_through),
		cmocka_unit_test(jvm_limiter_holds_a_jvm_up_a_thousandth_of_the_time_at_most),
		cmocka_unit_test(jvm_limiter_doubles_per_failure_up_to_an_hour),
		cmocka_unit_test(jvm_limiter_knows_what_passes_and_what_is_for_ever),
		cmocka_unit_test(jvm_outcomes_have_names_and_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
