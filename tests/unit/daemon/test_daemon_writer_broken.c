// SPDX-License-Identifier: Apache-2.0
/*
 * What waits for the disk in memory and is not what was put there. Nobody can bring that about from
 * outside of the file, so it is part of this program.
 */
#include "user/daemon/daemon_writer.c" /* NOLINT(bugprone-suspicious-include) */

#include "tests/unit/store_testing.h"

#define STREAM_CNT 3u
#define SAMPLES	   10ull
#define TEXT	   "java;Main.main_[j] 10\n"

/* Breaks the queue of the window that is being filled. */
typedef void (*breaker)(struct strbuf *queue, size_t packet_bytes);

static void break_second_content(struct strbuf *queue, size_t packet_bytes)
{
	memset(queue->data + packet_bytes + 16, 0xff, packet_bytes - 16);
}

static void break_second_head(struct strbuf *queue, size_t packet_bytes)
{
	memset(queue->data + packet_bytes, 0xff, 16);
}

static void end_short(struct strbuf *queue, size_t packet_bytes)
{
	strbuf_truncate(queue, 3 * packet_bytes - 8);
}

static int sum_lost(void *ctx, const struct window *window, const char *text, size_t len)
{
	uint64_t *sums = ctx;

	(void)text;
	(void)len;
	sums[0] += window->pid ? window->counts.samples : 0;
	sums[1] += window->lost[WINDOW_LOSS_STORE];
	return 0;
}

static void fill(struct daemon_writer *writer, breaker breaks)
{
	static const struct recorder_stats stats;
	static const struct daemon_compactor compactor;
	struct window window = { .start_unix_ns = TEST_NS, .duration_ns = WINDOW_NS };
	size_t packet_bytes = 0;

	for (window.pid = 1; window.pid <= STREAM_CNT; window.pid++) {
		window.counts.samples = SAMPLES;
		daemon_writer__add(writer, &window, TEXT, strlen(TEXT));
		packet_bytes = writer->present->streams.out.len / window.pid;
	}
	breaks(&writer->present->streams.out, packet_bytes);
	window.pid = 0;
	window.counts.samples = STREAM_CNT * SAMPLES;
	daemon_writer__end(writer, &window, 1, &stats, &compactor);
}

static void streams_that_cannot_be_read_any_more_are_counted_as_lost(void **state)
{
	static const struct {
		breaker breaks;
		uint64_t lost;
	} rows[] = {
		{ break_second_content, SAMPLES },
		{ break_second_head, 2 * SAMPLES },
		{ end_short, SAMPLES },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct daemon_metrics metrics = { .server = NULL };
		struct test_store store;
		struct daemon_options options = { .store = store.dir };
		struct daemon_writer *writer = daemon_writer__new(&metrics);
		uint64_t sums[2] = { 0 };
		const struct store_visitor visitor = { .ctx = sums, .window = sum_lost };
		struct store_reader *reader;

		test_store_make(&store);
		assert_non_null(writer);
		assert_int_equal(daemon_writer__open(writer, &options), 0);
		fill(writer, rows[i].breaks);
		assert_int_equal(daemon_writer__start(writer), 0);
		daemon_writer__free(writer);
		assert_int_equal(store_reader__open(store.dir, &reader), 0);
		assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 0);
		store_reader__free(reader);
		assert_int_equal(sums[1], rows[i].lost);
		assert_int_equal(sums[0] + sums[1], STREAM_CNT * SAMPLES);
		test_store_remove(&store);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_that_cannot_be_read_any_more_are_counted_as_lost),
	};

	log_set_level(LOG_LEVEL_ERR);
	return cmocka_run_group_tests_name("daemon_writer_broken", tests, NULL, NULL);
}
