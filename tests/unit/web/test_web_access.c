// SPDX-License-Identifier: Apache-2.0
/* Tokens, and the names by which a browser reached the server. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "user/util/cleanup.h"
#include "user/web/web_access.h"

#define TOKEN "0123456789abcdef0123456789abcdef"

static void tokens_are_long_and_differ(void **state)
{
	char one[WEB_TOKEN_CHARS + 1], other[WEB_TOKEN_CHARS + 1];

	(void)state;
	assert_int_equal(web_access_make_token(one), 0);
	assert_int_equal(web_access_make_token(other), 0);
	assert_int_equal(strspn(one, "0123456789abcdef"), WEB_TOKEN_CHARS);
	assert_int_equal(strlen(one), WEB_TOKEN_CHARS);
	assert_string_not_equal(one, other);
}

static void only_the_whole_token_is_known(void **state)
{
	static const struct {
		const char *authorization;
		const char *token;
		bool knows;
	} rows[] = {
		{ "Bearer " TOKEN, NULL, true },
		{ NULL, TOKEN, true },
		{ NULL, NULL, false },
		{ NULL, "", false },
		{ "Bearer ", NULL, false },
		{ TOKEN, NULL, false },
		{ "Basic " TOKEN, NULL, false },
		{ "Bearer " TOKEN "0", NULL, false },
		{ "Bearer 0123456789abcdef0123456789abcdee", NULL, false },
		{ NULL, "0123456789abcdef", false },
		/* A header that is wrong is not made up for. */
		{ "Bearer x", TOKEN, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct web_caller caller = { .authorization = rows[i].authorization,
						   .token = rows[i].token };

		assert_int_equal(web_access_knows(&caller, TOKEN), rows[i].knows);
		assert_true(web_access_knows(&caller, NULL));
	}
}

static void other_sites_are_refused(void **state)
{
	static const struct {
		const char *host;
		const char *origin;
		const char *site;
		bool is_foreign;
	} rows[] = {
		{ "127.0.0.1:7099", NULL, NULL, false },
		{ "localhost", "http://localhost", "same-origin", false },
		{ "[::1]:7099", "http://[::1]:7099", "none", false },
		{ "127.0.0.1:7099", NULL, "same-site", false },
		{ NULL, NULL, NULL, true },
		{ "evil.example:7099", NULL, NULL, true },
		{ "127.0.0.1.evil.example", NULL, NULL, true },
		{ "localhost", "http://evil.example", NULL, true },
		{ "localhost", "https://localhost", NULL, true },
		{ "localhost", "null", NULL, true },
		{ "localhost", "http://localhost.evil.example", NULL, true },
		{ "localhost", NULL, "cross-site", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct web_caller caller = { .host = rows[i].host,
						   .origin = rows[i].origin,
						   .fetch_site = rows[i].site };

		assert_int_equal(web_access_foreign(&caller) != NULL, rows[i].is_foreign);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens_are_long_and_differ),
		cmocka_unit_test(only_the_whole_token_is_known),
		cmocka_unit_test(other_sites_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
