// SPDX-License-Identifier: Apache-2.0
/*
 * What jbpfd counts of itself, window by window, and says in the store's state. How it is written as text:
 * test_metrics.c.
 */
#include "tests/unit/store_testing.h"

#include <errno.h>

#include "user/daemon/daemon_metrics.h"
#include "user/store/store_state.h"
#include "user/util/version.h"

#define MAP_BYTES 4096u
#define CPU_NS	  (3600ull * CLOCK_NS_PER_S) /* more than this program ever uses */

static struct test_store store;
static struct daemon_options options;
static struct store_writer *writer;
static struct daemon_metrics self;

static int set_up(void **state)
{
	char why[256];

	(void)state;
	memset(&self, 0, sizeof(self));
	test_store_make(&store);
	writer = test_writer(&store);
	options = (struct daemon_options){
		.store = store.dir,
		.frequency_hz = 99,
		.window_ns = WINDOW_NS,
	};
	if (daemon_metrics_open(&self, &options, why, sizeof(why)))
		return -1;
	daemon_metrics_begin(&self);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	daemon_metrics_close(&self);
	store_writer__free(writer);
	test_store_remove(&store);
	return 0;
}

static void end_window(bool is_written, uint64_t dropped)
{
	static const struct daemon_compactor compactor = { .done_cnt = 3, .failed_cnt = 4 };
	const struct recorder_stats stats = {
		.process_cnt = 5,
		.map_bytes = MAP_BYTES,
		.namer_restarts = 6,
		.naming_cpu_ns = CPU_NS,
		.naming_silent_ns = 42 * CLOCK_NS_PER_S,
	};
	const struct daemon_metrics_parts parts = {
		.options = &options,
		.stats = &stats,
		.writer = writer,
		.compactor = &compactor,
		.begin_boot_ns = clock_boot_ns(),
		.is_written = is_written,
		.dropped_windows = dropped,
	};

	daemon_metrics_end(&self, &parts);
}

static void note_stream(const char *container, uint64_t samples)
{
	const struct window window = {
		.pid = 42,
		.counts = { .samples = samples },
		.labels = { [WINDOW_LABEL_CONTAINER] = container },
	};

	daemon_metrics_note(&self, &window);
	daemon_metrics_count(&self, &window);
}

static void samples_count_when_their_window_is_written(void **state)
{
	(void)state;
	note_stream("shop", 7);
	end_window(false, 0);
	assert_int_equal(self.metrics.counts.samples, 0);
	assert_int_equal(self.metrics.windows_failed, 1);
	note_stream("shop", 8);
	assert_int_equal(self.metrics.counts.samples, 0);
	end_window(true, 0);
	assert_int_equal(self.metrics.counts.samples, 8);
	assert_int_equal(self.metrics.windows_written, 1);
	assert_int_equal(self.metrics.windows_failed, 1);
}

static void time_without_a_cpu_comes_with_off_cpu_alone(void **state)
{
	const struct window waits = { .pid = 42,
				      .event = EVENT_OFF_CPU,
				      .counts = { .samples = 7, .run_delay_ns = 5000 } };

	(void)state;
	daemon_metrics_count(&self, &waits);
	note_stream("shop", 8);
	end_window(true, 0);
	assert_int_equal(self.metrics.counts.run_delay_ns, 5000);
	assert_int_equal(self.metrics.counts.samples, 8);
}

static void a_container_with_many_processes_counts_once(void **state)
{
	(void)state;
	note_stream("shop", 1);
	note_stream("shop", 1);
	note_stream("bank", 1);
	note_stream(NULL, 1);
	end_window(true, 0);
	assert_int_equal(self.metrics.streams, 4);
	assert_int_equal(self.metrics.containers, 2);
	note_stream("bank", 1);
	assert_int_equal(self.metrics.streams, 1); /* of the next window */
	end_window(true, 0);
	assert_int_equal(self.metrics.containers, 1);
}

static void losses_of_host_records_add_up(void **state)
{
	struct window host = { .lost = { [WINDOW_LOSS_MEMORY] = 3, [WINDOW_LOSS_STORE] = 4 } };

	(void)state;
	for (int i = 0; i < 2; i++) {
		daemon_metrics_note(&self, &host);
		end_window(true, 0);
	}
	assert_int_equal(self.metrics.lost[WINDOW_LOSS_MEMORY], 6);
	assert_int_equal(self.metrics.lost[WINDOW_LOSS_STORE], 8);
	assert_int_equal(self.metrics.streams, 0);
}

static void windows_that_found_no_place_failed(void **state)
{
	(void)state;
	end_window(true, 5);
	assert_int_equal(self.metrics.windows_written, 1);
	assert_int_equal(self.metrics.windows_failed, 5);
}

static void the_parts_are_asked_at_the_end_of_a_window(void **state)
{
	(void)state;
	end_window(true, 0);
	assert_int_equal(self.metrics.processes, 5);
	assert_int_equal(self.metrics.map_bytes, MAP_BYTES);
	assert_int_equal(self.metrics.namer_restarts, 6);
	assert_int_equal(self.metrics.naming_silent_ns, 42 * CLOCK_NS_PER_S);
	assert_int_equal(self.metrics.compactions_done, 3);
	assert_int_equal(self.metrics.compactions_failed, 4);
	assert_int_equal(self.metrics.frequency_hz, 99);
	assert_true(self.metrics.cpu_ns >= CPU_NS);
}

static void the_state_is_there_from_the_start_to_the_end_and_follows_each_window(void **state)
{
	struct daemon_metrics failed = { 0 };
	struct store_state said;
	uint64_t now = clock_unix_ns();
	char why[256];

	(void)state;
	assert_int_equal(store_state_read(store.dir, &said), 0);
	assert_string_equal(said.version, jbpf_version);
	assert_int_equal(said.window_ns, WINDOW_NS);
	assert_int_equal(said.windows_written, 0);
	assert_true(store_state_is_fresh(&said, now));
	assert_true(said.start_unix_ns <= said.written_unix_ns);
	end_window(true, 0);
	end_window(false, 0);
	assert_int_equal(store_state_read(store.dir, &said), 0);
	assert_int_equal(said.windows_written, 1);
	assert_int_equal(said.windows_failed, 1);
	assert_true(said.cpu_ns >= CPU_NS);
	assert_true(said.resident_bytes > 0);
	assert_true(said.written_unix_ns >= now);
	/* One that never sampled leaves it alone. */
	assert_int_equal(daemon_metrics_open(&failed, &options, why, sizeof(why)), 0);
	daemon_metrics_close(&failed);
	assert_int_equal(store_state_read(store.dir, &said), 0);
	assert_int_equal(said.windows_written, 1);
	daemon_metrics_close(&self);
	assert_int_equal(store_state_read(store.dir, &said), -ENOENT);
}

static void a_state_that_cannot_be_written_ends_nothing(void **state)
{
	char path[256];

	(void)state;
	assert_int_equal(unlink(test_path(&store, STORE_STATE_NAME, path)), 0);
	assert_int_equal(mkdir(path, 0755), 0);
	end_window(true, 0);
	assert_int_equal(self.metrics.windows_written, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(samples_count_when_their_window_is_written),
		TEST(time_without_a_cpu_comes_with_off_cpu_alone),
		TEST(a_container_with_many_processes_counts_once),
		TEST(losses_of_host_records_add_up),
		TEST(windows_that_found_no_place_failed),
		TEST(the_parts_are_asked_at_the_end_of_a_window),
		TEST(the_state_is_there_from_the_start_to_the_end_and_follows_each_window),
		TEST(a_state_that_cannot_be_written_ends_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
