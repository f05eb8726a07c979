// SPDX-License-Identifier: Apache-2.0
/*
 * The daemon's end of the metrics: addresses that cannot be had, the socket's life, and the process that
 * serves, which is started again. What it answers: test_http.c. Skipped where there is no libmicrohttpd.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/serve/http_library.h"
#include "user/serve/server.h"
#include "user/util/clock.h"
#include "user/util/fs.h"

#define HOUR_NS (3600 * CLOCK_NS_PER_S)

static char dir[] = "/tmp/jbpf-server-test.XXXXXX";
static char path[64], address[80];
static bool has_library;

static int set_up(void **state)
{
	struct http_library library;

	(void)state;
	has_library = http_library_load(&library) == 0;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/socket", dir);
	snprintf(address, sizeof(address), "unix:%s", path);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(dir);
}

static struct metrics_server *open_server(void)
{
	struct metrics_server *server;
	char why[256];

	if (!has_library)
		skip();
	assert_int_equal(metrics_server__open(address, &server, why, sizeof(why)), 0);
	return server;
}

static bool is_there(void)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* The pid of the only child, as the kernel lists it. */
static pid_t child_of_this(void)
{
	struct strbuf text = STRBUF_INIT;
	pid_t pid;

	assert_int_equal(fs_read_file(AT_FDCWD, "/proc/thread-self/children", 4096, &text), 0);
	pid = (pid_t)strtol(strbuf_str(&text), NULL, 10);
	strbuf_release(&text);
	return pid;
}

static void an_address_that_is_none_is_refused_with_the_forms_that_are(void **state)
{
	struct metrics_server *server = NULL;
	char why[256];

	(void)state;
	assert_int_equal(metrics_server__open("0.0.0.0:80", &server, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "'0.0.0.0:80' is not valid"));
	assert_null(server);
}

static void a_socket_that_is_in_use_is_left_to_its_owner(void **state)
{
	struct metrics_server *first = open_server(), *second = NULL;
	char why[256];

	(void)state;
	assert_int_equal(metrics_server__open(address, &second, why, sizeof(why)), -EADDRINUSE);
	assert_non_null(strstr(why, "in use by another process"));
	assert_true(is_there());
	metrics_server__free(first);
	assert_false(is_there());
}

static void a_path_that_is_no_socket_is_left_alone(void **state)
{
	struct metrics_server *server = NULL;
	char why[256];
	int fd;

	(void)state;
	if (!has_library)
		skip();
	fd = open(path, O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(metrics_server__open(address, &server, why, sizeof(why)), -EEXIST);
	assert_non_null(strstr(why, "something that is no socket"));
	assert_true(is_there());
	assert_int_equal(unlink(path), 0);
}

static void a_socket_that_another_one_made_is_not_removed(void **state)
{
	struct metrics_server *server = open_server();
	int fd;

	(void)state;
	assert_int_equal(unlink(path), 0);
	fd = open(path, O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	metrics_server__free(server);
	assert_true(is_there());
	assert_int_equal(unlink(path), 0);
}

static void the_process_that_serves_is_started_again_when_it_died(void **state)
{
	struct metrics_server *server = open_server();
	pid_t first = child_of_this(), second = first;
	uint64_t now_ns = clock_boot_ns();

	(void)state;
	assert_true(first > 0);
	metrics_server__tick(server, now_ns);
	assert_int_equal(metrics_server__restarts(server), 0);
	assert_int_equal(kill(first, SIGKILL), 0);
	for (int i = 0; i < 1000 && !metrics_server__restarts(server); i++) {
		metrics_server__tick(server, now_ns + HOUR_NS);
		(void)usleep(10000);
	}
	assert_int_equal(metrics_server__restarts(server), 1);
	second = child_of_this();
	assert_true(second > 0 && second != first);
	metrics_server__free(server);
	assert_int_equal(kill(second, 0), -1); /* it ends with its server */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_that_is_none_is_refused_with_the_forms_that_are),
		cmocka_unit_test(a_socket_that_is_in_use_is_left_to_its_owner),
		cmocka_unit_test(a_path_that_is_no_socket_is_left_alone),
		cmocka_unit_test(a_socket_that_another_one_made_is_not_removed),
		cmocka_unit_test(the_process_that_serves_is_started_again_when_it_died),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
