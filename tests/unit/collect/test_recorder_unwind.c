// SPDX-License-Identifier: Apache-2.0
/* What a recorder tells its namers of unwind tables, and how it takes what they say, over replacements. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "tests/unit/fake_link.h"
#include "tests/unit/fake_source.h"
#include "tests/unit/unwind_tables.h"
#include "user/collect/recorder.h"
#include "user/collect/recorder_internal.h"
#include "user/util/cleanup.h"

#define CHUNKS 8u

static struct recorder *recorder;
static struct recorder_stats last;

static void take_stream(void *ctx, const struct window *window, const char *text, size_t len)
{
	(void)ctx;
	(void)window;
	(void)text;
	(void)len;
}

static void take_end(void *ctx, struct window *host, size_t cnt, const struct recorder_stats *stats)
{
	(void)ctx;
	(void)host;
	(void)cnt;
	last = *stats;
}

static struct recorder_options options_of(enum unwind_mode mode)
{
	return (struct recorder_options){
		.probe = { .frequency_hz = 99, .max_depth = 64, .window_ns = 10 * CLOCK_NS_PER_S },
		.unwind = mode,
	};
}

/* As fake_source.h has it, with room for tables from the beginning. */
static int open_with_room(const struct probe_options *options, struct probe **out, char *why,
			  size_t why_len)
{
	source_.unwind_chunks = CHUNKS;
	return source_open(options, out, why, why_len);
}

static int recorder_make(void **state)
{
	static struct sample_source_ops ops;
	const struct recorder_options options = options_of(UNWIND_MODE_AUTO);
	const struct recorder_sink sink = { .stream = take_stream, .end = take_end };
	char why[256];

	(void)state;
	memset(&source_, 0, sizeof(source_));
	ops = source_ops;
	ops.open = open_with_room;
	return recorder_open_with(&options, &sink, &ops, &recorder, why, sizeof(why));
}

static int recorder_end(void **state)
{
	(void)state;
	recorder__free(recorder);
	return 0;
}

static void consume(void)
{
	assert_int_equal(recorder__consume(recorder), 0);
}

static void replace_namer(bool is_copy)
{
	link_.is_dead = true;
	link_.is_copy = is_copy;
	consume();
	consume();
}

/* What the namer that was started last heard first, or next. */
static struct naming_unwind unwind_heard(void)
{
	struct naming_unwind head = { 0 };
	struct packet packet;
	const uint32_t *ids;

	consume();
	assert_true(namer_hears(NAMING_UNWIND, &packet));
	assert_int_equal(naming_unwind_read(packet.bytes, packet.len, &head, &ids), 0);
	return head;
}

static void say_table(uint32_t epoch, uint32_t id)
{
	const struct naming_unwind_id which = { .epoch = epoch, .id = id };
	struct unwind_table table = unwind_table_of(1, 1);

	assert_int_equal(naming_unwind_table_put(&link_.namer, &which, &table), 0);
	assert_int_equal(packet_stream_flush_all(&link_.namer), 0);
	unwind_table_release(&table);
	consume();
}

static void each_namer_begins_with_the_tables_that_there_are(void **state)
{
	struct naming_unwind head = unwind_heard();

	(void)state;
	assert_int_equal(head.chunk_max, CHUNKS);
	say_table(head.epoch, 3);
	assert_int_equal(source_.table_cnt, 1);
	replace_namer(true);
	head = unwind_heard();
	assert_int_equal(head.id_cnt, 1);
	assert_int_equal(head.next_id, 4);
	replace_namer(false);
	head = unwind_heard();
	assert_int_equal(head.id_cnt, 0);
	assert_int_equal(head.next_id, 4);
}

static void a_table_that_makes_no_sense_ends_its_namer(void **state)
{
	struct naming_unwind head = unwind_heard();
	size_t started = link_.started_cnt;

	(void)state;
	say_table(head.epoch, 0);
	consume();
	assert_int_equal(link_.started_cnt, started + 1);
	assert_int_equal(source_.table_cnt, 0);
}

static void say(uint32_t kind, const void *bytes, size_t len)
{
	assert_int_equal(packet_stream_put_bytes(&link_.namer, kind, bytes, len), 0);
	assert_int_equal(packet_stream_flush_all(&link_.namer), 0);
	consume();
	consume();
}

/* Its values are the probe's to check (test_probe_ranges, test_probe_leafs): what it refuses is passed over. */
static void rules_for_leafs_and_frame_sizes_reach_the_kernel(void **state)
{
	const struct naming_leaf_rule rule = { .key = { .address = ~0ull, .pid = 42 },
					       .proof = { .place = 77, .ra = 3 },
					       .account = 9 };
	const struct naming_hotspot hotspot = { .pid = 43, .hotspot.flags = ~0u };
	size_t started = link_.started_cnt;

	(void)state;
	say(NAMING_LEAF_RULE, &rule, sizeof(rule));
	assert_int_equal(source_.leaf_pid, 42);
	say(NAMING_HOTSPOT, &hotspot, sizeof(hotspot));
	assert_int_equal(source_.hotspot_pid, 43);
	source_.order_err = -EINVAL;
	say(NAMING_LEAF_RULE, &rule, sizeof(rule));
	say(NAMING_HOTSPOT, &hotspot, sizeof(hotspot));
	assert_int_equal(link_.started_cnt, started);
}

static void rules_of_another_length_end_their_namer(void **state)
{
	static const struct {
		uint32_t kind;
		size_t len;
	} rows[] = {
		{ NAMING_LEAF_RULE, 0 },
		{ NAMING_LEAF_RULE, sizeof(struct naming_leaf_rule) - 1 },
		{ NAMING_LEAF_RULE, sizeof(struct naming_leaf_rule) + 8 },
		{ NAMING_HOTSPOT, 0 },
		{ NAMING_HOTSPOT, sizeof(struct naming_hotspot) - 8 },
		{ NAMING_HOTSPOT, sizeof(struct naming_hotspot) + 1 },
	};
	static const uint8_t bytes[1024];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t started = link_.started_cnt;

		say(rows[i].kind, bytes, rows[i].len);
		assert_int_equal(link_.started_cnt, started + 1);
		assert_int_equal(source_.leaf_pid + source_.hotspot_pid, 0);
	}
}

/* Options are in force from the window's end on. */
static void a_reload_turns_it_off_and_on(void **state)
{
	struct recorder_options options = options_of(UNWIND_MODE_FP);
	struct naming_unwind head = unwind_heard();
	char why[64];

	(void)state;
	say_table(head.epoch, 1);
	assert_int_equal(recorder__change(recorder, &options, why, sizeof(why)), 0);
	recorder__end_window(recorder);
	assert_int_equal(unwind_heard().chunk_max, 0);
	recorder__end_window(recorder);
	assert_int_equal(source_.table_cnt, 0);
	options = options_of(UNWIND_MODE_AUTO);
	assert_int_equal(recorder__change(recorder, &options, why, sizeof(why)), 0);
	recorder__end_window(recorder);
	head = unwind_heard();
	assert_int_equal(head.chunk_max, CHUNKS);
	say_table(head.epoch, head.next_id);
	assert_int_equal(source_.table_cnt, 1);
}

static void what_became_of_tables_is_in_the_figures(void **state)
{
	struct naming_end end = {
		.window_id = 1,
		.unwind_tables = 3,
		.unwind_bytes = 4,
		.unwind_built = 5,
		.unwind_evicted = 6,
		.unwind_refused = { [UNWIND_REFUSED_LARGE] = 1,
				    [UNWIND_REFUSED_DAMAGED] = 2,
				    [UNWIND_REFUSED_KERNEL] = 6 },
		.leafs_proved = 7,
		.leafs_refuted = 8,
	};
	struct packet packet;

	(void)state;
	recorder__end_window(recorder);
	consume();
	assert_true(namer_hears(NAMING_WINDOW, &packet));
	end.window_id = ((const struct naming_window *)packet.bytes)->window_id;
	namer_says(NAMING_END, &end, sizeof(end));
	consume();
	assert_int_equal(last.unwind.table_cnt, 3);
	assert_int_equal(last.unwind.bytes, 4);
	assert_int_equal(last.unwind_built, 5);
	assert_int_equal(last.unwind.evicted, 6);
	assert_int_equal(last.unwind.leafs_proved, 7);
	assert_int_equal(last.unwind.leafs_refuted, 8);
	assert_int_equal(last.unwind.refused[UNWIND_WHY_LARGE], 1);
	assert_int_equal(last.unwind.refused[UNWIND_WHY_DAMAGED], 2);
	assert_int_equal(last.unwind.refused[UNWIND_WHY_KERNEL], 6);
}

static void say_space(uint32_t epoch, uint32_t pid)
{
	struct naming_space said = {
		.space = { .start_ns = pid, .exec_id = 1 },
		.pid = pid,
		.epoch = epoch,
	};

	memset(said.space.start, 0xff, sizeof(said.space.start));
	namer_says(NAMING_SPACE, &said, sizeof(said));
	consume();
}

static void it_is_settled_when_the_mappings_of_all_that_were_sampled_are_known(void **state)
{
	struct naming_unwind head = unwind_heard();

	(void)state;
	assert_int_equal(recorder__settling(recorder), RECORDER_MET_NONE);
	source_notice(JBPF_NOTICE_SEEN, 5, 1);
	source_notice(JBPF_NOTICE_SEEN, 6, 1);
	consume();
	assert_int_equal(recorder__settling(recorder), RECORDER_IS_SETTLING);
	say_space(head.epoch, 5);
	assert_int_equal(recorder__settling(recorder), RECORDER_IS_SETTLING);
	say_space(head.epoch, 6);
	assert_int_equal(recorder__settling(recorder), RECORDER_IS_SETTLED);
}

static void it_is_settled_where_all_is_walked_by_frame_pointers(void **state)
{
	struct recorder_options options = options_of(UNWIND_MODE_FP);
	char why[64];

	(void)state;
	assert_int_equal(recorder__change(recorder, &options, why, sizeof(why)), 0);
	recorder__end_window(recorder);
	assert_int_equal(recorder__settling(recorder), RECORDER_IS_SETTLED);
}

/* Neither the namer nor the sink hears of what was counted before. */
static void a_window_that_is_dropped_is_as_if_it_had_not_been(void **state)
{
	struct packet packet;

	(void)state;
	source_notice(JBPF_NOTICE_SEEN, 5, 1);
	source_count(5, 1, 1, 30);
	recorder__drop_window(recorder);
	consume();
	assert_int_equal(source_.drain_cnt, 1);
	assert_true(recorder__is_idle(recorder));
	assert_false(namer_hears(NAMING_WINDOW, &packet));
	source_.count_cnt = 0;
	source_count(5, 1, 1, 2);
	recorder__end_window(recorder);
	consume();
	assert_true(namer_hears(NAMING_WINDOW, &packet));
	assert_int_equal(((const struct naming_window *)packet.bytes)->count_cnt, 1);
	assert_int_equal(((const struct naming_window *)packet.bytes)->window_id, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, recorder_make, recorder_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_namer_begins_with_the_tables_that_there_are),
		TEST(a_table_that_makes_no_sense_ends_its_namer),
		TEST(a_reload_turns_it_off_and_on),
		TEST(rules_for_leafs_and_frame_sizes_reach_the_kernel),
		TEST(rules_of_another_length_end_their_namer),
		TEST(what_became_of_tables_is_in_the_figures),
		TEST(it_is_settled_when_the_mappings_of_all_that_were_sampled_are_known),
		TEST(it_is_settled_where_all_is_walked_by_frame_pointers),
		TEST(a_window_that_is_dropped_is_as_if_it_had_not_been),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
