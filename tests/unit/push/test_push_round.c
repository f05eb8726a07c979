// SPDX-License-Identifier: Apache-2.0
/* A jbpfd stores, a push sends, and the clock of both steps meanwhile: all that is stored arrives, and once. */
#include <errno.h>

#include "tests/unit/store_testing.h"
#include "user/push/push_cursor.h"
#include "user/push/push_round.h"
#include "user/util/cleanup.h"

#define S	    CLOCK_NS_PER_S
#define BOOT_NS	    (1000000 * S) /* at TEST_NS */
#define BASE_S	    (TEST_HOUR_S - 3600)
#define MINUTES	    (5 * 60)
#define CURSOR_NAME "cursor"

struct scene {
	struct test_store store;
	struct store_writer *writer;
	struct push_round round;
	struct push_server_ops ops;
	char cursor_path[256];
	uint64_t at_s;	 /* true time since TEST_NS */
	int64_t ahead_s; /* the clock */
	uint64_t suspended_s;
	size_t largest_sum; /* streams */
	struct remote_failure failure;
	size_t cut_cnt;				/* streams of windows that were cut */
	uint64_t stored[MINUTES], got[MINUTES]; /* samples, by minute from BASE_S on */
};

static uint64_t unix_of(const struct scene *scene, uint64_t at_s)
{
	return TEST_HOUR_S + at_s + (uint64_t)scene->ahead_s;
}

static int take_sum(void *state, const struct push_sum *sum, struct push_send_stats *stats)
{
	struct scene *scene = state;

	for (size_t i = 0; i < push_sum__count(sum); i++) {
		const struct push_stream *stream = push_sum__get(sum, i);
		uint64_t *got = &scene->got[(stream->minute_unix_s - BASE_S) / 60];

		assert_in_range(stream->minute_unix_s, BASE_S, BASE_S + 60 * MINUTES - 1);
		scene->cut_cnt += store_window_is_cut(&stream->window);
		if (!stream->window.pid)
			continue;
		*got = stream->window.counts.samples + (scene->ops.adds_up ? *got : 0);
	}
	if (push_sum__count(sum) > scene->largest_sum)
		scene->largest_sum = push_sum__count(sum);
	stats->window_rows += push_sum__count(sum);
	return 0;
}

static void free_nothing(void *state)
{
	(void)state;
}

static void start_push(struct scene *scene)
{
	struct push_place *place = &scene->round.place;

	scene->round = (struct push_round){ .store = scene->store.dir,
					    .cursor_path = scene->cursor_path,
					    .ops = &scene->ops,
					    .server = scene };
	assert_int_equal(push_cursor_read(scene->cursor_path, &place->saved_ns), 0);
	place->cursor_ns = place->saved_ns;
}

static void scene_make(struct scene *scene, bool adds_up)
{
	memset(scene, 0, sizeof(*scene));
	scene->ops = (struct push_server_ops){ .send = take_sum,
					       .free = free_nothing,
					       .adds_up = adds_up };
	test_store_make(&scene->store);
	(void)test_path(&scene->store, CURSOR_NAME, scene->cursor_path);
	scene->writer = test_writer(&scene->store);
	start_push(scene);
}

static void scene_remove(struct scene *scene)
{
	push_round_release(&scene->round);
	store_writer__free(scene->writer);
	test_store_remove(&scene->store);
}

/* A window that ends now, as jbpfd labels it: by the clock at its end. */
static void store_window(struct scene *scene, uint64_t begin_s, uint32_t pid)
{
	static const char text[] = "java;a 1\n";
	const struct window window = {
		.start_unix_ns = unix_of(scene, begin_s) * S,
		.start_boot_ns = BOOT_NS + begin_s * S,
		.duration_ns = (scene->at_s - begin_s) * S,
		.pid = pid,
		.counts.samples = 1,
	};

	assert_int_equal(store_writer__add(scene->writer, &window, pid ? text : "",
					   pid ? strlen(text) : 0),
			 0);
	test_commit(scene->writer);
	if (pid)
		scene->stored[(unix_of(scene, begin_s) - BASE_S) / 60]++;
}

static int try_round(struct scene *scene)
{
	const struct push_clock clock = {
		.unix_ns = unix_of(scene, scene->at_s) * S,
		.boot_ns = BOOT_NS + scene->at_s * S,
		.suspended_ns = scene->suspended_s * S,
	};

	return push_round(&scene->round, &clock);
}

static void run_round(struct scene *scene)
{
	assert_int_equal(try_round(scene), 0);
}

/* Windows of ten seconds, and a round a minute. */
static void run_until(struct scene *scene, uint64_t until_s, uint32_t pid)
{
	while (scene->at_s < until_s) {
		scene->at_s += 10;
		store_window(scene, scene->at_s - 10, pid);
		if (scene->at_s % 60 == 30)
			run_round(scene);
	}
}

/* jbpfd has stopped: an hour later nothing is to come. */
static void end_of_it(struct scene *scene)
{
	scene->at_s += 3600;
	run_round(scene);
}

/* Of minutes that were stored, how many samples the server lacks; never does it have too many. */
static uint64_t lacking(const struct scene *scene)
{
	uint64_t lacking = 0;

	for (size_t i = 0; i < MINUTES; i++) {
		if (scene->got[i] > scene->stored[i])
			fail_msg("minute %zu: %u of %u", i, (unsigned int)scene->got[i],
				 (unsigned int)scene->stored[i]);
		lacking += scene->stored[i] - scene->got[i];
	}
	return lacking;
}

static const bool kinds[] = { false, true }; /* adds_up */

static void clock_ahead_for_a_round_skips_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct scene scene;

		scene_make(&scene, kinds[i]);
		run_until(&scene, 700, 1000);
		scene.ahead_s = 3600;
		run_round(&scene);
		assert_true(push_round_sent_until(&scene.round) <= (TEST_HOUR_S + 700) * S);
		scene.ahead_s = 0;
		run_until(&scene, 1500, 1000);
		end_of_it(&scene);
		assert_int_equal(lacking(&scene), 0);
		scene_remove(&scene);
	}
}

/* jbpfd stores and push sends by the clock that is ahead; then it is set right, and an hour passes. */
static void clock_that_is_set_back_loses_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct scene scene;

		scene_make(&scene, kinds[i]);
		run_until(&scene, 600, 1000);
		scene.ahead_s = 3600;
		run_until(&scene, 1200, 1000);
		scene.ahead_s = 0;
		run_until(&scene, 5400, 1000);
		end_of_it(&scene);
		/* Who adds up lacks what was recorded before the round that saw it, and no more. */
		assert_in_range(lacking(&scene), 0, kinds[i] ? 15 : 0);
		assert_true(push_round_sent_until(&scene.round) >= (TEST_HOUR_S + 5400) * S);
		scene_remove(&scene);
	}
}

/* The file says so when push begins, as after a fault of older ones. */
static void cursor_ahead_of_the_clock_begins_again(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct scene scene;

		scene_make(&scene, kinds[i]);
		run_until(&scene, 300, 1000);
		assert_int_equal(push_cursor_write(scene.cursor_path, (TEST_HOUR_S + 7200) * S), 0);
		start_push(&scene);
		run_until(&scene, 600, 1000);
		assert_true(push_round_sent_until(&scene.round) < (TEST_HOUR_S + 600) * S);
		start_push(&scene);
		run_until(&scene, 1200, 1000);
		end_of_it(&scene);
		/* Half a minute before each of the two rounds that saw it, and what was before the first. */
		assert_in_range(lacking(&scene), 0, kinds[i] ? 50 : 0);
		scene_remove(&scene);
	}
}

/* A clock without a battery, until the network is there. */
static void clock_behind_for_a_while_sends_nothing_twice(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct scene scene;

		scene_make(&scene, kinds[i]);
		run_until(&scene, 1200, 1000);
		start_push(&scene);
		scene.ahead_s = -900;
		run_until(&scene, 1500, 1000);
		scene.ahead_s = 0;
		run_until(&scene, 2400, 1000);
		end_of_it(&scene);
		/* What came before the first round, and what the wrong clock labelled and was not complete yet. */
		assert_in_range(lacking(&scene), 0, kinds[i] ? 15 : 0);
		scene_remove(&scene);
	}
}

static void window_that_a_suspend_interrupted_is_sent(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct scene scene;

		scene_make(&scene, kinds[i]);
		run_until(&scene, 620, 1000);
		scene.at_s += 1800;
		scene.suspended_s = 1795;
		run_round(&scene);
		store_window(&scene, 620, 1000);
		run_until(&scene, 3000, 1000);
		end_of_it(&scene);
		assert_int_equal(lacking(&scene), 0);
		scene_remove(&scene);
	}
}

static void windows_of_ten_minutes_are_sent(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct scene scene;

		scene_make(&scene, kinds[i]);
		for (uint64_t at_s = 0; at_s < 6000; at_s += 60) {
			scene.at_s = at_s + 40;
			run_round(&scene);
			/* Named only now. */
			scene.at_s = at_s;
			if (at_s && at_s % 600 == 0)
				store_window(&scene, at_s - 600, 1000);
		}
		end_of_it(&scene);
		assert_int_equal(lacking(&scene), 0);
		scene_remove(&scene);
	}
}

/* Host records alone move it; a jbpfd that has stopped does not look like a push that is behind. */
static void quiet_host_and_idle_store_are_not_behind(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct scene scene;
		uint64_t sent_rows;

		scene_make(&scene, kinds[i]);
		run_until(&scene, 620, 1000);
		run_until(&scene, 1800, 0);
		assert_true(push_round_sent_until(&scene.round) >= (TEST_HOUR_S + 1620) * S);
		assert_int_equal(lacking(&scene), 0);
		end_of_it(&scene);
		sent_rows = scene.round.sent.window_rows;
		end_of_it(&scene);
		assert_int_equal(scene.round.sent.window_rows, sent_rows);
		assert_true(push_round_sent_until(&scene.round) >=
			    (TEST_HOUR_S + scene.at_s - 900) * S);
		/* It is there again, in the minute that seemed complete as well. */
		scene.at_s = 1800;
		store_window(&scene, 1790, 1000);
		scene.at_s = 9000;
		run_until(&scene, 9600, 1000);
		end_of_it(&scene);
		assert_in_range(lacking(&scene), 0, kinds[i] ? 1 : 0);
		scene_remove(&scene);
	}
}

/* Each window has a stack of its own. */
static void store_long_stacks(struct scene *scene, uint64_t until_s)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	for (; scene->at_s < until_s; scene->at_s += 10) {
		const struct window window = {
			.start_unix_ns = unix_of(scene, scene->at_s) * S,
			.start_boot_ns = BOOT_NS + scene->at_s * S,
			.duration_ns = 10 * S,
			.pid = 1000,
			.counts.samples = 1,
		};

		strbuf_clear(&text);
		strbuf_printf(&text, "java;%0*u 1\n", 3000, (unsigned int)scene->at_s);
		assert_int_equal(store_writer__add(scene->writer, &window, text.data, text.len), 0);
		scene->stored[(unix_of(scene, scene->at_s) - BASE_S) / 60]++;
	}
	test_commit(scene->writer);
}

static void minutes_that_are_too_large_together_are_sent_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct scene scene;

		scene_make(&scene, kinds[i]);
		store_long_stacks(&scene, 1800);
		/* Room for three minutes. */
		scene.round.max_bytes = 3 * 6 * 3000 + 30000;
		end_of_it(&scene);
		assert_int_equal(lacking(&scene), 0);
		assert_int_equal(scene.round.summed.over_limit_samples, 0);
		assert_in_range(scene.largest_sum, 1, kinds[i] ? 1 : 4);
		scene_remove(&scene);
	}
}

static void minute_that_is_too_large_by_itself_is_sent_with_all_its_samples(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct scene scene;

		scene_make(&scene, kinds[i]);
		store_long_stacks(&scene, 1800);
		scene.round.max_bytes = 2 * 3000;
		end_of_it(&scene);
		assert_int_equal(lacking(&scene), 0);
		assert_in_range(scene.round.summed.over_limit_samples, 1, 179);
		scene_remove(&scene);
	}
}

/* What is there cannot be known: it is no file of the store. */
static void make_unreadable(const struct scene *scene, const char *name)
{
	char path[256];

	assert_int_equal(symlink("nowhere", test_path(&scene->store, name, path)), 0);
}

static void unreadable_place_is_given_up_after_some_tries_and_told(void **state)
{
	static const char *const names[] = { TEST_HOUR "-7.zst", "v1/cpu/2026/11/20.zst" };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(kinds); i++) {
		struct scene scene;

		scene_make(&scene, kinds[i % 2]);
		scene.at_s = 10;
		store_window(&scene, 0, 1000);
		make_unreadable(&scene, names[i / 2]);
		scene.at_s = 600;
		store_window(&scene, 590, 1000);
		scene.at_s = 700;
		for (int try = 0; try < PUSH_UNREADABLE_TRIES; try++)
			assert_int_equal(try_round(&scene), -EIO);
		assert_int_equal(scene.round.unreadable.cnt, 0);
		run_round(&scene);
		/* The other file is before all that is sent. */
		assert_int_equal(scene.round.unreadable.cnt, i / 2 ? 0 : 1);
		run_until(&scene, 1200, 1000);
		end_of_it(&scene);
		assert_int_equal(lacking(&scene), 0);
		assert_int_equal(scene.round.unreadable.cnt, i / 2 ? 0 : 1);
		scene_remove(&scene);
	}
}

static const struct remote_failure *fail_as_told(const void *state)
{
	return &((const struct scene *)state)->failure;
}

static int refuse_sum(void *state, const struct push_sum *sum, struct push_send_stats *stats)
{
	(void)state;
	(void)sum;
	(void)stats;
	return -EIO;
}

/* What the server said before is no reason to end. */
static void unreadable_place_is_not_taken_for_what_the_server_said(void **state)
{
	struct scene scene;
	int err;

	(void)state;
	scene_make(&scene, false);
	scene.ops.failure = fail_as_told;
	scene.ops.send = refuse_sum;
	scene.failure.fault = REMOTE_FAULT_PERSON;
	scene.at_s = 10;
	store_window(&scene, 0, 1000);
	scene.at_s = 3600;
	err = try_round(&scene);
	assert_int_equal(err, -EIO);
	assert_false(push_round_is_passing(&scene.round, err));
	scene.failure.fault = REMOTE_FAULT_PASSING;
	assert_true(push_round_is_passing(&scene.round, err));
	scene.failure.fault = REMOTE_FAULT_PERSON;
	make_unreadable(&scene, TEST_HOUR "-7.zst");
	err = try_round(&scene);
	assert_int_equal(err, -EIO);
	assert_true(push_round_is_passing(&scene.round, err));
	scene_remove(&scene);
}

static void place_that_can_be_read_again_in_time_is_sent(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct scene scene;
		char path[256], away[256];

		scene_make(&scene, kinds[i]);
		run_until(&scene, 20, 1000);
		test_path(&scene.store, TEST_FILE, path);
		test_path(&scene.store, TEST_HOUR ".away", away);
		assert_int_equal(rename(path, away), 0);
		make_unreadable(&scene, TEST_FILE);
		scene.at_s = 4000;
		store_window(&scene, 3990, 1000);
		scene.at_s = 4200;
		for (int try = 1; try < PUSH_UNREADABLE_TRIES; try++)
			assert_int_equal(try_round(&scene), -EIO);
		assert_int_equal(rename(away, path), 0);
		end_of_it(&scene);
		assert_int_equal(lacking(&scene), 0);
		assert_int_equal(scene.round.unreadable.cnt, 0);
		scene_remove(&scene);
	}
}

/* As compaction leaves it when the store is nearly full: for a server that is another stream. */
static void store_cut_window(struct scene *scene, uint64_t begin_s)
{
	static const char text[] = "java;a 1\n";
	const struct window window = {
		.start_unix_ns = unix_of(scene, begin_s) * S,
		.start_boot_ns = BOOT_NS + begin_s * S,
		.duration_ns = 10 * S,
		.pid = 1000,
		.counts.samples = 1,
		.labels = { [WINDOW_LABEL_OVER_BUDGET] = STORE_CUT_LABEL },
	};

	assert_int_equal(store_writer__add(scene->writer, &window, text, strlen(text)), 0);
	test_commit(scene->writer);
}

/* Else all of it would be sent again by the next process. */
static void server_that_adds_up_gets_nothing_that_could_not_be_noted(void **state)
{
	struct scene scene;
	char away[256];
	uint64_t saved_ns;

	(void)state;
	scene_make(&scene, true);
	run_until(&scene, 620, 1000);
	saved_ns = scene.round.place.saved_ns;
	assert_true(saved_ns > 0);
	scene.round.cursor_path = test_path(&scene.store, "missing/" CURSOR_NAME, away);
	for (scene.at_s = 700; scene.at_s < 1000; scene.at_s += 100) {
		uint64_t sent_rows = scene.round.sent.window_rows;

		store_window(&scene, scene.at_s - 10, 1000);
		scene.at_s += 200;
		assert_int_equal(try_round(&scene), -ENOENT);
		scene.at_s -= 200;
		assert_int_equal(scene.round.sent.window_rows, sent_rows);
	}
	scene.round.cursor_path = scene.cursor_path;
	end_of_it(&scene);
	assert_int_equal(lacking(&scene), 0);
	scene_remove(&scene);
}

static void window_that_was_cut_after_it_was_sent_is_not_sent_again(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, false);
	run_until(&scene, 620, 1000);
	store_cut_window(&scene, 300);
	/* The last ten minutes are sent again. */
	start_push(&scene);
	run_until(&scene, 800, 1000);
	assert_int_equal(scene.cut_cnt, 0);
	store_cut_window(&scene, 780);
	run_until(&scene, 1200, 1000);
	assert_int_equal(scene.cut_cnt, 1);
	scene_remove(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clock_ahead_for_a_round_skips_nothing),
		cmocka_unit_test(clock_that_is_set_back_loses_nothing),
		cmocka_unit_test(cursor_ahead_of_the_clock_begins_again),
		cmocka_unit_test(clock_behind_for_a_while_sends_nothing_twice),
		cmocka_unit_test(window_that_a_suspend_interrupted_is_sent),
		cmocka_unit_test(windows_of_ten_minutes_are_sent),
		cmocka_unit_test(unreadable_place_is_given_up_after_some_tries_and_told),
		cmocka_unit_test(unreadable_place_is_not_taken_for_what_the_server_said),
		cmocka_unit_test(place_that_can_be_read_again_in_time_is_sent),
		cmocka_unit_test(server_that_adds_up_gets_nothing_that_could_not_be_noted),
		cmocka_unit_test(window_that_was_cut_after_it_was_sent_is_not_sent_again),
		cmocka_unit_test(minutes_that_are_too_large_together_are_sent_apart),
		cmocka_unit_test(minute_that_is_too_large_by_itself_is_sent_with_all_its_samples),
		cmocka_unit_test(quiet_host_and_idle_store_are_not_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
