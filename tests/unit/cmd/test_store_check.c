// SPDX-License-Identifier: Apache-2.0
/* jbpf store check: it counts what is there, finds what is damaged, and the exit code says which. */
#include "tests/unit/store_testing.h"

#include <errno.h>
#include <limits.h>

#include "user/cli/exit_codes.h"
#include "user/cmd/store_check.h"

#define WINDOW_CNT 4u

static struct test_store store;
static struct strbuf said; /* on standard output */

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
	strbuf_release(&said);
	return 0;
}

/* Its exit code; what it prints is in `said`. */
static int check(bool json)
{
	char name[] = "/tmp/jbpf-check-test.XXXXXX";
	int file = mkstemp(name), saved = dup(STDOUT_FILENO);
	int code;

	assert_true(file >= 0 && saved >= 0);
	(void)fflush(stdout);
	assert_true(dup2(file, STDOUT_FILENO) >= 0);
	code = store_check(store.dir, json);
	(void)fflush(stdout);
	assert_true(dup2(saved, STDOUT_FILENO) >= 0);
	strbuf_clear(&said);
	assert_int_equal(fs_read_file(AT_FDCWD, name, 1 << 20, &said), 0);
	close(saved);
	close(file);
	assert_int_equal(unlink(name), 0);
	return code;
}

static bool says(const char *what)
{
	return strstr(strbuf_str(&said), what) != NULL;
}

static uint64_t sample_cnt(void)
{
	uint64_t cnt = 0;

	for (uint32_t i = 0; i < WINDOW_CNT; i++)
		cnt += number_to_window(i).counts.samples;
	return cnt;
}

/* One byte in the middle of the hour's file. */
static void damage(void)
{
	struct strbuf bytes = STRBUF_INIT;

	test_read(&store, TEST_FILE, &bytes);
	bytes.data[bytes.len / 2] ^= 0x55;
	test_write(&store, TEST_FILE, bytes.data, bytes.len);
	strbuf_release(&bytes);
}

static void a_store_that_is_whole_is_counted(void **state)
{
	char wanted[128];

	(void)state;
	test_fill(&store, 0, WINDOW_CNT);
	assert_int_equal(check(false), CMD_EXIT_DONE);
	snprintf(wanted, sizeof(wanted), "%u windows, %llu samples", WINDOW_CNT,
		 (unsigned long long)sample_cnt());
	assert_true(says("1 file (0 of them days), "));
	assert_true(says(wanted));
	assert_true(says("nothing is damaged\n"));
}

static void json_says_the_same(void **state)
{
	(void)state;
	test_fill(&store, 0, WINDOW_CNT);
	assert_int_equal(check(true), CMD_EXIT_DONE);
	assert_true(says("\"format\":\"jbpf-store-check\""));
	assert_true(says("\"damage\":[]"));
	assert_true(says("\"damage_bytes\":0"));
}

static void damage_is_found_and_the_exit_code_says_so(void **state)
{
	(void)state;
	test_fill(&store, 0, WINDOW_CNT);
	damage();
	assert_int_equal(check(false), CMD_EXIT_FAILED);
	assert_true(says(TEST_FILE ": byte "));
	assert_true(says("everything else is intact and is read\n"));
	assert_int_equal(check(true), CMD_EXIT_FAILED);
	assert_true(says("\"file\":\""));
}

static void a_damaged_file_that_was_kept_is_listed_and_is_no_failure(void **state)
{
	(void)state;
	test_fill(&store, 0, WINDOW_CNT);
	test_write(&store, TEST_FILE ".damaged", "12345", 5);
	assert_int_equal(check(false), CMD_EXIT_DONE);
	assert_true(says(TEST_FILE ".damaged: damaged, 5 bytes, kept"));
	assert_true(says("1 damaged file, 5 bytes, is kept"));
	assert_true(says("nothing is damaged\n"));
	assert_int_equal(check(true), CMD_EXIT_DONE);
	assert_true(says("\"kept_bytes\":5"));
}

/* As in a store that was moved to a larger disk by parts. */
static void a_link_in_place_of_a_file_is_named_as_not_read(void **state)
{
	char path[PATH_MAX], moved[PATH_MAX];

	(void)state;
	test_fill(&store, 0, WINDOW_CNT);
	snprintf(path, sizeof(path), "%s/" TEST_FILE, store.dir);
	snprintf(moved, sizeof(moved), "%s/moved", store.dir);
	assert_int_equal(rename(path, moved), 0);
	assert_int_equal(symlink(moved, path), 0);
	assert_int_equal(check(false), CMD_EXIT_FAILED);
	assert_true(says(
		TEST_FILE
		": byte 0, 0 bytes: not read: no regular file (a symbolic link is not followed)\n"));
	assert_false(says("nothing is damaged"));
	assert_int_equal(unlink(moved), 0);
}

static void a_store_that_is_not_there_fails(void **state)
{
	(void)state;
	test_store_remove(&store);
	assert_int_equal(check(false), CMD_EXIT_FAILED);
	assert_int_equal(said.len, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_store_that_is_whole_is_counted),
		TEST(json_says_the_same),
		TEST(damage_is_found_and_the_exit_code_says_so),
		TEST(a_link_in_place_of_a_file_is_named_as_not_read),
		TEST(a_damaged_file_that_was_kept_is_listed_and_is_no_failure),
		TEST(a_store_that_is_not_there_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
