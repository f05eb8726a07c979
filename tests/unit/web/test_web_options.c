// SPDX-License-Identifier: Apache-2.0
/* The command line of jbpf web: a page for the loopback and sockets only. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "user/web/web_options.h"
#include "user/util/cleanup.h"

static struct web_options options;
static char why[512];

static int parse(char *first, char *second)
{
	char *argv[] = { (char *)"jbpf-web", first, second, NULL };

	return web_options_parse(second ? 3 : first ? 2 : 1, argv, &options, why, sizeof(why));
}

static void there_are_defaults(void **state)
{
	(void)state;
	assert_int_equal(parse(NULL, NULL), 0);
	assert_string_equal(options.source.store, "/var/lib/jbpf");
	assert_string_equal(options.listen, "127.0.0.1:7099");
	assert_false(options.address.is_unix);
}

static void sockets_and_ports_of_the_loopback_are_taken(void **state)
{
	(void)state;
	assert_int_equal(parse((char *)"--listen=unix:/run/x", (char *)"--store=/s"), 0);
	assert_true(options.address.is_unix);
	assert_string_equal(options.source.store, "/s");
	assert_int_equal(parse((char *)"--listen", (char *)"[::1]:80"), 0);
}

static void the_network_is_refused_with_what_to_do(void **state)
{
	static const char *const refused[] = { "0.0.0.0:80",   "*:80",	"192.168.0.1:80", "80",
					       "localhost:80", "unix:", "127.0.0.1:0" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		assert_int_equal(parse((char *)"--listen", (char *)(uintptr_t)refused[i]), -EINVAL);
		assert_non_null(strstr(why, refused[i]));
		assert_non_null(strstr(why, "proxy"));
	}
	assert_int_equal(parse((char *)"now", NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_are_defaults),
		cmocka_unit_test(sockets_and_ports_of_the_loopback_are_taken),
		cmocka_unit_test(the_network_is_refused_with_what_to_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
