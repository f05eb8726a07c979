// SPDX-License-Identifier: Apache-2.0
/* Which connections of a server must go when there are too many, or when they take too long. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include "user/serve/connections.h"

#define MAX 3

/* Pairs of sockets: the server's end is [0]. */
static int pairs[8][2];
static struct connections *connections;

static int open_pairs(void **state)
{
	(void)state;
	for (size_t i = 0; i < 8; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]))
			return -1;
	connections = connections__new(MAX);
	return connections ? 0 : -1;
}

static int close_pairs(void **state)
{
	(void)state;
	for (size_t i = 0; i < 8; i++) {
		close(pairs[i][0]);
		close(pairs[i][1]);
	}
	connections__free(connections);
	return 0;
}

static bool is_put_out(size_t i)
{
	char byte;

	return recv(pairs[i][1], &byte, 1, MSG_DONTWAIT) == 0;
}

static void start(size_t i, uid_t uid, uint64_t until)
{
	connections__start(connections, pairs[i][0], uid, until);
}

static void the_oldest_goes_when_there_are_too_many(void **state)
{
	(void)state;
	for (size_t i = 0; i < MAX; i++)
		start(i, 0, 10 + i);
	for (size_t i = 0; i < MAX; i++)
		assert_false(is_put_out(i));
	start(3, 0, 13);
	assert_true(is_put_out(0));
	assert_false(is_put_out(1));
	assert_false(is_put_out(3));
}

static void it_is_one_of_the_user_that_has_most(void **state)
{
	(void)state;
	start(0, 7, 10);
	start(1, 8, 11);
	start(2, 8, 12);
	start(3, 9, 13);
	assert_false(is_put_out(0));
	assert_true(is_put_out(1));
}

static void one_that_is_kept_is_not_put_out_by_others_but_by_its_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < MAX; i++)
		start(i, 0, 10 + i);
	connections__keep(connections, pairs[0][0], 100);
	start(3, 0, 13);
	assert_false(is_put_out(0));
	assert_true(is_put_out(1));
	connections__put_out_overdue(connections, 100);
	assert_false(is_put_out(0));
	assert_true(is_put_out(2));
	connections__put_out_overdue(connections, 101);
	assert_true(is_put_out(0));
}

static void one_that_has_ended_gives_its_place_back(void **state)
{
	(void)state;
	for (size_t round = 0; round < 5; round++) {
		for (size_t i = 0; i < MAX; i++)
			start(i, 0, 10 + i);
		for (size_t i = 0; i < MAX; i++)
			connections__end(connections, pairs[i][0]);
	}
	connections__end(connections, -1);
	connections__keep(connections, -1, 5);
	for (size_t i = 0; i < MAX; i++)
		assert_false(is_put_out(i));
}

static void the_user_of_a_socket_is_known(void **state)
{
	(void)state;
	assert_int_equal(connections_peer(pairs[0][0]), getuid());
	assert_int_equal(connections_peer(-1), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_pairs, close_pairs)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_oldest_goes_when_there_are_too_many),
		TEST(it_is_one_of_the_user_that_has_most),
		TEST(one_that_is_kept_is_not_put_out_by_others_but_by_its_time),
		TEST(one_that_has_ended_gives_its_place_back),
		TEST(the_user_of_a_socket_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
