// SPDX-License-Identifier: Apache-2.0
/*
 * Outcomes of a service on their way from its process: all of one arrives or nothing, and what is cut
 * off, too much, or out of range is no outcome.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>

#include "user/daily/daily_verdict.h"
#include "user/daily/daily_wire.h"
#include "user/util/cleanup.h"

/* Where fields lie; daily_wire.c says how. */
#define NUMBER	    8
#define STATE_AT    ((1 + 2 + CMD_STORE_DAMAGE_NAMED) * NUMBER)
#define HAS_WHY_AT  (STATE_AT + NUMBER)
#define WHY_AT	    (HAS_WHY_AT + 1 + 2)
#define HAS_PAGE_AT (WHY_AT + strlen("why"))
#define ALARMS_AT   (HAS_PAGE_AT + NUMBER + (1 + 2 + strlen("shop:1")) + 1 + 2 * NUMBER)

static char method[] = "a.B.c", origin[] = "d.E.f", no_name[] = "", why[] = "why",
	    image[] = "shop:1";

static struct daily_alarm alarms[] = {
	{
		.kind = DAILY_ALARM_CREEP,
		.event = EVENT_WALL,
		.method = method,
		.origin = origin,
		.caller_cnt = 3,
		.is_self = true,
		.change = 0.5,
		.low = NAN,
		.high = INFINITY,
		.share_before = 0.25,
		.share_after = 0.375,
		.first_day = 20000,
		.last_day = UINT32_MAX,
		.shares = { 0.125, NAN, 1 },
	},
	{ .method = no_name },
};

static const struct daily_outcome outcome = {
	.state = DAILY_STATE_REGRESSION,
	.why = why,
	.has_page = true,
	.alarms = alarms,
	.alarm_cnt = 2,
	.known = alarms,
	.known_cnt = 1,
	.image_before = image,
	.history_pairs = 7,
	.detectable = 0.0625,
};

static const struct cmd_store_damage damage = {
	.cnt = 12,
	.is_unreadable = true,
	.named = { 1, UINT64_MAX },
};

static void put(struct strbuf *out)
{
	assert_int_equal(daily_wire_put(&outcome, &damage, out), 0);
}

/* Neither result is touched by what is no outcome. */
static int get_bad(const void *bytes, size_t len)
{
	struct daily_outcome out = { .history_pairs = 99 };
	struct cmd_store_damage damage_out = { .cnt = 98 };
	int err = daily_wire_get(bytes, len, &out, &damage_out);

	if (err) {
		assert_int_equal(out.history_pairs, 99);
		assert_int_equal(damage_out.cnt, 98);
	} else {
		daily_outcome_release(&out);
	}
	return err;
}

static void assert_same_alarm(const struct daily_alarm *a, const struct daily_alarm *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->event, b->event);
	assert_string_equal(a->method, b->method);
	assert_int_equal(a->origin != NULL, b->origin != NULL);
	if (a->origin)
		assert_string_equal(a->origin, b->origin);
	assert_int_equal(a->caller_cnt, b->caller_cnt);
	assert_int_equal(a->is_self, b->is_self);
	assert_memory_equal(&a->change, &b->change, sizeof(a->change));
	assert_memory_equal(&a->low, &b->low, sizeof(a->low));
	assert_memory_equal(&a->high, &b->high, sizeof(a->high));
	assert_memory_equal(&a->share_before, &b->share_before, sizeof(a->share_before));
	assert_memory_equal(&a->share_after, &b->share_after, sizeof(a->share_after));
	assert_int_equal(a->first_day, b->first_day);
	assert_int_equal(a->last_day, b->last_day);
	assert_memory_equal(a->shares, b->shares, sizeof(a->shares));
}

static void an_outcome_arrives_as_it_was(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct daily_outcome out;
	struct cmd_store_damage damage_out;

	(void)state;
	put(&bytes);
	assert_int_equal(daily_wire_get(bytes.data, bytes.len, &out, &damage_out), 0);
	assert_memory_equal(damage_out.named, damage.named, sizeof(damage.named));
	assert_int_equal(damage_out.cnt, 12);
	assert_true(damage_out.is_unreadable);
	assert_null(out.service);
	assert_int_equal(out.state, DAILY_STATE_REGRESSION);
	assert_string_equal(out.why, "why");
	assert_true(out.has_page);
	assert_string_equal(out.image_before, "shop:1");
	assert_null(out.image_after);
	assert_int_equal(out.history_pairs, 7);
	assert_true(out.detectable == 0.0625);
	assert_int_equal(out.alarm_cnt, 2);
	assert_same_alarm(&out.alarms[0], &alarms[0]);
	assert_same_alarm(&out.alarms[1], &alarms[1]);
	assert_int_equal(out.known_cnt, 1);
	assert_same_alarm(&out.known[0], &alarms[0]);
	daily_outcome_release(&out);
}

static void what_is_cut_off_or_goes_on_is_none(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;

	(void)state;
	put(&bytes);
	for (size_t len = 0; len < bytes.len; len++) {
		/* No longer than the text, so that a sanitizer sees a read beyond its end. */
		__cleanup_free char *cut = malloc(len + !len);

		assert_non_null(cut);
		memcpy(cut, bytes.data, len);
		assert_int_equal(get_bad(cut, len), -EBADMSG);
	}
	strbuf_putc(&bytes, '\0');
	assert_int_equal(get_bad(bytes.data, bytes.len), -EBADMSG);
}

static void what_is_out_of_range_is_none(void **state)
{
	static const struct {
		size_t at;
		uint8_t byte;
	} rows[] = {
		{ 0, 'x' },
		{ 2 * NUMBER, 2 }, /* unreadable */
		{ STATE_AT, DAILY_STATE_NOT_COMPARED + 1 },
		{ STATE_AT + 7, 1 },
		{ HAS_WHY_AT, 2 },
		{ HAS_WHY_AT, 0 },
		{ HAS_WHY_AT + 1, 2 },
		{ WHY_AT + 1, 0 }, /* a text with a NUL */
		{ HAS_PAGE_AT, 2 },
		{ ALARMS_AT, 1 },
		{ ALARMS_AT, 3 },
		{ ALARMS_AT + 1, 0x80 },
		{ ALARMS_AT + NUMBER, DAILY_ALARM_CREEP + 1 },
		{ ALARMS_AT + 2 * NUMBER, EVENT_VIEW_END },
		{ ALARMS_AT + 3 * NUMBER, 0 }, /* without a method */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;

		put(&bytes);
		bytes.data[rows[i].at] = (char)rows[i].byte;
		assert_int_equal(get_bad(bytes.data, bytes.len), -EBADMSG);
	}
}

static void more_alarms_than_are_kept_are_none(void **state)
{
	struct daily_alarm many[DAILY_KNOWN_MAX + 1];
	struct daily_outcome crowd = { .known = many, .known_cnt = ARRAY_SIZE(many) };
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = alarms[0];
	assert_int_equal(daily_wire_put(&crowd, &damage, &bytes), 0);
	assert_int_equal(get_bad(bytes.data, bytes.len), -EBADMSG);
	strbuf_clear(&bytes);
	crowd.known_cnt--;
	assert_int_equal(daily_wire_put(&crowd, &damage, &bytes), 0);
	assert_int_equal(get_bad(bytes.data, bytes.len), 0);
}

static void any_byte_may_be_wrong(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;

	(void)state;
	put(&bytes);
	for (size_t i = 0; i < bytes.len; i++) {
		char was = bytes.data[i];

		for (int bit = 0; bit < 8; bit++) {
			int err;

			bytes.data[i] = (char)(was ^ (1 << bit));
			err = get_bad(bytes.data, bytes.len);
			assert_true(err == 0 || err == -EBADMSG);
		}
		bytes.data[i] = was;
	}
}

static void a_text_that_is_too_long_is_cut(void **state)
{
	__cleanup_free char *text = malloc(UINT16_MAX + 2);
	struct daily_outcome long_one = { .why = text };
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct daily_outcome out;
	struct cmd_store_damage damage_out;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', UINT16_MAX + 1);
	text[UINT16_MAX + 1] = '\0';
	assert_int_equal(daily_wire_put(&long_one, &damage, &bytes), 0);
	assert_int_equal(daily_wire_get(bytes.data, bytes.len, &out, &damage_out), 0);
	assert_int_equal(strlen(out.why), UINT16_MAX);
	daily_outcome_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_outcome_arrives_as_it_was),
		cmocka_unit_test(what_is_cut_off_or_goes_on_is_none),
		cmocka_unit_test(what_is_out_of_range_is_none),
		cmocka_unit_test(more_alarms_than_are_kept_are_none),
		cmocka_unit_test(any_byte_may_be_wrong),
		cmocka_unit_test(a_text_that_is_too_long_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
