// SPDX-License-Identifier: Apache-2.0
/* The last minute of all streams, and the rows that jbpf top makes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/unit/top/top_windows.h"
#include "user/model/cells.h"
#include "user/model/thread_counts.h"
#include "user/util/cleanup.h"

static const struct top_row *row_named(const struct top_rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->cnt; i++) {
		if (strcmp(rows->items[i].name, name) == 0)
			return &rows->items[i];
	}
	fail_msg("there is no row %s", name);
	return NULL;
}

static struct top_rows rows_of(struct top_model *model, enum event event)
{
	struct top_rows rows;

	assert_int_equal(top_model__rows(model, event, &rows), 0);
	return rows;
}

static bool is_about(double value, double wanted)
{
	return value > wanted - 0.001 && value < wanted + 0.001;
}

static void a_row_has_cores_share_and_the_hottest_leaf_whatever_its_tier(void **state)
{
	struct top_model *model = top_two_rows();
	struct top_rows rows = rows_of(model, EVENT_CPU);
	const struct top_row *shop = row_named(&rows, "shop");
	const struct top_row *shell = row_named(&rows, "sh");

	(void)state;
	assert_int_equal(rows.cnt, 2);
	assert_true(is_about(top_amount(&rows.host, EVENT_CPU, shop->samples), 1));
	assert_true(is_about(top_share(&rows.host, EVENT_CPU, shop->samples), 0.5));
	assert_true(is_about(top_amount(&rows.host, EVENT_CPU, shell->samples), 0.25));
	assert_true(is_about(top_amount(&rows.host, EVENT_CPU, rows.host.samples), 1.25));
	assert_string_equal(shop->hottest, "Tax.of_[j]");
	assert_string_equal(shop->jvm_version, "17.0.15+6");
	assert_true(shop->is_container && shop->is_jvm && !shell->is_container && !shell->is_jvm);
	assert_int_equal(shop->process_cnt, 1);
	top_rows_release(&rows);
	top_model__free(model);
}

static void now_is_the_newest_window_and_a_minute_is_kept(void **state)
{
	struct top_model *model = top_model__new(&everything, TOP_SPAN_LIVE);
	struct top_rows rows;
	const struct top_row *shop;

	(void)state;
	for (uint64_t at = 0; at < 100; at += 10) {
		top_add_java(model, "shop", at, at + 10, "java;a 1\n");
		top_end(model, at, at + 10);
	}
	rows = rows_of(model, EVENT_CPU);
	shop = row_named(&rows, "shop");
	assert_int_equal(shop->samples, 100);
	assert_int_equal(rows.host.span_ns, 10 * S);
	assert_true(rows.host.end_unix_ns == TOP_START + 100 * S);
	assert_int_equal(shop->counts.samples, 50 + 60 + 70 + 80 + 90 + 100);
	/* spread evenly: there were no cells */
	assert_true(is_about(shop->history[0], 5));
	assert_true(is_about(shop->history[TOP_HISTORY_S - 1], 10));
	top_rows_release(&rows);
	top_model__free(model);
}

static void short_windows_make_up_ten_seconds(void **state)
{
	struct top_model *model = top_model__new(&everything, TOP_SPAN_LIVE);
	struct top_rows rows;

	(void)state;
	for (uint64_t at = 0; at < 20; at += 2) {
		struct window window = top_window(7, "shop", at, 20);
		struct window host = top_window(0, NULL, at, 20);

		window.duration_ns = host.duration_ns = 2 * S;
		top_add(model, &window, "java;a 20\n");
		top_add(model, &host, "");
	}
	rows = rows_of(model, EVENT_CPU);
	assert_int_equal(rows.items[0].samples, 100);
	assert_int_equal(rows.host.span_ns, 10 * S);
	top_rows_release(&rows);
	top_model__free(model);
}

static void cells_say_in_which_second_samples_were_taken(void **state)
{
	static const struct cell cells[] = { { 5, 30 }, { 455, 70 } }; /* 0.1 s, 9.1 s */
	__cleanup_strbuf struct strbuf code = STRBUF_INIT;
	struct top_model *model = top_model__new(&everything, TOP_SPAN_LIVE);
	struct window window = top_window(7, "shop", 0, 110);
	struct top_rows rows;

	(void)state;
	assert_int_equal(cells_encode(cells, ARRAY_SIZE(cells), &code), 0);
	window.cells = (const uint8_t *)code.data;
	window.cells_len = (uint32_t)code.len;
	top_add(model, &window, "java;a 110\n");
	top_end(model, 0, 110);
	rows = rows_of(model, EVENT_CPU);
	/* of ten samples the time is not known: one for each second */
	assert_true(is_about(rows.items[0].history[50], 31));
	assert_true(is_about(rows.items[0].history[51], 1));
	assert_true(is_about(rows.items[0].history[59], 71));
	top_rows_release(&rows);
	top_model__free(model);
}

static void threads_that_wait_for_work_are_in_no_row(void **state)
{
	struct top_model *model = top_model__new(&everything, TOP_SPAN_LIVE);
	struct window waits = top_window(7, "shop", 0, 125), host = top_window(0, NULL, 0, 500);
	struct top_rows rows;

	(void)state;
	waits.event = host.event = EVENT_OFF_CPU;
	waits.period = host.period = S / 10;
	top_add(model, &waits,
		"java;a;futex_[k] 25\njava;[idle];b 60\n"
		"java;java.util.concurrent.ThreadPoolExecutor.getTask_[j];park 40\n");
	top_add(model, &host, "");
	rows = rows_of(model, EVENT_OFF_CPU);
	assert_int_equal(rows.cnt, 1);
	assert_int_equal(rows.items[0].samples, 25);
	assert_string_equal(rows.items[0].hottest, "futex_[k]");
	assert_int_equal(rows.host.waits_for_work, 100);
	assert_int_equal(rows.host.samples, 400);
	top_rows_release(&rows);
	top_model__free(model);
}

static void a_window_counts_when_its_host_record_is_there(void **state)
{
	struct top_model *model = top_two_rows();
	uint64_t before = top_model__generation(model);
	struct top_rows rows;

	(void)state;
	top_add_java(model, "shop", 10, 5, "java;a 5\n");
	assert_true(top_model__generation(model) == before);
	rows = rows_of(model, EVENT_CPU);
	assert_int_equal(row_named(&rows, "shop")->samples, 1000);
	top_rows_release(&rows);
	top_end(model, 10, 5);
	assert_true(top_model__generation(model) != before);
	rows = rows_of(model, EVENT_CPU);
	assert_int_equal(row_named(&rows, "shop")->samples, 5);
	assert_int_equal(row_named(&rows, "sh")->samples, 0);
	top_rows_release(&rows);
	top_model__free(model);
}

static void frozen_it_answers_as_of_then_and_goes_on_afterwards(void **state)
{
	struct top_model *model = top_two_rows();
	struct profile *profile = profile__new();
	struct top_rows rows;

	(void)state;
	top_model__freeze(model, true);
	for (uint64_t at = 10; at < 200; at += 10) {
		top_add_java(model, "shop", at, 5, "java;later 5\n");
		top_end(model, at, 5);
	}
	rows = rows_of(model, EVENT_CPU);
	assert_int_equal(rows.cnt, 2);
	assert_int_equal(row_named(&rows, "shop")->samples, 1000);
	assert_int_equal(top_model__profile(model, EVENT_CPU, row_named(&rows, "shop")->key, NULL,
					    profile),
			 0);
	assert_int_equal(profile__sample_count(profile), 1000);
	top_rows_release(&rows);
	top_model__freeze(model, false);
	rows = rows_of(model, EVENT_CPU);
	assert_int_equal(rows.cnt, 1);
	assert_int_equal(rows.items[0].samples, 5);
	assert_int_equal(rows.items[0].counts.samples, 30);
	top_rows_release(&rows);
	profile__free(profile);
	top_model__free(model);
}

static void rows_are_containers_of_a_pod_and_names_of_other_processes(void **state)
{
	struct top_model *model = top_model__new(&everything, TOP_SPAN_LIVE);
	struct window one = top_window(7, "app", 0, 10), two = top_window(8, "app", 0, 20);
	struct window kernel = top_window(9, NULL, 0, 30), other = top_window(10, NULL, 0, 40);
	struct top_rows rows;

	(void)state;
	one.labels[WINDOW_LABEL_POD] = "shop-1";
	two.labels[WINDOW_LABEL_POD] = "shop-2";
	kernel.labels[WINDOW_LABEL_EXE] = other.labels[WINDOW_LABEL_EXE] = NULL;
	kernel.labels[WINDOW_LABEL_COMM] = "kworker/0:1-events";
	other.labels[WINDOW_LABEL_COMM] = "kworker/1:3";
	top_add(model, &one, "java;a 10\n");
	top_add(model, &two, "java;a 20\n");
	top_add(model, &kernel, "kworker/0;a 30\n");
	top_add(model, &other, "kworker/1;a 40\n");
	top_end(model, 0, 100);
	rows = rows_of(model, EVENT_CPU);
	assert_int_equal(rows.cnt, 3);
	assert_int_equal(row_named(&rows, "shop-1/app")->samples, 10);
	assert_int_equal(row_named(&rows, "shop-2/app")->samples, 20);
	assert_int_equal(row_named(&rows, "kworker")->samples, 70);
	assert_int_equal(row_named(&rows, "kworker")->process_cnt, 2);
	top_rows_release(&rows);
	top_model__free(model);
}

static void a_selection_leaves_others_out_but_the_host_is_whole(void **state)
{
	const struct selection selection = { .container = "sh*", .kind = SELECT_KIND_KERNEL };
	struct top_model *model = top_model__new(&selection, TOP_SPAN_LIVE);
	struct window shell = top_window(9, NULL, 0, 250);
	struct top_rows rows;

	(void)state;
	top_add_java(model, "shop", 0, 1000, "java;a_[j] 900\njava;a_[j];b_[k] 100\n");
	top_add(model, &shell, "sh;main 250\n");
	top_end(model, 0, 1250);
	rows = rows_of(model, EVENT_CPU);
	assert_int_equal(rows.cnt, 1);
	assert_int_equal(rows.items[0].samples, 100);
	assert_int_equal(rows.host.samples, 1250);
	assert_int_equal(top_model__others(model)->cnt, 1);
	assert_string_equal(top_model__others(model)->items[0].latest.labels[WINDOW_LABEL_COMM],
			    "sh");
	top_rows_release(&rows);
	top_model__free(model);
}

/* Lines of the text: the first is of two threads, the second of one. */
static void threads_have_their_stacks_and_can_be_selected(void **state)
{
	static const char text[] = "java;a_[1] 70\njava;b_[k] 30\n";
	const struct selection pool = { .thread = "pool-*" };
	const struct selection *const selections[] = { &everything, &pool };
	struct thread_counts *counts = thread_counts__new(0);
	__cleanup_strbuf struct strbuf code = STRBUF_INIT;
	static const uint64_t samples[] = { 100, 50 };

	(void)state;
	assert_int_equal(thread_counts__add(counts, 0, "pool-#", 6, 50), 0);
	assert_int_equal(thread_counts__add(counts, 0, "GC;Thread", 9, 20), 0);
	assert_int_equal(thread_counts__add(counts, 1, "GC;Thread", 9, 30), 0);
	assert_int_equal(thread_counts__encode(counts, NULL, &code), 0);
	for (size_t i = 0; i < ARRAY_SIZE(selections); i++) {
		struct top_model *model = top_model__new(selections[i], TOP_SPAN_LIVE);
		struct profile *names = profile__new(), *stacks = profile__new();
		struct window window = top_window(7, "shop", 0, 100);
		struct top_rows rows;

		window.threads = (const uint8_t *)code.data;
		window.threads_len = code.len;
		top_add(model, &window, text);
		top_end(model, 0, 100);
		rows = rows_of(model, EVENT_CPU);
		assert_int_equal(rows.items[0].samples, samples[i]);
		assert_string_equal(rows.items[0].hottest, "a_[j]");
		assert_int_equal(top_model__threads(model, EVENT_CPU, rows.items[0].key, names), 0);
		assert_int_equal(profile__stack_count(names), 2 - i);
		assert_int_equal(profile__sample_count(names), samples[i]);
		/* a name is a frame, in which a semicolon would begin another one */
		assert_int_equal(top_model__profile(model, EVENT_CPU, rows.items[0].key,
						    "GC:Thread", stacks),
				 0);
		assert_int_equal(profile__sample_count(stacks), i ? 0 : 50);
		profile__free(names);
		profile__free(stacks);
		top_rows_release(&rows);
		top_model__free(model);
	}
	thread_counts__free(counts);
}

static void of_a_thread_only_its_own_waiting_for_work_is_told(void **state)
{
	const struct selection pool = { .thread = "pool-*" };
	struct top_model *model = top_model__new(&pool, TOP_SPAN_LIVE);
	struct thread_counts *counts = thread_counts__new(0);
	__cleanup_strbuf struct strbuf code = STRBUF_INIT;
	struct window waits = top_window(7, "shop", 0, 100), host = top_window(0, NULL, 0, 100);
	struct top_rows rows;

	(void)state;
	assert_int_equal(thread_counts__add(counts, 0, "pool-#", 6, 50), 0);
	assert_int_equal(thread_counts__add(counts, 1, "pool-#", 6, 10), 0);
	assert_int_equal(thread_counts__add(counts, 1, "GC Thread#", 10, 40), 0);
	assert_int_equal(thread_counts__encode(counts, NULL, &code), 0);
	waits.event = host.event = EVENT_OFF_CPU;
	waits.period = host.period = S / 10;
	waits.threads = (const uint8_t *)code.data;
	waits.threads_len = code.len;
	top_add(model, &waits, "java;a;futex_[k] 50\njava;[idle];b 50\n");
	top_add(model, &host, "");
	rows = rows_of(model, EVENT_OFF_CPU);
	assert_int_equal(rows.cnt, 1);
	assert_int_equal(rows.items[0].samples, 50);
	assert_int_equal(rows.host.waits_for_work, 10);
	top_rows_release(&rows);
	thread_counts__free(counts);
	top_model__free(model);
}

static void other_events_have_rates_and_shares_of_their_own(void **state)
{
	struct top_model *model = top_two_rows();
	struct window faults = top_window(7, "shop", 0, 50), host = top_window(0, NULL, 0, 200);
	struct top_rows rows;

	(void)state;
	faults.event = host.event = EVENT_PAGE_FAULTS;
	faults.period = host.period = 64;
	top_add(model, &faults, "java;a 50\n");
	top_add(model, &host, "");
	rows = rows_of(model, EVENT_PAGE_FAULTS);
	assert_int_equal(rows.cnt, 1);
	assert_true(is_about(top_amount(&rows.host, EVENT_PAGE_FAULTS, 50), 320));
	assert_true(is_about(top_share(&rows.host, EVENT_PAGE_FAULTS, 50), 0.25));
	top_rows_release(&rows);
	top_model__free(model);
}

static void waiting_is_threads_and_a_share_of_all_that_wait(void **state)
{
	struct top_model *model = top_model__new(&everything, TOP_SPAN_LIVE);
	struct window waits = top_window(7, "shop", 0, 500), host = top_window(0, NULL, 0, 2000);
	struct top_rows rows;

	(void)state;
	waits.event = host.event = EVENT_OFF_CPU;
	waits.period = host.period = S / 10;
	top_add(model, &waits, "java;a 500\n");
	top_add(model, &host, "");
	rows = rows_of(model, EVENT_OFF_CPU);
	assert_true(is_about(top_amount(&rows.host, EVENT_OFF_CPU, 500), 5));
	assert_true(is_about(top_share(&rows.host, EVENT_OFF_CPU, 500), 0.25));
	top_rows_release(&rows);
	top_model__free(model);
}

static void losses_and_the_reason_of_missing_names_are_told(void **state)
{
	struct top_model *model = top_model__new(&everything, TOP_SPAN_LIVE);
	struct window jvm = top_window(7, "shop", 0, 10), host = top_window(0, NULL, 0, 10);
	struct top_rows rows;

	(void)state;
	jvm.is_jvm = 1;
	jvm.labels[WINDOW_LABEL_JIT_PROBLEM] = "no map";
	host.lost[WINDOW_LOSS_COUNTS_FULL] = 4;
	host.lost[WINDOW_LOSS_OPTED_OUT] = 9;
	top_add(model, &jvm, "java;a 10\n");
	top_add(model, &host, "");
	rows = rows_of(model, EVENT_CPU);
	assert_int_equal(rows.host.lost, 4);
	assert_int_equal(rows.host.opted_out, 9);
	assert_string_equal(rows.items[0].problem, "no map");
	top_rows_release(&rows);
	top_model__free(model);
}

static void a_whole_range_is_added_up_stream_by_stream(void **state)
{
	struct top_model *model = top_model__new(&everything, TOP_SPAN_WHOLE);
	struct profile *profile = profile__new();
	struct top_rows rows;

	(void)state;
	for (uint64_t at = 0; at < 600; at += 10) {
		top_add_java(model, "shop", at, 100, "java;a 60\njava;b 40\n");
		top_end(model, at, 100);
	}
	rows = rows_of(model, EVENT_CPU);
	assert_int_equal(rows.cnt, 1);
	assert_int_equal(rows.items[0].samples, 6000);
	assert_int_equal(rows.items[0].process_cnt, 1);
	assert_true(is_about(top_amount(&rows.host, EVENT_CPU, 6000), 0.1));
	assert_int_equal(top_model__profile(model, EVENT_CPU, rows.items[0].key, NULL, profile), 0);
	assert_int_equal(profile__stack_count(profile), 2);
	assert_int_equal(profile__sample_count(profile), 6000);
	profile__free(profile);
	top_rows_release(&rows);
	top_model__free(model);
}

static void parts_of_the_running_window_are_now_and_stacks_are_of_the_newest_window(void **state)
{
	struct top_model *model = top_two_rows();
	struct profile *profile = profile__new();
	struct top_rows rows;
	const struct top_row *shop;

	(void)state;
	for (uint64_t at = 10; at < 14; at++)
		top_add_running(model, "shop", at, 10 * at, 10 * at + 5);
	rows = rows_of(model, EVENT_CPU);
	shop = row_named(&rows, "shop");
	assert_true(rows.host.is_running && !rows.named.is_running);
	assert_true(rows.host.end_unix_ns == TOP_START + 14 * S);
	assert_true(rows.named.end_unix_ns == TOP_START + 10 * S);
	assert_int_equal(rows.host.span_ns, 2 * S);
	assert_int_equal(rows.named.span_ns, 10 * S);
	assert_int_equal(shop->samples, 120 + 130);
	assert_int_equal(rows.host.samples, 125 + 135);
	assert_int_equal(shop->process_cnt, 1);
	/* a core of 100 Hz each second; quality is that of windows with stacks */
	assert_true(is_about(top_amount(&rows.host, EVENT_CPU, shop->samples), 1.25));
	assert_int_equal(shop->counts.samples, 1000);
	assert_string_equal(shop->hottest, "Tax.of_[j]");
	assert_true(is_about(shop->history[TOP_HISTORY_S - 1], 130));
	assert_true(is_about(shop->history[TOP_HISTORY_S - 4], 100));
	assert_true(is_about(shop->history[TOP_HISTORY_S - 5], 100));
	assert_true(is_about(row_named(&rows, "sh")->history[TOP_HISTORY_S - 5], 25));
	assert_int_equal(row_named(&rows, "sh")->samples, 0);
	assert_int_equal(top_model__profile(model, EVENT_CPU, shop->key, NULL, profile), 0);
	assert_int_equal(profile__sample_count(profile), 1000);
	profile__free(profile);
	top_rows_release(&rows);
	top_model__free(model);
}

static void a_window_that_has_ended_takes_the_place_of_its_parts(void **state)
{
	struct top_model *model = top_two_rows();
	struct top_rows rows;
	const struct top_row *shop;

	(void)state;
	for (uint64_t at = 10; at < 22; at++)
		top_add_running(model, "shop", at, 50, 50);
	top_add_java(model, "shop", 10, 700, "java;late 700\n");
	top_end(model, 10, 700);
	rows = rows_of(model, EVENT_CPU);
	shop = row_named(&rows, "shop");
	assert_true(rows.host.is_running);
	assert_true(rows.host.end_unix_ns == TOP_START + 22 * S);
	assert_true(is_about(shop->history[TOP_HISTORY_S - 1], 50));
	assert_true(is_about(shop->history[TOP_HISTORY_S - 3], 70));
	assert_string_equal(shop->hottest, "late");
	top_rows_release(&rows);
	/* nothing newer comes: then the newest window is now */
	top_add_java(model, "shop", 20, 800, "java;later 800\n");
	top_end(model, 20, 800);
	rows = rows_of(model, EVENT_CPU);
	assert_false(rows.host.is_running);
	assert_int_equal(row_named(&rows, "shop")->samples, 800);
	assert_int_equal(rows.host.span_ns, 10 * S);
	top_rows_release(&rows);
	top_model__free(model);
}

/* The newest one with stacks may have ended long before. */
static void of_long_windows_the_newest_still_tells_the_methods(void **state)
{
	struct top_model *model = top_two_rows();
	struct top_rows rows;
	const struct top_row *shop;

	(void)state;
	for (uint64_t at = 300; at < 310; at++)
		top_add_running(model, "shop", at, 60, 60);
	rows = rows_of(model, EVENT_CPU);
	shop = row_named(&rows, "shop");
	assert_true(rows.host.is_running);
	assert_int_equal(shop->samples, 120);
	assert_string_equal(shop->hottest, "Tax.of_[j]");
	assert_int_equal(rows.named.span_ns, 10 * S);
	top_rows_release(&rows);
	top_model__free(model);
}

static void frozen_the_running_window_stands_still_and_goes_on_afterwards(void **state)
{
	struct top_model *model = top_two_rows();
	struct top_rows rows;

	(void)state;
	top_add_running(model, "shop", 10, 10, 10);
	top_add_running(model, "shop", 11, 20, 20);
	top_model__freeze(model, true);
	for (uint64_t at = 12; at < 20; at++)
		top_add_running(model, "shop", at, 99, 99);
	top_add_java(model, "shop", 10, 700, "java;late 700\n");
	top_end(model, 10, 700);
	rows = rows_of(model, EVENT_CPU);
	assert_int_equal(row_named(&rows, "shop")->samples, 30);
	assert_true(rows.host.end_unix_ns == TOP_START + 12 * S);
	assert_string_equal(row_named(&rows, "shop")->hottest, "Tax.of_[j]");
	top_rows_release(&rows);
	top_model__freeze(model, false);
	top_add_running(model, "shop", 20, 44, 44);
	rows = rows_of(model, EVENT_CPU);
	assert_string_equal(row_named(&rows, "shop")->hottest, "late");
	assert_int_equal(row_named(&rows, "shop")->samples, 44);
	top_rows_release(&rows);
	top_model__free(model);
}

static void when_nobody_tells_of_it_any_more_windows_are_now_again(void **state)
{
	struct top_model *model = top_two_rows();
	struct top_rows rows;
	uint64_t before;

	(void)state;
	top_add_running(model, "new", 10, 10, 10);
	before = top_model__generation(model);
	top_model__forget_running(model);
	assert_true(top_model__generation(model) != before);
	rows = rows_of(model, EVENT_CPU);
	assert_false(rows.host.is_running);
	assert_int_equal(rows.cnt, 2);
	assert_int_equal(row_named(&rows, "shop")->samples, 1000);
	top_rows_release(&rows);
	top_model__free(model);
}

/* A minute and more: what is of the time before is not older, it is of another time. */
static void a_clock_that_is_set_back_begins_another_minute(void **state)
{
	struct top_model *model = top_model__new(&everything, TOP_SPAN_LIVE);
	struct window faults = top_window(7, "shop", 5000, 5), host = top_window(0, NULL, 5000, 5);
	struct top_rows rows;

	(void)state;
	faults.event = host.event = EVENT_PAGE_FAULTS;
	top_add(model, &faults, "java;a 5\n");
	top_add(model, &host, "");
	for (uint64_t at = 5000; at < 5100; at += 10) {
		top_add_java(model, "old", at, 1000, "java;a 1000\n");
		top_end(model, at, 1000);
		top_add_running(model, "old", at + 10, 9, 9);
	}
	for (uint64_t at = 0; at < 100; at += 10) {
		top_add_java(model, "shop", at, at + 10, "java;a 1\n");
		top_end(model, at, at + 10);
		rows = rows_of(model, EVENT_CPU);
		assert_int_equal(rows.cnt, 1);
		assert_string_equal(rows.items[0].name, "shop");
		assert_int_equal(rows.items[0].samples, at + 10);
		assert_true(rows.host.end_unix_ns == TOP_START + (at + 10) * S);
		assert_int_equal(rows.host.samples, at + 10);
		top_rows_release(&rows);
	}
	rows = rows_of(model, EVENT_CPU);
	assert_int_equal(rows.items[0].counts.samples, 50 + 60 + 70 + 80 + 90 + 100);
	top_rows_release(&rows);
	top_add_running(model, "shop", 100, 4, 4);
	rows = rows_of(model, EVENT_CPU);
	assert_int_equal(rows.items[0].samples, 4);
	top_rows_release(&rows);
	rows = rows_of(model, EVENT_PAGE_FAULTS); /* of which nothing else came */
	assert_int_equal(rows.items[0].samples, 5);
	top_rows_release(&rows);
	top_model__free(model);
}

static void what_is_frozen_stays_where_the_clock_is_set_back(void **state)
{
	struct top_model *model = top_model__new(&everything, TOP_SPAN_LIVE);
	struct top_rows rows;

	(void)state;
	top_add_java(model, "old", 5000, 1000, "java;a 1000\n");
	top_end(model, 5000, 1000);
	top_model__freeze(model, true);
	for (uint64_t at = 0; at < 50; at += 10) {
		if (at == 40)
			top_model__freeze(model, false);
		top_add_java(model, "shop", at, 7, "java;a 7\n");
		top_end(model, at, 7);
		rows = rows_of(model, EVENT_CPU);
		assert_int_equal(rows.cnt, 1);
		assert_string_equal(rows.items[0].name, at == 40 ? "shop" : "old");
		assert_int_equal(rows.items[0].samples, at == 40 ? 7 : 1000);
		top_rows_release(&rows);
	}
	top_model__free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_has_cores_share_and_the_hottest_leaf_whatever_its_tier),
		cmocka_unit_test(now_is_the_newest_window_and_a_minute_is_kept),
		cmocka_unit_test(short_windows_make_up_ten_seconds),
		cmocka_unit_test(cells_say_in_which_second_samples_were_taken),
		cmocka_unit_test(threads_that_wait_for_work_are_in_no_row),
		cmocka_unit_test(a_window_counts_when_its_host_record_is_there),
		cmocka_unit_test(frozen_it_answers_as_of_then_and_goes_on_afterwards),
		cmocka_unit_test(rows_are_containers_of_a_pod_and_names_of_other_processes),
		cmocka_unit_test(a_selection_leaves_others_out_but_the_host_is_whole),
		cmocka_unit_test(threads_have_their_stacks_and_can_be_selected),
		cmocka_unit_test(of_a_thread_only_its_own_waiting_for_work_is_told),
		cmocka_unit_test(other_events_have_rates_and_shares_of_their_own),
		cmocka_unit_test(waiting_is_threads_and_a_share_of_all_that_wait),
		cmocka_unit_test(losses_and_the_reason_of_missing_names_are_told),
		cmocka_unit_test(a_whole_range_is_added_up_stream_by_stream),
		cmocka_unit_test(
			parts_of_the_running_window_are_now_and_stacks_are_of_the_newest_window),
		cmocka_unit_test(a_window_that_has_ended_takes_the_place_of_its_parts),
		cmocka_unit_test(of_long_windows_the_newest_still_tells_the_methods),
		cmocka_unit_test(frozen_the_running_window_stands_still_and_goes_on_afterwards),
		cmocka_unit_test(when_nobody_tells_of_it_any_more_windows_are_now_again),
		cmocka_unit_test(a_clock_that_is_set_back_begins_another_minute),
		cmocka_unit_test(what_is_frozen_stays_where_the_clock_is_set_back),
	};

	return cmocka_run_group_tests_name("top_model", tests, NULL, NULL);
}
