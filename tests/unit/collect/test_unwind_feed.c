// SPDX-License-Identifier: Apache-2.0
/* What a namer says of tables and mappings, and what the kernel is told; over namers that follow each other. */
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
#include "user/collect/unwind_feed.h"

#define PID	42u
#define ADDRESS 0x7f0000000000ull

static struct sample_source source = { .ops = &source_ops, .probe = &source_ };
static struct unwind_feed feed;
static struct naming_unwind heard; /* by the namer, the last */
static uint32_t heard_ids[8];

/* What the namer was told at its beginning; false: nothing. */
static bool hear(void)
{
	const uint32_t *ids;
	struct packet packet;

	assert_int_equal(packet_stream_flush_all(&link_.stream), 0);
	if (!namer_hears(NAMING_UNWIND, &packet))
		return false;
	assert_int_equal(naming_unwind_read(packet.bytes, packet.len, &heard, &ids), 0);
	assert_true(heard.id_cnt <= 8);
	memcpy(heard_ids, ids, heard.id_cnt * sizeof(*ids));
	return true;
}

static int feed_make(void **state)
{
	(void)state;
	memset(&source_, 0, sizeof(source_));
	source_.unwind_chunks = 4;
	link_open();
	unwind_feed_init(&feed, &source, NULL);
	unwind_feed_begin(&feed, UNWIND_MODE_AUTO, UNWIND_FEED_NEW_NAMER);
	return hear() ? 0 : -1;
}

static int feed_free(void **state)
{
	(void)state;
	unwind_feed_release(&feed);
	namer_link__free(NULL);
	return 0;
}

/* ---- what the namer says ---- */

static int say_table_as(uint32_t epoch, uint32_t id, uint32_t page_cnt, uint32_t frame_words)
{
	const struct naming_unwind_id which = { .epoch = epoch, .id = id };
	struct unwind_table table = unwind_table_of(page_cnt, frame_words);
	struct packet_stream stream;
	struct packet packet;
	int err;

	packet_stream_init(&stream, -1, PACKET_MAX_BYTES);
	assert_int_equal(naming_unwind_table_put(&stream, &which, &table), 0);
	packet_stream_turn(&stream);
	assert_true(packet_stream_next(&stream, &packet, &err));
	assert_int_equal(packet.kind, NAMING_UNWIND_TABLE);
	err = unwind_feed_take_table(&feed, &packet);
	packet_stream_release(&stream);
	unwind_table_release(&table);
	return err;
}

static int say_table(uint32_t id, uint32_t chunk_cnt)
{
	return say_table_as(heard.epoch, id, PAGES_OF_CHUNKS(chunk_cnt), 1);
}

static int say_drop(uint32_t id)
{
	const struct naming_unwind_id which = { .epoch = heard.epoch, .id = id };
	const struct packet packet = { .bytes = &which, .len = sizeof(which) };

	return unwind_feed_take_drop(&feed, &packet);
}

static struct naming_space space_of(uint32_t table, uint32_t page, uint32_t page_cnt)
{
	struct naming_space said = { .pid = PID, .epoch = heard.epoch };

	said.space.mapping_cnt = 1;
	for (size_t i = 0; i < JBPF_SPACE_MAX_MAPPINGS; i++)
		said.space.start[i] = UINT64_MAX;
	said.space.start[0] = ADDRESS;
	said.space.mappings[0] =
		(struct jbpf_mapping){ .table = table, .page = page, .page_cnt = page_cnt };
	return said;
}

static int say_space(const struct naming_space *said)
{
	const struct packet packet = { .bytes = said, .len = sizeof(*said) };

	return unwind_feed_take_space(&feed, &packet);
}

static bool has_table(uint32_t id)
{
	for (size_t i = 0; i < source_.table_cnt; i++)
		if (source_.tables[i] == id)
			return true;
	return false;
}

/* ---- tests ---- */

static void a_namer_is_told_the_room_first(void **state)
{
	(void)state;
	assert_int_equal(heard.chunk_max, 4);
	assert_int_equal(heard.id_cnt, 0);
	assert_int_equal(heard.next_id, 1);
}

static void tables_and_spaces_reach_the_kernel(void **state)
{
	struct naming_space said = space_of(1, 3, 5);

	(void)state;
	assert_int_equal(say_table(1, 1), 0);
	assert_int_equal(say_space(&said), 0);
	assert_true(has_table(1));
	assert_int_equal(source_.space_pid, PID);
	assert_memory_equal(&source_.space, &said.space, sizeof(said.space));
}

static void nonsense_ends_the_conversation(void **state)
{
	uint32_t page_cnt = PAGES_OF_CHUNKS(1);
	struct naming_space beyond = space_of(1, 0, page_cnt + 1);
	struct naming_space far = space_of(1, page_cnt, 1);
	struct naming_space nobodys = space_of(1, 0, 1);
	struct naming_space crooked = space_of(1, 0, 1);
	struct naming_space many = space_of(1, 0, 1);

	(void)state;
	assert_int_equal(say_table(1, 1), 0);
	/* An id for two contents. */
	assert_int_equal(say_table(1, 1), -EBADMSG);
	assert_int_equal(say_table(0, 1), -EBADMSG);
	assert_int_equal(say_table(JBPF_UNWIND_MAX_TABLE + 1, 1), -EBADMSG);
	/* Pages that the table has not. */
	assert_int_equal(say_space(&beyond), -EBADMSG);
	assert_int_equal(say_space(&far), -EBADMSG);
	nobodys.pid = 0;
	assert_int_equal(say_space(&nobodys), -EBADMSG);
	crooked.space.start[0] = ADDRESS + 1;
	assert_int_equal(say_space(&crooked), -EBADMSG);
	many.space.mapping_cnt = JBPF_SPACE_MAX_MAPPINGS + 1;
	assert_int_equal(say_space(&many), -EBADMSG);
	assert_int_equal(source_.space_cnt, 0);
}

static void a_table_cut_short_is_nonsense(void **state)
{
	const struct naming_unwind_id which = { .epoch = heard.epoch, .id = 1 };
	struct unwind_table table = unwind_table_of(4, 1);
	struct packet_stream stream;
	struct packet packet;
	size_t len;
	int err;

	(void)state;
	packet_stream_init(&stream, -1, PACKET_MAX_BYTES);
	assert_int_equal(naming_unwind_table_put(&stream, &which, &table), 0);
	packet_stream_turn(&stream);
	assert_true(packet_stream_next(&stream, &packet, &err));
	len = packet.len;
	for (packet.len = 0; packet.len < len; packet.len++)
		assert_int_equal(unwind_feed_take_table(&feed, &packet), -EBADMSG);
	assert_int_equal(unwind_feed_take_table(&feed, &packet), 0);
	packet_stream_release(&stream);
	unwind_table_release(&table);
}

static void what_is_refused_is_named_by_no_space(void **state)
{
	struct naming_space said = space_of(1, 0, 1);
	const struct naming_unwind_id *id;
	struct packet packet;

	(void)state;
	source_.order_err = -ENOMEM;
	assert_int_equal(say_table(1, 1), 0);
	source_.order_err = 0;
	assert_int_equal(packet_stream_flush_all(&link_.stream), 0);
	assert_true(namer_hears(NAMING_UNWIND_REFUSED, &packet));
	id = packet.bytes;
	assert_int_equal(id->id, 1);
	assert_int_equal(id->epoch, heard.epoch);
	/* The namer did not know yet. */
	assert_int_equal(say_space(&said), 0);
	assert_int_equal(source_.space.mappings[0].table, 0);
	assert_int_equal(source_.space.mappings[0].page_cnt, 1);
}

static void there_is_no_more_room_than_there_is(void **state)
{
	(void)state;
	assert_int_equal(say_table(1, 2), 0);
	assert_int_equal(say_table(2, 3), 0);
	assert_false(has_table(2));
	assert_int_equal(say_table(3, 2), 0);
	assert_true(has_table(3));
}

/* A walk may be in the middle of it. */
static void dropped_tables_go_after_a_drain(void **state)
{
	struct naming_space said = space_of(1, 0, 1);

	(void)state;
	assert_int_equal(say_table(1, 2), 0);
	assert_int_equal(say_drop(1), 0);
	assert_true(has_table(1));
	assert_int_equal(say_space(&said), 0);
	assert_int_equal(source_.space.mappings[0].table, 0);
	unwind_feed_end_window(&feed);
	assert_false(has_table(1));
	/* Or before, when its room is wanted. */
	assert_int_equal(say_table(2, 3), 0);
	assert_int_equal(say_drop(2), 0);
	assert_int_equal(say_table(3, 3), 0);
	assert_false(has_table(2));
	assert_true(has_table(3));
	/* One that is unknown: nothing happens. */
	assert_int_equal(say_drop(7), 0);
}

static void a_new_namer_finds_nothing_and_takes_no_id_again(void **state)
{
	struct naming_space said = space_of(2, 0, 1);
	uint32_t epoch = heard.epoch;

	(void)state;
	assert_int_equal(say_table(1, 1), 0);
	assert_int_equal(say_table(2, 1), 0);
	assert_int_equal(say_space(&said), 0);
	unwind_feed_begin(&feed, UNWIND_MODE_AUTO, UNWIND_FEED_NEW_NAMER);
	assert_true(hear());
	assert_int_equal(heard.id_cnt, 0);
	assert_int_equal(heard.next_id, 3);
	assert_int_equal(source_.space_pid, 0);
	unwind_feed_end_window(&feed);
	assert_int_equal(source_.table_cnt, 0);
	/* What the last one said is not heard any more. */
	assert_int_equal(say_table_as(epoch, 4, 1, 1), 0);
	assert_int_equal(source_.table_cnt, 0);
	assert_int_equal(say_space(&said), 0);
	assert_int_equal(source_.space_pid, 0);
}

/* Its maker made table 3 after it was made: the copy hears of it, and that 4 is next. */
static void a_copy_is_told_what_there_is(void **state)
{
	struct naming_space said = space_of(1, 0, 1);

	(void)state;
	for (uint32_t id = 1; id <= 3; id++)
		assert_int_equal(say_table(id, 1), 0);
	assert_int_equal(say_drop(2), 0);
	assert_int_equal(say_space(&said), 0);
	unwind_feed_begin(&feed, UNWIND_MODE_AUTO, UNWIND_FEED_COPY);
	assert_true(hear());
	assert_int_equal(heard.next_id, 4);
	assert_int_equal(heard.id_cnt, 2);
	assert_int_equal(heard_ids[0], 1);
	assert_int_equal(heard_ids[1], 3);
	assert_int_equal(source_.space_pid, PID);
	assert_true(has_table(1) && has_table(3));
	/* It knows nothing of the last one, and drops it. */
	assert_int_equal(say_drop(3), 0);
	unwind_feed_end_window(&feed);
	assert_false(has_table(3));
}

/* A process that the namer forgot while it was idle has a space still, with ids of long ago. */
static void when_ids_come_round_no_space_names_one_of_before(void **state)
{
	struct naming_space said = space_of(1, 0, 1);

	(void)state;
	assert_int_equal(say_table(1, 1), 0);
	assert_int_equal(say_space(&said), 0);
	/* Dropped: the space of the idle one is not told again, and names what is not there. */
	assert_int_equal(say_drop(1), 0);
	unwind_feed_end_window(&feed);
	assert_false(has_table(1));
	assert_int_equal(say_table(2, 1), 0);
	assert_int_equal(source_.space_pid, PID);
	assert_int_equal(say_table(JBPF_UNWIND_MAX_TABLE, 1), 0);
	assert_int_equal(source_.space_pid, 0);
	assert_true(hear());
	assert_int_equal(heard.id_cnt, 0);
	assert_int_equal(heard.next_id, 1);
	assert_int_equal(heard.chunk_max, 4);
	assert_int_equal(source_.table_cnt, 0);
	/* All room is there, and ids of before are new ones. */
	assert_int_equal(say_table(1, 2), 0);
	assert_int_equal(say_table(2, 2), 0);
	assert_true(has_table(1) && has_table(2));
}

static void frame_pointers_alone_need_nothing(void **state)
{
	struct naming_space said = space_of(1, 0, 1);

	(void)state;
	assert_int_equal(say_table(1, 1), 0);
	assert_int_equal(say_space(&said), 0);
	unwind_feed_begin(&feed, UNWIND_MODE_FP, UNWIND_FEED_NEW_NAMER);
	assert_true(hear());
	assert_int_equal(heard.chunk_max, 0);
	assert_int_equal(source_.space_pid, 0);
	unwind_feed_end_window(&feed);
	assert_int_equal(source_.table_cnt, 0);
	assert_int_equal(say_table(2, 1), 0);
	assert_int_equal(source_.table_cnt, 0);
	/* And back. */
	unwind_feed_begin(&feed, UNWIND_MODE_AUTO, UNWIND_FEED_NEW_NAMER);
	assert_true(hear());
	assert_int_equal(heard.chunk_max, 4);
	assert_int_equal(heard.next_id, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, feed_make, feed_free)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_namer_is_told_the_room_first),
		TEST(tables_and_spaces_reach_the_kernel),
		TEST(nonsense_ends_the_conversation),
		TEST(a_table_cut_short_is_nonsense),
		TEST(what_is_refused_is_named_by_no_space),
		TEST(there_is_no_more_room_than_there_is),
		TEST(dropped_tables_go_after_a_drain),
		TEST(a_new_namer_finds_nothing_and_takes_no_id_again),
		TEST(a_copy_is_told_what_there_is),
		TEST(when_ids_come_round_no_space_names_one_of_before),
		TEST(frame_pointers_alone_need_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
