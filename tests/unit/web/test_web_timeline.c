// SPDX-License-Identifier: Apache-2.0
/* Windows become a time line: every sample is in it once, and what is not known is null. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/web/web_timeline.h"

#define S     CLOCK_NS_PER_S
#define BEGIN (1795262400ull * S)
#define STEPS 6

static struct web_timeline *timeline;
static json_t *json;

static void begin(enum event event, enum window_label by)
{
	const struct web_timeline_options options = {
		.since_unix_ns = BEGIN,
		.until_unix_ns = BEGIN + STEPS * 10 * S,
		.step_ns = 10 * S,
		.event = event,
		.by = by,
	};

	timeline = web_timeline__new(&options);
	assert_non_null(timeline);
}

static struct window window_of(uint64_t start_s, uint64_t length_s, const char *container,
			       uint64_t samples)
{
	return (struct window){
		.start_unix_ns = BEGIN + start_s * S,
		.duration_ns = length_s * S,
		.pid = 7,
		.frequency_hz = 100,
		.counts.samples = samples,
		.labels[WINDOW_LABEL_CONTAINER] = container,
	};
}

static void add(struct window window)
{
	assert_int_equal(web_timeline__add(timeline, &window), 0);
}

static void end(void)
{
	struct strbuf text = STRBUF_INIT;
	json_error_t error;

	assert_int_equal(web_timeline__json(timeline, &text), 0);
	json = json_loads(strbuf_str(&text), JSON_REJECT_DUPLICATES, &error);
	if (!json)
		fail_msg("%s: %s", error.text, strbuf_str(&text));
	strbuf_release(&text);
	web_timeline__free(timeline);
}

static json_t *series(size_t i)
{
	return json_array_get(json_object_get(json, "series"), i);
}

static void must_be(const json_t *values, const double wanted[STEPS])
{
	assert_int_equal(json_array_size(json_object_get(values, "values")), STEPS);
	for (size_t i = 0; i < STEPS; i++) {
		const json_t *value = json_array_get(json_object_get(values, "values"), i);

		if (isnan(wanted[i]))
			assert_true(json_is_null(value));
		else
			assert_true(fabs(json_number_value(value) - wanted[i]) < 0.002);
	}
}

static void samples_are_cores_in_the_steps_of_their_window(void **state)
{
	(void)state;
	begin(EVENT_CPU, WINDOW_LABEL_CONTAINER);
	add(window_of(0, 10, "a", 500));
	add(window_of(10, 10, "b", 2000));
	add(window_of(10, 10, "a", 1000));
	/* Half of it in each. */
	add(window_of(35, 10, "a", 1000));
	end();
	assert_string_equal(json_string_value(json_object_get(json, "unit")), "cores");
	assert_string_equal(json_string_value(json_object_get(series(0), "name")), "a");
	must_be(series(0), (double[]){ 0.5, 1, NAN, 0.5, 0.5, NAN });
	must_be(series(1), (double[]){ 0, 2, NAN, 0, 0, NAN });
	assert_null(series(2));
	json_decref(json);
}

static void windows_across_an_edge_count_with_the_part_inside(void **state)
{
	struct window before = window_of(0, 20, "a", 2000);

	(void)state;
	before.start_unix_ns -= 10 * S;
	begin(EVENT_CPU, WINDOW_LABEL_CONTAINER);
	add(before);
	add(window_of(50, 40, "a", 4000));
	add(window_of(60, 10, "a", 4000));
	add(window_of(20, 0, "a", 1000));
	end();
	must_be(series(0), (double[]){ 1, NAN, 1, NAN, NAN, 1 });
	json_decref(json);
}

static void a_step_that_is_recorded_in_part_has_the_rate_of_that_part(void **state)
{
	struct window last = window_of(35, 10, "a", 2000);

	(void)state;
	begin(EVENT_CPU, WINDOW_LABEL_CONTAINER);
	add(last);
	web_timeline__note_end(timeline, &last);
	end();
	must_be(series(0), (double[]){ NAN, NAN, NAN, 1, 2, NAN });
	json_decref(json);
	/* A window without a length says nothing of how much is recorded. */
	begin(EVENT_CPU, WINDOW_LABEL_CONTAINER);
	last = window_of(41, 0, "a", 1000);
	add(last);
	web_timeline__note_end(timeline, &last);
	end();
	must_be(series(0), (double[]){ NAN, NAN, NAN, NAN, 1, NAN });
	json_decref(json);
}

static void host_records_tell_losses_and_that_there_was_nothing(void **state)
{
	struct window host = window_of(0, 10, NULL, 0);
	struct window second;

	(void)state;
	host.pid = 0;
	host.lost[WINDOW_LOSS_COUNTS_FULL] = 7;
	second = host;
	second.start_unix_ns += 40 * S;
	second.lost[WINDOW_LOSS_COUNTS_FULL] = 0;
	begin(EVENT_CPU, WINDOW_LABEL_CONTAINER);
	add(host);
	add(second);
	add(window_of(10, 10, "a", 1000));
	end();
	must_be(series(0), (double[]){ 0, 1, NAN, NAN, 0, NAN });
	assert_int_equal(json_integer_value(json_array_get(json_object_get(json, "lost"), 0)), 7);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(json, "lost"), 4)), 0);
	json_decref(json);
}

static void only_the_heaviest_are_drawn_and_the_sum_is_whole(void **state)
{
	char name[16];

	(void)state;
	begin(EVENT_CPU, WINDOW_LABEL_CONTAINER);
	for (unsigned int i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof(name), "c%u", i);
		add(window_of(0, 10, name, 100 + i));
	}
	add(window_of(0, 10, NULL, 1));
	end();
	assert_int_equal(json_array_size(json_object_get(json, "series")), WEB_TIMELINE_SERIES_MAX);
	assert_string_equal(json_string_value(json_object_get(series(0), "name")), "c19");
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(json, "others"), "count")),
		21 - WEB_TIMELINE_SERIES_MAX);
	/* 100 to 107, and the one without a name. */
	must_be(json_object_get(json, "others"), (double[]){ 0.829, NAN, NAN, NAN, NAN, NAN });
	json_decref(json);
}

static void groups_beyond_the_maximum_are_in_the_sum(void **state)
{
	char name[16];

	(void)state;
	begin(EVENT_CPU, WINDOW_LABEL_CONTAINER);
	for (unsigned int i = 0; i < WEB_TIMELINE_GROUPS_MAX + 100; i++) {
		(void)snprintf(name, sizeof(name), "c%u", i);
		add(window_of(0, 10, name, 1));
	}
	end();
	must_be(json_object_get(json, "others"),
		(double[]){ (WEB_TIMELINE_GROUPS_MAX + 100 - WEB_TIMELINE_SERIES_MAX) * 0.001, NAN,
			    NAN, NAN, NAN, NAN });
	json_decref(json);
}

static void events_are_counted_by_the_second(void **state)
{
	struct window window = window_of(0, 10, "a", 10), unknown = window;

	(void)state;
	window.event = unknown.event = EVENT_PAGE_FAULTS;
	window.period_unit = EVENT_UNIT_EVENTS;
	window.period = 64;
	unknown.frequency_hz = 0;
	begin(EVENT_PAGE_FAULTS, WINDOW_LABEL_CNT);
	add(window);
	add(unknown);
	end();
	assert_string_equal(json_string_value(json_object_get(json, "unit")), "events/s");
	assert_string_equal(json_string_value(json_object_get(series(0), "name")), "host");
	must_be(series(0), (double[]){ 64, NAN, NAN, NAN, NAN, NAN });
	assert_int_equal(json_integer_value(json_object_get(json, "unscaled_samples")), 10);
	json_decref(json);
}

static void of_wall_waiting_for_a_cpu_counts_and_of_off_cpu_it_does_not(void **state)
{
	const enum event events[] = { EVENT_WALL, EVENT_OFF_CPU };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct window waits = window_of(0, 10, "a", 50), cpu = window_of(0, 10, "a", 100);
		double wanted = i ? 0.5 : 0.5 + 2 + 0.1;

		waits.event = EVENT_OFF_CPU;
		waits.period = S / 10;
		waits.counts.run_delay_ns = 20 * S;
		begin(events[i], WINDOW_LABEL_CONTAINER);
		add(waits);
		if (!i)
			add(cpu);
		end();
		must_be(series(0), (double[]){ wanted, NAN, NAN, NAN, NAN, NAN });
		json_decref(json);
	}
}

static struct window jvm(uint64_t start_s, uint32_t pid, uint64_t age_s, const char *image)
{
	struct window window = window_of(start_s, 10, "shop", 10);

	window.pid = pid;
	window.is_jvm = 1;
	window.start_boot_ns = 1000000 * S + start_s * S;
	window.process_start_ns = window.start_boot_ns - age_s * S;
	window.labels[WINDOW_LABEL_IMAGE] = image;
	return window;
}

/* The i-th of the starts is that one; `before` is NULL when it has no new image. */
static void must_start(size_t i, double at_s, const char *service, const char *image,
		       const char *before)
{
	const json_t *start = json_array_get(json_object_get(json, "starts"), i);

	assert_true(fabs(json_number_value(json_object_get(start, "time")) - (double)(BEGIN / S) -
			 at_s) < 0.001);
	assert_string_equal(json_string_value(json_object_get(start, "service")), service);
	assert_string_equal(json_string_value(json_object_get(start, "image")), image);
	assert_string_equal(json_string_value(json_object_get(start, "image_before")),
			    before ? before : "");
	assert_true(json_is_true(json_object_get(start, "is_new_image")) == (before != NULL));
}

static void starts_of_jvms_are_told_once_those_with_a_new_image_first(void **state)
{
	(void)state;
	begin(EVENT_CPU, WINDOW_LABEL_CONTAINER);
	/* As a merged store has them: stream by stream, whichever comes first. */
	add(jvm(40, 3, 5, "shop:2"));
	add(jvm(50, 3, 15, "shop:2"));
	add(jvm(0, 1, 3600, "shop:1"));
	add(jvm(10, 1, 3610, "shop:1"));
	add(jvm(20, 2, 5, "shop:1"));
	end();
	assert_int_equal(json_array_size(json_object_get(json, "starts")), 2);
	assert_int_equal(json_integer_value(json_object_get(json, "start_count")), 2);
	must_start(0, 35, "", "shop:2", "shop:1");
	must_start(1, 15, "", "shop:1", NULL);
	json_decref(json);
}

/* As all do that start while jbpfd runs: a window has the time of its begin. */
static void a_jvm_may_start_within_its_first_window(void **state)
{
	struct window first = jvm(20, 1, 0, "shop:1"), never = jvm(20, 2, 0, "shop:1");

	(void)state;
	first.process_start_ns += 4 * S;
	never.process_start_ns += 11 * S;
	begin(EVENT_CPU, WINDOW_LABEL_CONTAINER);
	add(first);
	add(never);
	end();
	assert_int_equal(json_array_size(json_object_get(json, "starts")), 1);
	must_start(0, 24, "", "shop:1", NULL);
	json_decref(json);
}

static void processes_of_two_hosts_that_are_alike_are_two(void **state)
{
	struct window one = jvm(20, 1, 5, "shop:1"), other = one;

	(void)state;
	one.labels[WINDOW_LABEL_HOST] = "a";
	other.labels[WINDOW_LABEL_HOST] = "b";
	begin(EVENT_CPU, WINDOW_LABEL_CONTAINER);
	add(one);
	add(other);
	add(one);
	end();
	assert_int_equal(json_integer_value(json_object_get(json, "start_count")), 2);
	json_decref(json);
}

/* Two services in one series: that they have different images is no new image of either. */
static void images_are_those_of_a_service_whatever_is_one_series(void **state)
{
	struct window shop = jvm(10, 1, 5, "shop:1"), cart = jvm(20, 2, 5, "cart:1");
	struct window later = jvm(30, 3, 5, "shop:2");

	(void)state;
	shop.labels[WINDOW_LABEL_SERVICE] = later.labels[WINDOW_LABEL_SERVICE] = "shop";
	cart.labels[WINDOW_LABEL_SERVICE] = "cart";
	begin(EVENT_CPU, WINDOW_LABEL_CNT);
	add(shop);
	add(cart);
	add(later);
	end();
	assert_int_equal(json_array_size(json_object_get(json, "starts")), 3);
	must_start(0, 25, "shop", "shop:2", "shop:1");
	must_start(1, 5, "shop", "shop:1", NULL);
	must_start(2, 15, "cart", "cart:1", NULL);
	json_decref(json);
}

static void steps_are_round_and_not_too_many(void **state)
{
	(void)state;
	assert_int_equal(web_timeline_step(60 * S), 10 * S);
	assert_int_equal(web_timeline_step(7200 * S), 10 * S);
	assert_int_equal(web_timeline_step(86400 * S), 120 * S);
	assert_int_equal(web_timeline_step(7 * 86400 * S), 900 * S);
	for (uint64_t days = 1; days < 40000; days *= 3)
		assert_true(days * 86400 * S / web_timeline_step(days * 86400 * S) <= 720);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_cores_in_the_steps_of_their_window),
		cmocka_unit_test(windows_across_an_edge_count_with_the_part_inside),
		cmocka_unit_test(a_step_that_is_recorded_in_part_has_the_rate_of_that_part),
		cmocka_unit_test(host_records_tell_losses_and_that_there_was_nothing),
		cmocka_unit_test(only_the_heaviest_are_drawn_and_the_sum_is_whole),
		cmocka_unit_test(groups_beyond_the_maximum_are_in_the_sum),
		cmocka_unit_test(events_are_counted_by_the_second),
		cmocka_unit_test(of_wall_waiting_for_a_cpu_counts_and_of_off_cpu_it_does_not),
		cmocka_unit_test(starts_of_jvms_are_told_once_those_with_a_new_image_first),
		cmocka_unit_test(a_jvm_may_start_within_its_first_window),
		cmocka_unit_test(processes_of_two_hosts_that_are_alike_are_two),
		cmocka_unit_test(images_are_those_of_a_service_whatever_is_one_series),
		cmocka_unit_test(steps_are_round_and_not_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
