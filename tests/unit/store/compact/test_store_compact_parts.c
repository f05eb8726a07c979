// SPDX-License-Identifier: Apache-2.0
/* What a compaction is made of: digests that survive merging, units of bounded size, notes. */
#include "tests/unit/store_testing.h"

#include "user/model/cells.h"
#include "user/store/compact/compact_digest.h"
#include "user/store/compact/compact_notes.h"
#include "user/store/compact/compact_streams.h"

#define SLOT_NS (300 * CLOCK_NS_PER_S)

static struct window stream_window(uint32_t pid, const char *comm, uint64_t samples)
{
	return (struct window){
		.start_unix_ns = TEST_NS,
		.duration_ns = WINDOW_NS,
		.pid = pid,
		.process_start_ns = 7,
		.counts.samples = samples,
		.labels = { [WINDOW_LABEL_COMM] = comm },
	};
}

static void add(struct compact_digest *digest, const struct window *window, const char *text)
{
	assert_int_equal(compact_digest_add(digest, window, text, strlen(text), SLOT_NS), 0);
}

static void digest_is_the_same_in_any_order_and_merged(void **state)
{
	struct window first = stream_window(1, "java", 5), second = first, merged = first;
	struct compact_digest forth = { 0 }, back = { 0 }, once = { 0 };
	struct strbuf cells[3] = { STRBUF_INIT, STRBUF_INIT, STRBUF_INIT };
	const struct cell one = { 3, 5 }, two = { 0, 2 };
	const struct cell both[] = { { 3, 5 }, { 500, 2 } };

	(void)state;
	second.start_unix_ns += WINDOW_NS;
	second.counts.samples = 2;
	assert_int_equal(cells_encode(&one, 1, &cells[0]), 0);
	assert_int_equal(cells_encode(&two, 1, &cells[1]), 0);
	assert_int_equal(cells_encode(both, 2, &cells[2]), 0);
	first.cells = (uint8_t *)cells[0].data;
	first.cells_len = (uint32_t)cells[0].len;
	second.cells = (uint8_t *)cells[1].data;
	second.cells_len = (uint32_t)cells[1].len;
	merged.cells = (uint8_t *)cells[2].data;
	merged.cells_len = (uint32_t)cells[2].len;
	merged.counts.samples = 7;
	merged.window_cnt = 2;
	merged.recorded_ns = 2 * WINDOW_NS;
	merged.duration_ns = 2 * WINDOW_NS;
	first.lines = "m;A.java:1 4\n";
	first.lines_len = strlen(first.lines);
	second.lines = "m;A.java:1 1\nm;A.java:2 1\n";
	second.lines_len = strlen(second.lines);
	merged.lines = "m;A.java:1 5\nm;A.java:2 1\n";
	merged.lines_len = strlen(merged.lines);
	add(&forth, &first, "java;a 4\njava;b 1\n");
	add(&forth, &second, "java;a 2\n");
	add(&back, &second, "java;a 2\n");
	add(&back, &first, "java;b 1\njava;a 3\njava;a 1\nno line\n");
	add(&once, &merged, "java;a 6\njava;b 1\n");
	assert_true(compact_digest_equal(&forth, &back));
	assert_true(compact_digest_equal(&forth, &once));
	assert_int_equal(forth.windows, 2);
	assert_int_equal(forth.samples, 7);
	assert_int_equal(forth.text_samples, 7);
	for (int i = 0; i < 3; i++)
		strbuf_release(&cells[i]);
}

static void digest_sees_every_difference(void **state)
{
	const struct window window = stream_window(1, "java", 3);
	struct compact_digest expected = { 0 };
	struct window others[8];
	const char *text = "java;a 2\njava;b 1\n";

	(void)state;
	add(&expected, &window, text);
	for (size_t i = 0; i < 8; i++)
		others[i] = window;
	others[0].pid = 2;
	others[1].process_start_ns = 8;
	others[2].labels[WINDOW_LABEL_COMM] = "jav";
	others[3].labels[WINDOW_LABEL_POD] = "";
	others[4].start_unix_ns += SLOT_NS;
	others[5].counts.frames = 1;
	others[6].lost[WINDOW_LOSS_STORE] = 1;
	others[7].duration_ns++;
	for (size_t i = 0; i < 8; i++) {
		struct compact_digest digest = { 0 };

		add(&digest, &others[i], text);
		assert_false(compact_digest_equal(&digest, &expected));
	}
	static const char *const texts[] = { "", "java;a 1\njava;b 2\n", "java;a 3\n",
					     "java;a 2\njava;c 1\n" };
	for (size_t i = 0; i < 4; i++) {
		struct compact_digest digest = { 0 };

		add(&digest, &window, texts[i]);
		assert_false(compact_digest_equal(&digest, &expected));
	}
}

static void busy_streams_have_a_unit_and_small_ones_share(void **state)
{
	const struct window windows[] = {
		stream_window(1, "java", COMPACT_UNIT_SAMPLES + 1),  stream_window(2, "cron", 10),
		stream_window(3, "java", COMPACT_UNIT_SAMPLES + 1),  stream_window(4, "sh", 10),
		stream_window(5, "cron", COMPACT_UNIT_SAMPLES - 15),
	};
	const struct window unknown = stream_window(6, "java", 1);
	struct compact_streams *streams = compact_streams__new();
	uint32_t units[5];

	(void)state;
	assert_non_null(streams);
	assert_int_equal(compact_streams__unit(streams, &unknown), COMPACT_UNIT_NONE);
	assert_int_equal(compact_streams__plan(streams), 0);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(compact_streams__add(streams, &windows[i]), 0);
	/* Both cron together, then no room for sh; then the busy ones. */
	assert_int_equal(compact_streams__plan(streams), 4);
	for (size_t i = 0; i < 5; i++)
		units[i] = compact_streams__unit(streams, &windows[i]);
	assert_int_equal(units[1], units[4]);
	assert_int_equal(units[1], 0);
	assert_int_equal(units[3], 1);
	assert_true(units[0] != units[2] && units[0] >= 2 && units[2] >= 2);
	assert_int_equal(compact_streams__unit(streams, &unknown), COMPACT_UNIT_NONE);
	compact_streams__free(streams);
}

static void many_short_lives_are_few_units(void **state)
{
	struct compact_streams *streams = compact_streams__new();

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (uint32_t pid = 1; pid <= 20000; pid++) {
			struct window window = stream_window(pid, "sh", 1);

			assert_int_equal(compact_streams__add(streams, &window), 0);
		}
	}
	assert_int_equal(compact_streams__plan(streams),
			 (40000 + COMPACT_UNIT_SAMPLES - 1) / COMPACT_UNIT_SAMPLES);
	compact_streams__free(streams);
}

static void a_place_is_noted_once(void **state)
{
	const struct segment_file file = { .hour_unix_s = TEST_HOUR_S };
	struct compact_notes *notes = compact_notes__new(EVENT_CPU);

	(void)state;
	for (int pass = 0; pass < 3; pass++) {
		assert_int_equal(compact_notes__add(notes, &file, NULL, 5, 6, "torn tail"), 0);
		assert_int_equal(compact_notes__add(notes, &file, "v1/x.zst", 5, 6, "torn tail"),
				 0);
		assert_int_equal(compact_notes__add(notes, &file, NULL, 5, 7, "torn tail"), 0);
	}
	assert_int_equal(compact_notes__count(notes), 3);
	assert_int_equal(compact_notes__new_count(notes), 2);
	for (uint64_t i = 0; i < 2 * COMPACT_NOTES_MAX; i++)
		assert_int_equal(compact_notes__add(notes, &file, NULL, 100 + i, 1, "x"), 0);
	assert_true(compact_notes__count(notes) > COMPACT_NOTES_MAX);
	assert_int_equal(compact_notes__new_count(notes), COMPACT_NOTES_MAX - 1);
	compact_notes__free(notes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digest_is_the_same_in_any_order_and_merged),
		cmocka_unit_test(digest_sees_every_difference),
		cmocka_unit_test(busy_streams_have_a_unit_and_small_ones_share),
		cmocka_unit_test(many_short_lives_are_few_units),
		cmocka_unit_test(a_place_is_noted_once),
	};

	return cmocka_run_group_tests_name("store_compact_parts", tests, NULL, NULL);
}
