// SPDX-License-Identifier: Apache-2.0
/*
 * The thread that keeps the store: what it was handed is on disk, in order, and what is not is
 * counted in a host record. A disk that is slow is one whose thread was not started yet.
 */
#include "tests/unit/store_testing.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "user/daemon/daemon_writer.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

#define WINDOWS_MAX 16u /* that may wait */
#define SAMPLES	    10ull
#define TEXT	    "java;Main.main_[j] 10\n"

struct scene {
	struct test_store store;
	struct daemon_metrics metrics;
	struct daemon_options options;
	struct daemon_writer *writer;
	uint32_t window_cnt; /* handed over */
};

static int setup(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	if (!scene)
		return -1;
	log_set_level(LOG_LEVEL_ERR);
	test_store_make(&scene->store);
	scene->options.store = scene->store.dir;
	scene->writer = daemon_writer__new(&scene->metrics);
	*state = scene;
	return scene->writer ? daemon_writer__open(scene->writer, &scene->options) : -1;
}

static int teardown(void **state)
{
	struct scene *scene = *state;

	daemon_writer__free(scene->writer);
	daemon_metrics_close(&scene->metrics);
	test_store_remove(&scene->store);
	free(scene);
	return 0;
}

static struct window stream_of(uint32_t window_number, uint32_t pid)
{
	return (struct window){ .start_unix_ns = TEST_NS + window_number * WINDOW_NS,
				.duration_ns = WINDOW_NS,
				.pid = pid,
				.counts.samples = SAMPLES,
				.labels = { [WINDOW_LABEL_COMM] = "java" } };
}

/* The texts of both buffers are gone as soon as it has returned. */
static void add_stream(struct scene *scene, uint32_t pid, const char *text)
{
	struct window window = stream_of(scene->window_cnt, pid);
	char *copy = strdup(text), *comm = strdup("java");

	assert_true(copy && comm);
	window.labels[WINDOW_LABEL_COMM] = comm;
	daemon_writer__add(scene->writer, &window, copy, strlen(copy));
	memset(copy, 'x', strlen(text));
	memset(comm, 'x', 4);
	free(copy);
	free(comm);
}

static void end_window_of(struct scene *scene, uint64_t samples, const char *host_name)
{
	static const struct recorder_stats stats = { .unwind.table_cnt = 3,
						     .naming_problem = "naming is dead" };
	static const struct daemon_compactor compactor;
	struct window host = stream_of(scene->window_cnt++, 0);

	host.counts.samples = samples;
	host.labels[WINDOW_LABEL_COMM] = NULL;
	host.labels[WINDOW_LABEL_HOST] = host_name;
	daemon_writer__end(scene->writer, &host, 1, &stats, &compactor);
}

static void end_window(struct scene *scene, uint64_t samples)
{
	end_window_of(scene, samples, NULL);
}

/* Windows with one stream each, of the window's number as pid. */
static void hand_over(struct scene *scene, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++) {
		add_stream(scene, 1 + scene->window_cnt, TEXT);
		end_window(scene, SAMPLES);
	}
}

struct found {
	uint32_t pids[64]; /* 0: a host record */
	uint64_t lost[64];
	size_t cnt;
	uint64_t samples; /* of streams */
	uint64_t lost_total;
	char store_problem[256]; /* of the last host record */
	char unwind[256];	 /* likewise */
	char naming_problem[256];
	char host[256]; /* of the first host record */
	bool is_other;	/* something that nobody has written */
};

static int find(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct found *found = ctx;

	assert_true(found->cnt < ARRAY_SIZE(found->pids));
	found->lost[found->cnt] = window->lost[WINDOW_LOSS_STORE];
	found->lost_total += window->lost[WINDOW_LOSS_STORE];
	found->pids[found->cnt++] = window->pid;
	if (!window->pid) {
		if (!*found->host)
			(void)snprintf(found->host, sizeof(found->host), "%s",
				       window_label(window, WINDOW_LABEL_HOST));
		(void)snprintf(found->store_problem, sizeof(found->store_problem), "%s",
			       window_label(window, WINDOW_LABEL_STORE_PROBLEM));
		(void)snprintf(found->unwind, sizeof(found->unwind), "%s",
			       window_label(window, WINDOW_LABEL_UNWIND));
		(void)snprintf(found->naming_problem, sizeof(found->naming_problem), "%s",
			       window_label(window, WINDOW_LABEL_NAMING_PROBLEM));
		return 0;
	}
	found->samples += window->counts.samples;
	if (len != strlen(TEXT) || memcmp(text, TEXT, len) != 0 ||
	    strcmp(window_label(window, WINDOW_LABEL_COMM), "java") != 0)
		found->is_other = true;
	return 0;
}

/* All that is written when the thread has ended. */
static struct found written(struct scene *scene)
{
	struct found found = { .cnt = 0 };
	const struct store_visitor visitor = { .ctx = &found, .window = find };
	struct store_reader *reader;

	daemon_writer__wait(scene->writer);
	daemon_writer__free(take_ptr(scene->writer));
	assert_int_equal(store_reader__open(scene->store.dir, &reader), 0);
	assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 0);
	store_reader__free(reader);
	assert_false(found.is_other);
	return found;
}

static void windows_are_written_in_order_each_with_its_host_record(void **state)
{
	struct scene *scene = *state;
	struct found found;

	assert_int_equal(daemon_writer__start(scene->writer), 0);
	hand_over(scene, 5);
	found = written(scene);
	assert_int_equal(found.cnt, 10);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(found.pids[i], i & 1 ? 0 : 1 + i / 2);
	assert_int_equal(found.lost_total, 0);
	/* Which says what there is of tables. */
	assert_memory_equal(found.unwind, "tables=3 ", 9);
}

static void streams_of_one_window_stay_together(void **state)
{
	struct scene *scene = *state;
	struct found found;

	assert_int_equal(daemon_writer__start(scene->writer), 0);
	for (uint32_t pid = 1; pid <= 20; pid++)
		add_stream(scene, pid, TEXT);
	end_window(scene, 20 * SAMPLES);
	end_window(scene, 0);
	found = written(scene);
	assert_int_equal(found.cnt, 22);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(found.pids[i], i + 1);
	assert_int_equal(found.pids[20] + found.pids[21], 0);
}

static void serve_metrics(struct scene *scene)
{
	struct daemon_options options = scene->options;
	char address[300], why[300];

	(void)snprintf(address, sizeof(address), "unix:%s/metrics.sock", scene->store.dir);
	options.metrics = address;
	assert_int_equal(daemon_metrics_open(&scene->metrics, &options, why, sizeof(why)), 0);
	daemon_metrics_begin(&scene->metrics);
}

/* A folded text ends with a newline. */
static void a_stream_that_the_store_refuses_costs_that_stream_and_is_counted(void **state)
{
	struct scene *scene = *state;
	struct found found;

	serve_metrics(scene);
	assert_int_equal(daemon_writer__start(scene->writer), 0);
	add_stream(scene, 1, TEXT);
	add_stream(scene, 2, "java;cut 10");
	add_stream(scene, 3, TEXT);
	end_window(scene, 3 * SAMPLES);
	hand_over(scene, 1);
	found = written(scene);
	assert_int_equal(found.cnt, 5);
	assert_int_equal(found.pids[0], 1);
	assert_int_equal(found.pids[1], 3);
	assert_int_equal(found.pids[2], 0);
	assert_int_equal(found.lost[2], SAMPLES);
	assert_int_equal(found.lost_total, SAMPLES);
	assert_int_equal(scene->metrics.metrics.counts.samples, 3 * SAMPLES);
	assert_int_equal(scene->metrics.metrics.lost[WINDOW_LOSS_STORE], SAMPLES);
}

static void what_waits_for_a_slow_disk_is_written_all_the_same(void **state)
{
	struct scene *scene = *state;
	struct found found;

	hand_over(scene, WINDOWS_MAX);
	assert_int_equal(daemon_writer__start(scene->writer), 0);
	found = written(scene);
	assert_int_equal(found.cnt, 2 * WINDOWS_MAX);
	assert_int_equal(found.samples, WINDOWS_MAX * SAMPLES);
	assert_int_equal(found.lost_total, 0);
}

static void a_disk_that_is_too_slow_loses_the_newest_windows_and_counts_them_all(void **state)
{
	struct scene *scene = *state;
	struct found found;

	hand_over(scene, WINDOWS_MAX + 3);
	assert_int_equal(daemon_writer__start(scene->writer), 0);
	daemon_writer__wait(scene->writer);
	hand_over(scene, 1);
	found = written(scene);
	assert_int_equal(found.cnt, 2 * WINDOWS_MAX + 2);
	assert_int_equal(found.pids[2 * (WINDOWS_MAX - 1)], WINDOWS_MAX);
	assert_int_equal(found.pids[2 * WINDOWS_MAX], WINDOWS_MAX + 3 + 1);
	/* In the host record of the first one that got through. */
	assert_int_equal(found.lost[2 * WINDOWS_MAX + 1], 3 * SAMPLES);
	assert_int_equal(found.lost_total, 3 * SAMPLES);
}

/* As much a failed window as one that a full disk refuses; so is the last one when jbpfd stops. */
static void windows_that_a_slow_disk_loses_have_failed(void **state)
{
	struct scene *scene = *state;

	serve_metrics(scene);
	hand_over(scene, WINDOWS_MAX + 3);
	assert_true(daemon_writer__has_failed(scene->writer));
	assert_int_equal(daemon_writer__start(scene->writer), 0);
	daemon_writer__wait(scene->writer);
	hand_over(scene, 1);
	daemon_writer__wait(scene->writer);
	assert_false(daemon_writer__has_failed(scene->writer));
	assert_int_equal(scene->metrics.metrics.windows_written, WINDOWS_MAX + 1);
	assert_int_equal(scene->metrics.metrics.windows_failed, 3);
}

static void limit_file_bytes(rlim_t bytes)
{
	const struct rlimit limit = { .rlim_cur = bytes, .rlim_max = RLIM_INFINITY };

	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Each sample once: neither the window's sum nor a later window counts it again. */
static void windows_that_cannot_be_written_are_counted_in_the_next_that_can(void **state)
{
	struct scene *scene = *state;
	struct rlimit before;
	struct found found;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	if (before.rlim_max != RLIM_INFINITY)
		skip();
	(void)signal(SIGXFSZ, SIG_IGN);
	serve_metrics(scene);
	assert_int_equal(daemon_writer__start(scene->writer), 0);
	hand_over(scene, 1);
	daemon_writer__wait(scene->writer);
	assert_false(daemon_writer__has_failed(scene->writer));
	limit_file_bytes(8);
	hand_over(scene, 3);
	daemon_writer__wait(scene->writer);
	limit_file_bytes(RLIM_INFINITY);
	assert_true(daemon_writer__has_failed(scene->writer));
	/* The last window counts, however soon after a failure it was written. */
	hand_over(scene, 1);
	daemon_writer__wait(scene->writer);
	assert_false(daemon_writer__has_failed(scene->writer));
	hand_over(scene, 2);
	found = written(scene);
	assert_int_equal(found.cnt, 2 * 4);
	assert_int_equal(found.samples, 4 * SAMPLES);
	assert_int_equal(found.lost[3], 3 * SAMPLES);
	assert_int_equal(found.lost_total, 3 * SAMPLES);
	assert_int_equal(scene->metrics.metrics.lost[WINDOW_LOSS_STORE], 3 * SAMPLES);
	assert_int_equal(scene->metrics.metrics.counts.samples, 4 * SAMPLES);
}

/* It lives with the recorder, which may get another one (SIGHUP) or go while windows wait. */
static void a_window_that_waits_has_a_host_name_of_its_own(void **state)
{
	struct scene *scene = *state;
	char *name = strdup("node-7");
	struct found found;

	assert_non_null(name);
	end_window_of(scene, SAMPLES, name);
	memset(name, 'x', 6);
	free(name);
	end_window_of(scene, SAMPLES, "node-8");
	assert_int_equal(daemon_writer__start(scene->writer), 0);
	found = written(scene);
	assert_int_equal(found.cnt, 2);
	assert_string_equal(found.host, "node-7");
}

/* As after a SIGHUP, which waits for no disk: it may be slow just then. */
static void changed_limits_hold_from_the_next_window_that_ends(void **state)
{
	static const char old[] = "v1/cpu/2025/12/31/23.zst";
	struct scene *scene = *state;
	struct daemon_options options = { .keep_bytes = 1 };
	struct found found;

	test_write(&scene->store, old, "0123456789", 10);
	hand_over(scene, 1);
	daemon_writer__change(scene->writer, &options);
	assert_true(test_exists(&scene->store, old));
	assert_int_equal(daemon_writer__start(scene->writer), 0);
	daemon_writer__wait(scene->writer);
	assert_true(test_exists(&scene->store, old)); /* that window is of before */
	hand_over(scene, 1);
	found = written(scene);
	assert_false(test_exists(&scene->store, old));
	assert_int_equal(found.cnt, 4);
	assert_int_equal(found.lost_total, 0);
}

/* The hours are those of another year. */
static void what_is_not_well_with_the_store_is_in_the_host_records_and_the_metrics(void **state)
{
	static const char old[] = "v1/cpu/2001/12/31/23.zst";
	struct scene *scene = *state;
	struct daemon_options options = { .keep_age_ns = HOUR_NS };
	struct found found;

	test_write(&scene->store, old, "0123456789", 10);
	serve_metrics(scene);
	daemon_writer__change(scene->writer, &options);
	hand_over(scene, 1);
	assert_int_equal(daemon_writer__start(scene->writer), 0);
	found = written(scene);
	assert_non_null(strstr(found.store_problem, "nothing is deleted by age"));
	assert_string_equal(found.naming_problem, "naming is dead");
	assert_int_equal(scene->metrics.metrics.store_clock_off, 1);
	assert_true(scene->metrics.metrics.store_reserve_target_bytes > 0);
	assert_true(test_exists(&scene->store, old));
}

static void freeing_waits_for_what_was_handed_over(void **state)
{
	struct scene *scene = *state;
	struct found found = { .cnt = 0 };
	const struct store_visitor visitor = { .ctx = &found, .window = find };
	struct store_reader *reader;

	assert_int_equal(daemon_writer__start(scene->writer), 0);
	hand_over(scene, 10);
	add_stream(scene, 77, TEXT); /* of a window that was never ended */
	daemon_writer__free(take_ptr(scene->writer));
	assert_int_equal(store_reader__open(scene->store.dir, &reader), 0);
	assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 0);
	store_reader__free(reader);
	assert_int_equal(found.cnt, 20);
	daemon_writer__free(NULL);
}

static void a_thread_that_never_started_leaves_nothing_behind(void **state)
{
	struct scene *scene = *state;

	hand_over(scene, 2); /* freed by the teardown; ASan looks */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(windows_are_written_in_order_each_with_its_host_record),
		TEST(streams_of_one_window_stay_together),
		TEST(a_stream_that_the_store_refuses_costs_that_stream_and_is_counted),
		TEST(what_waits_for_a_slow_disk_is_written_all_the_same),
		TEST(a_disk_that_is_too_slow_loses_the_newest_windows_and_counts_them_all),
		TEST(windows_that_a_slow_disk_loses_have_failed),
		TEST(windows_that_cannot_be_written_are_counted_in_the_next_that_can),
		TEST(a_window_that_waits_has_a_host_name_of_its_own),
		TEST(changed_limits_hold_from_the_next_window_that_ends),
		TEST(what_is_not_well_with_the_store_is_in_the_host_records_and_the_metrics),
		TEST(freeing_waits_for_what_was_handed_over),
		TEST(a_thread_that_never_started_leaves_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
