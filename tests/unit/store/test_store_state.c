// SPDX-License-Identifier: Apache-2.0
/*
 * What jbpfd says of itself beside the profiles: written whole or not at all, and read as what strangers
 * wrote. On a full disk: test_store_full.c.
 */
#include "tests/unit/store_testing.h"

#include <errno.h>
#include <sys/wait.h>

#include "user/store/store_state.h"
#include "user/util/cleanup.h"

#define TEMPORARY  ".state.tmp"
#define TURNS	   300
#define LARGE	   20000
#define SOME_BYTES "0123456789abcdef"

static const char metrics[] = "# HELP jbpf_windows_written_total Windows written to the store.\n"
			      "# TYPE jbpf_windows_written_total counter\n"
			      "jbpf_windows_written_total 378\n"
			      "jbpf_windows_failed_total 2\n"
			      "jbpf_unsampled_cpus 3\n"
			      "jbpf_window_end_duration_seconds_bucket{le=\"0.010\"} 5\n"
			      "process_cpu_seconds_total 12.000000345\n"
			      "process_resident_memory_bytes 32718848\n"
			      "process_start_time_seconds 1700000000.500000000\n"
			      "jbpf_build_info{version=\"v1.2-3\"} 1\n"
			      "jbpf_config_window_seconds 10.000000000\n";

static struct test_store store;

static int set_up(void **state)
{
	(void)state;
	test_store_make(&store);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	test_store_remove(&store);
	return 0;
}

static void put(const char *text, size_t len)
{
	test_write(&store, STORE_STATE_NAME, text, len);
}

static int write_text(const char *text, uint64_t now_unix_ns)
{
	__cleanup_strbuf struct strbuf buf = STRBUF_INIT;

	strbuf_puts(&buf, text);
	assert_int_equal(strbuf_error(&buf), 0);
	return store_state_write(store.dir, &buf, now_unix_ns);
}

static void what_is_written_is_read(void **state)
{
	struct store_state said;
	char path[256];
	struct stat st;

	(void)state;
	assert_int_equal(write_text(metrics, TEST_NS), 0);
	assert_int_equal(store_state_read(store.dir, &said), 0);
	assert_int_equal(said.written_unix_ns, TEST_NS);
	assert_int_equal(said.start_unix_ns, 1700000000500000000);
	assert_int_equal(said.window_ns, WINDOW_NS);
	assert_int_equal(said.cpu_ns, 12000000345);
	assert_int_equal(said.resident_bytes, 32718848);
	assert_int_equal(said.windows_written, 378);
	assert_int_equal(said.windows_failed, 2);
	assert_int_equal(said.unsampled_cpus, 3);
	assert_string_equal(said.version, "v1.2-3");
	/* For owner and group, as the profiles are; nothing else is left. */
	assert_int_equal(stat(test_path(&store, STORE_STATE_NAME, path), &st), 0);
	assert_int_equal(st.st_mode & 07777 & ~0640u, 0);
	assert_false(test_exists(&store, TEMPORARY));
}

static void the_file_has_all_lines_but_comments_below_its_own(void **state)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	const char *begin = strstr(metrics, "jbpf_windows_written_total 378");

	(void)state;
	assert_int_equal(write_text(metrics, TEST_NS), 0);
	test_read(&store, STORE_STATE_NAME, &text);
	assert_memory_equal(text.data, "# jbpf-state 1 ", 15);
	assert_string_equal(strchr(text.data, '\n') + 1, begin);
}

static void the_old_one_is_replaced(void **state)
{
	struct store_state said;

	(void)state;
	assert_int_equal(write_text(metrics, TEST_NS), 0);
	test_write(&store, TEMPORARY, SOME_BYTES, strlen(SOME_BYTES)); /* of one that was killed */
	assert_int_equal(write_text("jbpf_windows_written_total 379\n", TEST_NS + 1), 0);
	assert_int_equal(store_state_read(store.dir, &said), 0);
	assert_int_equal(said.windows_written, 379);
	assert_int_equal(said.windows_failed, 0);
	assert_int_equal(said.written_unix_ns, TEST_NS + 1);
	assert_string_equal(said.version, "");
}

static void none_and_another_version_are_told_apart(void **state)
{
	static const char later[] = "# jbpf-state 2 whatever is there\n";
	struct store_state said = { .windows_written = 7 };

	(void)state;
	assert_int_equal(store_state_read(store.dir, &said), -ENOENT);
	assert_int_equal(store_state_read("/nonexistent", &said), -ENOENT);
	put(later, strlen(later));
	assert_int_equal(store_state_read(store.dir, &said), -EPROTONOSUPPORT);
	assert_int_equal(said.windows_written, 7);
}

/* A write that was torn, or a disk that lies. */
static void every_shorter_file_and_every_changed_byte_is_damage(void **state)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT, changed = STRBUF_INIT;
	struct store_state said = { .windows_written = 7 };

	(void)state;
	assert_int_equal(write_text("jbpf_windows_written_total 378\n", TEST_NS), 0);
	test_read(&store, STORE_STATE_NAME, &text);
	for (size_t len = 0; len < text.len; len++) {
		put(text.data, len);
		assert_true(store_state_read(store.dir, &said) < 0);
	}
	for (size_t i = 0; i < text.len; i++) {
		int err;

		strbuf_clear(&changed);
		strbuf_add(&changed, &text);
		changed.data[i] ^= 1;
		put(changed.data, changed.len);
		err = store_state_read(store.dir, &said);
		assert_true(err == -EBADMSG || err == -EPROTONOSUPPORT);
	}
	assert_int_equal(said.windows_written, 7);
}

static void what_is_no_file_of_usual_size_is_damage(void **state)
{
	__cleanup_strbuf struct strbuf large = STRBUF_INIT;
	struct store_state said;
	char path[256];

	(void)state;
	test_path(&store, STORE_STATE_NAME, path);
	assert_int_equal(mkfifo(path, 0640), 0); /* and nobody waits for its other end */
	assert_int_equal(store_state_read(store.dir, &said), -EBADMSG);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0750), 0);
	assert_int_equal(store_state_read(store.dir, &said), -EBADMSG);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(store_state_read(store.dir, &said), -EBADMSG);
	assert_int_equal(unlink(path), 0);
	strbuf_puts(&large, "# jbpf-state 1 00000000 ");
	while (large.len <= STORE_STATE_BYTES_MAX)
		strbuf_puts(&large, SOME_BYTES "\n");
	assert_int_equal(strbuf_error(&large), 0);
	put(large.data, large.len);
	assert_int_equal(store_state_read(store.dir, &said), -EBADMSG);
	assert_int_equal(store_state_write(store.dir, &large, TEST_NS), -E2BIG);
}

/* Whoever wrote it: its checksum is right. */
static void what_is_no_number_counts_as_not_there(void **state)
{
	struct store_state said;

	(void)state;
	assert_int_equal(write_text("jbpf_windows_written_total -1\n"
				    "jbpf_windows_failed_total 99999999999999999999\n"
				    "jbpf_windows_failed_total\n"
				    "jbpf_windows_failed_totals 3\n"
				    "process_cpu_seconds_total 1.5\n"
				    "process_start_time_seconds 18446744073709551615.000000000\n"
				    "process_resident_memory_bytes  5\n"
				    "jbpf_config_window_seconds .000000000\n"
				    "jbpf_build_info{version=\"no end\n",
				    TEST_NS),
			 0);
	assert_int_equal(store_state_read(store.dir, &said), 0);
	assert_int_equal(said.written_unix_ns, TEST_NS);
	said.written_unix_ns = 0;
	for (size_t i = 0; i < sizeof(said); i++)
		assert_int_equal(((const unsigned char *)&said)[i], 0);
}

static void a_long_version_is_cut(void **state)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct store_state said;

	(void)state;
	strbuf_puts(&text, "jbpf_build_info{version=\"");
	for (int i = 0; i < LARGE; i++)
		strbuf_putc(&text, '\x1b');
	strbuf_puts(&text, "\"} 1\n");
	assert_int_equal(write_text(strbuf_str(&text), TEST_NS), 0);
	assert_int_equal(store_state_read(store.dir, &said), 0);
	assert_int_equal(strlen(said.version), STORE_STATE_VERSION_BYTES - 1);
}

static void it_is_fresh_for_three_windows_and_half_a_minute_at_least(void **state)
{
	static const struct {
		uint64_t window_ns;
		int64_t age_ns;
		bool is_fresh;
	} rows[] = {
		{ WINDOW_NS, 0, true },
		{ WINDOW_NS, 3 * (int64_t)WINDOW_NS, true },
		{ WINDOW_NS, 3 * (int64_t)WINDOW_NS + 1, false },
		{ CLOCK_NS_PER_S, 30 * (int64_t)CLOCK_NS_PER_S, true },
		{ 0, 31 * (int64_t)CLOCK_NS_PER_S, false },
		{ HOUR_NS, 3 * (int64_t)HOUR_NS, true },
		{ UINT64_MAX, 1000 * (int64_t)HOUR_NS, true },
		/* The clock was set back. */
		{ WINDOW_NS, -3 * (int64_t)WINDOW_NS, true },
		{ WINDOW_NS, -24 * (int64_t)HOUR_NS, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct store_state said = { .written_unix_ns = TEST_NS,
						  .window_ns = rows[i].window_ns };

		assert_int_equal(store_state_is_fresh(&said, TEST_NS + (uint64_t)rows[i].age_ns),
				 rows[i].is_fresh);
	}
}

static void a_reader_meets_whole_states_only(void **state)
{
	bool has_ended = false;
	uint64_t last = 0;
	int status = -1;
	pid_t child;

	(void)state;
	assert_int_equal(write_text("jbpf_windows_written_total 0\njbpf_windows_failed_total 0\n",
				    TEST_NS),
			 0);
	child = fork();
	if (child == 0) {
		for (unsigned int i = 1; i <= TURNS; i++) {
			char text[128];

			(void)snprintf(
				text, sizeof(text),
				"jbpf_windows_written_total %u\njbpf_windows_failed_total %u\n", i,
				i);
			if (write_text(text, TEST_NS + i))
				_exit(1);
		}
		_exit(0);
	}
	assert_true(child > 0);
	while (!has_ended) {
		struct store_state said;

		has_ended = waitpid(child, &status, WNOHANG) == child;
		assert_int_equal(store_state_read(store.dir, &said), 0);
		assert_int_equal(said.windows_written, said.windows_failed);
		assert_int_equal(said.written_unix_ns, TEST_NS + said.windows_written);
		assert_true(said.windows_written >= last);
		last = said.windows_written;
	}
	assert_int_equal(status, 0);
	assert_int_equal(last, TURNS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_written_is_read),
		TEST(the_file_has_all_lines_but_comments_below_its_own),
		TEST(the_old_one_is_replaced),
		TEST(none_and_another_version_are_told_apart),
		TEST(every_shorter_file_and_every_changed_byte_is_damage),
		TEST(what_is_no_file_of_usual_size_is_damage),
		TEST(what_is_no_number_counts_as_not_there),
		TEST(a_long_version_is_cut),
		TEST(it_is_fresh_for_three_windows_and_half_a_minute_at_least),
		TEST(a_reader_meets_whole_states_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
