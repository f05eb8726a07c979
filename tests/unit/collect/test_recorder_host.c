// SPDX-License-Identifier: Apache-2.0
/* The recorder and the name of its host, which an image may get after jbpfd has started. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/collect/recorder_testing.h"

static const char *host_now; /* NULL: the kernel does not say */

int gethostname(char *name, size_t len)
{
	if (!host_now) {
		errno = ENOSYS;
		return -1;
	}
	snprintf(name, len, "%s", host_now);
	return 0;
}

static struct recorder *open_named(const char *host)
{
	struct recorder *recorder = open_recorder();
	struct recorder_options options = options_of(99);

	assert_int_equal(unsetenv("NODE_NAME"), 0);
	options.host = host;
	recorder__change_rest(recorder, &options);
	return recorder;
}

/* A window whose name is that one when it is handed out. */
static void window_of(struct recorder *recorder, const char *host, const char *wanted)
{
	host_now = host;
	host_wanted = wanted;
	recorder__end_window(recorder);
	assert_int_equal(answer_all(), 1);
	assert_int_equal(recorder__consume(recorder), 0);
}

static void the_name_of_each_window_is_the_host_s_of_then(void **state)
{
	struct recorder *recorder = open_named(NULL);

	(void)state;
	window_of(recorder, "localhost", "localhost");
	window_of(recorder, "node-8", "node-8");
	/* What was known is better than nothing. */
	window_of(recorder, NULL, "node-8");
	window_of(recorder, "", "node-8");
	assert_int_equal(taken.end_cnt, 4);
	assert_int_equal(taken.stream_cnt, 4);
	recorder__free(recorder);
}

static void a_name_that_was_given_stays(void **state)
{
	struct recorder *recorder = open_named("given");

	(void)state;
	window_of(recorder, "localhost", "given");
	window_of(recorder, "node-8", "given");
	recorder__free(recorder);
}

/* The host got its name while the window was handed out: its streams have gone with the old one. */
static void all_of_a_window_has_one_name(void **state)
{
	struct recorder *recorder = open_named(NULL);
	struct naming_end end = { 0 };
	uint32_t count_cnt;

	(void)state;
	source_count(OTHER, 0, 3, 5);
	host_now = "localhost";
	host_wanted = "localhost";
	recorder__end_window(recorder);
	end.window_id = heard_window(&count_cnt);
	answer_stream(PID, 0, SAMPLES);
	assert_int_equal(packet_stream_flush_all(&link_.namer), 0);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.stream_cnt, 1);
	host_now = "node-8";
	answer_stream(OTHER, 0, 5);
	answer_end(&end);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.stream_cnt, 2);
	assert_int_equal(taken.end_cnt, 1);
	recorder__free(recorder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_name_of_each_window_is_the_host_s_of_then),
		cmocka_unit_test(a_name_that_was_given_stays),
		cmocka_unit_test(all_of_a_window_has_one_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
