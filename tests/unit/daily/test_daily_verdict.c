// SPDX-License-Identifier: Apache-2.0
/*
 * The daily job's judgement: days become rows of the series, the series becomes history, changes are
 * dated, and alarms come when something changed and once.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/daily_sim.h"
#include "user/daily/daily_changes.h"
#include "user/util/cleanup.h"

#define FIRST	 DAYS_SIM_FIRST
#define METHODS	 60u
#define PLANTED	 7u  /* of the methods of synthetic series */
#define LARGE	 10u /* of the simulated program: rank 70 */
#define DAYS_MAX 60

/* ---- a simulated program ---- */

static const struct sim_config still = { .cores = 4, .frequency_hz = 49, .seed = 5 };

static void start(struct days_sim *days, uint32_t quiet_days)
{
	assert_int_equal(days_sim_init(days, &still), 0);
	for (uint32_t i = 0; i < quiet_days; i++)
		assert_int_equal(days_sim_next(days, NULL, 0), 0);
}

static void judge(struct days_sim *days, struct daily_outcome *out)
{
	assert_int_equal(days_sim_judge(days, out), 0);
}

static const struct series_row *find_row(const struct series *series, uint32_t day,
					 enum diff_kind kind, const char *name)
{
	const struct series_day *at = series__find(series, day);

	assert_non_null(at);
	for (size_t i = 0; i < at->row_cnt; i++) {
		struct series_item item = series__item(series, at->rows[i].item);

		if (item.item_kind == kind && strcmp(item.name, name) == 0)
			return &at->rows[i];
	}
	return NULL;
}

static void a_day_becomes_rows_of_what_matters(void **state)
{
	struct days_sim days;
	const struct series_day *day;
	const struct series_row *row;
	uint32_t largest;
	double self_sum = 0;
	char name[64];

	(void)state;
	start(&days, 1);
	day = series__find(days.series, FIRST);
	assert_non_null(day);
	assert_int_equal(day->blocks, SIM_BLOCKS);
	assert_int_equal(day->length_s, 86400);
	assert_int_equal(day->recorded_s, 86400);
	assert_int_equal(day->frequency_hz, 49);
	for (size_t i = 0; i < day->row_cnt; i++) {
		struct series_item item = series__item(days.series, day->rows[i].item);

		assert_in_range(item.item_kind, DIFF_KIND_METHOD_SELF, DIFF_KIND_PACKAGE_TOTAL);
		assert_true(day->rows[i].value >= logf(0.001f) - 1e-4f && day->rows[i].value <= 0);
		assert_true(day->rows[i].variance >= 0);
		if (item.item_kind == DIFF_KIND_METHOD_SELF)
			self_sum += exp(day->rows[i].value);
	}
	/* The rest is in methods below 0.1 %. */
	assert_true(self_sum > 0.8 && self_sum <= 1);
	largest = sim_method_of_share(&days.sim, 1);
	days_sim_name(largest, name, sizeof(name));
	row = find_row(days.series, FIRST, DIFF_KIND_METHOD_SELF, name);
	assert_non_null(row);
	assert_true(fabs(exp(row->value) - days.sim.share[largest]) < 0.002);
	/* All of the program is below its main method. */
	days_sim_name(0, name, sizeof(name));
	row = find_row(days.series, FIRST, DIFF_KIND_METHOD_TOTAL, name);
	assert_non_null(row);
	assert_true(exp(row->value) > 0.999);
	days_sim_release(&days);
}

static void names_without_room_have_no_rows(void **state)
{
	struct diff_catalog *catalog = diff_catalog__new();
	struct diff_side *side = diff_side__new(1);
	struct series *series = series__new();
	char stack[SERIES_NAME_MAX + 64] = "java;a.b.c_[j];";
	const struct diff_block block = { .length_ns = 900000000000ull,
					  .frequency_hz = 49,
					  .samples = 10 };
	const struct daily_date date = { .number = 5, .until_unix_ns = 1 };
	struct daily_measure day = { .date = &date, .side = side, .catalog = catalog };
	const struct series_day *put;
	char *label = calloc(1, 3000);

	(void)state;
	memset(stack + strlen(stack), 'x', SERIES_NAME_MAX + 1);
	memset(label, 'l', 2999);
	assert_int_equal(diff_catalog__add(catalog, side, stack, strlen(stack), 10), 0);
	assert_int_equal(diff_side__close_block(side, &block), 0);
	day.image = label;
	assert_int_equal(daily_series_put(series, &day), 0);
	put = series__find(series, 5);
	assert_non_null(put);
	assert_int_equal(strlen(put->image), SERIES_LABEL_MAX);
	assert_string_equal(put->jvm_version, "");
	assert_non_null(find_row(series, 5, DIFF_KIND_METHOD_TOTAL, "a.b.c"));
	assert_int_equal(put->row_cnt, 3); /* the method, its class, its package */
	free(label);
	diff_side__free(side);
	diff_catalog__free(catalog);
	series__free(series);
}

static void a_day_without_samples_is_a_day_without_rows(void **state)
{
	struct diff_catalog *catalog = diff_catalog__new();
	struct diff_side *side = diff_side__new(1);
	struct series *series = series__new();
	const struct daily_date date = { .number = 5, .until_unix_ns = 1 };
	const struct daily_measure day = { .date = &date, .side = side, .catalog = catalog };

	(void)state;
	assert_int_equal(daily_series_put(series, &day), 0);
	assert_non_null(series__find(series, 5));
	assert_int_equal(series__find(series, 5)->row_cnt, 0);
	diff_side__free(side);
	diff_catalog__free(catalog);
	series__free(series);
}

/* Blocks of two methods: of the one that has all samples of a block, which goes by the block's rate. */
static struct diff_side *side_of_rates(struct diff_catalog *catalog, const uint32_t *rates,
				       size_t cnt)
{
	struct diff_side *side = diff_side__new(1);

	for (size_t i = 0; i < cnt; i++) {
		const char *stack = rates[i] == 10 ? "java;a.B.often_[j]" : "java;a.B.seldom_[j]";
		const struct diff_block block = { .start_unix_ns = i * 900000000000ull,
						  .length_ns = 900000000000ull,
						  .time_of_day_s = (uint32_t)i * 900,
						  .frequency_hz = rates[i],
						  .samples = 200 };

		assert_int_equal(diff_catalog__add(catalog, side, stack, strlen(stack), 200), 0);
		assert_int_equal(diff_side__close_block(side, &block), 0);
	}
	return side;
}

/* Passes over waiting threads become fewer when there are more of them, and more again. */
static void a_day_of_several_rates_is_kept_and_weighs_them(void **state)
{
	static const struct {
		uint32_t rates[9];
		uint32_t frequency_hz; /* 0 = the day is no good */
		double often;	       /* its share of the time */
	} rows[] = {
		{ { 10, 10, 10, 10, 10, 10, 10, 10, 10 }, 10, 1 },
		{ { 5, 5, 5, 10, 10, 10, 10, 10, 10 }, 10, 0.5 },
		{ { 10, 10, 5, 5, 5, 5, 5, 10, 5 }, 5, 0.2 },
		{ { 10, 10, 10, 10, 10, 10, 10, 10, 0 }, 0, 8. / 9 },
		{ { 0, 10, 10, 10, 10, 10, 10, 10, 10 }, 0, 8. / 9 },
	};
	const struct daily_date date = { .number = 5, .until_unix_ns = 86400000000000ull };
	const struct diff_options options = diff_options_default();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct diff_catalog *catalog = diff_catalog__new();
		struct diff_side *side =
			side_of_rates(catalog, rows[i].rates, ARRAY_SIZE(rows[i].rates));
		struct series *series = series__new();
		const struct daily_measure day = { .date = &date,
						   .side = side,
						   .catalog = catalog };
		__cleanup_free const struct series_day **days = NULL;
		const struct series_row *row;
		size_t cnt = 0;

		assert_int_equal(daily_series_put(series, &day), 0);
		assert_int_equal(series__find(series, 5)->frequency_hz, rows[i].frequency_hz);
		row = find_row(series, 5, DIFF_KIND_METHOD_SELF, "a.B.often");
		assert_non_null(row);
		assert_true(fabs(exp(row->value) - rows[i].often) < 1e-6);
		assert_int_equal(daily_series_good(series, 5, 5, 1, &options, &days, &cnt), 0);
		assert_int_equal(cnt, rows[i].frequency_hz ? 1 : 0);
		series__free(series);
		diff_side__free(side);
		diff_catalog__free(catalog);
	}
}

static void alarms_wait_for_history_and_then_name_the_method(void **state)
{
	const struct sim_effect early = { LARGE + 1, 1.3, 0, SIM_BLOCKS };
	const struct sim_effect effect = { LARGE, 1.3, 0, SIM_BLOCKS };
	struct daily_outcome outcome;
	struct days_sim days;
	char name[64];

	(void)state;
	days_sim_name(LARGE, name, sizeof(name));
	start(&days, 2);
	assert_int_equal(days_sim_next(&days, &early, 1), 0);
	judge(&days, &outcome);
	assert_int_equal(outcome.state, DAILY_STATE_LEARNING);
	assert_int_equal(outcome.alarm_cnt, 0);
	assert_non_null(outcome.why);
	daily_outcome_release(&outcome);

	for (int i = 0; i < 5; i++)
		assert_int_equal(days_sim_next(&days, NULL, 0), 0);
	judge(&days, &outcome);
	assert_int_equal(outcome.state, DAILY_STATE_QUIET);
	assert_true(outcome.history_pairs >= 3);
	assert_true(outcome.detectable > 0 && outcome.detectable < 0.5);
	daily_outcome_release(&outcome);

	assert_int_equal(days_sim_next(&days, &effect, 1), 0);
	judge(&days, &outcome);
	assert_int_equal(outcome.state, DAILY_STATE_REGRESSION);
	assert_true(outcome.alarm_cnt >= 1);
	assert_string_equal(outcome.alarms[0].method, name);
	assert_true(fabs(outcome.alarms[0].change - 0.3) < 0.1);
	assert_true(outcome.alarms[0].low < 0.3 && outcome.alarms[0].high > 0.3);
	daily_outcome_release(&outcome);
	days_sim_release(&days);
}

/* What makes room for another method has a smaller share than before, and needs more all the same. */
static void shares_of_an_alarm_are_those_of_its_change(void **state)
{
	struct daily_outcome outcome;
	struct days_sim days;
	struct sim_effect effects[2] = { { LARGE, 1.3, 0, SIM_BLOCKS } };
	const struct daily_alarm *alarm = NULL;
	char name[64];

	(void)state;
	days_sim_name(LARGE, name, sizeof(name));
	start(&days, 8);
	effects[1] = (struct sim_effect){ sim_method_of_share(&days.sim, 0.2), 4, 0, SIM_BLOCKS };
	assert_int_equal(days_sim_next(&days, effects, 2), 0);
	judge(&days, &outcome);
	for (size_t i = 0; i < outcome.alarm_cnt; i++)
		if (outcome.alarms[i].kind == DAILY_ALARM_REGRESSION &&
		    strcmp(outcome.alarms[i].method, name) == 0)
			alarm = &outcome.alarms[i];
	assert_non_null(alarm);
	assert_true(fabs(alarm->change - 0.3) < 0.1);
	assert_true(fabs(alarm->share_after / alarm->share_before - 1 - alarm->change) < 0.01);
	daily_outcome_release(&outcome);
	days_sim_release(&days);
}

/* Numbers of items follow from the order in which stacks were seen; names do not. */
static void history_is_found_by_names(void **state)
{
	struct diff_options options = diff_options_default();
	struct diff_catalog *other = diff_catalog__new();
	struct diff_side *side = diff_side__new(1);
	struct daily_history history;
	struct days_sim days;

	(void)state;
	start(&days, 4);
	for (uint32_t m = SIM_METHODS; m-- > 0;) {
		char stack[DAYS_SIM_STACK];
		size_t len = days_sim_stack(m, stack);

		if (m % 2 == 0)
			assert_int_equal(diff_catalog__add(other, side, stack, len, 1), 0);
	}
	assert_int_equal(daily_series_history(days.series, other, FIRST + 3, &options, &history),
			 0);
	assert_int_equal(history.history.set_cnt, 3);
	assert_int_equal(history.history.kind, DIFF_HISTORY_DAYS);
	for (size_t i = 0; i < history.history.set_cnt; i++) {
		const struct diff_history_set *set = &history.history.sets[i];

		assert_true(set->row_cnt > 50);
		for (size_t r = 0; r < set->row_cnt; r++) {
			struct diff_catalog_name name =
				diff_catalog__name(other, set->rows[r].item);
			uint32_t cnt;
			enum diff_kind kind =
				diff_catalog__items(other, &cnt)[set->rows[r].item].kind;
			const struct series_row *row =
				find_row(days.series, FIRST + (uint32_t)i, kind, name.text);

			assert_true(r == 0 || set->rows[r].item > set->rows[r - 1].item);
			assert_non_null(row);
			assert_true(row->value == set->rows[r].value);
			assert_true(row->variance == set->rows[r].variance);
		}
	}
	daily_history_release(&history);
	diff_side__free(side);
	diff_catalog__free(other);
	days_sim_release(&days);
}

/* ---- synthetic series ---- */

struct shape {
	uint32_t days;
	double noise;
	uint32_t first; /* of the planted method's slope; days = none */
	uint32_t last;
	double height; /* of its log share */
	bool is_mix;   /* the others make room, as shares do */
};

static struct sim dice;

static double level(const struct shape *shape, uint32_t day)
{
	return shape->height * (day < shape->first ? 0 :
				day >= shape->last ? 1 :
						     (day - shape->first + 1.0) /
							     (shape->last - shape->first + 1.0));
}

static void put_synthetic(struct series *series, const struct shape *shape, uint32_t number,
			  const struct series_day *figures)
{
	struct series_row rows[METHODS];
	struct series_day day = *figures;
	double planted = exp(level(shape, number));
	double sum = 1 + (planted - 1) * 0.1; /* it has 10 % */

	for (uint32_t m = 0; m < METHODS; m++) {
		double share = m == PLANTED ? 0.1 : 0.9 / (METHODS - 1);
		char name[64];
		double value = log(share) + shape->noise * sim_normal(&dice);

		days_sim_name(m, name, sizeof(name));
		assert_int_equal(series__item_id(series, DIFF_KIND_METHOD_SELF, FRAME_KIND_JIT,
						 name, strlen(name), &rows[m].item),
				 0);
		value += m == PLANTED ? log(planted) : 0;
		value -= shape->is_mix ? log(sum) : 0;
		rows[m].value = (float)value;
		rows[m].variance = 1e-6f;
	}
	day.day = FIRST + number;
	day.rows = rows;
	day.row_cnt = METHODS;
	assert_int_equal(series__put(series, &day), 0);
}

static const struct series_day usual = { .length_s = 86400,
					 .recorded_s = 86400,
					 .samples = 1000000,
					 .frames = 30000000,
					 .unknown_frames = 300000,
					 .blocks = 96,
					 .frequency_hz = 99,
					 .jvm_version = "",
					 .image = "",
					 .is_judged = true };

static struct series *make_series_of(const struct shape *shape, const struct series_day *figures)
{
	struct series *series = series__new();

	assert_non_null(series);
	for (uint32_t i = 0; i < shape->days; i++)
		put_synthetic(series, shape, i, figures);
	return series;
}

static struct series *make_series(const struct shape *shape)
{
	return make_series_of(shape, &usual);
}

static size_t find_changes(const struct series *series, uint32_t last,
			   struct daily_change out[METHODS])
{
	const struct diff_options options = diff_options_default();
	struct daily_changes changes = { 0 };
	size_t sure = 0;

	assert_int_equal(daily_changes_find(series, FIRST + last, &options, &changes), 0);
	for (size_t i = 0; i < changes.cnt && sure < METHODS; i++)
		if (changes.items[i].is_sure)
			out[sure++] = changes.items[i];
	free(changes.items);
	return sure;
}

static void changes_are_dated_and_the_mix_is_none(void **state)
{
	static const struct {
		struct shape shape;
		enum diff_change_shape wanted;
	} rows[] = {
		{ { 30, 0.005, 20, 20, 0.15, true }, DIFF_CHANGE_STEP },
		{ { 30, 0.005, 12, 22, 0.10, true }, DIFF_CHANGE_CREEP },
		{ { 40, 0.005, 20, 20, 0.70, true }, DIFF_CHANGE_STEP },
		{ { 40, 0.005, 20, 20, -0.70, true }, DIFF_CHANGE_STEP },
		{ { 30, 0.005, 30, 30, 0, true }, DIFF_CHANGE_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct shape *shape = &rows[i].shape;
		struct series *series = make_series(shape);
		struct daily_change changes[METHODS];
		size_t cnt = find_changes(series, shape->days - 1, changes);

		if (rows[i].wanted == DIFF_CHANGE_NONE) {
			assert_int_equal(cnt, 0);
			series__free(series);
			continue;
		}
		assert_int_equal(cnt, 1);
		assert_int_equal(changes[0].item, PLANTED);
		assert_int_equal(changes[0].change.shape, rows[i].wanted);
		assert_in_range(changes[0].change.first_day, FIRST + shape->first - 2,
				FIRST + shape->first + 2);
		assert_in_range(changes[0].change.last_day, FIRST + shape->last - 2,
				FIRST + shape->last + 2);
		assert_true(fabs(changes[0].change.after - changes[0].change.before -
				 shape->height) < 0.02);
		assert_true(changes[0].share_before < 0.12 && changes[0].share_before > 0.08);
		series__free(series);
	}
}

static void an_alarm_comes_once_and_only_for_more(void **state)
{
	static const struct shape up = { DAYS_MAX, 0.005, 20, 20, 0.15, true };
	static const struct shape down = { 30, 0.005, 20, 20, -0.15, true };
	struct daily_change changes[METHODS];
	struct series *series = make_series(&up);
	struct series_day untold = usual;
	int alarms = 0;

	(void)state;
	untold.is_judged = false;
	for (uint32_t last = 15; last < DAYS_MAX; last++) {
		size_t cnt = find_changes(series, last, changes);

		assert_true(last >= 20 || cnt == 0);
		for (size_t i = 0; i < cnt; i++)
			alarms += daily_change_is_alarm(&changes[i]);
	}
	assert_int_equal(alarms, 1);
	assert_int_equal(find_changes(series, DAYS_MAX - 1, changes), 1);
	assert_false(changes[0].is_new);
	series__free(series);
	/* Who never ran the job was never told. */
	series = make_series_of(&up, &untold);
	assert_int_equal(find_changes(series, DAYS_MAX - 1, changes), 1);
	assert_true(daily_change_is_alarm(&changes[0]));
	series__free(series);
	series = make_series(&down);
	for (uint32_t last = 20; last < down.days; last++) {
		size_t cnt = find_changes(series, last, changes);

		for (size_t i = 0; i < cnt; i++)
			assert_false(daily_change_is_alarm(&changes[i]));
	}
	series__free(series);
}

/* ---- who is told depends on how many others are ---- */

#define CROWD_MAX  220u
#define CROWD_DAYS 60u

/* The method that is looked at needs more from day 20 on, a little; the others help to decide what is sure. */
struct crowd {
	double height;
	uint32_t cnt;	    /* methods from the first day on */
	uint32_t later_cnt; /* methods that come on `later_first`, besides */
	uint32_t later_first;
	uint32_t changed_cnt; /* methods of `cnt` that surely need more from `changed_first` on */
	uint32_t changed_first;
};

static void put_crowd(struct series *series, const struct crowd *crowd, uint32_t number)
{
	struct series_row rows[CROWD_MAX];
	struct series_day day = usual;

	day.day = FIRST + number;
	day.rows = rows;
	day.is_judged = false;
	for (uint32_t m = 0; m < crowd->cnt + crowd->later_cnt; m++) {
		double value = log(0.9 / CROWD_MAX) + 0.005 * sim_normal(&dice);
		char name[64];

		if (m >= crowd->cnt && number < crowd->later_first)
			continue;
		if (m == 0)
			value += log(0.1 * CROWD_MAX / 0.9) + (number >= 20 ? crowd->height : 0);
		else if (m <= crowd->changed_cnt && number >= crowd->changed_first)
			value += 0.5;
		days_sim_name(m, name, sizeof(name));
		assert_int_equal(series__item_id(series, DIFF_KIND_METHOD_SELF, FRAME_KIND_JIT,
						 name, strlen(name), &rows[day.row_cnt].item),
				 0);
		rows[day.row_cnt].value = (float)value;
		rows[day.row_cnt++].variance = 1e-6f;
	}
	assert_int_equal(series__put(series, &day), 0);
}

/* The job, day after day: on how many days is there an alarm of the method? */
static int times_told(const struct crowd *crowd)
{
	const struct diff_options options = diff_options_default();
	struct series *series = series__new();
	int times = 0;

	assert_non_null(series);
	for (uint32_t d = 0; d < CROWD_DAYS; d++) {
		struct daily_changes changes = { 0 };

		put_crowd(series, crowd, d);
		assert_int_equal(daily_changes_find(series, FIRST + d, &options, &changes), 0);
		for (size_t i = 0; i < changes.cnt; i++)
			times += changes.items[i].item == 0 &&
				 daily_change_is_alarm(&changes.items[i]);
		assert_int_equal(daily_series_set_judged(series, FIRST + d, changes.p_max), 0);
		free(changes.items);
	}
	series__free(series);
	return times;
}

/*
 * When more methods change less is enough for an alarm, and when more are looked at more is needed: a change is
 * reported by what was enough on its day. The earlier days are worked out again with today's mix, so a change that
 * was only just enough may come twice.
 */
static void it_comes_once_whatever_was_enough_for_an_alarm_on_its_days(void **state)
{
	static const struct crowd rows[] = {
		{ .height = 0.032, .cnt = 60, .changed_cnt = 12, .changed_first = 22 },
		{ .height = 0.032, .cnt = 60, .changed_cnt = 12, .changed_first = 24 },
		{ .height = 0.032, .cnt = 6, .later_cnt = 200, .later_first = 13 },
		{ .height = 0.032, .cnt = 6, .later_cnt = 200, .later_first = 17 },
	};
	int again = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (uint64_t seed = 1; seed <= 5; seed++) {
			const struct sim_config config = { .seed = seed };
			int times;

			sim_init(&dice, &config);
			times = times_told(&rows[i]);
			if (times < 1)
				fail_msg("row %zu, seed %d: never told", i, (int)seed);
			again += times - 1;
		}
	}
	assert_in_range(again, 0, 1);
}

static void days_that_are_no_good_are_left_out(void **state)
{
	static const struct shape flat = { 20, 0.005, 20, 20, 0, true };
	static const struct {
		const char *what;
		struct series_day figures;
		bool is_good;
	} rows[] = {
		{ "usual",
		  { .samples = 1000000,
		    .frames = 30000000,
		    .unknown_frames = 300000,
		    .blocks = 96,
		    .frequency_hz = 99 },
		  true },
		{ "few samples",
		  { .samples = 900,
		    .frames = 30000,
		    .unknown_frames = 300,
		    .blocks = 96,
		    .frequency_hz = 99 },
		  false },
		{ "few blocks",
		  { .samples = 1000000,
		    .frames = 30000000,
		    .unknown_frames = 300000,
		    .blocks = 7,
		    .frequency_hz = 99 },
		  false },
		{ "half a day",
		  { .samples = 1000000,
		    .frames = 30000000,
		    .unknown_frames = 300000,
		    .blocks = 40,
		    .frequency_hz = 99 },
		  false },
		{ "lost",
		  { .samples = 1000000,
		    .lost_samples = 60000,
		    .frames = 30000000,
		    .unknown_frames = 300000,
		    .blocks = 96,
		    .frequency_hz = 99 },
		  false },
		{ "unknown",
		  { .samples = 1000000,
		    .frames = 30000000,
		    .unknown_frames = 900000,
		    .blocks = 96,
		    .frequency_hz = 99 },
		  false },
		{ "truncated",
		  { .samples = 1000000,
		    .frames = 30000000,
		    .unknown_frames = 300000,
		    .truncated_samples = 20000,
		    .blocks = 96,
		    .frequency_hz = 99 },
		  false },
		{ "frequency",
		  { .samples = 1000000,
		    .frames = 30000000,
		    .unknown_frames = 300000,
		    .blocks = 96 },
		  false },
	};
	const struct diff_options options = diff_options_default();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct series *series = make_series(&flat);
		__cleanup_free const struct series_day **days = NULL;
		struct series_day figures = rows[i].figures;
		size_t cnt = 0;

		figures.jvm_version = "";
		figures.image = "";
		put_synthetic(series, &flat, 10, &figures);
		assert_int_equal(daily_series_good(series, FIRST, FIRST + 19, 100, &options, &days,
						   &cnt),
				 0);
		assert_int_equal(cnt, rows[i].is_good ? 20 : 19);
		free((void *)take_ptr(days));
		assert_int_equal(daily_series_good(series, FIRST + 5, FIRST + 14, 4, &options,
						   &days, &cnt),
				 0);
		assert_int_equal(cnt, 4);
		assert_int_equal(days[0]->day, FIRST + 11);
		assert_int_equal(days[3]->day, FIRST + 14);
		series__free(series);
	}
}

static void a_series_without_a_good_last_day_says_nothing(void **state)
{
	static const struct shape shape = { 30, 0.005, 15, 15, 0.5, true };
	const struct series_day bad = {
		.blocks = 96, .samples = 10, .jvm_version = "", .image = ""
	};
	struct daily_change changes[METHODS];
	struct series *series = make_series(&shape);
	struct series *empty = series__new();

	(void)state;
	assert_int_equal(find_changes(series, 29, changes), 1);
	put_synthetic(series, &shape, 29, &bad);
	assert_int_equal(find_changes(series, 29, changes), 0);
	assert_int_equal(find_changes(series, 12, changes), 0);
	assert_int_equal(find_changes(empty, 12, changes), 0);
	series__free(empty);
	series__free(series);
}

static int set_up(void **state)
{
	const struct sim_config config = { .seed = 31 };

	(void)state;
	sim_init(&dice, &config);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_day_becomes_rows_of_what_matters),
		cmocka_unit_test(names_without_room_have_no_rows),
		cmocka_unit_test(a_day_without_samples_is_a_day_without_rows),
		cmocka_unit_test(a_day_of_several_rates_is_kept_and_weighs_them),
		cmocka_unit_test(alarms_wait_for_history_and_then_name_the_method),
		cmocka_unit_test(shares_of_an_alarm_are_those_of_its_change),
		cmocka_unit_test(history_is_found_by_names),
		cmocka_unit_test(changes_are_dated_and_the_mix_is_none),
		cmocka_unit_test(an_alarm_comes_once_and_only_for_more),
		cmocka_unit_test(it_comes_once_whatever_was_enough_for_an_alarm_on_its_days),
		cmocka_unit_test(days_that_are_no_good_are_left_out),
		cmocka_unit_test(a_series_without_a_good_last_day_says_nothing),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
